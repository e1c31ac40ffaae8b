/* job_track.c - counting each pod exactly once (jobs reference 1.12)
 *
 * A finished pod keeps its finalizer until it is listed in the status, durably; then the
 * finalizer goes, and then its uid moves from the list into the counter. Whoever dies between
 * two of these finds the rest still to do.
 */
#include "controllers/job_decide.h"

#include "api/batch_v1.h"

typedef VEC(struct str) str_vec;
typedef VEC(const struct job_pod *) pod_vec;

struct track {
    struct arena *a;
    const struct job_look *look;
    const struct job_plan *plan;
    struct job_status *status; /* the next one */
    struct str_list stored_ok, stored_failed;
    str_vec ok, failed;   /* listed now */
    VEC(int32_t) indexes; /* newly completed */
    VEC(uint32_t) let_go;
    enum job_outcome outcome;
    bool must_write, is_full;
};

static bool has(const struct str *at, size_t n, struct str uid)
{
    for (size_t i = 0; uid.len && i < n; i++)
        if (str_eq(at[i], uid))
            return true;
    return false;
}

static bool is_let_go(const struct job_look *look, const struct job_pod *p)
{
    return has(look->let_go, look->n_let_go, p->uid);
}

/* 1. What is listed and no longer held is counted; the rest stays listed. Returns how many. */
static int32_t clean_list(struct track *t, const struct str_list *stored, str_vec *left)
{
    MAP(bool) held = {0};
    int32_t n = 0;

    if (stored->len == 0)
        return 0;
    for (size_t i = 0; i < t->look->n_pods; i++) {
        const struct job_pod *p = &t->look->pods[i];
        if (p->has_finalizer && !is_let_go(t->look, p))
            *map_put(&held, p->uid) = true;
    }
    for (size_t i = 0; i < stored->len; i++) {
        if (map_get(&held, stored->at[i]))
            vec_push_in(t->a, left, stored->at[i]);
        else
            n++;
    }
    map_fini(&held);
    t->must_write |= n > 0;
    return n;
}

static void clean(struct track *t)
{
    int32_t n_ok = clean_list(t, &t->stored_ok, &t->ok);
    int32_t n_failed = clean_list(t, &t->stored_failed, &t->failed);

    if (n_ok)
        SET(t->status, succeeded, t->status->succeeded + n_ok);
    if (n_failed)
        SET(t->status, failed, t->status->failed + n_failed);
}

static bool is_considered_failed(const struct track *t, const struct job_pod *p)
{
    return p->phase == POD_FAILED ||
           (!t->plan->is_only_failed && p->is_deleting && p->phase != POD_SUCCEEDED);
}

/* 2. */
static bool may_go(const struct track *t, const struct job_pod *p)
{
    if (instant_is_set(t->look->job->metadata->deletion_timestamp) ||
        t->outcome != JOB_GOES_ON || p->phase == POD_SUCCEEDED)
        return true;
    return is_considered_failed(t, p) &&
           !(t->plan->is_per_index && job_plan_held(t->look, t->plan, p->index) == p);
}

static bool has_valid_index(const struct track *t, const struct job_pod *p)
{
    return p->index >= 0 && p->index < t->look->job->spec->completions;
}

/* 3. */
static void classify(struct track *t, const struct job_pod *p)
{
    if (p->phase == POD_SUCCEEDED && !has(t->stored_failed.at, t->stored_failed.len, p->uid)) {
        if (t->plan->is_indexed) {
            if (!has_valid_index(t, p) || index_set_has(&t->plan->stored_completed, p->index))
                return;
            vec_push_in(t->a, &t->indexes, p->index);
            t->must_write = true;
        } else if (!has(t->stored_ok.at, t->stored_ok.len, p->uid)) {
            vec_push_in(t->a, &t->ok, p->uid);
            t->must_write = true;
        }
        return;
    }
    if (!is_considered_failed(t, p) && t->outcome != JOB_FAILS)
        return;
    if (has(t->stored_failed.at, t->stored_failed.len, p->uid) ||
        (t->plan->is_indexed && !has_valid_index(t, p)) || p->action == JOB_POLICY_IGNORE)
        return;
    vec_push_in(t->a, &t->failed, p->uid);
    t->must_write = true;
}

