/* wl.c - records of workloads and their shapes
 *
 * A million records wait at times, so a record is small: the name and the uid stand behind it,
 * its namespace and queue are its group's, and what only some need is in its extra.
 */
#include "queue/engine_priv.h"

#define SLAB_MIN ((size_t)4 << 10)
#define SLAB_MAX ((size_t)256 << 10)
#define SLAB_SHARE                                                                             \
    16 /* a new slab is this part of what there is: little of it stands empty                  \
        */
#define SLAB_STEP 8

struct slab {
    struct slab *next;
};

/* ---- memory: classes of 8 bytes, never given back to the system before the end ---- */

static void *slab_alloc(struct queue_engine *e, size_t size)
{
    size_t class = (size + SLAB_STEP - 1) / SLAB_STEP;

    if (class >= countof(e->slab_free))
        return mem_alloc(size);
    void *p = e->slab_free[class];
    if (p) {
        memcpy(&e->slab_free[class], p, sizeof(void *));
        return p;
    }
    size = class * SLAB_STEP;
    if ((size_t)(e->slab_end - e->slab_at) < size) {
        size_t room = MIN(MAX(e->slab_total / SLAB_SHARE, SLAB_MIN), SLAB_MAX);
        struct slab *s = mem_alloc(room);
        s->next = e->slabs;
        e->slabs = s;
        e->slab_at = (char *)(s + 1);
        e->slab_end = (char *)s + room;
        e->slab_total += room;
    }
    p = e->slab_at;
    e->slab_at += size;
    return p;
}

static void slab_put(struct queue_engine *e, void *p, size_t size)
{
    size_t class = (size + SLAB_STEP - 1) / SLAB_STEP;

    if (class >= countof(e->slab_free)) {
        free(p);
        return;
    }
    memcpy(p, &e->slab_free[class], sizeof(void *));
    e->slab_free[class] = p;
}

/* ---- uids ---- */

#define UUID_TEXT 36
#define UUID_BYTES 16

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

/* Only the canonical form (lower case) is packed, so that unpacking gives the same text. */
static bool uuid_pack(struct str uid, uint8_t out[UUID_BYTES])
{
    size_t n = 0;

    if (uid.len != UUID_TEXT)
        return false;
    for (size_t i = 0; i < UUID_TEXT; i++) {
        int d = hex_digit(uid.at[i]);
        if (is_dash_at(i) ? uid.at[i] != '-' : d < 0)
            return false;
        if (is_dash_at(i))
            continue;
        out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | d : d << 4);
        n++;
    }
    return true;
}

