/* fieldset_text.c - sets of fields as FieldsV1, and paths as people read them */
#include "schema/fieldset.h"

/* ---- elements ---- */

static int cmp_members(const void *a, const void *b)
{
    const struct json_member *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

static int read_key(struct arena *a, struct str text, struct element *out, struct err *err)
{
    const struct json *v = json_parse(a, text, NULL, err);
    struct json_member *keys;

    if (!v)
        return err_wrap(err, "key of a list's item");
    if (v->type != JSON_OBJECT)
        return err_set(err, ERR_SYNTAX, "the key of a list's item must be an object");
    keys = arena_array(a, struct json_member, v->len);
    if (v->len)
        memcpy(keys, v->members, v->len * sizeof(*keys));
    sort_stable(keys, v->len, sizeof(*keys), cmp_members);
    *out = (struct element){.kind = ELEMENT_KEY, .n = v->len, .keys = keys};
    return 0;
}

static int read_value(struct arena *a, struct str text, struct element *out, struct err *err)
{
    const struct json *v = json_parse(a, text, NULL, err);

    if (!v)
        return err_wrap(err, "value of a list's item");
    *out = (struct element){.kind = ELEMENT_VALUE, .value = *v};
    return 0;
}

int element_read(struct arena *a, struct str text, struct element *out, bool *known,
                 struct err *err)
{
    struct str rest = str_slice(text, 2, text.len);

    *known = true;
    if (text.len < 2 || text.at[1] != ':')
        return err_set(err, ERR_SYNTAX, "'%.*s' is no name of a field set",
                       STR_ARG(str_slice(text, 0, 80)));
    switch (text.at[0]) {
    case 'f':
        *out = element_field(rest);
        return 0;
    case 'k':
        return read_key(a, rest, out, err);
    case 'v':
        return read_value(a, rest, out, err);
    case 'i':
        *out = (struct element){.kind = ELEMENT_INDEX};
        if (!str_to_i64(rest, &out->index))
            return err_set(err, ERR_SYNTAX, "'%.*s' is no index",
                           STR_ARG(str_slice(rest, 0, 80)));
        return 0;
    default:
        *known = false;
        return 0;
    }
}

/* Characters that upstream's encoder escapes for the sake of HTML and JavaScript. */
static struct str escape_html(struct arena *a, struct str s)
{
    struct buf b = {0};
    size_t from = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool is_line = c == 0xE2 && i + 2 < s.len && (unsigned char)s.at[i + 1] == 0x80 &&
                       ((unsigned char)s.at[i + 2] & 0xFE) == 0xA8;
        if (c != '<' && c != '>' && c != '&' && !is_line)
            continue;
        if (!b.arena)
            b = buf_in(a, s.len + 16);
        buf_add(&b, str_slice(s, from, i));
        if (is_line)
            buf_printf(&b, "\\u20%02x", (unsigned char)s.at[i + 2] - 0x80);
        else
            buf_printf(&b, "\\u%04x", c);
        i += is_line ? 2 : 0;
        from = i + 1;
    }
    if (!b.arena)
        return s;
    buf_add(&b, str_slice(s, from, s.len));
    return buf_str(&b);
}

struct str element_write(struct arena *a, const struct element *e)
{
    struct json v = e->kind == ELEMENT_VALUE
                        ? e->value
                        : (struct json){.type = JSON_OBJECT, .len = e->n, .members = e->keys};
    char *text;
    struct buf b;

    switch ((enum element_kind)e->kind) {
    case ELEMENT_FIELD:
        text = arena_raw(a, e->name.len + 2, 1);
        memcpy(text, "f:", 2);
        if (e->name.len)
            memcpy(text + 2, e->name.at, e->name.len);
        return str_of(text, e->name.len + 2);
    case ELEMENT_INDEX:
        return str_printf(a, "i:%" PRId64, e->index);
    default:
        b = buf_in(a, 64);
        buf_add(&b, e->kind == ELEMENT_KEY ? S("k:") : S("v:"));
        json_write(&b, &v);
        return escape_html(a, buf_str(&b));
    }
}

/* ---- sets ---- */

/* Elements that are one, though their names differ: a member if any says so, and of what is
 * below only the last that has any counts. */
static void join_same(fieldset_level *level)
{
    size_t n = 0;

    for (size_t i = 0; i < level->len; i++) {
        struct fieldset_entry *x = &level->at[i];
        if (n && element_cmp(&level->at[n - 1].e, &x->e) == 0) {
            level->at[n - 1].is_member |= x->is_member;
            if (x->below.n)
                level->at[n - 1].below = x->below;
        } else {
            level->at[n++] = *x;
        }
    }
    level->len = n;
}

