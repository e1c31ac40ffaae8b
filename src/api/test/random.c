/* random.c - what holds of every object of every built-in kind: read back it is the same, twice
 * the same is once, and a patch from one to another leads there
 *
 * Objects are made from the tables, so a kind that comes is tested with no line here.
 */
#include "api/find.h"
#include "base/testing.h"
#include "schema/codec.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/strategic.h"
#include "json/patch.h"

#define OBJECTS 60 /* of each kind */
#define DEPTH 9

struct chance {
    struct arena *a;
    uint64_t x;
};

static uint32_t pick(struct chance *c, uint32_t n)
{
    c->x ^= c->x << 13, c->x ^= c->x >> 7, c->x ^= c->x << 17;
    return (uint32_t)(c->x >> 33) % n;
}

/* ---- objects ---- */

static struct json one_of(struct chance *c, const char *const *words, size_t n)
{
    return json_of_str(str_from(words[pick(c, (uint32_t)n)]));
}
#define ONE_OF(c, ...)                                                                         \
    one_of((c), (const char *const[]){__VA_ARGS__},                                            \
           countof(((const char *const[]){__VA_ARGS__})))

static struct json random_value(struct chance *c, const struct schema *s, int depth);

static struct json random_text(struct chance *c, const struct schema *s)
{
    if (s->rules && s->rules->n_enums)
        return s->rules->enums[pick(c, (uint32_t)s->rules->n_enums)];
    return ONE_OF(c, "a", "b", "c", "\xC3\xA4 \"<\\", "long enough to be no short text");
}

static struct json random_object(struct chance *c, const struct schema *s, int depth)
{
    struct json_obj o = obj_in(c->a);

    for (size_t i = 0; i < s->n_fields && depth < DEPTH; i++) {
        const struct schema_field *f = &s->fields[i];
        if ((!f->gate || f->gate->on) && pick(c, (uint32_t)(2 + depth)) == 0)
            obj_add(&o, f->name, random_value(c, f->type, depth + 1));
    }
    return obj_done(&o);
}

/* Is there an item with these members already? */
static bool has_key(const struct json_arr *l, const struct json *item, const struct str *keys,
                    size_t n)
{
    vec_each (i, &l->items) {
        bool is_same = true;
        for (size_t k = 0; k < n; k++) {
            const struct json *x = json_get(&l->items.at[i], keys[k]),
                              *y = json_get(item, keys[k]);
            is_same = is_same && (x && y ? json_eq(x, y) : x == y);
        }
        if (is_same)
            return true;
    }
    return false;
}

