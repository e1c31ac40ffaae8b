/* cells_object.c - cells of what does not run: events, data, services, storage, quotas, rights,
 * devices, policies
 *
 * Source: API server reference, tables.
 */
#include "api/rules_priv.h"

#include "value/selector.h"
#include "value/time.h"

static bool is_deleting(const struct json *object)
{
    return json_has(json_path(object, "metadata", "deletionTimestamp", NULL));
}

/* Texts one after another; the separator stands between them. */
static void add(struct buf *b, const char *separator, struct str s)
{
    buf_printf(b, "%s%.*s", b->len ? separator : "", STR_ARG(s));
}

/* ---- events, of both groups ---- */

static struct str first_of(struct str one, struct str other)
{
    return one.len ? one : other;
}

static struct str age_of(struct arena *a, const struct json *o, const char *name,
                         const char *newer_name, struct instant now)
{
    struct str text = first_of(json_str(json_get(o, str_from(name))),
                               json_str(json_get(o, str_from(newer_name))));
    struct instant t = {0};

    if (text.len)
        time_parse(text, &t, NULL);
    return instant_is_set(t) ? age_since(a, t, now) : S("");
}

static struct str event_first_seen(struct arena *a, const struct json *o, struct instant now)
{
    struct str age = age_of(a, o, "firstTimestamp", "deprecatedFirstTimestamp", now);

    if (!age.len)
        age = age_of(a, o, "eventTime", "eventTime", now);
    return age.len ? age : S("<unknown>");
}

struct json cell_event_first_seen(struct arena *a, const struct json *o, struct instant now)
{
    return json_of_str(event_first_seen(a, o, now));
}

struct json cell_event_last_seen(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *series = json_getz(o, "series");
    struct str age = age_of(a, series, "lastObservedTime", "lastObservedTime", now);

    if (!age.len)
        age = age_of(a, o, "lastTimestamp", "deprecatedLastTimestamp", now);
    return json_of_str(age.len ? age : event_first_seen(a, o, now));
}

struct json cell_event_object(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *v = json_getz(o, "involvedObject");

    (void)now;
    if (!v)
        v = json_getz(o, "regarding");
    struct str kind = str_lower(a, json_str(json_getz(v, "kind")));
    struct str name = json_str(json_getz(v, "name"));
    if (!name.len)
        return json_of_str(kind);
    return json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name)));
}

struct json cell_event_source(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *source = json_getz(o, "source");

    (void)now;
    if (!source)
        source = json_getz(o, "deprecatedSource");
    struct str who = first_of(json_str(json_getz(source, "component")),
                              first_of(json_str(json_getz(o, "reportingComponent")),
                                       json_str(json_getz(o, "reportingController"))));
    struct str where = first_of(json_str(json_getz(source, "host")),
                                json_str(json_getz(o, "reportingInstance")));
    if (!where.len)
        return json_of_str(who);
    return json_of_str(str_printf(a, "%.*s, %.*s", STR_ARG(who), STR_ARG(where)));
}

struct json cell_event_message(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_str(
        str_trim(first_of(json_str(json_getz(o, "message")), json_str(json_getz(o, "note")))));
}

struct json cell_event_count(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *series = json_getz(o, "series");
    int64_t n = json_i64(json_getz(o, "count"), json_i64(json_getz(o, "deprecatedCount"), 0));

    (void)a, (void)now;
    if (json_has(series))
        return json_of_i64(json_i64(json_getz(series, "count"), 0));
    return json_of_i64(n ? n : 1);
}

/* ---- data ---- */

struct json cell_config_map_data(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_i64(
        (int64_t)(json_len(json_getz(o, "data")) + json_len(json_getz(o, "binaryData"))));
}

struct json cell_secret_data(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_i64((int64_t)json_len(json_getz(o, "data")));
}

/* ---- services ---- */

struct json cell_service_cluster_ip(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *first = json_at(json_path(o, "spec", "clusterIPs", NULL), 0);
    struct str ip =
        first_of(json_str(first), json_str(json_path(o, "spec", "clusterIP", NULL)));

    (void)a, (void)now;
    return json_of_str(ip.len ? ip : S("<none>"));
}

