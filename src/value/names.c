/* names.c - what may be called what
 *
 * Every grammar is a loop over character classes: `edge` may begin and end a name, `inner` may
 * stand between.
 */
#include "value/names.h"

#define LOWER 1
#define UPPER 2
#define DIGIT 4
#define DASH 8
#define DOT 16
#define UNDERSCORE 32
#define ALNUM (LOWER | UPPER | DIGIT)

#define LABEL_FMT "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_FMT LABEL_FMT "(\\." LABEL_FMT ")*"
#define KEY_FMT "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define REGEX "regex used for validation is '"

static const char empty[] = "must be non-empty";
static const char too_long_63[] = "must be no more than 63 bytes";
static const char too_long_253[] = "must be no more than 253 bytes";
static const char bad_label[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " REGEX
        LABEL_FMT "')";
static const char bad_subdomain[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', " REGEX
        SUBDOMAIN_FMT "')";
static const char bad_underscore[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', "
    "'_' or '.', and must start and end with an alphanumeric character (e.g. 'example.com')";
static const char bad_1035[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
    "'abc-123', " REGEX "[a-z]([-a-z0-9]*[a-z0-9])?')";
static const char bad_wildcard[] =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
    "alphanumeric character (e.g. '*.example.com', " REGEX "\\*\\." SUBDOMAIN_FMT "')";
static const char bad_key[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " REGEX KEY_FMT "')";
static const char bad_key_parts[] =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
    "'123-abc', " REGEX KEY_FMT
    "') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
static const char bad_value[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    "'my_value',  or '12345', " REGEX "(" KEY_FMT ")?')";

/* Which classes a byte belongs to. */
static const uint8_t classes_of[256] = {
    ['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER, ['0' ... '9'] = DIGIT,
    ['-'] = DASH,          ['.'] = DOT,           ['_'] = UNDERSCORE,
};

static int class_of(char c)
{
    return classes_of[(uint8_t)c];
}

static bool is_all(struct str s, int classes)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(class_of(s.at[i]) & classes))
            return false;
    return true;
}

/* Not empty, begins with `first`, ends with `last`, and has `inner` between. */
static bool has_shape(struct str s, int first, int inner, int last)
{
    return s.len && (class_of(s.at[0]) & first) && (class_of(s.at[s.len - 1]) & last) &&
           is_all(s, first | inner | last);
}

/* Labels with dots between; what may come next depends on what stands before. */
static bool is_subdomain(struct str s, int edge)
{
    int next = edge, c = 0;

    for (size_t i = 0; i < s.len; i++) {
        c = class_of(s.at[i]);
        if (!(c & next))
            return false;
        next = c & edge ? edge | DASH | DOT : c & DASH ? edge | DASH : edge;
    }
    return c & edge;
}

/* Each label may begin with one underscore, and have more inside. */
static bool is_subdomain_underscore(struct str s)
{
    struct str label;
    bool has_more = true;

    while (has_more) {
        has_more = str_cut(s, '.', &label, &s);
        label = str_slice(label, str_starts(label, S("_")), label.len);
        if (!has_shape(label, LOWER | DIGIT, LOWER | DIGIT | DASH | UNDERSCORE, LOWER | DIGIT))
            return false;
    }
    return true;
}

static void fault(struct name_faults *f, const char *text)
{
    if (f->n < NAME_MAX_FAULTS) {
        f->at[f->n].part = "";
        f->at[f->n++].text = text;
    }
}

static void fault_if(struct name_faults *f, bool is_bad, const char *text)
{
    if (is_bad)
        fault(f, text);
}

/* ---- the rules ---- */

typedef void rule_fn(struct str s, struct name_faults *f);

static void dns_label(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_LABEL_MAX, too_long_63);
    if (has_shape(s, LOWER | DIGIT, LOWER | DIGIT | DASH, LOWER | DIGIT))
        return;
    fault(f, is_subdomain(s, LOWER | DIGIT) ? "must not contain dots" : bad_label);
}

static void dns_subdomain(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_SUBDOMAIN_MAX, too_long_253);
    fault_if(f, !is_subdomain(s, LOWER | DIGIT), bad_subdomain);
}

static void dns_subdomain_underscore(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_SUBDOMAIN_MAX, too_long_253);
    fault_if(f, !is_subdomain_underscore(s), bad_underscore);
}

static void dns_1035_label(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_LABEL_MAX, too_long_63);
    fault_if(f, !has_shape(s, LOWER, LOWER | DIGIT | DASH, LOWER | DIGIT), bad_1035);
}

static void wildcard_subdomain(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_SUBDOMAIN_MAX, too_long_253);
    fault_if(f, !str_starts(s, S("*.")) || !is_subdomain(str_slice(s, 2, s.len), LOWER | DIGIT),
             bad_wildcard);
}

