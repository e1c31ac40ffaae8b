/* address.h - "unix:PATH", "HOST:PORT", "[::1]:PORT" and "sim:NAME" as parts */
#pragma once

#include "base/base.h"

enum io_address_type { IO_ADDRESS_UNIX, IO_ADDRESS_TCP, IO_ADDRESS_SIM };

struct io_address {
    enum io_address_type type;
    struct str host; /* or the path, or the name; borrowed from the text */
    uint16_t port;
};

#define IO_MAX_UNIX_PATH 107 /* bytes; the kernel's limit */
#define IO_MAX_HOST 253

/* 0, or -1 with ERR_INVALID. */
int io_address_parse(struct str text, struct io_address *out, struct err *err);
