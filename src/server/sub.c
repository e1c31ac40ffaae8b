/* sub.c - scale, binding, eviction, finalize: writes of a part by a small body of its own */
#include "server/write_priv.h"

#include "io/io.h"
#include "value/time.h"

static bool load_or_fail(struct request *r)
{
    if (load_current(r))
        return true;
    fail_not_found(r);
    request_fini(r);
    return false;
}

/* ---- scale ---- */

/* The value at ".spec.replicas", by names. */
static const struct json *at_path(const struct json *v, struct str path)
{
    struct str part;

    if (path.len && path.at[0] == '.')
        path = str_slice(path, 1, path.len);
    while (path.len) {
        str_cut(path, '.', &part, &path);
        v = json_get(v, part);
    }
    return v;
}

static const struct json *with_path(struct arena *a, const struct json *v, struct str path,
                                    struct json x)
{
    struct str head, tail;

    if (path.len && path.at[0] == '.')
        path = str_slice(path, 1, path.len);
    str_cut(path, '.', &head, &tail);
    struct json_obj o = obj_from(a, v);
    obj_set(&o, head, tail.len ? *with_path(a, json_get(v, head), tail, x) : x);
    return json_new(a, obj_done(&o));
}

static const struct json *scale_of(struct request *r, const struct json *tree)
{
    static const struct str kept[] = {S_INIT("name"), S_INIT("namespace"), S_INIT("uid"),
                                      S_INIT("resourceVersion"), S_INIT("creationTimestamp")};
    const struct kind_scale *scale = r->kind->scale;
    struct arena *a = r->arena;
    struct json_obj o = obj_in(a), m = obj_in(a), spec = obj_in(a), status = obj_in(a);

    for (size_t i = 0; i < countof(kept); i++) {
        const struct json *v = meta_get(tree, kept[i]);
        if (v)
            obj_add(&m, kept[i], *v);
    }
    const struct json *replicas = at_path(tree, scale->spec_path);
    if (json_i64(replicas, 0))
        obj_setz(&spec, "replicas", *replicas);
    obj_setz(&status, "replicas", json_of_i64(json_i64(at_path(tree, scale->status_path), 0)));
    const struct json *selector =
        scale->selector_path.len ? at_path(tree, scale->selector_path) : NULL;
    if (json_str(selector).len)
        obj_setz(&status, "selector", *selector);
    obj_setz(&o, "kind", json_of_z("Scale"));
    obj_setz(&o, "apiVersion", json_of_z("autoscaling/v1"));
    obj_setz(&o, "metadata", obj_done(&m));
    obj_setz(&o, "spec", obj_done(&spec));
    obj_setz(&o, "status", obj_done(&status));
    return json_new(a, obj_done(&o));
}

void scale_get(struct request *r)
{
    if (!load_or_fail(r))
        return;
    r->reply->tree(r, 200, scale_of(r, current_tree(r)));
    request_fini(r);
}

/* The parent's answer becomes a Scale again. */
static void scale_answer(struct request *inner, int code, struct object *o)
{
    struct request *r = inner->ctx;

    r->reply->tree(r, code,
                   scale_of(r, tree_as_kind(r->arena, object_tree(o, r->arena),
                                            object_key(o).kind, r->kind)));
    request_fini(r);
}

static void scale_fail(struct request *inner, const struct json *status, const struct err *err)
{
    struct request *r = inner->ctx;

    r->reply->fail(r, json_copy(r->arena, status), err);
    request_fini(r);
}

static const struct reply scale_reply = {.object = scale_answer, .fail = scale_fail};

static void scale_put(struct request *r, const struct json *scale)
{
    const struct json *replicas = json_path(scale, "spec", "replicas", NULL);
    struct request *inner;

    if (json_i64(replicas, 0) < 0 || (json_has(replicas) && replicas->type != JSON_INT)) {
        struct field_errors errors = field_errors_in(r->arena);
        struct field_path spec = field_child(NULL, S("spec"));
        struct field_path at = field_child(&spec, S("replicas"));
        field_invalid(&errors, &at, replicas, "must be greater than or equal to 0");
        fail_invalid(r, r->name, &errors);
        request_fini(r);
        return;
    }
    const struct json *old = current_tree(r);
    inner = request_new(r->server, &scale_reply);
    inner->ctx = r;
    inner->user = r->user;
    inner->verb = VERB_UPDATE;
    inner->kind = r->kind;
    inner->ns = r->ns;
    inner->name = r->name;
    inner->options = r->options;
    inner->body =
        with_path(r->arena, old, r->kind->scale->spec_path, json_of_i64(json_i64(replicas, 0)));
    request_run(inner);
}

void scale_update(struct request *r)
{
    if (!load_or_fail(r))
        return;
    if (check_preconditions(r, r->body) < 0) {
        request_fini(r);
        return;
    }
    scale_put(r, r->body);
}

void scale_patch(struct request *r)
{
    struct err err = {0};

    if (!load_or_fail(r))
        return;
    const struct json *tree = patch_tree(r, scale_of(r, current_tree(r)), &err);
    if (!tree) {
        fail_err(r, &err);
        request_fini(r);
        return;
    }
    if (check_preconditions(r, tree) < 0) {
        request_fini(r);
        return;
    }
    scale_put(r, tree);
}

/* ---- binding and eviction ---- */

