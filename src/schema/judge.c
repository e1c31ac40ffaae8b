/* judge.c - a value against an OpenAPI schema
 *
 *     judge(node) = its own type and rules + children + branches
 *     count(node) = 4 + what passed + the counts of children and chosen branches
 */
#include "schema/judge.h"

#include <math.h>

#include "schema/format.h"
#include "schema/table.h"

#define SAFE_MOST 9007199254740991.0 /* 2^53 - 1 */

/* Errors of one node and all below, and how much was right. */
struct verdict {
    VEC(struct field_error) list;
    int64_t count;
};

struct walk {
    struct arena *a;
    int depth;
    size_t work;
    bool is_of_default;
};

static struct verdict judge_node(struct walk *w, const struct schema *s,
                                 const struct field_path *p, const struct json *v);

/* ---- errors ---- */

/* False once too much was done; then nothing is looked at any more. */
static bool spend(struct walk *w, size_t n)
{
    w->work += n;
    return w->work <= JUDGE_MAX_WORK;
}

/* The same text counts once. */
static void add_once(struct walk *w, struct verdict *out, const struct field_error *e)
{
    if (out->list.len >= FIELD_ERRORS_MAX || !spend(w, 1 + out->list.len / 8))
        return;
    vec_each (i, &out->list) {
        const struct field_error *was = &out->list.at[i];
        if (was->type == e->type && str_eq(was->path, e->path) &&
            str_eq(was->detail, e->detail) && json_eq(&was->value, &e->value))
            return;
    }
    vec_push_in(w->a, &out->list, *e);
}

static void add(struct walk *w, struct verdict *out, enum field_error_type type,
                const struct field_path *p, const struct json *v, struct str detail)
{
    add_once(w, out,
             &(struct field_error){.type = type,
                                   .path = field_path_text(w->a, p),
                                   .value = v ? *v : json_of_null(),
                                   .detail = detail});
}

static void merge(struct walk *w, struct verdict *out, const struct verdict *more)
{
    vec_each (i, &more->list)
        add_once(w, out, &more->list.at[i]);
}

#define IN_BODY(p) STR_ARG(p ? field_path_text(w->a, p) : S(""))

/* ---- types ---- */

static const char *const json_words[] = {
    [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
    [JSON_DOUBLE] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
    [JSON_OBJECT] = "object",
};

/* The type's words, "integer" or "integer,string"; NULL where none is demanded. */
static const char *type_words(const struct walk *w, const struct schema *s)
{
    if (w->is_of_default && s->type == SCHEMA_INT_OR_STRING)
        return NULL;
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return "boolean";
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return "integer";
    case SCHEMA_DOUBLE:
        return "number";
    case SCHEMA_LIST:
        return "array";
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_QUANTITY:
        return "integer,string";
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_FIELDS_V1:
        return s->untyped ? NULL : "object";
    case SCHEMA_ANY:
    case SCHEMA_RAW:
        return NULL;
    default:
        return "string";
    }
}

/* Within 1e-9 of a whole number, as upstream's arithmetic sees it. */
static bool is_whole(const struct json *v)
{
    if (v->type == JSON_INT)
        return true;
    if (v->type != JSON_DOUBLE || v->d > SAFE_MOST || v->d < -SAFE_MOST)
        return false;
    double below = floor(v->d);
    return v->d == below || (v->d > 0 && (v->d - below) / (v->d + below) < 1e-9);
}

static bool has_type(const struct walk *w, const struct schema *s, const struct json *v)
{
    const char *words = type_words(w, s);

    if (!words)
        return true;
    if (strcmp(words, "integer") == 0)
        return is_whole(v);
    if (strcmp(words, "integer,string") == 0)
        return v->type == JSON_STRING || is_whole(v);
    if (strcmp(words, "number") == 0)
        return v->type == JSON_INT || v->type == JSON_DOUBLE;
    return strcmp(words, json_words[v->type]) == 0;
}

