/* job_known.c - records of pods, kept between looks */
#include "controllers/job_known.h"

#include "api/batch_v1.h"
#include "control/control.h"
#include "object/object.h"
#include "json/json.h"

/* ---- by Job ---- */

#define CHANGES_FIRST 512 /* bytes: most Jobs have few pods */

struct job_known *job_memory_find(const struct job_memory *m, struct str path)
{
    struct job_known **k = map_get(&m->by_path, path);

    return k ? *k : NULL;
}

static void drop_changed(struct job_known *k)
{
    vec_clear(&k->changed);
    arena_fini(&k->changes);
}

static void drop_strangers(struct job_known *k)
{
    vec_each (i, &k->strangers)
        free(k->strangers.at[i]);
    vec_clear(&k->strangers);
}

static void drop_pods(struct job_known *k)
{
    vec_each (i, &k->sources)
        free(k->sources.at[i].texts);
    vec_clear(&k->sources);
    vec_clear(&k->pods);
    map_clear(&k->at);
}

static void known_free(struct job_known *k)
{
    map_each (i, &k->let_go)
        free(*map_at(&k->let_go, i));
    map_fini(&k->let_go);
    drop_changed(k);
    drop_strangers(k);
    drop_pods(k);
    vec_fini(&k->changed);
    vec_fini(&k->strangers);
    vec_fini(&k->sources);
    vec_fini(&k->pods);
    map_fini(&k->at);
    free(k);
}

void job_memory_forget(struct job_memory *m, struct str path)
{
    struct job_known *k = job_memory_find(m, path);

    if (!k)
        return;
    map_del(&m->by_path, path);
    known_free(k);
}

void job_memory_fini(struct job_memory *m)
{
    map_each (i, &m->by_path)
        known_free(*map_at(&m->by_path, i));
    map_fini(&m->by_path);
}

struct job_known *job_memory_of(struct job_memory *m, struct str path, struct str uid)
{
    struct job_known *k = job_memory_find(m, path);

    if (k && str_eq(str_from(k->uid), uid))
        return k;
    job_memory_forget(m, path);
    k = mem_zero(1, sizeof(*k) + path.len + 1);
    memcpy(k->uid, uid.at, MIN(uid.len, sizeof(k->uid) - 1));
    memcpy(k->path, path.at, path.len);
    *map_put(&m->by_path, str_of(k->path, path.len)) = k;
    return k;
}

/* ---- one pod ---- */

const struct json *job_controller_of(const struct json *pod)
{
    const struct json *owners = json_path(pod, "metadata", "ownerReferences", NULL);

    json_each (i, owners)
        if (json_bool(json_getz(json_at(owners, i), "controller"), false))
            return json_at(owners, i);
    return NULL;
}

/* One that ended and is counted says nothing more, unless it fails the Job. */
static bool matters(const struct job_pod *p)
{
    return p->has_finalizer || !job_pod_is_terminal(p) || p->action == JOB_POLICY_FAIL_JOB;
}

static void remove_pod(struct job_known *k, struct str uid)
{
    uint32_t *found = map_get(&k->at, uid), at = found ? *found : 0;

    if (!found)
        return;
    char *texts = k->sources.at[at].texts;
    map_del(&k->at, uid);
    k->pods.at[at] = vec_pop(&k->pods);
    k->sources.at[at] = vec_pop(&k->sources);
    if (at < k->pods.len)
        *map_get(&k->at, k->pods.at[at].uid) = at;
    free(texts);
}

static struct str take_text(char **to, struct str text)
{
    struct str copy = str_of(*to, text.len);

    if (text.len)
        memcpy(*to, text.at, text.len);
    *to += text.len;
    return copy;
}

/* Most Jobs have one pod, and many of them wait at a time: the arrays begin with one place. */
static void make_first_place(struct job_known *k)
{
    if (k->pods.cap)
        return;
    k->pods.at = mem_alloc(sizeof(*k->pods.at));
    k->sources.at = mem_alloc(sizeof(*k->sources.at));
    k->pods.cap = k->sources.cap = 1;
}

static void put_pod(struct job_known *k, struct job_pod p, uint64_t revision)
{
    struct job_source source = {mem_alloc(p.uid.len + p.name.len + p.failure.len + 1),
                                revision};
    char *to = source.texts;

    p.uid = take_text(&to, p.uid);
    p.name = take_text(&to, p.name);
    p.failure = take_text(&to, p.failure);
    uint32_t *found = map_get(&k->at, p.uid), at = found ? *found : (uint32_t)k->pods.len;
    if (!found) {
        make_first_place(k);
        vec_push(&k->pods, p);
        vec_push(&k->sources, source);
    } else { /* the old text is the key */
        map_del(&k->at, p.uid);
        free(k->sources.at[at].texts);
        k->pods.at[at] = p;
        k->sources.at[at] = source;
    }
    *map_put(&k->at, p.uid) = at;
}

