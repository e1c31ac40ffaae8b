/* apply.c - how fast server-side apply and strategic merge are
 *
 * Prints one figure a line, `name value unit`; the smallest of several rounds, which is what
 * the code costs where the machine is quiet.
 */
#include "schema/apply.h"
#include "api/find.h"
#include "measure.h"
#include "schema/codec.h"
#include "schema/compile.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/openapi.h"
#include "schema/strategic.h"
#include "schema/validate.h"

#define MANAGERS 200

static const struct json *parse(struct arena *a, struct str text)
{
    struct err err = {0};
    const struct json *v = json_parse(a, text, NULL, &err);

    if (!v)
        die("%s", err.text);
    return v;
}

static struct str job_config(struct arena *a, int containers)
{
    struct buf b = buf_in(a, 4096);

    buf_add(
        &b,
        S("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"train-42\","
          "\"namespace\":\"research\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
          "\"user-queue\",\"app\":\"train\"}},\"spec\":{\"parallelism\":3,\"completions\":3,"
          "\"backoffLimit\":6,\"suspend\":true,\"template\":{\"metadata\":{\"labels\":"
          "{\"app\":\"train\"}},\"spec\":{\"restartPolicy\":\"Never\",\"dnsPolicy\":"
          "\"ClusterFirst\",\"containers\":["));
    for (int i = 0; i < containers; i++)
        buf_printf(
            &b,
            "%s{\"name\":\"c%d\",\"image\":\"registry.example.com/team/image:v1.2.%d\","
            "\"command\":[\"/bin/sh\",\"-c\"],\"args\":[\"python3 train.py --epochs 10 && "
            "echo done\"],\"env\":[{\"name\":\"RANK\",\"value\":\"%d\"},{\"name\":\"WORLD\","
            "\"value\":\"3\"}],\"ports\":[{\"containerPort\":80%d}],\"resources\":"
            "{\"requests\":{\"cpu\":\"1\",\"memory\":\"200Mi\"},\"limits\":{\"cpu\":\"1\","
            "\"memory\":\"200Mi\"}},\"imagePullPolicy\":\"IfNotPresent\"}",
            i ? "," : "", i, i, i, i);
    buf_add(&b, S("]}}}}"));
    return buf_str(&b);
}

static const struct json *applied(struct arena *a, struct apply_write w, const char *manager,
                                  const struct json *live, const struct json *config)
{
    struct apply_conflicts conflicts;
    struct err err = {0};
    const struct json *next;

    w.manager = str_from(manager);
    next = apply_config(a, &w, live, config, &conflicts, &err);
    if (!next)
        die("%s", err.text);
    return next;
}

static void jobs(struct arena *kept, struct arena *a)
{
    const struct kind *job = kind_find(S("batch"), S("v1"), S("Job"));
    struct apply_write w = {.kind = job, .now = {SECOND_NS}, .is_known = true};
    struct apply_write forced = w;
    const struct json *config = parse(kept, job_config(kept, 3)), *live, *both, *next, *patch;
    const struct json *mine = parse(
        kept,
        S("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"train-42\","
          "\"labels\":{\"team\":\"a\"}},\"spec\":{\"parallelism\":3,\"template\":{\"spec\":"
          "{\"containers\":[{\"name\":\"c1\",\"env\":[{\"name\":\"A\",\"value\":\"1\"}]}],"
          "\"nodeSelector\":{\"x\":\"y\"}}}}}"));
    const struct json *other =
        json_with(kept, mine, json_of_i64(7), "spec", "parallelism", NULL);

    forced.force = true;
    live = applied(kept, w, "one", NULL, config);
    both = applied(kept, w, "two", live, mine);
    next = json_with(kept, both, json_of_i64(9), "spec", "parallelism", NULL);
    printf("# a Job of %zu bytes, its managed fields included\n", json_text(kept, live).len);
    MEASURE_US(a, "apply/a Job by a second manager", 2000, applied(a, w, "two", live, mine));
    MEASURE_US(a, "apply/the same again", 2000, applied(a, w, "two", both, mine));
    MEASURE_US(a, "apply/by force", 2000, applied(a, forced, "two", both, other));
    w.manager = S("edit");
    MEASURE_US(a, "apply/update of one field", 2000, apply_update(a, &w, both, next));
    MEASURE_US(a, "apply/create", 2000, apply_update(a, &w, NULL, config));
    patch = schema_strategic_diff(kept, job->schema, both, next, NULL);
    MEASURE_US(a, "strategic/apply", 2000,
               schema_strategic_apply(a, job->schema, both, patch, NULL));
    MEASURE_US(a, "strategic/diff", 2000,
               schema_strategic_diff(a, job->schema, both, next, NULL));
}