static bool is_format_of_texts(const struct schema *s)
{
    return s->rules && s->rules->format.len && format_is_known(s->rules->format) &&
           (s->type == SCHEMA_STRING || s->untyped);
}

static void judge_type(struct walk *w, const struct schema *s, const struct field_path *p,
                       const struct json *v, struct verdict *out)
{
    const char *words = type_words(w, s);
    struct str format = s->rules ? s->rules->format : S("");
    bool has_format = is_format_of_texts(s) || (w->is_of_default && s->untyped && format.len);
    bool is_exempt = has_format && (v->type == JSON_STRING || v->type == JSON_ARRAY ||
                                    (v->type == JSON_INT && str_eqz(format, "int64")));
    bool has_words = words || has_format;

    out->count += has_words;
    if (is_exempt || (words ? has_type(w, s, v) : !has_format)) {
        out->count += has_words;
        return;
    }
    struct str type = words ? str_from(words) : format;
    struct json shown = json_of_str(str_from(json_words[v->type]));
    add(w, out, FIELD_ERROR_TYPE_INVALID, p, &shown,
        str_printf(w->a, "%.*s in body must be of type %.*s: \"%s\"", IN_BODY(p), STR_ARG(type),
                   json_words[v->type]));
}

/* ---- numbers ---- */

static void outside(struct walk *w, const struct json *v, const char *what, struct verdict *out)
{
    add(w, out, FIELD_ERROR_INVALID, NULL, v, str_from(what));
}

/* Does the number fit the node's own type and format? */
static bool in_range(const struct schema *s, const struct json *v)
{
    struct str format = s->rules ? s->rules->format : S("");

    if (s->type == SCHEMA_INT32)
        return v->type == JSON_INT && v->i >= INT32_MIN && v->i <= INT32_MAX;
    if (s->type == SCHEMA_INT64)
        return v->type == JSON_INT || (v->d == floor(v->d) && fabs(v->d) <= SAFE_MOST);
    if (s->type == SCHEMA_DOUBLE && str_eq(format, S("float")))
        return fabs(json_f64(v, 0)) <= 3.4028234663852886e38;
    return true;
}

/* A limit as it is compared with an integer: cut to an integer; else as a double. */
static double limit_of(const struct json *limit, bool is_int)
{
    double d = json_f64(limit, 0);

    return is_int ? trunc(d) : d;
}

static void judge_limit(struct walk *w, const struct schema *s, const struct field_path *p,
                        const struct json *v, bool is_maximum, struct verdict *out)
{
    const struct schema_rules *r = s->rules;
    const struct json *limit = is_maximum ? &r->maximum : &r->minimum;
    bool is_exclusive = r->has & (is_maximum ? RULE_EXCLUSIVE_MAXIMUM : RULE_EXCLUSIVE_MINIMUM);
    bool is_typed_int = s->type == SCHEMA_INT32 || s->type == SCHEMA_INT64;
    bool is_inside = !is_typed_int || limit->type == JSON_INT || fabs(limit->d) < 9.2e18;
    double x = json_f64(v, 0);

    if (!is_inside)
        outside(w, limit, "the limit is outside the range of its type", out);
    double most = limit_of(limit, v->type == JSON_INT && is_inside);
    bool is_bad = is_maximum ? x > most : x < most;
    if (is_bad || (is_exclusive && x == most))
        add(w, out, FIELD_ERROR_INVALID, p, v,
            str_printf(w->a, "%.*s in body should be %s than %s%.*s", IN_BODY(p),
                       is_maximum ? "less" : "greater", is_exclusive ? "" : "or equal to ",
                       STR_ARG(json_text(w->a, limit))));
}

