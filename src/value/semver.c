/* semver.c - versions by semver.org 2.0.0 */
#include "value/semver.h"

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return s.len > 0;
}

static bool is_identifier(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '-'))
            return false;
    }
    return s.len > 0;
}

static int bad(struct err *err, const char *what, const char *where, struct str s)
{
    return err_set(err, ERR_SYNTAX, "%s %s \"%.*s\"", what, where, (int)MIN(s.len, (size_t)64),
                   s.at ? s.at : "");
}

static int read_number(struct str s, const char *lower, const char *title, uint64_t *out,
                       struct err *err)
{
    if (!is_digits(s))
        return bad(err, "Invalid character(s) found in", lower, s);
    if (s.len > 1 && s.at[0] == '0')
        return bad(err, title, "must not contain leading zeroes", s);
    if (!str_to_u64(s, out))
        return bad(err, title, "is out of range", s);
    return 0;
}

/* Identifiers between dots; numeric ones must be plain numbers of 64 bits where `is_pre`. */
static int check_identifiers(struct str s, bool is_pre, struct err *err)
{
    struct str part;
    uint64_t v;

    for (bool has_more = true; has_more;) {
        has_more = str_cut(s, '.', &part, &s);
        if (part.len == 0)
            return err_set(err, ERR_SYNTAX,
                           is_pre ? "Prerelease is empty" : "Build meta data is empty");
        if (!is_identifier(part))
            return bad(err, "Invalid character(s) found in",
                       is_pre ? "prerelease" : "build meta data", part);
        if (!is_pre || !is_digits(part))
            continue;
        if (part.len > 1 && part.at[0] == '0')
            return bad(err, "Numeric PreRelease version", "must not contain leading zeroes",
                       part);
        if (!str_to_u64(part, &v))
            return bad(err, "Numeric PreRelease version", "is out of range", part);
    }
    return 0;
}

int semver_parse(struct str text, struct semver *out, struct err *err)
{
    struct str major, minor, rest, patch;
    struct semver v = {0};

    if (text.len == 0)
        return err_set(err, ERR_SYNTAX, "Version string empty");
    if (!str_cut(text, '.', &major, &rest) || !str_cut(rest, '.', &minor, &rest))
        return err_set(err, ERR_SYNTAX, "No Major.Minor.Patch elements found");
    if (read_number(major, "major number", "Major number", &v.major, err) < 0 ||
        read_number(minor, "minor number", "Minor number", &v.minor, err) < 0)
        return -1;
    bool has_build = str_cut(rest, '+', &rest, &v.build);
    bool has_pre = str_cut(rest, '-', &patch, &v.pre);
    if (read_number(patch, "patch number", "Patch number", &v.patch, err) < 0 ||
        (has_pre && check_identifiers(v.pre, true, err) < 0) ||
        (has_build && check_identifiers(v.build, false, err) < 0))
        return -1;
    *out = v;
    return 0;
}

/* Without leading zeros, one kept where no digit follows them. */
static struct str without_zeros(struct str s)
{
    size_t n = 0;

    if (s.len < 2)
        return s;
    while (n < s.len && s.at[n] == '0')
        n++;
    if (n > 0 && (n == s.len || s.at[n] < '0' || s.at[n] > '9'))
        n--;
    return str_slice(s, n, s.len);
}

int semver_parse_lax(struct arena *a, struct str text, struct semver *out, struct err *err)
{
    struct str part[3] = {0}, rest = text;
    size_t n = 0;

    if (str_starts(rest, S("v")))
        rest = str_slice(rest, 1, rest.len);
    while (n < 2 && str_cut(rest, '.', &part[n], &rest))
        n++;
    part[n] = n < 2 ? part[n] : rest;
    struct str *last = &part[n++];
    if (n < 3 && (str_index(*last, '+') != STR_NONE || str_index(*last, '-') != STR_NONE))
        return err_set(err, ERR_SYNTAX,
                       "short version cannot contain PreRelease/Build meta data");
    struct buf b = buf_in(a, text.len + 8);
    for (size_t i = 0; i < 3; i++) {
        buf_add(&b, i ? S(".") : S(""));
        buf_add(&b, i < n ? without_zeros(part[i]) : S("0"));
    }
    return semver_parse(buf_str(&b), out, err);
}

static int cmp_u64(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int cmp_identifiers(struct str x, struct str y)
{
    bool x_is_number = is_digits(x), y_is_number = is_digits(y);

    if (x_is_number != y_is_number)
        return x_is_number ? -1 : 1;
    if (x_is_number && x.len != y.len)
        return x.len < y.len ? -1 : 1;
    int order = str_cmp(x, y);
    return (order > 0) - (order < 0);
}

static int cmp_pre(struct str x, struct str y)
{
    struct str xp, yp;
    bool x_more = true, y_more = true;

    if (x.len == 0 || y.len == 0)
        return (x.len == 0) - (y.len == 0);
    while (x_more && y_more) {
        x_more = str_cut(x, '.', &xp, &x);
        y_more = str_cut(y, '.', &yp, &y);
        int order = cmp_identifiers(xp, yp);
        if (order)
            return order;
    }
    return x_more - y_more;
}

int semver_cmp(const struct semver *x, const struct semver *y)
{
    if (x->major != y->major)
        return cmp_u64(x->major, y->major);
    if (x->minor != y->minor)
        return cmp_u64(x->minor, y->minor);
    if (x->patch != y->patch)
        return cmp_u64(x->patch, y->patch);
    return cmp_pre(x->pre, y->pre);
}

void semver_write(struct buf *out, const struct semver *v)
{
    buf_printf(out, "%" PRIu64 ".%" PRIu64 ".%" PRIu64, v->major, v->minor, v->patch);
    if (v->pre.len)
        buf_printf(out, "-%.*s", STR_ARG(v->pre));
    if (v->build.len)
        buf_printf(out, "+%.*s", STR_ARG(v->build));
}
