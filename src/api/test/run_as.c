/* run_as.c - the tests of api/run_as.c */
#include "api/run_as.h"
#include "base/testing.h"

TEST(run_as)
{
    static const struct {
        const char *name, *text, *want; /* want: the text again, or a part of the error */
    } cases[] = {
        {"an account",            "{\"uid\":1,\"gid\":2,\"groups\":[3,4]}",
         "{\"uid\":1,\"gid\":2,\"groups\":[3,4]}"                                                                },
        {"without groups",        "{\"uid\":0,\"gid\":0}",                  "{\"uid\":0,\"gid\":0,\"groups\":[]}"},
        {"a name is no number",   "{\"uid\":\"root\",\"gid\":0}",           "whole numbers"                      },
        {"no gid",                "{\"uid\":1}",                            "whole numbers"                      },
        {"the kernel's no-op id", "{\"uid\":4294967295,\"gid\":0}",         "whole numbers"                      },
        {"a bad group",           "{\"uid\":1,\"gid\":1,\"groups\":[-1]}",  "whole numbers"                      },
        {"no JSON",               "1000:1000",                              "cannot read berth.dev/run-as"       },
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        struct run_as r;
        struct err err = {0};
        test_case(cases[i].name);
        if (run_as_parse(&a, str_from(cases[i].text), &r, &err) == 0)
            check_samez(run_as_text(&a, &r), cases[i].want);
        else
            check_err(&err, err.code, cases[i].want);
    }
}
