/* lib_k8s.c - Kubernetes' libraries over single values: quantity, semver, url, format */
#include "base/base64.h"
#include "cel/format_priv.h"
#include "cel/lib_priv.h"
#include "value/value.h"

static struct cel_value fail_err(struct cel_call *c, const char *prefix, const struct err *err)
{
    return cel_fail_text(c->arena, "%s%s", prefix, err->text);
}

/* ---- quantity ---- */

static struct cel_value new_quantity(struct cel_call *c, struct quantity q)
{
    return cel_quantity(arena_copy(c->arena, &q));
}

CEL_FN(q_parse)
{
    struct err err = {0};
    struct quantity q;

    if (quantity_parse(c->arena, cel_str(args[0]), &q, &err) < 0)
        return fail_err(c, "", &err);
    return new_quantity(c, q);
}

CEL_FN(q_is)
{
    struct quantity q;

    return cel_bool(quantity_parse(c->arena, cel_str(args[0]), &q, NULL) == 0);
}

CEL_FN(q_sign)
{
    return cel_int(quantity_sign(args[0].quantity));
}

CEL_FN(q_is_integer)
{
    int64_t i;

    return cel_bool(quantity_integer(args[0].quantity, &i));
}

CEL_FN(q_as_integer)
{
    int64_t i;

    if (!quantity_integer(args[0].quantity, &i))
        return cel_fail_name(CEL_E_TEXT, S("cannot convert value to integer"));
    return cel_int(i);
}

CEL_FN(q_as_float)
{
    return cel_double(quantity_f64(args[0].quantity));
}

static struct quantity operand(struct cel_value v)
{
    return v.kind == CEL_INT ? quantity_of(v.i, 0, QUANTITY_DECIMAL_EXPONENT) : *v.quantity;
}

CEL_FN(q_add)
{
    struct quantity y = operand(args[1]);

    return new_quantity(c, quantity_add(c->arena, args[0].quantity, &y));
}

CEL_FN(q_sub)
{
    struct quantity y = operand(args[1]);

    return new_quantity(c, quantity_sub(c->arena, args[0].quantity, &y));
}

CEL_FN(q_less)
{
    return cel_bool(quantity_cmp(args[0].quantity, args[1].quantity) < 0);
}

CEL_FN(q_greater)
{
    return cel_bool(quantity_cmp(args[0].quantity, args[1].quantity) > 0);
}

CEL_FN(q_compare)
{
    return cel_int(quantity_cmp(args[0].quantity, args[1].quantity));
}

/* ---- semver ---- */

static bool read_semver(struct cel_call *c, const struct cel_value *args, size_t n,
                        struct semver *out, struct err *err)
{
    if (n == 2 && args[1].b)
        return semver_parse_lax(c->arena, cel_str(args[0]), out, err) == 0;
    return semver_parse(cel_str(args[0]), out, err) == 0;
}

CEL_FN(v_parse)
{
    struct err err = {0};
    struct semver v;

    if (!read_semver(c, args, n, &v, &err))
        return fail_err(c, "", &err);
    return cel_semver(arena_copy(c->arena, &v));
}

CEL_FN(v_is)
{
    struct semver v;

    return cel_bool(read_semver(c, args, n, &v, NULL));
}

CEL_FN(v_major)
{
    return cel_int((int64_t)args[0].semver->major);
}

CEL_FN(v_minor)
{
    return cel_int((int64_t)args[0].semver->minor);
}

CEL_FN(v_patch)
{
    return cel_int((int64_t)args[0].semver->patch);
}

CEL_FN(v_less)
{
    return cel_bool(semver_cmp(args[0].semver, args[1].semver) < 0);
}

CEL_FN(v_greater)
{
    return cel_bool(semver_cmp(args[0].semver, args[1].semver) > 0);
}

CEL_FN(v_compare)
{
    return cel_int(semver_cmp(args[0].semver, args[1].semver));
}

/* ---- url ---- */

/* Repeated keys gather their values, in order. */
static struct cel_value query_map(struct arena *a, const struct url *u)
{
    struct str_map pairs = url_query(a, u);
    struct cel_entry *entries = arena_array(a, struct cel_entry, MAX(pairs.len, (size_t)1));
    size_t n = 0;

