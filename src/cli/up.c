/* up.c - `berth up`: API server, store, controllers and node agent in one process
 *
 *     directory → loop → store and server → certificates → bootstrap → sockets → controllers
 *               → node → defaults → two lines: ready
 *
 * A signal takes it down in the opposite order.
 */
#include "cli/cli.h"
#include "cli/defaults.h"
#include "cli/files.h"
#include "cli/pki.h"
#include "cli/users.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/kinds.h"
#include "client/client.h"
#include "client/kubeconfig.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "http/http.h"
#include "io/io.h"
#include "node/hollow.h"
#include "node/node.h"
#include "object/object.h"
#include "server/server.h"
#include "value/time.h"
#include "yaml/yaml.h"
#include "json/json.h"

#define DEFAULT_LISTEN "127.0.0.1:6443"
#define SETTLE_AFTER_S 2   /* from ready on: the first reconciles have run */
#define SETTLE_EVERY 10000 /* writes: what a load left behind is given back */
#define REST span_ms(10)   /* without a write; memory for the next ones is made ready */

struct up {
    struct cli_args *args;
    struct arena arena; /* lives as long as the command */
    struct str dir;
    struct io *io;
    struct pki pki;
    struct users *users;
    struct server *server;
    struct tls_server *tls;
    struct http_server *secure, *local;
    struct client *client;
    struct control *control;
    struct controllers *controllers;
    struct hollow *hollow;
    struct node_agent *node; /* NULL with --no-node */
    struct io_signal *signals[2];
    struct io_timer *settle; /* once, when the start is over */
    struct io_timer *rest;   /* a moment after a write */
    FILE *audit;
    int64_t n_hollow;
    struct span job_backoff;     /* 0: the controller's own */
    const struct json *queueing; /* --queue-config; NULL: none */
    struct err err;
    uint64_t n_written; /* since what a load left behind was given back */
    uint64_t n_seen;    /* of them, when it was last looked whether writes rest */
    bool has_failed, is_ready, is_flushing;
};

static void fail(struct up *u)
{
    u->has_failed = true;
    io_stop(u->io);
}

static void stop(void *ctx)
{
    struct up *u = ctx;

    log_info("stopping", "%s", "");
    io_stop(u->io);
}

static void flush_audit(void *ctx)
{
    struct up *u = ctx;

    u->is_flushing = false;
    fflush(u->audit);
}

static void rest(void *ctx)
{
    struct up *u = ctx;

    if (u->n_written != u->n_seen) {
        u->n_seen = u->n_written;
        io_timer_set(u->rest, REST);
        return;
    }
    if (u->n_written >= SETTLE_EVERY) {
        mem_settle();
        u->n_written = u->n_seen = 0;
    } else {
        mem_ready();
    }
}

/* The lines of a turn are written together. */
static void write_audit(void *ctx, struct str line)
{
    struct up *u = ctx;

    u->n_written++;
    if (!io_timer_is_set(u->rest))
        io_timer_set(u->rest, REST);
    fwrite(line.at, 1, line.len, u->audit);
    fputc('\n', u->audit);
    if (!u->is_flushing)
        io_later(u->io, flush_audit, u);
    u->is_flushing = true;
}

/* ---- 1. what stands before the loop ---- */

static struct str host_of(struct str listen)
{
    struct str host, port;

    str_rcut(listen, ':', &host, &port);
    return host;
}

