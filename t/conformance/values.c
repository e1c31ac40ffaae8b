/* values.c - quantities, selectors, names, times (conformance/values/format.md) */
#include "conformance.h"

#include "api/metadata.h"
#include "api/write_options.h"
#include "value/value.h"

static struct str field(const struct json *c, const char *name)
{
    return json_str(json_get(c, str_from(name)));
}

/* Fails where the case says error and ours did not, or the other way round. True where both
 * say no error. */
static bool same_outcome(struct conf *t, const struct json *want, int rc, const struct err *err)
{
    bool fails = json_bool(json_getz(want, "error"), false);

    if (fails != (rc < 0))
        conf_fail(t, "error", rc < 0 ? err_str(err) : S("none"), fails ? S("some") : S("none"));
    return !fails && rc == 0;
}

/* ---- quantities ---- */

static bool read_quantity(struct conf *t, struct str text, struct quantity *q)
{
    struct err err = {0};

    if (quantity_parse(t->arena, text, q, &err) == 0)
        return true;
    conf_fail(t, "cannot read", err_str(&err), text);
    return false;
}

static enum quantity_format format_of(struct str name)
{
    for (int f = 0; f < 2; f++)
        if (str_eqz(name, quantity_format_name((enum quantity_format)f)))
            return (enum quantity_format)f;
    return str_eq(name, S("")) ? QUANTITY_DECIMAL_SI : QUANTITY_DECIMAL_EXPONENT;
}

/* Numbers that the case gives as text, where it gives them. */
static void same_number(struct conf *t, const struct json *want, const char *name, int64_t got)
{
    const struct json *v = json_get(want, str_from(name));

    if (json_has(v))
        conf_same_str(t, name, str_printf(t->arena, "%" PRId64, got), json_str(v));
}

static void same_text(struct conf *t, const struct json *want, const char *name,
                      const struct quantity *q)
{
    if (json_has(json_get(want, str_from(name))))
        conf_same_str(t, name, quantity_text(t->arena, q), field(want, name));
}

/* Two decimal texts as numbers: trailing zeros do not count. */
static void same_decimal(struct conf *t, const char *what, struct decimal got, struct str want)
{
    struct str whole, fraction;
    bool is_negative = str_starts(want, S("-"));

    str_cut(str_slice(want, is_negative, want.len), '.', &whole, &fraction);
    struct decimal d =
        decimal_of_digits(t->arena, is_negative, whole, fraction, -(int32_t)fraction.len);
    if (decimal_cmp(got, d) != 0) {
        struct buf b = buf_in(t->arena, 64);
        decimal_write(&b, got);
        conf_fail(t, what, buf_str(&b), want);
    }
}

static void quantity_parsed(struct conf *t, const struct json *c, struct str text)
{
    const struct json *want = json_getz(c, "want");
    struct quantity q = {0};
    struct err err = {0};

    if (!same_outcome(t, want, quantity_parse(t->arena, text, &q, &err), &err))
        return;
    same_text(t, want, "canonical", &q);
    if (json_has(json_getz(want, "format")))
        conf_same_str(t, "format", str_from(quantity_format_name(q.format)),
                      field(want, "format"));
    if (json_has(json_getz(want, "recanonicalized"))) {
        struct buf b = buf_in(t->arena, 32);
        quantity_write_canonical(&b, &q);
        conf_same_str(t, "recanonicalized", buf_str(&b), field(want, "recanonicalized"));
    }
    if (json_has(json_getz(want, "exact")))
        same_decimal(t, "exact", quantity_decimal(t->arena, &q), field(want, "exact"));
    same_number(t, want, "sign", quantity_sign(&q));
    same_number(t, want, "valueRoundedUp", quantity_scaled_value(&q, 0));
    same_number(t, want, "milliValueRoundedUp", quantity_scaled_value(&q, QUANTITY_MILLI));
}

static void parse_quantity(struct conf *t, const struct json *c)
{
    quantity_parsed(t, c, field(c, "text"));
}

