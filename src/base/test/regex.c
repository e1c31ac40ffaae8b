/* regex.c - RE2 behind a small door */
#include "base/testing.h"

TEST(regex_match)
{
    static const struct {
        const char *pattern, *text;
        bool anywhere, whole;
    } cases[] = {
        {"a+",     "xaay", true,  false},
        {"a+",     "aaa",  true,  true },
        {"^$",     "",     true,  true },
        {"[0-9]$", "a",    false, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        struct regex *re = regex_new(str_from(cases[i].pattern), &err);
        test_case(cases[i].pattern);
        if (!check(re != NULL))
            continue;
        check_int(regex_match(re, str_from(cases[i].text)), cases[i].anywhere);
        check_int(regex_match_full(re, str_from(cases[i].text)), cases[i].whole);
        regex_free(re);
    }
}

TEST(regex_refuses)
{
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"(a",                   "missing closing ): `(a`"                     },
        {"[a",                   "missing closing ]: `[a`"                     },
        {"a\\",                  "trailing backslash at end of expression"     },
        {"*",                    "missing argument to repetition operator: `*`"},
        {"a**",                  "invalid nested repetition operator: `**`"    },
        {"a{1001}",              "invalid repeat count: `{1001}`"              },
        {"[z-a]",                "invalid character class range: `z-a`"        },
        {"(?=a)",                "invalid or unsupported Perl syntax: `(?=`"   },
        {"\\8",                  "invalid escape sequence: `\\8`"              },
        {"((a{100}){100}){100}", "invalid repeat count"                        },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].pattern);
        check(!regex_new(str_from(cases[i].pattern), &err));
        check_err(&err, ERR_SYNTAX, cases[i].why);
    }
}

TEST(regex_find)
{
    struct regex *re = regex_new(S("(?P<k>[a-z]+)=([0-9]*)"), NULL);
    struct str group[3];

    check(regex_find(re, S("?? ab=12"), 0, group, 3));
    check_same(group[0], S("ab=12"));
    check_same(group[1], S("ab"));
    check_same(group[2], S("12"));
    check_int(regex_groups(re), 2);
    check_samez(S("k"), regex_group_name(re, 1));
    regex_free(re);
}
