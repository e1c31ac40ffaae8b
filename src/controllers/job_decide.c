/* job_decide.c - what should happen next with a Job's pods */
#include "controllers/job_decide.h"

#include "api/batch_v1.h"
#include "json/json.h"

/* ---- what holds of a Job ---- */

static const struct job_condition *condition_of(const struct job_status *s, struct str type)
{
    for (size_t i = 0; s && i < s->conditions.len; i++)
        if (str_eq(s->conditions.at[i].type, type))
            return &s->conditions.at[i];
    return NULL;
}

bool job_is_finished(const struct json *job)
{
    const struct json *list = json_path(job, "status", "conditions", NULL);

    json_each (i, list) {
        struct str type = json_str(json_getz(json_at(list, i), "type"));
        if ((str_eq(type, JOB_CONDITION_TYPE_COMPLETE) ||
             str_eq(type, JOB_CONDITION_TYPE_FAILED)) &&
            str_eqz(json_str(json_getz(json_at(list, i), "status")), "True"))
            return true;
    }
    return false;
}

struct str job_other_manager(const struct json *job)
{
    struct str manager = json_str(json_path(job, "spec", "managedBy", NULL));

    return str_eqz(manager, JOB_OUR_NAME) ? S("") : manager;
}

static bool is_indexed(const struct job *job)
{
    return str_eq(job->spec->completion_mode, COMPLETION_MODE_INDEXED);
}

/* Pods are replaced only when they have failed, not when they begin to go. */
static bool is_only_failed(const struct job *job)
{
    return job->spec->pod_failure_policy ||
           str_eq(job->spec->pod_replacement_policy, POD_REPLACEMENT_POLICY_FAILED);
}

/* ---- what holds of a pod in a look ---- */

struct view {
    struct arena *a;
    const struct job_look *look;
    const struct job *job;
    MAP(bool) let_go;                      /* uids whose finalizer is gone */
    MAP(bool) uncounted_ok, uncounted;     /* listed as succeeded, as failed */
    const struct job_pod **active, **idle; /* idle: those that ended or are going */
    size_t n_active, n_idle, n_ready;
    struct index_marks busy; /* indexes of active pods; has_twice also for one without */
    bool is_indexed, is_per_index, is_only_failed;
};

static void add_uids(struct view *v, struct map_core *m, const struct str_list *l)
{
    (void)v;
    for (size_t i = 0; i < l->len; i++)
        *(bool *)map_put_(m, l->at[i], sizeof(bool)) = true;
}

static bool has_valid_index(const struct view *v, const struct job_pod *p)
{
    return p->index >= 0 && p->index < v->job->spec->completions;
}

/* What pods that run work on; see struct view. */
static void mark_busy(struct view *v)
{
    int32_t *indexes = NULL;
    size_t n = 0;
    bool is_lost = false;

    if (!index_marks_room(v->a, v->n_active, v->job->spec->completions, &v->busy))
        indexes = arena_array(v->a, int32_t, v->n_active + 1);
    for (size_t i = 0; i < v->n_active; i++) {
        const struct job_pod *p = v->active[i];
        if (!has_valid_index(v, p))
            is_lost = true;
        else if (indexes)
            indexes[n++] = p->index;
        else
            index_marks_add(&v->busy, p->index);
    }
    if (indexes)
        v->busy = index_marks_of(v->a, indexes, n);
    v->busy.has_twice |= is_lost;
}

/* Most pods run: what is asked of the others need not look at them. */
static void split_pods(struct view *v)
{
    size_t end = v->look->n_pods;
    const struct job_pod **at =
        arena_raw(v->a, (end + 1) * sizeof(*at), _Alignof(const struct job_pod *));

    v->active = at;
    for (size_t i = 0; i < v->look->n_pods; i++) {
        const struct job_pod *p = &v->look->pods[i];
        if (!job_pod_is_active(p)) {
            at[--end] = p; /* from behind: turned below */
            continue;
        }
        at[v->n_active++] = p;
        v->n_ready += p->is_ready;
    }
    v->idle = at + end;
    v->n_idle = v->look->n_pods - end;
    for (size_t i = 0, k = v->n_idle; i + 1 < k; i++) {
        const struct job_pod *swap = v->idle[i];
        v->idle[i] = v->idle[--k];
        v->idle[k] = swap;
    }
    if (v->is_indexed)
        mark_busy(v);
}

