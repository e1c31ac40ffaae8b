/* pod.c - one pod of this node: look, decide, act
 *
 * What runs is known by the keeper, what is asked for by the API; the record here only joins
 * them, and can be made anew from both at any time. It goes when the pod is settled: its end is
 * written, and the keeper has forgotten its containers.
 */
#include "node/node_priv.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "node/pod_report.h"
#include "object/object.h"
#include "schema/codec.h"
#include "schema/view.h"
#include "json/json.h"

#define PROBLEM_AGAIN_S 10
#define EVICTED_GRACE span_s(1) /* what it does meanwhile makes it worse */
#define ID_SCHEME "berth://"
#define LAST_WORDS_LINES 80
#define LAST_WORDS_BYTES 2048

/* ---- ids ---- */

struct str node_container_id(struct arena *a, struct str uid, struct str name, int32_t attempt)
{
    return str_printf(a, "%.*s.%.*s.%d", STR_ARG(uid), STR_ARG(name), attempt);
}

bool node_container_id_parse(struct str id, struct str *uid, struct str *name, int32_t *attempt)
{
    struct str rest, number;
    int64_t n;

    if (!str_cut(id, '.', uid, &rest) || !str_rcut(rest, '.', name, &number) ||
        str_has(*name, S(".")) || /* a command that only asks */
        !str_to_i64(number, &n) || n < 0 || n > INT32_MAX)
        return false;
    *attempt = (int32_t)n;
    return true;
}

/* ---- records ---- */

struct node_pod *node_pod_get(struct node_agent *a, struct str uid)
{
    struct node_pod **known = map_get(&a->by_uid, uid);

    if (known)
        return *known;
    struct node_pod *p = mem_zero(1, sizeof(*p));
    p->agent = a;
    p->uid = str_copy(&p->arena, uid);
    *map_put(&a->by_uid, p->uid) = p;
    return p;
}

/* Into the chain of its ns/name. */
void node_pod_set_path(struct node_pod *p, struct str ns, struct str name)
{
    struct node_agent *a = p->agent;

    if (p->path.len)
        return;
    p->ns = str_copy(&p->arena, ns);
    p->name = str_copy(&p->arena, name);
    p->path = str_printf(&p->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    struct node_pod **first = map_get(&a->by_path, p->path);
    if (first) { /* the key of the map is the first one's */
        p->next = (*first)->next;
        (*first)->next = p;
    } else {
        *map_put(&a->by_path, p->path) = p;
    }
}

static void leave_path(struct node_pod *p)
{
    struct node_agent *a = p->agent;
    struct node_pod **first = p->path.len ? map_get(&a->by_path, p->path) : NULL;

    if (!first)
        return;
    if (*first == p) {
        struct node_pod *next = p->next;
        map_del(&a->by_path, p->path);
        if (next)
            *map_put(&a->by_path, next->path) = next;
        return;
    }
    for (struct node_pod *x = *first; x; x = x->next)
        if (x->next == p)
            x->next = p->next;
}

void node_pod_free(struct node_pod *p)
{
    leave_path(p);
    node_checks_free(p->agent, p->uid);
    map_del(&p->agent->by_uid, p->uid);
    object_unref(p->object);
    vec_fini(&p->containers);
    arena_fini(&p->sources_arena);
    arena_fini(&p->arena);
    free(p);
}

struct node_container *node_pod_container(struct node_pod *p, struct str name)
{
    vec_each (i, &p->containers)
        if (str_eq(p->containers.at[i].name, name))
            return &p->containers.at[i];
    vec_push(&p->containers,
             (struct node_container){.name = str_copy(&p->arena, name), .attempt = -1});
    return &vec_last(&p->containers);
}

void node_pod_queue(struct node_pod *p)
{
    if (p->path.len)
        controller_queue(p->agent->pod_controller, p->path);
}

void node_queue_all(void *agent)
{
    struct node_agent *a = agent;

    map_each (i, &a->by_uid)
        node_pod_queue(*map_at(&a->by_uid, i));
}

/* ---- look ---- */

static const struct runtime_status *status_of(const struct node_pod *p, struct arena *a,
                                              const struct node_container *c, int32_t attempt)
{
    return attempt < 0 ? NULL
                       : runtime_find(p->agent->runtime,
                                      node_container_id(a, p->uid, c->name, attempt));
}

static struct str api_id(struct arena *a, struct str id)
{
    return str_printf(a, ID_SCHEME "%.*s", STR_ARG(id));
}

static struct container_end end_of(struct arena *a, const struct runtime_status *s)
{
    struct container_end e = {.is_set = true,
                              .exit_code = s->exit_code,
                              .signal = s->signal,
                              .started = s->started,
                              .finished = s->finished,
                              .id = api_id(a, s->id)};

    if (s->lost) {
        e.reason = S("KeeperLost");
        e.message = S("the process that kept this container died, and took it along");
    } else if (s->oom_killed) {
        e.reason = S("OOMKilled");
    } else if (s->error.len) {
        e.reason = S("ContainerCannotRun");
        e.message = str_copy(a, s->error);
    }
    return e;
}

/* What a container that failed said last, where it asks for that. */
static void add_last_words(struct node_pod *p, struct arena *a, const struct container *c,
                           const struct node_container *nc, struct container_end *e)
{
    if (e->exit_code == 0 || e->message.len ||
        !str_eqz(c->termination_message_policy, "FallbackToLogsOnError"))
        return;
    e->message = runtime_log_last(
        a, node_log_path(a, p->agent, p->ns, p->name, p->uid, nc->name, nc->attempt),
        LAST_WORDS_LINES, LAST_WORDS_BYTES);
}

static void see_container(struct node_pod *p, struct arena *a, const struct container *c,
                          struct instant now, struct container_seen *out)
{
    struct node_container *nc = node_pod_container(p, c->name);
    const struct runtime_status *s = status_of(p, a, nc, nc->attempt);
    const struct runtime_status *before = status_of(p, a, nc, nc->attempt - 1);

    out->attempt = MAX(nc->attempt, 0);
    node_probe_see(c, nc, out);
    if (before)
        out->last = end_of(a, before);
    if (nc->problem.len && instant_before(now, nc->problem_until)) {
        out->problem = nc->problem;
        out->problem_message = nc->problem_message;
        out->problem_until = nc->problem_until;
    }
    if (nc->is_starting) {
        out->at = CONTAINER_STARTING;
    } else if (nc->attempt < 0) {
        out->at = CONTAINER_NEVER;
    } else if (!s) {
        out->at = CONTAINER_ENDED; /* the keeper lost its journal */
        out->end = (struct container_end){.is_set = true,
                                          .exit_code = 137,
                                          .reason = S("ContainerStatusUnknown"),
                                          .message = S("nobody knows how it ended"),
                                          .started = p->start_time,
                                          .finished = p->start_time};
    } else {
        out->started = s->started;
        out->id = api_id(a, s->id);
        out->at = s->state == RUNTIME_RUNNING    ? CONTAINER_RUNNING
                  : s->state == RUNTIME_STOPPING ? CONTAINER_STOPPING
                                                 : CONTAINER_ENDED;
        if (s->state == RUNTIME_EXITED) {
            out->end = end_of(a, s);
            add_last_words(p, a, c, nc, &out->end);
        }
    }
}

static bool all_ended(const struct container_seen *seen, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i].at != CONTAINER_ENDED || str_eqz(seen[i].end.reason, "KeeperLost"))
            return false;
    return true;
}