    for (size_t i = 0; i < pairs.len; i++) {
        size_t k = 0;
        while (k < n && !str_eq(cel_str(entries[k].key), pairs.at[i].key))
            k++;
        if (k == n)
            entries[n++] = (struct cel_entry){cel_text(pairs.at[i].key), cel_list(NULL, 0)};
        struct cel_value one = cel_text(pairs.at[i].value);
        entries[k].value = value_add(a, entries[k].value, cel_list(arena_copy(a, &one), 1));
    }
    return cel_map_of(a, entries, n);
}

CEL_FN(u_parse)
{
    struct err err = {0};
    struct url u;
    struct cel_url out = {0};

    if (url_parse(c->arena, cel_str(args[0]), &u, &err) < 0)
        return fail_err(c, "URL parse error during conversion from string: ", &err);
    out.text = url_text(c->arena, &u);
    out.scheme = u.scheme;
    out.host = u.host;
    out.hostname = url_hostname(&u);
    out.port = url_port(&u);
    out.path = url_escaped_path(c->arena, &u);
    out.query = query_map(c->arena, &u);
    return (struct cel_value){.kind = CEL_URL, .url = arena_copy(c->arena, &out)};
}

CEL_FN(u_is)
{
    struct url u;

    return cel_bool(url_parse(c->arena, cel_str(args[0]), &u, NULL) == 0);
}

CEL_FN(u_part)
{
    size_t offset = *(const size_t *)c->data;

    return cel_text(*(const struct str *)((const char *)args[0].url + offset));
}

CEL_FN(u_query)
{
    return args[0].url->query;
}

static const size_t u_scheme = offsetof(struct cel_url, scheme),
                    u_host = offsetof(struct cel_url, host),
                    u_hostname = offsetof(struct cel_url, hostname),
                    u_port = offsetof(struct cel_url, port),
                    u_path = offsetof(struct cel_url, path);

/* ---- format ---- */

static struct str fault_uri(struct arena *a, struct str s)
{
    struct err err = {0};
    struct url u;

    return url_parse(a, s, &u, &err) < 0 ? str_copy(a, err_str(&err)) : S("");
}

/* 8-4-4-4-12 digits; the dashes may be left out. */
static struct str fault_uuid(struct arena *a, struct str s)
{
    static const uint8_t groups[] = {8, 4, 4, 4, 12};
    size_t i = 0;
    bool is_ok = true;

    (void)a;
    for (size_t g = 0; g < countof(groups); g++) {
        if (g > 0 && i < s.len && s.at[i] == '-')
            i++;
        for (size_t k = 0; k < groups[g]; k++, i++) {
            char ch = i < s.len ? s.at[i] : 0;
            is_ok &= (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f') ||
                     (ch >= 'A' && ch <= 'F');
        }
    }
    return is_ok && i == s.len ? S("") : S("does not match the UUID format");
}

static struct str fault_byte(struct arena *a, struct str s)
{
    struct str out;

    return base64_decode(a, s, &out) ? S("") : S("invalid base64");
}

static struct str fault_date(struct arena *a, struct str s)
{
    struct str full = str_printf(a, "%.*sT00:00:00Z", STR_ARG(s));
    struct cel_value v = s.len == 10 ? stamp_read(full) : cel_fail(CEL_E_TEXT);

    return v.kind == CEL_ERROR && v.form != CEL_E_TIME_OVERFLOW ? S("invalid date") : S("");
}

/* RFC 3339 with some of its relatives: a blank or `t` between, lower case, no colon. */
static struct str fault_datetime(struct arena *a, struct str s)
{
    char *copy = str_z(a, s);

