/* kueue_check.c - webhook rules of ClusterQueues, Cohorts and ResourceFlavors */
#include "api/kueue_check.h"

#include "api/rules_priv.h"
#include "value/names.h"
#include "value/quantity.h"
#include "value/selector.h"

#define MAX_FLAVORS 256      /* of all groups */
#define MAX_RESOURCES 256    /* covered, of all groups */
#define MAX_COMBINATIONS 512 /* flavors times resources of one group */
#define MAX_CONCURRENT_FLAVORS 16

uint32_t kueue_check_gate_find(struct str name)
{
    static const struct {
        const char *name;
        uint32_t gate;
    } gates[] = {
        {"AdmissionGatedBy",                        KUEUE_CHECK_ADMISSION_GATED_BY  },
        {"ConcurrentAdmission",                     KUEUE_CHECK_CONCURRENT_ADMISSION},
        {"ElasticJobsViaWorkloadSlices",            KUEUE_CHECK_ELASTIC_JOBS        },
        {"PriorityBoost",                           KUEUE_CHECK_PRIORITY_BOOST      },
        {"RejectUpdatesToCQWithInvalidOnFlavors",   KUEUE_CHECK_REJECT_ON_FLAVORS   },
        {"TASValidateWorkloadSliceSize",            KUEUE_CHECK_SLICE_SIZE          },
        {"TASMultiLayerTopology",                   KUEUE_CHECK_MULTI_LAYER         },
        {"TopologyAwareScheduling",                 KUEUE_CHECK_TOPOLOGY            },
        {"WorkloadIdentifierAnnotations",           KUEUE_CHECK_IDENTIFIERS         },
        {"WorkloadValidateResourcesAreNonNegative", KUEUE_CHECK_NON_NEGATIVE        },
        {"WorkloadValidationForPodSetMetadata",     KUEUE_CHECK_POD_SET_METADATA    },
    };

    for (size_t i = 0; i < countof(gates); i++) {
        if (str_eqz(name, gates[i].name))
            return gates[i].gate;
    }
    return 0;
}

/* A text as a bad value. */
static const struct json *text_value(struct field_errors *e, struct str s)
{
    return json_new(e->arena, json_of_str(s));
}

static const struct json *number_value(struct field_errors *e, size_t n)
{
    return json_new(e->arena, json_of_i64((int64_t)n));
}

static void check_label_key(struct field_errors *e, const struct field_path *at,
                            const struct json *v)
{
    struct name_faults faults = name_check(NAME_LABEL_KEY, json_str(v));

    for (size_t i = 0; i < faults.n; i++)
        field_invalid(e, at, v, "%.*s", STR_ARG(name_fault(e->arena, &faults, i)));
}

/* A quantity; false where there is none. A bad value of an error is its canonical text. */
static bool amount(struct field_errors *e, const struct json *v, struct quantity *out)
{
    struct str text = json_is(v, JSON_STRING) ? json_str(v) : json_text(e->arena, v);

    return json_has(v) && quantity_parse(e->arena, text, out, NULL) == 0;
}

static const struct json *amount_value(struct field_errors *e, const struct quantity *q)
{
    struct buf b = buf_in(e->arena, 32);

    quantity_write_canonical(&b, q);
    return text_value(e, buf_str(&b));
}

static void check_not_negative(struct field_errors *e, const struct field_path *at,
                               const struct quantity *q)
{
    if (quantity_sign(q) < 0)
        field_invalid(e, at, amount_value(e, q), "must be greater than or equal to 0");
}

/* ---- groups of resources ---- */

struct groups {
    struct field_errors *e;
    bool is_alone;  /* no cohort, or no parent: nothing to borrow from or lend to */
    bool is_cohort; /* may lend more than its own */
    MAP(bool) resources, flavors;
    size_t n_resources, n_flavors;
};