static int by_index(const void *x, const void *y)
{
    const struct job_pod *a = *(const struct job_pod *const *)x;
    const struct job_pod *b = *(const struct job_pod *const *)y;

    return (a->index > b->index) - (a->index < b->index);
}

static void consider(struct track *t, pod_vec *order, const struct job_pod *p)
{
    if (p->has_finalizer && may_go(t, p) && !is_let_go(t->look, p))
        vec_push_in(t->a, order, p);
}

/* Those that may go; while the Job goes on, none of the active ones. */
static pod_vec all_to_go(struct track *t)
{
    bool goes_on = t->outcome == JOB_GOES_ON &&
                   !instant_is_set(t->look->job->metadata->deletion_timestamp);
    pod_vec order = {0};

    if (t->plan->idle && goes_on) {
        for (size_t i = 0; i < t->plan->n_idle; i++)
            consider(t, &order, t->plan->idle[i]);
    } else {
        for (size_t i = 0; i < t->look->n_pods; i++)
            consider(t, &order, &t->look->pods[i]);
    }
    return order;
}

/* 2 to 4. */
static void go_through(struct track *t)
{
    pod_vec order = all_to_go(t);

    if (t->plan->is_indexed)
        sort_stable(order.at, order.len, sizeof(*order.at), by_index);
    for (size_t i = 0; i < order.len; i++) {
        vec_push_in(t->a, &t->let_go, (uint32_t)(order.at[i] - t->look->pods));
        classify(t, order.at[i]);
        if (t->indexes.len + t->ok.len + t->failed.len >= JOB_MAX_UNCOUNTED) {
            t->is_full = true;
            return;
        }
    }
}

/* ---- the status ---- */

static struct job_status *copy_status(struct arena *a, const struct job *job)
{
    struct job_status *s = arena_new(a, struct job_status);

    if (job->status)
        *s = *job->status;
    struct job_condition *at = arena_array(a, struct job_condition, s->conditions.len + 4);
    if (s->conditions.len)
        memcpy(at, s->conditions.at, s->conditions.len * sizeof(*at));
    s->conditions.at = at;
    return s;
}

static struct job_condition condition(struct str type, bool is_true, struct str reason,
                                      struct str message, struct instant now)
{
    struct job_condition c = {0};

    SET(&c, type, type);
    SET(&c, status, is_true ? S("True") : S("False"));
    SET(&c, last_probe_time, now);
    SET(&c, last_transition_time, now);
    if (reason.len)
        SET(&c, reason, reason);
    if (message.len)
        SET(&c, message, message);
    return c;
}

static void append(struct job_status *s, struct job_condition c)
{
    s->conditions.at[s->conditions.len++] = c;
    SET(s, conditions, s->conditions);
}

/* Writes a condition by the rules of 1.7; true where something changed. */
static bool put_condition(struct job_status *s, struct job_condition c)
{
    for (size_t i = 0; i < s->conditions.len; i++) {
        struct job_condition *was = &s->conditions.at[i];
        if (!str_eq(was->type, c.type))
            continue;
        if (str_eq(was->status, c.status) && str_eq(was->reason, c.reason) &&
            str_eq(was->message, c.message))
            return false;
        *was = c;
        return true;
    }
    if (!str_eq(c.status, S("True")))
        return false;
    append(s, c);
    return true;
}

static bool has_true(const struct job_status *s, struct str type)
{
    for (size_t i = 0; i < s->conditions.len; i++)
        if (str_eq(s->conditions.at[i].type, type) &&
            str_eq(s->conditions.at[i].status, S("True")))
            return true;
    return false;
}

/* The counts of pods that are there; null and zero differ for ready and terminating. */
static bool put_counts(struct track *t, int32_t active, int32_t ready, int32_t terminating)
{
    struct job_status *s = t->status;
    bool has_changed = s->active != active || !IS_SET(s, ready) || s->ready != ready ||
                       !IS_SET(s, terminating) || s->terminating != terminating;

    if (active)
        SET(s, active, active);
    else
        UNSET(s, active);
    SET(s, ready, ready);
    SET(s, terminating, terminating);
    return has_changed;
}

