/* admit_limits.c - admission of pods by the LimitRanges of their namespace
 *
 * Upstream's plugin LimitRanger: fills in requests and limits that are missing, says so in an
 * annotation, and refuses what is out of bounds with its words.
 */
#include "server/admit_priv.h"

#include "value/quantity.h"

#define ANNOTATION "kubernetes.io/limit-ranger"

struct limits {
    struct write *w;
    VEC(const struct json *) items; /* of spec.limits of all LimitRanges */
    VEC(struct str) notes;
};

static void load(struct limits *l)
{
    struct write *w = l->w;
    const struct kind *k = kind_of_name(w->r->server, S(""), S("v1"), S("LimitRange"));
    struct object *o;

    if (!k)
        return;
    struct store_walk walk =
        store_walk(w->r->server->store, w->arena, k->storage, w->r->ns, S(""), 0);
    while ((o = store_next(&walk))) {
        const struct json *items = json_path(object_tree(o, w->arena), "spec", "limits", NULL);
        json_each (i, items)
            vec_push_in(w->arena, &l->items, json_at(items, i));
    }
}

static bool is_type(const struct json *item, const char *type)
{
    return str_eqz(json_str(json_getz(item, "type")), type);
}

/* ---- defaults ---- */

static int str_cmp_p(const struct str *a, const struct str *b)
{
    return str_cmp(*a, *b);
}

/* Adds to `given` what `defaults` has and it lacks; the names go to `added`, sorted. */
static struct json fill(struct limits *l, const struct json *given, const struct json *defaults,
                        struct str *note, const char *what, const char *prefix, struct str name)
{
    struct arena *a = l->w->arena;
    struct json_obj out = obj_from(a, given);
    VEC(struct str) added = {0};

    json_each_member (m, defaults) {
        if (json_get(given, m->name))
            continue;
        obj_set(&out, m->name, m->value);
        vec_push_in(a, &added, m->name);
    }
    vec_sort(&added, str_cmp_p);
    *note = added.len ? str_printf(a, "%.*s %s for %s %.*s",
                                   STR_ARG(str_join(a, added.at, added.len, S(", "))), what,
                                   prefix, STR_ARG(name))
                      : str_of(NULL, 0);
    return obj_done(&out);
}

static struct json fill_container(struct limits *l, const struct json *container,
                                  const struct json *item, const char *prefix)
{
    struct arena *a = l->w->arena;
    const struct json *resources = json_getz(container, "resources");
    struct str name = json_str(json_getz(container, "name")), note;
    struct json_obj out = obj_from(a, resources);

    struct json requests =
        fill(l, json_getz(resources, "requests"), json_getz(item, "defaultRequest"), &note,
             "request", prefix, name);
    if (note.len) {
        vec_push_in(a, &l->notes, note);
        obj_setz(&out, "requests", requests);
    }
    struct json limits = fill(l, json_getz(resources, "limits"), json_getz(item, "default"),
                              &note, "limit", prefix, name);
    if (note.len) {
        vec_push_in(a, &l->notes, note);
        obj_setz(&out, "limits", limits);
    }
    return *json_with(a, container, obj_done(&out), "resources", NULL);
}

static void fill_list(struct limits *l, struct str list, const struct json *item,
                      const char *prefix)
{
    const struct json *all = json_get(json_getz(l->w->tree, "spec"), list);
    struct json_arr out = arr_in(l->w->arena);

    if (!json_len(all))
        return;
    json_each (i, all)
        arr_add(&out, fill_container(l, json_at(all, i), item, prefix));
    spec_set(l->w, list, arr_done(&out));
}

static void fill_all(struct limits *l)
{
    struct write *w = l->w;

    vec_each (i, &l->items) {
        if (!is_type(l->items.at[i], "Container"))
            continue;
        fill_list(l, S("containers"), l->items.at[i], "container");
        fill_list(l, S("initContainers"), l->items.at[i], "init container");
    }
    if (!l->notes.len)
        return;
    struct json_obj all = obj_from(w->arena, meta_get(w->tree, S("annotations")));
    struct str text = str_join(w->arena, l->notes.at, l->notes.len, S("; "));
    obj_setz(&all, ANNOTATION,
             json_of_str(str_printf(w->arena, "LimitRanger plugin set: %.*s", STR_ARG(text))));
    w->tree = meta_set(w->arena, w->tree, S("annotations"), obj_done(&all));
}

/* ---- bounds ---- */

static bool read(struct arena *a, const struct json *v, struct quantity *out)
{
    return json_has(v) &&
           quantity_parse(a, v->type == JSON_STRING ? json_str(v) : json_text(a, v), out,
                          NULL) == 0;
}

/* One container against one item; refusals are collected as sentences. */
struct bounds {
    struct limits *l;
    const struct json *requests, *limits;
    const char *type;
    VEC(struct str) broken;
};