static void check_limits(struct groups *g, const struct field_path *at,
                         const struct json *quota)
{
    struct field_path nominal_at = field_child(at, S("nominalQuota"));
    struct field_path borrowing_at = field_child(at, S("borrowingLimit"));
    struct field_path lending_at = field_child(at, S("lendingLimit"));
    const char *alone =
        g->is_cohort ? "must be nil when parent is empty" : "must be nil when cohort is empty";
    struct quantity nominal, borrowing, lending;
    bool has_nominal = amount(g->e, json_getz(quota, "nominalQuota"), &nominal);

    if (has_nominal)
        check_not_negative(g->e, &nominal_at, &nominal);
    if (amount(g->e, json_getz(quota, "borrowingLimit"), &borrowing)) {
        if (g->is_alone)
            field_invalid(g->e, &borrowing_at, amount_value(g->e, &borrowing), "%s", alone);
        check_not_negative(g->e, &borrowing_at, &borrowing);
    }
    if (!amount(g->e, json_getz(quota, "lendingLimit"), &lending))
        return;
    check_not_negative(g->e, &lending_at, &lending);
    if (g->is_alone)
        field_invalid(g->e, &lending_at, amount_value(g->e, &lending), "%s", alone);
    if (!g->is_cohort && has_nominal && quantity_cmp(&lending, &nominal) > 0)
        field_invalid(g->e, &lending_at, amount_value(g->e, &lending),
                      "must be less than or equal to the nominalQuota");
}

/* A flavor's resources follow the covered ones, one by one. */
static void check_flavor(struct groups *g, const struct field_path *at,
                         const struct json *flavor, const struct json *covered)
{
    struct field_path list_at = field_child(at, S("resources"));
    struct field_path name_at = field_child(at, S("name"));
    const struct json *list = json_getz(flavor, "resources"), *name = json_getz(flavor, "name");

    for (size_t k = 0; k < json_len(list) && k < json_len(covered); k++) {
        struct field_path item = field_item(&list_at, k);
        struct field_path resource_at = field_child(&item, S("name"));
        const struct json *resource = json_getz(json_at(list, k), "name");
        if (!str_eq(json_str(resource), json_str(json_at(covered, k))))
            field_invalid(g->e, &resource_at, resource,
                          "must match the name in coveredResources");
        check_limits(g, &item, json_at(list, k));
    }
    bool *seen = map_put(&g->flavors, json_str(name));
    if (*seen)
        field_duplicate(g->e, &name_at, name);
    *seen = true;
}

static void check_group(struct groups *g, const struct field_path *at, const struct json *group)
{
    struct field_path covered_at = field_child(at, S("coveredResources"));
    struct field_path flavors_at = field_child(at, S("flavors"));
    const struct json *covered = json_getz(group, "coveredResources");
    const struct json *flavors = json_getz(group, "flavors");

    json_each (i, covered) {
        struct field_path item = field_item(&covered_at, i);
        const struct json *name = json_at(covered, i);
        check_label_key(g->e, &item, name);
        bool *seen = map_put(&g->resources, json_str(name));
        if (*seen)
            field_duplicate(g->e, &item, name);
        *seen = true;
    }
    json_each (i, flavors) {
        struct field_path item = field_item(&flavors_at, i);
        check_flavor(g, &item, json_at(flavors, i), covered);
    }
    g->n_resources += json_len(covered);
    g->n_flavors += json_len(flavors);
}

static void check_groups(struct groups *g, const struct field_path *spec_at,
                         const struct json *list)
{
    struct field_path at = field_child(spec_at, S("resourceGroups"));

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        check_group(g, &item, json_at(list, i));
    }
    map_fini(&g->resources);
    map_fini(&g->flavors);
}

static void check_totals(struct groups *g, const struct field_path *spec_at,
                         const struct json *list)
{
    struct field_path at = field_child(spec_at, S("resourceGroups"));

    if (g->n_flavors > MAX_FLAVORS)
        field_invalid(g->e, &at, number_value(g->e, g->n_flavors),
                      "must have at most %d flavors in all groups", MAX_FLAVORS);
    if (g->n_resources > MAX_RESOURCES)
        field_invalid(g->e, &at, number_value(g->e, g->n_resources),
                      "must have at most %d covered resources in all groups", MAX_RESOURCES);
    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        const struct json *flavors = json_getz(json_at(list, i), "flavors");
        size_t n = 0;
        json_each (k, flavors)
            n += json_len(json_getz(json_at(flavors, k), "resources"));
        if (n > MAX_COMBINATIONS)
            field_invalid(g->e, &item, number_value(g->e, n),
                          "must have at most %d combinations of flavor and resource",
                          MAX_COMBINATIONS);
    }
}

