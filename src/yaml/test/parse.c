/* parse.c - streams, documents, anchors, duplicates and limits */
#include "base/testing.h"
#include "yaml/yaml.h"

static struct str read_all(struct arena *a, const char *text)
{
    struct yaml_docs docs = {0};
    struct err err = {0};
    struct buf b = buf_in(a, 64);

    if (yaml_parse(a, str_from(text), NULL, &docs, &err) < 0)
        return str_copy(a, err_str(&err));
    vec_each (i, &docs.list) {
        buf_add(&b, i ? S(" | ") : S(""));
        json_write(&b, docs.list.at[i].value);
    }
    return buf_str(&b);
}

TEST(yaml_parse)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"nothing",                                    "",                                                   ""                                                                                },
        {"a mapping in its order",                     "b: 1\na: [x, 'y', \"z\"]\n",
         "{\"b\":1,\"a\":[\"x\",\"y\",\"z\"]}"                                                                                                                                                 },
        {"several documents",                          "a: 1\n---\n- 2\n---\n# none\n---\nx\n",
         "{\"a\":1} | [2] | null | \"x\""                                                                                                                                                      },
        {"a document's end",                           "---\na\n...\n---\nb\n",                              "\"a\" | \"b\""                                                                   },
        {"quoted scalars are texts",                   "['1', \"true\", 1, true]",                           "[\"1\",\"true\",1,true]"                                                         },
        {"a literal",                                  "a: |\n  x\n   y\n\n  z\nb: >-\n  x\n  y\n",
         "{\"a\":\"x\\n y\\n\\nz\\n\",\"b\":\"x y\"}"                                                                                                                                          },
        {"keys become texts",                          "1: a\ntrue: b\n1.5: c\n",
         "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\"}"                                                                                                                                          },
        {"tags",                                       "[!!str 1, !!float 2, ! 3, !mine 4, !!seq [5]]",      "[\"1\",2,\"3\",\"4\",[5]]"                                                       },
        {"an alias",                                   "a: &x {b: 1}\nc: *x\n",                              "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"                                               },
        {"an anchor named anew",                       "[&x 1, *x, &x 2, *x]",                               "[1,1,2,2]"                                                                       },
        {"a merge: own keys win, wherever they stand",
         "base: &b {x: 1, z: 2}\none: {<<: *b, x: 3}\ntwo: {x: 3, <<: *b}\n",                                "{\"base\":{\"x\":1,\"z\":2},\"one\":{\"x\":3,\"z\":2},\"two\":{\"x\":3,\"z\":2}}"},
        {"merges: the first has it",                   "- &a {x: 1}\n- &b {x: 2, z: 2}\n- {<<: [*a, *b]}\n",
         "[{\"x\":1},{\"x\":2,\"z\":2},{\"x\":1,\"z\":2}]"                                                                                                                                     },
        {"a quoted << is a key",                       "{\"<<\": 1}",                                        "{\"<<\":1}"                                                                      },
        {"an empty value",                             "a:\nb: ~\n",                                         "{\"a\":null,\"b\":null}"                                                         },
        {"JSON with tabs",                             "{\n\t\"a\":\t1\n}",                                  "{\"a\":1}"                                                                       },
        {"JSON values one after the other",            "{\"a\":1}\n{\"b\":2}",                               "{\"a\":1} | {\"b\":2}"                                                           },
        {"a byte order mark",
         "\xEF\xBB\xBF"
         "a: 1",                                                                                             "{\"a\":1}"                                                                       },
        {"an escape",                                  "\"\\u20ac\\n\"",                                     "\"\xE2\x82\xAC\\n\""                                                             },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(read_all(&a, cases[i].text), cases[i].want);
    }
}

