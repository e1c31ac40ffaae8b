/* job.c - Jobs: defaults that depend on other fields, what the strategy generates
 *
 * Source: jobs reference 1.2, 1.5.
 */
#include "api/rules_priv.h"

#include "api/kinds.h"
#include "value/names.h"
#include "value/strs.h"

/* Past both, failed indexes in bad places make lists too long to be kept. */
#define MANY_COMPLETIONS 100000
#define MANY_AT_A_TIME 10000

static const struct str uid_labels[] = {S_INIT("controller-uid"),
                                        S_INIT("batch.kubernetes.io/controller-uid")};
static const struct str name_labels[] = {S_INIT("job-name"),
                                         S_INIT("batch.kubernetes.io/job-name")};

/* A Job without labels takes those of its template. */
const struct json *job_defaults(struct arena *a, const struct json *v)
{
    const struct json *labels = json_path(v, "spec", "template", "metadata", "labels", NULL);

    if (json_len(json_path(v, "metadata", "labels", NULL)) || !json_len(labels))
        return v;
    return json_with(a, v, *labels, "metadata", "labels", NULL);
}

const struct json *job_spec_defaults(struct arena *a, const struct json *v)
{
    bool has_completions = json_has(json_getz(v, "completions"));
    bool has_parallelism = json_has(json_getz(v, "parallelism"));

    if (!has_completions && !has_parallelism)
        v = json_with(a, v, json_of_i64(1), "completions", NULL);
    if (!has_parallelism)
        v = json_with(a, v, json_of_i64(1), "parallelism", NULL);
    if (!json_has(json_getz(v, "backoffLimit"))) {
        bool is_per_index = json_has(json_getz(v, "backoffLimitPerIndex"));
        v = json_with(a, v, json_of_i64(is_per_index ? INT32_MAX : 6), "backoffLimit", NULL);
    }
    if (!json_has(json_getz(v, "podReplacementPolicy"))) {
        bool has_policy = json_has(json_getz(v, "podFailurePolicy"));
        v = json_with(a, v, json_of_str(has_policy ? S("Failed") : S("TerminatingOrFailed")),
                      "podReplacementPolicy", NULL);
    }
    return v;
}

static void add_missing(struct json_obj *labels, const struct json *was, const struct str *keys,
                        size_t n, struct str value)
{
    for (size_t i = 0; i < n; i++)
        if (!json_get(was, keys[i]))
            obj_set(labels, keys[i], json_of_str(value));
}

/* The labels and the selector by which the Job knows its own pods. */
static const struct json *generate_selector(struct arena *a, const struct json *tree)
{
    const struct json *meta = json_getz(tree, "metadata");
    struct str uid = json_str(json_getz(meta, "uid")), name = json_str(json_getz(meta, "name"));
    const struct json *was = json_path(tree, "spec", "template", "metadata", "labels", NULL);
    struct json_obj labels = obj_from(a, was);

    add_missing(&labels, was, uid_labels, countof(uid_labels), uid);
    add_missing(&labels, was, name_labels, countof(name_labels), name);
    tree =
        json_with(a, tree, obj_done(&labels), "spec", "template", "metadata", "labels", NULL);
    const struct json *match = json_path(tree, "spec", "selector", "matchLabels", NULL);
    struct json_obj wanted = obj_from(a, match);
    add_missing(&wanted, match, &uid_labels[1], 1, uid);
    return json_with(a, tree, obj_done(&wanted), "spec", "selector", "matchLabels", NULL);
}

/* A Job that names a queue waits for it: Kueue's mutating webhook (Kueue reference 8.1). */
static const struct json *hold_for_queue(struct arena *a, const struct json *tree)
{
    const struct json *labels = json_path(tree, "metadata", "labels", NULL);

    if (json_str(json_getz(labels, "kueue.x-k8s.io/queue-name")).len == 0)
        return tree;
    return json_with(a, tree, json_of_bool(true), "spec", "suspend", NULL);
}

const struct json *job_prepare(const struct api_prepare *p, const struct json *tree)
{
    if (p->old)
        return tree;
    tree = hold_for_queue(p->arena, tree);
    if (!json_bool(json_path(tree, "spec", "manualSelector", NULL), false))
        tree = generate_selector(p->arena, tree);
    return tree;
}

struct str_list job_warnings(struct arena *a, const struct json *tree, const struct json *old)
{
    const struct json *spec = json_getz(tree, "spec");
    struct str_list out = {.at = arena_array(a, struct str, 2)};
    struct name_faults faults =
        name_check(NAME_DNS_LABEL, json_str(json_path(tree, "metadata", "name", NULL)));

    if (!old && faults.n)
        out.at[out.len++] = str_printf(
            a,
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            "surprising behavior; a DNS label is recommended: [%.*s]",
            STR_ARG(name_fault(a, &faults, 0)));
    if (str_eqz(json_str(json_getz(spec, "completionMode")), "Indexed") &&
        json_i64(json_getz(spec, "completions"), 0) > MANY_COMPLETIONS &&
        json_i64(json_getz(spec, "parallelism"), 0) > MANY_AT_A_TIME)
        out.at[out.len++] = S(
            "spec: of an Indexed Job with more than 100000 completions and a parallelism over "
            "10000 the completed indexes may not be tracked, where many fail");
    return out;
}
