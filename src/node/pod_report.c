/* pod_report.c - the words in which a pod's life is told */
#include "node/pod_report.h"

#include "api/core_v1.h"
#include "node/pod_plan.h"
#include "schema/codec.h"
#include "schema/view.h"
#include "json/json.h"

struct reporting {
    struct arena *arena;
    const struct pod *pod;
    const struct pod_seen *seen;
    const struct pod_todo *todo;
};

/* ---- containers ---- */

static struct container_state *terminated(struct arena *a, const struct container_end *e)
{
    struct container_state *state = arena_new(a, struct container_state);
    struct container_state_terminated *t = arena_new(a, struct container_state_terminated);

    SET(t, exit_code, e->exit_code);
    if (e->signal)
        SET(t, signal, e->signal);
    SET(t, reason, e->reason.len ? e->reason : e->exit_code ? S("Error") : S("Completed"));
    if (e->message.len)
        SET(t, message, e->message);
    if (instant_is_set(e->started))
        SET(t, started_at, e->started);
    if (instant_is_set(e->finished))
        SET(t, finished_at, e->finished);
    if (e->id.len)
        SET(t, container_id, e->id);
    SET(state, terminated, t);
    return state;
}

static struct container_state *running(struct arena *a, struct instant started)
{
    struct container_state *state = arena_new(a, struct container_state);
    struct container_state_running *r = arena_new(a, struct container_state_running);

    SET(r, started_at, started);
    SET(state, running, r);
    return state;
}

static struct container_state *waiting(struct arena *a, struct str reason, struct str message)
{
    struct container_state *state = arena_new(a, struct container_state);
    struct container_state_waiting *w = arena_new(a, struct container_state_waiting);

    SET(w, reason, reason);
    if (message.len)
        SET(w, message, message);
    SET(state, waiting, w);
    return state;
}

static struct str default_wait(const struct reporting *r, bool is_main)
{
    return is_main && !r->todo->is_initialized && r->pod->spec->init_containers.len
               ? S("PodInitializing")
               : S("ContainerCreating");
}

static bool has_exit_zero(const struct container_seen *s)
{
    return s->at == CONTAINER_ENDED && s->end.exit_code == 0;
}

/* A container that is started again only after a pause shows the pause as its state, and the
 * end as its last one. */
static struct container_status container_report(const struct reporting *r,
                                                const struct container *c,
                                                const struct container_seen *s,
                                                const struct container_todo *t, bool is_main)
{
    struct container_status out = {0};
    struct container_status *st = &out;
    struct arena *a = r->arena;
    bool runs = s->at == CONTAINER_RUNNING || s->at == CONTAINER_STOPPING;
    bool stays = is_main || container_is_sidecar(c);
    const struct container_end *last = &s->last;

    SET(st, name, c->name);
    if (runs) {
        SET(st, state, running(a, s->started));
    } else if (s->at == CONTAINER_ENDED && !t->waiting.len) {
        SET(st, state, terminated(a, &s->end));
    } else if (s->at == CONTAINER_ENDED) {
        SET(st, state, waiting(a, t->waiting, t->waiting_message));
        last = &s->end;
    } else if (r->todo->is_dead) {
        SET(st, state, waiting(a, default_wait(r, is_main), (struct str){0}));
    } else {
        struct str why = t->waiting.len ? t->waiting : default_wait(r, is_main);
        SET(st, state, waiting(a, why, t->waiting_message));
    }
    SET(st, last_state,
        last->is_set ? terminated(a, last) : arena_new(a, struct container_state));
    SET(st, ready, stays ? runs && !s->is_unready : has_exit_zero(s));
    SET(st, restart_count, s->attempt);
    SET(st, image, c->image);
    SET(st, image_id, S(""));
    if (s->id.len)
        SET(st, container_id, s->id);
    SET(st, started, runs && !s->is_unstarted);
    return out;
}

static struct container_status_list reports(const struct reporting *r,
                                            const struct container_list *list,
                                            const struct container_seen *seen,
                                            const struct container_todo *todo, bool is_main)
{
    struct container_status_list out = {
        .at = arena_array(r->arena, struct container_status, list->len + 1), .len = list->len};

    for (size_t i = 0; i < list->len; i++)
        out.at[i] = container_report(r, &list->at[i], &seen[i], &todo[i], is_main);
    return out;
}

/* ---- conditions ---- */

typedef bool counts_fn(const struct container *c, const struct container_seen *s);

