/* kueue_sched_flavor.c - flavor assignment on its own */
#include "kueue_sched.h"

#include "kueue_parts.h"
#include "queue/plan_priv.h"

static struct str mode_name(enum queue_mode m)
{
    static const struct str names[] = {S_INIT("NoFit"), S_INIT("Preempt"),
                                       S_INIT("DeferredFit"), S_INIT("Fit")};
    return names[m];
}

static struct str possibility_name(enum possibility p)
{
    static const struct str names[] = {
        [POSSIBLE_NO_FIT] = S_INIT("NoFit"),    [POSSIBLE_NONE] = S_INIT("NoCandidates"),
        [POSSIBLE_PREEMPT] = S_INIT("Preempt"), [POSSIBLE_RECLAIM] = S_INIT("Reclaim"),
        [POSSIBLE_FIT] = S_INIT("Fit"),
    };
    return names[p];
}

/* ---- the table that stands for the preemption search ---- */

struct table {
    struct sched *s;
    const struct json *rows;
};

static enum possibility look_up(void *ctx, quota_fr fr, int64_t amount, uint32_t *borrow)
{
    const struct table *t = ctx;
    struct str flavor = intern_name(&t->s->e->flavor_names, QUOTA_FLAVOR(fr));
    struct str resource = intern_name(&t->s->e->resources, QUOTA_RESOURCE(fr));

    (void)amount;
    *borrow = 0;
    json_each (i, t->rows) {
        const struct json *row = json_at(t->rows, i);
        struct str p = json_str(json_getz(row, "possibility"));
        if (!str_eq(json_str(json_getz(row, "flavor")), flavor) ||
            !str_eq(json_str(json_getz(row, "resource")), resource))
            continue;
        *borrow = (uint32_t)json_i64(json_getz(row, "borrowing"), 0);
        return str_eq(p, S("NoCandidates")) ? POSSIBLE_NONE
               : str_eq(p, S("Reclaim"))    ? POSSIBLE_RECLAIM
                                            : POSSIBLE_PREEMPT;
    }
    return POSSIBLE_PREEMPT;
}

static void add_usage(struct sched *s, const char *field)
{
    json_each_member (m, json_path(s->c, "input", field, NULL)) {
        struct queue_cq *cq = cq_find(s->e, m->name);
        if (!cq)
            continue;
        quota_settle(&cq->node);
        json_each (i, &m->value) {
            const struct json *u = json_at(&m->value, i);
            quota_add(
                &cq->node,
                QUOTA_FR(flavor_number(s->e, json_str(json_getz(u, "flavor"))),
                         intern_add(&s->e->resources, json_str(json_getz(u, "resource")))),
                json_i64(json_getz(u, "amount"), 0), NULL);
        }
    }
}

/* The older slice: its flavors from its admission, its amounts as the case gives them. */
static struct queue_wl *replaced_slice(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *slice = json_path(s->c, "input", "replacedSlice", NULL);
    const struct json *totals = json_getz(slice, "podSetTotals");
    struct queue_workload_spec spec;

    if (!json_has(slice))
        return NULL;
    queue_load_workload(a, json_getz(slice, "object"), &s->loader, &spec);
    struct queue_podset_admission *ad =
        arena_array(a, struct queue_podset_admission, json_len(totals));
    json_each (i, totals) {
        const struct json *o = json_at(totals, i), *requests = json_getz(o, "requests");
        const struct json *flavors = json_getz(o, "flavors");
        struct queue_flavor_use *uses =
            arena_array(a, struct queue_flavor_use, json_len(requests) + json_len(flavors));
        ad[i].name = json_str(json_getz(o, "name"));
        ad[i].uses = uses;
        json_each_member (m, requests)
            uses[ad[i].n_uses++] = (struct queue_flavor_use){
                m->name, json_str(json_get(flavors, m->name)), json_i64(&m->value, 0)};
        json_each_member (m, flavors)
            if (!json_get(requests, m->name))
                uses[ad[i].n_uses++] =
                    (struct queue_flavor_use){m->name, json_str(&m->value), 0};
    }
    spec.name = S("older-slice");
    spec.flags = 0;
    spec.parent = S("-");
    spec.admission = ad;
    spec.n_admission = json_len(totals);
    queue_put_workload(s->e, &spec, s->now);
    return wl_find_in(s->e, spec.ns, spec.name);
}

