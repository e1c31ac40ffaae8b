/* device_claim_check.c - rules of ResourceClaims, their templates and DeviceClasses
 *
 * Source: devices reference 10.4 to 10.6.
 */
#include "api/rules_priv.h"

#include "api/device_check_priv.h"
#include "api/metadata.h"
#include "api/resource_list.h"
#include "schema/format.h"

#define LIST_MAX 32
#define SUB_MAX 8
#define CONFIG_MAX 64
#define RESERVED_MAX 256

static struct str text(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static bool fits(const struct json *list, size_t most)
{
    return json_len(list) > 0 && json_len(list) <= most;
}

/* ---- requests ---- */

static void check_count(struct field_errors *e, const struct field_path *at,
                        const struct json *request)
{
    struct field_path p = field_child(at, S("count"));
    struct str mode = text(request, "allocationMode");
    const struct json zero = json_of_i64(0), *count = json_getz(request, "count");
    int64_t n = json_i64(count, 0);

    if (str_eqz(mode, "All") && n != 0)
        field_invalid(e, &p, count, "must not be specified when allocationMode is 'All'");
    if (str_eqz(mode, "ExactCount") && n <= 0)
        field_invalid(e, &p, count ? count : &zero, "must be greater than zero");
}

static void check_toleration(struct field_errors *e, const struct field_path *at,
                             const struct json *toleration)
{
    struct field_path key_at = field_child(at, S("key"));
    struct field_path value_at = field_child(at, S("value"));
    const struct json *key = json_getz(toleration, "key");
    const struct json *value = json_getz(toleration, "value");
    struct str operator= text(toleration, "operator");

    if (json_str(key).len)
        field_check_name(e, &key_at, NAME_LABEL_KEY, key);
    if (str_eqz(operator, "Exists") && json_str(value).len)
        field_invalid(e, &value_at, value, "must be empty for operator `Exists`");
    else if (str_eqz(operator, "Equal"))
        field_check_name(e, &value_at, NAME_LABEL_VALUE, value);
}

/* What a request and a sub-request have in common. */
static void check_devices(struct field_errors *e, const struct field_path *at,
                          const struct json *request)
{
    struct field_path class_at = field_child(at, S("deviceClassName"));
    struct field_path selectors_at = field_child(at, S("selectors"));
    struct field_path tolerations_at = field_child(at, S("tolerations"));
    struct field_path capacity_at = field_child(at, S("capacity"));
    struct field_path requests_at = field_child(&capacity_at, S("requests"));
    const struct json *tolerations = json_getz(request, "tolerations");
    const struct json *amounts = json_path(request, "capacity", "requests", NULL);

    if (text(request, "deviceClassName").len)
        field_check_name(e, &class_at, NAME_DNS_SUBDOMAIN,
                         json_getz(request, "deviceClassName"));
    if (fits(json_getz(request, "selectors"), LIST_MAX))
        device_selectors_check(e, &selectors_at, json_getz(request, "selectors"));
    check_count(e, at, request);
    json_each (i, tolerations) {
        struct field_path item = field_item(&tolerations_at, i);
        check_toleration(e, &item, json_at(tolerations, i));
    }
    json_each_member (m, amounts) {
        struct field_path p = field_key(&requests_at, m->name);
        device_name_check(e, &p, m->name, false);
    }
}

static void check_name(struct field_errors *e, const struct field_path *at,
                       const struct json *v)
{
    struct field_path p = field_child(at, S("name"));

    if (text(v, "name").len)
        field_check_name(e, &p, NAME_DNS_LABEL, json_getz(v, "name"));
}

static void check_request(struct field_errors *e, const struct field_path *at,
                          const struct json *request)
{
    static const char *const ways[] = {"exactly", "firstAvailable"};
    struct field_path exactly_at = field_child(at, S("exactly"));
    struct field_path list_at = field_child(at, S("firstAvailable"));
    const struct json *exactly = json_getz(request, "exactly");
    const struct json *list = json_getz(request, "firstAvailable");

    check_name(e, at, request);
    device_one_of_check(e, at, request, ways, countof(ways), "");
    if (json_has(exactly))
        check_devices(e, &exactly_at, exactly);
    if (!fits(list, SUB_MAX))
        return;
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        check_name(e, &item, json_at(list, i));
        check_devices(e, &item, json_at(list, i));
    }
    field_check_differ(e, &list_at, list, "name");
}

