/* format.c - what `format` demands of a string */
#include "schema/format.h"

#include "base/base64.h"
#include "schema/table.h"
#include "value/ip.h"
#include "value/names.h"
#include "value/time.h"
#include "value/url.h"

static const struct {
    struct str format;
    enum name_rule rule;
} names[] = {
    {S_INIT("dns-label"),      NAME_DNS_LABEL      },
    {S_INIT("dns-subdomain"),  NAME_DNS_SUBDOMAIN  },
    {S_INIT("dns-1035-label"), NAME_DNS_1035_LABEL },
    {S_INIT("label-key"),      NAME_LABEL_KEY      },
    {S_INIT("label-value"),    NAME_LABEL_VALUE    },
    {S_INIT("config-key"),     NAME_CONFIG_MAP_KEY },
    {S_INIT("env-name"),       NAME_ENV_VAR_RELAXED},
    {S_INIT("c-identifier"),   NAME_C_IDENTIFIER   },
    {S_INIT("domain-path"),    NAME_DOMAIN_PATH    },
    {S_INIT("port-name"),      NAME_PORT_NAME      },
    {S_INIT("path-segment"),   NAME_PATH_SEGMENT   },
    {S_INIT("k8s-short-name"), NAME_DNS_LABEL      },
    {S_INIT("k8s-long-name"),  NAME_DNS_SUBDOMAIN  },
};

static bool is_date_time(struct str text)
{
    struct instant t;

    return time_parse(text, &t, NULL) == 0;
}

static bool is_date(struct str text)
{
    char room[32];
    struct instant t;

    if (text.len != 10)
        return false;
    int n = snprintf(room, sizeof(room), "%.*sT00:00:00Z", STR_ARG(text));
    return time_parse(str_of(room, (size_t)n), &t, NULL) == 0;
}

static bool is_byte(struct str text)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct str out;

    return text.len && base64_decode(&a, text, &out);
}

static bool is_span(struct str text)
{
    struct span d;

    return span_parse(text, &d, NULL) == 0;
}

static bool is_dns_label(struct str text)
{
    return name_is(NAME_DNS_LABEL, text);
}

static bool is_dns_subdomain(struct str text)
{
    return name_is(NAME_DNS_SUBDOMAIN, text);
}

static bool is_ipv4(struct str text)
{
    struct ip ip;

    return ip_parse(text, &ip, NULL) == 0 && !ip.zone.len && str_index(text, '.') != STR_NONE;
}

static bool is_ipv6(struct str text)
{
    struct ip ip;

    return ip_parse(text, &ip, NULL) == 0 && !ip.zone.len && str_index(text, ':') != STR_NONE;
}

static bool is_cidr(struct str text)
{
    struct cidr c;

    return cidr_parse(text, &c, NULL) == 0;
}

static bool is_uri(struct str text)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct url u;

    return url_parse(&a, text, &u, NULL) == 0;
}

/* Letters are all that is not ASCII, too: upstream's classes L and S. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_host_char(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || (c && strchr("$+<=>^`|~", c));
}

static bool is_host_label(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_host_char(s.at[i]) && (s.at[i] != '-' || i == 0 || i + 1 == s.len))
            return false;
    return s.len >= 1 && s.len <= 63;
}

/* A name alone may have a dash as its second character only; the last of several labels is two
 * letters or more. */
static bool is_hostname(struct str text)
{
    struct str label, rest = text;
    bool has_more = str_cut(rest, '.', &label, &rest);

    if (text.len > 255 || text.len == 0)
        return false;
    if (!has_more) {
        for (size_t i = 0; i < text.len; i++)
            if (!is_host_char(text.at[i]) && !(i == 1 && text.at[i] == '-'))
                return false;
        return text.len <= 63;
    }
    for (; has_more; has_more = str_cut(rest, '.', &label, &rest))
        if (!is_host_label(label))
            return false;
    for (size_t i = 0; i < label.len; i++)
        if (!is_letter(label.at[i]))
            return false;
    return label.len >= 2 && label.len <= 63;
}

/* ---- numbers with a check digit ---- */

/* The digits of a text; -1 where there are more than `most`. */
static int digits_of(struct str text, uint8_t *out, int most)
{
    int n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            continue;
        if (n == most)
            return -1;
        out[n++] = (uint8_t)(text.at[i] - '0');
    }
    return n;
}

static bool is_credit_card(struct str text)
{
    uint8_t digit[19];
    int n = digits_of(text, digit, (int)sizeof(digit)), sum = 0;

    for (int i = 0; i < n; i++) {
        int d = digit[n - 1 - i] << (i & 1);
        sum += d > 9 ? d - 9 : d;
    }
    return n >= 13 && n <= 16 && sum % 10 == 0;
}

static bool is_isbn10(struct str text)
{
    uint8_t digit[10];
    bool ends_in_x = str_ends(text, S("X"));
    int n = digits_of(text, digit, (int)sizeof(digit)), sum = ends_in_x ? 100 : 0;

    for (int i = 0; i < n; i++)
        sum += (i + 1) * digit[i];
    return n + ends_in_x == 10 && sum % 11 == 0;
}

