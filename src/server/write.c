/* write.c - what every create, update, patch and status write goes through
 *
 *     body → parts that are not the writer's → conform → names → defaults → managed fields
 *          → admission (mutating) → system fields → strategy → generation → validation
 *          → admission (validating) → store
 *
 * Each step is a function that passes the tree on or answers with a failure. Nothing here
 * knows a kind by name; what kinds mean comes from their tables and from api/.
 */
#include "api/rules.h"
#include "server/write_priv.h"

#include "api/metadata.h"
#include "io/io.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/validate.h"
#include "value/time.h"

const struct json *meta_get(const struct json *tree, struct str name)
{
    return json_get(json_getz(tree, "metadata"), name);
}

const struct json *meta_set(struct arena *a, const struct json *tree, struct str name,
                            struct json v)
{
    struct json_obj m = obj_from(a, json_getz(tree, "metadata"));

    obj_set(&m, name, v);
    return json_with(a, tree, obj_done(&m), "metadata", NULL);
}

/* ---- 1. conform ---- */

static bool is_listed(const struct str *at, size_t n, struct str s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(at[i], s))
            return true;
    }
    return false;
}

/* The findings of strict field validation, each once. */
static size_t findings(struct write *w, const struct schema_unknown *unknown, struct str **out)
{
    struct arena *a = w->arena;
    size_t n = 0, most = unknown->paths.len + w->r->dups.paths.len;
    struct str *all = arena_array(a, struct str, most);

    vec_each (i, &unknown->paths) {
        struct str text =
            str_printf(a, "unknown field \"%.*s\"", STR_ARG(unknown->paths.at[i]));
        if (!is_listed(all, n, text))
            all[n++] = text;
    }
    vec_each (i, &w->r->dups.paths) {
        if (is_listed(unknown->paths.at, unknown->paths.len, w->r->dups.paths.at[i]))
            continue;
        struct str text =
            str_printf(a, "duplicate field \"%.*s\"", STR_ARG(w->r->dups.paths.at[i]));
        if (!is_listed(all, n, text))
            all[n++] = text;
    }
    *out = all;
    return n;
}

static int refuse_strict(struct write *w, const struct str *found, size_t n)
{
    struct arena *a = w->arena;
    struct str all = str_join(a, found, n, S(", "));

    if (w->r->verb == VERB_PATCH && w->r->patch_type != PATCH_APPLY) {
        struct json value = json_of_str(all);
        struct field_path at = field_child(NULL, S("patch"));
        struct field_errors errors = field_errors_in(a);
        field_invalid(&errors, &at, &value, "strict decoding error: %.*s", STR_ARG(all));
        return fail_invalid(w->r, w->r->name, &errors);
    }
    return fail_bad_request(
        w->r,
        "%.*s in version \"%.*s\" cannot be handled as a %.*s: strict decoding error: %.*s",
        STR_ARG(w->kind->kind), STR_ARG(w->kind->version), STR_ARG(w->kind->kind),
        STR_ARG(all));
}

static int conform(struct write *w)
{
    struct err err = {0};
    struct schema_unknown unknown = {.arena = w->arena};
    const struct json *tree =
        kind_conform(w->arena, w->kind, w->tree, w->known ? w->known : w->made, &unknown, &err);

    if (!tree)
        return fail_bad_request(w->r,
                                "%.*s in version \"%.*s\" cannot be handled as a %.*s: %s",
                                STR_ARG(w->kind->kind), STR_ARG(w->kind->version),
                                STR_ARG(w->kind->kind), err.text);
    w->tree = tree;
    w->has_findings = unknown.paths.len > 0;
    if (w->r->options.validation == VALIDATION_IGNORE)
        return 0;

    struct str *found;
    size_t n = findings(w, &unknown, &found);
    if (n && w->r->options.validation == VALIDATION_STRICT)
        return refuse_strict(w, found, n);
    for (size_t i = 0; i < n && w->r->attempts == 0; i++)
        request_warn(w->r, "%.*s", STR_ARG(found[i]));
    return 0;
}