static struct assignment *assign(struct sched *s, struct assign_input *in, struct table *table)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    const struct json *wl = json_getz(input, "workload");
    const struct json *gone = json_getz(input, "deletedFlavors");
    struct queue_workload_spec spec;

    *table = (struct table){s, json_getz(input, "simulation")};
    add_usage(s, "usage");
    queue_load_workload(a, json_has(json_getz(wl, "object")) ? json_getz(wl, "object") : wl,
                        &s->loader, &spec);
    spec.name = spec.name.len ? spec.name : S("incoming");
    queue_put_workload(s->e, &spec, s->now);
    struct queue_cq *cq = cq_find(s->e, json_str(json_getz(input, "clusterQueue")));
    quota_settle(&cq->node);
    struct queue_wl *rec = wl_find_in(s->e, spec.ns, spec.name);
    *in = (struct assign_input){.e = s->e,
                                .a = a,
                                .cq = cq,
                                .wl = rec,
                                .shape = rec->group->shape,
                                .replaces = replaced_slice(s),
                                .simulate = look_up,
                                .ctx = table};
    json_each (i, gone)
        queue_delete_flavor(s->e, json_str(json_at(gone, i)));
    return assign_flavors(in);
}

/* ---- comparing ---- */

static const struct json *flavors_json(struct sched *s, const struct assigned_podset *ps,
                                       bool whole)
{
    struct json_obj out = obj_in(s->t->arena);

    for (size_t i = 0; i < ps->n_flavors; i++) {
        const struct assigned_flavor *f = &ps->flavors[i];
        struct str name = intern_name(&s->e->flavor_names, f->flavor);
        struct json_obj o = obj_in(s->t->arena);
        obj_setz(&o, "name", json_of_str(name));
        obj_setz(&o, "mode", json_of_str(mode_name((enum queue_mode)f->mode)));
        obj_setz(&o, "triedFlavorIdx", json_of_i64(f->tried));
        obj_set(&out, intern_name(&s->e->resources, f->resource),
                whole ? obj_done(&o) : json_of_str(name));
    }
    return json_new(s->t->arena, obj_done(&out));
}

static const struct json *requests_json(struct sched *s, const struct assigned_podset *ps)
{
    struct json_obj out = obj_in(s->t->arena);

    for (size_t i = 0; i < ps->n_requests; i++) {
        struct str r = intern_name(&s->e->resources, ps->requests[i].resource);
        obj_set(&out, r,
                json_of_str(resource_units_text(s->t->arena, r, ps->requests[i].amount)));
    }
    return json_new(s->t->arena, obj_done(&out));
}

static struct json attempt_json(struct sched *s, const struct attempt *at)
{
    struct json_obj o = obj_in(s->t->arena);

    obj_setz(&o, "borrow", json_of_i64(at->borrow));
    obj_setz(&o, "flavor", json_of_str(intern_name(&s->e->flavor_names, at->flavor)));
    obj_setz(&o, "mode", json_of_str(mode_name((enum queue_mode)at->mode)));
    if (at->was_simulated)
        obj_setz(&o, "preemptionPossibility",
                 json_of_str(possibility_name((enum possibility)at->possibility)));
    if (at->reason != QUEUE_NONE)
        obj_setz(&o, "noFitReason", json_of_str(queue_reason_text(at->reason)));
    return obj_done(&o);
}

static const struct json *attempt_for(const struct json *list, struct str flavor)
{
    json_each (i, list)
        if (str_eq(json_str(json_getz(json_at(list, i), "flavor")), flavor))
            return json_at(list, i);
    return NULL;
}

static bool is_fit(const struct json *attempt)
{
    return str_eq(json_str(json_getz(attempt, "mode")), S("Fit"));
}

/* With a Fit among them each attempt made must equal the wanted one (a Fit may stand where the
 * wanted flavor only lacks the resource); without, all wanted ones must be there. */
static void compare_attempts(struct sched *s, const struct assigned_podset *ps,
                             const struct json *want, bool is_exact)
{
    struct arena *a = s->t->arena;
    struct json_arr got = arr_in(a);
    bool has_fit = false;

    for (size_t i = 0; i < ps->n_attempts; i++) {
        arr_add(&got, attempt_json(s, &ps->attempts[i]));
        has_fit |= ps->attempts[i].mode == MODE_FIT;
    }
    const struct json *made = json_new(a, arr_done(&got));
    json_each (i, made) {
        const struct json *x = json_at(made, i);
        const struct json *w = attempt_for(want, json_str(json_getz(x, "flavor")));
        if (w && is_fit(x) && json_has(json_getz(w, "doesNotProvideResource")))
            continue;
        sched_same(s, "attempt", x,
                   w ? json_without(a, json_without(a, w, "reasonCount", NULL),
                                    "doesNotProvideResource", NULL)
                     : NULL);
    }
    if ((!has_fit || is_exact) && json_len(made) != json_len(want))
        sched_same(s, "attempts", made, want);
}