static void look(struct step *s, struct node_pod *p, const struct pod *pod,
                 struct pod_seen *seen)
{
    const struct container_list *init = &pod->spec->init_containers;
    const struct container_list *main = &pod->spec->containers;

    *seen = (struct pod_seen){
        .pod = pod,
        .now = s->now,
        .start_time = p->start_time,
        .is_gone = p->is_gone,
        .init = arena_array(s->arena, struct container_seen, init->len + 1),
        .main = arena_array(s->arena, struct container_seen, main->len + 1),
    };
    for (size_t i = 0; i < init->len; i++)
        see_container(p, s->arena, &init->at[i], s->now, &seen->init[i]);
    for (size_t i = 0; i < main->len; i++)
        see_container(p, s->arena, &main->at[i], s->now, &seen->main[i]);
    if (p->evicted.len) {
        seen->refused = S("Evicted");
        seen->refused_message = p->evicted;
        seen->refused_grace = EVICTED_GRACE;
    }
    /* What had ended before the machine did keeps its own end. */
    if (p->is_refused && !all_ended(seen->main, main->len)) {
        seen->refused = S("NodeRestart");
        seen->refused_message =
            S("the machine was restarted while this pod was on it; it is not run twice");
    }
}

static void probe_all(struct step *s, struct node_pod *p, const struct pod *pod,
                      const struct container_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct node_container *nc = node_pod_container(p, l->at[i].name);
        const struct runtime_status *st = status_of(p, s->arena, nc, nc->attempt);
        if (st && !nc->is_starting && st->state != RUNTIME_EXITED)
            node_probe_container(s, p, pod, &l->at[i], st);
    }
}

/* ---- act ---- */

/* A start that the keeper has not answered; it may outlive the pod's record. */
struct starting {
    struct list link;
    struct node_agent *agent;
    struct str uid, name;
    struct arena arena;
};

