/* local.c - the tests of the client in this process */
#include "api/kinds.h"
#include "base/testing.h"
#include "client/client.h"
#include "io/io.h"
#include "object/object.h"
#include "server/server_priv.h"

struct world {
    struct io *io;
    struct server *server;
    struct client *client;
    struct buf out;
    int n_left;
    struct arena arena;
};

static void ready(void *ctx, const struct err *err)
{
    check(!err);
    ((struct world *)ctx)->n_left--;
}

static void run(struct world *w)
{
    for (int i = 0; i < 100000 && w->n_left; i++)
        io_turn(w->io);
    check_int(w->n_left, 0);
}

static struct world *world_new(uint64_t seed)
{
    struct world *w = mem_zero(1, sizeof(*w));

    w->io = io_sim_new(seed, (struct instant){1700000000 * SECOND_NS});
    w->server = server_new(w->io, &(struct server_config){0});
    w->n_left = 1;
    server_bootstrap(w->server, ready, w);
    run(w);
    w->client = server_client(w->server, &server_berth);
    return w;
}

static void world_free(struct world *w)
{
    client_free(w->client);
    server_free(w->server);
    io_free(w->io);
    buf_fini(&w->out);
    arena_fini(&w->arena);
    free(w);
}

static void answered(void *ctx, const struct client_answer *answer)
{
    struct world *w = ctx;

    w->n_left--;
    buf_printf(&w->out, "%d ", answer->err ? answer->code : 0);
    check((answer->err != NULL) == (answer->code == 0 || answer->code >= 400));
}

static struct client_target config_map(const char *name)
{
    return (struct client_target){
        .kind = &kind_config_map, .ns = S("default"), .name = str_from(name)};
}

static const struct json *tree(struct world *w, const char *text)
{
    const struct json *v = json_parse(&w->arena, str_from(text), NULL, NULL);

    check(v != NULL);
    return v;
}

TEST(calls)
{
    struct world *w = world_new(1);
    struct client_target t = config_map("a"), all = config_map("");
    struct client_patch_options apply = {.manager = S("m")};

    w->n_left = 6;
    client_create(w->client, &all,
                  tree(w, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}"), answered,
                  w);
    check_samez(buf_str(&w->out), "");
    while (w->n_left == 6)
        io_turn(w->io);
    client_patch(w->client, &t, CLIENT_PATCH_MERGE, tree(w, "{\"data\":{\"l\":\"w\"}}"), NULL,
                 answered, w);
    while (w->n_left == 5)
        io_turn(w->io);
    client_patch(w->client, &t, CLIENT_APPLY, tree(w, "{\"data\":{\"m\":\"x\"}}"), &apply,
                 answered, w);
    while (w->n_left == 4)
        io_turn(w->io);
    client_get(w->client, &t, answered, w);
    while (w->n_left == 3)
        io_turn(w->io);
    client_delete(w->client, &t, NULL, answered, w);
    while (w->n_left == 2)
        io_turn(w->io);
    client_get(w->client, &t, answered, w);
    while (w->n_left == 1)
        io_turn(w->io);
    check_samez(str_trim(buf_str(&w->out)), "0 0 0 0 0 404");
    w->n_left = 0;
    world_free(w);
}

/* ---- watching ---- */

struct seen {
    struct world *world;
    struct client_watch *watch;
    int n_stop_after;
};

static void event(void *ctx, const struct watch_event *e)
{
    struct seen *s = ctx;
    static const char marks[] = "+~-b!";

    buf_printf(&s->world->out, "%c%.*s ", marks[e->type],
               STR_ARG(e->object ? object_key(e->object).name : S("")));
    if (s->n_stop_after && --s->n_stop_after == 0)
        client_watch_stop(s->watch);
}

static void ignore(void *ctx, const struct client_answer *answer)
{
    ((struct world *)ctx)->n_left--;
    check(!answer->err);
}

static void play(struct world *w)
{
    struct client_target all = config_map("");
    static const char *const names[] = {"a", "b", "c"};

    for (size_t i = 0; i < countof(names); i++) {
        w->n_left = 1;
        client_create(w->client, &all,
                      json_parse(&w->arena,
                                 str_printf(&w->arena,
                                            "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"n\":"
                                            "\"%s\"}}}",
                                            names[i], names[i]),
                                 NULL, NULL),
                      ignore, w);
        run(w);
    }
    struct client_target b = config_map("b");
    w->n_left = 1;
    client_patch(w->client, &b, CLIENT_PATCH_MERGE,
                 tree(w, "{\"metadata\":{\"labels\":{\"n\":\"x\"}}}"), NULL, ignore, w);
    run(w);
    w->n_left = 1;
    client_delete(w->client, &b, NULL, ignore, w);
    run(w);
    while (io_turn(w->io))
        ;
}

