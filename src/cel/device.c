/* device.c - the variables of the device environments, and their values
 *
 * v1: `device` with driver, attributes and capacity by domain and name. v1alpha2: one map a
 * kind of value, `attributes.int` and so on, each a variable of its own.
 */
#include "cel/plan_priv.h"

/* ---- what environments declare ---- */

#define MAX_DOMAIN 63
#define MAX_NAME 32
#define MAX_VALUE 64
#define MAX_ENTRIES 32

static const struct cel_type *const string_any[] = {&cel_type_string, &cel_type_any};
static const struct cel_type *const string_dyn[] = {&cel_type_string, &cel_type_dyn};
static const struct cel_type *const string_quantity[] = {&cel_type_string, &cel_type_quantity};

#define MAP_OF(params_)                                                                        \
    {                                                                                          \
        .kind = CEL_T_MAP, .name = S_INIT("map"), .n_params = 2, .params = params_             \
    }
static const struct cel_type map_any = MAP_OF(string_any), map_dyn = MAP_OF(string_dyn),
                             map_quantity = MAP_OF(string_quantity);
static const struct cel_type *const domain_any[] = {&cel_type_string, &map_any};
static const struct cel_type *const domain_dyn[] = {&cel_type_string, &map_dyn};
static const struct cel_type *const domain_quantity[] = {&cel_type_string, &map_quantity};
static const struct cel_type domains_any = MAP_OF(domain_any), domains_dyn = MAP_OF(domain_dyn),
                             domains_quantity = MAP_OF(domain_quantity);

#define FIELDS(attributes)                                                                     \
    {                                                                                          \
        {.name = S_INIT("driver"), .type = &cel_type_string},                                  \
            {.name = S_INIT("attributes"), .type = &(attributes)},                             \
            {.name = S_INIT("capacity"), .type = &domains_quantity},                           \
        {                                                                                      \
            .name = S_INIT("allowMultipleAllocations"), .type = &cel_type_bool                 \
        }                                                                                      \
    }
static const struct cel_field fields_any[] = FIELDS(domains_any),
                              fields_dyn[] = FIELDS(domains_dyn);

/* By the gates: attributes any or dyn, with allowMultipleAllocations or without. */
#define DEVICE(fields_, n)                                                                     \
    {                                                                                          \
        .kind = CEL_T_STRUCT, .name = S_INIT("kubernetes.DRADevice"), .n_fields = n,           \
        .fields = fields_, .is_opaque_struct = true                                            \
    }
static const struct cel_type device_types[2][2] = {
    {DEVICE(fields_any, 3), DEVICE(fields_any, 4)},
    {DEVICE(fields_dyn, 3), DEVICE(fields_dyn, 4)},
};

static bool device_sizes(void *ctx, const struct str *path, size_t n,
                         const struct cel_type *type, struct cel_range *out)
{
    bool is_attribute = n > 1 && str_eqz(path[1], "attributes");
    static const uint64_t of_keys[] = {0, 0, MAX_DOMAIN, MAX_NAME};

    (void)ctx;
    (void)type;
    if (n == 0 || !str_eqz(path[0], "device") || n > 4)
        return false;
    *out = (struct cel_range){0, 0};
    if (n == 1)
        return true;
    if (str_eqz(path[1], "driver")) {
        out->max = MAX_DOMAIN;
        return n == 2;
    }
    if (str_eqz(path[1], "allowMultipleAllocations")) {
        out->max = 1;
        return n == 2;
    }
    if (!is_attribute && !str_eqz(path[1], "capacity"))
        return false;
    if (n == 2) {
        out->max = MAX_ENTRIES;
        return true;
    }
    if (str_eqz(path[n - 1], "@keys")) {
        out->max = of_keys[n - 1];
        return true;
    }
    if (n == 3) {
        out->max = MAX_ENTRIES;
        return str_eqz(path[2], "@values");
    }
    out->max = is_attribute ? MAX_VALUE : 1;
    return str_eqz(path[2], "@values") && (is_attribute || str_eqz(path[3], "@values"));
}

static const struct {
    const char *name;
    const char *type;
    uint8_t kind; /* of value */
    int16_t mark; /* of lists */
} named[] = {
    {"attributes.quantity",    "map(string, quantity)",     CEL_QUANTITY, 0               },
    {"attributes.bool",        "map(string, bool)",         CEL_BOOL,     0               },
    {"attributes.int",         "map(string, int)",          CEL_INT,      0               },
    {"attributes.intslice",    "map(string, list(int))",    CEL_LIST,     CEL_MARK_INTS   },
    {"attributes.string",      "map(string, string)",       CEL_STRING,   0               },
    {"attributes.stringslice", "map(string, list(string))", CEL_LIST,     CEL_MARK_STRINGS},
    {"attributes.version",     "map(string, semver)",       CEL_SEMVER,   0               },
};

