/* crd_structural_check.c - is an OpenAPI schema structural?
 *
 *     invariants(s)    of each node and all below it: its type, what goes with what, metadata
 *     branch(b)        below allOf, anyOf, oneOf, not: only limits of values, no structure
 *     complete(b, s)   what a branch of the root speaks of stands in the root, too
 */
#include "api/crd_check_priv.h"

#include "base/regex.h"

enum level {
    LEVEL_ROOT,
    LEVEL_ITEM,
    LEVEL_FIELD,
};

struct walk {
    struct field_errors *e;
};

static bool flag(const struct json *s, const char *name)
{
    return json_bool(json_get(s, str_from(name)), false);
}

static struct str type_of(const struct json *s)
{
    return json_str(json_getz(s, "type"));
}

/* ---- words that no structural schema can hold ---- */

struct unstructural {
    const char *word;
};

static void find_word(void *ctx, const struct field_path *p, unused struct str word,
                      unused struct str name, const struct json *s)
{
    static const char *const words[] = {
        "id",          "$schema",      "$ref",           "patternProperties",
        "definitions", "dependencies", "additionalItems"};
    const struct json *keeps = json_getz(s, "x-kubernetes-preserve-unknown-fields");
    struct unstructural *u = ctx;

    for (size_t i = 0; i < countof(words) && !u->word; i++)
        if (crd_says(s, words[i]))
            u->word = words[i];
    if (json_is(json_getz(s, "items"), JSON_ARRAY) && json_len(json_getz(s, "items")))
        u->word = "items";
    if (json_is(keeps, JSON_BOOL) && !keeps->boolean)
        u->word = "x-kubernetes-preserve-unknown-fields";
    if (!u->word)
        crd_each_child(s, p, find_word, u);
}

const char *crd_unstructural_word(const struct json *schema)
{
    struct unstructural u = {0};

    find_word(&u, NULL, S(""), S(""), schema);
    return u.word;
}

/* ---- branches ---- */

static const char *const branch_words[] = {"allOf", "anyOf", "oneOf"};

static void check_branch(struct walk *w, const struct field_path *at, const struct json *s,
                         bool skips_any);

static void check_pattern(struct walk *w, const struct field_path *at, const struct json *s)
{
    const struct json *pattern = json_getz(s, "pattern");
    struct field_path p = field_child(at, S("pattern"));
    struct err err = {0};

    if (json_str(pattern).len == 0)
        return;
    struct regex *re = regex_new(json_str(pattern), &err);
    if (!re)
        field_invalid(w->e, &p, pattern, "must be a valid regular expression, but isn't: %.*s",
                      STR_ARG(err_str(&err)));
    regex_free(re);
}

/* The pattern, and the branches of a node or of a branch. */
static void check_values(struct walk *w, const struct field_path *at, const struct json *s,
                         bool skips_any, bool skips_first_all)
{
    struct field_path not_at = field_child(at, S("not"));
    const struct json *not_ = json_getz(s, "not");

    for (size_t i = 0; i < countof(branch_words); i++) {
        struct str word = str_from(branch_words[i]);
        const struct json *list = json_get(s, word);
        struct field_path word_at = field_child(at, word);
        bool is_all = str_eqz(word, "allOf");
        if (skips_any && str_eqz(word, "anyOf"))
            continue;
        json_each (k, list) {
            struct field_path p = field_item(&word_at, k);
            check_branch(w, &p, json_at(list, k), is_all && skips_first_all && k == 0);
        }
    }
    if (json_is(not_, JSON_OBJECT))
        check_branch(w, &not_at, not_, false);
    check_pattern(w, at, s);
}

/* What must not stand in a branch. */
static void check_branch_words(struct walk *w, const struct field_path *at,
                               const struct json *s)
{
    static const struct {
        const char *word, *must;
    } refused[] = {
        {"type",                                 "empty"    },
        {"additionalProperties",                 "undefined"},
        {"default",                              "undefined"},
        {"title",                                "empty"    },
        {"description",                          "empty"    },
        {"nullable",                             "false"    },
        {"x-kubernetes-preserve-unknown-fields", "false"    },
        {"x-kubernetes-embedded-resource",       "false"    },
        {"x-kubernetes-int-or-string",           "false"    },
        {"x-kubernetes-list-map-keys",           "empty"    },
        {"x-kubernetes-list-type",               "undefined"},
        {"x-kubernetes-map-type",                "undefined"},
        {"x-kubernetes-validations",             "empty"    },
    };

    for (size_t i = 0; i < countof(refused); i++) {
        struct str word = str_from(refused[i].word);
        const struct json *v = json_get(s, word);
        struct field_path p = field_child(at, word);
        bool is_default = str_eqz(word, "default");
        bool is_schema = str_eqz(word, "additionalProperties") && json_is(v, JSON_OBJECT);
        if (is_default ? json_has(v) : is_schema || crd_says(s, refused[i].word))
            field_forbidden(w->e, &p, "must be %s to be structural", refused[i].must);
    }
}

