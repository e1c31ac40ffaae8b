/* smd.c - suite `smd`: sets of fields, typed values, server-side apply */
#include "conformance.h"
#include "schema/managers.h"
#include "yaml/yaml.h"

/* ---- schemas in the notation of the cases ---- */

struct notation {
    struct arena *a;
    const struct json *types;
    MAP(struct schema *) known; /* by type name */
};

static void compile(struct notation *n, const struct json *t, struct schema *out);

static struct schema *named(struct notation *n, struct str name)
{
    struct schema **known = map_get(&n->known, name), *s;

    if (known)
        return *known;
    s = arena_new(n->a, struct schema);
    *map_put(&n->known, name) = s;
    if (str_eq(name, S("__untyped_deduced_"))) {
        *s = (struct schema){.type = SCHEMA_ANY, .map_type = MAP_GRANULAR};
        return s;
    }
    if (str_eq(name, S("__untyped_atomic_"))) {
        *s = (struct schema){.type = SCHEMA_ANY, .map_type = MAP_ATOMIC};
        return s;
    }
    json_each (i, n->types)
        if (str_eq(json_str(json_getz(&n->types->items[i], "name")), name))
            compile(n, &n->types->items[i], s);
    return s;
}

static struct schema *type_of(struct notation *n, const struct json *t)
{
    struct str ref = json_str(json_getz(t, "namedType"));
    struct schema *s;

    if (ref.len && !json_getz(t, "elementRelationship"))
        return named(n, ref);
    s = arena_new(n->a, struct schema);
    compile(n, t, s);
    return s;
}

static void compile_fields(struct notation *n, const struct json *fields, struct schema *out)
{
    struct schema_field *f = arena_array(n->a, struct schema_field, json_len(fields));

    json_each (i, fields) {
        const struct json *x = &fields->items[i], *def = json_getz(x, "default");
        struct schema *type = type_of(n, json_getz(x, "type"));
        if (def)
            type = arena_copy(n->a, type), type->def = def;
        f[i] = (struct schema_field){.name = json_str(json_getz(x, "name")), .type = type};
    }
    out->fields = f;
    out->n_fields = (uint16_t)json_len(fields);
}

static void compile_list(struct notation *n, const struct json *list, struct schema *out)
{
    const struct json *keys = json_getz(list, "keys");
    struct str how = json_str(json_getz(list, "elementRelationship"));

    out->type = SCHEMA_LIST;
    out->item = type_of(n, json_getz(list, "elementType"));
    out->n_keys = (uint16_t)json_len(keys);
    struct str *names = arena_array(n->a, struct str, out->n_keys);
    json_each (i, keys)
        names[i] = json_str(&keys->items[i]);
    out->keys = names;
    out->list_type =
        str_eq(how, S("associative")) ? (out->n_keys ? LIST_MAP : LIST_SET) : LIST_ATOMIC;
}

static void compile_map(struct notation *n, const struct json *map, struct schema *out)
{
    const struct json *element = json_getz(map, "elementType");

    out->type = json_getz(map, "fields") ? SCHEMA_OBJECT : SCHEMA_MAP;
    out->map_type = str_eq(json_str(json_getz(map, "elementRelationship")), S("atomic"))
                        ? MAP_ATOMIC
                        : MAP_GRANULAR;
    if (element)
        out->value = type_of(n, element);
    compile_fields(n, json_getz(map, "fields"), out);
}

static void override(struct str how, struct schema *out)
{
    if (how.len == 0)
        return;
    if (out->type == SCHEMA_LIST)
        out->list_type = str_eq(how, S("atomic")) ? LIST_ATOMIC
                         : out->n_keys            ? LIST_MAP
                                                  : LIST_SET;
    else
        out->map_type = str_eq(how, S("atomic")) ? MAP_ATOMIC : MAP_GRANULAR;
}