static void judge_number(struct walk *w, const struct schema *s, const struct field_path *p,
                         const struct json *v, struct verdict *out)
{
    const struct schema_rules *r = s->rules;

    out->count += 2;
    if (!in_range(s, v))
        outside(w, v, "the number is outside the range of its type", out);
    if (!r)
        return;
    if (r->has & RULE_MULTIPLE_OF) {
        bool is_int = v->type == JSON_INT;
        double by = limit_of(&r->multiple_of, is_int), x = json_f64(v, 0);
        if (by == 0 || x / by != floor(x / by))
            add(w, out, FIELD_ERROR_INVALID, p, v,
                str_printf(w->a, "%.*s in body should be a multiple of %.*s", IN_BODY(p),
                           STR_ARG(json_text(w->a, &r->multiple_of))));
    }
    if (r->has & RULE_MAXIMUM)
        judge_limit(w, s, p, v, true, out);
    if (r->has & RULE_MINIMUM)
        judge_limit(w, s, p, v, false, out);
}

/* ---- strings ---- */

static void judge_rules_of_text(struct walk *w, const struct schema_rules *r,
                                const struct field_path *p, const struct json *v,
                                struct verdict *out)
{
    int64_t n = (int64_t)str_runes(json_str(v));

    if (!spend(w, (v->len + (r->pattern ? r->pattern->text.len : 0)) / 64))
        return;
    if ((r->has & RULE_MAX_LENGTH) && n > r->max_length) {
        add(w, out, FIELD_ERROR_TOO_LONG, p, v,
            str_printf(w->a, "may not be more than %" PRId64 " bytes", r->max_length));
    } else if ((r->has & RULE_MIN_LENGTH) && n < r->min_length) {
        add(w, out, FIELD_ERROR_INVALID, p, v,
            str_printf(w->a, "%.*s in body should be at least %" PRId64 " chars long",
                       IN_BODY(p), r->min_length));
    } else if (r->pattern) {
        if (!schema_pattern_matches(r->pattern, json_str(v)) &&
            spend(w, r->pattern->text.len / 4)) /* it is told whole */
            add(w, out, FIELD_ERROR_INVALID, p, v,
                str_printf(w->a, "%.*s in body should match '%.*s'", IN_BODY(p),
                           STR_ARG(r->pattern->text)));
    }
}

static void judge_string(struct walk *w, const struct schema *s, const struct field_path *p,
                         const struct json *v, struct verdict *out)
{
    bool has_format = is_format_of_texts(s);

    out->count += has_format ? 2 : 1;
    if (!s->rules)
        return;
    judge_rules_of_text(w, s->rules, p, v, out);
    if (has_format && !format_is(s->rules->format, json_str(v)))
        add(w, out, FIELD_ERROR_TYPE_INVALID, p, v,
            str_printf(w->a, "%.*s in body must be of type %.*s: %.*s", IN_BODY(p),
                       STR_ARG(s->rules->format), STR_ARG(json_text(w->a, v))));
}

/* ---- lists and objects ---- */

static void judge_child(struct walk *w, const struct schema *s, const struct field_path *p,
                        const struct json *v, struct verdict *out)
{
    struct verdict child = judge_node(w, s, p, v);

    merge(w, out, &child);
    out->count += child.count;
}

static void judge_sizes(struct walk *w, const struct schema_rules *r,
                        const struct field_path *p, const struct json *v, struct verdict *out)
{
    bool is_list = v->type == JSON_ARRAY;
    int64_t n = (int64_t)v->len, least = is_list ? r->min_items : r->min_properties;
    int64_t most = is_list ? r->max_items : r->max_properties;
    struct json count = json_of_i64(n);

    if ((r->has & (is_list ? RULE_MIN_ITEMS : RULE_MIN_PROPERTIES)) && n < least)
        add(w, out, FIELD_ERROR_INVALID, p, v,
            str_printf(w->a, "%.*s in body should have at least %" PRId64 " %s", IN_BODY(p),
                       least, is_list ? "items" : "properties"));
    if ((r->has & (is_list ? RULE_MAX_ITEMS : RULE_MAX_PROPERTIES)) && n > most)
        add(w, out, FIELD_ERROR_TOO_MANY, p, &count,
            str_printf(w->a, "must have at most %" PRId64 " items", most));
}

