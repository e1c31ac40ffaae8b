/* format_priv.h - Kubernetes' named formats */
#pragma once

#include "cel/value_priv.h"

struct cel_format {
    struct str name;
    uint64_t regex_size; /* what validate() is charged by */
    int rule;            /* enum name_rule, or -1 */
    /* What is wrong with s; an empty str: nothing. Where there is no rule. */
    struct str (*fault)(struct arena *a, struct str s);
};

const struct cel_format *format_named(struct str name);