/* ---- 2. names ---- */

static bool is_text(const struct json *v, struct str text)
{
    return json_is(v, JSON_STRING) && str_eq(json_str(v), text);
}

static int names(struct write *w)
{
    struct request *r = w->r;
    const struct json *meta = json_getz(w->tree, "metadata");
    const struct json *has_name = json_getz(meta, "name"),
                      *has_ns = json_getz(meta, "namespace");
    struct str name = json_str(has_name), ns;
    struct str base = json_str(json_getz(meta, "generateName"));
    struct err err = {0};

    if (r->name.len && name.len && !str_eq(r->name, name))
        return fail_bad_request(r,
                                "the name of the object (%.*s) does not match the name on the "
                                "URL (%.*s)",
                                STR_ARG(name), STR_ARG(r->name));
    if (!name.len && r->name.len)
        name = r->name;
    if (!name.len && base.len && !w->old)
        name = metadata_generate_name(w->arena, base, (uint32_t)io_random(r->server->io));
    if (metadata_match_namespace(w->kind->namespaced ? r->ns : str_of(NULL, 0),
                                 json_str(has_ns), &ns, &err) < 0)
        return fail_err(r, &err);
    w->name = name;
    if (json_is(meta, JSON_OBJECT) && (!name.len || is_text(has_name, name)) &&
        (w->kind->namespaced ? is_text(has_ns, ns) : !has_ns))
        return 0; /* as it should be */
    struct json_obj m = obj_from(w->arena, meta);
    if (name.len)
        obj_setz(&m, "name", json_of_str(name));
    if (w->kind->namespaced)
        obj_setz(&m, "namespace", json_of_str(ns));
    else
        obj_del(&m, S("namespace"));
    w->tree = json_with(w->arena, w->tree, obj_done(&m), "metadata", NULL);
    return 0;
}

/* ---- 3. parts that are not the writer's ---- */

static const struct json *with_part(struct arena *a, const struct json *tree, struct str name,
                                    const struct json *part)
{
    struct json_obj o = obj_from(a, tree);

    if (part)
        obj_set(&o, name, *part);
    else
        obj_del(&o, name);
    return json_new(a, obj_done(&o));
}

static bool is_namespace(const struct kind *k)
{
    return !k->group.len && str_eqz(k->kind, "Namespace");
}

/* A namespace's own finalizers change by `finalize` alone, which changes nothing else. */
static void keep_finalizers(struct write *w)
{
    const struct json *finalizers =
        json_path(w->r->is_finalize ? w->tree : w->old, "spec", "finalizers", NULL);

    if (w->r->is_finalize)
        w->tree = w->old;
    w->tree = finalizers ? json_with(w->arena, w->tree, *finalizers, "spec", "finalizers", NULL)
                         : json_without(w->arena, w->tree, "spec", "finalizers", NULL);
}

static int parts(struct write *w)
{
    const struct json *status = json_getz(w->old, "status");

    if (str_eq(w->subresource, S("status"))) {
        /* Only the status is taken, and what an apply says of owners; the resourceVersion stays
         * a precondition. */
        const struct json *managed = json_path(w->tree, "metadata", "managedFields", NULL);
        w->tree = with_part(w->arena, w->old, S("status"), json_getz(w->tree, "status"));
        if (w->r->verb == VERB_PATCH && w->r->patch_type == PATCH_APPLY && managed)
            w->tree = json_with(w->arena, w->tree, *managed, "metadata", "managedFields", NULL);
        return 0;
    }
    if (w->kind->status && !w->r->is_binding)
        w->tree = with_part(w->arena, w->tree, S("status"), status);
    if (w->old && is_namespace(w->kind))
        keep_finalizers(w);
    return 0;
}

/* ---- 4. system fields ---- */

