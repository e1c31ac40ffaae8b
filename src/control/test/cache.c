/* cache.c - the newest version of each object, whatever order news comes in */
#include "control/cache_priv.h"
#include "control/test/fake.h"

struct world {
    struct fake fake;
    struct control *control;
    struct cache *cache;
    struct buf told; /* "+a ~a -a" */
};

static void told(void *ctx, struct cache_event *e)
{
    struct world *w = ctx;

    buf_printf(&w->told, "%c%.*s ", e->now ? e->old ? '~' : '+' : '-',
               STR_ARG(object_key(e->now ? e->now : e->old).name));
    check(cache_event_any(e) != NULL);
}

/* "a:5 b:6", in the order in which they came. */
static struct str held(struct world *w)
{
    struct buf b = buf_in(&w->fake.arena, 64);

    cache_each(i, w->cache)
    {
        struct object *o = cache_at(w->cache, i);
        buf_printf(&b, "%.*s:%" PRIu64 " ", STR_ARG(object_key(o).name), object_revision(o));
    }
    return str_trim(buf_str(&b));
}

static void check_told(struct world *w, const char *want)
{
    check_samez(str_trim(buf_str(&w->told)), want);
    buf_clear(&w->told);
}

static void start(struct world *w)
{
    *w = (struct world){0};
    fake_init(&w->fake);
    w->control = control_new(w->fake.io, &w->fake.client, S("test"));
    w->cache = control_cache(w->control, &kind_config_map);
    cache_subscribe(w->cache, told, w);
    fake_run(&w->fake, 0);
}

static void stop(struct world *w)
{
    control_free(w->control);
    buf_fini(&w->told);
    fake_fini(&w->fake);
}

/* An own write was answered. */
static void offer(struct world *w, const char *name, uint64_t revision)
{
    struct object *o = fake_object(&w->fake, name, revision, NULL);

    cache_offer(w->cache, o);
    object_unref(o);
}

static void event(struct world *w, enum watch_event_type type, const char *name,
                  uint64_t revision)
{
    fake_event(&w->fake, type, revision, fake_object(&w->fake, name, revision, NULL));
}

TEST(cache_lists_then_watches)
{
    struct world w;

    start(&w);
    check(!cache_is_ready(w.cache) && !control_is_ready(w.control));
    fake_check(&w.fake, "list@0");
    fake_listed(&w.fake, 7, "a:5 b:6");
    check(cache_is_ready(w.cache) && control_is_ready(w.control));
    fake_check(&w.fake, "watch>7");
    check_told(&w, "+a +b");
    event(&w, WATCH_MODIFIED, "a", 8);
    event(&w, WATCH_ADDED, "c", 9);
    event(&w, WATCH_DELETED, "b", 10);
    check_told(&w, "~a +c -b");
    check_samez(held(&w), "a:8 c:9");
    check_int(cache_len(w.cache), 2);

    test_case("read by path, or by namespace and name");
    check(cache_find(w.cache, S("n/a")) == cache_get(w.cache, S("n"), S("a")));
    check(cache_get(w.cache, S("n"), S("a")) && !cache_get(w.cache, S("n"), S("b")));
    check(!cache_get(w.cache, S("other"), S("a")) && !cache_get(w.cache, S(""), S("a")));

    test_case("who subscribes later is told of all there is");
    cache_subscribe(w.cache, told, &w);
    check_told(&w, "+a +c");
    stop(&w);
}

TEST(cache_takes_the_newer)
{
    struct world w;

    start(&w);
    fake_listed(&w.fake, 7, "a:5");
    check_told(&w, "+a");

    test_case("an own answer that the watch has not told");
    offer(&w, "a", 9);
    check_samez(held(&w), "a:9");
    check_told(&w, "~a");
    test_case("then the watch comes late");
    event(&w, WATCH_MODIFIED, "a", 8);
    event(&w, WATCH_MODIFIED, "a", 9);
    check_told(&w, "");
    check_samez(held(&w), "a:9");
    test_case("an own answer that is older than the watch");
    event(&w, WATCH_MODIFIED, "a", 12);
    offer(&w, "a", 11);
    offer(&w, "b", 10); /* deleted since, or it would have come */
    check_told(&w, "~a");
    check_samez(held(&w), "a:12");
    test_case("a delete of an older version than ours");
    offer(&w, "c", 20);
    event(&w, WATCH_DELETED, "c", 15);
    check_samez(held(&w), "a:12 c:20");

    test_case("an own delete was answered: gone, if it is still the same");
    cache_forget(w.cache, S("n/c"), S("another uid"));
    check_samez(held(&w), "a:12 c:20");
    cache_forget(w.cache, S("n/c"), S("uid-c"));
    cache_forget(w.cache, S("n/nothing"), S("uid-c"));
    check_samez(held(&w), "a:12");
    stop(&w);
}

