/* object.c - an object: a narrow head with key and uid, and its bytes beside it
 *
 *     head | "ns/name" | uid          one allocation, as long as the object
 *     {"metadata":{"uid":"…"^…},…}    another, which may be given back; ^ is where
 *                                     the revision is put in on the way out
 */
#include "object/object.h"
#include "object/recent_priv.h"
#include "object/slab.h"

#include "schema/codec.h"
#include "schema/table.h"

struct object {
    const struct kind *kind;
    uint64_t revision;
    struct object_home *home; /* NULL: bytes are always in memory */
    uint64_t row;
    char *bytes;           /* NULL: at home */
    struct recent *recent; /* its tree, or NULL */
    uint32_t n_bytes;
    uint32_t revision_at; /* offset in bytes of the place for resourceVersion */
    uint32_t refs;
    uint16_t ns_len, path_len;
    uint8_t uid_len;
    bool is_used;    /* since the last object_cool() */
    bool is_loading; /* its home makes room for it: not at its own cost */
    char text[];     /* path, uid */
};

#define OBJECT_MAX_PATH UINT16_MAX
#define OBJECT_MAX_UID UINT8_MAX
/* What a tree that is read takes, about, of memory for each byte of its text. */
#define TREE_OF_TEXT(n) ((n)*5 / 2)
#define SCRATCH_MAX ((size_t)256 << 10) /* bytes kept for the next object's writing */

struct str object_kind_name(const struct kind *kind, char out[OBJECT_KIND_NAME_MAX])
{
    struct str version = kind->api_version, name = kind->kind;

    assert(version.len + 1 + name.len <= OBJECT_KIND_NAME_MAX);
    memcpy(out, version.at, version.len);
    out[version.len] = '/';
    memcpy(out + version.len + 1, name.at, name.len);
    return str_of(out, version.len + 1 + name.len);
}

int object_kind_id(const struct kind *kind)
{
    return kind->id;
}

static struct object *object_alloc(const struct kind *kind, struct str ns, struct str name,
                                   struct str uid)
{
    size_t path_len = ns.len ? ns.len + 1 + name.len : name.len;
    assert(path_len <= OBJECT_MAX_PATH);
    assert(uid.len <= OBJECT_MAX_UID);
    struct object *o = slab_alloc(sizeof(*o) + path_len + uid.len);
    *o = (struct object){.kind = kind,
                         .refs = 1,
                         .ns_len = (uint16_t)ns.len,
                         .path_len = (uint16_t)path_len,
                         .uid_len = (uint8_t)uid.len};
    char *p = o->text;
    if (ns.len) {
        memcpy(p, ns.at, ns.len);
        p[ns.len] = '/';
        p += ns.len + 1;
    }
    if (name.len)
        memcpy(p, name.at, name.len);
    if (uid.len)
        memcpy(o->text + path_len, uid.at, uid.len);
    return o;
}

static const struct str head[] = {S_INIT("apiVersion"), S_INIT("kind")};

static bool is_head(struct str name)
{
    return str_eq(name, head[0]) || str_eq(name, head[1]);
}

/* ---- bytes that may be at home ---- */

/* The place for the revision in bytes that came from a home. */
static size_t revision_place(struct str bytes)
{
    size_t at = str_find(bytes, S("\"metadata\":{"));

    if (at == STR_NONE)
        die("a stored object has no metadata: the data directory is damaged (berth fsck)");
    return at + sizeof("\"metadata\":{") - 1;
}

static void keep(const struct object *o, struct str bytes)
{
    struct object *mine = (struct object *)(uintptr_t)o; /* a cache behind const */

    mine->bytes = mem_alloc(bytes.len);
    memcpy(mine->bytes, bytes.at, bytes.len);
    mine->n_bytes = (uint32_t)bytes.len;
    mine->revision_at = (uint32_t)revision_place(bytes);
    mine->is_used = true;
    mine->is_loading = true;
    o->home->loaded(o->home, o);
    mine->is_loading = false;
}

/* Makes sure that the bytes are in memory. */
static void warm(const struct object *o)
{
    if (!o->bytes) {
        scoped(arena_fini) struct arena a = {0};
        keep(o, o->home->read(o->home, o, &a));
    }
    ((struct object *)(uintptr_t)o)->is_used = true;
}

