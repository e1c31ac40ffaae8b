/* int_or_string.h - fields that hold a number or a text, mostly a percentage */
#pragma once

#include "base/base.h"

struct int_or_string {
    bool is_string;
    int32_t i;
    struct str s;
};

/* A number where the text is one of 32 bits, else the text (borrowed). */
struct int_or_string int_or_string_parse(struct str text);
/* The number, or N of "N%"; *is_percent tells which. ERR_INVALID for any other text. */
int int_or_string_value(struct int_or_string v, int64_t *out, bool *is_percent,
                        struct err *err);
/* The number, or the percentage of `total`, rounded up or down. */
int int_or_string_scaled(struct int_or_string v, int64_t total, bool is_up, int64_t *out,
                         struct err *err);
