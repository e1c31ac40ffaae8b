/* pod_probe.c - probes and hooks of a pod's containers
 *
 * What they said lives with the container's record, for the run it was said of. After a restart
 * of the agent probes begin anew; a postStart hook is not run again.
 */
#include "node/node_priv.h"

#include "api/core_v1.h"
#include "node/check.h"
#include "node/probe.h"
#include "object/object.h"
#include "schema/view.h"

#include <stdarg.h>

#define HOOK_POST_START PROBE_KINDS
#define HOOK_PRE_STOP (PROBE_KINDS + 1)
#define HOOK_LEAST_GRACE span_s(2) /* for the container, whatever its hook took */

/* A check that is under way; it may outlive the pod's record. */
struct checking {
    struct list link; /* in agent->checks */
    struct node_agent *agent;
    struct check *check;
    struct str uid, name;
    int32_t attempt;
    int what; /* a probe_kind, or a hook */
    struct arena arena;
};

static void checking_free(struct checking *x)
{
    list_del(&x->link);
    arena_fini(&x->arena);
    free(x);
}

void node_checks_free(struct node_agent *a, struct str uid)
{
    for (struct list *p = a->checks.next, *next; p != &a->checks; p = next) {
        struct checking *x = list_item(p, struct checking, link);
        next = p->next;
        if (uid.len && !str_eq(uid, x->uid))
            continue;
        check_cancel(x->check);
        checking_free(x);
    }
}

static bool is_checking(const struct node_pod *p, const struct node_container *nc, int what)
{
    list_each (l, &p->agent->checks) {
        struct checking *x = list_item(l, struct checking, link);
        if (x->what == what && str_eq(x->uid, p->uid) && str_eq(x->name, nc->name))
            return true;
    }
    return false;
}

bool node_check_exited(struct node_agent *a, const struct runtime_status *s)
{
    list_each (l, &a->checks) {
        struct checking *x = list_item(l, struct checking, link);
        if (str_eq(check_id(x->check), s->id)) {
            check_ended(x->check, s);
            return true;
        }
    }
    return false;
}

/* ---- what is asked ---- */

/* A number, or the name of one of the container's ports; 0 where there is none. */
static int32_t port_of(const struct container *c, struct int_or_string port)
{
    if (!port.is_string)
        return port.i;
    for (size_t i = 0; i < c->ports.len; i++)
        if (str_eq(c->ports.at[i].name, port.s))
            return c->ports.at[i].container_port;
    return 0;
}

/* A process on this machine's network: its own address is the loopback. */
static struct str address_of(struct arena *a, const struct container *c, struct str host,
                             struct int_or_string port)
{
    return str_printf(a, "%.*s:%d", STR_ARG(host.len ? host : S("127.0.0.1")),
                      port_of(c, port));
}

static void ask_by_http(struct arena *a, const struct container *c,
                        const struct http_get_action *g, struct check_spec *out)
{
    struct check_header *headers = arena_array(a, struct check_header, g->http_headers.len + 1);

    out->how = CHECK_HTTP;
    out->address = address_of(a, c, g->host, g->port);
    out->authority = out->address;
    out->target = g->path.len ? g->path : S("/");
    if (!str_starts(out->target, S("/")))
        out->target = str_printf(a, "/%.*s", STR_ARG(g->path));
    out->is_tls = str_eqz(g->scheme, "HTTPS");
    for (size_t i = 0; i < g->http_headers.len; i++) {
        if (str_eqz(g->http_headers.at[i].name, "Host"))
            out->authority = g->http_headers.at[i].value;
        else
            headers[out->n_headers++] =
                (struct check_header){g->http_headers.at[i].name, g->http_headers.at[i].value};
    }
    out->headers = headers;
}

