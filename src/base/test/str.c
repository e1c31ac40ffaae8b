/* str.c - views, numbers and UTF-8 */
#include "base/testing.h"

TEST(str_cut)
{
    static const struct {
        const char *name, *text, *head, *tail;
        bool found;
    } cases[] = {
        {"the first separator counts", "a:b:c", "a",   "b:c", true },
        {"no separator: all is head",  "abc",   "abc", "",    false},
        {"an empty head",              ":x",    "",    "x",   true },
        {"the empty text",             "",      "",    "",    false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct str head, tail;
        test_case(cases[i].name);
        check_int(str_cut(str_from(cases[i].text), ':', &head, &tail), cases[i].found);
        check_samez(head, cases[i].head);
        check_samez(tail, cases[i].tail);
    }
}

TEST(str_to_i64)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t want;
    } cases[] = {
        {"0",                    true,  0        },
        {"-1",                   true,  -1       },
        {"9223372036854775807",  true,  INT64_MAX},
        {"-9223372036854775808", true,  INT64_MIN},
        {"9223372036854775808",  false, 7        },
        {"",                     false, 7        },
        {"-",                    false, 7        },
        {"1x",                   false, 7        },
        {" 1",                   false, 7        },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        int64_t got = 7;
        test_case(cases[i].text);
        check_int(str_to_i64(str_from(cases[i].text), &got), cases[i].ok);
        check_int(got, cases[i].want);
    }
}

TEST(str_rune)
{
    static const struct {
        const char *name, *text;
        int64_t first;
        size_t moved;
    } cases[] = {
        {"ascii",                       "a",                0x61,    1},
        {"two bytes",                   "\xc3\xa9",         0xE9,    2},
        {"three bytes",                 "\xe2\x82\xac",     0x20AC,  3},
        {"four bytes",                  "\xf0\x9f\x98\x80", 0x1F600, 4},
        {"an overlong form is refused", "\xc0\x80",         -1,      1},
        {"one of three bytes, too",     "\xe0\x9f\xbf",     -1,      1},
        {"a surrogate is refused",      "\xed\xa0\x80",     -1,      1},
        {"past the end",                "\xe2\x82",         -1,      1},
        {"above the last code point",   "\xf4\x90\x80\x80", -1,      1},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        size_t at = 0;
        char back[4];
        test_case(cases[i].name);
        int32_t rune = str_rune(str_from(cases[i].text), &at);
        check_int(rune, cases[i].first);
        check_int(at, cases[i].moved);
        if (rune >= 0)
            check_same(str_of(back, str_put_rune(back, rune)), str_from(cases[i].text));
    }
}

TEST(str_is_utf8)
{
    static const struct {
        const char *name, *text;
        bool want;
    } cases[] = {
        {"nothing",                           "",                            true },
        {"more than a word of ascii",         "abcdefghijklmnopq",           true },
        {"a rune across two words",           "abcdefg\xe2\x82\xacijklmnop", true },
        {"a rune cut short at the end",       "abcdefghijklmno\xe2\x82",     false},
        {"one bad byte behind a whole word",  "abcdefgh\xffijklmno",         false},
        {"one bad byte in the last few ones", "abcdefghij\x80",              false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_int(str_is_utf8(str_from(cases[i].text)), cases[i].want);
    }
}

TEST(str_concat)
{
    scoped(arena_fini) struct arena a = {0};
    const struct str parts[] = {S("a"), S(""), S("bc")};

    check_same(str_concat(&a, S("ns"), S("/"), (struct str){0}, S("name")), S("ns/name"));
    check_same(str_concat(&a, S("")), S(""));
    check_same(str_join(&a, parts, countof(parts), S(", ")), S("a, , bc"));
    check_same(str_join(&a, NULL, 0, S(", ")), S(""));
}

/* Short texts are formatted on the stack, long ones where they stay. */
TEST(str_printf)
{
    scoped(arena_fini) struct arena a = {0};
    char text[1025];

    memset(text, 'x', sizeof(text));
    for (size_t len = 0; len < sizeof(text); len++) {
        struct str made = str_printf(&a, "%.*s", (int)len, text);
        check_same(made, str_of(text, len));
        check_int(made.at[len], 0);
    }
    check_same(str_printf(&a, "%d of %s", 7, "nine"), S("7 of nine"));
}

TEST(str_own)
{
    static const struct str cases[] = {
        S_INIT("bytes"), S_INIT(""), S_INIT("a\0b"), {NULL, 0}
    };

    for (size_t i = 0; i < countof(cases); i++) {
        char *own = str_own(cases[i]);
        check(own != cases[i].at);
        check_same(str_of(own, cases[i].len), cases[i]);
        check_int(own[cases[i].len], 0);
        free(own);
    }
}

TEST(str_u64)
{
    scoped(arena_fini) struct arena a = {0};

    check_same(str_of_u64(&a, 0), S("0"));
    check_same(str_of_u64(&a, 10), S("10"));
    check_same(str_of_u64(&a, UINT64_MAX), S("18446744073709551615"));
    check_int(str_of_u64(&a, UINT64_MAX).len, STR_U64_MAX);
}

TEST(str_sum)
{
    static const char text[] = "abcdefghijklmnopqrs";

    /* stored: it may not change */
    check(str_sum(S("")) == 0);
    check(str_sum(S("abc")) == UINT64_C(0xC375C0F2471A9D44));
    check(str_sum(S("abcdefghi")) == UINT64_C(0xC958A56D2D4736DC));
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        char other[sizeof(text)];
        memcpy(other, text, sizeof(text));
        other[i] ^= 1;
        check(str_sum(str_of(other, sizeof(text) - 1)) != str_sum(str_from(text)));
    }
    check(str_sum(str_of("a\0", 2)) != str_sum(S("a")));
}

TEST(str_hash_on)
{
    static const char text[] = "abcdefghijklmnopqrs";
    uint64_t ab = str_hash_on(str_hash_on(0, S("a")), S("b"));

    check(ab == str_hash_on(str_hash_on(0, S("a")), S("b")));
    check(ab != str_hash_on(str_hash_on(0, S("b")), S("a")));
    check(ab != str_hash_on(str_hash_on(0, S("ab")), S("")));
    check(str_hash_on(0, S("")) != str_hash_on(1, S("")));
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        char other[sizeof(text)];
        memcpy(other, text, sizeof(text));
        other[i] ^= 1;
        check(str_hash_on(7, str_of(other, i + 1)) != str_hash_on(7, str_of(text, i + 1)));
    }
}

TEST(str_find)
{
    check_int(str_find(S("hello"), S("lo")), 3);
    check_int(str_find(S("hello"), S("")), 0);
    check(str_find(S("hello"), S("x")) == STR_NONE);
    check(str_starts(S("hello"), S("he")) && !str_starts(S("he"), S("hello")));
    check(str_ends(S("hello"), S("lo")) && !str_ends(S("lo"), S("hello")));
    check_same(str_trim(S(" \t a b \n")), S("a b"));
    check(str_cmp(S("a"), S("ab")) < 0 && str_cmp(S("b"), S("ab")) > 0);
}
