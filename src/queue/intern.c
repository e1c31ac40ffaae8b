/* intern.c - names as small numbers */
#include "queue/intern.h"

void intern_fini(struct intern *t)
{
    map_fini(&t->ids);
    vec_fini(&t->names);
    arena_fini(&t->arena);
}

uint16_t intern_add(struct intern *t, struct str name)
{
    uint16_t *id = map_get(&t->ids, name);

    if (id)
        return *id;
    if (t->names.len == INTERN_MAX)
        return INTERN_NONE;
    name = str_copy(&t->arena, name);
    vec_push(&t->names, name);
    id = map_put(&t->ids, name);
    return *id = (uint16_t)(t->names.len - 1);
}

uint16_t intern_find(const struct intern *t, struct str name)
{
    const uint16_t *id = map_get(&t->ids, name);
    return id ? *id : INTERN_NONE;
}
