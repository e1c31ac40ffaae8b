/* node.c - a real agent with a real keeper, on an API server of a hundred lines */
#include "fake.h"

#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/http.h"
#include "node/node.h"
#include "runtime/keeper.h"

#define WAIT_S 20 /* before a test gives up */

/* The keeper is this program, started anew. */
__attribute__((constructor)) static void be_keeper(int argc, char **argv)
{
    if (keeper_is_asked(argc, argv))
        _exit(keeper_main(argc, argv));
}

struct world {
    char dir[64];
    struct io *io;
    struct fake *fake;
    struct node_agent *agent;
    struct io_timer *limit;
    bool timed_out;
    struct node_config config;
};

static void on_limit(void *ctx)
{
    struct world *w = ctx;

    w->timed_out = true;
    io_stop(w->io);
}

static void start_agent(struct world *w)
{
    struct err err = {0};

    w->config.name = S("n");
    w->config.data_dir = str_from(w->dir);
    w->config.address = S("10.0.0.7");
    w->agent = node_agent_new(w->io, &w->fake->client, &w->config, &err);
    if (!check(w->agent != NULL))
        fprintf(stderr, "%s\n", err.text);
}

static void open_world(struct world *w)
{
    struct err err;

    *w = (struct world){.agent = NULL};
    snprintf(w->dir, sizeof(w->dir), "/tmp/berth-node-XXXXXX");
    check(mkdtemp(w->dir) != NULL);
    check_int(chmod(w->dir, 0711), 0);
    w->io = io_real_new(&err);
    w->fake = fake_new(w->io);
    w->limit = io_timer_new(w->io, on_limit, w);
    io_timer_set(w->limit, span_s(WAIT_S));
}

