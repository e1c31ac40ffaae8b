/* net.c - addresses, networks, URLs, versions */
#include "base/testing.h"
#include "value/value.h"

TEST(ip_parse)
{
    static const struct {
        const char *text, *want; /* the canonical text, or a part of the error */
        bool ok;
    } cases[] = {
        {"10.0.0.1",             "10.0.0.1",                    true },
        {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1",           true },
        {"::",                   "::",                          true },
        {"::1",                  "::1",                         true },
        {"1::",                  "1::",                         true },
        {"1:0:0:2::",            "1:0:0:2::",                   true },
        {"0:0:1:0:0:0:0:1",      "0:0:1::1",                    true },
        {"1:2:3:4:5:6:7:8",      "1:2:3:4:5:6:7:8",             true },
        {"::ffff:1.2.3.4",       "::ffff:1.2.3.4",              true },
        {"fe80::1%eth0",         "fe80::1%eth0",                true },
        {"1:0:2:3:4:5:6:7",      "1:0:2:3:4:5:6:7",             true },
        {"1.2.3",                "IPv4 address too short",      false},
        {"1.2.3.4.5",            "IPv4 address too long",       false},
        {"1.2.3.04",             "leading zero",                false},
        {"1.2.3.256",            ">255",                        false},
        {"1..2.3",               "at least one digit",          false},
        {"1.2.3.x",              "unexpected character",        false},
        {"1:2:3:4:5:6:7:8:9",    "trailing garbage",            false},
        {"1:2",                  "too short",                   false},
        {"1::2::3",              "multiple ::",                 false},
        {"1:2:3:4:5:6:7::8",     "at least one field of zeros", false},
        {"12345::",              "4 or less digits",            false},
        {"1:",                   "colon must be followed",      false},
        {"::g",                  "at least one digit",          false},
        {"::1%",                 "zone must be",                false},
        {"",                     "unable to parse IP",          false},
        {"abc",                  "unable to parse IP",          false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct ip ip;
        struct err err = {0};
        test_case(cases[i].text);
        int rc = ip_parse(str_from(cases[i].text), &ip, &err);
        check_int(rc == 0, cases[i].ok);
        if (rc == 0)
            check_samez(ip_text(&a, &ip), cases[i].want);
        else
            check_err(&err, ERR_SYNTAX, cases[i].want);
    }
}

TEST(cidr)
{
    static const struct {
        const char *outer, *inner;
        bool has;
    } cases[] = {
        {"10.0.0.0/8",    "10.1.0.0/16",        true },
        {"10.0.0.0/8",    "11.0.0.0/16",        false},
        {"10.0.0.0/16",   "10.0.0.0/8",         false},
        {"0.0.0.0/0",     "1.2.3.4/32",         true },
        {"::/0",          "1.2.3.4/32",         false},
        {"2001:db8::/33", "2001:db8:8000::/34", false},
        {"10.0.0.9/24",   "10.0.0.1/32",        true },
    };
    struct cidr c;
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct cidr outer, inner;
        test_case(cases[i].outer);
        check_int(cidr_parse(str_from(cases[i].outer), &outer, NULL), 0);
        check_int(cidr_parse(str_from(cases[i].inner), &inner, NULL), 0);
        check_int(cidr_has_cidr(&outer, &inner), cases[i].has);
    }
    check_int(cidr_parse(S("192.168.77.1/20"), &c, NULL), 0);
    c = cidr_masked(&c);
    check_samez(cidr_text(&a, &c), "192.168.64.0/20");
    check_int(cidr_parse(S("1.2.3.4/33"), &c, NULL), -1);
    check_int(cidr_parse(S("1.2.3.4/01"), &c, NULL), -1);
    check_int(cidr_parse(S("1.2.3.4"), &c, NULL), -1);
}

TEST(ip_kinds)
{
    static const struct {
        const char *text;
        bool unspecified, loopback, multicast, unicast, global;
    } cases[] = {
        {"0.0.0.0",         true,  false, false, false, false},
        {"127.9.9.9",       false, true,  false, false, false},
        {"224.0.0.251",     false, false, true,  false, false},
        {"169.254.1.1",     false, false, false, true,  false},
        {"192.168.0.1",     false, false, false, false, true },
        {"255.255.255.255", false, false, false, false, false},
        {"::1",             false, true,  false, false, false},
        {"ff02::1",         false, false, true,  false, false},
        {"fe80::1",         false, false, false, true,  false},
        {"fd00::1",         false, false, false, false, true },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct ip ip;
        test_case(cases[i].text);
        check_int(ip_parse(str_from(cases[i].text), &ip, NULL), 0);
        check_int(ip_is_unspecified(&ip), cases[i].unspecified);
        check_int(ip_is_loopback(&ip), cases[i].loopback);
        check_int(ip_is_link_local_multicast(&ip), cases[i].multicast);
        check_int(ip_is_link_local_unicast(&ip), cases[i].unicast);
        check_int(ip_is_global_unicast(&ip), cases[i].global);
    }
}

TEST(url_parse)
{
    static const struct {
        const char *text, *scheme, *host, *hostname, *port, *path;
    } cases[] = {
        {"https://a.b:80/x y?q=1#f", "https",  "a.b:80",     "a.b", "80",   "/x%20y"},
        {"HTTP://u:p@[::1]:8080",    "http",   "[::1]:8080", "::1", "8080", ""      },
        {"/a/b",                     "",       "",           "",    "",     "/a/b"  },
        {"//a/b",                    "",       "a",          "a",   "",     "/b"    },
        {"mailto:x@y",               "mailto", "",           "",    "",     ""      },
        {"http://h/a%2Fb",           "http",   "h",          "h",   "",     "/a%2Fb"},
        {"http://h:/",               "http",   "h:",         "h",   "",     "/"     },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct url u = {0};
        test_case(cases[i].text);
        check_int(url_parse(&a, str_from(cases[i].text), &u, NULL), 0);
        check_samez(u.scheme, cases[i].scheme);
        check_samez(u.host, cases[i].host);
        check_samez(url_hostname(&u), cases[i].hostname);
        check_samez(url_port(&u), cases[i].port);
        check_samez(url_escaped_path(&a, &u), cases[i].path);
    }
}

TEST(url_errors)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a/b",               "parse \"a/b\": invalid URI for request"},
        {"",                  "parse \"\": empty url"                 },
        {":x",                "parse \":x\": missing protocol scheme" },
        {"http://h:8x/",      "invalid port after host \":8x\""       },
        {"http://[::1/",      "missing ']' in host"                   },
        {"/a%zz",             "invalid URL escape \"%zz\""            },
        {"http://h[x/",       "invalid IP-literal"                    },
        {"http://[1.2.3.4]/", "invalid IP-literal"                    },
        {"http://h#f",        "invalid character in host name \"#\""  },
        {"http://%zz@h/",     "invalid URL escape"                    },
        {"http://a b/",       "invalid character in host name \" \""  },
        {"/a\n",              "invalid control character"             },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct url u;
        struct err err = {0};
        test_case(cases[i].text);
        check_int(url_parse(&a, str_from(cases[i].text), &u, &err), -1);
        check_err(&err, ERR_SYNTAX, cases[i].want);
    }
}

