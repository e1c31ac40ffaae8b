/* object.c - the tests of object/: bytes at rest, the revision on the way out, homes */
#include "object/object.h"
#include "api/batch_v1.h"
#include "api/kinds.h"
#include "base/testing.h"
#include "schema/table.h"
#include "schema/view.h"

static const struct kind pod_kind = {
    .api_version = S_INIT("v1"), .kind = S_INIT("Pod"), .id = -1};

static struct object *object_of(struct arena *a, const char *text)
{
    const struct json *tree = json_parse(a, str_from(text), NULL, NULL);

    return object_new(&pod_kind, tree);
}

TEST(object_bytes)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"the revision comes first in the metadata",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},\"spec\":{}}", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"7\","
         "\"name\":\"a\"},\"spec\":{}}"                                   },
        {"one that was given is not kept",
         "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\",\"uid\":\"u\"}}",            "{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"a\",\"uid\":\"u\"}}"},
        {"metadata stands before other parts that hold metadata",
         "{\"spec\":{\"metadata\":{\"name\":\"x\"}},\"metadata\":{\"name\":\"a\"}}",           "{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"a\"},"
         "\"spec\":{\"metadata\":{\"name\":\"x\"}}}"                                },
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct object *o = object_of(&a, cases[i].text);
        object_set_revision(o, 7);
        check_samez(object_bytes(o, &a), cases[i].want);
        check_samez(
            json_str(json_path(object_tree(o, &a), "metadata", "resourceVersion", NULL)), "7");
        object_unref(o);
    }
}

static struct object *remembered(struct arena *a, const struct object *before, const char *text)
{
    const struct json *tree = json_parse(a, str_copy(a, str_from(text)), NULL, NULL);

    return object_after(before, &pod_kind, tree, true);
}

TEST(object_remembers_its_tree)
{
    static const char text[] =
        "{\"spec\":{\"n\":[1,{\"k\":\"v\"}]},\"metadata\":{\"name\":\"a\","
        "\"resourceVersion\":\"3\"},\"apiVersion\":\"v1\"}";
    struct arena a = {0}, given = {0};
    struct object *o = remembered(&given, NULL, text), *read = object_of(&a, text);

    arena_fini(&given);
    check(!json_path(object_tree(o, &a), "metadata", "resourceVersion", NULL));
    object_set_revision(o, 7);
    object_set_revision(read, 7);
    check_same(json_text(&a, object_tree(o, &a)), json_text(&a, object_tree(read, &a)));
    check_same(object_bytes(o, &a), json_text(&a, object_tree(read, &a)));

    test_case("another revision than the one it was read with");
    object_set_revision(o, 8);
    check_samez(json_str(json_path(object_tree(o, &a), "metadata", "resourceVersion", NULL)),
                "8");

    test_case("a reader keeps the tree of an object that has gone");
    const struct json *tree = object_tree(o, &a);
    object_unref(o);
    object_unref(read);
    check_samez(json_str(json_path(tree, "metadata", "name", NULL)), "a");
    arena_fini(&a);
}

/* A write that leaves the spec alone: nodes and text go from version to version, and live as
 * long as the last of them. */
TEST(object_after)
{
    struct arena a = {0};
    struct object *o = remembered(&a, NULL,
                                  "{\"metadata\":{\"name\":\"a\"},\"status\":{\"n\":0},"
                                  "\"spec\":{\"k\":\"\\u00e9\"},\"z\":1}");
    struct json first;

    object_set_revision(o, 1);
    arena_fini(&a);
    for (int64_t n = 1; n < 5; n++) {
        struct arena given = {0};
        const struct json *was = object_tree(o, &given), *now;
        if (n == 1)
            first = *json_getz(was, "spec");
        now = json_with(&given, was, json_of_i64(n), "status", "n", NULL);
        if (n == 3)
            now = json_with(&given, now, json_of_i64(n), "spec", "x", NULL);
        struct object *next = object_after(o, &pod_kind, now, true);
        object_set_revision(next, (uint64_t)n + 1);
        object_unref(o);
        arena_fini(&given);
        o = next;

        const struct json *tree = object_tree(o, &a);
        bool is_first = json_getz(tree, "spec")->members == first.members;
        check_int(is_first, n < 3);
        check_int(json_i64(json_path(tree, "status", "n", NULL), 0), n);
        check_same(json_text(&a, tree), object_bytes(o, &a));
        const struct json *read = json_parse(&a, object_bytes(o, &a), NULL, NULL);
        check(json_eq(read, tree));
    }
    check_samez(object_bytes(o, &a),
                "{\"metadata\":{\"resourceVersion\":\"5\",\"name\":\"a\"},\"status\":{\"n\":4},"
                "\"spec\":{\"k\":\"\u00e9\",\"x\":3},\"z\":1}");
    object_unref(o);
    arena_fini(&a);
}

/* The members of an object in another order, some of them left out, some new. */
static struct json shuffled(struct arena *a, const struct json *v, uint32_t *chance)
{
    static const struct str names[] = {S_INIT("labels"),        S_INIT("annotations"),
                                       S_INIT("managedFields"), S_INIT("generation"),
                                       S_INIT("finalizers"),    S_INIT("spec"),
                                       S_INIT("status"),        S_INIT("data")};
    struct json_obj out = obj_in(a);
    size_t turn = 0;

