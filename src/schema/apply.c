/* apply.c - managedFields through a write, and an apply from its config to the next object */
#include "schema/apply.h"

#include "schema/steps_priv.h"
#include "value/time.h"

#define KUBECTL "kubectl"
#define BEFORE_FIRST_APPLY "before-first-apply"
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define LAST_APPLIED_MAX (256 << 10) /* bytes; upstream's limit on all annotations */
#define CONFLICTS_MAX 1000           /* causes that are told */

/* ---- what is never tracked ---- */

#define FIELD(field_)                                                                          \
    {                                                                                          \
        .e = {.kind = ELEMENT_FIELD, .name = S_INIT(field_)}, .is_member = true                \
    }

static const struct fieldset_entry untracked_metadata[] = {
    FIELD("clusterName"),
    FIELD("creationTimestamp"),
    FIELD("generation"),
    FIELD("managedFields"),
    FIELD("name"),
    FIELD("namespace"),
    FIELD("resourceVersion"),
    FIELD("selfLink"),
    FIELD("uid"),
};
static const struct fieldset_entry untracked_entries[] = {
    FIELD("apiVersion"),
    FIELD("kind"),
    {.e = {.kind = ELEMENT_FIELD, .name = S_INIT("metadata")},
              .below = {untracked_metadata, countof(untracked_metadata)},
              .is_member = true},
};
static const struct fieldset untracked = {untracked_entries, countof(untracked_entries)};

/* ---- what endpoints ignore ---- */

struct reset {
    const char *group, *kind, *subresource; /* NULL: any */
    const char *paths[4];                   /* "a.b" */
};

/* The first row that fits counts. */
static const struct reset resets[] = {
    {"",                "Pod",           "status",   {"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"}},
    {"resource.k8s.io", "ResourceClaim", "status",   {"metadata", "spec"}                                              },
    {NULL,              NULL,            "status",   {"spec"}                                                          },
    {"",                "Namespace",     "finalize", {"status"}                                                        },
    {NULL,              NULL,            "",         {"status"}                                                        },
};

static struct fieldset with_path(struct arena *a, struct fieldset set, const char *path)
{
    struct str head, rest = str_from(path);
    struct element e[4];
    size_t n = 0;

    for (bool is_more = true; is_more; n++) {
        is_more = str_cut(rest, '.', &head, &rest);
        e[n] = element_field(head);
    }
    return fieldset_with(a, set, e, n);
}

/* What the endpoint ignores for ownership: status at the object itself, spec at its status, …
 */
static struct fieldset reset_of(struct arena *a, const struct kind *kind,
                                struct str subresource)
{
    struct fieldset set = {0};

    if (!kind->status && subresource.len == 0)
        return set;
    for (size_t i = 0; i < countof(resets); i++) {
        const struct reset *r = &resets[i];
        if (!str_eqz(subresource, r->subresource) ||
            (r->kind && (!str_eqz(kind->kind, r->kind) || !str_eqz(kind->group, r->group))))
            continue;
        for (size_t p = 0; p < countof(r->paths) && r->paths[p]; p++)
            set = with_path(a, set, r->paths[p]);
        if (kind->style == KIND_CUSTOM && subresource.len)
            set = with_path(a, set, "metadata");
        return set;
    }
    return set;
}

/* ---- versions ---- */

struct at_versions {
    struct arena *a;
    const struct apply_write *w;
    struct versions v;
    struct fieldset reset; /* once it was asked for */
    bool has_reset;
};

static const struct kind *kind_at(const struct apply_write *w, struct str version)
{
    if (str_eq(w->kind->api_version, version))
        return w->kind;
    if (!w->versions || !w->versions->kind)
        return NULL;
    return w->versions->kind(w->versions->ctx, w->kind, version);
}

static const struct schema *schema_at(void *ctx, struct str version)
{
    const struct at_versions *at = ctx;
    const struct kind *kind = kind_at(at->w, version);

    return kind ? kind->schema : NULL;
}

static const struct json *convert_at(void *ctx, struct arena *a, const struct json *v,
                                     struct str from, struct str to, struct err *err)
{
    const struct at_versions *at = ctx;
    const struct apply_versions *versions = at->w->versions;

    if (!versions || !versions->convert)
        return v;
    return versions->convert(versions->ctx, a, v, kind_at(at->w, from), kind_at(at->w, to),
                             err);
}

