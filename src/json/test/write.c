/* write.c - the texts that we write */
#include "base/testing.h"
#include "json/json.h"

TEST(json_write_str)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"plain",                      "abc",              "\"abc\""                  },
        {"empty",                      "",                 "\"\""                     },
        {"four",                       "abcd",             "\"abcd\""                 },
        {"five",                       "abcde",            "\"abcde\""                },
        {"seven, the sixth a quote",   "abcde\"g",         "\"abcde\\\"g\""           },
        {"seven",                      "abcdefg",          "\"abcdefg\""              },
        {"quotes and backslashes",     "a\"b\\c",          "\"a\\\"b\\\\c\""          },
        {"control characters",         "\x01\n\x1f\x7f",   "\"\\u0001\\n\\u001f\x7f\""},
        {"what HTML minds stays",      "<a href='x'>&",    "\"<a href='x'>&\""        },
        {"not ASCII",                  "\xE2\x82\xAC",     "\"\xE2\x82\xAC\""         },
        {"an invalid byte is U+FFFD",
         "a\xFE"
         "b",                                              "\"a\xEF\xBF\xBD"
         "b\""                                                           },
        {"a cut rune, eight bytes in", "01234567\xE2\x82",
         "\"01234567\xEF\xBF\xBD\xEF\xBF\xBD\""                                       },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct json v = json_of_str(str_from(cases[i].text));
        test_case(cases[i].name);
        check_samez(json_text(&a, &v), cases[i].want);
    }
}

TEST(json_write_pretty)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct buf b = buf_in(&a, 256);
    const struct json *v =
        json_parse(&a, S("{\"a\":[1,{\"b\":{}},[]],\"c\":\"x\"}"), NULL, NULL);

    json_write_pretty(&b, v);
    check_samez(buf_str(&b), "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    },\n    []\n"
                             "  ],\n  \"c\": \"x\"\n}");
    b = buf_in(&a, 256);
    json_write_indented(&b, json_getz(v, "a"), 1);
    check_samez(buf_str(&b), "[\n 1,\n {\n  \"b\": {}\n },\n []\n]");
    b = buf_in(&a, 256);
    json_write_pretty(&b, NULL);
    check_samez(buf_str(&b), "null");
}
