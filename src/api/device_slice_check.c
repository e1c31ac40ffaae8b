/* device_slice_check.c - rules of ResourceSlices
 *
 * Source: devices reference 10.7.
 */
#include "api/rules_priv.h"

#include "api/device_check_priv.h"
#include "value/quantity.h"

#define DEVICES_MAX 128
#define RICH_DEVICES_MAX 64 /* where one has taints or draws from counters */
#define NAMES_MAX 32        /* attributes and capacities of a device */
#define COUNTER_SETS_MAX 8

static struct str text(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static bool flag(const struct json *v, const char *name)
{
    return json_bool(json_get(v, str_from(name)), false);
}

/* ---- where devices are ---- */

/* False and "" say nothing; absent does. */
static void check_ways(struct field_errors *e, const struct field_path *at,
                       const struct json *v)
{
    static const char *const flags[] = {"allNodes", "perDeviceNodeSelection"};
    struct field_path node_at = field_child(at, S("nodeName"));
    const struct json *node = json_getz(v, "nodeName");

    for (size_t i = 0; i < countof(flags); i++) {
        const struct json *way = json_get(v, str_from(flags[i]));
        struct field_path p = field_child(at, str_from(flags[i]));
        if (json_is(way, JSON_BOOL) && !way->boolean)
            field_invalid(e, &p, way, "must be either unset or set to true");
    }
    if (json_has(node) && json_str(node).len == 0)
        field_invalid(e, &node_at, node, "must be either unset or set to a non-empty string");
    else if (json_has(node))
        field_check_name(e, &node_at, NAME_DNS_SUBDOMAIN, node);
}

static void check_nodes(struct field_errors *e, const struct field_path *spec_at,
                        const struct json *spec)
{
    static const char *const ways[] = {"nodeName", "nodeSelector", "allNodes",
                                       "perDeviceNodeSelection"};
    struct field_path selector_at = field_child(spec_at, S("nodeSelector"));
    struct field_path terms_at = field_child(&selector_at, S("nodeSelectorTerms"));
    const struct json *selector = json_getz(spec, "nodeSelector");
    const struct json *terms = json_getz(selector, "nodeSelectorTerms");

    check_ways(e, spec_at, spec);
    if (json_has(selector) && json_len(terms) != 1)
        field_invalid(e, &terms_at, terms, "must have exactly one node selector term");
    device_one_of_check(e, spec_at, spec, ways, countof(ways), "");
}

static void check_nodes_of(struct field_errors *e, const struct field_path *at,
                           const struct json *device, bool is_per_device)
{
    static const char *const ways[] = {"nodeName", "nodeSelector", "allNodes"};

    check_ways(e, at, device);
    if (is_per_device) {
        device_one_of_check(e, at, device, ways, countof(ways),
                            " when `perDeviceNodeSelection` is set to true in the slice spec");
        return;
    }
    for (size_t i = 0; i < countof(ways); i++) {
        struct field_path p = field_child(at, str_from(ways[i]));
        const struct json *v = json_get(device, str_from(ways[i]));
        if (json_has(v))
            field_invalid(e, &p, v,
                          "may only be set when `perDeviceNodeSelection` is set to true in the "
                          "slice spec");
    }
}

/* ---- attributes ---- */

static void check_attribute(struct field_errors *e, const struct field_path *at,
                            const struct json *attribute)
{
    struct field_path string_at = field_child(at, S("string"));
    struct field_path version_at = field_child(at, S("version"));
    const struct json *string = json_getz(attribute, "string");
    const struct json *version = json_getz(attribute, "version");
    struct semver parsed;
    size_t n = 0;

    json_each_member (m, attribute)
        n += json_has(&m->value);
    if (n != 1)
        field_invalid(e, at, attribute, "exactly one value must be specified");
    if (json_str(string).len > DEVICE_VALUE_MAX)
        field_too_long(e, &string_at, string, DEVICE_VALUE_MAX);
    if (!json_has(version))
        return;
    if (semver_parse(json_str(version), &parsed, NULL) < 0)
        field_invalid(e, &version_at, version,
                      "must be a string compatible with semver.org spec 2.0.0");
    if (json_str(version).len > DEVICE_VALUE_MAX)
        field_too_long(e, &version_at, version, DEVICE_VALUE_MAX);
}

/* ---- how capacity is shared out ---- */

/* Amounts as whole numbers; false where one is missing. */
static bool whole(struct field_errors *e, const struct json *v, int64_t *out)
{
    struct quantity q;

    if (!json_has(v) || quantity_parse(e->arena, json_str(v), &q, NULL) < 0)
        return false;
    *out = quantity_units(&q, 0);
    return true;
}

static void check_values(struct field_errors *e, const struct field_path *at,
                         const struct json *policy, int64_t most)
{
    struct field_path default_at = field_child(at, S("default"));
    struct field_path list_at = field_child(at, S("validValues"));
    const struct json *list = json_getz(policy, "validValues");
    const struct json *def = json_getz(policy, "default");
    int64_t last = INT64_MIN, wanted = 0;
    bool has_default = whole(e, def, &wanted), is_found = false;

    json_each (i, list) {
        struct field_path p = field_item(&list_at, i);
        int64_t n = 0;
        if (!whole(e, json_at(list, i), &n))
            continue;
        if (i && n == last)
            field_duplicate(e, &p, json_at(list, i));
        else if (i && n < last)
            field_invalid(e, &p, json_at(list, i), "values must be sorted in ascending order");
        if (n > most)
            field_invalid(e, &p, json_at(list, i),
                          "must not be larger than the capacity value");
        is_found |= has_default && n == wanted;
        last = n;
    }
    if (!has_default)
        field_required(e, &default_at, "required when validValues is defined");
    else if (!is_found)
        field_invalid(e, &default_at, def, "must be one of the valid values");
}

static void check_range(struct field_errors *e, const struct field_path *at,
                        const struct json *policy, int64_t most)
{
    struct field_path default_at = field_child(at, S("default"));
    struct field_path range_at = field_child(at, S("validRange"));
    struct field_path min_at = field_child(&range_at, S("min"));
    struct field_path max_at = field_child(&range_at, S("max"));
    struct field_path step_at = field_child(&range_at, S("step"));
    const struct json *range = json_getz(policy, "validRange");
    const struct json *def = json_getz(policy, "default");
    int64_t min = 0, max = most, step = 0, wanted = 0;
    bool has_min = whole(e, json_getz(range, "min"), &min);
    bool has_max = whole(e, json_getz(range, "max"), &max);
    bool has_step = whole(e, json_getz(range, "step"), &step);
    bool has_default = whole(e, def, &wanted);

    if (!has_min)
        return; /* told by the table */
    if (min < 0) {
        field_invalid(e, &min_at, json_getz(range, "min"), "must not be negative");
        return;
    }
    if (min > most)
        field_invalid(e, &min_at, json_getz(range, "min"),
                      "must not be larger than the capacity value");
    if (has_max && max > most)
        field_invalid(e, &max_at, json_getz(range, "max"),
                      "must not be larger than the capacity value");
    if (has_max && max < min)
        field_invalid(e, &max_at, json_getz(range, "max"), "must not be smaller than min");
    if (!has_default)
        field_required(e, &default_at, "required when validRange is defined");
    else if (wanted < min || wanted > max)
        field_invalid(e, &default_at, def, "must be within the valid range");
    if (!has_step)
        return;
    if (step <= 0 || step > most || min > most - step) {
        field_invalid(e, &step_at, json_getz(range, "step"),
                      "must be positive, and one step above min must not be larger than the "
                      "capacity value");
        return;
    }
    if (has_max && max >= min && (max - min) % step)
        field_invalid(e, &max_at, json_getz(range, "max"),
                      "must be min and a multiple of step");
    if (has_default && wanted >= min && (wanted - min) % step)
        field_invalid(e, &default_at, def, "must be min and a multiple of step");
}

static void check_capacity(struct field_errors *e, const struct field_path *at,
                           const struct json *capacity, bool is_shared)
{
    struct field_path p = field_child(at, S("requestPolicy"));
    struct field_path range_at = field_child(&p, S("validRange"));
    const struct json *policy = json_getz(capacity, "requestPolicy");
    bool has_values = json_len(json_getz(policy, "validValues")) > 0;
    bool has_range = json_has(json_getz(policy, "validRange"));
    int64_t most = 0;

    if (!json_has(policy))
        return;
    if (!is_shared) {
        field_forbidden(
            e, &p, "requestPolicy may only be set when `allowMultipleAllocations` is true");
        return;
    }
    if (!whole(e, json_getz(capacity, "value"), &most))
        return;
    if (has_values && has_range)
        field_forbidden(e, &range_at, "may not be set together with validValues");
    if (has_values)
        check_values(e, &p, policy, most);
    else if (has_range)
        check_range(e, &p, policy, most);
}

/* ---- devices ---- */

static void check_counters(struct field_errors *e, const struct field_path *at,
                           const struct json *device)
{
    struct field_path list_at = field_child(at, S("consumesCounters"));
    const struct json *list = json_getz(device, "consumesCounters");

    field_check_differ(e, &list_at, list, "counterSet");
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path p = field_child(&item, S("counterSet"));
        if (text(json_at(list, i), "counterSet").len)
            field_check_name(e, &p, NAME_DNS_LABEL, json_getz(json_at(list, i), "counterSet"));
    }
}

