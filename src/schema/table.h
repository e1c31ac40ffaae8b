/* table.h - what a kind is, as data: the one schema form
 *
 * Built-in kinds are const tables that kindc writes from kinds/NAME.kind;
 * CustomResourceDefinitions become the same structs at run time, in an arena. The engine,
 * server-side apply, strategic merge, protobuf, columns and OpenAPI walk these and know nothing
 * else.
 *
 * A node (struct schema) says what one value may be; a field says how a node hangs in an
 * object. Attributes of a value (default, list type, rules) are the node's, so that items of a
 * list and values of a map have them too; struct types are shared by all fields that use them.
 * Nodes may form cycles (JSONSchemaProps); values never do.
 *
 * The C view. A struct that kindc wrote (only there; run-time nodes have size 0) looks so:
 *
 *     struct job_spec {
 *         uint64_t set;         one bit a field: 1 << field->bit; unset is not zero
 *         uint64_t null;        the same: to be written as null (a merge patch takes it out)
 *         int32_t parallelism;  at field->offset
 *         ...
 *     };
 *
 *     type                 as a field             in a list, as the value of a map
 *     BOOL                 bool
 *     INT32, INT64         int32_t, int64_t
 *     DOUBLE               double
 *     STRING               struct str             all scalars: the same
 *     BYTES                struct str, decoded
 *     QUANTITY             struct str, the text (a number's text where JSON holds a number)
 *     TIME, MICRO_TIME     struct instant         (0 and null are both "no time")
 *     DURATION             struct span
 *     INT_OR_STRING        struct int_or_string
 *     ANY, RAW, FIELDS_V1  const struct json *    struct json
 *     OBJECT               struct T *             struct T, by value
 *     LIST                 struct { T *at; size_t len; }
 *     MAP                  struct { struct { struct str key; T value; } *at; size_t len; }
 *
 * So an element of a list takes item->size bytes, an entry of a map MAP_VALUE_AT + value->size
 * (all alignments are at most 8, sizes of objects are multiples of 8; entry sizes are rounded
 * up to 8). Names are snake_case; C words get a '_' at the end. Fields that Go embeds and JSON
 * flattens are flat here too. At most 64 fields. Every value lives in the arena of the decode
 * or in the object's bytes.
 */
#pragma once

#include "schema/functions.h"
#include "json/json.h"

struct kind;
struct regex;
struct schema;

enum schema_type {
    SCHEMA_ANY, /* no type demanded: any JSON value */
    SCHEMA_BOOL,
    SCHEMA_INT32,
    SCHEMA_INT64, /* also OpenAPI's integer without a format */
    SCHEMA_DOUBLE,
    SCHEMA_STRING,
    SCHEMA_BYTES,         /* base64 in JSON, bytes in protobuf */
    SCHEMA_QUANTITY,      /* a text or a number; protobuf {1 string} */
    SCHEMA_TIME,          /* RFC 3339, whole seconds; protobuf {1 seconds, 2 nanos} */
    SCHEMA_MICRO_TIME,    /* RFC 3339, six decimals */
    SCHEMA_DURATION,      /* Go's text, "1h0m0s"; protobuf {1 ns} */
    SCHEMA_INT_OR_STRING, /* protobuf {1 type, 2 int, 3 string} */
    SCHEMA_OBJECT,        /* declared fields */
    SCHEMA_LIST,
    SCHEMA_MAP,       /* any keys, values of one schema; no declared fields */
    SCHEMA_FIELDS_V1, /* owned fields; protobuf {1 raw JSON} */
    SCHEMA_RAW,       /* any JSON object or value kept whole; protobuf {1 raw JSON} */
    SCHEMA_N_TYPES
};

/* How server-side apply sees a list. Unset and atomic differ in OpenAPI only. */
enum list_type {
    LIST_UNSET,
    LIST_ATOMIC,
    LIST_SET,
    LIST_MAP, /* by schema->keys */
};

/* How server-side apply sees an object or map. Unset and granular differ in OpenAPI only. */
enum map_type {
    MAP_UNSET,
    MAP_GRANULAR,
    MAP_ATOMIC,
};

/* How a strategic merge patch treats the value. */
enum merge_strategy {
    MERGE_DEFAULT, /* lists are replaced, objects and maps are merged */
    MERGE_MERGE,   /* lists are merged: by schema->merge_key, or as sets where it is empty */
    MERGE_REPLACE, /* objects and maps are replaced */
};

