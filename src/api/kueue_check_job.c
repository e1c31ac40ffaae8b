/* kueue_check_job.c - webhook rules of batch Jobs and of the annotations on pod templates
 *
 * Source: kueue reference 8.7, in its order.
 */
#include "api/kueue_check.h"

#include "api/kueue_check_priv.h"
#include "api/pod_requests.h"

#define KUEUE "kueue.x-k8s.io/"
#define QUEUE_NAME KUEUE "queue-name"
#define PREBUILT KUEUE "prebuilt-workload-name"
#define MAX_TIME KUEUE "max-exec-time-seconds"
#define PRIORITY_CLASS KUEUE "priority-class"
#define ELASTIC KUEUE "elastic-job"
#define GATED_BY KUEUE "admission-gated-by"
#define MIN_PARALLELISM KUEUE "job-min-parallelism"
#define SYNC KUEUE "job-completions-equal-parallelism"
#define STOPPING KUEUE "stopping"
#define REQUIRED KUEUE "podset-required-topology"
#define PREFERRED KUEUE "podset-preferred-topology"
#define UNCONSTRAINED KUEUE "podset-unconstrained-topology"
#define GROUP_NAME KUEUE "podset-group-name"
#define SLICE_TOPOLOGY KUEUE "podset-slice-required-topology"
#define SLICE_SIZE KUEUE "podset-slice-size"
#define CONSTRAINTS KUEUE "podset-slice-required-topology-constraints"

#define LABEL_VALUE_MAX 63
#define MAX_LAYERS 3

/* A Job as far as these rules read it. */
struct job_parts {
    const struct json *labels, *annotations, *spec;
};

struct check {
    struct field_errors *e;
    uint32_t gates;
    const struct job_parts *job, *old; /* old: NULL on create */
    struct job_parts parts[2];
    struct field_path meta_at, labels_at, annotations_at;
};

static struct job_parts parts_of(const struct json *job)
{
    const struct json *meta = json_getz(job, "metadata");

    return (struct job_parts){.labels = json_getz(meta, "labels"),
                              .annotations = json_getz(meta, "annotations"),
                              .spec = json_getz(job, "spec")};
}

#define label(job, key) json_getz((job)->labels, key)
#define annotation(job, key) json_str(json_getz((job)->annotations, key))

static const struct json *text_value(struct field_errors *e, struct str s)
{
    return json_new(e->arena, json_of_str(s));
}

static const struct json *number_value(struct field_errors *e, int64_t n)
{
    return json_new(e->arena, json_of_i64(n));
}

/* strconv.ParseBool; false where it is none of its words. */
static bool read_bool(struct str s, bool *out)
{
    static const char *const words[2][6] = {
        {"0", "f", "F", "FALSE", "false", "False"},
        {"1", "t", "T", "TRUE",  "true",  "True" }
    };

    for (int v = 0; v < 2; v++)
        for (size_t i = 0; i < countof(words[v]); i++)
            if (str_eqz(s, words[v][i])) {
                *out = v;
                return true;
            }
    return false;
}

static bool is_suspended(const struct job_parts *job)
{
    return json_bool(json_getz(job->spec, "suspend"), false) &&
           !str_eqz(annotation(job, STOPPING), "true");
}

static bool is_elastic(const struct check *c, const struct job_parts *job)
{
    return (c->gates & KUEUE_CHECK_ELASTIC_JOBS) && str_eqz(annotation(job, ELASTIC), "true");
}

static int64_t parallelism_of(const struct job_parts *job)
{
    return json_i64(json_getz(job->spec, "parallelism"), 1);
}

/* Pods of its one podset. */
static int64_t pod_count(const struct job_parts *job)
{
    int64_t n = parallelism_of(job);

    return MIN(n, json_i64(json_getz(job->spec, "completions"), n));
}

/* ---- what every kind of job has ---- */

static void check_queue_name(struct check *c)
{
    const struct json *name = label(c->job, QUEUE_NAME);
    struct field_path at = field_key(&c->labels_at, S(QUEUE_NAME));

    if (name)
        kueue_check_name(c->e, &at, NAME_DNS_SUBDOMAIN, json_str(name));
}

