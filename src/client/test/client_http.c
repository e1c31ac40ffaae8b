/* client_http.c - what the client asks over HTTP, and what it makes of the answers
 *
 * A made-up server answers by rows; what it was asked is written to a log.
 */
#include "client/client_http.h"
#include "api/find.h"
#include "base/testing.h"
#include "client/kubeconfig.h"
#include "object/object.h"

struct row {
    int status;
    const char *answer;
    const char *retry_after; /* or NULL */
    bool is_held;            /* the answer is not ended */
};

/* Answers; leaves the answer open; asks for another try. */
#define SAYS(status, answer)                                                                   \
    {                                                                                          \
        status, answer, NULL, false                                                            \
    }
#define HOLDS(status, answer)                                                                  \
    {                                                                                          \
        status, answer, NULL, true                                                             \
    }
#define LATER(status, seconds)                                                                 \
    {                                                                                          \
        status, "", seconds, false                                                             \
    }

struct world {
    struct io *io;
    struct http_server *server;
    struct client *client;
    const struct kind *kind;
    const struct row *rows;
    size_t n_rows, at;
    struct buf log; /* requests */
    struct buf got; /* answers */
    struct http_request *held;
    struct client_watch *watch;
    bool stop_at_event;
    char body[512];
};

static void handle(void *ctx, struct http_request *req)
{
    struct world *w = ctx;
    const struct row *row = w->at < w->n_rows ? &w->rows[w->at++] : NULL;
    struct http_header headers[2] = {
        {S("content-type"), S("application/json")}
    };
    size_t n = 1;

    buf_printf(&w->log, "%.*s %.*s\n", STR_ARG(req->method), STR_ARG(req->target));
    snprintf(w->body, sizeof(w->body), "%.*s", STR_ARG(req->body));
    if (!row) {
        http_abort(req);
        return;
    }
    if (row->retry_after)
        headers[n++] = (struct http_header){S("retry-after"), str_from(row->retry_after)};
    if (row->is_held) {
        w->held = req;
        http_respond_start(req, row->status, headers, n);
        http_respond_chunk(req, str_from(row->answer));
    } else {
        http_respond(req, row->status, headers, n, str_from(row->answer));
    }
}

static void world_init(struct world *w, const struct row *rows, size_t n_rows)
{
    static const struct kubeconfig config = {.server = S_INIT("http://api:80/base")};
    struct client_http_options options = {.name = S("tester")};

    *w = (struct world){.io = io_sim_new(1, (struct instant){SECOND_NS}),
                        .rows = rows,
                        .n_rows = n_rows,
                        .kind = kind_find(S(""), S("v1"), S("ConfigMap"))};
    w->server = http_server_new(w->io, S("api:80"), 0, NULL, handle, w, NULL);
    w->client = client_http_new(w->io, &config, &options, NULL);
    check(w->kind && w->client);
}

static void go(struct world *w, int64_t seconds)
{
    io_run_until(w->io, instant_add(io_now(w->io), span_s(seconds)));
}

static void world_fini(struct world *w)
{
    client_free(w->client);
    if (w->held)
        http_abort(w->held);
    http_server_free(w->server);
    io_run(w->io);
    io_free(w->io);
    buf_fini(&w->log);
    buf_fini(&w->got);
}

static void check_log(struct world *w, const char *want)
{
    check_samez(buf_str(&w->log), want);
    buf_clear(&w->log);
}
static void check_got(struct world *w, const char *want)
{
    check_samez(buf_str(&w->got), want);
    buf_clear(&w->got);
}

static void got_answer(void *ctx, const struct client_answer *answer)
{
    struct world *w = ctx;

    buf_printf(&w->got, "%d", answer->code);
    if (answer->object)
        buf_printf(&w->got, " %.*s@%" PRIu64, STR_ARG(object_path(answer->object)),
                   object_revision(answer->object));
    if (answer->status)
        buf_printf(&w->got, " status");
    if (answer->err)
        buf_printf(&w->got, " %s %s", err_name(answer->err->code), answer->err->text);
    buf_add(&w->got, S("\n"));
}