static struct view view_of(struct arena *a, const struct job_look *look)
{
    const struct job *job = look->job;
    struct view v = {.a = a,
                     .look = look,
                     .job = job,
                     .is_indexed = is_indexed(job),
                     .is_per_index = IS_SET(job->spec, backoff_limit_per_index),
                     .is_only_failed = is_only_failed(job)};

    for (size_t i = 0; i < look->n_let_go; i++)
        *map_put(&v.let_go, look->let_go[i]) = true;
    if (job->status && job->status->uncounted_terminated_pods) {
        add_uids(&v, &v.uncounted_ok.core, &job->status->uncounted_terminated_pods->succeeded);
        add_uids(&v, &v.uncounted.core, &job->status->uncounted_terminated_pods->failed);
    }
    split_pods(&v);
    return v;
}

static void view_fini(struct view *v)
{
    map_fini(&v->let_go);
    map_fini(&v->uncounted_ok);
    map_fini(&v->uncounted);
}

static bool is_in(const struct map_core *m, struct str uid)
{
    return uid.len && map_get_(m, uid, sizeof(bool));
}

static bool holds_finalizer(const struct view *v, const struct job_pod *p)
{
    return p->has_finalizer && !is_in(&v->let_go.core, p->uid);
}

static bool is_considered_failed(const struct view *v, const struct job_pod *p)
{
    return p->phase == POD_FAILED ||
           (!v->is_only_failed && p->is_deleting && p->phase != POD_SUCCEEDED);
}

static bool is_new_finished(const struct view *v, const struct job_pod *p)
{
    return holds_finalizer(v, p) && (!v->is_indexed || has_valid_index(v, p));
}

static bool is_new_succeeded(const struct view *v, const struct job_pod *p)
{
    return p->phase == POD_SUCCEEDED && is_new_finished(v, p) &&
           !is_in(&v->uncounted_ok.core, p->uid);
}

static bool is_new_failed(const struct view *v, const struct job_pod *p)
{
    return is_considered_failed(v, p) && is_new_finished(v, p) &&
           !is_in(&v->uncounted.core, p->uid);
}

#define each_pod(p, v)                                                                         \
    for (const struct job_pod *p = (v)->look->pods;                                            \
         p && p < (v)->look->pods + (v)->look->n_pods; p++)
