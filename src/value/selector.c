/* selector.c - label selectors: reading, matching, printing, checking */
#include "value/selector.h"

#include "value/names.h"

static const struct str op_names[] = {
    [SELECTOR_IN] = S_INIT("in"),         [SELECTOR_NOT_IN] = S_INIT("notin"),
    [SELECTOR_EQUALS] = S_INIT("="),      [SELECTOR_DOUBLE_EQUALS] = S_INIT("=="),
    [SELECTOR_NOT_EQUALS] = S_INIT("!="), [SELECTOR_EXISTS] = S_INIT("exists"),
    [SELECTOR_NOT_EXISTS] = S_INIT("!"),  [SELECTOR_GREATER] = S_INIT("gt"),
    [SELECTOR_LESS] = S_INIT("lt"),
};

bool selector_op_find(struct str name, enum selector_op *out)
{
    for (size_t i = 0; i < countof(op_names); i++)
        if (str_eq(op_names[i], name)) {
            *out = (enum selector_op)i;
            return true;
        }
    return false;
}

/* ---- checking ---- */

static void check_name(struct field_errors *e, const struct field_path *at, enum name_rule rule,
                       struct str value)
{
    struct json v = json_of_str(value);

    field_check_name(e, at, rule, &v);
}

/* The same, all that is wrong in one error. */
static void check_whole(struct field_errors *e, const struct field_path *at,
                        enum name_rule rule, struct str value)
{
    struct name_faults faults = name_check(rule, value);
    struct json bad = json_of_str(value);
    struct buf b = buf_in(e->arena, 64);

    for (size_t i = 0; i < faults.n; i++) {
        buf_add(&b, i ? S("; ") : S(""));
        buf_add(&b, name_fault(e->arena, &faults, i));
    }
    if (faults.n)
        field_invalid(e, at, &bad, "%.*s", STR_ARG(buf_str(&b)));
}

void labels_check(struct field_errors *e, const struct field_path *at,
                  const struct json *labels)
{
    json_each_member (m, labels) {
        check_name(e, at, NAME_LABEL_KEY, m->name);
        check_name(e, at, NAME_LABEL_VALUE, json_str(&m->value));
    }
}

/* How many values an operator wants. */
static void check_count(struct field_errors *e, const struct field_path *at,
                        enum selector_op op, struct str_list values)
{
    static const struct {
        bool is_bad[3]; /* none, one, several */
        const char *why;
    } rules[] = {
        [SELECTOR_IN] = {{true, false, false},
                         "for 'in', 'notin' operators, values set can't be empty" },
        [SELECTOR_EQUALS] = {{true, false, true},
                         "exact-match compatibility requires one single value"    },
        [SELECTOR_EXISTS] = {{false, true, true},
                         "values set must be empty for exists and does not exist" },
        [SELECTOR_GREATER] = {{true, false, true},
                         "for 'Gt', 'Lt' operators, exactly one value is required"},
    };
    static const enum selector_op as[] = {
        [SELECTOR_IN] = SELECTOR_IN,
        [SELECTOR_NOT_IN] = SELECTOR_IN,
        [SELECTOR_EQUALS] = SELECTOR_EQUALS,
        [SELECTOR_DOUBLE_EQUALS] = SELECTOR_EQUALS,
        [SELECTOR_NOT_EQUALS] = SELECTOR_EQUALS,
        [SELECTOR_EXISTS] = SELECTOR_EXISTS,
        [SELECTOR_NOT_EXISTS] = SELECTOR_EXISTS,
        [SELECTOR_GREATER] = SELECTOR_GREATER,
        [SELECTOR_LESS] = SELECTOR_GREATER,
    };

    if (rules[as[op]].is_bad[MIN(values.len, (size_t)2)]) {
        struct json_arr list = arr_in(e->arena);
        for (size_t i = 0; i < values.len; i++)
            arr_add(&list, json_of_str(values.at[i]));
        struct json bad = arr_done(&list);
        field_invalid(e, at, &bad, "%s", rules[as[op]].why);
    }
}

