/* lib_std.c - the language's own functions
 *
 * Operators have rows for the checker; the evaluator runs them itself, but for calls that are
 * made by name the functions are here too.
 */
#include <math.h>

#include "cel/lib_priv.h"
#include "cel/scan_priv.h"
#include "value/value.h"

/* ---- operators ---- */

CEL_FN(op_size)
{
    return cel_int((int64_t)cel_size(args[0]));
}

CEL_FN(op_type)
{
    return cel_of_type(cel_type_of(args[0]));
}

CEL_FN(op_same)
{
    return args[0];
}

CEL_FN(op_insert)
{
    struct cel_value map = args[0];
    uint32_t more = n == 3 ? 1 : args[1].len;
    struct cel_entry *entries = arena_array(c->arena, struct cel_entry, map.len + more);

    for (uint32_t i = 0; i < map.len; i++)
        entries[i] =
            (struct cel_entry){cel_key(c->arena, map, i), value_entry(c->arena, map, i)};
    for (uint32_t i = 0; i < more; i++) {
        struct cel_value key = n == 3 ? args[1] : cel_key(c->arena, args[1], i);
        if (cel_get(c->arena, map, key).kind != CEL_ABSENT) {
            struct str s = cel_show(c->arena, key);
            return cel_fail_text(c->arena, "insert failed: key %.*s already exists",
                                 STR_ARG(s));
        }
        entries[map.len + i] =
            (struct cel_entry){key, n == 3 ? args[2] : value_entry(c->arena, args[1], i)};
    }
    return cel_map_of(c->arena, entries, map.len + more);
}

/* ---- string tests ---- */

CEL_FN(s_contains)
{
    return cel_bool(str_has(cel_str(args[0]), cel_str(args[1])));
}

CEL_FN(s_starts)
{
    return cel_bool(str_starts(cel_str(args[0]), cel_str(args[1])));
}

CEL_FN(s_ends)
{
    return cel_bool(str_ends(cel_str(args[0]), cel_str(args[1])));
}

CEL_FN(s_matches)
{
    struct err err = {0};
    struct cel_value v;

    if (c->prepared) {
        const struct pattern *p = c->prepared;
        return cel_bool(p->scan ? scan_match(p->scan, cel_str(args[0]))
                                : regex_match(p->regex, cel_str(args[0])));
    }
    struct regex *re = regex_new(cel_str(args[1]), &err);
    if (!re)
        return cel_fail_text(c->arena, "%s", err.text);
    v = cel_bool(regex_match(re, cel_str(args[0])));
    regex_free(re);
    return v;
}
/* clang-format off */
#define ORDER(name, op) \
    {name, op "_bool", "(bool, bool) bool", NULL, LIB_STD}, \
    {name, op "_int64", "(int, int) bool", NULL, LIB_STD}, \
    {name, op "_int64_double", "(int, double) bool", NULL, LIB_CROSS}, \
    {name, op "_int64_uint64", "(int, uint) bool", NULL, LIB_CROSS}, \
    {name, op "_uint64", "(uint, uint) bool", NULL, LIB_STD}, \
    {name, op "_uint64_double", "(uint, double) bool", NULL, LIB_CROSS}, \
    {name, op "_uint64_int64", "(uint, int) bool", NULL, LIB_CROSS}, \
    {name, op "_double", "(double, double) bool", NULL, LIB_STD}, \
    {name, op "_double_int64", "(double, int) bool", NULL, LIB_CROSS}, \
    {name, op "_double_uint64", "(double, uint) bool", NULL, LIB_CROSS}, \
    {name, op "_string", "(string, string) bool", NULL, LIB_STD, COST_ORDER}, \
    {name, op "_bytes", "(bytes, bytes) bool", NULL, LIB_STD, COST_ORDER}, \
    {name, op "_timestamp", "(timestamp, timestamp) bool", NULL, LIB_STD}, \
    {name, op "_duration", "(duration, duration) bool", NULL, LIB_STD}

