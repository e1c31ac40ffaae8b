/* tally.h - numbers that a controller keeps, told in Prometheus' text
 *
 *     static const struct tally_row rows[] = {{"x_total", "What happened."}};
 *     struct tally *t = tally_new(rows, countof(rows));
 *     tally_count(t, 0, "result=\"%s\"", n, "ok");
 *     tally_write(t, out);
 */
#pragma once

#include "base/base.h"

struct tally;

struct tally_row {
    const char *name, *help;
    double first; /* of a histogram, the first bound; each next is twice it. 0: a counter */
    size_t n_bounds;
};

#define TALLY_MAX_BOUNDS 16
#define TALLY_MAX_LABELS 4096 /* sets of labels of one row; what comes later is not told */

/* `rows` must outlive it. */
struct tally *tally_new(const struct tally_row *rows, size_t n);
void tally_free(struct tally *t); /* accepts NULL */
/* Adds `n` under the labels, `name="value",...`; values must need no escape. */
void tally_count(struct tally *t, size_t row, uint64_t n, const char *labels, ...)
    like_printf(4, 5);
void tally_observe(struct tally *t, size_t row, double value, const char *labels, ...)
    like_printf(4, 5);
/* Families in the order of the rows; those that count nothing yet show their heads. */
void tally_write(const struct tally *t, struct buf *out);
