/* conform.c - dropping, checking and spelling a tree as its kind asks
 *
 * One walk. A frame of the path lives on the stack for each level; texts are made only when
 * there is something to report.
 */
#include "schema/conform.h"

#include "base/base64.h"
#include "schema/table.h"
#include "value/field_error.h"
#include "value/quantity.h"
#include "value/time.h"

struct walk {
    struct arena *a;
    struct schema_unknown *unknown;
    struct err *err;
    const struct schema *owner; /* the innermost struct, for the words of type errors */
    int depth;
};

/* ---- findings ---- */

static void report_unknown(struct walk *w, const struct field_path *p)
{
    struct schema_unknown *u = w->unknown;

    if (!u || u->paths.len >= CONFORM_MAX_FINDINGS)
        return;
    struct buf b = buf_in(u->arena, 64);
    struct str text = field_path_text(u->arena, p);
    for (size_t i = 0; i < text.len; i++) /* map keys stand as names here: a.b, not a[b] */
        buf_byte(&b, text.at[i]);
    vec_each (i, &u->paths)
        if (str_eq(u->paths.at[i], buf_str(&b)))
            return;
    vec_push_in(u->arena, &u->paths, buf_str(&b));
}

static const char *json_word(struct arena *a, const struct json *v)
{
    switch (v->type) {
    case JSON_BOOL:
        return "bool";
    case JSON_INT:
        return "number";
    case JSON_DOUBLE:
        return str_z(a, str_printf(a, "number %.*s", STR_ARG(json_text(a, v))));
    case JSON_STRING:
        return "string";
    case JSON_ARRAY:
        return "array";
    case JSON_OBJECT:
        return "object";
    default:
        return "null";
    }
}

/* The type as Go spells it. */
static struct str go_type(struct arena *a, const struct schema *s)
{
    static const char *const words[SCHEMA_N_TYPES] = {
        [SCHEMA_ANY] = "interface {}",      [SCHEMA_BOOL] = "bool",
        [SCHEMA_INT32] = "int32",           [SCHEMA_INT64] = "int64",
        [SCHEMA_DOUBLE] = "float64",        [SCHEMA_STRING] = "string",
        [SCHEMA_BYTES] = "[]uint8",         [SCHEMA_QUANTITY] = "resource.Quantity",
        [SCHEMA_TIME] = "string",           [SCHEMA_MICRO_TIME] = "string",
        [SCHEMA_DURATION] = "string",       [SCHEMA_INT_OR_STRING] = "intstr.IntOrString",
        [SCHEMA_FIELDS_V1] = "v1.FieldsV1", [SCHEMA_RAW] = "runtime.RawExtension",
    };

    if (s->type == SCHEMA_LIST)
        return str_printf(a, "[]%.*s", STR_ARG(go_type(a, s->item)));
    if (s->type == SCHEMA_MAP)
        return str_printf(a, "map[string]%.*s", STR_ARG(go_type(a, s->value)));
    if (s->type == SCHEMA_OBJECT)
        return str_printf(a, "v1.%.*s", STR_ARG(s->name));
    return str_from(words[s->type]);
}

static const struct json *wrong_type(struct walk *w, const struct schema *s,
                                     const struct json *v, const struct field_path *p)
{
    struct buf names = buf_in(w->a, 64);
    struct str path = p ? field_path_text(w->a, p) : S("");

    for (size_t i = 0; i < path.len; i++) { /* without indexes and keys */
        if (path.at[i] == '[')
            while (i < path.len && path.at[i] != ']')
                i++;
        else
            buf_byte(&names, path.at[i]);
    }
    err_set(w->err, ERR_SYNTAX,
            "json: cannot unmarshal %s into Go struct field %.*s.%.*s of type %.*s",
            json_word(w->a, v), STR_ARG(w->owner ? w->owner->name : S("")),
            STR_ARG(buf_str(&names)), STR_ARG(go_type(w->a, s)));
    return NULL;
}

/* ---- one value ---- */

static const struct json *conform(struct walk *w, const struct schema *s, const struct json *v,
                                  const struct json *known, const struct field_path *p);

/* v itself where its text is the canonical one already. */
static const struct json *with_text(struct walk *w, const struct json *v, struct str text)
{
    if (v->type == JSON_STRING && str_eq(text, json_str(v)))
        return v;
    return json_new(w->a, json_of_str(text));
}