/* The name of a Workload made by hand, and where it stands. */
static struct str prebuilt_of(const struct check *c, const struct job_parts *job,
                              bool *is_label)
{
    struct str name = annotation(job, PREBUILT);

    *is_label =
        !(name.len && ((c->gates & KUEUE_CHECK_IDENTIFIERS) || name.len > LABEL_VALUE_MAX));
    return *is_label ? json_str(label(job, PREBUILT)) : name;
}

static void check_prebuilt(struct check *c)
{
    bool is_label;
    struct str name = prebuilt_of(c, c->job, &is_label);
    struct field_path at =
        field_key(is_label ? &c->labels_at : &c->annotations_at, S(PREBUILT));

    if (name.len)
        kueue_check_name(c->e, &at, NAME_DNS_SUBDOMAIN, name);
}

static void check_max_time(struct check *c)
{
    const struct json *v = label(c->job, MAX_TIME);
    struct field_path at = field_key(&c->labels_at, S(MAX_TIME));
    int64_t n;

    if (!v)
        return;
    if (!str_to_i64(json_str(v), &n))
        field_invalid(c->e, &at, v, "invalid syntax");
    else if (n <= 0)
        field_invalid(c->e, &at, number_value(c->e, n), "should be greater than 0");
}

static void check_elastic_kind(struct check *c, struct str kind)
{
    static const char *const kinds[] = {"Job", "RayCluster", "RayJob", "RayService"};
    struct field_path at = field_key(&c->annotations_at, S(ELASTIC));

    if (!is_elastic(c, c->job))
        return;
    for (size_t i = 0; i < countof(kinds); i++)
        if (str_eqz(kind, kinds[i]))
            return;
    field_forbidden(c->e, &at, "elastic jobs are not supported for %.*s", STR_ARG(kind));
}

static void check_gated_by(struct check *c)
{
    struct field_path at = field_key(&c->annotations_at, S(GATED_BY));

    if (c->gates & KUEUE_CHECK_ADMISSION_GATED_BY)
        kueue_check_gated_by(c->e, &at, annotation(c->job, GATED_BY));
}

static void check_common_create(struct check *c, struct str kind)
{
    check_queue_name(c);
    check_prebuilt(c);
    check_max_time(c);
    check_elastic_kind(c, kind);
    check_gated_by(c);
}

static void check_queue_update(struct check *c, bool has_default_queue)
{
    struct field_path at = field_key(&c->labels_at, S(QUEUE_NAME));
    struct str was = json_str(label(c->old, QUEUE_NAME)),
               now = json_str(label(c->job, QUEUE_NAME));

    if (!is_suspended(c->job) && !str_eq(was, now))
        field_invalid(c->e, &at, text_value(c->e, now), "field is immutable");
    if (!now.len && was.len && has_default_queue)
        field_invalid(c->e, &at, text_value(c->e, now),
                      "queue-name must not be empty in namespace with default queue");
}

static void check_prebuilt_update(struct check *c)
{
    bool was_label, is_label;
    struct str was = prebuilt_of(c, c->old, &was_label);
    struct str now = prebuilt_of(c, c->job, &is_label);
    struct field_path at =
        field_key(is_label ? &c->labels_at : &c->annotations_at, S(PREBUILT));

    if (is_suspended(c->job) || is_elastic(c, c->old))
        check_prebuilt(c);
    else if (!str_eq(was, now))
        field_invalid(c->e, &at, text_value(c->e, now), "field is immutable");
}

static void check_max_time_update(struct check *c)
{
    struct field_path at = field_key(&c->labels_at, S(MAX_TIME));
    struct str was = json_str(label(c->old, MAX_TIME)), now = json_str(label(c->job, MAX_TIME));

    if (!(is_suspended(c->old) && is_suspended(c->job)) && !str_eq(was, now))
        field_invalid(c->e, &at, text_value(c->e, now), "field is immutable");
}

