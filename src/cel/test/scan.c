/* scan.c - what one pass decides is what RE2 decides */
#include "base/testing.h"
#include "cel/scan_priv.h"

static const char *const texts[] = {
    "",         "a",    "ab",    "abc",   "aab",  "node-1",   "node-17.rack-3",
    "node-",    "12",   "1.2.3", "a-b",   "A_b9", "\xc3\xa4", "a\xc3\xa4",
    "node-1\n", "aaaa", "b",     "x.y/z", "]",    "a b",      "node-17.rack-3.com",
};

TEST(scan_agrees_with_regex)
{
    static const struct {
        const char *pattern;
        bool is_ours;
    } rows[] = {
        {"^node-[0-9]+$",                     true },
        {"^node-[0-9]+\\.rack-[0-9]+",        true },
        {"^node-[0-9]+\\.rack-[0-9]+\\.com$", true },
        {"^$",                                true },
        {"^",                                 true },
        {"^a?b$",                             true },
        {"^a*b$",                             true },
        {"^a{2,3}b?$",                        true },
        {"^[a-z]{1,3}$",                      true },
        {"^\\d+\\.\\d+\\.\\d+$",              true },
        {"^[A-Za-z0-9_]+$",                   true },
        {"^\\w{2,}$",                         true },
        {"^[a-]+b?$",                         true },
        {"^a{4}$",                            true },
        {"^a?a$",                             false}, /* the rest needs what the optional one took */
        {"^[a-c]*b$",                         false},
        {"^a?b?a$",                           false},
        {"a",                                 false}, /* not anchored */
        {"^(a|b)$",                           false},
        {"^a|b$",                             false},
        {"^.$",                               false}, /* characters are not bytes */
        {"^[^a]$",                            false},
        {"^a+?b$",                            false},
        {"^\\bnode",                          false},
        {"^[[:alpha:]]+$",                    false},
        {"^\xc3\xa4$",                        false},
        {"^[\\.-a]$",                         false}, /* a range that begins with an escape */
        {"^[\\d.]+$",                         true },
        {"^a{0,03}$",                         false}, /* no count, but what it looks like */
        {"^a{0,3}$",                          true },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(rows); i++) {
        struct regex *re = regex_new(str_from(rows[i].pattern), NULL);
        const struct scan *s = scan_new(&a, str_from(rows[i].pattern));
        test_case(rows[i].pattern);
        check(re != NULL);
        check_int(s != NULL, rows[i].is_ours);
        for (size_t k = 0; s && k < countof(texts); k++) {
            test_case(str_z(&a, str_printf(&a, "%s on '%s'", rows[i].pattern, texts[k])));
            check_int(scan_match(s, str_from(texts[k])), regex_match(re, str_from(texts[k])));
        }
        regex_free(re);
    }
}
