/* node_object.c - the Node that stands for this machine, and its Lease
 *
 * A node in the server's process says so (berth.dev/in-process) and writes only when something
 * changed. Another one renews a Lease every 10 s, and its status every 5 min.
 */
#include "node/node_priv.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/core_v1.h"
#include "api/kinds.h"
#include "control/lock.h"
#include "object/object.h"
#include "schema/codec.h"
#include "schema/view.h"
#include "value/quantity.h"
#include "value/time.h"
#include "json/json.h"

#define LEASE_NAMESPACE "kube-node-lease"
#define LEASE_S 40
#define LEASE_DEADLINE_S 30
#define HEARTBEAT_S 10 /* between two renewals of the Lease, two looks at the machine */
#define STATUS_EVERY_S 300
#define IN_PROCESS "berth.dev/in-process"

/* ---- what the machine has ---- */

static int64_t memory_bytes(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? pages * size : 0;
}

void node_measure(struct node_agent *n)
{
    struct statvfs fs;
    int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);

    n->cpu_millis = MAX(cpus, INT64_C(1)) * 1000;
    n->memory = memory_bytes();
    n->storage = statvfs(n->data_dir, &fs) == 0
                     ? (int64_t)((uint64_t)fs.f_blocks * (uint64_t)fs.f_frsize)
                     : 0;
}

static struct str bytes_text(struct arena *a, int64_t bytes)
{
    struct quantity q = quantity_of(bytes / 1024 * 1024, 0, QUANTITY_BINARY_SI);

    return quantity_text(a, &q);
}

static struct str_map capacity(struct arena *a, const struct node_agent *n)
{
    struct str_map m = {.at = arena_array(a, struct str_entry, 4), .len = 4};

    m.at[0] = (struct str_entry){S("cpu"), str_printf(a, "%" PRId64, n->cpu_millis / 1000)};
    m.at[1] = (struct str_entry){S("ephemeral-storage"), bytes_text(a, n->storage)};
    m.at[2] = (struct str_entry){S("memory"), bytes_text(a, n->memory)};
    m.at[3] = (struct str_entry){S("pods"), str_printf(a, "%d", n->config.max_pods)};
    return m;
}

static struct str machine(struct arena *a)
{
    static const struct {
        const char *uname, *go;
    } rows[] = {
        {"x86_64",  "amd64"  },
        {"aarch64", "arm64"  },
        {"riscv64", "riscv64"},
        {"ppc64le", "ppc64le"},
        {"s390x",   "s390x"  },
        {"i686",    "386"    },
    };
    struct utsname u;

    if (uname(&u) < 0)
        return S("unknown");
    for (size_t i = 0; i < countof(rows); i++)
        if (strcmp(u.machine, rows[i].uname) == 0)
            return str_from(rows[i].go);
    return str_copy(a, str_from(u.machine));
}

static struct node_system_info *system_info(struct arena *a)
{
    struct node_system_info *i = arena_new(a, struct node_system_info);
    struct utsname u;

    SET(i, operating_system, S("linux"));
    SET(i, architecture, machine(a));
    SET(i, container_runtime_version, S("berth://1"));
    SET(i, kubelet_version, S("berth"));
    SET(i, kube_proxy_version, S(""));
    SET(i, machine_id, S(""));
    SET(i, system_uuid, S(""));
    SET(i, boot_id, S(""));
    SET(i, os_image, S("Linux"));
    SET(i, kernel_version, uname(&u) < 0 ? S("") : str_copy(a, str_from(u.release)));
    return i;
}

/* ---- conditions ---- */

struct said {
    const char *type;
    bool is_true;
    const char *reason;
    struct str message;
};

static const struct node_condition *find_condition(const struct node_status *st,
                                                   const char *type)
{
    for (size_t i = 0; st && i < st->conditions.len; i++)
        if (str_eqz(st->conditions.at[i].type, type))
            return &st->conditions.at[i];
    return NULL;
}