/* ---- references to requests ---- */

static const struct json *find_named(const struct json *list, struct str name)
{
    json_each (i, list)
        if (str_eq(text(json_at(list, i), "name"), name))
            return json_at(list, i);
    return NULL;
}

/* MAIN, or MAIN/SUB where the request has sub-requests. */
static bool is_request(const struct json *requests, struct str name)
{
    struct str main = name, sub = {0};
    bool has_sub = str_cut(name, '/', &main, &sub);
    const struct json *request = find_named(requests, has_sub ? main : name);

    return request && (!has_sub || find_named(json_getz(request, "firstAvailable"), sub));
}

static void check_references(struct field_errors *e, const struct field_path *at,
                             const struct json *holder, const struct json *requests)
{
    struct field_path list_at = field_child(at, S("requests"));
    const struct json *list = json_getz(holder, "requests");
    MAP(bool) seen = {0};

    for (size_t i = 0; fits(list, LIST_MAX * (SUB_MAX + 1)) && i < list->len; i++) {
        struct field_path p = field_item(&list_at, i);
        const struct json *name = json_at(list, i);
        bool *was = map_put(&seen, json_str(name));
        if (!is_request(requests, json_str(name)))
            field_invalid(e, &p, name,
                          "must be the name of a request in the claim or the name of a request "
                          "and a subrequest separated by '/'");
        if (*was)
            field_duplicate(e, &p, name);
        *was = true;
    }
    map_fini(&seen);
}

static void check_constraint(struct field_errors *e, const struct field_path *at,
                             const struct json *constraint, const struct json *requests)
{
    static const char *const ways[] = {"matchAttribute", "distinctAttribute"};

    check_references(e, at, constraint, requests);
    if (device_one_of_check(e, at, constraint, ways, countof(ways), "") != 1)
        return;
    for (size_t i = 0; i < countof(ways); i++) {
        struct field_path p = field_child(at, str_from(ways[i]));
        const struct json *v = json_get(constraint, str_from(ways[i]));
        if (json_has(v))
            device_name_check(e, &p, json_str(v), true);
    }
}

static void check_claim(struct field_errors *e, const struct field_path *spec_at,
                        const struct json *spec)
{
    struct field_path at = field_child(spec_at, S("devices"));
    struct field_path requests_at = field_child(&at, S("requests"));
    struct field_path constraints_at = field_child(&at, S("constraints"));
    struct field_path config_at = field_child(&at, S("config"));
    const struct json *devices = json_getz(spec, "devices");
    const struct json *requests = json_getz(devices, "requests");
    const struct json *constraints = json_getz(devices, "constraints");
    const struct json *config = json_getz(devices, "config");

    for (size_t i = 0; fits(requests, LIST_MAX) && i < requests->len; i++) {
        struct field_path item = field_item(&requests_at, i);
        check_request(e, &item, json_at(requests, i));
    }
    if (fits(requests, LIST_MAX))
        field_check_differ(e, &requests_at, requests, "name");
    for (size_t i = 0; fits(constraints, LIST_MAX) && i < constraints->len; i++) {
        struct field_path item = field_item(&constraints_at, i);
        check_constraint(e, &item, json_at(constraints, i), requests);
    }
    for (size_t i = 0; fits(config, LIST_MAX) && i < config->len; i++) {
        struct field_path item = field_item(&config_at, i);
        check_references(e, &item, json_at(config, i), requests);
        device_config_check(e, &item, json_at(config, i));
    }
}

/* ---- status ---- */

static void check_result(struct field_errors *e, const struct field_path *at,
                         const struct json *result, const struct json *requests)
{
    struct field_path request_at = field_child(at, S("request"));
    struct field_path driver_at = field_child(at, S("driver"));
    struct field_path pool_at = field_child(at, S("pool"));
    struct field_path device_at = field_child(at, S("device"));
    struct field_path share_at = field_child(at, S("shareID"));
    const struct json *request = json_getz(result, "request");
    const struct json *share = json_getz(result, "shareID");

    if (json_str(request).len && !is_request(requests, json_str(request)))
        field_invalid(e, &request_at, request,
                      "must be the name of a request in the claim or the name of a request and "
                      "a subrequest separated by '/'");
    device_driver_check(e, &driver_at, json_getz(result, "driver"));
    device_pool_check(e, &pool_at, json_getz(result, "pool"));
    if (text(result, "device").len)
        field_check_name(e, &device_at, NAME_DNS_LABEL, json_getz(result, "device"));
    if (json_has(share) && !format_is(S("uuid"), json_str(share)))
        field_invalid(e, &share_at, share,
                      "must be a lowercase UUID in RFC 4122 form (8-4-4-4-12)");
}