static const struct lib_row standard_rows[] = {
    {"_?_:_",               "conditional",                          "(bool, A, A) A",                       NULL,       LIB_STD, COST_COND},
    {"_&&_",                "logical_and",                          "(bool, bool) bool",                    NULL,       LIB_STD, COST_AND},
    {"_||_",                "logical_or",                           "(bool, bool) bool",                    NULL,       LIB_STD, COST_AND},
    {"!_",                  "logical_not",                          "(bool) bool",                          NULL,       LIB_STD},
    {"@not_strictly_false", "not_strictly_false",                   "(bool) bool",                          NULL,       LIB_STD},
    {"_==_",                "equals",                               "(A, A) bool",                          NULL,       LIB_STD, COST_EQUAL},
    {"_!=_",                "not_equals",                           "(A, A) bool",                          NULL,       LIB_STD, COST_EQUAL},
    {"@in",                 "in_list",                              "(A, list(A)) bool",                    NULL,       LIB_STD, COST_IN_LIST},
    {"@in",                 "in_map",                               "(A, map(A, B)) bool",                  NULL,       LIB_STD},
    {"_[_]",                "index_list",                           "(list(A), int) A",                     NULL,       LIB_STD},
    {"_[_]",                "index_map",                            "(map(A, B), A) B",                     NULL,       LIB_STD},
    {"_[_]",                "optional_list_index_int",              "(optional(list(A)), int) optional(A)", NULL,       LIB_OPTIONAL},
    {"_[_]",                "optional_map_index_value",             "(optional(map(A, B)), A) optional(B)", NULL,       LIB_OPTIONAL},
    {"_[?_]",               "list_optindex_optional_int",           "(list(A), int) optional(A)",           NULL,       LIB_OPTIONAL},
    {"_[?_]",               "optional_list_optindex_optional_int",  "(optional(list(A)), int) optional(A)", NULL,       LIB_OPTIONAL},
    {"_[?_]",               "map_optindex_optional_value",          "(map(A, B), A) optional(B)",           NULL,       LIB_OPTIONAL},
    {"_[?_]",               "optional_map_optindex_optional_value", "(optional(map(A, B)), A) optional(B)", NULL,       LIB_OPTIONAL},
    ORDER("_<_", "less"),
    ORDER("_<=_", "less_equals"),
    ORDER("_>_", "greater"),
    ORDER("_>=_", "greater_equals"),
    {"_+_",                 "add_bytes",                            "(bytes, bytes) bytes",                 NULL,       LIB_STD, COST_CONCAT},
    {"_+_",                 "add_double",                           "(double, double) double",              NULL,       LIB_STD},
    {"_+_",                 "add_duration_duration",                "(duration, duration) duration",        NULL,       LIB_STD},
    {"_+_",                 "add_duration_timestamp",               "(duration, timestamp) timestamp",      NULL,       LIB_STD},
    {"_+_",                 "add_timestamp_duration",               "(timestamp, duration) timestamp",      NULL,       LIB_STD},
    {"_+_",                 "add_int64",                            "(int, int) int",                       NULL,       LIB_STD},
    {"_+_",                 "add_list",                             "(list(A), list(A)) list(A)",           NULL,       LIB_STD, COST_ADD_LIST},
    {"_+_",                 "add_string",                           "(string, string) string",              NULL,       LIB_STD, COST_CONCAT},
    {"_+_",                 "add_uint64",                           "(uint, uint) uint",                    NULL,       LIB_STD},
    {"_-_",                 "subtract_double",                      "(double, double) double",              NULL,       LIB_STD},
    {"_-_",                 "subtract_duration_duration",           "(duration, duration) duration",        NULL,       LIB_STD},
    {"_-_",                 "subtract_int64",                       "(int, int) int",                       NULL,       LIB_STD},
    {"_-_",                 "subtract_timestamp_duration",          "(timestamp, duration) timestamp",      NULL,       LIB_STD},
    {"_-_",                 "subtract_timestamp_timestamp",         "(timestamp, timestamp) duration",      NULL,       LIB_STD},
    {"_-_",                 "subtract_uint64",                      "(uint, uint) uint",                    NULL,       LIB_STD},
    {"_*_",                 "multiply_double",                      "(double, double) double",              NULL,       LIB_STD},
    {"_*_",                 "multiply_int64",                       "(int, int) int",                       NULL,       LIB_STD},
    {"_*_",                 "multiply_uint64",                      "(uint, uint) uint",                    NULL,       LIB_STD},
    {"_/_",                 "divide_double",                        "(double, double) double",              NULL,       LIB_STD},
    {"_/_",                 "divide_int64",                         "(int, int) int",                       NULL,       LIB_STD},
    {"_/_",                 "divide_uint64",                        "(uint, uint) uint",                    NULL,       LIB_STD},
    {"_%_",                 "modulo_int64",                         "(int, int) int",                       NULL,       LIB_STD},
    {"_%_",                 "modulo_uint64",                        "(uint, uint) uint",                    NULL,       LIB_STD},
    {"-_",                  "negate_double",                        "(double) double",                      NULL,       LIB_STD},
    {"-_",                  "negate_int64",                         "(int) int",                            NULL,       LIB_STD},
    {"size",                "size_bytes",                           "(bytes) int",                          op_size,    LIB_STD},
    {"size",                "bytes_size",                           "bytes.() int",                         op_size,    LIB_STD},
    {"size",                "size_list",                            "(list(A)) int",                        op_size,    LIB_STD},
    {"size",                "list_size",                            "list(A).() int",                       op_size,    LIB_STD},
    {"size",                "size_map",                             "(map(A, B)) int",                      op_size,    LIB_STD},
    {"size",                "map_size",                             "map(A, B).() int",                     op_size,    LIB_STD},
    {"size",                "size_string",                          "(string) int",                         op_size,    LIB_STD},
    {"size",                "string_size",                          "string.() int",                        op_size,    LIB_STD},
    {"contains",            "contains_string",                      "string.(string) bool",                 s_contains, LIB_STD, COST_CONTAINS},
    {"startsWith",          "starts_with_string",                   "string.(string) bool",                 s_starts,   LIB_STD, COST_NEEDLE},
    {"endsWith",            "ends_with_string",                     "string.(string) bool",                 s_ends,     LIB_STD, COST_NEEDLE},
    {"matches",             "matches",                              "(string, string) bool",                s_matches,  LIB_STD, COST_MATCH},
    {"matches",             "matches_string",                       "string.(string) bool",                 s_matches,  LIB_STD, COST_MATCH},
    {"cel.@mapInsert",      "@mapInsert_map_map",                   "(map(A, B), map(A, B)) map(A, B)",     op_insert,  LIB_TWO_VAR},
    {"cel.@mapInsert",      "@mapInsert_map_key_value",             "(map(A, B), A, B) map(A, B)",          op_insert,  LIB_TWO_VAR},
};
/* clang-format on */

