/* lib_strings.c - the strings library: positions are code points */
#include "cel/lib_priv.h"

#define MAX_PIECES (1 << 20) /* of one split */

size_t rune_offset(struct str s, size_t i)
{
    size_t at = 0;

    for (; i > 0 && at < s.len; i--)
        do
            at++;
        while (at < s.len && (s.at[at] & 0xC0) == 0x80);
    return at;
}

static struct cel_value out_of_range(struct cel_call *c, int64_t i)
{
    return cel_fail_text(c->arena, "index out of range: %lld", (long long)i);
}

CEL_FN(char_at)
{
    struct str s = cel_str(args[0]);
    int64_t i = args[1].i, len = (int64_t)string_size(args[0]);

    if (i < 0 || i > len)
        return out_of_range(c, i);
    size_t from = rune_offset(s, (size_t)i), to = from;
    if (i == len)
        return cel_text(S(""));
    str_rune(s, &to);
    return cel_text(str_slice(s, from, to));
}

CEL_FN(index_of)
{
    struct str s = cel_str(args[0]), what = cel_str(args[1]);
    int64_t len = (int64_t)string_size(args[0]), from = n == 3 ? args[2].i : 0;

    if (n == 3 && (from < 0 || (c->env->is_definition && from > len)))
        return out_of_range(c, from);
    if (what.len == 0)
        return cel_int(MIN(from, len));
    if (from >= len)
        return cel_int(-1);
    size_t start = rune_offset(s, (size_t)from);
    size_t at = str_find(str_slice(s, start, s.len), what);
    return cel_int(at == STR_NONE ? -1 : (int64_t)str_runes(str_slice(s, 0, start + at)));
}

CEL_FN(last_index_of)
{
    struct str s = cel_str(args[0]), what = cel_str(args[1]);
    int64_t len = (int64_t)string_size(args[0]), from = n == 3 ? args[2].i : len;

    if (n == 3 && (from < 0 || (c->env->is_definition && from > len)))
        return out_of_range(c, from);
    if (what.len == 0)
        return cel_int(MIN(from, len));
    if (n == 3 && from >= len)
        return cel_int(-1);
    if (what.len > s.len)
        return cel_int(-1);
    size_t at = MIN(rune_offset(s, (size_t)from), s.len - what.len);
    for (;; at--) {
        if (memcmp(s.at + at, what.at, what.len) == 0)
            return cel_int((int64_t)str_runes(str_slice(s, 0, at)));
        if (at == 0)
            return cel_int(-1);
    }
}

static struct cel_value change_case(struct cel_call *c, struct cel_value v, char first,
                                    char last)
{
    char *copy = arena_raw(c->arena, MAX(v.len, 1u), 1);

    for (uint32_t i = 0; i < v.len; i++)
        copy[i] = v.s[i] >= first && v.s[i] <= last ? (char)(v.s[i] ^ 0x20) : v.s[i];
    v.s = copy;
    return v;
}

CEL_FN(lower)
{
    return change_case(c, args[0], 'A', 'Z');
}

CEL_FN(upper)
{
    return change_case(c, args[0], 'a', 'z');
}

/* With an empty `old`: before each code point and at the end. */
static void replace_empty(struct buf *b, struct str s, struct str with, int64_t most)
{
    size_t i = 0;

    for (; most > 0 && i < s.len; most--) {
        size_t from = i;
        buf_add(b, with);
        str_rune(s, &i);
        buf_add(b, str_slice(s, from, i));
    }
    buf_add(b, str_slice(s, i, s.len));
    if (most > 0)
        buf_add(b, with);
}

CEL_FN(replace)
{
    struct str s = cel_str(args[0]), old = cel_str(args[1]), with = cel_str(args[2]);
    int64_t most = n == 4 && args[3].i >= 0 ? args[3].i : INT64_MAX;
    struct buf b;

    if (with.len && (s.len + 1) > CEL_MAX_BYTES / with.len)
        return cel_fail(CEL_E_MEMORY);
    if (most == 0 || (old.len && str_find(s, old) == STR_NONE))
        return args[0];
    b = buf_in(c->arena, s.len + with.len + 16);
    if (old.len == 0) {
        replace_empty(&b, s, with, most);
        return cel_text(buf_str(&b));
    }
    for (size_t at; most > 0 && (at = str_find(s, old)) != STR_NONE; most--) {
        buf_add(&b, str_slice(s, 0, at));
        buf_add(&b, with);
        s = str_slice(s, at + old.len, s.len);
    }
    buf_add(&b, s);
    return cel_text(buf_str(&b));
}

CEL_FN(split)
{
    struct str s = cel_str(args[0]), sep = cel_str(args[1]);
    int64_t most = n == 3 && args[2].i >= 0 ? args[2].i : MAX_PIECES;
    VEC(struct cel_value) out = {0};

    if (most == 0 || (sep.len == 0 && s.len == 0))
        return cel_list(NULL, 0);
    while ((int64_t)out.len + 1 < most) {
        size_t at = 0, skip = sep.len;
        if (sep.len == 0) {
            str_rune(s, &at);
            if (at >= s.len)
                break;
        } else if ((at = str_find(s, sep)) == STR_NONE) {
            break;
        }
        vec_push_in(c->arena, &out, cel_text(str_slice(s, 0, at)));
        s = str_slice(s, at + skip, s.len);
    }
    vec_push_in(c->arena, &out, cel_text(s));
    return cel_list(out.at, out.len);
}

