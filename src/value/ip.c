/* ip.c - addresses and networks, as Go's net/netip reads them */
#include "value/ip.h"

static const uint8_t mapped_prefix[12] = {[10] = 0xFF, [11] = 0xFF};

static int bad(struct err *err, struct str text, const char *why, struct str at)
{
    int n = (int)MIN(text.len, (size_t)80);

    if (at.len)
        return err_set(err, ERR_SYNTAX, "ParseAddr(\"%.*s\"): %s (at \"%.*s\")", n, text.at,
                       why, (int)MIN(at.len, (size_t)80), at.at);
    return err_set(err, ERR_SYNTAX, "ParseAddr(\"%.*s\"): %s", n, text.at ? text.at : "", why);
}

/* Four numbers and dots in s, a part of `text`. */
static int read_v4(struct str s, struct str text, uint8_t out[4], struct err *err)
{
    int v = 0, digits = 0, n = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c >= '0' && c <= '9') {
            if (digits == 1 && v == 0)
                return bad(err, text, "IPv4 field has octet with leading zero",
                           (struct str){0});
            v = v * 10 + (c - '0');
            digits++;
            if (v > 255)
                return bad(err, text, "IPv4 field has value >255", (struct str){0});
        } else if (c == '.') {
            if (digits == 0 || i + 1 == s.len)
                return bad(err, text, "IPv4 field must have at least one digit",
                           str_slice(s, i, s.len));
            if (n == 3)
                return bad(err, text, "IPv4 address too long", (struct str){0});
            out[n++] = (uint8_t)v;
            v = digits = 0;
        } else {
            return bad(err, text, "unexpected character", str_slice(s, i, s.len));
        }
    }
    if (n < 3 || digits == 0)
        return bad(err, text, "IPv4 address too short", (struct str){0});
    out[3] = (uint8_t)v;
    return 0;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* What is known while the fields of an IPv6 address are read. */
struct v6 {
    uint8_t byte[16];
    int n;        /* bytes so far */
    int ellipsis; /* bytes before "::", or -1 */
    bool has_v4;
};

/* Puts the zeros of "::" in. */
static int expand(struct v6 *v, struct str text, struct err *err)
{
    int missing = 16 - v->n;

    if (v->n == 16)
        return v->ellipsis < 0
                   ? 0
                   : bad(err, text, "the :: must expand to at least one field of zeros",
                         (struct str){0});
    if (v->ellipsis < 0)
        return bad(err, text, "address string too short", (struct str){0});
    memmove(v->byte + v->ellipsis + missing, v->byte + v->ellipsis,
            (size_t)(v->n - v->ellipsis));
    memset(v->byte + v->ellipsis, 0, (size_t)missing);
    return 0;
}

/* One field at the front of *s: four hex digits, or an IPv4 address that ends everything. */
static int take_field(struct v6 *v, struct str *s, struct str text, struct err *err)
{
    uint32_t field = 0;
    size_t i = 0;

    for (; i < s->len && hex(s->at[i]) >= 0; i++) {
        field = field << 4 | (uint32_t)hex(s->at[i]);
        if (i > 3)
            return bad(err, text, "each group must have 4 or less digits", *s);
    }
    if (i == 0)
        return bad(err, text, "each colon-separated field must have at least one digit", *s);
    if (i < s->len && s->at[i] == '.') {
        if (v->ellipsis < 0 && v->n != 12)
            return bad(err, text,
                       "embedded IPv4 address must replace the final 2 fields of the address",
                       *s);
        if (v->n + 4 > 16)
            return bad(err, text,
                       "too many hex fields to fit an embedded IPv4 at the end of "
                       "the address",
                       *s);
        if (read_v4(*s, text, v->byte + v->n, err) < 0)
            return -1;
        v->n += 4;
        v->has_v4 = true;
        *s = (struct str){0};
        return 0;
    }
    v->byte[v->n++] = (uint8_t)(field >> 8);
    v->byte[v->n++] = (uint8_t)field;
    *s = str_slice(*s, i, s->len);
    return 0;
}

