/* hollow.c - pods that pass by the clock
 *
 * What a played container does follows from its status and the time alone; only the exact start
 * (a status has whole seconds) is remembered, for as long as the pod runs.
 */
#include "node/hollow.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "control/control.h"
#include "io/io.h"
#include "node/pod_plan.h"
#include "node/pod_report.h"
#include "object/object.h"
#include "schema/codec.h"
#include "schema/view.h"
#include "value/time.h"

#define RUN_FOR_DEFAULT span_s(1)
#define STOPPED_CODE 143 /* what SIGTERM leaves */
#define MAX_ROUNDS 64    /* of starting what the last start made possible */
#define MAX_BUSY 256     /* pods at work at once: more fill memory, not the disk */

struct hollow {
    struct control *control;
    struct cache *nodes, *pods;
    struct cache_index *pods_by_node;
    struct controller *pod_controller, *node_controller;
    MAP(char *) is_hollow;         /* by name; the value owns the key */
    MAP(struct playing *) playing; /* by pod uid */
};

/* A pod that runs: when exactly it began. */
struct playing {
    struct instant started;
    char uid[64];
};

/* ---- what the pod's annotations ask for ---- */

struct script {
    struct span run_for;
    int32_t exit_code;
};

static struct script script_of(const struct pod *pod)
{
    const struct str_map *notes = &pod->metadata->annotations;
    struct script s = {.run_for = RUN_FOR_DEFAULT};
    int64_t code;

    if (str_map_find(notes, S(HOLLOW_RUN_FOR)) &&
        (span_parse(str_map_get(notes, S(HOLLOW_RUN_FOR)), &s.run_for, NULL) < 0 ||
         s.run_for.ns < 0))
        s.run_for = RUN_FOR_DEFAULT;
    if (str_to_i64(str_map_get(notes, S(HOLLOW_EXIT_CODE)), &code) && code >= 0 && code <= 255)
        s.exit_code = (int32_t)code;
    return s;
}

/* ---- what its status says, as if a runtime had told ---- */

static struct container_end end_of(const struct container_state *s)
{
    if (!s || !s->terminated)
        return (struct container_end){0};
    const struct container_state_terminated *t = s->terminated;
    return (struct container_end){.is_set = true,
                                  .exit_code = t->exit_code,
                                  .signal = t->signal,
                                  .reason = t->reason,
                                  .message = t->message,
                                  .started = t->started_at,
                                  .finished = t->finished_at,
                                  .id = t->container_id};
}

static struct container_seen seen_of(const struct container_status_list *l, struct str name)
{
    struct container_seen s = {0};
    const struct container_status *st = NULL;

    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].name, name))
            st = &l->at[i];
    if (!st || !st->state)
        return s;
    s.attempt = st->restart_count;
    s.id = st->container_id;
    s.last = end_of(st->last_state);
    if (st->state->running) {
        s.at = CONTAINER_RUNNING;
        s.started = st->state->running->started_at;
    } else if (st->state->terminated) {
        s.at = CONTAINER_ENDED;
        s.end = end_of(st->state);
    } else if (s.last.is_set) { /* it waits for its back-off */
        s.at = CONTAINER_ENDED;
        s.end = s.last;
        s.last = (struct container_end){0};
    }
    return s;
}

static void see(struct arena *a, const struct pod *pod, struct pod_seen *seen)
{
    static const struct pod_status none = {0};
    const struct pod_status *st = pod->status ? pod->status : &none;
    const struct container_list *init = &pod->spec->init_containers;
    const struct container_list *main = &pod->spec->containers;

    seen->pod = pod;
    seen->start_time = st->start_time;
    seen->init = arena_array(a, struct container_seen, init->len + 1);
    seen->main = arena_array(a, struct container_seen, main->len + 1);
    for (size_t i = 0; i < init->len; i++)
        seen->init[i] = seen_of(&st->init_container_statuses, init->at[i].name);
    for (size_t i = 0; i < main->len; i++)
        seen->main[i] = seen_of(&st->container_statuses, main->at[i].name);
}

