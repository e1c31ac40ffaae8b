/* managers.c - what holds of ownership whatever the history: random writes by several managers
 */
#include "schema/managers.h"
#include "thing_priv.h"

#define HISTORIES 300
#define STEPS 12

struct chance {
    uint64_t x;
};

static uint32_t pick(struct chance *c, uint32_t n)
{
    c->x ^= c->x << 13, c->x ^= c->x >> 7, c->x ^= c->x << 17;
    return (uint32_t)(c->x >> 33) % n;
}

static struct json word(struct chance *c)
{
    static const struct str words[] = {S_INIT("a"), S_INIT("b"), S_INIT("c")};

    return json_of_str(words[pick(c, countof(words))]);
}

static struct json words(struct arena *a, struct chance *c, bool are_distinct)
{
    struct json_arr l = arr_in(a);

    for (uint32_t n = 1 + pick(c, 3); n > 0; n--) {
        struct json w = word(c);
        bool is_known = false;
        vec_each (i, &l.items)
            is_known |= json_eq(&l.items.at[i], &w);
        if (!are_distinct || !is_known)
            arr_add(&l, w);
    }
    return arr_done(&l);
}

static struct json map_of_words(struct arena *a, struct chance *c)
{
    struct json_obj o = obj_in(a);

    for (uint32_t n = 1 + pick(c, 3); n > 0; n--) {
        struct json key = word(c);
        obj_set(&o, json_str(&key), word(c));
    }
    return obj_done(&o);
}

static struct json items(struct arena *a, struct chance *c)
{
    struct json names = words(a, c, true);
    struct json_arr l = arr_in(a);

    json_each (i, &names) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "name", names.items[i]);
        if (pick(c, 2))
            obj_setz(&o, "value", word(c));
        arr_add(&l, obj_done(&o));
    }
    return arr_done(&l);
}

/* "a" is always a leaf, others are always maps: nothing changes its form. */
static struct json raw(struct arena *a, struct chance *c, int depth)
{
    struct json_obj o = obj_in(a);

    if (depth == 0 || pick(c, 2))
        obj_setz(&o, "a", word(c));
    else
        obj_set(&o, pick(c, 2) ? S("b") : S("c"), raw(a, c, depth - 1));
    return obj_done(&o);
}

static const struct json *random_spec(struct arena *a, struct chance *c)
{
    struct json_obj o = obj_in(a);

    if (pick(c, 2))
        obj_setz(&o, "replicas", json_of_i64(pick(c, 3)));
    if (pick(c, 3) == 0)
        obj_setz(&o, "args", words(a, c, false));
    if (pick(c, 3) == 0)
        obj_setz(&o, "selector", map_of_words(a, c));
    if (pick(c, 2))
        obj_setz(&o, "tags", words(a, c, true));
    if (pick(c, 2))
        obj_setz(&o, "limits", map_of_words(a, c));
    if (pick(c, 2))
        obj_setz(&o, "items", items(a, c));
    if (pick(c, 3) == 0)
        obj_setz(&o, "raw", raw(a, c, 2));
    return json_new(a, obj_done(&o));
}

/* ---- the object and who owns it ---- */

static const struct schema *schema_at(void *ctx, struct str version)
{
    (void)ctx;
    return str_eq(version, S("v1")) ? &thing_spec : NULL;
}

static const struct json empty = {.type = JSON_OBJECT};
static const struct versions versions = {.schema = schema_at};

struct history {
    struct arena *a;
    struct chance chance;
    const struct json *live;
    struct managers managers;
};

static struct managers_write write_by(struct history *h, struct str id)
{
    return (struct managers_write){
        .versions = &versions, .id = id, .version = S("v1"), .live = h->live, .force = true};
}

static bool same_managers(const struct managers *x, struct managers *y)
{
    bool same = x->list.len == y->list.len;

    vec_each (i, &x->list) {
        const struct manager *m = managers_find(y, x->list.at[i].id);
        same = same && m && fieldset_eq(m->set, x->list.at[i].set);
    }
    return same;
}

static const struct schema *same_at(void *ctx, struct str version)
{
    (void)ctx;
    (void)version;
    return &thing_spec;
}

static const struct json *as_it_is(void *ctx, struct arena *a, const struct json *v,
                                   struct str from, struct str to, struct err *err)
{
    (void)ctx;
    (void)a;
    (void)from;
    (void)to;
    (void)err;
    return v;
}

/* The same apply where somebody owns a field at another version: then what goes is found the
 * long way, through every version. */