static void quantity_from_json(struct conf *t, const struct json *c)
{
    quantity_parsed(t, c, str_trim(field(c, "text")));
}

static void quantity_math(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str op = field(c, "op");
    struct quantity a, b = {0}, r;
    bool fits = true;

    if (!read_quantity(t, field(c, "a"), &a))
        return;
    if (json_has(json_getz(c, "b")) && !read_quantity(t, field(c, "b"), &b))
        return;
    if (str_eq(op, S("add"))) {
        r = quantity_add(t->arena, &a, &b);
    } else if (str_eq(op, S("sub"))) {
        r = quantity_sub(t->arena, &a, &b);
    } else if (str_eq(op, S("neg"))) {
        r = quantity_neg(t->arena, &a);
    } else {
        int64_t by = 0;
        str_to_i64(field(c, "by"), &by);
        a = quantity_of(quantity_units(&a, 0), 0, QUANTITY_DECIMAL_SI);
        r = quantity_mul(t->arena, &a, by, &fits);
        if (fits != json_bool(json_getz(want, "ok"), false))
            conf_fail(t, "ok", fits ? S("true") : S("false"), S("the other"));
    }
    same_text(t, want, "result", &r);
    if (json_has(json_getz(want, "format")))
        conf_same_str(t, "format", str_from(quantity_format_name(r.format)),
                      field(want, "format"));
}

static void quantity_compared(struct conf *t, const struct json *c)
{
    struct quantity a, b;

    if (!read_quantity(t, field(c, "a"), &a) || !read_quantity(t, field(c, "b"), &b))
        return;
    struct json got = json_of_i64(quantity_cmp(&a, &b));
    conf_same(t, "cmp", &got, json_path(c, "want", "cmp", NULL));
}

static void quantity_rounded(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    int32_t scale = (int32_t)json_i64(json_getz(c, "scale"), 0);
    struct quantity a, r;
    bool is_exact;

    if (!read_quantity(t, field(c, "a"), &a))
        return;
    if (str_eq(field(c, "op"), S("scaledValue"))) {
        same_number(t, want, "value", quantity_scaled_value(&a, scale));
        return;
    }
    r = quantity_round(t->arena, &a, scale, &is_exact);
    same_text(t, want, "result", &r);
    if (is_exact != json_bool(json_getz(want, "exact"), false))
        conf_fail(t, "exact", is_exact ? S("true") : S("false"), S("the other"));
}

static void quantity_made(struct conf *t, const struct json *c)
{
    struct str op = field(c, "op");
    int32_t scale = (int32_t)json_i64(json_getz(c, "scale"), 0);
    int64_t v = 0;

    str_to_i64(field(c, "value"), &v);
    if (str_eq(op, S("fromMilli")))
        scale = QUANTITY_MILLI;
    struct quantity q = quantity_of(v, scale, format_of(field(c, "format")));
    same_text(t, json_getz(c, "want"), "canonical", &q);
}

static void quantity_as_float(struct conf *t, const struct json *c)
{
    struct str want = json_str(json_path(c, "want", "float", NULL));
    struct quantity a;

    if (!read_quantity(t, field(c, "a"), &a))
        return;
    double got = quantity_f64(&a), expected = strtod(str_z(t->arena, want), NULL);
    if (!(got == expected))
        conf_fail(t, "float", str_printf(t->arena, "%.17g", got), want);
}

struct op {
    const char *name;
    conf_fn *run;
};

static void run_op(struct conf *t, const struct json *c, struct str name, const struct op *ops,
                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(name, ops[i].name)) {
            ops[i].run(t, c);
            return;
        }
    conf_fail(t, "no such op", name, S(""));
}

static void quantity_case(struct conf *t, const struct json *c)
{
    static const struct op ops[] = {
        {"parse",       parse_quantity    },
        {"fromJSON",    quantity_from_json},
        {"add",         quantity_math     },
        {"sub",         quantity_math     },
        {"neg",         quantity_math     },
        {"mul",         quantity_math     },
        {"cmp",         quantity_compared },
        {"roundUp",     quantity_rounded  },
        {"scaledValue", quantity_rounded  },
        {"fromInteger", quantity_made     },
        {"fromMilli",   quantity_made     },
        {"fromScaled",  quantity_made     },
        {"float",       quantity_as_float },
    };

    run_op(t, c, field(c, "op"), ops, countof(ops));
}