struct json cell_service_external_ip(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *external = json_path(o, "spec", "externalIPs", NULL);
    const struct json *ingress = json_path(o, "status", "loadBalancer", "ingress", NULL);
    struct str type = json_str(json_path(o, "spec", "type", NULL));
    bool is_balancer = str_eqz(type, "LoadBalancer");
    struct buf b = buf_in(a, 64);

    (void)now;
    if (str_eqz(type, "ExternalName"))
        return json_of_str(json_str(json_path(o, "spec", "externalName", NULL)));
    for (size_t i = 0; is_balancer && i < json_len(ingress); i++) {
        const struct json *v = json_at(ingress, i);
        add(&b, ",",
            first_of(json_str(json_getz(v, "ip")), json_str(json_getz(v, "hostname"))));
    }
    json_each (i, external)
        add(&b, ",", json_str(json_at(external, i)));
    if (!b.len)
        return is_balancer ? json_of_z("<pending>") : json_of_z("<none>");
    return json_of_str(buf_str(&b));
}

struct json cell_service_ports(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *ports = json_path(o, "spec", "ports", NULL);
    struct buf b = buf_in(a, 64);

    (void)now;
    json_each (i, ports) {
        const struct json *v = json_at(ports, i);
        int64_t node = json_i64(json_getz(v, "nodePort"), 0);
        buf_printf(&b, "%s%" PRId64, b.len ? "," : "", json_i64(json_getz(v, "port"), 0));
        if (node)
            buf_printf(&b, ":%" PRId64, node);
        buf_printf(&b, "/%.*s", STR_ARG(json_str(json_getz(v, "protocol"))));
    }
    return json_of_str(b.len ? buf_str(&b) : S("<none>"));
}

struct json cell_service_selector(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return labels_cell(a, json_path(o, "spec", "selector", NULL));
}

/* ---- storage ---- */

static bool is_bound(const struct json *claim)
{
    return json_str(json_path(claim, "spec", "volumeName", NULL)).len > 0;
}

struct json cell_pvc_status(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    if (is_deleting(o))
        return json_of_z("Terminating");
    return json_of_str(json_str(json_path(o, "status", "phase", NULL)));
}

struct json cell_pvc_capacity(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_str(
        is_bound(o) ? json_str(json_path(o, "status", "capacity", "storage", NULL)) : S(""));
}

struct json cell_pvc_access_modes(struct arena *a, const struct json *o, struct instant now)
{
    static const struct {
        const char *mode, *shown;
    } modes[] = {
        {"ReadWriteOnce",    "RWO" },
        {"ReadOnlyMany",     "ROX" },
        {"ReadWriteMany",    "RWX" },
        {"ReadWriteOncePod", "RWOP"},
    };
    const struct json *list = json_path(o, "status", "accessModes", NULL);
    struct buf b = buf_in(a, 32);

    (void)now;
    for (size_t i = 0; is_bound(o) && i < countof(modes); i++) {
        bool has_it = false;
        json_each (k, list)
            has_it |= str_eqz(json_str(json_at(list, k)), modes[i].mode);
        if (has_it)
            add(&b, ",", str_from(modes[i].shown));
    }
    return json_of_str(buf_str(&b));
}

struct json cell_pvc_storage_class(struct arena *a, const struct json *o, struct instant now)
{
    struct str old = json_str(json_path(o, "metadata", "annotations",
                                        "volume.beta.kubernetes.io/storage-class", NULL));

    (void)a, (void)now;
    return json_of_str(first_of(old, json_str(json_path(o, "spec", "storageClassName", NULL))));
}

static struct json or_unset(const struct json *v)
{
    return json_has(v) ? *v : json_of_z("<unset>");
}

struct json cell_pvc_attributes_class(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return or_unset(json_path(o, "spec", "volumeAttributesClassName", NULL));
}

struct json cell_pvc_volume_mode(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return or_unset(json_path(o, "spec", "volumeMode", NULL));
}

/* ---- quotas ---- */

