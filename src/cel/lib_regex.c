/* lib_regex.c - regular expressions of the language's library and of Kubernetes; base64 */
#include "base/base64.h"
#include "cel/lib_priv.h"
#include "cel/scan_priv.h"

#define MAX_MATCHES (1 << 20)
#define MAX_GROUPS 10 /* \0 to \9 */

/* The compiled pattern: the plan's, or made here (then *own is set). */
static const struct regex *pattern(struct cel_call *c, struct str text, struct regex **own,
                                   struct cel_value *bad, const char *prefix)
{
    struct err err = {0};

    *own = NULL;
    if (c->prepared)
        return ((const struct pattern *)c->prepared)->regex;
    *own = regex_new(text, &err);
    if (!*own)
        *bad = cel_fail_text(c->arena, "%s%s", prefix, err.text);
    return *own;
}

/* Walks over matches as Go does: an empty one next to the one before is skipped. */
struct walk {
    size_t at, last;
    bool has_last;
};

static bool next_match(const struct regex *re, struct str s, struct walk *w, struct str *group,
                       size_t n)
{
    while (w->at <= s.len && regex_find(re, s, w->at, group, n)) {
        size_t from = (size_t)(group[0].at - s.at), to = from + group[0].len, step = to;
        bool is_next = w->has_last && group[0].len == 0 && from == w->last;
        if (group[0].len == 0) {
            step = to;
            if (step < s.len)
                str_rune(s, &step);
            else
                step++;
        }
        w->at = step;
        if (is_next)
            continue;
        w->last = to;
        w->has_last = true;
        return true;
    }
    return false;
}

/* ---- Kubernetes' ---- */

CEL_FN(find)
{
    struct cel_value v = {0};
    struct regex *own;
    const struct regex *re = pattern(c, cel_str(args[1]), &own, &v, "Illegal regex: ");
    struct str group;

    if (re)
        v = regex_find(re, cel_str(args[0]), 0, &group, 1) ? cel_text(group) : cel_text(S(""));
    regex_free(own);
    return v;
}

CEL_FN(find_all)
{
    int64_t most = n == 3 && args[2].i >= 0 ? args[2].i : MAX_MATCHES;
    struct cel_value v = {0};
    struct regex *own;
    const struct regex *re = pattern(c, cel_str(args[1]), &own, &v, "Illegal regex: ");
    VEC(struct cel_value) out = {0};
    struct walk w = {0};
    struct str group;

    while (re && (int64_t)out.len < most && next_match(re, cel_str(args[0]), &w, &group, 1))
        vec_push_in(c->arena, &out, cel_text(group));
    regex_free(own);
    return re ? cel_list(out.at, out.len) : v;
}

/* ---- the language's ---- */

/* `\1` and the like in the replacement; false with an error. */
static bool put_replacement(struct cel_call *c, struct buf *b, struct str with,
                            const struct str *group, int n_groups, struct cel_value *bad)
{
    for (size_t i = 0; i < with.len; i++) {
        char ch = with.at[i];
        if (ch != '\\') {
            buf_byte(b, ch);
            continue;
        }
        if (++i == with.len) {
            *bad = cel_fail_text(c->arena,
                                 "invalid replacement string: '%.*s' \\ not allowed "
                                 "at end",
                                 STR_ARG(with));
            return false;
        }
        ch = with.at[i];
        if (ch == '\\') {
            buf_byte(b, ch);
        } else if (ch < '0' || ch > '9') {
            *bad = cel_fail_text(c->arena,
                                 "invalid replacement string: '%.*s' \\ must be "
                                 "followed by a digit or \\",
                                 STR_ARG(with));
            return false;
        } else if (ch - '0' > n_groups) {
            *bad = cel_fail_text(c->arena,
                                 "replacement string references group %d but regex has only %d "
                                 "group(s)",
                                 ch - '0', n_groups);
            return false;
        } else if (group && group[ch - '0'].at) {
            buf_add(b, group[ch - '0']);
        }
    }
    return true;
}

static struct cel_value replace_all(struct cel_call *c, const struct regex *re, struct str s,
                                    struct str with, int64_t most)
{
    int n_groups = regex_groups(re);
    struct buf b = buf_in(c->arena, s.len + 16);
    struct cel_value bad = {0};
    struct str group[MAX_GROUPS] = {0};
    struct walk w = {0};
    size_t done = 0;