/* A prefix that a suffix follows: a final dash and what stands before it count as a letter, as
 * upstream has it. */
static void as_prefix(struct str s, rule_fn *rule, struct name_faults *f)
{
    char copy[NAME_SUBDOMAIN_MAX + 2];

    if (s.len > 1 && s.len < sizeof(copy) && s.at[s.len - 1] == '-') {
        memcpy(copy, s.at, s.len);
        copy[s.len - 2] = 'a';
        s = str_of(copy, s.len - 1);
    }
    rule(s, f);
}

static void dns_label_prefix(struct str s, struct name_faults *f)
{
    as_prefix(s, dns_label, f);
}

static void dns_subdomain_prefix(struct str s, struct name_faults *f)
{
    as_prefix(s, dns_subdomain, f);
}

static void dns_1035_label_prefix(struct str s, struct name_faults *f)
{
    as_prefix(s, dns_1035_label, f);
}

static void fqdn(struct str s, struct name_faults *f)
{
    struct str rest, label;

    if (s.len == 0) {
        fault(f, empty);
        return;
    }
    if (s.at[s.len - 1] == '.')
        s.len--;
    dns_subdomain(s, f);
    if (f->n)
        return;
    if (str_index(s, '.') == STR_NONE) {
        fault(f, "should be a domain with at least two segments separated by dots");
        return;
    }
    for (bool has_more = true; has_more && !f->n;) {
        has_more = str_cut(s, '.', &label, &rest);
        dns_label(label, f);
        s = rest;
    }
}

static void qualified_host(struct str s, struct name_faults *f)
{
    size_t dots = 0;

    if (s.len == 0) {
        fault(f, empty);
        return;
    }
    dns_subdomain(s, f);
    for (size_t i = 0; i < s.len; i++)
        dots += s.at[i] == '.';
    if (!f->n && dots < 2)
        fault(f, "should be a domain with at least three segments separated by dots");
}

static void key_name(struct str s, struct name_faults *f)
{
    fault_if(f, s.len == 0, empty);
    fault_if(f, s.len > NAME_LABEL_MAX, too_long_63);
    fault_if(f, !has_shape(s, ALNUM, ALNUM | DASH | DOT | UNDERSCORE, ALNUM), bad_key);
}

static void label_key(struct str s, struct name_faults *f)
{
    struct str prefix, name, more;
    bool has_prefix = str_cut(s, '/', &prefix, &name);
    size_t from_name;

    if (!has_prefix)
        name = s;
    else if (str_cut(name, '/', &more, &more)) {
        fault(f, bad_key_parts);
        return;
    } else if (prefix.len == 0)
        fault(f, empty);
    else
        dns_subdomain(prefix, f);
    for (size_t i = 0; i < f->n; i++)
        f->at[i].part = "prefix part ";
    from_name = f->n;
    key_name(name, f);
    for (size_t i = from_name; i < f->n; i++)
        f->at[i].part = "name part ";
}

static void label_value(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_LABEL_MAX, too_long_63);
    fault_if(f, s.len && !has_shape(s, ALNUM, ALNUM | DASH | DOT | UNDERSCORE, ALNUM),
             bad_value);
}

static void no_parent_path(struct str s, struct name_faults *f)
{
    if (str_eq(s, S(".")))
        fault(f, "must not be '.'");
    else if (str_eq(s, S("..")))
        fault(f, "must not be '..'");
    else if (str_starts(s, S("..")))
        fault(f, "must not start with '..'");
}

static void config_map_key(struct str s, struct name_faults *f)
{
    fault_if(f, s.len > NAME_SUBDOMAIN_MAX, too_long_253);
    fault_if(
        f, s.len == 0 || !is_all(s, ALNUM | DASH | DOT | UNDERSCORE),
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', " REGEX "[-._a-zA-Z0-9]+')");
    no_parent_path(s, f);
}

