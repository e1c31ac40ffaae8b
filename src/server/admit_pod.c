/* admit_pod.c - admission of pods: their priority, the tolerations everybody has
 *
 * Upstream's plugins Priority and DefaultTolerationSeconds.
 */
#include "server/admit_priv.h"

#include "api/priority.h"

#define TOLERATION_S 300

bool is_new_pod(const struct write *w)
{
    return !w->old && !w->subresource.len && !w->kind->group.len &&
           str_eqz(w->kind->kind, "Pod");
}

void spec_set(struct write *w, struct str name, struct json v)
{
    struct json_obj spec = obj_from(w->arena, json_getz(w->tree, "spec"));

    obj_set(&spec, name, v);
    w->tree = json_with(w->arena, w->tree, obj_done(&spec), "spec", NULL);
}

/* ---- Priority ---- */

static size_t all_classes(struct write *w, const struct json ***out)
{
    const struct kind *k =
        kind_of_name(w->r->server, S("scheduling.k8s.io"), S("v1"), S("PriorityClass"));
    VEC(const struct json *) classes = {0};
    struct object *o;

    if (k) {
        struct store_walk walk =
            store_walk(w->r->server->store, w->arena, k->storage, S(""), S(""), 0);
        while ((o = store_next(&walk)))
            vec_push_in(w->arena, &classes, object_tree(o, w->arena));
    }
    *out = classes.at;
    return classes.len;
}

static const struct json *class_named(const struct json *const *classes, size_t n,
                                      struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(json_str(meta_get(classes[i], S("name"))), name))
            return classes[i];
    }
    return NULL;
}

int admit_priority(struct write *w)
{
    const struct json **classes;
    struct priority_source source = {0};
    struct err err = {0};

    if (!is_new_pod(w))
        return 0;
    const struct json *spec = json_getz(w->tree, "spec");
    struct str name = json_str(json_getz(spec, "priorityClassName"));
    size_t n = all_classes(w, &classes);
    if (priority_of_class(classes, n, name, &source, &err) < 0)
        return fail_forbidden_named(w, "no PriorityClass with name %.*s was found",
                                    STR_ARG(name));
    const struct json *given = json_getz(spec, "priority");
    if (json_has(given) && json_i64(given, 0) != source.value)
        return fail_forbidden_named(w,
                                    "the integer value of priority (%" PRId64
                                    ") must not be provided in pod spec; priority admission "
                                    "controller computed %" PRId64 " from the given "
                                    "PriorityClass name",
                                    json_i64(given, 0), source.value);
    const struct json *class = class_named(classes, n, source.name);
    struct str policy = json_str(json_getz(class, "preemptionPolicy"));
    struct json_obj out = obj_from(w->arena, spec);
    if (source.name.len && !name.len)
        obj_setz(&out, "priorityClassName", json_of_str(source.name));
    obj_setz(&out, "priority", json_of_i64(source.value));
    if (!json_has(json_getz(spec, "preemptionPolicy")))
        obj_setz(&out, "preemptionPolicy",
                 json_of_str(policy.len ? policy : S("PreemptLowerPriority")));
    w->tree = json_with(w->arena, w->tree, obj_done(&out), "spec", NULL);
    return 0;
}

/* ---- DefaultTolerationSeconds ---- */

static bool tolerates(const struct json *all, struct str key)
{
    json_each (i, all) {
        const struct json *t = json_at(all, i);
        struct str k = json_str(json_getz(t, "key")), effect = json_str(json_getz(t, "effect"));
        if ((!k.len || str_eq(k, key)) && (!effect.len || str_eqz(effect, "NoExecute")))
            return true;
    }
    return false;
}

int admit_tolerations(struct write *w)
{
    static const struct str keys[] = {S_INIT("node.kubernetes.io/not-ready"),
                                      S_INIT("node.kubernetes.io/unreachable")};
    struct json_arr all = arr_in(w->arena);
    bool is_changed = false;

    if (!is_new_pod(w))
        return 0;
    const struct json *given = json_path(w->tree, "spec", "tolerations", NULL);
    json_each (i, given)
        arr_add(&all, *json_at(given, i));
    for (size_t i = 0; i < countof(keys); i++) {
        if (tolerates(given, keys[i]))
            continue;
        struct json_obj t = obj_in(w->arena);
        obj_add(&t, S("key"), json_of_str(keys[i]));
        obj_add(&t, S("operator"), json_of_z("Exists"));
        obj_add(&t, S("effect"), json_of_z("NoExecute"));
        obj_add(&t, S("tolerationSeconds"), json_of_i64(TOLERATION_S));
        arr_add(&all, obj_done(&t));
        is_changed = true;
    }
    if (is_changed)
        spec_set(w, S("tolerations"), arr_done(&all));
    return 0;
}