static void put_indexes(struct track *t)
{
    const struct job_plan *plan = t->plan;
    struct job_status *s = t->status;

    index_sort(t->indexes.at, t->indexes.len);
    struct index_set all =
        index_set_with(t->a, &plan->completed, t->indexes.at, t->indexes.len);
    struct str text = index_set_text(t->a, &all);
    if (!str_eq(text, s->completed_indexes))
        t->must_write = true;
    if (text.len)
        SET(s, completed_indexes, text);
    else
        UNSET(s, completed_indexes);
    if (s->succeeded != (int32_t)all.total)
        t->must_write = true;
    if (all.total)
        SET(s, succeeded, (int32_t)all.total);
    else
        UNSET(s, succeeded);
    struct str failed = index_set_text(t->a, &plan->failed_indexes);
    if (plan->is_per_index) {
        if (!IS_SET(s, failed_indexes) || !str_eq(failed, s->failed_indexes))
            t->must_write = true;
        SET(s, failed_indexes, failed);
    } else if (IS_SET(s, failed_indexes)) {
        UNSET(s, failed_indexes);
        t->must_write = true;
    }
}

static void put_lists(struct arena *a, struct job_status *s, const struct str *ok, size_t n_ok,
                      const struct str *failed, size_t n_failed)
{
    struct uncounted_terminated_pods *u = arena_new(a, struct uncounted_terminated_pods);

    if (n_ok)
        SET(u, succeeded, (struct str_list){(struct str *)(uintptr_t)ok, n_ok});
    if (n_failed)
        SET(u, failed, (struct str_list){(struct str *)(uintptr_t)failed, n_failed});
    SET(s, uncounted_terminated_pods, u);
}

/* 12: completion, suspension and resumption, where nothing else was decided. */
static void settle_outcome(struct track *t, struct job_settled *out, int32_t active)
{
    const struct job_spec *spec = t->look->job->spec;
    const struct job_plan *plan = t->plan;
    bool is_complete =
        active == 0 && (IS_SET(spec, completions) ? plan->succeeded >= spec->completions
                                                  : plan->succeeded > 0);

    if (is_complete) {
        t->outcome = JOB_SUCCEEDS;
        out->reason = S("CompletionsReached");
        out->message = S("Reached expected number of succeeded pods");
        return;
    }
    if (!plan->has_managed)
        return;
    struct job_condition c =
        condition(JOB_CONDITION_TYPE_SUSPENDED, spec->suspend,
                  spec->suspend ? S("JobSuspended") : S("JobResumed"),
                  spec->suspend ? S("Job suspended") : S("Job resumed"), t->look->now);
    if (!put_condition(t->status, c))
        return;
    t->must_write = true;
    out->event = spec->suspend ? "Suspended" : "Resumed";
    if (spec->suspend)
        UNSET(t->status, start_time);
    else
        SET(t->status, start_time, t->look->now);
}

static struct track track_of(struct arena *a, const struct job_look *look,
                             const struct job_plan *plan)
{
    const struct uncounted_terminated_pods *listed =
        look->job->status ? look->job->status->uncounted_terminated_pods : NULL;
    struct track t = {.a = a, .look = look, .plan = plan, .outcome = plan->outcome};

    t.status = copy_status(a, look->job);
    if (listed) {
        t.stored_ok = listed->succeeded;
        t.stored_failed = listed->failed;
    }
    return t;
}

/* 13. Each finished pod into the lists, and the interim condition. */
static void count(struct track *t, struct job_settled *out)
{
    clean(t);
    go_through(t);
    if (t->plan->is_indexed)
        put_indexes(t);
    put_lists(t->a, t->status, t->ok.at, t->ok.len, t->failed.at, t->failed.len);
    struct str interim = t->outcome == JOB_FAILS ? JOB_CONDITION_TYPE_FAILURE_TARGET
                                                 : JOB_CONDITION_TYPE_SUCCESS_CRITERIA_MET;
    if (t->outcome != JOB_GOES_ON && !t->plan->has_outcome_condition &&
        !has_true(t->status, interim)) {
        append(t->status, condition(interim, true, out->reason, out->message, t->look->now));
        t->must_write = true;
    }
    out->status = t->status;
    out->must_write = t->must_write;
    out->let_go = t->let_go.at;
    out->n_let_go = t->let_go.len;
    out->outcome = t->outcome;
    out->is_full = t->is_full;
}