TEST(yaml_parse_refuses)
{
    static const struct {
        const char *name, *text, *why;
    } cases[] = {
        {"a key twice",                "a: 1\nb: 2\na: 3\n",
         "yaml: line 3, column 1: key 'a' is already set on line 1"                         },
        {"twice as JSON",              "{\"a\":1,\"a\":2}",
         "yaml: line 1, column 8: key 'a' is already set on line 1"                         },
        {"a text and a number",        "{1: x, '1': y}",      "column 8: key '1' is already"},
        {"a tab",                      "a:\n\tb: 1\n",        "yaml: line 2, column 1"      },
        {"an open list",               "[1, 2\n",             "yaml: line 2, column 1"      },
        {"an unknown alias",           "a: *x",               "unknown anchor 'x'"          },
        {"an alias of the past",       "a: &x 1\n---\nb: *x", "line 3, column 4: unknown"   },
        {"an alias in itself",         "&x [*x]",             "anchor 'x' contains itself"  },
        {"a mapping as a key",         "? {a: 1}\n: 2\n",     "a key must be"               },
        {"a key without a value",      "{~: 1}",              "a key must be"               },
        {"a merge of a number",        "{<<: 1}",             "map merge requires"          },
        {"a merge of a list of texts", "{<<: [a]}",           "map merge requires"          },
        {"infinity",                   "[.inf]",              "NaN or infinity"             },
        {"a tag that lies",            "!!int x",             "does not fit its tag"        },
        {"bad UTF-8",                  "a: \xFF",             "yaml: offset 3"              },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct str got = read_all(&a, cases[i].text);
        test_case(cases[i].name);
        if (!str_has(got, str_from(cases[i].why)))
            check_samez(got, cases[i].why);
    }
}

TEST(yaml_parse_dups)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct json_dups dups = {0};
    const struct json *v =
        yaml_parse_one(&a, S("a: 1\nb: [{c: 1, c: 2, c: 3}]\na: 2\n"), &dups, NULL);

    check_samez(json_text(&a, v), "{\"a\":2,\"b\":[{\"c\":3}]}");
    check_samez(str_join(&a, dups.paths.at, dups.paths.len, S(" ")), "b[0].c a");
    dups = (struct json_dups){0};
    v = yaml_parse_one(&a, S("{\"a\":1,\"a\":2}"), &dups, NULL);
    check_samez(json_text(&a, v), "{\"a\":2}");
    check_int(dups.paths.len, 1);
}

TEST(yaml_parse_one)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct err err = {0};

    check_samez(json_text(&a, yaml_parse_one(&a, S("a: 1"), NULL, &err)), "{\"a\":1}");
    check_samez(json_text(&a, yaml_parse_one(&a, S("# none"), NULL, &err)), "null");
    check(!yaml_parse_one(&a, S("a\n---\nb\n"), NULL, &err));
    check_err(&err, ERR_SYNTAX, "line 2: one document was expected");
}

TEST(yaml_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct buf laughs = buf_in(&a, 4096), deep = buf_in(&a, 4096);
    struct yaml_docs docs = {0};
    struct err err = {0};

    buf_add(&laughs, S("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"));
    for (int i = 1; i < 12; i++)
        buf_printf(&laughs, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1,
                   i - 1, i - 1, i - 1, i - 1, i - 1);
    check_int(yaml_parse(&a, buf_str(&laughs), NULL, &docs, &err), -1);
    check_err(&err, ERR_LIMIT, "excessive aliasing");

    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        buf_byte(&deep, '[');
    check_int(yaml_parse(&a, buf_str(&deep), NULL, &docs, &err), -1);
    check_err(&err, ERR_LIMIT, "nested too deep");

    /* Levels that aliases add count too. */
    deep = buf_in(&a, 4096);
    buf_add(&deep, S("- &a0 [[[[[[[[[[1]]]]]]]]]]\n"));
    for (int i = 1; i < 60; i++)
        buf_printf(&deep, "- &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i - 1);
    check_int(yaml_parse(&a, buf_str(&deep), NULL, &docs, &err), -1);
    check_err(&err, ERR_LIMIT, "nested too deep");
    check_int(docs.list.len, 0);
}
