/* tree.c - reading, comparing and copying trees */
#include <math.h>

#include "json/json_priv.h"

#define LINEAR_MEMBERS 16 /* larger objects are compared by sorted names */

/* ---- reading ---- */

#define SHORT_NAME 16 /* compared without a call */

static not_inline const struct json *get_long(const struct json *v, struct str name)
{
    size_t i = json_index(v->members, v->len, name);

    return i == STR_NONE ? NULL : &v->members[i].value;
}

const struct json *json_get(const struct json *v, struct str name)
{
    if (!json_is(v, JSON_OBJECT))
        return NULL;
    if (name.len > SHORT_NAME)
        return get_long(v, name);
    const struct json_member *m = v->members;
    for (uint32_t n = v->len; n; n--, m++)
        if (m->name.len == name.len && bytes_eq(m->name.at, name.at, name.len))
            return &m->value;
    return NULL;
}

const struct json *json_get_near(const struct json *v, struct str name, size_t at)
{
    if (json_is(v, JSON_OBJECT) && at < v->len && str_eq(v->members[at].name, name))
        return &v->members[at].value;
    return json_get(v, name);
}

const struct json *json_at(const struct json *v, size_t i)
{
    return json_is(v, JSON_ARRAY) && i < v->len ? &v->items[i] : NULL;
}

struct str json_str(const struct json *v)
{
    return json_is(v, JSON_STRING) ? str_of(v->s, v->len) : (struct str){0};
}

int64_t json_i64(const struct json *v, int64_t otherwise)
{
    if (json_is(v, JSON_INT))
        return v->i;
    if (json_is(v, JSON_DOUBLE) && v->d >= -0x1p63 && v->d < 0x1p63 && v->d == trunc(v->d))
        return (int64_t)v->d;
    return otherwise;
}

double json_f64(const struct json *v, double otherwise)
{
    if (json_is(v, JSON_DOUBLE))
        return v->d;
    return json_is(v, JSON_INT) ? (double)v->i : otherwise;
}

bool json_bool(const struct json *v, bool otherwise)
{
    return json_is(v, JSON_BOOL) ? v->boolean : otherwise;
}

size_t json_len(const struct json *v)
{
    return json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) ? v->len : 0;
}

size_t json_count(const struct json *v, size_t most)
{
    size_t n = v != NULL;

    json_each (i, v)
        if ((n += json_count(&v->items[i], most - MIN(n, most))) > most)
            return n;
    json_each_member (m, v)
        if ((n += json_count(&m->value, most - MIN(n, most))) > most)
            return n;
    return n;
}