static bool is_isbn13(struct str text)
{
    uint8_t digit[13];
    int n = digits_of(text, digit, (int)sizeof(digit)), sum = 0;

    for (int i = 0; i < n; i++)
        sum += digit[i] * (i & 1 ? 3 : 1);
    return n == 13 && sum % 10 == 0;
}

static bool is_isbn(struct str text)
{
    return is_isbn10(text) || is_isbn13(text);
}

/* ---- OpenAPI's ---- */

#define GROUPS(third, fourth)                                                                  \
    "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?" third "[0-9a-f]{3}-?" fourth "[0-9a-f]{3}-?[0-9a-f]{12}" \
    "$"
#define BYTE_TEXT "(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])"
#define DIGITS_ONLY "^[0-9 -]+X?$"
#define MAC_BYTE "[0-9a-fA-F]{2}"
#define MAC_WORD "[0-9a-fA-F]{4}"
#define ATOM "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\x80-\\x{10ffff}-]+"
#define ADDRESS ATOM "(\\." ATOM ")*@" ATOM "(\\." ATOM ")*"

/* Both, where there are both, must hold. */
static const struct {
    struct str format;
    bool (*is)(struct str text);
    struct str pattern;
} openapi[] = {
#define ROW(name, fn)                                                                          \
    {                                                                                          \
        S_INIT(name), fn,                                                                      \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }
#define MATCHED(name, fn, text)                                                                \
    {                                                                                          \
        S_INIT(name), fn, S_INIT(text)                                                         \
    }
    ROW("date-time", is_date_time),
    ROW("datetime", is_date_time),
    ROW("date", is_date),
    ROW("byte", is_byte),
    ROW("duration", is_span),
    ROW("k8s-short-name", is_dns_label),
    ROW("k8s-long-name", is_dns_subdomain),
    ROW("password", NULL),
    ROW("ipv4", is_ipv4),
    ROW("ipv6", is_ipv6),
    ROW("cidr", is_cidr),
    ROW("uri", is_uri),
    MATCHED("uuid", NULL, GROUPS("[0-9a-f]", "[0-9a-f]")),
    MATCHED("uuid3", NULL, GROUPS("3", "[0-9a-f]")),
    MATCHED("uuid4", NULL, GROUPS("4", "[89ab]")),
    MATCHED("uuid5", NULL, GROUPS("5", "[89ab]")),
    MATCHED("bsonobjectid", NULL, "^[0-9a-fA-F]{24}$"),
    MATCHED("hexcolor", NULL, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    MATCHED("rgbcolor", NULL,
            "^rgb\\(\\s*" BYTE_TEXT "\\s*,\\s*" BYTE_TEXT "\\s*,\\s*" BYTE_TEXT "\\s*\\)$"),
    MATCHED("ssn", NULL, "^\\d{3}[- ]\\d{2}[- ]\\d{4}$"),
    MATCHED("mac", NULL,
            "^(" MAC_BYTE "(:" MAC_BYTE "){5}|" MAC_BYTE "(:" MAC_BYTE "){7}|" MAC_BYTE
            "(-" MAC_BYTE "){5}|" MAC_BYTE "(-" MAC_BYTE "){7}|" MAC_WORD "(\\." MAC_WORD
            "){2}|" MAC_WORD "(\\." MAC_WORD "){3})$"),
    ROW("hostname", is_hostname),
    MATCHED("email", NULL, "^\\s*(" ADDRESS "|((\"[^\"]*\"|" ATOM ")\\s*)*<" ADDRESS ">)\\s*$"),
    MATCHED("creditcard", is_credit_card, ".*"),
    MATCHED("isbn", is_isbn, DIGITS_ONLY),
    MATCHED("isbn10", is_isbn10, DIGITS_ONLY),
    MATCHED("isbn13", is_isbn13, DIGITS_ONLY),
};

static struct regex *slots[countof(openapi)]; /* compiled when first asked for */

bool format_is(struct str format, struct str text)
{
    for (size_t i = 0; i < countof(openapi); i++) {
        struct schema_pattern p = {openapi[i].pattern, &slots[i]};
        if (!str_eq(openapi[i].format, format))
            continue;
        return (!openapi[i].is || openapi[i].is(text)) &&
               (!p.text.len || schema_pattern_matches(&p, text));
    }
    return true;
}

bool format_is_known(struct str format)
{
    for (size_t i = 0; i < countof(openapi); i++)
        if (str_eq(openapi[i].format, format))
            return true;
    return false;
}

static void check_name(struct field_errors *e, enum name_rule rule, const struct field_path *p,
                       const struct json *v)
{
    struct name_faults faults = name_check(rule, json_str(v));

    for (size_t i = 0; i < faults.n; i++)
        field_invalid(e, p, v, "%.*s", STR_ARG(name_fault(e->arena, &faults, i)));
}

void format_check(struct field_errors *e, struct str format, bool is_custom,
                  const struct field_path *p, const struct json *v)
{
    for (size_t i = 0; !is_custom && i < countof(names); i++) {
        if (str_eq(names[i].format, format)) {
            check_name(e, names[i].rule, p, v);
            return;
        }
    }
    if (!format_is(format, json_str(v)))
        field_type_invalid(e, p, v, "%.*s in body must be of type %.*s: %.*s",
                           STR_ARG(field_path_text(e->arena, p)), STR_ARG(format),
                           STR_ARG(json_text(e->arena, v)));
}