static void check_fair_sharing(struct field_errors *e, const struct field_path *spec_at,
                               const struct json *spec)
{
    struct field_path at = field_child(spec_at, S("fairSharing"));
    struct quantity weight, least = quantity_of(1, QUANTITY_NANO, QUANTITY_DECIMAL_SI);

    if (!amount(e, json_path(spec, "fairSharing", "weight", NULL), &weight))
        return;
    check_not_negative(e, &at, &weight);
    if (quantity_sign(&weight) > 0 && quantity_cmp(&weight, &least) <= 0)
        field_invalid(e, &at, amount_value(e, &weight), "When not 0, weight must be > 10e-9");
}

void kueue_check_cohort(struct field_errors *e, const struct json *cohort)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    const struct json *spec = json_getz(cohort, "spec");
    struct groups g = {.e = e,
                       .is_cohort = true,
                       .is_alone = json_str(json_getz(spec, "parentName")).len == 0};

    check_fair_sharing(e, &spec_at, spec);
    check_groups(&g, &spec_at, json_getz(spec, "resourceGroups"));
}

/* ---- ClusterQueues ---- */

/* Kueue asks less of a selector than Kubernetes itself. */
static void check_namespaces(struct field_errors *e, const struct field_path *spec_at,
                             const struct json *selector)
{
    struct field_path at = field_child(spec_at, S("namespaceSelector"));

    if (json_has(selector))
        selector_check_json(e, &at, selector);
}

static void check_preemption(struct field_errors *e, const struct field_path *spec_at,
                             const struct json *spec)
{
    struct field_path at = field_child(spec_at, S("preemption"));
    const struct json *v = json_getz(spec, "preemption");
    struct str borrow = json_str(json_path(v, "borrowWithinCohort", "policy", NULL));

    if (str_eqz(json_str(json_getz(v, "reclaimWithinCohort")), "Never") && borrow.len &&
        !str_eqz(borrow, "Never"))
        field_invalid(e, &at, v,
                      "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never");
}

static void check_fungibility(struct field_errors *e, const struct field_path *spec_at,
                              const struct json *spec)
{
    struct field_path fungibility_at = field_child(spec_at, S("flavorFungibility"));
    struct field_path at = field_child(&fungibility_at, S("preference"));
    const struct json *v = json_getz(spec, "flavorFungibility");
    const struct json *preference = json_getz(v, "preference");

    if (json_has(preference) &&
        (!str_eqz(json_str(json_getz(v, "whenCanBorrow")), "TryNextFlavor") ||
         !str_eqz(json_str(json_getz(v, "whenCanPreempt")), "TryNextFlavor")))
        field_invalid(e, &at, preference,
                      "can only be set when both whenCanBorrow and whenCanPreempt are "
                      "TryNextFlavor");
}

static bool has_flavor(const struct json *spec, struct str name)
{
    const struct json *groups = json_getz(spec, "resourceGroups");

    json_each (i, groups) {
        const struct json *flavors = json_getz(json_at(groups, i), "flavors");
        json_each (k, flavors) {
            if (str_eq(json_str(json_getz(json_at(flavors, k), "name")), name))
                return true;
        }
    }
    return false;
}