static bool is_incomplete(const struct container *c, const struct container_seen *s)
{
    if (container_is_sidecar(c))
        return s->at == CONTAINER_NEVER || s->at == CONTAINER_STARTING || s->is_unstarted;
    return !has_exit_zero(s);
}

static bool is_unready(const struct container *c, const struct container_seen *s)
{
    (void)c;
    return (s->at != CONTAINER_RUNNING && s->at != CONTAINER_STOPPING) || s->is_unready;
}

/* Adds " name" for each that counts; the number of them. */
static size_t add_names(struct buf *out, const struct container_list *list,
                        const struct container_seen *seen, counts_fn *counts)
{
    size_t n = 0;

    for (size_t i = 0; i < list->len; i++) {
        if (!counts(&list->at[i], &seen[i]))
            continue;
        buf_printf(out, "%s%.*s", out->len ? " " : "", STR_ARG(list->at[i].name));
        n++;
    }
    return n;
}

struct verdict {
    struct str type, reason, message;
    bool is_true;
};

static struct verdict initialized(const struct reporting *r)
{
    struct buf names = buf_in(r->arena, 0);
    struct verdict c = {.type = S("Initialized"), .is_true = true};

    if (str_eqz(r->todo->phase, "Succeeded")) {
        c.reason = S("PodCompleted");
    } else if (add_names(&names, &r->pod->spec->init_containers, r->seen->init,
                         is_incomplete)) {
        c.is_true = false;
        c.reason = S("ContainersNotInitialized");
        c.message = str_printf(r->arena, "containers with incomplete status: [%.*s]",
                               STR_ARG(buf_str(&names)));
    }
    return c;
}

static struct verdict containers_ready(const struct reporting *r)
{
    struct buf names = buf_in(r->arena, 0);
    struct verdict c = {.type = S("ContainersReady"), .is_true = true};

    if (str_eqz(r->todo->phase, "Succeeded")) {
        c.is_true = false;
        c.reason = S("PodCompleted");
    } else if (str_eqz(r->todo->phase, "Failed")) {
        c.is_true = false;
        c.reason = S("PodFailed");
    } else if (add_names(&names, &r->pod->spec->containers, r->seen->main, is_unready)) {
        c.is_true = false;
        c.reason = S("ContainersNotReady");
        c.message = str_printf(r->arena, "containers with unready status: [%.*s]",
                               STR_ARG(buf_str(&names)));
    }
    return c;
}

static const struct pod_condition *find_condition(const struct pod *pod, struct str type)
{
    if (!pod->status)
        return NULL;
    const struct pod_condition_list *l = &pod->status->conditions;
    for (size_t i = 0; i < l->len; i++)
        if (str_eq(l->at[i].type, type))
            return &l->at[i];
    return NULL;
}

/* Readiness gates name conditions that somebody else sets. */
static struct verdict ready(const struct reporting *r, struct verdict c)
{
    const struct pod_readiness_gate_list *gates = &r->pod->spec->readiness_gates;

    c.type = S("Ready");
    for (size_t i = 0; c.is_true && i < gates->len; i++) {
        const struct pod_condition *g = find_condition(r->pod, gates->at[i].condition_type);
        if (g && str_eqz(g->status, "True"))
            continue;
        c.is_true = false;
        c.reason = S("ReadinessGatesNotReady");
        c.message = str_printf(
            r->arena, "corresponding condition of pod readiness gate \"%.*s\" %s",
            STR_ARG(gates->at[i].condition_type), g ? "is not True" : "does not exist.");
    }
    return c;
}

static struct pod_condition condition_report(const struct reporting *r, const struct verdict *c)
{
    const struct pod_condition *old = find_condition(r->pod, c->type);
    struct pod_condition out = {0};
    struct pod_condition *o = &out;
    struct str status = c->is_true ? S("True") : S("False");

    SET(o, type, c->type);
    SET(o, observed_generation, r->pod->metadata->generation);
    SET(o, status, status);
    SET(o, last_transition_time,
        old && str_eq(old->status, status) ? old->last_transition_time : r->seen->now);
    if (c->reason.len)
        SET(o, reason, c->reason);
    if (c->message.len)
        SET(o, message, c->message);
    return out;
}

/* Ours take the place they had; the others' stay as they are. */
static struct pod_condition_list conditions(const struct reporting *r)
{
    static const struct pod_condition_list none = {0};
    struct verdict all_ready = containers_ready(r);
    struct verdict ours[] = {
        {.type = S("PodReadyToStartContainers"), .is_true = !r->todo->is_dead},
        initialized(r),
        ready(r, all_ready),
        all_ready,
        {.type = S("PodScheduled"),              .is_true = true             },
    };
    const struct pod_condition_list *old = r->pod->status ? &r->pod->status->conditions : &none;
    struct pod_condition_list out = {
        .at = arena_array(r->arena, struct pod_condition, old->len + countof(ours))};
    bool done[countof(ours)] = {false};

