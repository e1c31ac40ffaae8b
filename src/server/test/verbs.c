/* verbs.c - the tests of server/: conversations on simulated io and a store in memory
 *
 * A row is a list of requests as text, `METHOD PATH [BODY]`, one a line; what is checked is the
 * code of each answer and, after `->`, a part of the last body. The clients are bytes.
 */
#include "base/testing.h"
#include "client/client.h"
#include "http/http.h"
#include "io/io.h"
#include "object/object.h"
#include "server/server.h"

struct world {
    struct io *io;
    struct server *server;
    struct buf codes, body;
    bool is_waiting;
};

static void ready(void *ctx, const struct err *err)
{
    struct world *w = ctx;

    check(!err);
    w->is_waiting = false;
}

static void run_until_answered(struct world *w)
{
    for (int i = 0; i < 10000 && w->is_waiting; i++)
        io_turn(w->io);
    for (int i = 0; i < 1000 && w->is_waiting; i++) /* where commits take their time */
        io_run_until(w->io, instant_add(io_now(w->io), span_ms(1)));
    check(!w->is_waiting);
}

static bool account(void *ctx, struct str user, struct server_user *fill);

static struct world *world_of(const struct server_config *config)
{
    struct world *w = mem_zero(1, sizeof(*w));

    w->io = io_sim_new(7, (struct instant){1700000000 * SECOND_NS});
    w->server = server_new(w->io, config);
    w->is_waiting = true;
    server_bootstrap(w->server, ready, w);
    run_until_answered(w);
    return w;
}

static struct world *world_new(void)
{
    return world_of(&(struct server_config){
        .address = S("localhost:1"), .account = account, .starter_uid = 4000000});
}

static void world_free(struct world *w)
{
    server_free(w->server);
    while (io_turn(w->io))
        ;
    io_free(w->io);
    buf_fini(&w->codes);
    buf_fini(&w->body);
    free(w);
}

static void head(void *ctx, int status, const struct http_header *headers unused,
                 size_t n unused)
{
    struct world *w = ctx;

    buf_printf(&w->codes, "%s%d", w->codes.len ? " " : "", status);
    buf_clear(&w->body);
}

static void data(void *ctx, struct str bytes)
{
    buf_add(&((struct world *)ctx)->body, bytes);
}

static void end(void *ctx, const struct err *err)
{
    struct world *w = ctx;

    check_samez(err ? err_str(err) : S(""), "");
    w->is_waiting = false;
}

static const struct http_call_events events = {.head = head, .data = data, .end = end};
static const struct str masters[] = {S_INIT("system:masters")};
static const struct http_peer admin = {
    .is_tls = true, .cert_name = S_INIT("admin"), .cert_groups = masters, .n_cert_groups = 1};

static const struct http_peer ann = {.is_tls = true, .cert_name = S_INIT("ann")};
static const struct http_peer bob = {.is_tls = true, .cert_name = S_INIT("bob")};
static const struct http_peer eve = {.is_tls = true, .cert_name = S_INIT("eve")};
static const struct {
    const char *word;
    const struct http_peer *peer;
} peers[] = {
    {"@ann", &ann},
    {"@bob", &bob},
    {"@eve", &eve}
};

/* ann and bob have accounts of the machine. */
static bool account(void *ctx unused, struct str user, struct server_user *fill)
{
    if (!str_eqz(user, "ann") && !str_eqz(user, "bob"))
        return false;
    fill->has_account = true;
    fill->account_uid = fill->account_gid = str_eqz(user, "ann") ? 1001 : 1002;
    return true;
}

static void ask(struct world *w, struct str line)
{
    struct str method, rest, target, body, type = S("application/json");
    const struct http_peer *peer = &admin;
    struct str as = {0};

    for (size_t i = 0; i < countof(peers); i++) {
        if (str_starts(line, str_from(peers[i].word))) {
            peer = peers[i].peer;
            str_cut(line, ' ', &rest, &line);
        }
    }

    if (str_starts(line, S("^"))) /* ^NAME: as somebody else */
        str_cut(str_slice(line, 1, line.len), ' ', &as, &line);
    str_cut(line, ' ', &method, &rest);
    str_cut(rest, ' ', &target, &body);
    if (str_starts(method, S("MERGE")))
        type = S("application/merge-patch+json");
    if (str_starts(method, S("JSON")))
        type = S("application/json-patch+json");
    if (str_starts(method, S("APPLY")))
        type = S("application/apply-patch+yaml");
    if (!str_eq(type, S("application/json")))
        method = S("PATCH");
    struct http_header h[] = {
        {S("content-type"),     type         },
        {S("user-agent"),       S("test/1.0")},
        {S("impersonate-user"), as           }
    };
    struct http_ask one = {.method = method,
                           .target = target,
                           .headers = h,
                           .n_headers = as.len ? countof(h) : countof(h) - 1,
                           .body = body};
    w->is_waiting = true;
    http_call_local(w->io, server_handle, w->server, peer, &one, &events, w);
    run_until_answered(w);
}