static void check_allocation(struct field_errors *e, const struct field_path *at,
                             const struct json *allocation, const struct json *requests)
{
    struct field_path devices_at = field_child(at, S("devices"));
    struct field_path results_at = field_child(&devices_at, S("results"));
    struct field_path config_at = field_child(&devices_at, S("config"));
    const struct json *results = json_path(allocation, "devices", "results", NULL);
    const struct json *config = json_path(allocation, "devices", "config", NULL);

    for (size_t i = 0; fits(results, LIST_MAX) && i < results->len; i++) {
        struct field_path item = field_item(&results_at, i);
        check_result(e, &item, json_at(results, i), requests);
    }
    for (size_t i = 0; fits(config, CONFIG_MAX) && i < config->len; i++) {
        struct field_path item = field_item(&config_at, i);
        check_references(e, &item, json_at(config, i), requests);
        device_config_check(e, &item, json_at(config, i));
    }
}

static bool is_reserved(const struct json *list, struct str uid)
{
    json_each (i, list)
        if (str_eq(text(json_at(list, i), "uid"), uid))
            return true;
    return false;
}

static void check_reserved(const struct schema_at *at, const struct field_path *status_at,
                           const struct json *status, const struct json *old)
{
    struct field_path p = field_child(status_at, S("reservedFor"));
    const struct json *list = json_getz(status, "reservedFor");
    const struct json *was = json_getz(old, "reservedFor");
    bool is_going = json_has(json_path(at->v, "metadata", "deletionTimestamp", NULL));
    bool is_new = false;

    if (!fits(list, RESERVED_MAX))
        return;
    field_check_differ(at->errors, &p, list, "uid");
    if (!json_has(json_getz(status, "allocation")))
        field_forbidden(at->errors, &p, "may not be specified when `allocated` is not set");
    for (size_t i = 0; is_going && i < list->len; i++)
        is_new |= !is_reserved(was, text(json_at(list, i), "uid"));
    if (is_new)
        field_forbidden(at->errors, &p,
                        "new entries may not be added while `deallocationRequested` or "
                        "`deletionTimestamp` are set");
}

static bool is_same_device(const struct json *x, const struct json *y)
{
    static const char *const names[] = {"driver", "pool", "device", "shareID"};

    for (size_t i = 0; i < countof(names); i++)
        if (!str_eq(text(x, names[i]), text(y, names[i])))
            return false;
    return true;
}

static void check_network(struct field_errors *e, const struct field_path *at,
                          const struct json *network)
{
    struct field_path ips_at = field_child(at, S("ips"));
    const struct json *ips = json_getz(network, "ips");

    for (size_t i = 0; i < MIN(json_len(ips), (size_t)LIST_MAX); i++) {
        struct field_path p = field_item(&ips_at, i);
        const struct json *v = json_at(ips, i);
        struct cidr c;
        if (cidr_parse(json_str(v), &c, NULL) < 0)
            field_invalid(e, &p, v,
                          "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
                          "2001:db8::1/64)");
        else if (!str_eq(cidr_text(e->arena, &c), json_str(v)))
            field_invalid(e, &p, v, "must be in canonical form (\"%.*s\")",
                          STR_ARG(cidr_text(e->arena, &c)));
        for (size_t k = 0; k < i; k++)
            if (json_eq(json_at(ips, k), v)) {
                field_duplicate(e, &p, v);
                break;
            }
    }
}

