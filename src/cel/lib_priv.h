/* lib_priv.h - writing library functions
 *
 * A function is one CEL_FN() and one row a signature. It gets arguments of the kinds its
 * signature names, never errors or unknowns; what it makes lives in c->arena.
 */
#pragma once

#include "cel/plan_priv.h"

#define CEL_FN(name)                                                                           \
    static struct cel_value name(unused struct cel_call *c,                                    \
                                 unused const struct cel_value *args, unused size_t n)

/* Code point i of s as a byte offset; i may be the number of code points. */
size_t rune_offset(struct str s, size_t i);
struct cel_value format_string(struct cel_call *c, struct str format, struct cel_value list);
