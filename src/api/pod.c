/* pod.c - Pods: the first status
 *
 * Source: jobs reference 2.
 */
#include "api/rules_priv.h"

#include "api/kinds.h"
#include "value/quantity.h"
#include "value/time.h"

/* ---- quality of service ---- */

static bool is_zero(struct arena *a, const struct json *v)
{
    struct quantity q;

    return quantity_parse(a, json_str(v), &q, NULL) < 0 || quantity_is_zero(&q);
}

/* What one container says of cpu and memory: nothing, something, or both limits as requested.
 */
static void judge(struct arena *a, const struct json *container, bool *has_any, bool *is_all)
{
    static const char *const names[] = {"cpu", "memory"};
    const struct json *limits = json_path(container, "resources", "limits", NULL);
    const struct json *requests = json_path(container, "resources", "requests", NULL);

    for (size_t i = 0; i < countof(names); i++) {
        const struct json *limit = json_get(limits, str_from(names[i]));
        const struct json *request = json_get(requests, str_from(names[i]));
        bool has_limit = limit && !is_zero(a, limit),
             has_request = request && !is_zero(a, request);
        *has_any |= has_limit || has_request;
        *is_all &= has_limit && (!request || json_eq(limit, request));
    }
}

static struct str quality_of(struct arena *a, const struct json *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool has_any = false, is_all = true;

    for (size_t i = 0; i < countof(lists); i++) {
        const struct json *list = json_get(spec, str_from(lists[i]));
        json_each (k, list)
            judge(a, json_at(list, k), &has_any, &is_all);
    }
    return !has_any ? S("BestEffort") : is_all ? S("Guaranteed") : S("Burstable");
}

/* The scheduler does not look at a gated pod, so its creation says why it waits. */
static struct json gated(const struct api_prepare *p)
{
    struct json_obj c = obj_in(p->arena);
    struct json_arr all = arr_in(p->arena);

    obj_setz(&c, "type", json_of_z("PodScheduled"));
    obj_setz(&c, "status", json_of_z("False"));
    obj_setz(&c, "lastProbeTime", json_of_null());
    obj_setz(&c, "lastTransitionTime", json_of_str(time_text(p->arena, p->now)));
    obj_setz(&c, "reason", json_of_z("SchedulingGated"));
    obj_setz(&c, "message",
             json_of_z("Scheduling is blocked due to non-empty scheduling gates"));
    arr_add(&all, obj_done(&c));
    return arr_done(&all);
}

const struct json *pod_prepare(const struct api_prepare *p, const struct json *tree)
{
    struct json_obj status = obj_in(p->arena);

    if (p->old)
        return tree;
    obj_setz(&status, "phase", json_of_z("Pending"));
    if (json_len(json_path(tree, "spec", "schedulingGates", NULL)))
        obj_setz(&status, "conditions", gated(p));
    obj_setz(&status, "qosClass", json_of_str(quality_of(p->arena, json_getz(tree, "spec"))));
    return json_with(p->arena, tree, obj_done(&status), "status", NULL);
}
