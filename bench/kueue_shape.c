/* kueue_shape.c - the shapes, and an infinitely fast scheduler on them */
#include "kueue.h"

static const struct kueue_shape shapes[] = {
    {"baseline",
     5,  6,
     20, 100,
     {{"large", 50, 1200, 1000, 200, 20},
      {"medium", 100, 500, 500, 100, 5},
      {"small", 350, 100, 200, 50, 1}}},
    {"large-scale",
     10, 100,
     20, 100,
     {{"large", 4, 700, 700, 200, 20},
      {"medium", 11, 300, 350, 100, 5},
      {"small", 35, 60, 150, 50, 1}}  },
    {"cohort",
     1,  6,
     20, 100,
     {{"large", 50, 1200, 1000, 200, 20},
      {"medium", 100, 500, 500, 100, 5},
      {"small", 350, 100, 200, 50, 1}}},
    {"large-cohort",
     1,  100,
     20, 100,
     {{"large", 4, 700, 700, 200, 20},
      {"medium", 11, 300, 350, 100, 5},
      {"small", 35, 60, 150, 50, 1}}  },
    {"smoke",
     1,  3,
     20, 100,
     {{"large", 2, 300, 200, 200, 20},
      {"medium", 6, 100, 100, 100, 5},
      {"small", 20, 20, 40, 50, 1}}   },
};

const struct kueue_shape *kueue_shape(struct str name)
{
    for (size_t i = 0; i < countof(shapes); i++)
        if (str_eqz(name, shapes[i].name))
            return &shapes[i];
    return NULL;
}

size_t kueue_workloads(const struct kueue_shape *s)
{
    size_t n = 0;

    for (size_t i = 0; i < KUEUE_CLASSES; i++)
        n += (size_t)(s->cohorts * s->queues * s->classes[i].count);
    return n;
}

/* ---- waits ---- */

void kueue_waits_fini(struct kueue_waits *w)
{
    for (size_t i = 0; i < KUEUE_CLASSES; i++)
        vec_fini(&w->of[i]);
}

double kueue_mean(const struct kueue_waits *w, size_t class)
{
    double sum = 0;

    vec_each (i, &w->of[class])
        sum += w->of[class].at[i];
    return w->of[class].len ? sum / (double)w->of[class].len : 0;
}

static int by_size(const double *a, const double *b)
{
    return *a < *b ? -1 : *a > *b;
}

double kueue_median(const struct kueue_waits *w, size_t class)
{
    VEC(double) copy = {0};
    double median = 0;

    vec_each (i, &w->of[class])
        vec_push(&copy, w->of[class].at[i]);
    vec_sort(&copy, by_size);
    if (copy.len)
        median = copy.at[copy.len / 2];
    vec_fini(&copy);
    return median;
}

/* ---- the ideal ---- */

struct job {
    size_t seq; /* breaks ties */
    int queue, class, priority, cpu, runs;
    int64_t arrived, admitted; /* ms */
    unsigned run;              /* counts starts: an old end is no end */
    size_t at;                 /* in running */
};
struct event {
    int64_t at;
    size_t seq;
    struct job *job;
    bool is_end;
    unsigned run;
};
typedef struct job *job_ref; /* so that HEAP() can put a const before it */
typedef VEC(struct job *) jobs;

struct ideal {
    const struct kueue_shape *shape;
    HEAP(struct event) events;
    HEAP(job_ref) * waiting; /* by queue */
    jobs running;
    int *used;
    int total, cap;
    size_t seq, evictions;
    int64_t now;
};

static bool event_before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static bool job_before(struct job *const *a, struct job *const *b)
{
    if ((*a)->priority != (*b)->priority)
        return (*a)->priority > (*b)->priority;
    if ((*a)->arrived != (*b)->arrived)
        return (*a)->arrived < (*b)->arrived;
    return (*a)->seq < (*b)->seq;
}

static void take(struct ideal *s, struct job *j)
{
    struct job *last = vec_pop(&s->running);

    if (last != j) {
        s->running.at[j->at] = last;
        last->at = j->at;
    }
    s->used[j->queue] -= j->cpu;
    s->total -= j->cpu;
}

static void start(struct ideal *s, struct job *j)
{
    j->at = s->running.len;
    vec_push(&s->running, j);
    s->used[j->queue] += j->cpu;
    s->total += j->cpu;
    j->admitted = s->now;
    heap_push(&s->events, (struct event){s->now + j->runs, s->seq++, j, true, ++j->run});
}

/* Lowest priority first, then the newest start. */
static int by_victim(struct job *const *a, struct job *const *b)
{
    if ((*a)->priority != (*b)->priority)
        return (*a)->priority - (*b)->priority;
    if ((*a)->admitted != (*b)->admitted)
        return (*a)->admitted > (*b)->admitted ? -1 : 1;
    return (*a)->seq < (*b)->seq ? -1 : 1;
}

/* Those whose going makes room; false where all of them are too few. */
static bool victims_from(const struct ideal *s, const struct job *j, const jobs *pool,
                         jobs *out)
{
    int nominal = s->shape->nominal, limit = nominal + s->shape->borrow;
    int used[128], total = s->total;
    bool is_own = true;

    memcpy(used, s->used, (size_t)s->shape->queues * sizeof(*used));
    vec_clear(out);
    for (size_t i = 0;; i++) {
        int mine = used[j->queue] + j->cpu;
        if (total + j->cpu <= s->cap && mine <= limit && (mine <= nominal || is_own))
            return true;
        if (i == pool->len)
            return false;
        struct job *v = pool->at[i];
        if (v->queue != j->queue && used[v->queue] <= nominal)
            continue;
        vec_push(out, v);
        is_own &= v->queue == j->queue;
        total -= v->cpu;
        used[v->queue] -= v->cpu;
    }
}

