/* pod_plan.h - what should happen to a pod's containers next (pure)
 *
 * The agent looks (what the API asks for, what the keeper says runs), this decides, the agent
 * acts: starts, stops, one write of the status. Real and hollow nodes share it.
 *
 * Init containers run one after another; one with restartPolicy Always stays beside the others
 * (a sidecar) and goes when they have ended. A container that ended and is due again waits 0,
 * 10, 20, 40 ... 300 s.
 */
#pragma once

#include "base/base.h"

struct pod;

#define POD_BACKOFF_FIRST_S 10
#define POD_BACKOFF_MAX_S 300
#define POD_BACKOFF_RESET_S 600 /* a run this long starts the back-off anew */

enum container_at {
    CONTAINER_NEVER, /* not started yet */
    CONTAINER_STARTING,
    CONTAINER_RUNNING,
    CONTAINER_STOPPING,
    CONTAINER_ENDED,
};

/* How one run of a container ended. */
struct container_end {
    bool is_set;
    int32_t exit_code, signal;
    struct str reason, message; /* reason "": Completed or Error, by the code */
    struct instant started, finished;
    struct str id;
};

/* One container as it is. */
struct container_seen {
    enum container_at at;
    int32_t attempt;           /* of the newest run, from 0 */
    struct instant started;    /* of the newest run */
    struct str id;             /* of the newest run */
    struct container_end end;  /* of the newest run, where it ended */
    struct container_end last; /* of the run before */
    struct str problem;        /* why it cannot be started now, "" where it can */
    struct str problem_message;
    struct instant problem_until; /* then it may be tried again */
    bool is_unstarted;            /* its startup probe or postStart hook has not passed */
    bool is_unready;              /* nor its readiness probe */
    bool is_unhealthy;            /* a probe says that it must end; it is started again */
    bool has_kill_grace;          /* with this much time instead of the pod's */
    struct span kill_grace;
};

struct pod_seen {
    const struct pod *pod;
    struct container_seen *init, *main; /* as many as the spec has */
    struct instant now;
    struct instant start_time; /* when this node took the pod; zero: now */
    bool is_gone;              /* no longer in the API: only to be ended */
    struct str refused;        /* reason for which it must fail, "" where there is none */
    struct str refused_message;
    struct span refused_grace; /* 0: the pod's own */
};

struct container_todo {
    bool start; /* run number `attempt` */
    bool stop;
    bool has_grace; /* of its own, for the stop */
    struct span grace;
    int32_t attempt;
    struct str waiting, waiting_message; /* the reason where it does not run yet */
};

struct pod_todo {
    struct container_todo *init, *main;
    struct span grace;          /* for those to stop */
    struct str phase;           /* Pending, Running, Succeeded, Failed */
    struct str reason, message; /* of the pod */
    bool is_initialized;        /* all init containers are done */
    bool is_dead;               /* nothing runs, and nothing will be started */
    bool can_delete;            /* dead, and its deletion was asked for */
    struct instant again;       /* when to decide anew though nothing changed; zero: never */
};

/* The arrays and texts are made in the arena. */
struct pod_todo pod_decide(struct arena *a, const struct pod_seen *seen);
bool pod_is_terminal(const struct pod *pod);
/* An init container that stays. */
struct container;
bool container_is_sidecar(const struct container *c);
/* How long after its end the run after `attempt` begins. */
struct span container_backoff(int32_t attempt, struct span ran);
