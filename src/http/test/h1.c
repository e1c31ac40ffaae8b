/* h1.c - what is a request, what is refused, and how bodies in chunks are read */
#include "http/h1.h"
#include "base/testing.h"

/* A head as one line: method target minor body length keep-alive, then name=value ... */
static struct str show(struct arena *a, const struct h1_head *h)
{
    static const char *const bodies[] = {"none", "length", "chunked", "to-end"};
    struct buf b = buf_in(a, 128);

    if (h->status)
        buf_printf(&b, "%d ", h->status);
    else
        buf_printf(&b, "%.*s %.*s ", STR_ARG(h->method), STR_ARG(h->target));
    buf_printf(&b, "1.%d %s", h->minor, bodies[h->body]);
    if (h->length)
        buf_printf(&b, "=%" PRIu64, h->length);
    buf_printf(&b, "%s%s%s", h->keep_alive ? " keep" : " close",
               h->expects_continue ? " expects" : "", h->wants_upgrade ? " upgrade" : "");
    return buf_str(&b);
}

#define HOST "Host: h\r\n"

TEST(h1_parse_request)
{
    static const struct {
        const char *name, *head, *want;
    } cases[] = {
        {"the shortest request",              "GET / HTTP/1.1\r\n" HOST "\r\n",                                "GET / 1.1 none keep"              },
        {"HTTP/1.0 closes",                   "GET /a?b=c HTTP/1.0\r\n\r\n",                                   "GET /a?b=c 1.0 none close"        },
        {"HTTP/1.0 may ask to keep",          "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
         "GET / 1.0 none keep"                                                                                                                    },
        {"close is heard in a list",          "GET / HTTP/1.1\r\n" HOST "Connection: x , close\r\n\r\n",
         "GET / 1.1 none close"                                                                                                                   },
        {"a body by length",                  "POST / HTTP/1.1\r\n" HOST "Content-Length: 12\r\n\r\n",
         "POST / 1.1 length=12 keep"                                                                                                              },
        {"a body in chunks",                  "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n",
         "POST / 1.1 chunked keep"                                                                                                                },
        {"an expectation",                    "PUT / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n",
         "PUT / 1.1 none keep expects"                                                                                                            },
        {"an upgrade",                        "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\n\r\n",
         "GET / 1.1 none keep upgrade"                                                                                                            },
        {"an absolute target",                "GET http://h:1/a/b HTTP/1.1\r\n" HOST "\r\n",
         "GET /a/b 1.1 none keep"                                                                                                                 },
        {"an absolute target without a path", "GET http://h HTTP/1.1\r\n" HOST "\r\n",
         "GET / 1.1 none keep"                                                                                                                    },
        {"OPTIONS of the server",             "OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
         "OPTIONS * 1.1 none keep"                                                                                                                },
        {"blanks around a value go",          "GET / HTTP/1.1\r\nHost: \t h \t\r\n\r\n",
         "GET / 1.1 none keep"                                                                                                                    },

        {"no Host",                           "GET / HTTP/1.1\r\n\r\n",                                        "SYNTAX the Host header is missing"},
        {"two Hosts",                         "GET / HTTP/1.1\r\n" HOST HOST "\r\n",                           "SYNTAX more than one Host: 'h'"   },
        {"both lengths",
         "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "SYNTAX Content-Length and Transfer-Encoding together"                                                                                   },
        {"the same length twice",
         "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
         "SYNTAX more than one Content-Length: '1'"                                                                                               },
        {"a list of lengths",                 "POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n",
         "SYNTAX no valid Content-Length: '1, 1'"                                                                                                 },
        {"a signed length",                   "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n",
         "SYNTAX no valid Content-Length: '+1'"                                                                                                   },
        {"an empty length",                   "POST / HTTP/1.1\r\n" HOST "Content-Length: \r\n\r\n",
         "SYNTAX no valid Content-Length: ''"                                                                                                     },
        {"a length past 64 bits",
         "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n",
         "SYNTAX no valid Content-Length: '18446744073709551616'"                                                                                 },
        {"another coding",                    "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n",
         "UNSUPPORTED 501 transfer coding 'gzip' is not supported"                                                                                },
        {"codings in a list",
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n",
         "UNSUPPORTED 501 transfer coding 'chunked, chunked' is not supported"                                                                    },
        {"chunks in HTTP/1.0",                "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
         "SYNTAX Transfer-Encoding in HTTP/1.0"                                                                                                   },
        {"a folded header",                   "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n",
         "SYNTAX a header continues on a second line: ' c'"                                                                                       },
        {"a blank before the colon",          "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
         "SYNTAX no header: 'Host : h'"                                                                                                           },
        {"no colon",                          "GET / HTTP/1.1\r\nHost\r\n\r\n",                                "SYNTAX no header: 'Host'"         },
        {"a control character",               "GET / HTTP/1.1\r\n" HOST "A: b\x01\r\n\r\n",
         "SYNTAX a control character in header: 'A'"                                                                                              },
        {"a bare CR",                         "GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n",
         "SYNTAX a control character in header: 'A'"                                                                                              },
        {"a bad method",                      "G@T / HTTP/1.1\r\n" HOST "\r\n",                                "SYNTAX no valid method: 'G@T'"    },
        {"two blanks",                        "GET  / HTTP/1.1\r\n" HOST "\r\n",
         "SYNTAX no valid request target: ' /'"                                                                                                   },
        {"a target without a slash",          "GET a HTTP/1.1\r\n" HOST "\r\n",
         "SYNTAX no valid request target: 'a'"                                                                                                    },
        {"a fragment",                        "GET /a#b HTTP/1.1\r\n" HOST "\r\n",
         "SYNTAX no valid request target: '/a#b'"                                                                                                 },
        {"another version",                   "GET / HTTP/2.0\r\n" HOST "\r\n",
         "UNSUPPORTED 505 protocol version 'HTTP/2.0' is not supported"                                                                           },
        {"no version",                        "GET /\r\n" HOST "\r\n",                                         "SYNTAX no request line: 'GET /'"  },
        {"nothing",                           "\r\n\r\n",                                                      "SYNTAX no request line: ''"       },
        {"another expectation",               "GET / HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n",
         "UNSUPPORTED 417 expectation 'tea' is not supported"                                                                                     },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct h1_head head;
        struct err err;
        test_case(cases[i].name);
        struct str got;
        if (h1_parse_request(&a, str_from(cases[i].head), &head, &err) == 0)
            got = show(&a, &head);
        else if (head.status)
            got = str_printf(&a, "%s %d %s", err_name(err.code), head.status, err.text);
        else
            got = str_printf(&a, "%s %s", err_name(err.code), err.text);
        check_samez(got, cases[i].want);
    }
}

TEST(h1_headers)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct h1_head head;
    struct err err;

    check_int(h1_parse_request(&a,
                               S("GET / HTTP/1.1\r\nHOST: h:1\r\nX-Empty:\r\nA: 1\r\n"
                                 "A: 2\r\n\r\n"),
                               &head, &err),
              0);
    check_int(head.n_headers, 4);
    check_samez(http_find(head.headers, head.n_headers, S("host")), "h:1");
    check_samez(http_find(head.headers, head.n_headers, S("a")), "1");
    check_samez(http_find(head.headers, head.n_headers, S("x-empty")), "");
    check_samez(head.headers[3].value, "2");

    struct buf many = buf_in(&a, 64 << 10);
    buf_add(&many, S("GET / HTTP/1.1\r\nHost: h\r\n"));
    for (int i = 0; i < H1_MAX_HEADERS; i++)
        buf_printf(&many, "a%d: b\r\n", i);
    buf_add(&many, S("\r\n"));
    check_int(h1_parse_request(&a, buf_str(&many), &head, &err), -1);
    check_err(&err, ERR_LIMIT, "more than 200 headers");
}