static void uuid_unpack(const char *bytes, char out[UUID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    static const uint8_t groups[] = {4, 2, 2, 2, 6}; /* bytes between dashes */
    const uint8_t *b = (const uint8_t *)bytes;

    for (size_t g = 0; g < countof(groups); g++) {
        if (g)
            *out++ = '-';
        for (const uint8_t *end = b + groups[g]; b != end; b++) {
            *out++ = digits[*b >> 4];
            *out++ = digits[*b & 15];
        }
    }
}

static struct str uid_text(const struct queue_wl *wl, char room[UUID_TEXT])
{
    if (!wl->is_uuid)
        return str_of(wl->text + wl->name_len, wl->uid_len);
    uuid_unpack(wl->text + wl->name_len, room);
    return str_of(room, UUID_TEXT);
}

int wl_uid_cmp(const struct queue_wl *a, const struct queue_wl *b)
{
    char room_a[UUID_TEXT], room_b[UUID_TEXT];

    if (a->is_uuid && b->is_uuid)
        return memcmp(a->text + a->name_len, b->text + b->name_len, UUID_BYTES);
    return str_cmp(uid_text(a, room_a), uid_text(b, room_b));
}

uint64_t wl_uid_head(const struct queue_wl *wl)
{
    uint64_t head = 0;

    for (size_t i = 0; wl->is_uuid && i < sizeof(head); i++)
        head = head << 8 | (uint8_t)wl->text[wl->name_len + i];
    return head;
}

/* ---- the table by key ---- */

struct str wl_key(struct arena *a, const struct queue_wl *wl)
{
    struct str ns = wl->group->lq->ns;
    size_t len = ns.len + 1 + wl->name_len;
    char *text = arena_raw(a, len, 1);

    if (ns.len)
        memcpy(text, ns.at, ns.len);
    text[ns.len] = '/';
    memcpy(text + ns.len + 1, wl->text, wl->name_len);
    return str_of(text, len);
}

static uint32_t key_hash(struct str ns, struct str name)
{
    uint64_t h = str_hash_on(str_hash_on(0, ns), name);
    return (uint32_t)(h ^ h >> 32);
}

bool wl_has_uid(const struct queue_wl *wl, struct str uid)
{
    char room[UUID_TEXT];
    return str_eq(uid_text(wl, room), str_slice(uid, 0, UINT8_MAX));
}

struct queue_wl *wl_find_in(const struct queue_engine *e, struct str ns, struct str name)
{
    uint32_t hash = key_hash(ns, name);

    if (!e->n_table)
        return NULL;
    for (struct queue_wl *wl = e->table[hash & (e->n_table - 1)]; wl; wl = wl->next)
        if (wl->hash == hash && str_eq(wl_name(wl), name) && str_eq(wl->group->lq->ns, ns))
            return wl;
    return NULL;
}

struct queue_wl *wl_find(const struct queue_engine *e, struct str key)
{
    struct str ns, name;

    if (!str_rcut(key, '/', &ns, &name)) {
        name = key;
        ns = S("");
    }
    return wl_find_in(e, ns, name);
}

static void table_grow(struct queue_engine *e)
{
    uint32_t n = e->n_table ? 2 * e->n_table : 64;
    struct queue_wl **table = mem_zero(n, sizeof(*table));

    for (uint32_t i = 0; i < e->n_table; i++)
        for (struct queue_wl *wl = e->table[i], *next; wl; wl = next) {
            next = wl->next;
            wl->next = table[wl->hash & (n - 1)];
            table[wl->hash & (n - 1)] = wl;
        }
    free(e->table);
    e->table = table;
    e->n_table = n;
}

struct queue_wl *wl_make(struct queue_engine *e, const struct queue_workload_spec *spec)
{
    uint8_t uuid[UUID_BYTES];
    bool is_uuid = uuid_pack(spec->uid, uuid);
    size_t name_len = MIN(spec->name.len, (size_t)UINT8_MAX);
    size_t uid_len = is_uuid ? UUID_BYTES : MIN(spec->uid.len, (size_t)UINT8_MAX);
    struct queue_wl *wl = slab_alloc(e, offsetof(struct queue_wl, text) + name_len + uid_len);

    *wl = (struct queue_wl){
        .hash = key_hash(spec->ns, spec->name),
        .is_uuid = is_uuid,
        .name_len = (uint8_t)name_len,
        .uid_len = (uint8_t)uid_len,
    };
    if (name_len)
        memcpy(wl->text, spec->name.at, name_len);
    if (uid_len)
        memcpy(wl->text + name_len, is_uuid ? (const char *)uuid : spec->uid.at, uid_len);
    if (e->n_wls >= 2 * e->n_table)
        table_grow(e);
    wl->next = e->table[wl->hash & (e->n_table - 1)];
    e->table[wl->hash & (e->n_table - 1)] = wl;
    e->n_wls++;
    return wl;
}

void wl_free(struct queue_engine *e, struct queue_wl *wl)
{
    struct queue_wl **at = &e->table[wl->hash & (e->n_table - 1)];

    while (*at != wl)
        at = &(*at)->next;
    *at = wl->next;
    e->n_wls--;
    wl_extra_free(wl);
    slab_put(e, wl, offsetof(struct queue_wl, text) + wl->name_len + wl->uid_len);
}

struct wl_extra *wl_extra(struct queue_wl *wl)
{
    if (!wl->extra)
        wl->extra = mem_zero(1, sizeof(*wl->extra));
    return wl->extra;
}

void wl_extra_free(struct queue_wl *wl)
{
    struct wl_extra *x = wl->extra;

    if (!x)
        return;
    vec_fini(&x->usage);
    free(x->held);
    free(x->progress);
    free(x->texts);
    free(x->answer);
    free(x);
    wl->extra = NULL;
}

/* ---- shapes ---- */

/* Seven bits a byte, the last byte below 128: numbers here are mostly small. */
static void add_i64(struct buf *b, int64_t v)
{
    uint64_t left = (uint64_t)v;

    for (; left > 127; left >>= 7)
        buf_byte(b, (char)(left | 128));
    buf_byte(b, (char)left);
}

static void add_str(struct buf *b, struct str s)
{
    add_i64(b, (int64_t)s.len);
    buf_add(b, s);
}

static void add_topology(struct buf *b, const struct queue_topology_request *t)
{
    add_i64(b, t->is_explicit | t->is_required << 1 | t->is_preferred << 2 |
                   t->is_unconstrained << 3);
    add_str(b, t->level);
    add_str(b, t->group);
    add_str(b, t->slice_level);
    add_i64(b, t->slice_size);
}

/* Everything that a judgement depends on, as bytes. */
static struct str shape_bytes(struct buf *b, const struct queue_workload_spec *spec)
{
    add_i64(b, spec->priority);
    add_str(b, spec->allowed_flavors);
    for (size_t i = 0; i < spec->n_podsets; i++) {
        const struct queue_podset_spec *ps = &spec->podsets[i];
        add_str(b, ps->name);
        add_i64(b, ps->count);
        add_i64(b, ps->min_count);
        add_i64(b, (int64_t)ps->digest[0]);
        add_i64(b, (int64_t)ps->digest[1]);
        add_i64(b, (int64_t)ps->n_requests);
        for (size_t k = 0; k < ps->n_requests; k++) {
            add_str(b, ps->requests[k].resource);
            add_i64(b, ps->requests[k].amount);
        }
        add_topology(b, &ps->topology);
    }
    add_str(b, spec->shape_name);
    return buf_str(b);
}

static const struct str *copy_strs(struct arena *a, const struct str *s, size_t n)
{
    struct str *at = arena_array(a, struct str, n);

    for (size_t i = 0; i < n; i++)
        at[i] = str_copy(a, s[i]);
    return at;
}

static struct queue_term copy_term(struct arena *a, struct queue_term t)
{
    struct queue_requirement *at = arena_array(a, struct queue_requirement, t.len);

    for (size_t i = 0; i < t.len; i++) {
        at[i] = t.at[i];
        at[i].key = str_copy(a, t.at[i].key);
        at[i].values = copy_strs(a, t.at[i].values, t.at[i].n_values);
    }
    return (struct queue_term){at, t.len};
}

static void copy_podset(struct queue_engine *e, struct arena *a, struct shape_podset *out,
                        const struct queue_podset_spec *in)
{
    out->spec = *in;
    out->spec.name = str_copy(a, in->name);
    out->spec.requests = NULL;
    out->spec.node_selector = labels_copy(a, in->node_selector);
    out->spec.raw_resources = copy_strs(a, in->raw_resources, in->n_raw_resources);
    out->spec.topology.level = str_copy(a, in->topology.level);
    out->spec.topology.group = str_copy(a, in->topology.group);
    out->spec.topology.slice_level = str_copy(a, in->topology.slice_level);

    struct queue_term *terms = arena_array(a, struct queue_term, in->n_terms);
    for (size_t i = 0; i < in->n_terms; i++)
        terms[i] = copy_term(a, in->terms[i]);
    out->spec.terms = terms;

    out->spec.tolerations = tolerations_copy(a, in->tolerations, in->n_tolerations);

    out->requests = arena_array(a, struct shape_request, in->n_requests);
    for (size_t i = 0; i < in->n_requests; i++) {
        struct shape_request r = {intern_add(&e->resources, in->requests[i].resource),
                                  in->requests[i].amount};
        size_t at = out->n_requests++;
        for (; at > 0 && str_cmp(intern_name(&e->resources, out->requests[at - 1].resource),
                                 in->requests[i].resource) > 0;
             at--)
            out->requests[at] = out->requests[at - 1];
        out->requests[at] = r;
    }
}

static size_t strs_room(const struct str *s, size_t n)
{
    size_t room = size_mul(n, sizeof(*s));

    for (size_t i = 0; i < n; i++)
        room += s[i].len;
    return room;
}

/* What the shape's arena will hold, rare things aside: they may take a second block. */
static size_t shape_room(const struct queue_workload_spec *spec, struct str key)
{
    size_t room = key.len + size_mul(spec->n_podsets, sizeof(struct shape_podset));

    for (size_t i = 0; i < spec->n_podsets; i++) {
        const struct queue_podset_spec *ps = &spec->podsets[i];
        room += strs_room(&ps->name, 1) + strs_room(ps->raw_resources, ps->n_raw_resources) +
                size_mul(ps->n_requests, sizeof(struct shape_request));
    }
    return room;
}

struct queue_shape *shape_get(struct queue_engine *e, const struct queue_workload_spec *spec)
{
    scoped(arena_fini) struct arena scratch = arena_sized(2048);
    struct buf b = buf_in(&scratch, 1024);
    struct str key = shape_bytes(&b, spec);
    struct queue_shape **found = map_get(&e->shapes, key);

    if (found) {
        (*found)->refs++;
        return *found;
    }
    struct queue_shape *s = mem_zero(1, sizeof(*s));
    s->refs = 1;
    s->id = ++e->next_shape;
    s->arena = arena_sized(shape_room(spec, key));
    s->key = str_copy(&s->arena, key);
    s->priority = spec->priority;
    s->allowed_flavors = str_copy(&s->arena, spec->allowed_flavors);
    if (gate(e, QUEUE_GATE_EQUIVALENCE)) {
        s->class = str_digest(spec->shape_name.len ? spec->shape_name : key);
        s->class += s->class == 0;
    }
    s->n_podsets = spec->n_podsets;
    s->podsets = arena_array(&s->arena, struct shape_podset, spec->n_podsets);
    for (size_t i = 0; i < spec->n_podsets; i++)
        copy_podset(e, &s->arena, &s->podsets[i], &spec->podsets[i]);
    *map_put(&e->shapes, s->key) = s;
    return s;
}

void shape_unref(struct queue_engine *e, struct queue_shape *s)
{
    if (!s || --s->refs)
        return;
    map_del(&e->shapes, s->key);
    arena_fini(&s->arena);
    free(s);
}
