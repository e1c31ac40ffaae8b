/* shapes.h - what is owned by who writes an object of one shape
 *
 * The fields that the writer of a new object owns follow from its shape: which members it has,
 * down to the leaves, not what they say. So do those that an apply owns. Thousands of pods,
 * Events, Jobs and statuses are made in a few shapes: the sets of the last ones are kept as
 * their text, beside a tree to know the shape by. One uid in it may be any: that of an owner.
 */
#pragma once

#include "json/json.h"

struct kind;

/* Of which writes a shape is: what is owned depends on this, too. */
struct shape_of {
    const struct kind *kind;
    struct str subresource;
    bool is_apply; /* the trees are what is applied; else they are new objects */
};

#define SHAPES_MAX 32              /* that are kept */
#define SHAPE_BYTES ((size_t)8192) /* of a tree that is kept, about */

struct shape {
    struct shape_of of; /* kind NULL: not in use; subresource in the arena */
    struct arena arena;
    const struct json *tree;
    struct json fields; /* as FieldsV1: a raw text */
    size_t uid_at;      /* where that holds the tree's uid, which may be any; 0: nowhere */
    uint64_t used;      /* when */
};

/* The zero value is empty. */
struct shapes {
    struct shape all[SHAPES_MAX];
    uint64_t clock;
    uint32_t n_unknown; /* in a row: most objects are of no shape that comes again */
};

/* The fields of a tree of that shape, in the arena; NULL where it is not known. What is applied
 * in a known shape fits the schema. */
const struct json *shapes_find(struct shapes *s, struct arena *a, const struct shape_of *of,
                               const struct json *tree);
/* What a tree of that shape owns; `fields` is a raw text. */
void shapes_learn(struct shapes *s, const struct shape_of *of, const struct json *tree,
                  const struct json *fields);
void shapes_fini(struct shapes *s);