size_t json_size(const struct json *v, size_t most)
{
    size_t n = 0;

    if (!v)
        return 0;
    switch ((enum json_type)v->type) {
    case JSON_STRING:
        return v->len + 2;
    case JSON_RAW:
        return v->len;
    case JSON_ARRAY:
        n = v->len ? v->len + 1 : 2; /* brackets and commas */
        for (uint32_t i = 0; i < v->len && n <= most; i++)
            n += json_size(&v->items[i], most - n);
        return n;
    case JSON_OBJECT:
        n = v->len ? v->len * 4 + 1 : 2; /* quotes, colons, too */
        for (uint32_t i = 0; i < v->len && n <= most; i++)
            n += v->members[i].name.len + json_size(&v->members[i].value, most - n);
        return n;
    case JSON_INT:
    case JSON_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

/* ---- comparing ---- */

static int cmp_member(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;

    return str_cmp((*x)->name, (*y)->name);
}

const struct json_member **json_by_name(const struct json *v)
{
    const struct json_member **sorted = mem_alloc(size_mul(v->len + 1, sizeof(*sorted)));

    for (uint32_t i = 0; i < v->len; i++)
        sorted[i] = &v->members[i];
    sort_stable(sorted, v->len, sizeof(*sorted), cmp_member);
    return sorted;
}

/* No conversion loses anything: a double past 64 bits is larger than every integer, and one
 * within them is cut to its whole part, with the fraction deciding last. */
static int cmp_int_double(int64_t i, double d)
{
    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    int64_t whole = (int64_t)d;
    if (i != whole)
        return i < whole ? -1 : 1;
    double rest = d - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

int json_cmp_numbers(const struct json *a, const struct json *b)
{
    if (a->type == JSON_INT && b->type == JSON_INT)
        return (a->i > b->i) - (a->i < b->i);
    if (a->type == JSON_DOUBLE && b->type == JSON_DOUBLE)
        return (a->d > b->d) - (a->d < b->d);
    return a->type == JSON_INT ? cmp_int_double(a->i, b->d) : -cmp_int_double(b->i, a->d);
}

static bool is_number(const struct json *v)
{
    return v->type == JSON_INT || v->type == JSON_DOUBLE;
}

static bool eq_sorted(const struct json *a, const struct json *b)
{
    scoped(free_ptr) const struct json_member **x = json_by_name(a), **y = json_by_name(b);
    bool same = true;

    for (uint32_t i = 0; i < a->len && same; i++)
        same = str_eq(x[i]->name, y[i]->name) && json_eq(&x[i]->value, &y[i]->value);
    return same;
}

static bool eq_objects(const struct json *a, const struct json *b)
{
    uint32_t i = 0;

    if (a->len != b->len)
        return false;
    /* Mostly both have one order; where they part, names are looked up. */
    for (; i < a->len && str_eq(a->members[i].name, b->members[i].name); i++)
        if (!json_eq(&a->members[i].value, &b->members[i].value))
            return false;
    if (i < a->len && a->len > LINEAR_MEMBERS)
        return eq_sorted(a, b);
    for (; i < a->len; i++) {
        const struct json *other = json_get(b, a->members[i].name);
        if (!other || !json_eq(&a->members[i].value, other))
            return false;
    }
    return true;
}

static bool is_same_text(const struct json *a, const struct json *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->s, b->s, a->len) == 0);
}

static bool eq_read(const struct json *a, const struct json *b)
{
    scoped(arena_fini) struct arena own = {0};

    return json_eq(json_whole(&own, a), json_whole(&own, b));
}

bool json_eq(const struct json *a, const struct json *b)
{
    if (json_is_shared(a, b))
        return true;
    if (!a || !b)
        return false;
    if (is_number(a) && is_number(b))
        return json_cmp_numbers(a, b) == 0;
    if (unlikely(a->type == JSON_RAW || b->type == JSON_RAW))
        return (a->type == b->type && is_same_text(a, b)) || eq_read(a, b);
    if (a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_STRING:
        return is_same_text(a, b);
    case JSON_ARRAY:
        if (a->len != b->len)
            return false;
        for (uint32_t i = 0; i < a->len; i++)
            if (!json_eq(&a->items[i], &b->items[i]))
                return false;
        return true;
    case JSON_OBJECT:
        return eq_objects(a, b);
    default:
        return true;
    }
}

static int cmp_arrays(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < a->len && i < b->len; i++) {
        int order = json_cmp(&a->items[i], &b->items[i]);
        if (order)
            return order;
    }
    return (a->len > b->len) - (a->len < b->len);
}

