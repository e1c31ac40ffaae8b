/* pod_log.c - GET .../pods/NAME/log: a container's output over HTTP
 *
 *     file ──▶ runtime_log ──▶ chunk of the answer; paused while the reader is slow
 */
#include "node/node_priv.h"

#include "http/http.h"
#include "object/object.h"
#include "value/time.h"
#include "value/url.h"
#include "json/json.h"

#define QUEUED_MAX ((size_t)256 << 10) /* bytes that wait for the reader before we pause */

struct serving {
    struct http_request *q;
    struct runtime_log *log;
};

/* ---- what is asked for ---- */

struct asked {
    struct str container;
    bool previous;
    struct runtime_log_options o;
};

static bool is_true(struct str s)
{
    return str_eqz(s, "true") || str_eqz(s, "1");
}

static int number(struct str name, struct str text, int64_t least, int64_t *out,
                  struct err *err)
{
    if (str_to_i64(text, out) && *out >= least)
        return 0;
    return err_set(err, ERR_SYNTAX,
                   "%.*s: Invalid value: \"%.*s\": must be greater than or equal to %" PRId64,
                   STR_ARG(name), STR_ARG(text), least);
}

static int ask_one(struct asked *q, struct str key, struct str value, struct instant now,
                   struct err *err)
{
    int64_t n;

    if (str_eqz(key, "container")) {
        q->container = value;
    } else if (str_eqz(key, "previous")) {
        q->previous = is_true(value);
    } else if (str_eqz(key, "follow")) {
        q->o.follow = is_true(value);
    } else if (str_eqz(key, "timestamps")) {
        q->o.timestamps = is_true(value);
    } else if (str_eqz(key, "tailLines")) {
        return number(key, value, 0, &q->o.tail, err);
    } else if (str_eqz(key, "limitBytes")) {
        return number(key, value, 1, &q->o.limit_bytes, err);
    } else if (str_eqz(key, "sinceSeconds")) {
        if (number(key, value, 1, &n, err) < 0)
            return -1;
        q->o.since = (struct instant){instant_sub(now, (struct instant){span_s(n).ns}).ns};
    } else if (str_eqz(key, "sinceTime")) {
        if (time_parse(value, &q->o.since, err) < 0)
            return err_wrap(err, "sinceTime");
    } else if (str_eqz(key, "stream")) {
        q->o.only_stdout = str_eqz(value, "Stdout");
        q->o.only_stderr = str_eqz(value, "Stderr");
    }
    return 0;
}

static int read_query(struct http_request *q, struct instant now, struct asked *out,
                      struct err *err)
{
    struct url url = {.query = q->query};
    struct str_map pairs = url_query(q->arena, &url);

    *out = (struct asked){
        .o = {.tail = -1, .limit_bytes = -1}
    };
    for (size_t i = 0; i < pairs.len; i++)
        if (pairs.at[i].value.len &&
            ask_one(out, pairs.at[i].key, pairs.at[i].value, now, err) < 0)
            return -1;
    return 0;
}

/* ---- the answer ---- */

static void refuse(struct http_request *q, const struct err *err)
{
    static const struct http_header json = {S_INIT("content-type"), S_INIT("application/json")};
    struct json_obj o = obj_in(q->arena);
    bool is_missing = err->code == ERR_NOT_FOUND;
    int code = is_missing ? 404 : 400;

    obj_setz(&o, "kind", json_of_z("Status"));
    obj_setz(&o, "apiVersion", json_of_z("v1"));
    struct json_obj meta = obj_in(q->arena);
    obj_setz(&o, "metadata", obj_done(&meta));
    obj_setz(&o, "status", json_of_z("Failure"));
    obj_setz(&o, "message", json_of_str(str_from(err->text)));
    obj_setz(&o, "reason", is_missing ? json_of_z("NotFound") : json_of_z("BadRequest"));
    obj_setz(&o, "code", json_of_i64(code));
    struct json v = obj_done(&o);
    http_respond(q, code, &json, 1, json_text(q->arena, &v));
}

static void serve_end(struct serving *s)
{
    runtime_log_close(s->log);
    free(s);
}

static void log_data(void *ctx, struct str bytes)
{
    struct serving *s = ctx;

    http_respond_chunk(s->q, bytes);
    if (http_respond_queued(s->q) > QUEUED_MAX)
        runtime_log_pause(s->log);
}

static void log_end(void *ctx, const struct err *err)
{
    struct serving *s = ctx;
    struct http_request *q = s->q;

    serve_end(s);
    if (err)
        http_abort(q);
    else
        http_respond_end(q);
}

static const struct runtime_log_events log_events = {.data = log_data, .end = log_end};

static void reader_took(void *ctx)
{
    struct serving *s = ctx;

    runtime_log_resume(s->log);
}

static void reader_left(void *ctx)
{
    struct serving *s = ctx;
    struct http_request *q = s->q;

    serve_end(s);
    http_respond_end(q);
}

void node_agent_log(struct node_agent *n, struct http_request *q, struct str ns,
                    struct str name)
{
    static const struct http_header text = {S_INIT("content-type"), S_INIT("text/plain")};
    struct object *o = cache_get(n->pods, ns, name);
    struct asked asked;
    struct err err;
    struct log_choice run;

    if (!o) {
        err_set(&err, ERR_NOT_FOUND, "pods \"%.*s\" not found on node %.*s", STR_ARG(name),
                STR_ARG(n->config.name));
        refuse(q, &err);
        return;
    }
    if (read_query(q, io_now(n->io), &asked, &err) < 0 ||
        node_log_choose(q->arena, n, o, asked.container, asked.previous, &run, &err) < 0) {
        refuse(q, &err);
        return;
    }
    struct serving *s = mem_zero(1, sizeof(*s));
    s->q = q;
    http_respond_start(q, 200, &text, 1);
    http_on_drained(q, reader_took, s);
    http_on_closed(q, reader_left, s);
    s->log = runtime_log_open(n->io, n->runtime, run.id, run.path, &asked.o, &log_events, s);
}