static struct node_condition_list conditions(struct arena *a, const struct node_agent *n,
                                             const struct node_status *old, struct instant now)
{
    struct str limits = runtime_condition(n->runtime);
    bool is_up = runtime_is_ready(n->runtime);
    const struct said rows[] = {
        {"MemoryPressure", false,           "Sufficient",                                   S("")},
        {"DiskPressure",   false,           "Sufficient",                                   S("")},
        {"PIDPressure",    false,           "Sufficient",                                   S("")},
        {"LimitsEnforced", limits.len == 0, limits.len ? "NoControlGroup" : "ControlGroup",
         limits                                                                                  },
        {"Ready",          is_up,           is_up ? "KubeletReady" : "KeeperNotReady",
         is_up ? S("pods run as processes of this machine")
               : S("the keeper of containers does not answer")                                   },
    };
    struct node_condition_list out = {.at =
                                          arena_array(a, struct node_condition, countof(rows))};

    for (size_t i = 0; i < countof(rows); i++) {
        const struct node_condition *was = find_condition(old, rows[i].type);
        struct node_condition *c = &out.at[out.len++];
        struct str status = rows[i].is_true ? S("True") : S("False");
        SET(c, type, str_from(rows[i].type));
        SET(c, status, status);
        SET(c, reason, str_from(rows[i].reason));
        SET(c, message, rows[i].message);
        SET(c, last_heartbeat_time, now);
        SET(c, last_transition_time,
            was && str_eq(was->status, status) ? was->last_transition_time : now);
    }
    return out;
}

static bool same_conditions(const struct node_status *old, const struct node_condition_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        scoped(arena_fini) struct arena a = {0};
        const struct node_condition *c = &l->at[i];
        const struct node_condition *was = find_condition(old, str_z(&a, c->type));
        if (!was || !str_eq(was->status, c->status) || !str_eq(was->reason, c->reason) ||
            !str_eq(was->message, c->message))
            return false;
    }
    return true;
}

static bool same_map(const struct str_map *x, const struct str_map *y)
{
    for (size_t i = 0; i < y->len; i++)
        if (!str_eq(str_map_get(x, y->at[i].key), y->at[i].value))
            return false;
    return true;
}

/* ---- the object ---- */

static void set_status(struct arena *a, const struct node_agent *n,
                       const struct node_condition_list *l, struct node_status *st)
{
    struct node_address *at = arena_array(a, struct node_address, 2);
    struct str_map all = capacity(a, n);
    size_t n_addresses = 0;

    SET(st, capacity, all);
    SET(st, allocatable, all);
    SET(st, conditions, *l);
    SET(st, node_info, system_info(a));
    if (n->config.address.len) {
        struct node_address *ip = &at[n_addresses++];
        SET(ip, type, S("InternalIP"));
        SET(ip, address, n->config.address);
    }
    struct node_address *host = &at[n_addresses++];
    SET(host, type, S("Hostname"));
    SET(host, address, n->config.name);
    SET(st, addresses, (struct node_address_list){at, n_addresses});
    if (n->config.log_port) {
        struct node_daemon_endpoints *ends = arena_new(a, struct node_daemon_endpoints);
        struct daemon_endpoint *end = arena_new(a, struct daemon_endpoint);
        SET(end, port, n->config.log_port);
        SET(ends, kubelet_endpoint, end);
        SET(st, daemon_endpoints, ends);
    }
}

static struct str_map labels(struct arena *a, const struct node_agent *n)
{
    struct str_map m = {.at = arena_array(a, struct str_entry, n->config.labels.len + 3)};

    m.at[m.len++] = (struct str_entry){S("kubernetes.io/arch"), machine(a)};
    m.at[m.len++] = (struct str_entry){S("kubernetes.io/hostname"), n->config.name};
    m.at[m.len++] = (struct str_entry){S("kubernetes.io/os"), S("linux")};
    for (size_t i = 0; i < n->config.labels.len; i++)
        m.at[m.len++] = n->config.labels.at[i];
    return m;
}

