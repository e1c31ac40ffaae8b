/* field_error.c - collecting and printing what is wrong with which field */
#include "value/field_error.h"

#define PATH_DEPTH_MAX 1024

struct field_errors field_errors_in(struct arena *a)
{
    return (struct field_errors){.arena = a};
}

struct str field_path_text(struct arena *a, const struct field_path *p)
{
    const struct field_path *frames[PATH_DEPTH_MAX];
    size_t n = 0;
    struct buf b = buf_in(a, 64);

    if (!p)
        return S("<nil>");
    for (; p && n < PATH_DEPTH_MAX; p = p->parent)
        frames[n++] = p;
    for (size_t i = n; i-- > 0;) {
        if (!frames[i]->name.at)
            buf_printf(&b, "[%" PRId64 "]", frames[i]->index);
        else if (frames[i]->is_key)
            buf_printf(&b, "[%.*s]", STR_ARG(frames[i]->name));
        else
            buf_printf(&b, "%s%.*s", b.len ? "." : "", STR_ARG(frames[i]->name));
    }
    return buf_str(&b);
}

static bool is_full(const struct field_errors *e)
{
    return e->list.len >= FIELD_ERRORS_MAX || e->n_bytes > FIELD_ERRORS_MAX_BYTES;
}

void field_error_add(struct field_errors *e, struct field_error one)
{
    if (is_full(e)) {
        e->n_dropped++;
        return;
    }
    e->n_bytes += one.path.len + one.detail.len + json_size(&one.value, FIELD_ERRORS_MAX_BYTES);
    vec_push_in(e->arena, &e->list, one);
}

void field_errors_add(struct field_errors *e, const struct field_errors *more)
{
    vec_each (i, &more->list)
        field_error_add(e, more->list.at[i]);
    e->n_dropped += more->n_dropped;
}

like_printf(2, 0) static struct str detail_of(struct arena *a, const char *format, va_list args)
{
    char room[1024];
    int n = vsnprintf(room, sizeof(room), format, args);

    return str_copy(a, str_of(room, MIN((size_t)n, sizeof(room) - 1)));
}

static void add(struct field_errors *e, enum field_error_type type, const struct field_path *p,
                const struct json *value, struct str detail)
{
    if (is_full(e)) {
        e->n_dropped++;
        return;
    }
    field_error_add(e, (struct field_error){.type = type,
                                            .path = field_path_text(e->arena, p),
                                            .value = value ? *value : json_of_null(),
                                            .detail = detail});
}

#define ADD_FORMATTED(type, value)                                                             \
    do {                                                                                       \
        va_list args;                                                                          \
        va_start(args, format);                                                                \
        add(e, (type), p, (value), is_full(e) ? S("") : detail_of(e->arena, format, args));    \
        va_end(args);                                                                          \
    } while (0)

void field_required(struct field_errors *e, const struct field_path *p, const char *format, ...)
{
    ADD_FORMATTED(FIELD_ERROR_REQUIRED, NULL);
}

void field_invalid(struct field_errors *e, const struct field_path *p, const struct json *value,
                   const char *format, ...)
{
    ADD_FORMATTED(FIELD_ERROR_INVALID, value);
}

void field_type_invalid(struct field_errors *e, const struct field_path *p,
                        const struct json *value, const char *format, ...)
{
    ADD_FORMATTED(FIELD_ERROR_TYPE_INVALID, value);
}

void field_forbidden(struct field_errors *e, const struct field_path *p, const char *format,
                     ...)
{
    ADD_FORMATTED(FIELD_ERROR_FORBIDDEN, NULL);
}

void field_not_supported(struct field_errors *e, const struct field_path *p,
                         const struct json *value, const struct json *supported, size_t n)
{
    struct buf b = buf_in(e->arena, 64);

    for (size_t i = 0; i < n && !is_full(e); i++) {
        buf_add(&b, i ? S(", ") : S("supported values: "));
        json_write(&b, &supported[i]);
    }
    add(e, FIELD_ERROR_NOT_SUPPORTED, p, value, buf_str(&b));
}

bool field_one_of(struct field_errors *e, const struct field_path *p, const struct json *v,
                  const char *const *words, size_t n)
{
    if (str_is_one_of(json_str(v), words, n))
        return true;
    struct json *known = arena_array(e->arena, struct json, n);
    for (size_t i = 0; i < n; i++)
        known[i] = json_of_str(str_from(words[i]));
    field_not_supported(e, p, v, known, n);
    return false;
}