/* ---- playing ---- */

struct play {
    struct arena *arena;
    const struct pod *pod;
    struct script script;
    struct pod_seen seen;
    struct instant again; /* when something that runs will end */
    struct instant began; /* of what runs now, exactly; zero: its status says */
    struct instant starts_at;
};

static void finish(struct container_seen *s, int32_t code, struct instant at)
{
    s->end = (struct container_end){
        .is_set = true, .exit_code = code, .started = s->started, .finished = at, .id = s->id};
    s->at = CONTAINER_ENDED;
}

/* What runs ends when its time has come. */
static void let_pass(struct play *p, const struct container *c, struct container_seen *s,
                     bool is_main)
{
    if (s->at != CONTAINER_RUNNING || (!is_main && container_is_sidecar(c)))
        return;
    struct instant began = is_main && instant_is_set(p->began) &&
                                   p->began.ns / SECOND_NS == s->started.ns / SECOND_NS
                               ? p->began
                               : s->started;
    struct instant end = is_main ? instant_add(began, p->script.run_for) : began;
    if (!instant_before(p->seen.now, end))
        finish(s, is_main ? p->script.exit_code : 0, end);
    else if (!instant_is_set(p->again) || instant_before(end, p->again))
        p->again = end;
}

/* Does what was decided to one container; true where that changed it. */
static bool apply(struct play *p, const struct container *c, struct container_seen *s,
                  const struct container_todo *t, bool is_main)
{
    if (t->stop) {
        finish(s, STOPPED_CODE, p->seen.now);
        return true;
    }
    if (!t->start)
        return false;
    if (s->at == CONTAINER_ENDED)
        s->last = s->end;
    s->at = CONTAINER_RUNNING;
    s->attempt = t->attempt;
    s->started = p->seen.now;
    s->id = str_concat(p->arena, S("hollow://"), p->pod->metadata->uid, S("-"), c->name, S("-"),
                       str_of_u64(p->arena, (uint64_t)t->attempt));
    if (is_main)
        p->began = p->seen.now;
    let_pass(p, c, s, is_main);
    return true;
}

static struct pod_todo play_pod(struct play *p)
{
    const struct pod_spec *spec = p->pod->spec;
    struct pod_todo todo;

    for (size_t i = 0; i < spec->init_containers.len; i++)
        let_pass(p, &spec->init_containers.at[i], &p->seen.init[i], false);
    for (size_t i = 0; i < spec->containers.len; i++)
        let_pass(p, &spec->containers.at[i], &p->seen.main[i], true);
    for (int round = 0;; round++) {
        bool changed = false;
        todo = pod_decide(p->arena, &p->seen);
        for (size_t i = 0; i < spec->init_containers.len; i++)
            changed = apply(p, &spec->init_containers.at[i], &p->seen.init[i], &todo.init[i],
                            false) ||
                      changed;
        for (size_t i = 0; i < spec->containers.len; i++)
            changed =
                apply(p, &spec->containers.at[i], &p->seen.main[i], &todo.main[i], true) ||
                changed;
        if (!changed || round == MAX_ROUNDS)
            return todo;
    }
}

static void forget(struct hollow *h, struct str uid)
{
    struct playing **p = map_get(&h->playing, uid);

    if (!p)
        return;
    struct playing *gone = *p;
    map_del(&h->playing, uid);
    free(gone);
}

static void remember(struct hollow *h, struct str uid, struct instant started)
{
    struct playing **known = map_get(&h->playing, uid);

    if (known) {
        (*known)->started = started;
        return;
    }
    struct playing *p = mem_zero(1, sizeof(*p));
    memcpy(p->uid, uid.at, MIN(uid.len, sizeof(p->uid) - 1));
    p->started = started;
    *map_put(&h->playing, str_from(p->uid)) = p;
}

