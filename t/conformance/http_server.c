/* http_server.c - conversations with a whole server (conformance/http/format.md, server.jsonl)
 *
 * Each case meets a fresh server on simulated io, with its store in memory, through the same
 * handler that connections use.
 */
#include "conformance.h"
#include "http_parts.h"

#include "client/client.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "http/http.h"
#include "io/io.h"
#include "server/server.h"
#include "value/time.h"

#define PATIENCE_S 120  /* simulated seconds for one answer */
#define EVENTUALLY_S 30 /* for what has to come true */

struct talk {
    struct conf *t;
    struct arena *a;
    struct io *io;
    struct server *server;
    MAP(struct str) bound;  /* placeholder → what it stands for */
    VEC(struct str) newest; /* those placeholders in the order of their binding */
    bool is_quiet;          /* a try: what differs is not told */
    /* the answer under way */
    int code;
    struct str type;
    VEC(struct str) warnings;
    struct buf body;
    bool is_ended;
};

/* ---- asking ---- */

static void head(void *ctx, int code, const struct http_header *headers, size_t n)
{
    struct talk *k = ctx;

    k->code = code;
    for (size_t i = 0; i < n; i++) {
        if (str_eqz(headers[i].name, "content-type"))
            k->type = str_copy(k->a, headers[i].value);
        if (str_eqz(headers[i].name, "warning"))
            vec_push_in(k->a, &k->warnings, str_copy(k->a, headers[i].value));
    }
}

static void data(void *ctx, struct str bytes)
{
    struct talk *k = ctx;

    buf_add(&k->body, bytes);
}

static void end(void *ctx, const struct err *err unused)
{
    struct talk *k = ctx;

    k->is_ended = true;
}

static const struct http_call_events events = {.head = head, .data = data, .end = end};

static void wait_for(struct talk *k, bool *flag)
{
    for (int i = 0; i < PATIENCE_S && !*flag; i++) {
        for (int j = 0; j < 100000 && !*flag && io_turn(k->io); j++)
            ;
        if (!*flag)
            io_run_until(k->io, instant_add(io_now(k->io), span_s(1)));
    }
}

static const struct str masters[] = {S_INIT("system:masters")};
static const struct str dev[] = {S_INIT("dev")};
static const struct http_peer admin = {
    .is_tls = true, .cert_name = S_INIT("admin"), .cert_groups = masters, .n_cert_groups = 1};
static const struct http_peer joe = {
    .is_tls = true, .cert_name = S_INIT("joe"), .cert_groups = dev, .n_cert_groups = 1};
static const struct http_peer nobody = {.is_tls = true};

static const struct http_peer *peer_of(struct str as)
{
    return str_eqz(as, "joe") ? &joe : str_eqz(as, "anonymous") ? &nobody : &admin;
}

/* The text with placeholders replaced by what they stand for. */
static struct str filled(struct talk *k, struct str s)
{
    struct buf out = buf_in(k->a, s.len + 64);

    for (size_t i = 0; i < s.len;) {
        size_t close = s.at[i] == '<' ? str_index(str_slice(s, i, s.len), '>') : STR_NONE;
        struct str *is =
            close != STR_NONE ? map_get(&k->bound, str_slice(s, i, i + close + 1)) : NULL;
        if (is) {
            buf_add(&out, *is);
            i += close + 1;
        } else {
            buf_byte(&out, s.at[i++]);
        }
    }
    return buf_str(&out);
}

static void ask(struct talk *k, const struct json *step)
{
    struct http_header h[16] = {
        {S("accept"),       S("application/json")},
        {S("content-type"), S("application/json")},
        {S("user-agent"),   S("client/1.0")      }
    };
    size_t n = 3;
    const struct json *given = json_getz(step, "headers"), *body = json_getz(step, "body");

    json_each_member (m, given) {
        struct str name = str_lower(k->a, m->name);
        size_t at = 0;
        while (at < n && !str_eq(h[at].name, name))
            at++;
        h[at] = (struct http_header){name, filled(k, json_str(&m->value))};
        n = MAX(n, at + 1);
    }
    struct str text = !body                       ? str_of(NULL, 0)
                      : body->type == JSON_STRING ? json_str(body)
                                                  : json_text(k->a, body);
    if (json_has(json_getz(step, "text")))
        text = json_str(json_getz(step, "text"));
    struct http_ask one = {.method = json_str(json_getz(step, "method")),
                           .target = filled(k, json_str(json_getz(step, "path"))),
                           .headers = h,
                           .n_headers = n,
                           .body = filled(k, text)};
    k->code = 0;
    k->type = str_of(NULL, 0);
    vec_clear(&k->warnings);
    buf_clear(&k->body);
    k->is_ended = false;
    http_call_local(k->io, server_handle, k->server, peer_of(json_str(json_getz(step, "as"))),
                    &one, &events, k);
    wait_for(k, &k->is_ended);
}

