/* format.c - what `format` demands of a string */
#include "schema/format.h"

#include "base/base64.h"
#include "value/names.h"
#include "value/time.h"

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

    return base64_decode(&a, text, &out);
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

static bool is_uuid(struct str text)
{
    size_t n_digits = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '-')
            continue;
        if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f')))
            return false;
        n_digits++;
    }
    return n_digits == 32;
}

static const struct {
    struct str format;
    bool (*is)(struct str text); /* NULL: known, and anything passes */
} openapi[] = {
    {S_INIT("date-time"),      is_date_time    },
    {S_INIT("datetime"),       is_date_time    },
    {S_INIT("date"),           is_date         },
    {S_INIT("byte"),           is_byte         },
    {S_INIT("duration"),       is_span         },
    {S_INIT("uuid"),           is_uuid         },
    {S_INIT("k8s-short-name"), is_dns_label    },
    {S_INIT("k8s-long-name"),  is_dns_subdomain},
    {S_INIT("password"),       NULL            },
};

bool format_is(struct str format, struct str text)
{
    for (size_t i = 0; i < countof(openapi); i++)
        if (str_eq(openapi[i].format, format))
            return !openapi[i].is || openapi[i].is(text);
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
