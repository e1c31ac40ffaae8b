/* delete.c - DELETE of one object: preconditions, grace, finalizers, then removal
 *
 *     asked ─▶ graceful (pods): a deletion time, the node ends it later
 *          └─▶ finalizers left: a deletion time, whoever owns them takes them out
 *          └─▶ neither: gone
 */
#include "server/run_as_priv.h"

#include "api/metadata.h"
#include "io/io.h"
#include "value/time.h"

#define POD_GRACE_S 30

static bool is_pod(const struct kind *k)
{
    return str_eqz(k->kind, "Pod") && !k->group.len;
}

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

/* What happens to dependents where the request does not say. */
static enum delete_policy kind_default(struct request *r, struct delete_finalizers now,
                                       enum delete_policy asked)
{
    const struct delete_options *o = &r->options.remove;

    if (!str_eqz(r->kind->kind, "Job") || !str_eqz(r->kind->group, "batch"))
        return DELETE_BACKGROUND;
    if (!o->has_orphan && asked == DELETE_DEFAULT && !now.orphan && !now.foreground)
        request_warn(r, "child pods are preserved by default when jobs are deleted; set "
                        "propagationPolicy=Background to remove them or set "
                        "propagationPolicy=Orphan to suppress this warning");
    return DELETE_ORPHAN;
}

/* The object's finalizers with the two of the garbage collector as they should be. */
static const struct json *gc_finalizers(struct request *r, const struct json *tree)
{
    static const struct str orphan = S_INIT("orphan"),
                            foreground = S_INIT("foregroundDeletion");
    const struct delete_options *o = &r->options.remove;
    struct delete_finalizers now = {has_finalizer(tree, orphan),
                                    has_finalizer(tree, foreground)};
    enum delete_policy asked = DELETE_DEFAULT;

    delete_policy_find(o->propagation_policy, &asked);
    struct delete_finalizers want =
        delete_gc_finalizers(now, o->has_orphan, o->orphan, asked, kind_default(r, now, asked));
    const struct json *all = meta_get(tree, S("finalizers"));
    struct json_arr out = arr_in(r->arena);
    json_each (i, all) {
        struct str name = json_str(json_at(all, i));
        if ((!str_eq(name, orphan) || want.orphan) &&
            (!str_eq(name, foreground) || want.foreground))
            arr_add(&out, *json_at(all, i));
    }
    if (want.orphan && !now.orphan)
        arr_add(&out, json_of_str(orphan));
    if (want.foreground && !now.foreground)
        arr_add(&out, json_of_str(foreground));
    return json_new(r->arena, arr_done(&out));
}

/* ---- the state of a deletion ---- */

static struct delete_state state_of(const struct json *tree, bool has_finalizers)
{
    const struct json *grace = meta_get(tree, S("deletionGracePeriodSeconds"));
    struct delete_state s = {
        .is_deleting = json_has(meta_get(tree, S("deletionTimestamp"))),
        .has_grace = json_has(grace),
        .grace = json_i64(grace, 0),
        .generation = json_i64(meta_get(tree, S("generation")), 0),
        .has_finalizers = has_finalizers,
    };

    if (s.is_deleting)
        time_parse(json_str(meta_get(tree, S("deletionTimestamp"))), &s.timestamp, NULL);
    return s;
}

static const struct json *with_state(struct request *r, const struct json *tree,
                                     const struct delete_state *s)
{
    struct arena *a = r->arena;
    struct json_obj m = obj_from(a, json_getz(tree, "metadata"));

    obj_setz(&m, "deletionTimestamp", json_of_str(time_text(a, s->timestamp)));
    if (s->has_grace)
        obj_setz(&m, "deletionGracePeriodSeconds", json_of_i64(s->grace));
    if (s->generation)
        obj_setz(&m, "generation", json_of_i64(s->generation));
    return json_with(a, tree, obj_done(&m), "metadata", NULL);
}