TEST(url_text)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"HTTP://h/a b",  "http://h/a%20b" },
        {"http://a*:b@h", "http://a%2A:b@h"},
        {"//h/p",         "//h/p"          },
        {"/p##",          "/p#%23"         },
        {"http:/p",       "http:/p"        },
        {"*",             "*"              },
        {"/p?",           "/p?"            },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct url u = {0};
        test_case(cases[i].text);
        check_int(url_parse(&a, str_from(cases[i].text), &u, NULL), 0);
        check_samez(url_text(&a, &u), cases[i].want);
    }
}

TEST(url_query)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct url u;

    check_int(url_parse(&a, S("/x?a=1&b=x+y%2C&a=2&c&;=3&%zz=4"), &u, NULL), 0);
    struct str_map q = url_query(&a, &u);
    check_int(q.len, 4);
    check_samez(q.at[1].value, "x y,");
    check_samez(q.at[2].value, "2");
    check_samez(q.at[3].key, "c");
}

TEST(semver)
{
    static const char *const order[] = {
        "0.0.1",      "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta",
        "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
        "1.0.0",      "1.0.1",        "1.2.0",         "10.0.0",
    };
    static const struct {
        const char *text;
        bool strict, lax;
    } cases[] = {
        {"1.2.3",                    true,  true },
        {"v1.2.3",                   false, true },
        {"1.2",                      false, true },
        {"1",                        false, true },
        {"01.2.3",                   false, true },
        {"1.2.3-",                   false, false},
        {"1.2.3-01",                 false, false},
        {"1.1-rc",                   false, false},
        {"1.2.3+b-c",                true,  true },
        {"",                         false, false},
        {"a.b.c",                    false, false},
        {" 1.2.3",                   false, false},
        {"1.2.3.4",                  false, false},
        {"1.2.3-a..b",               false, false},
        {"1.00.3",                   false, true },
        {"99999999999999999999.0.0", false, false},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct semver x, y;

    for (size_t i = 0; i < countof(order); i++)
        for (size_t k = 0; k < countof(order); k++) {
            check_int(semver_parse(str_from(order[i]), &x, NULL), 0);
            check_int(semver_parse(str_from(order[k]), &y, NULL), 0);
            check_int(semver_cmp(&x, &y), (i > k) - (i < k));
        }
    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].text);
        check_int(semver_parse(str_from(cases[i].text), &x, NULL) == 0, cases[i].strict);
        check_int(semver_parse_lax(&a, str_from(cases[i].text), &x, NULL) == 0, cases[i].lax);
    }
}

TEST(ip_zone_holds_any_byte)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    struct str text = {"::1%a\0b", 7};
    struct ip ip;

    check_int(ip_parse(text, &ip, NULL), 0);
    check_same(ip_text(&a, &ip), text);
}