TEST(h1_parse_response)
{
    static const struct {
        const char *name, *head;
        bool no_body;
        const char *want;
    } cases[] = {
        {"with a length",    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",               false,
         "200 1.1 length=3 keep"                                                                                        },
        {"an empty body",    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",               false,
         "200 1.1 none keep"                                                                                            },
        {"in chunks",        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n", false,
         "201 1.1 chunked keep"                                                                                         },
        {"until the end",    "HTTP/1.1 200 OK\r\n\r\n",                                    false, "200 1.1 to-end close"},
        {"to HEAD",          "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",               true,
         "200 1.1 none=3 keep"                                                                                          },
        {"no content",       "HTTP/1.1 204 No Content\r\n\r\n",                            false, "204 1.1 none keep"   },
        {"an empty reason",  "HTTP/1.1 404 \r\n\r\n",                                      false, "404 1.1 to-end close"},
        {"no reason at all", "HTTP/1.1 404\r\n\r\n",                                       false, "404 1.1 to-end close"},
        {"four digits",      "HTTP/1.1 2000 OK\r\n\r\n",                                   false,
         "SYNTAX no status line: 'HTTP/1.1 2000 OK'"                                                                    },
        {"no HTTP",          "SSH-2.0-OpenSSH\r\n\r\n",                                    false,
         "SYNTAX no status line: 'SSH-2.0-OpenSSH'"                                                                     },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct h1_head head;
        struct err err;
        test_case(cases[i].name);
        int rc = h1_parse_response(&a, str_from(cases[i].head), cases[i].no_body, &head, &err);
        check_samez(rc < 0 ? str_printf(&a, "%s %s", err_name(err.code), err.text)
                           : show(&a, &head),
                    cases[i].want);
    }
}

