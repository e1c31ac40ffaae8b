/* cel_cases.c - values in cases of expressions */
#include "cel_cases.h"

#include <math.h>

#include "value/value.h"

static struct str member(const struct json *c, const char *name)
{
    return json_str(json_get(c, str_from(name)));
}

static struct cel_value decode_bytes(struct conf *t, struct str s)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf b = buf_in(t->arena, s.len);
    uint32_t v = 0, n = 0;

    for (size_t i = 0; i < s.len && s.at[i] != '='; i++) {
        v = v << 6 | (uint32_t)(strchr(digits, s.at[i]) - digits);
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_byte(&b, (char)(v >> n));
        }
    }
    return cel_bytes(buf_str(&b));
}

static struct cel_value list_value(struct conf *t, const struct json *items)
{
    struct cel_value *out = arena_array(t->arena, struct cel_value, json_len(items) + 1);

    json_each (i, items)
        out[i] = case_value(t, json_at(items, i));
    return cel_list(out, json_len(items));
}

static struct cel_value map_value(struct conf *t, const struct json *pairs)
{
    struct cel_entry *out = arena_array(t->arena, struct cel_entry, json_len(pairs) + 1);

    json_each (i, pairs) {
        const struct json *pair = json_at(pairs, i);
        out[i] = (struct cel_entry){case_value(t, json_at(pair, 0)),
                                    case_value(t, json_at(pair, 1))};
    }
    return cel_map_of(t->arena, out, json_len(pairs));
}

static struct cel_value opaque_value(struct conf *t, struct str type, struct str s)
{
    struct cel_value v = {0};
    struct quantity q;
    struct semver sv;
    struct ip ip;
    struct cidr cidr;

    if (str_has(type, S("uantity")) && quantity_parse(t->arena, s, &q, NULL) == 0)
        v = cel_quantity(arena_copy(t->arena, &q));
    else if (str_has(type, S("emver")) && semver_parse(s, &sv, NULL) == 0)
        v = cel_semver(arena_copy(t->arena, &sv));
    else if (str_eqz(type, "net.IP") && ip_parse(s, &ip, NULL) == 0)
        v = (struct cel_value){.kind = CEL_IP, .ip = arena_copy(t->arena, &ip)};
    else if (str_eqz(type, "net.CIDR") && cidr_parse(s, &cidr, NULL) == 0)
        v = (struct cel_value){.kind = CEL_CIDR, .cidr = arena_copy(t->arena, &cidr)};
    return v;
}

uint64_t case_u64(const struct json *v)
{
    uint64_t u;

    if (json_is(v, JSON_STRING) && str_to_u64(json_str(v), &u))
        return u;
    if (json_is(v, JSON_INT))
        return (uint64_t)v->i;
    double d = json_f64(v, 0);
    return d >= 0x1p64 ? UINT64_MAX : (uint64_t)d;
}

struct cel_value case_value(struct conf *t, const struct json *c)
{
    struct str type = member(c, "type"), s = member(c, "value");
    const struct json *value = json_getz(c, "value");
    int64_t i = 0;

    if (str_eqz(type, "null"))
        return cel_null();
    if (str_eqz(type, "bool"))
        return cel_bool(json_bool(value, false));
    if (str_eqz(type, "int"))
        return str_to_i64(s, &i) ? cel_int(i) : cel_int(json_i64(value, 0));
    if (str_eqz(type, "uint"))
        return cel_uint(case_u64(value));
    if (str_eqz(type, "double"))
        return cel_double(json_is(value, JSON_STRING) ? strtod(str_z(t->arena, s), NULL)
                                                      : json_f64(value, 0));
    if (str_eqz(type, "string"))
        return cel_text(s);
    if (str_eqz(type, "bytes"))
        return decode_bytes(t, member(c, "base64"));
    if (str_eqz(type, "list"))
        return list_value(t, value);
    if (str_eqz(type, "map"))
        return map_value(t, value);
    if (str_eqz(type, "timestamp") || str_eqz(type, "duration")) {
        const struct json *seconds = json_getz(c, "seconds");
        int64_t nanos = json_i64(json_getz(c, "nanos"), 0);
        if (!str_to_i64(json_str(seconds), &i))
            i = json_i64(seconds, 0);
        return str_eqz(type, "duration") ? cel_duration(i * SECOND_NS + nanos)
                                         : cel_time(i, (uint32_t)nanos, 0);
    }
    if (str_eqz(type, "optional"))
        return value ? cel_some(t->arena, case_value(t, value)) : cel_none();
    return opaque_value(t, type, s);
}

