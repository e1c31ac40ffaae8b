/* format_string_priv.h - clauses of string.format, for running and for checking beforehand */
#pragma once

#include "cel/value_priv.h"

struct format_clause {
    char verb;
    int precision; /* -1: not given */
};

bool format_clause(struct arena *a, struct str s, size_t *i, bool is_old,
                   struct format_clause *out, struct cel_value *bad);
/* The kinds of values a verb takes, one bit each, and what it says to others. */
uint32_t format_kinds(char verb, bool is_old);
const char *format_complaint(char verb, bool is_old);
