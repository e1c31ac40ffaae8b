/* build.c - making the next tree */
#include "base/testing.h"
#include "json/json.h"

TEST(json_obj)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct json_obj o = obj_in(&a);
    struct json_arr l = arr_in(&a);

    arr_add(&l, json_of_i64(1));
    arr_add(&l, json_of_z("two"));
    obj_setz(&o, "a", json_of_bool(true));
    obj_setz(&o, "b", arr_done(&l));
    obj_setz(&o, "a", json_of_null());
    obj_add(&o, S("c"), json_of_f64(0.5));
    check_int(json_len(obj_get(&o, S("b"))), 2);
    check(!obj_get(&o, S("x")));
    obj_del(&o, S("x"));
    struct json v = obj_done(&o);
    check_samez(json_text(&a, &v), "{\"a\":null,\"b\":[1,\"two\"],\"c\":0.5}");

    struct json_obj next = obj_from(&a, &v);
    obj_del(&next, S("b"));
    obj_setz(&next, "d", obj_done(&o)); /* a builder that gave its value away is empty */
    struct json w = obj_done(&next);
    check_samez(json_text(&a, &w), "{\"a\":null,\"c\":0.5,\"d\":{}}");
    check_samez(json_text(&a, &v), "{\"a\":null,\"b\":[1,\"two\"],\"c\":0.5}");
}

TEST(json_with)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *v = json_parse(&a, S("{\"a\":{\"b\":1,\"c\":2},\"d\":3}"), NULL, NULL);
    const struct json *w;

    w = json_with(&a, v, json_of_i64(9), "a", "b", NULL);
    check_samez(json_text(&a, w), "{\"a\":{\"b\":9,\"c\":2},\"d\":3}");
    w = json_with(&a, v, json_of_i64(9), "x", "y", NULL);
    check_samez(json_text(&a, w), "{\"a\":{\"b\":1,\"c\":2},\"d\":3,\"x\":{\"y\":9}}");
    w = json_with(&a, v, json_of_i64(9), "d", "e", NULL);
    check_samez(json_text(&a, w), "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"e\":9}}");
    w = json_with(&a, NULL, json_of_i64(9), "d", NULL);
    check_samez(json_text(&a, w), "{\"d\":9}");
    w = json_without(&a, v, "a", "b", NULL);
    check_samez(json_text(&a, w), "{\"a\":{\"c\":2},\"d\":3}");
    check(json_without(&a, v, "a", "x", NULL) == v);
    check(json_without(&a, NULL, "a", NULL) == NULL);
    w = json_with_as(&a, v, json_with(&a, NULL, json_of_i64(7), "d", NULL), S("d"));
    check_samez(json_text(&a, w), "{\"a\":{\"b\":1,\"c\":2},\"d\":7}");
    w = json_with_as(&a, v, NULL, S("a"));
    check_samez(json_text(&a, w), "{\"d\":3}");
    check_samez(json_text(&a, v), "{\"a\":{\"b\":1,\"c\":2},\"d\":3}");
}
