/* names.h - what may be called what: DNS names, label keys and values, and their relatives
 *
 * A rule answers with the sentences that Kubernetes clients know; one value may break several
 * parts of a rule, each with a sentence of its own.
 */
#pragma once

#include "base/base.h"

enum name_rule {
    NAME_DNS_LABEL,                /* my-name; 63 bytes */
    NAME_DNS_SUBDOMAIN,            /* example.com; 253 */
    NAME_DNS_SUBDOMAIN_UNDERSCORE, /* _example.com */
    NAME_DNS_1035_LABEL,           /* begins with a letter; 63 */
    NAME_WILDCARD_SUBDOMAIN,       /* *.example.com */
    NAME_DNS_LABEL_PREFIX,         /* as a label, may end in '-' */
    NAME_DNS_SUBDOMAIN_PREFIX,
    NAME_DNS_1035_LABEL_PREFIX,
    NAME_FQDN,            /* two labels or more, may end in '.' */
    NAME_QUALIFIED_HOST,  /* three segments or more */
    NAME_LABEL_KEY,       /* [example.com/]Name_1.x: labels, annotations, finalizers */
    NAME_LABEL_VALUE,     /* "" or Value_1.x; 63 */
    NAME_CONFIG_MAP_KEY,  /* of ConfigMaps and Secrets */
    NAME_ENV_VAR,         /* a C identifier that may hold '-' and '.' */
    NAME_ENV_VAR_RELAXED, /* printable ASCII without '=' */
    NAME_C_IDENTIFIER,
    NAME_DOMAIN_PATH, /* example.com/any/path */
    NAME_DOMAIN_KEY,  /* example.com/key */
    NAME_HTTP_HEADER,
    NAME_PORT_NAME,
    NAME_PORT_NUMBER, /* 1-65535 as text */
    NAME_USER_ID,
    NAME_GROUP_ID,
    NAME_PERCENT,             /* 25% */
    NAME_PATH_SEGMENT,        /* no '/', '%', "." or ".." */
    NAME_PATH_SEGMENT_PREFIX, /* no '/' or '%' */
};

#define NAME_LABEL_MAX 63
#define NAME_SUBDOMAIN_MAX 253

#define NAME_MAX_FAULTS 6

/* What is wrong with one value; n == 0: nothing. The texts are literals. */
struct name_faults {
    size_t n;
    struct {
        const char *part; /* "prefix part ", "name part " or "" */
        const char *text;
    } at[NAME_MAX_FAULTS];
};

struct name_faults name_check(enum name_rule rule, struct str value);
static inline bool name_is(enum name_rule rule, struct str value)
{
    return name_check(rule, value).n == 0;
}
/* The i-th sentence in the arena. */
struct str name_fault(struct arena *a, const struct name_faults *faults, size_t i);
/* The rule by upstream's name for it, such as qualifiedName; false where there is none. */
bool name_rule_find(struct str name, enum name_rule *out);

/* The checks of numbers that the rules above read from text. NULL or the sentence. */
const char *port_fault(int64_t port);
const char *user_id_fault(int64_t id);