/* ---- conversions ---- */

static struct cel_value bad_conversion(struct cel_call *c, struct cel_value v, const char *to)
{
    struct str from = cel_type_of(v)->name;

    return cel_fail_text(c->arena, "type conversion error from '%.*s' to '%s'", STR_ARG(from),
                         to);
}

CEL_FN(to_int)
{
    struct cel_value v = args[0];
    int64_t i;

    switch (v.kind) {
    case CEL_UINT:
        return v.u > INT64_MAX ? cel_fail(CEL_E_OVERFLOW) : cel_int((int64_t)v.u);
    case CEL_DOUBLE:
        if (isnan(v.d) || v.d <= -0x1p63 || v.d >= 0x1p63)
            return cel_fail(CEL_E_OVERFLOW);
        return cel_int((int64_t)v.d);
    case CEL_STRING:
        return str_to_i64(cel_str(v), &i) ? cel_int(i) : bad_conversion(c, v, "int");
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        return cel_int(v.i);
    case CEL_ENUM:
        return cel_int((int32_t)v.len);
    default:
        return v;
    }
}

CEL_FN(to_uint)
{
    struct cel_value v = args[0];
    uint64_t u;

    switch (v.kind) {
    case CEL_INT:
        return v.i < 0 ? cel_fail(CEL_E_UOVERFLOW) : cel_uint((uint64_t)v.i);
    case CEL_DOUBLE:
        if (isnan(v.d) || v.d < 0 || v.d >= 0x1p64)
            return cel_fail(CEL_E_UOVERFLOW);
        return cel_uint((uint64_t)v.d);
    case CEL_STRING:
        return str_to_u64(cel_str(v), &u) ? cel_uint(u) : bad_conversion(c, v, "uint");
    default:
        return v;
    }
}

static bool is_number_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char ch = s.at[i];
        bool is_ok = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
                     (ch >= 'A' && ch <= 'Z') || ch == '+' || ch == '-' || ch == '.';
        if (!is_ok)
            return false;
    }
    return s.len > 0 && s.len < 1024;
}

CEL_FN(to_double)
{
    struct cel_value v = args[0];
    struct str s = cel_str(v);
    char *end, *text;
    double d;

    switch (v.kind) {
    case CEL_INT:
        return cel_double((double)v.i);
    case CEL_UINT:
        return cel_double((double)v.u);
    case CEL_STRING:
        if (!is_number_text(s))
            return bad_conversion(c, v, "double");
        text = str_z(c->arena, s);
        d = strtod(text, &end);
        bool is_word = isinf(d) && str_index(s, 'n') == STR_NONE &&
                       str_index(s, 'N') == STR_NONE; /* too large, not "inf" */
        return *end || is_word ? bad_conversion(c, v, "double") : cel_double(d);
    default:
        return v;
    }
}