static struct fieldset ignored_at(void *ctx, struct str version)
{
    struct at_versions *at = ctx;

    (void)version; /* the same names in all versions */
    if (!at->has_reset) {
        at->reset = reset_of(at->a, at->w->kind, at->w->subresource);
        at->has_reset = true;
    }
    return at->reset;
}

/* ---- one write under way ---- */

struct work {
    struct arena *a;
    const struct apply_write *w;
    struct at_versions at;
    struct managed managed;
    struct managers managers;
};

static void begin(struct work *k, struct arena *a, const struct apply_write *w)
{
    *k = (struct work){.a = a, .w = w};
    k->managed.sets = w->sets;
    if (w->sets)
        sets_begin(w->sets);
    k->at = (struct at_versions){.a = a, .w = w};
    k->at.v = (struct versions){NULL, schema_at, convert_at, ignored_at};
}

static struct managers_write write_of(struct work *k, struct str id, const struct json *live,
                                      bool force)
{
    k->at.v.ctx = &k->at;
    return (struct managers_write){.versions = &k->at.v,
                                   .id = id,
                                   .version = k->w->kind->api_version,
                                   .live = live,
                                   .force = force};
}

static const struct json *managed_of(const struct json *object)
{
    return json_path(object, "metadata", "managedFields", NULL);
}

static const struct json *without_managed(struct arena *a, const struct json *object)
{
    return json_without(a, object, "metadata", "managedFields", NULL);
}

static const struct json *with_managed(struct work *k, const struct json *object)
{
    struct json list = managed_write(k->a, &k->managed, &k->managers);

    if (list.len == 0)
        return without_managed(k->a, object);
    return json_with(k->a, object, list, "metadata", "managedFields", NULL);
}

/* Takes what is never tracked out of the manager's set; the manager goes where nothing is
 * left. NULL then. */
static struct manager *strip(struct work *k, struct str id)
{
    struct manager *m = managers_find(&k->managers, id);

    if (!m)
        return NULL;
    m->set = fieldset_difference(k->a, m->set, untracked);
    if (m->set.n)
        return m;
    vec_remove(&k->managers.list, (size_t)(m - k->managers.list.at));
    return NULL;
}

/* ---- writes that are no apply ---- */

/* What Go's zero object of a native kind holds: its mandatory structs, empty. Upstream compares
 * a new object with that one. */
static struct json zero_of(struct arena *a, const struct schema *s)
{
    struct json_obj o = obj_in(a);

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        if (!(f->flags & FIELD_ALWAYS) || (f->flags & FIELD_POINTER) || f->gate)
            continue;
        if (f->type->type == SCHEMA_OBJECT)
            obj_add(&o, f->name, zero_of(a, f->type));
        else if (f->type->type == SCHEMA_LIST || f->type->type == SCHEMA_MAP)
            obj_add(&o, f->name, json_of_null());
    }
    return obj_done(&o);
}

static const struct json *nothing(struct work *k)
{
    static const struct json empty = {.type = JSON_OBJECT};

    if (k->w->kind->style != KIND_NATIVE)
        return &empty;
    return json_new(k->a, zero_of(k->a, k->w->kind->schema));
}

/* Records live -> next under the manager's name. True where he owns what is his now, at the
 * time of now. */
static bool record(struct work *k, struct str manager, const struct json *live,
                   const struct json *next, const struct typed_changes *changed)
{
    struct str self = S("self"); /* no entry's id */
    struct managers_write w = write_of(k, self, live, true);
    struct managed_entry e = {.manager = manager,
                              .subresource = k->w->subresource,
                              .version = k->w->kind->api_version,
                              .time = time_text(k->a, k->w->now)};
    struct managed_entry *put;
    struct manager *taken, *own;
    struct fieldset set;

    w.changed = changed;
    w.fits = changed != NULL; /* as may_stay_unread() told */
    if (managers_update(k->a, &w, next, &k->managers, NULL) < 0 || !(taken = strip(k, self)))
        return false;
    put = managed_put(k->a, &k->managed, e);
    put->time = e.time;
    set = taken->set;
    own = managers_find(&k->managers, put->id);
    if (own) {
        own->set = fieldset_union(k->a, set, own->set);
        vec_remove(&k->managers.list, (size_t)(taken - k->managers.list.at));
    } else {
        taken->id = put->id;
        taken->version = put->version;
    }
    return true;
}

