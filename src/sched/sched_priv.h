/* sched_priv.h - the state, shared by the room's files */
#pragma once

#include "sched/amounts_priv.h"
#include "sched/sched.h"

struct line;
struct parked;

struct sched_node {
    struct arena arena; /* of what the Node says */
    char *name;
    struct str_map labels;
    struct taint_list taints;
    bool is_known; /* false: only pods name it */
    bool is_unschedulable, is_not_ready;
    struct amounts size, used;
    int64_t scored_cpu, scored_memory; /* used, as scores count it */
    size_t n_pods;
    uint64_t points_for; /* the s->asker that `points` are for; 0: for none */
    int64_t points;
};

struct sched_pod {
    char *uid;
    struct sched_node *node;
    struct amounts asks;
    int64_t scored_cpu, scored_memory;
    bool is_assumed;
};

struct sched {
    struct resources resources;
    MAP(struct sched_node *) by_name;
    VEC(struct sched_node *) nodes; /* by name, bytewise */
    MAP(struct sched_pod *) pods;   /* by uid */
    MAP(struct parked *) parked;    /* by the caller's key */
    MAP(struct line *) lines;       /* of those, by what they ask for and their priority */
    uint64_t last_place;            /* that was given to a parked one */
    /* What the last pod asked for, as scores count it, and a number for that. Pods of one Job
     * ask alike: only nodes where something changed since are measured and scored again. */
    int64_t asked[4];
    uint64_t asker;
};

void park_fini(struct sched *s);