static void compare_podsets(struct sched *s, const struct assignment *as,
                            const struct json *want)
{
    struct arena *a = s->t->arena;
    const struct json *list = json_getz(want, "podSets");

    if (json_len(list) != as->n_podsets)
        conf_fail(s->t, "podsets", str_printf(a, "%zu", as->n_podsets),
                  str_printf(a, "%zu", json_len(list)));
    json_each (i, list) {
        const struct json *w = json_at(list, i);
        if (i >= as->n_podsets)
            break;
        const struct assigned_podset *ps = &as->podsets[i];
        sched_same(s, "flavors", flavors_json(s, ps, true), json_getz(w, "flavors"));
        sched_same(s, "requests", json_with(a, NULL, *requests_json(s, ps), "requests", NULL),
                   json_with(a, NULL,
                             json_has(json_getz(w, "requests")) ? *json_getz(w, "requests")
                                                                : json_of_null(),
                             "requests", NULL));
        if (json_i64(json_getz(w, "count"), 0) != ps->count)
            conf_fail(s->t, "count", str_printf(a, "%u", ps->count),
                      json_text(a, json_getz(w, "count")));
        if (json_getz(w, "attempts"))
            compare_attempts(s, ps, json_getz(w, "attempts"),
                             str_eq(s->t->file, S("flavor-assignment-deleted")));
    }
}

static int by_value(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

static const struct json *amounts_json(struct sched *s, const struct quota_amount *at, size_t n)
{
    struct arena *a = s->t->arena;
    struct json_arr out = arr_in(a);

    for (size_t i = 0; i < n; i++) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "amount", json_of_i64(at[i].amount));
        obj_setz(&o, "flavor",
                 json_of_str(intern_name(&s->e->flavor_names, QUOTA_FLAVOR(at[i].fr))));
        obj_setz(&o, "resource",
                 json_of_str(intern_name(&s->e->resources, QUOTA_RESOURCE(at[i].fr))));
        arr_add(&out, obj_done(&o));
    }
    vec_sort(&out.items, by_value);
    return json_new(a, arr_done(&out));
}

static const struct json *sorted(struct arena *a, const struct json *list)
{
    struct json_arr out = arr_in(a);

    json_each (i, list)
        arr_add(&out, *json_at(list, i));
    vec_sort(&out.items, by_value);
    return json_new(a, arr_done(&out));
}

static void compare_assignment(struct sched *s, const struct assignment *as)
{
    struct arena *a = s->t->arena;
    const struct json *want = json_getz(s->want, "assignment");
    struct str reason = queue_reason_text(as->no_fit);

    if (!want)
        return;
    compare_podsets(s, as, want);
    if (json_i64(json_getz(want, "borrowing"), 0) != as->borrow)
        conf_fail(s->t, "borrowing", str_printf(a, "%u", as->borrow),
                  json_text(a, json_getz(want, "borrowing")));
    sched_same(s, "usage", amounts_json(s, as->usage.at, as->usage.len),
               sorted(a, json_path(want, "usage", "assigned", NULL)));
    if (queue_gate(&s->config, QUEUE_GATE_OBSERVABILITY))
        conf_same_str(s->t, "noFitReason", reason, json_str(json_getz(want, "noFitReason")));
}

static void compare_reasons(struct sched *s, const struct assignment *as)
{
    json_each_member (m, json_getz(s->want, "attemptNoFitReasons"))
        for (size_t i = 0; i < as->podsets[0].n_attempts; i++) {
            const struct attempt *at = &as->podsets[0].attempts[i];
            if (str_eq(intern_name(&s->e->flavor_names, at->flavor), m->name))
                conf_same_str(s->t, str_z(s->t->arena, m->name), queue_reason_text(at->reason),
                              json_str(&m->value));
        }
    if (json_getz(s->want, "attemptNoFitReasons"))
        conf_same_str(s->t, "noFitReason", queue_reason_text(as->no_fit),
                      json_str(json_getz(s->want, "noFitReason")));
}

static struct str error_name(const char *error)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        {"no TAS cache information", "NoTASCacheInformation"     },
        {"no TAS flavor assigned",   "NoTASFlavorAssigned"       },
        {"more than one TAS flavor", "MultipleTASFlavorsAssigned"},
    };

    for (size_t i = 0; error && i < countof(rows); i++)
        if (strstr(error, rows[i].text))
            return str_from(rows[i].name);
    return str_from(error);
}

