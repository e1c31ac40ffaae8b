/* A request's line and headers are refused with a reason or understood: first line the target,
 * second Accept, third User-Agent; tokens that are made read back. */
#include "api/request.h"
#include "api/accept.h"
#include "api/field_manager.h"
#include "api/list_options.h"
#include "api/write_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str served[] = {S_INIT("application/json"), S_INIT("application/yaml")};
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct str rest = str_of((const char *)data, size), target, accept, agent, key;
    struct request_info r;
    struct accepted got;
    struct list_options o;
    struct delete_options d;
    struct list_start start;
    int64_t revision;

    str_cut(rest, '\n', &target, &rest);
    str_cut(rest, '\n', &accept, &rest);
    str_cut(rest, '\n', &agent, &rest);
    accept_negotiate(accept, served, 2, ~0u, &got, NULL);
    assert(field_manager_name(&a, S(""), agent).len <= FIELD_MANAGER_MAX);
    if (request_parse(&a, S("GET"), target, &r, NULL) == 0) {
        struct field_errors e = field_errors_in(&a);
        create_options_check(&e, create_options_of(&a, &r.query));
        patch_options_check(&e, patch_options_of(&a, &r.query, true));
        if (delete_options_of(&a, &r.query, &d, NULL) == 0)
            delete_options_check(&e, &d);
        if (list_options_parse(&a, &r.query, &o, NULL) == 0) {
            list_options_check(&e, &o, true);
            list_options_resolve(&a, &o, S("p/"), true, &start, NULL);
        }
    }
    if (continue_decode(&a, rest, S("p/"), &key, &revision, NULL) == 0) {
        struct str again;
        struct str token = continue_encode(&a, str_slice(key, 2, key.len), revision);
        if (str_index(key, 0) == STR_NONE && key.len < 4000)
            assert(continue_decode(&a, token, S("p/"), &again, &revision, NULL) == 0);
    }
    return 0;
}
