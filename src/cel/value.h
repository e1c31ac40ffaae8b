/* value.h - a value of an expression: 16 bytes, by value
 *
 * Scalars, timestamps and durations are held in the value itself; strings, lists and maps point
 * into memory that outlives the evaluation (the host's) or into its arena. A value never
 * changes.
 */
#pragma once

#include "base/base.h"
#include "json/json.h"

struct cel_type;
struct cel_value;
struct cel_map;
struct cel_host;
struct cel_object;
struct cel_message;
struct cel_cat;
struct cel_unknown;
struct cel_url;
struct cel_run;
struct quantity;
struct semver;
struct ip;
struct cidr;
struct cel_format;

enum cel_kind {
    CEL_ABSENT, /* nothing there; never a result */
    CEL_ERROR,
    CEL_UNKNOWN,
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_LIST,
    CEL_MAP,
    CEL_TYPE,
    CEL_TIMESTAMP,
    CEL_DURATION,
    CEL_OPTIONAL,
    CEL_QUANTITY,
    CEL_SEMVER,
    CEL_IP,
    CEL_CIDR,
    CEL_URL,
    CEL_FORMAT,
    CEL_ENUM,    /* strong enums only */
    CEL_MESSAGE, /* T{…} of a declared struct type */
    CEL_OBJECT,  /* the host's own */
    CEL_KINDS,
};

enum cel_form {             /* how a list's or map's parts are held */
                CEL_ARRAY,  /* struct cel_value[], struct cel_map */
                CEL_JSON,   /* the tree's own nodes */
                CEL_HOSTED, /* asked of the host, one by one */
                CEL_CAT,    /* two lists, one after the other */
};
enum { CEL_ASCII = 1 }; /* form of a string: its bytes are its code points */

enum cel_err {
    CEL_E_TEXT,        /* s says it */
    CEL_E_NO_OVERLOAD, /* s: the function, or "" */
    CEL_E_NO_KEY,      /* s: the key */
    CEL_E_NO_FIELD,
    CEL_E_NO_VAR,
    CEL_E_INDEX, /* i: the index */
    CEL_E_OVERFLOW,
    CEL_E_UOVERFLOW,
    CEL_E_TIME_OVERFLOW,
    CEL_E_DIVIDE,
    CEL_E_MODULUS,
    CEL_E_NAN,
    CEL_E_NONE,  /* optional.none() dereference */
    CEL_E_RANGE, /* of a loop: s says what it got */
    CEL_E_COST,
    CEL_E_STEPS,
    CEL_E_CANCELED,
    CEL_E_MEMORY,
    CEL_E_UNDECLARED,
    CEL_E_COUNT,
};

struct cel_value {
    uint8_t kind; /* enum cel_kind */
    uint8_t form; /* enum cel_form; CEL_ASCII; error: enum cel_err */
    int16_t aux;  /* timestamp: the zone in minutes; a host's own mark on lists */
    uint32_t len; /* bytes, elements, entries; timestamp: nanoseconds */
    union {
        bool b;
        int64_t i; /* also seconds of a timestamp, nanoseconds of a duration */
        uint64_t u;
        double d;
        const char *s;
        const struct cel_value *items; /* also an optional's content */
        const struct json *json;
        const struct json_member *members;
        const struct cel_map *map;
        const struct cel_host *host;
        const struct cel_cat *cat;
        const struct cel_type *type;
        const struct quantity *quantity;
        const struct semver *semver;
        const struct ip *ip;
        const struct cidr *cidr;
        const struct cel_url *url;
        const struct cel_format *format;
        const struct cel_message *message;
        const struct cel_object *object;
        const struct cel_unknown *unknown;
    };
};
_Static_assert(sizeof(struct cel_value) == 16, "a value is two words");

struct cel_entry {
    struct cel_value key, value;
};
struct cel_map {
    const struct cel_entry *entries; /* in the order of insertion */
    const uint32_t *index;           /* NULL: few enough to look through */
    uint32_t mask;
};
struct cel_cat {
    struct cel_value left, right;
};
/* A path that was not known; `next` where several were needed. */
struct cel_unknown {
    struct str path;
    const struct cel_unknown *next;
};

/* A list or map that its host holds in its own way: the value's `len` is its size. Any function
 * may be NULL where it makes no sense or the default will do. */
struct cel_host_ops {
    /* Element i of a list, key i of a map. */
    struct cel_value (*at)(const struct cel_host *h, struct arena *a, uint32_t i);
    /* The value of a map's key; CEL_ABSENT where it has none. */
    struct cel_value (*get)(const struct cel_host *h, struct arena *a, struct cel_value key);
    /* Used for selection and index in place of get(): a missing key may have a stand-in. */
    struct cel_value (*select)(const struct cel_host *h, struct arena *a, struct cel_value key);
    /* A bool or an error. */
    struct cel_value (*equal)(const struct cel_host *h, struct arena *a,
                              struct cel_value other);
    struct cel_value (*add)(const struct cel_host *h, struct arena *a, struct cel_value other);
};
struct cel_host {
    const struct cel_host_ops *ops;
    const void *data; /* the host's */
    const void *schema;
};

/* An opaque value of the host's: compared and selected by its type's functions. */
struct cel_object {
    const struct cel_type *type;
    const void *data;
};