static void env_var(struct str s, struct name_faults *f)
{
    fault_if(f,
             !has_shape(s, LOWER | UPPER | DASH | DOT | UNDERSCORE,
                        ALNUM | DASH | DOT | UNDERSCORE, ALNUM | DASH | DOT | UNDERSCORE),
             "a valid environment variable name must consist of alphabetic characters, digits, "
             "'_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or "
             "'MY_ENV.NAME',  or 'MyEnvName1', " REGEX "[-._a-zA-Z][-._a-zA-Z0-9]*')");
    no_parent_path(s, f);
}

static void env_var_relaxed(struct str s, struct name_faults *f)
{
    if (s.len == 0) {
        fault(f, "environment variable name must be non-empty");
        return;
    }
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < ' ' || s.at[i] > '~' || s.at[i] == '=') {
            fault(f, "a valid environment variable name must consist only of printable ASCII "
                     "characters other than '='");
            return;
        }
}

static void c_identifier(struct str s, struct name_faults *f)
{
    fault_if(f,
             !has_shape(s, LOWER | UPPER | UNDERSCORE, ALNUM | UNDERSCORE, ALNUM | UNDERSCORE),
             "a valid C identifier must start with alphabetic character or '_', followed by a "
             "string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
             "'MyName', " REGEX "[A-Za-z_][A-Za-z0-9_]*')");
}

/* Splits "domain/rest" and checks the domain. False where there is no such split. */
static bool domain_prefix(struct str s, struct str *rest, struct name_faults *f)
{
    struct str host;

    if (!str_cut(s, '/', &host, rest) || host.len == 0 || rest->len == 0)
        return false;
    dns_subdomain(host, f);
    return true;
}

