/* address.c - what an address says */
#include "io/address.h"

static int bad(struct err *err, struct str text, const char *why)
{
    return err_set(err, ERR_INVALID, "address '%.*s': %s", STR_ARG(text), why);
}

int io_address_parse(struct str text, struct io_address *out, struct err *err)
{
    struct io_address a = {0};

    if (str_starts(text, S("unix:"))) {
        a.type = IO_ADDRESS_UNIX;
        a.host = str_slice(text, 5, text.len);
        if (a.host.len == 0)
            return bad(err, text, "a path must follow 'unix:'");
        if (a.host.len > IO_MAX_UNIX_PATH)
            return bad(err, text, "the path of a unix socket has at most 107 bytes");
        if (memchr(a.host.at, 0, a.host.len))
            return bad(err, text, "the path holds a zero byte");
        *out = a;
        return 0;
    }
    if (str_starts(text, S("sim:"))) {
        a.type = IO_ADDRESS_SIM;
        a.host = str_slice(text, 4, text.len);
        *out = a;
        return 0;
    }

    struct str port;
    uint64_t n;
    a.type = IO_ADDRESS_TCP;
    if (!str_rcut(text, ':', &a.host, &port))
        return bad(err, text, "must be HOST:PORT or unix:PATH");
    if (!str_to_u64(port, &n) || n > UINT16_MAX)
        return bad(err, text, "the port must be a number from 0 to 65535");
    a.port = (uint16_t)n;
    if (str_starts(a.host, S("[")) && str_ends(a.host, S("]")))
        a.host = str_slice(a.host, 1, a.host.len - 1);
    else if (str_index(a.host, ':') != STR_NONE)
        return bad(err, text, "an IPv6 address must stand in brackets");
    if (a.host.len == 0)
        return bad(err, text, "the host is missing");
    if (a.host.len > IO_MAX_HOST || memchr(a.host.at, 0, a.host.len))
        return bad(err, text, "the host is no name");
    *out = a;
    return 0;
}