static void compile(struct notation *n, const struct json *t, struct schema *out)
{
    const struct json *map = json_getz(t, "map"), *list = json_getz(t, "list");
    struct str scalar = json_str(json_getz(t, "scalar"));
    struct str ref = json_str(json_getz(t, "namedType"));

    if (ref.len) {
        *out = *named(n, ref);
    } else if (scalar.len && (map || list)) {
        struct str how = json_str(json_getz(list, "elementRelationship"));
        bool is_set = str_eq(how, S("associative"));
        *out = (struct schema){.type = SCHEMA_ANY,
                               .list_type = is_set ? LIST_SET : LIST_ATOMIC,
                               .map_type = MAP_GRANULAR};
        if (str_eq(json_str(json_getz(map, "elementRelationship")), S("atomic")))
            out->map_type = MAP_ATOMIC;
    } else if (map) {
        compile_map(n, map, out);
    } else if (list) {
        compile_list(n, list, out);
    } else if (scalar.len) {
        out->type = str_eq(scalar, S("numeric"))   ? SCHEMA_DOUBLE
                    : str_eq(scalar, S("string"))  ? SCHEMA_STRING
                    : str_eq(scalar, S("boolean")) ? SCHEMA_BOOL
                                                   : SCHEMA_INT_OR_STRING;
    }
    override(json_str(json_getz(t, "elementRelationship")), out);
}

static const struct schema *schema_named(struct arena *a, const struct json *schema,
                                         struct str type)
{
    struct notation n = {.a = a, .types = json_getz(schema, "types")};
    const struct schema *s;

    if (str_eq(json_str(schema), S("deduced")))
        type = S("__untyped_deduced_");
    s = named(&n, type);
    map_fini(&n.known);
    return s;
}

static const struct schema *schema_of(struct conf *t, const struct json *c)
{
    return schema_named(t->arena, json_getz(c, "schema"), json_str(json_getz(c, "type")));
}

/* ---- sets ---- */

static struct fieldset set_of(struct conf *t, const struct json *v)
{
    struct fieldset set = {0};
    struct err err = {0};

    if (v && fieldset_read(t->arena, v, &set, &err) < 0)
        conf_fail(t, "the set cannot be read", err_str(&err), json_text(t->arena, v));
    return set;
}

static void same_set(struct conf *t, const char *what, struct fieldset got,
                     const struct json *want)
{
    struct json v = fieldset_write(t->arena, got);

    if (!fieldset_eq(got, set_of(t, want)))
        conf_fail(t, what, json_text(t->arena, &v), json_text(t->arena, want));
}

static void fields_v1(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct fieldset set;
    struct err err = {0};
    const struct json *v = json_parse(t->arena, json_str(json_getz(c, "text")), NULL, &err);
    bool ok = v && fieldset_read(t->arena, v, &set, &err) == 0;

    if (json_bool(json_getz(want, "error"), false)) {
        if (ok)
            conf_fail(t, "accepted", json_text(t->arena, v), S("an error"));
    } else if (!ok) {
        conf_fail(t, "refused", err_str(&err), S(""));
    } else {
        struct json out = fieldset_write(t->arena, set);
        conf_same_str(t, "text", json_text(t->arena, &out), json_str(json_getz(want, "text")));
    }
}

static struct element element_of(struct conf *t, struct str text)
{
    struct element e = {0};
    struct err err = {0};
    bool known;

    if (element_read(t->arena, text, &e, &known, &err) < 0)
        conf_fail(t, "element", err_str(&err), text);
    return e;
}

static void path_element(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct str text = json_str(json_getz(c, "text"));
    struct element e;
    struct err err = {0};
    bool known, ok = element_read(t->arena, text, &e, &known, &err) == 0;

    if (json_bool(json_getz(want, "error"), false)) {
        if (ok)
            conf_fail(t, "accepted", text, S("an error"));
    } else if (!ok) {
        conf_fail(t, "refused", err_str(&err), S(""));
    } else if (json_bool(json_getz(want, "unknownType"), false)) {
        if (known)
            conf_fail(t, "known", text, S("an unknown type"));
    } else {
        conf_same_str(t, "text", element_write(t->arena, &e),
                      json_str(json_getz(want, "text")));
    }
}

static void path_string(struct conf *t, const struct json *c)
{
    const struct json *path = json_getz(c, "path");
    struct element *e = arena_array(t->arena, struct element, json_len(path));

    json_each (i, path)
        e[i] = element_of(t, json_str(&path->items[i]));
    conf_same_str(t, "text", element_path(t->arena, e, json_len(path)),
                  json_str(json_path(c, "want", "text", NULL)));
}

