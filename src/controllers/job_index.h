/* job_index.h - sets of completion indexes, as a Job's status writes them: "1,3-5,7"
 *
 * Sorted intervals that do not touch. Reading is lenient and clipped to `completions`, as
 * upstream reads what is stored (jobs reference 1.6).
 */
#pragma once

#include "base/base.h"

struct index_range {
    int32_t first, last;
};
struct index_set {
    const struct index_range *at;
    size_t len;
    int64_t total; /* indexes in it */
};

struct index_set index_set_parse(struct arena *a, struct str text, int32_t completions);
bool index_set_has(const struct index_set *s, int32_t index);
/* How many are in both. */
int64_t index_sets_share(const struct index_set *a, const struct index_set *b);
/* With more indexes, in ascending order; repeats are allowed. */
struct index_set index_set_with(struct arena *a, const struct index_set *s,
                                const int32_t *indexes, size_t n);
/* Three or more in a row become first-last; two a,b. */
struct str index_set_text(struct arena *a, const struct index_set *s);
/* Sorts ascending. */
void index_sort(int32_t *indexes, size_t n);

/* Which of many indexes there are: a bit each, or a set where they lie far apart. */
struct index_marks {
    uint64_t *bits;
    int32_t n_bits;       /* of `bits` */
    bool has_twice;       /* one was given more than once */
    struct index_set set; /* where there are no bits */
};
/* Of non-negative indexes, in any order (which it may change). */
struct index_marks index_marks_of(struct arena *a, int32_t *indexes, size_t n);
/* Bits for `n` indexes below `end`, to be marked one by one; false, and nothing is made, where
 * they may lie too far apart. */
bool index_marks_room(struct arena *a, size_t n, int32_t end, struct index_marks *m);
static inline void index_marks_add(struct index_marks *m, int32_t index)
{
    uint64_t *word = &m->bits[index / 64], bit = UINT64_C(1) << (index % 64);

    m->has_twice |= (*word & bit) != 0;
    *word |= bit;
}
bool index_marks_has(const struct index_marks *m, int32_t index);
/* The first index from `i` on that there is none of. */
int64_t index_marks_past(const struct index_marks *m, int64_t i);