TEST(cache_lists_again)
{
    struct world w;

    start(&w);
    fake_listed(&w.fake, 7, "a:5 b:6 c:7");
    fake_check(&w.fake, "list@0 watch>7");
    check_told(&w, "+a +b +c");

    test_case("a watch that is too old (410) asks for a new list, a moment later");
    fake_event(&w.fake, WATCH_ERROR, 0, NULL);
    fake_check(&w.fake, "");
    fake_run(&w.fake, 20);
    fake_check(&w.fake, "list@20");
    check(cache_is_ready(w.cache)); /* what there was can be read meanwhile */
    check_samez(held(&w), "a:5 b:6 c:7");

    test_case("an own answer while the list is on its way outlives the list");
    offer(&w, "new", 30);
    offer(&w, "c", 31);
    check_told(&w, "+new ~c");
    fake_listed(&w.fake, 25, "b:9 c:7 d:20");
    check_told(&w, "~b +d -a");
    check_samez(held(&w), "b:9 c:31 new:30 d:20");
    fake_check(&w.fake, "watch>25");
    event(&w, WATCH_ADDED, "new", 30);
    check_told(&w, "");

    test_case("lists that fail are tried again: 20 ms, 40, 80 ... 10 s");
    fake_event(&w.fake, WATCH_ERROR, 0, NULL);
    fake_run(&w.fake, 20);
    fake_list_fails(&w.fake);
    fake_run(&w.fake, 40);
    fake_list_fails(&w.fake);
    fake_run(&w.fake, 79);
    fake_check(&w.fake, "list@40 list@80");
    fake_run(&w.fake, 1);
    fake_check(&w.fake, "list@160");
    for (int i = 0; i < 10; i++) {
        fake_list_fails(&w.fake);
        fake_run(&w.fake, 10000);
    }
    buf_clear(&w.fake.log);
    fake_list_fails(&w.fake);
    fake_run(&w.fake, 9999);
    fake_check(&w.fake, "");

    test_case("and after a good one it is quick again");
    fake_run(&w.fake, 1);
    fake_listed(&w.fake, 40, "b:9");
    buf_clear(&w.fake.log);
    fake_event(&w.fake, WATCH_ERROR, 0, NULL);
    fake_run(&w.fake, 20);
    check(str_has(buf_str(&w.fake.log), S("list@")));
    stop(&w);
}

TEST(cache_of_a_selection)
{
    struct world w = {0};

    fake_init(&w.fake);
    w.control = control_new(w.fake.io, &w.fake.client, S("test"));
    w.cache = control_cache_of(w.control, &kind_config_map, S("metadata.name=a"));
    check(control_cache(w.control, &kind_config_map) == w.cache); /* one a kind */
    fake_run(&w.fake, 0);
    fake_check(&w.fake, "list@0 fields=metadata.name=a");
    stop(&w);
}

static void by_label(struct object *o, const struct json *tree, struct cache_keys *out)
{
    const struct json *labels = json_path(tree, "metadata", "labels", NULL);

    (void)o;
    json_each_member (m, labels)
        vec_push(&out->keys, m->name);
}

/* "a b" of the objects under a key. */
static struct str under(struct world *w, const struct cache_index *x, const char *key)
{
    struct object *const *list;
    size_t n = cache_indexed(x, str_from(key), &list);
    struct buf b = buf_in(&w->fake.arena, 64);

    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%.*s ", STR_ARG(object_key(list[i]).name));
    return str_trim(buf_str(&b));
}