/* As where the program ends: nobody is told of what was under way. */
static void end_agent(struct world *w)
{
    node_agent_free(w->agent);
    w->agent = NULL;
    w->fake->n_clients++;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void close_world(struct world *w)
{
    end_agent(w);
    io_timer_free(w->limit);
    io_run(w->io);
    client_free(&w->fake->client);
    io_free(w->io);
    nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- waiting on what the API shows ---- */

struct wanted {
    struct world *w;
    const struct kind *kind;
    const char *ns, *name, *pointer, *text;
    struct io_timer *timer;
};

static void look(void *ctx)
{
    struct wanted *x = ctx;
    struct object *o = fake_find(x->w->fake, x->kind, x->ns, x->name);
    struct str got = fake_text(x->w->fake, o, x->pointer);

    if (x->text ? str_eqz(got, x->text) : o == NULL)
        io_stop(x->w->io);
    else
        io_timer_set(x->timer, span_ms(5));
}

/* `text` NULL: until it is gone. */
static void await(struct world *w, const struct kind *kind, const char *name,
                  const char *pointer, const char *text)
{
    const char *ns = kind == &kind_lease ? "kube-node-lease"
                     : kind->namespaced  ? "default"
                                         : "";
    struct wanted x = {w, kind, ns, name, pointer, text, NULL};

    x.timer = io_timer_new(w->io, look, &x);
    io_timer_set(x.timer, (struct span){0});
    io_run(w->io);
    io_timer_free(x.timer);
    if (!check(!w->timed_out)) {
        struct object *o = fake_find(w->fake, kind, ns, name);
        fprintf(stderr, "    %s %s is %.*s, wanted %s\n", name, pointer,
                STR_ARG(fake_text(w->fake, o, "/status")), text ? text : "nothing");
        exit(1);
    }
}

static void add_pod(struct world *w, const char *name, const char *container, const char *more)
{
    fake_add(
        w->fake, &kind_pod,
        str_printf(&w->fake->arena,
                   "{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"berth.dev/run-as\":"
                   "\"{\\\"uid\\\":%d,\\\"gid\\\":%d}\"}},"
                   "\"spec\":{\"nodeName\":\"n\",\"restartPolicy\":\"Never\","
                   "\"terminationGracePeriodSeconds\":30%s,\"containers\":[{\"name\":\"c\","
                   "\"image\":\"host\",%s}]}}%c",
                   name, (int)geteuid(), (int)getegid(), more, container, 0)
            .at);
}

static struct str status(struct world *w, const char *name, const char *pointer)
{
    return fake_text(w->fake, fake_find(w->fake, &kind_pod, "default", name), pointer);
}

/* ---- logs ---- */

struct log_call {
    struct world *w;
    struct buf text;
    int code;
    const char *pod;
    bool done;
};

static void serve(void *ctx, struct http_request *q)
{
    struct log_call *x = ctx;

    node_agent_log(x->w->agent, q, S("default"), str_from(x->pod));
}

static void log_head(void *ctx, int code, const struct http_header *headers, size_t n)
{
    (void)headers, (void)n;
    ((struct log_call *)ctx)->code = code;
}

static void log_data(void *ctx, struct str bytes)
{
    buf_add(&((struct log_call *)ctx)->text, bytes);
}

static void log_end(void *ctx, const struct err *err)
{
    struct log_call *x = ctx;

    check(err == NULL);
    x->done = true;
    io_stop(x->w->io);
}

static struct str get_log(struct world *w, const char *pod, const char *query, int *code)
{
    static const struct http_call_events events = {
        .head = log_head, .data = log_data, .end = log_end};
    static const struct http_peer peer = {.is_tls = false};
    struct log_call x = {.w = w, .text = buf_in(&w->fake->arena, 64), .pod = pod};
    struct http_ask ask = {.method = S("GET"),
                           .target = str_printf(&w->fake->arena, "/log?%s", query)};

    http_call_local(w->io, serve, &x, &peer, &ask, &events, &x);
    while (!x.done && !w->timed_out)
        io_run(w->io);
    *code = x.code;
    return buf_str(&x.text);
}

/* ---- tests ---- */

TEST(node_pods)
{
    static const struct {
        const char *name, *container, *more, *phase, *code, *reason, *log;
    } cases[] = {
        {"it succeeds",              "\"command\":[\"true\"]",                                "",                                                                  "Succeeded", "0",   "Completed", ""            },
        {"it fails",                 "\"command\":[\"sh\",\"-c\",\"exit 3\"]",                "",                                                                  "Failed",    "3",   "Error",     ""            },
        {"its output",               "\"command\":[\"echo\",\"hi\"],\"args\":[\"there\"]",    "",                                                                  "Succeeded",
         "0",                                                                                                                                                                          "Completed", "hi there\n"  },
        {"no such program",          "\"command\":[\"no-such-program\"]",                     "",                                                                  "Failed",    "127",
         "ContainerCannotRun",                                                                                                                                                                      ""            },
        {"variables in order",
         "\"command\":[\"sh\",\"-c\",\"echo $B "
         "$(A)\"],\"env\":[{\"name\":\"A\",\"value\":\"1\"},"
         "{\"name\":\"B\",\"value\":\"$(A)2\"}]",                                             "",                                                                  "Succeeded", "0",   "Completed", "12 1\n"      },
        {"fields",
         "\"command\":[\"sh\",\"-c\",\"echo $N $I\"],\"env\":[{\"name\":\"N\",\"valueFrom\":"
         "{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},{\"name\":\"I\",\"valueFrom\":"
         "{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}}]",                                 "",                                                                  "Succeeded", "0",   "Completed", "p 10.0.0.7\n"},
        {"a working directory",      "\"command\":[\"pwd\"],\"workingDir\":\"/usr\"",         "",
         "Succeeded",                                                                                                                                                           "0",   "Completed", "/usr\n"      },
        {"a ConfigMap and a Secret",
         "\"command\":[\"sh\",\"-c\",\"echo $k $s; cat $BERTH_VOLUME_V_1/k\"],\"envFrom\":[{"
         "\"configMapRef\":{\"name\":\"cm\"}}],\"env\":[{\"name\":\"s\",\"valueFrom\":{"
         "\"secretKeyRef\":{\"name\":\"se\",\"key\":\"x\"}}}]",                               ",\"volumes\":[{\"name\":\"v-1\",\"configMap\":{\"name\":\"cm\"}}]", "Succeeded", "0",
         "Completed",                                                                                                                                                                               "v hidden\nv" },
        {"an emptyDir",
         "\"command\":[\"sh\",\"-c\",\"echo a > $BERTH_VOLUME_E/f; cat $BERTH_VOLUME_E/f\"]", ",\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]",                   "Succeeded", "0",   "Completed",
         "a\n"                                                                                                                                                                                                    },
        {"init containers first",    "\"command\":[\"sh\",\"-c\",\"cat $BERTH_VOLUME_E/f\"]",
         ",\"initContainers\":[{\"name\":\"i\",\"image\":\"host\",\"command\":[\"sh\",\"-c\","
         "\"sleep 0.05; echo b > $BERTH_VOLUME_E/f\"]}],\"volumes\":[{\"name\":\"e\"}]",                                                                           "Succeeded", "0",   "Completed", "b\n"         },
        {"its deadline",             "\"command\":[\"sleep\",\"1000\"]",                      ",\"activeDeadlineSeconds\":1",
         "Failed",                                                                                                                                                              "143", "Error",     ""            },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        int code;
        test_case(cases[i].name);
        open_world(&w);
        fake_add(w.fake, &kind_config_map,
                 "{\"metadata\":{\"name\":\"cm\"},\"data\":{\"k\":\"v\"}}");
        fake_add(w.fake, &kind_secret,
                 "{\"metadata\":{\"name\":\"se\"},\"data\":{\"x\":\"aGlkZGVu\"}}");
        add_pod(&w, "p", cases[i].container, cases[i].more);
        start_agent(&w);
        await(&w, &kind_pod, "p", "/status/phase", cases[i].phase);
        check_samez(status(&w, "p", "/status/containerStatuses/0/state/terminated/exitCode"),
                    cases[i].code);
        check_samez(status(&w, "p", "/status/containerStatuses/0/state/terminated/reason"),
                    cases[i].reason);
        check_samez(get_log(&w, "p", "follow=true", &code), cases[i].log);
        check_int(code, 200);
        close_world(&w);
    }
}

TEST(node_refuses)
{
    static const struct {
        const char *name, *container;
        bool refuse_images;
        const char *reason, *message;
    } cases[] = {
        {"no command",                       "\"args\":[\"x\"]",                             false, "ErrImagePull",               "needs a command"                         },
        {"an image, where they are refused", "\"image\":\"busybox\",\"command\":[\"true\"]",
         true,                                                                                      "ErrImagePull",               "--images=refuse"                         },
        {"a ConfigMap that is not there",
         "\"command\":[\"true\"],\"envFrom\":[{\"configMapRef\":{\"name\":\"no\"}}]",        false,
         "CreateContainerConfigError",                                                                                            "configmap \"no\" not found"              },
        {"a Secret's key that is not there",
         "\"command\":[\"true\"],\"env\":[{\"name\":\"A\",\"valueFrom\":{\"secretKeyRef\":{"
         "\"name\":\"se\",\"key\":\"y\"}}}]",                                                false, "CreateContainerConfigError", "couldn't find key y in Secret default/se"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w;
        test_case(cases[i].name);
        open_world(&w);
        w.config.refuse_images = cases[i].refuse_images;
        fake_add(w.fake, &kind_secret, "{\"metadata\":{\"name\":\"se\"}}");
        add_pod(&w, "p", cases[i].container, "");
        start_agent(&w);
        await(&w, &kind_pod, "p", "/status/containerStatuses/0/state/waiting/reason",
              cases[i].reason);
        check(str_has(status(&w, "p", "/status/containerStatuses/0/state/waiting/message"),
                      str_from(cases[i].message)));
        check_same(status(&w, "p", "/status/phase"), S("Pending"));
        close_world(&w);
    }
}

TEST(node_registers)
{
    struct world w;

    open_world(&w);
    start_agent(&w);
    await(&w, &kind_node, "n", "/status/addresses/0/address", "10.0.0.7");
    struct object *n = fake_find(w.fake, &kind_node, "", "n");
    check_same(fake_text(w.fake, n, "/metadata/labels/kubernetes.io~1os"), S("linux"));
    check(fake_text(w.fake, n, "/status/capacity/cpu").len > 0);
    check(fake_text(w.fake, n, "/status/allocatable/memory").len > 0);
    close_world(&w);
}

TEST(node_elsewhere_holds_a_lease)
{
    struct world w;

    open_world(&w);
    w.config.is_remote = true;
    start_agent(&w);
    await(&w, &kind_lease, "n", "/spec/holderIdentity", "n");
    await(&w, &kind_lease, "n", "/spec/leaseDurationSeconds", "40");
    close_world(&w);
}

TEST(node_last_words)
{
    struct world w;

    open_world(&w);
    start_agent(&w);
    add_pod(&w, "p",
            "\"command\":[\"sh\",\"-c\",\"echo oh; exit 2\"],\"terminationMessagePolicy\":"
            "\"FallbackToLogsOnError\"",
            "");
    await(&w, &kind_pod, "p", "/status/phase", "Failed");
    check_same(status(&w, "p", "/status/containerStatuses/0/state/terminated/message"),
               S("oh\n"));
    close_world(&w);
}

TEST(node_deletion)
{
    struct world w;

    open_world(&w);
    start_agent(&w);
    add_pod(&w, "p",
            "\"command\":[\"sh\",\"-c\",\"trap 'echo bye; exit 0' TERM; echo on; sleep 1000 & "
            "wait\"]",
            "");
    await(&w, &kind_pod, "p", "/status/phase", "Running");
    usleep(50000); /* the shell has set its trap */
    fake_ask_delete(w.fake, "p", 30);
    await(&w, &kind_pod, "p", "", NULL);
    test_case("its directories go with it");
    char logs[96];
    snprintf(logs, sizeof(logs), "%s/logs/default_p_uid-p", w.dir);
    for (int i = 0; i < 200 && access(logs, F_OK) == 0; i++) {
        io_turn(w.io);
        usleep(5000);
    }
    check(access(logs, F_OK) < 0);
    close_world(&w);
}

TEST(node_restarts)
{
    struct world w;
    int code;

    open_world(&w);
    start_agent(&w);
    char script[256];
    snprintf(script, sizeof(script),
             "\"command\":[\"sh\",\"-c\",\"echo x >> %s/runs; sleep 0.4; exit 5\"]", w.dir);
    add_pod(&w, "p", script, "");
    await(&w, &kind_pod, "p", "/status/phase", "Running");
    test_case("the agent goes while it runs, and the next one learns how it ended");
    end_agent(&w);
    usleep(600000);
    start_agent(&w);
    await(&w, &kind_pod, "p", "/status/phase", "Failed");
    check_same(status(&w, "p", "/status/containerStatuses/0/state/terminated/exitCode"),
               S("5"));
    test_case("and it ran once");
    char runs[96];
    snprintf(runs, sizeof(runs), "%s/runs", w.dir);
    check_same(test_file(&w.fake->arena, runs), S("x\n"));
    test_case("logs of what ended are there");
    check_same(get_log(&w, "p", "", &code), S(""));
    close_world(&w);
}

TEST(node_machine_restart)
{
    struct world w;
    char path[96];

    open_world(&w);
    start_agent(&w);
    await(&w, &kind_node, "n", "/status/addresses/0/address", "10.0.0.7");
    end_agent(&w);
    /* As if another boot had written it. */
    snprintf(path, sizeof(path), "%s/node.json", w.dir);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    static const char line[] = "{\"version\":1,\"bootID\":\"another\"}";
    char text[128];
    int n = snprintf(text, sizeof(text), "%s\nsum %016" PRIx64 "\n", line,
                     str_digest(str_from(line)));
    check_int(write(fd, text, (size_t)n), n);
    close(fd);
    add_pod(&w, "p", "\"command\":[\"true\"]", "");
    start_agent(&w);
    await(&w, &kind_pod, "p", "/status/phase", "Failed");
    check_same(status(&w, "p", "/status/reason"), S("NodeRestart"));
    test_case("what comes afterwards runs");
    add_pod(&w, "q", "\"command\":[\"true\"]", "");
    await(&w, &kind_pod, "q", "/status/phase", "Succeeded");
    close_world(&w);
}

TEST(node_back_off)
{
    struct world w;
    int code;

    open_world(&w);
    start_agent(&w);
    add_pod(
        &w, "p",
        "\"command\":[\"sh\",\"-c\",\"echo again; exit 1\"],\"restartPolicy\":\"OnFailure\"",
        "");
    await(&w, &kind_pod, "p", "/status/containerStatuses/0/state/waiting/reason",
          "CrashLoopBackOff");
    check_same(status(&w, "p", "/status/containerStatuses/0/restartCount"), S("1"));
    check_same(status(&w, "p", "/status/containerStatuses/0/lastState/terminated/exitCode"),
               S("1"));
    check_same(get_log(&w, "p", "previous=true", &code), S("again\n"));
    check_int(code, 200);
    test_case("what cannot be read says why");
    check(str_has(get_log(&w, "p", "container=x", &code), S("container x is not valid")));
    check_int(code, 400);
    check(str_has(get_log(&w, "no", "", &code), S("not found")));
    check_int(code, 404);
    check(str_has(get_log(&w, "p", "tailLines=-1", &code), S("tailLines: Invalid value")));
    close_world(&w);
}

TEST(node_bulk)
{
    enum { N = 200 };
    struct world w;

    open_world(&w);
    start_agent(&w);
    await(&w, &kind_node, "n", "/status/addresses/0/address", "10.0.0.7");
    int before = w.fake->n_writes;
    struct span began = io_uptime_now(w.io);
    for (int i = 0; i < N; i++)
        add_pod(&w, str_printf(&w.fake->arena, "b%d%c", i, 0).at, "\"command\":[\"/bin/true\"]",
                "");
    for (int i = 0; i < N; i++)
        await(&w, &kind_pod, str_printf(&w.fake->arena, "b%d%c", i, 0).at, "/status/phase",
              "Succeeded");
    double s = (double)(io_uptime_now(w.io).ns - began.ns) / 1e9;
    fprintf(stderr, "# %d pods in %.3f s: %.0f a second, %.2f writes each\n", N, s, N / s,
            (double)(w.fake->n_writes - before) / N - 1);
    close_world(&w);
}
