/* signature.c - types and signatures as text, read once when an environment is made
 *
 *     string.(int, int) string        receiver.(arguments) result
 *     (A, list(A)) bool               a capital letter is a type variable
 */
#include <ctype.h>

#include "cel/env_priv.h"

#define MAX_VARS 8

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@';
}

static void skip_space(struct str *s)
{
    while (s->len && s->at[0] == ' ')
        s->at++, s->len--;
}

static bool skip(struct str *s, char c)
{
    skip_space(s);
    if (!s->len || s->at[0] != c)
        return false;
    s->at++, s->len--;
    return true;
}

static const struct cel_type *simple_named(struct str name)
{
    static const struct {
        struct str name;
        const struct cel_type *type;
    } names[] = {
        {S_INIT("bool"),                      &cel_type_bool     },
        {S_INIT("int"),                       &cel_type_int      },
        {S_INIT("uint"),                      &cel_type_uint     },
        {S_INIT("double"),                    &cel_type_double   },
        {S_INIT("string"),                    &cel_type_string   },
        {S_INIT("bytes"),                     &cel_type_bytes    },
        {S_INIT("null_type"),                 &cel_type_null     },
        {S_INIT("null"),                      &cel_type_null     },
        {S_INIT("dyn"),                       &cel_type_dyn      },
        {S_INIT("any"),                       &cel_type_any      },
        {S_INIT("enum"),                      &cel_type_any_enum },
        {S_INIT("timestamp"),                 &cel_type_timestamp},
        {S_INIT("duration"),                  &cel_type_duration },
        {S_INIT("google.protobuf.Timestamp"), &cel_type_timestamp},
        {S_INIT("google.protobuf.Duration"),  &cel_type_duration },
        {S_INIT("google.protobuf.Any"),       &cel_type_any      },
        {S_INIT("google.protobuf.Value"),     &cel_type_dyn      },
        {S_INIT("quantity"),                  &cel_type_quantity },
        {S_INIT("semver"),                    &cel_type_semver   },
        {S_INIT("ip"),                        &cel_type_ip       },
        {S_INIT("cidr"),                      &cel_type_cidr     },
        {S_INIT("url"),                       &cel_type_url      },
        {S_INIT("format"),                    &cel_type_format   },
        {S_INIT("kubernetes.Quantity"),       &cel_type_quantity },
        {S_INIT("kubernetes.Semver"),         &cel_type_semver   },
        {S_INIT("net.IP"),                    &cel_type_ip       },
        {S_INIT("net.CIDR"),                  &cel_type_cidr     },
        {S_INIT("kubernetes.URL"),            &cel_type_url      },
        {S_INIT("kubernetes.NamedFormat"),    &cel_type_format   },
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eq(names[i].name, name))
            return names[i].type;
    return NULL;
}

/* The type of a message as it is seen in expressions: wrappers and the like are values. */
static const struct cel_type *message_named(struct arena *a, const struct cel_env *env,
                                            struct str name)
{
    const struct cel_type *t = env ? env_type(env, name) : NULL;

    if (t)
        return t->kind == CEL_T_STRUCT && t->host ? t->host : t;
    return cel_type_with(a, CEL_T_OPAQUE, name, NULL, 0);
}

static const struct cel_type *variable_named(struct arena *a, struct str name)
{
    struct cel_type *t = arena_new(a, struct cel_type);

    t->kind = CEL_T_PARAM;
    t->is_open = true;
    t->name = str_copy(a, name);
    t->id = (uint32_t)(name.at[0] - 'A') % 26;
    return t;
}

static const struct cel_type *with_params(struct arena *a, struct str name,
                                          const struct cel_type **params, size_t n)
{
    if (str_eqz(name, "list") && n == 1)
        return cel_list_of(a, params[0]);
    if (str_eqz(name, "map") && n == 2)
        return cel_map_type(a, params[0], params[1]);
    if ((str_eqz(name, "optional") || str_eqz(name, "optional_type")) && n == 1)
        return cel_optional_of(a, params[0]);
    if (str_eqz(name, "wrapper") && n == 1)
        return cel_wrapper_of(a, params[0]);
    if (str_eqz(name, "type"))
        return cel_type_with(a, CEL_T_TYPE, S("type"), params, n);
    return cel_type_with(a, CEL_T_OPAQUE, str_copy(a, name), params, n);
}

