/* device.h - expressions over devices, one by one and in columns
 *
 * A program of a device environment reads a device through slots: each attribute or capacity
 * that it names by constants is one. A host that keeps devices as a table keeps a column a slot
 * and evaluates all rows in one call; one that has single devices hands them over as they are.
 */
#pragma once

#include "cel/cel.h"

enum cel_slot_kind {
    CEL_SLOT_DRIVER,
    CEL_SLOT_ATTRIBUTE,
    CEL_SLOT_CAPACITY,
    CEL_SLOT_MULTI, /* allowMultipleAllocations */
};

struct cel_slot {
    struct str domain, name; /* domain: "" in named resources */
    uint64_t hash;
    uint8_t kind;       /* enum cel_slot_kind */
    uint8_t value_kind; /* named resources: the kind of value its map holds */
};

/* Marks (aux) of lists in named resources: they tell the two kinds apart when empty. */
enum { CEL_MARK_INTS = 1, CEL_MARK_STRINGS = 2 };

struct cel_attribute {
    struct str domain, name;
    struct cel_value value; /* lists of named resources carry their mark */
    uint64_t hash;          /* by cel_device_done() */
};

/* A device as expressions see it. The host fills in all but the index. */
struct cel_device {
    struct cel_value driver, multi;
    struct cel_attribute *attributes, *capacities;
    uint32_t n_attributes, n_capacities;
    uint32_t mask; /* of the index below */
    const uint16_t *index;
    struct cel_value broken; /* an error that every expression on it ends in, or CEL_ABSENT */
};

/* Makes the index; to be called once all is filled in. */
void cel_device_done(struct arena *a, struct cel_device *d);
/* A device as the API writes it ({attributes, capacity, allowMultipleAllocations} of
 * resource.k8s.io/v1; names without a domain are the driver's). Lists are read where
 * `takes_lists`. What upstream cannot read becomes the device's `broken`. Texts are borrowed
 * from the tree. Already done. */
struct cel_device *cel_device_of_json(struct arena *a, struct str driver,
                                      const struct json *device, bool takes_lists);
/* A named-resources instance: the list of attributes of resource.k8s.io/v1alpha2. */
struct cel_device *cel_instance_of_json(struct arena *a, const struct json *attributes);
/* The value of a slot; CEL_ABSENT where the device has none. */
struct cel_value cel_device_slot(const struct cel_device *d, const struct cel_slot *slot);

/* May the program be a selector, by the type it yields? ERR_INVALID in Kubernetes' words. */
int cel_selector_check(const struct cel_program *p, struct err *err);
/* … or the expression of a derived attribute. */
int cel_derived_check(const struct cel_program *p, struct err *err);

/* What the program reads; lives as long as it. */
size_t cel_program_slots(const struct cel_program *p, const struct cel_slot **out);
/* Does it read the device otherwise too (loops over names, tests of domains)? Then columns
 * alone are not enough. */
bool cel_program_needs_device(const struct cel_program *p);

/* The device's values by slot, once, for many evaluations. */
void cel_bind(const struct cel_program *p, const struct cel_device *d, struct cel_value *slots);
/* As cel_eval(), reading bound slots. */
struct cel_value cel_eval_bound(const struct cel_program *p, struct cel_run *run,
                                const struct cel_value *slots);

enum cel_match { CEL_MATCH_NO, CEL_MATCH_YES, CEL_MATCH_ERROR };

/* Rows [0, n) of a table: columns[s][i] is slot s of row i. out[i] is an enum cel_match: what
 * the row alone would have given (a result that is no bool is an error). */
void cel_eval_many(const struct cel_program *p, struct cel_run *run,
                   const struct cel_value *const *columns, size_t n, uint8_t *out);
