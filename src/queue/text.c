/* text.c - decisions in words and numbers that a person can act on */
#include "queue/queue.h"

#include "api/resource_list.h"

struct str queue_reason_text(enum queue_reason r)
{
    static const struct str texts[] = {
#define REASON_TEXT(name, text) S_INIT(text),
        QUEUE_REASONS(REASON_TEXT)
#undef REASON_TEXT
    };
    return r < countof(texts) ? texts[r] : S("");
}

struct str queue_cause_name(enum queue_cause_code code)
{
    static const struct str texts[] = {
#define CAUSE_TEXT(name, text) S_INIT(text),
        QUEUE_CAUSES(CAUSE_TEXT)
#undef CAUSE_TEXT
    };
    return code < countof(texts) ? texts[code] : S("");
}

struct str queue_victim_reason_text(enum queue_victim_reason r)
{
    static const struct str texts[] = {
        [IN_CLUSTER_QUEUE] = S_INIT("InClusterQueue"),
        [IN_COHORT_RECLAMATION] = S_INIT("InCohortReclamation"),
        [IN_COHORT_FAIR_SHARING] = S_INIT("InCohortFairSharing"),
        [IN_COHORT_BORROWING] = S_INIT("InCohortReclaimWhileBorrowing"),
        [FLAVOR_MIGRATION] = S_INIT("FlavorMigration"),
    };
    return r < countof(texts) ? texts[r] : S("");
}

/* For people: the ceiling has a word of its own. */
static struct str shown(struct arena *a, struct str resource, int64_t amount)
{
    return amount == AMOUNT_UNLIMITED ? S("<unlimited>")
                                      : resource_units_text(a, resource, amount);
}

/* ---- causes ---- */

struct str queue_cause_text(struct arena *a, const struct queue_cause *c)
{
    struct str f = c->flavor, r = c->resource;

    switch (c->code) {
    case CAUSE_FLAVOR_MISSING:
        return str_printf(a, "flavor %.*s not found", STR_ARG(f));
    case CAUSE_TAINT:
        return str_printf(a, "untolerated taint %.*s in flavor %.*s", STR_ARG(c->detail),
                          STR_ARG(f));
    case CAUSE_AFFINITY:
        return str_printf(a, "flavor %.*s doesn't match node affinity", STR_ARG(f));
    case CAUSE_TOPOLOGY_LEVEL:
        return str_printf(a, "Flavor \"%.*s\" does not contain the requested level",
                          STR_ARG(f));
    case CAUSE_TOPOLOGY_UNSUPPORTED:
        return str_printf(a, "Flavor \"%.*s\" does not support TopologyAwareScheduling",
                          STR_ARG(f));
    case CAUSE_TOPOLOGY_ONLY:
        return str_printf(a, "Flavor \"%.*s\" supports only TopologyAwareScheduling",
                          STR_ARG(f));
    case CAUSE_TOPOLOGY_MISSING:
        return str_printf(a, "Flavor \"%.*s\" information missing in TAS cache", STR_ARG(f));
    case CAUSE_TOPOLOGY_NO_FIT:
        return c->detail;
    case CAUSE_SLICE_FLAVOR:
        return str_printf(a,
                          "could not assign %.*s flavor since the original workload is "
                          "assigned: %.*s",
                          STR_ARG(f), STR_ARG(c->detail));
    case CAUSE_NOT_NOMINATED:
        return str_printf(a,
                          "skipping flavor %.*s as it is not found in the nomination mapping "
                          "for resource %.*s",
                          STR_ARG(f), STR_ARG(r));
    case CAUSE_NOT_PROVIDED:
        return str_printf(a, "flavor %.*s does not provide resource %.*s", STR_ARG(f),
                          STR_ARG(r));
    case CAUSE_NOT_COVERED:
        return str_printf(a, "resource %.*s unavailable in ClusterQueue", STR_ARG(r));
    case CAUSE_OVER_CAPACITY:
        return str_printf(a,
                          "insufficient quota for %.*s in flavor %.*s, previously considered "
                          "podsets requests (%.*s) + current podset request (%.*s) > maximum "
                          "capacity (%.*s)",
                          STR_ARG(r), STR_ARG(f), STR_ARG(shown(a, r, c->before)),
                          STR_ARG(shown(a, r, c->asked)), STR_ARG(shown(a, r, c->limit)));
    case CAUSE_SHORT:
        return str_printf(a,
                          "insufficient unused quota for %.*s in flavor %.*s, %.*s more needed",
                          STR_ARG(r), STR_ARG(f), STR_ARG(shown(a, r, c->short_by)));
    case CAUSE_LOST_RACE:
        return S("Workload no longer fits after processing another workload");
    case CAUSE_OVERLAP:
        return S("Workload has overlapping preemption targets with another workload");
    case CAUSE_NO_VICTIM:
        return S("no workload may be preempted for it");
    case CAUSE_QUEUE_INACTIVE:
        return str_printf(a, "ClusterQueue %.*s is inactive", STR_ARG(c->owner));
    case CAUSE_QUEUE_MISSING:
        return str_printf(a, "ClusterQueue %.*s not found", STR_ARG(c->owner));
    case CAUSE_NAMESPACE:
        if (c->detail.len)
            return str_printf(a, "workload namespace \"%.*s\" does not exist",
                              STR_ARG(c->detail));
        return S("workload namespace doesn't match ClusterQueue selector");
    case CAUSE_INVALID_REQUESTS:
        return c->detail;
    case CAUSE_CHECKS:
        return S("The workload has failed admission checks");
    case CAUSE_PODS_NOT_READY:
        return S("waiting for all admitted workloads to be in PodsReady condition");
    case CAUSE_PREEMPTING:
        return str_printf(a, "Pending the preemption of %" PRId64 " workload(s)", c->asked);
    case CAUSE_GATE_CLOSED:
        return S("Workload requires preemption, but it's gated");
    case CAUSE_FIRST_IN_LINE:
        return str_printf(a, "StrictFIFO: waiting behind %.*s", STR_ARG(c->detail));
    case CAUSE_SAME_SHAPE:
        return S("Bypassed scheduling evaluation because an equivalent workload recently "
                 "failed");
    case CAUSE_VARIANT:
        return S("A more favorable variant is already admitted");
    case CAUSE_COUNT:
        break;
    }
    return S("");
}

