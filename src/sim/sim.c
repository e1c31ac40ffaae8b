/* sim.c - a whole Berth on simulated io */
#include "sim/sim.h"

#include "api/find.h"
#include "client/client.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "io/io.h"
#include "node/hollow.h"
#include "object/object.h"
#include "server/server.h"
#include "sim/digest.h"
#include "json/json.h"

#define HEAP_AHEAD ((size_t)512 << 20) /* bytes that the heap may fill in large pages */
#define STEP span_s(1)                 /* at most, while waiting for an answer */
#define ANSWER_MOST 3600               /* steps: an answer that takes longer never comes */

struct sim {
    struct io *io;
    struct server *server;
    struct client *client;
    struct control *control;
    struct controllers *controllers;
    struct hollow *hollow;
    struct digest *digest;
    uint64_t n_events;
    bool is_answered;
    struct err err;
};

/* ---- the digest ---- */

static void add_number(struct buf *b, uint64_t n)
{
    buf_add(b, str_of((const char *)&n, sizeof(n)));
}

static void add_text(struct buf *b, struct str text)
{
    add_number(b, text.len); /* so that texts cannot run into each other */
    buf_add(b, text);
}

static void add_object(struct buf *b, const struct object *o)
{
    size_t at = b->len;
    uint64_t len;

    add_number(b, 0); /* told afterwards */
    object_write(o, b);
    len = b->len - at - sizeof(len);
    memcpy(b->at + at, &len, sizeof(len));
}

static void tap(void *ctx, const char *verb, uint64_t revision, const struct object *o)
{
    struct sim *s = ctx;
    struct buf *b = digest_buf(s->digest);
    char kind[OBJECT_KIND_NAME_MAX];

    s->n_events++;
    add_text(b, object_kind_name(object_key(o).kind, kind));
    add_text(b, object_path(o));
    add_number(b, revision);
    add_text(b, str_from(verb));
    add_object(b, o);
    digest_written(s->digest);
}

struct str sim_digest(const struct sim *s, struct arena *a)
{
    return digest_text(s->digest, a);
}

uint64_t sim_events(const struct sim *s)
{
    return s->n_events;
}

/* ---- time ---- */

struct instant sim_now(const struct sim *s)
{
    return io_now(s->io);
}

void sim_run(struct sim *s, struct span span)
{
    io_run_until(s->io, instant_add(io_now(s->io), span));
}

struct client *sim_client(struct sim *s)
{
    return s->client;
}

struct io *sim_io(struct sim *s)
{
    return s->io;
}

/* False where no answer came. */
static bool await(struct sim *s)
{
    for (int i = 0; i < ANSWER_MOST && !s->is_answered; i++)
        sim_run(s, STEP);
    return s->is_answered;
}

/* ---- starting ---- */

static void done(void *ctx, const struct err *err)
{
    struct sim *s = ctx;

    s->is_answered = true;
    if (err)
        s->err = *err;
    io_stop(s->io);
}

static int started(struct sim *s, struct err *err)
{
    if (!await(s))
        return err_set(err, ERR_TIMEOUT, "the simulated server did not start");
    s->is_answered = false;
    if (s->err.code != ERR_OK) {
        *err = s->err;
        return -1;
    }
    return 0;
}

static int start(struct sim *s, const struct sim_config *config, struct err *err)
{
    struct controllers_config which = {.names = config->controllers,
                                       .queueing = config->queueing};

    server_bootstrap(s->server, done, s);
    if (started(s, err) < 0)
        return -1;
    s->client = server_client(s->server, &server_berth);
    s->control = control_new(s->io, s->client, S("berth"));
    if (!(s->controllers = controllers_start(s->control, &which, err)))
        return -1;
    s->hollow = hollow_new(s->control);
    if (config->hollow_nodes == 0)
        return 0;
    hollow_make_nodes(s->client, config->hollow_nodes, done, s);
    return started(s, err);
}