static int cmp_objects(const struct json *a, const struct json *b)
{
    scoped(free_ptr) const struct json_member **x = json_by_name(a), **y = json_by_name(b);
    int order = 0;

    for (uint32_t i = 0; i < a->len && i < b->len && !order; i++) {
        order = str_cmp(x[i]->name, y[i]->name);
        if (!order)
            order = json_cmp(&x[i]->value, &y[i]->value);
    }
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int cmp_read(const struct json *a, const struct json *b)
{
    scoped(arena_fini) struct arena own = {0};

    return json_cmp(json_whole(&own, a), json_whole(&own, b));
}

int json_cmp(const struct json *a, const struct json *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    if (a->type == JSON_RAW || b->type == JSON_RAW)
        return cmp_read(a, b);
    if (is_number(a) && is_number(b))
        return json_cmp_numbers(a, b);
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    switch ((enum json_type)a->type) {
    case JSON_BOOL:
        return a->boolean - b->boolean;
    case JSON_STRING:
        return str_cmp(json_str(a), json_str(b));
    case JSON_ARRAY:
        return cmp_arrays(a, b);
    case JSON_OBJECT:
        return cmp_objects(a, b);
    default:
        return 0;
    }
}

/* ---- copying ---- */

static inline bool has_text(const struct json *v)
{
    return v->type == JSON_STRING || v->type == JSON_RAW;
}

static inline bool has_nodes(const struct json *v)
{
    return v->type == JSON_OBJECT || v->type == JSON_ARRAY;
}

/* What a node needs apart from itself. Most are texts and numbers: only containers take a call.
 */
static void measure_nodes(struct json_room *room, const struct json *v);

static inline void measure(struct json_room *room, const struct json *v)
{
    if (has_text(v))
        room->texts += v->len;
    else if (has_nodes(v))
        measure_nodes(room, v);
}

static void measure_nodes(struct json_room *room, const struct json *v)
{
    if (v->type == JSON_ARRAY) {
        room->nodes += v->len * sizeof(struct json);
        for (uint32_t i = 0; i < v->len; i++)
            measure(room, &v->items[i]);
        return;
    }
    room->nodes += v->len * sizeof(struct json_member);
    for (uint32_t i = 0; i < v->len; i++) {
        json_measure_name(room, v->members[i].name);
        measure(room, &v->members[i].value);
    }
}

void json_measure(struct json_room *room, const struct json *v)
{
    measure(room, v);
}

static inline const char *copy_text(struct json_copier *c, const char *at, size_t n)
{
    char *to = c->text;

    c->text += n;
    if (n >= 8 && n <= 32) { /* most, without a call: words that may overlap */
        uint64_t word, last;
        memcpy(&last, at + n - 8, 8);
        for (size_t i = 0; i + 8 < n; i += 8)
            memcpy(&word, at + i, 8), memcpy(to + i, &word, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n) {
        memcpy(to, at, n);
    }
    return to;
}

static void copy_nodes(struct json_copier *c, const struct json *v, struct json *out);

static inline void copy(struct json_copier *c, const struct json *v, struct json *out)
{
    *out = *v;
    out->thawed = 0;
    if (has_text(v))
        out->s = copy_text(c, v->s, v->len);
    else if (has_nodes(v))
        copy_nodes(c, v, out);
}

static void copy_nodes(struct json_copier *c, const struct json *v, struct json *out)
{
    if (v->type == JSON_ARRAY) {
        struct json *items = (struct json *)(void *)c->node;
        c->node += v->len * sizeof(*items);
        out->items = items;
        for (uint32_t i = 0; i < v->len; i++)
            copy(c, &v->items[i], &items[i]);
        return;
    }
    struct json_member *members = (struct json_member *)(void *)c->node;
    c->node += v->len * sizeof(*members);
    out->members = members;
    for (uint32_t i = 0; i < v->len; i++) {
        struct str name = v->members[i].name;
        if (!json_is_constant(name.at))
            name.at = copy_text(c, name.at, name.len);
        members[i].name = name;
        copy(c, &v->members[i].value, &members[i].value);
    }
}

struct json json_copy_to(struct json_copier *c, const struct json *v)
{
    struct json out;

    copy(c, v, &out);
    return out;
}

const struct json *json_copy(struct arena *a, const struct json *v)
{
    struct json_room room = {.nodes = sizeof(*v)};

    if (!v)
        return NULL;
    measure(&room, v);
    struct json *out = arena_raw(a, room.nodes + room.texts, _Alignof(struct json_member));
    struct json_copier c = {.node = (char *)(out + 1), .text = (char *)out + room.nodes};
    copy(&c, v, out);
    return out;
}

static struct json sorted(struct arena *a, const struct json *v)
{
    if (v->type == JSON_OBJECT) {
        scoped(free_ptr) const struct json_member **by_name = json_by_name(v);
        struct json_member *members = arena_array(a, struct json_member, v->len);
        for (uint32_t i = 0; i < v->len; i++)
            members[i] = (struct json_member){by_name[i]->name, sorted(a, &by_name[i]->value)};
        return (struct json){.type = JSON_OBJECT, .len = v->len, .members = members};
    }
    if (v->type == JSON_RAW)
        return sorted(a, json_whole(a, v));
    if (v->type != JSON_ARRAY)
        return *v;
    struct json *items = arena_array(a, struct json, v->len);
    for (uint32_t i = 0; i < v->len; i++)
        items[i] = sorted(a, &v->items[i]);
    return (struct json){.type = JSON_ARRAY, .len = v->len, .items = items};
}

const struct json *json_sorted(struct arena *a, const struct json *v)
{
    return v ? json_new(a, sorted(a, v)) : NULL;
}

/* ---- raw texts ---- */

static const struct json *read_raw(struct arena *a, const struct json *v)
{
    struct err err = {0};
    const struct json *read = json_parse(a, str_of(v->s, v->len), NULL, &err);

    if (!read)
        die("a text that was kept unread cannot be read: %s", err.text);
    return read;
}

static const struct json *whole_items(struct arena *a, const struct json *v)
{
    struct json *items = NULL;

    json_each (i, v) {
        const struct json *x = json_whole(a, &v->items[i]);
        if (x == &v->items[i])
            continue;
        if (!items) {
            items = arena_array(a, struct json, v->len);
            memcpy(items, v->items, v->len * sizeof(*items));
        }
        items[i] = *x;
    }
    return items ? json_new(a, (struct json){JSON_ARRAY, .len = v->len, .items = items}) : v;
}

static const struct json *whole_members(struct arena *a, const struct json *v)
{
    struct json_member *members = NULL;

    json_each_member (m, v) {
        const struct json *x = json_whole(a, &m->value);
        if (x == &m->value)
            continue;
        if (!members) {
            members = arena_array(a, struct json_member, v->len);
            memcpy(members, v->members, v->len * sizeof(*members));
        }
        members[m - v->members].value = *x;
    }
    return members ? json_new(a, (struct json){JSON_OBJECT, .len = v->len, .members = members})
                   : v;
}

const struct json *json_whole(struct arena *a, const struct json *v)
{
    if (json_is(v, JSON_RAW))
        return read_raw(a, v);
    if (json_is(v, JSON_ARRAY))
        return whole_items(a, v);
    return json_is(v, JSON_OBJECT) ? whole_members(a, v) : v;
}