TEST(cache_index)
{
    static const char red[] = ",\"labels\":{\"red\":\"\"}";
    static const char both[] = ",\"labels\":{\"red\":\"\",\"blue\":\"\"}";
    static const char owned[] =
        ",\"ownerReferences\":[{\"uid\":\"u1\"},{\"uid\":\"u2\"},{\"uid\":\"u1\"}]";
    struct world w;

    start(&w);
    struct cache_index *early = cache_index(w.cache, "label", by_label);
    fake_listed(&w.fake, 7, "a:5");
    fake_event(&w.fake, WATCH_ADDED, 8, fake_object(&w.fake, "b", 8, red));
    fake_event(&w.fake, WATCH_ADDED, 9, fake_object(&w.fake, "c", 9, both));
    check_samez(under(&w, early, "red"), "b c");
    check_samez(under(&w, early, "blue"), "c");
    check_samez(under(&w, early, "green"), "");

    test_case("a change moves it; a delete takes it out");
    fake_event(&w.fake, WATCH_MODIFIED, 10, fake_object(&w.fake, "a", 10, red));
    fake_event(&w.fake, WATCH_MODIFIED, 11, fake_object(&w.fake, "c", 11, red));
    fake_event(&w.fake, WATCH_DELETED, 12, fake_object(&w.fake, "b", 12, red));
    check_samez(under(&w, early, "blue"), "");
    check(str_eqz(under(&w, early, "red"), "c a") || str_eqz(under(&w, early, "red"), "a c"));

    test_case("one that is asked for late has all; one name is one index");
    check(cache_index(w.cache, "label", by_label) == early);
    check_samez(under(&w, cache_by_namespace(w.cache), "n"), "a c");

    test_case("by owner: each once");
    fake_event(&w.fake, WATCH_ADDED, 13, fake_object(&w.fake, "d", 13, owned));
    check_samez(under(&w, cache_by_owner(w.cache), "u1"), "d");
    check_samez(under(&w, cache_by_owner(w.cache), "u2"), "d");
    stop(&w);
}

TEST(cache_takes_a_long_list_in_slices)
{
    enum { N = 1000 };
    struct object *items[N];
    struct client_list_answer answer = {.items = items, .n_items = N, .revision = 2000};
    struct world w;
    int turns = 0;

    start(&w);
    for (int i = 0; i < N; i++)
        items[i] =
            fake_object(&w.fake, str_z(&w.fake.arena, str_printf(&w.fake.arena, "o%d", i)),
                        (uint64_t)i + 1, NULL);
    fake_check(&w.fake, "list@0");
    w.fake.listed(w.fake.list_ctx, &answer);
    for (int i = 0; i < N; i++)
        object_unref(items[i]);
    for (; !cache_is_ready(w.cache) && turns < N; turns++) {
        check(cache_len(w.cache) < N);
        io_turn(w.fake.io);
    }
    check(turns > 3 && turns < 20);
    check_int(cache_len(w.cache), N);
    fake_check(&w.fake, "watch>2000");
    stop(&w);
    start(&w); /* and one that is not taken in to its end */
    for (int i = 0; i < N; i++)
        items[i] =
            fake_object(&w.fake, str_z(&w.fake.arena, str_printf(&w.fake.arena, "o%d", i)),
                        (uint64_t)i + 1, NULL);
    w.fake.listed(w.fake.list_ctx, &answer);
    for (int i = 0; i < N; i++)
        object_unref(items[i]);
    io_turn(w.fake.io);
    stop(&w);
}

static bool prepared(void *ctx)
{
    return --*(int *)ctx == 0;
}

TEST(control_is_ready_when_all_is_prepared)
{
    int parts = 3;
    struct world w;

    start(&w);
    control_prepare(w.control, prepared, &parts);
    fake_run(&w.fake, 10);
    check_int(parts, 3); /* nothing is there to prepare from */
    fake_listed(&w.fake, 7, "a:5");
    check(!control_is_ready(w.control));
    fake_run(&w.fake, 10);
    check(control_is_ready(w.control));
    check_int(parts, 0);
    stop(&w);
}
