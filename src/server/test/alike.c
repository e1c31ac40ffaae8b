/* alike.c - what others asked for before changes no answer */
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
    struct arena arena;
    struct str answer;
    bool is_answered;
};

static void ready(void *ctx, const struct err *err)
{
    check(!err);
    ((struct world *)ctx)->is_answered = true;
}

static void run(struct world *w)
{
    for (int i = 0; i < 100000 && !w->is_answered; i++)
        io_turn(w->io);
    check(w->is_answered);
}

static struct world *world_new(void)
{
    struct world *w = mem_zero(1, sizeof(*w));

    w->io = io_sim_new(1, (struct instant){1700000000 * SECOND_NS});
    w->server = server_new(w->io, &(struct server_config){0});
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
    arena_fini(&w->arena);
    free(w);
}

/* What of the answer hangs on what was asked for. */
static void answered(void *ctx, const struct client_answer *answer)
{
    struct world *w = ctx;
    const struct json *v = answer->status;

    if (answer->object) {
        v = object_tree(answer->object, &w->arena);
        v = json_without(&w->arena, v, "metadata", "uid", NULL);
        v = json_without(&w->arena, v, "metadata", "resourceVersion", NULL);
    }
    w->answer = json_text(&w->arena, v);
    w->is_answered = true;
}

static struct str create(struct world *w, const struct kind *kind, const char *body)
{
    struct client_target t = {.kind = kind, .ns = S("default")};
    const struct json *v = json_parse(&w->arena, str_from(body), NULL, NULL);

    check(v != NULL);
    w->is_answered = false;
    client_create(w->client, &t, v, answered, w);
    run(w);
    return w->answer;
}

static void delete (struct world *w, const struct kind *kind, const char *name)
{
    struct client_target t = {.kind = kind, .ns = S("default"), .name = str_from(name)};

    w->is_answered = false;
    client_delete(w->client, &t, NULL, answered, w);
    run(w);
}

#define META(labels)                                                                           \
    "{\"metadata\":{\"name\":\"%s\",\"labels\":{" labels "},\"ownerReferences\":[{"            \
    "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"u\","               \
    "\"controller\":true}]},\"spec\":{"
#define CONTAINERS(more) "\"containers\":[{\"name\":\"c\",\"image\":\"i\"" more "}]"
#define FIRST META("\"a\":\"b\"") CONTAINERS("") "}}"

static const char *named(struct arena *a, const char *body, const char *name)
{
    struct str text = str_from(body);
    size_t at = str_find(text, S("%s"));

    return str_z(a, str_concat(a, str_slice(text, 0, at), str_from(name),
                               str_slice(text, at + 2, text.len)));
}