/* OpenAPI's additionalProperties. */
enum schema_additional {
    ADDITIONAL_UNSET,
    ADDITIONAL_SCHEMA, /* by schema->value; so for each SCHEMA_MAP */
    ADDITIONAL_TRUE,
    ADDITIONAL_FALSE,
};

/* An expression is compiled by whoever first needs it and kept in *slot: static memory for
 * built-in kinds, the compiled schema's own for others (which frees it). */
struct schema_pattern {
    struct str text;
    struct regex **slot;
};

/* An expression that does not compile matches nothing. */
bool schema_pattern_matches(const struct schema_pattern *p, struct str text);

/* x-kubernetes-validations, kept as text; cel/ compiles them into *slot. */
struct schema_cel_rule {
    struct str rule, message, message_expression;
    struct str reason;     /* "" means FieldValueInvalid */
    struct str field_path; /* relative, "" where absent */
    bool optional_old_self;
    bool message_set;
    void **slot;
};

/* Which limits of struct schema_rules hold. */
enum {
    RULE_MINIMUM = 1 << 0,
    RULE_MAXIMUM = 1 << 1,
    RULE_MULTIPLE_OF = 1 << 2,
    RULE_EXCLUSIVE_MINIMUM = 1 << 3,
    RULE_EXCLUSIVE_MAXIMUM = 1 << 4,
    RULE_MIN_LENGTH = 1 << 5, /* code points */
    RULE_MAX_LENGTH = 1 << 6,
    RULE_MIN_ITEMS = 1 << 7,
    RULE_MAX_ITEMS = 1 << 8,
    RULE_MIN_PROPERTIES = 1 << 9,
    RULE_MAX_PROPERTIES = 1 << 10,
    RULE_UNIQUE_ITEMS = 1 << 11,
    RULE_MAX_BYTES = 1 << 12, /* of a string; our own, for upstream's maxBytes */
};

/* Validation of one node. In native kinds an empty text or number in a field that is neither
 * FIELD_REQUIRED nor FIELD_POINTER counts as absent: enums and formats do not judge it, and its
 * default replaces it. */
struct schema_rules {
    uint32_t has;                              /* RULE_* */
    struct json minimum, maximum, multiple_of; /* numbers as written */
    int64_t min_length, max_length;            /* of a string, in code points */
    int64_t min_items, max_items;              /* of a list */
    int64_t min_properties, max_properties;    /* of an object or map */
    int64_t max_bytes;                         /* of a string */
    const struct schema_pattern *pattern;      /* or NULL */
    struct str format;                         /* OpenAPI's, or one of docs/kinds.md's */
    const struct json *enums;                  /* allowed values */
    size_t n_enums;                            /* 0: any */
    const struct str *required;                /* names that `fields` does not declare */
    size_t n_required;                         /*   (declared ones have FIELD_REQUIRED) */
    const struct schema *const *all_of, *const *any_of, *const *one_of;
    size_t n_all_of, n_any_of, n_one_of;
    const struct schema *not_; /* or NULL */
    const struct schema_cel_rule *cel;
    size_t n_cel;
    const struct str *exactly_one; /* fields of which just one must be set; */
    size_t n_exactly_one;          /*   our own, 0: no such rule */
};

enum {
    FIELD_REQUIRED = 1 << 0,  /* absent is an error; in native kinds also the empty value */
    FIELD_POINTER = 1 << 1,   /* absent and empty differ: a given empty value is kept */
    FIELD_ALWAYS = 1 << 2,    /* written even where absent: as zero, "", null or {} */
                              /* neither: an empty value is left out (Go's omitempty) */
    FIELD_FIXED = 1 << 3,     /* an update must not change it */
    FIELD_TYPE_META = 1 << 4, /* apiVersion or kind of a whole object */
    FIELD_FIXED_ONCE_SET = 1 << 5, /* may be set once, then neither changed nor taken out */
    FIELD_NEEDED = 1 << 7,         /* absent is an error where the whole is of a custom kind */
    FIELD_OUTPUT = 1 << 6,         /* written by the server only */
    FIELD_EXPECTED = 1 << 8,       /* as FIELD_REQUIRED, but in native kinds only */
};