#define each_idle(p, v)                                                                        \
    for (size_t p##_i = 0, p##_on = 1; p##_i < (v)->n_idle; p##_i++, p##_on = 1)               \
        for (const struct job_pod *p = (v)->idle[p##_i]; p##_on; p##_on = 0)

/* ---- back-off ---- */

/* Successes reset; failures at the same instant as a success do not count (1.14). */
static struct job_backoff backoff_next(const struct view *v)
{
    struct job_backoff was = v->look->backoff, next = {0};
    struct instant last_ok = {0};
    int32_t n_new = 0;
    bool has_ok = false;

    each_idle(p, v)
    {
        if (!is_new_succeeded(v, p))
            continue;
        last_ok = !has_ok || instant_before(last_ok, p->finished) ? p->finished : last_ok;
        has_ok = true;
    }
    each_idle(p, v)
    {
        if (!is_new_failed(v, p) || (has_ok && !instant_before(last_ok, p->finished)))
            continue;
        n_new++;
        if (!instant_is_set(next.last_failure) ||
            instant_before(next.last_failure, p->finished))
            next.last_failure = p->finished;
    }
    if (has_ok) {
        next.failures = n_new;
        return next;
    }
    if (n_new == 0)
        return was;
    next.failures = was.failures + n_new;
    return next;
}

struct job_backoff job_backoff_next(const struct job_look *look)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct view v = view_of(&a, look);
    struct job_backoff next = backoff_next(&v);

    view_fini(&v);
    return next;
}

static struct span wait_after(const struct job_look *look, int64_t failures,
                              struct instant last)
{
    int64_t first = look->backoff_first.ns ? look->backoff_first.ns : JOB_BACKOFF_FIRST.ns;
    int64_t wait = look->backoff_most.ns ? look->backoff_most.ns : JOB_BACKOFF_MOST.ns;

    if (failures <= 0)
        return (struct span){0};
    if (failures - 1 < 20 && first << (failures - 1) < wait)
        wait = first << (failures - 1);
    int64_t left = wait - instant_sub(look->now, last).ns;
    return (struct span){MAX(left, INT64_C(0))};
}

struct span job_backoff_left(const struct job_look *look, const struct job_backoff *b)
{
    return wait_after(look, b->failures, b->last_failure);
}

struct span job_index_backoff_left(const struct job_look *look, const struct job_pod *last)
{
    return wait_after(look, (int64_t)last->index_failures + last->index_ignored + 1,
                      last->finished);
}

/* ---- indexes ---- */

typedef VEC(int32_t) index_vec;

/* Stored ones and those of pods that succeeded. */
static struct index_set completed_indexes(struct view *v, const struct index_set *stored)
{
    index_vec more = {0};

    each_idle(p, v) if (p->phase == POD_SUCCEEDED && p->has_finalizer && has_valid_index(v, p))
        vec_push_in(v->a, &more, p->index);
    index_sort(more.at, more.len);
    return index_set_with(v->a, stored, more.at, more.len);
}

/* Does this failed pod end its index for good (1.16)? */
static bool ends_index(const struct view *v, const struct job_pod *p)
{
    if (p->action == JOB_POLICY_FAIL_INDEX)
        return true;
    return p->action != JOB_POLICY_IGNORE &&
           p->index_failures >= v->job->spec->backoff_limit_per_index;
}

static struct index_set failed_indexes(struct view *v)
{
    index_vec more = {0};
    struct str text = v->job->status ? v->job->status->failed_indexes : S("");
    struct index_set stored = index_set_parse(v->a, text, v->job->spec->completions);

    each_idle(p, v) if (is_considered_failed(v, p) && p->has_finalizer &&
                        has_valid_index(v, p) && ends_index(v, p))
        vec_push_in(v->a, &more, p->index);
    index_sort(more.at, more.len);
    return index_set_with(v->a, &stored, more.at, more.len);
}

static bool is_later(const struct job_pod *p, const struct job_pod *than)
{
    return p->index_failures + p->index_ignored >= than->index_failures + than->index_ignored &&
           !instant_before(p->finished, than->finished);
}

/* By index; of one index in the order of the look. */
static int by_index_alone(const void *a, const void *b)
{
    const struct job_pod *x = *(const struct job_pod *const *)a;
    const struct job_pod *y = *(const struct job_pod *const *)b;

    return (x->index > y->index) - (x->index < y->index);
}

/* The last failed pod of each index that is neither active nor over: it keeps its finalizer
 * until its replacement carries the count on. */
static void held_pods(struct view *v, struct job_plan *plan)
{
    VEC(const struct job_pod *) failed = {0};

    each_idle(p, v)
    {
        if (is_considered_failed(v, p) && holds_finalizer(v, p) && has_valid_index(v, p) &&
            !index_marks_has(&v->busy, p->index) &&
            !index_set_has(&plan->completed, p->index) &&
            !index_set_has(&plan->failed_indexes, p->index))
            vec_push_in(v->a, &failed, p);
    }
    sort_stable(failed.at, failed.len, sizeof(*failed.at), by_index_alone);
    uint32_t *held = arena_array(v->a, uint32_t, failed.len + 1);
    for (size_t i = 0, end; i < failed.len; i = end) {
        const struct job_pod *last = failed.at[i];
        for (end = i + 1; end < failed.len && failed.at[end]->index == last->index; end++)
            if (is_later(failed.at[end], last))
                last = failed.at[end];
        held[plan->n_held++] = (uint32_t)(last - v->look->pods);
    }
    plan->held = held;
}

const struct job_pod *job_plan_held(const struct job_look *look, const struct job_plan *plan,
                                    int32_t index)
{
    size_t from = 0, to = plan->n_held;

    while (from < to) {
        size_t mid = (from + to) / 2;
        const struct job_pod *p = &look->pods[plan->held[mid]];
        if (p->index == index)
            return p;
        if (p->index < index)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

int job_success_rule(struct arena *a, const struct job *job, const struct index_set *succeeded)
{
    const struct success_policy *policy = job->spec->success_policy;

    for (size_t i = 0; policy && i < policy->rules.len; i++) {
        const struct success_policy_rule *r = &policy->rules.at[i];
        if (!IS_SET(r, succeeded_indexes)) {
            if (IS_SET(r, succeeded_count) && succeeded->total >= r->succeeded_count)
                return (int)i;
            continue;
        }
        struct index_set want =
            index_set_parse(a, r->succeeded_indexes, job->spec->completions);
        int64_t met = index_sets_share(&want, succeeded);
        if (want.total && met >= (IS_SET(r, succeeded_count) ? r->succeeded_count : want.total))
            return (int)i;
    }
    return -1;
}

struct str job_generate_name(struct arena *a, struct str job, int32_t index)
{
    if (index == JOB_NO_INDEX)
        return str_concat(a, job, S("-"));
    struct str tail = str_concat(a, S("-"), str_of_u64(a, (uint64_t)index), S("-"));
    return str_concat(a, str_slice(job, 0, 58 - tail.len), tail);
}

/* ---- 9, 10: the outcome ---- */

static void decide(struct job_plan *plan, enum job_outcome outcome, const char *reason,
                   struct str message)
{
    plan->outcome = outcome;
    plan->reason = str_from(reason);
    plan->message = message;
}

/* Restarts in place count against the limit where pods restart themselves. */
static bool is_past_restarts(const struct view *v)
{
    const struct pod_spec *pod = v->job->spec->template ? v->job->spec->template->spec : NULL;
    int64_t n = 0;

    if (!pod || !str_eq(pod->restart_policy, S("OnFailure")))
        return false;
    each_pod(p, v) if (p->phase == POD_RUNNING || p->phase == POD_PENDING) n += p->all_restarts;
    return v->job->spec->backoff_limit == 0 ? n > 0 : n >= v->job->spec->backoff_limit;
}

static const struct job_pod *first_fail_job(const struct view *v)
{
    each_idle(p,
              v) if (p->action == JOB_POLICY_FAIL_JOB && is_considered_failed(v, p)) return p;
    return NULL;
}

static void decide_outcome(struct view *v, struct job_plan *plan)
{
    const struct job_spec *spec = v->job->spec;
    const struct job_condition *met =
        condition_of(v->job->status, JOB_CONDITION_TYPE_SUCCESS_CRITERIA_MET);
    const struct job_condition *failing =
        condition_of(v->job->status, JOB_CONDITION_TYPE_FAILURE_TARGET);
    const struct job_pod *fail;

    if (met && str_eq(met->status, S("True"))) {
        plan->has_outcome_condition = true;
        plan->outcome = JOB_SUCCEEDS, plan->reason = met->reason, plan->message = met->message;
    } else if (failing && str_eq(failing->status, S("True"))) {
        plan->has_outcome_condition = true;
        plan->outcome = JOB_FAILS;
        plan->reason = failing->reason, plan->message = failing->message;
    } else if ((fail = first_fail_job(v))) {
        decide(plan, JOB_FAILS, "PodFailurePolicy", fail->failure);
    } else if (plan->failed > spec->backoff_limit || is_past_restarts(v)) {
        decide(plan, JOB_FAILS, "BackoffLimitExceeded",
               S("Job has reached the specified backoff limit"));
    } else if (IS_SET(spec, active_deadline_seconds) && !spec->suspend &&
               instant_is_set(plan->start_time)) {
        struct span past = instant_sub(v->look->now, plan->start_time);
        struct span left = {span_s(spec->active_deadline_seconds).ns - past.ns};
        if (left.ns <= 0)
            decide(plan, JOB_FAILS, "DeadlineExceeded",
                   S("Job was active longer than specified deadline"));
        else
            plan->again_deadline = left;
    }
}

static void decide_by_index(struct view *v, struct job_plan *plan)
{
    const struct job_spec *spec = v->job->spec;
    int64_t n_failed = plan->failed_indexes.total;

    if (v->is_per_index && plan->outcome == JOB_GOES_ON) {
        if (IS_SET(spec, max_failed_indexes) && n_failed > spec->max_failed_indexes)
            decide(plan, JOB_FAILS, "MaxFailedIndexesExceeded",
                   S("Job has exceeded the specified maximal number of failed indexes"));
        else if (n_failed && n_failed + plan->succeeded >= spec->completions)
            decide(plan, JOB_FAILS, "FailedIndexes", S("Job has failed indexes"));
    }
    if (plan->outcome == JOB_GOES_ON && spec->success_policy && plan->completed.total) {
        int rule = job_success_rule(v->a, v->job, &plan->completed);
        if (rule >= 0)
            decide(plan, JOB_SUCCEEDS, "SuccessPolicy",
                   str_printf(v->a, "Matched rules at index %d", rule));
    }
}

/* ---- 1.11: how many pods, which ones ---- */

/* The order of deletion: who goes first. */
static int goes_before(const struct job_pod *x, const struct job_pod *y)
{
    static const int rank[] = {[POD_PENDING] = 0,
                               [POD_UNKNOWN] = 1,
                               [POD_RUNNING] = 2,
                               [POD_SUCCEEDED] = 2,
                               [POD_FAILED] = 2};

    if (x->is_assigned != y->is_assigned)
        return x->is_assigned - y->is_assigned;
    if (rank[x->phase] != rank[y->phase])
        return rank[x->phase] - rank[y->phase];
    if (x->is_ready != y->is_ready)
        return x->is_ready - y->is_ready;
    if (x->is_ready && x->ready_since.ns != y->ready_since.ns) {
        if (!instant_is_set(x->ready_since) || !instant_is_set(y->ready_since))
            return instant_is_set(x->ready_since) ? 1 : -1;
        return instant_before(x->ready_since, y->ready_since) ? 1 : -1;
    }
    if (x->restarts != y->restarts)
        return x->restarts > y->restarts ? -1 : 1;
    if (x->init_restarts != y->init_restarts)
        return x->init_restarts > y->init_restarts ? -1 : 1;
    if (x->created.ns != y->created.ns) {
        if (!instant_is_set(x->created) || !instant_is_set(y->created))
            return instant_is_set(x->created) ? 1 : -1;
        return instant_before(x->created, y->created) ? 1 : -1;
    }
    return 0;
}

static int by_deletion(const void *a, const void *b)
{
    return goes_before(*(const struct job_pod *const *)a, *(const struct job_pod *const *)b);
}

/* By index first; without a valid one before all others (those past the end behind). */
static int by_index(const void *a, const void *b)
{
    const struct job_pod *x = *(const struct job_pod *const *)a;
    const struct job_pod *y = *(const struct job_pod *const *)b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return goes_before(x, y);
}

typedef VEC(const struct job_pod *) pod_vec;

static void add_range(struct arena *a, pod_vec *to, const pod_vec *from, size_t at, size_t end)
{
    for (; at < end; at++)
        vec_push_in(a, to, from->at[at]);
}

static pod_vec active_pods(struct view *v)
{
    return (pod_vec){.at = v->active, .len = v->n_active, .cap = v->n_active};
}

/* Splits active pods into those that must go for their index, and the rest. */
static void split_by_index(struct view *v, pod_vec *go, pod_vec *stay)
{
    pod_vec sorted = {0}, past = {0}, surplus = {0};
    int32_t completions = v->job->spec->completions;

    if (!v->busy.has_twice) {
        *stay = active_pods(v);
        return;
    }
    for (size_t i = 0; i < v->n_active; i++)
        vec_push_in(v->a, &sorted, v->active[i]);
    sort_stable(sorted.at, sorted.len, sizeof(*sorted.at), by_index);
    for (size_t i = 0, end; i < sorted.len; i = end) {
        int32_t index = sorted.at[i]->index;
        for (end = i + 1; end < sorted.len && sorted.at[end]->index == index;)
            end++;
        if (index == JOB_NO_INDEX) {
            add_range(v->a, go, &sorted, i, end);
        } else if (index >= completions) {
            add_range(v->a, &past, &sorted, i, end);
        } else {
            add_range(v->a, go, &surplus, 0, surplus.len);
            surplus.len = 0;
            add_range(v->a, &surplus, &sorted, i, end - 1);
            vec_push_in(v->a, stay, sorted.at[end - 1]);
        }
    }
    add_range(v->a, go, &past, 0, past.len);
    add_range(v->a, go, &surplus, 0, surplus.len); /* of the highest index: behind those past */
}

static void plan_removal(struct view *v, struct job_plan *plan, const pod_vec *go)
{
    uint32_t *at = arena_array(v->a, uint32_t, go->len + 1);

    for (size_t i = 0; i < go->len; i++)
        at[i] = (uint32_t)(go->at[i] - v->look->pods);
    plan->remove = at;
    plan->n_remove = go->len;
}

static int64_t wanted_active(const struct view *v, const struct job_plan *plan)
{
    const struct job_spec *spec = v->job->spec;

    if (!IS_SET(spec, completions))
        return plan->succeeded > 0 ? plan->active : spec->parallelism;
    int64_t left = spec->completions - plan->succeeded;
    left = MIN(left, (int64_t)spec->parallelism);
    return MAX(left, INT64_C(0));
}

/* The first index from `i` on that lies in no range of the set. *at is where to look next. */
static int64_t past_ranges(const struct index_set *s, size_t *at, int64_t i)
{
    while (*at < s->len && s->at[*at].last < i)
        ++*at;
    return *at < s->len && s->at[*at].first <= i ? (int64_t)s->at[*at].last + 1 : i;
}

/* The smallest indexes that nobody has, works on or gave up. */
static void pending_indexes(struct view *v, struct job_plan *plan, size_t n, index_vec *out)
{
    index_vec going = {0};
    size_t in_completed = 0, in_failed = 0;

    each_idle(p, v) if (v->is_only_failed && job_pod_is_terminating(p) && has_valid_index(v, p))
        vec_push_in(v->a, &going, p->index);
    struct index_marks late = index_marks_of(v->a, going.at, going.len);
    for (int64_t i = 0, was; out->len < n; i++) {
        do {
            was = i;
            i = past_ranges(&plan->completed, &in_completed, i);
            i = past_ranges(&plan->failed_indexes, &in_failed, i);
            i = index_marks_past(&v->busy, i);
            i = index_marks_past(&late, i);
        } while (i != was);
        if (i >= v->job->spec->completions)
            return;
        vec_push_in(v->a, out, (int32_t)i);
    }
}

static void plan_indexed_births(struct view *v, struct job_plan *plan, size_t n)
{
    index_vec pending = {0};
    VEC(struct job_birth) births = {0};
    struct span least = {INT64_MAX};

    pending_indexes(v, plan, n, &pending);
    for (size_t i = 0; i < pending.len; i++) {
        const struct job_pod *last =
            v->is_per_index ? job_plan_held(v->look, plan, pending.at[i]) : NULL;
        struct job_birth b = {.index = pending.at[i]};
        if (last) {
            struct span left = job_index_backoff_left(v->look, last);
            if (left.ns > 0) {
                least = left.ns < least.ns ? left : least;
                continue;
            }
            bool is_ignored = last->action == JOB_POLICY_IGNORE;
            b.index_failures = last->index_failures + !is_ignored;
            b.index_ignored = last->index_ignored + is_ignored;
        }
        vec_push_in(v->a, &births, b);
    }
    if (births.len == 0 && least.ns != INT64_MAX)
        plan->again = least;
    plan->create = births.at;
    plan->n_create = births.len;
}

static void plan_births(struct view *v, struct job_plan *plan, int64_t n)
{
    if (!v->is_per_index) {
        struct span left = job_backoff_left(v->look, &plan->backoff);
        if (left.ns > 0) {
            plan->again = left;
            return;
        }
    }
    n = MIN(n, (int64_t)JOB_MAX_PODS_A_SYNC);
    if (v->is_indexed) {
        plan_indexed_births(v, plan, (size_t)n);
        return;
    }
    struct job_birth *at = arena_array(v->a, struct job_birth, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        at[i].index = JOB_NO_INDEX;
    plan->create = at;
    plan->n_create = (size_t)n;
}

static void manage(struct view *v, struct job_plan *plan)
{
    pod_vec active = active_pods(v), go = {0}, stay = {0};

    plan->has_managed = true;
    plan->remove_uncounted = true;
    if (v->job->spec->suspend) {
        sort_stable(active.at, active.len, sizeof(*active.at), by_deletion);
        plan_removal(v, plan, &active);
        return;
    }
    int64_t want = wanted_active(v, plan), surplus = plan->active - want;
    if (v->is_indexed)
        split_by_index(v, &go, &stay);
    else
        stay = active;
    if ((int64_t)go.len < surplus) {
        sort_stable(stay.at, stay.len, sizeof(*stay.at), by_deletion);
        for (size_t i = 0; i < stay.len && (int64_t)go.len < surplus; i++)
            vec_push_in(v->a, &go, stay.at[i]);
    }
    if (go.len) {
        go.len = MIN(go.len, (size_t)JOB_MAX_PODS_A_SYNC);
        plan_removal(v, plan, &go);
        return;
    }
    int64_t missing = want - plan->active - (v->is_only_failed ? plan->terminating : 0);
    if (missing > 0)
        plan_births(v, plan, missing);
}

/* ---- the whole look ---- */

static void count_pods(struct view *v, struct job_plan *plan)
{
    const struct job_status *was = v->job->status;
    const struct uncounted_terminated_pods *listed =
        was ? was->uncounted_terminated_pods : NULL;

    plan->succeeded =
        (was ? was->succeeded : 0) + (listed ? (int64_t)listed->succeeded.len : 0);
    plan->failed = (was ? was->failed : 0) + (listed ? (int64_t)listed->failed.len : 0);
    plan->active = (int32_t)v->n_active;
    plan->ready = (int32_t)v->n_ready;
    plan->idle = v->idle;
    plan->n_idle = v->n_idle;
    each_idle(p, v)
    {
        plan->terminating += job_pod_is_terminating(p);
        plan->succeeded += is_new_succeeded(v, p);
        plan->failed += is_new_failed(v, p) && p->action != JOB_POLICY_IGNORE;
    }
}

struct job_plan job_decide(struct arena *a, const struct job_look *look)
{
    const struct job *job = look->job;
    struct view v = view_of(a, look);
    struct job_plan plan = {.again = {-1}, .again_deadline = {-1}};

    plan.is_indexed = v.is_indexed;
    plan.is_per_index = v.is_per_index;
    plan.is_only_failed = v.is_only_failed;
    count_pods(&v, &plan);
    plan.start_time = job->status ? job->status->start_time : (struct instant){0};
    if (!instant_is_set(plan.start_time) && !job->spec->suspend)
        plan.start_time = look->now;
    plan.backoff = backoff_next(&v);
    decide_outcome(&v, &plan);
    if (v.is_indexed) {
        struct str stored = job->status ? job->status->completed_indexes : S("");
        plan.stored_completed = index_set_parse(a, stored, job->spec->completions);
        plan.completed = completed_indexes(&v, &plan.stored_completed);
        plan.succeeded = plan.completed.total;
        if (v.is_per_index) {
            plan.failed_indexes = failed_indexes(&v);
            held_pods(&v, &plan);
        }
        decide_by_index(&v, &plan);
    }
    if (plan.outcome != JOB_GOES_ON) {
        pod_vec active = active_pods(&v);
        plan_removal(&v, &plan, &active);
    } else if (!look->is_waiting && !instant_is_set(job->metadata->deletion_timestamp)) {
        manage(&v, &plan);
    }
    view_fini(&v);
    return plan;
}