#define CM(name, rv)                                                                           \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name             \
    "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}}"
#define STATUS(code, reason, message)                                                          \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","       \
    "\"message\":\"" message "\",\"reason\":\"" reason "\",\"code\":" code "}"
#define BASE "/base/api/v1/namespaces/n/configmaps"

static struct client_target a_of_n(const struct world *w)
{
    return (struct client_target){.kind = w->kind, .ns = S("n"), .name = S("a")};
}

TEST(client_http_calls)
{
    static const struct row rows[] = {
        SAYS(200, CM("a", "7")),
        SAYS(404, STATUS("404", "NotFound", "configmaps \\\"a\\\" not found")),
        SAYS(201, CM("a", "8")),
        SAYS(409, STATUS("409", "AlreadyExists", "exists")),
        SAYS(409, STATUS("409", "Conflict", "conflict")),
        SAYS(200, CM("a", "9")),
        SAYS(200, CM("a", "10")),
        SAYS(200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}"),
        SAYS(502, "<html>bad gateway</html>"),
        SAYS(200, "no json"),
        SAYS(200, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}"),
    };
    struct world w;
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    const struct json *body = json_parse(&a, S("{\"metadata\":{\"name\":\"a\"}}"), NULL, NULL);

    world_init(&w, rows, countof(rows));
    struct client_target t = a_of_n(&w);
    client_get(w.client, &t, got_answer, &w);
    check_got(&w, ""); /* never inside the call */
    go(&w, 1);
    check_log(&w, "GET " BASE "/a\n");
    check_got(&w, "200 n/a@7\n");
    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "404 status NOT_FOUND configmaps \"a\" not found\n");
    buf_clear(&w.log);
    client_create(w.client, &t, body, got_answer, &w);
    go(&w, 1);
    check_log(&w, "POST " BASE "?fieldManager=tester&fieldValidation=Ignore\n");
    check_samez(str_from(w.body),
                "{\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}");
    check_got(&w, "201 n/a@8\n");
    client_create(w.client, &t, body, got_answer, &w);
    go(&w, 1);
    check_got(&w, "409 status EXISTS exists\n");
    client_update(w.client, &t, body, got_answer, &w);
    go(&w, 1);
    check_got(&w, "409 status CONFLICT conflict\n");
    buf_clear(&w.log);

    struct client_patch_options o = {.manager = S("me & co"), .force = true, .dry_run = true};
    client_patch(w.client, &t, CLIENT_APPLY, body, &o, got_answer, &w);
    go(&w, 1);
    check_log(&w, "PATCH " BASE "/a?fieldManager=me%20%26%20co&fieldValidation=Ignore"
                  "&dryRun=All&force=true\n");
    t.subresource = S("status");
    client_patch(w.client, &t, CLIENT_PATCH_MERGE, body, NULL, got_answer, &w);
    go(&w, 1);
    check_log(&w, "PATCH " BASE "/a/status?fieldManager=tester&fieldValidation=Ignore\n");
    check_samez(str_from(w.body), "{\"metadata\":{\"name\":\"a\"}}");
    check_got(&w, "200 n/a@9\n200 n/a@10\n");
    t.subresource = S("");

    struct client_delete_options d = {
        .propagation = S("Foreground"), .uid = S("u"), .grace_s = 0};
    client_delete(w.client, &t, &d, got_answer, &w);
    go(&w, 1);
    check_log(&w, "DELETE " BASE "/a\n");
    check_samez(str_from(w.body),
                "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
                "\"Foreground\",\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\"}}");
    check_got(&w, "200 status\n");

    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "502 INTERNAL the server answered 502 Unknown: <html>bad gateway</html>\n");
    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "200 SYNTAX the server's answer cannot be read\n");
    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "200 status\n"); /* no metadata: not an object */
    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "0 UNAVAILABLE the server closed the connection\n");
    world_fini(&w);
}

