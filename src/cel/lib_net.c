/* lib_net.c - addresses and networks */
#include "cel/lib_priv.h"
#include "value/value.h"

/* An address as expressions take it: no zone, no dotted IPv4 inside IPv6. */
static bool read_ip(struct cel_call *c, struct str s, struct ip *out, struct cel_value *bad)
{
    struct err err = {0};

    if (ip_parse(s, out, &err) < 0) {
        *bad = cel_fail_text(
            c->arena, "IP Address \"%.*s\" parse error during conversion from string: %s",
            STR_ARG(s), err.text);
        return false;
    }
    if (out->zone.len) {
        *bad = cel_fail_text(c->arena, "IP address \"%.*s\" with zone value is not allowed",
                             STR_ARG(s));
        return false;
    }
    bool is_mapped =
        out->is_mapped || (!c->env->is_definition && out->family == 6 &&
                           memcmp(out->byte, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0);
    if (is_mapped) {
        *bad = cel_fail_text(c->arena, "IPv4-mapped IPv6 address \"%.*s\" is not allowed",
                             STR_ARG(s));
        return false;
    }
    return true;
}

static bool read_cidr(struct cel_call *c, struct str s, struct cidr *out, struct cel_value *bad)
{
    struct err err = {0};

    if (cidr_parse(s, out, &err) < 0) {
        const char *prefix = "network address parse error during conversion from string: ";
        *bad = cel_fail_text(c->arena, "%s%s%s", prefix, prefix, err.text);
        return false;
    }
    bool is_mapped =
        out->ip.is_mapped || (!c->env->is_definition && out->ip.family == 6 &&
                              memcmp(out->ip.byte, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0);
    if (is_mapped) {
        *bad = cel_fail_text(c->arena, "IPv4-mapped IPv6 address \"%.*s\" is not allowed",
                             STR_ARG(s));
        return false;
    }
    return true;
}

static struct cel_value ip_value(struct cel_call *c, struct ip ip)
{
    return (struct cel_value){.kind = CEL_IP, .ip = arena_copy(c->arena, &ip)};
}

static struct cel_value cidr_value(struct cel_call *c, struct cidr v)
{
    return (struct cel_value){.kind = CEL_CIDR, .cidr = arena_copy(c->arena, &v)};
}

CEL_FN(i_parse)
{
    struct cel_value bad;
    struct ip ip;

    return read_ip(c, cel_str(args[0]), &ip, &bad) ? ip_value(c, ip) : bad;
}

CEL_FN(i_is)
{
    struct cel_value bad;
    struct ip ip;

    return cel_bool(read_ip(c, cel_str(args[0]), &ip, &bad));
}

CEL_FN(i_is_canonical)
{
    struct cel_value bad;
    struct ip ip;

    if (!read_ip(c, cel_str(args[0]), &ip, &bad))
        return bad;
    return cel_bool(str_eq(ip_text(c->arena, &ip), cel_str(args[0])));
}

CEL_FN(i_text)
{
    return cel_text(ip_text(c->arena, args[0].ip));
}

CEL_FN(i_family)
{
    return cel_int(args[0].ip->family);
}

CEL_FN(i_unspecified)
{
    return cel_bool(ip_is_unspecified(args[0].ip));
}

CEL_FN(i_loopback)
{
    return cel_bool(ip_is_loopback(args[0].ip));
}

CEL_FN(i_link_multicast)
{
    return cel_bool(ip_is_link_local_multicast(args[0].ip));
}

CEL_FN(i_link_unicast)
{
    return cel_bool(ip_is_link_local_unicast(args[0].ip));
}

CEL_FN(i_global)
{
    return cel_bool(ip_is_global_unicast(args[0].ip));
}

CEL_FN(c_parse)
{
    struct cel_value bad;
    struct cidr v;

    return read_cidr(c, cel_str(args[0]), &v, &bad) ? cidr_value(c, v) : bad;
}

CEL_FN(c_is)
{
    struct cel_value bad;
    struct cidr v;

    return cel_bool(read_cidr(c, cel_str(args[0]), &v, &bad));
}

CEL_FN(c_text)
{
    return cel_text(cidr_text(c->arena, args[0].cidr));
}

/* A text that is no address fits no overload, upstream. */
/* A text that is no address counts as a wrong argument: upstream says no more. */
CEL_FN(c_has_ip)
{
    struct cel_value bad;
    struct ip ip;

    if (args[1].kind == CEL_IP)
        return cel_bool(cidr_has_ip(args[0].cidr, args[1].ip));
    if (!read_ip(c, cel_str(args[1]), &ip, &bad))
        return cel_fail(CEL_E_NO_OVERLOAD);
    return cel_bool(cidr_has_ip(args[0].cidr, &ip));
}

CEL_FN(c_has_cidr)
{
    struct cel_value bad;
    struct cidr v;

    if (args[1].kind == CEL_CIDR)
        return cel_bool(cidr_has_cidr(args[0].cidr, args[1].cidr));
    if (!read_cidr(c, cel_str(args[1]), &v, &bad))
        return cel_fail(CEL_E_NO_OVERLOAD);
    return cel_bool(cidr_has_cidr(args[0].cidr, &v));
}

CEL_FN(c_ip)
{
    return ip_value(c, args[0].cidr->ip);
}

CEL_FN(c_masked)
{
    return cidr_value(c, cidr_masked(args[0].cidr));
}

CEL_FN(c_bits)
{
    return cel_int(args[0].cidr->bits);
}

CEL_FN(c_is_mask)
{
    struct cidr m = cidr_masked(args[0].cidr);

    return cel_bool(cidr_eq(args[0].cidr, &m));
}
/* clang-format off */
static const struct lib_row rows[] = {
    {"ip",                   "string_to_ip",               "(string) ip",        i_parse,          LIB_K8S_IP},
    {"isIP",                 "is_ip",                      "(string) bool",      i_is,             LIB_K8S_IP},
    {"ip.isCanonical",       "ip_is_canonical",            "(string) bool",      i_is_canonical,   LIB_K8S_IP},
    {"string",               "ip_to_string",               "(ip) string",        i_text,           LIB_K8S_IP},
    {"family",               "ip_family",                  "ip.() int",          i_family,         LIB_K8S_IP},
    {"isUnspecified",        "ip_is_unspecified",          "ip.() bool",         i_unspecified,    LIB_K8S_IP},
    {"isLoopback",           "ip_is_loopback",             "ip.() bool",         i_loopback,       LIB_K8S_IP},
    {"isLinkLocalMulticast", "ip_is_link_local_multicast", "ip.() bool",         i_link_multicast, LIB_K8S_IP},
    {"isLinkLocalUnicast",   "ip_is_link_local_unicast",   "ip.() bool",         i_link_unicast,   LIB_K8S_IP},
    {"isGlobalUnicast",      "ip_is_global_unicast",       "ip.() bool",         i_global,         LIB_K8S_IP},
    {"cidr",                 "string_to_cidr",             "(string) cidr",      c_parse,          LIB_K8S_CIDR},
    {"isCIDR",               "is_cidr",                    "(string) bool",      c_is,             LIB_K8S_CIDR},
    {"string",               "cidr_to_string",             "(cidr) string",      c_text,           LIB_K8S_CIDR},
    {"containsIP",           "cidr_contains_ip_ip",        "cidr.(ip) bool",     c_has_ip,         LIB_K8S_CIDR},
    {"containsIP",           "cidr_contains_ip_string",    "cidr.(string) bool", c_has_ip,         LIB_K8S_CIDR},
    {"containsCIDR",         "cidr_contains_cidr",         "cidr.(cidr) bool",   c_has_cidr,       LIB_K8S_CIDR},
    {"containsCIDR",         "cidr_contains_cidr_string",  "cidr.(string) bool", c_has_cidr,       LIB_K8S_CIDR},
    {"ip",                   "cidr_ip",                    "cidr.() ip",         c_ip,             LIB_K8S_CIDR},
    {"masked",               "cidr_masked",                "cidr.() cidr",       c_masked,         LIB_K8S_CIDR},
    {"prefixLength",         "cidr_prefix_length",         "cidr.() int",        c_bits,           LIB_K8S_CIDR},
    {"isMask",               "cidr_is_mask",               "cidr.() bool",       c_is_mask,        LIB_NET},
};
/* clang-format on */
const struct lib_table cel_lib_net = {rows, countof(rows)};
