/* defaults.c - defaults that depend on other fields
 *
 * Source: jobs reference 1.2 and 2, devices reference 10.2, and what upstream's server answers.
 * A function sees its object as it was given: a missing field that a line of the table fills in
 * is still missing here.
 */
#include "api/rules_priv.h"

#include "base/base64.h"
#include "value/quantity.h"

/* Present and neither null, "", 0, false, [] nor {}: what Go would not call the zero value. */
static bool is_given(const struct json *v)
{
    if (!json_has(v))
        return false;
    switch (v->type) {
    case JSON_BOOL:
        return v->boolean;
    case JSON_INT:
        return v->i != 0;
    case JSON_STRING:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return v->len > 0;
    default:
        return true;
    }
}

static bool has(const struct json *v, struct str name)
{
    return is_given(json_get(v, name));
}

static const struct json *with(struct arena *a, const struct json *v, struct str name,
                               struct json x)
{
    struct json_obj out = obj_from(a, v);

    obj_set(&out, name, x);
    return json_new(a, obj_done(&out));
}

#define withz(a, v, name, x) with((a), (v), S(name), (x))

typedef const struct json *item_fn(struct arena *a, const struct json *item);

/* The object with fn() applied to each object of one of its lists. */
static const struct json *each_item(struct arena *a, const struct json *v, struct str list,
                                    item_fn *fn)
{
    const struct json *items = json_get(v, list);
    struct json *out = NULL;

    json_each (i, items) {
        const struct json *was = &items->items[i];
        const struct json *now = was->type == JSON_OBJECT ? fn(a, was) : was;
        if (now == was)
            continue;
        if (!out) {
            out = arena_raw(a, items->len * sizeof(*out), _Alignof(struct json));
            memcpy(out, items->items, items->len * sizeof(*out));
        }
        out[i] = *now;
    }
    if (!out)
        return v;
    return with(a, v, list, (struct json){.type = JSON_ARRAY, .len = items->len, .items = out});
}

/* `to` with the members of `from` that it lacks. */
static struct json fill(struct arena *a, const struct json *to, const struct json *from)
{
    struct json_obj out = obj_from(a, to);

    json_each_member (m, from) {
        if (!json_get(to, m->name))
            obj_add(&out, m->name, m->value);
    }
    return obj_done(&out);
}

/* ---- pods ---- */

/* Whether the image is pulled each time: without a tag or digest, or tagged latest. */
static bool is_latest(struct str image)
{
    size_t slash = str_rindex(image, '/');
    struct str name = slash == STR_NONE ? image : str_slice(image, slash + 1, image.len);
    struct str digest, tag, base;
    bool has_digest = str_cut(name, '@', &name, &digest);

    if (str_cut(name, ':', &base, &tag))
        return str_eqz(tag, "latest");
    return !has_digest;
}

const struct json *container_defaults(struct arena *a, const struct json *v)
{
    bool latest = is_latest(json_str(json_getz(v, "image")));

    if (has(v, S("imagePullPolicy")))
        return v;
    return withz(a, v, "imagePullPolicy",
                 latest ? json_of_z("Always") : json_of_z("IfNotPresent"));
}

/* A volume that names no source is an empty directory. */
const struct json *volume_defaults(struct arena *a, const struct json *v)
{
    json_each_member (m, v) {
        if (!str_eqz(m->name, "name") && json_has(&m->value))
            return v;
    }
    return withz(a, v, "emptyDir", ((struct json){.type = JSON_OBJECT}));
}

/* The account's old and new name are one; the new one wins. */
const struct json *pod_spec_defaults(struct arena *a, const struct json *v)
{
    const struct json *name = json_getz(v, "serviceAccountName");
    const struct json *old = json_getz(v, "serviceAccount");

    bool is_one = is_given(name) && json_eq(name, old);

    if (!is_given(name))
        name = old;
    if (is_one || !is_given(name))
        return v;
    struct json_obj out = obj_from(a, v);
    obj_setz(&out, "serviceAccountName", *name);
    obj_setz(&out, "serviceAccount", *name);
    return json_new(a, obj_done(&out));
}

static bool lacks_any(const struct json *to, const struct json *from)
{
    json_each_member (m, from)
        if (!json_get(to, m->name))
            return true;
    return false;
}

