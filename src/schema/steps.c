/* steps.c - what writes that are no apply made of the owners before */
#include "schema/steps_priv.h"
#include "schema/uids.h"

#define WAYS 4 /* places for a step */
#define SEEN 256

/* What becomes of one entry. */
struct owner {
    struct str id;
    struct str before, after; /* FieldsV1, "" for none */
    bool is_as_read;          /* the set is the same, however it is written */
    bool is_apart;            /* a text that is known to be apart, as it is */
};

struct step {
    struct arena arena;
    const struct kind *kind; /* NULL: not in use */
    bool has_any_uid;        /* any_uid stands in its texts where any may */
    struct str key;
    uint64_t hash, used;
    struct fieldset touched;
    VEC(struct owner) owners; /* of fields that are touched, and the writer */
    bool is_taken;
};

struct steps {
    struct step all[STEPS_MAX];
    uint64_t seen[SEEN]; /* hashes of steps that came once: many never come again */
    uint64_t clock, n_taken;
};

struct steps *steps_new(void)
{
    return mem_zero(1, sizeof(struct steps));
}

void steps_free(struct steps *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < STEPS_MAX; i++)
        arena_fini(&s->all[i].arena);
    free(s);
}

uint64_t steps_taken(const struct steps *s)
{
    return s->n_taken;
}

struct buf step_key(struct arena *a, struct str subresource, struct str manager)
{
    const uint32_t lengths[] = {(uint32_t)subresource.len, (uint32_t)manager.len};
    struct buf key = buf_in(a, 1024);

    buf_add(&key, str_of((const char *)lengths, sizeof(lengths)));
    buf_add(&key, subresource);
    buf_add(&key, manager);
    return key;
}

/* The text of an entry's set; "" where it is kept in another form. */
static struct str text_of(const struct managed_entry *e)
{
    return json_is(e->before, JSON_RAW) ? str_of(e->before->s, e->before->len)
                                        : str_of(NULL, 0);
}

/* A write as it is looked for: as it is, or with any uid in the place of one. */
struct view {
    struct arena *arena;
    struct str key, uid; /* the latter "" where it is as it is */
    uint64_t hash;
};

/* No text has such bytes. */
static const char any_uid[UID_LEN + 1] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";

static struct str seen_as(const struct view *v, struct str text)
{
    return v->uid.len ? uid_swap(v->arena, text, v->uid, str_of(any_uid, UID_LEN)) : text;
}

/* Pods of one Job go one way, those of another the same with other texts: the writer's own
 * tells them apart. */
static struct view as_it_is(struct arena *a, const struct step_of *of,
                            const struct managed_entry *own)
{
    struct view v = {.arena = a, .key = of->key};

    v.hash = str_hash_on(str_hash(v.key), own ? text_of(own) : str_of(NULL, 0));
    return v;
}

/* Pods of many Jobs differ in the uid of who owns them. False where there is none. */
static bool with_any_uid(struct arena *a, const struct step_of *of,
                         const struct managed_entry *own, struct view *out)
{
    struct str head = str_slice(of->key, 0, of->n_head);
    struct str difference = str_slice(of->key, of->n_head, of->key.len);
    struct str text = own ? text_of(own) : str_of(NULL, 0);
    struct view v = {.arena = a, .uid = uid_find(difference)};

    if (!v.uid.len)
        v.uid = uid_find(text);
    if (!v.uid.len)
        return false;
    v.key = str_concat(a, head, seen_as(&v, difference));
    v.hash = str_hash_on(str_hash_on(str_hash(v.key), seen_as(&v, text)), S("uid"));
    *out = v;
    return true;
}

/* ---- a step that is known ---- */

static const struct owner *owner_of(const struct step *x, struct str id)
{
    vec_each (i, &x->owners)
        if (str_eq(x->owners.at[i].id, id))
            return &x->owners.at[i];
    return NULL;
}

/* Is the entry as it was before, or apart? */
static bool fits(const struct step *x, const struct managed_touch *touch, const struct view *v,
                 const struct managed_entry *e)
{
    const struct owner *o = owner_of(x, e->id);

    if (!str_eq(e->version, touch->version))
        return false;
    if (o && !o->is_apart)
        return o->before.len && str_eq(seen_as(v, text_of(e)), o->before);
    return (o && str_eq(text_of(e), o->before)) || managed_is_apart(touch, e);
}

/* What becomes of an entry follows from its own set and from what is changed: others may be
 * missing. */
static bool takes_place(const struct step *x, const struct step_of *of, const struct view *v,
                        struct managed *m)
{
    struct managed_touch touch = {x->touched, of->kind->api_version, of->own.id};
    const struct owner *own = owner_of(x, of->own.id);

    if (own && own->before.len && !managed_find(m, own->id))
        return false;
    vec_each (i, &m->entries)
        if (!fits(x, &touch, v, &m->entries.at[i]))
            return false;
    return true;
}

static struct step *find(struct steps *s, const struct step_of *of, const struct view *v,
                         struct managed *m)
{
    struct step *ways = &s->all[v->hash % (STEPS_MAX / WAYS) * WAYS];

    for (size_t i = 0; i < WAYS; i++)
        if (ways[i].hash == v->hash && ways[i].kind == of->kind &&
            ways[i].has_any_uid == (v->uid.len > 0) && str_eq(ways[i].key, v->key) &&
            takes_place(&ways[i], of, v, m))
            return &ways[i];
    return NULL;
}

