/* protobuf.c - from wire bytes to a tree, along the table
 *
 * One pass over a message collects, for each field of the schema, its values in order; then the
 * object is put together in the order of the table.
 */
#include "schema/protobuf.h"

#include "base/base64.h"
#include "schema/table.h"
#include "value/time.h"

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_START, WIRE_END, WIRE_32 };

/* One field of a message as it stood on the wire. */
struct token {
    uint32_t number;
    enum wire wire;
    uint64_t value;   /* varint, fixed */
    struct str bytes; /* WIRE_BYTES */
};

struct walk {
    struct arena *a;
    struct err *err;
    int depth;
    size_t n_items;
};

static int bad(struct walk *w, const char *what)
{
    return err_set(w->err, ERR_SYNTAX, "protobuf body cannot be read: %s", what);
}

static bool take_varint(struct str *in, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < in->len && i < 10; i++) {
        uint8_t byte = (uint8_t)in->at[i];
        v |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (!(byte & 0x80)) {
            *out = v;
            *in = str_slice(*in, i + 1, in->len);
            return true;
        }
    }
    return false;
}

static bool take_fixed(struct str *in, size_t n, uint64_t *out)
{
    if (in->len < n)
        return false;
    *out = 0;
    memcpy(out, in->at, n); /* little endian, as we are */
    *in = str_slice(*in, n, in->len);
    return true;
}

