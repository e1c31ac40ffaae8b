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

static void write_name(struct buf *out, struct str name)
{
    json_write_str(out, name);
    buf_byte(out, ':');
}

static void write_member(struct buf *out, const struct json_member *m)
{
    write_name(out, m->name);
    json_write(out, &m->value);
}

static void write_metadata(struct buf *out, const struct json *metadata)
{
    bool is_first = true;

    json_each_member (m, metadata) {
        if (str_eq(m->name, S("resourceVersion")))
            continue;
        if (!is_first)
            buf_byte(out, ',');
        is_first = false;
        write_member(out, m);
    }
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

/* ---- the tree it was made from ---- */

/* With a place for the revision before the first member, which is not one of them yet. */
static struct json with_place(struct arena *a, const struct json *metadata)
{
    struct json_obj out = obj_in(a);

    obj_add(&out, S("resourceVersion"), json_of_null());
    json_each_member (m, metadata)
        if (!str_eq(m->name, S("resourceVersion")))
            obj_add(&out, m->name, m->value);
    struct json all = obj_done(&out);
    all.members++;
    all.len--;
    return all;
}

/* Of a new object's text: where its spec stands, and whether it is that of the version before.
 */
struct spec_text {
    uint32_t at, len;
    bool is_shared;
};

static bool is_spec(struct str name)
{
    return str_eq(name, S("spec"));
}

/* What is copied for the version after `before`. */
static const struct json *without_spec(struct arena *a, const struct json *tree)
{
    struct json_obj out = obj_in(a);

    json_each_member (m, tree)
        if (!is_spec(m->name))
            obj_add(&out, m->name, m->value);
    return json_new(a, obj_done(&out));
}

/* As reading the bytes would give it, without reading them. */
static void remember(struct object *o, const struct json *tree, const struct object *before,
                     const struct spec_text *spec)
{
    if (o->n_bytes > RECENT_MAX_BYTES)
        return;
    struct recent *r = recent_make(&o->recent, o->n_bytes - (spec->is_shared ? spec->len : 0));
    struct arena *a = &r->arena;
    const struct json *copy = json_copy(a, spec->is_shared ? without_spec(a, tree) : tree);
    struct json_obj out = obj_in(a);

    for (size_t i = 0; i < countof(head); i++)
        if (json_get(copy, head[i]))
            obj_add(&out, head[i], *json_get(copy, head[i]));
    size_t at = out.members.len;
    obj_add(&out, S("metadata"), with_place(a, json_getz(copy, "metadata")));
    if (spec->is_shared)
        recent_share_spec(r, before->recent);
    const struct json_member *mine = copy->members;
    json_each_member (m, tree) {
        if (spec->is_shared && is_spec(m->name)) {
            obj_add(&out, S("spec"), r->spec);
            continue;
        }
        if (!is_head(mine->name) && !str_eq(mine->name, S("metadata")))
            obj_add(&out, mine->name, mine->value);
        mine++;
    }
    r->metadata = &out.members.at[at].value;
    r->tree = json_new(a, obj_done(&out));
    if (!spec->is_shared && spec->len) {
        r->spec = *json_getz(r->tree, "spec");
        r->spec_home = r;
    }
    r->spec_at = spec->at;
    r->spec_len = spec->len;
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

/* ---- making one ---- */

/* The text of a spec that the version before has, too, is taken from there. */
static struct spec_text write_spec(struct buf *out, const struct json *spec,
                                   const struct object *before)
{
    const struct recent *r = before && before->bytes ? before->recent : NULL;
    struct spec_text text = {.at = (uint32_t)out->len};

    text.is_shared = r && r->spec_home && json_is_shared(&r->spec, spec);
    if (text.is_shared)
        buf_add(out, str_of(before->bytes + r->spec_at, r->spec_len));
    else
        json_write(out, spec);
    text.len = (uint32_t)out->len - text.at;
    return text;
}

/* apiVersion and kind, then metadata, then the rest: so the first `"metadata":{` of the text is
 * the object's own, whatever its spec holds. The place of the revision is told. */
static struct spec_text write_rest(struct buf *out, const struct json *tree,
                                   const struct object *before, uint32_t *revision_at)
{
    struct spec_text spec = {0};

    buf_byte(out, '{');
    for (size_t i = 0; i < countof(head); i++) {
        const struct json *v = json_get(tree, head[i]);
        if (!v)
            continue;
        write_member(out, &(struct json_member){head[i], *v});
        buf_byte(out, ',');
    }
    buf_add(out, S("\"metadata\":{"));
    *revision_at = (uint32_t)out->len;
    write_metadata(out, json_getz(tree, "metadata"));
    buf_byte(out, '}');
    json_each_member (m, tree) {
        if (is_head(m->name) || str_eq(m->name, S("metadata")))
            continue;
        buf_byte(out, ',');
        write_name(out, m->name);
        if (is_spec(m->name))
            spec = write_spec(out, &m->value, before);
        else
            json_write(out, &m->value);
    }
    buf_byte(out, '}');
    return spec;
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
    struct buf out = scratch;

    out.len = 0;
    assert(json_len(metadata) > 0);
    struct spec_text spec = write_rest(&out, tree, before, &o->revision_at);
    assert(out.len <= UINT32_MAX);
    o->bytes = mem_alloc(out.len);
    memcpy(o->bytes, out.at, out.len);
    o->n_bytes = (uint32_t)out.len;
    scratch = out;
    if (scratch.cap > SCRATCH_MAX) {
        buf_fini(&scratch);
        scratch = (struct buf){0};
    }
    if (is_read_soon)
        remember(o, tree, before, &spec);
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
        struct recent *r = recent_make(&mine->recent, o->n_bytes);
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

/* Who owns which field is read from the tree alone, by the server. */
static const void *view_of(const struct object *o, const struct json *tree, struct arena *a)
{
    return schema_decode(a, o->kind->schema,
                         json_without(a, tree, "metadata", "managedFields", NULL));
}

const void *object_view(const struct object *o, struct arena *a)
{
    struct recent *r = recent_of(o);

    if (!r)
        return view_of(o, parse(o, a), a);
    recent_hold(r, a); /* before it grows: then another's turn may come to go */
    if (!r->view) {
        r->view = view_of(o, r->tree, &r->arena);
        recent_touch(r);
    }
    return r->view;
}