    if (!put_replacement(c, &b, with, NULL, n_groups, &bad))
        return bad;
    b.len = 0;
    for (; most > 0 && next_match(re, s, &w, group, (size_t)MIN(n_groups + 1, MAX_GROUPS));
         most--) {
        size_t from = (size_t)(group[0].at - s.at);
        buf_add(&b, str_slice(s, done, from));
        put_replacement(c, &b, with, group, n_groups, &bad);
        done = from + group[0].len;
        if (b.len > CEL_MAX_BYTES)
            return cel_fail(CEL_E_MEMORY);
    }
    buf_add(&b, str_slice(s, done, s.len));
    return cel_text(buf_str(&b));
}

CEL_FN(re_replace)
{
    int64_t most = n == 4 && args[3].i >= 0 ? args[3].i : INT64_MAX;
    struct cel_value v = {0};
    struct regex *own;
    const struct regex *re = pattern(c, cel_str(args[1]), &own, &v, "given regex is invalid: ");

    if (re)
        v = most == 0 ? args[0] : replace_all(c, re, cel_str(args[0]), cel_str(args[2]), most);
    regex_free(own);
    return v;
}

static struct cel_value too_many_groups(struct cel_call *c, struct str p)
{
    return cel_fail_text(
        c->arena, "regular expression has more than one capturing group: \"%.*s\"", STR_ARG(p));
}

CEL_FN(re_extract)
{
    struct cel_value v = {0};
    struct regex *own;
    const struct regex *re = pattern(c, cel_str(args[1]), &own, &v, "given regex is invalid: ");
    struct str group[2] = {0};

    if (re && regex_groups(re) > 1) {
        v = too_many_groups(c, cel_str(args[1]));
    } else if (re) {
        size_t i = (size_t)regex_groups(re);
        bool found = regex_find(re, cel_str(args[0]), 0, group, i + 1);
        if (!found || !group[i].at || (i == 1 && group[1].len == 0))
            v = cel_none();
        else
            v = cel_some(c->arena, cel_text(group[i]));
    }
    regex_free(own);
    return v;
}

CEL_FN(re_extract_all)
{
    struct cel_value v = {0};
    struct regex *own;
    const struct regex *re = pattern(c, cel_str(args[1]), &own, &v, "given regex is invalid: ");
    VEC(struct cel_value) out = {0};
    struct str group[2] = {0};
    struct walk w = {0};

    if (re && regex_groups(re) > 1) {
        v = too_many_groups(c, cel_str(args[1]));
    } else if (re) {
        size_t i = (size_t)regex_groups(re);
        while (out.len < MAX_MATCHES && next_match(re, cel_str(args[0]), &w, group, i + 1))
            if (i == 0 || (group[1].at && group[1].len))
                vec_push_in(c->arena, &out, cel_text(group[i]));
        v = cel_list(out.at, out.len);
    }
    regex_free(own);
    return v;
}

/* ---- base64 ---- */

CEL_FN(encode)
{
    return cel_text(text_base64(c->arena, cel_str(args[0])));
}

/* The text with the padding it was written without. */
static struct str padded(struct arena *a, struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.at[i] != '\n' && s.at[i] != '\r';
    return str_printf(a, "%.*s%.*s", STR_ARG(s), (int)(-n % 4), "===");
}

CEL_FN(decode)
{
    struct str s = cel_str(args[0]), out;
    bool has_padding = str_index(s, '=') != STR_NONE;

    if (!base64_decode(c->arena, has_padding ? s : padded(c->arena, s), &out))
        return cel_fail_text(c->arena, "illegal base64 data at input byte %zu",
                             base64_fault(s));
    return cel_bytes(out);
}
/* clang-format off */
static const struct lib_row rows[] = {
    {"find",             "string_find_string",                          "string.(string) string",               find,           LIB_K8S_REGEX},
    {"findAll",          "string_find_all_string",                      "string.(string) list(string)",         find_all,       LIB_K8S_REGEX},
    {"findAll",          "string_find_all_string_int",                  "string.(string, int) list(string)",    find_all,       LIB_K8S_REGEX},
    {"regex.replace",    "regex_replaceAll_string_string_string",       "(string, string, string) string",      re_replace,     LIB_REGEX},
    {"regex.replace",    "regex_replaceCount_string_string_string_int", "(string, string, string, int) string", re_replace,     LIB_REGEX},
    {"regex.extract",    "regex_extract_string_string",                 "(string, string) optional(string)",    re_extract,     LIB_REGEX},
    {"regex.extractAll", "regex_extractAll_string_string",              "(string, string) list(string)",        re_extract_all, LIB_REGEX},
    {"base64.encode",    "base64_encode_bytes",                         "(bytes) string",                       encode,         LIB_ENCODERS},
    {"base64.decode",    "base64_decode_string",                        "(string) bytes",                       decode,         LIB_ENCODERS},
};
/* clang-format on */
const struct lib_table cel_lib_regex = {rows, countof(rows)};
