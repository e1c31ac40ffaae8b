/* selector.h - which labels or fields are meant
 *
 * A label selector is a list of requirements that must all hold, in the order of their keys.
 * The zero value matches everything. All it shows lives in the arena or in the text it was read
 * from.
 */
#pragma once

#include "value/field_error.h"
#include "value/strs.h"

enum selector_op {
    SELECTOR_IN,
    SELECTOR_NOT_IN,
    SELECTOR_EQUALS,
    SELECTOR_DOUBLE_EQUALS,
    SELECTOR_NOT_EQUALS,
    SELECTOR_EXISTS,
    SELECTOR_NOT_EXISTS,
    SELECTOR_GREATER,
    SELECTOR_LESS,
};

struct selector_term {
    struct str key;
    enum selector_op op;
    struct str_list values; /* sorted, each once */
    int64_t number;         /* of SELECTOR_GREATER and SELECTOR_LESS */
};

struct selector {
    const struct selector_term *at;
    size_t len;
    bool matches_nothing;
};

#define SELECTOR_MAX_TEXT ((size_t)64 << 10) /* bytes */

/* `a=b,c!=d,e in (f,g),!h,i>5`. ERR_SYNTAX in Kubernetes' words ("unable to parse requirement:
 * ..."), ERR_LIMIT past SELECTOR_MAX_TEXT. */
int selector_parse(struct arena *a, struct str text, struct selector *out, struct err *err);
/* A LabelSelector object {matchLabels, matchExpressions}; NULL and null match nothing, {}
 * matches everything. ERR_INVALID with the first thing that is wrong. */
int selector_of_json(struct arena *a, const struct json *label_selector, struct selector *out,
                     struct err *err);
/* The one of `labels`, all of which must be there with these values. */
struct selector selector_of_map(struct arena *a, const struct str_map *labels);

bool selector_matches(const struct selector *s, const struct str_map *labels);
/* `labels` is a JSON object of texts, or NULL. */
bool selector_matches_json(const struct selector *s, const struct json *labels);
void selector_write(struct buf *out, const struct selector *s);
struct str selector_text(struct arena *a, const struct selector *s);
bool selector_op_find(struct str name, enum selector_op *out);

/* Collects what is wrong with one requirement, on `key`, `operator`, `values` below `at`. */
void selector_check_term(struct field_errors *e, const struct field_path *at, struct str key,
                         struct str op, struct str_list values);
/* The same for a LabelSelector in an object (`matchLabels`, `matchExpressions[i].values[j]`).
 */
void selector_check_json(struct field_errors *e, const struct field_path *at,
                         const struct json *label_selector);
/* A map of labels: each broken rule of a key or value is an error on `at` itself. */
void labels_check(struct field_errors *e, const struct field_path *at,
                  const struct json *labels);

/* ---- field selectors: `metadata.name=a,spec.nodeName!=b` ---- */

struct field_term {
    struct str field, value;
    bool is_not;
};
struct field_selector {
    const struct field_term *at;
    size_t len;
};

/* In a value `\\`, `\,` and `\=` stand for themselves. ERR_SYNTAX, ERR_LIMIT. */
int field_selector_parse(struct arena *a, struct str text, struct field_selector *out,
                         struct err *err);
void field_selector_write(struct buf *out, const struct field_selector *s);
struct str field_selector_text(struct arena *a, const struct field_selector *s);
/* What an object has at a field's path, as text; "" for nothing. */
typedef struct str field_get_fn(void *ctx, struct str field);
bool field_selector_matches(const struct field_selector *s, field_get_fn *get, void *ctx);
/* True, and the value, where only objects with exactly that value can match. */
bool field_selector_exact(const struct field_selector *s, struct str field, struct str *value);