static void check_priority_update(struct check *c)
{
    struct field_path at = field_key(&c->labels_at, S(PRIORITY_CLASS));
    struct str was = json_str(label(c->old, PRIORITY_CLASS));
    struct str now = json_str(label(c->job, PRIORITY_CLASS));

    if (!was.len && now.len && !is_suspended(c->job))
        field_invalid(c->e, &at, text_value(c->e, now),
                      "WorkloadPriorityClass cannot be added to a non-suspended workload");
    if (was.len && !now.len)
        field_invalid(c->e, &at, text_value(c->e, now),
                      "WorkloadPriorityClass cannot be removed from a workload");
}

static void check_elastic_update(struct check *c)
{
    struct field_path at = field_key(&c->annotations_at, S(ELASTIC));
    bool now = is_elastic(c, c->job);
    struct json bad = json_of_bool(now);

    if (now != is_elastic(c, c->old))
        field_invalid(c->e, &at, &bad, "field is immutable");
}

static void check_gated_by_update(struct check *c)
{
    struct field_path at = field_key(&c->annotations_at, S(GATED_BY));

    if (!(c->gates & KUEUE_CHECK_ADMISSION_GATED_BY))
        return;
    kueue_check_gates_added(c->e, &at, annotation(c->old, GATED_BY),
                            annotation(c->job, GATED_BY));
    kueue_check_gated_by(c->e, &at, annotation(c->job, GATED_BY));
}

static void check_common_update(struct check *c, bool has_default_queue)
{
    check_queue_update(c, has_default_queue);
    check_prebuilt_update(c);
    check_max_time_update(c);
    check_priority_update(c);
    check_elastic_update(c);
    check_gated_by_update(c);
}

/* ---- batch Jobs ---- */

static void check_min_parallelism(struct check *c)
{
    struct field_path at = field_key(&c->annotations_at, S(MIN_PARALLELISM));
    struct str text = annotation(c->job, MIN_PARALLELISM);
    int64_t n, count = pod_count(c->job);

    if (!text.len)
        return;
    if (!str_to_i64(text, &n))
        field_invalid(c->e, &at, text_value(c->e, text), "invalid syntax");
    else if (n <= 0 || n >= count)
        field_invalid(c->e, &at, number_value(c->e, n), "should be between 0 and %" PRId64,
                      count - 1);
    if (is_elastic(c, c->job))
        field_invalid(c->e, &at, text_value(c->e, text),
                      "partial admission and elastic job cannot be used together");
}

static void check_sync(struct check *c)
{
    struct field_path at = field_key(&c->annotations_at, S(SYNC));
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path completions_at = field_child(&spec_at, S("completions"));
    struct str text = annotation(c->job, SYNC);
    int64_t completions = json_i64(json_getz(c->job->spec, "completions"), 1);
    bool is_on;

    if (!text.len)
        return;
    if (!read_bool(text, &is_on)) {
        field_invalid(c->e, &at, text_value(c->e, text), "invalid syntax");
        return;
    }
    if (!is_on)
        return;
    if (!str_eqz(json_str(json_getz(c->job->spec, "completionMode")), "Indexed"))
        field_invalid(c->e, &at, text_value(c->e, text),
                      "should not be enabled for NonIndexed jobs");
    if (completions != parallelism_of(c->job))
        field_invalid(c->e, &completions_at, number_value(c->e, completions),
                      "should be equal to parallelism when " SYNC " annotation is true");
}

static void check_scaling_update(struct check *c)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path parallelism_at = field_child(&spec_at, S("parallelism"));
    struct field_path sync_at = field_key(&c->annotations_at, S(SYNC));
    bool was_sync = false, is_sync = false;

    if (annotation(c->old, MIN_PARALLELISM).len &&
        !json_bool(json_getz(c->old->spec, "suspend"), false) &&
        parallelism_of(c->old) != parallelism_of(c->job))
        field_forbidden(c->e, &parallelism_at,
                        "cannot change when partial admission is enabled and the job is not "
                        "suspended");
    read_bool(annotation(c->old, SYNC), &was_sync);
    read_bool(annotation(c->job, SYNC), &is_sync);
    if (was_sync != is_sync && !is_suspended(c->old) && !is_suspended(c->job))
        field_forbidden(c->e, &sync_at, "%.*s is immutable while the job is not suspended",
                        STR_ARG(S(SYNC)));
}