static const struct json *apply_the_long_way(struct history *h, struct managers_write w,
                                             const struct json *config,
                                             struct managers *managers)
{
    static const struct versions two = {.schema = same_at, .convert = as_it_is};
    struct element e = element_field(S("nowhere"));
    struct manager m = {.id = S("elsewhere"),
                        .version = S("v2"),
                        .set = fieldset_with(h->a, (struct fieldset){0}, &e, 1)};

    vec_each (i, &h->managers.list)
        vec_push_in(h->a, &managers->list, h->managers.list.at[i]);
    vec_push_in(h->a, &managers->list, m);
    w.versions = &two;
    const struct json *next = managers_apply(h->a, &w, config, managers, NULL, NULL);
    vec_each (i, &managers->list)
        if (str_eq(managers->list.at[i].id, m.id))
            vec_remove(&managers->list, i);
    return next;
}

static void apply(struct history *h, struct str id, const struct json *config)
{
    struct managers_write w = write_by(h, id);
    struct err err = {0};
    struct managers left = {0};
    const struct json *slow = apply_the_long_way(h, w, config, &left);
    const struct json *next = managers_apply(h->a, &w, config, &h->managers, NULL, &err);

    check_same(err_str(&err), S(""));
    check(json_eq(slow, next));
    check(same_managers(&left, &h->managers));
    if (next)
        h->live = json_has(next) ? next : &empty;
}

static struct fieldset set_of(struct history *h, const struct json *v)
{
    struct fieldset set = {0};

    check_int(typed_set(h->a, &thing_spec, v, &set, NULL), 0);
    return set;
}

static struct fieldset owned_by(struct history *h, struct str id)
{
    const struct manager *m = managers_find(&h->managers, id);

    return m ? m->set : (struct fieldset){0};
}

/* ---- what must hold ---- */

/* What somebody owns is there, and FieldsV1 says the same set again. */
static void check_state(struct history *h)
{
    struct fieldset live = typed_named(h->a, &thing_spec, set_of(h, h->live));

    vec_each (i, &h->managers.list) {
        struct fieldset own = h->managers.list.at[i].set, back = {0};
        struct json v = fieldset_write(h->a, own);
        struct str text = json_text(h->a, &v);
        check(fieldset_within(own, live));
        check_int(fieldset_read(h->a, json_parse(h->a, text, NULL, NULL), &back, NULL), 0);
        check(fieldset_eq(own, back));
    }
}

static void check_apply(struct history *h, struct str id, const struct json *config)
{
    const struct json *once;
    struct managers before;

    apply(h, id, config);
    check(fieldset_eq(owned_by(h, id), set_of(h, config)));
    once = h->live;
    before = h->managers;
    apply(h, id, config);
    check(h->live == once);
    check(same_managers(&before, &h->managers));
    check(typed_merge(h->a, &thing_spec, once, config, NULL) == once);
}

static void update(struct history *h, struct str id, const struct json *next)
{
    struct managers_write w = write_by(h, id);
    struct typed_changes c = {0};

    check_int(typed_compare(h->a, &thing_spec, h->live, next, &c, NULL), 0);
    check_int(managers_update(h->a, &w, next, &h->managers, NULL), 0);
    h->live = next;
    check(fieldset_within(c.added, owned_by(h, id)));
    check(fieldset_within(c.modified, owned_by(h, id)));
    vec_each (i, &h->managers.list)
        if (!str_eq(h->managers.list.at[i].id, id))
            check(fieldset_intersection(h->a, h->managers.list.at[i].set, c.modified).n == 0);
}

/* A manager that applies nothing takes along just what only it owned. An item that it alone
 * owned goes with all that an update has put into it. */
static void check_leaving(struct history *h, struct str id)
{
    struct fieldset own = owned_by(h, id), others = {0}, appliers = {0},
                    before = set_of(h, h->live), after;

    if (own.n == 0 || !managers_find(&h->managers, id)->is_apply)
        return;
    vec_each (i, &h->managers.list) {
        const struct manager *m = &h->managers.list.at[i];
        if (str_eq(m->id, id))
            continue;
        others = fieldset_union(h->a, others, m->set);
        if (m->is_apply)
            appliers = fieldset_union(h->a, appliers, m->set);
    }
    apply(h, id, &empty);
    after = set_of(h, h->live);
    check(fieldset_within(appliers, typed_named(h->a, &thing_spec, after)));
    check(!managers_find(&h->managers, id));

    /* Leaves that nobody owned are still there; those that only it owned are not. */
    struct fieldset leaves = fieldset_leaves(h->a, before);
    check(fieldset_within(fieldset_recursive_difference(h->a, leaves, own), after));
    own = fieldset_difference(h->a, fieldset_leaves(h->a, own), others);
    own = fieldset_intersection(h->a, own, leaves);
    check(fieldset_intersection(h->a, own, fieldset_leaves(h->a, after)).n == 0);
}