static bool is_reset(const struct json *list)
{
    return json_is(list, JSON_ARRAY) &&
           (list->len == 0 || (list->len == 1 && json_len(&list->items[0]) == 0));
}

/* Whose entries count: the request's, live's, or nobody's. */
static void read_managed(struct work *k, const struct json *live, const struct json *next,
                         const struct managed_touch *touch)
{
    const struct json *list = managed_of(next);

    if (k->w->subresource.len == 0) {
        if (is_reset(list))
            return;
        if (managed_read(k->a, list, touch, &k->managed, &k->managers, NULL) == 0 &&
            k->managers.list.len)
            return;
    }
    if (managed_read(k->a, managed_of(live), touch, &k->managed, &k->managers, NULL) < 0)
        k->managed = (struct managed){.sets = k->w->sets}, k->managers = (struct managers){0};
}

/* Were the sets of a stored list recorded under the schemas of now? Those of built-in kinds
 * change with the program alone. */
static bool is_fitting(const struct work *k)
{
    return k->w->is_known && k->w->kind->id >= 0;
}

/* Only those entries are read that the write is about, where the stored list is known to be
 * good. Not where it might be capped, which merges sets. */
static bool may_stay_unread(const struct work *k, const struct json *live,
                            const struct json *next)
{
    const struct json *list = managed_of(live);

    return is_fitting(k) && json_len(list) && json_len(list) < APPLY_MAX_UPDATERS &&
           (k->w->subresource.len || json_is_shared(list, managed_of(next)));
}

/* The step from live to next; false where they cannot be compared. */
static bool find_step(struct work *k, const struct json *live, const struct json *next,
                      struct step_of *out)
{
    const struct apply_write *w = k->w;
    struct buf key = step_key(k->a, w->subresource, w->manager);

    *out = (struct step_of){
        .kind = w->kind,
        .n_head = key.len,
        .own = {.manager = w->manager,
                .subresource = w->subresource,
                .version = w->kind->api_version}
    };
    out->own.id = managed_id(k->a, w->manager, false, w->subresource, w->kind->api_version);
    if (typed_difference(k->a, w->kind->schema, live, next, &key, NULL) < 0)
        return false;
    out->key = buf_str(&key);
    return true;
}

/* What the step is about. */
static struct managed_touch touch_of(struct work *k, const struct step_of *of,
                                     struct typed_changes *changed)
{
    struct managers_write w = write_of(k, S(""), NULL, true);
    struct fieldset touched;

    *changed = managers_changes(k->a, &w, str_slice(of->key, of->n_head, of->key.len));
    touched = fieldset_union(k->a, changed->modified, changed->added);
    touched = fieldset_union(k->a, touched, changed->removed);
    return (struct managed_touch){touched, of->kind->api_version, of->own.id};
}

/* A new object, about whose owners nobody says anything: what its writer owns is told by its
 * shape. Tables of kinds that are not built in may be others tomorrow. */
static bool is_of_a_shape(const struct work *k, const struct json *live,
                          const struct json *next)
{
    return k->w->shapes && !live && k->w->kind->id >= 0 && k->w->subresource.len == 0 &&
           !managed_of(next);
}

/* NULL: the shape is not known. */
static const struct json *as_others(struct work *k, const struct json *next)
{
    struct shape_of of = {.kind = k->w->kind};
    const struct json *fields = shapes_find(k->w->shapes, k->a, &of, next);
    struct managed_entry e = {.manager = k->w->manager, .version = k->w->kind->api_version};

    if (!fields)
        return NULL;
    e.time = time_text(k->a, k->w->now);
    struct json *entry = arena_new(k->a, struct json);
    *entry = managed_entry_json(k->a, &e, *fields);
    struct json list = {.type = JSON_ARRAY, .len = 1, .items = entry};
    return json_with(k->a, next, list, "metadata", "managedFields", NULL);
}

static void learn(struct work *k, const struct json *next, const struct json *done)
{
    const struct json *list = managed_of(done);
    struct shape_of of = {.kind = k->w->kind};

    if (json_len(list) == 1)
        shapes_learn(k->w->shapes, &of, next, json_getz(json_at(list, 0), "fieldsV1"));
}