struct schema_field {
    struct str name; /* in JSON */
    const struct schema *type;
    struct str doc;    /* one line, ours; a CRD's description */
    uint16_t flags;    /* FIELD_* */
    uint16_t proto;    /* protobuf number, 0: none */
    uint16_t proto_in; /* not 0: inside the message with this number, which JSON flattens;
                          inside a message in that one: outer << 8 | inner (then some field is
                          in the outer one alone) */
    uint16_t bit;      /* in the presence maps */
    uint32_t offset;   /* in the C struct; 0: no C view */
    const struct schema_gate *gate; /* or NULL; a field whose gate is off is dropped on input */
};

/* A feature that may be off; `on` is its state where nothing else is said. */
struct schema_gate {
    struct str name;
    bool on;
    uint16_t id; /* dense: index in schema_gates[] */
};

/* What is asked of all fields of an object at once: kindc makes it ahead, compiling at run
 * time. The sets are of the first SCHEMA_SET_FIELDS fields, a bit each. */
struct schema_index {
    uint64_t always;       /* is written even where absent */
    uint64_t defaulted;    /* has a default, or something in it has */
    uint64_t has_def;      /* has one itself, which it gets where it is absent */
    uint64_t judged;       /* where it is absent that may be wrong, or be judged as empty */
    uint64_t ruled;        /* a value may be wrong otherwise than by its type */
    uint64_t fixed;        /* an update may be wrong that takes it out */
    uint32_t mask;         /* slots - 1; at least every second one is empty */
    uint16_t n_defs;       /* how many of all fields have a default */
    const uint16_t *slots; /* 1 + a field, from its str_sketch() on; 0: none further */
};

#define SCHEMA_SET_FIELDS 64

/* Of which nothing is known: each field is in each set. */
extern const struct schema_index schema_no_index;

struct schema {
    uint8_t type;       /* enum schema_type */
    uint8_t list_type;  /* enum list_type */
    uint8_t map_type;   /* enum map_type; also of objects */
    uint8_t merge;      /* enum merge_strategy */
    uint8_t additional; /* enum schema_additional */
    bool nullable;
    bool preserve_unknown; /* what is not declared is kept */
    bool embedded;         /* a whole object: apiVersion, kind, metadata checked */
    bool retain_keys;  /* strategic merge: this object's $retainKeys (list items: each one's) */
    bool proto_items;  /* in protobuf a message {1 items}: a list that is a map's value */
    bool rules_native; /* the rules hold under native kinds only: this type is of a native kind,
                        */
    bool def_native;   /*   and a CRD that embeds it knows neither; the same of the default */
    bool no_defaults;  /* nothing in the value has a default: it need not be looked through */
    bool no_rules;     /* nor has it a rule in native kinds, but for its type */
    bool skip_defaults; /* this object's own fields get no defaults here; deeper ones do */
    bool untyped;       /* a CRD's node without `type` (ANY, or OBJECT known by its fields) */

    uint16_t n_fields, n_keys;
    uint32_t size;                     /* of the C value, see above; 0: no C view */
    const struct schema_field *fields; /* in the order of writing */
    const struct schema_index *index;  /* NULL: they are looked at one by one */
    const struct schema *item;         /* of a list */
    const struct schema *value;        /* of a map: additionalProperties */
    const struct str *keys;            /* of LIST_MAP */
    struct str merge_key;              /* of strategic merge; "" where there is none */
    const struct json *def;            /* the default, or NULL */
    const struct schema_rules *rules;  /* or NULL */
    struct str name;          /* of a struct type, as upstream spells it: "JobSpec"; else "" */
    struct str group_version; /* where the struct type is declared: "batch/v1" */
    struct str doc;           /* of the type */
    schema_check_fn *check;   /* for rules that a line cannot say, or NULL */
    schema_defaults_fn *defaults; /* for defaults that depend on other fields, or NULL; runs
                                     before those of the lines */
};

#define MAP_VALUE_AT sizeof(struct str) /* the value's offset in a map's entry */

