/* managed.c - whose field is whose: managedFields, server-side apply, strategic merge
 *
 * A thin hand between a request and the engine in schema/.
 */
#include "server/write_priv.h"

#include "io/io.h"
#include "schema/apply.h"
#include "schema/strategic.h"

static const struct kind *kind_at(void *ctx, const struct kind *of, struct str api_version)
{
    struct str group = {0}, version;

    if (!str_cut(api_version, '/', &group, &version)) {
        version = group;
        group = str_of(NULL, 0);
    }
    return str_eq(group, of->group) ? kind_of_name(ctx, group, version, of->kind) : NULL;
}

static const struct json *convert(void *ctx unused, struct arena *a, const struct json *v,
                                  const struct kind *from, const struct kind *to,
                                  struct err *err unused)
{
    return tree_as_kind(a, v, from, to);
}

static struct apply_write write_of(struct request *r, const struct apply_versions *versions)
{
    return (struct apply_write){.kind = r->kind,
                                .versions = versions,
                                .manager = r->options.field_manager,
                                .subresource = r->subresource,
                                .now = io_now(r->server->io),
                                .is_known = is_by_these_rules(r),
                                .shapes = &r->server->shapes,
                                .sets = r->server->sets,
                                .steps = r->server->steps,
                                .force = r->options.force};
}

const struct json *patch_strategic(struct request *r, const struct json *old, struct err *err)
{
    return schema_strategic_apply(r->arena, r->kind->schema, old, r->body, err);
}

int managed_fields(struct write *w)
{
    struct request *r = w->r;
    struct apply_versions versions = {r->server, kind_at, convert};
    struct apply_write aw = write_of(r, &versions);

    if (r->verb == VERB_PATCH && r->patch_type == PATCH_APPLY)
        return 0; /* apply_config() told them */
    if (r->is_binding)
        return 0; /* a binding owns nothing */
    w->tree = apply_update(w->arena, &aw, w->old, w->tree);
    return 0;
}

/* ---- server-side apply ---- */

static int fail_conflicts(struct request *r, const struct apply_conflicts *conflicts)
{
    struct api_error e = {.code = 409,
                          .reason = S("Conflict"),
                          .message = conflicts->message,
                          .has_details = true};

    vec_each (i, &conflicts->causes) {
        api_error_cause(r->arena, &e, S("FieldManagerConflict"),
                        conflicts->causes.at[i].message, conflicts->causes.at[i].field);
    }
    return fail_api(r, &e);
}

/* The body's own demands: its name, its version, keys that stand twice. */
static int check_config(struct request *r)
{
    struct str name = json_str(meta_get(r->body, S("name")));
    struct str version = json_str(meta_get(r->body, S("resourceVersion")));
    struct str now =
        r->current ? str_of_u64(r->arena, object_revision(r->current)) : str_of(NULL, 0);

    if (name.len && !str_eq(name, r->name))
        return fail_bad_request(r,
                                "the name of the object (%.*s) does not match the name on the "
                                "URL (%.*s)",
                                STR_ARG(name), STR_ARG(r->name));
    for (size_t i = 0; i < r->dups.paths.len && r->attempts == 0; i++) {
        struct str path = r->dups.paths.at[i];
        if (r->options.validation == VALIDATION_STRICT)
            return fail_bad_request(r, "error strict decoding patch: duplicate field \"%.*s\"",
                                    STR_ARG(path));
        if (r->options.validation == VALIDATION_WARN)
            request_warn(r, "duplicate field \"%.*s\"", STR_ARG(path));
    }
    r->is_unconditional = !version.len;
    if (version.len && !str_eq(version, now))
        return r->current ? fail_conflict(r, "%s", CONFLICT_WHY) : fail_not_found(r);
    return 0;
}

static int check_uid(struct request *r)
{
    struct str uid = json_str(meta_get(r->body, S("uid")));

    if (uid.len && !r->current)
        return fail_conflict(r,
                             "uid mismatch: the provided object specified uid %.*s, and no "
                             "existing object was found",
                             STR_ARG(uid));
    if (uid.len && !str_eq(uid, object_uid(r->current)))
        return fail_conflict(r,
                             "Precondition failed: UID in precondition: %.*s, UID in object "
                             "meta: %.*s",
                             STR_ARG(uid), STR_ARG(object_uid(r->current)));
    return 0;
}

/* The object after the apply, or NULL after the failure was answered. */
static const struct json *apply(struct request *r, const struct json *old)
{
    struct apply_versions versions = {r->server, kind_at, convert};
    struct apply_write aw = write_of(r, &versions);
    struct apply_conflicts conflicts = {0};
    struct err err = {0};
    const struct json *tree = apply_config(r->arena, &aw, old, r->body, &conflicts, &err);

    if (tree)
        return tree;
    if (err.code == ERR_CONFLICT)
        fail_conflicts(r, &conflicts);
    else if (err.code == ERR_INVALID)
        /* Upstream answers 500 where the patch does not fit the type. */
        fail_with(r, 500, "",
                  str_printf(r->arena,
                             "failed to create typed patch object (%.*s/%.*s; %.*s, "
                             "Kind=%.*s): %s",
                             STR_ARG(r->ns), STR_ARG(r->name), STR_ARG(r->kind->api_version),
                             STR_ARG(r->kind->kind), err.text));
    else
        fail_err(r, &err);
    return NULL;
}

void verb_apply(struct request *r)
{
    bool is_there = load_current(r);
    const struct json *old = is_there ? current_tree(r) : NULL, *tree;

    r->is_created = !is_there;
    if (!is_there && r->subresource.len) {
        fail_not_found(r);
        goto end;
    }
    if (check_config(r) < 0 || (!is_there && authorize_verb(r, S("create")) < 0))
        goto end;
    tree = apply(r, old);
    if (!tree || check_uid(r) < 0)
        goto end;
    if (tree == old) {
        struct object *as = as_kind(r->arena, r->current, r->kind);
        r->reply->object(r, 200, as);
        object_unref(as);
        goto end;
    }
    write_tree(r, tree, old);
    return;
end:
    request_fini(r);
}
