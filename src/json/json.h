/* json.h - JSON text and the immutable tree behind every object
 *
 * A tree is made in an arena and never changes: to change it is to build the next one from its
 * parts, which it may share. A node is 16 bytes and passed by value or by const pointer.
 * Strings are UTF-8 and not terminated. The order of members is kept. Numbers written as
 * integers that fit 64 bits (signed) stay integers exactly; all others are doubles.
 */
#pragma once

#include "base/base.h"

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_DOUBLE,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
    JSON_RAW, /* an object that is kept as its compact text: json_parse_raw() */
};

struct json_member;

struct json {
    uint8_t type;   /* enum json_type */
    uint8_t thawed; /* 0; while a patch works: log2 of the room in elements it owns */
    uint16_t place; /* 0, or of a member: 1 + which field of its kind it is; a hint, which
                       whoever uses it checks by the name */
    uint32_t len;   /* bytes of a string or a raw text, elements, members */
    union {
        bool boolean;
        int64_t i;
        double d;
        const char *s; /* of a string or a raw text */
        const struct json *items;
        const struct json_member *members;
    };
};

struct json_member {
    struct str name;
    struct json value;
};

#define JSON_MAX_DEPTH 512
#define JSON_MAX_TEXT ((size_t)64 << 20) /* bytes; callers set their own smaller limit */

/* What a text holds twice. The last one of duplicate keys wins, as in Go's decoder, in the
 * place of the first; their paths are told, once each, in the text's order: `a.b[3].c`, as
 * strict field validation prints them. The first hundred are kept. */
struct json_dups {
    VEC(struct str) paths; /* in the arena of the tree */
};

/* The tree of one text, which may be surrounded by white space. Invalid UTF-8 and lone
 * surrogates become U+FFFD, as in Go's decoder; a number past a double's range is refused.
 * Strings without escapes point into `text`, which must live as long as the tree (json_copy()
 * otherwise). NULL: ERR_SYNTAX with the offset, ERR_LIMIT past JSON_MAX_DEPTH or JSON_MAX_TEXT.
 * `dups` may be NULL. */
const struct json *json_parse(struct arena *a, struct str text, struct json_dups *dups,
                              struct err *err);
/* The same for a text that json_write() made, with the objects at a path of names (through the
 * items of lists on the way) left as their text, JSON_RAW. They are much of what is stored and
 * seldom looked into: a text is one node, copied and written at once. Comparing and writing
 * take it for the object that it is; to readers it has no members, until json_whole() reads it.
 */
struct json_raw_path {
    struct str names[4];
    size_t n;
};
const struct json *json_parse_raw(struct arena *a, struct str text,
                                  const struct json_raw_path *path, struct err *err);
/* The quote that ends the string whose text begins at `from`; NULL where it does not end. */
const char *json_string_end(const char *from, const char *end);
/* Bytes of the object that begins at `from` in such a text; 0 where it does not end. */
size_t json_object_len(const char *from, const char *end);
/* The tree with every raw text in it read; v itself where there is none. */
const struct json *json_whole(struct arena *a, const struct json *v);
/* The same for the first of several values one after the other; *text becomes what follows it
 * without leading white space. */
const struct json *json_parse_next(struct arena *a, struct str *text, struct json_dups *dups,
                                   struct err *err);
/* A deep copy, strings and names included (but names that are constants of the program). */
const struct json *json_copy(struct arena *a, const struct json *v);
/* The same in memory of the caller's: what values take apart from themselves, added up, is
 * measured first; then each is copied to the next bytes of one block of `nodes` and `texts`. */
struct json_room {
    size_t nodes, texts; /* bytes */
};
struct json_copier {
    char *node; /* aligned as struct json_member is */
    char *text;
};
void json_measure(struct json_room *room, const struct json *v);
struct json json_copy_to(struct json_copier *c, const struct json *v);
/* The same tree with every object's members in the order of their names (as Go writes maps).
 * Names and strings are shared with v. */
const struct json *json_sorted(struct arena *a, const struct json *v);

/* Compact text; members in their order. Doubles as Go prints them (shortest that reads back;
 * 'e' form below 1e-6 and from 1e21). Invalid UTF-8 becomes U+FFFD. '<', '>' and '&' are not
 * escaped. */
