/* box.h - queues and workloads in a line of text, for tests of this room
 *
 *     flavor f | cohort c parent p quota 3 | cq a cohort c quota 4 | w a1 a 2 prio 9
 *
 * One statement between bars; everything is cpu of flavor f in namespace ns; each cq has a
 * LocalQueue lq-NAME; `w NAME CQ CPU` waits, or holds quota with `running` (`on` FLAVOR); `done
 * NAME` ends it; `pods N least M` of that size each, `and CPU` a second podset; `back` is
 * `done` and `w`, for one that was evicted; `gone CQ` deletes a ClusterQueue; `gpu N` of a cq
 * is quota of a second resource, of a `w` what it asks of it.
 */
#pragma once

#include "base/testing.h"
#include "queue/load.h"

#define NOW ((struct instant){1767225600 * SECOND_NS})

struct box {
    struct queue_engine *e;
    struct arena a;
    struct queue_config config; /* defaults where its gates are 0 */
    struct queue_loader loader;
    int64_t created;
};

static inline void box_open(struct box *b)
{
    b->a = arena_sized(64 << 10);
    if (!b->config.gates)
        b->config.gates = QUEUE_GATES_DEFAULT;
    b->loader.config = &b->config;
    b->e = queue_new(&b->config);
    queue_put_namespace(b->e, S("ns"), (struct queue_labels){0});
}

static inline void box_close(struct box *b)
{
    queue_free(b->e);
    arena_fini(&b->a);
}

static inline struct str box_word(struct str *line)
{
    struct str w;
    *line = str_trim(*line);
    str_cut(*line, ' ', &w, line);
    return w;
}

static inline bool box_option(struct str line, const char *name, struct str *value)
{
    while (line.len)
        if (str_eqz(box_word(&line), name)) {
            *value = box_word(&line);
            return true;
        }
    return false;
}

static inline bool box_flag(struct str line, const char *name)
{
    struct str value;
    return box_option(line, name, &value);
}

static inline void box_put(struct box *b, struct str json)
{
    struct err err = {0};
    const struct json *o = json_parse(&b->a, json, NULL, &err);

    if (!o)
        check_same(err_str(&err), S("no error"));
    check(queue_put_object(b->e, &b->a, o, &b->loader, NOW));
}

static inline struct str box_quota(struct box *b, struct str line)
{
    struct buf out = buf_in(&b->a, 256);
    struct str v = S("0"), gpu;

    box_option(line, "quota", &v);
    buf_printf(&out,
               "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"%s],\"flavors\":[{\"name\":"
               "\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%.*s\"",
               box_option(line, "gpu", &gpu) ? ",\"gpu\"" : "", STR_ARG(v));
    if (box_option(line, "borrow", &v))
        buf_printf(&out, ",\"borrowingLimit\":\"%.*s\"", STR_ARG(v));
    if (box_option(line, "lend", &v))
        buf_printf(&out, ",\"lendingLimit\":\"%.*s\"", STR_ARG(v));
    buf_printf(&out, "}");
    if (box_option(line, "gpu", &gpu)) /* quota of a second resource */
        buf_printf(&out, ",{\"name\":\"gpu\",\"nominalQuota\":\"%.*s\"}", STR_ARG(gpu));
    buf_printf(&out, "]}");
    if (box_option(line, "second", &v)) /* quota of a second flavor, g */
        buf_printf(
            &out,
            ",{\"name\":\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%.*s\"}]}",
            STR_ARG(v));
    buf_printf(&out, "]}]");
    return buf_str(&out);
}

static inline struct str box_preemption(struct box *b, struct str line)
{
    struct buf out = buf_in(&b->a, 256);
    struct str v;

    if (box_option(line, "within", &v))
        buf_printf(&out, "\"withinClusterQueue\":\"%.*s\",", STR_ARG(v));
    if (box_option(line, "borrowers", &v)) {
        struct str threshold = S("null");
        box_option(line, "threshold", &threshold);
        buf_printf(
            &out, "\"borrowWithinCohort\":{\"policy\":\"%.*s\",\"maxPriorityThreshold\":%.*s},",
            STR_ARG(v), STR_ARG(threshold));
    }
    v = S("Never");
    box_option(line, "reclaim", &v);
    buf_printf(&out, "\"reclaimWithinCohort\":\"%.*s\"", STR_ARG(v));
    return buf_str(&out);
}