void selector_check_term(struct field_errors *e, const struct field_path *at, struct str key,
                         struct str op_name, struct str_list values)
{
    struct field_path key_at = field_child(at, S("key")),
                      op_at = field_child(at, S("operator"));
    struct field_path values_at = field_child(at, S("values"));
    enum selector_op op;
    int64_t v;

    check_whole(e, &key_at, NAME_LABEL_KEY, key);
    if (selector_op_find(op_name, &op)) {
        check_count(e, &values_at, op, values);
    } else {
        struct json bad = json_of_str(op_name), known[countof(op_names)];
        for (size_t i = 0; i < countof(op_names); i++)
            known[i] = json_of_str(op_names[i]);
        field_not_supported(e, &op_at, &bad, known, countof(known));
        op = SELECTOR_IN;
    }
    for (size_t i = 0; i < values.len; i++) {
        struct field_path item = field_item(&values_at, i);
        struct field_path value_at = field_key(&item, key); /* as upstream has it */
        struct json bad = json_of_str(values.at[i]);
        if ((op == SELECTOR_GREATER || op == SELECTOR_LESS) && !str_to_i64(values.at[i], &v))
            field_invalid(e, &item, &bad,
                          "for 'Gt', 'Lt' operators, the value must be an integer");
        check_whole(e, &value_at, NAME_LABEL_VALUE, values.at[i]);
    }
}

