/* steps.h - what writes that are no apply made of the owners before
 *
 * Thousands of pods go the same way: the same writers change the same fields of objects whose
 * managers own the same sets. Whose they are then follows from just that. The last steps are
 * kept with the texts before and after: who takes one again reads, joins and writes no sets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STEPS_MAX 64                    /* that are kept */
#define STEP_BYTES ((size_t)(16 << 10)) /* of one that is kept: its key and its texts */

struct steps;

struct steps *steps_new(void);
void steps_free(struct steps *s);
/* How many were taken again. */
uint64_t steps_taken(const struct steps *s);
