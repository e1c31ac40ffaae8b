/* write.c - a tree as block YAML, as kubectl prints it */
#include <math.h>
#include <yaml.h>

#include "yaml/scalar_priv.h"
#include "yaml/yaml.h"

#define WIDTH 80 /* plain texts fold past this column */

struct writer {
    yaml_emitter_t yaml;
    struct arena arena; /* scratch: sorted names, mended texts */
};

static int put(void *data, unsigned char *bytes, size_t n)
{
    buf_add(data, str_of((const char *)bytes, n));
    return 1;
}

/* The emitter takes the event in any case. It fails only for want of memory, and for what we
 * never hand it: bad UTF-8 and events out of order. */
static void emit(struct writer *w, yaml_event_t *event)
{
    if (!yaml_emitter_emit(&w->yaml, event))
        die("cannot write YAML: %s", w->yaml.problem ? w->yaml.problem : "out of memory");
}

static void write_scalar(struct writer *w, struct str text, yaml_scalar_style_t style)
{
    yaml_event_t event;

    if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text.at,
                                      (int)text.len, 1, 1, style))
        die("out of memory");
    emit(w, &event);
}

static struct str mend(struct arena *a, struct str text)
{
    struct buf b;

    if (str_is_utf8(text))
        return text.at ? text : S("");
    b = buf_in(a, text.len + 16);
    for (size_t i = 0; i < text.len;) {
        int32_t rune = str_rune(text, &i);
        b.len += str_put_rune(buf_room(&b, 4), rune < 0 ? 0xFFFD : rune);
    }
    return buf_str(&b);
}

static void write_text(struct writer *w, struct str text)
{
    text = mend(&w->arena, text);
    write_scalar(w, text,
                 str_index(text, '\n') != STR_NONE ? YAML_LITERAL_SCALAR_STYLE
                 : yaml_needs_quotes(text)         ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                   : YAML_PLAIN_SCALAR_STYLE);
}

/* ---- numbers ---- */

/* A whole double that JSON would write as an integer is written so; others with an exponent
 * below 1e-4 and from 1e6 on. */
static void write_double(struct writer *w, double d)
{
    struct buf b = buf_in(&w->arena, 32);
    char digits[18];
    int exponent, n;

    if (isnan(d) || isinf(d)) {
        write_scalar(w,
                     isnan(d) ? S(".nan")
                     : d > 0  ? S(".inf")
                              : S("-.inf"),
                     YAML_PLAIN_SCALAR_STYLE);
        return;
    }
    n = (int)json_f64_digits(d, digits, &exponent);
    if ((d == trunc(d) && exponent < 18) || (exponent >= -4 && exponent < 6)) {
        json_write_f64(&b, d);
    } else {
        buf_printf(&b, "%s%c%s%.*se%c%02d", d < 0 ? "-" : "", digits[0], n > 1 ? "." : "",
                   n - 1, digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
    }
    write_scalar(w, buf_str(&b), YAML_PLAIN_SCALAR_STYLE);
}

/* ---- the natural order of keys ---- */

static bool is_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int32_t c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c >= 0xAA;
}

/* Numbers inside names compare as numbers: digits without leading zeros, first by count. */
static int cmp_digits(struct str a, size_t *i, struct str b, size_t *j)
{
    size_t a_end, b_end;
    int order;

    while (*i < a.len && a.at[*i] == '0')
        ++*i;
    while (*j < b.len && b.at[*j] == '0')
        ++*j;
    for (a_end = *i; a_end < a.len && is_digit(a.at[a_end]);)
        a_end++;
    for (b_end = *j; b_end < b.len && is_digit(b.at[b_end]);)
        b_end++;
    if (a_end - *i != b_end - *j)
        return a_end - *i < b_end - *j ? -1 : 1;
    order = str_cmp(str_slice(a, *i, a_end), str_slice(b, *j, b_end));
    *i = a_end, *j = b_end;
    return order;
}

/* Other characters come before letters, but letters end a number first. */
static int cmp_names(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    bool after_digit = false;

    while (i < a.len && j < b.len) {
        if (is_digit(a.at[i]) && is_digit(b.at[j])) {
            int order = cmp_digits(a, &i, b, &j);
            if (order)
                return order;
            after_digit = true;
            continue;
        }
        int32_t x = str_rune(a, &i), y = str_rune(b, &j);
        if (x == y) {
            after_digit = false;
            continue;
        }
        if (is_letter(x) != is_letter(y))
            return is_letter(x) == after_digit ? -1 : 1;
        return x < y ? -1 : 1;
    }
    if (i < a.len || j < b.len)
        return i < a.len ? 1 : -1;
    return str_cmp(a, b);
}

static int cmp_members(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;

    return cmp_names((*x)->name, (*y)->name);
}

static const struct json_member **sorted_members(struct arena *a, const struct json *v)
{
    const struct json_member **sorted = arena_array(a, const struct json_member *, v->len);

    for (uint32_t i = 0; i < v->len; i++)
        sorted[i] = &v->members[i];
    sort_stable(sorted, v->len, sizeof(*sorted), cmp_members);
    return sorted;
}

/* ---- values ---- */

static void write_value(struct writer *w, const struct json *v);

static void write_mapping(struct writer *w, const struct json *v)
{
    struct arena_mark mark = arena_mark(&w->arena);
    const struct json_member **sorted = sorted_members(&w->arena, v);
    yaml_event_t event;

    if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE))
        die("out of memory");
    emit(w, &event);
    for (uint32_t i = 0; i < v->len; i++) {
        write_text(w, sorted[i]->name);
        write_value(w, &sorted[i]->value);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(w, &event);
    arena_rewind(&w->arena, mark);
}

static void write_sequence(struct writer *w, const struct json *v)
{
    yaml_event_t event;

    if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE))
        die("out of memory");
    emit(w, &event);
    json_each (i, v)
        write_value(w, &v->items[i]);
    yaml_sequence_end_event_initialize(&event);
    emit(w, &event);
}

static void write_value(struct writer *w, const struct json *v)
{
    switch ((enum json_type)v->type) {
    case JSON_STRING:
        write_text(w, json_str(v));
        return;
    case JSON_DOUBLE:
        write_double(w, v->d);
        return;
    case JSON_ARRAY:
        write_sequence(w, v);
        return;
    case JSON_OBJECT:
        write_mapping(w, v);
        return;
    case JSON_RAW:
        write_mapping(w, json_whole(&w->arena, v));
        return;
    default:
        write_scalar(w, json_text(&w->arena, v), YAML_PLAIN_SCALAR_STYLE);
    }
}

void yaml_write(struct buf *out, const struct json *v)
{
    static const struct json null = {.type = JSON_NULL};
    struct writer w = {.arena = arena_sized(4096)};
    yaml_event_t event;

    if (!yaml_emitter_initialize(&w.yaml))
        die("out of memory");
    yaml_emitter_set_output(&w.yaml, put, out);
    yaml_emitter_set_unicode(&w.yaml, 1);
    yaml_emitter_set_width(&w.yaml, WIDTH);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&w, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(&w, &event);
    write_value(&w, v ? v : &null);
    yaml_document_end_event_initialize(&event, 1);
    emit(&w, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&w, &event);
    yaml_emitter_delete(&w.yaml);
    arena_fini(&w.arena);
}