/* ---- comparing ---- */

static bool is_placeholder(struct str s)
{
    return s.len > 2 && s.at[0] == '<' && s.at[s.len - 1] == '>';
}

static bool matches_shape(struct str want, struct str got)
{
    struct instant t;

    if (str_eqz(want, "<time>") || str_eqz(want, "<microtime>"))
        return time_parse(got, &t, NULL) == 0;
    return got.len > 0; /* <age> */
}

static bool match_text(struct talk *k, struct str want, const struct json *got)
{
    struct str text = json_str(got);

    if (json_is(got, JSON_OBJECT)) /* an object by its name */
        return str_eq(json_str(json_path(got, "metadata", "name", NULL)), want);
    if (!json_is(got, JSON_STRING))
        return false;
    if (!is_placeholder(want))
        return str_eq(filled(k, want), text);
    if (str_index(want, ':') == STR_NONE)
        return matches_shape(want, text);
    struct str *is = map_get(&k->bound, want);
    if (is)
        return str_eq(*is, text);
    map_each (i, &k->bound) {
        /* Different ones stand for different values. */
        if (str_eq(*map_at(&k->bound, i), text) &&
            (str_starts(want, S("<uid")) || str_starts(want, S("<generated"))))
            return false;
    }
    struct str key = str_copy(k->a, want);
    *map_put(&k->bound, key) = str_copy(k->a, text);
    vec_push_in(k->a, &k->newest, key);
    return text.len > 0;
}

/* Forgets what was bound since. */
static void unbind(struct talk *k, size_t mark)
{
    while (k->newest.len > mark)
        map_del(&k->bound, vec_pop(&k->newest));
}

static bool match(struct talk *k, struct str at, const struct json *want,
                  const struct json *got, bool is_part);

static bool differ(struct talk *k, struct str at, const struct json *want,
                   const struct json *got)
{
    if (!k->is_quiet)
        conf_fail(k->t, str_z(k->a, at), got ? json_text(k->a, got) : S("(absent)"),
                  want ? json_text(k->a, want) : S("(absent)"));
    return false;
}

static bool match_object(struct talk *k, struct str at, const struct json *want,
                         const struct json *got, bool is_part)
{
    if (!json_is(got, JSON_OBJECT))
        return differ(k, at, want, got);
    json_each_member (m, want) {
        struct str below = str_printf(k->a, "%.*s.%.*s", STR_ARG(at), STR_ARG(m->name));
        const struct json *g = json_get(got, m->name);
        if (str_eqz(m->name, "message"))
            continue;
        if (!match(k, below, &m->value, g, is_part))
            return false;
    }
    json_each_member (m, got) {
        if (is_part || json_get(want, m->name) || str_eqz(m->name, "message") ||
            str_eqz(m->name, "description"))
            continue;
        return differ(k, str_printf(k->a, "%.*s.%.*s", STR_ARG(at), STR_ARG(m->name)), NULL,
                      &m->value);
    }
    return true;
}

static bool same_cause(const struct json *a, const struct json *b)
{
    return str_eq(json_str(json_getz(a, "reason")), json_str(json_getz(b, "reason"))) &&
           str_eq(json_str(json_getz(a, "field")), json_str(json_getz(b, "field")));
}

/* Causes in any order; one on "<nil>" only says that rules were skipped. */
static bool match_causes(struct talk *k, struct str at, const struct json *want,
                         const struct json *got)
{
    size_t n_want = 0;

    json_each (i, want) {
        bool is_found = str_eqz(json_str(json_getz(json_at(want, i), "field")), "<nil>");
        n_want += !is_found;
        json_each (j, got)
            is_found |= same_cause(json_at(want, i), json_at(got, j));
        if (!is_found)
            return differ(k, at, want, got);
    }
    return json_len(got) == n_want || differ(k, at, want, got);
}

static struct str name_of(const struct json *v)
{
    static const char *const names[] = {"name", "resource", "version", "subresource"};
    struct str name = json_str(json_path(v, "metadata", "name", NULL));

    for (size_t i = 0; i < countof(names) && !name.len; i++)
        name = json_str(json_get(v, str_from(names[i])));
    return name;
}

/* A list of which only a part is shown: elements are picked by name where they have one. */
static bool match_list(struct talk *k, struct str at, const struct json *want,
                       const struct json *got, bool is_part)
{
    bool by_name = is_part && (want->len == 0 || name_of(json_at(want, 0)).len > 0);

    if (str_ends(at, S(".causes")))
        return match_causes(k, at, want, got);
    if (!json_is(got, JSON_ARRAY) || (!by_name && want->len != got->len))
        return differ(k, at, want, got);
    json_each (i, want) {
        const struct json *g = json_at(got, i);
        if (by_name) {
            g = NULL;
            json_each (j, got) {
                if (str_eq(name_of(json_at(got, j)), name_of(json_at(want, i))))
                    g = json_at(got, j);
            }
        }
        if (!match(k, str_printf(k->a, "%.*s[%zu]", STR_ARG(at), i), json_at(want, i), g,
                   is_part))
            return false;
    }
    return true;
}

