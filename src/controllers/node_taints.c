/* node_taints.c - the taints that a node's state asks for */
#include "controllers/node_taints.h"

#include "value/time.h"

struct instant node_lease_ends(struct node_lease lease)
{
    if (!lease.is_there || !instant_is_set(lease.renewed))
        return (struct instant){0};
    return instant_add(lease.renewed, lease.lasts.ns > 0 ? lease.lasts : NODE_LEASE_GRACE);
}

/* Which status of which condition asks for which taint. A node that never said anything about
 * a condition is not tainted for it, but for Ready; and where nobody knows that it was ever
 * ready, nothing is to leave it. */
static const struct row {
    const char *condition, *status, *key, *effect;
} rows[] = {
    {"Ready",              "False",   "node.kubernetes.io/not-ready",           "NoSchedule"},
    {"Ready",              "False",   "node.kubernetes.io/not-ready",           "NoExecute" },
    {"Ready",              "",        "node.kubernetes.io/not-ready",           "NoSchedule"},
    {"Ready",              "Unknown", "node.kubernetes.io/unreachable",         "NoSchedule"},
    {"Ready",              "Unknown", "node.kubernetes.io/unreachable",         "NoExecute" },
    {"MemoryPressure",     "True",    "node.kubernetes.io/memory-pressure",     "NoSchedule"},
    {"DiskPressure",       "True",    "node.kubernetes.io/disk-pressure",       "NoSchedule"},
    {"PIDPressure",        "True",    "node.kubernetes.io/pid-pressure",        "NoSchedule"},
    {"NetworkUnavailable", "True",    "node.kubernetes.io/network-unavailable", "NoSchedule"},
    {"",                   "",        "node.kubernetes.io/unschedulable",       "NoSchedule"},
};

static struct str status_of(const struct json *node, const char *condition)
{
    const struct json *all = json_path(node, "status", "conditions", NULL);

    json_each (i, all) {
        if (str_eqz(json_str(json_getz(json_at(all, i), "type")), condition))
            return json_str(json_getz(json_at(all, i), "status"));
    }
    return str_of(NULL, 0);
}

static bool holds(const struct json *node, const struct row *r)
{
    if (!r->condition[0])
        return json_bool(json_path(node, "spec", "unschedulable", NULL), false);
    return str_eqz(status_of(node, r->condition), r->status);
}

static bool is_of(const struct json *taint, const struct row *r)
{
    return str_eqz(json_str(json_getz(taint, "key")), r->key) &&
           str_eqz(json_str(json_getz(taint, "effect")), r->effect);
}

/* One of ours that no row asks for any more. */
static bool is_over(const struct json *node, const struct json *taint)
{
    bool is_ours = false;

    for (size_t i = 0; i < countof(rows); i++) {
        if (!is_of(taint, &rows[i]))
            continue;
        if (holds(node, &rows[i]))
            return false;
        is_ours = true;
    }
    return is_ours;
}

static bool has_taint(const struct json *taints, const struct row *r)
{
    json_each (i, taints)
        if (is_of(json_at(taints, i), r))
            return true;
    return false;
}

static struct json taint_of(struct arena *a, const struct row *r, struct instant now)
{
    struct json_obj t = obj_in(a);

    obj_setz(&t, "key", json_of_str(str_from(r->key)));
    obj_setz(&t, "effect", json_of_str(str_from(r->effect)));
    obj_setz(&t, "timeAdded", json_of_str(time_text(a, now)));
    return obj_done(&t);
}

const struct json *node_taints_decide(struct arena *a, const struct json *node,
                                      struct instant now)
{
    const struct json *taints = json_path(node, "spec", "taints", NULL);
    struct json_arr out = arr_in(a);
    bool is_changed = false;

    json_each (i, taints) {
        if (is_over(node, json_at(taints, i)))
            is_changed = true;
        else
            arr_add(&out, *json_at(taints, i));
    }
    for (size_t i = 0; i < countof(rows); i++) {
        if (!holds(node, &rows[i]) || has_taint(taints, &rows[i]))
            continue;
        arr_add(&out, taint_of(a, &rows[i], now));
        is_changed = true;
    }
    return is_changed ? json_new(a, arr_done(&out)) : NULL;
}