/* The object where json_with() puts a list behind all other metadata. */
static const struct json *with_room(struct arena *a, const struct json *object)
{
    const struct json *meta = json_getz(object, "metadata"), *list = managed_of(object);

    return !list || list == &meta->members[meta->len - 1].value ? object
                                                                : without_managed(a, object);
}

/* A step that was taken before; NULL where it was not. */
static const struct json *step_again(struct work *k, const struct step_of *step,
                                     const struct json *next)
{
    const struct apply_write *w = k->w;
    bool is_taken;

    if (!w->steps || !steps_take(w->steps, k->a, step, &k->managed, &k->managers, &is_taken))
        return NULL;
    if (is_taken)
        managed_find(&k->managed, step->own.id)->time = time_text(k->a, w->now);
    return with_managed(k, with_room(k->a, next));
}

/* As apply_update(), where may_stay_unread(). NULL where the two cannot be compared. */
static const struct json *update_in_part(struct work *k, const struct json *live,
                                         const struct json *next)
{
    struct typed_changes changed;
    struct managed_touch touch;
    struct step_of step;
    const struct json *before, *after, *done;

    /* A list that both share makes no difference. */
    if (json_is_shared(managed_of(live), managed_of(next)))
        before = live, after = next;
    else
        before = without_managed(k->a, live), after = without_managed(k->a, next);
    if (!find_step(k, before, after, &step))
        return NULL;
    step.list = managed_of(live);
    done = step_again(k, &step, next);
    if (done)
        return done;
    before = without_managed(k->a, live), after = without_managed(k->a, next);
    touch = touch_of(k, &step, &changed);
    read_managed(k, live, next, &touch);
    if (k->managers.list.len == 0)
        return after;
    bool is_taken = record(k, k->w->manager, before, after, &changed);
    done = with_managed(k, after);
    if (k->w->steps)
        steps_learn(k->w->steps, k->a, &step, &k->managed, &k->managers, touch.touched,
                    is_taken);
    return done;
}

const struct json *apply_update(struct arena *a, const struct apply_write *w,
                                const struct json *live, const struct json *next)
{
    bool forgets = live && w->subresource.len == 0 && is_reset(managed_of(next));
    const struct json *before, *after, *done = NULL;
    struct work k;

    begin(&k, a, w);
    bool has_shape = is_of_a_shape(&k, live, next);
    if (has_shape)
        done = as_others(&k, next);
    else if (!forgets && may_stay_unread(&k, live, next))
        done = update_in_part(&k, live, next);
    if (done)
        return done;
    before = live ? without_managed(a, live) : nothing(&k);
    after = without_managed(a, next);
    read_managed(&k, live, next, NULL);
    if (live && k.managers.list.len == 0 && !forgets)
        return after;
    record(&k, w->manager, before, after, NULL);
    managed_cap(a, &k.managed, &k.managers);
    done = with_managed(&k, after);
    if (has_shape)
        learn(&k, after, done);
    return done;
}

/* ---- conflicts ---- */

struct telling {
    struct work *k;
    struct apply_conflicts *out;
    struct str words; /* of the manager */
    struct buf *lines;
};

static int tell_path(void *ctx, const struct element *path, size_t n)
{
    struct telling *t = ctx;
    struct str field = element_path(t->k->a, path, n);

    buf_printf(t->lines, "\n- %.*s", STR_ARG(field));
    vec_push_in(t->k->a, &t->out->causes,
                (struct apply_cause){
                    str_printf(t->k->a, "conflict with %.*s", STR_ARG(t->words)), field});
    return t->out->causes.len >= CONFLICTS_MAX;
}

static int by_words(const void *a, const void *b)
{
    const struct conflict *x = a, *y = b;

    return str_cmp(x->id, y->id);
}

static void tell_conflicts(struct work *k, struct conflicts *conflicts,
                           struct apply_conflicts *out)
{
    struct buf lines = buf_in(k->a, 256);
    struct telling t = {k, out, {0}, &lines};