/* GET .../pods/NAME/log: the agent's, which is in this process. A played pod wrote nothing. */
static void pod_log(void *ctx, struct http_request *q, const struct server_about *about)
{
    static const struct http_header text = {S_INIT("content-type"), S_INIT("text/plain")};
    struct up *u = ctx;
    struct err err;
    struct object *pod =
        u->control ? cache_get(control_cache(u->control, &kind_pod), about->ns, about->name)
                   : NULL;
    struct str node =
        pod ? json_str(json_path(object_tree(pod, q->arena), "spec", "nodeName", NULL))
            : (struct str){0};

    if (node.len && u->hollow && hollow_plays(u->hollow, node)) {
        http_respond(q, 200, &text, 1, (struct str){0});
        return;
    }
    if (u->node) {
        node_agent_log(u->node, q, about->ns, about->name);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no pod runs here: berth was started with --no-node");
    server_refuse(q, &err);
}

static int open_server(struct up *u)
{
    struct server_config config = {.disabled_admission =
                                       str_from(cli_value(u->args, "disable-admission")),
                                   .audit = write_audit,
                                   .audit_ctx = u,
                                   .account = users_account,
                                   .token = users_token,
                                   .sign = users_sign,
                                   .users_ctx = u->users,
                                   .starter_uid = (uint32_t)getuid()};

    u->audit = fopen(str_z(&u->arena, place_in(&u->arena, u->dir, "audit.log")), "ae");
    if (!u->audit)
        return err_set(&u->err, ERR_IO, "cannot open the audit log in '%.*s'", STR_ARG(u->dir));
    u->server = server_open(u->io, str_z(&u->arena, u->dir), &config, &u->err);
    if (!u->server)
        return -1;
    server_mount(u->server, &(struct server_mount){.plural = S("pods"),
                                                   .subresource = S("log"),
                                                   .handle = pod_log,
                                                   .ctx = u});
    return 0;
}

static int open_all(struct up *u)
{
    const char *listen = cli_value(u->args, "listen");
    struct str host = host_of(str_from(listen ? listen : DEFAULT_LISTEN));
    char name[256] = "";
    struct str hosts[] = {S("localhost"), S("127.0.0.1"), S("::1"), host, {0}};

    /* Accounts go through it to the socket and to their pods' volumes; what must not be read
     * has a mode of its own. */
    umask(077);
    if (dir_make(&u->arena, u->dir, 0711, &u->err) < 0)
        return -1;
    if (chmod(str_z(&u->arena, u->dir), 0711) < 0)
        return err_set(&u->err, ERR_IO, "'%.*s' is somebody else's", STR_ARG(u->dir));
    if (!(u->io = io_real_new(&u->err)))
        return -1;
    u->rest = io_timer_new(u->io, rest, u);
    gethostname(name, sizeof(name) - 1);
    hosts[4] = str_from(name);
    if (pki_load(&u->arena, u->dir, hosts, countof(hosts) - (hosts[4].len == 0), io_now(u->io),
                 &u->pki, &u->err) < 0)
        return -1;
    u->users = users_new(u->io, u->dir, (uint32_t)getuid());
    return open_server(u);
}

/* ---- 2. when the server has what every server has ---- */

static int listen_all(struct up *u)
{
    const char *listen = cli_value(u->args, "listen");
    struct str socket = str_printf(&u->arena, "unix:%.*s/berth.sock", STR_ARG(u->dir));

    if (!(u->tls = tls_server_new(&u->pki.server, u->pki.ca.cert, &u->err)))
        return -1;
    u->secure = http_server_new(u->io, str_from(listen ? listen : DEFAULT_LISTEN), 0, u->tls,
                                server_handle, u->server, &u->err);
    if (!u->secure)
        return -1;
    u->local = http_server_new(u->io, socket, 0666, NULL, server_handle, u->server, &u->err);
    if (!u->local)
        return -1;
    struct kubeconfig config = {.user = S(USERS_ADMIN),
                                .server = str_printf(&u->arena, "https://%.*s",
                                                     STR_ARG(http_server_address(u->secure))),
                                .ca = u->pki.ca.cert,
                                .cert = u->pki.admin.cert,
                                .key = u->pki.admin.key};
    return file_write(&u->arena, place_in(&u->arena, u->dir, "kubeconfig"), 0600,
                      kubeconfig_text(&u->arena, &config), &u->err);
}

static void answer_metrics(void *ctx, struct http_request *q,
                           const struct server_about *about unused)
{
    static const struct http_header headers[] = {
        {S_INIT("content-type"), S_INIT("text/plain; version=0.0.4; charset=utf-8")}
    };
    struct up *u = ctx;
    struct buf out = {0};

    server_metrics(u->server, &out);
    controllers_metrics(u->controllers, &out);
    http_respond_buf(q, 200, headers, countof(headers), &out);
}

static void answer_json(struct http_request *q, const struct json *v)
{
    static const struct http_header type = {S_INIT("content-type"), S_INIT("application/json")};

    http_respond(q, 200, &type, 1, json_text(q->arena, v));
}

/* GET .../workloads/NAME/why: the engine's own record. */
static void answer_why(void *ctx, struct http_request *q, const struct server_about *about)
{
    struct up *u = ctx;
    struct json why;
    struct err err;

    if (controllers_why(u->controllers, q->arena, about->ns, about->name, &why)) {
        answer_json(q, &why);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "the queues do not know workload '%.*s'",
            STR_ARG(about->name));
    server_refuse(q, &err);
}

/* GET .../localqueues/NAME/quota, clusterqueues/NAME/quota, cohorts/NAME/quota. */
static void answer_quota(void *ctx, struct http_request *q, const struct server_about *about)
{
    struct up *u = ctx;
    struct json quota;
    struct err err;

    if (controllers_quota(u->controllers, q->arena, about->ns, about->name, &quota)) {
        answer_json(q, &quota);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no quota is known of '%.*s'", STR_ARG(about->name));
    server_refuse(q, &err);
}

static int start_controllers(struct up *u)
{
    static const char *const with_quota[] = {"localqueues", "clusterqueues", "cohorts"};
    struct controllers_config config = {.names = str_from(cli_value(u->args, "controllers")),
                                        .job_backoff_first = u->job_backoff,
                                        .queueing = u->queueing};

    u->client = server_client(u->server, &server_berth);
    u->control = control_new(u->io, u->client, S("berth"));
    u->controllers = controllers_start(u->control, &config, &u->err);
    if (!u->controllers)
        return -1;
    server_mount(u->server, &(struct server_mount){
                                .path = S("/metrics"), .handle = answer_metrics, .ctx = u});
    server_mount(u->server, &(struct server_mount){.group = S("kueue.x-k8s.io"),
                                                   .plural = S("workloads"),
                                                   .subresource = S("why"),
                                                   .handle = answer_why,
                                                   .ctx = u});
    for (size_t i = 0; i < countof(with_quota); i++)
        server_mount(u->server, &(struct server_mount){.group = S("kueue.x-k8s.io"),
                                                       .plural = str_from(with_quota[i]),
                                                       .subresource = S("quota"),
                                                       .handle = answer_quota,
                                                       .ctx = u});
    return 0;
}

static void hollow_made(void *ctx, const struct err *err)
{
    struct up *u = ctx;

    if (err) {
        u->err = *err;
        fail(u);
    }
}

static int start_node(struct up *u, bool is_cordoned)
{
    const char *listen = cli_value(u->args, "listen");
    struct str host = host_of(str_from(listen ? listen : DEFAULT_LISTEN));
    bool is_any =
        str_eqz(host, "0.0.0.0") || str_eqz(host, "[::]") || str_eqz(host, "localhost");
    struct node_config config = {.data_dir = u->dir,
                                 .address = is_any ? S("127.0.0.1") : host,
                                 .is_cordoned = is_cordoned,
                                 .refuse_images = cli_has(u->args, "images")};

    u->node = node_agent_new(u->io, u->client, &config, &u->err);
    return u->node ? 0 : -1;
}

static int start_nodes(struct up *u)
{
    u->hollow = hollow_new(u->control);
    if (u->n_hollow)
        hollow_make_nodes(u->client, (int)u->n_hollow, hollow_made, u);
    if (!cli_has(u->args, "no-node"))
        return start_node(u, u->n_hollow > 0);
    return 0;
}

static void settle(void *ctx)
{
    (void)ctx;
    mem_settle();
}

static void defaults_made(void *ctx, const struct err *err)
{
    struct up *u = ctx;

    if (err) {
        u->err = *err;
        fail(u);
        return;
    }
    u->is_ready = true;
    printf("berth listens on https://%.*s; kubectl --kubeconfig %.*s/kubeconfig\n"
           "ready: try `berth run -- echo hello`, `berth queue`, `berth get nodes`\n",
           STR_ARG(http_server_address(u->secure)), STR_ARG(u->dir));
    fflush(stdout);
    u->settle = io_timer_new(u->io, settle, u);
    io_timer_set(u->settle, span_s(SETTLE_AFTER_S));
}

static void bootstrapped(void *ctx, const struct err *err)
{
    struct up *u = ctx;

    if (err)
        u->err = *err;
    if (err || listen_all(u) < 0 || start_controllers(u) < 0 || start_nodes(u) < 0) {
        fail(u);
        return;
    }
    if (cli_has(u->args, "no-defaults"))
        defaults_made(u, NULL);
    else
        defaults_make(u->io, u->client, defaults_made, u);
}

/* ---- 3. down ---- */

static void close_all(struct up *u)
{
    for (size_t i = 0; i < countof(u->signals); i++)
        io_signal_free(u->signals[i]);
    io_timer_free(u->settle);
    http_server_free(u->local);
    http_server_free(u->secure);
    node_agent_free(u->node);
    hollow_free(u->hollow);
    control_free(u->control);
    controllers_free(u->controllers);
    client_free(u->client);
    server_free(u->server);
    tls_server_free(u->tls);
    users_free(u->users);
    io_timer_free(u->rest);
    if (u->audit) {
        io_later_cancel(u->io, flush_audit, u);
        fclose(u->audit);
    }
    io_free(u->io);
}

static int read_queueing(struct up *u, const char *path)
{
    struct str text;

    if (file_read(&u->arena, str_from(path), &text, &u->err) < 0)
        return -1;
    u->queueing = yaml_parse_one(&u->arena, text, NULL, &u->err);
    return u->queueing ? 0 : err_wrap(&u->err, "%s", path);
}

static int64_t log_now(void *ctx)
{
    return io_now(ctx).ns;
}

static int up(struct cli_args *args)
{
    struct up u = {.args = args, .arena = arena_sized(64 << 10)};
    static const int signums[] = {SIGTERM, SIGINT};
    const char *level = cli_value(args, "log"), *images = cli_value(args, "images");
    const char *backoff = cli_value(args, "job-backoff");
    const char *queueing = cli_value(args, "queue-config");
    enum log_level log = LOG_WARN;

    if (level && !log_level_parse(level, &log))
        return cli_misuse(args, "--log: '%s' is none of error, warn, info, debug", level);
    if (images && strcmp(images, "refuse") != 0)
        return cli_misuse(args, "--images: '%s' is not refuse", images);
    if (!cli_number(args, "hollow-nodes", 0, HOLLOW_MAX_NODES, &u.n_hollow))
        return EXIT_USAGE;
    if (backoff &&
        (span_parse(str_from(backoff), &u.job_backoff, NULL) < 0 || u.job_backoff.ns <= 0))
        return cli_misuse(args, "--job-backoff: '%s' is no time such as 500ms or 10s", backoff);
    if (queueing && read_queueing(&u, queueing) < 0)
        return cli_fail(args, "%s", u.err.text);
    log_set_level(log);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over its limit is a write that failed */
    u.dir = place_data(&u.arena, cli_value(args, "data"));
    if (open_all(&u) == 0) {
        log_set_clock(log_now, u.io);
        for (size_t i = 0; i < countof(signums); i++)
            u.signals[i] = io_signal_new(u.io, signums[i], stop, &u);
        server_bootstrap(u.server, bootstrapped, &u);
        io_run(u.io);
    } else {
        u.has_failed = true;
    }
    int rc = u.has_failed ? cli_fail(args, "%s", u.err.text) : 0;
    log_set_clock(NULL, NULL);
    close_all(&u);
    arena_fini(&u.arena);
    return rc;
}

static const struct cli_flag flags[] = {
    {0, "data",              "DIR",       "where everything is kept"                             },
    {0, "listen",            "ADDR:PORT", "HTTPS address (" DEFAULT_LISTEN "; port 0 takes any)" },
    {0, "hollow-nodes",      "N",         "N make-believe nodes; the local one is cordoned"      },
    {0, "no-defaults",       NULL,        "make no flavor, ClusterQueue and LocalQueue `default`"},
    {0, "no-node",           NULL,        "run nothing on this machine"                          },
    {0, "controllers",       "LIST",      "upstream's names; -NAME takes one out"                },
    {0, "disable-admission", "LIST",      "admission plugins to leave out"                       },
    {0, "job-backoff",       "TIME",      "wait before a Job's failed pod is replaced (10s)"     },
    {0, "queue-config",      "FILE",      "how to queue: Kueue's own Configuration"              },
    {0, "images",            "HOW",       "refuse: a container that names an image is an error"  },
    {0, "log",               "LEVEL",     "error, warn (default), info, debug"                   },
};

const struct cli_command cli_up = {
    .name = "up",
    .usage = "up [--data DIR] [--listen ADDR:PORT] [OPTIONS]",
    .help = "Run everything on this machine: API server, store, controllers, node.\n"
            "Stops on SIGTERM or Ctrl-C; running jobs stay and are found again.",
    .example = "berth up --listen 127.0.0.1:6443",
    .flags = flags,
    .n_flags = countof(flags),
    .run = up,
};
