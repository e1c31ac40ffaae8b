/* quantity.h - amounts as Kubernetes writes them: 500m, 2, 1.5Gi, 4e3
 *
 * Nearly all are an int64 times a power of ten, 24 bytes by value; the rest point to a decimal.
 * A quantity parsed from a text that is nearly canonical remembers it, because servers give
 * such spellings back as they came (`+10Ti`, `5.444T`); arithmetic forgets it. The zero value
 * is 0.
 *
 * Precision ends at 10^-9: what is smaller rounds away from zero.
 */
#pragma once

#include "value/decimal.h"

enum quantity_format {
    QUANTITY_DECIMAL_SI,       /* 12k */
    QUANTITY_BINARY_SI,        /* 12Ki */
    QUANTITY_DECIMAL_EXPONENT, /* 12e3 */
};

struct quantity {
    int64_t value; /* times 10^scale; unless is_big */
    int32_t scale;
    uint8_t format; /* enum quantity_format */
    bool is_big;
    uint16_t text_len; /* 0: no text kept */
    union {
        const char *text;          /* borrowed from what was parsed */
        const struct decimal *big; /* where is_big */
    };
};

#define QUANTITY_MAX_TEXT 4096 /* bytes */
#define QUANTITY_NANO (-9)
#define QUANTITY_MILLI (-3)

/* Bytes stay borrowed where the spelling is kept; a big one lives in the arena. ERR_SYNTAX in
 * the words of Kubernetes; ERR_LIMIT past QUANTITY_MAX_TEXT or DECIMAL_MAX_EXP. */
int quantity_parse(struct arena *a, struct str text, struct quantity *out, struct err *err);
/* value x 10^scale. */
struct quantity quantity_of(int64_t value, int32_t scale, enum quantity_format format);
/* The decimal is borrowed; it becomes the small form where it fits. */
struct quantity quantity_of_decimal(struct arena *a, struct decimal d,
                                    enum quantity_format format);
struct decimal quantity_decimal(struct arena *a, const struct quantity *q);

/* As a server writes it: the kept spelling or the canonical text. */
void quantity_write(struct buf *out, const struct quantity *q);
struct str quantity_text(struct arena *a, const struct quantity *q);
/* Would it be written just so? Looks at what most texts are; false says nothing. */
bool quantity_is_canonical(struct str text);
/* The canonical text: no fraction, the largest suffix that loses nothing. Past E it is written
 * with an exponent, 1e21; upstream writes that as 1, and the amount is lost. */
void quantity_write_canonical(struct buf *out, const struct quantity *q);
const char *quantity_format_name(enum quantity_format format);

/* For scales that differ by k - QUANTITY_NEAR: what brings the first value and the second to
 * units of the smaller scale. */
#define QUANTITY_NEAR 18
extern const int64_t quantity_raise[2 * QUANTITY_NEAR + 1][2];

int quantity_cmp_slow(const struct quantity *x, const struct quantity *y);
/* By value, whatever the format: -1, 0, 1. Near scales mostly meet in 64 bits, in the units of
 * the smaller one. */
static inline int quantity_cmp(const struct quantity *x, const struct quantity *y)
{
    uint32_t k = (uint32_t)x->scale - (uint32_t)y->scale + QUANTITY_NEAR;
    int64_t a = x->value, b = y->value;

    if (unlikely((x->is_big | y->is_big) || k > 2 * QUANTITY_NEAR))
        return quantity_cmp_slow(x, y);
    if (k > QUANTITY_NEAR && unlikely(__builtin_mul_overflow(a, quantity_raise[k][0], &a)))
        return quantity_cmp_slow(x, y);
    if (k < QUANTITY_NEAR && unlikely(__builtin_mul_overflow(b, quantity_raise[k][1], &b)))
        return quantity_cmp_slow(x, y);
    return (a > b) - (a < b);
}
int quantity_sign(const struct quantity *q);
static inline bool quantity_is_zero(const struct quantity *q)
{
    return quantity_sign(q) == 0;
}

/* Exact at any size. The result has x's format, or y's where x is zero. */
struct quantity quantity_add(struct arena *a, const struct quantity *x,
                             const struct quantity *y);
struct quantity quantity_sub(struct arena *a, const struct quantity *x,
                             const struct quantity *y);
struct quantity quantity_neg(struct arena *a, const struct quantity *q);
/* *fits (may be NULL): the digits of the product are within 64 bits. */
struct quantity quantity_mul(struct arena *a, const struct quantity *q, int64_t by, bool *fits);
/* Away from zero to a whole number of 10^scale; *is_exact (may be NULL): nothing was lost. One
 * that needs no rounding is unchanged and keeps its spelling. */
struct quantity quantity_round(struct arena *a, const struct quantity *q, int32_t scale,
                               bool *is_exact);

/* In units of 10^scale, rounded away from zero; past 64 bits the nearest end. The usual way to
 * a number: quantity_units(q, 0), quantity_units(cpu, QUANTITY_MILLI). */
int64_t quantity_units(const struct quantity *q, int32_t scale);
/* The same with upstream's answers where clients may compare with them: of *big* forms one that
 * has a rest is cut and then raised by 1 (so -5.2 gives -4), and digits past 64 bits wrap. */
int64_t quantity_scaled_value(const struct quantity *q, int32_t scale);
/* True, and *out, where it is held as a whole number of 64 bits (CEL's isInteger: about the
 * form, not the value: `1.0` and `1Pi` are none). */
bool quantity_integer(const struct quantity *q, int64_t *out);
/* The digits as a double times the power of ten as one: not always the nearest double, as Go
 * computes it. Infinite past the range. */
double quantity_f64(const struct quantity *q);