    *out = (struct apply_conflicts){0};
    vec_each (i, &conflicts->list)
        conflicts->list.at[i].id =
            managed_words(k->a, managed_find(&k->managed, conflicts->list.at[i].id));
    sort_stable(conflicts->list.at, conflicts->list.len, sizeof(*conflicts->list.at), by_words);
    vec_each (i, &conflicts->list) {
        t.words = conflicts->list.at[i].id;
        buf_printf(&lines, "%sconflicts with %.*s:", i ? "\n" : "", STR_ARG(t.words));
        fieldset_each(conflicts->list.at[i].set, tell_path, &t);
    }
    if (out->causes.len == 1)
        out->message =
            str_printf(k->a, "Apply failed with 1 conflict: conflict with %.*s: %.*s",
                       STR_ARG(t.words), STR_ARG(out->causes.at[0].field));
    else
        out->message = str_printf(k->a, "Apply failed with %zu conflicts: %.*s",
                                  out->causes.len, STR_ARG(buf_str(&lines)));
}

/* ---- kubectl's way from its annotation to server-side apply ---- */

static struct str last_applied(const struct json *object)
{
    return json_str(
        json_get(json_path(object, "metadata", "annotations", NULL), S(LAST_APPLIED)));
}

/* Are all conflicts about fields that live has as kubectl's annotation says? Then kubectl set
 * them itself, before it used server-side apply. */
static bool are_own(struct work *k, const struct json *live, const struct conflicts *conflicts)
{
    const struct schema *s = k->w->kind->schema;
    struct str text = last_applied(live);
    const struct json *last = text.len ? json_parse(k->a, text, NULL, NULL) : NULL;
    struct typed_changes c;
    struct fieldset set;

    if (!last || typed_validate(s, last, false, NULL) < 0 ||
        !str_eq(json_str(json_getz(last, "apiVersion")), k->w->kind->api_version) ||
        typed_set(k->a, s, last, &set, NULL) < 0 ||
        typed_compare(k->a, s, last, live, &c, NULL) < 0)
        return false;
    set = fieldset_difference(k->a, set, c.modified);
    set = fieldset_difference(k->a, set, c.added);
    set = fieldset_difference(k->a, set, c.removed);
    vec_each (i, &conflicts->list)
        if (!fieldset_within(conflicts->list.at[i].set, set))
            return false;
    return true;
}

/* The annotation follows what is applied. */
static const struct json *with_last_applied(struct work *k, const struct json *object,
                                            const struct json *config)
{
    struct json_obj annotations =
        obj_from(k->a, json_path(config, "metadata", "annotations", NULL));
    struct buf b = buf_in(k->a, 1024);

    config = without_managed(k->a, config);
    if (obj_get(&annotations, S(LAST_APPLIED))) {
        obj_del(&annotations, S(LAST_APPLIED));
        config =
            json_with(k->a, config, obj_done(&annotations), "metadata", "annotations", NULL);
    }
    json_write(&b, json_sorted(k->a, config));
    buf_byte(&b, '\n');
    if (b.len > LAST_APPLIED_MAX)
        return object;
    return json_with(k->a, object, json_of_str(buf_str(&b)), "metadata", "annotations",
                     LAST_APPLIED, NULL);
}

/* ---- apply ---- */

/* What an apply of that shape owns; NULL where it is not known. Tables of kinds that are not
 * built in may be others tomorrow. */
static const struct json *known_config(struct work *k, const struct json *config)
{
    struct shape_of of = {k->w->kind, k->w->subresource, true};

    return k->w->shapes && k->w->kind->id >= 0 ? shapes_find(k->w->shapes, k->a, &of, config)
                                               : NULL;
}

/* The entry of `e` in what was made says what such a config owns. */
static void learn_config(struct work *k, const struct json *config, const struct json *done,
                         const struct managed_entry *e)
{
    struct shape_of of = {k->w->kind, k->w->subresource, true};
    const struct json *list = managed_of(done);

    if (!k->w->shapes || k->w->kind->id < 0)
        return;
    json_each (i, list) {
        const struct json *v = json_at(list, i);
        if (str_eq(json_str(json_getz(v, "operation")), S(MANAGED_APPLY)) &&
            str_eq(json_str(json_getz(v, "manager")), e->manager) &&
            str_eq(json_str(json_getz(v, "subresource")), e->subresource))
            shapes_learn(k->w->shapes, &of, config, json_getz(v, "fieldsV1"));
    }
}

static int check_config(struct work *k, const struct json *config, struct err *err)
{
    if (json_has(managed_of(config)))
        return err_set(err, ERR_SYNTAX, "metadata.managedFields must be nil");
    return typed_validate(k->w->kind->schema, config, false, err);
}

