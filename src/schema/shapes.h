/* shapes.h - what new objects of one shape own
 *
 * The fields that the writer of a new object owns follow from its shape: which members it has,
 * down to the leaves, not what they say. Thousands of pods, Events and Jobs are made in a few
 * shapes: the sets of the last ones are kept as their text, beside a tree to know the shape by.
 */
#pragma once

#include "json/json.h"

struct kind;

#define SHAPES_MAX 16              /* that are kept */
#define SHAPE_BYTES ((size_t)8192) /* of a tree that is kept, about */

struct shape {
    const struct kind *kind; /* NULL: not in use */
    struct arena arena;
    const struct json *tree;
    struct json fields; /* as FieldsV1: a raw text */
    uint64_t used;      /* when */
};

/* The zero value is empty. */
struct shapes {
    struct shape all[SHAPES_MAX];
    uint64_t clock;
    uint32_t n_unknown; /* in a row: most objects are of no shape that comes again */
};

/* The fields of an object of the tree's shape, borrowed until the next shapes_learn(); NULL
 * where it is not known. */
const struct json *shapes_find(struct shapes *s, const struct kind *kind,
                               const struct json *tree);
/* What an object of that shape owns; `fields` is a raw text. */
void shapes_learn(struct shapes *s, const struct kind *kind, const struct json *tree,
                  const struct json *fields);
void shapes_fini(struct shapes *s);
