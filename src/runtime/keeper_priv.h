/* keeper_priv.h - the keeper's state, shared by its files
 *
 * keeper.c is the loop and the start; box.c is one container's life; spare.c is what waits for
 * the next one; keeper_conn.c is who asks.
 */
#pragma once

#include "base/base.h"
#include "runtime/cgroup_priv.h"
#include "runtime/journal_priv.h"
#include "runtime/logfile_priv.h"
#include "runtime/spawn_priv.h"

#define KEEPER_MAX_CONNS 64
#define KEEPER_MAX_BOXES 32768
#define KEEPER_FIRST_CALL_S 30  /* without anybody connecting, it ends */
#define BOX_LINGER_NS SECOND_NS /* how long an open pipe may outlast its process */
#define BOX_REMOVE_NS (SECOND_NS / 20)
#define KEEPER_SPARE_MS 2                    /* of rest before a spare process is made */
#define KEEPER_MAX_UNSENT ((size_t)32 << 20) /* to one berth that does not read */

enum watch_type { WATCH_LISTEN, WATCH_SIGNALS, WATCH_CONN, WATCH_PIPE };

/* What an epoll event points to: the first member of its owner. */
struct watched {
    enum watch_type type;
};

struct box_pipe {
    struct watched watched;
    struct box *box;
    struct logpipe log;
};

/* A process that waits for its container. */
struct spare {
    struct spawn_ahead process;
    struct cgroup cgroup;
    int pipes[2]; /* reading ends of its output */
};

/* One container. */
struct box {
    struct list link;     /* in keeper.boxes */
    struct list starting; /* in keeper.starting, between its journal record and its birth */
    struct list timed;    /* in keeper.timed, while it has a deadline */
    int64_t deadline;     /* monotonic: kill it, or close its pipes, or try to remove again */
    struct runtime_status st; /* strs are ours */
    struct arena arena;       /* id, error, and the spec until it has started */
    struct runtime_spec spec;
    const char *id; /* terminated */
    struct cgroup cgroup;
    struct spare *spare; /* that it will be, between box_add() and its birth; or NULL */
    struct logfile log;
    struct box_pipe pipes[2];
    uint32_t slot;
    bool is_running;     /* its process has not been waited for */
    bool is_forgotten;   /* not told to anybody any more; here only to be cleaned up */
    struct str old_dirs; /* a dead keeper's control groups, still to be cleared */
};

struct conn {
    struct watched watched;
    struct list link;
    int fd;
    bool knows_version; /* said hello */
    bool is_waiting;    /* for room in its socket */
    bool is_broken;
    struct buf in, out;
};

struct keeper {
    int dir; /* DATA/keeper */
    int epoll, signals, listener;
    struct watched listener_watch, signals_watch;
    struct spawn_env env;
    struct cgroup_host host;
    struct journal journal;
    struct buf frame; /* scratch */
    struct list boxes, starting, timed, conns;
    size_t n_boxes, n_conns, n_running;
    MAP(struct box *) by_id;
    MAP(struct box *) by_pid; /* key: the bytes of st.pid */
    struct spawn_slot *slots; /* shared with children */
    VEC(uint32_t) free_slots;
    uint32_t n_slots;
    struct spare *spare; /* or NULL */
    bool wants_spare;    /* a container came since the last was made */
    bool is_ending;
    bool had_conn;
};

int64_t keeper_clock(void);      /* monotonic */
struct instant keeper_now(void); /* wall */
int keeper_watch(struct keeper *k, int fd, struct watched *w);
int keeper_pipe(int ends[2]); /* the reading end does not wait; 0, or -1 with errno */

/* ---- box.c ---- */

/* Copies the spec: journaled now, started by box_start_all(). */
void box_add(struct keeper *k, const struct runtime_spec *spec);
void box_start_all(struct keeper *k);
/* From the journal: what an earlier keeper knew. */
void box_replay(void *keeper, const struct wire_frame *frame);
/* After the replay: what was running then is killed and told as lost. */
void box_settle_lost(struct keeper *k);
void box_reap(struct keeper *k);
void box_pipe_ready(struct keeper *k, struct box_pipe *p);
void box_stop(struct keeper *k, struct box *b, int64_t grace_ms);
void box_forget(struct keeper *k, struct box *b);
void box_kill_all(struct keeper *k);
/* The reading end is watched as the box's output (0) or errors (1). */
void box_take_pipe(struct keeper *k, struct box *b, int i, int fd);
/* Handles what is due; milliseconds until the next deadline, or -1. */
int box_deadlines(struct keeper *k);
/* Writes the journal anew where it has grown. */
void box_compact(struct keeper *k);

/* ---- spare.c ---- */

bool spare_is_wanted(const struct keeper *k);
/* Makes one; where that fails there is none. */
void spare_make(struct keeper *k);
/* Gives it and its control groups to a box, with the limits of its spec. False where there is
 * none that fits. */
bool spare_take(struct keeper *k, struct box *b);
/* It becomes the box's process: its pid; or -1 where the box has none, or it is dead. */
int spare_start(struct keeper *k, struct box *b);
/* A child has been waited for: was it that one? */
void spare_ended(struct keeper *k, int pid);
void spare_drop(struct keeper *k);

/* ---- keeper_conn.c ---- */

void conn_accept(struct keeper *k);
void conn_ready(struct keeper *k, struct conn *c, uint32_t events);
/* Tells everybody. */
void conn_tell_status(struct keeper *k, const struct box *b);
/* Sends what was put into the buffers; drops broken connections. */
void conn_flush_all(struct keeper *k);
