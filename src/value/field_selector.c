/* field_selector.c - which field values are meant: `metadata.name=a,spec.nodeName!=b` */
#include "value/selector.h"

/* The part up to the next comma that no backslash stands before. */
static struct str take_part(struct str *rest, bool *has_more)
{
    size_t i = 0;

    while (i < rest->len && rest->at[i] != ',')
        i += rest->at[i] == '\\' ? 2 : 1;
    i = MIN(i, rest->len);
    struct str part = str_slice(*rest, 0, i);
    *has_more = i < rest->len;
    *rest = str_slice(*rest, i + 1, rest->len);
    return part;
}

static int unescape(struct arena *a, struct str s, struct str *out, struct err *err)
{
    struct buf b = buf_in(a, s.len + 1);

    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == ',' || s.at[i] == '=')
            return err_set(err, ERR_SYNTAX,
                           "invalid field selector: unescaped character in value: %c", s.at[i]);
        if (s.at[i] == '\\') {
            char c = i + 1 < s.len ? s.at[i + 1] : 0;
            if (c != '\\' && c != ',' && c != '=')
                return err_set(err, ERR_SYNTAX,
                               "invalid field selector: invalid escape sequence: \\%.1s", &c);
            i++;
        }
        buf_byte(&b, s.at[i]);
    }
    *out = buf_str(&b);
    return 0;
}

static int read_part(struct arena *a, struct str text, struct str part, struct field_term *out,
                     struct err *err)
{
    for (size_t i = 0; i < part.len; i++) {
        struct str rest = str_slice(part, i, part.len);
        size_t n = str_starts(rest, S("!=")) || str_starts(rest, S("=="))
                       ? 2
                       : str_starts(rest, S("="));
        if (n == 0)
            continue;
        out->field = str_slice(part, 0, i);
        out->is_not = rest.at[0] == '!';
        return unescape(a, str_slice(rest, n, rest.len), &out->value, err);
    }
    return err_set(err, ERR_SYNTAX, "invalid selector: '%.*s'; can't understand '%.*s'",
                   (int)MIN(text.len, (size_t)128), text.at, (int)MIN(part.len, (size_t)128),
                   part.at);
}

static int by_text(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

int field_selector_parse(struct arena *a, struct str text, struct field_selector *out,
                         struct err *err)
{
    VEC(struct str) parts = {0};
    VEC(struct field_term) terms = {0};
    struct str rest = text;

    if (text.len > SELECTOR_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "a field selector of %zu bytes is over the limit of %zu",
                       text.len, SELECTOR_MAX_TEXT);
    for (bool has_more = text.len > 0; has_more;) {
        struct str part = take_part(&rest, &has_more);
        if (part.len)
            vec_push_in(a, &parts, part);
    }
    vec_sort(&parts, by_text);
    vec_each (i, &parts) {
        struct field_term t = {0};
        if (read_part(a, text, parts.at[i], &t, err) < 0)
            return -1;
        if (t.field.len || t.value.len) /* `=` alone asks for nothing */
            vec_push_in(a, &terms, t);
    }
    *out = (struct field_selector){terms.at, terms.len};
    return 0;
}

void field_selector_write(struct buf *out, const struct field_selector *s)
{
    for (size_t i = 0; i < s->len; i++) {
        const struct field_term *t = &s->at[i];
        if (i)
            buf_byte(out, ',');
        buf_add(out, t->field);
        buf_add(out, t->is_not ? S("!=") : S("="));
        for (size_t k = 0; k < t->value.len; k++) {
            if (strchr("\\,=", t->value.at[k]) && t->value.at[k])
                buf_byte(out, '\\');
            buf_byte(out, t->value.at[k]);
        }
    }
}

struct str field_selector_text(struct arena *a, const struct field_selector *s)
{
    struct buf out = buf_in(a, 64);

    field_selector_write(&out, s);
    return buf_str(&out);
}

bool field_selector_matches(const struct field_selector *s, field_get_fn *get, void *ctx)
{
    for (size_t i = 0; i < s->len; i++)
        if (str_eq(get(ctx, s->at[i].field), s->at[i].value) == s->at[i].is_not)
            return false;
    return true;
}

bool field_selector_exact(const struct field_selector *s, struct str field, struct str *value)
{
    for (size_t i = 0; i < s->len; i++)
        if (!s->at[i].is_not && str_eq(s->at[i].field, field)) {
            *value = s->at[i].value;
            return true;
        }
    return false;
}
