/* trace_priv.h - what an evaluation tells while it is explained */
#pragma once

#include "cel/plan_priv.h"

void trace_note(struct ctx *c, const struct op *op, struct cel_value v);
struct cel_value op_run(const struct cel_program *p, struct cel_run *run,
                        const struct cel_value *slots, struct trace *trace);
struct cel_value slot_compare(struct ctx *c, const struct slot_cmp *cmp, struct cel_value v,
                              uint64_t *cost);
struct cel_value op_call(struct ctx *c, const struct call_info *info,
                         const struct cel_value *args, size_t n);