TEST(client_http_retries)
{
    static const struct row rows[] = {
        LATER(429, "2"),
        LATER(503, "1"),
        SAYS(200, CM("a", "7")),
        SAYS(429, STATUS("429", "TooManyRequests", "later")),
    };
    struct world w;

    world_init(&w, rows, countof(rows));
    struct client_target t = a_of_n(&w);
    client_get(w.client, &t, got_answer, &w);
    go(&w, 1);
    check_got(&w, "");
    go(&w, 3);
    check_got(&w, "200 n/a@7\n");
    client_get(w.client, &t, got_answer, &w); /* without Retry-After it is the answer */
    go(&w, 1);
    check_got(&w, "429 status TOO_MANY later\n");
    client_get(w.client, &t, got_answer, &w);
    client_free(w.client); /* answered before it goes */
    w.client = NULL;
    check_got(&w, "0 CANCELED the client was closed\n");
    world_fini(&w);
}

static void got_list(void *ctx, const struct client_list_answer *answer)
{
    struct world *w = ctx;

    if (answer->err)
        buf_printf(&w->got, "%s %s", err_name(answer->err->code), answer->err->text);
    else
        buf_printf(&w->got, "@%" PRIu64, answer->revision);
    for (size_t i = 0; i < answer->n_items; i++)
        buf_printf(&w->got, " %.*s@%" PRIu64, STR_ARG(object_path(answer->items[i])),
                   object_revision(answer->items[i]));
    buf_add(&w->got, S("\n"));
}

#define LIST(rv, next, items)                                                                  \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"     \
    "\"" rv "\",\"continue\":\"" next "\"},\"items\":[" items "]}"
#define ITEM(name, rv)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}" \
    "}"

TEST(client_http_lists)
{
    static const struct row rows[] = {
        SAYS(200, LIST("9", "more+", ITEM("a", "1") "," ITEM("b", "2"))),
        SAYS(200, LIST("9", "", ITEM("c", "3"))),
        SAYS(200, LIST("9", "x", ITEM("a", "1"))),
        SAYS(410, STATUS("410", "Expired", "too old")),
        SAYS(200, LIST("12", "", ITEM("a", "1") "," ITEM("d", "11"))),
        SAYS(403, STATUS("403", "Forbidden", "no")),
        SAYS(200, LIST("1", "", "3")),
    };
    struct world w;

    world_init(&w, rows, countof(rows));
    struct client_target t = {.kind = w.kind, .ns = S("n")};
    struct client_select sel = {.labels = S("a in (b)"), .fields = S("metadata.name!=z")};
    client_list(w.client, &t, &sel, got_list, &w);
    go(&w, 1);
    check_log(&w, "GET " BASE "?labelSelector=a%20in%20%28b%29"
                  "&fieldSelector=metadata.name%21%3Dz&limit=500\n"
                  "GET " BASE "?labelSelector=a%20in%20%28b%29"
                  "&fieldSelector=metadata.name%21%3Dz&limit=500&continue=more%2B\n");
    check_got(&w, "@9 n/a@1 n/b@2 n/c@3\n");
    t.ns = S("");                                  /* all namespaces */
    client_list(w.client, &t, NULL, got_list, &w); /* the second page comes too late */
    go(&w, 1);
    check_log(&w, "GET /base/api/v1/configmaps?limit=500\n"
                  "GET /base/api/v1/configmaps?limit=500&continue=x\n"
                  "GET /base/api/v1/configmaps?limit=5000\n");
    check_got(&w, "@12 n/a@1 n/d@11\n");
    client_list(w.client, &t, NULL, got_list, &w);
    go(&w, 1);
    check_got(&w, "FORBIDDEN no\n");
    client_list(w.client, &t, NULL, got_list, &w);
    go(&w, 1);
    check_got(&w, "SYNTAX the server sent no ConfigMap\n");
    world_fini(&w);
}

static void got_event(void *ctx, const struct watch_event *e)
{
    static const char *const names[] = {"+", "~", "-", "bookmark", "error"};
    struct world *w = ctx;

    buf_printf(&w->got, "%s", names[e->type]);
    if (e->object)
        buf_printf(&w->got, "%.*s", STR_ARG(object_path(e->object)));
    if (e->err)
        buf_printf(&w->got, " %s %s", err_name(e->err->code), e->err->text);
    else
        buf_printf(&w->got, "@%" PRIu64, e->revision);
    buf_add(&w->got, S("\n"));
    if (w->stop_at_event) {
        client_watch_stop(w->watch);
        w->watch = NULL;
    }
}

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

