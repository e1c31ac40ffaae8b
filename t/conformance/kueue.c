/* kueue.c - the suite of Kueue's decisions: a table; the adapters stand in kueue_*.c */
#include "conformance.h"

#include "kueue_parts.h"

static const struct conf_file files[] = {
    {.name = "workload-finish", .run = kueue_workload_finish},
};

const struct conf_suite suite_kueue = {"kueue", files, countof(files)};