/* -1 where the command cannot be run now; 0 where something is still being read. */
static int ask_by_command(struct step *s, struct node_pod *p, const struct pod *pod,
                          const struct container *c, const struct exec_action *e,
                          struct node_container *nc, struct check_spec *out)
{
    struct runtime_spec *spec = arena_new(s->arena, struct runtime_spec);
    struct str reason, *argv = arena_array(s->arena, struct str, e->command.len + 1);
    struct err err;
    int rc = node_container_prepare(s, p, pod, c, spec, &reason, &err);

    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < e->command.len; i++)
        argv[i] = e->command.at[i];
    spec->argv = argv;
    spec->n_argv = e->command.len;
    spec->limits = (struct runtime_limits){0};
    spec->id =
        str_printf(s->arena, "%.*s.%.*s.%d." NODE_CHECK_MARK "%016" PRIx64, STR_ARG(p->uid),
                   STR_ARG(nc->name), nc->attempt, io_random(p->agent->io));
    spec->log_path =
        str_printf(s->arena, "%.*s/%.*s.check",
                   STR_ARG(node_pod_dir(s->arena, p->agent, p->uid)), STR_ARG(nc->name));
    out->how = CHECK_EXEC;
    out->exec = spec;
    return 1;
}

static void answered(void *ctx, bool is_fine, struct str why);

static void ask(struct step *s, struct node_pod *p, struct node_container *nc, int what,
                const struct check_spec *spec)
{
    struct checking *x = mem_zero(1, sizeof(*x));

    *x = (struct checking){.agent = p->agent, .attempt = nc->attempt, .what = what};
    x->uid = str_copy(&x->arena, p->uid);
    x->name = str_copy(&x->arena, nc->name);
    list_add(&p->agent->checks, &x->link);
    x->check = check_start(p->agent->io, p->agent->runtime, spec, answered, x);
    (void)s;
}

/* ---- probes ---- */