static void element_order(struct conf *t, const struct json *c)
{
    struct element x = element_of(t, json_str(json_getz(c, "a")));
    struct element y = element_of(t, json_str(json_getz(c, "b")));
    int order = element_cmp(&x, &y), back = element_cmp(&y, &x);
    bool is_equal = str_eq(json_str(json_path(c, "want", "a", NULL)), S("equal"));

    if (is_equal ? order || back : order >= 0 || back <= 0)
        conf_fail(t, "order", str_printf(t->arena, "%d %d", order, back),
                  json_str(json_path(c, "want", "a", NULL)));
}

static void set_ops(struct conf *t, const struct json *c)
{
    struct str op = json_str(json_getz(c, "op"));
    struct fieldset x = set_of(t, json_getz(c, "a")), y = set_of(t, json_getz(c, "b")), got;
    const struct json *want = json_getz(c, "want"), *filter = json_getz(c, "filter");
    struct err err = {0};

    if (str_eq(op, S("equals"))) {
        struct json v = json_of_bool(fieldset_eq(x, y));
        conf_same(t, "equal", &v, json_getz(want, "equal"));
        return;
    }
    if (str_eq(op, S("union")))
        got = fieldset_union(t->arena, x, y);
    else if (str_eq(op, S("intersection")))
        got = fieldset_intersection(t->arena, x, y);
    else if (str_eq(op, S("difference")))
        got = fieldset_difference(t->arena, x, y);
    else if (str_eq(op, S("recursiveDifference")))
        got = fieldset_recursive_difference(t->arena, x, y);
    else if (str_eq(op, S("leaves")))
        got = fieldset_leaves(t->arena, x);
    else if (json_getz(filter, "excludeSet"))
        got = fieldset_recursive_difference(t->arena, x,
                                            set_of(t, json_getz(filter, "excludeSet")));
    else if (fieldset_include(t->arena, x, json_getz(filter, "include"), &got, &err) < 0)
        conf_fail(t, "include", err_str(&err), S(""));
    if (!t->has_failed)
        same_set(t, "set", got, json_getz(want, "set"));
}

/* ---- typed values ---- */

static void to_set(struct conf *t, const struct json *c)
{
    struct fieldset set;
    struct err err = {0};

    if (typed_set(t->arena, schema_of(t, c), json_getz(c, "object"), &set, &err) < 0)
        conf_fail(t, "error", err_str(&err), S(""));
    else
        same_set(t, "set", set, json_path(c, "want", "set", NULL));
}

static void set_from_value(struct conf *t, const struct json *c)
{
    same_set(t, "set", typed_guess(t->arena, json_getz(c, "object")),
             json_path(c, "want", "set", NULL));
}

static void compare(struct conf *t, const struct json *c)
{
    const struct schema *s = schema_of(t, c);
    const struct json *want = json_getz(c, "want"), *l = json_getz(c, "lhs"),
                      *r = json_getz(c, "rhs");
    struct typed_changes there, back;
    struct err err = {0};

    if (typed_compare(t->arena, s, l, r, &there, &err) < 0 ||
        typed_compare(t->arena, s, r, l, &back, &err) < 0) {
        conf_fail(t, "error", err_str(&err), json_text(t->arena, want));
        return;
    }
    same_set(t, "removed", there.removed, json_getz(want, "removed"));
    same_set(t, "modified", there.modified, json_getz(want, "modified"));
    same_set(t, "added", there.added, json_getz(want, "added"));
    same_set(t, "removed, other way", back.removed, json_getz(want, "added"));
    same_set(t, "modified, other way", back.modified, json_getz(want, "modified"));
    same_set(t, "added, other way", back.added, json_getz(want, "removed"));
}

static void merge_values(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct err err = {0};
    const struct json *got =
        typed_merge(t->arena, schema_of(t, c), json_getz(c, "lhs"), json_getz(c, "rhs"), &err);

    if (!got)
        conf_fail(t, "error", err_str(&err), json_text(t->arena, want));
    else
        conf_same(t, "out", got, json_getz(want, "out"));
}

