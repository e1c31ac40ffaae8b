/* delete.c - DELETE of one object: preconditions, grace, finalizers, then removal
 *
 *     asked ─▶ graceful (pods): a deletion time, the node ends it later
 *          └─▶ finalizers left: a deletion time, whoever owns them takes them out
 *          └─▶ neither: gone
 */
#include "server/write_priv.h"

#include "io/io.h"
#include "value/time.h"

#define POD_GRACE_S 30

/* ---- which finalizers of the garbage collector it gets ---- */

static bool has_finalizer(const struct json *tree, struct str name)
{
    const struct json *all = meta_get(tree, S("finalizers"));

    json_each (i, all) {
        if (str_eq(json_str(json_at(all, i)), name))
            return true;
    }
    return false;
}

enum propagation { PROPAGATION_BACKGROUND, PROPAGATION_FOREGROUND, PROPAGATION_ORPHAN };

static enum propagation propagation_of(struct request *r, const struct json *tree)
{
    const struct options *o = &r->options;

    if (o->has_orphan)
        return o->orphan ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
    if (str_eqz(o->propagation, "Orphan"))
        return PROPAGATION_ORPHAN;
    if (str_eqz(o->propagation, "Foreground"))
        return PROPAGATION_FOREGROUND;
    if (str_eqz(o->propagation, "Background"))
        return PROPAGATION_BACKGROUND;
    if (has_finalizer(tree, S("orphan")))
        return PROPAGATION_ORPHAN;
    if (has_finalizer(tree, S("foregroundDeletion")))
        return PROPAGATION_FOREGROUND;
    if (str_eqz(r->kind->kind, "Job") && str_eqz(r->kind->group, "batch")) {
        if (r->attempts == 0)
            request_warn(r, "child pods are preserved by default when jobs are deleted; set "
                            "propagationPolicy=Background to remove them or set "
                            "propagationPolicy=Orphan to suppress this warning");
        return PROPAGATION_ORPHAN;
    }
    return PROPAGATION_BACKGROUND;
}

/* The object's finalizers with the two of the garbage collector as they should be. */
static const struct json *gc_finalizers(struct request *r, const struct json *tree)
{
    static const struct str orphan = S_INIT("orphan"),
                            foreground = S_INIT("foregroundDeletion");
    enum propagation p = propagation_of(r, tree);
    const struct json *all = meta_get(tree, S("finalizers"));
    struct json_arr out = arr_in(r->arena);

    json_each (i, all) {
        struct str name = json_str(json_at(all, i));
        if ((!str_eq(name, orphan) || p == PROPAGATION_ORPHAN) &&
            (!str_eq(name, foreground) || p == PROPAGATION_FOREGROUND))
            arr_add(&out, *json_at(all, i));
    }
    if (p == PROPAGATION_ORPHAN && !has_finalizer(tree, orphan))
        arr_add(&out, json_of_str(orphan));
    if (p == PROPAGATION_FOREGROUND && !has_finalizer(tree, foreground))
        arr_add(&out, json_of_str(foreground));
    return json_new(r->arena, arr_done(&out));
}

/* ---- grace: only pods have it ---- */

struct grace {
    bool is_graceful; /* stays, with a deletion time */
    bool is_pending;  /* already going: nothing to do */
    int64_t seconds;
    struct instant when;
};

static struct grace grace_of(struct request *r, const struct json *tree)
{
    struct instant now = io_now(r->server->io), was = {0};
    const struct json *recorded = meta_get(tree, S("deletionGracePeriodSeconds"));
    bool has_asked = r->options.has_grace;
    int64_t asked = r->options.grace_s < 0 ? 1 : r->options.grace_s;
    struct grace g = {.when = now};

