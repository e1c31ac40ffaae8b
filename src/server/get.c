/* get.c - GET of one object */
#include "server/write_priv.h"

/* 0, or -1 after the failure was answered: a version that cannot be read or is still to come.
 */
int check_not_older(struct request *r)
{
    struct str text = r->options.resource_version;
    uint64_t version;
    struct err err = {0};

    if (!text.len)
        return 0;
    if (!str_to_u64(text, &version))
        return fail_bad_request(r,
                                "resourceVersion: Invalid value: \"%.*s\": must be an "
                                "unsigned integer",
                                STR_ARG(text));
    uint64_t now = store_revision(r->server->store);
    if (version > now) {
        err_set(&err, ERR_TIMEOUT, "Too large resource version: %" PRIu64 ", current: %" PRIu64,
                version, now);
        return fail_err(r, &err);
    }
    return 0;
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