static void check_bound(struct bounds *b, struct str name, const struct json *bound,
                        bool is_max)
{
    struct arena *a = b->l->w->arena;
    const char *word = is_max ? "maximum" : "minimum", *what = is_max ? "limit" : "request";
    struct quantity q, want;
    bool has = read(a, json_get(is_max ? b->limits : b->requests, name), &q);

    if (!read(a, bound, &want))
        return;
    if (!has && is_max && read(a, json_get(b->requests, name), &q) &&
        quantity_cmp(&q, &want) > 0)
        has = true, what = "request";
    if (!has) {
        vec_push_in(a, &b->broken,
                    str_printf(a, "%s %.*s usage per %s is %.*s.  No %s is specified", word,
                               STR_ARG(name), b->type, STR_ARG(quantity_text(a, &want)), what));
        return;
    }
    int order = quantity_cmp(&q, &want);
    if (is_max ? order > 0 : order < 0)
        vec_push_in(a, &b->broken,
                    str_printf(a, "%s %.*s usage per %s is %.*s, but %s is %.*s", word,
                               STR_ARG(name), b->type, STR_ARG(quantity_text(a, &want)), what,
                               STR_ARG(quantity_text(a, &q))));
}

static void check_ratio(struct bounds *b, struct str name, const struct json *bound)
{
    struct arena *a = b->l->w->arena;
    struct quantity most, limit, request;

    if (!read(a, bound, &most))
        return;
    if (!read(a, json_get(b->limits, name), &limit) ||
        !read(a, json_get(b->requests, name), &request) || quantity_is_zero(&request)) {
        vec_push_in(a, &b->broken,
                    str_printf(a,
                               "%.*s max limit to request ratio per %s is %.*s, but no request "
                               "is specified or request is 0",
                               STR_ARG(name), b->type, STR_ARG(quantity_text(a, &most))));
        return;
    }
    double ratio = quantity_f64(&limit) / quantity_f64(&request);
    if (ratio > quantity_f64(&most))
        vec_push_in(a, &b->broken,
                    str_printf(a,
                               "%.*s max limit to request ratio per %s is %.*s, but provided "
                               "ratio is %f",
                               STR_ARG(name), b->type, STR_ARG(quantity_text(a, &most)),
                               ratio));
}

static void check_item(struct bounds *b, const struct json *item)
{
    const struct json *min = json_getz(item, "min"), *max = json_getz(item, "max");
    const struct json *ratio = json_getz(item, "maxLimitRequestRatio");

    json_each_member (m, min)
        check_bound(b, m->name, &m->value, false);
    json_each_member (m, max)
        check_bound(b, m->name, &m->value, true);
    json_each_member (m, ratio)
        check_ratio(b, m->name, &m->value);
}

/* The sum over containers, for items of type Pod. */
static struct json sum(struct limits *l, const char *part)
{
    struct arena *a = l->w->arena;
    const struct json *all = json_path(l->w->tree, "spec", "containers", NULL);
    struct json_obj out = obj_in(a);
    MAP(struct quantity) totals = {0};

    json_each (i, all) {
        const struct json *list =
            json_get(json_getz(json_at(all, i), "resources"), str_from(part));
        json_each_member (m, list) {
            struct quantity q;
            if (!read(a, &m->value, &q))
                continue;
            struct quantity *t = map_put(&totals, m->name);
            *t = quantity_add(a, t, &q);
        }
    }
    map_each (i, &totals) {
        obj_set(&out, map_key(&totals, i), json_of_str(quantity_text(a, map_at(&totals, i))));
    }
    map_fini(&totals);
    return obj_done(&out);
}

static void check_containers(struct limits *l, struct bounds *b, const char *list,
                             const struct json *item)
{
    const struct json *all = json_get(json_getz(l->w->tree, "spec"), str_from(list));

    json_each (i, all) {
        const struct json *resources = json_getz(json_at(all, i), "resources");
        b->requests = json_getz(resources, "requests");
        b->limits = json_getz(resources, "limits");
        check_item(b, item);
    }
}

static int check_all(struct limits *l)
{
    struct arena *a = l->w->arena;
    struct bounds b = {.l = l};

    vec_each (i, &l->items) {
        const struct json *item = l->items.at[i];
        if (is_type(item, "Container")) {
            b.type = "Container";
            check_containers(l, &b, "containers", item);
            check_containers(l, &b, "initContainers", item);
        } else if (is_type(item, "Pod")) {
            struct json requests = sum(l, "requests"), limits = sum(l, "limits");
            b.type = "Pod";
            b.requests = json_new(a, requests);
            b.limits = json_new(a, limits);
            check_item(&b, item);
        }
    }
    if (!b.broken.len)
        return 0;
    struct str text = str_join(a, b.broken.at, b.broken.len, S(", "));
    return b.broken.len == 1 ? fail_forbidden_named(l->w, "%.*s", STR_ARG(text))
                             : fail_forbidden_named(l->w, "[%.*s]", STR_ARG(text));
}

int admit_limits(struct write *w)
{
    struct limits l = {.w = w};

    if (!is_new_pod(w))
        return 0;
    load(&l);
    fill_all(&l);
    return check_all(&l);
}