static void delete_pod(struct step *s, struct str uid)
{
    struct client_target t = {.kind = &kind_pod, .ns = s->ns, .name = s->name};

    step_delete(s, &t, &(struct client_delete_options){.uid = uid}, NULL, NULL);
}

static int reconcile_pod(struct step *s, struct err *err)
{
    struct hollow *h = s->ctx;
    struct object *o = cache_get(h->pods, s->ns, s->name);

    (void)err;
    if (!o)
        return 0;
    const struct json *tree = object_tree(o, s->arena);
    const struct pod *pod = object_view(o, s->arena);
    if (!map_get(&h->is_hollow, pod->spec->node_name))
        return 0;
    bool was_terminal = pod_is_terminal(pod);
    struct str uid = pod->metadata->uid;
    if (was_terminal && !IS_SET(pod->metadata, deletion_timestamp)) {
        forget(h, uid);
        return 0;
    }
    struct play p = {.arena = s->arena, .pod = pod, .script = script_of(pod)};
    struct playing **known = map_get(&h->playing, uid);
    p.seen.now = s->now;
    p.began = known ? (*known)->started : (struct instant){0};
    see(s->arena, pod, &p.seen);
    struct pod_todo todo = play_pod(&p);
    if (instant_is_set(p.began))
        remember(h, uid, p.began);
    const struct json *body = was_terminal ? NULL
                                           : pod_report(s->arena, pod, tree, &p.seen, &todo,
                                                        &(struct pod_place){{0}});
    if (body) {
        struct client_target t = {.kind = &kind_pod,
                                  .ns = s->ns,
                                  .name = s->name,
                                  .subresource = S("status"),
                                  .is_lent = true};
        step_patch(s, &t, CLIENT_PATCH_MERGE, body, NULL, NULL, NULL);
    } else if (todo.can_delete) {
        delete_pod(s, uid);
    }
    struct instant again = p.again;
    if (instant_is_set(todo.again) &&
        (!instant_is_set(again) || instant_before(todo.again, again)))
        again = todo.again;
    if (instant_is_set(again))
        step_again(s, instant_sub(again, s->now));
    return 0;
}

/* ---- nodes ---- */

static void set_quantities(struct str_map *to, const struct str_map *from)
{
    static const struct str_entry defaults[] = {
        {S_INIT("cpu"),    S_INIT("8")   },
        {S_INIT("memory"), S_INIT("32Gi")},
        {S_INIT("pods"),   S_INIT("110") }
    };

    if (from->len) {
        *to = *from;
        return;
    }
    to->at = (struct str_entry *)(uintptr_t)defaults;
    to->len = countof(defaults);
}

static struct node_condition_list ready_conditions(struct arena *a,
                                                   const struct node_status *st,
                                                   struct instant now, bool *was_ready)
{
    struct node_condition_list out = {
        .at = arena_array(a, struct node_condition, st->conditions.len + 1)};

    *was_ready = false;
    for (size_t i = 0; i < st->conditions.len; i++) {
        const struct node_condition *c = &st->conditions.at[i];
        if (!str_eqz(c->type, "Ready"))
            out.at[out.len++] = *c;
        else if (str_eqz(c->status, "True"))
            *was_ready = true;
    }
    struct node_condition *r = &out.at[out.len++];
    SET(r, type, S("Ready"));
    SET(r, status, S("True"));
    SET(r, reason, S("Hollow"));
    SET(r, message, S("this node is played: its pods run by the clock only"));
    SET(r, last_heartbeat_time, now);
    SET(r, last_transition_time, now);
    return out;
}

/* The status a hollow node should have; NULL where it has it. */
static const struct json *node_body(struct arena *a, const struct node *node,
                                    struct instant now)
{
    static const struct node_status none = {0};
    const struct node_status *st = node->status ? node->status : &none;
    struct node_status new = {0}, *n = &new;
    struct node_address *host = arena_new(a, struct node_address);
    bool was_ready;
    struct node_condition_list conditions = ready_conditions(a, st, now, &was_ready);