static int read_level(struct arena *a, const struct json *v, struct fieldset *out,
                      bool *is_member, struct err *err)
{
    fieldset_level level = {0};
    bool known;

    *is_member = false;
    if (v->type != JSON_OBJECT && v->type != JSON_NULL)
        return err_set(err, ERR_SYNTAX, "a field set must be an object");
    if (json_len(v)) {
        level.cap = v->len;
        level.at = arena_raw(a, v->len * sizeof(*level.at), _Alignof(struct fieldset_entry));
    }
    json_each_member (m, v) {
        struct fieldset_entry e = {0};
        if (str_eq(m->name, S("."))) {
            *is_member = true;
            continue;
        }
        if (element_read(a, m->name, &e.e, &known, err) < 0)
            return -1;
        if (known && read_level(a, &m->value, &e.below, &e.is_member, err) < 0)
            return -1;
        if (known)
            level.at[level.len++] = e;
    }
    *out = fieldset_of(a, &level);
    join_same(&level);
    out->n = level.len;
    if (out->n == 0)
        *is_member = true;
    return 0;
}

/* ---- sets from a text that fieldset_write() made ---- */

#define LEVEL_FIRST 8  /* entries of a level before it moves to the arena */
#define LEVELS_MAX 128 /* deeper ones are read as a tree */
#define MARK_MAX 64    /* bytes of a name that is searched for */

struct text_reader {
    struct arena *arena;
    const char *at, *end;
    unsigned depth;
};

