/* fieldset.h - sets of fields, as server-side apply owns them
 *
 * A set is a tree of path elements. An element may be a member (owned itself), have others
 * below it, or both; the root is never a member. Sets are immutable, made in an arena, and
 * share what they can: 48 bytes an element. Elements of one level are sorted and differ.
 */
#pragma once

#include "json/json.h"

/* In this order a level is sorted, and written as FieldsV1. */
enum element_kind {
    ELEMENT_FIELD, /* f:name */
    ELEMENT_KEY,   /* k:{"name":"x"}: an item by its keys */
    ELEMENT_VALUE, /* v:"x": an item that is its own key */
    ELEMENT_INDEX, /* i:0 */
};

struct element {
    uint8_t kind; /* enum element_kind */
    uint32_t n;   /* of keys */
    union {
        struct str name;
        const struct json_member *keys; /* sorted by name */
        struct json value;
        int64_t index;
    };
};

struct fieldset_entry;

struct fieldset {
    const struct fieldset_entry *at;
    size_t n; /* the zero value is the empty set */
};

struct fieldset_entry {
    struct element e;
    struct fieldset below;
    bool is_member; /* or below.n > 0, or both */
};

typedef VEC(struct fieldset_entry) fieldset_level;

static inline struct element element_field(struct str name)
{
    return (struct element){.kind = ELEMENT_FIELD, .name = name};
}

/* Total orders; numbers compare by value, whether integers or fractions. Values: numbers,
 * strings, booleans, lists, maps, null. */
int element_cmp(const struct element *a, const struct element *b);
int element_cmp_values(const struct json *a, const struct json *b);
/* element_cmp() == 0, quicker. */
bool element_eq(const struct element *a, const struct element *b);

/* The entry, or NULL. */
const struct fieldset_entry *fieldset_find(struct fieldset s, const struct element *e);

struct fieldset fieldset_union(struct arena *a, struct fieldset x, struct fieldset y);
struct fieldset fieldset_intersection(struct arena *a, struct fieldset x, struct fieldset y);
/* Members of y are no members any more; what is below them stays. */
struct fieldset fieldset_difference(struct arena *a, struct fieldset x, struct fieldset y);
/* With a member of y everything below it goes. */
struct fieldset fieldset_recursive_difference(struct arena *a, struct fieldset x,
                                              struct fieldset y);
/* The members that have nothing below. */
struct fieldset fieldset_leaves(struct arena *a, struct fieldset x);
/* The members that match a tree of patterns: an object with names as in FieldsV1, or "*" for
 * any element; {} matches all below. ERR_SYNTAX for other names. */
int fieldset_include(struct arena *a, struct fieldset x, const struct json *patterns,
                     struct fieldset *out, struct err *err);
bool fieldset_eq(struct fieldset x, struct fieldset y);
/* Is every member of x one of y? */
bool fieldset_within(struct fieldset x, struct fieldset y);
size_t fieldset_count(struct fieldset x); /* members */

/* The set with the path of n elements as a member, too. */
struct fieldset fieldset_with(struct arena *a, struct fieldset x, const struct element *path,
                              size_t n);
/* A set of the level's entries, which may be in any order but differ; those with nothing in
 * them go. Copied to the arena unless the level lies there. */
struct fieldset fieldset_of(struct arena *a, fieldset_level *level);

/* Calls fn for each member in order; stops and returns what it returns other than 0. */
typedef int fieldset_fn(void *ctx, const struct element *path, size_t n);
int fieldset_each(struct fieldset x, fieldset_fn *fn, void *ctx);

/* ---- FieldsV1 ---- */

/* Reads a FieldsV1 value (an object, its raw text, or null). Names and values point into v or
 * the arena. -1: ERR_SYNTAX, out untouched. */
int fieldset_read(struct arena *a, const struct json *v, struct fieldset *out, struct err *err);
/* The set as a FieldsV1 value: a raw text in the arena. */
struct json fieldset_write(struct arena *a, struct fieldset x);
/* Does a FieldsV1 value name anything of the set? Items of lists are not told apart. */
bool fieldset_names_any(const struct json *fields, struct fieldset set);

/* One name of FieldsV1. *known is false for kinds of elements of the future, which are ignored.
 */
int element_read(struct arena *a, struct str text, struct element *out, bool *known,
                 struct err *err);
struct str element_write(struct arena *a, const struct element *e);
/* The path as people read it: .spec.containers[name="x"].image */
struct str element_path(struct arena *a, const struct element *path, size_t n);