static void check_job_topology(struct check *c)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path template_at = field_child(&spec_at, S("template"));
    struct field_path at = field_child(&template_at, S("metadata"));
    const struct json *annotations =
        json_path(c->job->spec, "template", "metadata", "annotations", NULL);

    if (c->gates & KUEUE_CHECK_TOPOLOGY)
        kueue_check_template(c->e, c->gates, &at, annotations, is_elastic(c, c->job),
                             pod_count(c->job));
}

/* Parts and paths are in the check itself. */
static void check_init(struct check *c, struct field_errors *e, uint32_t gates,
                       const struct json *job, const struct json *old)
{
    c->e = e;
    c->gates = gates;
    c->parts[0] = parts_of(job);
    c->parts[1] = parts_of(old);
    c->job = &c->parts[0];
    c->old = old ? &c->parts[1] : NULL;
    c->meta_at = field_child(NULL, S("metadata"));
    c->labels_at = field_child(&c->meta_at, S("labels"));
    c->annotations_at = field_child(&c->meta_at, S("annotations"));
}

void kueue_check_any_job(struct field_errors *e, uint32_t gates, struct str kind,
                         const struct json *job, const struct json *old, bool has_default_queue)
{
    struct check c;

    check_init(&c, e, gates, job, old);
    if (old)
        check_common_update(&c, has_default_queue);
    else
        check_common_create(&c, kind);
}

void kueue_check_job(struct field_errors *e, uint32_t gates, const struct json *job,
                     const struct json *old, bool has_default_queue)
{
    struct check c;

    check_init(&c, e, gates, job, old);
    check_common_create(&c, S("Job"));
    if (!old || !str_eq(annotation(c.job, MIN_PARALLELISM), annotation(c.old, MIN_PARALLELISM)))
        check_min_parallelism(&c);
    check_sync(&c);
    if (old) {
        check_common_update(&c, has_default_queue);
        check_scaling_update(&c);
    }
    check_job_topology(&c);
}

/* ---- annotations of pod templates ---- */

struct template
{
    struct field_errors *e;
    uint32_t gates;
    const struct json *annotations;
    struct field_path at; /* of the map */
};

static const struct json *value_of(const struct template *t, const char *key)
{
    return json_get(t->annotations, str_from(key));
}

static struct field_path key_at(const struct template *t, const char *key)
{
    return field_key(&t->at, str_from(key));
}

static void check_level(struct template *t, const char *key)
{
    struct field_path at = key_at(t, key);

    if (value_of(t, key))
        kueue_check_name(t->e, &at, NAME_LABEL_KEY, json_str(value_of(t, key)));
}

static void check_group(struct template *t)
{
    struct field_path at = key_at(t, GROUP_NAME);
    const struct json *name = value_of(t, GROUP_NAME);
    uint64_t n;

    if (!name)
        return;
    if (str_to_u64(json_str(name), &n))
        field_invalid(t->e, &at, name, "must not be a number");
    if (value_of(t, SLICE_SIZE))
        field_forbidden(t->e, &at, "may not be set when '%s' is specified", SLICE_SIZE);
    if (value_of(t, SLICE_TOPOLOGY))
        field_forbidden(t->e, &at, "may not be set when '%s' is specified", SLICE_TOPOLOGY);
    if (!value_of(t, REQUIRED) && !value_of(t, PREFERRED))
        field_forbidden(t->e, &at, "may not be set when neither '%s' nor '%s' is specified",
                        REQUIRED, PREFERRED);
}

static void check_slice(struct template *t)
{
    struct field_path at = key_at(t, SLICE_SIZE);
    const struct json *size = value_of(t, SLICE_SIZE);
    int64_t n = 0;

    if (size && (!str_to_i64(json_str(size), &n) || n < INT32_MIN || n > INT32_MAX))
        field_invalid(t->e, &at, size, "must be a numeric value");
    else if (size && n < 1)
        field_invalid(t->e, &at, size, "must be greater than or equal to 1");
    if (!size && value_of(t, SLICE_TOPOLOGY))
        field_required(t->e, &at, "must be set when '%s' is specified", SLICE_TOPOLOGY);
    if (size && !value_of(t, SLICE_TOPOLOGY))
        field_forbidden(t->e, &at, "may not be set when '%s' is not specified", SLICE_TOPOLOGY);
}