void json_write(struct buf *out, const struct json *v);
struct str json_text(struct arena *a, const struct json *v);
/* json_write() and json_measure() on one way. */
void json_write_measured(struct buf *out, struct json_room *room, const struct json *v);
/* Indented by two spaces a level, or as many as told. */
void json_write_pretty(struct buf *out, const struct json *v);
void json_write_indented(struct buf *out, const struct json *v, int spaces);
/* One quoted string; one double (null where it is no number that JSON can show). */
void json_write_str(struct buf *out, struct str s);
void json_write_f64(struct buf *out, double d);
/* The shortest decimal digits that read back as |d| (finite): d.ddd times ten to *exponent. The
 * number of digits; they are not terminated. */
size_t json_f64_digits(double d, char digits[18], int *exponent);

/* ---- reading; every reader accepts NULL as "not there" ---- */

/* The member, or NULL: also where v is no object. */
const struct json *json_get(const struct json *v, struct str name);
#define json_getz(v, name) json_get((v), S(name))
/* The same, quick where the member is the one at the index. */
const struct json *json_get_near(const struct json *v, struct str name, size_t at);
/* Along names: json_path(v, "spec", "template", NULL). */
#define json_path(v, ...)                                                                      \
    JSON_PATH_(__VA_ARGS__, JSON_PATH6, JSON_PATH5, JSON_PATH4, JSON_PATH3, JSON_PATH2,        \
               JSON_PATH1, none)                                                               \
    ((v), __VA_ARGS__)
const struct json *json_at(const struct json *v, size_t i); /* of an array */

static inline bool json_is(const struct json *v, enum json_type type)
{
    return v && v->type == type;
}
/* Neither absent nor null. */
static inline bool json_has(const struct json *v)
{
    return v && v->type != JSON_NULL;
}
/* The value, or the default where it is absent or of another type. json_i64() takes a double
 * that is a whole number, too; json_f64() takes an integer. */
struct str json_str(const struct json *v); /* "" by default */
int64_t json_i64(const struct json *v, int64_t otherwise);
double json_f64(const struct json *v, double otherwise);
bool json_bool(const struct json *v, bool otherwise);
/* Elements of an array or members of an object; 0 for others. */
size_t json_len(const struct json *v);
/* How many values it is made of, itself among them; and the bytes of its compact text, escapes
 * not counted and numbers as eight. Counting ends once it is past `most`. */
size_t json_count(const struct json *v, size_t most);
size_t json_size(const struct json *v, size_t most);

/* What json_path() is, so that the lengths of names are known when it is compiled. */
#define JSON_PATH_(a, b, c, d, e, f, end, path, ...) path
#define JSON_PATH1(v, a, end) json_get(v, str_from(a))
#define JSON_PATH2(v, a, ...) JSON_PATH1(JSON_PATH1(v, a, NULL), __VA_ARGS__)
#define JSON_PATH3(v, a, ...) JSON_PATH2(JSON_PATH1(v, a, NULL), __VA_ARGS__)
#define JSON_PATH4(v, a, ...) JSON_PATH3(JSON_PATH1(v, a, NULL), __VA_ARGS__)
#define JSON_PATH5(v, a, ...) JSON_PATH4(JSON_PATH1(v, a, NULL), __VA_ARGS__)
#define JSON_PATH6(v, a, ...) JSON_PATH5(JSON_PATH1(v, a, NULL), __VA_ARGS__)

/* One node in memory: what v shares with the tree it was made from. False says nothing: look at
 * json_eq(). */
static inline bool json_is_shared(const struct json *a, const struct json *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type || a->len != b->len)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return a->items == b->items;
    case JSON_STRING:
    case JSON_RAW:
        return a->s == b->s;
    default:
        return false;
    }
}

/* json_each(i, v): the indexes of an array; json_each_member(m, v): the members of an object.
 * Nothing for NULL and other types. */
#define json_each(i, v) for (size_t i = 0; json_is((v), JSON_ARRAY) && i < (v)->len; i++)
#define json_each_member(m, v)                                                                 \
    for (const struct json_member *m = json_is((v), JSON_OBJECT) ? (v)->members : NULL;        \
         m && m < (v)->members + (v)->len; m++)

/* Deep equality. Members compare without order; 1 and 1.0 are the same number. */
bool json_eq(const struct json *a, const struct json *b);
/* A total order on values: by type, then by value; objects by sorted names. */
int json_cmp(const struct json *a, const struct json *b);

/* ---- building ---- */