TEST(watch)
{
    static const struct {
        const char *name, *labels, *fields;
        int stop_after;
        const char *want;
    } cases[] = {
        {"all of a kind",                        "",           "",                0, "+a +b +c ~b -b"},
        {"those that match, as long as they do", "n in (b,c)", "",                0, "+b +c -b"      },
        {"that start to match",                  "n=x",        "",                0, "+b -b"         },
        {"one by name",                          "",           "metadata.name=b", 0, "+b ~b -b"      },
        {"stopped from inside",                  "",           "",                2, "+a +b"         },
        {"a selector that cannot be read",       "n in",       "",                0, "!"             },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct world *w = world_new(2);
        struct client_target all = config_map("");
        struct client_select sel = {str_from(cases[i].labels), str_from(cases[i].fields)};
        struct seen s = {.world = w, .n_stop_after = cases[i].stop_after};
        s.watch = client_watch(w->client, &all, &sel, 1, event, &s);
        play(w);
        check_samez(str_trim(buf_str(&w->out)), cases[i].want);
        if (!cases[i].stop_after)
            client_watch_stop(s.watch);
        while (io_turn(w->io))
            ;
        world_free(w);
    }
}

TEST(closing)
{
    struct world *w = world_new(3);
    struct client_target all = config_map(""), a = config_map("a");
    struct seen s = {.world = w};

    test_case("calls under way are answered, watches end in silence");
    s.watch = client_watch(w->client, &all, NULL, 1, event, &s);
    io_turn(w->io);
    w->n_left = 2;
    client_create(w->client, &all, tree(w, "{\"metadata\":{\"name\":\"a\"}}"), answered, w);
    io_turn(w->io);
    client_get(w->client, &a, answered, w);
    client_free(w->client);
    w->client = NULL;
    check_int(w->n_left, 0);
    world_free(w);
}

TEST(lent)
{
    struct world *w = world_new(3);
    struct client_target all = config_map(""), a = config_map("a");
    struct client *other = server_client(w->server, &server_berth);
    struct arena own = {0};
    const char *const bodies[] = {"{\"metadata\":{\"name\":\"a\"}}",
                                  "{\"data\":{\"k\":\"lent\"}}"};

    test_case("a lent body that is gone with its client is not asked for again");
    all.is_lent = a.is_lent = true;
    w->n_left = 1;
    client_create(w->client, &all, json_parse(&own, str_from(bodies[0]), NULL, NULL), answered,
                  w);
    run(w);
    w->n_left = 3; /* the second write loses to the first, and is not tried again */
    client_patch(other, &a, CLIENT_PATCH_MERGE, tree(w, "{\"data\":{\"k\":\"kept\"}}"), NULL,
                 answered, w);
    client_patch(w->client, &a, CLIENT_PATCH_MERGE,
                 json_parse(&own, str_from(bodies[1]), NULL, NULL), NULL, answered, w);
    while (w->server->n_requests < 2)
        io_turn(w->io);
    io_turn(w->io);
    arena_fini(&own);
    client_free(w->client);
    w->client = server_client(w->server, &server_berth);
    client_get(w->client, &a, answered, w);
    run(w);
    scoped(arena_fini) struct arena now = {0};
    struct object *o = store_get(w->server->store, &kind_config_map, S("default/a"));
    check_same(json_str(json_path(object_tree(o, &now), "data", "k", NULL)), S("kept"));
    client_free(other);
    world_free(w);
}

static void count(void *ctx, const struct client_list_answer *answer)
{
    struct world *w = ctx;

    w->n_left--;
    buf_printf(&w->out, "%zu ", answer->n_items);
}

TEST(events_end)
{
    struct world *w = world_new(4);
    struct client_target all = {.kind = &kind_event, .ns = S("default")};

    w->n_left = 1;
    client_create(w->client, &all,
                  tree(w, "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"namespace\":"
                          "\"default\",\"name\":\"p\",\"kind\":\"Pod\"},\"reason\":\"r\"}"),
                  answered, w);
    run(w);
    check_samez(str_trim(buf_str(&w->out)), "0");
    static const int64_t after[] = {3599, 2};
    for (size_t i = 0; i < countof(after); i++) {
        io_run_until(w->io, instant_add(io_now(w->io), span_s(after[i])));
        w->n_left = 1;
        client_list(w->client, &all, NULL, count, w);
        run(w);
    }
    check_samez(str_trim(buf_str(&w->out)), "0 1 0");
    world_free(w);
}

/* ---- what was judged, and by whom ---- */

static void stored(void *ctx, uint64_t revision, const struct err *err unused)
{
    check(revision != 0);
    ((struct world *)ctx)->n_left--;
}

