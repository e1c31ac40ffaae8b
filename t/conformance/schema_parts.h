/* schema_parts.h - what the adapters of suite schema share, and the one that k8scel has */
#pragma once

#include "conformance.h"
#include "value/field_error.h"

conf_fn schema_structural; /* k8scel/structural.jsonl */
/* Compares type and field of each error, as a multiset. */
void schema_same_errors(struct conf *t, const struct field_errors *e, const struct json *want);
