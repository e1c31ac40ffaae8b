/* opaque.c - Kubernetes' values inside expressions: quantity, semver, ip, cidr, url, format */
#include "cel/format_priv.h"
#include "cel/value_priv.h"
#include "value/value.h"

bool ip_is_v4(const struct ip *ip)
{
    return ip->family == 4;
}

int cidr_bits(const struct cidr *c)
{
    return c->bits;
}

bool opaque_equal(struct cel_value x, struct cel_value y)
{
    switch (x.kind) {
    case CEL_QUANTITY:
        return quantity_cmp(x.quantity, y.quantity) == 0;
    case CEL_SEMVER:
        return semver_cmp(x.semver, y.semver) == 0;
    case CEL_IP:
        return ip_eq(x.ip, y.ip);
    case CEL_CIDR:
        return cidr_eq(x.cidr, y.cidr);
    case CEL_URL:
        return str_eq(x.url->text, y.url->text);
    case CEL_FORMAT:
        return x.format == y.format;
    default:
        return false;
    }
}