static void create(struct step *s, const struct node_agent *n)
{
    struct arena *a = s->arena;
    struct object_meta *meta = arena_new(a, struct object_meta);
    struct node *node = arena_new(a, struct node);
    struct str_entry *note = arena_new(a, struct str_entry);

    SET(meta, name, n->config.name);
    SET(meta, labels, labels(a, n));
    if (!n->config.is_remote) {
        *note = (struct str_entry){S(IN_PROCESS), S("true")};
        SET(meta, annotations, (struct str_map){note, 1});
    }
    SET(node, api_version, S("v1"));
    SET(node, kind, S("Node"));
    SET(node, metadata, meta);
    if (n->config.is_cordoned) {
        struct node_spec *spec = arena_new(a, struct node_spec);
        SET(spec, unschedulable, true);
        SET(node, spec, spec);
    }
    struct json body = schema_encode(a, &schema_node, node);
    step_create(s, &(struct client_target){.kind = &kind_node}, json_new(a, body), NULL, NULL);
}

/* Labels that are ours and missing or different. */
static bool write_labels(struct step *s, const struct node_agent *n, const struct node *node)
{
    struct str_map ours = labels(s->arena, n);
    struct object_meta *meta = arena_new(s->arena, struct object_meta);
    struct node *patch = arena_new(s->arena, struct node);
    struct client_target t = {.kind = &kind_node, .name = s->name};

    if (same_map(&node->metadata->labels, &ours))
        return false;
    SET(meta, labels, ours);
    SET(patch, metadata, meta);
    struct json body = schema_encode(s->arena, &schema_node, patch);
    step_patch(s, &t, CLIENT_PATCH_MERGE, json_new(s->arena, body), NULL, NULL, NULL);
    return true;
}

int node_object_reconcile(struct step *s, struct err *err)
{
    struct node_agent *n = s->ctx;
    struct object *o = cache_get(n->nodes, S(""), n->config.name);

    (void)err;
    if (!o) {
        create(s, n);
        return 0;
    }
    const struct node *node = object_view(o, s->arena);
    struct node_condition_list l = conditions(s->arena, n, node->status, s->now);
    struct str_map all = capacity(s->arena, n);
    const struct node_condition *ready = find_condition(node->status, "Ready");
    bool is_old =
        n->config.is_remote && ready &&
        instant_before(instant_add(ready->last_heartbeat_time, span_s(STATUS_EVERY_S)), s->now);

    if (write_labels(s, n, node))
        return 0;
    if (!is_old && same_conditions(node->status, &l) && node->status &&
        same_map(&node->status->capacity, &all) && node->status->node_info)
        return 0;
    struct node_status *st = arena_new(s->arena, struct node_status);
    set_status(s->arena, n, &l, st);
    struct json_obj body = obj_in(s->arena);
    obj_setz(&body, "status", schema_encode(s->arena, &schema_node_status, st));
    struct client_target t = {
        .kind = &kind_node, .name = n->config.name, .subresource = S("status")};
    step_patch(s, &t, CLIENT_PATCH_MERGE, json_new(s->arena, obj_done(&body)), NULL, NULL,
               NULL);
    return 0;
}

/* ---- the Lease of a node elsewhere ---- */

static void lease_lost(void *ctx)
{
    struct node_agent *n = ctx;
    struct str holder = lock_holder(n->lease);

    if (str_eq(holder, n->config.name))
        log_warn("node's lease is not renewed", "for=%ds", LEASE_DEADLINE_S);
    else
        log_warn("node's lease was taken", "node=%.*s by=%.*s", STR_ARG(n->config.name),
                 STR_ARG(holder));
}

void node_lease_hold(struct node_agent *n)
{
    n->lease = lock_new(n->io, n->client,
                        &(struct lock_config){.ns = S(LEASE_NAMESPACE),
                                              .name = n->config.name,
                                              .identity = n->config.name,
                                              .duration = span_s(LEASE_S),
                                              .deadline = span_s(LEASE_DEADLINE_S),
                                              .retry = span_s(HEARTBEAT_S),
                                              .lost = lease_lost,
                                              .ctx = n});
}

void node_heartbeat(void *agent)
{
    struct node_agent *n = agent;

    controller_queue(n->node_controller, n->config.name);
    io_timer_set(n->heartbeat, span_s(HEARTBEAT_S));
}