like_printf(4, 5) static void say(struct node_pod *p, const char *type, const char *reason,
                                  const char *format, ...)
{
    char room[EVENT_NOTE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(room, sizeof(room), format, args);
    va_end(args);
    if (p->object)
        control_event(p->agent->control, p->object, type, reason, "%s", room);
}

static void take_probe(struct node_pod *p, struct node_container *nc, enum probe_kind kind,
                       const struct probe *probe, bool is_fine, struct str why)
{
    struct probe_state *state = &nc->probes[kind];
    bool has_changed = probe_take(state, kind, probe, is_fine, io_now(p->agent->io));

    if (!is_fine)
        say(p, "Warning", "Unhealthy", "%s probe failed: %.*s", probe_name(kind), STR_ARG(why));
    if (!has_changed || state->is_good || kind == PROBE_READINESS)
        return;
    nc->is_unhealthy = true;
    nc->has_kill_grace = IS_SET(probe, termination_grace_period_seconds);
    nc->kill_grace = span_s(probe->termination_grace_period_seconds);
    say(p, "Normal", "Killing", "Container %.*s failed its probe: %s; it is ended",
        STR_ARG(nc->name), probe_name(kind));
}

static void take_hook(struct node_pod *p, struct node_container *nc, int what, bool is_fine,
                      struct str why)
{
    if (what == HOOK_PRE_STOP) {
        nc->pre_stop = HOOK_DONE;
        if (!is_fine)
            say(p, "Warning", "FailedPreStopHook", "PreStopHook of %.*s failed: %.*s",
                STR_ARG(nc->name), STR_ARG(why));
        return;
    }
    nc->post_start = HOOK_DONE;
    if (is_fine)
        return;
    nc->is_unhealthy = true;
    say(p, "Warning", "FailedPostStartHook", "PostStartHook of %.*s failed: %.*s",
        STR_ARG(nc->name), STR_ARG(why));
}

static const struct container *find(const struct pod *pod, struct str name)
{
    const struct container_list *lists[] = {&pod->spec->containers,
                                            &pod->spec->init_containers};

    for (size_t k = 0; k < countof(lists); k++)
        for (size_t i = 0; i < lists[k]->len; i++)
            if (str_eq(lists[k]->at[i].name, name))
                return &lists[k]->at[i];
    return NULL;
}

static void answered(void *ctx, bool is_fine, struct str why)
{
    struct checking *x = ctx;
    struct node_pod **found = map_get(&x->agent->by_uid, x->uid), *p = found ? *found : NULL;
    struct node_container *nc = p ? node_pod_container(p, x->name) : NULL;

    if (nc && nc->attempt == x->attempt && p->object) {
        scoped(arena_fini) struct arena a = arena_sized(8 << 10);
        const struct container *c = find(object_view(p->object, &a), x->name);
        const struct probe *probe =
            c && x->what < PROBE_KINDS ? probe_of(c, (enum probe_kind)x->what) : NULL;
        if (probe)
            take_probe(p, nc, (enum probe_kind)x->what, probe, is_fine, why);
        else if (x->what >= PROBE_KINDS)
            take_hook(p, nc, x->what, is_fine, why);
        node_pod_queue(p);
    }
    checking_free(x);
}

static void start_probe(struct step *s, struct node_pod *p, const struct pod *pod,
                        const struct container *c, struct node_container *nc,
                        enum probe_kind kind)
{
    const struct probe *probe = probe_of(c, kind);
    struct check_spec spec = {.timeout = span_s(MAX(probe->timeout_seconds, 1))};

    if (probe->exec) {
        if (ask_by_command(s, p, pod, c, probe->exec, nc, &spec) <= 0)
            return; /* asked again when the pod is looked at again */
    } else if (probe->http_get) {
        ask_by_http(s->arena, c, probe->http_get, &spec);
    } else if (probe->tcp_socket) {
        spec.how = CHECK_TCP;
        spec.address =
            address_of(s->arena, c, probe->tcp_socket->host, probe->tcp_socket->port);
    } else if (probe->grpc) {
        spec.how = CHECK_GRPC;
        spec.address =
            address_of(s->arena, c, S(""), (struct int_or_string){.i = probe->grpc->port});
        spec.authority = spec.address;
        spec.target = probe->grpc->service;
        spec.is_tls = str_eqz(probe->grpc->mode, "TLS");
    } else {
        return; /* the server takes no probe without a question */
    }
    ask(s, p, nc, (int)kind, &spec);
}

/* Asks what is due; what is not yet brings the pod back. */
static void probe(struct step *s, struct node_pod *p, const struct pod *pod,
                  const struct container *c, struct node_container *nc, enum probe_kind kind)
{
    if (!probe_of(c, kind) || is_checking(p, nc, (int)kind))
        return;
    if (instant_before(s->now, nc->probes[kind].next))
        step_again(s, instant_sub(nc->probes[kind].next, s->now));
    else
        start_probe(s, p, pod, c, nc, kind);
}

/* The records of a run begin with it. */
static void begin_run(const struct container *c, struct node_container *nc,
                      const struct runtime_status *st)
{
    if (nc->probed_attempt == nc->attempt + 1)
        return;
    nc->probed_attempt = nc->attempt + 1;
    nc->is_unhealthy = false;
    nc->pre_stop = HOOK_NONE;
    for (enum probe_kind k = 0; k < PROBE_KINDS; k++)
        if (probe_of(c, k))
            nc->probes[k] = probe_begin(k, probe_of(c, k), st->started);
}

static bool start_hook(struct step *s, struct node_pod *p, const struct pod *pod,
                       const struct container *c, struct node_container *nc,
                       const struct lifecycle_handler *h, int what, struct span timeout)
{
    struct check_spec spec = {.timeout = timeout};

    if (h->exec) {
        if (ask_by_command(s, p, pod, c, h->exec, nc, &spec) <= 0)
            return false;
    } else if (h->http_get) {
        ask_by_http(s->arena, c, h->http_get, &spec);
    } else if (h->sleep) {
        struct span asked = span_s(h->sleep->seconds);
        spec.how = CHECK_PAUSE;
        spec.timeout = timeout.ns && timeout.ns < asked.ns ? timeout : asked;
    } else if (h->tcp_socket) {
        spec.how = CHECK_TCP;
        spec.address = address_of(s->arena, c, h->tcp_socket->host, h->tcp_socket->port);
    } else {
        return false;
    }
    ask(s, p, nc, what, &spec);
    return true;
}

void node_probe_container(struct step *s, struct node_pod *p, const struct pod *pod,
                          const struct container *c, const struct runtime_status *st)
{
    struct node_container *nc = node_pod_container(p, c->name);
    const struct lifecycle_handler *post = c->lifecycle ? c->lifecycle->post_start : NULL;

    begin_run(c, nc, st);
    if (nc->is_unhealthy || st->state != RUNTIME_RUNNING)
        return;
    if (post && nc->post_start == HOOK_NONE)
        nc->post_start = start_hook(s, p, pod, c, nc, post, HOOK_POST_START, (struct span){0})
                             ? HOOK_RUNNING
                             : HOOK_NONE;
    if (post && nc->post_start != HOOK_DONE)
        return;
    if (probe_of(c, PROBE_STARTUP) && !nc->probes[PROBE_STARTUP].is_good) {
        probe(s, p, pod, c, nc, PROBE_STARTUP);
        return;
    }
    probe(s, p, pod, c, nc, PROBE_LIVENESS);
    probe(s, p, pod, c, nc, PROBE_READINESS);
}

void node_probe_see(const struct container *c, const struct node_container *nc,
                    struct container_seen *out)
{
    bool is_new = nc->probed_attempt != nc->attempt + 1;

    out->is_unhealthy = !is_new && nc->is_unhealthy;
    out->has_kill_grace = out->is_unhealthy && nc->has_kill_grace;
    out->kill_grace = nc->kill_grace;
    out->is_unstarted =
        (c->startup_probe && (is_new || !nc->probes[PROBE_STARTUP].is_good)) ||
        (c->lifecycle && c->lifecycle->post_start && nc->post_start != HOOK_DONE);
    out->is_unready = out->is_unstarted ||
                      (c->readiness_probe && (is_new || !nc->probes[PROBE_READINESS].is_good));
}

/* ---- the end of a container ---- */

static bool waits_for_hook(struct step *s, struct node_pod *p, const struct pod *pod,
                           const struct container *c, struct node_container *nc,
                           struct span grace)
{
    struct instant end = instant_add(s->now, grace);

    if (nc->pre_stop == HOOK_NONE) {
        nc->stop_by = end;
        nc->pre_stop =
            start_hook(s, p, pod, c, nc, c->lifecycle->pre_stop, HOOK_PRE_STOP, grace)
                ? HOOK_RUNNING
                : HOOK_DONE;
    }
    if (instant_before(end, nc->stop_by)) /* asked again, with less time */
        nc->stop_by = end;
    if (nc->pre_stop == HOOK_DONE || !instant_before(s->now, nc->stop_by))
        return false;
    step_again(s, instant_sub(nc->stop_by, s->now));
    return true;
}

void node_container_stop(struct step *s, struct node_pod *p, const struct pod *pod,
                         const struct container *c, struct span grace)
{
    struct node_container *nc = node_pod_container(p, c->name);
    struct str id = node_container_id(s->arena, p->uid, nc->name, nc->attempt);
    const struct runtime_status *st =
        nc->attempt < 0 ? NULL : runtime_find(p->agent->runtime, id);
    bool has_hook = c->lifecycle && c->lifecycle->pre_stop && grace.ns > 0 && st &&
                    st->state == RUNTIME_RUNNING;

    if (nc->attempt < 0)
        return;
    if (has_hook && waits_for_hook(s, p, pod, c, nc, grace))
        return;
    if (has_hook) {
        struct span left = instant_sub(nc->stop_by, s->now);
        grace = left.ns > HOOK_LEAST_GRACE.ns ? left : HOOK_LEAST_GRACE;
    }
    runtime_stop(p->agent->runtime, id, grace);
}
