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

/* Words in braces stand for what the cause says. */
static const char *const cause_texts[CAUSE_COUNT] = {
    [CAUSE_FLAVOR_MISSING] = "flavor {flavor} not found",
    [CAUSE_TAINT] = "untolerated taint {detail} in flavor {flavor}",
    [CAUSE_AFFINITY] = "flavor {flavor} doesn't match node affinity",
    [CAUSE_TOPOLOGY_LEVEL] = "Flavor \"{flavor}\" does not contain the requested level",
    [CAUSE_TOPOLOGY_UNSUPPORTED] =
        "Flavor \"{flavor}\" does not support TopologyAwareScheduling",
    [CAUSE_TOPOLOGY_ONLY] = "Flavor \"{flavor}\" supports only TopologyAwareScheduling",
    [CAUSE_TOPOLOGY_MISSING] = "Flavor \"{flavor}\" information missing in TAS cache",
    [CAUSE_TOPOLOGY_NO_FIT] = "{detail}",
    [CAUSE_SLICE_FLAVOR] = "could not assign {flavor} flavor since the original workload is "
                           "assigned: {detail}",
    [CAUSE_NOT_NOMINATED] = "skipping flavor {flavor} as it is not found in the nomination "
                            "mapping for resource {resource}",
    [CAUSE_NOT_COVERED] = "resource {resource} unavailable in ClusterQueue",
    [CAUSE_OVER_CAPACITY] = "insufficient quota for {resource} in flavor {flavor}, previously "
                            "considered podsets requests ({before}) + current podset request "
                            "({asked}) > maximum capacity ({limit})",
    [CAUSE_SHORT] = "insufficient unused quota for {resource} in flavor {flavor}, {short} more "
                    "needed",
    [CAUSE_LOST_RACE] = "Workload no longer fits after processing another workload",
    [CAUSE_OVERLAP] = "Workload has overlapping preemption targets with another workload",
    [CAUSE_NO_VICTIM] = "no workload may be preempted for it",
    [CAUSE_QUEUE_INACTIVE] = "{detail} {owner} is inactive",
    [CAUSE_QUEUE_MISSING] = "{detail} {owner} doesn't exist",
    [CAUSE_NAMESPACE] = "workload namespace doesn't match ClusterQueue selector",
    [CAUSE_INVALID_REQUESTS] = "{detail}",
    [CAUSE_CHECKS] = "The workload has failed admission checks",
    [CAUSE_PODS_NOT_READY] = "waiting for all admitted workloads to be in PodsReady condition",
    [CAUSE_GATE_CLOSED] = "Workload requires preemption, but it's gated",
    [CAUSE_FIRST_IN_LINE] = "StrictFIFO: waiting behind {detail}",
    [CAUSE_SAME_SHAPE] =
        "Bypassed scheduling evaluation because an equivalent workload recently failed",
    [CAUSE_VARIANT] = "A more favorable variant is already admitted",
};

static struct str cause_field(struct arena *a, const struct queue_cause *c, struct str name)
{
    const struct {
        const char *name;
        const struct str *text;
        const int64_t *amount;
    } fields[] = {
        {"flavor",   &c->flavor,   NULL        },
        {"resource", &c->resource, NULL        },
        {"owner",    &c->owner,    NULL        },
        {"detail",   &c->detail,   NULL        },
        {"before",   NULL,         &c->before  },
        {"asked",    NULL,         &c->asked   },
        {"limit",    NULL,         &c->limit   },
        {"short",    NULL,         &c->short_by},
    };

    for (size_t i = 0; i < countof(fields); i++)
        if (str_eqz(name, fields[i].name))
            return fields[i].text ? *fields[i].text : shown(a, c->resource, *fields[i].amount);
    return S("");
}

struct str queue_cause_text(struct arena *a, const struct queue_cause *c)
{
    struct str rest = str_from(c->code < CAUSE_COUNT ? cause_texts[c->code] : NULL), part, name;
    struct buf b = buf_in(a, 128);

    if (c->code == CAUSE_NAMESPACE && c->detail.len)
        return str_printf(a, "workload namespace \"%.*s\" does not exist", STR_ARG(c->detail));
    while (str_cut(rest, '{', &part, &rest)) {
        buf_add(&b, part);
        str_cut(rest, '}', &name, &rest);
        buf_add(&b, cause_field(a, c, name));
    }
    buf_add(&b, part);
    return buf_str(&b);
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