/* A flavor, a ClusterQueue with what the hollow nodes have, and a LocalQueue. */
static int make_defaults(struct sim *s, int n_nodes, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct str texts[] = {
        S("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
          "\"metadata\":{\"name\":\"default\"}}"),
        str_printf(
            &a,
            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
            "\"metadata\":{\"name\":\"default\"},\"spec\":{\"namespaceSelector\":{},"
            "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"memory\"],\"flavors\":["
            "{\"name\":\"default\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
            "\"%d\"},{\"name\":\"memory\",\"nominalQuota\":\"%dGi\"}]}]}]}}",
            n_nodes * SIM_NODE_CPU, n_nodes * 32),
        S("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
          "{\"name\":\"default\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":"
          "\"default\"}}"),
    };

    for (size_t i = 0; i < countof(texts); i++)
        if (sim_apply(s, json_parse(&a, texts[i], NULL, NULL), err) < 0)
            return -1;
    return 0;
}

struct sim *sim_new(const struct sim_config *config, struct err *err)
{
    struct sim *s = mem_zero(1, sizeof(*s));
    struct instant at =
        instant_is_set(config->start) ? config->start : (struct instant){SIM_START_NS};

    mem_large(HEAP_AHEAD);
    s->digest = digest_new();
    s->io = io_sim_new(config->seed, at);
    s->server = server_new(s->io, &(struct server_config){.commit = config->commit});
    server_tap(s->server, tap, s);
    if (start(s, config, err) < 0 ||
        (config->has_defaults && make_defaults(s, config->hollow_nodes, err) < 0)) {
        sim_free(s);
        return NULL;
    }
    return s;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    hollow_free(s->hollow);
    control_free(s->control);
    controllers_free(s->controllers);
    client_free(s->client);
    server_free(s->server);
    io_free(s->io);
    digest_free(s->digest);
    free(s);
}

/* ---- objects ---- */

static void answered(void *ctx, const struct client_answer *answer)
{
    done(ctx, answer->err);
}

int sim_apply(struct sim *s, const struct json *object, struct err *err)
{
    const struct kind *k =
        kind_of(json_str(json_getz(object, "apiVersion")), json_str(json_getz(object, "kind")));
    struct str name = json_str(json_path(object, "metadata", "name", NULL));
    struct str ns = json_str(json_path(object, "metadata", "namespace", NULL));
    struct client_patch_options options = {.manager = S("berth-simulate"), .force = true};

    if (!k)
        return err_set(err, ERR_INVALID, "no kind %.*s in %.*s",
                       STR_ARG(json_str(json_getz(object, "kind"))),
                       STR_ARG(json_str(json_getz(object, "apiVersion"))));
    struct client_target t = {.kind = k, .name = name};
    if (k->namespaced)
        t.ns = ns.len ? ns : S("default");
    s->is_answered = false;
    s->err = (struct err){0};
    if (name.len)
        client_patch(s->client, &t, CLIENT_APPLY, object, &options, answered, s);
    else
        client_create(s->client, &t, object, answered, s);
    if (!await(s))
        return err_set(err, ERR_TIMEOUT, "the simulated server did not answer");
    if (s->err.code == ERR_OK)
        return 0;
    *err = s->err;
    return -1;
}

struct dump {
    struct sim *sim;
    struct buf *out;
};

static void dump_list(void *ctx, const struct client_list_answer *answer)
{
    struct dump *d = ctx;
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < answer->n_items; i++) {
        buf_add(d->out, object_bytes(answer->items[i], &a));
        buf_byte(d->out, '\n');
        arena_reset(&a);
    }
    done(d->sim, NULL);
}

void sim_dump(struct sim *s, struct buf *out)
{
    for (int id = 0; id < KIND_COUNT; id++) {
        struct client_target t = {.kind = kinds[id]};
        struct dump d = {s, out};
        if (!kinds[id]->stored || kinds[id]->storage != kinds[id])
            continue;
        s->is_answered = false;
        client_list(s->client, &t, &(struct client_select){0}, dump_list, &d);
        await(s);
    }
}