/* Owners that stand twice are told once; those that were stored were looked at. */
static const struct json *dedup_owners(struct write *w, const struct json *meta)
{
    const struct json *refs = json_getz(meta, "ownerReferences");
    struct str twice = {0};

    if (json_len(refs) < 2 || json_is_shared(refs, meta_get(w->known, S("ownerReferences"))))
        return meta;
    const struct json *once = owner_references_dedup(w->arena, refs, &twice);
    if (once == refs)
        return meta;
    request_warn(
        w->r,
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix "
        "your requests; duplicate UID(s) observed: %.*s",
        STR_ARG(twice));
    return json_with(w->arena, meta, *once, "ownerReferences", NULL);
}

static int system_fields(struct write *w)
{
    struct io *io = w->r->server->io;
    const struct json *meta = dedup_owners(w, json_getz(w->tree, "metadata"));
    struct json next;

    if (w->old) {
        /* A patch that says another uid is invalid. */
        next = metadata_following(w->arena, meta, json_getz(w->old, "metadata"),
                                  w->r->verb == VERB_PATCH);
    } else {
        uint8_t random[16];
        io_random_bytes(io, random, sizeof(random));
        next = metadata_of_new(w->arena, meta, metadata_uid(w->arena, random),
                               time_text(w->arena, io_now(io)), w->kind->generation);
    }
    w->tree = json_with(w->arena, w->tree, next, "metadata", NULL);
    return 0;
}

/* ---- 5. defaults ---- */

static int defaults(struct write *w)
{
    w->tree = kind_default(w->arena, w->kind, w->tree, w->has_defaults);
    w->has_defaults = w->tree;
    if (!w->conformed)
        w->conformed = w->tree;
    if (!w->tree)
        return fail_too_large(w->r);
    return 0;
}

/* ---- 7. generation ---- */

/* Does anything outside metadata (and a status of its own) differ? */
static bool desired_differs(const struct write *w)
{
    size_t n = 0, n_old = 0;

    json_each_member (m, w->old) {
        n_old += !(str_eq(m->name, S("metadata")) ||
                   (w->kind->status && str_eq(m->name, S("status"))));
    }
    json_each_member (m, w->tree) {
        if (str_eq(m->name, S("metadata")) || (w->kind->status && str_eq(m->name, S("status"))))
            continue;
        n++;
        const struct json *was = json_get(w->old, m->name);
        if (!was || !json_eq(was, &m->value))
            return true;
    }
    return n != n_old;
}

static int generation(struct write *w)
{
    if (!w->old || !w->kind->generation || w->subresource.len || w->r->is_binding ||
        !desired_differs(w))
        return 0;
    int64_t was = json_i64(meta_get(w->old, S("generation")), 0);
    w->tree = meta_set(w->arena, w->tree, S("generation"), json_of_i64(was + 1));
    return 0;
}

/* ---- 8. validation ---- */

static bool is_same_error(const struct field_error *a, const struct field_error *b)
{
    return a->type == b->type && str_eq(a->path, b->path) && json_eq(&a->value, &b->value) &&
           str_eq(a->detail, b->detail);
}

/* The table and the rules of metadata may find the same hole; nothing is told twice. */
static void drop_repeated(struct field_errors *e, size_t n_meta)
{
    for (size_t i = e->list.len; i-- > 0;) {
        for (size_t j = 0; j < i; j++) {
            const struct field_error *x = &e->list.at[i], *y = &e->list.at[j];
            bool is_same_hole =
                j < n_meta && i >= n_meta && x->type == y->type && str_eq(x->path, y->path);
            if (is_same_hole || is_same_error(x, y)) {
                vec_remove(&e->list, i);
                break;
            }
        }
    }
}

/* A version without rules of its own is judged by those of the version that is stored, as
 * upstream judges all versions in one form. */