/* The revision that a watch asked for, of each request in the log. */
static struct str asked(struct arena *a, struct str log)
{
    struct buf b = buf_in(a, 64);
    struct str line, head, tail;

    while (log.len) {
        str_cut(log, '\n', &line, &log);
        size_t at = str_find(line, S("resourceVersion="));
        str_cut(str_slice(line, at == STR_NONE ? line.len : at + 16, line.len), '&', &head,
                &tail);
        buf_printf(&b, "%.*s ", STR_ARG(head));
    }
    return str_trim(buf_str(&b));
}

TEST(client_http_watches)
{
    static const struct row rows[] = {
        SAYS(200, EVENT("ADDED", CM("a", "11")) "\n" EVENT("MODIFIED", CM("a", "12"))),
        SAYS(200, EVENT("DELETED", CM("a", "13")) EVENT("BOOKMARK", CM("", "20"))),
        SAYS(500, "down"),
        SAYS(200, EVENT("ADDED", "{\"kind\":\"Table\",\"apiVersion\":\"v1\"}")),
        HOLDS(200, EVENT("ERROR", STATUS("410", "Expired", "too old"))),
    };
    struct world w;
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);

    world_init(&w, rows, countof(rows));
    struct client_target t = {.kind = w.kind, .ns = S("n"), .name = S("a")};
    w.watch = client_watch(w.client, &t, NULL, 10, got_event, &w);
    check_got(&w, "");
    go(&w, 60);
    check(str_starts(buf_str(&w.log),
                     S("GET " BASE "?fieldSelector=metadata.name%3Da&watch=true"
                       "&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=")));
    check_samez(asked(&a, buf_str(&w.log)), "10 12 20 20 20");
    check_got(&w, "+n/a@11\n~n/a@12\n-n/a@13\nbookmark@20\nerror GONE too old\n");
    go(&w, 600); /* and then nothing */
    check_got(&w, "");
    client_watch_stop(w.watch);
    world_fini(&w);
}

TEST(client_http_watch_stops_and_breaks)
{
    static const struct row rows[] = {
        HOLDS(200, EVENT("ADDED", CM("a", "11")) EVENT("ADDED", CM("b", "12"))),
        HOLDS(200, EVENT("ADDED", CM("a", "11"))),
        HOLDS(200, EVENT("ADDED", CM("b", "12"))),
        SAYS(403, STATUS("403", "Forbidden", "no")),
        HOLDS(200, "nonsense\n"),
    };
    struct world w;
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);

    world_init(&w, rows, countof(rows));
    struct client_target t = {.kind = w.kind};
    w.stop_at_event = true; /* from inside an event */
    w.watch = client_watch(w.client, &t, NULL, 10, got_event, &w);
    go(&w, 5);
    check_got(&w, "+n/a@11\n");
    http_abort(w.held);
    w.stop_at_event = false;

    w.watch = client_watch(w.client, &t, NULL, 10, got_event, &w);
    go(&w, 5);
    http_abort(w.held); /* broken off: it goes on where it was */
    go(&w, 60);
    check_got(&w, "+n/a@11\n+n/b@12\n");
    check_samez(asked(&a, buf_str(&w.log)), "10 10 11");
    client_watch_stop(w.watch);
    go(&w, 1);
    http_abort(w.held);
    w.held = NULL;

    w.watch = client_watch(w.client, &t, NULL, 10, got_event, &w);
    go(&w, 5);
    check_got(&w, "error FORBIDDEN no\n");
    client_watch_stop(w.watch);
    w.watch = client_watch(w.client, &t, NULL, 10, got_event, &w);
    go(&w, 5);
    check(str_starts(buf_str(&w.got), S("error SYNTAX the server's watch cannot be read: ")));
    client_watch_stop(w.watch);
    client_watch_stop(NULL);
    world_fini(&w);
}