not_inline static const struct json *conform_time(struct walk *w, const struct schema *s,
                                                  const struct json *v,
                                                  const struct field_path *p)
{
    bool is_micro = s->type == SCHEMA_MICRO_TIME;
    struct instant t;

    if (v->type != JSON_STRING)
        return wrong_type(w, s, v, p);
    if (v->len == 0)
        return json_new(w->a, json_of_null());
    if (time_is_canonical(json_str(v), is_micro))
        return v;
    if ((is_micro ? time_parse_micro : time_parse)(json_str(v), &t, w->err) < 0)
        return NULL;
    if (!instant_is_set(t))
        return json_new(w->a, json_of_null());
    return with_text(w, v, is_micro ? time_text_micro(w->a, t) : time_text(w->a, t));
}

not_inline static const struct json *conform_duration(struct walk *w, const struct schema *s,
                                                      const struct json *v,
                                                      const struct field_path *p)
{
    struct span d;

    if (v->type != JSON_STRING)
        return wrong_type(w, s, v, p);
    if (span_parse(json_str(v), &d, w->err) < 0)
        return NULL;
    return with_text(w, v, span_text(w->a, d));
}

not_inline static const struct json *conform_quantity(struct walk *w, const struct schema *s,
                                                      const struct json *v,
                                                      const struct field_path *p)
{
    struct str text = v->type == JSON_STRING ? json_str(v) : json_text(w->a, v);
    struct quantity q;

    if (v->type != JSON_STRING && v->type != JSON_INT && v->type != JSON_DOUBLE)
        return wrong_type(w, s, v, p);
    if (v->type == JSON_STRING && quantity_is_canonical(text))
        return v;
    if (quantity_parse(w->a, text, &q, w->err) < 0)
        return NULL;
    return with_text(w, v, quantity_text(w->a, &q));
}

not_inline static const struct json *conform_bytes(struct walk *w, const struct schema *s,
                                                   const struct json *v,
                                                   const struct field_path *p)
{
    struct str bytes;

    if (v->type != JSON_STRING)
        return wrong_type(w, s, v, p);
    if (!base64_decode(w->a, json_str(v), &bytes)) {
        err_set(w->err, ERR_SYNTAX, "illegal base64 data at input byte %zu",
                base64_fault(json_str(v)));
        return NULL;
    }
    return v;
}

static bool is_scalar_of(const struct schema *s, const struct json *v)
{
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return v->type == JSON_BOOL;
    case SCHEMA_INT32:
        return v->type == JSON_INT && v->i >= INT32_MIN && v->i <= INT32_MAX;
    case SCHEMA_INT64:
        return v->type == JSON_INT;
    case SCHEMA_DOUBLE:
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
        return v->type == JSON_STRING;
    case SCHEMA_INT_OR_STRING:
        return v->type == JSON_STRING ||
               (v->type == JSON_INT && v->i >= INT32_MIN && v->i <= INT32_MAX);
    case SCHEMA_FIELDS_V1:
        return v->type == JSON_OBJECT || v->type == JSON_RAW;
    default:
        return true;
    }
}

static const struct json *zero_object(struct walk *w, const struct schema_field *f,
                                      const struct field_path *parent)
{
    static const struct json none = {.type = JSON_OBJECT};
    struct field_path child = field_child(parent, f->name);

    return conform(w, f->type, &none, NULL, &child);
}

/* What Go's encoder writes for a value nobody gave. */
static const struct json *zero_of(struct walk *w, const struct schema_field *f,
                                  const struct field_path *parent)
{
    static const struct json null = {.type = JSON_NULL}, no = {.type = JSON_BOOL},
                             zero = {.type = JSON_INT}, empty = {.type = JSON_STRING, .s = ""},
                             zero_text = {.type = JSON_STRING, .len = 1, .s = "0"};

    if (f->flags & FIELD_POINTER)
        return &null;
    switch ((enum schema_type)f->type->type) {
    case SCHEMA_BOOL:
        return &no;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
    case SCHEMA_INT_OR_STRING:
        return &zero;
    case SCHEMA_STRING:
        return &empty;
    case SCHEMA_QUANTITY:
        return &zero_text;
    case SCHEMA_OBJECT:
        return zero_object(w, f, parent);
    default:
        return &null;
    }
}

static bool is_empty(const struct json *v)
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
    default:
        return v->len == 0;
    }
}