/* What is limited and not asked for is asked for as limited. */
static const struct json *requests_from_limits(struct arena *a, const struct json *container)
{
    const struct json *resources = json_getz(container, "resources");
    const struct json *limits = json_getz(resources, "limits");

    if (!is_given(limits) || !lacks_any(json_getz(resources, "requests"), limits))
        return container;
    struct json requests = fill(a, json_getz(resources, "requests"), limits);
    return withz(a, container, "resources", *withz(a, resources, "requests", requests));
}

static const struct json *host_port(struct arena *a, const struct json *port)
{
    const struct json *n = json_getz(port, "containerPort");

    return has(port, S("hostPort")) || !n ? port : withz(a, port, "hostPort", *n);
}

static const struct json *host_ports(struct arena *a, const struct json *container)
{
    return each_item(a, container, S("ports"), host_port);
}

/* The sum of what containers ask of one resource; false where none asks. */
static bool containers_ask(struct arena *a, const struct json *spec, struct str resource,
                           struct quantity *sum)
{
    const struct json *containers = json_getz(spec, "containers");
    bool is_asked = false;

    *sum = (struct quantity){0};
    json_each (i, containers) {
        const struct json *v = json_get(
            json_path(json_at(containers, i), "resources", "requests", NULL), resource);
        struct quantity q;
        if (!v || quantity_parse(a, json_str(v), &q, NULL) < 0)
            continue;
        *sum = is_asked ? quantity_add(a, sum, &q) : q;
        is_asked = true;
    }
    return is_asked;
}

/* Of the pod as a whole: what is limited and not asked for is what its containers ask, or else
 * the limit. */
static const struct json *pod_requests(struct arena *a, const struct json *spec)
{
    const struct json *resources = json_getz(spec, "resources");
    const struct json *limits = json_getz(resources, "limits");
    const struct json *requests = json_getz(resources, "requests");

    if (!is_given(limits) || !lacks_any(requests, limits))
        return spec;
    struct json_obj out = obj_from(a, requests);
    json_each_member (m, limits) {
        struct quantity sum;
        if (json_get(requests, m->name))
            continue;
        if (containers_ask(a, spec, m->name, &sum))
            obj_add(&out, m->name, json_of_str(quantity_text(a, &sum)));
        else
            obj_add(&out, m->name, m->value);
    }
    return withz(a, spec, "resources", *withz(a, resources, "requests", obj_done(&out)));
}

/* Of a pod itself: a template of pods gets the last of it alone. */
const struct json *own_spec_defaults(struct arena *a, const struct json *v)
{
    v = each_item(a, v, S("containers"), requests_from_limits);
    v = each_item(a, v, S("initContainers"), requests_from_limits);
    v = pod_requests(a, v);
    if (has(v, S("hostNetwork"))) {
        v = each_item(a, v, S("containers"), host_ports);
        v = each_item(a, v, S("initContainers"), host_ports);
    }
    if (!json_has(json_getz(v, "enableServiceLinks")))
        v = withz(a, v, "enableServiceLinks", json_of_bool(true));
    return pod_spec_defaults(a, v);
}

/* ---- the other kinds of v1 ---- */

const struct json *namespace_defaults(struct arena *a, const struct json *v)
{
    const struct json *meta = json_getz(v, "metadata"), *name = json_getz(meta, "name");
    const struct json *label =
        json_getz(json_getz(meta, "labels"), "kubernetes.io/metadata.name");

    if (!is_given(name) || json_eq(name, label))
        return v;
    return json_with(a, v, *name, "metadata", "labels", "kubernetes.io/metadata.name", NULL);
}

const struct json *node_status_defaults(struct arena *a, const struct json *v)
{
    const struct json *capacity = json_getz(v, "capacity");

    if (!is_given(capacity) || has(v, S("allocatable")))
        return v;
    return withz(a, v, "allocatable", *capacity);
}