const struct cel_type *cel_type_read(struct arena *a, const struct cel_env *env,
                                     struct str *text, struct err *err)
{
    const struct cel_type *params[MAX_VARS];
    size_t n = 0, len = 0;
    struct str name;

    skip_space(text);
    while (len < text->len && is_name_char(text->at[len]))
        len++;
    name = str_slice(*text, 0, len);
    *text = str_slice(*text, len, text->len);
    if (str_eqz(name, "param") || str_eqz(name, "message")) {
        bool is_param = str_eqz(name, "param");
        const char *word = text->at;
        skip_space(text);
        if (text->at > word && text->len && is_name_char(text->at[0])) {
            for (len = 0; len < text->len && is_name_char(text->at[len]);)
                len++;
            name = str_slice(*text, 0, len);
            *text = str_slice(*text, len, text->len);
            const struct cel_type *t = is_param ? NULL : simple_named(name);
            return is_param ? variable_named(a, name) : t ? t : message_named(a, env, name);
        }
    }
    if (name.len == 0) {
        err_set(err, ERR_SYNTAX, "a type's name is missing before '%.*s'", STR_ARG(*text));
        return NULL;
    }
    if (!text->len || text->at[0] != '(') {
        const struct cel_type *t = simple_named(name);
        if (t)
            return t;
        if (name.len == 1 && name.at[0] >= 'A' && name.at[0] <= 'Z')
            return variable_named(a, name);
        if (str_eqz(name, "list"))
            return &cel_type_list;
        if (str_eqz(name, "map"))
            return &cel_type_map;
        if (str_eqz(name, "type"))
            return &cel_type_type;
        return message_named(a, env, str_copy(a, name));
    }
    skip(text, '(');
    do {
        if (n == MAX_VARS || !(params[n++] = cel_type_read(a, env, text, err))) {
            err_set(err, ERR_SYNTAX, "the parameters of '%.*s' cannot be read", STR_ARG(name));
            return NULL;
        }
    } while (skip(text, ','));
    if (!skip(text, ')')) {
        err_set(err, ERR_SYNTAX, "')' is missing behind '%.*s('", STR_ARG(name));
        return NULL;
    }
    return with_params(a, name, params, n);
}

/* ---- signatures ---- */

struct vars {
    struct str names[MAX_VARS];
    size_t n;
};

/* Numbers the variables by their first appearance. */
static const struct cel_type *number(struct arena *a, const struct cel_type *t, struct vars *v)
{
    const struct cel_type *params[MAX_VARS];

    if (t->kind == CEL_T_PARAM) {
        size_t i = 0;
        while (i < v->n && !str_eq(v->names[i], t->name))
            i++;
        if (i == v->n && v->n < MAX_VARS)
            v->names[v->n++] = t->name;
        struct cel_type copy = *t;
        copy.id = (uint32_t)i;
        return arena_copy(a, &copy);
    }
    if (t->n_params == 0 || t == &cel_type_list || t == &cel_type_map)
        return t;
    for (size_t i = 0; i < t->n_params; i++)
        params[i] = number(a, t->params[i], v);
    return cel_type_with(a, t->kind, t->name, params, t->n_params);
}

#define ALL_KINDS (~(1u << CEL_ABSENT | 1u << CEL_ERROR | 1u << CEL_UNKNOWN))
#define BIT(k) (1u << (k))

