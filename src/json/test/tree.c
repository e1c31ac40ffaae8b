/* tree.c - reading, comparing and copying */
#include "base/testing.h"
#include "json/json.h"

static const struct json *parse(struct arena *a, const char *text)
{
    const struct json *v = json_parse(a, str_from(text), NULL, NULL);

    check(v);
    return v;
}

TEST(json_readers)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *v = parse(&a, "{\"s\":\"x\",\"i\":3,\"d\":2.0,\"h\":2.5,\"b\":true,"
                                     "\"n\":null,\"l\":[1,2],\"o\":{\"p\":{\"q\":7}}}");

    check_samez(json_str(json_getz(v, "s")), "x");
    check_samez(json_str(json_getz(v, "i")), "");
    check_int(json_i64(json_getz(v, "i"), -1), 3);
    check_int(json_i64(json_getz(v, "d"), -1), 2);
    check_int(json_i64(json_getz(v, "h"), -1), -1);
    check_int(json_i64(json_getz(v, "s"), -1), -1);
    check(json_f64(json_getz(v, "i"), -1) == 3.0);
    check(json_f64(NULL, -1) == -1.0);
    check(json_bool(json_getz(v, "b"), false));
    check(json_bool(json_getz(v, "i"), true));
    check_int(json_len(json_getz(v, "l")), 2);
    check_int(json_len(json_getz(v, "s")), 0);
    check(!json_has(json_getz(v, "n")) && json_has(json_getz(v, "i")) && !json_has(NULL));
    check_int(json_i64(json_path(v, "o", "p", "q", NULL), 0), 7);
    check(!json_path(v, "o", "x", "q", NULL));
    check(!json_get(NULL, S("a")) && !json_getz(json_getz(v, "l"), "a"));
    check_int(json_i64(json_at(json_getz(v, "l"), 1), 0), 2);
    check(!json_at(json_getz(v, "l"), 2) && !json_at(v, 0));

    size_t n = 0;
    json_each_member (m, json_getz(v, "l"))
        n += m->name.len;
    json_each (i, v)
        n += i + 1;
    check_int(n, 0);
}

TEST(json_eq)
{
    static const struct {
        const char *name, *a, *b;
        bool want;
    } cases[] = {
        {"order of members does not count", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}",  true },
        {"order of elements does",          "[1,2]",             "[2,1]",              false},
        {"1 and 1.0",                       "[1]",               "[1.0]",              true },
        {"a double that rounds",            "9007199254740993",  "9007199254740992.0", false},
        {"null is not absent",              "{\"a\":null}",      "{}",                 false},
        {"null and another name",           "{\"a\":null}",      "{\"b\":null}",       false},
        {"types differ",                    "\"1\"",             "1",                  false},
        {"true and false",                  "true",              "false",              false},
        {"one string is longer",            "\"ab\"",            "\"abc\"",            false},
        {"empty ones of two types",         "[]",                "{}",                 false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *x = parse(&a, cases[i].a), *y = parse(&a, cases[i].b);
        test_case(cases[i].name);
        check_int(json_eq(x, y), cases[i].want);
        check_int(json_eq(y, x), cases[i].want);
        check_int(json_cmp(x, y) == 0, cases[i].want);
    }
    check(json_eq(NULL, NULL) && !json_eq(NULL, parse(&a, "null")));
}

TEST(json_eq_large)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct json_obj up = obj_in(&a), down = obj_in(&a);

    for (int i = 0; i < 40; i++) {
        obj_add(&up, str_printf(&a, "k%d", i), json_of_i64(i));
        obj_add(&down, str_printf(&a, "k%d", 39 - i), json_of_i64(39 - i));
    }
    struct json x = obj_done(&up), y = obj_done(&down);
    check(json_eq(&x, &y));
    check_int(json_cmp(&x, &y), 0);
    const struct json *z = json_with(&a, &y, json_of_i64(9), "k7", NULL);
    check(!json_eq(&x, z));
    check(json_cmp(&x, z) < 0);
}