/* Errors and flavors by podset, or flavors only. */
static void compare_by_name(struct sched *s, const struct assignment *as,
                            const struct queue_shape *shape)
{
    struct json_obj flavors = obj_in(s->t->arena), errors = obj_in(s->t->arena);
    bool whole = json_getz(s->want, "podSetFlavors") != NULL;

    for (size_t i = 0; i < as->n_podsets; i++) {
        struct str name = shape->podsets[i].spec.name;
        obj_set(&flavors, name, *flavors_json(s, &as->podsets[i], whole));
        if (as->podsets[i].error)
            obj_set(&errors, name, json_of_str(error_name(as->podsets[i].error)));
    }
    if (whole) {
        sched_same(s, "podSetFlavors", json_new(s->t->arena, obj_done(&flavors)),
                   json_getz(s->want, "podSetFlavors"));
        sched_same(s, "podSetErrors", json_new(s->t->arena, obj_done(&errors)),
                   json_getz(s->want, "podSetErrors"));
    } else if (json_getz(s->want, "flavors")) {
        sched_same(s, "flavors", json_new(s->t->arena, obj_done(&flavors)),
                   json_getz(s->want, "flavors"));
    }
}

static void assignment(struct sched *s)
{
    struct assign_input in;
    struct table table;
    const struct assignment *as = assign(s, &in, &table);

    if (json_getz(s->want, "representativeMode"))
        conf_same_str(s->t, "representativeMode", mode_name((enum queue_mode)as->mode),
                      json_str(json_getz(s->want, "representativeMode")));
    compare_assignment(s, as);
    compare_reasons(s, as);
    compare_by_name(s, as, in.shape);
}

void kueue_flavor_assignment(struct conf *t, const struct json *c)
{
    sched_each(t, c, assignment);
}

/* ---- where a scan ended, and the same once more on the nominated flavors ---- */

static void compare_scan(struct sched *s, const struct assign_input *in,
                         const struct assignment *as)
{
    struct json_obj tried = obj_in(s->t->arena);

    for (size_t i = 0; i < as->n_podsets; i++) {
        struct json_obj of = obj_in(s->t->arena);
        for (size_t k = 0; k < as->podsets[i].n_flavors; k++)
            obj_set(&of, intern_name(&s->e->resources, as->podsets[i].flavors[k].resource),
                    json_of_i64(as->podsets[i].flavors[k].tried));
        obj_set(&tried, in->shape->podsets[i].spec.name, obj_done(&of));
    }
    if (json_getz(s->want, "representativeMode"))
        conf_same_str(s->t, "representativeMode", mode_name((enum queue_mode)as->mode),
                      json_str(json_getz(s->want, "representativeMode")));
    if (json_getz(s->want, "lastTriedFlavorIdx"))
        sched_same(s, "lastTriedFlavorIdx", json_new(s->t->arena, obj_done(&tried)),
                   json_getz(s->want, "lastTriedFlavorIdx"));
    compare_assignment(s, as);
    compare_reasons(s, as);
    compare_by_name(s, as, in->shape);
}

static void scan(struct sched *s)
{
    const struct json *input = json_getz(s->c, "input");
    const struct json *again = json_getz(input, "simulationAtRecompute");
    struct assign_input in;
    struct table table;
    const struct assignment *as = assign(s, &in, &table);

    if (str_eq(s->t->file, S("flavor-scan-recompute"))) {
        add_usage(s, "usageBeforeRecompute");
        in.pinned = as;
        table.rows = again;
        as = assign_flavors(&in);
    }
    compare_scan(s, &in, as);
}

void kueue_flavor_scan(struct conf *t, const struct json *c)
{
    sched_each(t, c, scan);
}

/* ---- totals ---- */

static void totals(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *input = json_getz(s->c, "input");
    const struct json *list = json_path(input, "assignment", "podSets", NULL);
    const struct json *given = json_path(input, "workload", "podSetTotals", NULL);
    struct queue_shape shape = {.n_podsets = json_len(list)};
    struct assignment as = {.n_podsets = json_len(list)};
    struct assign_input in = {
        .e = s->e, .a = a, .shape = &shape, .replaces = replaced_slice(s)};
    size_t n;

    shape.podsets = arena_array(a, struct shape_podset, shape.n_podsets);
    as.podsets = arena_array(a, struct assigned_podset, as.n_podsets);
    json_each (i, list) {
        const struct json *o = json_at(list, i), *t = json_at(given, i);
        struct assigned_podset *ps = &as.podsets[i];
        const struct json *flavors = json_getz(o, "flavors"), *req = json_getz(t, "requests");
        int32_t count = (int32_t)json_i64(json_getz(t, "count"), 1);
        shape.podsets[i].spec.name = json_str(json_getz(o, "name"));
        ps->count = (uint32_t)json_i64(json_getz(o, "count"), count);
        ps->requests = arena_array(a, struct shape_request, json_len(req));
        ps->flavors = arena_array(a, struct assigned_flavor, json_len(flavors));
        json_each_member (m, req)
            ps->requests[ps->n_requests++] = (struct shape_request){
                intern_add(&s->e->resources, m->name),
                in.replaces ? json_i64(&m->value, 0)
                            : request_for(json_i64(&m->value, 0), count, ps->count)};
        json_each_member (m, flavors)
            ps->flavors[ps->n_flavors++] = (struct assigned_flavor){
                intern_add(&s->e->resources, m->name),
                flavor_number(s->e, json_str(json_getz(&m->value, "name"))), MODE_FIT, -1};
    }
    struct quota_amount *got = assignment_requests(&in, &as, &n);
    sched_same(s, "totals", amounts_json(s, got, n), sorted(a, json_getz(s->want, "totals")));
}

