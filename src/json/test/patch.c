/* patch.c - JSON patch */
#include "json/patch.h"
#include "base/testing.h"

static struct str patched(struct arena *a, struct str doc, struct str patch)
{
    struct err err = {0};
    const struct json *v =
        json_patch(a, json_parse(a, doc, NULL, NULL), json_parse(a, patch, NULL, NULL), &err);

    return v ? json_text(a, v) : str_copy(a, err_str(&err));
}

TEST(json_patch)
{
    static const struct {
        const char *name, *doc, *patch, *want;
    } cases[] = {
        {"operations follow each other",                   "{\"a\":[1]}",
         "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":0},{\"op\":\"add\",\"path\":\"/a/"
         "-\",\"value\":{}},"
         "{\"op\":\"add\",\"path\":\"/a/2/b\",\"value\":null},{\"op\":\"replace\",\"path\":\"/"
         "a/1\","
         "\"value\":\"x\"}]",                                                                                                                                  "{\"a\":[0,\"x\",{\"b\":null}]}"                                             },
        {"remove and move",                                "{\"a\":{\"b\":1,\"c\":2},\"d\":[1,2,3]}",
         "[{\"op\":\"remove\",\"path\":\"/a/b\"},{\"op\":\"move\",\"from\":\"/d/"
         "1\",\"path\":\"/a/x~1y\"},"
         "{\"op\":\"test\",\"path\":\"/d\",\"value\":[1,3]}]",                                                                                                 "{\"a\":{\"c\":2,\"x/y\":2},\"d\":[1,3]}"                                    },
        {"a copy is another value",                        "{\"a\":{\"b\":[1]}}",
         "[{\"op\":\"add\",\"path\":\"/a/b/0\",\"value\":0},{\"op\":\"copy\",\"from\":\"/"
         "a\",\"path\":\"/c\"},"
         "{\"op\":\"add\",\"path\":\"/c/b/-\",\"value\":2},{\"op\":\"remove\",\"path\":\"/a/b/"
         "0\"}]",                                                                                                                                              "{\"a\":{\"b\":[1]},\"c\":{\"b\":[0,1,2]}}"                                  },
        {"a value taken from the patch twice stays whole", "{}",
         "[{\"op\":\"add\",\"path\":\"/a\",\"value\":{\"x\":[]}},"
         "{\"op\":\"add\",\"path\":\"/a/x/-\",\"value\":1}]",                                                                                                  "{\"a\":{\"x\":[1]}}"                                                        },
        {"the whole document",                             "{\"a\":1}",
         "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":2}},{\"op\":\"copy\",\"from\":"
         "\"\","
         "\"path\":\"/c\"}]",                                                                                                                                  "{\"b\":2,\"c\":{\"b\":2}}"                                                  },
        {"replace of a missing member adds it",            "{}",
         "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]",                                                                                                 "{\"a\":1}"                                                                  },
        {"test for null passes on a missing member",       "{}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]",                                                                                                 "{}"                                                                         },
        {"negative indexes count from the end",            "[1,2,3]",
         "[{\"op\":\"remove\",\"path\":\"/-1\"},{\"op\":\"replace\",\"path\":\"/"
         "-2\",\"value\":0}]",                                                                                                                                 "[0,2]"                                                                      },
        {"but not where something is added",               "[1]",
         "[{\"op\":\"add\",\"path\":\"/-1\",\"value\":1}]",                                                                                                    "operation 0 of the JSON patch, 'add' at '/-1': the index is out of the list"},
        {"a failing test",                                 "{\"a\":1}",                               "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"1\"}]",
         "operation 0 of the JSON patch, 'test' at '/a': the value is another one"                                                                                                                                                          },
        {"into itself",                                    "{\"a\":{}}",                              "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
         "operation 0 of the JSON patch, 'move' at '/a/b': a value cannot move into itself"                                                                                                                                                 },
        {"a name that only begins the same",               "{\"a\":1}",
         "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/ab\"}]",                                                                                               "{\"ab\":1}"                                                                 },
        {"through a text",                                 "{\"a\":\"x\"}",                           "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]",
         "operation 0 of the JSON patch, 'add' at '/a/b': the path leads through a value that "
         "holds no others"                                                                                                                                                                                                                  },
        {"no list",                                        "{}",                                      "{}",                                                    "a JSON patch must be a list of operations"                                  },
        {"no objects",                                     "{}",                                      "[[]]",                                                  "operation 0 of the JSON patch must be an object"                            },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(patched(&a, str_from(cases[i].doc), str_from(cases[i].patch)),
                    cases[i].want);
    }
}