static void set_problem(struct node_pod *p, struct node_container *nc, struct str reason,
                        struct str message)
{
    if (!str_eq(nc->problem, reason))
        nc->problem = str_copy(&p->arena, reason);
    if (!str_eq(nc->problem_message, message)) /* said again and again, it is kept once */
        nc->problem_message = str_copy(&p->arena, message);
    nc->problem_until = instant_add(io_now(p->agent->io), span_s(PROBLEM_AGAIN_S));
}

static void started(void *ctx, const struct runtime_status *s, const struct err *err)
{
    struct starting *x = ctx;
    struct node_pod **p = map_get(&x->agent->by_uid, x->uid);

    (void)s;
    if (p) {
        struct node_container *nc = node_pod_container(*p, x->name);
        nc->is_starting = false;
        if (err && err->code != ERR_EXISTS) {
            nc->attempt--;
            set_problem(*p, nc, S("RunContainerError"), str_from(err->text));
        }
        node_pod_queue(*p);
    }
    list_del(&x->link);
    arena_fini(&x->arena);
    free(x);
}

void node_starts_free(struct node_agent *a)
{
    while (!list_empty(&a->starts)) {
        struct starting *x = list_item(a->starts.next, struct starting, link);
        runtime_start_cancel(a->runtime, x);
        list_del(&x->link);
        arena_fini(&x->arena);
        free(x);
    }
}

static void ask_start(struct step *s, struct node_pod *p, struct node_container *nc,
                      struct runtime_spec *spec, int32_t attempt)
{
    struct node_agent *a = p->agent;
    struct starting *x = mem_zero(1, sizeof(*x));

    spec->id = node_container_id(s->arena, p->uid, nc->name, attempt);
    spec->log_path = node_log_path(s->arena, a, p->ns, p->name, p->uid, nc->name, attempt);
    x->agent = a;
    x->uid = str_copy(&x->arena, p->uid);
    x->name = str_copy(&x->arena, nc->name);
    list_add(&a->starts, &x->link);
    if (attempt >= 2) /* of each container the last two are kept */
        runtime_forget(a->runtime, node_container_id(s->arena, p->uid, nc->name, attempt - 2));
    nc->attempt = attempt;
    nc->is_starting = true;
    nc->post_start = HOOK_NONE;
    nc->problem = (struct str){0};
    runtime_start(a->runtime, spec, started, x);
}

static void start(struct step *s, struct node_pod *p, const struct pod *pod,
                  const struct container *c, int32_t attempt)
{
    struct node_container *nc = node_pod_container(p, c->name);
    struct runtime_spec spec;
    struct str reason;
    struct err err;

    int rc = node_container_prepare(s, p, pod, c, &spec, &reason, &err);
    p->is_preparing = p->is_preparing || rc == 0;
    if (rc > 0) {
        ask_start(s, p, nc, &spec, attempt);
    } else if (rc < 0) {
        if (!str_eqz(nc->problem_message, err.text) && !str_eqz(reason, "ContainerCreating"))
            step_event(s, p->object, "Warning", "Failed", "%s", err.text);
        set_problem(p, nc, reason, str_from(err.text));
    }
}

static void act_on(struct step *s, struct node_pod *p, const struct pod *pod,
                   const struct container_list *l, const struct container_todo *todo,
                   struct span grace)
{
    for (size_t i = 0; i < l->len; i++) {
        if (todo[i].stop)
            node_container_stop(s, p, pod, &l->at[i],
                                todo[i].has_grace ? todo[i].grace : grace);
        if (todo[i].start)
            start(s, p, pod, &l->at[i], todo[i].attempt);
    }
}

static bool any_starting(const struct node_pod *p)
{
    vec_each (i, &p->containers)
        if (p->containers.at[i].is_starting)
            return true;
    return false;
}

/* Everything of it is written and over: the keeper may forget it, and so do we. */
static void settle(struct step *s, struct node_pod *p)
{
    struct node_agent *a = p->agent;

    vec_each (i, &p->containers) {
        const struct node_container *c = &p->containers.at[i];
        for (int32_t k = MAX(c->attempt - 1, 0); k <= c->attempt; k++)
            runtime_forget(a->runtime, node_container_id(s->arena, p->uid, c->name, k));
    }
    node_remove_later(a, node_pod_dir(s->arena, a, p->uid));
    if (p->is_gone && p->path.len)
        node_remove_later(a, node_log_dir(s->arena, a, p->ns, p->name, p->uid));
    node_pod_free(p);
}

static void delete_pod(struct step *s, struct node_pod *p)
{
    struct client_target t = {.kind = &kind_pod, .ns = p->ns, .name = p->name};

    step_delete(s, &t, &(struct client_delete_options){.uid = p->uid}, NULL, NULL);
}