/* ---- making one ---- */

/* An object under construction. */
struct draft {
    const struct json *tree;
    struct buf out;
    uint32_t revision_at;
    /* The version before, whose text and nodes may be taken; NULL where nothing is known. */
    const struct recent *was;
    const char *was_bytes;
    struct str was_head; /* its text up to the place of the revision */
    struct json_member meta[RECENT_META_MOST + 1]; /* without resourceVersion */
    uint32_t meta_at[RECENT_META_MOST + 1], n_meta;
    struct recent_text texts[RECENT_PARTS];
    bool is_shared[RECENT_PARTS];
    struct json_room rooms[RECENT_PARTS]; /* for copies of those that are not */
    struct json_room rest;                /* for a copy of what is in no part */
};

static bool is_metadata(struct str name)
{
    return str_eq(name, S("metadata"));
}

static bool is_managed(struct str name)
{
    return str_eq(name, S("managedFields"));
}

/* RECENT_META: it is none that stands beside the metadata. */
static enum recent_name part_named(struct str name)
{
    if (str_eq(name, S("spec")))
        return RECENT_SPEC;
    return str_eq(name, S("status")) ? RECENT_STATUS : RECENT_META;
}

static void write_name(struct draft *d, struct str name)
{
    json_write_str(&d->out, name);
    buf_byte(&d->out, ':');
}

static bool is_same(const struct json *a, const struct json *b)
{
    return json_is_shared(a, b) || (a->type == JSON_INT && b->type == JSON_INT && a->i == b->i);
}

/* The index of a member of the metadata in that of the version before, if it is the same there.
 * Mostly it is the next one. */
static size_t find_same(const struct recent *was, size_t next, const struct json_member *m)
{
    for (size_t i = next; was && i < was->n_meta; i++)
        if (str_eq(was->meta[i].name, m->name))
            return is_same(&was->meta[i].value, &m->value) ? i : STR_NONE;
    return STR_NONE;
}

/* Texts that stood together are taken together. The sign behind the last one may have been the
 * end. */
static void take(struct draft *d, struct recent_text *run)
{
    if (!run->len)
        return;
    buf_add(&d->out, str_of(d->was_bytes + run->at, run->len));
    d->out.at[d->out.len - 1] = ',';
    run->len = 0;
}

/* Behind each member stands a comma; behind the last one it becomes the end. */
static void write_metadata(struct draft *d, const struct json *metadata)
{
    struct json_room room = {0}; /* it is measured where it is copied */
    struct recent_text run = {0};
    size_t next = 0;
    bool is_shared = d->was && d->was->parts[RECENT_META];

    json_each_member (m, metadata) {
        if (str_eq(m->name, S("resourceVersion")))
            continue;
        size_t at = MIN(d->n_meta, RECENT_META_MOST), same = find_same(d->was, next, m);
        d->n_meta++;
        d->meta_at[at] = (uint32_t)d->out.len + run.len;
        if (same == STR_NONE) {
            take(d, &run);
            write_name(d, m->name);
            json_write_measured(&d->out, &room, &m->value);
            buf_byte(&d->out, ',');
            d->meta[at] = *m;
            is_shared &= is_managed(m->name);
            continue;
        }
        const uint32_t *from = &d->was->meta_at[same];
        if (run.len && run.at + run.len != from[0])
            take(d, &run);
        if (!run.len)
            run.at = from[0];
        run.len += from[1] - from[0];
        d->meta[at] = d->was->meta[same];
        next = same + 1;
    }
    take(d, &run);
    d->meta_at[MIN(d->n_meta, RECENT_META_MOST)] = (uint32_t)d->out.len;
    d->out.len -= d->n_meta > 0;
    buf_byte(&d->out, '}');
    d->is_shared[RECENT_META] = is_shared;
}