static void domain_path(struct str s, struct name_faults *f)
{
    struct str path;

    if (!domain_prefix(s, &path, f)) {
        fault(f, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    for (size_t i = 0; i < path.len; i++)
        if (!(class_of(path.at[i]) || (path.at[i] && strchr("/~%!$&'()*+,;=:", path.at[i])))) {
            fault(f, "Invalid path (e.g. 'foo',  or 'foo/bar', " REGEX
                     "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
            return;
        }
}

static void domain_key(struct str s, struct name_faults *f)
{
    struct str key;

    if (domain_prefix(s, &key, f))
        key_name(key, f);
    else
        fault(f, "must be a domain-prefixed key (such as \"acme.io/foo\")");
}

static void http_header(struct str s, struct name_faults *f)
{
    fault_if(f, s.len == 0 || !is_all(s, ALNUM | DASH),
             "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
             "'X-Header-Name', " REGEX "[-A-Za-z0-9]+')");
}

static void port_name(struct str s, struct name_faults *f)
{
    bool has_letter = false;

    fault_if(f, s.len > 15, "must be no more than 15 characters");
    fault_if(f, s.len == 0 || !is_all(s, LOWER | DIGIT | DASH),
             "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    for (size_t i = 0; i < s.len; i++)
        has_letter = has_letter || class_of(s.at[i]) == LOWER;
    fault_if(f, !has_letter, "must contain at least one letter (a-z)");
    fault_if(f, str_has(s, S("--")), "must not contain consecutive hyphens");
    fault_if(f, s.len && (s.at[0] == '-' || s.at[s.len - 1] == '-'),
             "must not begin or end with a hyphen");
}

const char *port_fault(int64_t port)
{
    return port >= 1 && port <= 65535 ? NULL : "must be between 1 and 65535, inclusive";
}

const char *user_id_fault(int64_t id)
{
    return id >= 0 && id <= INT32_MAX ? NULL : "must be between 0 and 2147483647, inclusive";
}

static void port_number(struct str s, struct name_faults *f)
{
    int64_t v = 0;
    const char *why = str_to_i64(s, &v) ? port_fault(v) : "must be a number";

    fault_if(f, why != NULL, why);
}

static void user_id(struct str s, struct name_faults *f)
{
    int64_t v = 0;
    const char *why = str_to_i64(s, &v) ? user_id_fault(v) : "must be a number";

    fault_if(f, why != NULL, why);
}

static void percent(struct str s, struct name_faults *f)
{
    fault_if(f,
             s.len < 2 || s.at[s.len - 1] != '%' || !is_all(str_slice(s, 0, s.len - 1), DIGIT),
             "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
             "'1%',  or '93%', " REGEX "[0-9]+%')");
}

static void path_segment_prefix(struct str s, struct name_faults *f)
{
    fault_if(f, str_index(s, '/') != STR_NONE, "may not contain '/'");
    fault_if(f, str_index(s, '%') != STR_NONE, "may not contain '%'");
}

static void path_segment(struct str s, struct name_faults *f)
{
    if (str_eq(s, S(".")))
        fault(f, "may not be '.'");
    else if (str_eq(s, S("..")))
        fault(f, "may not be '..'");
    path_segment_prefix(s, f);
}

static const struct {
    const char *name;
    rule_fn *check;
} rules[] = {
    [NAME_DNS_LABEL] = {"dNS1123Label",                   dns_label            },
    [NAME_DNS_SUBDOMAIN] = {"dNS1123Subdomain",               dns_subdomain        },
    [NAME_DNS_SUBDOMAIN_UNDERSCORE] = {"dNS1123SubdomainWithUnderscore",
                        dns_subdomain_underscore                               },
    [NAME_DNS_1035_LABEL] = {"dNS1035Label",                   dns_1035_label       },
    [NAME_WILDCARD_SUBDOMAIN] = {"wildcardDNS1123Subdomain",       wildcard_subdomain   },
    [NAME_DNS_LABEL_PREFIX] = {"dNS1123LabelPrefix",             dns_label_prefix     },
    [NAME_DNS_SUBDOMAIN_PREFIX] = {"dNS1123SubdomainPrefix",         dns_subdomain_prefix },
    [NAME_DNS_1035_LABEL_PREFIX] = {"dNS1035LabelPrefix",             dns_1035_label_prefix},
    [NAME_FQDN] = {"fullyQualifiedDomainName",       fqdn                 },
    [NAME_QUALIFIED_HOST] = {"fullyQualifiedName",             qualified_host       },
    [NAME_LABEL_KEY] = {"qualifiedName",                  label_key            },
    [NAME_LABEL_VALUE] = {"validLabelValue",                label_value          },
    [NAME_CONFIG_MAP_KEY] = {"configMapKey",                   config_map_key       },
    [NAME_ENV_VAR] = {"envVarName",                     env_var              },
    [NAME_ENV_VAR_RELAXED] = {"relaxedEnvVarName",              env_var_relaxed      },
    [NAME_C_IDENTIFIER] = {"cIdentifier",                    c_identifier         },
    [NAME_DOMAIN_PATH] = {"domainPrefixedPath",             domain_path          },
    [NAME_DOMAIN_KEY] = {"domainPrefixedKey",              domain_key           },
    [NAME_HTTP_HEADER] = {"hTTPHeaderName",                 http_header          },
    [NAME_PORT_NAME] = {"validPortName",                  port_name            },
    [NAME_PORT_NUMBER] = {"validPortNum",                   port_number          },
    [NAME_USER_ID] = {"validUserID",                    user_id              },
    [NAME_GROUP_ID] = {"validGroupID",                   user_id              },
    [NAME_PERCENT] = {"validPercent",                   percent              },
    [NAME_PATH_SEGMENT] = {"pathSegmentName",                path_segment         },
    [NAME_PATH_SEGMENT_PREFIX] = {"pathSegmentPrefix",              path_segment_prefix  },
};

struct name_faults name_check(enum name_rule rule, struct str value)
{
    struct name_faults f;

    f.n = 0; /* mostly there are none, and nobody looks at the rest */
    rules[rule].check(value, &f);
    return f;
}

struct str name_fault(struct arena *a, const struct name_faults *faults, size_t i)
{
    return str_printf(a, "%s%s", faults->at[i].part, faults->at[i].text);
}

bool name_rule_find(struct str name, enum name_rule *out)
{
    for (size_t i = 0; i < countof(rules); i++)
        if (str_eqz(name, rules[i].name)) {
            *out = (enum name_rule)i;
            return true;
        }
    return false;
}
