/* kueue_check_priv.h - webhook rules that several kinds share (for api/ only) */
#pragma once

#include "value/field_error.h"
#include "value/names.h"

/* Each broken part of a rule is an error with the text. */
void kueue_check_name(struct field_errors *e, const struct field_path *at, enum name_rule rule,
                      struct str value);
/* The annotation kueue.x-k8s.io/admission-gated-by: names that hold a job back. */
void kueue_check_gated_by(struct field_errors *e, const struct field_path *at,
                          struct str gates);
/* A gate cannot come after creation. */
void kueue_check_gates_added(struct field_errors *e, const struct field_path *at,
                             struct str was, struct str now);
