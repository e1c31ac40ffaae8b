/* pointer.c - RFC 6901 */
#include "base/testing.h"
#include "json/json.h"

TEST(json_pointer)
{
    static const struct {
        const char *pointer, *want;
    } cases[] = {
        {"",          "{\"\":0,\"a\":[10,{\"b/c\":1,\"~\":2,\"~1\":3}],\" \":4}"},
        {"/",         "0"                                                       },
        {"/a/0",      "10"                                                      },
        {"/a/1/b~1c", "1"                                                       },
        {"/a/1/~0",   "2"                                                       },
        {"/a/1/~01",  "3"                                                       },
        {"/ ",        "4"                                                       },
        {"a",         "null"                                                    },
        {"/a/2",      "null"                                                    },
        {"/a/-",      "null"                                                    },
        {"/a/00",     "null"                                                    },
        {"/a/+1",     "null"                                                    },
        {"/a/",       "null"                                                    },
        {"/a/0/x",    "null"                                                    },
        {"/a/1/b",    "null"                                                    },
        {"/aa",       "null"                                                    },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    const struct json *v = json_parse(&a, str_from(cases[0].want), NULL, NULL);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].pointer);
        check_samez(json_text(&a, json_pointer(v, str_from(cases[i].pointer))), cases[i].want);
    }
    check(!json_pointer(NULL, S("/a")));
    check_samez(json_pointer_unescape(&a, S("a~1~01~")), "a/~1~");
}