/* ---- what every write of a body goes through ---- */

/* A body's bytes → tree → as the kind lets it be → with defaults → judged → bytes. */
static struct str written(struct arena *a, const struct kind *k, struct str body)
{
    struct field_errors errors = field_errors_in(a);
    struct buf b = buf_in(a, body.len * 2);
    struct err err = {0};
    const struct json *v = json_parse(a, body, NULL, &err);

    v = v ? kind_conform(a, k, v, NULL, NULL, &err) : NULL;
    if (!v)
        die("%s", err.text);
    v = kind_default(a, k, v, NULL);
    kind_validate(&errors, k, v, NULL);
    if (errors.list.len)
        die("%.*s", STR_ARG(field_errors_text(a, &errors)));
    json_write(&b, v);
    return buf_str(&b);
}

static void writes(struct arena *kept, struct arena *a)
{
    const struct kind *job = kind_find(S("batch"), S("v1"), S("Job"));
    const struct json *v = parse(kept, job_config(kept, 5)), *labels;

    /* As the strategy of Jobs completes it before it is judged. */
    labels = parse(kept, S("{\"app\":\"train\",\"batch.kubernetes.io/controller-uid\":"
                           "\"5f0c2f1e-9d6c-4a0d-8d86-0c3d2f8a9b11\",\"controller-uid\":"
                           "\"5f0c2f1e-9d6c-4a0d-8d86-0c3d2f8a9b11\","
                           "\"batch.kubernetes.io/job-name\":\"train-42\","
                           "\"job-name\":\"train-42\"}"));
    v = json_with(kept, v, *labels, "spec", "template", "metadata", "labels", NULL);
    v = json_with(kept, v, *json_getz(labels, "batch.kubernetes.io/controller-uid"), "spec",
                  "selector", "matchLabels", "batch.kubernetes.io/controller-uid", NULL);
    v = json_with(kept, v, json_of_z("5f0c2f1e-9d6c-4a0d-8d86-0c3d2f8a9b11"), "metadata", "uid",
                  NULL);
    struct str body = json_text(kept, v);
    const struct json *whole = parse(kept, written(kept, job, body));
    const void *view = schema_decode(kept, job->schema, whole);
    struct json again = schema_encode(kept, job->schema, view);

    printf("# a Job of %zu bytes, %zu with its defaults\n", body.len,
           json_text(kept, whole).len);
    if (!json_eq(&again, whole))
        die("a view of the Job is not the Job");
    MEASURE_US(a, "write/decode, default, validate, encode", 2000,
               use((int64_t)written(a, job, body).len));
    MEASURE_US(a, "write/parse", 2000, json_parse(a, body, NULL, NULL));
    MEASURE_US(a, "write/the C struct of it", 2000, schema_decode(a, job->schema, whole));
    MEASURE_US(a, "write/and back", 2000, schema_encode(a, job->schema, view));
}

static struct str workload_status(struct arena *a, const char *message)
{
    return str_printf(
        a,
        "{\"apiVersion\":\"kueue.x-k8s.io/"
        "v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":"
        "\"w\",\"namespace\":\"n\"},\"status\":{\"admission\":{\"clusterQueue\":\"cq\","
        "\"podSetAssignments\":[{\"name\":\"main\",\"flavors\":{\"cpu\":\"default\"},"
        "\"resourceUsage\":{\"cpu\":\"3\"},\"count\":3}]},\"conditions\":[{\"type\":"
        "\"QuotaReserved\",\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"%s\","
        "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"observedGeneration\":1},{\"type\":"
        "\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"admitted\","
        "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"observedGeneration\":1}]}}",
        message);
}