CEL_FN(to_bool)
{
    static const struct {
        struct str text;
        bool value;
    } words[] = {
        {S_INIT("1"),     true },
        {S_INIT("t"),     true },
        {S_INIT("T"),     true },
        {S_INIT("TRUE"),  true },
        {S_INIT("true"),  true },
        {S_INIT("True"),  true },
        {S_INIT("0"),     false},
        {S_INIT("f"),     false},
        {S_INIT("F"),     false},
        {S_INIT("FALSE"), false},
        {S_INIT("false"), false},
        {S_INIT("False"), false},
    };

    if (args[0].kind == CEL_BOOL)
        return args[0];
    for (size_t i = 0; i < countof(words); i++)
        if (str_eq(words[i].text, cel_str(args[0])))
            return cel_bool(words[i].value);
    return bad_conversion(c, args[0], "bool");
}

CEL_FN(to_bytes)
{
    return cel_bytes(cel_str(args[0]));
}

CEL_FN(to_string)
{
    struct cel_value v = args[0];
    struct str s;

    switch (v.kind) {
    case CEL_STRING:
        return v;
    case CEL_BYTES:
        if (!str_is_utf8(cel_str(v)))
            return cel_fail_name(CEL_E_TEXT,
                                 S("invalid UTF-8 in bytes, cannot convert to string"));
        return cel_string(cel_str(v));
    case CEL_UINT:
        s = str_printf(c->arena, "%llu", (unsigned long long)v.u);
        break;
    case CEL_DOUBLE:
        s = text_double(c->arena, v.d);
        break;
    default:
        s = text_plain(c->arena, v);
    }
    return cel_text(s);
}

CEL_FN(to_timestamp)
{
    struct cel_value v = args[0];

    if (v.kind == CEL_STRING)
        return stamp_read(cel_str(v));
    if (v.kind == CEL_INT)
        return v.i < STAMP_MIN || v.i > STAMP_MAX ? cel_fail(CEL_E_TIME_OVERFLOW)
                                                  : cel_time(v.i, 0, 0);
    return v;
}

CEL_FN(to_duration)
{
    int64_t ns;

    if (args[0].kind == CEL_DURATION)
        return args[0];
    if (args[0].kind == CEL_INT)
        return cel_duration(args[0].i);
    return duration_read(cel_str(args[0]), &ns)
               ? cel_duration(ns)
               : bad_conversion(c, args[0], "google.protobuf.Duration");
}
/* clang-format off */
static const struct lib_row conversion_rows[] = {
    {"type",      "type",                   "(A) type(A)",           op_type,      LIB_STD},
    {"dyn",       "to_dyn",                 "(A) dyn",               op_same,      LIB_STD, COST_DYN},
    {"bool",      "bool_to_bool",           "(bool) bool",           to_bool,      LIB_STD},
    {"bool",      "string_to_bool",         "(string) bool",         to_bool,      LIB_STD},
    {"bytes",     "bytes_to_bytes",         "(bytes) bytes",         op_same,      LIB_STD},
    {"bytes",     "string_to_bytes",        "(string) bytes",        to_bytes,     LIB_STD, COST_TO_BYTES},
    {"double",    "double_to_double",       "(double) double",       op_same,      LIB_STD},
    {"double",    "int64_to_double",        "(int) double",          to_double,    LIB_STD},
    {"double",    "string_to_double",       "(string) double",       to_double,    LIB_STD},
    {"double",    "uint64_to_double",       "(uint) double",         to_double,    LIB_STD},
    {"duration",  "duration_to_duration",   "(duration) duration",   op_same,      LIB_STD},
    {"duration",  "int64_to_duration",      "(int) duration",        to_duration,  LIB_STD},
    {"duration",  "string_to_duration",     "(string) duration",     to_duration,  LIB_STD},
    {"int",       "int64_to_int64",         "(int) int",             op_same,      LIB_STD},
    {"int",       "enum_to_int64",          "(enum) int",            to_int,       LIB_ENUM},
    {"int",       "double_to_int64",        "(double) int",          to_int,       LIB_STD},
    {"int",       "duration_to_int64",      "(duration) int",        to_int,       LIB_STD},
    {"int",       "string_to_int64",        "(string) int",          to_int,       LIB_STD},
    {"int",       "timestamp_to_int64",     "(timestamp) int",       to_int,       LIB_STD},
    {"int",       "uint64_to_int64",        "(uint) int",            to_int,       LIB_STD},
    {"string",    "string_to_string",       "(string) string",       op_same,      LIB_STD},
    {"string",    "bool_to_string",         "(bool) string",         to_string,    LIB_STD},
    {"string",    "bytes_to_string",        "(bytes) string",        to_string,    LIB_STD, COST_TO_STRING},
    {"string",    "double_to_string",       "(double) string",       to_string,    LIB_STD},
    {"string",    "duration_to_string",     "(duration) string",     to_string,    LIB_STD},
    {"string",    "int64_to_string",        "(int) string",          to_string,    LIB_STD},
    {"string",    "timestamp_to_string",    "(timestamp) string",    to_string,    LIB_STD},
    {"string",    "uint64_to_string",       "(uint) string",         to_string,    LIB_STD},
    {"timestamp", "timestamp_to_timestamp", "(timestamp) timestamp", op_same,      LIB_STD},
    {"timestamp", "int64_to_timestamp",     "(int) timestamp",       to_timestamp, LIB_STD},
    {"timestamp", "string_to_timestamp",    "(string) timestamp",    to_timestamp, LIB_STD},
    {"uint",      "uint64_to_uint64",       "(uint) uint",           op_same,      LIB_STD},
    {"uint",      "double_to_uint64",       "(double) uint",         to_uint,      LIB_STD},
    {"uint",      "int64_to_uint64",        "(int) uint",            to_uint,      LIB_STD},
    {"uint",      "string_to_uint64",       "(string) uint",         to_uint,      LIB_STD},
};
/* clang-format on */

