/* pod_plan.c - from what is asked and what is there to what to do */
#include "node/pod_plan.h"

#include "api/core_v1.h"
#include "schema/view.h"

/* What is the same for all containers of one decision. */
struct deciding {
    struct arena *arena;
    const struct pod_seen *seen;
    const struct pod *pod;
    struct pod_todo *todo;
};

bool pod_is_terminal(const struct pod *pod)
{
    struct str phase = pod->status ? pod->status->phase : (struct str){0};

    return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

bool container_is_sidecar(const struct container *c)
{
    return str_eqz(c->restart_policy, "Always");
}

struct span container_backoff(int32_t attempt, struct span ran)
{
    int64_t s = POD_BACKOFF_FIRST_S;

    if (attempt <= 0 || ran.ns >= POD_BACKOFF_RESET_S * SECOND_NS)
        return (struct span){0};
    for (int32_t i = 1; i < attempt && s < POD_BACKOFF_MAX_S; i++)
        s *= 2;
    return span_s(MIN(s, (int64_t)POD_BACKOFF_MAX_S));
}

static bool is_alive(const struct container_seen *s)
{
    return s->at == CONTAINER_STARTING || s->at == CONTAINER_RUNNING ||
           s->at == CONTAINER_STOPPING;
}

static bool has_succeeded(const struct container_seen *s)
{
    return s->at == CONTAINER_ENDED && s->end.exit_code == 0;
}

/* ---- restarts ---- */

static bool rule_matches(const struct container_restart_rule *rule, int32_t code)
{
    const struct container_restart_rule_on_exit_codes *on = rule->exit_codes;
    bool listed = false;

    if (!on)
        return false;
    for (size_t i = 0; i < on->values.len; i++)
        listed = listed || on->values.at[i] == code;
    return str_eqz(on->operator, "NotIn") ? !listed : listed;
}

/* Shall an ended container run again? Its own rules come before its own policy, and that
 * before the pod's. */
static bool wants_restart(const struct pod *pod, const struct container *c, bool is_init,
                          const struct container_seen *s)
{
    const struct container_end *end = &s->end;

    for (size_t i = 0; i < c->restart_policy_rules.len; i++) {
        const struct container_restart_rule *rule = &c->restart_policy_rules.at[i];
        if (str_eqz(rule->action, "Restart") && rule_matches(rule, end->exit_code))
            return true;
    }
    struct str policy = c->restart_policy.len ? c->restart_policy : pod->spec->restart_policy;
    if (str_eqz(policy, "Never"))
        return false;
    if (s->is_unhealthy) /* we ended it: its code says nothing */
        return true;
    if (str_eqz(policy, "OnFailure") || (is_init && !c->restart_policy.len))
        return end->exit_code != 0;
    return true;
}

static void look_again(struct pod_todo *todo, struct instant at)
{
    if (!instant_is_set(todo->again) || instant_before(at, todo->again))
        todo->again = at;
}

static void start(struct deciding *d, const struct container_seen *s, struct container_todo *t)
{
    if (s->problem.len) {
        look_again(d->todo, s->problem_until);
        t->waiting = s->problem;
        t->waiting_message = s->problem_message;
        return;
    }
    t->start = true;
    t->attempt = s->at == CONTAINER_NEVER ? s->attempt : s->attempt + 1;
    t->waiting = S("ContainerCreating");
}

/* It ended and is due again: now, or when its back-off is over. */
static void restart(struct deciding *d, const struct container *c,
                    const struct container_seen *s, struct container_todo *t)
{
    struct span wait =
        container_backoff(s->attempt, instant_sub(s->end.finished, s->end.started));
    struct instant at = instant_add(s->end.finished, wait);
    const struct object_meta *meta = d->pod->metadata;

    if (!instant_before(d->seen->now, at)) {
        start(d, s, t);
        return;
    }
    look_again(d->todo, at);
    t->waiting = S("CrashLoopBackOff");
    t->waiting_message = str_printf(
        d->arena, "back-off %ds restarting failed container=%.*s pod=%.*s_%.*s(%.*s)",
        (int)(wait.ns / SECOND_NS), STR_ARG(c->name), STR_ARG(meta->name),
        STR_ARG(meta->namespace), STR_ARG(meta->uid));
}

/* ---- a pod that goes on ---- */

/* A probe says that it must end. */
static void end_unhealthy(const struct container_seen *s, struct container_todo *t)
{
    if (!s->is_unhealthy || !is_alive(s))
        return;
    t->stop = true;
    t->has_grace = s->has_kill_grace;
    t->grace = s->kill_grace;
}

enum init_state { INIT_DONE, INIT_WORKING, INIT_FAILED };

static enum init_state decide_init(struct deciding *d)
{
    const struct pod_spec *spec = d->pod->spec;

    for (size_t i = 0; i < spec->init_containers.len; i++) {
        const struct container *c = &spec->init_containers.at[i];
        const struct container_seen *s = &d->seen->init[i];
        struct container_todo *t = &d->todo->init[i];
        bool stays = container_is_sidecar(c);

        end_unhealthy(s, t);
        if (stays && s->at == CONTAINER_ENDED) {
            restart(d, c, s, t);
            continue; /* it was up once: that is all the next one waits for */
        }
        if (s->at == CONTAINER_NEVER) {
            start(d, s, t);
            return INIT_WORKING;
        }
        if (stays && s->at != CONTAINER_STARTING && !s->is_unstarted)
            continue;
        if (has_succeeded(s))
            continue;
        if (s->at != CONTAINER_ENDED)
            return INIT_WORKING;
        if (!wants_restart(d->pod, c, true, s))
            return INIT_FAILED;
        restart(d, c, s, t);
        return INIT_WORKING;
    }
    return INIT_DONE;
}

/* What the main containers add up to. */
struct main_sum {
    bool has_unstarted, has_running, has_due, has_failed;
};

static struct main_sum decide_main(struct deciding *d, bool may_start)
{
    const struct pod_spec *spec = d->pod->spec;
    struct main_sum sum = {0};

    for (size_t i = 0; i < spec->containers.len; i++) {
        const struct container *c = &spec->containers.at[i];
        const struct container_seen *s = &d->seen->main[i];
        struct container_todo *t = &d->todo->main[i];

        if (s->at == CONTAINER_NEVER || s->at == CONTAINER_STARTING)
            sum.has_unstarted = true;
        else if (s->at != CONTAINER_ENDED)
            sum.has_running = true;
        else if (s->end.exit_code != 0)
            sum.has_failed = true;
        if (!may_start)
            continue;
        end_unhealthy(s, t);
        if (s->at == CONTAINER_NEVER)
            start(d, s, t);
        if (s->at == CONTAINER_ENDED && wants_restart(d->pod, c, false, s)) {
            sum.has_due = true;
            restart(d, c, s, t);
        }
    }
    return sum;
}

static bool is_main_alive(const struct deciding *d)
{
    for (size_t i = 0; i < d->pod->spec->containers.len; i++)
        if (is_alive(&d->seen->main[i]))
            return true;
    return false;
}

/* Init containers and sidecars go in reverse order, each when those behind it have gone. */
static void stop_inits(struct deciding *d)
{
    for (size_t i = d->pod->spec->init_containers.len; i-- > 0;) {
        d->todo->init[i].stop = is_alive(&d->seen->init[i]);
        if (d->todo->init[i].stop)
            return;
    }
}

/* The main containers at once, then the sidecars. */
static void stop_all(struct deciding *d)
{
    for (size_t i = 0; i < d->pod->spec->containers.len; i++)
        d->todo->main[i].stop = is_alive(&d->seen->main[i]);
    if (!is_main_alive(d))
        stop_inits(d);
}

static bool any_alive(const struct deciding *d)
{
    const struct pod_spec *spec = d->pod->spec;
    bool alive = false;

    for (size_t i = 0; i < spec->init_containers.len; i++)
        alive = alive || is_alive(&d->seen->init[i]);
    for (size_t i = 0; i < spec->containers.len; i++)
        alive = alive || is_alive(&d->seen->main[i]);
    return alive;
}

static void decide_going_on(struct deciding *d)
{
    struct pod_todo *todo = d->todo;
    enum init_state init = decide_init(d);
    struct main_sum sum = decide_main(d, init == INIT_DONE);

    todo->is_initialized = init == INIT_DONE;
    todo->grace = span_s(d->pod->spec->termination_grace_period_seconds);
    if (init == INIT_FAILED) {
        stop_inits(d); /* sidecars that were up already */
        todo->is_dead = !any_alive(d);
        todo->phase = todo->is_dead ? S("Failed") : S("Pending");
    } else if (init == INIT_WORKING || sum.has_unstarted) {
        todo->phase = S("Pending");
    } else if (sum.has_running || sum.has_due) {
        todo->phase = S("Running");
    } else {
        for (size_t i = 0; i < d->pod->spec->init_containers.len; i++)
            todo->init[i] = (struct container_todo){0}; /* no sidecar is started for nobody */
        stop_inits(d);
        todo->is_dead = !any_alive(d);
        todo->phase = !todo->is_dead   ? S("Running")
                      : sum.has_failed ? S("Failed")
                                       : S("Succeeded");
    }
}

/* ---- a pod that ends ---- */

struct ending {
    bool is_ending;
    struct span grace;
    struct str reason, message;
    bool by_deletion;
};

static struct ending find_ending(struct deciding *d)
{
    const struct pod *pod = d->pod;
    const struct pod_spec *spec = pod->spec;
    struct span own = span_s(spec->termination_grace_period_seconds);
    struct instant start = d->seen->start_time;

    if (d->seen->is_gone)
        return (struct ending){.is_ending = true, .grace = span_s(2), .by_deletion = true};
    if (IS_SET(pod->metadata, deletion_timestamp))
        return (struct ending){.is_ending = true,
                               .grace = span_s(pod->metadata->deletion_grace_period_seconds),
                               .by_deletion = true};
    if (pod_is_terminal(pod))
        return (struct ending){.is_ending = true, .grace = own};
    if (d->seen->refused.len)
        return (struct ending){.is_ending = true,
                               .grace =
                                   d->seen->refused_grace.ns ? d->seen->refused_grace : own,
                               .reason = d->seen->refused,
                               .message = d->seen->refused_message};
    if (IS_SET(spec, active_deadline_seconds)) {
        if (!instant_is_set(start))
            start = d->seen->now;
        struct instant end = instant_add(start, span_s(spec->active_deadline_seconds));
        if (!instant_before(d->seen->now, end))
            return (struct ending){
                .is_ending = true,
                .grace = own,
                .reason = S("DeadlineExceeded"),
                .message = S("Pod was active on the node longer than the specified deadline")};
        look_again(d->todo, end);
    }
    return (struct ending){0};
}

static bool all_succeeded(const struct deciding *d)
{
    for (size_t i = 0; i < d->pod->spec->containers.len; i++)
        if (!has_succeeded(&d->seen->main[i]))
            return false;
    return true;
}

static void decide_ending(struct deciding *d, const struct ending *e)
{
    struct pod_todo *todo = d->todo;

    stop_all(d);
    todo->grace = e->grace;
    todo->is_dead = !any_alive(d);
    todo->can_delete = todo->is_dead && e->by_deletion;
    if (pod_is_terminal(d->pod)) {
        todo->phase = d->pod->status->phase;
        todo->reason = d->pod->status->reason;
        todo->message = d->pod->status->message;
        return;
    }
    if (!todo->is_dead) {
        struct main_sum sum = decide_main(d, false);
        todo->phase = sum.has_unstarted ? S("Pending") : S("Running");
        return;
    }
    todo->phase = e->by_deletion && all_succeeded(d) ? S("Succeeded") : S("Failed");
    todo->reason = e->reason;
    todo->message = e->message;
}

struct pod_todo pod_decide(struct arena *a, const struct pod_seen *seen)
{
    const struct pod_spec *spec = seen->pod->spec;
    struct pod_todo todo = {
        .init = arena_array(a, struct container_todo, spec->init_containers.len + 1),
        .main = arena_array(a, struct container_todo, spec->containers.len + 1),
    };
    struct deciding d = {.arena = a, .seen = seen, .pod = seen->pod, .todo = &todo};
    struct ending ending = find_ending(&d);

    if (ending.is_ending)
        decide_ending(&d, &ending);
    else
        decide_going_on(&d);
    return todo;
}