static int text_cmp(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

static bool is_flavor_cause(enum queue_cause_code code)
{
    return code < CAUSE_LOST_RACE;
}

/* "couldn't assign flavors to pod set x: ...; couldn't ..." */
static void add_assignment_text(struct arena *a, struct buf *b,
                                const struct queue_cause *causes, size_t n)
{
    VEC(struct str) texts = {0};

    for (size_t i = 0; i < n; i++) {
        if (!is_flavor_cause(causes[i].code))
            continue;
        vec_push_in(a, &texts, queue_cause_text(a, &causes[i]));
        bool is_last = i + 1 == n || !is_flavor_cause(causes[i + 1].code) ||
                       !str_eq(causes[i + 1].podset, causes[i].podset);
        if (!is_last)
            continue;
        vec_sort(&texts, text_cmp);
        buf_printf(b, "%scouldn't assign flavors to pod set %.*s: ", b->len ? "; " : "",
                   STR_ARG(causes[i].podset));
        buf_add(b, str_join(a, texts.at, texts.len, S(", ")));
        texts.len = 0;
    }
}

struct str queue_message(struct arena *a, enum queue_outcome outcome,
                         const struct queue_cause *causes, size_t n_causes, size_t n_victims)
{
    struct buf b = buf_in(a, 256);

    if (outcome != OUTCOME_SKIPPED && outcome != OUTCOME_DEFERRED)
        add_assignment_text(a, &b, causes, n_causes);
    switch (outcome) {
    case OUTCOME_PREEMPTING:
        buf_printf(&b, ". Pending the preemption of %zu workload(s)", n_victims);
        break;
    case OUTCOME_REPLACING:
        return S("Waiting for a less favorable variant to stop");
    case OUTCOME_DEFERRED:
        return S("Workload has overlapping preemption targets with another workload, but will "
                 "fit after these preemptions complete");
    case OUTCOME_NO_FIT:
    case OUTCOME_NO_VICTIMS:
        break;
    default:
        for (size_t i = 0; i < n_causes; i++)
            if (!is_flavor_cause(causes[i].code))
                return queue_cause_text(a, &causes[i]);
    }
    return buf_str(&b);
}