    if (s.len > 10 && (copy[10] == 't' || copy[10] == ' '))
        copy[10] = 'T';
    if (s.len && copy[s.len - 1] == 'z')
        copy[s.len - 1] = 'Z';
    struct cel_value v = stamp_read(str_of(copy, s.len));
    return v.kind == CEL_ERROR && v.form != CEL_E_TIME_OVERFLOW ? S("invalid datetime") : S("");
}

static const struct cel_format formats[] = {
    {S_INIT("dns1123Label"),           30,   NAME_DNS_LABEL,             NULL          },
    {S_INIT("dns1123Subdomain"),       60,   NAME_DNS_SUBDOMAIN,         NULL          },
    {S_INIT("dns1035Label"),           30,   NAME_DNS_1035_LABEL,        NULL          },
    {S_INIT("qualifiedName"),          60,   NAME_LABEL_KEY,             NULL          },
    {S_INIT("dns1123LabelPrefix"),     30,   NAME_DNS_LABEL_PREFIX,      NULL          },
    {S_INIT("dns1123SubdomainPrefix"), 60,   NAME_DNS_SUBDOMAIN_PREFIX,  NULL          },
    {S_INIT("dns1035LabelPrefix"),     30,   NAME_DNS_1035_LABEL_PREFIX, NULL          },
    {S_INIT("labelValue"),             40,   NAME_LABEL_VALUE,           NULL          },
    {S_INIT("uri"),                    1103, -1,                         fault_uri     },
    {S_INIT("uuid"),                   70,   -1,                         fault_uuid    },
    {S_INIT("byte"),                   84,   -1,                         fault_byte    },
    {S_INIT("date"),                   71,   -1,                         fault_date    },
    {S_INIT("datetime"),               71,   -1,                         fault_datetime},
};

const struct cel_format *format_named(struct str name)
{
    for (size_t i = 0; i < countof(formats); i++)
        if (str_eq(formats[i].name, name))
            return &formats[i];
    return NULL;
}

uint64_t format_regex_size(struct cel_value format)
{
    return format.kind == CEL_FORMAT ? format.format->regex_size : 1;
}

void format_show(struct buf *b, struct cel_value v)
{
    buf_printf(b, "format.%.*s()", STR_ARG(v.format->name));
}

static struct cel_value format_value(const struct cel_format *f)
{
    return (struct cel_value){.kind = CEL_FORMAT, .format = f};
}

CEL_FN(f_named)
{
    const struct cel_format *f = format_named(cel_str(args[0]));

    return f ? cel_some(c->arena, format_value(f)) : cel_none();
}

CEL_FN(f_one)
{
    return format_value(c->data);
}

CEL_FN(f_validate)
{
    const struct cel_format *f = args[0].format;
    struct cel_value items[NAME_MAX_FAULTS];
    size_t k = 0;

    if (f->rule >= 0) {
        struct name_faults faults = name_check((enum name_rule)f->rule, cel_str(args[1]));
        for (; k < faults.n; k++)
            items[k] = cel_text(name_fault(c->arena, &faults, k));
    } else {
        struct str s = f->fault(c->arena, cel_str(args[1]));
        if (s.len)
            items[k++] = cel_text(s);
    }
    if (k == 0)
        return cel_none();
    struct cel_value *copy = arena_array(c->arena, struct cel_value, k);
    memcpy(copy, items, k * sizeof(items[0]));
    return cel_some(c->arena, cel_list(copy, k));
}

/* ---- jsonpatch ---- */

CEL_FN(escape_key)
{
    struct str s = cel_str(args[0]);
    struct buf b = buf_in(c->arena, s.len + 8);

    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '~')
            buf_add(&b, S("~0"));
        else if (s.at[i] == '/')
            buf_add(&b, S("~1"));
        else
            buf_byte(&b, s.at[i]);
    }
    return cel_text(buf_str(&b));
}
/* clang-format off */
#define FORMAT(name, i) \
    {"format." name, "format." name, "() format", f_one, LIB_K8S_FORMAT, COST_ONE, 0, 0, &formats[i]}