static void judge_array(struct walk *w, const struct schema *s, const struct field_path *p,
                        const struct json *v, struct verdict *out)
{
    out->count += 2;
    for (size_t i = 0; s->item && i < v->len; i++) {
        struct field_path child = field_item(p, i);
        judge_child(w, s->item, &child, &v->items[i], out);
    }
    if (s->rules)
        judge_sizes(w, s->rules, p, v, out);
}

static void judge_object(struct walk *w, const struct schema *s, const struct field_path *p,
                         const struct json *v, struct verdict *out)
{
    out->count += 1;
    if (!spend(w, (s->n_fields + (s->rules ? s->rules->n_required : 0)) * (1 + v->len / 8) / 8))
        return;
    if (s->rules)
        judge_sizes(w, s->rules, p, v, out);
    json_each_member (m, v) {
        const struct schema *type = schema_member(s, m->name);
        struct field_path child = field_child(p, m->name);
        if (type)
            judge_child(w, type, &child, &m->value, out);
    }
    for (size_t i = 0; i < s->n_fields; i++) {
        struct field_path child = field_child(p, s->fields[i].name);
        if ((s->fields[i].flags & (FIELD_REQUIRED | FIELD_NEEDED)) &&
            !(s->fields[i].gate && !s->fields[i].gate->on) && !json_get(v, s->fields[i].name))
            add(w, out, FIELD_ERROR_REQUIRED, &child, NULL, S(""));
    }
    for (size_t i = 0; s->rules && i < s->rules->n_required; i++) {
        struct field_path child = field_child(p, s->rules->required[i]);
        if (!json_get(v, s->rules->required[i]))
            add(w, out, FIELD_ERROR_REQUIRED, &child, NULL, S(""));
    }
}

/* ---- branches ---- */

#define ONE_OF "must validate one and only one schema (oneOf). "

/* The path stands in the text only. */
static void composite(struct walk *w, const struct field_path *p, const char *what,
                      struct verdict *out)
{
    struct json none = json_of_z("");

    add(w, out, FIELD_ERROR_INVALID, NULL, &none,
        str_printf(w->a, "\"%.*s\" %s", IN_BODY(p), what));
}

static void judge_any(struct walk *w, const struct schema *const *list, size_t n, bool is_one,
                      const struct field_path *p, const struct json *v, struct verdict *out)
{
    struct verdict best = {.count = -1};
    size_t n_match = 0;

    for (size_t i = 0; i < n && (is_one || !n_match); i++) {
        struct verdict one = judge_node(w, list[i], p, v);
        bool is_match = one.list.len == 0;
        if (n_match == 0 && (is_match || one.count > best.count))
            best = one; /* the first that matches is the chosen one */
        n_match += is_match;
    }
    if (n == 0)
        return;
    if (is_one && n_match > 1) {
        composite(w, p,
                  str_z(w->a, str_printf(w->a, ONE_OF "Found %zu valid alternatives", n_match)),
                  out);
        return;
    }
    if (n_match == 0) {
        composite(w, p,
                  is_one ? ONE_OF "Found none valid"
                         : "must validate at least one schema (anyOf)",
                  out);
        merge(w, out, &best);
    }
    out->count += best.count;
}

static void judge_branches(struct walk *w, const struct schema_rules *r,
                           const struct field_path *p, const struct json *v,
                           struct verdict *out)
{
    size_t n_match = 0;

    judge_any(w, r->any_of, r->n_any_of, false, p, v, out);
    judge_any(w, r->one_of, r->n_one_of, true, p, v, out);
    for (size_t i = 0; i < r->n_all_of; i++) {
        struct verdict one = judge_node(w, r->all_of[i], p, v);
        n_match += one.list.len == 0;
        merge(w, out, &one);
        out->count += one.count;
    }
    if (n_match != r->n_all_of)
        composite(w, p,
                  n_match ? "must validate all the schemas (allOf)"
                          : "must validate all the schemas (allOf). None validated",
                  out);
    if (r->not_ && judge_node(w, r->not_, p, v).list.len == 0)
        composite(w, p, "must not validate the schema (not)", out);
}