/* Is a given value left out again (Go's omitempty)? */
static inline bool is_left_out(const struct schema_field *f, const struct json *v)
{
    if (f->flags & FIELD_ALWAYS)
        return false;
    if (f->flags & FIELD_POINTER)
        return v->type == JSON_NULL;
    return v->type >= JSON_STRING ? v->len == 0 : is_empty(v);
}

/* What most values are: nothing but their type is asked, and it is right. False says nothing.
 */
static inline bool is_as_it_should_be(const struct schema *s, const struct json *v)
{
    return (s->type == SCHEMA_STRING && v->type == JSON_STRING) ||
           (s->type == SCHEMA_BOOL && v->type == JSON_BOOL);
}

static inline bool is_off(const struct schema_field *f)
{
    return f->gate && !f->gate->on;
}

struct object_walk {
    const struct schema *s;
    const struct json *v, *known;
    const struct field_path *p;
    uint64_t is_written;                           /* the fields that stay */
    const struct json *written[SCHEMA_SET_FIELDS]; /* what each becomes; by is_written */
};

static inline const struct json *known_member(const struct object_walk *o,
                                              const struct json_member *m, size_t at)
{
    const struct json *known = o->known;

    if (!known)
        return NULL;
    if (at < known->len && known->members[at].name.len == m->name.len &&
        bytes_eq(known->members[at].name.at, m->name.at, m->name.len))
        return &known->members[at].value;
    return json_get(known, m->name);
}

/* 1 where it is what would be written, as far as it goes; -1 with the walk's error. */
static inline int read_members(struct walk *w, struct object_walk *o)
{
    const struct schema *s = o->s;
    uint64_t is_written = 0;
    bool is_clean = true;

    for (uint32_t i = 0; i < o->v->len; i++) {
        const struct json_member *m = &o->v->members[i];
        const struct schema_field *f = schema_field_of(s, m);
        const struct json *x = &m->value;
        if (unlikely(!f && !s->preserve_unknown)) {
            struct field_path child = field_child(o->p, m->name);
            report_unknown(w, &child);
        }
        if (!f || x->type == JSON_NULL || is_off(f)) { /* to Go's decoder, null says nothing */
            is_clean = false;
            continue;
        }
        if (!is_as_it_should_be(f->type, x)) {
            const struct json *known = known_member(o, m, i);
            if (!json_is_shared(x, known)) {
                struct field_path child = field_child(o->p, m->name);
                x = conform(w, f->type, x, known, &child);
                if (!x)
                    return -1;
            }
        }
        size_t at = (size_t)(f - s->fields);
        uint64_t bit = UINT64_C(1) << at;
        if (x != &m->value || x->place != at + 1 || is_written >> at)
            is_clean = false;
        if (is_left_out(f, x)) {
            is_clean = false;
            is_written &= ~bit;
            continue;
        }
        o->written[at] = x; /* it stays in its field's place */
        is_written |= bit;
    }
    o->is_written = is_written;
    return is_clean;
}

/* The fields that are written even where they are absent, and are. */
static inline uint64_t missing_of(const struct object_walk *o)
{
    uint64_t missing = 0;

    schema_each_in (i, o->s, schema_sets(o->s)->always & ~o->is_written) {
        const struct schema_field *f = &o->s->fields[i];
        if ((f->flags & FIELD_ALWAYS) && !(f->flags & FIELD_TYPE_META) && !is_off(f))
            missing |= UINT64_C(1) << i;
    }
    return missing;
}

/* The fields in their order, each with its place and its table's spelling of the name. */
static const struct json *write_object(struct walk *w, const struct object_walk *o,
                                       uint64_t missing)
{
    const struct schema *s = o->s;
    size_t most = s->n_fields + (s->preserve_unknown ? o->v->len : 0), n = 0;
    struct json *out;

    if (!s->preserve_unknown)
        most = (size_t)__builtin_popcountll(o->is_written | missing);
    out = arena_raw(w->a, size_mul(most, sizeof(*out->members)) + sizeof(*out),
                    _Alignof(struct json_member));
    struct json_member *members = (struct json_member *)(void *)(out + 1);
    schema_each_in (i, s, o->is_written | missing) {
        const struct schema_field *f = &s->fields[i];
        const struct json *x = o->is_written >> i & 1 ? o->written[i] : zero_of(w, f, o->p);
        if (!x)
            return NULL;
        members[n].name = f->name;
        members[n].value = *x;
        members[n++].value.place = (uint16_t)(i + 1);
    }
    if (s->preserve_unknown)
        json_each_member (m, o->v)
            if (!schema_field(s, m->name))
                members[n++] = *m;
    *out = (struct json){.type = JSON_OBJECT, .len = (uint32_t)n, .members = members};
    return out;
}

