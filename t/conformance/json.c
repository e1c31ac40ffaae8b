/* json.c - suite `json`: which texts are JSON, numbers, strict decoding */
#include "conformance.h"

static void numbers(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct err err = {0};
    const struct json *v = json_parse(t->arena, json_str(json_getz(c, "text")), NULL, &err);

    if (json_bool(json_getz(want, "error"), false)) {
        if (v)
            conf_fail(t, "accepted", json_text(t->arena, v), S("an error"));
        return;
    }
    conf_same_str(t, "text", v ? json_text(t->arena, v) : err_str(&err),
                  json_str(json_getz(want, "text")));
}

/* ---- strict ---- */

static const struct str obj_fields[] = {S_INIT("a"), S_INIT("b"), S_INIT("c"), S_INIT("D"),
                                        S_INIT("E")};

static bool is_zero(const struct json *v)
{
    return !json_has(v) || (json_is(v, JSON_INT) && v->i == 0);
}

/* The fields of Obj that v has, without zero ones; the others' names go to *unknown. */
static struct json known_fields(struct conf *t, const struct json *v, bool is_obj,
                                struct json_arr *unknown)
{
    struct json_obj o = obj_in(t->arena);

    json_each_member (m, v) {
        bool is_known = !is_obj;
        for (size_t i = 0; i < countof(obj_fields); i++)
            is_known |= str_eq(obj_fields[i], m->name);
        if (!is_known)
            arr_add(unknown, json_of_str(m->name));
        else if (!is_obj || !is_zero(&m->value))
            obj_add(&o, m->name, m->value);
    }
    return obj_done(&o);
}

static void strict(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *errors = json_getz(want, "strictErrors");
    bool is_obj = str_eq(json_str(json_getz(c, "into")), S("Obj"));
    struct json_arr unknown = arr_in(t->arena), twice = arr_in(t->arena), none = {0};
    struct json_arr want_unknown = arr_in(t->arena), want_twice = arr_in(t->arena);
    struct json_dups dups = {0};
    struct err err = {0};
    const struct json *v = json_parse(t->arena, json_str(json_getz(c, "text")), &dups, &err);
    struct json got, expected;

    if (!v) {
        conf_fail(t, "refused", err_str(&err), S(""));
        return;
    }
    got = known_fields(t, v, is_obj, &unknown);
    expected = known_fields(t, json_getz(want, "value"), is_obj, &none);
    conf_same(t, "value", &got, &expected);

    vec_each (i, &dups.paths)
        arr_add(&twice, json_of_str(dups.paths.at[i]));
    json_each (i, errors) {
        const struct json *e = json_at(errors, i), *field = json_getz(e, "field");
        bool is_unknown = str_eq(json_str(json_getz(e, "kind")), S("unknown"));
        arr_add(is_unknown ? &want_unknown : &want_twice, *field);
    }
    got = arr_done(&unknown), expected = arr_done(&want_unknown);
    conf_same(t, "unknown fields", &got, &expected);
    got = arr_done(&twice), expected = arr_done(&want_twice);
    conf_same(t, "duplicates", &got, &expected);
}

/* ---- y_*, n_*, i_* ---- */

static void document(struct conf *t, struct str text)
{
    struct err err = {0};
    const struct json *v = json_parse(t->arena, text, NULL, &err), *again;
    char kind = t->file.at[0];

    if (kind == 'y' && !v)
        conf_fail(t, "refused", err_str(&err), S("a value"));
    if (kind == 'n' && v)
        conf_fail(t, "accepted", json_text(t->arena, v), S("an error"));
    if (!v)
        return;
    again = json_parse(t->arena, json_text(t->arena, v), NULL, &err);
    conf_same(t, "read again", again, v);
}

static const struct conf_file files[] = {
    {"numbers", .run = numbers  },
    {"strict",  .run = strict   },
    {"y_*",     .text = document},
    {"n_*",     .text = document},
    {"i_*",     .text = document},
};

const struct conf_suite suite_json = {"json", files, countof(files)};