/* A run of a few milliseconds is told once, when it has ended. */
static bool may_end_soon(const struct pod *pod, const struct pod_seen *seen,
                         const struct pod_todo *todo)
{
    bool was_pending =
        !pod->status || str_eqz(pod->status->phase, "Pending") || !pod->status->phase.len;
    struct instant newest = {0};

    if (!was_pending || !str_eqz(todo->phase, "Running"))
        return false;
    for (size_t i = 0; i < pod->spec->containers.len; i++)
        if (instant_before(newest, seen->main[i].started))
            newest = seen->main[i].started;
    return instant_before(seen->now, instant_add(newest, span_ms(REPORT_DELAY_MS)));
}

static void report(struct step *s, struct node_pod *p, const struct pod *pod,
                   const struct json *tree, const struct pod_seen *seen,
                   const struct pod_todo *todo)
{
    struct pod_place place = {.host_ip = p->agent->config.address};
    struct client_target t = {
        .kind = &kind_pod, .ns = p->ns, .name = p->name, .subresource = S("status")};

    if (any_starting(p) || p->is_preparing)
        return; /* the answer comes at once, and with it the next run */
    if (may_end_soon(pod, seen, todo)) {
        step_again(s, span_ms(REPORT_DELAY_MS));
        return;
    }
    const struct json *body = pod_report(s->arena, pod, tree, seen, todo, &place);
    if (body)
        step_patch(s, &t, CLIENT_PATCH_MERGE, body, NULL, NULL, NULL);
    else if (todo->can_delete)
        delete_pod(s, p);
}

static void reconcile_one(struct step *s, struct node_pod *p)
{
    const struct json *tree = object_tree(p->object, s->arena);
    const struct pod *pod = object_view(p->object, s->arena);
    bool was_terminal = pod_is_terminal(pod);
    struct pod_seen seen;
    struct pod_todo todo;

    if (!instant_is_set(p->start_time))
        p->start_time = pod->status && instant_is_set(pod->status->start_time)
                            ? pod->status->start_time
                            : s->now;
    p->is_preparing = false;
    if (!p->is_gone && !was_terminal && !IS_SET(pod->metadata, deletion_timestamp)) {
        probe_all(s, p, pod, &pod->spec->init_containers);
        probe_all(s, p, pod, &pod->spec->containers);
        node_limits_check(s, p, pod);
    }
    look(s, p, pod, &seen);
    todo = pod_decide(s->arena, &seen);
    act_on(s, p, pod, &pod->spec->init_containers, todo.init, todo.grace);
    act_on(s, p, pod, &pod->spec->containers, todo.main, todo.grace);
    look(s, p, pod, &seen); /* with what was just asked for, or cannot be */
    todo = pod_decide(s->arena, &seen);
    if (instant_is_set(todo.again))
        step_again(s, instant_sub(todo.again, s->now));
    if (p->is_gone || was_terminal) {
        if (!todo.is_dead)
            return;
        if (was_terminal && !p->is_gone && todo.can_delete)
            delete_pod(s, p);
        settle(s, p);
        return;
    }
    report(s, p, pod, tree, &seen, &todo);
}

/* A finished pod that nothing is left of: only its deletion may be asked for. */
static bool is_settled(struct step *s, struct object *o)
{
    const struct pod *pod = object_view(o, s->arena);

    if (!pod_is_terminal(pod))
        return false;
    if (IS_SET(pod->metadata, deletion_timestamp)) {
        struct client_target t = {.kind = &kind_pod, .ns = s->ns, .name = s->name};
        step_delete(s, &t, &(struct client_delete_options){.uid = object_uid(o)}, NULL, NULL);
    }
    return true;
}

int node_pod_reconcile(struct step *s, struct err *err)
{
    struct node_agent *a = s->ctx;
    struct object *o = cache_find(a->pods, s->key);

    (void)err;
    if (!a->is_ready || !runtime_is_ready(a->runtime))
        return 0; /* everything is queued when it is */
    if (o && !map_get(&a->by_uid, object_uid(o)) && is_settled(s, o))
        o = NULL;
    if (o) {
        struct node_pod *p = node_pod_get(a, object_uid(o));
        node_pod_set_path(p, s->ns, s->name);
        p->is_refused = map_get(&a->restarted, p->uid) != NULL;
        if (p->object != o) {
            object_unref(p->object);
            p->object = object_ref(o);
        }
    }
    struct node_pod **first = map_get(&a->by_path, s->key);
    for (struct node_pod *p = first ? *first : NULL, *next; p; p = next) {
        next = p->next;
        p->is_gone = !o || !str_eq(object_uid(o), p->uid);
        reconcile_one(s, p);
    }
    return 0;
}