/* The inner write's answer is a Status Success. */
static void status_answer(struct request *inner, int code, struct object *o)
{
    struct request *r = inner->ctx;

    (void)code, (void)o;
    const struct json *status = success_of(r, (struct status_subject){0}, str_of(NULL, 0));
    status = json_without(r->arena, status, "details", NULL);
    r->reply->tree(r, 201, json_with(r->arena, status, json_of_i64(201), "code", NULL));
    request_fini(r);
}

static void status_tree(struct request *inner, int code, const struct json *tree)
{
    (void)tree;
    status_answer(inner, code, NULL);
}

static const struct reply status_reply = {
    .object = status_answer, .tree = status_tree, .fail = scale_fail};

static struct request *inner_of(struct request *r, enum verb verb)
{
    struct request *inner = request_new(r->server, &status_reply);

    inner->ctx = r;
    inner->user = r->user;
    inner->verb = verb;
    inner->kind = r->kind;
    inner->ns = r->ns;
    inner->name = r->name;
    inner->options.dry_run = r->options.dry_run;
    inner->options.field_manager = r->options.field_manager;
    return inner;
}

static void fail_binding(struct request *r, const char *why)
{
    /* Upstream names the subresource as the kind. */
    struct status_subject about = {.resource = S("pods/binding"), .name = r->name};
    struct api_error e = api_error_conflict(r->arena, about, str_from(why));

    fail_api(r, &e);
    request_fini(r);
}

void binding_create(struct request *r)
{
    struct arena *a = r->arena;
    /* The inner write may outlive a body that is lent. */
    struct str node = str_copy(a, json_str(json_path(r->body, "target", "name", NULL)));

    if (!node.len) {
        struct field_errors errors = field_errors_in(a);
        struct field_path target = field_child(NULL, S("target"));
        struct field_path at = field_child(&target, S("name"));
        field_required(&errors, &at, " ");
        fail_invalid(r, r->name, &errors);
        request_fini(r);
        return;
    }
    if (!load_or_fail(r))
        return;
    const struct json *old = current_tree(r);
    if (json_has(meta_get(old, S("deletionTimestamp")))) {
        fail_binding(r, "pod is being deleted, cannot be assigned to a host");
        return;
    }
    if (json_str(json_path(old, "spec", "nodeName", NULL)).len) {
        fail_binding(r, "pod is already assigned to node");
        return;
    }
    if (json_len(json_path(old, "spec", "schedulingGates", NULL))) {
        fail_binding(r, "pod has non-empty .spec.schedulingGates");
        return;
    }
    const struct json *tree = json_with(a, old, json_of_str(node), "spec", "nodeName", NULL);
    const struct json *annotations = meta_get(r->body, S("annotations"));
    annotations = annotations ? json_copy(a, annotations) : NULL;
    json_each_member (m, annotations) {
        struct json_obj all = obj_from(a, meta_get(tree, S("annotations")));
        obj_set(&all, m->name, m->value);
        tree = meta_set(a, tree, S("annotations"), obj_done(&all));
    }
    struct request *inner = inner_of(r, VERB_UPDATE);
    inner->is_binding = true;
    inner->body = with_scheduled(r, tree);
    request_run(inner);
}

/* The pod with a condition of this type that is True, in place of what it had. */
static const struct json *with_condition(struct request *r, const struct json *pod,
                                         const char *type, const char *reason,
                                         const char *message)
{
    struct arena *a = r->arena;
    const struct json *was = json_path(pod, "status", "conditions", NULL);
    struct json_arr all = arr_in(a);
    struct json_obj c = obj_in(a);

    json_each (i, was) {
        if (!str_eqz(json_str(json_getz(json_at(was, i), "type")), type))
            arr_add(&all, *json_at(was, i));
    }
    obj_setz(&c, "type", json_of_str(str_from(type)));
    obj_setz(&c, "status", json_of_z("True"));
    obj_setz(&c, "lastProbeTime", json_of_null());
    obj_setz(&c, "lastTransitionTime", json_of_str(time_text(a, io_now(r->server->io))));
    if (reason)
        obj_setz(&c, "reason", json_of_str(str_from(reason)));
    if (message)
        obj_setz(&c, "message", json_of_str(str_from(message)));
    arr_add(&all, obj_done(&c));
    return json_with(a, pod, arr_done(&all), "status", "conditions", NULL);
}

/* The condition PodScheduled turns True with the binding. */
const struct json *with_scheduled(struct request *r, const struct json *pod)
{
    return with_condition(r, pod, "PodScheduled", NULL, NULL);
}

/* Who evicts says so in the pod, before it goes: a Job may then not count it as failed. */
const struct json *with_disruption(struct request *r, const struct json *pod)
{
    return with_condition(r, pod, "DisruptionTarget", "EvictionByEvictionAPI",
                          "Eviction API: evicting");
}

void eviction_create(struct request *r)
{
    struct request *inner = inner_of(r, VERB_DELETE);
    struct err err = {0};
    const struct json *o = json_getz(r->body, "deleteOptions");

    if (json_has(o) &&
        delete_options_of_json(inner->arena, o, &inner->options.remove, &err) < 0) {
        fail_err(r, &err);
        request_fini(inner);
        request_fini(r);
        return;
    }
    inner->is_eviction = true;
    request_run(inner);
}

/* ---- finalize: the namespace controller takes out the kind's own finalizers ---- */

void finalize_update(struct request *r)
{
    r->is_finalize = true;
    verb_update(r);
}
