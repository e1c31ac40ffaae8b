/* get.c - GET of one object */
#include "server/write_priv.h"

int check_not_older(struct request *r)
{
    struct str text = r->options.list.resource_version;
    uint64_t version, now = store_revision(r->server->store);

    if (!text.len)
        return 0;
    if (!str_to_u64(text, &version))
        return fail_bad_request(r,
                                "resourceVersion: Invalid value: \"%.*s\": must be an unsigned "
                                "integer",
                                STR_ARG(text));
    if (version <= now)
        return 0;
    struct api_error e = api_error_too_large_version(r->arena, version, now);
    return fail_api(r, &e);
}

void verb_get(struct request *r)
{
    if (check_not_older(r) < 0) {
        request_fini(r);
        return;
    }
    if (!load_current(r)) {
        fail_not_found(r);
        request_fini(r);
        return;
    }
    struct object *as = as_kind(r->arena, r->current, r->kind);
    r->reply->object(r, 200, as);
    object_unref(as);
    request_fini(r);
}