/* ---- names ---- */

static void name_case(struct conf *t, const struct json *c)
{
    bool want = json_bool(json_path(c, "want", "valid", NULL), false);
    enum name_rule rule;

    if (!name_rule_find(field(c, "rule"), &rule)) {
        conf_fail(t, "no such rule", field(c, "rule"), S(""));
        return;
    }
    const struct json *v = json_getz(c, "value");
    struct name_faults f =
        name_check(rule, json_is(v, JSON_STRING) ? json_str(v) : json_text(t->arena, v));
    if ((f.n == 0) != want)
        conf_fail(t, "valid", f.n ? name_fault(t->arena, &f, 0) : S("valid"),
                  want ? S("valid") : S("not valid"));
}

/* ---- times ---- */

static void time_encoded(struct conf *t, const struct json *c)
{
    const struct json *v = json_getz(c, "value");
    struct str kind = field(c, "kind"), text = json_str(v);
    struct instant at = {0};
    struct span d;
    struct err err = {0};
    struct json got = json_of_null();

    if (str_eq(kind, S("duration"))) {
        if (span_parse(text, &d, &err) == 0)
            got = json_of_str(span_text(t->arena, d));
    } else if (text.len && time_parse(text, &at, &err) == 0) {
        got = json_of_str(str_eq(kind, S("time")) ? time_text(t->arena, at)
                                                  : time_text_micro(t->arena, at));
    }
    const struct json *want = json_path(c, "want", "json", NULL);
    if (json_is(want, JSON_OBJECT) && want->len == 1)
        want = &want->members[0].value;
    conf_same(t, "json", &got, want);
}

static void time_decoded(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *v = json_getz(c, "json");
    struct str kind = field(c, "kind"), text = field(want, "value");
    struct instant at = {0}, at_want = {0};
    struct span d = {0}, d_want = {0};
    struct err err = {0};
    int rc = 0;

    if (json_is(v, JSON_OBJECT) && v->len == 1)
        v = &v->members[0].value;
    if (str_eq(kind, S("duration"))) {
        rc = span_parse(json_str(v), &d, &err);
        if (same_outcome(t, want, rc, &err) && span_parse(text, &d_want, NULL) == 0 &&
            d.ns != d_want.ns)
            conf_fail(t, "value", span_text(t->arena, d), text);
        return;
    }
    if (json_has(v))
        rc = str_eq(kind, S("time")) ? time_parse(json_str(v), &at, &err)
                                     : time_parse_micro(json_str(v), &at, &err);
    if (!same_outcome(t, want, rc, &err))
        return;
    if (text.len)
        time_parse(text, &at_want, NULL);
    if (at.ns != at_want.ns)
        conf_fail(t, "value", time_text_micro(t->arena, at), text);
}

static void time_case(struct conf *t, const struct json *c)
{
    static const struct op ops[] = {
        {"encode", time_encoded},
        {"decode", time_decoded}
    };

    run_op(t, c, field(c, "op"), ops, countof(ops));
}

static void age_case(struct conf *t, const struct json *c)
{
    double seconds = json_f64(json_getz(c, "seconds"), 0);
    struct span d = {(int64_t)__builtin_round(seconds * 1e9)};

    conf_same_str(t, "text", age_text(t->arena, d),
                  json_str(json_path(c, "want", "text", NULL)));
}

/* ---- int-or-string ---- */

static struct int_or_string number_or_text(const struct json *v)
{
    if (json_is(v, JSON_STRING))
        return (struct int_or_string){.is_string = true, .s = json_str(v)};
    return (struct int_or_string){.i = (int32_t)json_i64(v, 0)};
}

