/* The first byte picks a kind, the rest is an envelope or a bare message: it is refused, or its
 * tree prints as JSON that reads back the same, and goes the way of a body. */
#include "schema/protobuf.h"
#include "api/find.h"
#include "schema/conform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct protobuf_envelope envelope;

    if (size < 1)
        return 0;
    const struct kind *k = kinds[data[0] % KIND_COUNT];
    struct str body = str_of((const char *)data + 1, size - 1);
    if (protobuf_is(body) && protobuf_open(body, &envelope, NULL) == 0)
        body = envelope.raw;
    const struct json *v = protobuf_decode(&a, k->schema, body, NULL);
    if (!v)
        return 0;
    const struct json *back = json_parse(&a, json_text(&a, v), NULL, NULL);
    assert(back);
    assert(str_eq(json_text(&a, back), json_text(&a, v)));
    kind_conform(&a, k, v, NULL, NULL, NULL);
    return 0;
}