static int in_order(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

/* A list that is merged holds no key and no value twice, and values are sorted: as upstream, a
 * diff misses some changes of the order alone. */
static struct json random_list(struct chance *c, const struct schema *s, int depth)
{
    struct json_arr l = arr_in(c->a);

    for (uint32_t n = pick(c, 4); n > 0 && depth < DEPTH; n--) {
        struct json item = random_value(c, s->item, depth + 1);
        bool is_known = false;
        if (s->merge_key.len) {
            struct json_obj o = obj_from(c->a, &item);
            obj_set(&o, s->merge_key,
                    random_value(c, schema_field(s->item, s->merge_key)->type, depth + 1));
            item = obj_done(&o);
            is_known = has_key(&l, &item, &s->merge_key, 1);
        } else if (s->merge == MERGE_MERGE) {
            vec_each (i, &l.items)
                is_known |= json_eq(&l.items.at[i], &item);
        }
        if (!is_known)
            arr_add(&l, item);
    }
    if (s->merge == MERGE_MERGE && !s->merge_key.len)
        vec_sort(&l.items, in_order);
    return arr_done(&l);
}

static struct json random_map(struct chance *c, const struct schema *s, int depth)
{
    struct json_obj o = obj_in(c->a);

    for (uint32_t n = pick(c, 3); n > 0 && depth < DEPTH; n--) {
        struct json key = ONE_OF(c, "a", "b", "c.d/e");
        obj_set(&o, json_str(&key), random_value(c, s->value, depth + 1));
    }
    return obj_done(&o);
}

static struct json random_raw(struct chance *c)
{
    struct json_obj o = obj_in(c->a);

    obj_setz(&o, "a", json_of_i64(pick(c, 3)));
    if (pick(c, 2))
        obj_setz(&o, "f:b", (struct json){.type = JSON_OBJECT});
    return obj_done(&o);
}

static struct json random_value(struct chance *c, const struct schema *s, int depth)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return json_of_bool(pick(c, 2));
    case SCHEMA_INT32:
        return json_of_i64((int64_t)pick(c, 5) - 1);
    case SCHEMA_INT64:
        return json_of_i64(pick(c, 2) ? INT64_MAX - pick(c, 3) : (int64_t)pick(c, 3));
    case SCHEMA_DOUBLE:
        return json_of_f64(pick(c, 8) / 4.0);
    case SCHEMA_STRING:
        return random_text(c, s);
    case SCHEMA_BYTES:
        return ONE_OF(c, "aGFsbG8=", "AA==", "/+8=");
    case SCHEMA_QUANTITY:
        return ONE_OF(c, "1", "500m", "2Gi", "1e3", "0", "-3");
    case SCHEMA_TIME:
        return ONE_OF(c, "2030-01-01T00:00:00Z", "1999-12-31T23:59:59Z");
    case SCHEMA_MICRO_TIME:
        return ONE_OF(c, "2030-01-01T00:00:00.000001Z", "2030-01-01T00:00:00.500000Z");
    case SCHEMA_DURATION:
        return ONE_OF(c, "1h0m0s", "1.5s", "10ms");
    case SCHEMA_INT_OR_STRING:
        return pick(c, 2) ? json_of_i64(pick(c, 9)) : json_of_z("25%");
    case SCHEMA_OBJECT:
        return random_object(c, s, depth);
    case SCHEMA_LIST:
        return random_list(c, s, depth);
    case SCHEMA_MAP:
        return random_map(c, s, depth);
    default:
        return random_raw(c);
    }
}

/* As a server would keep it; NULL where it would not. */
static const struct json *object_of(struct chance *c, const struct kind *k)
{
    const struct json *v = json_new(c->a, random_object(c, k->schema, 0));
    struct err err = {0};
    const struct json *out = kind_conform(c->a, k, v, NULL, NULL, &err);

    check_same(err_str(&err), S(""));
    return out;
}

static bool same(const struct json *got, const struct json *want, struct arena *a)
{
    return got && (json_eq(got, want) || check_same(json_text(a, got), json_text(a, want)));
}

/* ---- what must hold ---- */

/* As if its text had come: what conforming knows of the parts that it made itself, and what is
 * shared with a known object, must not show. */
static bool is_as_its_text(struct chance *c, const struct kind *k, const struct json *v,
                           const struct json *known)
{
    struct arena *a = c->a;
    const struct json *plain = json_parse(a, json_text(a, v), NULL, NULL);
    const struct json *x = kind_conform(a, k, v, known, NULL, NULL);
    const struct json *y = kind_conform(a, k, plain, NULL, NULL, NULL);

    if (!x || !y)
        return check(x == y);
    if (!known && !check_same(json_text(a, x), json_text(a, y)))
        return false; /* what is shared keeps its defaults, which the text gets again */
    return same(kind_default(a, k, x, known), kind_default(a, k, y, NULL), a);
}

static bool reads_back(struct chance *c, const struct kind *k, const struct json *v)
{
    struct arena *a = c->a;
    struct json view = schema_encode(a, k->schema, schema_decode(a, k->schema, v));
    const struct json *full = kind_default(a, k, v, NULL);

    return is_as_its_text(c, k, &view, NULL) &&
           same(json_parse(a, json_text(a, v), NULL, NULL), v, a) &&
           same(kind_conform(a, k, v, NULL, NULL, NULL), v, a) &&
           same(kind_conform(a, k, &view, NULL, NULL, NULL), v, a) &&
           same(kind_default(a, k, full, NULL), full, a);
}

/* No patch can say null; the kind's form writes it again. */
static bool arrives(struct arena *a, const struct kind *k, const struct json *got,
                    const struct json *to)
{
    return got && same(kind_conform(a, k, got, NULL, NULL, NULL),
                       kind_conform(a, k, json_merge_patch(a, NULL, to), NULL, NULL, NULL), a);
}

