/* A stream is refused, or what is written of a document reads back; from the second time on it
 * is written the same. */
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json *again(struct arena *a, const struct json *v)
{
    struct buf b = buf_in(a, 256);

    yaml_write(&b, v);
    return yaml_parse_one(a, buf_str(&b), NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str text = str_of((const char *)data, size);
    struct yaml_docs docs = {0};
    struct json_dups dups = {0};

    if (yaml_parse(&a, text, &dups, &docs, NULL) < 0 || docs.list.len > 100)
        return 0;
    vec_each (i, &docs.list) {
        /* The first writing makes integers of large whole doubles and of a negative zero. */
        const struct json *v = again(&a, docs.list.at[i].value);
        assert(v);
        const struct json *w = again(&a, v);
        assert(w && json_eq(v, w));
    }
    return 0;
}