static void remove_items(struct conf *t, const struct json *c)
{
    const struct schema *s = schema_of(t, c);
    const struct json *v = json_getz(c, "object"), *want = json_getz(c, "want");
    struct fieldset set = set_of(t, json_getz(c, "set"));
    struct err err = {0};

    if (json_getz(want, "removed"))
        conf_same(t, "removed", typed_remove(t->arena, s, v, set), json_getz(want, "removed"));
    if (json_getz(want, "extracted"))
        conf_same(t, "extracted",
                  typed_extract(t->arena, s, v, set, json_bool(json_getz(c, "withKeys"), false),
                                &err),
                  json_getz(want, "extracted"));
}

static void reconcile(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want");
    struct fieldset out;
    bool is_changed =
        typed_reconcile(t->arena, schema_of(t, c), set_of(t, json_getz(c, "set")), &out);

    if (json_bool(json_getz(want, "unchanged"), false) == is_changed)
        conf_fail(t, "changed", is_changed ? S("yes") : S("no"), json_text(t->arena, want));
    if (json_getz(want, "set"))
        same_set(t, "set", out, json_getz(want, "set"));
}

static void validate(struct conf *t, const struct json *c)
{
    const struct json *v = json_getz(c, "object"), *want = json_getz(c, "want");
    const struct schema *s = schema_of(t, c);
    struct err err = {0};

    if (json_is(json_getz(v, "yaml"), JSON_STRING) && json_len(v) == 1)
        v = yaml_parse_one(t->arena, json_str(json_getz(v, "yaml")), NULL, &err);
    struct json strict = json_of_bool(v && typed_validate(s, v, false, &err) == 0);
    struct json lax = json_of_bool(v && typed_validate(s, v, true, &err) == 0);
    conf_same(t, "valid", &strict, json_getz(want, "valid"));
    conf_same(t, "validWithDuplicates", &lax, json_getz(want, "validWithDuplicates"));
}

/* ---- merge.jsonl: histories of writes ---- */

struct history {
    struct conf *t;
    const struct json *c, *schema, *known; /* known: versions, or NULL for all */
    struct str type, converter;
    const struct json *live;
    struct str version; /* of live */
    struct managers managers;
    MAP(const struct schema *) schemas; /* by root type */
};

static const struct schema *history_schema(void *ctx, struct str version)
{
    struct history *h = ctx;
    struct str type = str_eq(h->type, S("apiVersion")) ? version : h->type;
    bool is_known = !h->known;

    json_each (i, h->known)
        is_known |= str_eq(json_str(&h->known->items[i]), version);
    if (!is_known)
        return NULL;
    const struct schema **s = map_put(&h->schemas, type);
    if (!*s)
        *s = schema_named(h->t->arena, h->schema, type);
    return *s;
}

static struct fieldset history_ignored(void *ctx, struct str version)
{
    struct history *h = ctx;
    const struct json *filter = json_get(json_getz(h->c, "ignore"), version);

    return set_of(h->t, json_getz(filter, "excludeSet"));
}

/* `renaming`: a name that ends in the old version's name gets the new one's there; `repeating`:
 * in vN every name is one letter, N times. */
static struct str new_name(struct history *h, struct arena *a, struct str name, struct str from,
                           struct str to)
{
    int64_t n = 0;
    char *z;

    if (str_eq(h->converter, S("renaming")))
        return str_ends(name, from)
                   ? str_printf(a, "%.*s%.*s", (int)(name.len - from.len), name.at, STR_ARG(to))
                   : name;
    if (!str_to_i64(str_slice(to, 1, to.len), &n) || n < 1 || n > 20 || name.len == 0)
        return name;
    for (size_t i = 1; i < name.len; i++)
        if (name.at[i] != name.at[0])
            return name;
    z = arena_raw(a, (size_t)n, 1);
    memset(z, name.at[0], (size_t)n);
    return str_of(z, (size_t)n);
}

static int cmp_members(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;

    return str_cmp((*x)->name, (*y)->name);
}

static struct json rename_all(struct history *h, struct arena *a, const struct json *v,
                              struct str from, struct str to)
{
    struct json_arr l = arr_in(a);
    struct json_obj o = obj_in(a);