uint32_t cel_type_kinds(const struct cel_type *t)
{
    static const struct {
        const struct cel_type *type;
        uint32_t kind;
    } opaque[] = {
        {&cel_type_quantity, CEL_QUANTITY},
        {&cel_type_semver,   CEL_SEMVER  },
        {&cel_type_ip,       CEL_IP      },
        {&cel_type_cidr,     CEL_CIDR    },
        {&cel_type_url,      CEL_URL     },
        {&cel_type_format,   CEL_FORMAT  },
        {&cel_type_optional, CEL_OPTIONAL},
    };

    switch ((enum cel_type_kind)t->kind) {
    case CEL_T_NULL:
        return BIT(CEL_NULL);
    case CEL_T_BOOL:
        return BIT(CEL_BOOL);
    case CEL_T_INT:
        return BIT(CEL_INT);
    case CEL_T_UINT:
        return BIT(CEL_UINT);
    case CEL_T_DOUBLE:
        return BIT(CEL_DOUBLE);
    case CEL_T_STRING:
        return BIT(CEL_STRING);
    case CEL_T_BYTES:
        return BIT(CEL_BYTES);
    case CEL_T_TIMESTAMP:
        return BIT(CEL_TIMESTAMP);
    case CEL_T_DURATION:
        return BIT(CEL_DURATION);
    case CEL_T_LIST:
        return BIT(CEL_LIST);
    case CEL_T_MAP:
        return BIT(CEL_MAP);
    case CEL_T_TYPE:
        return BIT(CEL_TYPE);
    case CEL_T_ENUM:
        return BIT(CEL_ENUM);
    case CEL_T_WRAPPER:
        return BIT(CEL_NULL) | cel_type_kinds(t->params[0]);
    case CEL_T_STRUCT:
        return BIT(CEL_MESSAGE) | BIT(CEL_OBJECT) | BIT(CEL_MAP);
    case CEL_T_OPAQUE:
        for (size_t i = 0; i < countof(opaque); i++)
            if (str_eq(opaque[i].type->name, t->name))
                return BIT(opaque[i].kind);
        return BIT(CEL_OBJECT) | BIT(CEL_MESSAGE);
    default:
        return ALL_KINDS;
    }
}

static void set_param(struct overload *o, size_t i, const struct cel_type *t)
{
    o->params[i] = t;
    o->kinds[i] = cel_type_kinds(t);
    o->item_kinds[i] = o->key_kinds[i] = ALL_KINDS;
    if (t->kind == CEL_T_LIST)
        o->item_kinds[i] = cel_type_kinds(t->params[0]);
    if (t->kind == CEL_T_MAP) {
        o->key_kinds[i] = cel_type_kinds(t->params[0]);
        o->item_kinds[i] = cel_type_kinds(t->params[1]);
    }
}

bool signature_read(struct cel_env *env, const char *text, struct overload *o, struct err *err)
{
    struct str s = str_from(text);
    struct arena *a = &env->arena;
    struct vars vars = {0};
    const struct cel_type *t;

    skip_space(&s);
    if (s.len && s.at[0] != '(') {
        size_t dot = str_find(s, S(".("));
        struct str receiver = str_slice(s, 0, dot);
        if (dot == STR_NONE || !(t = cel_type_read(a, env, &receiver, err)))
            return err_set(err, ERR_SYNTAX, "no receiver in '%s'", text) == 0;
        s = str_slice(s, dot + 1, s.len);
        set_param(o, o->n_params++, number(a, t, &vars));
        o->is_member = true;
    }
    if (!skip(&s, '('))
        return err_set(err, ERR_SYNTAX, "no arguments in '%s'", text) == 0;
    while (!skip(&s, ')')) {
        if (o->n_params == MAX_ARGS || !(t = cel_type_read(a, env, &s, err)))
            return err_set(err, ERR_SYNTAX, "the arguments of '%s' cannot be read", text) == 0;
        set_param(o, o->n_params++, number(a, t, &vars));
        skip(&s, ',');
    }
    if (!(t = cel_type_read(a, env, &s, err)))
        return false;
    o->result = number(a, t, &vars);
    o->n_vars = (uint8_t)vars.n;
    return true;
}

bool overload_fits(struct arena *a, const struct overload *o, const struct cel_value *args,
                   size_t n)
{
    if (o->n_params != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct cel_value v = args[i];
        if (!(o->kinds[i] >> v.kind & 1))
            return false;
        if (v.len == 0 || (o->item_kinds[i] == ALL_KINDS && o->key_kinds[i] == ALL_KINDS))
            continue;
        if (v.kind == CEL_LIST && !(o->item_kinds[i] >> cel_at(a, v, 0).kind & 1))
            return false;
        if (v.kind == CEL_MAP) {
            struct cel_value key = cel_key(a, v, 0);
            if (!(o->key_kinds[i] >> key.kind & 1) ||
                !(o->item_kinds[i] >> cel_get(a, v, key).kind & 1))
                return false;
        }
    }
    return true;
}
