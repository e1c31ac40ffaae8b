/* run_as.c - admission: whose work runs as whom (DESIGN.md, Safety)
 *
 * On create the annotation is the asker's account; afterwards it stays what it is. Only root
 * may say another one, and our own controllers, which copy it from the owner. A write by
 * another user may not change what will run, nor the environment that it names.
 */
#include "server/run_as_priv.h"

#include "api/run_as.h"

#define DEPTH_MAX 64

/* ---- where a kind holds what will run ---- */

static bool is_template(const struct schema *s)
{
    return str_eqz(s->name, "PodTemplateSpec") || str_eqz(s->name, "PodSpec");
}

/* Types form cycles in a few kinds; none of those holds a pod. */
static bool reaches_pod(const struct schema *s, int depth)
{
    if (!s || depth > 8)
        return false;
    if (is_template(s))
        return true;
    for (size_t i = 0; i < s->n_fields; i++) {
        if (!(s->fields[i].flags & FIELD_TYPE_META) &&
            reaches_pod(s->fields[i].type, depth + 1))
            return true;
    }
    return reaches_pod(s->item, depth + 1) || reaches_pod(s->value, depth + 1);
}

bool kind_runs(struct server *s, const struct kind *k)
{
    if (k->id < 0 || k->id >= SERVER_RUNS_CACHED)
        return reaches_pod(k->schema, 0);
    if (!s->runs[k->id])
        s->runs[k->id] = reaches_pod(k->schema, 0) ? 1 : -1;
    return s->runs[k->id] > 0;
}

struct templates {
    struct arena *arena;
    VEC(const struct json *) at;
};

/* Templates in the order of the text, the outer ones only. */
static void collect(struct templates *t, const struct schema *s, const struct json *v,
                    int depth)
{
    if (!s || !v || depth > DEPTH_MAX)
        return;
    if (is_template(s)) {
        vec_push_in(t->arena, &t->at, v);
        return;
    }
    json_each_member (m, v) {
        const struct schema_field *f = schema_field_of(s, m);
        collect(t, f ? f->type : s->value, &m->value, depth + 1);
    }
    json_each (i, v)
        collect(t, s->item, json_at(v, i), depth + 1);
}

static bool templates_differ(struct arena *a, const struct kind *k, const struct json *x,
                             const struct json *y)
{
    struct templates tx = {.arena = a}, ty = {.arena = a};

    collect(&tx, k->schema, x, 0);
    collect(&ty, k->schema, y, 0);
    if (tx.at.len != ty.at.len)
        return true;
    vec_each (i, &tx.at) {
        if (!json_eq(tx.at.at[i], ty.at.at[i]))
            return true;
    }
    return false;
}

/* ---- who is who ---- */

static bool is_root(const struct server_user *u)
{
    return u->has_account && u->account_uid == 0;
}

static bool is_controller(const struct server_user *u)
{
    return str_eq(u->name, server_berth.name) && user_is_master(u);
}

/* Root, administrators and our own controllers are never "another user". */
static bool is_trusted(const struct server_user *u)
{
    return is_root(u) || user_is_master(u);
}

static struct str account_text(struct arena *a, const struct server_user *u)
{
    if (!u->has_account)
        return str_of(NULL, 0);
    return run_as_text(a, &(struct run_as){.uid = u->account_uid,
                                           .gid = u->account_gid,
                                           .groups = u->account_groups,
                                           .n_groups = u->n_account_groups});
}

static bool is_same_account(struct arena *a, const struct server_user *u, struct str text)
{
    struct run_as who;

    return u->has_account && run_as_parse(a, text, &who, NULL) == 0 &&
           who.uid == u->account_uid;
}

/* ---- the annotation ---- */

static struct str run_as_given(const struct json *tree)
{
    return json_str(json_path(tree, "metadata", "annotations", RUN_AS_ANNOTATION, NULL));
}

static void set_run_as(struct write *w, struct str text)
{
    struct json_obj all = obj_from(w->arena, meta_get(w->tree, S("annotations")));

    if (text.len)
        obj_setz(&all, RUN_AS_ANNOTATION, json_of_str(text));
    else
        obj_del(&all, S(RUN_AS_ANNOTATION));
    struct json annotations = obj_done(&all);
    if (annotations.len || json_has(meta_get(w->tree, S("annotations"))))
        w->tree = meta_set(w->arena, w->tree, S("annotations"), annotations);
}

static int refuse_change(struct write *w)
{
    return fail_forbidden(w->r, "annotation " RUN_AS_ANNOTATION
                                " is written by the server; only root may say another account");
}