static int read_v6(struct str s, struct str text, struct v6 *v, struct err *err)
{
    v->ellipsis = -1;
    if (str_starts(s, S("::"))) {
        v->ellipsis = 0;
        s = str_slice(s, 2, s.len);
        if (s.len == 0)
            return expand(v, text, err);
    }
    while (v->n < 16) {
        if (take_field(v, &s, text, err) < 0)
            return -1;
        if (s.len == 0)
            break;
        if (s.at[0] != ':')
            return bad(err, text, "unexpected character, want colon", s);
        if (s.len == 1)
            return bad(err, text, "colon must be followed by more characters", s);
        s = str_slice(s, 1, s.len);
        if (s.at[0] != ':')
            continue;
        if (v->ellipsis >= 0)
            return bad(err, text, "multiple :: in address", s);
        v->ellipsis = v->n;
        s = str_slice(s, 1, s.len);
        if (s.len == 0)
            break;
    }
    if (s.len)
        return bad(err, text, "trailing garbage after address", s);
    return expand(v, text, err);
}

int ip_parse(struct str text, struct ip *out, struct err *err)
{
    struct ip ip = {0};
    struct v6 v = {0};
    struct str address = text;
    size_t i = 0;

    while (i < text.len && text.at[i] != '.' && text.at[i] != ':' && text.at[i] != '%')
        i++;
    if (i == text.len)
        return bad(err, text, "unable to parse IP", (struct str){0});
    if (text.at[i] == '%')
        return bad(err, text, "missing IPv6 address", (struct str){0});
    if (text.at[i] == '.') {
        memcpy(ip.byte, mapped_prefix, sizeof(mapped_prefix));
        ip.family = 4;
        if (read_v4(text, text, ip.byte + 12, err) < 0)
            return -1;
    } else {
        if (str_cut(text, '%', &address, &ip.zone) && ip.zone.len == 0)
            return bad(err, text, "zone must be a non-empty string", (struct str){0});
        if (read_v6(address, text, &v, err) < 0)
            return -1;
        memcpy(ip.byte, v.byte, sizeof(ip.byte));
        ip.family = 6;
        ip.is_mapped = v.has_v4 && memcmp(ip.byte, mapped_prefix, sizeof(mapped_prefix)) == 0;
    }
    *out = ip;
    return 0;
}

static int bad_prefix(struct err *err, struct str text, const char *why, struct str at)
{
    return err_set(err, ERR_SYNTAX, "netip.ParsePrefix(\"%.*s\"): %s: \"%.*s\"",
                   (int)MIN(text.len, (size_t)80), text.at ? text.at : "", why,
                   (int)MIN(at.len, (size_t)80), at.at ? at.at : "");
}

int cidr_parse(struct str text, struct cidr *out, struct err *err)
{
    struct str address, bits;
    struct cidr c = {0};
    uint64_t n;

    if (!str_rcut(text, '/', &address, &bits))
        return err_set(err, ERR_SYNTAX, "netip.ParsePrefix(\"%.*s\"): no '/'",
                       (int)MIN(text.len, (size_t)80), text.at ? text.at : "");
    if (ip_parse(address, &c.ip, err) < 0)
        return err_wrap(err, "netip.ParsePrefix(\"%.*s\")", (int)MIN(text.len, (size_t)80),
                        text.at);
    if (c.ip.zone.len)
        return err_set(err, ERR_SYNTAX,
                       "netip.ParsePrefix(\"%.*s\"): IPv6 zones cannot be present in a prefix",
                       (int)MIN(text.len, (size_t)80), text.at);
    if (!str_to_u64(bits, &n) || (bits.len > 1 && bits.at[0] == '0'))
        return bad_prefix(err, text, "bad bits after slash", bits);
    if (n > (c.ip.family == 4 ? 32 : 128))
        return err_set(err, ERR_SYNTAX,
                       "netip.ParsePrefix(\"%.*s\"): prefix length out of range",
                       (int)MIN(text.len, (size_t)80), text.at);
    c.bits = (uint8_t)n;
    *out = c;
    return 0;
}

/* ---- writing ---- */