static void converse(struct world *w, const char *script)
{
    struct str rest = str_from(script), line;

    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        ask(w, line);
    }
}

#define CM "/api/v1/namespaces/default/configmaps"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define JOB(name, more)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more                                    \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","     \
    "\"image\":\"i\"}]}}}}"

TEST(conversations)
{
    static const struct {
        const char *name, *script, *codes, *part;
    } cases[] = {
  /* clang-format off */
        {"made, read, gone",
         "POST " CM " {\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}\nGET " CM "/a\nDELETE " CM "/a\nGET " CM "/a",
         "201 200 200 404",
         "configmaps \\\"a\\\" not found"},
        {"a name is taken once",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nPOST " CM " {\"metadata\":{\"name\":\"a\"}}",
         "201 409",
         "\"reason\":\"AlreadyExists\""},
        {"a generated name",
         "POST " CM " {\"metadata\":{\"generateName\":\"a-\"}}\nGET " CM,
         "201 200",
         "\"generateName\":\"a-\""},
        {"bad names are told",
         "POST " CM " {\"metadata\":{\"name\":\"A_b\"}}",
         "422",
         "\"field\":\"metadata.name\""},
        {"an unknown resource",
         "GET /api/v1/namespaces/default/things",
         "404",
         "could not find the requested resource"},
        {"an unknown group",
         "GET /apis/none/v1/things",
         "404",
         "404 page not found"},
        {"another namespace than the path's",
         "POST " CM " {\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}",
         "400",
         "does not match the namespace"},
        {"a namespace that is not there",
         "POST /api/v1/namespaces/none/configmaps {\"metadata\":{\"name\":\"a\"}}",
         "404",
         "namespaces \\\"none\\\" not found"},
        {"a stale version is refused",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nPUT " CM "/a {\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
         "201 409",
         "the object has been modified"},
        {"without a version the last one wins",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nPUT " CM "/a {\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}}",
         "201 200",
         "\"data\":{\"x\":\"1\"}"},
        {"broken JSON",
         "POST " CM " {\"metadata\":",
         "400",
         "\"reason\":\"BadRequest\""},
        {"unknown fields are refused where one is strict",
         "POST " CM "?fieldValidation=Strict {\"metadata\":{\"name\":\"a\"},\"x\":1}",
         "400",
         "strict decoding error: unknown field \\\"x\\\""},
        {"a dry run leaves nothing",
         "POST " CM "?dryRun=All {\"metadata\":{\"name\":\"a\"}}\nGET " CM "/a",
         "201 404",
         ""},
        {"a merge patch",
         "POST " CM " {\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\",\"l\":\"w\"}}\nMERGE " CM "/a {\"data\":{\"k\":null}}",
         "201 200",
         "\"data\":{\"l\":\"w\"}"},
        {"a JSON patch that does not apply",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nJSON " CM "/a [{\"op\":\"remove\",\"path\":\"/data/x\"}]",
         "201 422",
         "the server rejected our request"},
        {"finalizers hold it, and the last one lets go",
         "POST " CM " {\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"]}}\nDELETE " CM "/a\nGET " CM "/a\nMERGE " CM "/a {\"metadata\":{\"finalizers\":null}}\nGET " CM "/a",
         "201 200 200 200 404",
         ""},
        {"a wrong precondition",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nDELETE " CM "/a {\"preconditions\":{\"uid\":\"u\"}}",
         "201 409",
         "the UID in the precondition"},
        {"a page and the rest",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nPOST " CM " {\"metadata\":{\"name\":\"b\"}}\nGET " CM "?limit=1",
         "201 201 200",
         "\"remainingItemCount\":1"},
        {"labels choose",
         "POST " CM " {\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}}}\nPOST " CM " {\"metadata\":{\"name\":\"b\"}}\nGET " CM "?labelSelector=l%3D2",
         "201 201 200",
         "\"items\":[]"},
        {"the name is a field",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nGET " CM "?fieldSelector=metadata.name=a",
         "201 200",
         "\"name\":\"a\""},
        {"other fields are not",
         "GET " CM "?fieldSelector=data.x=a",
         "400",
         "field label not supported: data.x"},
        {"a whole collection goes",
         "POST " CM " {\"metadata\":{\"name\":\"a\"}}\nPOST " CM " {\"metadata\":{\"name\":\"b\"}}\nDELETE " CM "\nGET " CM,
         "201 201 200 200",
         "\"items\":[]"},
        {"a status is written apart",
         "POST " JOBS " " JOB("j",
         "") "\nMERGE " JOBS "/j/status {\"status\":{\"active\":1},\"spec\":{\"parallelism\":7}}",
         "201 200",
         "\"status\":{\"active\":1}"},
        {"the spec counts its generations",
         "POST " JOBS " " JOB("j",
         "") "\nMERGE " JOBS "/j {\"spec\":{\"parallelism\":3}}",
         "201 200",
         "\"generation\":2"},
        {"nobody may without a role",
         "@eve GET " CM,                                                                                                       "403",
         "User \\\"eve\\\" cannot list resource \\\"configmaps\\\""},
        {"everybody may look around", "@eve GET /apis",
         "200",
         "\"name\":\"batch\""},
        {"a local user has a namespace from the first request",
         "@ann GET /api/v1/namespaces/u-ann/configmaps\n@ann GET " CM,                                                                                                     "200 403",
         ""},
        {"work runs as its asker",
         "@ann POST /apis/batch/v1/namespaces/u-ann/jobs " JOB("j",
         ""),                                                                                                "201",
         "\"berth.dev/run-as\":\"{\\\"uid\\\":1001,"},
        {"nobody says who runs it",
         "@ann POST /apis/batch/v1/namespaces/u-ann/jobs {\"metadata\":{\"name\":\"j\","
         "\"annotations\":{\"berth.dev/run-as\":\"{}\"}}}",
         "403",
         "is written by the server"},
        {"nor changes it later",
         "@ann POST /apis/batch/v1/namespaces/u-ann/jobs " JOB(
             "j",
         "") "\n@ann MERGE /apis/batch/v1/namespaces/u-ann/jobs/j "
                      "{\"metadata\":{\"annotations\":{"
                      "\"berth.dev/run-as\":\"{}\"}}}",
         "201 403","is written by the server"},
        {"it stays where it is left out, also for administrators",
         "@ann POST /apis/batch/v1/namespaces/u-ann/jobs " JOB(
             "j",
         "") "\nMERGE /apis/batch/v1/namespaces/u-ann/jobs/j "
                      "{\"metadata\":{\"annotations\":null}}",
         "201 200",
         "\\\"uid\\\":1001"},
        {"another user may not change what runs, but may stop it",
         "@ann GET /api\nPOST /apis/rbac.authorization.k8s.io/v1/namespaces/u-ann/rolebindings "
         "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":"
         "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"edit\"},"
         "\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\","
         "\"name\":\"bob\"}]}\n@ann POST /apis/batch/v1/namespaces/u-ann/jobs " JOB(
             "j",
         "\"suspend\":true,") "\n@bob MERGE /apis/batch/v1/namespaces/u-ann/jobs/j "
                                       "{\"spec\":{\"parallelism\":0}}"
                                       "\n@bob JSON /apis/batch/v1/namespaces/u-ann/jobs/j "
                                       "[{\"op\":\"add\",\"path\":"
                                       "\"/spec/template/spec/containers/0/"
                                       "args\",\"value\":[\"x\"]}]",
         "200 201 201 200 403","may not change what runs as another user"},
        {"nor the environment that it names",
         "@ann GET /api\nPOST /apis/rbac.authorization.k8s.io/v1/namespaces/u-ann/rolebindings "
         "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":"
         "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"edit\"},"
         "\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\","
         "\"name\":\"bob\"}]}\n@ann POST /apis/batch/v1/namespaces/u-ann/jobs {\"metadata\":{"
         "\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
         "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"envFrom\":[{\"configMapRef\":{"
         "\"name\":\"env\"}}]}]}}}}\n@bob POST /api/v1/namespaces/u-ann/configmaps "
         "{\"metadata\":{"
         "\"name\":\"env\"}}\n@bob POST /api/v1/namespaces/u-ann/configmaps {\"metadata\":{"
         "\"name\":\"other\"}}",
         "200 201 201 403 201",
         "\"name\":\"other\""},
        {"may I?",
         "@eve POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {\"spec\":{"
         "\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\",\"namespace\":"
         "\"default\"}}}",
         "201",
         "\"allowed\":false"},
        {"an administrator may act as somebody else",
         "^eve POST /apis/authentication.k8s.io/v1/selfsubjectreviews {}",
         "201",
         "\"username\":\"eve\""},
        {"others may not",
         "@eve ^ann GET /api",
         "403",
         "cannot impersonate"},
        {"nobody grants what they do not have",
         "@ann GET /api\n@ann POST /apis/rbac.authorization.k8s.io/v1/namespaces/u-ann/roles "
         "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":["
         "\"nodes\"],\"verbs\":[\"get\"]}]}\n@ann POST "
         "/apis/rbac.authorization.k8s.io/v1/namespaces/u-ann/roles {\"metadata\":{\"name\":"
         "\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":["
         "\"get\"]}]}",
         "200 403 201",
         ""},
        {"a PUT makes a Lease, and nothing else that is missing",
         "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l {\"metadata\":{\"name\":\"l\"},\"spec\":{}}\n"
         "PUT " CM "/a {\"metadata\":{\"name\":\"a\"}}",
         "201 404",
         "configmaps \\\"a\\\" not found"},
        {"a namespace goes when its last finalizer is taken out",
         "POST /api/v1/namespaces {\"metadata\":{\"name\":\"n\"}}\n"
         "PUT /api/v1/namespaces/n {\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}\n"
         "DELETE /api/v1/namespaces/n\nGET /api/v1/namespaces/n\n"
         "POST /api/v1/namespaces/n/configmaps {\"metadata\":{\"name\":\"a\"}}\n"
         "PUT /api/v1/namespaces/n/finalize {\"metadata\":{\"name\":\"n\"},\"spec\":{}}\nGET /api/v1/namespaces/n",
         "201 200 200 200 403 200 404",
         ""},
        {"who am I?",
         "@eve POST /apis/authentication.k8s.io/v1/selfsubjectreviews {}",
         "201",
         "\"username\":\"eve\""},
        {"a version that is to come",
         "GET " CM "?resourceVersion=999999",
         "504",
         "ResourceVersionTooLarge"},
        {"POST to an object",
         "POST " CM "/a {}",
         "405",
         "does not allow this method"},
        {"versions",
         "GET /version",
         "200",
         "\"minor\":\"37\""},
        {"health",
         "GET /readyz",
         "200",
         "ok"},
        {"discovery",
         "GET /apis/batch/v1",
         "200",
         "\"name\":\"jobs/status\""},
  /* clang-format on */
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct world *w = world_new();
        converse(w, cases[i].script);
        check_samez(buf_str(&w->codes), cases[i].codes);
        if (!str_has(buf_str(&w->body), str_from(cases[i].part)))
            check_samez(buf_str(&w->body), cases[i].part);
        world_free(w);
    }
}

/* The server drops a status that is applied to the object itself. */
TEST(apply_of_a_status_alone)
{
    static const char first[] =
        "APPLY " JOBS "/a?fieldManager=m "
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\"},"
        "\"spec\":{\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}},\"status\":{\"active\":%d}}";
    struct world *w = world_new();
    scoped(arena_fini) struct arena a = {0};
    struct str before;

    ask(w, str_printf(&a, first, 1));
    before = str_copy(&a, buf_str(&w->body));
    io_run_until(w->io, instant_add(io_now(w->io), span_s(5)));
    ask(w, str_printf(&a, first, 2));
    check_samez(buf_str(&w->codes), "201 200");
    check_same(buf_str(&w->body), before);
    world_free(w);
}

static const char too_many[] = "the server has its limit of ";

/* Asks, and does not wait for the answer. */
static struct http_call *begin(struct world *w, const char *method, const char *target,
                               const char *body)
{
    static const struct http_header json = {S_INIT("content-type"), S_INIT("application/json")};
    struct http_ask one = {.method = str_from(method),
                           .target = str_from(target),
                           .headers = &json,
                           .n_headers = 1,
                           .body = str_from(body)};

    return http_call_local(w->io, server_handle, w->server, &admin, &one, &events, w);
}

TEST(so_many_watches_and_no_more)
{
    struct world *w = world_of(&(struct server_config){.max_watches = 1});
    struct http_call *first = begin(w, "GET", CM "?watch=1", "");

    io_run_until(w->io, instant_add(io_now(w->io), span_ms(1)));
    ask(w, S("GET " CM "?watch=1"));
    check_samez(buf_str(&w->codes), "200 429");
    check(str_has(buf_str(&w->body), str_from(too_many)));
    check(str_has(buf_str(&w->body), S("\"retryAfterSeconds\":1")));
    test_case("other requests are not counted with them");
    ask(w, S("GET " CM));
    test_case("one that ends makes room");
    http_call_cancel(first);
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(1)));
    struct http_call *second = begin(w, "GET", CM "?watch=1", "");
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(1)));
    check_samez(buf_str(&w->codes), "200 429 200 200");
    http_call_cancel(second);
    world_free(w);
}

TEST(so_many_requests_and_no_more)
{
    struct world *w =
        world_of(&(struct server_config){.max_requests = 1, .commit = span_ms(10)});

    begin(w, "POST", CM, "{\"metadata\":{\"name\":\"a\"}}");
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(1)));
    ask(w, S("GET " CM "/a"));
    check_samez(buf_str(&w->codes), "429");
    check(str_has(buf_str(&w->body), str_from(too_many)));
    io_run_until(w->io, instant_add(io_now(w->io), span_ms(10)));
    ask(w, S("GET " CM "/a"));
    check_samez(buf_str(&w->codes), "429 201 200");
    world_free(w);
}