/* Each row is smaller than the next. */
TEST(json_cmp)
{
    static const char *const rows[] = {
        "null",
        "false",
        "true",
        "-9223372036854775808",
        "-1.5",
        "-1",
        "0.5",
        "1",
        "1.25",
        "9007199254740992.0",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "\"\"",
        "\"a\"",
        "\"aa\"",
        "\"b\"",
        "[]",
        "[1]",
        "[1,2]",
        "[2]",
        "{}",
        "{\"a\":1}",
        "{\"b\":0,\"a\":1}",
        "{\"a\":2}",
        "{\"b\":1}",
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(rows); i++)
        for (size_t j = 0; j < countof(rows); j++) {
            int got = json_cmp(parse(&a, rows[i]), parse(&a, rows[j]));
            test_case(rows[i]);
            check_int((got > 0) - (got < 0), (i > j) - (i < j));
        }
    check(json_cmp(NULL, parse(&a, "null")) < 0);
}

TEST(json_copy)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    char text[] = "{\"b\":[\"x\",{\"d\":1,\"c\":\"y\"}],\"a\":{}}";
    const struct json *v = parse(&a, text);
    const struct json *copy = json_copy(&a, v), *sorted = json_sorted(&a, copy);

    memset(text, '-', sizeof(text) - 1);
    check_samez(json_text(&a, copy), "{\"b\":[\"x\",{\"d\":1,\"c\":\"y\"}],\"a\":{}}");
    check_samez(json_text(&a, sorted), "{\"a\":{},\"b\":[\"x\",{\"c\":\"y\",\"d\":1}]}");
    check(!json_copy(&a, NULL) && !json_sorted(&a, NULL));
}

static const struct json_raw_path raw_path = {
    {S_INIT("meta"), S_INIT("managed"), S_INIT("fields")},
    3
};

/* What is left as its text is to everybody but readers what it would be as a tree. */
TEST(json_raw)
{
    static const struct {
        const char *text;
        size_t n_raw;
    } rows[] = {
        {"{\"meta\":{\"managed\":[{\"fields\":{\"a\":{}}}]}}",                                 1},
        {"{\"meta\":{\"managed\":[{\"fields\":{\"b\":1,\"a\":2}},{\"fields\":{}}],\"x\":{}}}",
         2                                                                                      },
        {"{\"meta\":{\"managed\":{\"fields\":{\"}\":\"\\\"}\\\\\"},\"x\":{\"fields\":{}}}}}",
         1                                                                                      },
        {"{\"meta\":{\"fields\":{\"a\":1}},\"managed\":{\"fields\":{}},\"fields\":{}}",        0},
        {"{\"spec\":{\"meta\":{\"managed\":[{\"fields\":{\"a\":{}}}]}}}",                      0},
        {"{\"meta\":{\"managed\":[{\"fields\":null},{\"fields\":[{}]},{\"fields\":\"{\"}]}}",
         0                                                                                      },
        {"[{\"meta\":{\"managed\":{\"fields\":{\"meta\":{\"managed\":{\"fields\":{}}}}}}}]",   1},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct err err = {0};

    for (size_t i = 0; i < countof(rows); i++) {
        test_case(rows[i].text);
        struct str text = str_from(rows[i].text);
        const struct json *plain = parse(&a, rows[i].text);
        const struct json *raw = json_parse_raw(&a, text, &raw_path, &err);
        const struct json *copy = json_copy(&a, raw), *whole = json_whole(&a, raw);
        check(raw && json_eq(raw, plain) && json_eq(plain, raw) && json_eq(copy, raw));
        check_int(json_cmp(raw, plain), 0);
        check((json_count(raw, 1000) < json_count(plain, 1000)) <= (rows[i].n_raw > 0));
        check((whole == raw) == (rows[i].n_raw == 0));
        check_int(json_count(whole, 1000), json_count(plain, 1000));
        check_same(json_text(&a, raw), text);
        check_same(json_text(&a, copy), text);
        check_same(json_text(&a, whole), text);
        check_same(json_text(&a, json_sorted(&a, raw)), json_text(&a, json_sorted(&a, plain)));
        struct buf x = buf_in(&a, 64), y = buf_in(&a, 64);
        json_write_pretty(&x, raw);
        json_write_pretty(&y, plain);
        check_same(buf_str(&x), buf_str(&y));
        check(json_size(raw, 1000) >= text.len);
    }
    test_case("one that differs");
    const struct json *one = json_parse_raw(&a, str_from(rows[0].text), &raw_path, &err);
    const struct json *other = parse(&a, "{\"meta\":{\"managed\":[{\"fields\":{\"b\":{}}}]}}");
    check(one && !json_eq(one, other) && json_cmp(one, other) < 0);
    test_case("one that does not end");
    for (size_t cut = 1; cut < strlen(rows[2].text); cut++)
        check(!json_parse_raw(&a, str_of(rows[2].text, cut), &raw_path, &err));
}