static bool take_token(struct str *in, struct token *out)
{
    uint64_t key, len;

    if (!take_varint(in, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return false;
    *out = (struct token){.number = (uint32_t)(key >> 3), .wire = (enum wire)(key & 7)};
    switch (out->wire) {
    case WIRE_VARINT:
        return take_varint(in, &out->value);
    case WIRE_64:
        return take_fixed(in, 8, &out->value);
    case WIRE_32:
        return take_fixed(in, 4, &out->value);
    case WIRE_BYTES:
        if (!take_varint(in, &len) || len > in->len)
            return false;
        out->bytes = str_slice(*in, 0, len);
        *in = str_slice(*in, len, in->len);
        return true;
    default:
        return false; /* groups are not used */
    }
}

bool protobuf_is(struct str body)
{
    return str_starts(body, S("k8s\0"));
}

static int read_type_meta(struct walk *w, struct str in, struct protobuf_envelope *out)
{
    struct token t;

    while (in.len) {
        if (!take_token(&in, &t))
            return bad(w, "its type");
        if (t.number == 1)
            out->api_version = t.bytes;
        if (t.number == 2)
            out->kind = t.bytes;
    }
    return 0;
}

int protobuf_open(struct str body, struct protobuf_envelope *out, struct err *err)
{
    struct walk w = {.err = err};
    struct str in = str_slice(body, 4, body.len);
    struct token t;

    *out = (struct protobuf_envelope){0};
    if (!protobuf_is(body))
        return bad(&w, "it does not begin with the bytes k8s\\0");
    while (in.len) {
        if (!take_token(&in, &t))
            return bad(&w, "its envelope");
        if (t.number == 1 && read_type_meta(&w, t.bytes, out) < 0)
            return -1;
        if (t.number == 2)
            out->raw = t.bytes;
        if (t.number == 4)
            out->content_type = t.bytes;
    }
    return 0;
}

/* ---- messages of a fixed form ---- */

/* The bytes field `number` of a small message; "" where there is none. */
static struct str inner_bytes(struct str in, uint32_t number)
{
    struct token t;
    struct str found = {0};

    while (in.len && take_token(&in, &t))
        if (t.number == number && t.wire == WIRE_BYTES)
            found = t.bytes;
    return found;
}

static int64_t inner_int(struct str in, uint32_t number)
{
    struct token t;
    int64_t found = 0;

    while (in.len && take_token(&in, &t))
        if (t.number == number && t.wire == WIRE_VARINT)
            found = (int64_t)t.value;
    return found;
}

static struct json time_value(struct walk *w, const struct schema *s, struct str in)
{
    int64_t seconds = inner_int(in, 1), ns;

    if (in.len == 0 || __builtin_mul_overflow(seconds, SECOND_NS, &ns) ||
        __builtin_add_overflow(ns, inner_int(in, 2), &ns))
        return json_of_null();
    struct instant t = {ns};
    return json_of_str(s->type == SCHEMA_MICRO_TIME ? time_text_micro(w->a, t)
                                                    : time_text(w->a, t));
}

static const struct json *value_of(struct walk *w, const struct schema *s,
                                   const struct token *t);
static const struct json *message(struct walk *w, const struct schema *s, struct str in);

static const struct json *raw_value(struct walk *w, struct str in)
{
    struct str text = inner_bytes(in, 1);

    return text.len ? json_parse(w->a, text, NULL, w->err) : json_new(w->a, json_of_null());
}

static struct json int_or_string(struct str in)
{
    return inner_int(in, 1) ? json_of_str(inner_bytes(in, 3)) : json_of_i64(inner_int(in, 2));
}

static struct json text_of(struct str s)
{
    return json_of_str(s.at ? s : S(""));
}

static const struct json *bytes_value(struct walk *w, struct str bytes)
{
    struct buf b = buf_in(w->a, bytes.len / 3 * 4 + 8);

    base64_encode(&b, bytes);
    return json_new(w->a, text_of(buf_str(&b)));
}

/* Entries {1 key, 2 value}; the list's values stand in a wrapper {1 items}. */
static const struct json *items_wrapper(struct walk *w, const struct schema *s, struct str in)
{
    struct json_arr out = arr_in(w->a);
    struct token t;

    while (in.len) {
        if (!take_token(&in, &t) || ++w->n_items > PROTOBUF_MAX_ITEMS)
            return bad(w, "a list of lists"), NULL;
        const struct json *v = t.number == 1 ? value_of(w, s->item, &t) : NULL;
        if (t.number == 1 && !v)
            return NULL;
        if (v)
            arr_add(&out, *v);
    }
    return json_new(w->a, arr_done(&out));
}

static double double_of(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* One value; lists are put together by their message. */
static const struct json *value_of(struct walk *w, const struct schema *s,
                                   const struct token *t)
{
    struct json v;
    bool wants_bytes = s->type >= SCHEMA_STRING || s->type == SCHEMA_ANY;

    if (wants_bytes != (t->wire == WIRE_BYTES))
        return bad(w, "a value has another wire type than its field"), NULL;
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        v = json_of_bool(t->value != 0);
        break;
    case SCHEMA_INT32:
        v = json_of_i64((int32_t)t->value);
        break;
    case SCHEMA_INT64:
        v = json_of_i64((int64_t)t->value);
        break;
    case SCHEMA_DOUBLE:
        v = json_of_f64(double_of(t->value));
        break;
    case SCHEMA_STRING:
        if (!str_is_utf8(t->bytes))
            return bad(w, "a string is not UTF-8"), NULL;
        v = text_of(t->bytes);
        break;
    case SCHEMA_BYTES:
        return bytes_value(w, t->bytes);
    case SCHEMA_QUANTITY:
        v = text_of(inner_bytes(t->bytes, 1));
        break;
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        v = time_value(w, s, t->bytes);
        break;
    case SCHEMA_DURATION:
        v = json_of_str(span_text(w->a, (struct span){inner_int(t->bytes, 1)}));
        break;
    case SCHEMA_INT_OR_STRING:
        v = int_or_string(t->bytes);
        if (!str_is_utf8(json_str(&v)))
            return bad(w, "a string is not UTF-8"), NULL;
        break;
    case SCHEMA_OBJECT:
        return message(w, s, t->bytes);
    case SCHEMA_LIST:
        return items_wrapper(w, s, t->bytes);
    default:
        return raw_value(w, t->bytes);
    }
    return json_new(w->a, v);
}

/* ---- messages by the table ---- */

struct collected {
    const struct json *one;  /* of a field that is no list or map */
    struct json_arr items;   /* of a list */
    struct json_obj entries; /* of a map */
    bool is_there;
};

static int add_entry(struct walk *w, const struct schema *value, struct str in,
                     struct json_obj *out)
{
    struct token t, last = {.number = 0};
    struct str key = S("");

    while (in.len) {
        if (!take_token(&in, &t))
            return bad(w, "an entry of a map");
        if (t.number == 1)
            key = t.bytes;
        if (t.number == 2)
            last = t;
    }
    if (last.number == 0)
        last = (struct token){.number = 2,
                              .wire = value->type >= SCHEMA_STRING ? WIRE_BYTES : WIRE_VARINT};
    if (!str_is_utf8(key))
        return bad(w, "a key of a map is not UTF-8");
    const struct json *v = value_of(w, value, &last);
    if (!v)
        return -1;
    obj_set(out, key, *v);
    return 0;
}

/* Repeated numbers may be packed into one run of bytes. */
static int add_packed(struct walk *w, const struct schema *item, struct str in,
                      struct json_arr *out)
{
    struct token t = {.wire = WIRE_VARINT};

    while (in.len) {
        if (!(item->type == SCHEMA_DOUBLE ? take_fixed(&in, 8, &t.value)
                                          : take_varint(&in, &t.value)))
            return bad(w, "a packed list");
        if (++w->n_items > PROTOBUF_MAX_ITEMS)
            return err_set(w->err, ERR_LIMIT, "protobuf body has over %d list items",
                           PROTOBUF_MAX_ITEMS);
        const struct json *v = value_of(w, item, &t);
        if (!v)
            return -1;
        arr_add(out, *v);
    }
    return 0;
}

static int collect(struct walk *w, const struct schema *s, const struct token *t,
                   struct collected *c)
{
    if (!c->is_there) {
        c->items = arr_in(w->a);
        c->entries = obj_in(w->a);
    }
    c->is_there = true;
    if (++w->n_items > PROTOBUF_MAX_ITEMS)
        return err_set(w->err, ERR_LIMIT, "protobuf body has over %d list items",
                       PROTOBUF_MAX_ITEMS);
    if (s->type == SCHEMA_MAP)
        return add_entry(w, s->value, t->bytes, &c->entries);
    if (s->type != SCHEMA_LIST) {
        c->one = value_of(w, s, t);
        return c->one ? 0 : -1;
    }
    if (t->wire == WIRE_BYTES && s->item->type < SCHEMA_STRING && s->item->type != SCHEMA_ANY)
        return add_packed(w, s->item, t->bytes, &c->items);
    const struct json *v = value_of(w, s->item, t);
    if (!v)
        return -1;
    arr_add(&c->items, *v);
    return 0;
}

/* The wire fields of one message, or of one that JSON flattens (`inside`: its place there, as
 * schema_field.proto_in has it). */
static int collect_all(struct walk *w, const struct schema *s, struct str in, uint32_t inside,
                       struct collected *all)
{
    struct token t;

    while (in.len) {
        if (!take_token(&in, &t))
            return bad(w, "a message ends in the middle of a field");
        for (size_t i = 0; i < s->n_fields; i++) {
            const struct schema_field *f = &s->fields[i];
            if (f->proto_in != inside && f->proto_in == (inside << 8 | t.number) &&
                t.wire == WIRE_BYTES) {
                if (collect_all(w, s, t.bytes, f->proto_in, all) < 0)
                    return -1;
                break;
            }
            if (f->proto_in == inside && f->proto == t.number) {
                if (collect(w, f->type, &t, &all[i]) < 0)
                    return -1;
                break;
            }
        }
    }
    return 0;
}

static bool is_zero(const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_INT:
        return v->i == 0;
    case JSON_DOUBLE:
        return v->d == 0;
    case JSON_STRING:
        return v->len == 0;
    default:
        return false;
    }
}

static const struct json *message(struct walk *w, const struct schema *s, struct str in)
{
    struct json_obj out = obj_in(w->a);

    if (++w->depth > PROTOBUF_MAX_DEPTH) {
        err_set(w->err, ERR_LIMIT, "protobuf messages are nested over %d deep",
                PROTOBUF_MAX_DEPTH);
        return NULL;
    }
    struct collected *all = arena_array(w->a, struct collected, s->n_fields + 1u);
    if (collect_all(w, s, in, 0, all) < 0)
        return NULL;
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        struct json v;
        if (!all[i].is_there)
            continue;
        if (f->type->type == SCHEMA_LIST)
            v = arr_done(&all[i].items);
        else if (f->type->type == SCHEMA_MAP)
            v = obj_done(&all[i].entries);
        else
            v = *all[i].one;
        if (!(f->flags & (FIELD_POINTER | FIELD_ALWAYS)) && is_zero(&v))
            continue; /* a plain field is always written; zero says nothing */
        obj_add(&out, f->name, v);
    }
    w->depth--;
    return json_new(w->a, obj_done(&out));
}

const struct json *protobuf_decode(struct arena *a, const struct schema *s, struct str raw,
                                   struct err *err)
{
    struct walk w = {.a = a, .err = err};

    return message(&w, s, raw);
}
