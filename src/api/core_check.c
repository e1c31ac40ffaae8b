/* core_check.c - rules of v1's small kinds: Namespace, Node, Event
 *
 * Source: upstream's validation of core/v1 and events.k8s.io/v1.
 */
#include "api/rules_priv.h"

#include "schema/table.h"
#include "value/ip.h"

#define EVENT_WORD_MAX 128  /* bytes of reason, action, reportingInstance */
#define EVENT_NOTE_MAX 1024 /* bytes */

static struct str text(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

/* ---- namespaces ---- */

void namespace_check(const struct schema_at *at)
{
    static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path list_at = field_child(&spec_at, S("finalizers"));
    struct field_path phase_at = field_child(&status_at, S("phase"));
    const struct json *list = json_path(at->v, "spec", "finalizers", NULL);
    const struct json *phase = json_path(at->v, "status", "phase", NULL);
    bool is_going = json_has(json_path(at->v, "metadata", "deletionTimestamp", NULL));

    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        struct str name = json_str(json_at(list, i));
        if (field_check_name(at->errors, &item, NAME_LABEL_KEY, json_at(list, i)) &&
            str_index(name, '/') == STR_NONE &&
            !str_is_one_of(name, standard, countof(standard)))
            field_invalid(
                at->errors, &item, json_at(list, i),
                "name is neither a standard finalizer name nor is it fully qualified");
    }
    if (!at->old || json_str(phase).len == 0)
        return;
    if (!is_going && !str_eqz(json_str(phase), "Active"))
        field_invalid(at->errors, &phase_at, phase,
                      "may only be 'Active' if `deletionTimestamp` is empty");
    if (is_going && !str_eqz(json_str(phase), "Terminating"))
        field_invalid(at->errors, &phase_at, phase,
                      "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

/* ---- nodes ---- */

/* A key and an effect mark a node once. */
static void check_taints(const struct schema_at *at, const struct field_path *p,
                         const struct json *taints)
{
    MAP(bool) seen = {0};

    json_each (i, taints) {
        const struct json *taint = json_at(taints, i), *value = json_getz(taint, "value");
        struct field_path item = field_item(p, i);
        struct field_path value_at = field_child(&item, S("value"));
        struct str mark =
            str_printf(at->errors->arena, "%.*s:%.*s", STR_ARG(text(taint, "key")),
                       STR_ARG(text(taint, "effect")));
        bool *was = map_put(&seen, mark);
        field_check_name(at->errors, &value_at, NAME_LABEL_VALUE, value);
        if (*was)
            field_duplicate(at->errors, &item, taint);
        *was = true;
    }
    map_fini(&seen);
}

static void check_addresses(const struct schema_at *at, const struct field_path *p,
                            const struct json *list)
{
    MAP(bool) seen = {0};

    json_each (i, list) {
        const struct json *one = json_at(list, i);
        struct field_path item = field_item(p, i);
        bool *was = map_put(&seen, str_printf(at->errors->arena, "%.*s %.*s",
                                              STR_ARG(text(one, "type")),
                                              STR_ARG(text(one, "address"))));
        if (*was)
            field_duplicate(at->errors, &item, one);
        *was = true;
    }
    map_fini(&seen);
}

static void check_cidrs(const struct schema_at *at, const struct field_path *p,
                        const struct json *list)
{
    json_each (i, list) {
        struct field_path item = field_item(p, i);
        struct cidr c;
        if (cidr_parse(json_str(json_at(list, i)), &c, NULL) < 0)
            field_invalid(at->errors, &item, json_at(list, i),
                          "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
    if (json_len(list) > 2)
        field_invalid(at->errors, p, list,
                      "may specify no more than one CIDR for each IP family");
}

void node_check(const struct schema_at *at)
{
    static const char *const lists[] = {"capacity", "allocatable"};
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path taints_at = field_child(&spec_at, S("taints"));
    struct field_path cidrs_at = field_child(&spec_at, S("podCIDRs"));
    struct field_path addresses_at = field_child(&status_at, S("addresses"));

    check_taints(at, &taints_at, json_path(at->v, "spec", "taints", NULL));
    check_cidrs(at, &cidrs_at, json_path(at->v, "spec", "podCIDRs", NULL));
    check_addresses(at, &addresses_at, json_path(at->v, "status", "addresses", NULL));
    for (size_t i = 0; i < countof(lists); i++) {
        struct field_path p = field_child(&status_at, str_from(lists[i]));
        amounts_check(at->errors, &p, json_get(json_getz(at->v, "status"), str_from(lists[i])));
    }
}

/* ---- events ---- */

/* An object of no namespace is told about in `default`. */
static void check_namespace(const struct schema_at *at, const char *about)
{
    struct field_path about_at = field_child(NULL, str_from(about));
    struct field_path p = field_child(&about_at, S("namespace"));
    const struct json *ns = json_getz(json_get(at->v, str_from(about)), "namespace");
    struct str own = text(json_getz(at->v, "metadata"), "namespace");
    struct json shown = json_of_str(json_str(ns));
    bool is_same =
        json_str(ns).len ? str_eq(own, json_str(ns)) : own.len == 0 || str_eqz(own, "default");

    if (!is_same)
        field_invalid(at->errors, &p, &shown, "does not match event.namespace");
}

static void check_word(const struct schema_at *at, const char *name, bool is_needed,
                       size_t most)
{
    struct field_path p = field_child(NULL, str_from(name));
    const struct json none = json_of_z("");
    struct str word = text(at->v, name);

    if (word.len == 0 && is_needed)
        field_required(at->errors, &p, "%s", "");
    else if (word.len > most)
        field_invalid(at->errors, &p, &none, "can have at most %zu characters", most);
}

/* What an event of the newer form says of who tells it. */
static void check_teller(const struct schema_at *at, const char *controller, const char *note)
{
    struct field_path p = field_child(NULL, str_from(controller));
    const struct json *v = json_get(at->v, str_from(controller));

    if (json_str(v).len == 0)
        field_required(at->errors, &p, "%s", "");
    else
        field_check_name(at->errors, &p, NAME_LABEL_KEY, v);
    check_word(at, "reportingInstance", true, EVENT_WORD_MAX);
    check_word(at, "action", true, EVENT_WORD_MAX);
    check_word(at, "reason", true, EVENT_WORD_MAX);
    check_word(at, note, false, EVENT_NOTE_MAX);
}

void event_check(const struct schema_at *at)
{
    check_namespace(at, "involvedObject");
    if (json_has(json_getz(at->v, "eventTime")))
        check_teller(at, "reportingComponent", "message");
}

/* Of events.k8s.io/v1: old fields have no place in a new event. */
void events_event_check(const struct schema_at *at)
{
    static const char *const types[] = {"Normal", "Warning"};
    static const char *const old_fields[] = {"deprecatedFirstTimestamp",
                                             "deprecatedLastTimestamp", "deprecatedCount"};
    struct field_path time_at = field_child(NULL, S("eventTime"));
    struct field_path type_at = field_child(NULL, S("type"));

    check_namespace(at, "regarding");
    if (at->old)
        return;
    check_teller(at, "reportingController", "note");
    if (!json_has(json_getz(at->v, "eventTime")))
        field_required(at->errors, &time_at, "%s", "");
    if (!str_is_one_of(text(at->v, "type"), types, countof(types)))
        field_invalid(at->errors, &type_at, json_getz(at->v, "type"), "has invalid value: %.*s",
                      STR_ARG(text(at->v, "type")));
    for (size_t i = 0; i < countof(old_fields); i++) {
        const struct json *v = json_get(at->v, str_from(old_fields[i]));
        struct field_path p = field_child(NULL, str_from(old_fields[i]));
        if (json_has(v) && json_i64(v, 1) != 0)
            field_invalid(at->errors, &p, v, "needs to be unset");
    }
}