    *chance = *chance * 1664525 + 1013904223;
    if (*chance >> 28 == 0 && json_len(v)) /* seldom */
        turn = (*chance >> 20) % v->len;
    for (uint32_t i = 0; i < json_len(v); i++)
        obj_add(&out, v->members[(i + turn) % v->len].name,
                v->members[(i + turn) % v->len].value);
    for (uint32_t bits = *chance >> 8 & 0xff, i = 0; i < countof(names); i++) {
        struct json_obj x = obj_in(a);
        obj_add(&x, str_printf(a, "k\"%u", i), json_of_str(str_printf(a, "v%u", *chance)));
        if ((bits >> i & 1) && (*chance >> i & 2))
            obj_set(&out, names[i], i == 3 ? json_of_i64(*chance >> 30) : obj_done(&x));
        else if (bits >> i & 1 && *chance >> 29 == 1)
            obj_del(&out, names[i]);
    }
    return obj_done(&out);
}

/* Versions with one spec have one view of it, which stays for whoever holds one of them. */
TEST(object_view_of_a_spec)
{
    static const struct {
        const char *name, *patch;
        bool is_same;
    } cases[] = {
        {"a status",       "{\"status\":{\"active\":2}}",    true },
        {"nothing",        "{}",                             true },
        {"the spec",       "{\"spec\":{\"parallelism\":4}}", false},
        {"another spec",   "{\"spec\":{}}",                  false},
        {"no spec at all", "{\"spec\":null}",                false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct arena a = {0}, first = {0}, second = {0};
        test_case(cases[i].name);
        const struct json *tree =
            json_parse(&a,
                       S("{\"metadata\":{\"name\":\"a\",\"managedFields\":[]},\"spec\":{"
                         "\"parallelism\":3}}"),
                       NULL, NULL);
        struct object *o = object_after(NULL, &kind_job, tree, true);
        object_set_revision(o, 1);
        const struct job *was = object_view(o, &first);
        const struct json *patch = json_parse(&a, str_from(cases[i].patch), NULL, NULL);
        tree = object_tree(o, &first);
        const struct json *spec = json_getz(patch, "spec");
        if (spec)
            tree = json_with(&a, tree, *spec, "spec", NULL);
        if (json_getz(patch, "status"))
            tree = json_with(&a, tree, *json_getz(patch, "status"), "status", NULL);
        struct object *next = object_after(o, &kind_job, tree, true);
        object_set_revision(next, 2);
        const struct job *now = object_view(next, &second);
        bool has_spec = !json_is(spec, JSON_NULL);
        check_int(was->spec == now->spec, cases[i].is_same);
        check_int(was->spec->parallelism, 3);
        object_unref(o);
        arena_fini(&first);
        arena_fini(&a);
        check_int(IS_SET(now, spec), has_spec);
        if (cases[i].is_same)
            check_int(now->spec->parallelism, 3);
        check_int(now->status && now->status->active == 2, i == 0);
        object_unref(next);
        arena_fini(&second);
    }
}

/* Whatever a version takes over from the one before, it is what it would be without it. */
TEST(object_after_any_change)
{
    struct arena first = {0};
    struct object *o =
        remembered(&first, NULL, "{\"kind\":\"Pod\",\"metadata\":{\"uid\":\"u\"}}");
    uint32_t chance = 1;

    object_set_revision(o, 1);
    for (uint64_t n = 2; n < 2000; n++) {
        scoped(arena_fini) struct arena a = {0};
        const struct json *was = object_tree(o, &a);
        struct json next = shuffled(&a, was, &chance);
        struct json meta = shuffled(&a, json_getz(&next, "metadata"), &chance);
        const struct json *tree = json_with(&a, &next, meta, "metadata", NULL);
        struct object *alone = object_new(&pod_kind, tree);
        struct object *after = object_after(n % 3 ? o : NULL, &pod_kind, tree, n % 7 != 0);
        object_unref(o);
        object_set_revision(after, n);
        object_set_revision(alone, n);
        check_same(object_rest(after), object_rest(alone));
        check_same(json_text(&a, object_tree(after, &a)), object_bytes(alone, &a));
        object_unref(alone);
        o = after;
    }
    object_unref(o);
    arena_fini(&first);
}

TEST(object_after_many_members)
{
    scoped(arena_fini) struct arena a = {0};
    struct json_obj meta = obj_in(&a);
    struct object *o = NULL;

    obj_add(&meta, S("name"), json_of_z("a"));
    for (int n = 0; n < 40; n++) {
        obj_add(&meta, str_printf(&a, "m%d", n), json_of_i64(n));
        struct json_obj copy = meta;
        struct json_member member = {S("metadata"), obj_done(&copy)};
        struct json tree = {.type = JSON_OBJECT, .len = 1, .members = &member};
        struct object *next = object_after(o, &pod_kind, &tree, true);
        object_set_revision(next, 1);
        object_unref(o);
        o = next;
        check_same(json_text(&a, object_tree(o, &a)), object_bytes(o, &a));
    }
    object_unref(o);
}

TEST(object_key)
{
    scoped(arena_fini) struct arena a = {0};
    struct object *o =
        object_of(&a, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1-2\"}}");

    check_samez(object_key(o).ns, "n");
    check_samez(object_key(o).name, "a");
    check_samez(object_path(o), "n/a");
    check_samez(object_uid(o), "1-2");
    object_unref(o);

    test_case("cluster-scoped");
    o = object_of(&a, "{\"metadata\":{\"name\":\"a\"}}");
    check_samez(object_key(o).ns, "");
    check_samez(object_path(o), "a");
    object_unref(o);
}

struct shelf {
    struct object_home home;
    const char *bytes;
    int reads, loads;
    bool is_full;
};

static struct str shelf_read(struct object_home *h, const struct object *o, struct arena *a)
{
    struct shelf *s = container_of(h, struct shelf, home);

    check_int(object_row(o), 4);
    s->reads++;
    return str_copy(a, str_from(s->bytes));
}

static void shelf_loaded(struct object_home *h, const struct object *o)
{
    struct object *mine = (struct object *)(uintptr_t)o;

    container_of(h, struct shelf, home)->loads++;
    /* A home that is full makes room: never at the cost of what it has just loaded. */
    check_int(object_cool(mine), 0);
    check_int(object_cool(mine), 0);
}

static bool shelf_has_room(struct object_home *h, size_t n unused)
{
    return !container_of(h, struct shelf, home)->is_full;
}

TEST(object_home)
{
    scoped(arena_fini) struct arena a = {0};
    struct shelf shelf = {
        .home = {shelf_read, shelf_loaded, shelf_has_room},
        .bytes = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}",
    };
    struct object *o = object_at_home(&pod_kind, S("n/a"), S("u"), 9, &shelf.home, 4);

    check(!object_is_warm(o));
    check_samez(object_key(o).ns, "n");
    check_samez(
        object_bytes(o, &a),
        "{\"metadata\":{\"resourceVersion\":\"9\",\"name\":\"a\",\"namespace\":\"n\"}}");
    check_int(shelf.reads, 1);
    check_int(shelf.loads, 1);
    test_case("a used one is spared once");
    check_int(object_cool(o), 0);
    check_int(object_cool(o), strlen(shelf.bytes));
    check(!object_is_warm(o));
    object_bytes(o, &a);
    check_int(shelf.reads, 2);
    test_case("where there is no room, bytes that are passed on do not stay");
    object_cool(o);
    object_cool(o);
    shelf.is_full = true;
    struct buf out = buf_in(&a, 64);
    object_write_untyped(o, &out);
    check_samez(
        buf_str(&out),
        "{\"metadata\":{\"resourceVersion\":\"9\",\"name\":\"a\",\"namespace\":\"n\"}}");
    check(!object_is_warm(o));
    check_int(shelf.reads, 3);
    test_case("those of a tree do");
    object_tree(o, &a);
    check(object_is_warm(o));
    check_int(shelf.reads, 4);
    test_case("without a home the bytes stay");
    object_cool(o);
    object_cool(o);
    object_set_home(o, NULL, 4);
    check_int(shelf.reads, 5);
    check(object_is_warm(o));
    object_unref(o);
}

