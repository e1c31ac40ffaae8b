/* parse.c - text to tree
 *
 * Recursive descent, bounded by JSON_MAX_DEPTH. Elements are gathered on two stacks that all
 * levels share; a finished array or object is copied once, in its exact size, to the arena.
 */
#include "json/json_priv.h"
#include "json/number_priv.h"

#define STACK_FIRST 64    /* elements a stack holds before it moves to the heap */
#define LINEAR_MEMBERS 16 /* objects past this look for duplicates by hash */
#define DUPS_MAX 100      /* paths that are told; more help nobody */

struct frame { /* where we are; only paths of duplicates read it */
    const struct frame *up;
    struct str name; /* of the member being read; at == NULL in an array */
    size_t index;
};

struct parser {
    struct arena *arena;
    const char *start, *at, *end;
    struct json_dups *dups;
    struct err *err;
    const struct json_raw_path *raw; /* what stays text, or NULL */
    size_t n_on_path;                /* of its names lead to where we are */
    unsigned depth;
    struct json *items;
    struct json_member *members;
    size_t n_items, cap_items, n_members, cap_members;
    struct json first_items[STACK_FIRST];
    struct json_member first_members[STACK_FIRST];
};

/* What a value is that could not be read; the error is told. Values go by value: a node that is
 * written in parts and read back at once costs more than its text. */
#define FAILED UINT8_MAX
static const struct json failed = {.type = FAILED};

static struct json value(struct parser *p, const struct frame *up);

/* ---- errors ---- */

static bool fail(struct parser *p, const char *what)
{
    size_t offset = (size_t)(p->at - p->start);

    if (p->at >= p->end)
        err_set(p->err, ERR_SYNTAX, "unexpected end of JSON input");
    else if ((unsigned char)*p->at > 0x20 && (unsigned char)*p->at < 0x7f)
        err_set(p->err, ERR_SYNTAX, "invalid character '%c' at offset %zu: %s", *p->at, offset,
                what);
    else
        err_set(p->err, ERR_SYNTAX, "invalid byte 0x%02x at offset %zu: %s",
                (unsigned char)*p->at, offset, what);
    return false;
}

static bool skip_spaces(struct parser *p)
{
    const char *at = p->at, *end = p->end;

    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    p->at = at;
    return at < end;
}

static inline bool skip_space(struct parser *p)
{
    if (likely(p->at < p->end && (unsigned char)*p->at > ' '))
        return true; /* as mostly: most texts are compact */
    return skip_spaces(p);
}