/* The text of a part that the version before has, too, is taken from there. */
static void write_part(struct draft *d, enum recent_name name, const struct json *v)
{
    const struct recent_part *part = d->was ? d->was->parts[name] : NULL;
    struct recent_text *text = &d->texts[name];

    text->at = (uint32_t)d->out.len;
    d->is_shared[name] = part && json_is_shared(&part->value, v);
    if (d->is_shared[name])
        buf_add(&d->out,
                str_of(d->was_bytes + d->was->texts[name].at, d->was->texts[name].len));
    else
        json_write_measured(&d->out, &d->rooms[name], v);
    text->len = (uint32_t)d->out.len - text->at;
}

static bool is_same_head(const struct draft *d)
{
    for (size_t i = 0; i < countof(head); i++)
        if (!d->was ||
            !json_is_shared(json_get(d->tree, head[i]), json_get(d->was->tree, head[i])))
            return false;
    return true;
}

static void write_head(struct draft *d)
{
    if (is_same_head(d)) {
        buf_add(&d->out, d->was_head);
        return;
    }
    buf_byte(&d->out, '{');
    for (size_t i = 0; i < countof(head); i++) {
        const struct json *v = json_get(d->tree, head[i]);
        if (!v)
            continue;
        write_name(d, head[i]);
        json_write(&d->out, v);
        buf_byte(&d->out, ',');
    }
    buf_add(&d->out, S("\"metadata\":{"));
}

/* apiVersion and kind, then metadata, then the rest: so the first `"metadata":{` of the text is
 * the object's own, whatever its spec holds. */
static void write_draft(struct draft *d)
{
    write_head(d);
    d->revision_at = (uint32_t)d->out.len;
    write_metadata(d, json_getz(d->tree, "metadata"));
    json_each_member (m, d->tree) {
        if (is_head(m->name) || is_metadata(m->name))
            continue;
        buf_byte(&d->out, ',');
        write_name(d, m->name);
        enum recent_name name = part_named(m->name);
        if (name) {
            write_part(d, name, &m->value);
            continue;
        }
        d->rest.texts += m->name.len;
        json_write_measured(&d->out, &d->rest, &m->value);
    }
    buf_byte(&d->out, '}');
}

/* ---- its tree, as reading the bytes would give it ---- */

static const struct json *add_part(struct recent *r, enum recent_name name,
                                   const struct json_room *room, const struct json *v)
{
    struct recent_part *part = recent_part_add(r, name, room->nodes + room->texts);
    struct json_copier c = {.node = part->memory, .text = part->memory + room->nodes};

    part->value = json_copy_to(&c, v);
    return &part->value;
}

static struct json keep_part(struct recent *r, enum recent_name name, const struct draft *d,
                             const struct json *v)
{
    if (!d->is_shared[name])
        return *add_part(r, name, &d->rooms[name], v);
    recent_part_share(r, name, d->was);
    return r->parts[name]->value;
}

/* What is owned changes more often than what owns it. */
static void keep_meta(struct recent *r, const struct draft *d, struct json_copier *c,
                      struct json_member *out)
{
    struct json_member still[RECENT_META_MOST];
    struct json v = {.type = JSON_OBJECT, .members = still};
    struct json_room room = {0};

    r->meta = out;
    r->n_meta = d->n_meta;
    memcpy(r->meta_at, d->meta_at, (d->n_meta + 1) * sizeof(*r->meta_at));
    if (d->is_shared[RECENT_META]) {
        recent_part_share(r, RECENT_META, d->was);
    } else {
        for (size_t i = 0; i < d->n_meta; i++)
            if (!is_managed(d->meta[i].name))
                still[v.len++] = d->meta[i];
        json_measure(&room, &v);
        v = *add_part(r, RECENT_META, &room, &v);
    }
    const struct json_member *next = v.members;
    for (size_t i = 0; i < d->n_meta; i++) {
        if (is_managed(d->meta[i].name))
            out[i] =
                (struct json_member){S("managedFields"), json_copy_to(c, &d->meta[i].value)};
        else
            out[i] = d->is_shared[RECENT_META] ? d->meta[i] : *next++;
    }
}

static struct json_member keep_member(struct recent *r, const struct draft *d,
                                      struct json_copier *c, const struct json_member *m)
{
    enum recent_name name = part_named(m->name);

    if (name)
        return (struct json_member){name == RECENT_SPEC ? S("spec") : S("status"),
                                    keep_part(r, name, d, &m->value)};
    struct json text = json_of_str(m->name);
    text = json_copy_to(c, &text);
    return (struct json_member){json_str(&text), json_copy_to(c, &m->value)};
}