bool field_check_name(struct field_errors *e, const struct field_path *p, enum name_rule rule,
                      const struct json *v)
{
    struct name_faults faults = name_check(rule, json_str(v));

    for (size_t i = 0; i < faults.n; i++)
        field_invalid(e, p, v, "%s%s", faults.at[i].part, faults.at[i].text);
    return faults.n == 0;
}

void field_check_differ(struct field_errors *e, const struct field_path *list_at,
                        const struct json *list, const char *name)
{
    MAP(bool) seen = {0};

    json_each (i, list) {
        const struct json *v = json_get(json_at(list, i), str_from(name));
        struct field_path item = field_item(list_at, i);
        struct field_path p = field_child(&item, str_from(name));
        bool *was = json_str(v).len ? map_put(&seen, json_str(v)) : NULL;
        if (was && *was)
            field_duplicate(e, &p, v);
        if (was)
            *was = true;
    }
    map_fini(&seen);
}

void field_duplicate(struct field_errors *e, const struct field_path *p,
                     const struct json *value)
{
    add(e, FIELD_ERROR_DUPLICATE, p, value, S(""));
}

void field_not_found(struct field_errors *e, const struct field_path *p,
                     const struct json *value)
{
    add(e, FIELD_ERROR_NOT_FOUND, p, value, S(""));
}

void field_too_long(struct field_errors *e, const struct field_path *p,
                    const struct json *value, int64_t most_bytes)
{
    add(e, FIELD_ERROR_TOO_LONG, p, value,
        str_printf(e->arena, "may not be more than %" PRId64 " bytes", most_bytes));
}

void field_too_many(struct field_errors *e, const struct field_path *p, int64_t n, int64_t most)
{
    struct json count = json_of_i64(n);

    add(e, FIELD_ERROR_TOO_MANY, p, &count,
        str_printf(e->arena, "must have at most %" PRId64 " item%s", most,
                   most == 1 ? "" : "s"));
}

static const struct {
    struct str reason, words;
    bool shows_value;
} types[] = {
    [FIELD_ERROR_REQUIRED] = {S_INIT("FieldValueRequired"),     S_INIT("Required value"),  false},
    [FIELD_ERROR_INVALID] = {S_INIT("FieldValueInvalid"),      S_INIT("Invalid value"),   true },
    [FIELD_ERROR_NOT_SUPPORTED] = {S_INIT("FieldValueNotSupported"),
                              S_INIT("Unsupported value"),                                 true },
    [FIELD_ERROR_FORBIDDEN] = {S_INIT("FieldValueForbidden"),    S_INIT("Forbidden"),       false},
    [FIELD_ERROR_DUPLICATE] = {S_INIT("FieldValueDuplicate"),    S_INIT("Duplicate value"), true },
    [FIELD_ERROR_NOT_FOUND] = {S_INIT("FieldValueNotFound"),     S_INIT("Not found"),       true },
    [FIELD_ERROR_TOO_LONG] = {S_INIT("FieldValueTooLong"),      S_INIT("Too long"),        false},
    [FIELD_ERROR_TOO_MANY] = {S_INIT("FieldValueTooMany"),      S_INIT("Too many"),        true },
    [FIELD_ERROR_TYPE_INVALID] = {S_INIT("FieldValueTypeInvalid"),  S_INIT("Invalid value"),
                              true                                                              },
};

struct str field_error_reason(enum field_error_type type)
{
    return types[type].reason;
}

static void write_body(struct buf *b, const struct field_error *e)
{
    buf_add(b, types[e->type].words);
    if (types[e->type].shows_value) {
        buf_add(b, S(": "));
        json_write(b, &e->value);
    }
    if (e->detail.len) {
        buf_add(b, S(": "));
        buf_add(b, e->detail);
    }
}

struct str field_error_body(struct arena *a, const struct field_error *e)
{
    struct buf b = buf_in(a, 128);

    write_body(&b, e);
    return buf_str(&b);
}

static void write_text(struct buf *b, const struct field_error *e)
{
    buf_add(b, e->path);
    buf_add(b, S(": "));
    write_body(b, e);
}

struct str field_error_text(struct arena *a, const struct field_error *e)
{
    struct buf b = buf_in(a, 128);

    write_text(&b, e);
    return buf_str(&b);
}

struct str field_errors_text(struct arena *a, const struct field_errors *e)
{
    struct buf b = buf_in(a, 128);

    if (e->list.len != 1)
        buf_byte(&b, '[');
    vec_each (i, &e->list) {
        if (i)
            buf_add(&b, S(", "));
        write_text(&b, &e->list.at[i]);
    }
    if (e->n_dropped)
        buf_printf(&b, ", and %zu more", e->n_dropped);
    if (e->list.len != 1)
        buf_byte(&b, ']');
    return buf_str(&b);
}
