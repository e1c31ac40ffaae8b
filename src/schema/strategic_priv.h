/* strategic_priv.h - what applying and making strategic merge patches share */
#pragma once

#include "schema/strategic.h"

#define SMP_PATCH "$patch"
#define SMP_RETAIN_KEYS "$retainKeys"
#define SMP_ORDER "$setElementOrder"
#define SMP_DELETE_LIST "$deleteFromPrimitiveList"

struct smp {
    struct arena *arena;
    struct err *err;
    bool is_joining; /* both sides are patches: directives and nulls are kept */
    size_t steps;
};

typedef VEC(struct json) smp_list;

/* A member as the schema sees it. */
struct smp_field {
    const struct schema *s;    /* of the value; NULL below what is untyped */
    const struct schema *item; /* of an item, where it is a list */
    bool merges, replaces, retains;
    struct str key; /* of a merged list of objects */
};

/* Always false. */
bool smp_fail(struct smp *w, const char *format, ...) like_printf(2, 3);
/* False, with err, past the limit. */
bool smp_spend(struct smp *w, size_t steps);

/* The member of an object of schema s (NULL: untyped) that holds an object or a list (is_list)
 * on both sides. False where the schema does not know it; err is not set. */
bool smp_find(const struct schema *s, struct str name, bool is_list, struct smp_field *out);
/* Types as Go sees them: integers and fractions differ. Equal, and of one type. */
bool smp_same(const struct json *a, const struct json *b);
/* The one type of all elements of both lists. False, with err, where they differ, are lists, or
 * where there are none. */
bool smp_element_type(struct smp *w, const struct json *a, const struct json *b,
                      enum json_type *out);
/* The value of an item's merge key; NULL, with err, where it has none. */
const struct json *smp_key(struct smp *w, const struct json *item, struct str key);
/* The place of the first element of `list` with the item's key (objects, where key is not
 * empty) or value; STR_NONE. */
size_t smp_index(struct smp *w, const struct json *list, const struct json *item,
                 struct str key);
/* Sorts by the order list as upstream does: insertion from the left; an item passes its
 * neighbour if it comes earlier, or if either is not in the list. Items with `$patch: delete`
 * go last. */
bool smp_sort(struct smp *w, smp_list *list, const struct json *order, struct str key);
/* patch merged over live, both objects or NULL. */
bool smp_merge_maps(struct smp *w, const struct schema *s, const struct json *live,
                    const struct json *patch, struct json *out);
/* uniq as upstream does it: of equal elements the later one's place is taken by the last. The
 * number of elements that remain in front. */
bool smp_uniq(struct smp *w, smp_list *list, size_t *n);
/* One object or null or NULL (which stand for {}). */
bool smp_check_document(struct smp *w, const struct json *v, const char *what);
