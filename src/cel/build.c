/* build.c - evaluation: lists, maps, messages and strong enums that an expression makes */
#include "cel/eval_priv.h"

static struct cel_value not_optional(struct ctx *c, const char *what, struct cel_value v)
{
    struct str s = cel_show(c->arena, v);

    return cel_fail_text(c->arena, "cannot initialize optional %s from non-optional value %.*s",
                         what, STR_ARG(s));
}

struct cel_value eval_list(struct ctx *c, const struct op *op)
{
    struct cel_value *items = arena_array(c->arena, struct cel_value, MAX(op->n, 1u)), v = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < op->n; i++) {
        v = op_eval(c, &op->args[i]);
        if (cel_is_stop(v))
            break;
        if (op->list->is_opt && op->list->is_opt[i]) {
            if (v.kind != CEL_OPTIONAL) {
                v = not_optional(c, "list element", v);
                break;
            }
            if (v.len == 0)
                continue;
            v = v.items[0];
        }
        items[n++] = v;
    }
    if (charge(c, 10))
        return c->stop;
    return cel_is_stop(v) && v.kind != CEL_ABSENT ? v : cel_list(items, n);
}

static bool is_odd_key(struct cel_value key)
{
    return key.kind != CEL_STRING && key.kind != CEL_INT && key.kind != CEL_UINT &&
           key.kind != CEL_BOOL;
}

/* The language's definition refuses odd and repeated keys; in cel-go the last one wins. */
static struct cel_value map_put_entry(struct map_maker *m, bool is_definition,
                                      struct cel_value key, struct cel_value value)
{
    uint32_t i = map_maker_find(m, key);
    const char *why = !is_definition    ? NULL
                      : is_odd_key(key) ? "unsupported key type"
                      : i < m->n        ? "Failed with repeated key"
                                        : NULL;

    if (why) {
        struct str s = cel_show(m->arena, key);
        return cel_fail_text(m->arena, "%s: %.*s", why, STR_ARG(s));
    }
    if (i < m->n)
        m->entries[i] = (struct cel_entry){key, value};
    else
        map_maker_add(m, key, value);
    return cel_null();
}

struct cel_value value_map(struct arena *a, const struct cel_env *env,
                           const struct cel_value *pairs, size_t n)
{
    struct map_maker m = map_maker_in(a, env->is_definition, (uint32_t)n);

    for (size_t i = 0; i < n; i++) {
        struct cel_value v =
            map_put_entry(&m, env->is_definition, pairs[2 * i], pairs[2 * i + 1]);
        if (v.kind == CEL_ERROR)
            return v;
    }
    return map_maker_done(&m);
}

struct cel_value eval_map(struct ctx *c, const struct op *op)
{
    bool is_definition = c->p->env->is_definition;
    struct map_maker m = map_maker_in(c->arena, is_definition, op->n);
    struct cel_value key, v = {0};

    for (uint32_t i = 0; i < op->n && (v.kind == CEL_ABSENT || !cel_is_stop(v)); i++) {
        key = op_eval(c, &op->args[2 * i]);
        v = cel_is_stop(key) ? key : op_eval(c, &op->args[2 * i + 1]);
        if (cel_is_stop(v))
            break;
        if (op->list->is_opt && op->list->is_opt[i]) {
            if (v.kind != CEL_OPTIONAL) {
                v = not_optional(c, "entry", v);
                break;
            }
            if (v.len == 0) {
                uint32_t at = map_maker_find(&m, key);
                if (at < m.n && m.entries[at].key.kind == key.kind)
                    map_maker_del(&m, at);
                continue;
            }
            v = v.items[0];
        }
        v = map_put_entry(&m, is_definition, key, v);
    }
    if (charge(c, 30))
        return c->stop;
    return v.kind == CEL_ERROR || v.kind == CEL_UNKNOWN ? v : map_maker_done(&m);
}

struct cel_value eval_message(struct ctx *c, const struct op *op)
{
    const struct cel_type *t = op->list->type;
    struct cel_value *fields =
        arena_array(c->arena, struct cel_value, MAX(t->n_fields, (uint16_t)1));
    struct cel_value v = {0};

    for (uint32_t i = 0; i < op->n; i++) {
        v = op_eval(c, &op->args[i]);
        if (cel_is_stop(v))
            break;
        if (op->list->is_opt[i]) {
            if (v.kind != CEL_OPTIONAL) {
                v = not_optional(c, "entry", v);
                break;
            }
            if (v.len == 0)
                continue;
            v = v.items[0];
        }
        fields[op->list->fields[i]] = v;
    }
    if (charge(c, 40))
        return c->stop;
    return v.kind == CEL_ERROR || v.kind == CEL_UNKNOWN
               ? v
               : message_make(c->arena, c->p->env, t, fields);
}

struct cel_value eval_enum(struct ctx *c, const struct op *op)
{
    struct cel_value v = op_eval(c, op->args);

    if (charge(c, 1))
        return c->stop;
    if (cel_is_stop(v))
        return v;
    if (v.kind == CEL_STRING) {
        for (size_t i = 0; i < op->type->n_fields; i++)
            if (str_eq(op->type->values[i].name, cel_str(v)))
                return (struct cel_value){.kind = CEL_ENUM,
                                          .len = (uint32_t)op->type->values[i].number,
                                          .type = op->type};
        return cel_fail_text(c->arena, "invalid enum value '%.*s'", STR_ARG(cel_str(v)));
    }
    if (v.kind != CEL_INT && v.kind != CEL_ENUM)
        return no_overload();
    int64_t i = v.kind == CEL_INT ? v.i : (int32_t)v.len;
    if (i < INT32_MIN || i > INT32_MAX)
        return cel_fail_text(c->arena, "int32 range error: %lld", (long long)i);
    return (struct cel_value){.kind = CEL_ENUM, .len = (uint32_t)(int32_t)i, .type = op->type};
}
