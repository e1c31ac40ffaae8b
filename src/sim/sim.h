/* sim.h - a whole Berth on simulated io
 *
 * The store is in memory, nodes are hollow, time jumps to the next timer, and every choice
 * comes from the seed: the same seed and the same objects give the same events, byte for byte.
 * What runs is the decision code of the product, not a model of it.
 */
#pragma once

#include "base/base.h"

struct client;
struct control;
struct io;
struct json;
struct sim;

struct sim_config {
    uint64_t seed;
    struct instant start;   /* 0: 2026-01-01T00:00:00Z */
    int hollow_nodes;       /* made at the start */
    bool has_defaults;      /* flavor and queues named `default`, sized to the hollow nodes */
    struct span commit;     /* how long the store takes to make a write last; 0: no time */
    struct str controllers; /* as `berth up --controllers` */
    const struct json *queueing; /* as `berth up --queue-config` */
};

#define SIM_START_NS (INT64_C(1767225600) * SECOND_NS)
#define SIM_NODE_CPU 8 /* of a hollow node */
#define SIM_NODE_MEMORY "32Gi"

/* Runs until the server is up and its nodes are there. NULL with err. */
struct sim *sim_new(const struct sim_config *config, struct err *err);
void sim_free(struct sim *s); /* accepts NULL */

/* Applies an object now (creates it, or server-side applies it where it has a name). The
 * simulation runs until it is answered. -1 with the server's error. */
int sim_apply(struct sim *s, const struct json *object, struct err *err);
/* Lets so much time go by. */
void sim_run(struct sim *s, struct span span);
struct instant sim_now(const struct sim *s);

/* For whoever plays a part in it: an administrator's client, and the loop, whose clock stands
 * still between two runs. */
struct client *sim_client(struct sim *s);
struct io *sim_io(struct sim *s);

/* A digest over all events so far, in order: kind, path, revision, verb, bytes. */
struct str sim_digest(const struct sim *s, struct arena *a);
uint64_t sim_events(const struct sim *s);
/* Every stored object in the order of kinds and paths, one JSON text a line. */
void sim_dump(struct sim *s, struct buf *out);
