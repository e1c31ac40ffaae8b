/* resource_list.h - amounts by resource: {cpu: 500m, memory: 1Gi}
 *
 * Names are there once, in the order in which they came. Lists live in an arena and borrow
 * their texts; exact at any size until they become numbers.
 */
#pragma once

#include "value/value.h"

struct resource_amount {
    struct str name;
    struct quantity q;
};
struct resource_list {
    struct resource_amount *at;
    size_t len, cap;
};

/* From an object of quantities (texts or numbers); what is none is left out. */
struct resource_list resource_list_of(struct arena *a, const struct json *map);
struct json resource_list_json(struct arena *a, const struct resource_list *l);

struct quantity *resource_list_get(const struct resource_list *l, struct str name);
void resource_list_put(struct arena *a, struct resource_list *l, struct str name,
                       struct quantity q);
void resource_list_del(struct resource_list *l, struct str name);
void resource_list_sort(struct resource_list *l); /* by name */

/* What both have is decided; what only `from` has is taken over. */
enum resource_merge { RESOURCE_FIRST, RESOURCE_MAX, RESOURCE_MIN, RESOURCE_SUM };
void resource_list_merge(struct arena *a, struct resource_list *to,
                         const struct resource_list *from, enum resource_merge how);
/* Every amount times f, which counts as its shortest decimal; cut towards zero after nine
 * decimals. */
struct resource_list resource_list_scale(struct arena *a, const struct resource_list *l,
                                         double f);
/* The names in both with more in x than in y, sorted. */
struct str_list resource_list_greater(struct arena *a, const struct resource_list *x,
                                      const struct resource_list *y);

/* ---- numbers ---- */

/* As a number: cpu in thousandths, all others in whole units, rounded away from zero; past 64
 * bits the nearest end. */
int64_t resource_units(struct str name, const struct quantity *q);
/* Back: binary suffixes for memory, storage, huge pages and what `counts_bytes` says. */
struct quantity resource_quantity(struct str name, int64_t units, bool counts_bytes);
/* The same as text: "1500m" or "2" cpu, "3Gi" memory, "8" of other things. */
struct str resource_units_text(struct arena *a, struct str name, int64_t units);
/* A name with a '/' that is neither kubernetes.io's nor of huge pages: an extended resource. */
bool resource_is_extended(struct str name);
