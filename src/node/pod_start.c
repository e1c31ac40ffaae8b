/* pod_start.c - from a container's spec to what the runtime runs
 *
 * There is no root file system of the container's own: it runs on this machine's files. Its
 * volumes are told as BERTH_VOLUME_NAME, and are mounted where it says when we are root.
 */
#include "node/node_priv.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "api/run_as.h"
#include "object/object.h"
#include "schema/view.h"
#include "value/quantity.h"

#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define HOST_IMAGE "host" /* says that this machine's files are meant */

/* What is put together for one start. */
struct preparing {
    struct step *step;
    struct arena *arena;
    struct node_pod *p;
    struct node_agent *agent;
    const struct pod *pod;
    const struct container *c;
    struct runtime_spec *spec;
    struct run_as who;
    struct env env;
    struct str *reason;
};

static int refuse(struct preparing *x, const char *reason)
{
    *x->reason = str_from(reason);
    return -1;
}

/* ---- images ---- */

static int check_image(struct preparing *x, struct err *err)
{
    const struct container *c = x->c;
    struct node_agent *n = x->agent;
    bool is_host = !c->image.len || str_eqz(c->image, HOST_IMAGE);

    if (!c->command.len) {
        err_set(err, ERR_UNSUPPORTED,
                "no image is pulled on this node: container '%.*s' needs a command, which runs "
                "on the files of the machine",
                STR_ARG(c->name));
        return refuse(x, "ErrImagePull");
    }
    if (is_host)
        return 0;
    if (n->config.refuse_images) {
        err_set(err, ERR_FORBIDDEN,
                "this node was started with --images=refuse: write image '" HOST_IMAGE
                "' instead of '%.*s' to run on the files of the machine",
                STR_ARG(c->image));
        return refuse(x, "ErrImagePull");
    }
    if (map_get(&n->told_images, c->image) || x->p->has_told_image)
        return 0;
    char *own = mem_alloc(c->image.len + 1);
    memcpy(own, c->image.at, c->image.len);
    own[c->image.len] = 0;
    *map_put(&n->told_images, str_from(own)) = own;
    x->p->has_told_image = true;
    step_event(x->step, x->p->object, "Normal", "ImageNotUsed",
               "image '%.*s' is only a name here: the command runs on the files of the machine",
               STR_ARG(c->image));
    return 0;
}

/* ---- whose work it is ---- */

/* securityContext may only say again what run-as says, unless root asked. */
static int check_security(struct preparing *x, struct err *err)
{
    const struct pod_security_context *pod = x->pod->spec->security_context;
    const struct security_context *own = x->c->security_context;
    int64_t uid = x->who.uid, gid = x->who.gid;
    bool non_root = false;

    if (pod && IS_SET(pod, run_as_user))
        uid = pod->run_as_user;
    if (pod && IS_SET(pod, run_as_group))
        gid = pod->run_as_group;
    non_root = pod && pod->run_as_non_root;
    if (own && IS_SET(own, run_as_user))
        uid = own->run_as_user;
    if (own && IS_SET(own, run_as_group))
        gid = own->run_as_group;
    if (own && IS_SET(own, run_as_non_root))
        non_root = own->run_as_non_root;
    if (x->who.uid != 0 && (uid != x->who.uid || gid != x->who.gid)) {
        err_set(err, ERR_FORBIDDEN,
                "securityContext asks for user %" PRId64 " and group %" PRId64
                ", but the work of its owner runs as %u and %u",
                uid, gid, x->who.uid, x->who.gid);
        return refuse(x, "CreateContainerConfigError");
    }
    if (non_root && uid == 0) {
        err_set(err, ERR_FORBIDDEN,
                "container has runAsNonRoot and its owner's work runs as root");
        return refuse(x, "CreateContainerConfigError");
    }
    if (uid != x->who.uid) { /* root lends no groups of its own */
        x->who.groups = NULL;
        x->who.n_groups = 0;
    }
    x->who.uid = (uint32_t)uid;
    x->who.gid = (uint32_t)gid;
    return 0;
}

static int find_user(struct preparing *x, struct err *err)
{
    const struct json *tree = object_tree(x->p->object, x->arena);
    bool is_there = false;

    if (run_as_of(x->arena, tree, &is_there, &x->who, err) < 0)
        return refuse(x, "CreateContainerConfigError");
    if (!is_there) {
        err_set(err, ERR_FORBIDDEN,
                "whoever asked for this pod has no account on this machine: 'berth user NAME' "
                "gives one, or ask through the local socket");
        return refuse(x, "CreateContainerConfigError");
    }
    if (check_security(x, err) < 0)
        return -1;
    if (!x->agent->is_root && x->who.uid != geteuid()) {
        err_set(err, ERR_FORBIDDEN,
                "this berth runs as user %u and cannot start the work of user %u: start it as "
                "root",
                geteuid(), x->who.uid);
        return refuse(x, "CreateContainerConfigError");
    }
    return 0;
}