static void check_as_stored(struct write *w)
{
    const struct kind *k = w->kind, *stored = k->storage;

    if (stored == k || k->check || !stored->check || w->errors.list.len)
        return;
    const struct json *old = w->old ? tree_as_kind(w->arena, w->old, k, stored) : NULL;
    kind_check(&w->errors, stored, tree_as_kind(w->arena, w->tree, k, stored), old,
               w->known ? old : NULL);
}

static int validate(struct write *w)
{
    w->errors = field_errors_in(w->arena);
    meta_validate(w);
    size_t n_meta = w->errors.list.len;
    if (w->judged)
        kind_validate_new(&w->errors, w->kind, w->tree, w->judged);
    else
        (w->known ? kind_validate : kind_validate_whole)(&w->errors, w->kind, w->tree, w->old);
    check_as_stored(w);
    drop_repeated(&w->errors, n_meta);
    if (w->errors.list.len)
        return fail_invalid(w->r, w->name, &w->errors);
    return 0;
}

/* ---- the end: store ---- */

static void put_done(void *ctx, uint64_t revision, const struct err *err)
{
    struct request *r = ctx;

    if (revision) {
        struct object *o = as_kind(r->arena, r->next, r->kind);
        audit_write(r, r->is_created ? 201 : 200, o);
        r->reply->object(r, r->verb == VERB_CREATE || r->is_created ? 201 : 200, o);
        object_unref(o);
        request_fini(r);
        return;
    }
    bool is_race = err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND;
    if (is_race && write_again(r))
        return;
    fail_put(r, err);
    request_fini(r);
}

int fail_put(struct request *r, const struct err *err)
{
    if (err->code == ERR_CONFLICT && r->verb == VERB_CREATE)
        return fail_exists(r, object_key(r->next).name);
    if (err->code == ERR_CONFLICT)
        return fail_conflict(r, "%s", CONFLICT_WHY);
    if (err->code == ERR_NOT_FOUND)
        return fail_not_found(r);
    if (err->code == ERR_LIMIT)
        return fail_too_large(r);
    return fail_err(r, err);
}

/* A removed object answers with the version it had before. */
static bool is_to_be_removed(const struct write *w)
{
    return w->old && json_has(meta_get(w->tree, S("deletionTimestamp"))) &&
           json_len(meta_get(w->tree, S("finalizers"))) == 0 &&
           json_i64(meta_get(w->tree, S("deletionGracePeriodSeconds")), 0) == 0 &&
           json_len(json_path(w->tree, "spec", "finalizers", NULL)) == 0;
}

static void answer_unchanged(struct request *r, int code, struct object *o)
{
    struct object *as = as_kind(r->arena, o, r->kind);

    r->reply->object(r, code, as);
    object_unref(as);
    request_fini(r);
}

static void removed(void *ctx, uint64_t revision, const struct err *err)
{
    struct request *r = ctx;

    if (revision) {
        object_set_revision(r->next, object_revision(r->current));
        audit_write(r, 200, r->next);
        answer_unchanged(r, 200, r->next);
        return;
    }
    if ((err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND) && write_again(r))
        return;
    fail_put(r, err);
    request_fini(r);
}

/* What the kind's table and its rules tell whoever writes one. */
static void warn_of_kind(struct write *w)
{
    if (w->r->attempts)
        return;
    if (w->kind->warning.len)
        request_warn(w->r, "%.*s", STR_ARG(w->kind->warning));
    if (w->subresource.len)
        return;
    struct str_list more = api_warnings(w->arena, w->kind, w->tree, w->old);
    for (size_t i = 0; i < more.len; i++)
        request_warn(w->r, "%.*s", STR_ARG(more.at[i]));
}

/* The tree without the times at which its managers wrote. */
static const struct json *without_times(struct arena *a, const struct json *tree)
{
    const struct json *managed = meta_get(tree, S("managedFields"));
    struct json_arr all = arr_in(a);

    json_each (i, managed) {
        struct json_obj entry = obj_from(a, json_at(managed, i));
        obj_del(&entry, S("time"));
        arr_add(&all, obj_done(&entry));
    }
    return meta_set(a, tree, S("managedFields"), arr_done(&all));
}