/* A place for the revision stands before the first member of the metadata, which is not one of
 * them yet. */
static void remember(struct object *o, struct draft *d)
{
    struct json_room *room = &d->rest;
    size_t n = 0;

    if (o->n_bytes > RECENT_MAX_BYTES || d->n_meta > RECENT_META_MOST)
        return;
    for (size_t i = 0; i < countof(head); i++)
        if (json_get(d->tree, head[i]))
            json_measure(room, json_get(d->tree, head[i]));
    for (size_t i = 0; i < d->n_meta; i++)
        if (is_managed(d->meta[i].name))
            json_measure(room, &d->meta[i].value);
    room->nodes +=
        sizeof(struct json) + (d->tree->len + d->n_meta + 1) * sizeof(struct json_member);
    struct recent *r = recent_make(&o->recent, room->nodes + room->texts);
    struct json *tree =
        arena_raw(&r->arena, room->nodes + room->texts, _Alignof(struct json_member));
    struct json_member *top = (struct json_member *)(void *)(tree + 1);
    struct json_member *meta = top + d->tree->len + 1;
    struct json_copier c = {.node = (char *)(meta + d->n_meta),
                            .text = (char *)tree + room->nodes};
    for (size_t i = 0; i < countof(head); i++) {
        const struct json *v = json_get(d->tree, head[i]);
        if (v)
            top[n++] = (struct json_member){head[i], json_copy_to(&c, v)};
    }
    r->metadata = &top[n].value;
    top[n++] = (struct json_member){
        S("metadata"), {.type = JSON_OBJECT, .len = d->n_meta, .members = meta}
    };
    meta[-1] = (struct json_member){S("resourceVersion"), json_of_null()};
    keep_meta(r, d, &c, meta);
    json_each_member (m, d->tree) {
        if (!is_head(m->name) && !is_metadata(m->name))
            top[n++] = keep_member(r, d, &c, m);
    }
    *tree = (struct json){.type = JSON_OBJECT, .len = (uint32_t)n, .members = top};
    r->tree = tree;
    memcpy(r->texts, d->texts, sizeof(r->texts));
    recent_touch(r);
}

/* Nobody has read it yet. */
static void put_revision(struct recent *r, uint64_t revision)
{
    struct json_member *first = (struct json_member *)(uintptr_t)(r->metadata->members - 1);

    first->value = json_of_str(str_of_u64(&r->arena, revision));
    r->metadata->members = first;
    r->metadata->len++;
    r->metadata = NULL;
}

struct object *object_after(const struct object *before, const struct kind *kind,
                            const struct json *tree, bool is_read_soon)
{
    const struct json *metadata = json_getz(tree, "metadata");
    struct object *o = object_alloc(kind, json_str(json_getz(metadata, "namespace")),
                                    json_str(json_getz(metadata, "name")),
                                    json_str(json_getz(metadata, "uid")));
    /* Written in one place and copied to its size: texts that grow leave holes in the heap. */
    static struct buf scratch;
    struct draft d = {.tree = tree, .out = scratch};

    d.out.len = 0;
    if (before && before->bytes && before->recent) {
        d.was = before->recent;
        d.was_bytes = before->bytes;
        d.was_head = str_of(before->bytes, before->revision_at);
    }
    assert(json_len(metadata) > 0);
    write_draft(&d);
    assert(d.out.len <= UINT32_MAX);
    o->bytes = mem_alloc(d.out.len);
    memcpy(o->bytes, d.out.at, d.out.len);
    o->n_bytes = (uint32_t)d.out.len;
    o->revision_at = d.revision_at;
    scratch = d.out;
    if (scratch.cap > SCRATCH_MAX) {
        buf_fini(&scratch);
        scratch = (struct buf){0};
    }
    if (is_read_soon)
        remember(o, &d);
    return o;
}

struct object *object_new(const struct kind *kind, const struct json *tree)
{
    return object_after(NULL, kind, tree, false);
}

struct object *object_again(const struct object *o)
{
    struct object_key key = object_key(o);
    struct object *copy = object_alloc(key.kind, key.ns, key.name, object_uid(o));