/* Past the next sign where it is c. */
static inline bool take(struct parser *p, char c)
{
    if (!skip_space(p) || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* ---- strings ---- */

static int hex4(const char *at, const char *end)
{
    int v = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i], low = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (low - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/* "\uXXXX", with its second half where it is a pair; a lone surrogate is U+FFFD. */
static bool unicode_escape(struct parser *p, struct buf *out)
{
    int32_t rune = hex4(p->at, p->end), second;

    if (rune < 0)
        return fail(p, "in \\u hexadecimal character escape");
    p->at += 4;
    if (rune >= 0xD800 && rune < 0xDC00 && p->end - p->at >= 6 && p->at[0] == '\\' &&
        p->at[1] == 'u') {
        second = hex4(p->at + 2, p->end);
        if (second >= 0xDC00 && second < 0xE000) {
            rune = 0x10000 + ((rune - 0xD800) << 10) + (second - 0xDC00);
            p->at += 6;
        }
    }
    out->len += str_put_rune(buf_room(out, 4), rune);
    return true;
}

static bool escape(struct parser *p, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *c;

    p->at++;
    if (p->at >= p->end)
        return fail(p, "");
    if (*p->at == 'u') {
        p->at++;
        return unicode_escape(p, out);
    }
    c = *p->at ? strchr(from, *p->at) : NULL;
    if (!c)
        return fail(p, "in string escape code");
    p->at++;
    buf_byte(out, to[c - from]);
    return true;
}

/* The rest of a string that needs work: escapes undone, invalid UTF-8 made U+FFFD. */
static bool string_slow(struct parser *p, const char *from, struct str *out)
{
    struct buf b = buf_in(p->arena, (size_t)(p->at - from) + 32);

    buf_add(&b, str_of(from, (size_t)(p->at - from)));
    while (p->at < p->end) {
        const char *plain = json_plain(p->at, p->end);
        buf_add(&b, str_of(p->at, (size_t)(plain - p->at)));
        p->at = plain;
        if (p->at == p->end)
            break;
        if (*p->at == '"') {
            p->at++;
            *out = buf_str(&b);
            return true;
        }
        if (*p->at == '\\') {
            if (!escape(p, &b))
                return false;
        } else if ((unsigned char)*p->at < 0x20) {
            return fail(p, "in string literal");
        } else {
            size_t i = 0;
            int32_t rune = str_rune(str_of(p->at, (size_t)(p->end - p->at)), &i);
            b.len += str_put_rune(buf_room(&b, 4), rune < 0 ? 0xFFFD : rune);
            p->at += i;
        }
    }
    return fail(p, "");
}

/* What follows a quote; valid UTF-8 without escapes is shown where it stands. */
static bool string(struct parser *p, struct str *out)
{
    const char *from = p->at;

    for (;;) {
        p->at = json_plain(p->at, p->end);
        if (likely(p->at < p->end && *p->at == '"')) {
            *out = str_of(from, (size_t)(p->at - from));
            p->at++;
            return true;
        }
        if (p->at == p->end || (unsigned char)*p->at < 0x80)
            return string_slow(p, from, out);
        size_t i = 0;
        if (str_rune(str_of(p->at, (size_t)(p->end - p->at)), &i) < 0)
            return string_slow(p, from, out);
        p->at += i;
    }
}

/* ---- arrays and objects ---- */

static void *stack_grow(void *at, const void *first, size_t *cap, size_t size)
{
    size_t n = *cap;

    *cap *= 2;
    if (at != first)
        return mem_grow(at, size_mul(*cap, size));
    return memcpy(mem_alloc(size_mul(*cap, size)), at, n * size);
}

static inline void push_item(struct parser *p, struct json v)
{
    if (p->n_items == p->cap_items)
        p->items = stack_grow(p->items, p->first_items, &p->cap_items, sizeof(v));
    p->items[p->n_items++] = v;
}

static inline void push_member(struct parser *p, struct str name, struct json v)
{
    if (p->n_members == p->cap_members)
        p->members = stack_grow(p->members, p->first_members, &p->cap_members,
                                sizeof(struct json_member));
    p->members[p->n_members++] = (struct json_member){name, v};
}

/* Strings are what most values are. */
static inline struct json next_value(struct parser *p, const struct frame *up)
{
    struct str s;

    if (!take(p, '"'))
        return value(p, up);
    return string(p, &s) ? json_of_str(s) : failed;
}

static struct json array(struct parser *p, const struct frame *up)
{
    struct frame here = {.up = up};
    size_t base = p->n_items;

    p->at++;
    if (take(p, ']'))
        return (struct json){.type = JSON_ARRAY};
    for (;; here.index++) {
        struct json v = next_value(p, &here);
        if (v.type == FAILED)
            return failed;
        push_item(p, v);
        if (take(p, ','))
            continue;
        if (take(p, ']'))
            break;
        fail(p, "after array element");
        return failed;
    }
    size_t n = p->n_items - base;
    struct json *items = arena_raw(p->arena, n * sizeof(*items), _Alignof(struct json));
    memcpy(items, p->items + base, n * sizeof(*items));
    p->n_items = base;
    return (struct json){.type = JSON_ARRAY, .len = (uint32_t)n, .items = items};
}

/* The indexes of a large object's members by name. Kept on the heap while it is read. */
typedef MAP(uint32_t) name_map;

static void name_map_fini(name_map *m)
{
    if (map_len(m)) /* few objects are large */
        map_fini(m);
}

static size_t find_member(struct parser *p, name_map *names, size_t base, struct str name)
{
    size_t n = p->n_members - base;

    if (n <= LINEAR_MEMBERS)
        return json_index(p->members + base, n, name);
    for (size_t i = map_len(names); i < n; i++)
        *map_put(names, p->members[base + i].name) = (uint32_t)i;
    const uint32_t *index = map_get(names, name);
    return index ? *index : STR_NONE;
}

static void path_of(struct buf *b, const struct frame *f)
{
    if (!f)
        return;
    path_of(b, f->up);
    if (!f->name.at)
        buf_printf(b, "[%zu]", f->index);
    else
        buf_printf(b, "%s%.*s", b->len ? "." : "", STR_ARG(f->name));
}

static void tell_duplicate(struct parser *p, const struct frame *f)
{
    struct buf b;

    if (!p->dups || p->dups->paths.len >= DUPS_MAX)
        return;
    b = buf_in(p->arena, 64);
    path_of(&b, f);
    vec_each (i, &p->dups->paths)
        if (str_eq(p->dups->paths.at[i], buf_str(&b)))
            return;
    vec_push_in(p->arena, &p->dups->paths, buf_str(&b));
}

const char *json_string_end(const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at)
            return NULL;
        const char *before = at;
        while (before > from && before[-1] == '\\')
            before--;
        if ((at - before) % 2 == 0)
            return at;
    }
    return NULL;
}

size_t json_object_len(const char *from, const char *end)
{
    size_t depth = 0;

    for (const char *at = from; at < end; at++) {
        if (*at == '"') {
            at = json_string_end(at + 1, end);
            if (!at)
                return 0;
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}' && --depth == 0) {
            return (size_t)(at + 1 - from);
        }
    }
    return 0;
}

