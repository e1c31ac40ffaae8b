/* scan_priv.h - patterns that one pass over the text decides; compiled constant patterns */
#pragma once

#include "base/base.h"

struct scan;

/* In the arena; NULL where the pattern needs more. */
const struct scan *scan_new(struct arena *a, struct str pattern);
/* The same as regex_match() of the pattern. */
bool scan_match(const struct scan *s, struct str text);

/* What the plan makes of a constant pattern. */
struct pattern {
    struct regex *regex;
    const struct scan *scan; /* may be NULL */
};
