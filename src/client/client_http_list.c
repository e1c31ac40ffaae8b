/* client_http_list.c - whole lists, put together from pages */
#include "client/client_http_priv.h"
#include "schema/table.h"

struct listing {
    struct talk talk; /* first */
    const struct kind *kind;
    client_list_fn *done;
    void *ctx;
    size_t all_len, page_len; /* of the target without `limit`, without `continue` */
    VEC(struct object *) items;
    uint64_t revision;
    int n_restarts; /* after a page that had expired */
};

static void forget_items(struct listing *l)
{
    vec_each (i, &l->items)
        object_unref(l->items.at[i]);
    vec_clear(&l->items);
}

static void answer(struct listing *l, const struct err *err)
{
    struct client_list_answer a = {.err = err};

    if (!err)
        a = (struct client_list_answer){
            .items = l->items.at, .n_items = l->items.len, .revision = l->revision};
    l->done(l->ctx, &a);
    forget_items(l);
    vec_fini(&l->items);
    talk_fini(&l->talk);
    free(l);
}

static void ask_in_pages_of(struct listing *l, int n)
{
    l->talk.target.len = l->all_len;
    client_query(&l->talk.target, S("limit"), str_printf(&l->talk.arena, "%d", n));
    l->page_len = l->talk.target.len;
    talk_start(&l->talk);
}

static void ask_page(struct listing *l, struct str token)
{
    l->talk.target.len = l->page_len;
    if (token.len)
        client_query(&l->talk.target, S("continue"), token);
    talk_start(&l->talk);
}

/* Takes the page's items; the token of the next one, or "". */
static int take_page(struct listing *l, struct arena *a, struct str *token, struct err *err)
{
    const struct json *tree = json_parse(a, buf_str(&l->talk.answer), NULL, err);
    const struct json *items = json_getz(tree, "items");

    if (!tree)
        return err_wrap(err, "the server's list cannot be read");
    json_each (i, items) {
        struct object *o = remote_object(a, l->kind, json_at(items, i), err);
        if (!o)
            return -1;
        vec_push(&l->items, o);
    }
    l->revision = remote_revision(tree);
    *token = json_str(json_path(tree, "metadata", "continue", NULL));
    return 0;
}

static void page_done(struct talk *t, const struct err *err)
{
    struct listing *l = (struct listing *)t;
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct str token;
    struct err why;

    if (err) {
        answer(l, err);
        return;
    }
    if (t->code != 200) {
        client_error(t->code, json_parse(&a, buf_str(&t->answer), NULL, NULL),
                     buf_str(&t->answer), &why);
        if (why.code == ERR_GONE && l->items.len && l->n_restarts++ < CLIENT_RESTARTS) {
            forget_items(l); /* the pages were read too slowly: again, by fewer of them */
            ask_in_pages_of(l, CLIENT_LARGE_PAGE);
            return;
        }
        answer(l, &why);
    } else if (take_page(l, &a, &token, &why) < 0) {
        answer(l, &why);
    } else if (token.len) {
        ask_page(l, token);
    } else {
        answer(l, NULL);
    }
}

void remote_list(struct client *c, const struct client_target *t,
                 const struct client_select *sel, client_list_fn *done, void *ctx)
{
    struct listing *l = mem_zero(1, sizeof(*l));

    l->kind = t->kind;
    l->done = done;
    l->ctx = ctx;
    talk_init(&l->talk, (struct remote *)c, S("GET"), t);
    l->talk.done = page_done;
    if (sel->labels.len)
        client_query(&l->talk.target, S("labelSelector"), sel->labels);
    if (sel->fields.len)
        client_query(&l->talk.target, S("fieldSelector"), sel->fields);
    l->all_len = l->talk.target.len;
    ask_in_pages_of(l, CLIENT_PAGE);
}