static inline void box_cq(struct box *b, struct str line)
{
    struct str name = box_word(&line), v;
    struct buf spec = buf_in(&b->a, 512);

    if (box_option(line, "cohort", &v))
        buf_printf(&spec, "\"cohortName\":\"%.*s\",", STR_ARG(v));
    if (box_flag(line, "strict"))
        buf_printf(&spec, "\"queueingStrategy\":\"StrictFIFO\",");
    if (box_option(line, "stop", &v))
        buf_printf(&spec, "\"stopPolicy\":\"%.*s\",", STR_ARG(v));
    struct str borrow = S("MayStopSearch"), preempt = S("TryNextFlavor"), prefer = S("");
    bool has_preference = box_option(line, "prefer", &prefer);
    if (has_preference) /* between flavors: both are looked at */
        borrow = S("TryNextFlavor");
    box_option(line, "can-borrow", &borrow);
    box_option(line, "can-preempt", &preempt);
    buf_printf(&spec,
               "\"flavorFungibility\":{\"whenCanBorrow\":\"%.*s\",\"whenCanPreempt\":\"%.*s\""
               "%s%.*s%s},",
               STR_ARG(borrow), STR_ARG(preempt), has_preference ? ",\"preference\":\"" : "",
               (int)(has_preference ? prefer.len : 0), prefer.at, has_preference ? "\"" : "");
    if (box_flag(line, "usage")) /* LocalQueues in the order of what they used */
        buf_printf(&spec, "\"admissionScope\":{\"admissionMode\":"
                          "\"UsageBasedAdmissionFairSharing\"},");
    if (box_option(line, "weight", &v))
        buf_printf(&spec, "\"fairSharing\":{\"weight\":\"%.*s\"},", STR_ARG(v));
    box_put(b, str_printf(&b->a,
                          "{\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%.*s\"},"
                          "\"spec\":{%.*s\"namespaceSelector\":{},\"preemption\":{%.*s},%.*s}}",
                          STR_ARG(name), STR_ARG(buf_str(&spec)),
                          STR_ARG(box_preemption(b, line)), STR_ARG(box_quota(b, line))));
    box_put(b, str_printf(&b->a,
                          "{\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq-%.*s\","
                          "\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":\"%.*s\"}}",
                          STR_ARG(name), STR_ARG(name)));
}

static inline void box_workload(struct box *b, struct str line)
{
    struct str name = box_word(&line), cq = box_word(&line), cpu = box_word(&line);
    struct str prio = S("0"), status = S(""), only, variant = S(""), lq, and = S("");
    struct str pods = S("1"), least = S("null"), on = S("f"), gpu = S("");

    b->created -= box_flag(line, "same"); /* the moment of the one before */
    int minute = (int)(b->created / 60 % 60), second = (int)(b->created % 60);

    lq = str_printf(&b->a, "lq-%.*s", STR_ARG(cq));
    box_option(line, "of", &lq); /* another LocalQueue */
    box_option(line, "prio", &prio);
    box_option(line, "on", &on);
    box_option(line, "pods", &pods);
    box_option(line, "least", &least);
    if (box_option(line, "gpu", &gpu))
        gpu = str_printf(&b->a, ",\"gpu\":\"%.*s\"", STR_ARG(gpu));
    if (box_option(line, "and", &and)) /* a second podset */
        and = str_printf(
            &b->a,
            ",{\"name\":\"and\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
            "\"resources\":{\"requests\":{\"cpu\":\"%.*s\"}}}]}}}",
            STR_ARG(and));
    if (box_flag(line, "running"))
        status = str_printf(
            &b->a,
            ",\"status\":{\"admission\":{\"clusterQueue\":\"%.*s\",\"podSetAssignments\":[{"
            "\"name\":\"main\",\"count\":1,\"flavors\":{\"cpu\":\"%.*s\"},\"resourceUsage\":{"
            "\"cpu\":\"%.*s\"}}]},\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
            "\"True\",\"lastTransitionTime\":\"2025-12-31T00:%02d:%02dZ\"},{\"type\":"
            "\"Admitted\",\"status\":\"True\"}]}",
            STR_ARG(cq), STR_ARG(on), STR_ARG(cpu), minute, second);
    if (box_option(line, "only", &only)) /* a variant of workload x for this flavor */
        variant = str_printf(
            &b->a,
            ",\"annotations\":{\"kueue.x-k8s.io/workload-allowed-resource-flavors\":\"%.*s\"},"
            "\"ownerReferences\":[{\"kind\":\"Workload\",\"name\":\"x\"}]",
            STR_ARG(only));
    box_put(b,
            str_printf(&b->a,
                       "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"%.*s\",\"namespace\":"
                       "\"ns\",\"uid\":\"%.*s\",\"creationTimestamp\":"
                       "\"2025-12-31T00:%02d:%02dZ\"%.*s},\"spec\":{\"queueName\":\"%.*s\","
                       "\"priority\":%.*s,\"podSets\":[{\"name\":\"main\",\"count\":%.*s,"
                       "\"minCount\":%.*s,"
                       "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
                       "\"requests\":{\"cpu\":\"%.*s\"%.*s}}}]}}}%.*s]}%.*s}",
                       STR_ARG(name), STR_ARG(name), minute, second, STR_ARG(variant),
                       STR_ARG(lq), STR_ARG(prio), STR_ARG(pods), STR_ARG(least), STR_ARG(cpu),
                       STR_ARG(gpu), STR_ARG(and), STR_ARG(status)));
    b->created++;
}