/* A fraction is cut where the entry is an integer, as upstream converts it. */
static bool is_entry(const struct json *entry, const struct json *v)
{
    struct json cut;

    if (entry->type != JSON_INT || v->type != JSON_DOUBLE || fabs(v->d) > SAFE_MOST)
        return json_eq(entry, v);
    cut = json_of_i64((int64_t)v->d);
    return json_eq(entry, &cut);
}

static void judge_enum(struct walk *w, const struct schema_rules *r, const struct field_path *p,
                       const struct json *v, struct verdict *out)
{
    struct buf b = buf_in(w->a, 64);

    if (r->n_enums == 0 || !spend(w, r->n_enums * 4))
        return;
    for (size_t i = 0; i < r->n_enums; i++) {
        if (v->type != JSON_NULL && is_entry(&r->enums[i], v))
            return;
        buf_add(&b, i ? S(", ") : S("supported values: "));
        json_write(&b, &r->enums[i]);
    }
    add(w, out, FIELD_ERROR_NOT_SUPPORTED, p, v, buf_str(&b));
}

/* ---- a node ---- */

static struct verdict judge_null(struct walk *w, const struct schema *s,
                                 const struct field_path *p, const struct json *v)
{
    struct verdict out = {0};
    const char *words = type_words(w, s);
    struct json shown = json_of_z("null");

    if (words && !s->nullable)
        add(w, &out, FIELD_ERROR_TYPE_INVALID, p, &shown,
            str_printf(w->a, "%.*s in body must be of type %s: \"null\"", IN_BODY(p), words));
    else
        out.count = 1;
    if (s->rules)
        judge_enum(w, s->rules, p, v, &out);
    return out;
}

static struct verdict judge_node(struct walk *w, const struct schema *s,
                                 const struct field_path *p, const struct json *v)
{
    struct verdict out = {.count = 4};

    if (!spend(w, 1))
        return out;
    if (v->type == JSON_NULL)
        return judge_null(w, s, p, v);
    if (w->depth >= JUDGE_MAX_DEPTH) {
        add(w, &out, FIELD_ERROR_INVALID, p, NULL, S("is nested too deep"));
        return out;
    }
    w->depth++;
    judge_type(w, s, p, v, &out);
    if (s->rules && !s->rules_native)
        judge_branches(w, s->rules, p, v, &out);
    if (v->type == JSON_STRING)
        judge_string(w, s, p, v, &out);
    else if (v->type == JSON_INT || v->type == JSON_DOUBLE)
        judge_number(w, s, p, v, &out);
    else if (v->type == JSON_ARRAY)
        judge_array(w, s, p, v, &out);
    if (s->rules && !s->rules_native)
        judge_enum(w, s->rules, p, v, &out);
    if (v->type == JSON_OBJECT)
        judge_object(w, s, p, v, &out);
    w->depth--;
    return out;
}

static bool judge_as(struct walk *w, struct field_errors *e, const struct schema *s,
                     const struct field_path *path, const struct json *v)
{
    struct verdict all = judge_node(w, s, path, v);

    if (w->work > JUDGE_MAX_WORK) {
        field_forbidden(e, path, "it takes more than %d steps to judge it by its schema",
                        JUDGE_MAX_WORK);
        return false;
    }
    vec_each (i, &all.list)
        field_error_add(e, all.list.at[i]);
    return true;
}

bool judge(struct field_errors *e, const struct schema *s, const struct field_path *path,
           const struct json *v)
{
    return judge_as(&(struct walk){.a = e->arena}, e, s, path, v);
}

bool judge_default(struct field_errors *e, const struct schema *s,
                   const struct field_path *path, const struct json *v)
{
    return judge_as(&(struct walk){.a = e->arena, .is_of_default = true}, e, s, path, v);
}
