/* managed.c - entries of metadata.managedFields, read and written */
#include "schema/managed_priv.h"

#include "value/time.h"

#define ANCIENT "ancient-changes"

struct str managed_id(struct arena *a, struct str manager, bool is_apply,
                      struct str subresource, struct str version)
{
    return str_concat(a, is_apply ? S("A") : S("U"), manager, S("\n"),
                      is_apply ? S("") : version, S("\n"), subresource);
}

struct managed_entry *managed_find(struct managed *m, struct str id)
{
    vec_each (i, &m->entries)
        if (str_eq(m->entries.at[i].id, id))
            return &m->entries.at[i];
    return NULL;
}

struct managed_entry *managed_put(struct arena *a, struct managed *m, struct managed_entry e)
{
    struct managed_entry *known;

    e.id = managed_id(a, e.manager, e.is_apply, e.subresource, e.version);
    known = managed_find(m, e.id);
    if (known)
        return known;
    vec_push_in(a, &m->entries, e);
    return &vec_last(&m->entries);
}

/* ---- reading ---- */

#define FEW_ENTRIES 16 /* more are found by an index */

/* The indexes of entries by their ids, where they are many. */
typedef MAP(uint32_t) id_map;

static void id_map_fini(id_map *m)
{
    map_fini(m);
}

/* The entry's index, or STR_NONE. */
static size_t find_entry(id_map *ids, const struct managed *m, struct str id)
{
    if (m->entries.len <= FEW_ENTRIES) {
        vec_each (i, &m->entries)
            if (str_eq(m->entries.at[i].id, id))
                return i;
        return STR_NONE;
    }
    for (size_t i = map_len(ids); i < m->entries.len; i++)
        *map_put(ids, m->entries.at[i].id) = (uint32_t)i;
    const uint32_t *i = map_get(ids, id);
    return i ? *i : STR_NONE;
}

static bool is_empty(const struct json *fields)
{
    return json_is(fields, JSON_RAW) ? fields->len <= strlen("{}") : json_len(fields) == 0;
}

bool managed_is_apart(const struct managed_touch *touch, const struct managed_entry *e)
{
    return !is_empty(e->before) && str_eq(e->version, touch->version) &&
           !str_eq(e->id, touch->own) && !fieldset_names_any(e->before, touch->touched);
}

/* Where the members of an entry mostly are. */
enum { MANAGER, OPERATION, VERSION, TIME, TYPE, FIELDS, SUBRESOURCE };

static inline const struct json *member(const struct json *v, size_t at, struct str name)
{
    const struct json_member *m = v->members + at;

    return likely(json_is(v, JSON_OBJECT) && at < v->len && m->name.len == name.len &&
                  bytes_eq(m->name.at, name.at, name.len))
               ? &m->value
               : json_get(v, name);
}

/* An entry without its set. */
static int read_head(struct arena *a, const struct json *v, struct managed_entry *out,
                     struct err *err)
{
    struct str operation = json_str(member(v, OPERATION, S("operation")));
    struct managed_entry e = {
        .manager = json_str(member(v, MANAGER, S("manager"))),
        .subresource = json_str(member(v, SUBRESOURCE, S("subresource"))),
        .version = json_str(member(v, VERSION, S("apiVersion"))),
        .time = json_str(member(v, TIME, S("time"))),
        .raw = v,
        .before = member(v, FIELDS, S("fieldsV1")),
        .is_apply = str_eq(operation, S(MANAGED_APPLY)),
    };

    if (!e.is_apply && !str_eq(operation, S(MANAGED_UPDATE)))
        return err_set(err, ERR_SYNTAX, "operation must be `Apply` or `Update`");
    if (e.version.len == 0)
        return err_set(err, ERR_SYNTAX, "apiVersion must not be empty");
    if (!str_eq(json_str(member(v, TYPE, S("fieldsType"))), S("FieldsV1")))
        return err_set(err, ERR_SYNTAX, "fieldsType must be FieldsV1");
    e.id = managed_id(a, e.manager, e.is_apply, e.subresource, e.version);
    *out = e;
    return 0;
}

static int read_entry(struct arena *a, const struct json *v, const struct managed_touch *touch,
                      id_map *ids, struct managed *m, struct managers *managers,
                      struct err *err)
{
    struct managed_entry e;