static inline struct json json_of_null(void)
{
    return (struct json){.type = JSON_NULL};
}
static inline struct json json_of_bool(bool b)
{
    return (struct json){.type = JSON_BOOL, .boolean = b};
}
static inline struct json json_of_i64(int64_t i)
{
    return (struct json){.type = JSON_INT, .i = i};
}
static inline struct json json_of_f64(double d)
{
    return (struct json){.type = JSON_DOUBLE, .d = d};
}
/* The bytes are borrowed. */
static inline struct json json_of_str(struct str s)
{
    return (struct json){.type = JSON_STRING, .len = (uint32_t)s.len, .s = s.at};
}
/* Compact text of an object, as json_write() gives it; borrowed. */
static inline struct json json_of_raw(struct str text)
{
    return (struct json){.type = JSON_RAW, .len = (uint32_t)text.len, .s = text.at};
}
#define json_of_z(literal) json_of_str(S(literal))

/* An index of the names of an object's members, in an arena. The zero value is empty. */
struct json_names {
    uint32_t *slots;     /* index + 1 of a member; 0 is empty */
    uint32_t n_slots, n; /* n members are in it */
};
/* The member's index, or STR_NONE. Looks one by one where they are few; else the index learns
 * first what it lacks of members[0, n). Members must not move or go while it is used. */
size_t json_names_find(struct arena *a, struct json_names *names,
                       const struct json_member *members, size_t n, struct str name);

/* The member of that name in an object that does not change while `names` is used, or NULL: for
 * those who ask a large one for many names. */
const struct json *json_find(struct arena *a, struct json_names *names, const struct json *v,
                             struct str name);

/* Values, each once; equal as json_eq() says, NULL among them. They are borrowed. Zero but for
 * the arena is empty. */
struct json_set_value {
    const struct json *v;
    uint64_t hash; /* 0: not asked for so far */
};
struct json_set {
    struct arena *arena;
    VEC(struct json_set_value) values;
    uint32_t *slots; /* index + 1 of a value; 0 is empty */
    uint32_t n_slots;
};
bool json_set_has(const struct json_set *s, const struct json *v);
/* True where an equal one was in it before. */
bool json_set_put(struct json_set *s, const struct json *v);

/* Objects and arrays under construction. Names and values are borrowed; obj_set() replaces a
 * member in its place. obj_done() gives the finished value and may be called once. */
struct json_obj {
    struct arena *arena;
    VEC(struct json_member) members;
    struct json_names names; /* of the members, once they are many */
};
struct json_arr {
    struct arena *arena;
    VEC(struct json) items;
};
struct json_obj obj_in(struct arena *a);
struct json_obj obj_from(struct arena *a, const struct json *v); /* starts with v's members */
void obj_set(struct json_obj *o, struct str name, struct json v);
void obj_add(struct json_obj *o, struct str name, struct json v); /* name is known to be new */
void obj_del(struct json_obj *o, struct str name);
const struct json *obj_get(struct json_obj *o, struct str name); /* until the next change */
#define obj_setz(o, name, v) obj_set((o), S(name), (v))
struct json obj_done(struct json_obj *o);
struct json_arr arr_in(struct arena *a);
void arr_add(struct json_arr *arr, struct json v);
struct json arr_done(struct json_arr *arr);

/* A node in the arena. */
const struct json *json_new(struct arena *a, struct json v);
/* v with the member at the path of names set (objects are made where missing or not objects) or
 * taken out. What the path does not touch is shared. The last argument is NULL:
 *     v = json_with(a, v, json_of_i64(3), "spec", "parallelism", NULL); */
const struct json *json_with(struct arena *a, const struct json *v, struct json x, ...)
    __attribute__((sentinel));
const struct json *json_without(struct arena *a, const struct json *v, ...)
    __attribute__((sentinel));
/* v with one member as `from` has it: taken over, or taken out where `from` has none. */
const struct json *json_with_as(struct arena *a, const struct json *v, const struct json *from,
                                struct str name);

/* ---- JSON pointer (RFC 6901) ---- */

/* The value at "/a/b~1c/0", or NULL. */
const struct json *json_pointer(const struct json *v, struct str pointer);
/* One token of a pointer with "~0" and "~1" undone; itself where it has none. */
struct str json_pointer_unescape(struct arena *a, struct str token);
/* A token as an array's index: digits without a leading zero. */
bool json_pointer_index(struct str token, size_t *out);