/* One of matchExpressions. */
static void check_expression(struct field_errors *e, const struct field_path *at,
                             const struct json *x)
{
    struct str op = json_str(json_getz(x, "operator"));
    const struct json *values = json_getz(x, "values");
    struct field_path key_at = field_child(at, S("key")),
                      op_at = field_child(at, S("operator"));
    struct field_path values_at = field_child(at, S("values"));
    struct json bad = json_of_str(op);

    if (str_eq(op, S("In")) || str_eq(op, S("NotIn"))) {
        if (json_len(values) == 0)
            field_required(e, &values_at,
                           "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_eq(op, S("Exists")) || str_eq(op, S("DoesNotExist"))) {
        if (json_len(values) > 0)
            field_forbidden(
                e, &values_at,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
        field_invalid(e, &op_at, &bad, "not a valid selector operator");
    }
    check_name(e, &key_at, NAME_LABEL_KEY, json_str(json_getz(x, "key")));
    json_each (i, values) {
        struct field_path item = field_item(&values_at, i);
        check_name(e, &item, NAME_LABEL_VALUE, json_str(json_at(values, i)));
    }
}

void selector_check_json(struct field_errors *e, const struct field_path *at,
                         const struct json *label_selector)
{
    const struct json *list = json_getz(label_selector, "matchExpressions");
    struct field_path labels_at = field_child(at, S("matchLabels"));
    struct field_path list_at = field_child(at, S("matchExpressions"));

    labels_check(e, &labels_at, json_getz(label_selector, "matchLabels"));
    json_each (i, list) {
        struct field_path item = field_item(&list_at, i);
        check_expression(e, &item, json_at(list, i));
    }
}

/* ---- building ---- */

struct builder {
    struct arena *arena;
    VEC(struct selector_term) terms;
};

static int by_text(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

static int by_key(const struct selector_term *x, const struct selector_term *y)
{
    return str_cmp(x->key, y->key);
}

static struct str_list sorted(struct arena *a, struct str_list list)
{
    VEC(struct str) v = {0};

    for (size_t i = 0; i < list.len; i++)
        vec_push_in(a, &v, list.at[i]);
    vec_sort(&v, by_text);
    return (struct str_list){v.at, v.len};
}

/* Without those that are there twice: so upstream reads texts, but not objects. */
static struct str_list as_set(struct arena *a, struct str_list list)
{
    struct str_list all = sorted(a, list);
    VEC(struct str) v = {0};

    for (size_t i = 0; i < all.len; i++)
        if (i == 0 || !str_eq(all.at[i - 1], all.at[i]))
            vec_push_in(a, &v, all.at[i]);
    return (struct str_list){v.at, v.len};
}

static int add_term(struct builder *b, struct str key, enum selector_op op,
                    struct str_list values, struct err *err)
{
    struct field_errors e = field_errors_in(b->arena);
    struct selector_term t = {.key = key, .op = op, .values = sorted(b->arena, values)};

    selector_check_term(&e, NULL, key, op_names[op], t.values);
    if (e.list.len)
        return err_set(err, ERR_INVALID, "%.*s", STR_ARG(field_errors_text(b->arena, &e)));
    if (op == SELECTOR_GREATER || op == SELECTOR_LESS)
        str_to_i64(t.values.at[0], &t.number);
    vec_push_in(b->arena, &b->terms, t);
    return 0;
}

static struct selector done(struct builder *b)
{
    vec_sort(&b->terms, by_key);
    return (struct selector){.at = b->terms.at, .len = b->terms.len};
}

struct selector selector_of_map(struct arena *a, const struct str_map *labels)
{
    struct builder b = {.arena = a};

    for (size_t i = 0; i < labels->len; i++) {
        struct selector_term t = {
            .key = labels->at[i].key,
            .op = SELECTOR_EQUALS,
            .values = {arena_copy(a, &labels->at[i].value), 1},
        };
        vec_push_in(a, &b.terms, t);
    }
    return done(&b);
}

int selector_of_json(struct arena *a, const struct json *label_selector, struct selector *out,
                     struct err *err)
{
    static const struct {
        struct str name;
        enum selector_op op;
    } ops[] = {
        {S_INIT("In"),           SELECTOR_IN        },
        {S_INIT("NotIn"),        SELECTOR_NOT_IN    },
        {S_INIT("Exists"),       SELECTOR_EXISTS    },
        {S_INIT("DoesNotExist"), SELECTOR_NOT_EXISTS},
    };
    struct builder b = {.arena = a};
    const struct json *list = json_getz(label_selector, "matchExpressions");

    if (!json_has(label_selector)) {
        *out = (struct selector){.matches_nothing = true};
        return 0;
    }
    json_each_member (m, json_getz(label_selector, "matchLabels")) {
        struct str value = json_str(&m->value);
        if (add_term(&b, m->name, SELECTOR_EQUALS, (struct str_list){&value, 1}, err) < 0)
            return -1;
    }
    json_each (i, list) {
        const struct json *x = json_at(list, i);
        struct str op = json_str(json_getz(x, "operator"));
        size_t k = 0;
        while (k < countof(ops) && !str_eq(ops[k].name, op))
            k++;
        if (k == countof(ops))
            return err_set(err, ERR_INVALID, "\"%.*s\" is not a valid label selector operator",
                           STR_ARG(op));
        if (add_term(&b, json_str(json_getz(x, "key")), ops[k].op,
                     str_list_of(a, json_getz(x, "values")), err) < 0)
            return -1;
    }
    *out = done(&b);
    return 0;
}

/* ---- reading text ---- */

enum token {
    TOKEN_END,
    TOKEN_WORD, /* a key or a value, also `in` and `notin` where one is wanted */
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NOT,
    TOKEN_OP, /* op tells which */
};

struct lexer {
    struct str text;
    size_t at;
    bool has_next;
    enum token token;
    enum selector_op op;
    struct str literal;
};

static bool is_special(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const struct {
    struct str text;
    enum token token;
    enum selector_op op;
} specials[] = {
    {S_INIT(","),  TOKEN_COMMA, 0                     },
    {S_INIT("=="), TOKEN_OP,    SELECTOR_DOUBLE_EQUALS},
    {S_INIT("="),  TOKEN_OP,    SELECTOR_EQUALS       },
    {S_INIT("("),  TOKEN_OPEN,  0                     },
    {S_INIT(")"),  TOKEN_CLOSE, 0                     },
    {S_INIT("!="), TOKEN_OP,    SELECTOR_NOT_EQUALS   },
    {S_INIT("!"),  TOKEN_NOT,   0                     },
    {S_INIT(">"),  TOKEN_OP,    SELECTOR_GREATER      },
    {S_INIT("<"),  TOKEN_OP,    SELECTOR_LESS         },
};

static enum token look(struct lexer *l)
{
    if (l->has_next)
        return l->token;
    l->has_next = true;
    while (l->at < l->text.len && is_space(l->text.at[l->at]))
        l->at++;
    if (l->at == l->text.len) {
        l->literal = S("");
        return l->token = TOKEN_END;
    }
    struct str rest = str_slice(l->text, l->at, l->text.len);
    for (size_t i = 0; is_special(rest.at[0]) && i < countof(specials); i++)
        if (str_starts(rest, specials[i].text)) {
            l->literal = specials[i].text;
            l->op = specials[i].op;
            l->at += l->literal.len;
            return l->token = specials[i].token;
        }
    size_t n = 0;
    while (n < rest.len && !is_special(rest.at[n]) && !is_space(rest.at[n]))
        n++;
    l->literal = str_slice(rest, 0, n);
    l->at += n;
    return l->token = TOKEN_WORD;
}

static enum token take(struct lexer *l)
{
    enum token t = look(l);

    l->has_next = false;
    return t;
}

static int expected(struct lexer *l, const char *what, struct err *err)
{
    return err_set(err, ERR_SYNTAX, "found '%.*s', expected: %s",
                   (int)MIN(l->literal.len, (size_t)64), l->literal.at, what);
}

static int take_operator(struct lexer *l, enum selector_op *op, struct err *err)
{
    enum token t = take(l);

    *op = l->op;
    if (t == TOKEN_OP)
        return 0;
    if (t == TOKEN_WORD && str_eq(l->literal, S("in")))
        *op = SELECTOR_IN;
    else if (t == TOKEN_WORD && str_eq(l->literal, S("notin")))
        *op = SELECTOR_NOT_IN;
    else
        return expected(l, "in, notin, =, ==, !=, gt, lt", err);
    return 0;
}

/* `(a,b)`; what stands between two commas, or before the first or last one, may be empty. */
static int take_values(struct lexer *l, struct arena *a, struct str_list *out, struct err *err)
{
    VEC(struct str) v = {0};
    bool wants_value = true;

    if (take(l) != TOKEN_OPEN)
        return expected(l, "'('", err);
    for (;; wants_value = !wants_value) {
        enum token t = look(l);
        if (wants_value && t != TOKEN_WORD) {
            if (t != TOKEN_COMMA && t != TOKEN_CLOSE)
                return expected(l, "',', ')' or identifier", err);
            vec_push_in(a, &v, S(""));
            continue; /* what follows is judged as behind a value */
        }
        take(l);
        if (wants_value)
            vec_push_in(a, &v, l->literal);
        else if (t == TOKEN_CLOSE)
            break;
        else if (t != TOKEN_COMMA)
            return expected(l, "',' or ')'", err);
    }
    *out = (struct str_list){v.at, v.len};
    return 0;
}

static int take_exact_value(struct lexer *l, struct str *out, struct err *err)
{
    enum token t = look(l);

    *out = S("");
    if (t == TOKEN_END || t == TOKEN_COMMA)
        return 0;
    if (take(l) != TOKEN_WORD)
        return expected(l, "identifier", err);
    *out = l->literal;
    return 0;
}

static int take_requirement(struct lexer *l, struct builder *b, struct err *err)
{
    bool is_not = look(l) == TOKEN_NOT;
    enum selector_op op;
    struct str key, value;
    struct str_list values = {0};

    if (is_not)
        take(l);
    if (take(l) != TOKEN_WORD)
        return expected(l, "identifier", err);
    key = l->literal;
    if (is_not)
        return add_term(b, key, SELECTOR_NOT_EXISTS, values, err);
    if (look(l) == TOKEN_END || look(l) == TOKEN_COMMA)
        return add_term(b, key, SELECTOR_EXISTS, values, err);
    if (take_operator(l, &op, err) < 0)
        return -1;
    if (op == SELECTOR_IN || op == SELECTOR_NOT_IN) {
        if (take_values(l, b->arena, &values, err) < 0)
            return -1;
    } else {
        if (take_exact_value(l, &value, err) < 0)
            return -1;
        values = (struct str_list){&value, 1};
    }
    return add_term(b, key, op, as_set(b->arena, values), err);
}

int selector_parse(struct arena *a, struct str text, struct selector *out, struct err *err)
{
    struct lexer l = {.text = text};
    struct builder b = {.arena = a};

    if (text.len > SELECTOR_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "a selector of %zu bytes is over the limit of %zu",
                       text.len, SELECTOR_MAX_TEXT);
    for (bool after_comma = false; look(&l) != TOKEN_END || after_comma;) {
        if (look(&l) != TOKEN_WORD && look(&l) != TOKEN_NOT)
            return expected(
                &l, after_comma ? "identifier after ','" : "!, identifier, or 'end of string'",
                err);
        if (take_requirement(&l, &b, err) < 0) {
            if (err)
                err->code = ERR_SYNTAX;
            return err_wrap(err, "unable to parse requirement");
        }
        after_comma = look(&l) == TOKEN_COMMA;
        if (!after_comma && look(&l) != TOKEN_END)
            return expected(&l, "',' or 'end of string'", err);
        take(&l);
    }
    *out = done(&b);
    return 0;
}

/* ---- matching ---- */

static bool term_matches(const struct selector_term *t, const struct str *value)
{
    int64_t v;

    switch (t->op) {
    case SELECTOR_IN:
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return value && str_list_has(&t->values, *value);
    case SELECTOR_NOT_IN:
    case SELECTOR_NOT_EQUALS:
        return !value || !str_list_has(&t->values, *value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_NOT_EXISTS:
        return value == NULL;
    case SELECTOR_GREATER:
        return value && str_to_i64(*value, &v) && v > t->number;
    case SELECTOR_LESS:
        return value && str_to_i64(*value, &v) && v < t->number;
    }
    return false;
}

bool selector_matches(const struct selector *s, const struct str_map *labels)
{
    if (s->matches_nothing)
        return false;
    for (size_t i = 0; i < s->len; i++)
        if (!term_matches(&s->at[i], str_map_find(labels, s->at[i].key)))
            return false;
    return true;
}

bool selector_matches_json(const struct selector *s, const struct json *labels)
{
    if (s->matches_nothing)
        return false;
    for (size_t i = 0; i < s->len; i++) {
        const struct json *v = json_get(labels, s->at[i].key);
        struct str value = json_str(v);
        if (!term_matches(&s->at[i], v ? &value : NULL))
            return false;
    }
    return true;
}

/* ---- printing ---- */

static void write_term(struct buf *out, const struct selector_term *t)
{
    static const struct str between[] = {
        [SELECTOR_IN] = S_INIT(" in ("),      [SELECTOR_NOT_IN] = S_INIT(" notin ("),
        [SELECTOR_EQUALS] = S_INIT("="),      [SELECTOR_DOUBLE_EQUALS] = S_INIT("=="),
        [SELECTOR_NOT_EQUALS] = S_INIT("!="), [SELECTOR_EXISTS] = S_INIT(""),
        [SELECTOR_NOT_EXISTS] = S_INIT(""),   [SELECTOR_GREATER] = S_INIT(">"),
        [SELECTOR_LESS] = S_INIT("<"),
    };

    if (t->op == SELECTOR_NOT_EXISTS)
        buf_byte(out, '!');
    buf_add(out, t->key);
    buf_add(out, between[t->op]);
    for (size_t i = 0; i < t->values.len; i++) {
        if (i)
            buf_byte(out, ',');
        buf_add(out, t->values.at[i]);
    }
    if (t->op == SELECTOR_IN || t->op == SELECTOR_NOT_IN)
        buf_byte(out, ')');
}

void selector_write(struct buf *out, const struct selector *s)
{
    for (size_t i = 0; i < s->len; i++) {
        if (i)
            buf_byte(out, ',');
        write_term(out, &s->at[i]);
    }
}

struct str selector_text(struct arena *a, const struct selector *s)
{
    struct buf out = buf_in(a, 64);

    selector_write(&out, s);
    return buf_str(&out);
}
