/* decimal.h - whole numbers of any size times a power of ten, exactly
 *
 * What a quantity becomes when 64 bits are not enough. A decimal is immutable and lives in the
 * arena it was made in; its digits are never reduced, so 10 x 10^0 and 1 x 10^1 are two forms
 * of one value. The zero value is 0.
 */
#pragma once

#include "base/base.h"

struct decimal {
    const uint32_t *limb; /* base 10^9, the least first; the last one is not 0 */
    uint32_t n;
    int32_t exp; /* value = limbs x 10^exp */
    bool is_negative;
};

/* Decimals with more digits or larger powers are refused by the parser above; arithmetic on two
 * that are inside these bounds stays small enough for an arena. */
#define DECIMAL_MAX_DIGITS 4096
#define DECIMAL_MAX_EXP 4096

struct decimal decimal_of(struct arena *a, int64_t v, int32_t exp);
/* The digits of `whole` followed by those of `fraction`, times 10^exp. Both hold nothing else.
 */
struct decimal decimal_of_digits(struct arena *a, bool is_negative, struct str whole,
                                 struct str fraction, int32_t exp);
/* The shortest decimal text that reads back to the same double, as a decimal; 0 for what is not
 * finite. */
struct decimal decimal_of_f64(struct arena *a, double v);

struct decimal decimal_add(struct arena *a, struct decimal x, struct decimal y);
struct decimal decimal_mul(struct arena *a, struct decimal x, struct decimal y);
struct decimal decimal_neg(struct decimal x);
/* x times 2^bits. */
struct decimal decimal_shl(struct arena *a, struct decimal x, uint32_t bits);

enum decimal_round { DECIMAL_AWAY_FROM_ZERO, DECIMAL_TOWARDS_ZERO };
/* The same number in units of 10^exp: more digits where exp is smaller than x's, rounded where
 * it is larger. *is_exact (may be NULL) tells whether nothing was lost. */
struct decimal decimal_rescale(struct arena *a, struct decimal x, int32_t exp,
                               enum decimal_round how, bool *is_exact);
/* x / d, cut towards zero, with x's exp; *rest (may be NULL) is what is left of the limbs. */
struct decimal decimal_div_small(struct arena *a, struct decimal x, uint32_t d, uint32_t *rest);

int decimal_sign(struct decimal x); /* -1, 0, 1 */
int decimal_cmp(struct decimal x, struct decimal y);
/* The limbs alone, without exp, as 64 bits: false (out: the nearest end) where they do not fit.
 */
bool decimal_limbs_i64(struct decimal x, int64_t *out);
/* The low 64 bits of the limbs' magnitude, negated for a negative one. */
int64_t decimal_limbs_wrapped(struct decimal x);
/* Decimal digits of the limbs; 0 for zero. */
size_t decimal_digits(struct decimal x);
/* The limbs as text, with a sign where negative. */
void decimal_write_limbs(struct buf *out, struct decimal x);
/* Plain text such as -12.50 or 1200, with all its digits. */
void decimal_write(struct buf *out, struct decimal x);