static int64_t layer_size(const struct json *layers, size_t i)
{
    return json_i64(json_getz(json_at(layers, i), "size"), 0);
}

/* Each layer's own values, then repetitions, then that sizes divide. */
static void check_layers(struct template *t, const struct field_path *at,
                         const struct json *layers)
{
    json_each (i, layers) {
        struct field_path item = field_item(at, i);
        struct field_path topology_at = field_child(&item, S("topology"));
        struct field_path size_at = field_child(&item, S("size"));
        kueue_check_name(t->e, &topology_at, NAME_LABEL_KEY,
                         json_str(json_getz(json_at(layers, i), "topology")));
        if (layer_size(layers, i) < 1)
            field_invalid(t->e, &size_at, number_value(t->e, layer_size(layers, i)),
                          "must be greater than or equal to 1");
    }
    json_each (i, layers) {
        struct field_path item = field_item(at, i);
        struct field_path topology_at = field_child(&item, S("topology"));
        struct str name = json_str(json_getz(json_at(layers, i), "topology"));
        size_t k = 0;
        while (k < i && !str_eq(json_str(json_getz(json_at(layers, k), "topology")), name))
            k++;
        if (k < i)
            field_duplicate(t->e, &topology_at,
                            text_value(t->e, str_printf(t->e->arena, "%.*s (also at index %zu)",
                                                        STR_ARG(name), k)));
    }
    for (size_t i = 0; i + 1 < json_len(layers); i++) {
        struct field_path item = field_item(at, i + 1);
        struct field_path size_at = field_child(&item, S("size"));
        int64_t outer = layer_size(layers, i), inner = layer_size(layers, i + 1);
        if (inner > 0 && outer % inner != 0)
            field_invalid(t->e, &size_at, number_value(t->e, inner),
                          "must divide the size of the layer above it, %" PRId64, outer);
    }
}

static void check_constraints(struct template *t)
{
    struct field_path at = key_at(t, CONSTRAINTS), group_at = key_at(t, GROUP_NAME);
    const struct json *text = value_of(t, CONSTRAINTS);

    if (!text)
        return;
    if (!(t->gates & KUEUE_CHECK_MULTI_LAYER)) {
        field_forbidden(t->e, &at, "the feature gate TASMultiLayerTopology is off");
        return;
    }
    if (value_of(t, SLICE_TOPOLOGY))
        field_forbidden(t->e, &at, "may not be set when '%s' is specified", SLICE_TOPOLOGY);
    if (value_of(t, SLICE_SIZE))
        field_forbidden(t->e, &at, "may not be set when '%s' is specified", SLICE_SIZE);
    if (value_of(t, GROUP_NAME))
        field_forbidden(t->e, &group_at, "may not be set when '%s' is specified", CONSTRAINTS);
    const struct json *layers = json_parse(t->e->arena, json_str(text), NULL, NULL);
    if (!json_is(layers, JSON_ARRAY))
        field_invalid(t->e, &at, text, "must be a JSON list of {topology, size}");
    else if (layers->len < 1 || layers->len > MAX_LAYERS)
        field_invalid(t->e, &at, text, "must have between 1 and %d entries", MAX_LAYERS);
    else
        check_layers(t, &at, layers);
}

static void check_annotations(struct template *t)
{
    static const char *const one_of[] = {REQUIRED, PREFERRED, UNCONSTRAINED};
    struct field_path at = key_at(t, UNCONSTRAINED);
    struct json none = {.type = JSON_OBJECT};
    size_t n = 0;
    bool flag;

    for (size_t i = 0; i < countof(one_of); i++)
        n += value_of(t, one_of[i]) != NULL;
    if (n > 1)
        field_invalid(t->e, &t->at, &none,
                      "must not contain more than one topology annotation");
    check_level(t, REQUIRED);
    check_level(t, PREFERRED);
    check_level(t, SLICE_TOPOLOGY);
    check_group(t);
    if (value_of(t, UNCONSTRAINED) && !read_bool(json_str(value_of(t, UNCONSTRAINED)), &flag))
        field_invalid(t->e, &at, value_of(t, UNCONSTRAINED), "must be a boolean value");
    check_slice(t);
    check_constraints(t);
}