/* Equal and of the same kinds, all the way down; NaN is itself. */
static bool is_same(struct conf *t, struct cel_value x, struct cel_value y)
{
    if (x.kind != y.kind)
        return false;
    if (x.kind == CEL_DOUBLE && isnan(x.d) && isnan(y.d))
        return true;
    if (x.kind == CEL_LIST) {
        bool same = x.len == y.len;
        for (uint32_t i = 0; same && i < x.len; i++)
            same = is_same(t, cel_at(t->arena, x, i), cel_at(t->arena, y, i));
        return same;
    }
    if (x.kind == CEL_MAP) {
        bool same = x.len == y.len;
        for (uint32_t i = 0; same && i < x.len; i++) {
            struct cel_value key = cel_key(t->arena, x, i);
            struct cel_value other = cel_get(t->arena, y, key);
            same = other.kind != CEL_ABSENT && is_same(t, cel_get(t->arena, x, key), other);
        }
        return same;
    }
    return cel_same(t->arena, x, y);
}

/* The data keep three escapes as their source's text form spelt them: \uHHHH, \UHHHHHHHH
 * and \?. The text with them read. */
static struct str unescaped(struct conf *t, struct str s)
{
    struct buf b = buf_in(t->arena, s.len + 4);
    char utf8[4], digits[9];

    for (size_t i = 0; i < s.len; i++) {
        char next = i + 1 < s.len ? s.at[i + 1] : 0;
        size_t n = next == 'u' ? 4 : next == 'U' ? 8 : 0;
        if (s.at[i] == '\\' && next == '?') {
            buf_byte(&b, next);
            i++;
        } else if (s.at[i] == '\\' && n && i + 2 + n <= s.len) {
            memcpy(digits, s.at + i + 2, n);
            digits[n] = 0;
            buf_add(&b, str_of(utf8, str_put_rune(utf8, (int32_t)strtol(digits, NULL, 16))));
            i += 1 + n;
        } else {
            buf_byte(&b, s.at[i]);
        }
    }
    return buf_str(&b);
}

static bool is_same_unescaped(struct conf *t, struct cel_value got, struct cel_value want)
{
    if (got.kind != want.kind || (got.kind != CEL_STRING && got.kind != CEL_BYTES))
        return false;
    return str_eq(cel_str(got), unescaped(t, cel_str(want)));
}

static struct str show(struct conf *t, struct cel_value v)
{
    return str_printf(t->arena, "%.*s (%.*s)", STR_ARG(cel_show(t->arena, v)),
                      STR_ARG(cel_type_of(v)->name));
}

static void same_optional(struct conf *t, const char *what, struct cel_value got,
                          const struct json *want)
{
    const struct json *present = json_getz(want, "present"), *inner = json_getz(want, "value");
    int64_t n = json_i64(json_getz(want, "messages"), -1);
    bool is_full = present ? json_bool(present, false) : inner != NULL;

    if (got.kind != CEL_OPTIONAL || (got.len > 0) != is_full) {
        conf_fail(t, what, show(t, got), json_text(t->arena, want));
        return;
    }
    if (inner)
        case_same(t, what, got.items[0], inner);
    else if (is_full && n >= 0 && got.items[0].len != n)
        conf_fail(t, what, show(t, got), json_text(t->arena, want));
}

void case_same(struct conf *t, const char *what, struct cel_value got, const struct json *want)
{
    struct str type = member(want, "type");
    bool same;

    if (str_eqz(type, "optional")) {
        same_optional(t, what, got, want);
        return;
    }
    if (str_eqz(type, "message"))
        same = got.kind == CEL_MESSAGE && str_eq(cel_type_of(got)->name, member(want, "name"));
    else if (str_eqz(type, "enum"))
        same = got.kind == CEL_ENUM && str_eq(got.type->name, member(want, "name")) &&
               (int64_t)(int32_t)got.len ==
                   strtoll(str_z(t->arena, member(want, "value")), NULL, 10);
    else if (str_eqz(type, "type"))
        same = got.kind == CEL_TYPE && str_eq(got.type->name, member(want, "value"));
    else
        same = is_same(t, got, case_value(t, want)) ||
               is_same_unescaped(t, got, case_value(t, want));
    if (!same)
        conf_fail(t, what, show(t, got), json_text(t->arena, want));
}

void case_same_u64(struct conf *t, const char *what, uint64_t got, const struct json *want)
{
    uint64_t u = case_u64(want);

    if (got != u)
        conf_fail(t, what, str_printf(t->arena, "%llu", (unsigned long long)got),
                  str_printf(t->arena, "%llu", (unsigned long long)u));
}

void case_same_range(struct conf *t, struct cel_range got, const struct json *want)
{
    case_same_u64(t, "estimate min", got.min, json_getz(want, "min"));
    case_same_u64(t, "estimate max", got.max, json_getz(want, "max"));
}
