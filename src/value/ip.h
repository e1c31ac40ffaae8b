/* ip.h - addresses and networks, as Go's net/netip reads them */
#pragma once

#include "base/base.h"

struct ip {
    uint8_t byte[16]; /* IPv4 in the last four, behind ::ffff: */
    uint8_t family;   /* 4 or 6 */
    bool is_mapped;   /* written as IPv6 with a dotted IPv4 address in ::ffff:0:0/96 */
    struct str zone;  /* what follows '%'; borrowed */
};
struct cidr {
    struct ip ip; /* as written: bits behind the prefix may be set */
    uint8_t bits;
};

/* Dotted IPv4 without leading zeros, or IPv6 with or without a zone. ERR_SYNTAX in Go's words:
 * `ParseAddr("1.2.3"): IPv4 address too short`. */
int ip_parse(struct str text, struct ip *out, struct err *err);
/* ADDRESS/BITS, no zone: `netip.ParsePrefix("10.0.0.0/"): bad bits after slash: ""`. */
int cidr_parse(struct str text, struct cidr *out, struct err *err);
/* RFC 5952. */
void ip_write(struct buf *out, const struct ip *ip);
void cidr_write(struct buf *out, const struct cidr *c);
struct str ip_text(struct arena *a, const struct ip *ip);
struct str cidr_text(struct arena *a, const struct cidr *c);

/* The same address, an IPv4 one and its IPv6 form included; zones count. */
bool ip_eq(const struct ip *x, const struct ip *y);
bool cidr_eq(const struct cidr *x, const struct cidr *y);
bool ip_is_unspecified(const struct ip *ip);
bool ip_is_loopback(const struct ip *ip);
bool ip_is_link_local_multicast(const struct ip *ip);
bool ip_is_link_local_unicast(const struct ip *ip);
bool ip_is_multicast(const struct ip *ip);
/* Private ranges are global, too. */
bool ip_is_global_unicast(const struct ip *ip);

/* False where the families differ. */
bool cidr_has_ip(const struct cidr *c, const struct ip *ip);
bool cidr_has_cidr(const struct cidr *c, const struct cidr *inner);
struct cidr cidr_masked(const struct cidr *c);
