/* intern.h - names as small numbers, in the order in which they were first seen */
#pragma once

#include "base/base.h"

#define INTERN_MAX 65535 /* names of one kind */
#define INTERN_NONE UINT16_MAX

struct intern {
    MAP(uint16_t) ids;
    VEC(struct str) names;
    struct arena arena;
};

void intern_fini(struct intern *t);
/* The name's number; INTERN_NONE where INTERN_MAX names are known already. */
uint16_t intern_add(struct intern *t, struct str name);
/* INTERN_NONE where it was never added. */
uint16_t intern_find(const struct intern *t, struct str name);
static inline struct str intern_name(const struct intern *t, uint16_t id)
{
    return id < t->names.len ? t->names.at[id] : S("");
}