typedef struct cel_value cel_var_fn(struct cel_run *run, int index);

/* ---- making values ---- */

static inline struct cel_value cel_null(void)
{
    return (struct cel_value){.kind = CEL_NULL};
}
static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){.kind = CEL_BOOL, .u = b};
}
static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){.kind = CEL_INT, .i = i};
}
static inline struct cel_value cel_uint(uint64_t u)
{
    return (struct cel_value){.kind = CEL_UINT, .u = u};
}
static inline struct cel_value cel_double(double d)
{
    return (struct cel_value){.kind = CEL_DOUBLE, .d = d};
}
/* Borrowed. cel_text() looks whether all of it is ASCII, which makes sizes cheap. */
static inline struct cel_value cel_string(struct str s)
{
    return (struct cel_value){.kind = CEL_STRING, .len = (uint32_t)s.len, .s = s.at};
}
struct cel_value cel_text(struct str s);
static inline struct cel_value cel_bytes(struct str s)
{
    return (struct cel_value){.kind = CEL_BYTES, .len = (uint32_t)s.len, .s = s.at};
}
static inline struct cel_value cel_duration(int64_t ns)
{
    return (struct cel_value){.kind = CEL_DURATION, .i = ns};
}
static inline struct cel_value cel_time(int64_t seconds, uint32_t nanos, int zone_minutes)
{
    return (struct cel_value){
        .kind = CEL_TIMESTAMP, .aux = (int16_t)zone_minutes, .len = nanos, .i = seconds};
}
static inline struct cel_value cel_list(const struct cel_value *items, size_t n)
{
    return (struct cel_value){.kind = CEL_LIST, .len = (uint32_t)n, .items = items};
}
static inline struct cel_value cel_hosted(enum cel_kind kind, const struct cel_host *h,
                                          uint32_t n)
{
    return (struct cel_value){.kind = (uint8_t)kind, .form = CEL_HOSTED, .len = n, .host = h};
}
static inline struct cel_value cel_of_type(const struct cel_type *t)
{
    return (struct cel_value){.kind = CEL_TYPE, .type = t};
}
static inline struct cel_value cel_quantity(const struct quantity *q)
{
    return (struct cel_value){.kind = CEL_QUANTITY, .quantity = q};
}
static inline struct cel_value cel_semver(const struct semver *v)
{
    return (struct cel_value){.kind = CEL_SEMVER, .semver = v};
}
static inline struct cel_value cel_none(void)
{
    return (struct cel_value){.kind = CEL_OPTIONAL};
}
struct cel_value cel_some(struct arena *a, struct cel_value v);
/* The entries are kept, not copied; later duplicates must be gone. */
struct cel_value cel_map_of(struct arena *a, const struct cel_entry *entries, size_t n);
/* The tree as it is: integers are ints, other numbers doubles. A raw text is null: who may hold
 * a stored object's tree calls json_whole() first. */
struct cel_value cel_of_json(const struct json *v);
struct cel_value cel_unknown_of(struct arena *a, struct str path);

/* Errors. The text is made where it is asked for. */
static inline struct cel_value cel_fail(enum cel_err code)
{
    return (struct cel_value){.kind = CEL_ERROR, .form = (uint8_t)code};
}
struct cel_value cel_fail_text(struct arena *a, const char *format, ...) like_printf(2, 3);
static inline struct cel_value cel_fail_name(enum cel_err code, struct str s)
{
    return (struct cel_value){
        .kind = CEL_ERROR, .form = (uint8_t)code, .len = (uint32_t)s.len, .s = s.at};
}
struct str cel_error_text(struct arena *a, struct cel_value error);

/* ---- reading values ---- */

static inline struct str cel_str(struct cel_value v)
{
    return (struct str){v.s, v.len};
}
static inline bool cel_is_true(struct cel_value v)
{
    return v.kind == CEL_BOOL && v.b;
}
/* Neither a plain value: an error or unknown. */
static inline bool cel_is_stop(struct cel_value v)
{
    return v.kind <= CEL_UNKNOWN;
}
/* Element i (< len) of a list. */
struct cel_value cel_at(struct arena *a, struct cel_value list, uint32_t i);
/* Key i (< len) of a map; the value of a key, CEL_ABSENT where there is none. */
struct cel_value cel_key(struct arena *a, struct cel_value map, uint32_t i);
struct cel_value cel_get(struct arena *a, struct cel_value map, struct cel_value key);
/* Code points, bytes, elements or entries; 1 for scalars. */
uint64_t cel_size(struct cel_value v);
/* Equal? A bool; an error only where a host says so. */
struct cel_value cel_equal(struct arena *a, struct cel_value x, struct cel_value y);
bool cel_same(struct arena *a, struct cel_value x, struct cel_value y);
/* -1, 0, 1; or CEL_UNORDERED (a NaN), CEL_INCOMPARABLE (kinds that have no order). */
enum { CEL_UNORDERED = 2, CEL_INCOMPARABLE = 3 };
int cel_compare(struct cel_value x, struct cel_value y);
/* The run-time type. */
const struct cel_type *cel_type_of(struct cel_value v);
/* As one would write it in an expression. */
struct str cel_show(struct arena *a, struct cel_value v);
/* The JSON form; false where it has none. */
bool cel_to_json(struct arena *a, struct cel_value v, struct json *out);
