/* cel_cases.h - what the suites of expressions share: values in cases, and comparing them */
#pragma once

#include "cel/cel.h"
#include "conformance.h"

/* {"type": "int", "value": "1"} …; CEL_ABSENT where the case does not say all (a message's
 * content). */
struct cel_value case_value(struct conf *t, const struct json *c);
/* Fails the case unless both are the same, kinds included. */
void case_same(struct conf *t, const char *what, struct cel_value got, const struct json *want);
/* A number that may be larger than 2^63. */
uint64_t case_u64(const struct json *v);
void case_same_u64(struct conf *t, const char *what, uint64_t got, const struct json *want);
void case_same_range(struct conf *t, struct cel_range got, const struct json *want);

/* The language's test messages, declared in an environment. */
void case_messages(struct cel_env *env);