/* Slices are not larger than the podset. */
static void check_sizes(struct template *t, int64_t count)
{
    struct field_path size_at = key_at(t, SLICE_SIZE), layers_at = key_at(t, CONSTRAINTS);
    const struct json *size = value_of(t, SLICE_SIZE), *text = value_of(t, CONSTRAINTS);
    int64_t n = 0;

    if (size && str_to_i64(json_str(size), &n) && n > count)
        field_invalid(t->e, &size_at, size, "must not be greater than the pod count %" PRId64,
                      count);
    const struct json *layers =
        text ? json_parse(t->e->arena, json_str(text), NULL, NULL) : NULL;
    if (json_is(layers, JSON_ARRAY) && layer_size(layers, 0) > count)
        field_invalid(t->e, &layers_at, number_value(t->e, layer_size(layers, 0)),
                      "must not be greater than the pod count %" PRId64, count);
}

void kueue_check_template(struct field_errors *e, uint32_t gates,
                          const struct field_path *meta_at, const struct json *annotations,
                          bool elastic, int64_t count)
{
    struct template t = {.e = e,
                         .gates = gates,
                         .annotations = annotations,
                         .at = field_child(meta_at, S("annotations"))};
    const char *kept = value_of(&t, REQUIRED)    ? REQUIRED
                       : value_of(&t, PREFERRED) ? PREFERRED
                                                 : NULL;
    size_t before = e->list.len + e->n_dropped;

    check_annotations(&t);
    if (e->list.len + e->n_dropped != before)
        return;
    if (elastic && kept) {
        struct field_path at = field_child(&t.at, str_from(kept));
        field_forbidden(e, &at, "%s topology is not supported with elastic jobs",
                        value_of(&t, REQUIRED) ? "required" : "preferred");
        return;
    }
    if (count >= 0)
        check_sizes(&t, count);
}

/* ---- pods that must keep their shape ---- */

static void compare_containers(struct field_errors *e, const struct field_path *at,
                               const struct json *now, const struct json *was)
{
    static const char *const parts[] = {"resources", "ports"};

    if (json_len(now) != json_len(was)) {
        field_invalid(e, at, json_len(now) ? now : NULL, "field is immutable");
        return;
    }
    json_each (i, now) {
        struct field_path item = field_item(at, i);
        for (size_t k = 0; k < countof(parts); k++) {
            const struct json *x = json_get(json_at(now, i), str_from(parts[k]));
            const struct json *y = json_get(json_at(was, i), str_from(parts[k]));
            struct field_path part_at = field_child(&item, str_from(parts[k]));
            struct field_path requests_at = field_child(&part_at, S("requests"));
            bool is_requests = k == 0;
            if (is_requests) {
                x = json_getz(x, "requests");
                y = json_getz(y, "requests");
            }
            if ((x || y) && !(x && y && json_eq(x, y)))
                field_invalid(e, is_requests ? &requests_at : &part_at, x,
                              "field is immutable");
        }
    }
}

void kueue_check_pod_shape(struct field_errors *e, const struct field_path *at,
                           const struct json *spec, const struct json *old)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct json now = pod_spec_shape(e->arena, spec), was = pod_spec_shape(e->arena, old);

    for (size_t i = 0; i < countof(lists); i++) {
        struct field_path list_at = field_child(at, str_from(lists[i]));
        compare_containers(e, &list_at, json_get(&now, str_from(lists[i])),
                           json_get(&was, str_from(lists[i])));
    }
    for (size_t i = 0; i < POD_SHAPE_N_PARTS; i++) {
        struct field_path part_at = field_child(at, pod_shape_parts[i]);
        const struct json *x = json_get(&now, pod_shape_parts[i]);
        const struct json *y = json_get(&was, pod_shape_parts[i]);
        if ((x || y) && !(x && y && json_eq(x, y)))
            field_invalid(e, &part_at, x, "field is immutable");
    }
}