/* Only pods are given time. */
static struct delete_decision decide(struct request *r, const struct json *tree,
                                     struct delete_state state)
{
    struct delete_request asked = r->options.remove.grace;
    struct str phase = json_str(json_path(tree, "status", "phase", NULL));

    if (!is_pod(r->kind))
        return delete_decide(state, asked, false, 0, io_now(r->server->io));
    bool is_over = str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
    int64_t grace = delete_pod_grace(
        asked.has_grace, asked.grace,
        json_i64(json_path(tree, "spec", "terminationGracePeriodSeconds", NULL), POD_GRACE_S),
        json_str(json_path(tree, "spec", "nodeName", NULL)).len > 0, is_over);
    if (!state.is_deleting)
        asked = (struct delete_request){true, grace};
    return delete_decide(state, asked, true, grace, io_now(r->server->io));
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
    audit_write(r, 200, r->next);
    if (r->kind->style == KIND_CUSTOM || is_pod(r->kind)) {
        struct object *as = as_kind(r->arena, r->next, r->kind);
        r->reply->object(r, 200, as);
        object_unref(as);
    } else {
        r->reply->tree(
            r, 200, success_of(r, subject_of(r), str_copy(r->arena, object_uid(r->current))));
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
    const struct delete_options *o = &r->options.remove;
    r->reply->object(r, o->has_orphan && !o->orphan ? 202 : 200, as);
    object_unref(as);
    request_fini(r);
}

static int check_preconditions_of_delete(struct request *r)
{
    const struct delete_options *o = &r->options.remove;
    struct str version = str_of_u64(r->arena, object_revision(r->current));
    struct err err = {0};

    if (metadata_check_preconditions(o->want_uid, o->want_version, object_uid(r->current),
                                     version, &err) < 0) {
        /* Upstream names the Kind here, not the resource. */
        struct status_subject about = subject_of(r);
        about.resource = r->kind->kind;
        struct api_error e = api_error_conflict(r->arena, about, str_from(err.text));
        return fail_api(r, &e);
    }
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

    r->next = object_at_rest(r, tree);
    if (r->options.dry_run) {
        object_set_revision(r->next, expect);
        if (is_gone) {
            answer_removed(r);
            return;
        }
        marked(r, expect, NULL);
        return;
    }
    r->is_unconditional = !r->options.remove.want_version.len;
    if (is_gone)
        store_delete(r->server->store, r->next, expect, removed, r);
    else
        store_put(r->server->store, r->next, expect, marked, r);
}

void verb_delete(struct request *r)
{
    if (!load_current(r)) {
        fail_not_found(r);
        request_fini(r);
        return;
    }
    if (check_preconditions_of_delete(r) < 0 || run_as_delete(r) < 0) {
        request_fini(r);
        return;
    }
    const struct json *tree = current_tree(r);
    const struct json *finalizers = gc_finalizers(r, tree);
    const struct json *were = meta_get(tree, S("finalizers"));
    bool is_changed = !json_eq(finalizers, were) && (json_len(finalizers) || json_len(were));
    bool stays = json_len(finalizers) > 0 || has_own_finalizers(r, tree);
    struct delete_state state = state_of(tree, stays);
    struct delete_decision d = decide(r, tree, state);

    if (d.is_pending || (!d.is_graceful && stays && state.is_deleting && !is_changed)) {
        answer_as_it_is(r);
        return;
    }
    if (is_changed)
        tree = json_len(finalizers)
                   ? meta_set(r->arena, tree, S("finalizers"), *finalizers)
                   : json_without(r->arena, tree, "metadata", "finalizers", NULL);
    if (r->is_eviction && is_pod(r->kind))
        tree = with_disruption(r, tree);
    bool is_graceful = d.is_graceful && d.state.grace > 0;
    if (!d.is_graceful)
        d.state = delete_begin(d.state, io_now(r->server->io));
    /* What goes at once never shows that it was going; pods alone do. */
    if (stays || is_pod(r->kind))
        tree = mark_terminating(r, with_state(r, tree, &d.state));
    store_it(r, tree, !is_graceful && !stays);
}