static void check_concurrent(struct field_errors *e, const struct field_path *spec_at,
                             const struct json *spec)
{
    struct field_path groups_at = field_child(spec_at, S("resourceGroups"));
    struct field_path first_at = field_item(&groups_at, 0);
    struct field_path flavors_at = field_child(&first_at, S("flavors"));
    struct field_path policy_at = field_child(spec_at, S("concurrentAdmissionPolicy"));
    struct field_path migration_at = field_child(&policy_at, S("migration"));
    struct field_path limits_at = field_child(&migration_at, S("constraints"));
    struct field_path last_at = field_child(&limits_at, S("lastAcceptableFlavorName"));
    struct field_path strategy_at = field_child(spec_at, S("queueingStrategy"));
    const struct json *groups = json_getz(spec, "resourceGroups");
    const struct json *migration =
        json_path(spec, "concurrentAdmissionPolicy", "migration", NULL);
    const struct json *limits = json_getz(migration, "constraints");
    const struct json *last = json_getz(limits, "lastAcceptableFlavorName");
    struct str mode = json_str(json_getz(migration, "mode"));
    size_t n_flavors = json_len(json_getz(json_at(groups, 0), "flavors"));

    if (json_len(groups) != 1)
        field_invalid(e, &groups_at, number_value(e, json_len(groups)),
                      "must have exactly one resource group with concurrentAdmissionPolicy");
    else if (n_flavors > MAX_CONCURRENT_FLAVORS)
        field_invalid(e, &flavors_at, number_value(e, n_flavors),
                      "must have at most %d flavors with concurrentAdmissionPolicy",
                      MAX_CONCURRENT_FLAVORS);
    if (json_has(limits) && mode.len && !str_eqz(mode, "TryPreferredFlavors"))
        field_forbidden(e, &limits_at, "only with mode TryPreferredFlavors");
    else if (json_has(last) && !has_flavor(spec, json_str(last)))
        field_invalid(e, &last_at, last, "must be a flavor of the ClusterQueue");
    if (str_eqz(json_str(json_getz(spec, "queueingStrategy")), "StrictFIFO"))
        field_invalid(e, &strategy_at, json_getz(spec, "queueingStrategy"),
                      "must not be StrictFIFO with concurrentAdmissionPolicy");
}

/* Are both lists the same set of texts? */
static bool is_same_set(const struct json *a, const struct json *b)
{
    if (json_len(a) != json_len(b))
        return false;
    json_each (i, a) {
        bool is_there = false;
        json_each (k, b)
            is_there |= json_eq(json_at(a, i), json_at(b, k));
        if (!is_there)
            return false;
    }
    return true;
}

static bool has_same_flavors(const struct json *spec, const struct json *old)
{
    const struct json *sides[] = {spec, old};

    for (size_t s = 0; s < 2; s++) {
        const struct json *groups = json_getz(sides[s], "resourceGroups");
        json_each (i, groups) {
            const struct json *flavors = json_getz(json_at(groups, i), "flavors");
            json_each (k, flavors) {
                if (!has_flavor(sides[1 - s], json_str(json_getz(json_at(flavors, k), "name"))))
                    return false;
            }
        }
    }
    return true;
}

static const struct json *check_rules_of(const struct json *spec)
{
    return json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL);
}

/* Is the entry as it was, among the same flavors? Then it was judged before. */
static bool is_old_entry(const struct json *entry, const struct json *spec,
                         const struct json *old)
{
    const struct json *list = check_rules_of(old);

    json_each (i, list) {
        const struct json *was = json_at(list, i);
        if (json_eq(json_getz(was, "name"), json_getz(entry, "name")) &&
            is_same_set(json_getz(was, "onFlavors"), json_getz(entry, "onFlavors")))
            return has_same_flavors(spec, old);
    }
    return false;
}

static void check_on_flavors(struct field_errors *e, uint32_t gates,
                             const struct field_path *spec_at, const struct json *spec,
                             const struct json *old)
{
    struct field_path strategy_at = field_child(spec_at, S("admissionChecksStrategy"));
    struct field_path at = field_child(&strategy_at, S("admissionChecks"));
    const struct json *list = check_rules_of(spec);

    json_each (i, list) {
        struct field_path item = field_item(&at, i);
        struct field_path flavors_at = field_child(&item, S("onFlavors"));
        const struct json *flavors = json_getz(json_at(list, i), "onFlavors");
        if (old && !(gates & KUEUE_CHECK_REJECT_ON_FLAVORS) &&
            is_old_entry(json_at(list, i), spec, old))
            continue;
        json_each (k, flavors) {
            struct field_path flavor_at = field_item(&flavors_at, k);
            if (!has_flavor(spec, json_str(json_at(flavors, k))))
                field_not_supported(e, &flavor_at, json_at(flavors, k), NULL, 0);
        }
    }
}

