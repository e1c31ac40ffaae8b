/* index_list.h - lists of completion indexes as users and managers write them: "1,3-5"
 *
 * Strict, where the Job controller reads what is stored leniently. Source: jobs reference 1.3,
 * 1.8.
 */
#pragma once

#include "base/base.h"

/* Rising intervals below `completions`. *total (may be NULL) is how many indexes they hold.
 * ERR_SYNTAX with upstream's sentence. */
int index_list_check(struct str text, int32_t completions, int64_t *total, struct err *err);
/* Do both lists hold one index? Pieces that do not parse are passed over. *index is the first
 * such. */
bool index_lists_overlap(struct str one, struct str other, int32_t completions, int32_t *index);