static int on_create(struct write *w)
{
    const struct server_user *u = w->r->user;
    struct str given = run_as_given(w->tree), own = account_text(w->arena, u);

    if (given.len && (is_root(u) || is_controller(u)))
        return 0;
    if (given.len && !str_eq(given, own))
        return refuse_change(w);
    set_run_as(w, own);
    if (!own.len && !is_controller(u) && w->r->server->config.account)
        request_warn(w->r,
                     "no account of this machine belongs to user \"%.*s\": pods of this %.*s "
                     "cannot run as host processes; root gives one by `berth user %.*s`",
                     STR_ARG(u->name), STR_ARG(w->kind->kind), STR_ARG(u->name));
    return 0;
}

static int on_update(struct write *w)
{
    const struct server_user *u = w->r->user;
    struct str given = run_as_given(w->tree), was = run_as_given(w->old);

    if (given.len && !str_eq(given, was)) {
        if (!is_root(u))
            return refuse_change(w);
        return 0;
    }
    if (!str_eq(given, was))
        set_run_as(w, was);
    if (is_trusted(u) || !was.len || is_same_account(w->arena, u, was))
        return 0;
    if (templates_differ(w->arena, w->kind, w->old, w->tree))
        return fail_forbidden(w->r, "user \"%.*s\" may not change what runs as another user",
                              STR_ARG(u->name));
    return 0;
}

/* ---- sources of environment ---- */

/* Does a container of the template take its environment from `name`? */
static bool names_source(const struct json *v, struct str ref, struct str key_ref,
                         struct str name)
{
    static const struct str lists[] = {S_INIT("containers"), S_INIT("initContainers")};
    const struct json *spec = json_getz(v, "spec");

    spec = json_has(json_getz(spec, "containers")) ? spec : v;
    for (size_t l = 0; l < countof(lists); l++) {
        const struct json *all = json_get(spec, lists[l]);
        json_each (i, all) {
            const struct json *from = json_getz(json_at(all, i), "envFrom");
            const struct json *env = json_getz(json_at(all, i), "env");
            json_each (j, from) {
                if (str_eq(json_str(json_getz(json_get(json_at(from, j), ref), "name")), name))
                    return true;
            }
            json_each (j, env) {
                const struct json *source = json_getz(json_at(env, j), "valueFrom");
                if (str_eq(json_str(json_getz(json_get(source, key_ref), "name")), name))
                    return true;
            }
        }
    }
    return false;
}

/* Looks at every object of the namespace that runs something; those that do not mention the
 * name at all are not even read as trees. */
static bool is_used_by_others(struct write *w, const struct kind *k)
{
    bool is_secret = str_eqz(w->kind->kind, "Secret");
    struct str ref = is_secret ? S("secretRef") : S("configMapRef");
    struct str key_ref = is_secret ? S("secretKeyRef") : S("configMapKeyRef");
    struct store_walk walk =
        store_walk(w->r->server->store, w->arena, k->storage, w->r->ns, S(""), 0);
    struct object *o;

    while ((o = store_next(&walk))) {
        if (!str_has(object_rest(o), w->name))
            continue;
        scoped(arena_fini) struct arena a = {0};
        const struct json *tree = object_tree(o, &a);
        struct str was = run_as_given(tree);
        struct templates t = {.arena = &a};
        if (!was.len || is_same_account(&a, w->r->user, was))
            continue;
        collect(&t, object_key(o).kind->schema, tree, 0);
        vec_each (i, &t.at) {
            if (names_source(t.at.at[i], ref, key_ref, w->name))
                return true;
        }
    }
    return false;
}

static bool is_source(const struct kind *k)
{
    return !k->group.len && (str_eqz(k->kind, "ConfigMap") || str_eqz(k->kind, "Secret"));
}

static int on_source(struct write *w)
{
    struct server *s = w->r->server;

    if (is_trusted(w->r->user))
        return 0;
    vec_each (i, &s->kinds) {
        const struct kind *k = s->kinds.at[i];
        if (k->storage != k || !k->namespaced || !k->stored || !kind_runs(s, k))
            continue;
        if (is_used_by_others(w, k))
            return fail_forbidden(
                w->r,
                "user \"%.*s\" may not change the environment of what runs as "
                "another user",
                STR_ARG(w->r->user->name));
    }
    return 0;
}

int run_as_delete(struct request *r)
{
    struct write w = {.r = r, .arena = r->arena, .kind = r->kind, .name = r->name};

    return is_source(r->kind) ? on_source(&w) : 0;
}

int run_as_admit(struct write *w)
{
    if (is_source(w->kind))
        return on_source(w);
    if (str_eqz(w->subresource, "status") || !kind_runs(w->r->server, w->kind))
        return 0;
    return w->old ? on_update(w) : on_create(w);
}
