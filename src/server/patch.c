/* patch.c - PATCH: load, apply to its tree, and on as an update; again when others were first
 */
#include "server/write_priv.h"

#include "json/patch.h"

static int bad_patch(struct request *r, const struct err *err)
{
    if (err->code == ERR_LIMIT)
        return fail_err(r, err);
    if (err->code == ERR_SYNTAX)
        return fail_bad_request(r, "%s", err->text);
    /* Upstream drops the reason of a JSON patch that does not apply; we append it. */
    return fail_api(r, &(struct api_error){
                           .code = 422,
                           .reason = S("Invalid"),
                           .message = str_printf(r->arena,
                                                 "the server rejected our request due to an "
                                                 "error in our request: %s",
                                                 err->text),
                           .has_details = true});
}

const struct json *patch_tree(struct request *r, const struct json *old, struct err *err)
{
    switch (r->patch_type) {
    case PATCH_JSON:
        return json_patch(r->arena, json_whole(r->arena, old), r->body, err);
    case PATCH_MERGE:
        if (json_is(r->body, JSON_OBJECT))
            return json_merge_patch(r->arena, old, r->body);
        err_set(err, ERR_SYNTAX, "a merge patch must be an object");
        return NULL;
    case PATCH_STRATEGIC:
        return patch_strategic(r, old, err);
    case PATCH_APPLY:
        break; /* has its own road */
    }
    err_set(err, ERR_UNSUPPORTED, "apply is not possible here");
    return NULL;
}

/* The patched tree, or NULL after the failure was answered. */
static const struct json *patched(struct request *r, const struct json *old)
{
    struct err err = {0};
    const struct json *tree = patch_tree(r, old, &err);

    if (!tree)
        bad_patch(r, &err);
    return tree;
}

void verb_patch(struct request *r)
{
    r->is_unconditional = true;
    if (r->patch_type == PATCH_APPLY) {
        verb_apply(r);
        return;
    }
    if (!load_current(r)) {
        fail_not_found(r);
        request_fini(r);
        return;
    }
    const struct json *old = current_tree(r);
    const struct json *tree = patched(r, old);
    if (!tree || check_preconditions(r, tree) < 0) {
        request_fini(r);
        return;
    }
    /* The version that the patch did not name is the one just read. */
    struct str named = json_str(json_path(r->body, "metadata", "resourceVersion", NULL));
    r->is_unconditional = !named.len;
    write_tree(r, tree, old);
}