    if (was_ready && st->capacity.len && st->allocatable.len)
        return NULL;
    struct str_map capacity, allocatable;
    set_quantities(&capacity, &st->capacity);
    set_quantities(&allocatable, st->allocatable.len ? &st->allocatable : &capacity);
    SET(n, capacity, capacity);
    SET(n, allocatable, allocatable);
    SET(n, conditions, conditions);
    if (!st->addresses.len) {
        SET(host, type, S("Hostname"));
        SET(host, address, node->metadata->name);
        SET(n, addresses, (struct node_address_list){.at = host, .len = 1});
    }
    struct json_obj body = obj_in(a);
    obj_setz(&body, "status", schema_encode(a, &schema_node_status, n));
    return json_new(a, obj_done(&body));
}

static bool is_hollow(const struct json *tree)
{
    return str_eqz(json_str(json_get(json_path(tree, "metadata", "annotations", NULL),
                                     S(HOLLOW_ANNOTATION))),
                   "true");
}

static int reconcile_node(struct step *s, struct err *err)
{
    struct hollow *h = s->ctx;
    struct object *o = cache_get(h->nodes, S(""), s->name);

    (void)err;
    if (!o)
        return 0;
    const struct json *tree = object_tree(o, s->arena);
    if (!is_hollow(tree))
        return 0;
    const struct json *body =
        node_body(s->arena, schema_decode(s->arena, &schema_node, tree), s->now);
    struct client_target t = {.kind = &kind_node, .name = s->name, .subresource = S("status")};
    if (body)
        step_patch(s, &t, CLIENT_PATCH_MERGE, body, NULL, NULL, NULL);
    return 0;
}

static void node_pods(struct object *o, const struct json *tree, struct cache_keys *out)
{
    (void)o;
    struct str node = json_str(json_path(tree, "spec", "nodeName", NULL));
    if (node.len)
        vec_push(&out->keys, node);
}

static void node_changed(void *ctx, struct cache_event *e)
{
    struct hollow *h = ctx;
    struct str name = object_key(e->now ? e->now : e->old).name;
    char **known = map_get(&h->is_hollow, name);
    struct object *const *pods;

    if (!e->now || !is_hollow(cache_event_now(e))) {
        if (known) {
            char *key = *known;
            map_del(&h->is_hollow, name);
            free(key);
        }
        return;
    }
    controller_queue_object(h->node_controller, e->now);
    if (known)
        return;
    char *key = mem_alloc(name.len + 1);
    memcpy(key, name.at, name.len);
    key[name.len] = 0;
    *map_put(&h->is_hollow, str_from(key)) = key;
    size_t n = cache_indexed(h->pods_by_node, name, &pods);
    for (size_t i = 0; i < n; i++)
        controller_queue_object(h->pod_controller, pods[i]);
}

/* Does it ask for anything else than it did? Its status is our own word, and what runs has set
 * the time at which it ends. */
static bool asks_the_same(struct cache_event *e)
{
    const struct json *now = cache_event_now(e), *old = cache_event_old(e);

    return !json_has(json_path(now, "metadata", "deletionTimestamp", NULL)) &&
           json_eq(json_getz(now, "spec"), json_getz(old, "spec")) &&
           json_eq(json_path(now, "metadata", "annotations", NULL),
                   json_path(old, "metadata", "annotations", NULL));
}