/* stringData goes into data, over what is there, and is never kept. */
const struct json *secret_defaults(struct arena *a, const struct json *v)
{
    const struct json *texts = json_getz(v, "stringData");
    struct json_obj data = obj_from(a, json_getz(v, "data"));
    struct json_obj out = obj_from(a, v);

    if (!texts)
        return v;
    json_each_member (m, texts) {
        struct buf b = buf_in(a, 64);
        base64_encode(&b, json_str(&m->value));
        obj_set(&data, m->name, json_of_str(buf_str(&b)));
    }
    obj_del(&out, S("stringData"));
    if (is_given(texts))
        obj_setz(&out, "data", obj_done(&data));
    return json_new(a, obj_done(&out));
}

static const struct json *target_port(struct arena *a, const struct json *port)
{
    const struct json *n = json_getz(port, "port");

    return has(port, S("targetPort")) || !n ? port : withz(a, port, "targetPort", *n);
}

#define CLIENT_IP_SECONDS 10800

const struct json *service_spec_defaults(struct arena *a, const struct json *v)
{
    struct str type = json_str(json_getz(v, "type"));
    bool is_external = str_eqz(type, "ExternalName");
    bool is_balancer = str_eqz(type, "LoadBalancer");
    bool is_outside = is_balancer || str_eqz(type, "NodePort");

    v = each_item(a, v, S("ports"), target_port);
    if (str_eqz(json_str(json_getz(v, "sessionAffinity")), "ClientIP") &&
        !json_has(json_path(v, "sessionAffinityConfig", "clientIP", "timeoutSeconds", NULL)))
        v = json_with(a, v, json_of_i64(CLIENT_IP_SECONDS), "sessionAffinityConfig", "clientIP",
                      "timeoutSeconds", NULL);
    if (is_outside && !has(v, S("externalTrafficPolicy")))
        v = withz(a, v, "externalTrafficPolicy", json_of_z("Cluster"));
    if (!is_external && !has(v, S("internalTrafficPolicy")))
        v = withz(a, v, "internalTrafficPolicy", json_of_z("Cluster"));
    if (is_balancer && !json_has(json_getz(v, "allocateLoadBalancerNodePorts")))
        v = withz(a, v, "allocateLoadBalancerNodePorts", json_of_bool(true));
    return v;
}

/* Of containers: the limit is the maximum, the request is the limit, then the minimum. */
const struct json *limit_range_item_defaults(struct arena *a, const struct json *v)
{
    struct json limit, request;

    if (!str_eqz(json_str(json_getz(v, "type")), "Container"))
        return v;
    limit = fill(a, json_getz(v, "default"), json_getz(v, "max"));
    request = fill(a, json_getz(v, "defaultRequest"), &limit);
    request = fill(a, &request, json_getz(v, "min"));
    if (limit.len)
        v = withz(a, v, "default", limit);
    return request.len ? withz(a, v, "defaultRequest", request) : v;
}

/* ---- other groups ---- */

const struct json *rbac_subject_defaults(struct arena *a, const struct json *v)
{
    struct str kind = json_str(json_getz(v, "kind"));

    if (has(v, S("apiGroup")) || (!str_eqz(kind, "User") && !str_eqz(kind, "Group")))
        return v;
    return withz(a, v, "apiGroup", json_of_z("rbac.authorization.k8s.io"));
}

/* v1's requests and, flat, v1beta1's; one with alternatives has no mode of its own. */
const struct json *device_request_defaults(struct arena *a, const struct json *v)
{
    struct str mode = json_str(json_getz(v, "allocationMode"));

    if (!has(v, S("deviceClassName")))
        return v;
    if (mode.len == 0) {
        mode = S("ExactCount");
        v = withz(a, v, "allocationMode", json_of_str(mode));
    }
    if (str_eqz(mode, "ExactCount") && !has(v, S("count")))
        v = withz(a, v, "count", json_of_i64(1));
    return v;
}

/* Names that follow from the kind's. */
const struct json *crd_defaults(struct arena *a, const struct json *v)
{
    const struct json *was = json_path(v, "spec", "names", NULL), *names = was;
    struct str kind = json_str(json_getz(names, "kind"));

    if (!kind.len)
        return v;
    if (!has(names, S("singular")))
        names = withz(a, names, "singular", json_of_str(str_lower(a, kind)));
    if (!has(names, S("listKind")))
        names =
            withz(a, names, "listKind", json_of_str(str_printf(a, "%.*sList", STR_ARG(kind))));
    return names == was ? v : json_with(a, v, *names, "spec", "names", NULL);
}
