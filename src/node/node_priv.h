/* node_priv.h - the agent's parts among themselves
 *
 *     node.c        the whole: start, events, the end
 *     pod.c         one pod: look, decide, act
 *     pod_probe.c   probes and hooks; check.c asks, probe.c counts
 *     pod_start.c   from a container's spec to a runtime_spec
 *     pod_volume.c  directories and files of volumes
 *     pod_limit.c   emptyDirs that are too full
 *     pod_log.c     logs over HTTP
 *     node_object.c the Node and its Lease
 *     account.c     names and homes of accounts
 *     checkpoint.c  what must survive: which boot of the machine this was
 */
#pragma once

#include "base/base.h"
#include "control/control.h"
#include "io/io.h"
#include "node/node.h"
#include "node/pod_plan.h"
#include "node/pod_source.h"
#include "node/probe.h"
#include "runtime/runtime.h"

#define NODE_LOG_MAX_NAME 255
#define SOURCE_AGAIN_S 10  /* a ConfigMap that was missing is looked for again */
#define REPORT_DELAY_MS 10 /* what ends so soon is told once, not twice */
#define GONE_GRACE_S 2
#define NODE_CHECK_MARK "check-" /* in the id of a command that only asks */

struct object;

/* ---- accounts ---- */

struct account {
    uint32_t uid;
    bool is_known;     /* looked up */
    char *name, *home; /* "" where there is none */
};
struct accounts;
struct accounts *accounts_new(struct io *io);
void accounts_free(struct accounts *a);
/* The account, or NULL: it is being looked up, and ready(ctx) follows. */
const struct account *account_find(struct accounts *a, uint32_t uid, io_fn *ready, void *ctx);

/* ---- the agent ---- */

enum hook_state { HOOK_NONE, HOOK_RUNNING, HOOK_DONE };

struct node_container {
    struct str name;
    bool is_init;
    int32_t attempt; /* the newest run that was asked for; -1: none yet */
    bool is_starting;
    struct str problem, problem_message;
    struct instant problem_until; /* then it is tried again */

    /* Of the run `probed_attempt` - 1 (pod_probe.c). */
    int32_t probed_attempt;
    struct probe_state probes[PROBE_KINDS];
    enum hook_state post_start, pre_stop;
    bool is_unhealthy; /* a probe or postStart failed: it is to end */
    bool has_kill_grace;
    struct span kill_grace;
    struct instant stop_by; /* while its preStop hook runs */
};

/* A pod that is or was here and is not settled yet. */
struct node_pod {
    struct node_agent *agent;
    struct node_pod *next; /* another of the same ns/name */
    struct arena arena;
    struct str uid, path, ns, name;
    struct object *object; /* the newest version that was seen */
    struct instant start_time;
    VEC(struct node_container) containers; /* init containers first */
    struct arena sources_arena;            /* of what was read last */
    struct pod_source *sources;
    size_t n_sources, n_fetching;
    bool has_sources, has_volumes, is_gone, is_refused, has_told_image;
    bool is_preparing; /* something it needs is being read */
    struct instant sources_at;
    bool is_measuring;         /* pod_limit.c */
    struct instant measure_at; /* the next time */
    struct str evicted;        /* why it must end; "" */
};

struct node_agent {
    struct io *io;
    struct client *client;
    struct control *control;
    struct cache *pods, *nodes;
    struct controller *pod_controller, *node_controller;
    struct runtime *runtime;
    struct accounts *accounts;
    struct arena arena;
    struct node_config config; /* strs in the arena */
    char *data_dir;
    MAP(struct node_pod *) by_uid, by_path; /* by_path: the first of a chain */
    MAP(char *) told_images;                /* an Event was written for each */
    MAP(char *) restarted;                  /* uids of pods from before the machine's restart */
    struct list starts, checks, measures;
    bool is_ready, was_restarted, is_registered, is_root;
    int64_t cpu_millis, memory, storage;
    struct io_timer *heartbeat; /* of a node elsewhere, as its lease */
    struct lock *lease;
};

/* ---- pod.c ---- */

int node_pod_reconcile(struct step *s, struct err *err);
/* The record of a container that runs or ran here; made where it is new. */
struct node_pod *node_pod_get(struct node_agent *a, struct str uid);
void node_pod_set_path(struct node_pod *p, struct str ns, struct str name);
/* Starts without an answer; no answer may come any more. */
void node_starts_free(struct node_agent *a);
void node_pod_free(struct node_pod *p);
/* UID.CONTAINER.ATTEMPT */
struct str node_container_id(struct arena *a, struct str uid, struct str name, int32_t attempt);
bool node_container_id_parse(struct str id, struct str *uid, struct str *name,
                             int32_t *attempt);