static inline bool take(struct text_reader *r, char c)
{
    if (unlikely(r->at >= r->end) || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A name in quotes, as it is written; *is_escaped where that is not what it means. */
static inline bool take_written(struct text_reader *r, struct str *out, bool *is_escaped)
{
    const char *from = r->at + 1, *at;

    if (!take(r, '"') || !(at = json_string_end(from, r->end)))
        return false;
    *out = str_of(from, (size_t)(at - from));
    *is_escaped = memchr(from, '\\', out->len) != NULL;
    r->at = at + 1;
    return true;
}

/* Cuts `mark` from the front. */
static bool cut_mark(struct str *s, struct str mark)
{
    if (!str_starts(*s, mark))
        return false;
    *s = str_slice(*s, mark.len, s->len);
    return true;
}

/* What stands before the next backslash. */
static struct str cut_plain(struct str *s)
{
    const char *end = s->len ? memchr(s->at, '\\', s->len) : NULL;
    struct str plain = end ? str_of(s->at, (size_t)(end - s->at)) : *s;

    *s = str_slice(*s, plain.len, s->len);
    return plain;
}

/* k:{\"name\":\"value\"}, as most keys of items are written, without reading it as JSON. */
static bool plain_key(struct arena *a, struct str written, struct element *out)
{
    struct str name, value;

    if (!cut_mark(&written, S("k:{\\\"")))
        return false;
    name = cut_plain(&written);
    if (!cut_mark(&written, S("\\\":\\\"")))
        return false;
    value = cut_plain(&written);
    if (!str_eq(written, S("\\\"}")) || !str_is_utf8(value) || !str_is_utf8(name))
        return false;
    struct json_member *key = arena_new(a, struct json_member);
    *key = (struct json_member){name, json_of_str(value)};
    *out = (struct element){.kind = ELEMENT_KEY, .n = 1, .keys = key};
    return true;
}

/* The name's element; *is_self where it is the level's own mark. */
static bool take_element(struct text_reader *r, struct element *out, bool *is_self, bool *known)
{
    bool is_escaped;
    struct str name;

    *known = true;
    *is_self = false;
    if (!take_written(r, &name, &is_escaped) || !take(r, ':'))
        return false;
    if (unlikely(is_escaped)) {
        if (plain_key(r->arena, name, out))
            return true;
        const struct json *v =
            json_parse(r->arena, str_of(name.at - 1, name.len + 2), NULL, NULL);
        if (!v)
            return false;
        name = json_str(v);
    }
    *is_self = name.len == 1 && name.at[0] == '.';
    return *is_self || element_read(r->arena, name, out, known, NULL) == 0;
}

/* Entries of one level, which mostly are in their order already. */
struct text_level {
    struct fieldset_entry first[LEVEL_FIRST];
    fieldset_level all;
    bool is_member, is_in_order;
};

static bool take_level(struct text_reader *r, struct fieldset *out, bool *is_member);

static inline bool take_empty(struct text_reader *r)
{
    if (r->end - r->at < 2 || r->at[0] != '{' || r->at[1] != '}')
        return false;
    r->at += 2;
    return true;
}

static void push_entry(struct text_reader *r, struct text_level *l,
                       const struct fieldset_entry *e)
{
    size_t n = l->all.len;

    l->is_in_order = l->is_in_order && (e->is_member || e->below.n) &&
                     (n == 0 || element_cmp(&l->all.at[n - 1].e, &e->e) < 0);
    vec_push_in(r->arena, &l->all, *e);
}

/* One name and what is below it. */
static bool take_entry(struct text_reader *r, struct text_level *l)
{
    struct fieldset_entry e;
    bool is_self, known, is_leaf;

    if (!take_element(r, &e.e, &is_self, &known))
        return false;
    if (is_self) {
        l->is_member = true;
        return take_level(r, &e.below, &is_leaf);
    }
    e.below = (struct fieldset){0};
    e.is_member = true;
    if (!take_empty(r) && !take_level(r, &e.below, &e.is_member))
        return false;
    if (known)
        push_entry(r, l, &e);
    return true;
}

/* The set of what was gathered. */
static struct fieldset level_set(struct text_reader *r, struct text_level *l)
{
    fieldset_level *all = &l->all;

    if (all->at == l->first && all->len) {
        all->at =
            arena_raw(r->arena, all->len * sizeof(*all->at), _Alignof(struct fieldset_entry));
        memcpy(all->at, l->first, all->len * sizeof(*all->at));
    }
    if (!l->is_in_order) {
        fieldset_of(r->arena, all);
        join_same(all);
    }
    return (struct fieldset){all->len ? all->at : NULL, all->len};
}

/* False where the text is written in another way: it is read as a tree then. */
static bool take_level(struct text_reader *r, struct fieldset *out, bool *is_member)
{
    struct text_level l;

    *out = (struct fieldset){0};
    *is_member = true;
    if (take_empty(r))
        return true;
    if (!take(r, '{') || ++r->depth > LEVELS_MAX)
        return false;
    l.all = (fieldset_level){.at = l.first, .cap = LEVEL_FIRST};
    l.is_member = false;
    l.is_in_order = true;
    do {
        if (!take_entry(r, &l))
            return false;
    } while (take(r, ','));
    if (!take(r, '}'))
        return false;
    r->depth--;
    *out = level_set(r, &l);
    *is_member = l.is_member || out->n == 0;
    return true;
}

/* Where it cannot be told, it may. */
static bool text_names_any(struct text_reader *r, struct fieldset set)
{
    struct str name;
    bool is_escaped;

    if (!take(r, '{'))
        return true;
    if (take(r, '}'))
        return false;
    do {
        struct fieldset below = {0};
        if (!take_written(r, &name, &is_escaped) || (is_escaped && name.at[0] == 'f') ||
            !take(r, ':'))
            return true;
        bool is_field = name.len && name.at[0] == 'f';
        for (size_t i = 0; i < set.n && name.len >= 2; i++) {
            const struct fieldset_entry *x = &set.at[i];
            if (is_field != (x->e.kind == ELEMENT_FIELD))
                continue;
            if (!is_field)
                return true;
            if (!str_eq(str_slice(name, 2, name.len), x->e.name))
                continue;
            if (x->is_member)
                return true;
            below = x->below;
        }
        if (below.n) {
            if (text_names_any(r, below))
                return true;
        } else {
            r->at += json_object_len(r->at, r->end);
        }
    } while (take(r, ','));
    return !take(r, '}');
}

/* Is it written as it is, whether or not HTML minds? */
static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
            return false;
    }
    return true;
}

/* Does the text stand for the name of one of the set's first elements anywhere? Where it cannot
 * be told, it may. */
static bool may_name(struct str text, struct fieldset set)
{
    char mark[MARK_MAX];

    for (size_t i = 0; i < set.n; i++) {
        struct str name = set.at[i].e.name;
        if (set.at[i].e.kind != ELEMENT_FIELD || !is_plain(name) || name.len > MARK_MAX - 6)
            return true;
        memcpy(mark, "\"f:", 3);
        memcpy(mark + 3, name.at, name.len);
        memcpy(mark + 3 + name.len, "\":", 2);
        if (str_has(text, str_of(mark, name.len + 5)))
            return true;
    }
    return false;
}

bool fieldset_names_any(const struct json *fields, struct fieldset set)
{
    if (!json_is(fields, JSON_RAW))
        return true;
    struct text_reader r = {.at = fields->s, .end = fields->s + fields->len};
    return may_name(str_of(fields->s, fields->len), set) && text_names_any(&r, set);
}

