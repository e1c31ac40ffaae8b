/* kueue_check_gates.c - webhook rules of the annotation that holds jobs and Workloads back */
#include "api/kueue_check_priv.h"

#define GATE_NAME_MAX 63

static const struct json *text_value(struct field_errors *e, struct str s)
{
    return json_new(e->arena, json_of_str(s));
}

void kueue_check_name(struct field_errors *e, const struct field_path *at, enum name_rule rule,
                      struct str value)
{
    struct json v = json_of_str(value);

    field_check_name(e, at, rule, &v);
}

static bool is_gate_path(struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        char ch = path.at[i];
        bool is_alnum =
            (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
        if (!is_alnum && !(ch && strchr("/-._~%!$&'()*+,;=:", ch)))
            return false;
    }
    return path.len > 0;
}

static void check_gate_name(struct field_errors *e, const struct field_path *at,
                            struct str name)
{
    struct str host, path;

    if (!str_cut(name, '/', &host, &path) || !host.len || !path.len) {
        field_invalid(e, at, text_value(e, name),
                      "must be a domain-prefixed path (such as \"acme.io/foo\")");
    } else {
        kueue_check_name(e, at, NAME_DNS_SUBDOMAIN, host);
        if (!is_gate_path(path))
            field_invalid(e, at, text_value(e, path), "Invalid path");
    }
    if (name.len > GATE_NAME_MAX)
        field_too_long(e, at, NULL, GATE_NAME_MAX);
}

/* Splits at commas into trimmed names. */
static struct str next_gate(struct str *rest)
{
    struct str head;

    str_cut(*rest, ',', &head, rest);
    return str_trim(head);
}

static bool has_gate(struct str all, struct str name)
{
    while (all.len) {
        if (str_eq(next_gate(&all), name))
            return true;
    }
    return false;
}

void kueue_check_gated_by(struct field_errors *e, const struct field_path *at, struct str gates)
{
    struct str rest = gates;
    bool has_more = gates.len > 0;

    while (has_more) {
        size_t done = gates.len - rest.len;
        has_more = str_index(rest, ',') != STR_NONE;
        struct str name = next_gate(&rest);
        if (!name.len)
            field_invalid(e, at, text_value(e, gates), "gate names must not be empty");
        else if (has_gate(str_slice(gates, 0, done), name))
            field_invalid(e, at, text_value(e, gates), "gate '%.*s' stands there twice",
                          STR_ARG(name));
        else
            check_gate_name(e, at, name);
    }
}

void kueue_check_gates_added(struct field_errors *e, const struct field_path *at,
                             struct str was, struct str now)
{
    if (!now.len)
        return;
    if (!was.len) {
        field_forbidden(e, at, "may not be added after creation");
        return;
    }
    while (now.len) {
        if (!has_gate(was, next_gate(&now))) {
            field_forbidden(e, at, "gates may not be added after creation");
            return;
        }
    }
}