static bool find_victims(struct ideal *s, const struct job *j, jobs *out)
{
    jobs own = {0}, all = {0};
    bool found;

    vec_each (i, &s->running) {
        struct job *r = s->running.at[i];
        if (r->queue == j->queue && r->priority < j->priority)
            vec_push(&own, r);
        else if (r->queue != j->queue && s->used[r->queue] > s->shape->nominal)
            vec_push(&all, r);
    }
    vec_sort(&own, by_victim);
    vec_sort(&all, by_victim);
    if (s->used[j->queue] + j->cpu > s->shape->nominal && !own.len)
        vec_clear(&all);
    vec_each (i, &own)
        vec_push(&all, own.at[i]);
    found = victims_from(s, j, &all, out) || victims_from(s, j, &own, out);
    vec_fini(&own);
    vec_fini(&all);
    return found;
}

static bool serve(struct ideal *s, struct job *j)
{
    int limit = s->shape->nominal + s->shape->borrow;
    bool fits = s->total + j->cpu <= s->cap && s->used[j->queue] + j->cpu <= limit;
    jobs victims = {0};

    if (!fits && (fits = find_victims(s, j, &victims)))
        vec_each (i, &victims) {
            struct job *v = victims.at[i];
            take(s, v);
            v->run++;
            s->evictions++;
            heap_push(&s->waiting[v->queue], v);
        }
    if (fits)
        start(s, j);
    vec_fini(&victims);
    return fits;
}

static int by_turn(const struct ideal *s, const struct job *a, const struct job *b)
{
    bool x = s->used[a->queue] + a->cpu > s->shape->nominal;
    bool y = s->used[b->queue] + b->cpu > s->shape->nominal;

    if (x != y)
        return x ? 1 : -1;
    if (a->priority != b->priority)
        return b->priority - a->priority;
    if (a->arrived != b->arrived)
        return a->arrived < b->arrived ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* One head of each queue a cycle, until nothing moves. */
static void cycles(struct ideal *s)
{
    jobs parked = {0};

    for (;;) {
        struct job *heads[128];
        int n = 0;
        for (int q = 0; q < s->shape->queues; q++) {
            if (!s->waiting[q].len)
                continue;
            struct job *j = heap_pop(&s->waiting[q]);
            int at = n++;
            for (; at > 0 && by_turn(s, j, heads[at - 1]) < 0; at--)
                heads[at] = heads[at - 1];
            heads[at] = j;
        }
        if (!n)
            break;
        for (int i = 0; i < n; i++)
            if (!serve(s, heads[i]))
                vec_push(&parked, heads[i]);
    }
    vec_each (i, &parked)
        heap_push(&s->waiting[parked.at[i]->queue], parked.at[i]);
    vec_fini(&parked);
}

static void arrive_all(struct ideal *s, struct job *all)
{
    for (int q = 0; q < s->shape->queues; q++)
        for (int c = 0; c < KUEUE_CLASSES; c++) {
            const struct kueue_class *k = &s->shape->classes[c];
            for (int i = 0; i < k->count; i++) {
                struct job *j = &all[s->seq];
                *j = (struct job){.seq = s->seq,
                                  .queue = q,
                                  .class = c,
                                  .priority = k->priority,
                                  .cpu = k->cpu,
                                  .runs = k->runs_ms,
                                  .arrived = (int64_t)(i + 1) * k->every_ms};
                heap_push(&s->events, (struct event){j->arrived, s->seq++, j, false, 0});
            }
        }
}

/* The cohorts are alike and have nothing to do with each other: one stands for all. */
double kueue_ideal(const struct kueue_shape *shape, struct kueue_waits *waits,
                   size_t *evictions)
{
    struct ideal s = {.shape = shape, .cap = shape->nominal * shape->queues};
    size_t n = kueue_workloads(shape) / (size_t)shape->cohorts;
    struct job *all = mem_zero(n, sizeof(*all));

    assert(shape->queues <= 128);
    s.events.less = event_before;
    s.waiting = mem_zero((size_t)shape->queues, sizeof(*s.waiting));
    s.used = mem_zero((size_t)shape->queues, sizeof(*s.used));
    for (int q = 0; q < shape->queues; q++)
        s.waiting[q].less = job_before;
    arrive_all(&s, all);
    while (s.events.len) {
        s.now = s.events.at[0].at;
        while (s.events.len && s.events.at[0].at == s.now) {
            struct event e = heap_pop(&s.events);
            if (!e.is_end)
                heap_push(&s.waiting[e.job->queue], e.job);
            else if (e.run == e.job->run)
                take(&s, e.job);
        }
        cycles(&s);
    }
    for (size_t i = 0; i < n; i++)
        vec_push(&waits->of[all[i].class], (double)(all[i].admitted - all[i].arrived));
    *evictions = s.evictions * (size_t)shape->cohorts;
    for (int q = 0; q < shape->queues; q++)
        heap_fini(&s.waiting[q]);
    heap_fini(&s.events);
    vec_fini(&s.running);
    free(s.waiting);
    free(s.used);
    free(all);
    return (double)s.now;
}
