/* list.c - GET of a collection: pages of one moment, in the order of paths */
#include "server/filter_priv.h"
#include "server/write_priv.h"

/* At which revision to read (0: now), and behind which path. */
struct place {
    uint64_t revision;
    struct str after;
};

static int check_list(struct request *r)
{
    struct field_errors errors = field_errors_in(r->arena);

    list_options_check(&errors, &r->options.list, true);
    return errors.list.len ? fail_options(r, "ListOptions", &errors) : 0;
}

/* 0, or -1 after the failure was answered. */
static int place_of(struct request *r, struct place *p)
{
    struct list_start start;
    struct err err = {0};

    if (list_options_resolve(r->arena, &r->options.list, S(""), true, &start, &err) < 0)
        return fail_err(r, &err);
    if (!start.has_continue && check_not_older(r) < 0)
        return -1;
    if (start.revision > 0)
        p->revision = (uint64_t)start.revision;
    if (start.has_continue)
        p->after = start.from_key;
    return 0;
}

/* The key without what makes it a place to go on at. */
static struct str last_of(struct str from_key)
{
    bool is_behind = from_key.len && from_key.at[from_key.len - 1] == 0;

    return is_behind ? str_slice(from_key, 0, from_key.len - 1) : from_key;
}

/* A token that is too old is answered with one that goes on at the newest revision. */
static int fail_expired(struct request *r, const struct place *p)
{
    struct api_error e = api_error_expired(
        S("The resourceVersion for the provided list is too old."), str_of(NULL, 0));

    if (r->options.list.continue_token.len)
        e = api_error_expired(
            S("The provided continue parameter is too old to display a consistent list result. "
              "You can start a new list without the continue parameter, or use the continue "
              "token in this response to retrieve the remainder of the results."),
            continue_encode(r->arena, last_of(p->after), -1));
    return fail_api(r, &e);
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
            if (r->options.list.limit > 0 && (int64_t)items.len == r->options.list.limit) {
                is_more = true;
                break;
            }
            vec_push_in(r->arena, &items, object_ref(o));
        }
        if (is_more && f->is_all)
            l->remaining = 1 + (int64_t)store_rest(&w);
    }
    l->items = items.at;
    l->n = items.len;
    if (is_more)
        l->continue_ = continue_encode(r->arena, object_path(items.at[items.len - 1]),
                                       (int64_t)l->revision);
}

void verb_list(struct request *r)
{
    struct place p = {0};
    struct filter f;
    struct err err = {0};

    if (check_list(r) < 0 || place_of(r, &p) < 0)
        goto end;
    if (filter_init(&f, r->kind, &r->options.list, &err) < 0) {
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