    warm(o);
    copy->bytes = mem_alloc(o->n_bytes);
    memcpy(copy->bytes, o->bytes, o->n_bytes);
    copy->n_bytes = o->n_bytes;
    copy->revision_at = o->revision_at;
    return copy;
}

struct object *object_ref(struct object *o)
{
    o->refs++;
    return o;
}

void object_unref(struct object *o)
{
    if (!o || --o->refs)
        return;
    recent_drop(&o->recent);
    free(o->bytes);
    slab_free(o, sizeof(*o) + o->path_len + o->uid_len);
}

struct object_key object_key(const struct object *o)
{
    size_t skip = o->ns_len ? (size_t)o->ns_len + 1 : 0;
    return (struct object_key){.kind = o->kind,
                               .ns = str_of(o->text, o->ns_len),
                               .name = str_of(o->text + skip, o->path_len - skip)};
}

struct str object_path(const struct object *o)
{
    return str_of(o->text, o->path_len);
}

uint64_t object_revision(const struct object *o)
{
    return o->revision;
}

struct str object_uid(const struct object *o)
{
    return str_of(o->text + o->path_len, o->uid_len);
}

void object_set_revision(struct object *o, uint64_t revision)
{
    o->revision = revision;
    if (o->recent && o->recent->metadata && revision)
        put_revision(o->recent, revision);
    else
        recent_drop(&o->recent); /* the tree has another one in it */
}

/* ---- bytes ---- */

struct str object_rest(const struct object *o)
{
    warm(o);
    return str_of(o->bytes, o->n_bytes);
}

/* Bytes with the revision put in, or from the metadata on. */
static void write_at(const struct object *o, uint64_t revision, bool is_untyped,
                     struct buf *out)
{
    const struct str name = S("\"resourceVersion\":\""), end = S("\",");
    scoped(arena_fini) struct arena a = {0};
    struct str all;

    if (o->bytes) {
        all = object_rest(o);
    } else {
        all = o->home->read(o->home, o, &a);
        if (o->home->has_room(o->home, all.len))
            keep(o, all);
    }
    size_t place = o->bytes ? o->revision_at : revision_place(all);
    size_t from = is_untyped ? place - (sizeof("\"metadata\":{") - 1) : 0;
    char digits[STR_U64_MAX];

    buf_room(out, all.len - from + name.len + STR_U64_MAX + end.len);
    buf_add(out, str_slice(all, from, place));
    if (revision) {
        buf_add(out, name);
        buf_add(out, str_u64(digits + STR_U64_MAX, revision));
        buf_add(out, end);
    }
    buf_add(out, str_slice(all, place, all.len));
}

void object_write_at(const struct object *o, uint64_t revision, struct buf *out)
{
    write_at(o, revision, false, out);
}

void object_write(const struct object *o, struct buf *out)
{
    write_at(o, o->revision, false, out);
}

void object_write_untyped(const struct object *o, struct buf *out)
{
    buf_byte(out, '{');
    write_at(o, o->revision, true, out);
}

struct str object_bytes(const struct object *o, struct arena *a)
{
    struct buf out = buf_in(a, 0);

    object_write(o, &out);
    return buf_str(&out);
}

/* Who owns which field is much of an object's text, and read by whoever writes it alone. */
static const struct json_raw_path owned_fields = {
    {S_INIT("metadata"), S_INIT("managedFields"), S_INIT("fieldsV1")},
    3
};

static const struct json *parse(const struct object *o, struct arena *a)
{
    struct err err = {0};

    warm(o); /* one that is read is worth keeping */
    const struct json *tree = json_parse_raw(a, object_bytes(o, a), &owned_fields, &err);

    if (!tree)
        die("cannot read stored object '%.*s': %s", STR_ARG(object_path(o)), err.text);
    return tree;
}

/* Its entry, with the tree; NULL for an object that is too large to keep. */
static struct recent *recent_of(const struct object *o)
{
    struct object *mine = (struct object *)(uintptr_t)o; /* a cache behind const */