static const struct lib_row rows[] = {
    {"quantity",            "string_to_quantity",                "(string) quantity",                      q_parse,      LIB_K8S_QUANTITY},
    {"isQuantity",          "is_quantity_string",                "(string) bool",                          q_is,         LIB_K8S_QUANTITY},
    {"sign",                "quantity_sign",                     "(quantity) int",                         q_sign,       LIB_K8S_QUANTITY},
    {"isInteger",           "quantity_is_integer",               "quantity.() bool",                       q_is_integer, LIB_K8S_QUANTITY},
    {"asInteger",           "quantity_get_int",                  "quantity.() int",                        q_as_integer, LIB_K8S_QUANTITY},
    {"asApproximateFloat",  "quantity_get_float",                "quantity.() double",                     q_as_float,   LIB_K8S_QUANTITY},
    {"add",                 "quantity_add",                      "quantity.(quantity) quantity",           q_add,        LIB_K8S_QUANTITY},
    {"add",                 "quantity_add_int",                  "quantity.(int) quantity",                q_add,        LIB_K8S_QUANTITY},
    {"sub",                 "quantity_sub",                      "quantity.(quantity) quantity",           q_sub,        LIB_K8S_QUANTITY},
    {"sub",                 "quantity_sub_int",                  "quantity.(int) quantity",                q_sub,        LIB_K8S_QUANTITY},
    {"isLessThan",          "quantity_is_less_than",             "quantity.(quantity) bool",               q_less,       LIB_K8S_QUANTITY},
    {"isGreaterThan",       "quantity_is_greater_than",          "quantity.(quantity) bool",               q_greater,    LIB_K8S_QUANTITY},
    {"compareTo",           "quantity_compare_to",               "quantity.(quantity) int",                q_compare,    LIB_K8S_QUANTITY},
    {"semver",              "string_to_semver",                  "(string) semver",                        v_parse,      LIB_K8S_SEMVER},
    {"semver",              "string_bool_to_semver",             "(string, bool) semver",                  v_parse,      LIB_K8S_SEMVER, COST_ONE, 1},
    {"isSemver",            "is_semver_string",                  "(string) bool",                          v_is,         LIB_K8S_SEMVER},
    {"isSemver",            "is_semver_string_bool",             "(string, bool) bool",                    v_is,         LIB_K8S_SEMVER, COST_ONE, 1},
    {"major",               "semver_major",                      "semver.() int",                          v_major,      LIB_K8S_SEMVER},
    {"minor",               "semver_minor",                      "semver.() int",                          v_minor,      LIB_K8S_SEMVER},
    {"patch",               "semver_patch",                      "semver.() int",                          v_patch,      LIB_K8S_SEMVER},
    {"isLessThan",          "semver_is_less_than",               "semver.(semver) bool",                   v_less,       LIB_K8S_SEMVER},
    {"isGreaterThan",       "semver_is_greater_than",            "semver.(semver) bool",                   v_greater,    LIB_K8S_SEMVER},
    {"compareTo",           "semver_compare_to",                 "semver.(semver) int",                    v_compare,    LIB_K8S_SEMVER},
    {"url",                 "string_to_url",                     "(string) url",                           u_parse,      LIB_K8S_URL},
    {"isURL",               "is_url_string",                     "(string) bool",                          u_is,         LIB_K8S_URL},
    {"getScheme",           "url_get_scheme",                    "url.() string",                          u_part,       LIB_K8S_URL,    COST_ONE, 0, 0, &u_scheme},
    {"getHost",             "url_get_host",                      "url.() string",                          u_part,       LIB_K8S_URL,    COST_ONE, 0, 0, &u_host},
    {"getHostname",         "url_get_hostname",                  "url.() string",                          u_part,       LIB_K8S_URL,    COST_ONE, 0, 0, &u_hostname},
    {"getPort",             "url_get_port",                      "url.() string",                          u_part,       LIB_K8S_URL,    COST_ONE, 0, 0, &u_port},
    {"getEscapedPath",      "url_get_escaped_path",              "url.() string",                          u_part,       LIB_K8S_URL,    COST_ONE, 0, 0, &u_path},
    {"getQuery",            "url_get_query",                     "url.() map(string, list(string))",       u_query,      LIB_K8S_URL},
    {"format.named",        "format-named",                      "(string) optional(format)",              f_named,      LIB_K8S_FORMAT},
    FORMAT("dns1123Label", 0),
    FORMAT("dns1123Subdomain", 1),
    FORMAT("dns1035Label", 2),
    FORMAT("qualifiedName", 3),
    FORMAT("dns1123LabelPrefix", 4),
    FORMAT("dns1123SubdomainPrefix", 5),
    FORMAT("dns1035LabelPrefix", 6),
    FORMAT("labelValue", 7),
    FORMAT("uri", 8),
    FORMAT("uuid", 9),
    FORMAT("byte", 10),
    FORMAT("date", 11),
    FORMAT("datetime", 12),
    {"validate",            "format-validate",                   "format.(string) optional(list(string))", f_validate,   LIB_K8S_FORMAT},
    {"jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", "(string) string",                        escape_key,   LIB_K8S_JSONPATCH},
};
/* clang-format on */
const struct lib_table cel_lib_k8s = {rows, countof(rows)};
