/* address.c - what addresses say */
#include "io/address.h"
#include "base/testing.h"

TEST(address_parse)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"a number and a port",              "127.0.0.1:6443",       "tcp 127.0.0.1 6443"                         },
        {"a name and a port",                "localhost:0",          "tcp localhost 0"                            },
        {"IPv6 stands in brackets",          "[::1]:80",             "tcp ::1 80"                                 },
        {"IPv6 without brackets is refused", "::1:80",
         "address '::1:80': an IPv6 address must stand in brackets"                                               },
        {"a unix socket",                    "unix:/run/berth.sock", "unix /run/berth.sock 0"                     },
        {"a unix socket needs a path",       "unix:",                "address 'unix:': a path must follow 'unix:'"},
        {"a simulated name",                 "sim:api",              "sim api 0"                                  },
        {"the port is a number",             "h:http",
         "address 'h:http': the port must be a number from 0 to 65535"                                            },
        {"the port has 16 bits",             "h:65536",
         "address 'h:65536': the port must be a number from 0 to 65535"                                           },
        {"a host alone is refused",          "localhost",
         "address 'localhost': must be HOST:PORT or unix:PATH"                                                    },
        {"a port alone is refused",          ":80",                  "address ':80': the host is missing"         },
        {"nothing is refused",               "",                     "address '': must be HOST:PORT or unix:PATH" },
    };
    static const char *const types[] = {"unix", "tcp", "sim"};
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct io_address got;
        struct err err;
        test_case(cases[i].name);
        struct str text =
            io_address_parse(str_from(cases[i].text), &got, &err) < 0
                ? str_from(err.text)
                : str_printf(&a, "%s %.*s %u", types[got.type], STR_ARG(got.host), got.port);
        check_samez(text, cases[i].want);
    }
}

TEST(address_of_a_long_path)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct io_address got;
    struct err err;
    char path[128];

    memset(path, 'x', sizeof(path));
    struct str text = str_printf(&a, "unix:%.*s", IO_MAX_UNIX_PATH, path);
    check_int(io_address_parse(text, &got, &err), 0);
    text = str_printf(&a, "unix:%.*s", IO_MAX_UNIX_PATH + 1, path);
    check_int(io_address_parse(text, &got, &err), -1);
    check_err(&err, ERR_INVALID, "at most 107 bytes");
}