/* `NAME: USED/HARD` of limits, or of all else, by name. */
static struct json quota_cell(struct arena *a, const struct json *o, bool of_limits)
{
    const struct json *hard = json_path(o, "status", "hard", NULL);
    const struct json *used = json_path(o, "status", "used", NULL);
    VEC(struct str) names = {0};
    struct buf b = buf_in(a, 128);

    json_each_member (m, hard) {
        size_t at = names.len;
        if (str_starts(m->name, S("limits.")) != of_limits)
            continue;
        vec_push_in(a, &names, m->name);
        for (; at && str_cmp(names.at[at - 1], m->name) > 0; at--)
            names.at[at] = names.at[at - 1];
        names.at[at] = m->name;
    }
    vec_each (i, &names) {
        struct str now_used = json_str(json_get(used, names.at[i]));
        add(&b, ", ",
            str_printf(a, "%.*s: %.*s/%.*s", STR_ARG(names.at[i]),
                       STR_ARG(first_of(now_used, S("0"))),
                       STR_ARG(json_str(json_get(hard, names.at[i])))));
    }
    return json_of_str(buf_str(&b));
}

struct json cell_resource_quota_request(struct arena *a, const struct json *o,
                                        struct instant now)
{
    (void)now;
    return quota_cell(a, o, false);
}

struct json cell_resource_quota_limit(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return quota_cell(a, o, true);
}

/* ---- rights ---- */

struct json cell_binding_role(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *role = json_getz(o, "roleRef");

    (void)now;
    return json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(json_str(json_getz(role, "kind"))),
                                  STR_ARG(json_str(json_getz(role, "name")))));
}

static struct json subjects(struct arena *a, const struct json *o, const char *kind)
{
    const struct json *list = json_getz(o, "subjects");
    struct buf b = buf_in(a, 64);

    json_each (i, list) {
        const struct json *v = json_at(list, i);
        struct str name = json_str(json_getz(v, "name"));
        struct str namespace = json_str(json_getz(v, "namespace"));
        if (!str_eqz(json_str(json_getz(v, "kind")), kind))
            continue;
        if (namespace.len)
            name = str_printf(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
        add(&b, ", ", name);
    }
    return json_of_str(buf_str(&b));
}

struct json cell_binding_users(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return subjects(a, o, "User");
}

struct json cell_binding_groups(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return subjects(a, o, "Group");
}

struct json cell_binding_service_accounts(struct arena *a, const struct json *o,
                                          struct instant now)
{
    (void)now;
    return subjects(a, o, "ServiceAccount");
}

/* ---- devices ---- */

struct json cell_resource_claim_state(struct arena *a, const struct json *o, struct instant now)
{
    bool is_allocated = json_has(json_path(o, "status", "allocation", NULL));
    struct buf b = buf_in(a, 32);

    (void)now;
    if (is_deleting(o))
        add(&b, ",", S("deleted"));
    else if (!is_allocated)
        add(&b, ",", S("pending"));
    if (is_allocated)
        add(&b, ",", S("allocated"));
    if (is_allocated && json_len(json_path(o, "status", "reservedFor", NULL)))
        add(&b, ",", S("reserved"));
    return json_of_str(buf_str(&b));
}

/* ---- policies ---- */

struct json cell_policy_validations(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_i64((int64_t)json_len(json_path(o, "spec", "validations", NULL)));
}

struct json cell_policy_param_kind(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *kind = json_path(o, "spec", "paramKind", NULL);

    (void)now;
    if (!json_has(kind))
        return json_of_z("<unset>");
    return json_of_str(str_printf(a, "%.*s/%.*s",
                                  STR_ARG(json_str(json_getz(kind, "apiVersion"))),
                                  STR_ARG(json_str(json_getz(kind, "kind")))));
}

struct json cell_policy_param_ref(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *ref = json_path(o, "spec", "paramRef", NULL);
    struct str namespace = json_str(json_getz(ref, "namespace"));
    struct str name = json_str(json_getz(ref, "name"));
    struct selector s;

    (void)now;
    if (!json_has(ref))
        return json_of_z("<unset>");
    if (!name.len && selector_of_json(a, json_getz(ref, "selector"), &s, NULL) == 0)
        name = selector_text(a, &s);
    if (!namespace.len)
        return json_of_str(name);
    return json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name)));
}