void env_add_device(struct cel_env *env)
{
    const struct cel_env_spec *s = &env->spec;
    bool is_stored = s->version == CEL_STORED;
    bool has_lists = is_stored || (s->gates & CEL_GATE_DEVICE_LISTS);
    bool has_multi = is_stored || (s->gates & CEL_GATE_DEVICE_MULTI);
    struct err err = {0};

    if (env->is_device) {
        cel_env_var(env, S("device"), &device_types[has_lists][has_multi], 0, 0);
        cel_env_sizes(env, device_sizes, NULL);
        return;
    }
    for (size_t i = 0; i < countof(named); i++)
        cel_env_var(env, str_from(named[i].name),
                    cel_env_type_of(env, str_from(named[i].type), &err), 0, 0);
}

bool device_has_var(const struct cel_env *env, uint32_t var)
{
    return env->is_device ? var == 0 : env->is_named && var < countof(named);
}

/* Kinds of lists are told apart by their mark: it is kept in the high bits. */
int device_named_kind(uint32_t var)
{
    if (var >= countof(named))
        return -1;
    return named[var].kind | named[var].mark << 6;
}

static bool is_of_kind(struct cel_value v, uint8_t kind)
{
    uint8_t want = kind & 0x3F;

    return kind == 0 || v.kind == CEL_UNKNOWN ||
           (v.kind == want && (want != CEL_LIST || v.aux == kind >> 6));
}

/* ---- finding attributes ---- */

uint64_t device_hash(struct str domain, struct str name)
{
    return str_digest(domain) * 31 + str_digest(name);
}

void cel_device_done(struct arena *a, struct cel_device *d)
{
    uint32_t n = d->n_attributes + d->n_capacities, size = 8;
    uint16_t *index;

    while (size < n * 2)
        size *= 2;
    index = arena_array(a, uint16_t, size);
    d->mask = size - 1;
    for (uint32_t i = 0; i < n && i < UINT16_MAX; i++) {
        struct cel_attribute *at =
            i < d->n_attributes ? &d->attributes[i] : &d->capacities[i - d->n_attributes];
        at->hash = device_hash(at->domain, at->name);
        uint32_t k = (uint32_t)at->hash & d->mask;
        while (index[k])
            k = (k + 1) & d->mask;
        index[k] = (uint16_t)(i + 1);
    }
    d->index = index;
}

static inline bool is_text(struct str x, struct str y)
{
    return x.len == y.len && bytes_eq(x.at, y.at, x.len);
}

struct cel_value cel_device_slot(const struct cel_device *d, const struct cel_slot *s)
{
    bool is_capacity = s->kind == CEL_SLOT_CAPACITY;

    if (s->kind == CEL_SLOT_DRIVER)
        return d->driver;
    if (s->kind == CEL_SLOT_MULTI)
        return d->multi;
    if (!d->index)
        return (struct cel_value){0};
    for (uint32_t k = (uint32_t)s->hash & d->mask; d->index[k]; k = (k + 1) & d->mask) {
        uint32_t i = d->index[k] - 1u;
        if ((i >= d->n_attributes) != is_capacity)
            continue;
        const struct cel_attribute *at =
            is_capacity ? &d->capacities[i - d->n_attributes] : &d->attributes[i];
        if (at->hash == s->hash && is_text(at->name, s->name) && is_text(at->domain, s->domain))
            return is_of_kind(at->value, s->value_kind) ? at->value : (struct cel_value){0};
    }
    return (struct cel_value){0};
}

/* ---- devices as values ---- */

struct attributes {
    const struct cel_attribute *at;
    uint32_t n;
};

static struct cel_value pick(struct arena *a, struct attributes l, const struct str *domain,
                             uint8_t kind)
{
    struct cel_entry *entries = arena_array(a, struct cel_entry, MAX(l.n, 1u));
    uint32_t n = 0;

    for (uint32_t i = 0; i < l.n; i++)
        if ((!domain || str_eq(*domain, l.at[i].domain)) && is_of_kind(l.at[i].value, kind))
            entries[n++] = (struct cel_entry){cel_text(l.at[i].name), l.at[i].value};
    return cel_map_of(a, entries, n);
}

/* A domain that is not there selects an empty map; it is no member. */
static struct cel_value domain_get(const struct cel_host *h, struct arena *a,
                                   struct cel_value key)
{
    const struct attributes *l = h->data;

    if (key.kind == CEL_STRING)
        for (uint32_t i = 0; i < l->n; i++)
            if (str_eq(l->at[i].domain, cel_str(key)))
                return pick(a, *l, &l->at[i].domain, 0);
    return (struct cel_value){0};
}

static struct cel_value domain_select(const struct cel_host *h, struct arena *a,
                                      struct cel_value key)
{
    struct cel_value v = domain_get(h, a, key);

    return v.kind == CEL_ABSENT && key.kind == CEL_STRING ? cel_map_of(a, NULL, 0) : v;
}