/* What drivers say is of allocated devices, each once. */
static void check_device_status(struct field_errors *e, const struct field_path *status_at,
                                const struct json *status)
{
    struct field_path list_at = field_child(status_at, S("devices"));
    const struct json *list = json_getz(status, "devices");
    const struct json *results = json_path(status, "allocation", "devices", "results", NULL);

    json_each (i, list) {
        const struct json *one = json_at(list, i);
        struct field_path item = field_item(&list_at, i);
        struct field_path conditions_at = field_child(&item, S("conditions"));
        struct field_path data_at = field_child(&item, S("data"));
        struct field_path network_at = field_child(&item, S("networkData"));
        bool is_known = false;
        for (size_t k = 0; k < i && k < LIST_MAX; k++)
            if (is_same_device(json_at(list, k), one)) {
                field_duplicate(e, &item, one);
                break;
            }
        for (size_t k = 0; k < MIN(json_len(results), (size_t)LIST_MAX); k++)
            is_known |= is_same_device(json_at(results, k), one);
        if (!is_known)
            field_invalid(e, &item, one, "must be an allocated device in the claim");
        conditions_check(e, &conditions_at, json_getz(one, "conditions"), NULL);
        if (json_has(json_getz(one, "data")))
            device_raw_check(e, &data_at, json_getz(one, "data"));
        check_network(e, &network_at, json_getz(one, "networkData"));
    }
}

static void check_status(const struct schema_at *at)
{
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path p = field_child(&status_at, S("allocation"));
    const struct json *status = json_getz(at->v, "status"), *old = json_getz(at->old, "status");
    const struct json *now = json_getz(status, "allocation");
    const struct json *was = json_getz(old, "allocation");

    if (json_has(now) && json_has(was) && !json_eq(now, was))
        field_invalid(at->errors, &p, now, "field is immutable");
    else if (json_has(now) && !json_has(was))
        check_allocation(at->errors, &p, now,
                         json_path(at->v, "spec", "devices", "requests", NULL));
    check_reserved(at, &status_at, status, old);
    check_device_status(at->errors, &status_at, status);
}

/* ---- by the names that the tables use ---- */

void dra_resource_claim_check(const struct schema_at *at)
{
    struct field_path spec_at = field_child(NULL, S("spec"));

    if (at->old)
        check_status(at); /* the spec is fixed */
    else
        check_claim(at->errors, &spec_at, json_getz(at->v, "spec"));
}

void dra_resource_claim_template_check(const struct schema_at *at)
{
    static const char *const free_fields[] = {"labels", "annotations"};
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path claim_at = field_child(&spec_at, S("spec"));
    struct field_path meta_at = field_child(&spec_at, S("metadata"));
    struct field_path notes_at = field_child(&meta_at, S("annotations"));
    struct field_path labels_at = field_child(&meta_at, S("labels"));
    const struct json *meta = json_path(at->v, "spec", "metadata", NULL);

    if (at->old)
        return;
    labels_check(at->errors, &labels_at, json_getz(meta, "labels"));
    annotations_check(at->errors, &notes_at, json_getz(meta, "annotations"));
    json_each_member (m, meta) {
        struct field_path p = field_child(&meta_at, m->name);
        if (json_has(&m->value) && !str_is_one_of(m->name, free_fields, countof(free_fields)) &&
            !str_eqz(m->name, "creationTimestamp"))
            field_invalid(at->errors, &p, &m->value, "only labels and annotations may be set");
    }
    check_claim(at->errors, &claim_at, json_path(at->v, "spec", "spec", NULL));
}

static void check_extended_name(struct field_errors *e, const struct field_path *p,
                                const struct json *v)
{
    struct str name = json_str(v);

    if (!json_has(v))
        return;
    if (!field_check_name(e, p, NAME_LABEL_KEY, v))
        return;
    if (!resource_is_extended(name) || str_starts(name, S("requests.")))
        field_invalid(e, p, v, "must be a valid extended resource name");
}

void dra_device_class_check(const struct schema_at *at)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path selectors_at = field_child(&spec_at, S("selectors"));
    struct field_path config_at = field_child(&spec_at, S("config"));
    struct field_path name_at = field_child(&spec_at, S("extendedResourceName"));
    const struct json *spec = json_getz(at->v, "spec"), *old = json_getz(at->old, "spec");
    const struct json *selectors = json_getz(spec, "selectors");
    const struct json *config = json_getz(spec, "config");
    const struct json *was = json_getz(old, "selectors");

    if (fits(selectors, LIST_MAX) && !(was && json_eq(selectors, was)))
        device_selectors_check(at->errors, &selectors_at, selectors);
    for (size_t i = 0; fits(config, LIST_MAX) && i < config->len; i++) {
        struct field_path item = field_item(&config_at, i);
        device_config_check(at->errors, &item, json_at(config, i));
    }
    check_extended_name(at->errors, &name_at, json_getz(spec, "extendedResourceName"));
}
