/* prepare.c - small strategies: what the server adds to an object on its way in
 *
 * Source: what upstream's server answers; devices reference 10.2.
 */
#include "api/rules_priv.h"

#include "value/time.h"

/* A namespace is emptied before it goes: `kubernetes` is always among those who must agree. */
const struct json *namespace_prepare(const struct api_prepare *p, const struct json *tree)
{
    const struct json *was = json_path(tree, "spec", "finalizers", NULL);
    struct json_arr all = arr_in(p->arena);
    bool has_it = false;

    if (p->old)
        return tree;
    json_each (i, was) {
        has_it |= str_eqz(json_str(json_at(was, i)), "kubernetes");
        arr_add(&all, *json_at(was, i));
    }
    if (has_it)
        return tree;
    arr_add(&all, json_of_z("kubernetes"));
    return json_with(p->arena, tree, arr_done(&all), "spec", "finalizers", NULL);
}

/* Every version that ever was the storage version is told. */
const struct json *crd_prepare(const struct api_prepare *p, const struct json *tree)
{
    const struct json *stored = json_path(tree, "status", "storedVersions", NULL);
    const struct json *versions = json_path(tree, "spec", "versions", NULL);
    struct json_arr all = arr_in(p->arena);

    if (p->subresource.len)
        return tree;
    json_each (i, stored)
        arr_add(&all, *json_at(stored, i));
    json_each (i, versions) {
        const struct json *version = json_at(versions, i), *name = json_getz(version, "name");
        bool is_new =
            json_is(name, JSON_STRING) && json_bool(json_getz(version, "storage"), false);
        json_each (k, stored)
            is_new = is_new && !json_eq(json_at(stored, k), name);
        if (is_new)
            arr_add(&all, *name);
    }
    if (all.items.len == json_len(stored))
        return tree;
    return json_with(p->arena, tree, arr_done(&all), "status", "storedVersions", NULL);
}

/* ---- taints of devices tell when they were added ---- */

static const struct json *stamp(const struct api_prepare *p, const struct json *taint)
{
    if (!json_is(taint, JSON_OBJECT) || json_has(json_getz(taint, "timeAdded")))
        return taint;
    return json_with(p->arena, taint, json_of_str(time_text(p->arena, p->now)), "timeAdded",
                     NULL);
}

/* The holder (a device, or v1beta1's `basic` in one) with its taints stamped. */
static const struct json *stamp_taints(const struct api_prepare *p, const struct json *holder)
{
    const struct json *taints = json_getz(holder, "taints");
    struct json_arr all = arr_in(p->arena);

    if (!json_len(taints))
        return holder;
    json_each (i, taints)
        arr_add(&all, *stamp(p, json_at(taints, i)));
    return json_with(p->arena, holder, arr_done(&all), "taints", NULL);
}

const struct json *resource_slice_prepare(const struct api_prepare *p, const struct json *tree)
{
    const struct json *devices = json_path(tree, "spec", "devices", NULL);
    struct json_arr all = arr_in(p->arena);

    if (!json_len(devices))
        return tree;
    json_each (i, devices) {
        const struct json *device = stamp_taints(p, json_at(devices, i));
        const struct json *basic = json_getz(device, "basic");
        if (json_has(basic))
            device = json_with(p->arena, device, *stamp_taints(p, basic), "basic", NULL);
        arr_add(&all, *device);
    }
    return json_with(p->arena, tree, arr_done(&all), "spec", "devices", NULL);
}

const struct json *device_taint_rule_prepare(const struct api_prepare *p,
                                             const struct json *tree)
{
    const struct json *taint = json_path(tree, "spec", "taint", NULL);

    if (!taint)
        return tree;
    return json_with(p->arena, tree, *stamp(p, taint), "spec", "taint", NULL);
}