/* The declared field of that name, or NULL. */
const struct schema_field *schema_field(const struct schema *s, struct str name);
/* That of a member: quick where it knows its place. */
static inline const struct schema_field *schema_field_of(const struct schema *s,
                                                         const struct json_member *m)
{
    size_t i = m->value.place - (size_t)1;

    if (i < s->n_fields && s->fields[i].name.len == m->name.len &&
        bytes_eq(s->fields[i].name.at, m->name.at, m->name.len))
        return &s->fields[i];
    return schema_field(s, m->name);
}
/* Its sets of fields. */
static inline const struct schema_index *schema_sets(const struct schema *s)
{
    return s->index ? s->index : &schema_no_index;
}
/* Takes the first field from one of the index's sets; those past SCHEMA_SET_FIELDS, which
 * cannot be in one, follow. */
static inline size_t schema_take(uint64_t *set, size_t last)
{
    if (!*set)
        return last < SCHEMA_SET_FIELDS ? SCHEMA_SET_FIELDS : last + 1;
    last = (size_t)__builtin_ctzll(*set);
    *set &= *set - 1;
    return last;
}
#define schema_each_in(i, s, set)                                                              \
    for (uint64_t left_ = (set), i = schema_take(&left_, 0); i < (s)->n_fields;                \
         i = schema_take(&left_, i))

/* The values of an object by the field. */
struct schema_values {
    uint64_t given;           /* which of the first SCHEMA_SET_FIELDS have one */
    const struct json **more; /* of all, where there are more fields; NULL: it has none */
    const struct json *at[SCHEMA_SET_FIELDS]; /* of those that have one */
};
void schema_values(struct schema_values *out, struct arena *a, const struct schema *s,
                   const struct json *v);
/* But of the first SCHEMA_SET_FIELDS those in the set alone. */
void schema_values_in(struct schema_values *out, struct arena *a, const struct schema *s,
                      const struct json *v, uint64_t wanted);
/* That of a field, or NULL. */
static inline const struct json *schema_value(const struct schema_values *x, size_t i)
{
    if (i < SCHEMA_SET_FIELDS)
        return x->given >> i & 1 ? x->at[i] : NULL;
    return x->more[i];
}
/* What stands under that name: the field's node, the map's value node, or NULL. */
const struct schema *schema_member(const struct schema *s, struct str name);

/* ---- kinds ---- */

struct kind_column {
    struct str name, type, format; /* type: string integer number boolean date */
    struct str path;               /* JSONPath, ".status.succeeded"; "" where `cell` is used */
    struct str cell;               /* or the name of a function of api/ that computes it */
    struct str doc;
    int priority; /* 0: always shown, 1: -o wide only */
};

/* A part of an object's URL beside status and scale. */
struct kind_subresource {
    struct str name;                 /* "eviction" */
    struct str group, version, kind; /* of the body; kind "" where it is no object */
    const struct str *verbs;
    size_t n_verbs;
};

struct kind_scale {
    struct str spec_path, status_path, selector_path; /* selector_path may be "" */
};

enum kind_style {
    KIND_NATIVE, /* strategic merge, protobuf, upstream's built-in error forms */
    KIND_CUSTOM, /* as upstream serves CRDs */
};

struct kind {
    struct str group, version, kind; /* group "" is the core group */
    struct str api_version;          /* "batch/v1", "v1" */
    struct str list_kind, plural, singular;
    const struct str *short_names, *categories;
    uint16_t n_short_names, n_categories;
    int16_t id;    /* enum kind_id of a built-in kind; -1: made at run time */
    uint8_t style; /* enum kind_style */
    bool namespaced;
    bool status;     /* has the status subresource */
    bool stored;     /* false: answered and forgotten, such as SubjectAccessReview */
    bool generation; /* metadata.generation counts changes of the spec */
    bool served; /* false: a body only, without a URL of its own (DeleteOptions, Eviction) */
    const struct kind_scale *scale; /* or NULL */
    const struct kind_subresource *subresources;
    const struct str *verbs; /* of the kind itself */
    uint16_t n_subresources, n_verbs;
    uint16_t n_columns, n_selectable;
    const struct kind_column *columns; /* all of them, Name too */
    const struct str *selectable; /* field selectors beside metadata.name, metadata.namespace */
    const struct schema *schema; /* of the whole object; its fields are apiVersion, kind, ... */
    const struct kind *storage;  /* as which it is stored: itself, or another version */
    struct str convert;          /* "": by apiVersion alone; else a pair of functions of api/ */
    schema_check_fn *check;      /* for rules that a line cannot say, or NULL */
    struct str warning;          /* told to whoever writes one, or "" */
    struct str doc;
};
