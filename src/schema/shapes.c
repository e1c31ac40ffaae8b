/* shapes.c - what is owned by who writes an object of one shape */
#include "schema/shapes.h"

#include "schema/typed_priv.h"
#include "schema/uids.h"

#define UNKNOWN_FEW 8   /* so many unknown ones in a row are learnt, */
#define UNKNOWN_EACH 16 /* and then each so many-th */

/* Marks in the trees that are kept, in a node's `place`. */
enum { BY_SHAPE, BY_WHAT_IT_SAYS, ANY_UID };

static bool is_as(const struct shape_of *x, const struct shape_of *y)
{
    return x->kind == y->kind && x->is_apply == y->is_apply &&
           str_eq(x->subresource, y->subresource);
}

/* The same members down to the leaves; `kept` says where what is said counts, too. *uid: what
 * stands where it may be any. */
static bool is_same_shape(const struct json *kept, const struct json *v, struct str *uid)
{
    if (kept->place == BY_WHAT_IT_SAYS)
        return json_eq(kept, v);
    if (kept->type != v->type)
        return false;
    if (kept->place == ANY_UID) {
        *uid = uid_find(json_str(v));
        return uid->len && uid->len == v->len;
    }
    if (kept->type != JSON_OBJECT && kept->type != JSON_ARRAY)
        return true;
    if (kept->len != v->len)
        return false;
    for (uint32_t i = 0; kept->type == JSON_ARRAY && i < v->len; i++)
        if (!is_same_shape(&kept->items[i], &v->items[i], uid))
            return false;
    for (uint32_t i = 0; kept->type == JSON_OBJECT && i < v->len; i++)
        if (!str_eq(kept->members[i].name, v->members[i].name) ||
            !is_same_shape(&kept->members[i].value, &v->members[i].value, uid))
            return false;
    return true;
}

static const struct json *fields_of(const struct shape *x, struct arena *a, struct str uid)
{
    struct str text = str_of(x->fields.s, x->fields.len);

    if (!x->uid_at)
        return json_new(a, json_of_raw(str_copy(a, text)));
    return json_new(a, json_of_raw(str_concat(a, str_slice(text, 0, x->uid_at), uid,
                                              str_slice(text, x->uid_at + uid.len, text.len))));
}

const struct json *shapes_find(struct shapes *s, struct arena *a, const struct shape_of *of,
                               const struct json *tree)
{
    struct str uid = {0};

    for (size_t i = 0; i < SHAPES_MAX; i++) {
        struct shape *x = &s->all[i];
        if (is_as(&x->of, of) && is_same_shape(x->tree, tree, &uid)) {
            x->used = ++s->clock;
            s->n_unknown = 0;
            return fields_of(x, a, uid);
        }
    }
    return NULL;
}

/* ---- learning ---- */

struct marking {
    struct arena *arena;
    struct str uid; /* that may be any, "" for none */
    size_t n_uid;   /* places where it counts what is said, and that is said */
    size_t n_any;   /* those of them that are marked so */
};

static struct json marked(struct marking *k, const struct schema *s, const struct json *v);

static bool is_key(const struct schema *list, struct str name)
{
    for (uint32_t i = 0; i < list->n_keys; i++)
        if (str_eq(list->keys[i], name))
            return true;
    return false;
}

/* A copy of a key, or of a whole set. */
static struct json marked_as_said(struct marking *k, const struct json *v, bool may_be_any)
{
    struct json out = *json_copy(k->arena, v);

    out.place = BY_WHAT_IT_SAYS;
    if (!k->uid.len || !str_has(json_text(k->arena, v), k->uid))
        return out;
    k->n_uid++;
    if (may_be_any && json_is(v, JSON_STRING) && v->len == k->uid.len) {
        out.place = ANY_UID;
        k->n_any++;
    }
    return out;
}

/* An object, or an item of the list. */
static struct json marked_members(struct marking *k, const struct schema *s,
                                  const struct schema *list, bool is_alone,
                                  const struct json *v)
{
    struct json_member *members = arena_array(k->arena, struct json_member, v->len);
    struct json out = *v;
    bool declared;

    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct schema *type = typed_member(s, m, &declared);
        members[i].name = str_copy(k->arena, m->name);
        members[i].value = list && is_key(list, m->name)
                               ? marked_as_said(k, &m->value, is_alone)
                               : marked(k, type ? type : &typed_deduced, &m->value);
    }
    out.members = members;
    out.place = BY_SHAPE;
    return out;
}

static struct json marked_items(struct marking *k, const struct schema *s, const struct json *v)
{
    const struct schema *list = s->list_type == LIST_MAP ? s : NULL, *item = typed_item(s);
    struct json *items = arena_array(k->arena, struct json, v->len);
    struct json out = *v;

    for (uint32_t i = 0; i < v->len; i++)
        items[i] = json_is(&v->items[i], JSON_OBJECT)
                       ? marked_members(k, item, list, v->len == 1, &v->items[i])
                       : marked(k, item, &v->items[i]);
    out.items = items;
    out.place = BY_SHAPE;
    return out;
}

/* A copy with marks: items are told apart by their keys, or are these keys themselves. */
static struct json marked(struct marking *k, const struct schema *s, const struct json *v)
{
    if (v->type == JSON_OBJECT)
        return marked_members(k, s, NULL, false, v);
    if (v->type == JSON_ARRAY && s->list_type == LIST_SET)
        return marked_as_said(k, v, false);
    if (v->type == JSON_ARRAY)
        return marked_items(k, s, v);
    struct json out = *json_copy(k->arena, v);
    out.place = BY_SHAPE;
    return out;
}

/* Where the text has a uid, once, that any other may replace, as long as the tree has it once,
 * too; 0. */
static size_t find_uid(struct str text, struct str *uid)
{
    scoped(arena_fini) struct arena a = arena_sized(SHAPE_BYTES);
    struct json raw = json_of_raw(text);
    struct fieldset set;

    *uid = uid_find(text);
    if (!uid->len)
        return 0;
    size_t at = (size_t)(uid->at - text.at);
    if (!str_has(str_slice(text, at + uid->len, text.len), *uid) &&
        fieldset_read(&a, &raw, &set, NULL) == 0 && uid_is_alone(set, *uid))
        return at;
    *uid = (struct str){0};
    return 0;
}

/* x->of and x->fields are told. */
static void keep_tree(struct shape *x, const struct json *tree)
{
    struct marking k = {.arena = &x->arena};
    const struct schema *s = x->of.kind->schema;
    size_t at = find_uid(str_of(x->fields.s, x->fields.len), &k.uid);

    x->tree = json_new(&x->arena, marked(&k, s, tree));
    if (k.n_uid == 1 && k.n_any == 1) {
        x->uid_at = at;
    } else if (k.n_any) { /* which of them is meant? */
        k.uid = (struct str){0};
        x->tree = json_new(&x->arena, marked(&k, s, tree));
    }
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
    oldest->fields = *json_copy(&oldest->arena, fields);
    keep_tree(oldest, tree);
}

void shapes_fini(struct shapes *s)
{
    for (size_t i = 0; i < SHAPES_MAX; i++)
        arena_fini(&s->all[i].arena);
    *s = (struct shapes){0};
}