static void workloads(struct arena *kept, struct arena *a)
{
    const struct kind *kind = kind_find(S("kueue.x-k8s.io"), S("v1beta2"), S("Workload"));
    struct apply_write w = {.kind = kind,
                            .subresource = S("status"),
                            .now = {SECOND_NS},
                            .force = true,
                            .is_known = true};
    const struct json *live, *config = parse(kept, workload_status(kept, "quota reserved"));
    const struct json *next = parse(kept, workload_status(kept, "quota reserved again"));

    live = parse(kept, S("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
                         "\"metadata\":{\"name\":\"w\",\"namespace\":\"n\",\"uid\":\"u\"},"
                         "\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":3}],"
                         "\"queueName\":\"q\"}}"));
    live = applied(kept, w, "kueue-admission", live, config);
    MEASURE_US(a, "apply/a Workload's status by its only manager", 2000,
               applied(a, w, "kueue-admission", live, next));
}

static void many(struct arena *kept, struct arena *a)
{
    const struct kind *kind = kind_find(str_of(NULL, 0), S("v1"), S("ConfigMap"));
    struct apply_write w = {.kind = kind, .now = {SECOND_NS}, .is_known = true};
    const struct json *live = NULL, *config = NULL;

    for (int i = 0; i < MANAGERS; i++) {
        config =
            parse(kept, str_printf(kept,
                                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":"
                                   "{\"name\":\"c\"},\"data\":{\"k%d\":\"v\",\"l%d\":\"v\"}}",
                                   i, i));
        live = applied(kept, w, str_printf(kept, "manager-%d", i).at, live, config);
    }
    MEASURE_US(a, "apply/by one of 200 managers", 200,
               applied(a, w, "manager-7", live, config));
}

/* ---- schemas of kinds made at run time ---- */

/* The schema with all that it refers to in its place, as a CustomResourceDefinition says it. */
static struct json inlined(struct arena *a, const struct json *types, const struct json *v)
{
    const struct json *ref = json_getz(v, "$ref");
    struct json_obj o = obj_in(a);
    struct json_arr l = arr_in(a);

    if (ref)
        return inlined(a, types,
                       json_get(types, str_slice(json_str(ref), strlen("#/components/schemas/"),
                                                 json_str(ref).len)));
    json_each (i, v)
        arr_add(&l, inlined(a, types, json_at(v, i)));
    json_each_member (m, v)
        obj_add(&o, m->name, inlined(a, types, &m->value));
    return v->type == JSON_ARRAY ? arr_done(&l) : v->type == JSON_OBJECT ? obj_done(&o) : *v;
}

static void schemas(struct arena *kept, struct arena *a)
{
    const struct kind *kind = kind_find(S("kueue.x-k8s.io"), S("v1beta2"), S("Workload"));
    const struct json *doc = openapi_document(kept, &kind, 1, S("bench"));
    const struct json *types = json_path(doc, "components", "schemas", NULL);
    struct json schema =
        inlined(kept, types, json_get(types, openapi_name(kept, kind->schema)));

    printf("# a schema of %zu bytes\n", json_text(kept, &schema).len);
    MEASURE_US(a, "schema/compile Workload", 50, {
        const struct schema *s = schema_compile(a, &schema, NULL);
        use(s->n_fields);
        schema_compiled_free(s);
    });
}

int main(void)
{
    struct arena kept = arena_sized(1 << 20), a = arena_sized(1 << 20);

    jobs(&kept, &a);
    writes(&kept, &a);
    workloads(&kept, &a);
    many(&kept, &a);
    schemas(&kept, &a);
    arena_fini(&kept);
    arena_fini(&a);
    return 0;
}
