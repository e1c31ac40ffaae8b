/* match.h - labels, requirements, taints: may this go there? */
#pragma once

#include "base/base.h"

struct queue_label {
    struct str key, value;
};
struct queue_labels {
    const struct queue_label *at;
    size_t len;
};

enum match_op {
    MATCH_IN,
    MATCH_NOT_IN,
    MATCH_EXISTS,
    MATCH_ABSENT,
    MATCH_GT,
    MATCH_LT,
    MATCH_BAD
};

struct queue_requirement {
    struct str key;
    enum match_op op;
    const struct str *values;
    size_t n_values;
};
/* All of them must hold. */
struct queue_term {
    const struct queue_requirement *at;
    size_t len;
};
/* Absent (is_set false) selects nothing; without requirements it selects everything. */
struct queue_selector {
    bool is_set;
    struct queue_term term;
};

struct queue_taint {
    struct str key, value, effect;
};
struct queue_toleration {
    struct str key, value, effect;
    bool is_exists; /* operator Exists; otherwise Equal */
};

/* The label's value; false where there is none. */
bool labels_get(struct queue_labels l, struct str key, struct str *value);
bool match_requirement(const struct queue_requirement *r, struct queue_labels l);
bool match_selector(const struct queue_selector *s, struct queue_labels l);
/* The op's name as in the API; MATCH_BAD (which matches nothing) for others. */
enum match_op match_op_from(struct str name);
bool taint_tolerated(const struct queue_taint *t, const struct queue_toleration *tolerations,
                     size_t count);