/* ---- lists under controllers: items cut to metadata, spec and status parts ---- */

/* Metadata of an item: what the collection leaves out may be there, nothing else. */
static bool match_metadata(struct talk *k, struct str at, const struct json *want,
                           const struct json *got)
{
    static const char *const cut[] = {"name",
                                      "namespace",
                                      "uid",
                                      "resourceVersion",
                                      "generation",
                                      "creationTimestamp",
                                      "managedFields",
                                      "deletionTimestamp",
                                      "deletionGracePeriodSeconds"};

    if (!match(k, at, want, got, true))
        return false;
    json_each_member (m, got) {
        bool is_cut_out = json_get(want, m->name) != NULL;
        for (size_t i = 0; i < countof(cut); i++)
            is_cut_out |= str_eqz(m->name, cut[i]);
        if (!is_cut_out)
            return differ(k, str_printf(k->a, "%.*s.%.*s", STR_ARG(at), STR_ARG(m->name)), NULL,
                          &m->value);
    }
    return true;
}

static bool match_item(struct talk *k, struct str at, const struct json *want,
                       const struct json *got)
{
    json_each_member (m, want) {
        struct str below = str_printf(k->a, "%.*s.%.*s", STR_ARG(at), STR_ARG(m->name));
        const struct json *g = json_get(got, m->name);
        bool is_good =
            str_eqz(m->name, "name")
                ? match(k, below, &m->value, json_path(got, "metadata", "name", NULL), false)
            : str_eqz(m->name, "metadata") ? match_metadata(k, below, &m->value, g)
                                           : match(k, below, &m->value, g, true);
        if (!is_good)
            return false;
    }
    return true;
}

/* In any order. */
static bool match_items(struct talk *k, struct str at, const struct json *want,
                        const struct json *got)
{
    bool *is_taken = arena_array(k->a, bool, json_len(got));
    bool was_quiet = k->is_quiet;

    if (json_len(want) != json_len(got))
        return differ(k, at, want, got);
    json_each (i, want) {
        bool is_found = false;
        for (size_t j = 0; j < json_len(got) && !is_found; j++) {
            size_t mark = k->newest.len;
            k->is_quiet = true;
            is_found = !is_taken[j] && match_item(k, at, json_at(want, i), json_at(got, j));
            k->is_quiet = was_quiet;
            if (is_found)
                is_taken[j] = true;
            else
                unbind(k, mark);
        }
        if (!is_found)
            return differ(k, str_printf(k->a, "%.*s[%zu]", STR_ARG(at), i), json_at(want, i),
                          got);
    }
    return true;
}

static bool match(struct talk *k, struct str at, const struct json *want,
                  const struct json *got, bool is_part)
{
    if (want->type == JSON_OBJECT)
        return match_object(k, at, want, got, is_part);
    if (want->type == JSON_ARRAY)
        return match_list(k, at, want, got, is_part);
    if (want->type == JSON_STRING)
        return match_text(k, json_str(want), got) || differ(k, at, want, got);
    return (got && json_eq(want, got)) || differ(k, at, want, got);
}

/* Bodies that the collection cuts to what matters. */
static bool is_cut(const struct json *want)
{
    static const char *const kinds[] = {
        "APIResourceList", "APIGroupList",           "APIGroup",   "APIGroupDiscoveryList",
        "Table",           "SelfSubjectRulesReview", "APIVersions"};
    struct str kind = json_str(json_getz(want, "kind"));

    for (size_t i = 0; i < countof(kinds); i++) {
        if (str_eqz(kind, kinds[i]))
            return true;
    }
    return !kind.len || !json_getz(want, "metadata");
}

static bool match_events(struct talk *k, struct str at, const struct json *want)
{
    struct str rest = buf_str(&k->body), line;
    struct json_arr got = arr_in(k->a);

    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        if (!str_trim(line).len)
            continue;
        const struct json *event = json_parse(k->a, str_copy(k->a, line), NULL, NULL);
        arr_add(&got, event ? *event : json_of_null());
    }
    return match(k, at, want, json_new(k->a, arr_done(&got)), false);
}