not_inline static const struct json *conform_object(struct walk *w, const struct schema *s,
                                                    const struct json *v,
                                                    const struct json *known,
                                                    const struct field_path *p)
{
    struct object_walk o;
    const struct schema *owner = w->owner;

    o.s = s, o.v = v, o.known = json_is(known, JSON_OBJECT) ? known : NULL, o.p = p;
    if (v->type != JSON_OBJECT)
        return wrong_type(w, s, v, p);
    if (w->depth >= CONFORM_MAX_DEPTH) {
        err_set(w->err, ERR_LIMIT, "objects are nested more than %d deep", CONFORM_MAX_DEPTH);
        return NULL;
    }
    w->depth++;
    w->owner = s;
    int is_clean = read_members(w, &o);
    if (is_clean < 0) {
        v = NULL;
    } else {
        uint64_t missing = missing_of(&o);
        if (!is_clean || missing)
            v = write_object(w, &o, missing);
    }
    w->owner = owner;
    w->depth--;
    return v;
}

/* A list's items with one of them replaced; *items becomes a copy at the first change. */
static void set_item(struct arena *a, const struct json *list, struct json **items, size_t i,
                     const struct json *x)
{
    if (!*items) {
        *items = arena_raw(a, size_mul(list->len, sizeof(**items)), _Alignof(struct json));
        memcpy(*items, list->items, list->len * sizeof(**items));
    }
    (*items)[i] = *x;
}

static const struct json *list_of(struct arena *a, const struct json *list,
                                  const struct json *items)
{
    if (!items)
        return list;
    return json_new(a, (struct json){.type = JSON_ARRAY, .len = list->len, .items = items});
}

not_inline static const struct json *conform_list(struct walk *w, const struct schema *s,
                                                  const struct json *v,
                                                  const struct json *known,
                                                  const struct field_path *p)
{
    static const struct json none = {.type = JSON_OBJECT};
    struct json *items = NULL;

    if (v->type != JSON_ARRAY)
        return wrong_type(w, s, v, p);
    for (size_t i = 0; i < v->len; i++) {
        struct field_path child = field_item(p, i);
        const struct json *x = &v->items[i];
        if (is_as_it_should_be(s->item, x))
            continue;
        if (x->type == JSON_NULL && s->item->type == SCHEMA_OBJECT)
            x = &none; /* an element is a value, and null leaves it zero */
        if (!(x = conform(w, s->item, x, json_at(known, i), &child)))
            return NULL;
        if (x != &v->items[i])
            set_item(w->a, v, &items, i, x);
    }
    return list_of(w->a, v, items);
}

not_inline static const struct json *conform_map(struct walk *w, const struct schema *s,
                                                 const struct json *v, const struct json *known,
                                                 const struct field_path *p)
{
    static const struct json empty = {.type = JSON_STRING, .s = ""};
    struct json_member *members = NULL;
    struct json_names in_known = {0};

    if (v->type != JSON_OBJECT)
        return wrong_type(w, s, v, p);
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct json *x = &m->value;
        struct field_path child = field_key(p, m->name);
        if (is_as_it_should_be(s->value, x))
            continue;
        if (x->type == JSON_NULL && s->value->type == SCHEMA_STRING)
            x = &empty;
        const struct json *was = known ? json_find(w->a, &in_known, known, m->name) : NULL;
        if (!(x = conform(w, s->value, x, was, &child)))
            return NULL;
        if (x == &m->value)
            continue;
        if (!members) {
            members = arena_raw(w->a, size_mul(v->len, sizeof(*members)), _Alignof(struct str));
            memcpy(members, v->members, v->len * sizeof(*members));
        }
        members[i].value = *x;
    }
    if (!members)
        return v;
    return json_new(w->a,
                    (struct json){.type = JSON_OBJECT, .len = v->len, .members = members});
}

static const struct json *conform(struct walk *w, const struct schema *s, const struct json *v,
                                  const struct json *known, const struct field_path *p)
{
    if (json_is_shared(v, known))
        return v;
    switch ((enum schema_type)s->type) {
    case SCHEMA_OBJECT:
        return conform_object(w, s, v, known, p);
    case SCHEMA_LIST:
        return conform_list(w, s, v, known, p);
    case SCHEMA_MAP:
        return conform_map(w, s, v, known, p);
    case SCHEMA_QUANTITY:
        return conform_quantity(w, s, v, p);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return conform_time(w, s, v, p);
    case SCHEMA_DURATION:
        return conform_duration(w, s, v, p);
    case SCHEMA_BYTES:
        return conform_bytes(w, s, v, p);
    default:
        return is_scalar_of(s, v) ? v : wrong_type(w, s, v, p);
    }
}

