/* scalar.c - what plain scalars mean, and when a text needs quotes */
#include "base/testing.h"
#include "yaml/scalar_priv.h"

TEST(yaml_resolve)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"",                     "null"                    },
        {"~",                    "null"                    },
        {"NULL",                 "null"                    },
        {"nUll",                 "\"nUll\""                },
        {"y",                    "true"                    },
        {"Yes",                  "true"                    },
        {"on",                   "true"                    },
        {"oN",                   "\"oN\""                  },
        {"True",                 "true"                    },
        {"tRue",                 "\"tRue\""                },
        {"n",                    "false"                   },
        {"NO",                   "false"                   },
        {"off",                  "false"                   },
        {"0",                    "0"                       },
        {"-0",                   "0"                       },
        {"12",                   "12"                      },
        {"+12",                  "12"                      },
        {"1_000",                "1000"                    },
        {"017",                  "15"                      },
        {"0o17",                 "15"                      },
        {"08",                   "8"                       },
        {"0x1F",                 "31"                      },
        {"-0x1f",                "-31"                     },
        {"0b101",                "5"                       },
        {"-0b11",                "-3"                      },
        {"0b102",                "\"0b102\""               },
        {"0x",                   "\"0x\""                  },
        {"9223372036854775807",  "9223372036854775807"     },
        {"-9223372036854775808", "-9223372036854775808"    },
        {"18446744073709551615", "18446744073709552000"    },
        {"-9223372036854775809", "-9223372036854776000"    },
        {"1.5",                  "1.5"                     },
        {"1.",                   "1"                       },
        {".5",                   "0.5"                     },
        {"-.5",                  "-0.5"                    },
        {".5_0",                 "\".5_0\""                },
        {"1e3",                  "1000"                    },
        {"1e",                   "\"1e\""                  },
        {"1e400",                "\"1e400\""               },
        {".",                    "\".\""                   },
        {"-",                    "\"-\""                   },
        {"1.2.3",                "\"1.2.3\""               },
        {"1m",                   "\"1m\""                  },
        {"200Mi",                "\"200Mi\""               },
        {"12:30",                "\"12:30\""               },
        {"2026-01-02",           "\"2026-01-02\""          },
        {"2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""},
        {"infinity",             "\"infinity\""            },
        {"0x1p-2",               "\"0x1p-2\""              },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct json v = yaml_resolve(str_from(cases[i].text));
        test_case(cases[i].text);
        check_samez(json_text(&a, &v), cases[i].want);
    }
}

TEST(yaml_resolve_tag)
{
    static const struct {
        const char *tag, *text, *want;
    } cases[] = {
        {"str",       "1",          "\"1\""       },
        {"int",       "0x10",       "16"          },
        {"int",       "1.5",        "no"          },
        {"float",     "1",          "1"           },
        {"float",     "x",          "no"          },
        {"bool",      "on",         "true"        },
        {"bool",      "1",          "no"          },
        {"null",      "",           "null"        },
        {"null",      "x",          "no"          },
        {"binary",    "aGV5\nIQ==", "\"hey!\""    },
        {"binary",    "a===",       "no"          },
        {"binary",    "aGV",        "no"          },
        {"binary",    "a=bc",       "no"          },
        {"timestamp", "2026-1-2",   "\"2026-1-2\""},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct json v;
        struct str tag = str_printf(&a, "tag:yaml.org,2002:%s", cases[i].tag);
        bool ok = yaml_resolve_tag(&a, tag, str_from(cases[i].text), &v);
        test_case(cases[i].text);
        check_samez(ok ? json_text(&a, &v) : S("no"), cases[i].want);
    }
}

TEST(yaml_needs_quotes)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"abc",                       false},
        {"",                          true },
        {"no",                        true },
        {"1e3",                       true },
        {"12:30",                     true },
        {"12:30:45.5",                true },
        {"12:61",                     false},
        {"a:1",                       false},
        {"2026-01-02T03:04:05Z",      true },
        {"2026-1-2",                  true },
        {"2026-01-02 03:04:05.123",   true },
        {"2026-01-02t03:04:05+07:00", true },
        {"2026-01-02T03:04:05",       false},
        {"2026-01-02 or later",       false},
        {"2026-13-02",                false},
        {"10.0.0.1",                  false},
        {"1.2.3",                     false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        check_int(yaml_needs_quotes(str_from(cases[i].text)), cases[i].want);
    }
}
