/* field_error.h - what is wrong with which field, in Kubernetes' words
 *
 * Validation collects all that is wrong. A path is a chain of frames on the walker's stack and
 * is printed only when there is something to say:
 *
 *     struct field_path spec = field_child(NULL, S("spec"));
 *     struct field_path n = field_child(&spec, S("parallelism"));
 *     field_invalid(errors, &n, value, "must be greater than or equal to %d", 0);
 *
 * Source of types and words: apimachinery's field errors.
 */
#pragma once

#include "value/names.h"
#include "json/json.h"

enum field_error_type {
    FIELD_ERROR_REQUIRED,
    FIELD_ERROR_INVALID,
    FIELD_ERROR_NOT_SUPPORTED,
    FIELD_ERROR_FORBIDDEN,
    FIELD_ERROR_DUPLICATE,
    FIELD_ERROR_NOT_FOUND,
    FIELD_ERROR_TOO_LONG,
    FIELD_ERROR_TOO_MANY,
    FIELD_ERROR_TYPE_INVALID,
};

/* One step of a path; lives on the stack of who walks. */
struct field_path {
    const struct field_path *parent; /* NULL: the root's child */
    struct str name;                 /* of a field, or a map's key where is_key */
    int64_t index;                   /* of a list, where name.at is NULL */
    bool is_key;
};

static inline struct field_path field_child(const struct field_path *parent, struct str name)
{
    return (struct field_path){.parent = parent, .name = name};
}
static inline struct field_path field_item(const struct field_path *parent, size_t index)
{
    return (struct field_path){.parent = parent, .index = (int64_t)index};
}
static inline struct field_path field_key(const struct field_path *parent, struct str key)
{
    return (struct field_path){.parent = parent, .name = key, .is_key = true};
}
/* `spec.containers[0].env[X]`; "<nil>" for NULL. In the arena. */
struct str field_path_text(struct arena *a, const struct field_path *p);

struct field_error {
    enum field_error_type type;
    struct str path;
    struct json value; /* the bad value; null where the type has none */
    struct str detail; /* may be empty */
};

/* Past these they are counted, not kept. Of texts and values; the first may be larger: a bad
 * value may be a whole list, which is then told with each of its errors. */
#define FIELD_ERRORS_MAX 1000
#define FIELD_ERRORS_MAX_BYTES ((size_t)1 << 20)

struct field_errors {
    struct arena *arena;
    VEC(struct field_error) list;
    size_t n_dropped, n_bytes;
};
struct field_errors field_errors_in(struct arena *a);

/* All texts are copied into the arena; bad values are borrowed (they live in the tree). */
rare void field_required(struct field_errors *e, const struct field_path *p, const char *format,
                         ...) like_printf(3, 4);
rare void field_invalid(struct field_errors *e, const struct field_path *p,
                        const struct json *value, const char *format, ...) like_printf(4, 5);
rare void field_type_invalid(struct field_errors *e, const struct field_path *p,
                             const struct json *value, const char *format, ...)
    like_printf(4, 5);
rare void field_forbidden(struct field_errors *e, const struct field_path *p,
                          const char *format, ...) like_printf(3, 4);
rare void field_not_supported(struct field_errors *e, const struct field_path *p,
                              const struct json *value, const struct json *supported, size_t n);
/* True where v is one of the words; else told as not supported. */
bool field_one_of(struct field_errors *e, const struct field_path *p, const struct json *v,
                  const char *const *words, size_t n);
/* One error for each part of the rule that the text breaks; true where there is none. */
bool field_check_name(struct field_errors *e, const struct field_path *p, enum name_rule rule,
                      const struct json *v);
/* The texts under one name of a list's items differ; each that came before is a duplicate. */
void field_check_differ(struct field_errors *e, const struct field_path *list_at,
                        const struct json *list, const char *name);
rare void field_duplicate(struct field_errors *e, const struct field_path *p,
                          const struct json *value);
rare void field_not_found(struct field_errors *e, const struct field_path *p,
                          const struct json *value);
rare void field_too_long(struct field_errors *e, const struct field_path *p,
                         const struct json *value, int64_t most_bytes);
rare void field_too_many(struct field_errors *e, const struct field_path *p, int64_t n,
                         int64_t most);
/* One that is put together elsewhere. */
void field_error_add(struct field_errors *e, struct field_error one);
/* All of `more`, which has the same arena. */
void field_errors_add(struct field_errors *e, const struct field_errors *more);

/* The reason of a Status cause: "FieldValueInvalid". */
struct str field_error_reason(enum field_error_type type);
/* Without the path: `Invalid value: -1: must be greater than or equal to 0`. */
struct str field_error_body(struct arena *a, const struct field_error *e);
/* `spec.parallelism: Invalid value: -1: must be ...`. */
struct str field_error_text(struct arena *a, const struct field_error *e);
/* All of them as a Status message shows them: one plain, several as `[a, b]`. */
struct str field_errors_text(struct arena *a, const struct field_errors *e);