/* ---- sources ---- */

static void take_source(struct pod_source *s, struct object *o, struct arena *a)
{
    s->is_missing = !o;
    if (!o)
        return;
    if (s->kind == SOURCE_SECRET) {
        const struct secret *v = object_view(o, a);
        s->data = v->data;
    } else {
        const struct config_map *v = object_view(o, a);
        s->data = v->data;
        s->binary = v->binary_data;
    }
}

/* The agent's record outlives the step; views are decoded into the pod's arena. */
static void source_read(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct node_agent *n = s->ctx;
    struct str *which = ctx; /* uid, then the source's number as its length */
    struct node_pod **known = map_get(&n->by_uid, which[0]);

    if (!known)
        return;
    struct node_pod *p = *known;
    take_source(&p->sources[which[1].len], answer->object, &p->sources_arena);
    if (answer->err && answer->err->code != ERR_NOT_FOUND)
        p->has_sources = false; /* the step failed, and comes back */
    if (--p->n_fetching == 0)
        node_pod_queue(p);
}

static void read_sources(struct preparing *x)
{
    struct node_pod *p = x->p;

    arena_reset(&p->sources_arena);
    p->n_sources = pod_sources(&p->sources_arena, x->pod, &p->sources);
    p->has_sources = true;
    p->sources_at = x->step->now;
    p->n_fetching = p->n_sources;
    for (size_t i = 0; i < p->n_sources; i++) {
        struct pod_source *s = &p->sources[i];
        s->name = str_copy(&p->sources_arena, s->name);
        struct client_target t = {.kind = s->kind == SOURCE_SECRET ? &kind_secret
                                                                   : &kind_config_map,
                                  .ns = p->ns,
                                  .name = s->name};
        struct str *which = arena_array(x->step->arena, struct str, 2);
        which[0] = str_copy(x->step->arena, p->uid);
        which[1].len = i;
        step_get(x->step, &t, source_read, which);
    }
}

/* True where all that the pod names has been read (or is known to be missing). */
static bool has_sources(struct preparing *x)
{
    struct node_pod *p = x->p;
    bool missing = false;

    if (p->n_fetching)
        return false;
    for (size_t i = 0; p->has_sources && i < p->n_sources; i++)
        missing = missing || p->sources[i].is_missing;
    struct instant again = instant_add(p->sources_at, span_s(SOURCE_AGAIN_S));
    if (!p->has_sources || (missing && !instant_before(x->step->now, again)))
        read_sources(x);
    return p->n_fetching == 0;
}

/* ---- the environment ---- */

static struct str volume_variable(struct arena *a, struct str name)
{
    struct buf out = buf_in(a, 64);

    buf_add(&out, S("BERTH_VOLUME_"));
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        buf_byte(&out, c >= 'a' && c <= 'z'   ? (char)(c - 'a' + 'A')
                       : c == '-' || c == '.' ? '_'
                                              : c);
    }
    return buf_str(&out);
}

static void set_base(struct preparing *x, const struct account *account)
{
    const struct pod *pod = x->pod;

    x->env = (struct env){.arena = x->arena};
    env_set(&x->env, S("PATH"), S(DEFAULT_PATH));
    env_set(&x->env, S("HOSTNAME"), pod->metadata->name);
    if (account->name[0]) {
        env_set(&x->env, S("USER"), str_from(account->name));
        env_set(&x->env, S("LOGNAME"), str_from(account->name));
    }
    env_set(&x->env, S("HOME"), account->home[0] ? str_from(account->home) : S("/"));
    for (size_t i = 0; i < pod->spec->volumes.len; i++) {
        const struct volume *v = &pod->spec->volumes.at[i];
        if (volume_is_ignored(v))
            continue;
        env_set(&x->env, volume_variable(x->arena, v->name),
                node_volume_path(x->arena, x->agent, pod->metadata->uid, v));
    }
}

static struct pod_facts facts_of(const struct preparing *x)
{
    return (struct pod_facts){.pod = x->pod,
                              .sources = x->p->sources,
                              .n_sources = x->p->n_sources,
                              .host_ip = x->agent->config.address,
                              .node_cpu_millis = x->agent->cpu_millis,
                              .node_memory = x->agent->memory,
                              .node_storage = x->agent->storage};
}

static int make_volumes(struct preparing *x, const struct pod_facts *f, struct err *err)
{
    struct owner owner = {.change = x->agent->is_root, .uid = x->who.uid, .gid = x->who.gid};

    if (x->p->has_volumes)
        return 0;
    if (node_volumes_make(x->arena, x->agent, f, owner, err) < 0) {
        step_event(x->step, x->p->object, "Warning", "FailedMount", "%s", err->text);
        return refuse(x, "ContainerCreating");
    }
    x->p->has_volumes = true;
    return 0;
}

/* ---- mounts ---- */

