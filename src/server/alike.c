/* alike.c - creations that follow one another and ask for the same
 *
 * The pods of a Job differ in little but their names. What the first ones asked for and what
 * became of it is kept: a later one that asks for the same part takes what that became, which
 * then needs neither be conformed, nor filled with defaults, nor judged. A part is the spec, or
 * one of its lists and objects, or one of the metadata's.
 *
 *     asked ── as it was sent          the same, byte for byte?
 *     made ─── conformed, defaulted    then this
 *     judged ─ the parts of `made` that stood so in the object that was let pass
 */
#include "server/write_priv.h"

#define ALIKE_SLOTS 16
#define ALIKE_MAX_BYTES ((size_t)16 << 10) /* of a spec that is kept */
#define ALIKE_UID_MAX 64
#define ALIKE_ARENA ((size_t)8 << 10)

/* By kind and owner. One that came for the first time may be the only one. */
struct alike {
    const struct kind *kind;
    size_t uid_len;
    char uid[ALIKE_UID_MAX];
    struct arena arena;
    const struct json *asked, *made, *judged; /* NULL: nothing is kept */
};

static const struct str meta_parts[] = {S_INIT("labels"), S_INIT("annotations"),
                                        S_INIT("ownerReferences"), S_INIT("finalizers")};

/* ---- the same, byte for byte ---- */

static bool is_same(const struct json *a, const struct json *b)
{
    if (a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_INT:
        return a->i == b->i;
    case JSON_DOUBLE:
        return memcmp(&a->d, &b->d, sizeof(a->d)) == 0;
    case JSON_STRING:
    case JSON_RAW:
        return a->len == b->len && bytes_eq(a->s, b->s, a->len);
    case JSON_ARRAY:
        if (a->len != b->len)
            return false;
        for (uint32_t i = 0; i < a->len; i++)
            if (!is_same(&a->items[i], &b->items[i]))
                return false;
        return true;
    case JSON_OBJECT:
        if (a->len != b->len)
            return false;
        for (uint32_t i = 0; i < a->len; i++)
            if (a->members[i].name.len != b->members[i].name.len ||
                !bytes_eq(a->members[i].name.at, b->members[i].name.at,
                          a->members[i].name.len) ||
                !is_same(&a->members[i].value, &b->members[i].value))
                return false;
        return true;
    }
    return false;
}

static bool has_parts(const struct json *v)
{
    return v->type == JSON_ARRAY || v->type == JSON_OBJECT;
}

/* The object with what became of its parts; all of `made` where it is `asked` itself. *has_all:
 * no list or object in it is new. */
static struct json with_made(struct arena *a, const struct json *v, const struct json *asked,
                             const struct json *made, bool *has_all)
{
    bool is_asked = json_len(asked) == v->len;
    struct json_member *members =
        arena_raw(a, size_mul(v->len, sizeof(*members)), _Alignof(struct json_member));

    *has_all = true;
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        const struct json *was = json_get_near(asked, m->name, i);
        members[i] = *m;
        if (!was || !is_same(&m->value, was)) {
            *has_all = *has_all && !has_parts(&m->value);
            is_asked = false;
            continue;
        }
        is_asked = is_asked && was == &asked->members[i].value;
        const struct json *now = json_get(made, m->name);
        if (now && now->type == was->type)
            members[i].value = *now;
    }
    return is_asked ? *made
                    : (struct json){.type = JSON_OBJECT, .len = v->len, .members = members};
}

/* ---- which one ---- */

/* Only where what becomes of a part hangs on nothing but the part, and nobody is told of it. */
static bool is_for(const struct write *w)
{
    const struct kind *k = w->kind;

    return !w->old && k->style == KIND_NATIVE && k->id >= 0 && k->storage == k &&
           !k->schema->defaults && !w->subresource.len && !w->r->options.dry_run &&
           !w->r->dups.paths.len;
}

static struct alike *slot_of(struct write *w, struct str uid)
{
    struct server *s = w->r->server;