int fieldset_read(struct arena *a, const struct json *v, struct fieldset *out, struct err *err)
{
    struct fieldset x = {0};
    bool is_member;

    if (json_is(v, JSON_RAW)) {
        struct text_reader r = {.arena = a, .at = v->s, .end = v->s + v->len};
        if (take_level(&r, &x, &is_member) && r.at == r.end) {
            *out = x;
            return 0;
        }
        v = json_whole(a, v);
        x = (struct fieldset){0};
    }

    if (!v || read_level(a, v, &x, &is_member, err) < 0)
        return v ? -1 : err_set(err, ERR_SYNTAX, "a field set must be an object");
    *out = x;
    return 0;
}

/* An item's single key, as most are. */
static bool write_plain_key(struct buf *out, const struct element *e)
{
    if (e->kind != ELEMENT_KEY || e->n != 1 || !json_is(&e->keys->value, JSON_STRING))
        return false;
    struct str name = e->keys->name, value = json_str(&e->keys->value);
    if (!is_plain(name) || !is_plain(value))
        return false;
    buf_room(out, name.len + value.len + 32);
    buf_add(out, S("\"k:{\\\""));
    buf_add(out, name);
    buf_add(out, S("\\\":\\\""));
    buf_add(out, value);
    buf_add(out, S("\\\"}\""));
    return true;
}

/* With the colon. */
static void write_name(struct buf *out, struct arena *a, const struct element *e)
{
    size_t at = out->len;

    if (e->kind == ELEMENT_FIELD) {
        buf_room(out, 2);
        out->len += 2;
        json_write_str(out, e->name);
        memcpy(out->at + at, "\"f:", 3); /* its quote moves to the front */
    } else if (!write_plain_key(out, e)) {
        json_write_str(out, element_write(a, e));
    }
    buf_byte(out, ':');
}

static void write_level(struct buf *out, struct arena *a, struct fieldset x, bool is_member)
{
    char sign = '{';

    if (is_member) {
        buf_add(out, S("{\".\":{}"));
        sign = ',';
    }
    for (size_t i = 0; i < x.n; i++, sign = ',') {
        buf_byte(out, sign);
        write_name(out, a, &x.at[i].e);
        if (x.at[i].below.n)
            write_level(out, a, x.at[i].below, x.at[i].is_member);
        else
            buf_add(out, S("{}"));
    }
    buf_byte(out, '}');
}

struct json fieldset_write(struct arena *a, struct fieldset x)
{
    struct buf out = buf_in(a, 256);

    if (x.n)
        write_level(&out, a, x, false);
    else
        buf_add(&out, S("{}"));
    return json_of_raw(buf_str(&out));
}

/* ---- paths ---- */

/* Strings as Go's %q quotes them. */
static void quote(struct buf *b, struct str s)
{
    buf_byte(b, '"');
    for (size_t i = 0; i < s.len;) {
        size_t from = i;
        int32_t c = str_rune(s, &i);
        static const char names[] = {['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',
                                     ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r'};
        if (c < 0)
            buf_printf(b, "\\x%02x", (unsigned char)s.at[from]);
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", (char)c);
        else if (c < (int32_t)sizeof(names) && names[c])
            buf_printf(b, "\\%c", names[c]);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\x%02x", (unsigned)c);
        else
            buf_add(b, str_slice(s, from, i));
    }
    buf_byte(b, '"');
}

static void path_value(struct buf *b, const struct json *v)
{
    if (v->type == JSON_STRING)
        quote(b, json_str(v));
    else
        json_write(b, v);
}

struct str element_path(struct arena *a, const struct element *path, size_t n)
{
    struct buf b = buf_in(a, 64);

    for (size_t i = 0; i < n; i++) {
        const struct element *e = &path[i];
        switch ((enum element_kind)e->kind) {
        case ELEMENT_FIELD:
            buf_printf(&b, ".%.*s", STR_ARG(e->name));
            break;
        case ELEMENT_KEY:
            for (uint32_t k = 0; k < e->n; k++) {
                buf_printf(&b, "%c%.*s=", k ? ',' : '[', STR_ARG(e->keys[k].name));
                path_value(&b, &e->keys[k].value);
            }
            buf_byte(&b, ']');
            break;
        case ELEMENT_VALUE:
            buf_add(&b, S("[="));
            path_value(&b, &e->value);
            buf_byte(&b, ']');
            break;
        default:
            buf_printf(&b, "[%" PRId64 "]", e->index);
        }
    }
    return buf_str(&b);
}