struct node_container *node_pod_container(struct node_pod *p, struct str name);
void node_pod_queue(struct node_pod *p);
void node_queue_all(void *agent);

/* ---- pod_probe.c ---- */

/* Asks what is due of a container that runs. */
void node_probe_container(struct step *s, struct node_pod *p, const struct pod *pod,
                          const struct container *c, const struct runtime_status *st);
/* What probes and hooks said of its newest run. */
void node_probe_see(const struct container *c, const struct node_container *nc,
                    struct container_seen *out);
/* Asks it to end, after its preStop hook. */
void node_container_stop(struct step *s, struct node_pod *p, const struct pod *pod,
                         const struct container *c, struct span grace);
/* Checks of the pod, or all of them where uid is "": nobody is told. */
void node_checks_free(struct node_agent *a, struct str uid);
/* True where the process was a command that only asks. */
bool node_check_exited(struct node_agent *a, const struct runtime_status *s);

/* ---- pod_start.c ---- */

/* 1: *spec is ready (in the arena); 0: something is being read, the pod is queued when it is
 * there; -1: it cannot start now, *reason and err say why. */
int node_container_prepare(struct step *s, struct node_pod *p, const struct pod *pod,
                           const struct container *c, struct runtime_spec *spec,
                           struct str *reason, struct err *err);

/* ---- pod_volume.c ---- */

struct owner {
    bool change; /* files shall be theirs */
    uint32_t uid, gid;
};
/* DATA/pods/UID */
struct str node_pod_dir(struct arena *a, const struct node_agent *n, struct str uid);
/* Where a volume is; for hostPath the path itself. */
struct str node_volume_path(struct arena *a, const struct node_agent *n, struct str uid,
                            const struct volume *v);
/* Makes all volumes of the pod. -1: ERR_NOT_FOUND (a source), ERR_UNSUPPORTED, ERR_IO. */
int node_volumes_make(struct arena *a, const struct node_agent *n, const struct pod_facts *f,
                      struct owner owner, struct err *err);
/* DATA/logs/NS_POD_UID/CONTAINER/ATTEMPT.log */
struct str node_log_dir(struct arena *a, const struct node_agent *n, struct str ns,
                        struct str name, struct str uid);
struct str node_log_path(struct arena *a, const struct node_agent *n, struct str ns,
                         struct str name, struct str uid, struct str container,
                         int32_t attempt);
/* Removes a directory and all in it, beside the loop. */
void node_remove_later(struct node_agent *n, struct str dir);
/* Removes the directories of pods that nobody knows any more. */
void node_sweep(struct node_agent *n);

/* ---- pod_limit.c ---- */

/* Has a pod that runs its emptyDirs measured, when it is time; its `evicted` says where one is
 * too full. */
void node_limits_check(struct step *s, struct node_pod *p, const struct pod *pod);
/* What is being measured tells nobody any more. */
void node_limits_free(struct node_agent *a);

/* ---- pod_log_choice.c ---- */

struct log_choice {
    struct str id, path; /* in the arena */
};
/* `container` "" is the only one. -1: ERR_SYNTAX, in the words that kubectl shows. */
int node_log_choose(struct arena *a, struct node_agent *n, struct object *o,
                    struct str container, bool previous, struct log_choice *out,
                    struct err *err);

/* ---- node_object.c ---- */

void node_measure(struct node_agent *n);
int node_object_reconcile(struct step *s, struct err *err);
void node_heartbeat(void *agent);
void node_lease_hold(struct node_agent *n);

/* ---- checkpoint.c ---- */

/* Reads DIR/node.json, tells whether the machine was restarted since, and writes the new one.
 * -1 with ERR_IO, or ERR_UNSUPPORTED for a file of a newer version. */
int checkpoint_exchange(const char *dir, struct str boot_id, bool *was_restarted,
                        struct err *err);
/* The boot id in a file's bytes; "" where the file is not whole. ERR_UNSUPPORTED. */
int checkpoint_parse(struct str bytes, struct str *boot_id, struct err *err);
struct str checkpoint_text(struct arena *a, struct str boot_id);
