/* base64.c - bytes as text */
#include "base/testing.h"

#include "base/base64.h"

TEST(base64_both_ways)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"",             ""        },
        {"f",            "Zg=="    },
        {"fo",           "Zm8="    },
        {"foo",          "Zm9v"    },
        {"foob",         "Zm9vYg=="},
        {"\xff\xfe\xfd", "//79"    },
    };
    scoped(arena_fini) struct arena a = arena_sized(256);

    for (size_t i = 0; i < countof(cases); i++) {
        struct buf b = buf_in(&a, 16);
        struct str back;
        test_case(cases[i].text);
        base64_encode(&b, str_from(cases[i].bytes));
        check_samez(buf_str(&b), cases[i].text);
        check(base64_decode(&a, buf_str(&b), &back));
        check_samez(back, cases[i].bytes);
    }
}

TEST(base64_refuses)
{
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {
        {"Zg",    0},
        {"Zg=",   2},
        {"Z===",  1},
        {"Zm9v=", 4},
        {"Zm 9v", 2},
        {"Z=g=",  1},
        {"Zg=x",  3},
        {"Zm9vA", 4},
    };
    scoped(arena_fini) struct arena a = arena_sized(256);
    struct str out;

    for (size_t i = 0; i < countof(bad); i++) {
        test_case(bad[i].text);
        check(!base64_decode(&a, str_from(bad[i].text), &out));
        check(base64_fault(str_from(bad[i].text)) == bad[i].at);
    }
}