    if (v->type == JSON_ARRAY) {
        json_each (i, v)
            arr_add(&l, rename_all(h, a, &v->items[i], from, to));
        return arr_done(&l);
    }
    if (v->type != JSON_OBJECT)
        return *v;
    const struct json_member **sorted = arena_array(a, const struct json_member *, v->len);
    for (uint32_t i = 0; i < v->len; i++)
        sorted[i] = &v->members[i];
    sort_stable(sorted, v->len, sizeof(*sorted), cmp_members);
    for (uint32_t i = 0; i < v->len; i++)
        obj_set(&o, new_name(h, a, sorted[i]->name, from, to),
                rename_all(h, a, &sorted[i]->value, from, to));
    return obj_done(&o);
}

static const struct json *convert_reliant(struct arena *a, const struct json *v, struct str to,
                                          struct err *err)
{
    struct str v1 = S("field_foo_rely_on_bar"), v2 = S("required_field_bar");
    bool is_v1 = str_eq(to, S("v1"));
    const struct json *x = json_get(v, is_v1 ? v2 : v1);
    struct json_obj o = obj_from(a, v);

    if (!x && is_v1) {
        err_set(err, ERR_INVALID, "required_field_bar is required");
        return NULL;
    }
    obj_del(&o, is_v1 ? v2 : v1);
    if (x)
        obj_set(&o, is_v1 ? v1 : v2, *x);
    return json_new(a, obj_done(&o));
}

static const struct json *history_convert(void *ctx, struct arena *a, const struct json *v,
                                          struct str from, struct str to, struct err *err)
{
    struct history *h = ctx;

    if (h->converter.len == 0)
        return v;
    if (str_eq(h->converter, S("reliantFields")))
        return convert_reliant(a, v, to, err);
    return json_new(a, rename_all(h, a, v, from, to));
}

static void same_managers(struct history *h, const struct json *want)
{
    size_t n = 0;

    json_each_member (m, want) {
        struct manager *got = managers_find(&h->managers, m->name);
        if (!got) {
            conf_fail(h->t, "manager is missing", m->name, json_text(h->t->arena, &m->value));
            continue;
        }
        n++;
        conf_same_str(h->t, "apiVersion", got->version,
                      json_str(json_getz(&m->value, "apiVersion")));
        conf_same_str(h->t, "operation", got->is_apply ? S("Apply") : S("Update"),
                      json_str(json_getz(&m->value, "operation")));
        same_set(h->t, "fields", got->set, json_getz(&m->value, "fields"));
    }
    vec_each (i, &h->managers.list)
        if (!json_get(want, h->managers.list.at[i].id))
            conf_fail(h->t, "one manager too many", h->managers.list.at[i].id, S(""));
}

struct paths {
    struct history *h;
    struct str id;
    const struct json *want;
    size_t n;
};

static int check_path(void *ctx, const struct element *path, size_t n)
{
    struct paths *p = ctx;
    struct json_arr l = arr_in(p->h->t->arena);
    bool found = false;

    p->n++;
    for (size_t i = 0; i < n; i++)
        arr_add(&l, json_of_str(element_write(p->h->t->arena, &path[i])));
    struct json v = arr_done(&l);
    json_each (i, p->want) {
        const struct json *w = &p->want->items[i];
        found |= str_eq(json_str(json_getz(w, "manager")), p->id) &&
                 json_eq(json_getz(w, "path"), &v);
    }
    if (!found)
        conf_fail(p->h->t, "conflict", element_path(p->h->t->arena, path, n), S(""));
    return 0;
}

static void same_conflicts(struct history *h, const struct conflicts *got,
                           const struct json *want)
{
    struct paths p = {.h = h, .want = want};

    vec_each (i, &got->list) {
        p.id = got->list.at[i].id;
        fieldset_each(got->list.at[i].set, check_path, &p);
    }
    if (p.n != json_len(want))
        conf_fail(h->t, "number of conflicts", str_printf(h->t->arena, "%zu", p.n),
                  str_printf(h->t->arena, "%zu", json_len(want)));
}