    if (!str_eqz(r->kind->kind, "Pod") || r->kind->group.len)
        return g;
    if (json_has(meta_get(tree, S("deletionTimestamp")))) {
        int64_t old = json_i64(recorded, 0);
        old = old < 0 ? 1 : old;
        if (!json_has(recorded) || old == 0)
            return g;
        if (!has_asked || asked >= old) {
            g.is_pending = true;
            return g;
        }
        time_parse(json_str(meta_get(tree, S("deletionTimestamp"))), &was, NULL);
        g.is_graceful = true;
        g.seconds = asked;
        g.when = instant_add(was, span_s(asked - old));
        if (instant_before(g.when, now)) {
            g.when = now;
            g.seconds = asked ? 1 : 0;
        }
        g.is_graceful = g.seconds > 0;
        return g;
    }
    struct str phase = json_str(json_path(tree, "status", "phase", NULL));
    g.seconds = has_asked
                    ? asked
                    : json_i64(json_path(tree, "spec", "terminationGracePeriodSeconds", NULL),
                               POD_GRACE_S);
    if (!json_str(json_path(tree, "spec", "nodeName", NULL)).len ||
        str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
        g.seconds = 0;
    g.is_graceful = g.seconds > 0;
    g.when = instant_add(now, span_s(g.seconds));
    return g;
}

/* ---- the new version ---- */

static const struct json *mark_deleted(struct request *r, const struct json *tree,
                                       struct instant when, int64_t seconds)
{
    struct arena *a = r->arena;
    struct json_obj m = obj_from(a, json_getz(tree, "metadata"));
    bool was_deleted = json_has(json_path(tree, "metadata", "deletionTimestamp", NULL));
    int64_t generation = json_i64(meta_get(tree, S("generation")), 0);

