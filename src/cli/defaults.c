/* defaults.c - what lets the first `berth run` work */
#include "cli/defaults.h"

#include <sys/sysinfo.h>

#include "api/kinds.h"
#include "api/kueue_v1beta2.h"
#include "client/client.h"
#include "io/io.h"
#include "schema/codec.h"

#define DEFAULT_NAME S("default")

struct making {
    struct arena arena;
    struct client *client;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
    int n_pending;
    struct err err;
};

static struct object_meta *meta(struct arena *a, struct str ns)
{
    struct object_meta *m = arena_new(a, struct object_meta);

    SET(m, name, DEFAULT_NAME);
    if (ns.len)
        SET(m, namespace, ns);
    return m;
}

static struct kueue_resource_quota quota(struct arena *a, struct str name, struct str amount)
{
    struct kueue_resource_quota q = {0};

    (void)a;
    SET(&q, name, name);
    SET(&q, nominal_quota, amount);
    return q;
}

static struct json flavor(struct arena *a)
{
    struct kueue_resource_flavor f = {0};

    SET(&f, metadata, meta(a, S("")));
    return schema_encode(a, kind_kueue_resource_flavor.schema, &f);
}

static struct json cluster_queue(struct arena *a)
{
    struct kueue_cluster_queue *q = arena_new(a, struct kueue_cluster_queue);
    struct kueue_cluster_queue_spec *spec = arena_new(a, struct kueue_cluster_queue_spec);
    struct kueue_resource_group *group = arena_new(a, struct kueue_resource_group);
    struct kueue_flavor_quotas *quotas = arena_new(a, struct kueue_flavor_quotas);
    struct kueue_resource_quota *amounts = arena_array(a, struct kueue_resource_quota, 2);
    struct label_selector *all = arena_new(a, struct label_selector);
    struct str *covered = arena_array(a, struct str, 2);
    struct sysinfo system;

    if (sysinfo(&system) < 0)
        die("cannot tell this machine's memory");
    uint64_t mib = ((uint64_t)system.totalram * system.mem_unit) >> 20;
    covered[0] = S("cpu");
    covered[1] = S("memory");
    amounts[0] = quota(a, S("cpu"), str_printf(a, "%d", get_nprocs()));
    amounts[1] = quota(a, S("memory"), str_printf(a, "%" PRIu64 "Mi", mib));
    SET(quotas, name, DEFAULT_NAME);
    SET(quotas, resources, (struct kueue_resource_quota_list){amounts, 2});
    SET(group, covered_resources, (struct str_list){covered, 2});
    SET(group, flavors, (struct kueue_flavor_quotas_list){quotas, 1});
    SET(spec, resource_groups, (struct kueue_resource_group_list){group, 1});
    SET(spec, namespace_selector, all);
    SET(q, metadata, meta(a, S("")));
    SET(q, spec, spec);
    return schema_encode(a, kind_kueue_cluster_queue.schema, q);
}

static struct json local_queue(struct arena *a)
{
    struct kueue_local_queue q = {0};
    struct kueue_local_queue_spec *spec = arena_new(a, struct kueue_local_queue_spec);

    SET(spec, cluster_queue, DEFAULT_NAME);
    SET(&q, metadata, meta(a, S("default")));
    SET(&q, spec, spec);
    return schema_encode(a, kind_kueue_local_queue.schema, &q);
}

static void made(void *ctx, const struct client_answer *answer)
{
    struct making *m = ctx;

    if (answer->err && answer->err->code != ERR_EXISTS && m->err.code == ERR_OK) {
        m->err = *answer->err;
        err_wrap(&m->err, "make the default queue");
    }
    if (--m->n_pending)
        return;
    struct making last = *m;
    arena_fini(&m->arena);
    free(m);
    last.done(last.ctx, last.err.code == ERR_OK ? NULL : &last.err);
}

static void make(struct making *m, const struct kind *kind, struct str ns, struct json body)
{
    struct client_target t = {.kind = kind, .ns = ns};

    m->n_pending++;
    client_create(m->client, &t, &body, made, m);
}

void defaults_make(struct io *io, struct client *client,
                   void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct making *m = mem_zero(1, sizeof(*m));

    (void)io;
    *m =
        (struct making){.arena = arena_sized(4096), .client = client, .done = done, .ctx = ctx};
    make(m, &kind_kueue_resource_flavor, S(""), flavor(&m->arena));
    make(m, &kind_kueue_cluster_queue, S(""), cluster_queue(&m->arena));
    make(m, &kind_kueue_local_queue, S("default"), local_queue(&m->arena));
}
