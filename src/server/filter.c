/* filter.c - which objects a list or watch wants */
#include "server/filter_priv.h"

#include "schema/jsonpath.h"
#include "value/strs.h"

static bool is_selectable(const struct kind *k, struct str field)
{
    if (str_eqz(field, "metadata.name") || str_eqz(field, "metadata.namespace"))
        return true;
    for (size_t i = 0; i < k->n_selectable; i++) {
        if (str_eq(k->selectable[i], field))
            return true;
    }
    return false;
}

int filter_init(struct filter *f, const struct kind *k, const struct list_options *o,
                struct err *err)
{
    *f = (struct filter){.kind = k, .labels = o->labels, .fields = o->fields};
    for (size_t i = 0; i < f->fields.len; i++) {
        if (!is_selectable(k, f->fields.at[i].field))
            return err_set(err, ERR_SYNTAX, "field label not supported: %.*s",
                           STR_ARG(f->fields.at[i].field));
    }
    field_selector_exact(&f->fields, S("metadata.name"), &f->name);
    f->needs_tree = f->labels.len > 0 || f->labels.matches_nothing;
    for (size_t i = 0; i < f->fields.len; i++)
        f->needs_tree |= !str_starts(f->fields.at[i].field, S("metadata."));
    f->is_all = !f->needs_tree && f->fields.len == 0;
    return 0;
}

struct looking {
    struct arena *arena;
    struct object_key key;
    const struct json *tree;
};

/* Fields that are called otherwise than where they stand, or say something where they are
 * absent. */
static const struct {
    struct str field, path, absent;
} odd[] = {
    {S_INIT("status.successful"),  S_INIT("status.succeeded"),   S_INIT("0")    },
    {S_INIT("spec.unschedulable"), S_INIT("spec.unschedulable"), S_INIT("false")},
    {S_INIT("spec.hostNetwork"),   S_INIT("spec.hostNetwork"),   S_INIT("false")},
};

/* An object's value at a path, as text. `spec.nodeName` needs no JSONPath. */
static struct str field_of(void *ctx, struct str field)
{
    struct looking *l = ctx;

    if (str_eqz(field, "metadata.name"))
        return l->key.name;
    if (str_eqz(field, "metadata.namespace"))
        return l->key.ns;
    struct str path = field, absent = {0};
    for (size_t i = 0; i < countof(odd); i++)
        if (str_eq(odd[i].field, field))
            path = odd[i].path, absent = odd[i].absent;
    const struct json *v = l->tree;
    for (struct str rest = path, part; rest.len && v;) {
        str_cut(rest, '.', &part, &rest);
        v = json_get(v, part);
    }
    if (!json_has(v))
        return absent;
    return v->type == JSON_STRING ? json_str(v) : json_text(l->arena, v);
}

bool filter_matches(const struct filter *f, const struct object *o)
{
    if (f->is_all)
        return true;
    struct looking l = {.key = object_key(o)};
    if (f->name.len && !str_eq(f->name, l.key.name))
        return false;
    struct arena a = arena_sized(0);
    l.arena = &a;
    if (f->needs_tree)
        l.tree = object_tree(o, &a);
    bool is_match =
        selector_matches_json(&f->labels, json_path(l.tree, "metadata", "labels", NULL)) &&
        field_selector_matches(&f->fields, field_of, &l);
    arena_fini(&a);
    return is_match;
}
