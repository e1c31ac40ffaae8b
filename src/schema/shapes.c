/* shapes.c - what is owned by who writes an object of one shape */
#include "schema/shapes.h"

#include "schema/typed_priv.h"

#define UNKNOWN_FEW 8   /* so many unknown ones in a row are learnt, */
#define UNKNOWN_EACH 16 /* and then each so many-th */

/* Marks in the trees that are kept, in a node's `place`. */
enum { BY_SHAPE, BY_WHAT_IT_SAYS };

static bool is_as(const struct shape_of *x, const struct shape_of *y)
{
    return x->kind == y->kind && x->is_apply == y->is_apply &&
           str_eq(x->subresource, y->subresource);
}

/* The same members down to the leaves; `kept` says where what is said counts, too. */
static bool is_same_shape(const struct json *kept, const struct json *v)
{
    if (kept->place == BY_WHAT_IT_SAYS)
        return json_eq(kept, v);
    if (kept->type != v->type)
        return false;
    if (kept->type != JSON_OBJECT && kept->type != JSON_ARRAY)
        return true;
    if (kept->len != v->len)
        return false;
    for (uint32_t i = 0; kept->type == JSON_ARRAY && i < v->len; i++)
        if (!is_same_shape(&kept->items[i], &v->items[i]))
            return false;
    for (uint32_t i = 0; kept->type == JSON_OBJECT && i < v->len; i++)
        if (!str_eq(kept->members[i].name, v->members[i].name) ||
            !is_same_shape(&kept->members[i].value, &v->members[i].value))
            return false;
    return true;
}

const struct json *shapes_find(struct shapes *s, const struct shape_of *of,
                               const struct json *tree)
{
    for (size_t i = 0; i < SHAPES_MAX; i++) {
        struct shape *x = &s->all[i];
        if (is_as(&x->of, of) && is_same_shape(x->tree, tree)) {
            x->used = ++s->clock;
            s->n_unknown = 0;
            return &x->fields;
        }
    }
    return NULL;
}

/* ---- learning ---- */

static struct json marked(struct arena *a, const struct schema *s, const struct json *v);

static bool is_key(const struct schema *list, struct str name)
{
    for (uint32_t i = 0; i < list->n_keys; i++)
        if (str_eq(list->keys[i], name))
            return true;
    return false;
}

static struct json marked_members(struct arena *a, const struct schema *s,
                                  const struct schema *list, const struct json *v)
{
    struct json_member *members = arena_array(a, struct json_member, v->len);
    struct json out = *v;
    bool declared;

    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct schema *type = typed_member(s, m, &declared);
        members[i] = (struct json_member){str_copy(a, m->name),
                                          marked(a, type ? type : &typed_deduced, &m->value)};
        if (list && is_key(list, m->name))
            members[i].value.place = BY_WHAT_IT_SAYS;
    }
    out.members = members;
    out.place = BY_SHAPE;
    return out;
}

static struct json marked_items(struct arena *a, const struct schema *s, const struct json *v)
{
    const struct schema *list = s->list_type == LIST_MAP ? s : NULL, *item = typed_item(s);
    struct json *items = arena_array(a, struct json, v->len);
    struct json out = *v;

    for (uint32_t i = 0; i < v->len; i++)
        items[i] = json_is(&v->items[i], JSON_OBJECT)
                       ? marked_members(a, item, list, &v->items[i])
                       : marked(a, item, &v->items[i]);
    out.items = items;
    out.place = BY_SHAPE;
    return out;
}

/* A copy with marks: items are told apart by their keys, or are these keys themselves. */
static struct json marked(struct arena *a, const struct schema *s, const struct json *v)
{
    bool is_set = v->type == JSON_ARRAY && s->list_type == LIST_SET;

    if (v->type == JSON_OBJECT)
        return marked_members(a, s, NULL, v);
    if (v->type == JSON_ARRAY && !is_set)
        return marked_items(a, s, v);
    struct json out = *json_copy(a, v);
    out.place = is_set ? BY_WHAT_IT_SAYS : BY_SHAPE;
    return out;
}

void shapes_learn(struct shapes *s, const struct shape_of *of, const struct json *tree,
                  const struct json *fields)
{
    struct shape *oldest = &s->all[0];

    if (++s->n_unknown > UNKNOWN_FEW && s->n_unknown % UNKNOWN_EACH)
        return;
    if (json_size(tree, SHAPE_BYTES) > SHAPE_BYTES)
        return;
    for (size_t i = 1; i < SHAPES_MAX; i++)
        if (s->all[i].used < oldest->used)
            oldest = &s->all[i];
    arena_fini(&oldest->arena);
    *oldest = (struct shape){.of = *of, .used = ++s->clock};
    oldest->of.subresource = str_copy(&oldest->arena, of->subresource);
    oldest->tree = json_new(&oldest->arena, marked(&oldest->arena, of->kind->schema, tree));
    oldest->fields = *json_copy(&oldest->arena, fields);
}

void shapes_fini(struct shapes *s)
{
    for (size_t i = 0; i < SHAPES_MAX; i++)
        arena_fini(&s->all[i].arena);
    *s = (struct shapes){0};
}