    if (read_head(a, v, &e, err) < 0)
        return -1;
    bool apart = touch && managed_is_apart(touch, &e);
    if (!apart && json_has(e.before) && sets_read(m->sets, a, e.before, &e.set, err) < 0)
        return -1;
    if (e.set.n == 0 && !apart)
        return 0;
    size_t known = find_entry(ids, m, e.id);
    struct manager x = {.id = e.id,
                        .version = e.version,
                        .is_apply = e.is_apply,
                        .is_apart = apart,
                        .tag = (uint32_t)(known == STR_NONE ? m->entries.len : known),
                        .set = e.set};
    if (known != STR_NONE) { /* the later one of two counts */
        m->entries.at[known] = e;
        managers->list.at[known] = x;
        return 0;
    }
    vec_push_in(a, &m->entries, e);
    vec_push_in(a, &managers->list, x);
    return 0;
}

int managed_read(struct arena *a, const struct json *list, const struct managed_touch *touch,
                 struct managed *m, struct managers *managers, struct err *err)
{
    scoped(id_map_fini) id_map ids = {0};
    struct managed read = {.sets = m->sets};
    struct managers found = {0};

    if (json_len(list) > APPLY_MAX_ENTRIES)
        return err_set(err, ERR_LIMIT, "managedFields has %zu entries, the limit is %d",
                       json_len(list), APPLY_MAX_ENTRIES);
    json_each (i, list)
        if (read_entry(a, &list->items[i], touch, &ids, &read, &found, err) < 0)
            return err_wrap(err, "managedFields[%zu]", i);
    *m = read;
    *managers = found;
    return 0;
}

int managed_heads(struct arena *a, const struct json *list, struct managed *m, struct err *err)
{
    scoped(id_map_fini) id_map ids = {0};
    struct managed_entry e;

    json_each (i, list) {
        if (read_head(a, &list->items[i], &e, err) < 0)
            return err_wrap(err, "managedFields[%zu]", i);
        if (find_entry(&ids, m, e.id) != STR_NONE)
            return err_set(err, ERR_SYNTAX, "managedFields[%zu] is an earlier one, too", i);
        vec_push_in(a, &m->entries, e);
    }
    return 0;
}

/* ---- writing ---- */

struct sorted {
    const struct manager *m;
    struct managed_entry *e;
};

static int64_t seconds_of(const struct managed_entry *e)
{
    struct instant t = {0};

    if (e->time.len == 0 || time_parse(e->time, &t, NULL) < 0)
        return 0;
    return t.ns / SECOND_NS;
}

/* Conforming spells times in one way, "2026-01-02T03:04:05Z": their order is that of the texts.
 */
static int by_time(const struct managed_entry *x, const struct managed_entry *y)
{
    const size_t usual = strlen("2026-01-02T03:04:05Z");

    if (x->time.len == usual && y->time.len == usual)
        return memcmp(x->time.at, y->time.at, usual);
    int64_t a = seconds_of(x), b = seconds_of(y);
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = (int)y->m->is_apply - (int)x->m->is_apply;

    if (!order)
        order = by_time(x->e, y->e);
    if (!order)
        order = str_cmp(x->e->manager, y->e->manager);
    if (!order)
        order = str_cmp(x->m->version, y->m->version);
    return order ? order : str_cmp(x->e->subresource, y->e->subresource);
}

/* Is its fieldsV1 the text of the set? */
static bool has_set_as_read(const struct sorted *x)
{
    return json_is(x->e->before, JSON_RAW) && x->e->set.at == x->m->set.at &&
           x->e->set.n == x->m->set.n;
}

static bool is_as_read(const struct sorted *x)
{
    return !x->e->after && has_set_as_read(x) && str_eq(x->e->version, x->m->version) &&
           str_eq(x->e->time, json_str(json_get_near(x->e->raw, S("time"), TIME)));
}

struct json managed_entry_json(struct arena *a, const struct managed_entry *e,
                               struct json fields)
{
    struct json_obj o = obj_in(a);

    obj_add(&o, S("manager"), json_of_str(e->manager));
    obj_add(&o, S("operation"),
            e->is_apply ? json_of_z(MANAGED_APPLY) : json_of_z(MANAGED_UPDATE));
    obj_add(&o, S("apiVersion"), json_of_str(e->version));
    if (e->time.len)
        obj_add(&o, S("time"), json_of_str(e->time));
    obj_add(&o, S("fieldsType"), json_of_z("FieldsV1"));
    obj_add(&o, S("fieldsV1"), fields);
    if (e->subresource.len)
        obj_add(&o, S("subresource"), json_of_str(e->subresource));
    return obj_done(&o);
}

static const struct json *write_set(struct arena *a, const struct sets *sets,
                                    struct fieldset set)
{
    const struct json *text = sets_text(sets, set);

