/* shapes.c - what new objects of one shape own */
#include "schema/shapes.h"

#define UNKNOWN_FEW 8   /* so many unknown ones in a row are learnt, */
#define UNKNOWN_EACH 16 /* and then each so many-th */

/* The same members down to the leaves. Items of lists are told apart by what they say: lists
 * are the same only where all of it is. */
static bool is_same_shape(const struct json *x, const struct json *y)
{
    if (x->type != y->type)
        return false;
    if (x->type == JSON_ARRAY)
        return json_eq(x, y);
    if (x->type != JSON_OBJECT)
        return true;
    if (x->len != y->len)
        return false;
    for (uint32_t i = 0; i < x->len; i++)
        if (!str_eq(x->members[i].name, y->members[i].name) ||
            !is_same_shape(&x->members[i].value, &y->members[i].value))
            return false;
    return true;
}

const struct json *shapes_find(struct shapes *s, const struct kind *kind,
                               const struct json *tree)
{
    for (size_t i = 0; i < SHAPES_MAX; i++) {
        struct shape *x = &s->all[i];
        if (x->kind == kind && is_same_shape(x->tree, tree)) {
            x->used = ++s->clock;
            s->n_unknown = 0;
            return &x->fields;
        }
    }
    return NULL;
}

void shapes_learn(struct shapes *s, const struct kind *kind, const struct json *tree,
                  const struct json *fields)
{
    struct shape *oldest = &s->all[0];

    if (++s->n_unknown > UNKNOWN_FEW && s->n_unknown % UNKNOWN_EACH)
        return;
    if (json_size(tree, SHAPE_BYTES) > SHAPE_BYTES)
        return;
    for (size_t i = 1; i < SHAPES_MAX; i++)
        if (s->all[i].used < oldest->used)
            oldest = &s->all[i];
    arena_fini(&oldest->arena);
    *oldest = (struct shape){.kind = kind, .used = ++s->clock};
    oldest->tree = json_copy(&oldest->arena, tree);
    oldest->fields = *json_copy(&oldest->arena, fields);
}

void shapes_fini(struct shapes *s)
{
    for (size_t i = 0; i < SHAPES_MAX; i++)
        arena_fini(&s->all[i].arena);
    *s = (struct shapes){0};
}
