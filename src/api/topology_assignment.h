/* topology_assignment.h - which pods of a podset go where, as a Workload's admission stores it
 *
 * Inside, a list of domains: a value for each level, and how many pods. Stored (v1beta2), runs
 * of domains with what is equal in them written once.
 */
#pragma once

#include "value/strs.h"
#include "json/json.h"

#define TOPOLOGY_HOSTNAME "kubernetes.io/hostname"
#define TOPOLOGY_MAX_SLICES 1000
#define TOPOLOGY_MAX_SLICE_DOMAINS 100000
#define TOPOLOGY_MAX_DOMAINS 1000000 /* of one assignment, when it is spelled out */

struct topology_domain {
    const struct str *values; /* one a level */
    int64_t count;
};
struct topology_assignment {
    struct str_list levels;
    const struct topology_domain *at;
    size_t len;
};

/* Spelled out. NULL gives an empty one. ERR_LIMIT past TOPOLOGY_MAX_DOMAINS. */
int topology_decode(struct arena *a, const struct json *stored, struct topology_assignment *out,
                    struct err *err);
enum topology_form {
    TOPOLOGY_ONE_SLICE, /* all domains in one slice */
    TOPOLOGY_RUNS,      /* runs of host names with a common prefix are slices of their own */
    TOPOLOGY_SHORTER,   /* whichever of the two is shorter: the form that is stored */
};
struct json topology_encode(struct arena *a, const struct topology_assignment *t,
                            enum topology_form form);
/* Without spelling out: the sum of domainCount, and has the node a pod? */
int64_t topology_domain_count(const struct json *stored);
bool topology_has_node(struct arena *a, const struct json *stored, struct str node);

/* A domain's id is its values joined by commas; where the lowest level is the host name, that
 * alone. Is `id` the domain `target` or inside of it? Everything is inside of "". */
bool topology_is_inside(struct str id, struct str target);
/* The node that a domain of these levels is; "" where the lowest level is no host name. */
struct str topology_node_of(struct str id, struct str_list levels);