    if (!o->recent) {
        warm(o);
        if (o->n_bytes > RECENT_MAX_BYTES)
            return NULL;
        struct recent *r = recent_make(&mine->recent, TREE_OF_TEXT(o->n_bytes));
        r->tree = parse(o, &r->arena);
    }
    recent_touch(o->recent);
    return o->recent;
}

const struct json *object_tree(const struct object *o, struct arena *a)
{
    struct recent *r = recent_of(o);

    if (!r)
        return parse(o, a);
    recent_hold(r, a);
    return r->tree;
}

void object_outdated(struct object *o)
{
    if (o->recent)
        recent_age(o->recent);
}

size_t object_weight(const struct object *o)
{
    return sizeof(*o) + o->path_len + o->uid_len + (o->bytes ? o->n_bytes : 0);
}

/* ---- for store/ ---- */

struct object *object_at_home(const struct kind *kind, struct str path, struct str uid,
                              uint64_t revision, struct object_home *home, uint64_t row)
{
    struct str ns, name;

    if (!str_cut(path, '/', &ns, &name)) {
        name = ns;
        ns = str_of(NULL, 0);
    }
    struct object *o = object_alloc(kind, ns, name, uid);
    o->revision = revision;
    o->home = home;
    o->row = row;
    return o;
}

void object_set_home(struct object *o, struct object_home *home, uint64_t row)
{
    if (!home && o->home)
        warm(o);
    o->home = home;
    o->row = row;
}

struct object_home *object_home(const struct object *o)
{
    return o->home;
}

void object_set_kind(struct object *o, const struct kind *kind)
{
    recent_drop(&o->recent);
    o->kind = kind;
}

uint64_t object_row(const struct object *o)
{
    return o->row;
}

bool object_is_warm(const struct object *o)
{
    return o->bytes != NULL;
}

size_t object_cool(struct object *o)
{
    assert(o->home);
    if (!o->bytes || o->is_loading)
        return 0;
    if (o->is_used) {
        o->is_used = false;
        return 0;
    }
    free(o->bytes);
    o->bytes = NULL;
    return o->n_bytes;
}

/* The tree without who owns which field, which is read from it alone, by the server; and
 * without its spec where that has a view of its own. */
static struct json viewed(struct arena *a, const struct json *tree, bool has_spec)
{
    struct json out = *tree;
    struct json_member *top =
        arena_raw(a, size_mul(tree->len, sizeof(*top)), _Alignof(struct json_member));

    out.len = 0;
    out.members = top;
    json_each_member (m, tree) {
        if (has_spec && part_named(m->name) == RECENT_SPEC)
            continue;
        top[out.len] = *m;
        if (is_metadata(m->name)) {
            top[out.len].value = *json_without(a, &m->value, "managedFields", NULL);
            top[out.len].value.place = m->value.place;
        }
        out.len++;
    }
    return out;
}

/* The view of a spec is made once for all versions that have it. */
static const void *spec_view(struct recent *r, const struct schema_field *f)
{
    struct recent_part *part = r->parts[RECENT_SPEC];

    if (!part->view) {
        part->views = arena_sized(2 * part->size);
        part->view = schema_decode(&part->views, f->type, &part->value);
        part->size += part->views.total;
        r->parts_size += part->views.total;
    }
    return part->view;
}

static const void *view_of(const struct object *o, const struct json *tree, struct recent *r,
                           struct arena *a)
{
    const struct schema_field *f =
        r && r->parts[RECENT_SPEC] ? schema_field(o->kind->schema, S("spec")) : NULL;
    bool has_spec = f && f->type->type == SCHEMA_OBJECT && f->type->size &&
                    r->parts[RECENT_SPEC]->value.type == JSON_OBJECT;
    struct json v = viewed(a, tree, has_spec);
    void *view = schema_decode(a, o->kind->schema, &v);

    if (has_spec)
        schema_view_put(view, f, spec_view(r, f));
    return view;
}

const void *object_view(const struct object *o, struct arena *a)
{
    struct recent *r = recent_of(o);

    if (!r)
        return view_of(o, parse(o, a), NULL, a);
    recent_hold(r, a); /* before it grows: then another's turn may come to go */
    if (!r->view) {
        r->view = view_of(o, r->tree, r, &r->arena);
        recent_touch(r);
    }
    return r->view;
}