CEL_FN(substring)
{
    struct str s = cel_str(args[0]);
    int64_t len = (int64_t)string_size(args[0]), from = args[1].i,
            to = n == 3 ? args[2].i : len;

    if (n == 3 && from > to)
        return cel_fail_text(c->arena, "invalid substring range. start: %lld, end: %lld",
                             (long long)from, (long long)to);
    if (from < 0 || from > len)
        return out_of_range(c, from);
    if (to < 0 || to > len)
        return out_of_range(c, to);
    struct cel_value v =
        cel_string(str_slice(s, rune_offset(s, (size_t)from), rune_offset(s, (size_t)to)));
    v.form = args[0].form;
    return v.form ? v : cel_text(cel_str(v));
}

/* Unicode's White_Space. */
static bool is_space(int32_t r)
{
    return (r >= 9 && r <= 13) || r == ' ' || r == 0x85 || r == 0xA0 || r == 0x1680 ||
           (r >= 0x2000 && r <= 0x200A) || r == 0x2028 || r == 0x2029 || r == 0x202F ||
           r == 0x205F || r == 0x3000;
}

CEL_FN(trim)
{
    struct str s = cel_str(args[0]);
    size_t from = s.len, to = 0;

    for (size_t i = 0; i < s.len;) {
        size_t at = i;
        if (is_space(str_rune(s, &i)))
            continue;
        from = MIN(from, at);
        to = i;
    }
    return cel_text(from < to ? str_slice(s, from, to) : S(""));
}

CEL_FN(join)
{
    struct str sep = n == 2 ? cel_str(args[1]) : S("");
    struct buf b = buf_in(c->arena, 64);

    for (uint32_t i = 0; i < args[0].len; i++) {
        struct cel_value v = cel_at(c->arena, args[0], i);
        if (v.kind != CEL_STRING) {
            struct str s = cel_show(c->arena, v);
            return cel_fail_text(c->arena, "join: invalid input: %.*s", STR_ARG(s));
        }
        if (b.len + sep.len + v.len > CEL_MAX_BYTES)
            return cel_fail(CEL_E_MEMORY);
        if (i)
            buf_add(&b, sep);
        buf_add(&b, cel_str(v));
    }
    return cel_text(buf_str(&b));
}

CEL_FN(quote)
{
    struct str s = cel_str(args[0]);
    struct buf b = buf_in(c->arena, s.len + 8);

    buf_byte(&b, '"');
    for (size_t i = 0; i < s.len;) {
        size_t at = i;
        if (str_rune(s, &i) < 0) {
            buf_add(&b, S("\xef\xbf\xbd"));
            continue;
        }
        if (!text_escape(&b, s.at[at]))
            buf_add(&b, str_slice(s, at, i));
    }
    buf_byte(&b, '"');
    return cel_text(buf_str(&b));
}

CEL_FN(reverse)
{
    struct cel_value v = args[0];
    char *out = arena_raw(c->arena, MAX(v.len, 1u), 1);
    struct str s = cel_str(v);

    for (size_t i = 0; i < s.len;) {
        size_t from = i;
        str_rune(s, &i);
        memcpy(out + s.len - i, s.at + from, i - from);
    }
    v.s = out;
    return v;
}

CEL_FN(format)
{
    return format_string(c, cel_str(args[0]), args[1]);
}
/* clang-format off */
static const struct lib_row rows[] = {
    {"charAt",        "string_char_at_int",               "string.(int) string",                 char_at,       LIB_STRINGS},
    {"indexOf",       "string_index_of_string",           "string.(string) int",                 index_of,      LIB_STRINGS},
    {"indexOf",       "string_index_of_string_int",       "string.(string, int) int",            index_of,      LIB_STRINGS},
    {"lastIndexOf",   "string_last_index_of_string",      "string.(string) int",                 last_index_of, LIB_STRINGS},
    {"lastIndexOf",   "string_last_index_of_string_int",  "string.(string, int) int",            last_index_of, LIB_STRINGS},
    {"lowerAscii",    "string_lower_ascii",               "string.() string",                    lower,         LIB_STRINGS},
    {"upperAscii",    "string_upper_ascii",               "string.() string",                    upper,         LIB_STRINGS},
    {"replace",       "string_replace_string_string",     "string.(string, string) string",      replace,       LIB_STRINGS},
    {"replace",       "string_replace_string_string_int", "string.(string, string, int) string", replace,       LIB_STRINGS},
    {"split",         "string_split_string",              "string.(string) list(string)",        split,         LIB_STRINGS},
    {"split",         "string_split_string_int",          "string.(string, int) list(string)",   split,         LIB_STRINGS},
    {"substring",     "string_substring_int",             "string.(int) string",                 substring,     LIB_STRINGS},
    {"substring",     "string_substring_int_int",         "string.(int, int) string",            substring,     LIB_STRINGS},
    {"trim",          "string_trim",                      "string.() string",                    trim,          LIB_STRINGS},
    {"join",          "list_join",                        "list(string).() string",              join,          LIB_STRINGS},
    {"join",          "list_join_string",                 "list(string).(string) string",        join,          LIB_STRINGS},
    {"format",        "string_format",                    "string.(list(dyn)) string",           format,        LIB_STRINGS, COST_FORMAT, 1},
    {"strings.quote", "strings_quote",                    "(string) string",                     quote,         LIB_STRINGS, COST_QUOTE,  1},
    {"reverse",       "string_reverse",                   "string.() string",                    reverse,       LIB_STRINGS, COST_ONE,    3},
};
/* clang-format on */
const struct lib_table cel_lib_strings = {rows, countof(rows)};