    for (size_t i = 0; i < old->len; i++) {
        size_t k = 0;
        while (k < countof(ours) && !str_eq(ours[k].type, old->at[i].type))
            k++;
        bool keep = k == countof(ours) || str_eqz(ours[k].type, "PodScheduled");
        out.at[out.len++] = keep ? old->at[i] : condition_report(r, &ours[k]);
        if (k < countof(ours))
            done[k] = true;
    }
    for (size_t k = 0; k < countof(ours); k++)
        if (!done[k])
            out.at[out.len++] = condition_report(r, &ours[k]);
    return out;
}

/* ---- the whole ---- */

/* Absent, null, "", false, 0, {} and [] say the same in a status. */
static bool says_nothing(const struct json *v)
{
    if (!v)
        return true;
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_INT:
        return v->i == 0;
    case JSON_DOUBLE:
        return false;
    default:
        return v->len == 0;
    }
}

static bool says_same(const struct json *x, const struct json *y)
{
    if (says_nothing(x) || says_nothing(y))
        return says_nothing(x) && says_nothing(y);
    if (x->type != y->type)
        return false;
    if (x->type == JSON_ARRAY) {
        if (x->len != y->len)
            return false;
        json_each (i, x)
            if (!says_same(json_at(x, i), json_at(y, i)))
                return false;
        return true;
    }
    if (x->type != JSON_OBJECT)
        return json_eq(x, y);
    json_each_member (m, x)
        if (!says_same(&m->value, json_get(y, m->name)))
            return false;
    json_each_member (m, y)
        if (!json_get(x, m->name) && !says_nothing(&m->value))
            return false;
    return true;
}

static void set_addresses(struct arena *a, struct pod_status *st, struct str host_ip)
{
    struct host_ip *host = arena_new(a, struct host_ip);
    struct pod_ip *pod = arena_new(a, struct pod_ip);

    if (!host_ip.len)
        return;
    SET(host, ip, host_ip);
    SET(pod, ip, host_ip);
    SET(st, host_ip, host_ip);
    SET(st, host_ips, (struct host_ip_list){.at = host, .len = 1});
    SET(st, pod_ip, host_ip);
    SET(st, pod_ips, (struct pod_ip_list){.at = pod, .len = 1});
}

static struct json make_status(const struct reporting *r, const struct pod_place *place)
{
    struct pod_status status = {0};
    struct pod_status *st = &status;
    const struct pod_spec *spec = r->pod->spec;

    SET(st, observed_generation, r->pod->metadata->generation);
    SET(st, phase, r->todo->phase);
    SET(st, conditions, conditions(r));
    if (r->todo->message.len)
        SET(st, message, r->todo->message);
    if (r->todo->reason.len)
        SET(st, reason, r->todo->reason);
    set_addresses(r->arena, st, place->host_ip);
    SET(st, start_time,
        instant_is_set(r->seen->start_time) ? r->seen->start_time : r->seen->now);
    if (spec->init_containers.len)
        SET(st, init_container_statuses,
            reports(r, &spec->init_containers, r->seen->init, r->todo->init, false));
    SET(st, container_statuses,
        reports(r, &spec->containers, r->seen->main, r->todo->main, true));
    return schema_encode(r->arena, &schema_pod_status, st);
}

const struct json *pod_report(struct arena *a, const struct pod *pod, const struct json *tree,
                              const struct pod_seen *seen, const struct pod_todo *todo,
                              const struct pod_place *place)
{
    struct reporting r = {.arena = a, .pod = pod, .seen = seen, .todo = todo};
    struct json status = make_status(&r, place);
    const struct json *old = json_get(tree, S("status"));
    bool same = true;

    json_each_member (m, &status)
        same = same && says_same(&m->value, json_get(old, m->name));
    if (same)
        return NULL;
    struct json_obj meta = obj_in(a), body = obj_in(a);
    obj_setz(&meta, "resourceVersion", json_of_str(pod->metadata->resource_version));
    obj_setz(&meta, "uid", json_of_str(pod->metadata->uid));
    obj_setz(&body, "metadata", obj_done(&meta));
    obj_setz(&body, "status", status);
    return json_new(a, obj_done(&body));
}
