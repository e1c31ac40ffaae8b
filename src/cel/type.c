/* type.c - types: the constant ones, making others, printing */
#include "cel/type.h"

static const struct cel_type *const one_dyn[] = {&cel_type_dyn};
static const struct cel_type *const two_dyn[] = {&cel_type_dyn, &cel_type_dyn};

#define SIMPLE(kind_, name_)                                                                   \
    {                                                                                          \
        .kind = (kind_), .name = S_INIT(name_)                                                 \
    }
const struct cel_type cel_type_error = SIMPLE(CEL_T_ERROR, "!error!"),
                      cel_type_dyn = SIMPLE(CEL_T_DYN, "dyn"),
                      cel_type_any = SIMPLE(CEL_T_ANY, "any"),
                      cel_type_null = SIMPLE(CEL_T_NULL, "null_type"),
                      cel_type_bool = SIMPLE(CEL_T_BOOL, "bool"),
                      cel_type_int = SIMPLE(CEL_T_INT, "int"),
                      cel_type_uint = SIMPLE(CEL_T_UINT, "uint"),
                      cel_type_double = SIMPLE(CEL_T_DOUBLE, "double"),
                      cel_type_string = SIMPLE(CEL_T_STRING, "string"),
                      cel_type_bytes = SIMPLE(CEL_T_BYTES, "bytes"),
                      cel_type_timestamp = SIMPLE(CEL_T_TIMESTAMP, "google.protobuf.Timestamp"),
                      cel_type_duration = SIMPLE(CEL_T_DURATION, "google.protobuf.Duration"),
                      cel_type_type = SIMPLE(CEL_T_TYPE, "type"),
                      cel_type_quantity = SIMPLE(CEL_T_OPAQUE, "kubernetes.Quantity"),
                      cel_type_semver = SIMPLE(CEL_T_OPAQUE, "kubernetes.Semver"),
                      cel_type_ip = SIMPLE(CEL_T_OPAQUE, "net.IP"),
                      cel_type_cidr = SIMPLE(CEL_T_OPAQUE, "net.CIDR"),
                      cel_type_url = SIMPLE(CEL_T_OPAQUE, "kubernetes.URL"),
                      cel_type_format = SIMPLE(CEL_T_OPAQUE, "kubernetes.NamedFormat"),
                      cel_type_any_enum = SIMPLE(CEL_T_ENUM, "");
const struct cel_type cel_type_list = {.kind = CEL_T_LIST,
                                       .name = S_INIT("list"),
                                       .n_params = 1,
                                       .params = one_dyn},
                      cel_type_map = {.kind = CEL_T_MAP,
                                      .name = S_INIT("map"),
                                      .n_params = 2,
                                      .params = two_dyn},
                      cel_type_optional = {.kind = CEL_T_OPAQUE,
                                           .name = S_INIT("optional_type"),
                                           .n_params = 1,
                                           .params = one_dyn};

const struct cel_type *cel_type_with(struct arena *a, enum cel_type_kind kind, struct str name,
                                     const struct cel_type *const *params, size_t n)
{
    struct cel_type *t = arena_new(a, struct cel_type);
    const struct cel_type **copy = arena_array(a, const struct cel_type *, MAX(n, (size_t)1));

    for (size_t i = 0; i < n; i++) {
        copy[i] = params[i];
        t->is_open |= params[i]->is_open;
    }
    t->kind = (uint8_t)kind;
    t->name = name;
    t->params = copy;
    t->n_params = (uint8_t)n;
    return t;
}

const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *item)
{
    return cel_type_with(a, CEL_T_LIST, S("list"), &item, 1);
}

const struct cel_type *cel_map_type(struct arena *a, const struct cel_type *key,
                                    const struct cel_type *value)
{
    const struct cel_type *params[] = {key, value};

    return cel_type_with(a, CEL_T_MAP, S("map"), params, 2);
}

const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *t)
{
    return cel_type_with(a, CEL_T_OPAQUE, S("optional_type"), &t, 1);
}

const struct cel_type *cel_wrapper_of(struct arena *a, const struct cel_type *t)
{
    return cel_type_with(a, CEL_T_WRAPPER, S("wrapper"), &t, 1);
}

const struct cel_field *cel_type_field(const struct cel_type *t, struct str name)
{
    for (size_t i = 0; t->kind == CEL_T_STRUCT && i < t->n_fields; i++)
        if (str_eq(t->fields[i].name, name))
            return &t->fields[i];
    return NULL;
}

bool cel_type_eq(const struct cel_type *a, const struct cel_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->n_params != b->n_params)
        return false;
    if (a->kind == CEL_T_PARAM)
        return a->id == b->id && str_eq(a->name, b->name);
    if (!str_eq(a->name, b->name))
        return false;
    for (size_t i = 0; i < a->n_params; i++)
        if (!cel_type_eq(a->params[i], b->params[i]))
            return false;
    return true;
}

static void type_print(struct buf *b, const struct cel_type *t)
{
    if (t->kind == CEL_T_PARAM && !t->name.len) {
        buf_printf(b, "_var%u", t->id);
        return;
    }
    buf_add(b, t->name);
    if (t->n_params == 0)
        return;
    buf_byte(b, '(');
    for (size_t i = 0; i < t->n_params; i++) {
        if (i)
            buf_add(b, S(", "));
        type_print(b, t->params[i]);
    }
    buf_byte(b, ')');
}

struct str cel_type_text(struct arena *a, const struct cel_type *t)
{
    struct buf b = buf_in(a, 32);

    type_print(&b, t);
    return buf_str(&b);
}
