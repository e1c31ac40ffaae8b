/* quota.c - a tree of quotas as arithmetic, as JSON */
#include "controllers/quota.h"

#include "api/resource_list.h"
#include "queue/queue.h"

static struct json line_json(struct arena *a, const struct queue_ledger_line *l)
{
    const struct {
        const char *name;
        int64_t amount;
        bool is_of_cohorts;
    } amounts[] = {
        {"nominal",   l->nominal,    false},
        {"fromBelow", l->from_below, true },
        {"borrowed",  l->borrowed,   false},
        {"used",      l->used,       false},
        {"idle",      l->idle,       false},
        {"lent",      l->lent,       true },
        {"kept",      l->kept,       false},
        {"available", l->available,  false},
    };
    struct json_obj o = obj_in(a);

    obj_setz(&o, "name", json_of_str(l->name));
    obj_setz(&o, "kind", l->is_queue ? json_of_z("ClusterQueue") : json_of_z("Cohort"));
    if (l->parent.len)
        obj_setz(&o, "parent", json_of_str(l->parent));
    obj_setz(&o, "depth", json_of_i64(l->depth));
    obj_setz(&o, "flavor", json_of_str(l->flavor));
    obj_setz(&o, "resource", json_of_str(l->resource));
    for (size_t i = 0; i < countof(amounts); i++)
        if (!amounts[i].is_of_cohorts || !l->is_queue)
            obj_set(&o, str_from(amounts[i].name),
                    json_of_str(resource_units_text(a, l->resource, amounts[i].amount)));
    return obj_done(&o);
}

bool quota_json(struct queue_engine *e, struct arena *a, struct str name, struct json *out)
{
    const struct queue_ledger_line *lines;
    size_t n = queue_ledger(e, a, name, &lines);
    struct json_obj o = obj_in(a);
    struct json_arr list = arr_in(a);

    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        arr_add(&list, line_json(a, &lines[i]));
    obj_setz(&o, "tree", json_of_str(lines[0].name));
    obj_setz(&o, "lines", arr_done(&list));
    *out = obj_done(&o);
    return true;
}