static bool has_ended(const struct json *pod)
{
    struct str phase = json_str(json_path(pod, "status", "phase", NULL));

    return (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed")) &&
           !json_has(json_path(pod, "metadata", "deletionTimestamp", NULL));
}

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct hollow *h = ctx;
    struct str node = json_str(json_path(cache_event_any(e), "spec", "nodeName", NULL));

    if (!node.len || !map_get(&h->is_hollow, node))
        return;
    if (!e->now || has_ended(cache_event_now(e)))
        forget(h, object_uid(e->now ? e->now : e->old));
    else if (!e->old || !map_get(&h->playing, object_uid(e->now)) || !asks_the_same(e))
        controller_queue_object(h->pod_controller, e->now);
}

struct hollow *hollow_new(struct control *c)
{
    struct hollow *h = mem_zero(1, sizeof(*h));
    struct controller_config pods = {
        .name = "hollow-pod", .reconcile = reconcile_pod, .ctx = h, .max_busy = MAX_BUSY};
    struct controller_config nodes = {
        .name = "hollow-node", .reconcile = reconcile_node, .ctx = h};

    h->control = c;
    h->nodes = control_cache(c, &kind_node);
    h->pods = control_cache(c, &kind_pod);
    h->pods_by_node = cache_index(h->pods, "node", node_pods);
    h->pod_controller = controller_new(c, &pods);
    h->node_controller = controller_new(c, &nodes);
    cache_subscribe(h->nodes, node_changed, h);
    cache_subscribe(h->pods, pod_changed, h);
    return h;
}

void hollow_free(struct hollow *h)
{
    if (!h)
        return;
    map_each (i, &h->is_hollow)
        free(*map_at(&h->is_hollow, i));
    map_fini(&h->is_hollow);
    map_each (i, &h->playing)
        free(*map_at(&h->playing, i));
    map_fini(&h->playing);
    free(h);
}

bool hollow_plays(const struct hollow *h, struct str node)
{
    return map_get(&h->is_hollow, node) != NULL;
}

/* ---- making them ---- */

#define MAKE_AT_ONCE 64

struct making {
    struct client *client;
    hollow_made_fn *done;
    void *ctx;
    int next, n, in_flight;
    struct err err; /* the first failure */
};

static void make_more(struct making *m);

static void node_made(void *ctx, const struct client_answer *answer)
{
    struct making *m = ctx;

    m->in_flight--;
    if (answer->err && answer->err->code != ERR_EXISTS && !m->err.code)
        m->err = *answer->err;
    make_more(m);
}

static void make_node(struct making *m, int number)
{
    scoped(arena_fini) struct arena a = {0};
    struct str name = str_printf(&a, "hollow-%d", number);
    struct str_entry labels[] = {
        {S("kubernetes.io/hostname"), name      },
        {S("kubernetes.io/os"),       S("linux")},
        {S("kubernetes.io/arch"),     S("amd64")},
    };
    struct str_entry notes[] = {
        {S(HOLLOW_ANNOTATION), S("true")}
    };
    struct object_meta meta = {0}, *md = &meta;
    struct node node = {0}, *n = &node;

    SET(md, name, name);
    SET(md, labels, (struct str_map){labels, countof(labels)});
    SET(md, annotations, (struct str_map){notes, countof(notes)});
    SET(n, api_version, S("v1"));
    SET(n, kind, S("Node"));
    SET(n, metadata, md);
    struct json body = schema_encode(&a, &schema_node, n);
    client_create(m->client, &(struct client_target){.kind = &kind_node}, &body, node_made, m);
}

static void make_more(struct making *m)
{
    while (m->next < m->n && m->in_flight < MAKE_AT_ONCE && !m->err.code) {
        m->in_flight++;
        make_node(m, m->next++);
    }
    if (m->in_flight)
        return;
    m->done(m->ctx, m->err.code ? &m->err : NULL);
    free(m);
}

void hollow_make_nodes(struct client *client, int n, hollow_made_fn *done, void *ctx)
{
    struct making *m = mem_zero(1, sizeof(*m));

    assert(n > 0 && n <= HOLLOW_MAX_NODES);
    *m = (struct making){.client = client, .done = done, .ctx = ctx, .n = n};
    make_more(m);
}
