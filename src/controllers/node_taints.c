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
 * a condition is not tainted for it, but for Ready. */
static const struct {
    const char *condition, *status, *key;
} rows[] = {
    {"Ready",              "False",   "node.kubernetes.io/not-ready"          },
    {"Ready",              "",        "node.kubernetes.io/not-ready"          },
    {"Ready",              "Unknown", "node.kubernetes.io/unreachable"        },
    {"MemoryPressure",     "True",    "node.kubernetes.io/memory-pressure"    },
    {"DiskPressure",       "True",    "node.kubernetes.io/disk-pressure"      },
    {"PIDPressure",        "True",    "node.kubernetes.io/pid-pressure"       },
    {"NetworkUnavailable", "True",    "node.kubernetes.io/network-unavailable"},
};
#define UNSCHEDULABLE "node.kubernetes.io/unschedulable"

static struct str status_of(const struct json *node, const char *condition)
{
    const struct json *all = json_path(node, "status", "conditions", NULL);

    json_each (i, all) {
        if (str_eqz(json_str(json_getz(json_at(all, i), "type")), condition))
            return json_str(json_getz(json_at(all, i), "status"));
    }
    return str_of(NULL, 0);
}

static bool is_wanted(const struct json *node, struct str key)
{
    if (str_eqz(key, UNSCHEDULABLE))
        return json_bool(json_path(node, "spec", "unschedulable", NULL), false);
    for (size_t i = 0; i < countof(rows); i++) {
        if (str_eqz(key, rows[i].key) &&
            str_eqz(status_of(node, rows[i].condition), rows[i].status))
            return true;
    }
    return false;
}

static bool is_ours(struct str key)
{
    for (size_t i = 0; i < countof(rows); i++) {
        if (str_eqz(key, rows[i].key))
            return true;
    }
    return str_eqz(key, UNSCHEDULABLE);
}

static bool has_taint(const struct json *taints, struct str key)
{
    json_each (i, taints) {
        const struct json *t = json_at(taints, i);
        if (str_eq(json_str(json_getz(t, "key")), key) &&
            str_eqz(json_str(json_getz(t, "effect")), "NoSchedule"))
            return true;
    }
    return false;
}

static struct json taint_of(struct arena *a, struct str key, struct instant now)
{
    struct json_obj t = obj_in(a);

    obj_setz(&t, "key", json_of_str(key));
    obj_setz(&t, "effect", json_of_z("NoSchedule"));
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
        const struct json *t = json_at(taints, i);
        struct str key = json_str(json_getz(t, "key"));
        bool is_mine = is_ours(key) && str_eqz(json_str(json_getz(t, "effect")), "NoSchedule");
        if (is_mine && !is_wanted(node, key))
            is_changed = true;
        else
            arr_add(&out, *t);
    }
    struct str last = {0};
    for (size_t i = 0; i <= countof(rows); i++) {
        struct str key = i < countof(rows) ? str_from(rows[i].key) : S(UNSCHEDULABLE);
        if (str_eq(key, last) || !is_wanted(node, key) || has_taint(taints, key))
            continue;
        last = key;
        arr_add(&out, taint_of(a, key, now));
        is_changed = true;
    }
    return is_changed ? json_new(a, arr_done(&out)) : NULL;
}