static bool match_warnings(struct talk *k, struct str at, const struct json *want)
{
    struct json_arr got = arr_in(k->a), none = arr_in(k->a);

    vec_each (i, &k->warnings) {
        /* 299 - "text" */
        struct str w = k->warnings.at[i];
        size_t from = str_index(w, '"');
        struct buf text = buf_in(k->a, w.len);
        for (size_t j = from + 1; from != STR_NONE && j + 1 < w.len; j++) {
            if (w.at[j] == '\\')
                j++;
            buf_byte(&text, w.at[j]);
        }
        arr_add(&got, json_of_str(buf_str(&text)));
    }
    struct json all = arr_done(&got), empty = arr_done(&none);
    return match(k, at, want ? want : &empty, &all, false);
}

static bool check_step(struct talk *k, const struct json *step, size_t i)
{
    const struct json *want = json_getz(step, "want"), *body = json_getz(want, "body");
    struct str at =
        str_printf(k->a, "step %zu %.*s %.*s", i, STR_ARG(json_str(json_getz(step, "method"))),
                   STR_ARG(json_str(json_getz(step, "path"))));
    struct json code = json_of_i64(k->code);

    if (json_i64(json_getz(want, "code"), 0) != k->code) {
        differ(k, str_printf(k->a, "%.*s: code", STR_ARG(at)), json_getz(want, "code"), &code);
        if (!k->is_quiet)
            conf_fail(k->t, "its body", str_copy(k->a, buf_str(&k->body)), S(""));
        return false;
    }
    if (json_getz(want, "events") && !match_events(k, at, json_getz(want, "events")))
        return false;
    if (json_getz(want, "text") &&
        !conf_same_str(k->t, str_z(k->a, at), str_copy(k->a, buf_str(&k->body)),
                       json_str(json_getz(want, "text"))))
        return false;
    if (body) {
        const struct json *got =
            json_parse(k->a, str_copy(k->a, buf_str(&k->body)), NULL, NULL);
        const struct json *items = json_getz(body, "items"),
                          *status = json_getz(body, "status");
        bool is_bare = !json_getz(body, "kind");
        if (is_bare && items)
            return match_items(k, at, items, json_getz(got, "items"));
        if (!match(k, at, body, got, is_cut(body)))
            return false;
        /* Of an object alone nothing is left out of the status. */
        if (is_bare && status && !match(k, at, status, json_getz(got, "status"), false))
            return false;
    }
    if (json_getz(want, "contentType") &&
        !conf_same_str(k->t, str_z(k->a, at), k->type,
                       json_str(json_getz(want, "contentType"))))
        return false;
    return match_warnings(k, str_printf(k->a, "%.*s warnings", STR_ARG(at)),
                          json_getz(want, "warnings"));
}

/* A step that has to come true asks again, at most for a while. */
static bool run_step(struct talk *k, const struct json *step, size_t i)
{
    bool is_eventual = json_bool(json_getz(step, "eventually"), false);

    for (int n = 0; is_eventual && n < EVENTUALLY_S * 10; n++) {
        size_t mark = k->newest.len;
        ask(k, step);
        k->is_quiet = true;
        bool is_good = check_step(k, step, i);
        k->is_quiet = false;
        if (is_good)
            return true;
        unbind(k, mark);
        io_run_until(k->io, instant_add(io_now(k->io), span_ms(100)));
    }
    ask(k, step);
    return check_step(k, step, i);
}

static void ready(void *ctx, const struct err *err)
{
    struct talk *k = ctx;

    if (err)
        conf_fail(k->t, "bootstrap", err_str(err), S(""));
    k->is_ended = true;
}

/* Controllers of the recorded server. */
#define CONTROLLERS                                                                            \
    "job-controller,ttl-after-finished-controller,garbage-collector-controller,"               \
    "namespace-controller"

static void talk_case(struct conf *t, const struct json *c, const char *controllers)
{
    struct talk k = {.t = t, .a = t->arena};
    const struct json *steps = json_getz(c, "steps");

    k.io = io_sim_new(1, (struct instant){1790000000 * SECOND_NS});
    k.server = server_new(k.io, &(struct server_config){.address = S("127.0.0.1:6443")});
    server_bootstrap(k.server, ready, &k);
    wait_for(&k, &k.is_ended);
    struct client *client = server_client(k.server, &server_berth);
    struct control *control = controllers ? control_new(k.io, client, S("controllers")) : NULL;
    struct controllers *all =
        control
            ? controllers_start(
                  control, &(struct controllers_config){.names = str_from(controllers)}, NULL)
            : NULL;
    json_each (i, steps) {
        if (!run_step(&k, json_at(steps, i), i))
            break;
    }
    if (control)
        control_free(control);
    controllers_free(all);
    client_free(client);
    server_free(k.server);
    while (io_turn(k.io))
        ;
    io_free(k.io);
    map_fini(&k.bound);
    buf_fini(&k.body);
}

void http_server_case(struct conf *t, const struct json *c)
{
    talk_case(t, c, NULL);
}

void http_controllers_case(struct conf *t, const struct json *c)
{
    talk_case(t, c, CONTROLLERS);
}