static void check_branch(struct walk *w, const struct field_path *at, const struct json *s,
                         bool skips_any)
{
    const struct json *items = json_getz(s, "items"), *members = json_getz(s, "properties");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path members_at = field_child(at, S("properties"));
    struct field_path meta_at = field_key(&members_at, S("metadata"));

    check_values(w, at, s, skips_any, false);
    if (json_is(items, JSON_OBJECT))
        check_branch(w, &items_at, items, false);
    json_each_member (m, members) {
        struct field_path p = field_key(&members_at, m->name);
        check_branch(w, &p, &m->value, false);
    }
    check_branch_words(w, at, s);
    if (json_get(members, S("metadata")))
        field_forbidden(w->e, &meta_at, "must not be specified in a nested context");
}

/* ---- nodes ---- */

/* `anyOf: [{type: integer}, {type: string}]`: how int-or-string is told to old clients. */
static bool is_int_or_string(const struct json *any)
{
    static const char *const types[] = {"integer", "string"};

    if (json_len(any) != countof(types))
        return false;
    for (size_t i = 0; i < countof(types); i++)
        if (json_len(json_at(any, i)) != 1 || !str_eqz(type_of(json_at(any, i)), types[i]))
            return false;
    return true;
}

static void check_types(struct walk *w, const struct field_path *at, const struct json *s,
                        enum level level)
{
    static const char *const places[] = {
        [LEVEL_ROOT] = "at the root",
        [LEVEL_ITEM] = "for specified array items",
        [LEVEL_FIELD] = "for specified object fields",
    };
    struct field_path type_at = field_child(at, S("type"));
    struct field_path items_at = field_child(at, S("items"));
    bool is_free = flag(s, "x-kubernetes-int-or-string") ||
                   flag(s, "x-kubernetes-preserve-unknown-fields");
    struct str type = type_of(s);

    if (str_eqz(type, "array") && !json_is(json_getz(s, "items"), JSON_OBJECT))
        field_required(w->e, &items_at, "must be specified");
    if (type.len == 0 && !is_free)
        field_required(w->e, &type_at, "must not be empty %s", places[level]);
    if (level == LEVEL_ROOT && type.len && !str_eqz(type, "object"))
        field_invalid(w->e, &type_at, json_getz(s, "type"), "must be object at the root");
}

static void check_resource(struct walk *w, const struct field_path *at, const struct json *s,
                           enum level level)
{
    struct field_path type_at = field_child(at, S("type"));
    struct field_path more_at = field_child(at, S("additionalProperties"));
    struct field_path members_at = field_child(at, S("properties"));
    bool has_more = json_has(json_getz(s, "additionalProperties"));
    struct str type = type_of(s);

    if (level == LEVEL_ROOT && has_more)
        field_forbidden(w->e, &more_at, "must not be used at the root");
    if (!flag(s, "x-kubernetes-embedded-resource"))
        return;
    if (type.len == 0)
        field_required(w->e, &type_at,
                       "must be object if x-kubernetes-embedded-resource is true");
    else if (!str_eqz(type, "object"))
        field_invalid(w->e, &type_at, json_getz(s, "type"),
                      "must be object if x-kubernetes-embedded-resource is true");
    if (has_more)
        field_forbidden(w->e, &more_at,
                        "must not be used if x-kubernetes-embedded-resource is set");
    if (!crd_says(s, "properties") && !flag(s, "x-kubernetes-preserve-unknown-fields"))
        field_required(w->e, &members_at,
                       "must not be empty if x-kubernetes-embedded-resource is true without "
                       "x-kubernetes-preserve-unknown-fields");
}

static void check_int_or_string(struct walk *w, const struct field_path *at,
                                const struct json *s)
{
    static const char *const words[] = {"x-kubernetes-preserve-unknown-fields",
                                        "x-kubernetes-embedded-resource"};

    for (size_t i = 0; i < countof(words) && flag(s, "x-kubernetes-int-or-string"); i++) {
        struct field_path p = field_child(at, str_from(words[i]));
        if (flag(s, words[i]))
            field_invalid(w->e, &p, json_get(s, str_from(words[i])),
                          "must be false if x-kubernetes-int-or-string is true");
    }
}

/* Does the root's metadata say anything but its type and limits of the name? */
static bool restricts_metadata(const struct json *meta)
{
    static const char *const free_words[] = {"type", "default", "example", "externalDocs"};
    const struct json *members = json_getz(meta, "properties");

    json_each_member (m, members) {
        if (!str_eqz(m->name, "name") && !str_eqz(m->name, "generateName"))
            return true;
    }
    json_each_member (m, meta) {
        bool is_free = str_eqz(m->name, "properties");
        for (size_t i = 0; i < countof(free_words); i++)
            is_free |= str_eqz(m->name, free_words[i]);
        if (!is_free && (crd_is_said(&m->value) || m->value.type == JSON_OBJECT))
            return true;
    }
    return false;
}