static bool list_has(const struct json *list, const struct json *v)
{
    json_each (i, list)
        if (json_eq(json_at(list, i), v))
            return true;
    return false;
}

/* Both lists or none; label keys; nothing in both, nothing twice. */
static void check_conditions(struct field_errors *e, const struct field_path *at,
                             const struct json *device)
{
    static const char *const names[] = {"bindingConditions", "bindingFailureConditions"};
    const struct json *first = json_getz(device, "bindingConditions");

    if (!json_len(first) != !json_len(json_getz(device, "bindingFailureConditions"))) {
        struct field_path p = field_child(at, str_from(names[!json_len(first) ? 0 : 1]));
        field_invalid(e, &p, NULL, "%s are required to use %s", names[!json_len(first) ? 0 : 1],
                      names[!json_len(first) ? 1 : 0]);
    }
    for (size_t k = 0; k < countof(names); k++) {
        struct field_path list_at = field_child(at, str_from(names[k]));
        const struct json *list = json_get(device, str_from(names[k]));
        for (size_t i = 0; i < json_len(list) && json_len(list) <= 4; i++) {
            struct field_path p = field_item(&list_at, i);
            const struct json *v = json_at(list, i);
            bool is_again = false;
            field_check_name(e, &p, NAME_LABEL_KEY, v);
            for (size_t j = 0; j < i; j++)
                is_again |= json_eq(json_at(list, j), v);
            if (is_again)
                field_duplicate(e, &p, v);
            if (k == 1 && list_has(first, v))
                field_invalid(e, &p, v, "must not be in bindingConditions, too");
        }
    }
}