TEST(object_recent)
{
    struct arena a = {0}, b = {0};
    struct object *o = object_of(&a, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"n\":1}");
    const struct json *first = object_tree(o, &b);

    test_case("read again, it is the same tree");
    check(object_tree(o, &a) == first);
    test_case("with another revision it is another");
    object_set_revision(o, 5);
    const struct json *second = object_tree(o, &a);
    check(second != first);
    check_samez(json_str(json_path(second, "metadata", "resourceVersion", NULL)), "5");
    check(json_path(first, "metadata", "resourceVersion", NULL) == NULL);
    test_case("a tree lives as long as the arena that was given it");
    object_unref(o);
    arena_fini(&a);
    for (int i = 0; i < 1000; i++) {
        scoped(arena_fini) struct arena c = {0};
        struct object *x = object_of(&c, "{\"metadata\":{\"name\":\"x\"},\"n\":2}");
        check_int(json_i64(json_getz(object_tree(x, &c), "n"), 0), 2);
        object_unref(x);
    }
    check_int(json_i64(json_getz(first, "n"), 0), 1);
    arena_fini(&b);
}

TEST(object_recent_many)
{
    enum { N = 500 };
    scoped(arena_fini) struct arena a = {0};
    struct object *o[N];

    for (int i = 0; i < N; i++)
        o[i] = object_of(&a,
                         str_printf(&a, "{\"metadata\":{\"name\":\"a\"},\"n\":%d}%c", i, 0).at);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < N; i++) {
            scoped(arena_fini) struct arena c = {0};
            check_int(json_i64(json_getz(object_tree(o[i], &c), "n"), 0), i);
        }
    for (int i = 0; i < N; i++)
        object_unref(o[i]);
}
