/* names.c - which names a rule lets through, and the sentences it answers with */
#include "base/testing.h"
#include "value/value.h"

TEST(name_check)
{
    static const struct {
        const char *name, *value;
        enum name_rule rule;
        size_t faults;
        const char *first;
    } cases[] = {
        {"a label",                                             "my-name",           NAME_DNS_LABEL,                0, ""                             },
        {"a label has no dots",                                 "my.name",           NAME_DNS_LABEL,                1, "must not contain dots"        },
        {"a label does not end in a dash",                      "a-",                NAME_DNS_LABEL,                1, "RFC 1123 label"               },
        {"a subdomain",                                         "a.b-c.d",           NAME_DNS_SUBDOMAIN,            0, ""                             },
        {"no empty label in it",                                "a..b",              NAME_DNS_SUBDOMAIN,            1, "RFC 1123 subdomain"           },
        {"a 1035 label begins with a letter",                   "1a",                NAME_DNS_1035_LABEL,           1, "DNS-1035"                     },
        {"a key with a prefix",                                 "example.com/Key_1", NAME_LABEL_KEY,                0, ""                             },
        {"the prefix is checked",                               "Example.com/key",   NAME_LABEL_KEY,                1, "prefix part"                  },
        {"both parts are",                                      "/",                 NAME_LABEL_KEY,                3, "prefix part must be non-empty"},
        {"one slash only",                                      "a/b/c",             NAME_LABEL_KEY,                1, "optional DNS subdomain prefix"},
        {"an empty value",                                      "",                  NAME_LABEL_VALUE,              0, ""                             },
        {"a value ends in a letter or digit",                   "a_",                NAME_LABEL_VALUE,              1, "empty string or"              },
        {"a key of a ConfigMap",                                "..x",               NAME_CONFIG_MAP_KEY,           1, "must not start with '..'"     },
        {"a port's name",                                       "http2",             NAME_PORT_NAME,                0, ""                             },
        {"it has a letter",                                     "80",                NAME_PORT_NAME,                1, "at least one letter"          },
        {"a percentage",                                        "25%",               NAME_PERCENT,                  0, ""                             },
        {"a prefix may end in a dash",                          "job-",              NAME_DNS_SUBDOMAIN_PREFIX,     0, ""                             },
        {"what stands before a prefix's dash is not looked at", ".-",                NAME_DNS_SUBDOMAIN_PREFIX,
         0,                                                                                                            ""                             },
        {"a label may begin with an underscore",                "_a.b_c",            NAME_DNS_SUBDOMAIN_UNDERSCORE, 0,
         ""                                                                                                                                           },
        {"but with one",                                        "__a",               NAME_DNS_SUBDOMAIN_UNDERSCORE, 1, "RFC 1123"                     },
        {"and not be one",                                      "a._",               NAME_DNS_SUBDOMAIN_UNDERSCORE, 1, "RFC 1123"                     },
        {"nor end in one",                                      "a_",                NAME_DNS_SUBDOMAIN_UNDERSCORE, 1, "RFC 1123"                     },
        {"a dash alone is no prefix",                           "-",                 NAME_DNS_SUBDOMAIN_PREFIX,     1, "RFC 1123"                     },
        {"a path segment",                                      "system:node",       NAME_PATH_SEGMENT,             0, ""                             },
        {"is not a way up",                                     "..",                NAME_PATH_SEGMENT,             1, "may not be '..'"              },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct name_faults f = name_check(cases[i].rule, str_from(cases[i].value));
        check_int(f.n, cases[i].faults);
        if (f.n)
            check(str_has(name_fault(&a, &f, 0), str_from(cases[i].first)));
    }
}

TEST(name_lengths)
{
    char text[300];

    memset(text, 'a', sizeof(text));
    check(name_is(NAME_DNS_LABEL, str_of(text, 63)));
    check(!name_is(NAME_DNS_LABEL, str_of(text, 64)));
    check(name_is(NAME_DNS_SUBDOMAIN, str_of(text, 253)));
    check(!name_is(NAME_DNS_SUBDOMAIN, str_of(text, 254)));
    check(name_is(NAME_LABEL_VALUE, str_of(text, 63)));
    check(!name_is(NAME_LABEL_VALUE, str_of(text, 64)));
}

TEST(int_or_string)
{
    static const struct {
        const char *text;
        int64_t total;
        bool is_up;
        int want;
        int64_t value;
    } cases[] = {
        {"7",          100, true,  0,  7},
        {"25%",        10,  true,  0,  3},
        {"25%",        10,  false, 0,  2},
        {"100%",       9,   false, 0,  9},
        {"%",          10,  true,  -1, 0},
        {"x",          10,  true,  -1, 0},
        {"3000000000", 1,   true,  -1, 0},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        int64_t v = 0;
        struct err err = {0};
        test_case(cases[i].text);
        check_int(int_or_string_scaled(int_or_string_parse(str_from(cases[i].text)),
                                       cases[i].total, cases[i].is_up, &v, &err),
                  cases[i].want);
        check_int(v, cases[i].value);
    }
}