TEST(h1_head_len)
{
    static const struct {
        const char *name, *bytes;
        int want;
    } cases[] = {
        {"whole",                  "GET / HTTP/1.1\r\nA: b\r\n\r\nbody", 24},
        {"more is needed",         "GET / HTTP/1.1\r\nA: b\r\n\r",       0 },
        {"nothing yet",            "",                                   0 },
        {"a bare LF",              "GET / HTTP/1.1\nA: b\n\n",           -1},
        {"a bare LF at the start", "\n",                                 -1},
        {"CR LF LF",               "GET / HTTP/1.1\r\n\n",               -1},
    };
    struct err err;

    for (size_t i = 0; i < countof(cases); i++) {
        struct str s = str_from(cases[i].bytes);
        size_t scan = 0, slow = 0;
        ssize_t got = 0;
        test_case(cases[i].name);
        check_int(h1_head_len(s, &scan, &err), cases[i].want);
        for (size_t n = 0; n <= s.len && got == 0; n++) /* byte by byte */
            got = h1_head_len(str_slice(s, 0, n), &slow, &err);
        check_int(got, cases[i].want);
    }
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    char *x = arena_alloc(&a, H1_MAX_HEAD + 2, 1);
    size_t scan = 0;
    memset(x, 'x', H1_MAX_HEAD + 2);
    check_int(h1_head_len(str_of(x, H1_MAX_HEAD), &scan, &err), 0);
    check_int(h1_head_len(str_of(x, H1_MAX_HEAD + 1), &scan, &err), -1);
    check_err(&err, ERR_LIMIT, "over 262144 bytes");
}

/* The body of the chunks, '|' what follows them; or the error. Fed `step` bytes at a time. */
static struct str unchunk(struct arena *a, struct str in, size_t step)
{
    struct h1_chunked c = {0};
    struct buf b = buf_in(a, 64);
    struct err err;

    for (size_t at = 0; at < in.len;) {
        struct str piece = str_slice(in, at, at + step), rest = piece, data;
        while (rest.len && c.state != H1_CHUNK_DONE) {
            if (h1_chunked_next(&c, &rest, &data, &err) < 0)
                return str_copy(a, err_str(&err));
            buf_add(&b, data);
        }
        at += piece.len - rest.len;
        if (c.state == H1_CHUNK_DONE) {
            buf_byte(&b, '|');
            buf_add(&b, str_slice(in, at, in.len));
            return buf_str(&b);
        }
    }
    buf_add(&b, S("..."));
    return buf_str(&b);
}

TEST(h1_chunked)
{
    static const struct {
        const char *name, *in, *want;
    } cases[] = {
        {"two chunks",               "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nnext",            "abcde|next"                          },
        {"hex in both cases",        "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
         "01234567890123456789|"                                                                                              },
        {"extensions are read over", "1;a=b;c=\"d\"\r\nx\r\n0\r\n\r\n",                 "x|"                                  },
        {"trailers are read over",   "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n",             "x|"                                  },
        {"not whole",                "5\r\nab",                                         "ab..."                               },
        {"no size",                  "\r\nx",                                           "no valid size of a chunk"            },
        {"no hex",                   "g\r\nx",                                          "no valid size of a chunk"            },
        {"a sign",                   "+1\r\nx",                                         "no valid size of a chunk"            },
        {"0x",                       "0x1\r\nx",                                        "no valid size of a chunk"            },
        {"too many digits",          "1234567890123456\r\nx",                           "no valid size of a chunk"            },
        {"a bare LF after the size", "1\nx\r\n0\r\n\r\n",
         "a line of a chunked body ends without CR"                                                                           },
        {"a CR inside a line",       "1\rx\r\n",                                        "a CR inside a line of a chunked body"},
        {"longer than its size",     "1\r\nxy\r\n",                                     "a chunk is longer than its size"     },
        {"a bare LF after the data", "1\r\nx\n0\r\n\r\n",                               "a chunk is longer than its size"     },
        {"a bad trailer",            "0\r\nno colon\r\n\r\n",                           "no valid trailer"                    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct str in = str_from(cases[i].in);
        test_case(cases[i].name);
        for (size_t step = 1; step <= in.len; step++)
            check_samez(unchunk(&a, in, step), cases[i].want);
    }
}