void kueue_check_cluster_queue(struct field_errors *e, uint32_t gates, const struct json *queue,
                               const struct json *old)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path policy_at = field_child(&spec_at, S("concurrentAdmissionPolicy"));
    const struct json *spec = json_getz(queue, "spec");
    const struct json *groups = json_getz(spec, "resourceGroups");
    const struct json *policy = json_getz(spec, "concurrentAdmissionPolicy");
    const struct json *old_policy = json_path(old, "spec", "concurrentAdmissionPolicy", NULL);
    struct groups g = {.e = e, .is_alone = json_str(json_getz(spec, "cohortName")).len == 0};

    check_groups(&g, &spec_at, groups);
    check_namespaces(e, &spec_at, json_getz(spec, "namespaceSelector"));
    check_preemption(e, &spec_at, spec);
    check_fungibility(e, &spec_at, spec);
    check_fair_sharing(e, &spec_at, spec);
    check_totals(&g, &spec_at, groups);
    if ((gates & KUEUE_CHECK_CONCURRENT_ADMISSION) && json_has(policy))
        check_concurrent(e, &spec_at, spec);
    check_on_flavors(e, gates, &spec_at, spec, json_getz(old, "spec"));
    if (old && json_has(policy) + json_has(old_policy) > 0 && !json_eq(policy, old_policy))
        field_invalid(e, &policy_at, policy, "field is immutable");
}

/* ---- ResourceFlavors ---- */

static void check_taints(struct field_errors *e, const struct field_path *spec_at,
                         const struct json *taints)
{
    struct field_path at = field_child(spec_at, S("nodeTaints"));
    struct json_set seen = {.arena = e->arena};

    json_each (i, taints) {
        const struct json *taint = json_at(taints, i);
        struct field_path item = field_item(&at, i);
        struct field_path key_at = field_child(&item, S("key"));
        struct field_path value_at = field_child(&item, S("value"));
        struct name_faults faults =
            name_check(NAME_LABEL_VALUE, json_str(json_getz(taint, "value")));
        check_label_key(e, &key_at, json_getz(taint, "key"));
        for (size_t k = 0; k < faults.n; k++)
            field_invalid(e, &value_at, json_getz(taint, "value"), "%.*s",
                          STR_ARG(name_fault(e->arena, &faults, k)));
        struct json_obj key = obj_in(e->arena);
        json_each_member (m, taint)
            if (str_eqz(m->name, "key") || str_eqz(m->name, "effect"))
                obj_add(&key, m->name, m->value);
        if (json_set_put(&seen, json_new(e->arena, obj_done(&key))))
            field_duplicate(e, &item, taint);
    }
}

void kueue_check_resource_flavor(struct field_errors *e, const struct json *flavor)
{
    struct field_path spec_at = field_child(NULL, S("spec"));
    struct field_path labels_at = field_child(&spec_at, S("nodeLabels"));
    struct field_path tolerations_at = field_child(&spec_at, S("tolerations"));
    const struct json *spec = json_getz(flavor, "spec");
    const struct json *tolerations = json_getz(spec, "tolerations");

    labels_check(e, &labels_at, json_getz(spec, "nodeLabels"));
    check_taints(e, &spec_at, json_getz(spec, "nodeTaints"));
    json_each (i, tolerations) {
        struct field_path item = field_item(&tolerations_at, i);
        struct field_path key_at = field_child(&item, S("key"));
        const struct json *key = json_getz(json_at(tolerations, i), "key");
        if (json_str(key).len)
            check_label_key(e, &key_at, key);
    }
}

/* ---- by the names that the tables use ---- */

void kueue_cluster_queue_check(const struct schema_at *at)
{
    kueue_check_cluster_queue(at->errors, KUEUE_CHECK_DEFAULT, at->v, at->old);
}

void kueue_cohort_check(const struct schema_at *at)
{
    kueue_check_cohort(at->errors, at->v);
}

void kueue_resource_flavor_check(const struct schema_at *at)
{
    kueue_check_resource_flavor(at->errors, at->v);
}

void kueue_workload_check(const struct schema_at *at)
{
    kueue_check_workload(at->errors, KUEUE_CHECK_DEFAULT, at->v, at->old, at->known != NULL);
}
