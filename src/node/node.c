/* node.c - the agent: start, events, the end
 *
 * Ready when the caches have their first lists and the keeper has told what runs. Then what is
 * asked for and what runs are joined, and from there on every event queues one pod.
 */
#include "node/node_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/core_v1.h"
#include "api/kinds.h"
#include "control/lock.h"
#include "object/object.h"
#include "json/json.h"

#define COMPONENT "berth-node"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* ---- what the keeper knew when we came ---- */

/* A command that only asked, and nobody waits for its answer. */
static void end_stray_check(struct node_agent *a, const struct runtime_status *s)
{
    if (!str_has(s->id, S("." NODE_CHECK_MARK)))
        return;
    if (s->state == RUNTIME_EXITED)
        runtime_forget(a->runtime, s->id);
    else
        runtime_stop(a->runtime, s->id, (struct span){0});
}

static void join_container(void *ctx, const struct runtime_status *s)
{
    struct node_agent *a = ctx;
    struct str uid, name;
    int32_t attempt;

    if (!node_container_id_parse(s->id, &uid, &name, &attempt)) {
        end_stray_check(a, s);
        return;
    }
    struct node_container *c = node_pod_container(node_pod_get(a, uid), name);
    c->attempt = MAX(c->attempt, attempt);
    c->post_start = HOOK_DONE;
}

static char *own(struct str s)
{
    char *z = mem_alloc(s.len + 1);

    memcpy(z, s.at, s.len);
    z[s.len] = 0;
    return z;
}

static void add_own(void *map, struct str key)
{
    MAP(char *) *m = map;

    if (map_get(m, key))
        return;
    char *z = own(key);
    *map_put(m, str_from(z)) = z;
}

static void free_own(void *map)
{
    MAP(char *) *m = map;

    map_each (i, m)
        free(*map_at(m, i));
    map_fini(m);
}

static bool is_finished(const struct object *o)
{
    scoped(arena_fini) struct arena a = {0};
    struct str phase = json_str(json_path(object_tree(o, &a), "status", "phase", NULL));

    return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

/* Containers of a pod that went while nobody looked. */
static void end_orphan(struct node_pod *p)
{
    scoped(arena_fini) struct arena a = {0};
    bool all_ended = true;

    vec_each (i, &p->containers) {
        const struct node_container *c = &p->containers.at[i];
        struct str id = node_container_id(&a, p->uid, c->name, c->attempt);
        const struct runtime_status *s = runtime_find(p->agent->runtime, id);
        if (!s || s->state == RUNTIME_EXITED)
            continue;
        all_ended = false;
        if (s->state == RUNTIME_RUNNING)
            runtime_stop(p->agent->runtime, id, span_s(GONE_GRACE_S));
    }
    if (!all_ended)
        return;
    vec_each (i, &p->containers)
        for (int32_t k = 0; k <= p->containers.at[i].attempt; k++)
            runtime_forget(p->agent->runtime,
                           node_container_id(&a, p->uid, p->containers.at[i].name, k));
    node_pod_free(p);
}

static void end_orphans(struct node_agent *a)
{
    VEC(struct node_pod *) orphans = {0};

    map_each (i, &a->by_uid) {
        struct node_pod *p = *map_at(&a->by_uid, i);
        if (!p->path.len)
            vec_push(&orphans, p);
    }
    vec_each (i, &orphans)
        end_orphan(orphans.at[i]);
    vec_fini(&orphans);
}

static void get_ready(struct node_agent *a)
{
    if (!a->is_registered || !runtime_is_ready(a->runtime))
        return;
    if (!a->is_ready) {
        a->is_root = runtime_is_root(a->runtime);
        runtime_list(a->runtime, join_container, a);
        a->is_ready = true;
        node_sweep(a);
        cache_each(i, a->pods)
        {
            struct object *o = cache_at(a->pods, i);
            struct node_pod **p = map_get(&a->by_uid, object_uid(o));
            if (p)
                node_pod_set_path(*p, object_key(o).ns, object_key(o).name);
            if (a->was_restarted && !is_finished(o))
                add_own(&a->restarted, object_uid(o));
        }
        end_orphans(a);
        log_info("node is ready", "name=%.*s pods=%zu", STR_ARG(a->config.name),
                 cache_len(a->pods));
    }
    cache_each(i, a->pods) controller_queue_object(a->pod_controller, cache_at(a->pods, i));
    node_queue_all(a);
}

/* ---- events ---- */

static void runtime_came(void *ctx)
{
    struct node_agent *a = ctx;

    get_ready(a);
    controller_queue(a->node_controller, a->config.name); /* its conditions */
}

static void container_exited(void *ctx, const struct runtime_status *s)
{
    struct node_agent *a = ctx;
    struct str uid, name;
    int32_t attempt;

    if (!node_container_id_parse(s->id, &uid, &name, &attempt)) {
        if (!node_check_exited(a, s))
            end_stray_check(a, s);
        return;
    }
    struct node_pod **p = map_get(&a->by_uid, uid);
    if (!p)
        return;
    if ((*p)->path.len)
        node_pod_queue(*p);
    else if (a->is_ready)
        end_orphan(*p);
}

static void runtime_failed(void *ctx, const struct err *err)
{
    (void)ctx;
    log_error("the keeper cannot be started", "error='%s'", err->text);
}

static const struct runtime_events runtime_events = {
    .ready = runtime_came, .exited = container_exited, .failed = runtime_failed};

static void pod_changed(void *ctx, struct cache_event *e)
{
    struct node_agent *a = ctx;
    scoped(arena_fini) struct arena arena = {0};

    if (e->now) {
        controller_queue_object(a->pod_controller, e->now);
        return;
    }
    struct object_key key = object_key(e->old);
    struct str uid = object_uid(e->old);
    if (map_get(&a->by_uid, uid))
        controller_queue_object(a->pod_controller, e->old);
    else
        node_remove_later(a, node_log_dir(&arena, a, key.ns, key.name, uid));
}

static void node_changed(void *ctx, struct cache_event *e)
{
    struct node_agent *a = ctx;

    controller_queue(a->node_controller, object_key(e->now ? e->now : e->old).name);
}

/* The first run says that the caches are there. */
static int reconcile_node(struct step *s, struct err *err)
{
    struct node_agent *a = s->ctx;

    if (!str_eq(s->key, a->config.name))
        return 0;
    if (!a->is_registered) {
        a->is_registered = true;
        get_ready(a);
    }
    return node_object_reconcile(s, err);
}

/* ---- the start ---- */

static int make_dirs(struct node_agent *a, struct err *err)
{
    static const struct {
        const char *name;
        mode_t mode;
    } dirs[] = {
        {"pods", 0711}, /* accounts go through it to their own */
        {"logs", 0755},
    };
    scoped(arena_fini) struct arena arena = {0};

    for (size_t i = 0; i < countof(dirs); i++) {
        const char *path =
            str_z(&arena, str_printf(&arena, "%s/%s", a->data_dir, dirs[i].name));
        if ((mkdir(path, dirs[i].mode) < 0 && errno != EEXIST) || chmod(path, dirs[i].mode) < 0)
            return err_set(err, ERR_IO, "cannot make '%s': %s", path, strerror(errno));
        scoped(close_fd) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) /* it is there, but as something else */
            return err_set(err, ERR_IO, "cannot make '%s': %s", path, strerror(errno));
    }
    return 0;
}

