/* list.c - GET of a collection: pages of one moment, in the order of paths */
#include "server/filter_priv.h"
#include "server/write_priv.h"

#include "server/continue.h"

/* At which revision to read. 0 is now. */
struct place {
    uint64_t revision;
    struct str after; /* path */
};

/* 0, or -1 after the failure was answered. The rules: reference 5.4. */
static int place_of(struct request *r, struct place *p)
{
    const struct options *o = &r->options;
    struct err err = {0};
    uint64_t version = 0;

    if (o->continue_.len) {
        if (continue_parse(r->arena, o->continue_, &p->revision, &p->after, &err) < 0)
            return fail_bad_request(r, "continue key is not valid: %s", err.text);
        if (o->resource_version.len && !str_eqz(o->resource_version, "0"))
            return fail_bad_request(
                r, "specifying resource version is not allowed when using continue");
        return 0;
    }
    if (check_not_older(r) < 0)
        return -1;
    str_to_u64(o->resource_version, &version);
    bool is_exact = str_eqz(o->resource_version_match, "Exact") ||
                    (!o->resource_version_match.len && o->limit > 0);
    if (version && is_exact)
        p->revision = version;
    return 0;
}

static int check_list_options(struct request *r)
{
    const struct options *o = &r->options;
    struct field_errors errors = field_errors_in(r->arena);
    struct field_path match = field_child(NULL, S("resourceVersionMatch"));
    struct field_path initial = field_child(NULL, S("sendInitialEvents"));

    if (o->has_initial_events)
        field_forbidden(&errors, &initial, "sendInitialEvents is forbidden for list");
    if (o->resource_version_match.len) {
        struct json given = json_of_str(o->resource_version_match);
        const struct json known[] = {json_of_z("Exact"), json_of_z("NotOlderThan")};
        bool is_exact = str_eqz(o->resource_version_match, "Exact");
        if (!o->resource_version.len)
            field_forbidden(&errors, &match,
                            "resourceVersionMatch is forbidden unless resourceVersion is "
                            "provided");
        if (o->continue_.len)
            field_forbidden(&errors, &match,
                            "resourceVersionMatch is forbidden when continue is provided");
        if (!is_exact && !str_eqz(o->resource_version_match, "NotOlderThan"))
            field_not_supported(&errors, &match, &given, known, countof(known));
        if (is_exact && str_eqz(o->resource_version, "0"))
            field_forbidden(&errors, &match,
                            "resourceVersionMatch \"exact\" is forbidden for resourceVersion "
                            "\"0\"");
    }
    return errors.list.len ? fail_options(r, "ListOptions", &errors) : 0;
}

/* The token is too old: 410 with one that goes on at the newest revision. */
static int fail_expired(struct request *r, const struct place *p)
{
    struct arena *a = r->arena;

    if (!r->options.continue_.len)
        return fail_with(r, 410, "Expired",
                         S("The resourceVersion for the provided list is too old."), NULL);
    struct json_obj m = obj_in(a);
    obj_setz(&m, "continue", json_of_str(continue_text(a, -1, p->after)));
    struct str message = S("The provided continue parameter is too old to display a consistent "
                           "list result. You can start a new list without the continue "
                           "parameter, or use the continue token in this response to retrieve "
                           "the remainder of the results.");
    struct err err = {0};
    err_set(&err, ERR_GONE, "%.*s", STR_ARG(message));
    const struct json *status = status_of(a, 410, "Expired", message, NULL);
    r->reply->fail(r, json_with(a, status, obj_done(&m), "metadata", NULL), &err);
    return -1;
}

/* Objects behind the page, counted for clients that show progress. */
static int64_t count_rest(struct store_walk *w)
{
    int64_t n = 0;

    while (store_next(w))
        n++;
    return n;
}

static void collect(struct request *r, const struct filter *f, const struct place *p,
                    struct list_result *l)
{
    struct store *s = r->server->store;
    VEC(struct object *) items = {0};
    struct object *o = NULL;
    bool is_more = false;

    if (f->name.len && (r->ns.len || !r->kind->namespaced) && !p->revision) {
        /* One by name: no walk. */
        o = store_get(s, r->kind->storage, path_of(r->arena, r->kind, r->ns, f->name));
        if (o && filter_matches(f, o) && str_cmp(object_path(o), p->after) > 0)
            vec_push_in(r->arena, &items, object_ref(o));
    } else {
        struct store_walk w =
            store_walk(s, r->arena, r->kind->storage, r->ns, p->after, p->revision);
        while ((o = store_next(&w))) {
            if (!filter_matches(f, o))
                continue;
            if (r->options.limit > 0 && (int64_t)items.len == r->options.limit) {
                is_more = true;
                break;
            }
            vec_push_in(r->arena, &items, object_ref(o));
        }
        if (is_more && f->is_all)
            l->remaining = 1 + count_rest(&w);
    }
    l->items = items.at;
    l->n = items.len;
    if (is_more)
        l->continue_ =
            continue_text(r->arena, (int64_t)l->revision, object_path(items.at[items.len - 1]));
}

void verb_list(struct request *r)
{
    struct place p = {0};
    struct filter f;
    struct err err = {0};

    if (check_list_options(r) < 0 || place_of(r, &p) < 0)
        goto end;
    if (filter_init(&f, r->arena, r->kind, r->options.label_selector, r->options.field_selector,
                    &err) < 0) {
        fail_err(r, &err);
        goto end;
    }
    if (p.revision && store_check(r->server->store, r->kind->storage, p.revision, &err) < 0) {
        if (err.code == ERR_GONE)
            fail_expired(r, &p);
        else
            fail_err(r, &err);
        goto end;
    }
    struct list_result l = {.revision =
                                p.revision ? p.revision : store_revision(r->server->store),
                            .remaining = -1};
    collect(r, &f, &p, &l);
    r->reply->list(r, &l);
    for (size_t i = 0; i < l.n; i++)
        object_unref(l.items[i]);
end:
    request_fini(r);
}