static const struct volume *find_volume(const struct pod *pod, struct str name)
{
    for (size_t i = 0; i < pod->spec->volumes.len; i++)
        if (str_eq(pod->spec->volumes.at[i].name, name))
            return &pod->spec->volumes.at[i];
    return NULL;
}

static bool climbs(struct str path)
{
    struct str part;

    while (path.len) {
        str_cut(path, '/', &part, &path);
        if (str_eqz(part, ".."))
            return true;
    }
    return false;
}

static int set_mounts(struct preparing *x, struct err *err)
{
    const struct container *c = x->c;
    struct runtime_mount *mounts =
        arena_array(x->arena, struct runtime_mount, c->volume_mounts.len + 1);
    size_t n = 0;

    for (size_t i = 0; x->agent->is_root && i < c->volume_mounts.len; i++) {
        const struct volume_mount *m = &c->volume_mounts.at[i];
        const struct volume *v = find_volume(x->pod, m->name);
        struct str sub =
            m->sub_path_expr.len ? env_expand(&x->env, m->sub_path_expr) : m->sub_path;
        if (!v || volume_is_ignored(v))
            continue;
        if (climbs(sub) || climbs(m->mount_path) || !str_starts(m->mount_path, S("/"))) {
            err_set(err, ERR_INVALID, "mount of '%.*s' on '%.*s' leaves its place",
                    STR_ARG(m->name), STR_ARG(m->mount_path));
            return refuse(x, "CreateContainerConfigError");
        }
        struct str from = node_volume_path(x->arena, x->agent, x->p->uid, v);
        if (sub.len)
            from = str_printf(x->arena, "%.*s/%.*s", STR_ARG(from), STR_ARG(sub));
        mounts[n++] = (struct runtime_mount){
            .source = from, .target = m->mount_path, .read_only = m->read_only};
    }
    x->spec->mounts = mounts;
    x->spec->n_mounts = n;
    return 0;
}

/* ---- limits ---- */

static int64_t amount(struct arena *a, const struct str_map *list, struct str name,
                      int32_t scale)
{
    struct quantity q;
    const struct str *text = str_map_find(list, name);

    if (!text || quantity_parse(a, *text, &q, NULL) < 0)
        return 0;
    return MAX(quantity_units(&q, scale), INT64_C(0));
}

static void set_limits(struct preparing *x)
{
    const struct resource_requirements *r = x->c->resources;
    struct runtime_limits *l = &x->spec->limits;

    if (!r)
        return;
    l->cpu_millis = amount(x->arena, &r->limits, S("cpu"), QUANTITY_MILLI);
    l->memory = amount(x->arena, &r->limits, S("memory"), 0);
    l->cpu_weight_millis = amount(x->arena, &r->requests, S("cpu"), QUANTITY_MILLI);
}

static void set_command(struct preparing *x)
{
    const struct str_list *lists[] = {&x->c->command, &x->c->args};
    struct str *argv =
        arena_array(x->arena, struct str, x->c->command.len + x->c->args.len + 1);
    size_t n = 0;

    for (size_t k = 0; k < countof(lists); k++)
        for (size_t i = 0; i < lists[k]->len; i++)
            argv[n++] = env_expand(&x->env, lists[k]->at[i]);
    x->spec->argv = argv;
    x->spec->n_argv = n;
}

/* ---- the whole ---- */

int node_container_prepare(struct step *s, struct node_pod *p, const struct pod *pod,
                           const struct container *c, struct runtime_spec *spec,
                           struct str *reason, struct err *err)
{
    struct preparing x = {.step = s,
                          .arena = s->arena,
                          .p = p,
                          .agent = p->agent,
                          .pod = pod,
                          .c = c,
                          .spec = spec,
                          .reason = reason};

    *spec = (struct runtime_spec){0};
    if (check_image(&x, err) < 0 || find_user(&x, err) < 0)
        return -1;
    const struct account *account =
        account_find(p->agent->accounts, x.who.uid, node_queue_all, p->agent);
    if (!has_sources(&x) || !account)
        return 0;
    struct pod_facts facts = facts_of(&x);
    if (make_volumes(&x, &facts, err) < 0)
        return -1;
    set_base(&x, account);
    if (env_of_container(&x.env, &facts, c, err) < 0)
        return refuse(&x, "CreateContainerConfigError");
    if (set_mounts(&x, err) < 0)
        return -1;
    set_command(&x);
    set_limits(&x);
    spec->env = env_strings(&x.env);
    spec->n_env = x.env.vars.len;
    spec->cwd_may_fail = !c->working_dir.len;
    spec->cwd = c->working_dir.len ? c->working_dir : env_get(&x.env, S("HOME"));
    spec->has_user = true;
    spec->uid = x.who.uid;
    spec->gid = x.who.gid;
    spec->groups = x.who.groups;
    spec->n_groups = x.who.n_groups;
    spec->no_new_privs = c->security_context &&
                         IS_SET(c->security_context, allow_privilege_escalation) &&
                         !c->security_context->allow_privilege_escalation;
    return 1;
}
