/* kueue_webhook.c - suite kueue: what upstream's webhooks refuse */
#include "api/kueue_check.h"
#include "kueue_parts.h"

/* The gates of a case: defaults, and what it sets. */
static uint32_t gates_of(const struct json *c)
{
    const struct json *set = json_getz(c, "gates");
    uint32_t gates = KUEUE_CHECK_DEFAULT;

    json_each_member (m, set) {
        uint32_t gate = kueue_check_gate_find(m->name);
        gates = json_bool(&m->value, false) ? gates | gate : gates & ~gate;
    }
    return gates;
}

/* Errors as the cases write them. */
static struct json shown(struct arena *a, const struct field_errors *e)
{
    struct json_arr all = arr_in(a);

    vec_each (i, &e->list) {
        const struct field_error *one = &e->list.at[i];
        struct json_obj o = obj_in(a);
        bool has_value =
            one->type != FIELD_ERROR_REQUIRED && one->type != FIELD_ERROR_FORBIDDEN;
        if (!has_value)
            obj_setz(&o, "badValue", json_of_z(""));
        else if (one->type == FIELD_ERROR_TOO_LONG)
            obj_setz(&o, "badValue", json_of_z("<value omitted>"));
        else if (one->value.type != JSON_NULL)
            obj_setz(&o, "badValue", one->value);
        obj_setz(&o, "field", json_of_str(one->path));
        obj_setz(&o, "type", json_of_str(field_error_reason(one->type)));
        arr_add(&all, obj_done(&o));
    }
    return arr_done(&all);
}

static void compare(struct conf *t, const struct json *c, const struct field_errors *e)
{
    struct json got = shown(t->arena, e);

    conf_same(t, "errors", &got, json_path(c, "want", "errors", NULL));
}

void kueue_webhook_workload(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);
    const struct json *in = json_getz(c, "in");
    const struct json *workload = json_getz(in, "workload");

    kueue_check_workload(&e, gates_of(c), workload ? workload : json_getz(in, "after"),
                         json_getz(in, "before"), true);
    compare(t, c, &e);
}

void kueue_webhook_cluster_queue(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);
    const struct json *in = json_getz(c, "in");
    const struct json *queue = json_getz(in, "clusterQueue");

    if (json_getz(in, "cohort"))
        kueue_check_cohort(&e, json_getz(in, "cohort"));
    else
        kueue_check_cluster_queue(&e, gates_of(c),
                                  queue ? queue : json_getz(in, "newClusterQueue"),
                                  json_getz(in, "oldClusterQueue"));
    compare(t, c, &e);
}

void kueue_webhook_resource_flavor(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);

    kueue_check_resource_flavor(&e, json_path(c, "in", "rf", NULL));
    compare(t, c, &e);
}

/* ---- webhook-job-validate ---- */

/* A path such as spec.template.metadata as the chain of its names. */
static const struct field_path *path_of(struct arena *a, struct str text)
{
    const struct field_path *at = NULL;
    struct str name;

    for (bool has_more = text.len > 0; has_more;) {
        has_more = str_cut(text, '.', &name, &text);
        struct field_path one = field_child(at, name);
        at = arena_copy(a, &one);
    }
    return at;
}

void kueue_webhook_job(struct conf *t, const struct json *c)
{
    const struct json *in = json_getz(c, "in"), *job = json_getz(in, "job");
    const struct json *old = json_getz(in, "oldJob"), *count = json_getz(in, "podSetCount");
    struct str source = json_str(json_getz(c, "source"));
    struct field_errors e = field_errors_in(t->arena);
    bool has_default = json_bool(json_getz(in, "nsHasDefaultQueue"), false);

    job = job ? job : json_getz(in, "newJob");
    if (str_has(source, S("TestValidateJobOn")))
        kueue_check_any_job(&e, gates_of(c), json_str(json_path(in, "gvk", "kind", NULL)), job,
                            old, has_default);
    else if (str_has(source, S("ImmutablePodSpec")))
        kueue_check_pod_shape(&e, path_of(t->arena, json_str(json_getz(in, "testPath"))),
                              json_getz(in, "newPodSpec"), json_getz(in, "oldPodSpec"));
    else if (json_getz(in, "annotations"))
        kueue_check_template(&e, gates_of(c),
                             path_of(t->arena, json_str(json_getz(in, "replicaPath"))),
                             json_getz(in, "annotations"), false, json_i64(count, -1));
    else
        kueue_check_job(&e, gates_of(c), job, old, has_default);
    compare(t, c, &e);
}
