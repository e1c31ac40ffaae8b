/* metrics.c - how the queues do, in Prometheus' text, by Kueue's names
 *
 * Source of names, labels and buckets: kueue reference 10.2.
 */
#include "controllers/metrics.h"

#include "api/kinds.h"
#include "control/control.h"
#include "controllers/admit.h"
#include "object/object.h"
#include "queue/queue.h"
#include "value/time.h"

#define ROLE "replica_role=\"standalone\""

/* ---- what is counted ---- */

enum counter { COUNT_RESERVED, COUNT_ADMITTED, COUNT_FINISHED, COUNT_EVICTED, N_COUNTERS };
/* clang-format off */
static const struct {
    const char *name, *help;
    struct str condition;
} counters[N_COUNTERS] = {
    [COUNT_RESERVED] = {"kueue_quota_reserved_workloads_total",
                        "Workloads that were given quota.", S_INIT("QuotaReserved")},
    [COUNT_ADMITTED] = {"kueue_admitted_workloads_total",
                        "Workloads that were admitted.", S_INIT("Admitted")},
    [COUNT_FINISHED] = {"kueue_finished_workloads_total",
                        "Workloads that have ended.", S_INIT("Finished")},
    [COUNT_EVICTED] = {"kueue_evicted_workloads_total",
                       "Workloads that lost their quota.", S_INIT("Evicted")},
};
/* clang-format on */

/* Upper bounds in seconds; one more for everything. */
#define BUCKETS_MOST 16
static const double bounds[BUCKETS_MOST] = {1,   2.5, 5,    10,   20,   40,    80,    160,
                                            320, 640, 1280, 2560, 5120, 10240, 20480, 40960};

enum histogram { WAIT_RESERVED, WAIT_ADMITTED, N_HISTOGRAMS };
static const struct {
    const char *name, *help;
    size_t n_buckets;
    enum counter after; /* observed with this one */
} histograms[N_HISTOGRAMS] = {
    [WAIT_RESERVED] = {"kueue_quota_reserved_wait_time_seconds", "From creation to quota.",     14,
                       COUNT_RESERVED},
    [WAIT_ADMITTED] = {"kueue_admission_wait_time_seconds",      "From creation to admission.", 16,
                       COUNT_ADMITTED},
};

struct waits {
    uint64_t buckets[BUCKETS_MOST + 1];
    uint64_t count;
    double sum;
};

struct metrics {
    struct control *control;
    struct admit *admit;
    struct cache *workloads, *cqs;
    MAP(uint64_t) counts[N_COUNTERS];      /* by labels */
    MAP(struct waits) waits[N_HISTOGRAMS]; /* the same */
    struct arena labels;                   /* keys of both */
};

/* ---- seeing ---- */

/* Conditions of one version; NULL where it has none. */
struct seen {
    const struct json *at[N_COUNTERS], *requeued;
};

static struct seen see(const struct json *tree)
{
    const struct json *all = json_path(tree, "status", "conditions", NULL);
    struct seen out = {0};

    json_each (i, all) {
        const struct json *one = json_at(all, i);
        struct str type = json_str(json_getz(one, "type"));
        for (int c = 0; c < N_COUNTERS; c++)
            if (str_eq(type, counters[c].condition))
                out.at[c] = one;
        if (str_eq(type, S("Requeued")))
            out.requeued = one;
    }
    return out;
}

static bool is_true(const struct json *condition)
{
    return str_eq(json_str(json_getz(condition, "status")), S("True"));
}

/* Bits of the counters whose conditions hold. */
static uint32_t holding(const struct seen *seen)
{
    uint32_t bits = 0;

    for (int c = 0; c < N_COUNTERS; c++)
        if (is_true(seen->at[c]))
            bits |= 1u << c;
    return bits;
}

static bool needs_escape(char c)
{
    return c == '"' || c == '\\' || c == '\n';
}

/* A label's value: quotes, backslashes and line ends are escaped; of most there are none. */
static void add_value(struct buf *out, struct str value)
{
    size_t plain = 0;

    while (plain < value.len && !needs_escape(value.at[plain]))
        plain++;
    buf_add(out, str_slice(value, 0, plain));
    for (size_t i = plain; i < value.len; i++) {
        char c = value.at[i];
        if (c == '"' || c == '\\')
            buf_byte(out, '\\');
        if (c == '\n')
            buf_add(out, S("\\n"));
        else
            buf_byte(out, c);
    }
}

