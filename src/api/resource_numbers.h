/* resource_numbers.h - amounts by resource as whole numbers, for counting and placing
 *
 * cpu counts in thousandths, all others in whole units. Sums stop at the ends of 64 bits. A
 * list is sorted by name, each name once.
 */
#pragma once

#include "api/resource_list.h"
#include "value/saturate.h"

struct resource_number {
    struct str name;
    int64_t n;
};
struct resource_numbers {
    struct resource_number *at;
    size_t len;
};

struct resource_numbers resource_numbers_of(struct arena *a, const struct resource_list *l);
struct resource_list resource_numbers_list(struct arena *a, const struct resource_numbers *n);
/* The number, or 0. *is_there may be NULL. */
int64_t resource_numbers_get(const struct resource_numbers *n, struct str name, bool *is_there);
/* x + by * y, name by name. */
struct resource_numbers resource_numbers_add(struct arena *a, const struct resource_numbers *x,
                                             const struct resource_numbers *y, int64_t by);
void resource_numbers_floor(struct resource_numbers *n); /* below 0 becomes 0 */
/* How often `request` fits into `capacity`, at most INT32_MAX; nothing asked for fits 0 times.
 * *limiting (may be NULL) is the resource that runs out first, the smaller name of two. */
int64_t resource_numbers_fit(const struct resource_numbers *capacity,
                             const struct resource_numbers *request, struct str *limiting);
/* The names in both with more in x than in y. */
struct str_list resource_numbers_greater(struct arena *a, const struct resource_numbers *x,
                                         const struct resource_numbers *y);
