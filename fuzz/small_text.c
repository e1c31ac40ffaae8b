/* Paths into objects, accounts, addresses, lists of indexes, the node's checkpoint and the
 * queues' configuration are refused with a sentence, or print as something that reads back to
 * the same. */
#include "api/index_list.h"
#include "api/run_as.h"
#include "controllers/job_index.h"
#include "controllers/kueue_config.h"
#include "io/address.h"
#include "node/node_priv.h"
#include "schema/jsonpath.h"
#include "yaml/yaml.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char some_pod[] =
    "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a.b\":\"c\"}},\"status\":{\"conditions\":["
    "{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"Other\",\"status\":\"False\"}]}}";

static void paths(struct arena *a, struct str text)
{
    const struct json *pod = json_parse(a, str_from(some_pod), NULL, NULL);
    struct err err = {0};

    if (jsonpath_check(text, &err) < 0)
        assert(err.text[0]);
    jsonpath_first(a, pod, text);
}

static void accounts(struct arena *a, struct str text)
{
    struct run_as r, again;
    struct err err = {0};

    if (run_as_parse(a, text, &r, &err) < 0) {
        assert(err.text[0]);
        return;
    }
    assert(run_as_parse(a, run_as_text(a, &r), &again, &err) == 0);
    assert(str_eq(run_as_text(a, &r), run_as_text(a, &again)));
}

static void addresses(struct str text)
{
    struct io_address address;
    struct err err = {0};

    if (io_address_parse(text, &address, &err) < 0)
        assert(err.text[0]);
}

static void indexes(struct arena *a, struct str text)
{
    int64_t total = 0;
    int32_t first;
    struct err err = {0};
    struct index_set set = index_set_parse(a, text, 1000);
    struct index_set again = index_set_parse(a, index_set_text(a, &set), 1000);

    assert(str_eq(index_set_text(a, &set), index_set_text(a, &again)));
    if (index_list_check(text, 1000, &total, &err) < 0)
        assert(err.text[0]);
    else
        assert(total >= 0 && total <= 1000);
    index_lists_overlap(text, S("1,3-5,900"), 1000, &first);
}

static void checkpoints(struct arena *a, struct str text)
{
    struct str boot, again;
    struct err err = {0};

    if (checkpoint_parse(text, &boot, &err) < 0) {
        assert(err.text[0]);
        return;
    }
    assert(checkpoint_parse(checkpoint_text(a, boot), &again, &err) == 0);
    assert(str_eq(boot, again));
}

static void configurations(struct arena *a, struct str text)
{
    struct kueue_config config;
    struct err err = {0};
    const struct json *tree = yaml_parse_one(a, text, NULL, &err);

    if (tree && kueue_config_read(a, tree, &config, &err) < 0)
        assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct str text = {(const char *)data, size};

    if (size > 4096)
        return 0;
    paths(&a, text);
    accounts(&a, text);
    addresses(text);
    indexes(&a, text);
    checkpoints(&a, text);
    configurations(&a, text);
    return 0;
}
