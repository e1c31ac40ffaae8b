/* scan.c - patterns that one pass over the text decides
 *
 * Most patterns that rules hold are anchored runs of literals and classes (`^node-[0-9]+$`).
 * Where no repeated class shares a character with what may follow it, taking as many as there
 * are is never wrong, and no automaton is needed. Everything else is RE2's.
 */
#include "cel/scan_priv.h"

#define MAX_STEPS 64
#define MAX_REPEAT 1000

struct step {
    uint64_t set[2]; /* ASCII characters, one bit each */
    uint32_t min, max;
    struct str literal; /* a run of single characters, in place of all that */
};

struct scan {
    uint32_t n;
    bool is_open; /* no `$`: what follows does not matter */
    struct step steps[];
};

struct reader {
    struct str p;
    size_t i;
};

static void add(struct step *s, unsigned char c)
{
    s->set[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool has(const struct step *s, unsigned char c)
{
    return c < 128 && (s->set[c >> 6] >> (c & 63) & 1);
}

static void add_range(struct step *s, unsigned char from, unsigned char to)
{
    for (unsigned c = from; c <= to; c++)
        add(s, (unsigned char)c);
}

/* What stands behind a backslash; false: more than a literal or a class of ASCII. */
static bool read_escape(struct reader *r, struct step *s)
{
    char c = r->i < r->p.len ? r->p.at[r->i++] : 0;

    switch (c) {
    case 'd':
        add_range(s, '0', '9');
        return true;
    case 'w':
        add_range(s, '0', '9');
        add_range(s, 'a', 'z');
        add_range(s, 'A', 'Z');
        add(s, '_');
        return true;
    default:
        if (!c || !strchr(".-/\\_+*?()[]{}^$|:", c))
            return false;
        add(s, (unsigned char)c);
        return true;
    }
}

static bool read_class(struct reader *r, struct step *s)
{
    bool is_first = true;

    if (r->i < r->p.len && r->p.at[r->i] == '^')
        return false;
    for (;; is_first = false) {
        if (r->i >= r->p.len)
            return false;
        unsigned char c = (unsigned char)r->p.at[r->i++];
        if (c == ']' && !is_first)
            return true;
        if (c >= 128 || c == '[' || (c == ']' && is_first))
            return false;
        if (c == '\\') {
            if (!read_escape(r, s) || (r->i < r->p.len && r->p.at[r->i] == '-'))
                return false; /* a range may begin with it */
            continue;
        }
        if (r->i + 1 < r->p.len && r->p.at[r->i] == '-' && r->p.at[r->i + 1] != ']') {
            unsigned char to = (unsigned char)r->p.at[r->i + 1];
            if (to < c || to >= 128 || to == '\\' || to == '[')
                return false;
            add_range(s, c, to);
            r->i += 2;
        } else {
            add(s, c);
        }
    }
}

/* `{2}`, `{2,}`, `{2,5}` behind the brace. */
static bool read_counts(struct reader *r, struct step *s)
{
    uint32_t v[2] = {0, 0};
    bool has_comma = false, has_digit = false;

    for (; r->i < r->p.len && r->p.at[r->i] != '}'; r->i++) {
        char c = r->p.at[r->i];
        if (c == ',' && !has_comma && has_digit) {
            has_comma = true;
            has_digit = false;
            continue;
        }
        if (c < '0' || c > '9' || (has_digit && v[has_comma] == 0))
            return false; /* RE2 takes braces around 03 as they are */
        v[has_comma] = v[has_comma] * 10 + (uint32_t)(c - '0');
        has_digit = true;
        if (v[has_comma] > MAX_REPEAT)
            return false;
    }
    if (r->i++ >= r->p.len || (!has_comma && !has_digit))
        return false;
    s->min = v[0];
    s->max = !has_comma ? v[0] : has_digit ? v[1] : UINT32_MAX;
    return s->min <= s->max && s->max > 0;
}

static bool read_repeat(struct reader *r, struct step *s)
{
    char c = r->i < r->p.len ? r->p.at[r->i] : 0;

    s->min = s->max = 1;
    if (c == '*' || c == '+' || c == '?') {
        s->min = c == '+';
        s->max = c == '?' ? 1 : UINT32_MAX;
        r->i++;
    } else if (c == '{') {
        r->i++;
        if (!read_counts(r, s))
            return false;
    } else {
        return true;
    }
    c = r->i < r->p.len ? r->p.at[r->i] : 0; /* lazy or doubled: not ours */
    return c != '?' && c != '*' && c != '+' && c != '{';
}

static bool read_step(struct reader *r, struct step *s)
{
    unsigned char c = (unsigned char)r->p.at[r->i++];
    bool is_ok;

    *s = (struct step){0};
    if (c == '[')
        is_ok = read_class(r, s);
    else if (c == '\\')
        is_ok = read_escape(r, s);
    else if (c >= 128 || c == 0 || strchr(".*+?(){}|^$", c))
        is_ok = false;
    else {
        add(s, c);
        is_ok = true;
    }
    return is_ok && read_repeat(r, s);
}

static bool overlap(const struct step *x, const struct step *y)
{
    return (x->set[0] & y->set[0]) || (x->set[1] & y->set[1]);
}

/* Is taking all one can at each step the only way to match? */
static bool is_greedy(const struct step *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (steps[i].min == steps[i].max)
            continue;
        for (uint32_t k = i + 1; k < n; k++) {
            if (overlap(&steps[i], &steps[k]))
                return false;
            if (steps[k].min > 0)
                break;
        }
    }
    return true;
}

/* The one character that a step takes, or 0. */
static char only(const struct step *s)
{
    bool is_one = __builtin_popcountll(s->set[0]) + __builtin_popcountll(s->set[1]) == 1;

    if (!is_one || s->min != 1 || s->max != 1)
        return 0;
    return (char)(s->set[0] ? __builtin_ctzll(s->set[0]) : 64 + __builtin_ctzll(s->set[1]));
}

/* Runs of single characters become literals; the number of steps left. */
static uint32_t join(struct arena *a, struct step *steps, uint32_t n)
{
    uint32_t out = 0;

    for (uint32_t i = 0; i < n;) {
        struct buf b = buf_in(a, 0);
        uint32_t from = i;
        while (i < n && only(&steps[i]))
            buf_byte(&b, only(&steps[i++]));
        if (i > from)
            steps[out++] = (struct step){.literal = buf_str(&b)};
        else
            steps[out++] = steps[i++];
    }
    return out;
}

const struct scan *scan_new(struct arena *a, struct str pattern)
{
    struct reader r = {pattern, 1};
    struct step steps[MAX_STEPS];
    struct scan *s;
    uint32_t n = 0;
    bool is_open = true;

    if (!pattern.len || pattern.at[0] != '^')
        return NULL;
    while (r.i < pattern.len) {
        if (pattern.at[r.i] == '$' && r.i + 1 == pattern.len) {
            is_open = false;
            break;
        }
        if (n == MAX_STEPS || !read_step(&r, &steps[n++]))
            return NULL;
    }
    if (!is_greedy(steps, n))
        return NULL;
    n = join(a, steps, n);
    s = arena_alloc(a, sizeof(*s) + n * sizeof(steps[0]), _Alignof(struct scan));
    s->n = n;
    s->is_open = is_open;
    memcpy(s->steps, steps, n * sizeof(steps[0]));
    return s;
}

bool scan_match(const struct scan *s, struct str text)
{
    const char *at = text.at, *end = text.at + text.len;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct step *step = &s->steps[i];
        uint32_t k = 0;
        if (step->literal.len) {
            if ((size_t)(end - at) < step->literal.len ||
                memcmp(at, step->literal.at, step->literal.len) != 0)
                return false;
            at += step->literal.len;
            continue;
        }
        while (k < step->max && at < end && has(step, (unsigned char)*at))
            at++, k++;
        if (k < step->min)
            return false;
    }
    return s->is_open || at == end;
}