void kueue_total_requests(struct conf *t, const struct json *c)
{
    sched_each(t, c, totals);
}

/* ---- preference, partial admission ---- */

static enum possibility possibility_of(struct str name)
{
    static const char *const names[] = {"NoFit", "NoPreemptionCandidates", "Preempt", "Reclaim",
                                        "Fit"};

    for (size_t i = 0; i < countof(names); i++)
        if (str_eqz(name, names[i]))
            return (enum possibility)i;
    return POSSIBLE_NO_FIT;
}

static void preference(struct sched *s)
{
    const struct json *input = json_getz(s->c, "input");
    const struct json *x = json_getz(input, "a"), *y = json_getz(input, "b");
    struct json_obj cq = obj_in(s->t->arena);
    struct queue_cq_spec spec;

    if (json_has(json_getz(input, "flavorFungibility")))
        obj_setz(&cq, "flavorFungibility", *json_getz(input, "flavorFungibility"));
    queue_load_cq(s->t->arena, json_with(s->t->arena, NULL, obj_done(&cq), "spec", NULL),
                  &spec);
    bool got = mode_is_preferred(&spec, possibility_of(json_str(json_getz(x, "mode"))),
                                 (uint32_t)json_i64(json_getz(x, "borrowingLevel"), 0),
                                 possibility_of(json_str(json_getz(y, "mode"))),
                                 (uint32_t)json_i64(json_getz(y, "borrowingLevel"), 0));
    if (got != json_bool(json_getz(s->want, "aPreferred"), false))
        conf_fail(s->t, "aPreferred", got ? S("true") : S("false"), S("the other"));
}

void kueue_flavor_preference(struct conf *t, const struct json *c)
{
    sched_each(t, c, preference);
}

struct reduce {
    const struct queue_shape *shape;
    int64_t total, largest, found;
    uint32_t *counts;
};

static bool fits_total(void *ctx, int64_t step)
{
    struct reduce *r = ctx;
    int64_t sum = 0;

    if (step > r->total)
        return false;
    reducer_counts(r->shape, step, r->total, r->counts);
    for (size_t i = 0; i < r->shape->n_podsets; i++)
        sum += r->counts[i];
    if (sum > r->largest)
        return false;
    r->found = sum;
    return true;
}

static void reducer(struct sched *s)
{
    struct arena *a = s->t->arena;
    const struct json *list = json_path(s->c, "input", "podSets", NULL);
    struct queue_shape shape = {.n_podsets = json_len(list)};
    struct reduce r = {.shape = &shape,
                       .largest =
                           json_i64(json_path(s->c, "input", "largestTotalThatFits", NULL), 0),
                       .counts = arena_array(a, uint32_t, json_len(list))};

    shape.podsets = arena_array(a, struct shape_podset, shape.n_podsets);
    json_each (i, list) {
        shape.podsets[i].spec.count =
            (int32_t)json_i64(json_getz(json_at(list, i), "count"), 1);
        shape.podsets[i].spec.min_count =
            (int32_t)json_i64(json_getz(json_at(list, i), "minCount"), 0);
    }
    r.total = reducer_total(&shape);
    bool found = reducer_search(r.total, fits_total, &r) >= 0;
    if (found != json_bool(json_getz(s->want, "found"), false))
        conf_fail(s->t, "found", found ? S("true") : S("false"), S("the other"));
    else if (found && r.found != json_i64(json_getz(s->want, "total"), 0))
        conf_fail(s->t, "total", str_printf(a, "%" PRId64, r.found),
                  json_text(a, json_getz(s->want, "total")));
}

void kueue_podset_reducer(struct conf *t, const struct json *c)
{
    sched_each(t, c, reducer);
}
