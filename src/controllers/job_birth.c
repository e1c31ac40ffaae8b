/* job_birth.c - a Job's next pod, from its template (jobs reference 1.13) */
#include "controllers/job_birth.h"

#include "api/batch_v1.h"
#include "api/run_as.h"
#include "json/json.h"

#define ENV_INDEX "JOB_COMPLETION_INDEX"

struct json job_owner_reference(struct arena *a, const struct job *job)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "apiVersion", json_of_z("batch/v1"));
    obj_setz(&o, "kind", json_of_z("Job"));
    obj_setz(&o, "name", json_of_str(job->metadata->name));
    obj_setz(&o, "uid", json_of_str(job->metadata->uid));
    obj_setz(&o, "controller", json_of_bool(true));
    obj_setz(&o, "blockOwnerDeletion", json_of_bool(true));
    return obj_done(&o);
}

static struct json number_text(struct arena *a, int32_t n)
{
    return json_of_str(str_of_u64(a, (uint64_t)n));
}

static struct json pod_metadata(struct arena *a, const struct job_mould *m,
                                const struct job_birth *b)
{
    struct str name = m->job->metadata->name;
    struct json_obj meta = obj_in(a), labels = obj_from(a, m->labels);
    struct json_obj notes = obj_from(a, &m->notes);

    if (b->index != JOB_NO_INDEX) {
        struct json index = number_text(a, b->index);
        obj_setz(&labels, JOB_INDEX_KEY, index);
        obj_setz(&notes, JOB_INDEX_KEY, index);
    }
    if (IS_SET(m->job->spec, backoff_limit_per_index)) {
        obj_setz(&notes, JOB_INDEX_FAILURES_KEY, number_text(a, b->index_failures));
        if (b->index_ignored)
            obj_setz(&notes, JOB_INDEX_IGNORED_KEY, number_text(a, b->index_ignored));
    }
    if (m->run_as)
        obj_setz(&notes, RUN_AS_ANNOTATION, *m->run_as);
    obj_setz(&meta, "generateName", json_of_str(job_generate_name(a, name, b->index)));
    obj_setz(&meta, "labels", obj_done(&labels));
    if (notes.members.len)
        obj_setz(&meta, "annotations", obj_done(&notes));
    obj_setz(&meta, "finalizers", m->guards);
    obj_setz(&meta, "ownerReferences", m->owners);
    return obj_done(&meta);
}

/* The index as a variable, from the pod's own label; one that is there already stays. */
static struct json env_with_index(struct arena *a, const struct json *env)
{
    struct json_arr out = arr_in(a);
    const struct json *index = json_new(a, json_of_z(ENV_INDEX));
    bool has = false;

    json_each (i, env) {
        has |= json_eq(json_getz(json_at(env, i), "name"), index);
        arr_add(&out, *json_at(env, i));
    }
    if (!has) {
        struct json_obj one = obj_in(a), from = obj_in(a), field = obj_in(a);
        obj_setz(&field, "apiVersion", json_of_z("v1"));
        obj_setz(&field, "fieldPath", json_of_z("metadata.labels['" JOB_INDEX_KEY "']"));
        obj_setz(&from, "fieldRef", obj_done(&field));
        obj_setz(&one, "name", *index);
        obj_setz(&one, "valueFrom", obj_done(&from));
        arr_add(&out, obj_done(&one));
    }
    return arr_done(&out);
}

static const struct json *containers_with_index(struct arena *a, const struct json *spec,
                                                const char *list)
{
    const struct json *was = json_get(spec, str_from(list));
    struct json_arr out = arr_in(a);

    if (!was)
        return spec;
    json_each (i, was) {
        const struct json *c = json_at(was, i);
        arr_add(&out, *json_with(a, c, env_with_index(a, json_getz(c, "env")), "env", NULL));
    }
    return json_with(a, spec, arr_done(&out), list, NULL);
}

static struct json notes_of(struct arena *a, const struct json *template_notes)
{
    struct json_obj notes = obj_from(a, template_notes);

    obj_del(&notes, S(RUN_AS_ANNOTATION)); /* the Job's own, whatever its template says */
    return obj_done(&notes);
}

struct job_mould job_mould_of(struct arena *a, const struct job *job, const struct json *tree)
{
    const struct json *template = json_path(tree, "spec", "template", NULL);
    const struct json *meta = json_getz(template, "metadata");
    const struct json *finalizers = json_getz(meta, "finalizers");
    struct json_arr owners = arr_in(a), guards = arr_in(a);
    struct job_mould m = {
        .job = job,
        .labels = json_getz(meta, "labels"),
        .run_as = json_path(tree, "metadata", "annotations", RUN_AS_ANNOTATION, NULL),
        .notes = notes_of(a, json_getz(meta, "annotations")),
        .spec = json_getz(template, "spec")};

    if (str_eq(job->spec->completion_mode, COMPLETION_MODE_INDEXED)) {
        m.spec = containers_with_index(a, m.spec, "containers");
        m.spec = containers_with_index(a, m.spec, "initContainers");
    }
    json_each (i, finalizers)
        arr_add(&guards, *json_at(finalizers, i));
    arr_add(&guards, json_of_z(JOB_FINALIZER));
    arr_add(&owners, job_owner_reference(a, job));
    m.guards = arr_done(&guards);
    m.owners = arr_done(&owners);
    return m;
}

const struct json *job_birth_body(struct arena *a, const struct job_mould *m,
                                  const struct job_birth *b)
{
    const struct json *spec = m->spec;
    struct json_obj pod = obj_in(a);

    if (b->index != JOB_NO_INDEX) {
        struct str host =
            str_concat(a, m->job->metadata->name, S("-"), str_of_u64(a, (uint64_t)b->index));
        spec = json_with(a, spec, json_of_str(host), "hostname", NULL);
    }
    obj_setz(&pod, "apiVersion", json_of_z("v1"));
    obj_setz(&pod, "kind", json_of_z("Pod"));
    obj_setz(&pod, "metadata", pod_metadata(a, m, b));
    obj_setz(&pod, "spec", *spec);
    return json_new(a, obj_done(&pod));
}