TEST(alike)
{
    static const struct {
        const char *name, *first, *body;
    } cases[] = {
        {"the same",                 FIRST,                                                                  FIRST                                                     },
        {"another label",            FIRST,                                                                  META("\"a\":\"c\"") CONTAINERS("") "}}"                   },
        {"labels the other way",     META("\"a\":\"b\",\"c\":\"d\"") CONTAINERS("") "}}",
         META("\"c\":\"d\",\"a\":\"b\"") CONTAINERS("") "}}"                                                                                                           },
        {"a bad label",              FIRST,                                                                  META("\"a\":\"-\"") CONTAINERS("") "}}"                   },
        {"one field more",           FIRST,                                                                  META("\"a\":\"b\"") CONTAINERS("") ",\"hostname\":\"h\"}}"},
        {"a bad one",                FIRST,                                                                  META("\"a\":\"b\"") CONTAINERS("") ",\"hostname\":\"-\"}}"},
        {"one field fewer",          META("\"a\":\"b\"") CONTAINERS("") ",\"hostname\":\"h\"}}",             FIRST                                                     },
        {"an unknown field",         META("\"a\":\"b\"") CONTAINERS(",\"x\":1") "}}",
         META("\"a\":\"b\"") CONTAINERS(",\"x\":1") "}}"                                                                                                               },
        {"a number of another type",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":1}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":1.0}}"                                                                                 },
        {"another number",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":1}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":2}}"                                                                                   },
        {"no number",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":1}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"terminationGracePeriodSeconds\":null}}"                                                                                },
        {"another truth",            META("\"a\":\"b\"") CONTAINERS("") ",\"hostUsers\":true}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"hostUsers\":false}}"                                                                                                   },
        {"other names",              META("\"a\":\"b\"") CONTAINERS("") ",\"nodeSelector\":{\"x\":\"y\"}}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"nodeSelector\":{\"z\":\"y\"}}}"                                                                                        },
        {"nothing at all",
         META("\"a\":\"b\"") CONTAINERS("") ",\"volumes\":[],\"hostname\":\"\"}}",
         META("\"a\":\"b\"") CONTAINERS("") ",\"volumes\":[],\"hostname\":\"\"}}"                                                                                      },
        {"a bad container",          FIRST,
         META("\"a\":\"b\"") CONTAINERS(",\"resources\":{\"limits\":{\"cpu\":\"-1\"}}") "}}"                                                                           },
        {"a mount without a volume",
         META("\"a\":\"b\"") CONTAINERS(",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/"
                                        "v\"}]") ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}"
                                                 "}]}}",                                                     META("\"a\":\"b\"")
             CONTAINERS(",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]") "}}"                      },
        {"requests from limits",
         META("\"a\":\"b\"") CONTAINERS(",\"resources\":{\"limits\":{\"cpu\":\"1000m\"}}") "}}",
         META("\"a\":\"b\"") CONTAINERS(
             ",\"resources\":{\"limits\":{\"cpu\":\"1000m\"}}") ",\"hostname\":\"h\"}}"                                                                                },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        static const char *const before[] = {"p1", "p2", "p3"};
        struct world *w = world_new(), *alone = world_new();
        test_case(cases[i].name);
        for (size_t k = 0; k < countof(before); k++)
            create(w, &kind_pod, named(&w->arena, cases[i].first, before[k]));
        struct str want = create(alone, &kind_pod, named(&alone->arena, cases[i].body, "last"));
        check_same(create(w, &kind_pod, named(&w->arena, cases[i].body, "last")), want);
        world_free(w);
        world_free(alone);
    }
}

/* What admission adds is not kept, nor left out. */
TEST(alike_beside_a_limit_range)
{
    static const char limits[] =
        "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
        "\"default\":{\"cpu\":\"1\"}}]}}";
    static const struct {
        const char *name, *cpu;
        bool is_first, is_last;
    } cases[] = {
        {"it went",                                     "\"500m\"", true,  false},
        {"it came",                                     "\"500m\"", false, true },
        {"it came, and is less than what is asked for", "\"2\"",    false, true },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        static const char *const before[] = {"p1", "p2", "p3"};
        struct world *w = world_new(), *alone = world_new();
        test_case(cases[i].name);
        const char *body = str_z(
            &w->arena,
            str_concat(&w->arena,
                       S(META("\"a\":\"b\"") "\"containers\":[{\"name\":\"c\",\"image\":"
                                             "\"i\",\"resources\":{\"requests\":{\"cpu\":"),
                       str_from(cases[i].cpu), S("}}}]}}")));
        if (cases[i].is_first)
            create(w, &kind_limit_range, limits);
        for (size_t k = 0; k < countof(before); k++)
            create(w, &kind_pod, named(&w->arena, body, before[k]));
        if (cases[i].is_first)
            delete (w, &kind_limit_range, "l");
        if (cases[i].is_last) {
            create(w, &kind_limit_range, limits);
            create(alone, &kind_limit_range, limits);
        }
        struct str want = create(alone, &kind_pod, named(&alone->arena, body, "last"));
        check_same(create(w, &kind_pod, named(&w->arena, body, "last")), want);
        check(str_has(want, S("limit")) == cases[i].is_last);
        world_free(w);
        world_free(alone);
    }
}