const struct json *schema_conform(struct arena *a, const struct schema *s, const struct json *v,
                                  const struct json *known, struct schema_unknown *unknown,
                                  struct err *err)
{
    struct walk w = {.a = a, .unknown = unknown, .err = err};

    return conform(&w, s, v, known, NULL);
}

/* ---- custom kinds ---- */

static const struct json *prune(struct walk *w, const struct schema *s, const struct json *v,
                                const struct json *known, const struct field_path *p,
                                bool is_resource);

/* The member as it stays; NULL: it goes, or the walk has an error. */
static const struct json *prune_member(struct walk *w, const struct schema *s,
                                       const struct schema_field *f,
                                       const struct json_member *m, const struct json *known,
                                       const struct field_path *p, bool is_resource)
{
    struct field_path child = field_child(p, m->name);
    const struct schema *type = f ? f->type : s->value;

    if (f && f->gate && !f->gate->on)
        return NULL;
    if (f && is_resource && str_eq(m->name, S("metadata")) && m->value.type == JSON_OBJECT)
        return conform(w, f->type, &m->value, known, &child);
    if (type)
        return prune(w, type, &m->value, known, &child, type->embedded);
    if (s->preserve_unknown || s->additional == ADDITIONAL_TRUE)
        return &m->value;
    report_unknown(w, &child);
    return NULL;
}

static const struct json *prune_object(struct walk *w, const struct schema *s,
                                       const struct json *v, const struct json *known,
                                       const struct field_path *p, bool is_resource)
{
    struct json_member *members = NULL;
    struct json_names in_known = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct schema_field *f = schema_field_of(s, m);
        const struct json *x = prune_member(
            w, s, f, m, json_find(w->a, &in_known, known, m->name), p, is_resource);
        if (!x && w->err->code)
            return NULL;
        if (x == &m->value && !members) {
            n++;
            continue;
        }
        if (!members) {
            members = arena_raw(w->a, size_mul(v->len, sizeof(*members)), _Alignof(struct str));
            memcpy(members, v->members, n * sizeof(*members));
        }
        if (x)
            members[n++] = (struct json_member){m->name, *x};
    }
    if (!members)
        return v;
    return json_new(w->a, (struct json){.type = JSON_OBJECT, .len = n, .members = members});
}

static const struct json *prune(struct walk *w, const struct schema *s, const struct json *v,
                                const struct json *known, const struct field_path *p,
                                bool is_resource)
{
    if (json_is_shared(v, known))
        return v;
    if (v->type == JSON_OBJECT && s->type != SCHEMA_RAW && s->type != SCHEMA_FIELDS_V1 &&
        (s->n_fields || s->value || !s->preserve_unknown)) {
        if (s->type == SCHEMA_ANY && !s->untyped)
            return v;
        return prune_object(w, s, v, known, p, is_resource);
    }
    if (v->type == JSON_ARRAY && s->item) {
        struct json *items = NULL;
        for (size_t i = 0; i < v->len; i++) {
            struct field_path child = field_item(p, i);
            const struct json *x =
                prune(w, s->item, &v->items[i], json_at(known, i), &child, s->item->embedded);
            if (!x)
                return NULL;
            if (x != &v->items[i])
                set_item(w->a, v, &items, i, x);
        }
        return list_of(w->a, v, items);
    }
    return v;
}

const struct json *schema_prune(struct arena *a, const struct schema *s, const struct json *v,
                                const struct json *known, struct schema_unknown *unknown,
                                struct err *err)
{
    struct err own = {0};
    struct walk w = {.a = a, .unknown = unknown, .err = err ? err : &own};

    return prune(&w, s, v, known, NULL, true);
}

const struct json *kind_conform(struct arena *a, const struct kind *k, const struct json *v,
                                const struct json *known, struct schema_unknown *unknown,
                                struct err *err)
{
    if (k->style == KIND_CUSTOM)
        return schema_prune(a, k->schema, v, known, unknown, err);
    return schema_conform(a, k->schema, v, known, unknown, err);
}