/* ---- times ---- */

enum part {
    PART_YEAR,
    PART_MONTH,
    PART_YEARDAY,
    PART_DAY0,
    PART_DAY1,
    PART_WEEKDAY,
    PART_HOURS,
    PART_MINUTES,
    PART_SECONDS,
    PART_MILLIS,
};

static int64_t part_of(const struct time_civil *t, enum part part)
{
    const int64_t parts[] = {
        t->year,    t->month - 1, t->yearday - 1, t->day - 1, t->day,
        t->weekday, t->hour,      t->minute,      t->second,  t->nanosecond / 1000000};

    return parts[part];
}

CEL_FN(time_part)
{
    enum part part = *(const enum part *)c->data;
    struct cel_value offset = cel_int(0);

    if (n == 2)
        offset = zone_offset(c->arena, cel_str(args[1]), args[0]);
    if (offset.kind == CEL_ERROR)
        return offset;
    struct time_civil t = stamp_civil(args[0], offset.i);
    return cel_int(part_of(&t, part));
}

CEL_FN(span_part)
{
    enum part part = *(const enum part *)c->data;
    int64_t ns = args[0].i;

    switch (part) {
    case PART_HOURS:
        return cel_int(ns / (3600 * SECOND_NS));
    case PART_MINUTES:
        return cel_int(ns / (60 * SECOND_NS));
    case PART_SECONDS:
        return cel_int(ns / SECOND_NS);
    default: /* the language means what is below a second, cel-go the whole */
        return cel_int(c->env->is_definition ? ns % SECOND_NS / 1000000 : ns / 1000000);
    }
}

static const enum part p_year = PART_YEAR, p_month = PART_MONTH, p_yearday = PART_YEARDAY,
                       p_day0 = PART_DAY0, p_day1 = PART_DAY1, p_weekday = PART_WEEKDAY,
                       p_hours = PART_HOURS, p_minutes = PART_MINUTES, p_seconds = PART_SECONDS,
                       p_millis = PART_MILLIS;
/* clang-format off */
#define TIME(name, id, tz, part) \
    {name, id, "timestamp.() int", time_part, LIB_STD, COST_ONE, 0, 0, &part}, \
    {name, tz, "timestamp.(string) int", time_part, LIB_STD, COST_ONE, 0, 0, &part}