    return text ? json_copy(a, text) : json_new(a, fieldset_write(a, set));
}

static struct json write_entry(struct arena *a, const struct sets *sets, const struct sorted *x)
{
    struct managed_entry e = *x->e;

    if (is_as_read(x))
        return *e.raw;
    e.is_apply = x->m->is_apply;
    e.version = x->m->version;
    if (!e.after && !has_set_as_read(x))
        e.after = x->e->after = write_set(a, sets, x->m->set);
    return managed_entry_json(a, &e, e.after ? *e.after : *e.before);
}

/* Its tag mostly says where. */
static struct managed_entry *entry_of(struct managed *m, const struct manager *x)
{
    struct managed_entry *e = NULL;

    if (x->tag < m->entries.len && str_eq(m->entries.at[x->tag].id, x->id))
        return &m->entries.at[x->tag];
    e = managed_find(m, x->id);
    assert(e);
    return e;
}

static struct sorted *sorted_managers(struct arena *a, struct managed *m,
                                      const struct managers *managers)
{
    struct sorted *out = arena_array(a, struct sorted, managers->list.len);

    vec_each (i, &managers->list) {
        const struct manager *x = &managers->list.at[i];
        out[i] = (struct sorted){x, entry_of(m, x)};
    }
    sort_stable(out, managers->list.len, sizeof(*out), by_place);
    return out;
}

struct json managed_write(struct arena *a, struct managed *m, const struct managers *managers)
{
    const struct sorted *sorted = sorted_managers(a, m, managers);
    struct json_arr l = arr_in(a);

    vec_each (i, &managers->list)
        arr_add(&l, write_entry(a, m->sets, &sorted[i]));
    return arr_done(&l);
}

/* ---- the cap ---- */

static int by_age(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = by_time(x->e, y->e);

    return order ? order : str_cmp(x->m->id, y->m->id);
}

static void forget(struct managers *managers, struct str id)
{
    struct manager *m = managers_find(managers, id);

    if (m)
        vec_remove(&managers->list, (size_t)(m - managers->list.at));
}

/* Merges an old entry into the bucket of its version. */
static void merge_into(struct arena *a, struct managed *m, struct managers *managers,
                       struct managed_entry first, struct managed_entry old)
{
    struct managed_entry bucket = {.manager = S(ANCIENT), .version = old.version}, *put;
    struct manager *own, *into;
    struct fieldset set;

    put = managed_put(a, m, bucket);
    put->time = old.time;
    bucket = *put;
    into = managers_find(managers, bucket.id);
    if (!into) {
        into = managers_find(managers, first.id);
        into->id = bucket.id;
    }
    own = managers_find(managers, old.id);
    set = own ? own->set : (struct fieldset){0};
    into->set = fieldset_union(a, set, into->set);
    if (!str_eq(old.id, bucket.id))
        forget(managers, old.id);
}

void managed_cap(struct arena *a, struct managed *m, struct managers *managers)
{
    VEC(struct sorted) updaters = {0};
    VEC(struct managed_entry) firsts = {0}; /* of each version */
    size_t n = 0;

    vec_each (i, &managers->list)
        n += !managers->list.at[i].is_apply;
    if (n <= APPLY_MAX_UPDATERS)
        return;
    vec_each (i, &managers->list) {
        const struct manager *x = &managers->list.at[i];
        if (!x->is_apply)
            vec_push_in(a, &updaters,
                        (struct sorted){arena_copy(a, x), arena_copy(a, entry_of(m, x))});
    }
    sort_stable(updaters.at, updaters.len, sizeof(*updaters.at), by_age);
    for (size_t i = 0; i < updaters.len && n > APPLY_MAX_UPDATERS; i++) {
        const struct managed_entry *e = updaters.at[i].e, *first = NULL;
        vec_each (k, &firsts)
            if (str_eq(firsts.at[k].version, e->version))
                first = &firsts.at[k];
        if (!first) {
            vec_push_in(a, &firsts, *e);
            continue;
        }
        merge_into(a, m, managers, *first, *e);
        n--;
    }
}

/* ---- words ---- */

struct str managed_words(struct arena *a, const struct managed_entry *e)
{
    struct buf b = buf_in(a, 64);

    buf_printf(&b, "\"%.*s\"", STR_ARG(e->manager));
    if (e->subresource.len)
        buf_printf(&b, " with subresource \"%.*s\"", STR_ARG(e->subresource));
    if (!e->is_apply)
        buf_printf(&b, " using %.*s", STR_ARG(e->version));
    return buf_str(&b);
}