    obj_setz(&m, "deletionTimestamp", json_of_str(time_text(a, when)));
    obj_setz(&m, "deletionGracePeriodSeconds", json_of_i64(seconds));
    if (!was_deleted && generation > 0)
        obj_setz(&m, "generation", json_of_i64(generation + 1));
    return json_with(a, tree, obj_done(&m), "metadata", NULL);
}

/* Namespaces hold a finalizer of their own kind, and say what is going on. */
static const struct json *mark_terminating(struct request *r, const struct json *tree)
{
    if (!str_eqz(r->kind->kind, "Namespace") || r->kind->group.len)
        return tree;
    return json_with(r->arena, tree, json_of_z("Terminating"), "status", "phase", NULL);
}

static bool has_own_finalizers(struct request *r, const struct json *tree)
{
    return str_eqz(r->kind->kind, "Namespace") && !r->kind->group.len &&
           json_len(json_path(tree, "spec", "finalizers", NULL)) > 0;
}

/* ---- answering ---- */

/* Pods and custom objects answer themselves; others a Status, as upstream does. */
static void answer_removed(struct request *r)
{
    struct arena *a = r->arena;
    struct json_obj d = obj_in(a);

    audit_write(r, 200, r->next);
    if (r->kind->style == KIND_CUSTOM ||
        (str_eqz(r->kind->kind, "Pod") && !r->kind->group.len)) {
        struct object *as = as_kind(a, r->next, r->kind);
        r->reply->object(r, 200, as);
        object_unref(as);
    } else {
        obj_setz(&d, "name", json_of_str(r->name));
        if (r->kind->group.len)
            obj_setz(&d, "group", json_of_str(r->kind->group));
        obj_setz(&d, "kind", json_of_str(r->kind->plural));
        obj_setz(&d, "uid", json_of_str(str_copy(a, object_uid(r->current))));
        r->reply->tree(r, 200,
                       status_of(a, 200, NULL, str_of(NULL, 0), json_new(a, obj_done(&d))));
    }
    request_fini(r);
}

static void removed(void *ctx, uint64_t revision, const struct err *err)
{
    struct request *r = ctx;

    if (revision) {
        answer_removed(r);
        return;
    }
    if ((err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND) && write_again(r))
        return;
    fail_put(r, err);
    request_fini(r);
}

static void marked(void *ctx, uint64_t revision, const struct err *err)
{
    struct request *r = ctx;

    if (!revision) {
        if ((err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND) && write_again(r))
            return;
        fail_put(r, err);
        request_fini(r);
        return;
    }
    audit_write(r, 200, r->next);
    struct object *as = as_kind(r->arena, r->next, r->kind);
    r->reply->object(r, r->options.has_orphan && !r->options.orphan ? 202 : 200, as);
    object_unref(as);
    request_fini(r);
}

static int check_delete_options(struct request *r)
{
    const struct options *o = &r->options;
    struct field_errors errors = field_errors_in(r->arena);
    struct field_path at = field_child(NULL, S("propagationPolicy"));
    struct json given = json_of_str(o->propagation);
    const struct json known[] = {json_of_z("Foreground"), json_of_z("Background"),
                                 json_of_z("Orphan")};
    bool is_known = false;

    for (size_t i = 0; i < countof(known); i++)
        is_known |= str_eq(json_str(&known[i]), o->propagation);
    if (o->propagation.len && o->has_orphan)
        field_invalid(&errors, &at, &given,
                      "orphanDependents and deletionPropagation cannot be both set");
    else if (o->propagation.len && !is_known)
        field_not_supported(&errors, &at, &given, known, countof(known));
    return errors.list.len ? fail_options(r, "DeleteOptions", &errors) : 0;
}

static int check_delete_preconditions(struct request *r)
{
    struct str uid = r->options.precondition_uid, version = r->options.precondition_version;
    struct str now = str_printf(r->arena, "%" PRIu64, object_revision(r->current));

    if (uid.len && !str_eq(uid, object_uid(r->current)))
        return fail_conflict(r,
                             "the UID in the precondition (%.*s) does not match the UID in "
                             "record (%.*s). The object might have been deleted and then "
                             "recreated",
                             STR_ARG(uid), STR_ARG(object_uid(r->current)));
    if (version.len && !str_eq(version, now))
        return fail_conflict(
            r,
            "the ResourceVersion in the precondition (%.*s) does not match the "
            "ResourceVersion in record (%.*s). The object might have been "
            "modified",
            STR_ARG(version), STR_ARG(now));
    return 0;
}

static void answer_as_it_is(struct request *r)
{
    struct object *as = as_kind(r->arena, r->current, r->kind);

    r->reply->object(r, 200, as);
    object_unref(as);
    request_fini(r);
}

/* Puts the version with its deletion time, or takes it out. */
static void store_it(struct request *r, const struct json *tree, bool is_gone)
{
    uint64_t expect = object_revision(r->current);

    r->next =
        object_new(r->kind->storage, tree_as_kind(r->arena, tree, r->kind, r->kind->storage));
    if (r->options.dry_run) {
        object_set_revision(r->next, expect);
        if (is_gone) {
            answer_removed(r);
            return;
        }
        marked(r, expect, NULL);
        return;
    }
    r->is_unconditional = !r->options.precondition_version.len;
    if (is_gone)
        store_delete(r->server->store, r->next, expect, removed, r);
    else
        store_put(r->server->store, r->next, expect, marked, r);
}

void verb_delete(struct request *r)
{
    if (check_delete_options(r) < 0)
        goto end;
    if (!load_current(r)) {
        fail_not_found(r);
        goto end;
    }
    if (check_delete_preconditions(r) < 0)
        goto end;

    const struct json *tree = current_tree(r);
    struct grace grace = grace_of(r, tree);
    if (grace.is_pending) {
        answer_as_it_is(r);
        return;
    }
    const struct json *finalizers = gc_finalizers(r, tree);
    bool is_changed = !json_eq(finalizers, meta_get(tree, S("finalizers"))) &&
                      (json_len(finalizers) || json_len(meta_get(tree, S("finalizers"))));
    if (is_changed)
        tree = json_len(finalizers)
                   ? meta_set(r->arena, tree, S("finalizers"), *finalizers)
                   : json_without(r->arena, tree, "metadata", "finalizers", NULL);
    if (grace.is_graceful) {
        store_it(r, mark_deleted(r, tree, grace.when, grace.seconds), false);
        return;
    }
    bool stays = json_len(finalizers) > 0 || has_own_finalizers(r, tree);
    bool is_marked = json_has(meta_get(tree, S("deletionTimestamp")));
    if (stays && is_marked && !is_changed) {
        answer_as_it_is(r);
        return;
    }
    if (!is_marked || !stays)
        tree = mark_terminating(r, mark_deleted(r, tree, io_now(r->server->io), 0));
    store_it(r, tree, !stays);
    return;
end:
    request_fini(r);
}