/* Does a part other than the metadata differ? Mostly it does, and is quickly found. */
static bool parts_differ(const struct json *tree, const struct json *was)
{
    for (uint32_t i = 0; i < tree->len; i++) {
        const struct json_member *m = &tree->members[i];
        if (!str_eq(m->name, S("metadata")) &&
            !json_eq(&m->value, json_get_near(was, m->name, i)))
            return true;
    }
    return false;
}

/* An apply tells its time before the parts that are not the writer's are left out; where
 * nothing else is new, nothing is. */
static bool is_unchanged(const struct write *w)
{
    struct arena *a = w->arena;

    if (!w->old || parts_differ(w->tree, w->old))
        return false;
    const struct json *was = without_version(a, w->old);
    if (w->r->verb == VERB_PATCH && w->r->patch_type == PATCH_APPLY)
        return json_eq(without_times(a, w->tree), without_times(a, was));
    return json_eq(w->tree, was);
}

struct object *object_at_rest(struct request *r, const struct json *tree)
{
    const struct kind *k = r->kind->storage;
    const struct json *at_rest = tree_as_kind(r->arena, tree, r->kind, k);
    const struct object *before = at_rest == tree ? r->current : NULL;

    return object_after(before, k, at_rest, store_is_watched(r->server->store, k));
}

static void put(struct write *w)
{
    struct request *r = w->r;

    warn_of_kind(w);
    if (is_unchanged(w)) {
        answer_unchanged(r, 200, r->current);
        return;
    }
    r->next = object_at_rest(r, w->tree);
    if (r->options.dry_run) {
        if (r->current)
            object_set_revision(r->next, object_revision(r->current));
        answer_unchanged(r, r->verb == VERB_CREATE || r->is_created ? 201 : 200, r->next);
        return;
    }
    uint64_t expect = r->current ? object_revision(r->current) : 0;
    if (is_to_be_removed(w)) {
        /* Watches see its last state with the revision of the removal. */
        struct object *last = object_again(r->next);
        store_delete(r->server->store, last, expect, removed, r);
        object_unref(last);
        return;
    }
    store_put(r->server->store, r->next, expect, put_done, r);
}

const struct json *without_version(struct arena *a, const struct json *tree)
{
    struct json_obj m = obj_from(a, json_getz(tree, "metadata"));

    obj_del(&m, S("resourceVersion"));
    return json_with(a, tree, obj_done(&m), "metadata", NULL);
}

/* ---- the road ---- */

typedef int step_fn(struct write *w);

static void give_back(struct arena *scratch, struct arena_mark mark)
{
    arena_rewind(scratch, mark);
    scratch->next_size = SERVER_SCRATCH;
}

bool is_by_these_rules(const struct request *r)
{
    return r->current && object_revision(r->current) > r->server->first_revision;
}

void write_tree(struct request *r, const struct json *body, const struct json *old)
{
    /* Ownership is told from what the writer sent and its defaults; what admission and the
     * kind's strategy add belongs to nobody. The last defaults see what the strategy made. */
    static step_fn *const steps[] = {
        parts,          alike_find,       conform,       names,         defaults,
        managed_fields, admit_mutating,   system_fields, rules_prepare, generation,
        validate,       admit_validating, defaults,
    };
    struct arena *scratch = &r->server->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct write w = {
        .r = r,
        .arena = scratch,
        .kind = r->kind,
        .tree = body,
        .old = old,
        .subresource = r->subresource,
    };

    w.known = w.has_defaults = is_by_these_rules(r) ? old : NULL;
    for (size_t i = 0; i < countof(steps); i++) {
        if (steps[i](&w) < 0) {
            audit_write(r, 0, NULL);
            request_fini(r);
            give_back(scratch, mark);
            return;
        }
    }
    alike_keep(&w);
    put(&w);
    give_back(scratch, mark);
}