/* The Job as no rule lets it be, past all rules. */
static void store_wrong(struct world *w, const struct kind *k)
{
    struct object *now = store_get(w->server->store, k, S("default/j"));
    const struct json *v = json_with(&w->arena, object_tree(now, &w->arena), json_of_i64(-1),
                                     "spec", "parallelism", NULL);
    struct object *next = object_new(k, v);

    w->n_left = 1;
    store_put(w->server->store, next, object_revision(now), stored, w);
    run(w);
    object_unref(next);
}

static void patch_job(struct world *w, const char *subresource, const char *patch)
{
    struct client_target t = {.kind = &kind_job,
                              .ns = S("default"),
                              .name = S("j"),
                              .subresource = str_from(subresource)};

    w->n_left = 1;
    client_patch(w->client, &t, CLIENT_PATCH_MERGE, tree(w, patch), NULL, answered, w);
    run(w);
}

TEST(what_other_rules_let_pass)
{
    static const char *const status = "{\"status\":{\"active\":1}}";
    struct world *w = world_new(6);
    struct client_target all = {.kind = &kind_job, .ns = S("default")};

    w->n_left = 1;
    client_create(w->client, &all,
                  tree(w, "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{"
                          "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                          "\"image\":\"i\"}]}}}}"),
                  answered, w);
    run(w);
    store_wrong(w, &kind_job);

    test_case("a status is written over a spec that these rules let pass");
    patch_job(w, "status", status);
    check_samez(str_trim(buf_str(&w->out)), "0 0");

    test_case("what was stored before the server began is judged whole");
    w->server->first_revision = store_revision(w->server->store);
    patch_job(w, "status", "{\"status\":{\"active\":2}}");
    check_samez(str_trim(buf_str(&w->out)), "0 0 422");

    test_case("once it is right it is known again");
    patch_job(w, "", "{\"spec\":{\"parallelism\":1}}");
    store_wrong(w, &kind_job);
    patch_job(w, "status", "{\"status\":{\"active\":3}}");
    check_samez(str_trim(buf_str(&w->out)), "0 0 422 0 0");
    world_free(w);
}

/* ---- the same final state through bytes ---- */

static void listed(void *ctx, const struct client_list_answer *answer)
{
    struct world *w = ctx;
    scoped(arena_fini) struct arena a = {0};

    w->n_left--;
    for (size_t i = 0; i < answer->n_items; i++) {
        buf_add(&w->out, object_bytes(answer->items[i], &a));
        buf_byte(&w->out, '\n');
    }
}

static void any(void *ctx, const struct client_answer *answer unused)
{
    ((struct world *)ctx)->n_left--;
}

static void random_call(struct world *w)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct client_target t = config_map(names[io_random(w->io) % countof(names)]);
    struct client_target all = config_map("");
    uint64_t n = io_random(w->io) % 100;
    const struct json *body = json_parse(
        &w->arena,
        str_printf(&w->arena, "{\"metadata\":{\"name\":\"%.*s\"},\"data\":{\"n\":\"%d\"}}",
                   STR_ARG(t.name), (int)n),
        NULL, NULL);

    switch (io_random(w->io) % 5) {
    case 0:
        client_create(w->client, &all, body, any, w);
        break;
    case 1:
        client_update(w->client, &t, body, any, w);
        break;
    case 2:
        client_patch(w->client, &t, CLIENT_PATCH_MERGE, body, NULL, any, w);
        break;
    case 3:
        client_patch(w->client, &t, CLIENT_APPLY, body,
                     &(struct client_patch_options){.manager = S("m"), .force = true}, any, w);
        break;
    default:
        client_delete(w->client, &t, NULL, any, w);
    }
}

static struct str final_state(struct arena *a, uint64_t seed)
{
    struct world *w = world_new(seed);
    struct client_target all = config_map("");

    for (int i = 0; i < 300; i++) {
        w->n_left++;
        random_call(w);
        if (i % 7 == 0)
            run(w);
    }
    run(w);
    w->n_left = 1;
    client_list(w->client, &all, NULL, listed, w);
    run(w);
    struct str state = str_copy(a, buf_str(&w->out));
    world_free(w);
    return state;
}

TEST(bytes_change_nothing)
{
    scoped(arena_fini) struct arena a = {0};

    for (uint64_t seed = 1; seed <= 5; seed++) {
        unsetenv("BERTH_CLIENT");
        struct str by_reference = final_state(&a, seed);
        struct str again = final_state(&a, seed);
        setenv("BERTH_CLIENT", "bytes", 1);
        struct str by_bytes = final_state(&a, seed);
        unsetenv("BERTH_CLIENT");
        check(by_reference.len > 0);
        check_same(again, by_reference);
        check_same(by_bytes, by_reference);
    }
}
