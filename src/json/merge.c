/* merge.c - JSON merge patch (RFC 7386): apply, and create from two or three documents */
#include "json/json_priv.h"
#include "json/patch.h"

static const struct json null = {.type = JSON_NULL};

/* ---- apply ---- */

static bool has_nulls(const struct json *v)
{
    json_each (i, v)
        if (has_nulls(&v->items[i]))
            return true;
    json_each_member (m, v)
        if (m->value.type == JSON_NULL || has_nulls(&m->value))
            return true;
    return false;
}

/* Without null members, at any depth; null items of lists stay. */
static struct json prune(struct arena *a, const struct json *v)
{
    struct json_obj o;
    struct json_arr l;

    if (v->type == JSON_ARRAY) {
        l = arr_in(a);
        json_each (i, v)
            arr_add(&l, prune(a, &v->items[i]));
        return arr_done(&l);
    }
    if (v->type != JSON_OBJECT)
        return *v;
    o = obj_in(a);
    json_each_member (m, v)
        if (m->value.type != JSON_NULL)
            obj_add(&o, m->name, prune(a, &m->value));
    return obj_done(&o);
}

static struct json merge(struct arena *a, const struct json *doc, const struct json *patch);

#define FEW_MEMBERS 8 /* of a patch: each is looked for in a copy of the document's */

static struct json merge_few(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json_obj o = obj_from(a, doc);

    json_each_member (m, patch) {
        const struct json *was = obj_get(&o, m->name);
        if (was && m->value.type == JSON_NULL)
            obj_del(&o, m->name);
        else if (was)
            *(struct json *)(uintptr_t)was = merge(a, was, &m->value); /* o is ours */
        else if (m->value.type != JSON_NULL)
            obj_add(&o, m->name, has_nulls(&m->value) ? prune(a, &m->value) : m->value);
    }
    return obj_done(&o);
}

static struct json merge_objects(struct arena *a, const struct json *doc,
                                 const struct json *patch)
{
    if (patch->len <= FEW_MEMBERS)
        return merge_few(a, doc, patch);
    struct json_names in_doc = {0}, in_patch = {0};
    struct json_obj o = obj_in(a);

    json_each_member (m, doc) {
        const struct json *p = json_find(a, &in_patch, patch, m->name);
        if (!p)
            obj_add(&o, m->name, m->value);
        else if (p->type != JSON_NULL)
            obj_add(&o, m->name, merge(a, &m->value, p));
    }
    json_each_member (m, patch)
        if (m->value.type != JSON_NULL && !json_find(a, &in_doc, doc, m->name))
            obj_add(&o, m->name, has_nulls(&m->value) ? prune(a, &m->value) : m->value);
    return obj_done(&o);
}

static struct json merge(struct arena *a, const struct json *doc, const struct json *patch)
{
    if (doc->type != JSON_OBJECT)
        return has_nulls(patch) ? prune(a, patch) : *patch;
    if (patch->type != JSON_OBJECT)
        return *patch;
    return merge_objects(a, doc, patch);
}

const struct json *json_merge_patch(struct arena *a, const struct json *doc,
                                    const struct json *patch)
{
    return json_new(a, merge(a, doc ? doc : &null, patch));
}

/* ---- create ---- */

static struct json diff(struct arena *a, const struct json *from, const struct json *to)
{
    struct json_names in_from = {0}, in_to = {0};
    struct json_obj o = obj_in(a);

    json_each_member (m, from)
        if (!json_find(a, &in_to, to, m->name))
            obj_add(&o, m->name, null);
    json_each_member (m, to) {
        const struct json *was = json_find(a, &in_from, from, m->name);
        if (was && json_eq(was, &m->value))
            continue;
        bool both = json_is(was, JSON_OBJECT) && m->value.type == JSON_OBJECT;
        obj_add(&o, m->name, both ? diff(a, was, &m->value) : m->value);
    }
    return obj_done(&o);
}

const struct json *json_merge_diff(struct arena *a, const struct json *from,
                                   const struct json *to)
{
    if (!json_is(from, JSON_OBJECT) || !json_is(to, JSON_OBJECT))
        return to;
    return json_new(a, diff(a, from, to));
}

/* Only the nulls of a merge patch, or all but them. What has nothing left goes; an object that
 * was empty is a value. */
static struct json only(struct arena *a, const struct json *v, bool nulls)
{
    struct json_obj o = obj_in(a);

    json_each_member (m, v) {
        if (m->value.type == JSON_OBJECT && m->value.len) {
            struct json below = only(a, &m->value, nulls);
            if (below.len)
                obj_add(&o, m->name, below);
        } else if ((m->value.type == JSON_NULL) == nulls) {
            obj_add(&o, m->name, m->value);
        }
    }
    return obj_done(&o);
}

/* The changes over the deletions; nulls of both stay. */
static struct json join(struct arena *a, const struct json *gone, const struct json *delta)
{
    struct json_names in_delta = {0}, in_gone = {0};
    struct json_obj o = obj_in(a);

    json_each_member (m, gone) {
        const struct json *d = json_find(a, &in_delta, delta, m->name);
        if (!d)
            obj_add(&o, m->name, m->value);
        else if (d->type == JSON_OBJECT && m->value.type == JSON_OBJECT)
            obj_add(&o, m->name, join(a, &m->value, d));
        else
            obj_add(&o, m->name, *d);
    }
    json_each_member (m, delta)
        if (!json_find(a, &in_gone, gone, m->name))
            obj_add(&o, m->name, m->value);
    return obj_done(&o);
}

const struct json *json_merge_three_way(struct arena *a, const struct json *original,
                                        const struct json *modified, const struct json *current)
{
    struct json gone = diff(a, original, modified), delta = diff(a, current, modified);

    gone = only(a, &gone, true);
    delta = only(a, &delta, false);
    return json_new(a, join(a, &gone, &delta));
}