/* An object of a text that we wrote, as it stands. */
static struct json raw(struct parser *p)
{
    const char *from = p->at;
    size_t n = json_object_len(from, p->end);

    p->at = n ? from + n : p->end;
    if (n)
        return json_of_raw(str_of(from, n));
    fail(p, "");
    return failed;
}

/* The value of a member, which may be on the path of what stays text. */
static struct json value_on_path(struct parser *p, const struct frame *here)
{
    const struct json_raw_path *path = p->raw;
    size_t n = p->n_on_path;
    struct json v;

    if (n == path->n || !str_eq(here->name, path->names[n])) {
        p->raw = NULL;
        v = next_value(p, here);
    } else if (n + 1 == path->n && skip_space(p) && *p->at == '{') {
        v = raw(p);
    } else {
        p->n_on_path++;
        v = next_value(p, here);
        p->n_on_path--;
    }
    p->raw = path;
    return v;
}

static inline bool member(struct parser *p, struct frame *here, name_map *names, size_t base)
{
    size_t known;

    if (!take(p, '"'))
        return fail(p, "looking for a member's name in double quotes");
    if (!string(p, &here->name))
        return false;
    if (!take(p, ':'))
        return fail(p, "after object key");
    known = find_member(p, names, base, here->name);
    if (unlikely(known != STR_NONE))
        tell_duplicate(p, here);
    struct json v = unlikely(p->raw) ? value_on_path(p, here) : next_value(p, here);
    if (v.type == FAILED)
        return false;
    if (likely(known == STR_NONE))
        push_member(p, here->name, v);
    else
        p->members[base + known].value = v;
    return true;
}

static struct json object(struct parser *p, const struct frame *up)
{
    scoped(name_map_fini) name_map names = {0};
    struct frame here = {.up = up};
    size_t base = p->n_members;