    if (!s->alike)
        s->alike = mem_zero(ALIKE_SLOTS, sizeof(*s->alike));
    return &s->alike[(str_hash(uid) ^ (uint64_t)w->kind->id) % ALIKE_SLOTS];
}

int alike_find(struct write *w)
{
    if (!is_for(w))
        return 0;
    const struct json *owner = json_at(meta_get(w->tree, S("ownerReferences")), 0);
    const struct json *meta = json_getz(w->tree, "metadata"),
                      *spec = json_getz(w->tree, "spec");
    struct str uid = json_str(json_getz(owner, "uid"));
    bool ignored;

    if (!uid.len || uid.len > ALIKE_UID_MAX || !json_is(spec, JSON_OBJECT))
        return 0;
    struct alike *x = slot_of(w, uid);
    if (x->kind != w->kind || !str_eq(str_of(x->uid, x->uid_len), uid)) {
        x->kind = w->kind;
        x->uid_len = uid.len;
        memcpy(x->uid, uid.at, uid.len);
        x->made = NULL;
        return 0;
    }
    w->alike = x;
    w->asked = w->tree;
    if (!x->made)
        return 0;
    struct json_obj tree = obj_from(w->arena, w->tree);
    obj_setz(&tree, "spec",
             with_made(w->arena, spec, json_getz(x->asked, "spec"), json_getz(x->made, "spec"),
                       &w->is_alike));
    obj_setz(&tree, "metadata",
             with_made(w->arena, meta, json_getz(x->asked, "metadata"),
                       json_getz(x->made, "metadata"), &ignored));
    w->tree = json_new(w->arena, obj_done(&tree));
    w->made = w->has_defaults = x->made;
    w->judged = x->judged;
    return 0;
}

/* ---- keeping one ---- */

static const struct json *parts_of(struct arena *a, const struct json *tree)
{
    const struct json *meta = json_getz(tree, "metadata");
    struct json_obj parts = obj_in(a), out = obj_in(a);

    for (size_t i = 0; i < countof(meta_parts); i++) {
        const struct json *v = json_get(meta, meta_parts[i]);
        if (v)
            obj_add(&parts, meta_parts[i], *v);
    }
    obj_add(&out, S("metadata"), obj_done(&parts));
    obj_add(&out, S("spec"), *json_getz(tree, "spec"));
    return json_new(a, obj_done(&out));
}

/* The members of `made` that `was`, of which it is a copy, shares with what was let pass. */
static struct json judged_of(struct arena *a, const struct json *made, const struct json *was,
                             const struct json *passed)
{
    struct json_obj out = obj_in(a);

    for (uint32_t i = 0; i < was->len; i++)
        if (json_is_shared(&was->members[i].value, json_get(passed, was->members[i].name)))
            obj_add(&out, made->members[i].name, made->members[i].value);
    return obj_done(&out);
}

void alike_keep(struct write *w)
{
    struct alike *x = w->alike;

    if (!x || w->is_alike || w->has_findings)
        return;
    const struct json *asked = parts_of(w->arena, w->asked);
    const struct json *made = parts_of(w->arena, w->conformed);
    struct json_obj judged;

    if (json_size(asked, ALIKE_MAX_BYTES) > ALIKE_MAX_BYTES ||
        json_size(made, ALIKE_MAX_BYTES) > ALIKE_MAX_BYTES)
        return;
    if (!x->arena.total)
        x->arena = arena_sized(ALIKE_ARENA);
    arena_reset(&x->arena);
    x->asked = json_copy(&x->arena, asked);
    x->made = json_copy(&x->arena, made);
    judged = obj_in(&x->arena);
    for (uint32_t i = 0; i < made->len; i++)
        obj_add(&judged, made->members[i].name,
                judged_of(&x->arena, &x->made->members[i].value, &made->members[i].value,
                          json_get(w->tree, made->members[i].name)));
    x->judged = json_new(&x->arena, obj_done(&judged));
}

void alike_free(struct server *s)
{
    for (size_t i = 0; s->alike && i < ALIKE_SLOTS; i++)
        arena_fini(&s->alike[i].arena);
    free(s->alike);
}