static struct str boot_id(struct arena *a)
{
    char *text = arena_alloc(a, 64, 1);
    scoped(close_fd) int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, 63);

    return str_trim(str_of(text, n > 0 ? (size_t)n : 0));
}

static void copy_config(struct node_agent *a, const struct node_config *config)
{
    struct arena *in = &a->arena;
    struct node_config *c = &a->config;
    char host[256] = "";

    *c = *config;
    if (!config->name.len)
        gethostname(host, sizeof(host) - 1);
    c->name = config->name.len ? str_copy(in, config->name) : str_lower(in, str_from(host));
    c->address = str_copy(in, config->address);
    c->max_pods = config->max_pods ? config->max_pods : NODE_MAX_PODS;
    c->labels.at = arena_array(in, struct str_entry, config->labels.len + 1);
    for (size_t i = 0; i < config->labels.len; i++)
        c->labels.at[i] = (struct str_entry){str_copy(in, config->labels.at[i].key),
                                             str_copy(in, config->labels.at[i].value)};
    a->data_dir = str_z(in, config->data_dir);
}

static void make_control(struct node_agent *a)
{
    scoped(arena_fini) struct arena arena = {0};
    struct controller_config pods = {
        .name = "node-pod", .reconcile = node_pod_reconcile, .ctx = a, .max_busy = 1024};
    struct controller_config nodes = {.name = "node", .reconcile = reconcile_node, .ctx = a};

    a->control = control_new(a->io, a->client, S(COMPONENT));
    a->pods =
        control_cache_of(a->control, &kind_pod,
                         str_printf(&arena, "spec.nodeName=%.*s", STR_ARG(a->config.name)));
    a->nodes =
        control_cache_of(a->control, &kind_node,
                         str_printf(&arena, "metadata.name=%.*s", STR_ARG(a->config.name)));
    a->pod_controller = controller_new(a->control, &pods);
    a->node_controller = controller_new(a->control, &nodes);
    cache_subscribe(a->pods, pod_changed, a);
    cache_subscribe(a->nodes, node_changed, a);
    controller_queue(a->node_controller, a->config.name);
}

struct node_agent *node_agent_new(struct io *io, struct client *client,
                                  const struct node_config *config, struct err *err)
{
    struct node_agent *a = mem_zero(1, sizeof(*a));

    *a = (struct node_agent){.io = io, .client = client};
    list_init(&a->starts);
    list_init(&a->checks);
    list_init(&a->measures);
    copy_config(a, config);
    if (make_dirs(a, err) < 0 ||
        checkpoint_exchange(a->data_dir, boot_id(&a->arena), &a->was_restarted, err) < 0) {
        node_agent_free(a);
        return NULL;
    }
    node_measure(a);
    a->runtime = runtime_new(io, str_from(a->data_dir), &runtime_events, a, err);
    if (!a->runtime) {
        node_agent_free(a);
        return NULL;
    }
    a->accounts = accounts_new(io);
    a->heartbeat = io_timer_new(io, node_heartbeat, a);
    make_control(a);
    if (a->config.is_remote) {
        node_lease_hold(a);
        io_timer_set(a->heartbeat, (struct span){0});
    }
    return a;
}

void node_agent_free(struct node_agent *a)
{
    if (!a)
        return;
    io_timer_free(a->heartbeat);
    lock_free(a->lease);
    if (a->control)
        control_free(a->control);
    node_starts_free(a);
    node_checks_free(a, S(""));
    node_limits_free(a);
    runtime_free(a->runtime);
    accounts_free(a->accounts);
    map_each (i, &a->by_uid) {
        struct node_pod *p = *map_at(&a->by_uid, i);
        node_pod_free(p);
    }
    map_fini(&a->by_uid);
    map_fini(&a->by_path);
    free_own(&a->told_images);
    free_own(&a->restarted);
    arena_fini(&a->arena);
    free(a);
}