static const struct lib_row time_rows[] = {
    TIME("getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz", p_year),
    TIME("getMonth", "timestamp_to_month", "timestamp_to_month_with_tz", p_month),
    TIME("getDayOfYear", "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz", p_yearday),
    TIME("getDayOfMonth", "timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz", p_day0),
    TIME("getDate", "timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz", p_day1),
    TIME("getDayOfWeek", "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz", p_weekday),
    TIME("getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz", p_hours),
    {"getHours",        "duration_to_hours",        "duration.() int", span_part, LIB_STD, COST_ONE, 0, 0, &p_hours},
    TIME("getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz", p_minutes),
    {"getMinutes",      "duration_to_minutes",      "duration.() int", span_part, LIB_STD, COST_ONE, 0, 0, &p_minutes},
    TIME("getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz", p_seconds),
    {"getSeconds",      "duration_to_seconds",      "duration.() int", span_part, LIB_STD, COST_ONE, 0, 0, &p_seconds},
    TIME("getMilliseconds", "timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz", p_millis),
    {"getMilliseconds", "duration_to_milliseconds", "duration.() int", span_part, LIB_STD, COST_ONE, 0, 0, &p_millis},
};
/* clang-format on */

/* ---- optional ---- */

static bool is_zero(struct cel_value v)
{
    switch (v.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v.b;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v.u == 0;
    case CEL_DOUBLE:
        return v.d == 0;
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_LIST:
    case CEL_MAP:
        return v.len == 0;
    case CEL_TIMESTAMP: /* Go's zero time */
        return v.i == STAMP_MIN && v.len == 0;
    case CEL_MESSAGE:
        return message_is_empty(v);
    default:
        return false;
    }
}

CEL_FN(opt_of)
{
    return cel_some(c->arena, args[0]);
}

CEL_FN(opt_none)
{
    return cel_none();
}

CEL_FN(opt_non_zero)
{
    return is_zero(args[0]) ? cel_none() : cel_some(c->arena, args[0]);
}

CEL_FN(opt_has)
{
    return cel_bool(args[0].len > 0);
}

CEL_FN(opt_value)
{
    return args[0].len ? args[0].items[0] : cel_fail(CEL_E_NONE);
}

CEL_FN(opt_unwrap)
{
    struct cel_value list = args[0];
    struct cel_value *items = arena_array(c->arena, struct cel_value, MAX(list.len, 1u));
    uint32_t k = 0;

    for (uint32_t i = 0; i < list.len; i++) {
        struct cel_value v = cel_at(c->arena, list, i);
        if (v.kind != CEL_OPTIONAL) {
            struct str s = cel_show(c->arena, v);
            return cel_fail_text(c->arena, "value %.*s is not optional", STR_ARG(s));
        }
        if (v.len)
            items[k++] = v.items[0];
    }
    return cel_list(items, k);
}

CEL_FN(list_first)
{
    return args[0].len ? cel_some(c->arena, cel_at(c->arena, args[0], 0)) : cel_none();
}

CEL_FN(list_last)
{
    return args[0].len ? cel_some(c->arena, cel_at(c->arena, args[0], args[0].len - 1))
                       : cel_none();
}
/* clang-format off */
static const struct lib_row optional_rows[] = {
    {"optional.of",             "optional_of",             "(A) optional(A)",                       opt_of,       LIB_OPTIONAL},
    {"optional.none",           "optional_none",           "() optional(A)",                        opt_none,     LIB_OPTIONAL},
    {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(A) optional(A)",                       opt_non_zero, LIB_OPTIONAL},
    {"hasValue",                "optional_hasValue",       "optional(A).() bool",                   opt_has,      LIB_OPTIONAL},
    {"value",                   "optional_value",          "optional(A).() A",                      opt_value,    LIB_OPTIONAL},
    {"or",                      "optional_or_optional",    "optional(A).(optional(A)) optional(A)", NULL,         LIB_OPTIONAL},
    {"orValue",                 "optional_orValue_value",  "optional(A).(A) A",                     NULL,         LIB_OPTIONAL},
    {"optional.unwrap",         "optional_unwrap",         "(list(optional(A))) list(A)",           opt_unwrap,   LIB_OPTIONAL, COST_ONE, 2},
    {"unwrapOpt",               "optional_unwrapOpt",      "list(optional(A)).() list(A)",          opt_unwrap,   LIB_OPTIONAL, COST_ONE, 2},
    {"first",                   "list_first",              "list(A).() optional(A)",                list_first,   LIB_OPTIONAL, COST_ONE, 2},
    {"last",                    "list_last",               "list(A).() optional(A)",                list_last,    LIB_OPTIONAL, COST_ONE, 2},
};
/* clang-format on */

const struct lib_table cel_lib_standard = {standard_rows, countof(standard_rows)},
                       cel_lib_conversions = {conversion_rows, countof(conversion_rows)},
                       cel_lib_times = {time_rows, countof(time_rows)},
                       cel_lib_optional = {optional_rows, countof(optional_rows)};
