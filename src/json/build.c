/* build.c - making the next tree from parts */
#include "json/json_priv.h"

#define PATH_MAX_NAMES 32 /* of json_with() and json_without() */
#define NAMES_LINEAR 16   /* members past these are found by hash */

const struct json *json_new(struct arena *a, struct json v)
{
    return arena_copy(a, &v);
}

struct json_obj obj_in(struct arena *a)
{
    return (struct json_obj){.arena = a};
}

struct json_obj obj_from(struct arena *a, const struct json *v)
{
    struct json_obj o = {.arena = a};

    if (!json_is(v, JSON_OBJECT) || v->len == 0)
        return o;
    o.members.cap = (size_t)v->len + 4;
    o.members.at = arena_raw(a, size_mul(o.members.cap, sizeof(*o.members.at)),
                             _Alignof(struct json_member));
    o.members.len = v->len;
    memcpy(o.members.at, v->members, v->len * sizeof(*o.members.at));
    return o;
}

/* ---- names ---- */

static void names_put(struct json_names *names, const struct json_member *members, uint32_t i)
{
    uint32_t mask = names->n_slots - 1, at = (uint32_t)str_hash(members[i].name) & mask;

    while (names->slots[at])
        at = (at + 1) & mask;
    names->slots[at] = i + 1;
}

static void names_learn(struct arena *a, struct json_names *names,
                        const struct json_member *members, size_t n)
{
    if (2 * n > names->n_slots) {
        names->n_slots = 64;
        while (names->n_slots < 4 * n)
            names->n_slots *= 2;
        names->slots = arena_array(a, uint32_t, names->n_slots);
        names->n = 0;
    }
    for (; names->n < n; names->n++)
        names_put(names, members, names->n);
}

size_t json_names_find(struct arena *a, struct json_names *names,
                       const struct json_member *members, size_t n, struct str name)
{
    if (n <= NAMES_LINEAR)
        return json_index(members, n, name);
    if (names->n < n)
        names_learn(a, names, members, n);
    uint32_t mask = names->n_slots - 1, at = (uint32_t)str_hash(name) & mask;
    for (; names->slots[at]; at = (at + 1) & mask)
        if (str_eq(members[names->slots[at] - 1].name, name))
            return names->slots[at] - 1;
    return STR_NONE;
}

const struct json *json_find(struct arena *a, struct json_names *names, const struct json *v,
                             struct str name)
{
    size_t i;

    if (!json_is(v, JSON_OBJECT))
        return NULL;
    i = json_names_find(a, names, v->members, v->len, name);
    return i == STR_NONE ? NULL : &v->members[i].value;
}

/* ---- objects and arrays ---- */

static size_t find(struct json_obj *o, struct str name)
{
    return json_names_find(o->arena, &o->names, o->members.at, o->members.len, name);
}

void obj_add(struct json_obj *o, struct str name, struct json v)
{
    vec_push_in(o->arena, &o->members, (struct json_member){name, v});
}

void obj_set(struct json_obj *o, struct str name, struct json v)
{
    size_t i = find(o, name);

    if (i == STR_NONE) {
        obj_add(o, name, v);
        return;
    }
    if (o->members.at[i].value.place)
        v.place = o->members.at[i].value.place; /* the name is the same */
    o->members.at[i].value = v;
}

const struct json *obj_get(struct json_obj *o, struct str name)
{
    size_t i = find(o, name);

    return i == STR_NONE ? NULL : &o->members.at[i].value;
}

void obj_del(struct json_obj *o, struct str name)
{
    size_t i = find(o, name);

    if (i == STR_NONE)
        return;
    vec_remove(&o->members, i);
    o->names = (struct json_names){0}; /* those behind it have moved */
}

struct json obj_done(struct json_obj *o)
{
    struct json v = {
        .type = JSON_OBJECT, .len = (uint32_t)o->members.len, .members = o->members.at};

    *o = (struct json_obj){0};
    return v;
}

struct json_arr arr_in(struct arena *a)
{
    return (struct json_arr){.arena = a};
}

void arr_add(struct json_arr *arr, struct json v)
{
    vec_push_in(arr->arena, &arr->items, v);
}

struct json arr_done(struct json_arr *arr)
{
    struct json v = {
        .type = JSON_ARRAY, .len = (uint32_t)arr->items.len, .items = arr->items.at};

    *arr = (struct json_arr){0};
    return v;
}

/* ---- along a path ---- */

static size_t take_names(va_list args, struct str names[PATH_MAX_NAMES])
{
    size_t n = 0;

    for (const char *z; (z = va_arg(args, const char *)); n++) {
        assert(n < PATH_MAX_NAMES);
        names[n] = str_from(z);
    }
    return n;
}

static struct json with(struct arena *a, const struct json *v, struct json x,
                        const struct str *names, size_t n)
{
    struct json_obj o;

    if (n == 0)
        return x;
    o = obj_from(a, v);
    obj_set(&o, names[0], with(a, json_get(v, names[0]), x, names + 1, n - 1));
    return obj_done(&o);
}

const struct json *json_with(struct arena *a, const struct json *v, struct json x, ...)
{
    struct str names[PATH_MAX_NAMES];
    va_list args;

    va_start(args, x);
    size_t n = take_names(args, names);
    va_end(args);
    return json_new(a, with(a, v, x, names, n));
}

const struct json *json_with_as(struct arena *a, const struct json *v, const struct json *from,
                                struct str name)
{
    struct json_obj out = obj_from(a, v);
    const struct json *x = json_get(from, name);

    if (x)
        obj_set(&out, name, *x);
    else
        obj_del(&out, name);
    return json_new(a, obj_done(&out));
}

static struct json without(struct arena *a, const struct json *v, const struct str *names,
                           size_t n)
{
    struct json_obj o = obj_from(a, v);

    if (n == 1)
        obj_del(&o, names[0]);
    else
        obj_set(&o, names[0], without(a, json_get(v, names[0]), names + 1, n - 1));
    return obj_done(&o);
}

const struct json *json_without(struct arena *a, const struct json *v, ...)
{
    struct str names[PATH_MAX_NAMES];
    const struct json *at = v;
    va_list args;

    va_start(args, v);
    size_t n = take_names(args, names);
    va_end(args);
    for (size_t i = 0; i < n; i++)
        at = json_get(at, names[i]);
    if (n == 0 || !at)
        return v; /* nothing is there to take out */
    return json_new(a, without(a, v, names, n));
}