struct job_settled job_settle(struct arena *a, const struct job_look *look,
                              const struct job_plan *plan, const struct job_done *done)
{
    struct job_settled out = {.reason = plan->reason, .message = plan->message};
    struct track t = track_of(a, look, plan);
    int32_t active = plan->active, ready = plan->ready, terminating = plan->terminating;

    if (instant_is_set(plan->start_time) && !IS_SET(t.status, start_time))
        SET(t.status, start_time, plan->start_time);

    /* 11. An outcome stands only where every active pod was deleted. */
    active -= (int32_t)done->n_removed;
    terminating += (int32_t)done->n_removed;
    if (plan->outcome != JOB_GOES_ON) {
        ready = 0;
        if (!done->is_all_removed || look->is_waiting)
            t.outcome = JOB_GOES_ON;
    } else {
        ready -= done->n_ready_removed;
        active += (int32_t)(plan->n_create - done->n_create_failed);
        settle_outcome(&t, &out, active);
    }
    t.must_write |= put_counts(&t, active, ready, terminating);

    count(&t, &out);
    out.terminating = terminating;
    return out;
}

struct job_settled job_track(struct arena *a, const struct job_look *look,
                             const struct job_plan *plan, bool is_dirty)
{
    struct job_settled out = {.reason = plan->reason, .message = plan->message};
    struct track t = track_of(a, look, plan);

    t.must_write = is_dirty;
    count(&t, &out);
    return out;
}

/* ---- 7 to 9 ---- */

/* Moves listed uids whose finalizer is away into their counter. */
static size_t count_gone(const struct job_look *look, const uint32_t *gone, size_t n,
                         const struct str_list *list, struct str *left, size_t *n_left)
{
    MAP(bool) is_gone = {0};
    size_t counted = 0;

    *n_left = 0;
    for (size_t i = 0; list->len && i < n; i++)
        *map_put(&is_gone, look->pods[gone[i]].uid) = true;
    for (size_t i = 0; i < list->len; i++) {
        if (map_get(&is_gone, list->at[i]))
            counted++;
        else
            left[(*n_left)++] = list->at[i];
    }
    map_fini(&is_gone);
    return counted;
}

struct job_concluded job_conclude(struct arena *a, const struct job_look *look,
                                  const struct job_settled *settled, const uint32_t *gone,
                                  size_t n_gone, bool all_gone)
{
    struct job_status *s = arena_new(a, struct job_status);
    const struct uncounted_terminated_pods *u = settled->status->uncounted_terminated_pods;
    struct str *ok = arena_array(a, struct str, u->succeeded.len + 1);
    struct str *failed = arena_array(a, struct str, u->failed.len + 1);
    size_t n_ok, n_failed;
    struct job_concluded out = {.status = s};

    *s = *settled->status;
    size_t more_ok = count_gone(look, gone, n_gone, &u->succeeded, ok, &n_ok);
    size_t more_failed = count_gone(look, gone, n_gone, &u->failed, failed, &n_failed);
    if (more_ok)
        SET(s, succeeded, s->succeeded + (int32_t)more_ok);
    if (more_failed)
        SET(s, failed, s->failed + (int32_t)more_failed);
    put_lists(a, s, ok, n_ok, failed, n_failed);
    out.must_write = more_ok || more_failed;
    if (!all_gone || settled->outcome == JOB_GOES_ON || settled->is_full || n_ok || n_failed ||
        settled->terminating)
        return out;

    bool has_failed = settled->outcome == JOB_FAILS;
    struct job_condition *at = arena_array(a, struct job_condition, s->conditions.len + 1);
    memcpy(at, s->conditions.at, s->conditions.len * sizeof(*at));
    s->conditions.at = at;
    struct job_condition end =
        condition(has_failed ? JOB_CONDITION_TYPE_FAILED : JOB_CONDITION_TYPE_COMPLETE, true,
                  settled->reason, settled->message, look->now);
    if (!put_condition(s, end))
        append(s, end);
    if (!has_failed)
        SET(s, completion_time, look->now);
    out.must_write = true;
    out.end = settled->outcome;
    out.is_too_many = !has_failed && IS_SET(look->job->spec, completions) &&
                      s->succeeded > look->job->spec->completions;
    return out;
}