void job_known_let_go(struct job_known *k, struct str uid)
{
    uint32_t *at = map_get(&k->at, uid);

    if (at)
        k->pods.at[*at].has_finalizer = false;
    if (map_get(&k->let_go, uid))
        return;
    char *own = mem_alloc(uid.len + 1);
    memcpy(own, uid.at, uid.len);
    *map_put(&k->let_go, str_of(own, uid.len)) = own;
}

/* The caches show it, too. */
static void forget_let_go(struct job_known *k, struct str uid)
{
    char **found = map_get(&k->let_go, uid), *own = found ? *found : NULL;

    if (!own)
        return;
    map_del(&k->let_go, uid);
    free(own);
}

static void note_stranger(struct job_known *k, struct str name)
{
    char *z = mem_alloc(name.len + 1);

    memcpy(z, name.at, name.len);
    z[name.len] = 0;
    vec_push(&k->strangers, z);
}

static void read_pod(struct job_known *k, struct arena *a, const struct job *job,
                     const struct selector *selector, struct object *o)
{
    const struct json *pod = object_tree(o, a);
    struct job_pod p = job_pod_of(a, job, pod);

    if (!p.has_finalizer)
        forget_let_go(k, p.uid);
    else if (map_get(&k->let_go, p.uid))
        p.has_finalizer = false;
    if (!selector_matches_json(selector, json_path(pod, "metadata", "labels", NULL))) {
        note_stranger(k, p.name);
        remove_pod(k, p.uid);
    } else if (!matters(&p)) {
        remove_pod(k, p.uid);
    } else {
        put_pod(k, p, object_revision(o));
    }
}

/* ---- all of them ---- */

void job_known_changed(struct job_known *k, struct object *pod)
{
    struct str uid = object_uid(pod), name = object_key(pod).name;

    if (!k->is_full)
        return; /* all are read anyway */
    if (k->changed.len && str_eq(uid, vec_last(&k->changed).uid))
        return; /* one pod, again */
    if (!k->changed.len)
        k->changes = arena_sized(CHANGES_FIRST);
    vec_push(&k->changed,
             (struct job_change){str_copy(&k->changes, uid), str_copy(&k->changes, name)});
}

void job_known_doubt(struct job_known *k)
{
    drop_changed(k);
    drop_strangers(k);
    drop_pods(k);
    k->is_full = false;
}

static bool is_ours(const struct job_known *k, struct object *o, const struct json *tree)
{
    const struct json *owner = job_controller_of(tree);
    struct str ns, name;

    str_cut(str_from(k->path), '/', &ns, &name);
    return str_eqz(json_str(json_getz(owner, "uid")), k->uid) && str_eq(object_key(o).ns, ns);
}

/* Of a pod that ended and is counted no more need be read, where no policy asks how it ended.
 */
static bool is_done_with(const struct job *job, const struct json *pod)
{
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));

    return !job->spec->pod_failure_policy &&
           (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed")) && !job_pod_is_held(pod);
}

static void read_changed(struct job_known *k, const struct job *job,
                         const struct selector *selector, const struct cache *pods,
                         const struct job_change *change)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct str uid = change->uid, ns, name;

    str_cut(str_from(k->path), '/', &ns, &name);
    struct object *now = cache_get(pods, ns, change->name);
    uint32_t *at = map_get(&k->at, uid);
    if (!now || !str_eq(object_uid(now), uid)) {
        remove_pod(k, uid);
        forget_let_go(k, uid);
        return;
    }
    if (at && k->sources.at[*at].revision == object_revision(now))
        return; /* told of more than once */
    const struct json *tree = object_tree(now, &a);
    if (!is_ours(k, now, tree)) {
        remove_pod(k, uid);
    } else if (is_done_with(job, tree) &&
               selector_matches_json(selector, json_path(tree, "metadata", "labels", NULL))) {
        remove_pod(k, uid);
        forget_let_go(k, uid);
    } else {
        read_pod(k, &a, job, selector, now);
    }
}

static void read_all(struct job_known *k, const struct job *job,
                     const struct selector *selector, const struct cache_index *owned)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct object *const *list;
    size_t n = cache_indexed(owned, str_from(k->uid), &list);

    job_known_doubt(k);
    for (size_t i = 0; i < n; i++) {
        if (is_ours(k, list[i], object_tree(list[i], &a)))
            read_pod(k, &a, job, selector, list[i]);
        arena_reset(&a);
    }
    k->is_full = true;
}

void job_known_refresh(struct job_known *k, const struct job *job,
                       const struct selector *selector, const struct cache *pods,
                       const struct cache_index *owned)
{
    if (!k->is_full) {
        read_all(k, job, selector, owned);
        return;
    }
    vec_each (i, &k->changed)
        read_changed(k, job, selector, pods, &k->changed.at[i]);
    drop_changed(k);
}
