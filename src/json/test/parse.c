/* parse.c - which texts are JSON, and what they mean */
#include "base/testing.h"
#include "json/json.h"

TEST(json_parse)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"white space around",                                 " \t\r\n{ \"a\" : [ 1 , 2 ] }\n", "{\"a\":[1,2]}"                },
        {"empty ones",                                         "[{},[],\"\"]",                   "[{},[],\"\"]"                 },
        {"order is kept",                                      "{\"b\":1,\"a\":2}",              "{\"b\":1,\"a\":2}"            },
        {"literals",                                           "[true,false,null]",              "[true,false,null]"            },
        {"short escapes",                                      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
        {"an escape far in",                                   "\"0123456789abcdef\\u0041\"",    "\"0123456789abcdefA\""        },
        {"a surrogate pair",                                   "\"\\ud83d\\ude00\"",             "\"\xF0\x9F\x98\x80\""         },
        {"the first pair",                                     "\"\\ud800\\udc00\"",             "\"\xF0\x90\x80\x80\""         },
        {"a lone high surrogate",                              "\"\\ud83dx\"",                   "\"\xEF\xBF\xBDx\""            },
        {"a lone low surrogate",                               "\"\\ude00\"",                    "\"\xEF\xBF\xBD\""             },
        {"two high surrogates",                                "\"\\ud83d\\ud83d\\ude00\"",
         "\"\xEF\xBF\xBD\xF0\x9F\x98\x80\""                                                                                     },
        {"text that is not ASCII",                             "\"na\xC3\xAFve\"",               "\"na\xC3\xAFve\""             },
        {"invalid UTF-8",                                      "\"a\xFF\xC3\"",                  "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"control characters",                                 "\"\\u0001\\u001f\\u007f\"",      "\"\\u0001\\u001f\x7f\""       },
        {"the last duplicate wins, in the place of the first", "{\"a\":1,\"b\":2,\"a\":3}",
         "{\"a\":3,\"b\":2}"                                                                                                    },
        {"duplicates by way of escapes",                       "{\"a\":1,\"\\u0061\":2}",        "{\"a\":2}"                    },
        {"a name that is empty",                               "{\"\":1}",                       "{\"\":1}"                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].name);
        const struct json *v = json_parse(&a, str_from(cases[i].text), NULL, &err);
        check_same(v ? json_text(&a, v) : err_str(&err), str_from(cases[i].want));
    }
}

TEST(json_parse_refuses)
{
    static const struct {
        const char *name, *text, *why;
    } cases[] = {
        {"nothing",                  "",               "unexpected end"                    },
        {"white space only",         "  ",             "unexpected end"                    },
        {"an open array",            "[1",             "unexpected end"                    },
        {"an open string",           "\"a",            "unexpected end"                    },
        {"an escape cut off",        "\"a\\",          "unexpected end"                    },
        {"a comma at the end",       "[1,]",           "character ']' at offset 3"         },
        {"a member without a name",  "{,}",            "character ',' at offset 1"         },
        {"a name without quotes",    "{a:1}",          "double quotes"                     },
        {"no colon",                 "{\"a\" 1}",      "after object key"                  },
        {"no comma",                 "[1 2]",          "after array element"               },
        {"two values",               "1 2",            "after top-level value"             },
        {"a wrong escape",           "\"\\x\"",        "in string escape code"             },
        {"a short \\u",              "\"\\u12\"",      "hexadecimal"                       },
        {"a raw line feed",          "\"a\nb\"",       "byte 0x0a at offset 2"             },
        {"half a literal",           "tru",            "unexpected end"                    },
        {"another literal",          "nil",            "character 'i' at offset 1"         },
        {"a byte order mark",        "\xEF\xBB\xBF{}", "byte 0xef at offset 0"             },
        {"a zero byte is no escape", "\"\\\x01\"",     "byte 0x01"                         },
        {"a number too large",       "[1e400]",        "number at offset 1 is out of range"},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].name);
        check(!json_parse(&a, str_from(cases[i].text), NULL, &err));
        check_err(&err, ERR_SYNTAX, cases[i].why);
    }
}

TEST(json_parse_dups)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"none",                        "{\"a\":1,\"b\":{\"a\":1}}",                 ""        },
        {"each once, as they come",     "{\"a\":1,\"a\":2,\"b\":3,\"b\":4,\"a\":5}", "a b"     },
        {"in a list",                   "{\"a\":{\"b\":[0,{\"c\":1,\"c\":2}]}}",     "a.b[1].c"},
        {"in a value that is replaced", "{\"a\":{\"b\":1,\"b\":2},\"a\":3}",         "a.b a"   },
        {"at the root of a list",       "[{\"x\":1,\"x\":1}]",                       "[0].x"   },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct json_dups dups = {0};
        test_case(cases[i].name);
        check(json_parse(&a, str_from(cases[i].text), &dups, NULL));
        check_samez(str_join(&a, dups.paths.at, dups.paths.len, S(" ")), cases[i].want);
    }
}

/* Past a few members they are found by hash. */
TEST(json_parse_large_objects)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct json_dups dups = {0};
    struct buf b = buf_in(&a, 1 << 16);

    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%s\"k%d\":%d", i ? "," : "{", i % 999, i);
    buf_add(&b, S(",\"k500\":-1}"));
    const struct json *v = json_parse(&a, buf_str(&b), &dups, NULL);
    check_int(json_len(v), 999);
    check_int(json_i64(json_getz(v, "k0"), 0), 999);
    check_int(json_i64(json_getz(v, "k500"), 0), -1);
    check_int(json_i64(json_getz(v, "k998"), 0), 998);
    check_samez(str_join(&a, dups.paths.at, dups.paths.len, S(" ")), "k0 k500");
}

TEST(json_parse_next)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str text = S(" {\"a\":1}\n[2] 3 x");
    struct err err = {0};

    check_samez(json_text(&a, json_parse_next(&a, &text, NULL, &err)), "{\"a\":1}");
    check_samez(json_text(&a, json_parse_next(&a, &text, NULL, &err)), "[2]");
    check_samez(json_text(&a, json_parse_next(&a, &text, NULL, &err)), "3");
    check_samez(text, "x");
    check(!json_parse_next(&a, &text, NULL, &err));
    check_samez(text, "x");
}

TEST(json_parse_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct err err = {0};
    char deep[2 * (JSON_MAX_DEPTH + 1)];

    memset(deep, '[', JSON_MAX_DEPTH + 1);
    memset(deep + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
    check(!json_parse(&a, str_of(deep, sizeof(deep)), NULL, &err));
    check_err(&err, ERR_LIMIT, "deeper than the limit of 512");
    check(json_parse(&a, str_of(deep + 1, sizeof(deep) - 2), NULL, NULL));
    check(!json_parse(&a, str_of(deep, JSON_MAX_TEXT + 1), NULL, &err)); /* never read */
    check_err(&err, ERR_LIMIT, "over the limit");
}

/* Every cut of a text is refused or read within its bounds (the sanitizers watch). */
TEST(json_parse_cuts)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str text =
        S("{\"a\\u00e9\":[1.5e3,-0,true,\"\xC3\xA9 and some more text\\n\"],\"b\":null}");

    for (size_t n = 0; n < text.len; n++) {
        char *cut = mem_alloc(n + 1);
        memcpy(cut, text.at, n);
        check(!json_parse(&a, str_of(cut, n), NULL, NULL));
        free(cut);
    }
    check(json_parse(&a, text, NULL, NULL));
}