/* What the manager applied last, taken out of live, with the object over it. */
static const struct json *extract(struct history *h, struct str id, struct str version,
                                  const struct json *object, struct err *err)
{
    struct arena *a = h->t->arena;
    const struct schema *s = history_schema(h, version);
    struct manager *m = managers_find(&h->managers, id);
    const struct json *mine;

    if (!m)
        return object;
    if (!str_eq(m->version, version)) {
        err_set(err, ERR_INVALID, "applied at another version");
        return NULL;
    }
    mine = typed_extract(a, s, h->live, fieldset_leaves(a, m->set), false, err);
    return typed_merge(a, s, mine, object, err);
}

static const char *write_step(struct history *h, const struct json *step,
                              struct conflicts *conflicts)
{
    struct versions versions = {h, history_schema, history_convert, history_ignored};
    struct str op = json_str(json_getz(step, "op"));
    struct managers_write w = {.versions = &versions,
                               .id = json_str(json_getz(step, "manager")),
                               .version = json_str(json_getz(step, "apiVersion")),
                               .force = !str_eq(op, S("apply"))};
    const struct json *object = json_getz(step, "object"), *next;
    bool is_update = str_eq(op, S("update"));
    struct err err = {0};

    if (typed_validate(history_schema(h, w.version), object, is_update, &err) < 0)
        return "invalid";
    if (h->version.len && !str_eq(h->version, w.version))
        h->live = history_convert(h, h->t->arena, h->live, h->version, w.version, &err);
    h->version = w.version;
    w.live = h->live;
    if (is_update) {
        if (managers_update(h->t->arena, &w, object, &h->managers, &err) < 0)
            return "invalid";
        h->live = object;
        return "";
    }
    if (str_eq(op, S("extractApply"))) {
        object = extract(h, w.id, w.version, object, &err);
        if (!object)
            return "invalid";
    }
    next = managers_apply(h->t->arena, &w, object, &h->managers, conflicts, &err);
    if (!next)
        return err.code == ERR_CONFLICT ? "conflict" : "invalid";
    h->live = next;
    return "";
}

static void run_step(struct history *h, const struct json *step)
{
    const struct json *want = json_getz(step, "want");
    struct conflicts conflicts = {0};
    const char *got = "";

    h->known = json_getz(step, "knownVersions");
    if (json_getz(step, "schema")) {
        h->schema = json_getz(step, "schema");
        map_clear(&h->schemas);
    } else {
        got = write_step(h, step, &conflicts);
    }
    conf_same_str(h->t, "error", str_from(got), json_str(json_getz(want, "error")));
    same_conflicts(h, &conflicts, json_getz(want, "conflicts"));
    if (json_getz(want, "object"))
        conf_same(h->t, "object", h->live, json_getz(want, "object"));
    same_managers(h, json_getz(want, "managers"));
}

static void merge(struct conf *t, const struct json *c)
{
    static const struct json empty = {.type = JSON_OBJECT};
    const struct json *steps = json_getz(c, "steps");
    struct history h = {.t = t,
                        .c = c,
                        .schema = json_getz(c, "schema"),
                        .type = json_str(json_getz(c, "type")),
                        .converter = json_str(json_getz(c, "converter")),
                        .live = &empty};

    json_each (i, steps) {
        run_step(&h, &steps->items[i]);
        if (t->has_failed) {
            conf_fail(t, "in step", str_printf(t->arena, "%zu", i + 1),
                      json_text(t->arena, &steps->items[i]));
            break;
        }
    }
    map_fini(&h.schemas);
}

static const struct conf_file files[] = {
    {"compare",        .run = compare       },
    {"element-order",  .run = element_order },
    {"fields-v1",      .run = fields_v1     },
    {"merge",          .run = merge         },
    {"merge-values",   .run = merge_values  },
    {"path-element",   .run = path_element  },
    {"path-string",    .run = path_string   },
    {"reconcile",      .run = reconcile     },
    {"remove",         .run = remove_items  },
    {"set-from-value", .run = set_from_value},
    {"set-ops",        .run = set_ops       },
    {"to-set",         .run = to_set        },
    {"validate",       .run = validate      },
};

const struct conf_suite suite_smd = {"smd", files, countof(files)};