TEST(managers_histories)
{
    static const struct str appliers[] = {S_INIT("one"), S_INIT("two"), S_INIT("three")};
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);

    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct history h = {
            .a = &a, .chance = {seed * UINT64_C(0x9E3779B97F4A7C15)}, .live = &empty};
        char name[32];
        snprintf(name, sizeof(name), "seed %d", (int)seed);
        test_case(name);
        for (int step = 0; step < STEPS; step++) {
            struct str id = appliers[pick(&h.chance, countof(appliers))];
            uint32_t what = pick(&h.chance, 8);
            if (what == 0)
                check_leaving(&h, id);
            else if (what < 3)
                update(&h, S("updater"), random_spec(&a, &h.chance));
            else
                check_apply(&h, id, random_spec(&a, &h.chance));
            check_state(&h);
        }
        arena_reset(&a);
    }
}

static void check_held(struct history *h, const struct json *v, struct fieldset set)
{
    struct fieldset held;

    check_int(typed_held(h->a, &thing_spec, v, set, &held, NULL), 0);
    check(fieldset_eq(
        held, fieldset_intersection(h->a, set, typed_named(h->a, &thing_spec, set_of(h, v)))));
}

/* Merging and comparing agree: nothing is removed, and what changed is what config says. */
TEST(typed_merge_and_compare)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct history h = {.a = &a, .chance = {88172645463325252u}};

    for (int i = 0; i < 3000; i++) {
        const struct json *live = random_spec(&a, &h.chance);
        const struct json *config = random_spec(&a, &h.chance);
        const struct json *merged = typed_merge(&a, &thing_spec, live, config, NULL);
        struct typed_changes c = {0}, back = {0};
        check_int(typed_compare(&a, &thing_spec, live, merged, &c, NULL), 0);
        check_int(typed_compare(&a, &thing_spec, merged, live, &back, NULL), 0);
        check_int(c.removed.n, 0);
        check(fieldset_eq(c.added, back.removed));
        check(fieldset_eq(c.modified, back.modified));
        check(fieldset_within(fieldset_leaves(&a, c.modified), set_of(&h, config)));
        check(fieldset_within(fieldset_leaves(&a, c.added),
                              typed_named(&a, &thing_spec, set_of(&h, config))));
        check(fieldset_within(set_of(&h, config),
                              typed_named(&a, &thing_spec, set_of(&h, merged))));
        check_held(&h, live, set_of(&h, config));
        check_held(&h, merged, typed_named(&a, &thing_spec, set_of(&h, config)));
        arena_reset(&a);
    }
}

TEST(managers_many)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct history h = {.a = &a, .live = thing_parse(&a, "{}")};

    for (int i = 0; i < 200; i++)
        apply(&h, str_printf(&a, "m%d", i),
              thing_parse(&a, str_printf(&a, "{'limits':{'k%d':'v'}}", i).at));
    check_int(h.managers.list.len, 200);
    check_int(json_len(json_getz(h.live, "limits")), 200);
    apply(&h, S("m7"), thing_parse(&a, "{'replicas':1}"));
    check_int(json_len(json_getz(h.live, "limits")), 199);
}

/* A set at a version that nobody serves any more is forgotten with the next write. */
TEST(managers_versions)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct history h = {.a = &a, .live = thing_parse(&a, "{'replicas':1}")};
    struct manager old = {
        .id = S("old"), .version = S("v0"), .is_apply = true, .set = set_of(&h, h.live)};

    vec_push_in(&a, &h.managers.list, old);
    update(&h, S("new"), thing_parse(&a, "{'replicas':2}"));
    check(!managers_find(&h.managers, S("old")));
    check(managers_find(&h.managers, S("new")) != NULL);
}

/* Sets may be written by hand: a field of an item without the item. What was owned under an
 * item that is nobody's goes with it; apply() compares with the long way. */
TEST(managers_field_without_its_item)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    const struct json *fields = thing_parse(
        &a,
        "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'f:value':{}}},'f:replicas':{}}");
    struct history h = {
        .a = &a, .live = thing_parse(&a, "{'replicas':1,'items':[{'name':'a','value':'x'}]}")};
    struct manager m = {.id = S("one"), .version = S("v1"), .is_apply = true};

    check_int(fieldset_read(&a, fields, &m.set, NULL), 0);
    vec_push_in(&a, &h.managers.list, m);
    m.id = S("two");
    vec_push_in(&a, &h.managers.list, m);
    apply(&h, S("one"), thing_parse(&a, "{'replicas':1}"));
    check_int(json_len(json_getz(h.live, "items")), 1);
    check(!json_getz(json_at(json_getz(h.live, "items"), 0), "value"));
}