static bool is_first_of_domain(const struct attributes *l, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (str_eq(l->at[k].domain, l->at[i].domain))
            return false;
    return true;
}

static struct cel_value domain_at(const struct cel_host *h, struct arena *a, uint32_t i)
{
    const struct attributes *l = h->data;

    (void)a;
    for (uint32_t k = 0; k < l->n; k++)
        if (is_first_of_domain(l, k) && i-- == 0)
            return cel_text(l->at[k].domain);
    return (struct cel_value){0};
}

static const struct cel_host_ops domain_ops = {
    .at = domain_at, .get = domain_get, .select = domain_select};

static struct cel_value domains(struct arena *a, const struct cel_attribute *at, uint32_t n)
{
    struct attributes l = {at, n};
    struct cel_host h = {.ops = &domain_ops, .data = arena_copy(a, &l)};
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        count += is_first_of_domain(&l, i);
    return cel_hosted(CEL_MAP, arena_copy(a, &h), count);
}

static struct cel_value device_field(const struct cel_object *o, struct arena *a,
                                     struct str name)
{
    const struct cel_device *d = o->data;

    if (str_eqz(name, "driver"))
        return d->driver;
    if (str_eqz(name, "attributes"))
        return domains(a, d->attributes, d->n_attributes);
    if (str_eqz(name, "capacity"))
        return domains(a, d->capacities, d->n_capacities);
    if (str_eqz(name, "allowMultipleAllocations"))
        return d->multi;
    return (struct cel_value){0};
}

static bool device_equal(const struct cel_object *x, const struct cel_object *y)
{
    return x->data == y->data;
}

static const struct cel_type device_type = {.kind = CEL_T_STRUCT,
                                            .name = S_INIT("kubernetes.DRADevice"),
                                            .field = device_field,
                                            .equal = device_equal,
                                            .is_opaque_struct = true};

struct cel_value device_value(struct ctx *c, uint32_t var)
{
    struct cel_object o = {&device_type, c->device};
    struct str names[] = {S("device"), S("attributes")};

    if (!c->device)
        return cel_fail_name(CEL_E_NO_VAR, names[c->p->env->is_named]);
    if (c->p->env->is_device)
        return (struct cel_value){.kind = CEL_OBJECT, .object = arena_copy(c->arena, &o)};
    struct attributes l = {c->device->attributes, c->device->n_attributes};
    return pick(c->arena, l, NULL, (uint8_t)device_named_kind(var));
}

/* ---- slots and columns ---- */

size_t cel_program_slots(const struct cel_program *p, const struct cel_slot **out)
{
    *out = p->slots;
    return p->n_slots;
}

bool cel_program_needs_device(const struct cel_program *p)
{
    return p->needs_device;
}

void cel_bind(const struct cel_program *p, const struct cel_device *d, struct cel_value *slots)
{
    for (uint32_t i = 0; i < p->n_slots; i++)
        slots[i] = cel_device_slot(d, &p->slots[i]);
}

/* ---- what they may yield ---- */

/* The type of attributes' values in the environment: any or dyn. */
static const struct cel_type *attribute_type(const struct cel_env *env)
{
    const struct env_var *v = env_var(env, S("device"));
    const struct cel_field *f = v ? cel_type_field(v->type, S("attributes")) : NULL;

    return f ? f->type->params[1]->params[1] : NULL;
}

int cel_selector_check(const struct cel_program *p, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    const struct cel_type *any = attribute_type(p->env);

    if (p->type->kind == CEL_T_BOOL || (any && p->type->kind == any->kind))
        return 0;
    struct str s = cel_type_text(&a, p->type);
    if (!any)
        return err_set(err, ERR_INVALID, "must evaluate to bool");
    return err_set(err, ERR_INVALID, "must evaluate to bool or the unknown type, not %.*s",
                   STR_ARG(s));
}

static bool is_attribute(const struct cel_type *t)
{
    switch (t->kind) {
    case CEL_T_BOOL:
    case CEL_T_INT:
    case CEL_T_STRING:
    case CEL_T_DYN:
    case CEL_T_ANY:
        return true;
    default:
        return cel_type_eq(t, &cel_type_semver);
    }
}

int cel_derived_check(const struct cel_program *p, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    const struct cel_env_spec *s = &p->env->spec;
    bool has_lists = s->version == CEL_STORED || (s->gates & CEL_GATE_DEVICE_LISTS);
    bool is_list = p->type->kind == CEL_T_LIST && has_lists;

    if (is_attribute(is_list ? p->type->params[0] : p->type))
        return 0;
    struct str t = cel_type_text(&a, p->type);
    return err_set(err, ERR_INVALID,
                   "must evaluate to a primitive scalar (string, integer, boolean, semver)%s, "
                   "not %.*s",
                   has_lists ? " or a list of these scalars" : "", STR_ARG(t));
}