/* The document and the patch are as before, also where both were shared. */
TEST(json_patch_leaves_its_inputs)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    const struct json *doc = json_parse(&a, S("{\"a\":[1,2],\"b\":{}}"), NULL, NULL);
    const struct json *ops = json_parse(
        &a,
        S("[{\"op\":\"add\",\"path\":\"/b/x\",\"value\":{\"y\":[]}},{\"op\":\"add\",\"path\":"
          "\"/b/x/y/-\",\"value\":1},{\"op\":\"remove\",\"path\":\"/a/0\"}]"),
        NULL, NULL);
    struct str before = json_text(&a, ops);
    const struct json *once = json_patch(&a, doc, ops, NULL);
    const struct json *twice = json_patch(&a, once, ops, NULL);

    check_samez(json_text(&a, doc), "{\"a\":[1,2],\"b\":{}}");
    check_same(json_text(&a, ops), before);
    check_samez(json_text(&a, once), "{\"a\":[2],\"b\":{\"x\":{\"y\":[1]}}}");
    check_samez(json_text(&a, twice), "{\"a\":[],\"b\":{\"x\":{\"y\":[1]}}}");
}

static const struct json *many_ops(struct arena *a, size_t n, const char *op)
{
    struct json_arr l = arr_in(a);
    const struct json *v = json_parse(a, str_from(op), NULL, NULL);

    for (size_t i = 0; i < n; i++)
        arr_add(&l, *v);
    return json_new(a, arr_done(&l));
}

TEST(json_patch_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct err err = {0};
    struct json_arr big = arr_in(&a);
    const struct json *doc = json_parse(&a, S("{\"a\":[\"0123456789\"],\"l\":[]}"), NULL, NULL);

    check(!json_patch(&a, doc, many_ops(&a, JSON_PATCH_MAX_OPS + 1, "{}"), &err));
    check_err(&err, ERR_LIMIT, "10001 operations");

    const char *copy = "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}";
    check(!json_patch(&a, doc, many_ops(&a, 100, copy), &err));
    check_err(&err, ERR_INVALID, "copies of the patch add more than");

    const char *nest = "{\"op\":\"move\",\"from\":\"/l\",\"path\":\"/x\"}";
    const char *wrap = "{\"op\":\"add\",\"path\":\"/l\",\"value\":[]}";
    const char *into = "{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/l/0\"}";
    struct json_arr ops = arr_in(&a);
    for (int i = 0; i < 600; i++) {
        arr_add(&ops, *json_parse(&a, str_from(nest), NULL, NULL));
        arr_add(&ops, *json_parse(&a, str_from(wrap), NULL, NULL));
        arr_add(&ops, *json_parse(&a, str_from(into), NULL, NULL));
    }
    struct json list = arr_done(&ops);
    check(!json_patch(&a, doc, &list, &err));
    check_err(&err, ERR_INVALID, "nested deeper than 512");

    for (int i = 0; i < 100000; i++)
        arr_add(&big, json_of_i64(i));
    struct json long_list = arr_done(&big);
    const char *front = "{\"op\":\"add\",\"path\":\"/0\",\"value\":1}";
    check(!json_patch(&a, &long_list, many_ops(&a, 10000, front), &err));
    check_err(&err, ERR_INVALID, "steps");
    const char *back = "{\"op\":\"add\",\"path\":\"/-\",\"value\":1}";
    check_int(json_len(json_patch(&a, &long_list, many_ops(&a, 10000, back), &err)), 110000);
}