static void int_or_string_case(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str op = field(c, "op");
    struct err err = {0};
    struct json got;
    bool is_percent = false;
    int64_t v = 0;
    int rc;

    if (str_eq(op, S("parse"))) {
        struct int_or_string p = int_or_string_parse(field(c, "text"));
        got = p.is_string ? json_of_str(p.s) : json_of_i64(p.i);
        conf_same(t, "value", &got, json_getz(want, "value"));
        return;
    }
    if (str_eq(op, S("value")))
        rc = int_or_string_value(number_or_text(json_getz(c, "input")), &v, &is_percent, &err);
    else
        rc = int_or_string_scaled(number_or_text(json_getz(c, "input")),
                                  json_i64(json_getz(c, "total"), 0),
                                  json_bool(json_getz(c, "roundUp"), false), &v, &err);
    if (!same_outcome(t, want, rc, &err))
        return;
    got = json_of_i64(v);
    conf_same(t, "value", &got, json_getz(want, "value"));
    if (is_percent != json_bool(json_getz(want, "percent"), false))
        conf_fail(t, "percent", is_percent ? S("true") : S("false"), S("the other"));
}

/* ---- selectors ---- */

static void labels_parsed(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct selector s;
    struct err err = {0};
    int rc;

    if (str_eq(field(c, "op"), S("labelSelector")))
        rc = selector_of_json(t->arena, json_getz(c, "labelSelector"), &s, &err);
    else
        rc = selector_parse(t->arena, field(c, "selector"), &s, &err);
    if (!same_outcome(t, want, rc, &err))
        return;
    conf_same_str(t, "canonical", selector_text(t->arena, &s), field(want, "canonical"));
    if (s.matches_nothing != json_bool(json_getz(want, "matchesNothing"), false))
        conf_fail(t, "matchesNothing", s.matches_nothing ? S("true") : S("false"),
                  S("the other"));
}

static void fields_parsed(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct field_selector s;
    struct err err = {0};

    if (same_outcome(t, want, field_selector_parse(t->arena, field(c, "selector"), &s, &err),
                     &err))
        conf_same_str(t, "canonical", field_selector_text(t->arena, &s),
                      field(want, "canonical"));
}

static void same_match(struct conf *t, const struct json *c, bool got)
{
    struct json v = json_of_bool(got), absent = json_of_bool(false);
    const struct json *want = json_path(c, "want", "match", NULL);

    conf_same(t, "match", &v, want ? want : &absent);
}

static void labels_matched(struct conf *t, const struct json *c)
{
    struct selector s;
    struct err err = {0};

    if (selector_parse(t->arena, field(c, "selector"), &s, &err) < 0)
        conf_fail(t, "cannot read", err_str(&err), field(c, "selector"));
    else
        same_match(t, c, selector_matches_json(&s, json_getz(c, "labels")));
}

struct fields {
    const struct json *at;
};

static struct str get_field(void *ctx, struct str name)
{
    const struct fields *f = ctx;

    return json_str(json_get(f->at, name));
}

static void fields_matched(struct conf *t, const struct json *c)
{
    struct fields fields = {json_getz(c, "fields")};
    struct field_selector s;
    struct err err = {0};

    if (field_selector_parse(t->arena, field(c, "selector"), &s, &err) < 0)
        conf_fail(t, "cannot read", err_str(&err), field(c, "selector"));
    else
        same_match(t, c, field_selector_matches(&s, get_field, &fields));
}

/* Two lists of {type, field} as multisets; `strip` counts the leading names that do not
 * matter. */
static void same_errors(struct conf *t, const struct field_errors *got, const struct json *want)
{
    VEC(struct json) left = {0};
    struct buf extra = buf_in(t->arena, 64);

    json_each (i, want)
        vec_push_in(t->arena, &left, *json_at(want, i));
    vec_each (k, &got->list) {
        const struct field_error *e = &got->list.at[k];
        size_t i = 0;
        while (i < left.len && !(str_eq(json_str(json_getz(&left.at[i], "type")),
                                        field_error_reason(e->type)) &&
                                 str_eq(json_str(json_getz(&left.at[i], "field")), e->path)))
            i++;
        if (i < left.len)
            vec_remove(&left, i);
        else
            buf_printf(&extra, "%.*s %.*s; ", STR_ARG(field_error_reason(e->type)),
                       STR_ARG(field_error_text(t->arena, e)));
    }
    if (left.len || extra.len) {
        struct json_arr rest = arr_in(t->arena);
        vec_each (i, &left)
            arr_add(&rest, left.at[i]);
        struct json missing = arr_done(&rest);
        conf_fail(t, "errors", buf_str(&extra), json_text(t->arena, &missing));
    }
}

