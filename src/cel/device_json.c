/* device_json.c - devices as the API writes them, as expressions see them */
#include "cel/device.h"
#include "value/value.h"

static struct cel_value version_value(struct arena *a, struct str s)
{
    struct err err = {0};
    struct semver v;

    if (semver_parse(s, &v, &err) < 0)
        return cel_fail_text(a, "parse semantic version: %s", err.text);
    return cel_semver(arena_copy(a, &v));
}

static struct cel_value quantity_value(struct arena *a, struct str s)
{
    struct err err = {0};
    struct quantity q;

    if (quantity_parse(a, s, &q, &err) < 0)
        return cel_fail_text(a, "parse quantity: %s", err.text);
    return cel_quantity(arena_copy(a, &q));
}

static struct cel_value scalar(struct arena *a, const struct json *v, bool is_version)
{
    struct cel_value value;

    if (is_version)
        return version_value(a, json_str(v));
    value = cel_of_json(v);
    return value.kind == CEL_STRING ? cel_text(cel_str(value)) : value;
}

static struct cel_value list(struct arena *a, const struct json *v, bool is_version)
{
    struct cel_value *items = arena_array(a, struct cel_value, json_len(v) + 1);

    json_each (i, v) {
        items[i] = scalar(a, json_at(v, i), is_version);
        if (items[i].kind == CEL_ERROR)
            return items[i];
    }
    return cel_list(items, json_len(v));
}

/* Of several members, lists come first, each in upstream's order. */
static struct cel_value attribute_value(struct arena *a, const struct json *v, bool takes_lists)
{
    static const struct {
        struct str name;
        bool is_list, is_version;
    } members[] = {
        {S_INIT("ints"),     true,  false},
        {S_INIT("bools"),    true,  false},
        {S_INIT("strings"),  true,  false},
        {S_INIT("versions"), true,  true },
        {S_INIT("int"),      false, false},
        {S_INIT("bool"),     false, false},
        {S_INIT("string"),   false, false},
        {S_INIT("version"),  false, true },
    };

    for (size_t i = 0; i < countof(members); i++) {
        const struct json *m = json_get(v, members[i].name);
        if (!m || (members[i].is_list && !takes_lists))
            continue;
        return members[i].is_list ? list(a, m, members[i].is_version)
                                  : scalar(a, m, members[i].is_version);
    }
    return cel_fail_name(CEL_E_TEXT, S("unsupported attribute value"));
}

static struct cel_attribute named(struct str name, struct str driver, struct cel_value v)
{
    struct cel_attribute a = {.domain = driver, .name = name, .value = v};
    struct str head, tail;

    if (str_cut(name, '/', &head, &tail)) {
        a.domain = head;
        a.name = tail;
    }
    return a;
}

static struct cel_value in_attribute(struct arena *a, struct str name, struct cel_value e)
{
    struct str why = cel_error_text(a, e);

    return cel_fail_text(a, "attribute %.*s: %.*s", STR_ARG(name), STR_ARG(why));
}

struct cel_device *cel_device_of_json(struct arena *a, struct str driver,
                                      const struct json *device, bool takes_lists)
{
    const struct json *attributes = json_getz(device, "attributes");
    const struct json *capacity = json_getz(device, "capacity");
    struct cel_device *d = arena_new(a, struct cel_device);

    d->driver = cel_text(driver);
    d->multi = cel_bool(json_bool(json_getz(device, "allowMultipleAllocations"), false));
    d->attributes = arena_array(a, struct cel_attribute, json_len(attributes) + 1);
    d->capacities = arena_array(a, struct cel_attribute, json_len(capacity) + 1);
    json_each_member (m, attributes) {
        struct cel_value v = attribute_value(a, &m->value, takes_lists);
        if (v.kind == CEL_ERROR && d->broken.kind == CEL_ABSENT)
            d->broken = in_attribute(a, m->name, v);
        d->attributes[d->n_attributes++] = named(m->name, driver, v);
    }
    json_each_member (m, capacity) {
        struct cel_value v = quantity_value(a, json_str(json_getz(&m->value, "value")));
        if (v.kind == CEL_ERROR && d->broken.kind == CEL_ABSENT)
            d->broken = in_attribute(a, m->name, v);
        d->capacities[d->n_capacities++] = named(m->name, driver, v);
    }
    cel_device_done(a, d);
    return d;
}

static struct cel_value instance_value(struct arena *a, const struct json *v)
{
    const struct json *ints = json_getz(v, "intSlice"), *strings = json_getz(v, "stringSlice");
    const struct json *quantity = json_getz(v, "quantity");
    struct cel_value value;

    if (quantity)
        return quantity_value(a, json_str(quantity));
    if (!ints && !strings)
        return attribute_value(a, v, false);
    value = list(a, ints ? json_getz(ints, "ints") : json_getz(strings, "strings"), false);
    value.aux = ints ? CEL_MARK_INTS : CEL_MARK_STRINGS;
    return value;
}

struct cel_device *cel_instance_of_json(struct arena *a, const struct json *attributes)
{
    struct cel_device *d = arena_new(a, struct cel_device);

    d->attributes = arena_array(a, struct cel_attribute, json_len(attributes) + 1);
    json_each (i, attributes) {
        const struct json *v = json_at(attributes, i);
        struct cel_attribute *at = &d->attributes[d->n_attributes++];
        at->name = json_str(json_getz(v, "name"));
        at->value = instance_value(a, v);
        if (at->value.kind == CEL_ERROR && d->broken.kind == CEL_ABSENT)
            d->broken = in_attribute(a, at->name, at->value);
    }
    cel_device_done(a, d);
    return d;
}
