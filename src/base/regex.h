/* regex.h - RE2 behind a small door (linear time, CEL's and Kueue's dialect)
 *
 * A compiled expression is immutable and may be shared.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct regex;

#define REGEX_MAX_PATTERN 4096     /* bytes */
#define REGEX_MAX_MEMORY (1 << 20) /* bytes of a compiled program */

#ifdef __cplusplus
extern "C" {
#endif

/* NULL with ERR_SYNTAX ("error parsing regexp: …", as Go says it) or ERR_LIMIT. */
struct regex *regex_new(struct str pattern, struct err *err);
void regex_free(struct regex *re);
/* Does it match anywhere in s? */
bool regex_match(const struct regex *re, struct str s);
/* Does it match all of s? */
bool regex_match_full(const struct regex *re, struct str s);
/* The first match at or after `from`: group[0] is the whole, group[i] the i-th; a group that
 * took no part has at == NULL. `n` is how many are wanted (at most 1 + regex_groups()). */
bool regex_find(const struct regex *re, struct str s, size_t from, struct str *group, size_t n);
int regex_groups(const struct regex *re);
/* The name of group i (1..), or "" where it has none. */
const char *regex_group_name(const struct regex *re, int i);

#ifdef __cplusplus
}
#endif