static bool leads_there(struct chance *c, const struct kind *k, const struct json *from,
                        const struct json *to)
{
    struct arena *a = c->a;
    const struct json *merge = json_merge_diff(a, from, to), *patch;
    struct err err = {0};

    if (!arrives(a, k, json_merge_patch(a, from, merge), to))
        return false;
    if (k->style != KIND_NATIVE || !k->stored) /* reviews have maps of lists, as no patch may */
        return true;
    patch = schema_strategic_diff(a, k->schema, from, to, &err);
    if (!patch)
        return check_same(err_str(&err), S(""));
    return arrives(a, k, schema_strategic_apply(a, k->schema, from, patch, &err), to);
}

/* ---- a patch of one of its parts ---- */

static void put_token(struct buf *b, struct str name)
{
    buf_byte(b, '/');
    for (size_t i = 0; i < name.len; i++)
        buf_add(b, name.at[i] == '/' ? S("~1") : str_slice(name, i, i + 1));
}

static struct str some_pointer(struct chance *c, const struct json *v)
{
    struct buf b = buf_in(c->a, 64);

    do {
        uint32_t i = pick(c, v->len);
        if (v->type == JSON_OBJECT) {
            put_token(&b, v->members[i].name);
            v = &v->members[i].value;
        } else {
            buf_printf(&b, "/%" PRIu32, i);
            v = &v->items[i];
        }
    } while (json_len(v) && pick(c, 4));
    return buf_str(&b);
}

static const struct json *patched(struct chance *c, const struct json *v)
{
    static const char *const ops[] = {"remove", "replace", "move", "copy", "add"};
    static const char *const values[] = {"null", "{}",    "[]",           "\"\"",
                                         "0",    "\"x\"", "{\"a\":\"b\"}"};
    struct buf b = buf_in(c->a, 256);

    buf_printf(&b, "[{\"op\":\"%s\",\"path\":", ops[pick(c, countof(ops))]);
    json_write_str(&b, some_pointer(c, v));
    buf_add(&b, S(",\"from\":"));
    json_write_str(&b, some_pointer(c, v));
    buf_printf(&b, ",\"value\":%s}]", values[pick(c, countof(values))]);
    return json_patch(c->a, v, json_parse(c->a, buf_str(&b), NULL, NULL), NULL);
}

TEST(patched_objects_are_as_their_text)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct chance c = {&a, 521288629u};

    for (size_t i = 0; i < KIND_COUNT; i++) {
        test_case(kinds[i]->kind.at);
        for (int n = 0; n < OBJECTS; n++) {
            const struct json *v = object_of(&c, kinds[i]);
            v = kind_default(&a, kinds[i], v, NULL);
            const struct json *next = json_len(v) ? patched(&c, v) : NULL;
            if (!json_is(next, JSON_OBJECT))
                continue; /* the patch does not fit */
            if (!check(is_as_its_text(&c, kinds[i], next, NULL) &&
                       is_as_its_text(&c, kinds[i], next, v)))
                break;
        }
        arena_reset(&a);
    }
}

TEST(objects_read_back)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct chance c = {&a, 88172645463325252u};

    for (size_t i = 0; i < KIND_COUNT; i++) {
        test_case(str_z(&a, str_printf(&a, "%.*s %.*s", STR_ARG(kinds[i]->api_version),
                                       STR_ARG(kinds[i]->kind))));
        for (int n = 0; n < OBJECTS; n++) {
            const struct json *v = object_of(&c, kinds[i]);
            if (!check(v && reads_back(&c, kinds[i], v)))
                break;
        }
        arena_reset(&a);
    }
}

TEST(patches_lead_there)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct chance c = {&a, 362436069u};

    for (size_t i = 0; i < KIND_COUNT; i++) {
        test_case(kinds[i]->kind.at);
        for (int n = 0; n < OBJECTS; n++) {
            const struct json *from = object_of(&c, kinds[i]), *to = object_of(&c, kinds[i]);
            if (!check(from && to && leads_there(&c, kinds[i], from, to)))
                break;
        }
        arena_reset(&a);
    }
}