/* What `m` holds is what was there; it becomes what there is to be. */
static void follow(const struct step *x, struct arena *a, const struct step_of *of,
                   const struct view *v, struct managed *m, struct managers *managers)
{
    const struct owner *own = owner_of(x, of->own.id);

    if (own && own->before.len == 0)
        managed_put(a, m, of->own);
    vec_each (i, &m->entries) {
        struct managed_entry *e = &m->entries.at[i];
        const struct owner *o = owner_of(x, e->id);
        bool is_about = o && !o->is_apart;
        if (is_about && o->after.len == 0)
            continue;
        if (is_about && !o->is_as_read)
            e->after = json_new(
                a,
                json_of_raw(v->uid.len ? uid_swap(a, o->after, str_of(any_uid, UID_LEN), v->uid)
                                       : str_copy(a, o->after)));
        vec_push_in(a, &managers->list,
                    (struct manager){.id = e->id,
                                     .version = e->version,
                                     .is_apply = e->is_apply,
                                     .is_apart = true,
                                     .tag = (uint32_t)i});
    }
}

bool steps_take(struct steps *s, struct arena *a, const struct step_of *of, struct managed *m,
                struct managers *managers, bool *is_taken)
{
    struct managed read = {.sets = m->sets};

    if (managed_heads(a, of->list, &read, NULL) < 0)
        return false;
    const struct managed_entry *own = managed_find(&read, of->own.id);
    struct view v = as_it_is(a, of, own);
    struct step *x = find(s, of, &v, &read);
    if (!x && with_any_uid(a, of, own, &v))
        x = find(s, of, &v, &read);
    if (!x)
        return false;
    x->used = ++s->clock;
    s->n_taken++;
    follow(x, a, of, &v, &read, managers);
    *m = read;
    *is_taken = x->is_taken;
    return true;
}

/* ---- learning ---- */

static bool came_before(struct steps *s, uint64_t hash)
{
    uint64_t *seen = &s->seen[hash % SEEN];
    bool is_known = *seen == hash;

    *seen = hash;
    return is_known;
}

/* Is all at one version, in the form that is compared, and short? */
static bool is_plain(const struct step_of *of, const struct managed *m)
{
    size_t bytes = of->key.len;

    vec_each (i, &m->entries) {
        const struct managed_entry *e = &m->entries.at[i];
        if (!str_eq(e->version, of->kind->api_version) || (e->raw && !text_of(e).len))
            return false;
        bytes += text_of(e).len + (e->after ? e->after->len : 0);
    }
    return bytes <= STEP_BYTES;
}

static struct str kept(struct step *x, const struct view *v, struct str text)
{
    return str_copy(&x->arena, seen_as(v, text));
}

static void learn_owner(struct step *x, const struct view *v, const struct managed_entry *e,
                        const struct manager *m)
{
    if (m && m->is_apart) {
        struct owner apart = {.id = str_copy(&x->arena, e->id),
                              .before = str_copy(&x->arena, text_of(e)),
                              .is_apart = true};
        vec_push_in(&x->arena, &x->owners, apart);
        return;
    }
    struct owner o = {.id = str_copy(&x->arena, e->id), .before = kept(x, v, text_of(e))};

    if (m && e->after)
        o.after = kept(x, v, str_of(e->after->s, e->after->len));
    else if (m)
        o.after = o.before, o.is_as_read = true;
    vec_push_in(&x->arena, &x->owners, o);
}

/* In the place of the one that was taken longest ago. */
static struct step *make_room(struct steps *s, uint64_t hash)
{
    struct step *ways = &s->all[hash % (STEPS_MAX / WAYS) * WAYS], *oldest = ways;

    for (size_t i = 1; i < WAYS; i++)
        if (ways[i].used < oldest->used)
            oldest = &ways[i];
    arena_fini(&oldest->arena);
    *oldest = (struct step){.hash = hash, .used = ++s->clock};
    return oldest;
}

/* Would any other uid do? */
static bool may_be_any(struct str uid, struct fieldset touched, struct managed *m,
                       struct managers *managers)
{
    if (!uid_is_alone(touched, uid))
        return false;
    vec_each (i, &m->entries) {
        const struct manager *left = managers_find(managers, m->entries.at[i].id);
        if (!uid_is_alone(m->entries.at[i].set, uid) || (left && !uid_is_alone(left->set, uid)))
            return false;
    }
    return true;
}

void steps_learn(struct steps *s, struct arena *scratch, const struct step_of *of,
                 struct managed *m, struct managers *managers, struct fieldset touched,
                 bool is_taken)
{
    const struct managed_entry *own = managed_find(m, of->own.id);
    struct view v = as_it_is(scratch, of, own), any;
    bool is_known = came_before(s, v.hash);

    if (with_any_uid(scratch, of, own, &any) && came_before(s, any.hash) && !is_known &&
        may_be_any(any.uid, touched, m, managers))
        v = any;
    else if (!is_known)
        return;
    if (!is_plain(of, m))
        return;
    struct step *x = make_room(s, v.hash);
    struct json text = fieldset_write(&x->arena, touched);
    if (fieldset_read(&x->arena, &text, &x->touched, NULL) < 0)
        return;
    vec_each (i, &m->entries)
        learn_owner(x, &v, &m->entries.at[i], managers_find(managers, m->entries.at[i].id));
    x->kind = of->kind;
    x->has_any_uid = v.uid.len > 0;
    x->key = str_copy(&x->arena, v.key);
    x->is_taken = is_taken;
}
