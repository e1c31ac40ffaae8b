/* crd_default_check.c - the defaults in a structural schema
 *
 * A default is judged as the value it will become: nothing unknown in it, metadata that decodes
 * and is well formed, no broken rule of its own schema. One that stands inside of metadata is
 * put into an otherwise empty object first, since only a whole object has metadata.
 */
#include "api/crd_check_priv.h"

#include "api/embedded.h"
#include "api/kinds.h"
#include "schema/judge.h"
#include "schema/structural.h"
#include "schema/table.h"

/* One step from a resource down to a default inside its metadata. */
struct step {
    const struct step *up; /* NULL: the resource's own member */
    struct str name;       /* of the member */
    bool is_item;
};

struct walk {
    struct field_errors *e;
    bool must_be_pruned, is_over; /* too much work: no more defaults are judged */
};

/* What surrounds a node: the resource, the steps from there, and whether they lead into its
 * apiVersion, kind or metadata. */
struct place {
    const struct schema *resource;
    const struct step *steps;
    bool is_in_meta;
};

static const struct schema *meta_schema(void)
{
    return schema_member(kind_pod.schema, S("metadata"));
}

static const struct json *surround(struct arena *a, const struct step *steps,
                                   const struct json *v)
{
    struct json out = *v;

    for (const struct step *s = steps; s; s = s->up) {
        if (s->is_item) {
            struct json_arr list = arr_in(a);
            arr_add(&list, out);
            out = arr_done(&list);
        } else {
            struct json_obj o = obj_in(a);
            obj_add(&o, s->name, out);
            out = obj_done(&o);
        }
    }
    struct json_obj o = obj_from(a, &out);
    if (!obj_get(&o, S("kind")))
        obj_setz(&o, "kind", json_of_z("Validation"));
    if (!obj_get(&o, S("apiVersion")))
        obj_setz(&o, "apiVersion", json_of_z("validation/v1"));
    return json_new(a, obj_done(&o));
}

/* The value against its own schema. A verdict without a path is the default's, and upstream
 * sets a dot before the index of an item of the default itself. */
static void check_value(struct walk *w, const struct field_path *at, const struct schema *s)
{
    struct arena *a = w->e->arena;
    struct field_errors own = field_errors_in(a);
    struct str nowhere = field_path_text(a, NULL), here = field_path_text(a, at);

    w->is_over = !judge_default(&own, s, at, s->def);
    vec_each (i, &own.list) {
        struct str *path = &own.list.at[i].path;
        struct str rest = str_slice(*path, MIN(here.len, path->len), path->len);
        if (str_eq(*path, nowhere))
            *path = here;
        else if (str_starts(*path, here) && str_starts(rest, S("[")))
            *path = str_printf(a, "%.*s.%.*s", STR_ARG(here), STR_ARG(rest));
    }
    field_errors_add(w->e, &own);
}

static bool is_whole(struct field_errors *e, const struct schema *resource,
                     const struct field_path *at, const struct json *v)
{
    size_t n = e->list.len;

    if (v->type == JSON_OBJECT)
        embedded_check_one(e, at, v);
    embedded_check(e, resource, at, v);
    return e->list.len == n;
}

static void check_inside_meta(struct walk *w, const struct field_path *at,
                              const struct schema *s, const struct place *place)
{
    struct arena *a = w->e->arena;
    struct field_errors own = field_errors_in(a);
    const struct json *v = surround(a, place->steps, s->def);

    v = structural_coerce(a, place->resource, meta_schema(), v, true, false, NULL, NULL, &own);
    if (v && is_whole(&own, place->resource, NULL, v))
        check_value(w, at, s);
    else
        field_invalid(w->e, at, s->def, "must result in valid metadata: %.*s",
                      STR_ARG(field_errors_text(a, &own)));
}

static void check_outside(struct walk *w, const struct field_path *at, const struct schema *s,
                          bool is_resource)
{
    struct arena *a = w->e->arena;
    struct field_errors own = field_errors_in(a);
    const struct json *v = s->def;

    if (w->must_be_pruned && !json_eq(structural_prune(a, s, v, is_resource, NULL), v))
        field_invalid(w->e, at, v, "must not have unknown fields");
    v = structural_coerce(a, s, meta_schema(), v, is_resource, false, NULL, at, &own);
    if (v && is_resource)
        v = is_whole(&own, s, at, v) ? v : NULL;
    else if (v)
        embedded_check(&own, s, at, v);
    if (own.list.len)
        field_errors_add(w->e, &own);
    else
        check_value(w, at, s);
}

static void check_node(struct walk *w, const struct field_path *at, const struct schema *s,
                       struct place place)
{
    struct field_path default_at = field_child(at, S("default"));
    struct field_path items_at = field_child(at, S("items"));
    struct field_path members_at = field_child(at, S("properties"));

    if (w->is_over)
        return;
    if (s->embedded)
        place = (struct place){.resource = s};
    bool is_resource = s == place.resource;
    if (json_has(s->def) && place.is_in_meta)
        check_inside_meta(w, &default_at, s, &place);
    else if (json_has(s->def))
        check_outside(w, &default_at, s, is_resource);
    if (s->item) {
        struct step step = {.up = place.steps, .is_item = true};
        check_node(w, &items_at, s->item,
                   (struct place){place.resource, &step, place.is_in_meta});
    }
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        struct step step = {.up = place.steps, .name = f->name};
        struct field_path p = field_key(&members_at, f->name);
        check_node(
            w, &p, f->type,
            (struct place){place.resource, &step,
                           place.is_in_meta || (is_resource && crd_is_meta_name(f->name))});
    }
}

void crd_default_check(struct field_errors *e, const struct field_path *at,
                       const struct schema *s, bool must_be_pruned)
{
    struct walk w = {.e = e, .must_be_pruned = must_be_pruned};

    check_node(&w, at, s, (struct place){.resource = s});
}
