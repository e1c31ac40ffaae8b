/* merge.c - JSON merge patch: apply and create */
#include "base/testing.h"
#include "json/patch.h"

static const struct json *parse(struct arena *a, const char *text)
{
    return text ? json_parse(a, str_from(text), NULL, NULL) : NULL;
}

TEST(json_merge_patch)
{
    static const struct {
        const char *name, *doc, *patch, *want;
    } cases[] = {
        {"a member is set",                "{\"a\":1}",                 "{\"b\":2}",                    "{\"a\":1,\"b\":2}"   },
        {"replaced in its place",          "{\"a\":1,\"b\":2}",         "{\"a\":[1]}",                  "{\"a\":[1],\"b\":2}" },
        {"null takes it out",              "{\"a\":1,\"b\":2}",         "{\"a\":null}",                 "{\"b\":2}"           },
        {"deep",                           "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":null,\"d\":3}}",
         "{\"a\":{\"c\":2,\"d\":3}}"                                                                                          },
        {"nulls with nothing to take out", "{}",                        "{\"a\":{\"b\":{\"c\":null}}}",
         "{\"a\":{\"b\":{}}}"                                                                                                 },
        {"an object over a text",          "{\"a\":\"x\"}",             "{\"a\":{\"b\":null,\"c\":1}}",
         "{\"a\":{\"c\":1}}"                                                                                                  },
        {"lists are replaced",             "{\"a\":[1,2]}",             "{\"a\":[null,{\"b\":null}]}",
         "{\"a\":[null,{}]}"                                                                                                  },
        {"a null of the document stays",   "{\"e\":null}",              "{\"a\":1}",                    "{\"e\":null,\"a\":1}"},
        {"the patch is no object",         "{\"a\":1}",                 "[1]",                          "[1]"                 },
        {"no document",                    NULL,                        "{\"a\":1,\"b\":null}",         "{\"a\":1}"           },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(json_text(&a, json_merge_patch(&a, parse(&a, cases[i].doc),
                                                   parse(&a, cases[i].patch))),
                    cases[i].want);
    }
}

/* What is made from a -> b and applied to a gives b. */
TEST(json_merge_diff)
{
    static const char *const docs[] = {
        "{}",
        "{\"a\":1}",
        "{\"a\":1.0,\"b\":{}}",
        "{\"a\":{\"b\":1}}",
        "{\"a\":{\"b\":2,\"c\":[{\"d\":1}]},\"x\":\"y\"}",
        "{\"a\":{},\"x\":[]}",
        "{\"x\":[1,2],\"a\":{\"c\":{\"d\":{\"e\":1}}}}",
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(docs); i++)
        for (size_t j = 0; j < countof(docs); j++) {
            const struct json *from = parse(&a, docs[i]), *to = parse(&a, docs[j]);
            const struct json *patch = json_merge_diff(&a, from, to);
            test_case(docs[i]);
            check_same(json_text(&a, json_sorted(&a, json_merge_patch(&a, from, patch))),
                       json_text(&a, json_sorted(&a, to)));
            check(i != j || json_len(patch) == 0);
        }
    check_samez(json_text(&a, json_merge_diff(&a, parse(&a, "{\"a\":1,\"b\":{\"c\":1}}"),
                                              parse(&a, "{\"b\":{\"d\":[]}}"))),
                "{\"a\":null,\"b\":{\"c\":null,\"d\":[]}}");
}

TEST(json_merge_three_way)
{
    static const struct {
        const char *name, *original, *modified, *current, *want;
    } cases[] = {
        {"nothing to do",              "{\"a\":1}",                 "{\"a\":1}",         "{\"a\":1,\"b\":2}", "{}"                          },
        {"no longer wanted",           "{\"a\":1,\"b\":1}",         "{\"a\":1}",         "{\"a\":1,\"b\":2}",
         "{\"b\":null}"                                                                                                                     },
        {"never ours stays",           "{}",                        "{\"a\":1}",         "{\"b\":2}",         "{\"a\":1}"                   },
        {"others' change is undone",   "{\"a\":1}",                 "{\"a\":1}",         "{\"a\":2}",         "{\"a\":1}"                   },
        {"deep, both",                 "{\"m\":{\"a\":1,\"b\":1}}", "{\"m\":{\"a\":2}}",
         "{\"m\":{\"a\":1,\"b\":1,\"c\":1}}",                                                                 "{\"m\":{\"b\":null,\"a\":2}}"},
        {"an empty object is a value", "{}",                        "{\"m\":{}}",        "{}",                "{\"m\":{}}"                  },
        {"no original",                NULL,                        "{\"a\":1}",         "{\"a\":2,\"b\":1}", "{\"a\":1}"                   },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(json_text(&a, json_merge_three_way(&a, parse(&a, cases[i].original),
                                                       parse(&a, cases[i].modified),
                                                       parse(&a, cases[i].current))),
                    cases[i].want);
    }
}

/* Large objects are matched by hash: a million comparisons would be felt. */
TEST(json_merge_large)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct json_obj doc = obj_in(&a), patch = obj_in(&a);

    for (int i = 0; i < 20000; i++) {
        struct str name = str_printf(&a, "k%d", i), other = str_printf(&a, "k%d", 29999 - i);
        obj_add(&doc, name, json_of_i64(i));
        obj_add(&patch, other, i % 2 ? json_of_null() : json_of_i64(-1));
    }
    struct json d = obj_done(&doc), p = obj_done(&patch);
    const struct json *v = json_merge_patch(&a, &d, &p);
    check_int(json_len(v), 20000);
    check_int(json_i64(json_getz(v, "k9999"), 0), 9999);
    check(!json_getz(v, "k10000"));
    check_int(json_i64(json_getz(v, "k10001"), 0), -1);
}