static void requirement_checked(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);

    selector_check_term(&e, NULL, field(c, "key"), field(c, "operator"),
                        str_list_of(t->arena, json_getz(c, "values")));
    same_errors(t, &e, json_path(c, "want", "errors", NULL));
}

static void selector_case(struct conf *t, const struct json *c)
{
    static const struct op ops[] = {
        {"parseLabels",   labels_parsed      },
        {"labelSelector", labels_parsed      },
        {"parseFields",   fields_parsed      },
        {"matchLabels",   labels_matched     },
        {"matchFields",   fields_matched     },
        {"requirement",   requirement_checked},
    };

    run_op(t, c, field(c, "op"), ops, countof(ops));
}

/* ---- metadata ---- */

static void patch_options(struct field_errors *e, const struct json *c)
{
    const struct json *o = json_getz(c, "options");

    patch_options_check(
        e, (struct patch_options){
               .is_apply = str_starts(field(c, "patchType"), S("application/apply-patch")),
               .has_force = json_has(json_getz(o, "force")),
               .field_manager = field(o, "fieldManager"),
               .field_validation = field(o, "fieldValidation"),
               .dry_run = str_list_of(e->arena, json_getz(o, "dryRun")),
           });
}

static void metadata_case(struct conf *t, const struct json *c)
{
    struct field_errors e = field_errors_in(t->arena);
    struct field_path root = field_child(NULL, S("field"));
    struct field_path conditions = field_child(NULL, S("status"));
    struct field_path list = field_child(&conditions, S("conditions"));
    struct str op = field(c, "op");
    const struct json *want = json_path(c, "want", "errors", NULL);

    if (str_eq(op, S("create"))) {
        metadata_check_create(&e, &root, json_getz(c, "metadata"),
                              (struct metadata_rule){
                                  .is_namespaced = json_bool(json_getz(c, "namespaced"), false),
                                  .name = NAME_DNS_SUBDOMAIN});
    } else if (str_eq(op, S("update"))) {
        metadata_check_update(&e, &root, json_getz(c, "metadata"), json_getz(c, "old"));
    } else if (str_eq(op, S("labels"))) {
        labels_check(&e, &root, json_getz(c, "labels"));
    } else if (str_eq(op, S("annotations"))) {
        annotations_check(&e, &root, json_getz(c, "annotations"));
    } else if (str_eq(op, S("conditions"))) {
        conditions_check(&e, &list, json_getz(c, "conditions"), NULL);
    } else if (str_eq(op, S("patchOptions"))) {
        patch_options(&e, c);
    } else {
        root = field_child(NULL, op);
        if (str_eq(op, S("fieldManager")))
            field_manager_check(&e, &root, field(c, "fieldManager"));
        else if (str_eq(op, S("managedFields")))
            managed_fields_check(&e, &root, json_getz(c, "managedFields"));
        else if (str_eq(op, S("labelSelector")))
            selector_check_json(&e, &root, json_getz(c, "labelSelector"));
        else
            conf_fail(t, "no such op", op, S(""));
    }
    same_errors(t, &e, want);
}

static const struct conf_file files[] = {
    {"metadata",      metadata_case,      NULL},
    {"selectors",     selector_case,      NULL},
    {"quantity",      quantity_case,      NULL},
    {"names",         name_case,          NULL},
    {"times",         time_case,          NULL},
    {"ages",          age_case,           NULL},
    {"int-or-string", int_or_string_case, NULL},
};

const struct conf_suite suite_values = {
    .name = "values", .files = files, .n_files = countof(files)};
