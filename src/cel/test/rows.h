/* rows.h - an expression and what it comes to, as one text */
#pragma once

#include "cel/cel.h"

/* "check: …" where it is refused when it is read, "program: …" when its constants are folded,
 * "error: …" where it ends in one; else its value. */
static inline struct str test_cel(struct arena *a, const struct cel_env *env, const char *text)
{
    struct cel_issues issues = {.arena = a};
    struct cel_program *p = cel_compile(env, str_from(text), NULL, &issues);
    struct cel_run run = {.arena = a};

    if (!p)
        return str_printf(a, "%s: %.*s", issues.is_program ? "program" : "check",
                          STR_ARG(issues.list.at[0].text));
    struct str s = cel_show(a, cel_eval(p, &run));
    cel_program_free(p);
    return s;
}
