/* kueue_quota_afs.c - the arithmetic of admission fair sharing */
#include <math.h>

#include "kueue_sched.h"

#include "kueue_parts.h"
#include "queue/engine_priv.h"

#define NANO INT64_C(1000000000)

static const struct json *in(const struct sched *s, const char *name)
{
    return json_get(json_getz(s->c, "in"), str_from(name));
}

/* Quantities as billionths. */
static struct afs_amounts amounts_of(struct sched *s, const struct json *map)
{
    struct resource_list l = resource_list_of(s->t->arena, map);
    struct afs_amounts out = {0};

    for (size_t i = 0; i < l.len; i++)
        *afs_at(&out, intern_add(&s->e->resources, l.at[i].name)) =
            (__int128)quantity_units(&l.at[i].q, 0) * NANO;
    for (size_t i = 0; i < l.len; i++)
        if (quantity_units(&l.at[i].q, QUANTITY_NANO) != INT64_MAX)
            *afs_at(&out, intern_find(&s->e->resources, l.at[i].name)) =
                quantity_units(&l.at[i].q, QUANTITY_NANO);
    return out;
}

static const struct json *amounts_json(struct sched *s, const struct afs_amounts *l)
{
    struct arena *a = s->t->arena;
    struct json_obj out = obj_in(a);

    for (size_t i = 0; i < l->len; i++) {
        bool fits = l->at[i].nano <= INT64_MAX;
        struct quantity q =
            quantity_of(fits ? (int64_t)l->at[i].nano : (int64_t)(l->at[i].nano / NANO),
                        fits ? QUANTITY_NANO : 0, QUANTITY_DECIMAL_SI);
        struct buf b = buf_in(a, 40);
        quantity_write_canonical(&b, &q);
        obj_set(&out, intern_name(&s->e->resources, l->at[i].resource),
                json_of_str(buf_str(&b)));
    }
    return json_new(a, obj_done(&out));
}

/* As quantities are compared in `requests`: by value. */
static void same_amounts(struct sched *s, const char *name, const struct afs_amounts *got)
{
    struct arena *a = s->t->arena;
    const struct json *want = json_get(s->want, str_from(name));

    sched_same(s, name, json_with(a, NULL, *amounts_json(s, got), "requests", NULL),
               json_with(a, NULL, want ? *want : json_of_null(), "requests", NULL));
}

static struct span seconds(const struct json *v)
{
    return (struct span){(int64_t)(json_f64(v, 0) * (double)SECOND_NS)};
}

static void decayed(struct sched *s)
{
    struct afs_amounts consumed = amounts_of(s, in(s, "consumed"));
    struct afs_amounts usage = amounts_of(s, in(s, "usage"));

    afs_decay(&consumed, &usage,
              afs_alpha(seconds(in(s, "elapsedSeconds")), seconds(in(s, "halfLifeSeconds"))));
    same_amounts(s, "consumed", &consumed);
    vec_fini(&consumed);
    vec_fini(&usage);
}

static void entry_penalty(struct sched *s)
{
    struct afs_amounts penalty = amounts_of(s, in(s, "requests"));
    struct span half_life = {0}, sampling = span_s(300);
    const struct json *config = in(s, "admissionFairSharing");

    span_parse(json_str(json_getz(config, "usageHalfLifeTime")), &half_life, NULL);
    span_parse(json_str(json_getz(config, "usageSamplingInterval")), &sampling, NULL);
    for (size_t i = 0; i < penalty.len; i++)
        penalty.at[i].nano = afs_scale(penalty.at[i].nano, afs_alpha(sampling, half_life));
    same_amounts(s, "penalty", &penalty);
    vec_fini(&penalty);
}

static void usage(struct sched *s)
{
    const struct json *weights = in(s, "resWeights"), *want = json_getz(s->want, "usage");
    struct queue_weight *w = arena_array(s->t->arena, struct queue_weight, json_len(weights));
    struct afs_ledger ledger = {.consumed = amounts_of(s, in(s, "consumed"))};
    size_t n = 0;

    json_each_member (m, weights)
        w[n++] = (struct queue_weight){m->name, json_f64(&m->value, 1)};
    s->e->config.afs_weights = w;
    s->e->config.n_afs_weights = n;
    afs_penalty_set(&ledger, 1, amounts_of(s, in(s, "penalty")));
    double got = afs_usage_of(s->e, &ledger, json_f64(in(s, "lqWeight"), 1));
    double wanted = str_eq(json_str(want), S("+Inf")) ? (double)INFINITY : json_f64(want, 0);
    if (got != wanted)
        conf_fail(s->t, "usage", str_printf(s->t->arena, "%g", got),
                  str_printf(s->t->arena, "%g", wanted));
    afs_ledger_fini(&ledger);
}

/* An engine learns a weight or that there is no such queue; it never asks, so nothing fails. */
static void weight(struct sched *s)
{
    const struct json *o = in(s, "localQueue");
    double got = 1;

    if (json_bool(in(s, "getErr"), false)) {
        conf_skip(s->t, "the engine is told weights and never looks them up");
        return;
    }
    if (json_has(o)) {
        struct queue_lq_spec spec;
        queue_load_lq(s->t->arena, o, &spec);
        queue_put_lq(s->e, &spec);
        got = lq_find(s->e, S("ns/lq"))->weight;
    }
    if (got != json_f64(json_getz(s->want, "weight"), 0))
        conf_fail(s->t, "weight", str_printf(s->t->arena, "%g", got), S("another"));
}

static const struct {
    const char *test;
    sched_fn *run;
} tests[] = {
    {":CalculateDecayedConsumed",                decayed      },
    {":CalculateEntryPenalty",                   entry_penalty},
    {":TestCalculateUsageWithDRA",               usage        },
    {":TestCalculateUsageWithNonPositiveWeight", usage        },
    {":TestResolveLQWeight",                     weight       },
};

void kueue_afs(struct conf *t, const struct json *c)
{
    struct str source = json_str(json_getz(c, "source"));
    struct sched s = {.t = t, .c = c, .want = json_getz(c, "want")};

    sched_configure(&s, json_getz(c, "gates"), NULL);
    s.e = queue_new(&s.config);
    for (size_t i = 0; i < countof(tests); i++)
        if (str_ends(source, str_from(tests[i].test))) {
            tests[i].run(&s);
            queue_free(s.e);
            return;
        }
    conf_fail(t, "test", source, S("a known one"));
    queue_free(s.e);
}