    p->at++;
    if (take(p, '}'))
        return (struct json){.type = JSON_OBJECT};
    for (;;) {
        if (!member(p, &here, &names, base))
            return failed;
        if (take(p, ','))
            continue;
        if (take(p, '}'))
            break;
        fail(p, "after object key:value pair");
        return failed;
    }
    size_t n = p->n_members - base;
    struct json_member *members =
        arena_raw(p->arena, n * sizeof(*members), _Alignof(struct json_member));
    memcpy(members, p->members + base, n * sizeof(*members));
    p->n_members = base;
    return (struct json){.type = JSON_OBJECT, .len = (uint32_t)n, .members = members};
}

/* ---- values ---- */

static struct json literal(struct parser *p, struct str word, struct json v)
{
    for (size_t i = 0; i < word.len; i++, p->at++)
        if (p->at >= p->end || *p->at != word.at[i]) {
            fail(p, "in a literal such as true, false or null");
            return failed;
        }
    return v;
}

static struct json number(struct parser *p)
{
    bool is_huge;
    struct json v;
    const char *after = json_number(p->at, p->end, &v, &is_huge);

    if (!after) {
        fail(p, "a number is not written so");
        return failed;
    }
    if (is_huge) {
        err_set(p->err, ERR_SYNTAX, "number at offset %zu is out of range",
                (size_t)(p->at - p->start));
        return failed;
    }
    p->at = after;
    return v;
}

static struct json nested(struct parser *p, const struct frame *up)
{
    struct json v;

    if (++p->depth > JSON_MAX_DEPTH) {
        err_set(p->err, ERR_LIMIT, "JSON is nested deeper than the limit of %d",
                JSON_MAX_DEPTH);
        return failed;
    }
    v = *p->at == '{' ? object(p, up) : array(p, up);
    p->depth--;
    return v;
}

static struct json value(struct parser *p, const struct frame *up)
{
    if (!skip_space(p)) {
        fail(p, "");
        return failed;
    }
    switch (*p->at) {
    case '{':
    case '[':
        return nested(p, up);
    case 't':
        return literal(p, S("true"), json_of_bool(true));
    case 'f':
        return literal(p, S("false"), json_of_bool(false));
    case 'n':
        return literal(p, S("null"), json_of_null());
    case '-':
    case '0' ... '9':
        return number(p);
    default:
        fail(p, "looking for the beginning of a value");
        return failed;
    }
}

static const struct json *parse(struct arena *a, struct str *text, struct json_dups *dups,
                                const struct json_raw_path *path, bool is_whole,
                                struct err *err)
{
    struct parser p;
    struct json v;
    bool ok;

    if (text->len > JSON_MAX_TEXT) {
        err_set(err, ERR_LIMIT, "JSON of %zu bytes is over the limit of %zu", text->len,
                JSON_MAX_TEXT);
        return NULL;
    }
    p.arena = a, p.dups = dups, p.err = err, p.depth = 0;
    p.raw = path, p.n_on_path = 0;
    p.start = p.at = text->at ? text->at : "";
    p.end = p.at + text->len;
    p.items = p.first_items, p.members = p.first_members;
    p.n_items = p.n_members = 0;
    p.cap_items = p.cap_members = STACK_FIRST;
    v = next_value(&p, NULL);
    ok = v.type != FAILED;
    if (ok && skip_space(&p) && is_whole)
        ok = fail(&p, "after top-level value");
    if (p.items != p.first_items)
        free(p.items);
    if (p.members != p.first_members)
        free(p.members);
    if (!ok)
        return NULL;
    *text = str_of(p.at, (size_t)(p.end - p.at));
    return json_new(a, v);
}

const struct json *json_parse(struct arena *a, struct str text, struct json_dups *dups,
                              struct err *err)
{
    return parse(a, &text, dups, NULL, true, err);
}

const struct json *json_parse_next(struct arena *a, struct str *text, struct json_dups *dups,
                                   struct err *err)
{
    return parse(a, text, dups, NULL, false, err);
}

const struct json *json_parse_raw(struct arena *a, struct str text,
                                  const struct json_raw_path *path, struct err *err)
{
    return parse(a, &text, NULL, path, true, err);
}