/* Ours, or kubectl's second try by force where it only meets itself. */
static const struct json *merge(struct work *k, struct str id, const struct json *live,
                                const struct json *config, struct fieldset applied,
                                struct apply_conflicts *out, struct err *err)
{
    struct managers_write w = write_of(k, id, live, k->w->force);
    static const struct json empty = {.type = JSON_OBJECT};
    struct conflicts conflicts = {0};
    struct err why = {0};
    const struct json *next;

    w.fits = is_fitting(k);
    w.applied = applied;
    next = managers_apply(k->a, &w, config, &k->managers, &conflicts, &why);

    if (next)
        return json_has(next) ? next : &empty;
    if (why.code == ERR_CONFLICT && str_eq(k->w->manager, S(KUBECTL)) &&
        are_own(k, live, &conflicts)) {
        w.force = true;
        return managers_apply(k->a, &w, config, &k->managers, NULL, err);
    }
    if (why.code == ERR_CONFLICT) {
        tell_conflicts(k, &conflicts, out);
        err_set(err, ERR_CONFLICT, "%.*s", STR_ARG(out->message));
        return NULL;
    }
    err_set(err, why.code, "%s", why.text);
    return NULL;
}

/* The first elements of a set, each with all below it. */
static struct fieldset heads_of(struct arena *a, struct fieldset set)
{
    fieldset_level level = {0};

    for (size_t i = 0; i < set.n; i++)
        vec_push_in(a, &level, (struct fieldset_entry){.e = set.at[i].e, .is_member = true});
    return fieldset_of(a, &level);
}

/* An apply is about what it owns now, and what it owned: the sets of those who own nothing of
 * the first elements of these are not needed. False where all are to be read. */
static bool touch_of_apply(struct work *k, const struct json *list, struct str own,
                           struct fieldset applied, struct managed_touch *out)
{
    struct managed entries = {0};
    struct fieldset last = {0};

    if (!is_fitting(k) || managed_heads(k->a, list, &entries, NULL) < 0)
        return false;
    const struct managed_entry *e = managed_find(&entries, own);
    if (e && (!str_eq(e->version, k->w->kind->api_version) ||
              sets_read(k->w->sets, k->a, e->before, &last, NULL) < 0))
        return false;
    out->touched = fieldset_union(k->a, heads_of(k->a, applied), heads_of(k->a, last));
    out->version = k->w->kind->api_version;
    out->own = own;
    return true;
}

const struct json *apply_config(struct arena *a, const struct apply_write *w,
                                const struct json *live, const struct json *config,
                                struct apply_conflicts *conflicts, struct err *err)
{
    static const struct json empty = {.type = JSON_OBJECT};
    const struct json *before = live ? without_managed(a, live) : &empty, *next;
    struct managed_entry e = {.manager = w->manager,
                              .subresource = w->subresource,
                              .version = w->kind->api_version,
                              .is_apply = true};
    const struct json *fields, *list = managed_of(live);
    struct fieldset applied = {0};
    struct managed_touch touch;
    struct work k;

    begin(&k, a, w);
    e.id = managed_id(a, e.manager, true, e.subresource, e.version);
    fields = known_config(&k, config);
    if (fields && sets_read(w->sets, a, fields, &applied, NULL) < 0)
        fields = NULL;
    if (!fields && check_config(&k, config, err) < 0)
        return NULL;
    bool is_partial = fields && touch_of_apply(&k, list, e.id, applied, &touch);
    if (managed_read(a, list, is_partial ? &touch : NULL, &k.managed, &k.managers, err) < 0) {
        err_wrap(err, "failed to decode managed fields");
        return NULL;
    }
    if (live && k.managers.list.len == 0)
        record(&k, S(BEFORE_FIRST_APPLY), nothing(&k), before, NULL);
    managed_put(a, &k.managed, e);
    next = merge(&k, e.id, before, config, applied, conflicts, err);
    if (!next)
        return NULL;
    strip(&k, e.id);
    if (str_eq(w->manager, S(KUBECTL)) && last_applied(before).len)
        next = with_last_applied(&k, next, config);
    bool is_same = next == before || json_eq(next, before);
    if (!is_same)
        managed_find(&k.managed, e.id)->time = time_text(a, w->now);
    next = with_managed(&k, next);
    if (!fields)
        learn_config(&k, config, next, &e);
    return is_same && live && json_eq(next, live) ? live : next;
}