static void write_v4(struct buf *out, const uint8_t *b)
{
    buf_printf(out, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

static void write_v6(struct buf *out, const uint8_t *b)
{
    int start = -1, len = 1; /* the longest run of zero fields, at least two */

    for (int i = 0; i < 8; i++) {
        int n = 0;
        while (i + n < 8 && b[(i + n) * 2] == 0 && b[(i + n) * 2 + 1] == 0)
            n++;
        if (n > len)
            start = i, len = n;
    }
    for (int i = 0; i < 8; i++) {
        if (i == start) {
            buf_add(out, S("::"));
            i += len - 1;
            continue;
        }
        buf_printf(out, "%s%x", i && i != start + len ? ":" : "", b[i * 2] << 8 | b[i * 2 + 1]);
    }
}

void ip_write(struct buf *out, const struct ip *ip)
{
    if (ip->family == 4) {
        write_v4(out, ip->byte + 12);
    } else if (memcmp(ip->byte, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        buf_add(out, S("::ffff:"));
        write_v4(out, ip->byte + 12);
    } else {
        write_v6(out, ip->byte);
    }
    if (ip->zone.len) {
        buf_byte(out, '%');
        buf_add(out, ip->zone);
    }
}

void cidr_write(struct buf *out, const struct cidr *c)
{
    ip_write(out, &c->ip);
    buf_printf(out, "/%u", c->bits);
}

struct str ip_text(struct arena *a, const struct ip *ip)
{
    struct buf out = buf_in(a, 48);

    ip_write(&out, ip);
    return buf_str(&out);
}

struct str cidr_text(struct arena *a, const struct cidr *c)
{
    struct buf out = buf_in(a, 48);

    cidr_write(&out, c);
    return buf_str(&out);
}

/* ---- what they are ---- */

bool ip_eq(const struct ip *x, const struct ip *y)
{
    return memcmp(x->byte, y->byte, sizeof(x->byte)) == 0 && str_eq(x->zone, y->zone);
}

bool cidr_eq(const struct cidr *x, const struct cidr *y)
{
    return x->bits == y->bits && x->ip.family == y->ip.family && ip_eq(&x->ip, &y->ip);
}

static bool is_v4(const struct ip *ip)
{
    return memcmp(ip->byte, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

static bool is_only(const struct ip *ip, uint8_t last)
{
    static const uint8_t zeros[15];

    return memcmp(ip->byte, zeros, 15) == 0 && ip->byte[15] == last;
}

static const uint8_t *v4_of(const struct ip *ip)
{
    return ip->byte + 12;
}

bool ip_is_unspecified(const struct ip *ip)
{
    static const uint8_t zeros[4];

    return is_v4(ip) ? memcmp(v4_of(ip), zeros, 4) == 0 : is_only(ip, 0);
}

bool ip_is_loopback(const struct ip *ip)
{
    return is_v4(ip) ? v4_of(ip)[0] == 127 : is_only(ip, 1);
}

bool ip_is_multicast(const struct ip *ip)
{
    return is_v4(ip) ? (v4_of(ip)[0] & 0xF0) == 0xE0 : ip->byte[0] == 0xFF;
}

bool ip_is_link_local_multicast(const struct ip *ip)
{
    const uint8_t *v4 = v4_of(ip);

    return is_v4(ip) ? v4[0] == 224 && v4[1] == 0 && v4[2] == 0
                     : ip->byte[0] == 0xFF && (ip->byte[1] & 0x0F) == 2;
}

bool ip_is_link_local_unicast(const struct ip *ip)
{
    return is_v4(ip) ? v4_of(ip)[0] == 169 && v4_of(ip)[1] == 254
                     : ip->byte[0] == 0xFE && (ip->byte[1] & 0xC0) == 0x80;
}

bool ip_is_global_unicast(const struct ip *ip)
{
    static const uint8_t broadcast[4] = {255, 255, 255, 255};

    return !(is_v4(ip) && memcmp(v4_of(ip), broadcast, 4) == 0) && !ip_is_unspecified(ip) &&
           !ip_is_loopback(ip) && !ip_is_multicast(ip) && !ip_is_link_local_unicast(ip);
}

static void mask(uint8_t *byte, int n_bytes, int bits)
{
    for (int i = 0; i < n_bytes; i++, bits -= 8)
        byte[i] &= (uint8_t)(bits >= 8 ? 0xFF : bits <= 0 ? 0 : 0xFF << (8 - bits));
}

struct cidr cidr_masked(const struct cidr *c)
{
    struct cidr m = *c;

    if (m.ip.family == 4)
        mask(m.ip.byte + 12, 4, m.bits);
    else
        mask(m.ip.byte, 16, m.bits);
    return m;
}

bool cidr_has_ip(const struct cidr *c, const struct ip *ip)
{
    struct cidr own = cidr_masked(c), other = {.ip = *ip, .bits = c->bits};

    if (c->ip.family != ip->family)
        return false;
    other = cidr_masked(&other);
    return memcmp(own.ip.byte, other.ip.byte, sizeof(own.ip.byte)) == 0;
}

bool cidr_has_cidr(const struct cidr *c, const struct cidr *inner)
{
    return c->bits <= inner->bits && cidr_has_ip(c, &inner->ip);
}
