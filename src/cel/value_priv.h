/* value_priv.h - parts of values that the libraries share */
#pragma once

#include "cel/cel.h"
#include "value/time.h"

#define CEL_SHOW_DEPTH 50

bool text_is_ascii(struct str s);
uint64_t string_size(struct cel_value v);
struct cel_value value_entry(struct arena *a, struct cel_value map, uint32_t i);
struct cel_value unknown_merge(struct arena *a, struct cel_value x, struct cel_value y);
static inline bool value_is_number(struct cel_value v)
{
    return v.kind >= CEL_INT && v.kind <= CEL_DOUBLE;
}

/* A map under construction: entries in their order, found by key. */
struct map_maker {
    struct arena *arena;
    struct cel_entry *entries;
    uint32_t n, cap;
    uint32_t *index, mask; /* as of struct cel_map */
    bool is_across;        /* numbers of all kinds are one key */
};
struct map_maker map_maker_in(struct arena *a, bool is_across, uint32_t cap);
/* The entry with the key; n: there is none. */
uint32_t map_maker_find(const struct map_maker *m, struct cel_value key);
/* The key is known to be new. */
void map_maker_add(struct map_maker *m, struct cel_value key, struct cel_value value);
void map_maker_del(struct map_maker *m, uint32_t i);
struct cel_value map_maker_done(const struct map_maker *m);

/* ---- text.c ---- */

/* As string() of a double prints it: shortest, exponent from 1e6 and below 1e-4. */
struct str text_double(struct arena *a, double d);
/* Shortest digits that read back, never with an exponent. */
struct str text_double_fixed(struct arena *a, double d);
struct str text_base64(struct arena *a, struct str bytes);
/* string(v) of times and opaque values. */
struct str text_plain(struct arena *a, struct cel_value v);
void show_opaque(struct arena *a, struct buf *b, struct cel_value v);
void format_show(struct buf *b, struct cel_value format);
/* Appends the escape that c has by name; false: it has none. */
bool text_escape(struct buf *out, char c);
void text_quote(struct buf *out, struct str s);
void text_quote_bytes(struct buf *out, struct str s);

/* ---- stamp.c ---- */

#define STAMP_MIN INT64_C(-62135596800) /* seconds */
#define STAMP_MAX INT64_C(253402300799)
/* RFC 3339; false where it is none; CEL_E_TIME_OVERFLOW outside the years 1 to 9999. */
struct cel_value stamp_read(struct str text);
struct str stamp_text(struct arena *a, struct cel_value t);
bool duration_read(struct str text, int64_t *out);
struct str duration_text(struct arena *a, int64_t ns);
/* Its calendar `offset` seconds east of UTC. */
struct time_civil stamp_civil(struct cel_value t, int64_t offset);
/* Seconds east of UTC at the moment in a zone ("America/New_York", "-08:00", "UTC"), or an
 * error. */
struct cel_value zone_offset(struct arena *a, struct str zone, struct cel_value t);

/* ---- opaque.c ---- */

struct cel_url {
    struct str text, scheme, host, hostname, port, path;
    struct cel_value query; /* a map */
};
bool opaque_equal(struct cel_value x, struct cel_value y);
uint64_t format_regex_size(struct cel_value format);
bool ip_is_v4(const struct ip *ip);
int cidr_bits(const struct cidr *c);

/* ---- message.c ---- */

const struct cel_type *message_type(struct cel_value v);
bool message_equal(struct arena *a, struct cel_value x, struct cel_value y);
bool message_to_json(struct arena *a, struct cel_value v, struct json *out);
void message_show(struct arena *a, struct buf *b, struct cel_value v);
/* A field by name: its value or default; CEL_ABSENT: no such field. */
struct cel_value message_field(struct arena *a, struct cel_value v, struct str name);
bool message_has(struct cel_value v, struct str name, bool *is_field);
bool message_is_empty(struct cel_value v);
/* What T{…} makes where T names a type of values. */
const struct cel_type *message_literal_type(const struct cel_type *t);
/* T{…}: values by field, CEL_ABSENT where not given. */
struct cel_value message_make(struct arena *a, const struct cel_env *env,
                              const struct cel_type *t, const struct cel_value *values);
