/* A whole server meets requests of any bytes: each is answered once with a status that HTTP
 * knows, an answer that says it is JSON can be read, and the server goes on. The input is
 * requests divided by lines of "--": METHOD TARGET, a line with the body's type, the body.
 */
#include "server/server.h"
#include "http/http.h"
#include "io/io.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct talk {
    struct buf body;
    bool is_json, is_ended;
    int code;
};

static void head(void *ctx, int code, const struct http_header *headers, size_t n)
{
    struct talk *t = ctx;

    assert(code >= 200 && code < 600);
    t->code = code;
    for (size_t i = 0; i < n; i++) {
        if (str_eqz(headers[i].name, "content-type"))
            t->is_json = str_eqz(headers[i].value, "application/json");
    }
}

static void data_came(void *ctx, struct str bytes)
{
    buf_add(&((struct talk *)ctx)->body, bytes);
}

static void ended(void *ctx, const struct err *err)
{
    (void)err;
    ((struct talk *)ctx)->is_ended = true;
}

static const struct http_call_events events = {.head = head, .data = data_came, .end = ended};
static const struct str masters[] = {S_INIT("system:masters")};
static const struct http_peer admin = {
    .is_tls = true, .cert_name = S_INIT("a"), .cert_groups = masters, .n_cert_groups = 1};

static void ask(struct io *io, struct server *s, struct str text)
{
    struct str line, type, body, method, target;
    struct talk t = {0};

    str_cut(text, '\n', &line, &text);
    str_cut(text, '\n', &type, &body);
    str_cut(line, ' ', &method, &target);
    if (!target.len || target.at[0] != '/')
        return;
    struct http_header h[] = {
        {S("content-type"), type                 },
        {S("accept"),       S("application/json")}
    };
    struct http_ask one = {.method = method,
                           .target = target,
                           .headers = h,
                           .n_headers = countof(h),
                           .body = body};
    struct http_call *call = http_call_local(io, server_handle, s, &admin, &one, &events, &t);
    for (int i = 0; i < 2000 && !t.is_ended; i++)
        io_turn(io);
    if (!t.is_ended) /* a watch */
        http_call_cancel(call);
    else if (t.is_json && t.code != 200) {
        scoped(arena_fini) struct arena a = {0};
        assert(json_parse(&a, buf_str(&t.body), NULL, NULL));
    }
    buf_fini(&t.body);
}

static void ready(void *ctx, const struct err *err)
{
    assert(!err);
    *(bool *)ctx = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct io *io = io_sim_new(1, (struct instant){SECOND_NS});
    struct server *s = server_new(io, &(struct server_config){0});
    struct str rest = str_of((const char *)data, size);
    bool is_ready = false;

    server_bootstrap(s, ready, &is_ready);
    while (!is_ready)
        io_turn(io);
    for (int n = 0; rest.len && n < 16; n++) {
        size_t end = str_find(rest, S("\n--\n"));
        ask(io, s, str_slice(rest, 0, end));
        rest = end == STR_NONE ? str_of(NULL, 0) : str_slice(rest, end + 4, rest.len);
    }
    server_free(s);
    for (int i = 0; i < 1000 && io_turn(io); i++)
        ;
    io_free(io);
    return 0;
}