static void check_metadata(struct walk *w, const struct field_path *at, const struct json *s,
                           enum level level)
{
    static const struct {
        const char *name, *type;
    } rows[] = {
        {"kind",       "string"},
        {"apiVersion", "string"},
        {"metadata",   "object"},
    };
    struct field_path members_at = field_child(at, S("properties"));

    for (size_t i = 0; i < countof(rows); i++) {
        struct str name = str_from(rows[i].name);
        const struct json *member = json_get(json_getz(s, "properties"), name);
        struct field_path p = field_key(&members_at, name);
        struct field_path type_at = field_child(&p, S("type"));
        struct json type = json_of_str(type_of(member));
        if (!member)
            continue;
        if (!str_eqz(type_of(member), rows[i].type))
            field_invalid(w->e, &type_at, &type, "must be %s", rows[i].type);
        if (level == LEVEL_ROOT && str_eqz(name, "metadata") && restricts_metadata(member))
            field_forbidden(w->e, &p,
                            "must not specify anything other than name and generateName, but "
                            "metadata is implicitly specified");
    }
}

static void check_node(struct walk *w, const struct field_path *at, const struct json *s,
                       enum level level)
{
    const struct json *items = json_getz(s, "items"), *members = json_getz(s, "properties");
    const struct json *more = json_getz(s, "additionalProperties");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path members_at = field_child(at, S("properties"));
    struct field_path more_at = field_child(at, S("additionalProperties"));
    const struct json *all = json_getz(s, "allOf");

    check_types(w, at, s, level);
    check_resource(w, at, s, level);
    check_int_or_string(w, at, s);
    if (level == LEVEL_ROOT || flag(s, "x-kubernetes-embedded-resource"))
        check_metadata(w, at, s, level);
    if (json_is(items, JSON_OBJECT))
        check_node(w, &items_at, items, LEVEL_ITEM);
    json_each_member (m, members) {
        struct field_path p = field_key(&members_at, m->name);
        check_node(w, &p, &m->value, LEVEL_FIELD);
    }
    if (json_is(more, JSON_OBJECT))
        check_node(w, &more_at, more, LEVEL_FIELD);
    check_values(w, at, s, is_int_or_string(json_getz(s, "anyOf")),
                 is_int_or_string(json_getz(json_at(all, 0), "anyOf")));
}

/* ---- completeness ---- */

/* A branch, and the node beside it: what the one speaks of, the other declares. */
static void complete(struct walk *w, const struct json *branch, const struct field_path *at,
                     const struct json *s, const struct field_path *s_at);

static void complete_values(struct walk *w, const struct json *branch,
                            const struct field_path *at, const struct json *s,
                            const struct field_path *s_at)
{
    struct field_path not_at = field_child(at, S("not"));

    for (size_t i = 0; i < countof(branch_words); i++) {
        struct field_path word_at = field_child(at, str_from(branch_words[i]));
        const struct json *list = json_get(branch, str_from(branch_words[i]));
        json_each (k, list) {
            struct field_path p = field_item(&word_at, k);
            complete(w, json_at(list, k), &p, s, s_at);
        }
    }
    if (json_is(json_getz(branch, "not"), JSON_OBJECT))
        complete(w, json_getz(branch, "not"), &not_at, s, s_at);
}

static void complete(struct walk *w, const struct json *branch, const struct field_path *at,
                     const struct json *s, const struct field_path *s_at)
{
    const struct json *items = json_getz(branch, "items");
    const struct json *members = json_getz(branch, "properties");
    struct field_path items_at = field_child(at, S("items"));
    struct field_path s_items_at = field_child(s_at, S("items"));
    struct field_path members_at = field_child(at, S("properties"));
    struct field_path s_members_at = field_child(s_at, S("properties"));

    if (!json_is(s, JSON_OBJECT)) {
        field_required(w->e, s_at, "because it is defined in %.*s",
                       STR_ARG(field_path_text(w->e->arena, at)));
        return;
    }
    complete_values(w, branch, at, s, s_at);
    if (json_is(items, JSON_OBJECT))
        complete(w, items, &items_at, json_getz(s, "items"), &s_items_at);
    json_each_member (m, members) {
        struct field_path p = field_key(&members_at, m->name);
        struct field_path s_p = field_key(&s_members_at, m->name);
        complete(w, &m->value, &p, json_get(json_getz(s, "properties"), m->name), &s_p);
    }
}

void crd_structural_check(struct field_errors *e, const struct field_path *at,
                          const struct json *schema)
{
    struct walk w = {.e = e};

    check_node(&w, at, schema, LEVEL_ROOT);
    complete_values(&w, schema, at, schema, at);
}
