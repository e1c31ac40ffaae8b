/* model.h - what a set of .kind files says, between parser and writers */
#pragma once

#include "base/base.h"

/* Types as schema/table.h numbers them; kindc stands below it, so the names are repeated here
 * and written as names. */
enum base_type {
    BASE_NAMED, /* a struct or a named type, until resolved */
    BASE_ANY,
    BASE_BOOL,
    BASE_INT32,
    BASE_INT64,
    BASE_DOUBLE,
    BASE_STRING,
    BASE_BYTES,
    BASE_QUANTITY,
    BASE_TIME,
    BASE_MICRO_TIME,
    BASE_DURATION,
    BASE_INT_OR_STRING,
    BASE_FIELDS_V1,
    BASE_RAW,
    BASE_OBJECT,
    BASE_LIST,
    BASE_MAP,
};

/* A default or an enumerated value: JSON with bare words. */
enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_OBJECT
};
struct value {
    enum value_type type;
    struct str text;   /* of texts and numbers; "true", "false" */
    struct str *names; /* of an object's members */
    struct value *items;
    size_t n;
};

enum attr_num {
    NUM_MIN,
    NUM_MAX,
    NUM_ABOVE,
    NUM_BELOW,
    NUM_MULTIPLE,
    NUM_MINLEN,
    NUM_MAXLEN,
    NUM_MINITEMS,
    NUM_MAXITEMS,
    NUM_MINPROPS,
    NUM_MAXPROPS,
    NUM_MAXBYTES,
    NUM_COUNT
};

enum attr_flag {
    FLAG_REQUIRED = 1 << 0,
    FLAG_ALWAYS = 1 << 1,
    FLAG_FIXED = 1 << 2,
    FLAG_ONCE = 1 << 3,
    FLAG_OUTPUT = 1 << 4,
    FLAG_NEEDED = 1 << 5,
    FLAG_POINTER = 1 << 6,
    FLAG_TYPE_META = 1 << 7,
    FLAG_SUBRESOURCE = 1 << 8,
    FLAG_EXPECTED = 1 << 23,
    /* of the node from here on */
    FLAG_NULLABLE = 1 << 9,
    FLAG_ATOMIC = 1 << 10,
    FLAG_GRANULAR = 1 << 11,
    FLAG_SET = 1 << 12,
    FLAG_MERGE_SET = 1 << 13,
    FLAG_REPLACE = 1 << 14,
    FLAG_RETAIN_KEYS = 1 << 15,
    FLAG_WRAPPED = 1 << 16,
    FLAG_PRESERVE = 1 << 17,
    FLAG_EMBEDDED = 1 << 18,
    FLAG_UNIQUE = 1 << 19,
    FLAG_BOTH = 1 << 20,   /* rules hold under custom kinds too */
    FLAG_MARKER = 1 << 21, /* so does the default */
    FLAG_SKIP_DEFAULTS = 1 << 22,
};
#define FLAGS_OF_FIELD (((1 << 9) - 1) | FLAG_EXPECTED)

struct cel_rule {
    struct str rule, message, message_expression, reason, field_path;
    bool optional_old, has_message;
};

struct attrs {
    uint32_t flags;
    uint32_t has_num; /* bits of enum attr_num */
    struct str num[NUM_COUNT];
    struct str pattern, format, gate, merge_key, check, defaults;
    struct value *def;
    VEC(struct str) keys, one_of;
    VEC(struct cel_rule) rules;
};

struct type {
    enum base_type base;
    struct str name; /* as written, of BASE_NAMED */
    struct struct_type *strukt;
    struct type *item; /* of a list, values of a map */
    VEC(struct value) enums;
    bool known; /* the enums are names for well-known values, not a rule */
    struct attrs attrs;
    int line;
};

struct field {
    struct str name, c_name, doc;
    struct type *type;
    int proto, proto_in;
    bool embed; /* replaced by the fields of its struct */
    int line;
};

struct kind_file;

struct struct_type {
    struct kind_file *file;
    struct str name, c_name, doc;
    VEC(struct field) fields;
    struct attrs attrs;
    bool in_list, in_map; /* somewhere */
    bool needs_defaults;  /* something in it has a default */
    bool needs_rules;     /* something in it may be wrong otherwise than by its type */
    bool expanded, expanding;
    int line;
};

struct named_type {
    struct str name, doc;
    struct type *type;
    bool resolving;
    int line;
};

struct column {
    struct str name, type, format, path, cell, doc;
    bool wide;
};

struct subresource {
    struct str name, group, version, kind;
    VEC(struct str) verbs;
};

struct kind_model {
    struct struct_type *root;
    struct str name, plural, singular, list_kind, stored_as, convert, warning;
    VEC(struct str) short_names, categories, verbs, selectable;
    VEC(struct column) columns;
    VEC(struct subresource) subresources;
    struct str scale[3];
    bool namespaced, cluster, unstored, hidden, no_meta, generation, status, has_scale, no_name;
    int line;
};

struct kind_file {
    struct str path, base; /* base: batch_v1 */
    struct str group, version, api_version, prefix;
    bool custom;
    VEC(struct kind_file *) uses;
    VEC(struct str) use_names;
    VEC(struct struct_type *) structs;
    VEC(struct named_type) types;
    VEC(struct kind_model) kinds;
};

struct gate {
    struct str name;
    bool on;
};

struct model {
    VEC(struct kind_file *) files;
    VEC(struct gate) gates;
};

/* Parses one file's text and adds it. ERR_SYNTAX with "FILE:LINE: what, and what to do". */
int kind_parse(struct arena *a, struct model *m, struct str path, struct str text,
               struct err *err);
/* Finds all names, copies embedded fields, checks what only the whole can tell. The same form
 * of errors. */
int model_resolve(struct arena *a, struct model *m, struct err *err);
/* Has the value, or anything in it, a default? Of a resolved model. */
bool type_needs_defaults(const struct type *t);
/* Can it be wrong, in a native kind, otherwise than by its type? Of a resolved model. */
bool type_needs_rules(const struct type *t);
bool attrs_have_rules(const struct attrs *at, size_t n_enums);

/* What a use of a type says on top of what the type says. */
void attrs_overlay(struct arena *a, struct attrs *to, const struct attrs *use);
/* Its index in m->gates, or -1. */
int gate_index(const struct model *m, struct str name);

/* podIPs -> pod_ips, HTTPGetAction -> http_get_action; words of C get a '_' at the end. */
struct str c_name(struct arena *a, struct str prefix, struct str name);
struct str c_upper(struct arena *a, struct str name);

/* The texts of api/BASE.h and api/BASE.c, and of api/kinds.h and api/kinds.c. */
void write_header(struct arena *a, const struct kind_file *f, struct buf *out);
void write_tables(struct arena *a, const struct model *m, const struct kind_file *f,
                  struct buf *out);
void write_kinds_header(struct arena *a, const struct model *m, struct buf *out);
void write_kinds(struct arena *a, const struct model *m, struct buf *out);
/* "text" as a C literal, without quotes around. */
void write_escaped(struct buf *out, struct str s);