static void check_taints(struct field_errors *e, const struct field_path *at,
                         const struct json *device)
{
    struct field_path list_at = field_child(at, S("taints"));
    const struct json *list = json_getz(device, "taints");

    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct field_path key_at = field_child(&item, S("key"));
        struct field_path value_at = field_child(&item, S("value"));
        if (text(json_at(list, i), "key").len)
            field_check_name(e, &key_at, NAME_LABEL_KEY, json_getz(json_at(list, i), "key"));
        field_check_name(e, &value_at, NAME_LABEL_VALUE, json_getz(json_at(list, i), "value"));
    }
}

static void check_device(struct field_errors *e, const struct field_path *at,
                         const struct json *device, const struct json *old, bool is_per_device)
{
    struct field_path name_at = field_child(at, S("name"));
    struct field_path attributes_at = field_child(at, S("attributes"));
    struct field_path capacity_at = field_child(at, S("capacity"));
    const struct json *attributes = json_getz(device, "attributes");
    const struct json *capacity = json_getz(device, "capacity");
    size_t n = json_len(attributes) + json_len(capacity);

    if (text(device, "name").len)
        field_check_name(e, &name_at, NAME_DNS_LABEL, json_getz(device, "name"));
    if (n > NAMES_MAX) {
        struct json shown = json_of_i64((int64_t)n);
        field_invalid(e, at, &shown,
                      "the total number of attributes and capacities must not exceed %d",
                      NAMES_MAX);
    }
    json_each_member (m, n <= NAMES_MAX ? attributes : NULL) {
        struct field_path p = field_key(&attributes_at, m->name);
        device_name_check(e, &p, m->name, false);
        check_attribute(e, &p, &m->value);
    }
    bool is_kept = old && json_eq(capacity, json_getz(old, "capacity"));
    json_each_member (m, n <= NAMES_MAX && !is_kept ? capacity : NULL) {
        struct field_path p = field_key(&capacity_at, m->name);
        device_name_check(e, &p, m->name, false);
        check_capacity(e, &p, &m->value, flag(device, "allowMultipleAllocations"));
    }
    check_counters(e, at, device);
    check_nodes_of(e, at, device, is_per_device);
    check_conditions(e, at, device);
    if (!old || !json_eq(json_getz(device, "taints"), json_getz(old, "taints")))
        check_taints(e, at, device);
}