static inline void box_statement(struct box *b, struct str line)
{
    struct str what = box_word(&line), rest = line, name = box_word(&rest), parent = S("");

    if (str_eqz(what, "cq")) {
        box_cq(b, line);
    } else if (str_eqz(what, "w")) {
        box_workload(b, line);
    } else if (str_eqz(what, "back")) { /* it was evicted, and waits again */
        queue_delete_workload(b->e, str_printf(&b->a, "ns/%.*s", STR_ARG(name)));
        box_workload(b, line);
    } else if (str_eqz(what, "done")) {
        queue_delete_workload(b->e, str_printf(&b->a, "ns/%.*s", STR_ARG(name)));
    } else if (str_eqz(what, "gone")) {
        queue_delete_cq(b->e, name);
    } else if (str_eqz(what, "flavor")) {
        box_put(b, str_printf(&b->a,
                              "{\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"%.*s\"}}",
                              STR_ARG(name)));
    } else if (str_eqz(what, "cohort")) {
        box_option(line, "parent", &parent);
        box_put(b, str_printf(&b->a,
                              "{\"kind\":\"Cohort\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":"
                              "{\"parentName\":\"%.*s\",%.*s}}",
                              STR_ARG(name), STR_ARG(parent), STR_ARG(box_quota(b, line))));
    } else {
        check_same(what, S("a statement"));
    }
}

static inline void box_add(struct box *b, const char *text)
{
    struct str rest = str_from(text), line;

    while (rest.len) {
        str_cut(rest, '|', &line, &rest);
        box_statement(b, line);
    }
}

/* One cycle: "a1 admitted, b2 preempting b1 b0, ..." in the order of decisions. */
static inline struct str box_run(struct box *b)
{
    static const char *const words[] = {"admitted",   "preempting", "deferred", "no-fit",
                                        "no-victims", "skipped",    "gated",    "blocked",
                                        "refused",    "evicted",    "replacing"};
    struct queue_plan p = queue_cycle(b->e, &b->a, NOW);
    struct buf out = buf_in(&b->a, 256);

    for (size_t i = 0; i < p.len; i++) {
        const struct queue_decision *d = &p.at[i];
        buf_printf(&out, "%s%.*s %s", i ? ", " : "", STR_ARG(str_slice(d->key, 3, d->key.len)),
                   words[d->outcome]);
        if (d->outcome == OUTCOME_ADMITTED && d->n_podsets && d->podsets[0].n_flavors &&
            !str_eqz(d->podsets[0].flavors[0].flavor, "f"))
            buf_printf(&out, " on %.*s", STR_ARG(d->podsets[0].flavors[0].flavor));
        for (size_t v = 0; v < d->n_victims; v++)
            buf_printf(&out, " %.*s",
                       STR_ARG(str_slice(d->victims[v].key, 3, d->victims[v].key.len)));
    }
    return buf_str(&out);
}