static void add_label(struct buf *out, const char *name, struct str value)
{
    buf_add(out, S(","));
    buf_add(out, str_from(name));
    buf_add(out, S("=\""));
    add_value(out, value);
    buf_byte(out, '"');
}

/* Of an eviction they say why; `evicted` is NULL of all others, whose labels are the same. */
static struct str labels_of(struct arena *a, const struct json *now, const struct json *old,
                            const struct json *evicted)
{
    struct buf out = buf_in(a, 128);
    struct str cq = json_str(json_path(now, "status", "admission", "clusterQueue", NULL));

    if (!cq.len)
        cq = json_str(json_path(old, "status", "admission", "clusterQueue", NULL));
    buf_add(&out, S(ROLE));
    add_label(&out, "cluster_queue", cq);
    add_label(&out, "priority_class",
              json_str(json_path(now, "spec", "priorityClassRef", "name", NULL)));
    if (evicted) {
        add_label(&out, "reason", json_str(json_getz(evicted, "reason")));
        add_label(&out, "underlying_cause", str_of(NULL, 0));
    }
    return buf_str(&out);
}

static void observe(struct metrics *m, enum histogram h, struct str labels, double seconds)
{
    struct waits *w = map_get(&m->waits[h], labels);
    size_t i = 0;

    if (!w)
        w = map_put(&m->waits[h], str_copy(&m->labels, labels));
    while (i < histograms[h].n_buckets && seconds > bounds[i])
        i++;
    w->buckets[i]++;
    w->count++;
    w->sum += seconds;
}

static struct instant changed_at(const struct json *condition)
{
    struct instant t = {0};

    time_parse(json_str(json_getz(condition, "lastTransitionTime")), &t, NULL);
    return t;
}

/* Since when it waits: since it was made, or came back. */
static struct instant waits_since(const struct json *tree, const struct seen *seen)
{
    struct instant t = {0};

    if (is_true(seen->requeued))
        return changed_at(seen->requeued);
    time_parse(json_str(json_path(tree, "metadata", "creationTimestamp", NULL)), &t, NULL);
    return t;
}

static double waited(struct instant since, struct instant until)
{
    struct span d = instant_sub(until, since);

    return d.ns > 0 ? (double)d.ns / (double)SECOND_NS : 0;
}

static void count(struct metrics *m, enum counter c, struct str labels)
{
    uint64_t *n = map_get(&m->counts[c], labels);

    if (!n)
        n = map_put(&m->counts[c], str_copy(&m->labels, labels));
    ++*n;
}

/* Only changes count: what was there at the start had happened before. */
static void on_workload(void *ctx, struct cache_event *e)
{
    struct metrics *m = ctx;

    if (!e->old || !e->now)
        return;
    const struct json *now = cache_event_now(e);
    struct seen seen = see(now);
    uint32_t bits = holding(&seen);
    if (!bits)
        return;
    const struct json *old = cache_event_old(e);
    struct seen before = see(old);
    bits &= ~holding(&before);
    if (!bits)
        return;
    struct str plain = labels_of(e->arena, now, old, NULL);
    for (int c = 0; c < N_COUNTERS; c++)
        if (bits >> c & 1)
            count(m, (enum counter)c,
                  c == COUNT_EVICTED ? labels_of(e->arena, now, old, seen.at[c]) : plain);
    for (size_t h = 0; h < N_HISTOGRAMS; h++)
        if (bits >> histograms[h].after & 1)
            observe(m, (enum histogram)h, plain,
                    waited(waits_since(now, &seen), changed_at(seen.at[histograms[h].after])));
}

/* ---- telling ---- */

static void head(struct buf *out, const char *name, const char *help, const char *type)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_counters(struct metrics *m, struct buf *out)
{
    for (int c = 0; c < N_COUNTERS; c++) {
        head(out, counters[c].name, counters[c].help, "counter");
        map_each (i, &m->counts[c])
            buf_printf(out, "%s{%.*s} %" PRIu64 "\n", counters[c].name,
                       STR_ARG(map_key(&m->counts[c], i)), *map_at(&m->counts[c], i));
    }
}

static void write_waits(struct buf *out, const char *name, struct str labels,
                        const struct waits *w, size_t n_buckets)
{
    uint64_t below = 0;

    for (size_t i = 0; i <= n_buckets; i++) {
        below += w->buckets[i];
        if (i < n_buckets)
            buf_printf(out, "%s_bucket{%.*s,le=\"%g\"} %" PRIu64 "\n", name, STR_ARG(labels),
                       bounds[i], below);
        else
            buf_printf(out, "%s_bucket{%.*s,le=\"+Inf\"} %" PRIu64 "\n", name, STR_ARG(labels),
                       below);
    }
    buf_printf(out, "%s_sum{%.*s} %g\n%s_count{%.*s} %" PRIu64 "\n", name, STR_ARG(labels),
               w->sum, name, STR_ARG(labels), w->count);
}

