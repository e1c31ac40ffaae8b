/* why.c - the engine's answer to "why does it wait, and what would change that", as JSON */
#include "controllers/why.h"

#include "api/resource_list.h"
#include "queue/queue.h"

static void add_text(struct json_obj *o, const char *name, struct str value)
{
    if (value.len)
        obj_set(o, str_from(name), json_of_str(value));
}

static void add_number(struct json_obj *o, const char *name, int64_t value)
{
    if (value)
        obj_set(o, str_from(name), json_of_i64(value));
}

static bool is_of_quota(const struct queue_cause *c)
{
    return c->code == CAUSE_SHORT || c->code == CAUSE_OVER_CAPACITY;
}

/* What is short, in numbers: who owns the limit, and how far it is used. */
static struct str numbers(struct arena *a, const struct queue_cause *c)
{
    if (!is_of_quota(c))
        return S("");
    struct str asked = resource_units_text(a, c->resource, amount_add(c->before, c->asked));
    struct str used = resource_units_text(a, c->resource, c->used);
    struct str limit = c->limit == AMOUNT_UNLIMITED
                           ? S("any amount")
                           : resource_units_text(a, c->resource, c->limit);
    if (c->code == CAUSE_OVER_CAPACITY)
        return str_printf(a, "%.*s asked, '%.*s' can have %.*s at most, borrowing included",
                          STR_ARG(asked), STR_ARG(c->owner), STR_ARG(limit));
    return str_printf(a, "%.*s asked, %.*s free; '%.*s' uses %.*s and can have %.*s at most",
                      STR_ARG(asked),
                      STR_ARG(resource_units_text(a, c->resource, c->available)),
                      STR_ARG(c->owner), STR_ARG(used), STR_ARG(limit));
}

static struct json cause_json(struct arena *a, const struct queue_cause *c)
{
    struct json_obj o = obj_in(a);

    add_text(&o, "code", queue_cause_name(c->code));
    add_text(&o, "text", queue_cause_text(a, c));
    add_text(&o, "numbers", numbers(a, c));
    add_text(&o, "podSet", c->podset);
    add_text(&o, "flavor", c->flavor);
    add_text(&o, "resource", c->resource);
    add_text(&o, "owner", c->owner);
    if (is_of_quota(c)) {
        obj_setz(&o, "asked", json_of_i64(c->asked));
        obj_setz(&o, "used", json_of_i64(c->used));
        obj_setz(&o, "limit", json_of_i64(c->limit));
        obj_setz(&o, "available", json_of_i64(c->available));
        obj_setz(&o, "shortBy", json_of_i64(c->short_by));
    }
    return obj_done(&o);
}

static struct json candidate_json(struct arena *a, const struct queue_candidate *c)
{
    struct json_obj o = obj_in(a);

    add_text(&o, "workload", c->key);
    add_text(&o, "clusterQueue", c->cq);
    obj_setz(&o, "priority", json_of_i64(c->priority));
    add_text(&o, "spared", queue_spared_text(c->why));
    return obj_done(&o);
}

static struct json change_json(struct arena *a, const struct queue_change *c)
{
    struct json_obj o = obj_in(a);
    struct json_arr also = arr_in(a);

    for (const struct queue_change *x = c->also; x; x = x->also) {
        struct queue_change part = *x;
        part.also = NULL;
        arr_add(&also, change_json(a, &part));
    }
    add_text(&o, "text", queue_change_text(a, c));
    add_text(&o, "podSet", c->podset);
    add_text(&o, "flavor", c->flavor);
    add_text(&o, "resource", c->resource);
    add_text(&o, "queue", c->queue);
    add_number(&o, "from", c->from);
    add_number(&o, "to", c->to);
    add_number(&o, "evicts", c->evicts);
    if (c->also)
        obj_setz(&o, "also", arr_done(&also));
    return obj_done(&o);
}

static struct json spared_json(struct arena *a, const struct queue_why *w)
{
    struct json_obj o = obj_in(a);

    for (int i = 0; i < SPARED_COUNT; i++) {
        if (w->counts[i])
            obj_add(&o, queue_spared_text((enum queue_spared)i), json_of_i64(w->counts[i]));
    }
    return obj_done(&o);
}

static void add_lists(struct json_obj *o, struct arena *a, const struct queue_why *w)
{
    struct json_arr causes = arr_in(a), candidates = arr_in(a), changes = arr_in(a);

    for (size_t i = 0; i < w->n_causes; i++)
        arr_add(&causes, cause_json(a, &w->causes[i]));
    for (size_t i = 0; i < w->n_candidates; i++)
        arr_add(&candidates, candidate_json(a, &w->candidates[i]));
    for (size_t i = 0; i < w->n_changes; i++)
        arr_add(&changes, change_json(a, &w->changes[i]));
    obj_setz(o, "causes", arr_done(&causes));
    obj_setz(o, "candidates", arr_done(&candidates));
    obj_setz(o, "spared", spared_json(a, w));
    obj_setz(o, "changes", arr_done(&changes));
}

bool why_json(struct queue_engine *e, struct arena *a, struct str ns, struct str name,
              struct instant now, struct json *out)
{
    struct str key = str_concat(a, ns, S("/"), name);
    struct queue_why w = queue_why(e, a, key, now);
    struct json_obj o = obj_in(a);

    if (!w.is_known)
        return false;
    add_text(&o, "clusterQueue", w.cq);
    add_text(&o, "localQueue", w.lq);
    obj_setz(&o, "holdsQuota", json_of_bool(w.holds_quota));
    obj_setz(&o, "waiting", json_of_bool(w.is_waiting));
    obj_setz(&o, "parked", json_of_bool(w.is_parked));
    if (w.is_waiting)
        obj_setz(&o, "position", json_of_i64(w.ahead + INT64_C(1)));
    add_text(&o, "behind", w.behind);
    add_text(&o, "reason", queue_reason_text(w.reason));
    add_text(&o, "message", w.message);
    add_lists(&o, a, &w);
    *out = obj_done(&o);
    return true;
}