/* ---- slices ---- */

static void check_devices(const struct schema_at *at, const struct field_path *spec_at,
                          const struct json *spec, const struct json *old)
{
    struct field_path p = field_child(spec_at, S("devices"));
    const struct json *list = json_getz(spec, "devices"), *was = json_getz(old, "devices");
    MAP(const struct json *) by_name = {0};
    bool is_rich = false;

    if (json_len(list) > DEVICES_MAX)
        return; /* told by the table */
    json_each (i, list)
        is_rich |= json_len(json_getz(json_at(list, i), "taints")) ||
                   json_len(json_getz(json_at(list, i), "consumesCounters"));
    if (is_rich && json_len(list) > RICH_DEVICES_MAX) {
        field_too_many(at->errors, &p, (int64_t)json_len(list), RICH_DEVICES_MAX);
        return;
    }
    json_each (i, was)
        *map_put(&by_name, text(json_at(was, i), "name")) = json_at(was, i);
    json_each (i, list) {
        struct field_path item = field_item(&p, i);
        const struct json **before = map_get(&by_name, text(json_at(list, i), "name"));
        check_device(at->errors, &item, json_at(list, i), before ? *before : NULL,
                     flag(spec, "perDeviceNodeSelection"));
    }
    map_fini(&by_name);
    field_check_differ(at->errors, &p, list, "name");
}

static void check_sets(struct field_errors *e, const struct field_path *spec_at,
                       const struct json *spec)
{
    struct field_path p = field_child(spec_at, S("sharedCounters"));
    const struct json *list = json_getz(spec, "sharedCounters");

    if (json_len(list) > COUNTER_SETS_MAX)
        return; /* told by the table */
    if (json_len(list) && json_len(json_getz(spec, "devices")))
        field_invalid(e, spec_at, NULL, "only one of `sharedCounters` or `devices` may be set");
    json_each (i, list) {
        struct field_path item = field_item(&p, i);
        struct field_path name_at = field_child(&item, S("name"));
        struct field_path counters_at = field_child(&item, S("counters"));
        const struct json *counters = json_getz(json_at(list, i), "counters");
        if (text(json_at(list, i), "name").len)
            field_check_name(e, &name_at, NAME_DNS_LABEL, json_getz(json_at(list, i), "name"));
        json_each_member (m, counters) {
            struct field_path key_at = field_key(&counters_at, m->name);
            struct json key = json_of_str(m->name);
            field_check_name(e, &key_at, NAME_DNS_LABEL, &key);
        }
    }
    field_check_differ(e, &p, list, "name");
}

void dra_resource_slice_check(const struct schema_at *at)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path driver_at = field_child(&spec_at, S("driver"));
    struct field_path pool_at = field_child(&spec_at, S("pool"));
    struct field_path name_at = field_child(&pool_at, S("name"));
    const struct json *spec = json_getz(at->v, "spec"), *old = json_getz(at->old, "spec");
    const struct json *name = json_path(spec, "pool", "name", NULL);

    device_driver_check(at->errors, &driver_at, json_getz(spec, "driver"));
    device_pool_check(at->errors, &name_at, name);
    if (at->old && !str_eq(json_str(name), json_str(json_path(old, "pool", "name", NULL))))
        field_invalid(at->errors, &name_at, name, "field is immutable");
    check_nodes(at->errors, &spec_at, spec);
    check_devices(at, &spec_at, spec, old);
    check_sets(at->errors, &spec_at, spec);
}