static void write_histograms(struct metrics *m, struct buf *out)
{
    for (int h = 0; h < N_HISTOGRAMS; h++) {
        head(out, histograms[h].name, histograms[h].help, "histogram");
        map_each (i, &m->waits[h])
            write_waits(out, histograms[h].name, map_key(&m->waits[h], i),
                        map_at(&m->waits[h], i), histograms[h].n_buckets);
    }
}

/* One number of a ClusterQueue, with a label more where it has one. */
struct gauge_row {
    const char *name, *help, *label, *value;
    double (*read)(const struct queue_cq_view *v);
};

static double read_active(const struct queue_cq_view *v)
{
    return v->is_active ? v->pending_active : 0;
}
static double read_inadmissible(const struct queue_cq_view *v)
{
    return v->pending_parked + (v->is_active ? 0 : v->pending_active);
}
static double read_reserving(const struct queue_cq_view *v)
{
    return v->reserving;
}
static double read_admitted(const struct queue_cq_view *v)
{
    return v->admitted;
}
static double read_is_active(const struct queue_cq_view *v)
{
    return v->is_active;
}
static double read_is_pending(const struct queue_cq_view *v)
{
    return !v->is_active && !str_eqz(v->active_reason, "Terminating");
}
static double read_is_terminating(const struct queue_cq_view *v)
{
    return str_eqz(v->active_reason, "Terminating");
}

static const struct gauge_row gauges[] = {
    {"kueue_pending_workloads",          "Workloads that wait.",         "status", "active",       read_active        },
    {"kueue_pending_workloads",          NULL,                           "status", "inadmissible", read_inadmissible  },
    {"kueue_reserving_active_workloads", "Workloads that hold quota.",   NULL,     NULL,
     read_reserving                                                                                                   },
    {"kueue_admitted_active_workloads",  "Workloads that are admitted.", NULL,     NULL,
     read_admitted                                                                                                    },
    {"kueue_cluster_queue_status",       "1 for the state it is in.",    "status", "pending",
     read_is_pending                                                                                                  },
    {"kueue_cluster_queue_status",       NULL,                           "status", "active",       read_is_active     },
    {"kueue_cluster_queue_status",       NULL,                           "status", "terminating",  read_is_terminating},
};

static void write_gauges(struct metrics *m, struct buf *out)
{
    scoped(arena_fini) struct arena a = {0};

    for (size_t g = 0; g < countof(gauges); g++) {
        if (gauges[g].help)
            head(out, gauges[g].name, gauges[g].help, "gauge");
        cache_each(i, m->cqs)
        {
            struct str name = object_key(cache_at(m->cqs, i)).name;
            struct queue_cq_view v = queue_cq_look(admit_engine(m->admit), &a, name);
            buf_printf(out, "%s{" ROLE, gauges[g].name);
            add_label(out, "cluster_queue", name);
            if (gauges[g].label)
                add_label(out, gauges[g].label, str_from(gauges[g].value));
            buf_printf(out, "} %g\n", v.is_known ? gauges[g].read(&v) : 0);
        }
    }
}

void metrics_write(struct metrics *m, struct buf *out)
{
    head(out, "kueue_build_info", "1, with what this program is.", "gauge");
    buf_printf(out, "kueue_build_info{git_version=\"%s\",platform=\"linux\"} 1\n",
               BERTH_VERSION);
    write_gauges(m, out);
    write_counters(m, out);
    write_histograms(m, out);
}

/* ---- life ---- */

struct metrics *metrics_new(struct control *c, struct admit *admit)
{
    struct metrics *m = mem_zero(1, sizeof(*m));

    m->control = c;
    m->admit = admit;
    m->workloads = control_cache(c, &kind_kueue_workload);
    m->cqs = control_cache(c, &kind_kueue_cluster_queue);
    cache_subscribe(m->workloads, on_workload, m);
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    for (int c = 0; c < N_COUNTERS; c++)
        map_fini(&m->counts[c]);
    for (int h = 0; h < N_HISTOGRAMS; h++)
        map_fini(&m->waits[h]);
    arena_fini(&m->labels);
    free(m);
}
