/* answer.c - answers as HTTP: objects, lists, Tables, metadata alone, watch frames */
#include "server/front_priv.h"
#include "server/watch_priv.h"
#include "server/write_priv.h"

#include "http/http.h"
#include "io/io.h"
#include "schema/columns.h"
#include "yaml/yaml.h"

#define FRAME_BACKLOG ((size_t)1 << 20) /* bytes queued past which a watch waits */
#define WARNINGS_MAX 64

/* ---- headers ---- */

/* A text as a quoted-string of a Warning header. */
static struct str warning(struct arena *a, struct str text)
{
    struct buf out = buf_in(a, text.len + 16);

    buf_add(&out, S("299 - \""));
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '"' || c == '\\')
            buf_byte(&out, '\\');
        buf_byte(&out, c == '\n' || c == '\r' ? ' ' : c);
    }
    buf_byte(&out, '"');
    return buf_str(&out);
}

static size_t headers_of(struct request *r, struct str type, struct http_header *out)
{
    size_t n = 0;

    out[n++] = (struct http_header){S("content-type"), type};
    out[n++] = (struct http_header){S("cache-control"), S("no-cache, private")};
    vec_each (i, &r->warnings) {
        if (n < WARNINGS_MAX)
            out[n++] = (struct http_header){S("warning"), warning(r->arena, r->warnings.at[i])};
    }
    return n;
}

static void send_buf(struct request *r, int code, struct str type, struct buf *body)
{
    struct http_header headers[WARNINGS_MAX + 4];
    size_t n = headers_of(r, type, headers);
    struct http_request *q = r->http;

    if (r->retry_after)
        headers[n++] = (struct http_header){S("retry-after"),
                                            str_printf(r->arena, "%" PRId64, r->retry_after)};
    if (code == 401 || code == 403)
        headers[n++] = (struct http_header){S("x-content-type-options"), S("nosniff")};
    r->http = NULL;
    http_respond_buf(q, code, headers, n, body);
}

/* A tree in the accepted syntax. */
static void send_tree(struct request *r, int code, const struct json *tree)
{
    struct buf out = {0};

    if (r->style.is_yaml) {
        yaml_write(&out, tree);
        send_buf(r, code, S("application/yaml"), &out);
        return;
    }
    if (r->style.is_pretty)
        json_write_pretty(&out, tree);
    else
        json_write(&out, tree);
    buf_byte(&out, '\n');
    send_buf(r, code, S("application/json"), &out);
}

/* ---- Tables and metadata ---- */

static struct json metadata_only(struct arena *a, const struct json *object, bool is_beta)
{
    struct json_obj o = obj_in(a);
    const struct json *m = json_getz(object, "metadata");

    obj_setz(&o, "kind", json_of_z("PartialObjectMetadata"));
    obj_setz(&o, "apiVersion",
             is_beta ? json_of_z("meta.k8s.io/v1beta1") : json_of_z("meta.k8s.io/v1"));
    obj_setz(&o, "metadata", m ? *m : json_of_null());
    return obj_done(&o);
}

static struct json list_meta(struct arena *a, const struct list_result *l)
{
    struct json_obj m = obj_in(a);

    obj_setz(&m, "resourceVersion", json_of_str(str_of_u64(a, l->revision)));
    if (l->continue_.len)
        obj_setz(&m, "continue", json_of_str(l->continue_));
    if (l->remaining >= 0)
        obj_setz(&m, "remainingItemCount", json_of_i64(l->remaining));
    return obj_done(&m);
}

static struct json table_row(struct request *r, const struct json *object)
{
    struct arena *a = r->arena;
    struct json_obj row = obj_in(a);
    const struct json *cells =
        columns_row(a, r->kind, cells_of_kinds(), object, io_now(r->server->io));

    obj_setz(&row, "cells", *cells);
    if (str_eqz(r->options.include_object, "Object"))
        obj_setz(&row, "object", *object);
    else if (str_eqz(r->options.include_object, "None"))
        obj_setz(&row, "object", json_of_null());
    else
        obj_setz(&row, "object", metadata_only(a, object, r->style.is_v1beta1));
    return obj_done(&row);
}

static const struct json *table(struct request *r, struct json meta,
                                const struct json *const *objects, size_t n, bool with_columns)
{
    struct arena *a = r->arena;
    struct json_obj t = obj_in(a);
    struct json_arr rows = arr_in(a);

    obj_setz(&t, "kind", json_of_z("Table"));
    obj_setz(&t, "apiVersion",
             r->style.is_v1beta1 ? json_of_z("meta.k8s.io/v1beta1")
                                 : json_of_z("meta.k8s.io/v1"));
    obj_setz(&t, "metadata", meta);
    obj_setz(&t, "columnDefinitions",
             with_columns ? columns_definitions(a, r->kind) : json_of_null());
    for (size_t i = 0; i < n; i++)
        arr_add(&rows, table_row(r, objects[i]));
    obj_setz(&t, "rows", arr_done(&rows));
    return json_new(a, obj_done(&t));
}

static struct json version_meta(struct arena *a, uint64_t revision)
{
    struct json_obj m = obj_in(a);

    if (revision)
        obj_setz(&m, "resourceVersion", json_of_str(str_of_u64(a, revision)));
    return obj_done(&m);
}

/* ---- one object ---- */

static void http_object(struct request *r, int code, struct object *o)
{
    bool is_plain = r->style.form == FORM_OBJECT && !r->style.is_yaml && !r->style.is_pretty;

    if (is_plain) {
        struct buf out = {0};
        object_write(o, &out);
        buf_byte(&out, '\n');
        send_buf(r, code, S("application/json"), &out);
        return;
    }
    const struct json *tree = object_tree(o, r->arena);
    if (r->style.form == FORM_TABLE)
        tree = table(r, version_meta(r->arena, object_revision(o)), &tree, 1, true);
    else if (r->style.form == FORM_METADATA)
        tree = json_new(r->arena, metadata_only(r->arena, tree, r->style.is_v1beta1));
    send_tree(r, code, tree);
}

static void http_tree(struct request *r, int code, const struct json *tree)
{
    send_tree(r, code, tree);
}

static void http_fail(struct request *r, const struct json *status, const struct err *err)
{
    (void)err;
    send_tree(r, (int)json_i64(json_getz(status, "code"), 500), status);
}

/* ---- lists ---- */

static const struct json *const *trees_of(struct request *r, const struct list_result *l)
{
    const struct json **trees = arena_array(r->arena, const struct json *, l->n);

    for (size_t i = 0; i < l->n; i++)
        trees[i] = tree_as_kind(r->arena, object_tree(l->items[i], r->arena),
                                object_key(l->items[i]).kind, r->kind);
    return trees;
}

static void list_converted(struct request *r, const struct list_result *l)
{
    struct arena *a = r->arena;
    const struct json *const *trees = trees_of(r, l);

    if (r->style.form == FORM_TABLE) {
        send_tree(r, 200, table(r, list_meta(a, l), trees, l->n, true));
        return;
    }
    struct json_obj o = obj_in(a);
    struct json_arr items = arr_in(a);
    bool is_meta = r->style.form == FORM_METADATA;
    for (size_t i = 0; i < l->n; i++)
        arr_add(&items, is_meta ? metadata_only(a, trees[i], r->style.is_v1beta1) : *trees[i]);
    obj_setz(&o, "kind",
             is_meta ? json_of_z("PartialObjectMetadataList")
                     : json_of_str(r->kind->list_kind));
    obj_setz(&o, "apiVersion",
             is_meta ? json_of_z("meta.k8s.io/v1") : json_of_str(r->kind->api_version));
    obj_setz(&o, "metadata", list_meta(a, l));
    obj_setz(&o, "items", arr_done(&items));
    send_tree(r, 200, json_new(a, obj_done(&o)));
}

static void http_list(struct request *r, const struct list_result *l)
{
    bool is_plain = r->style.form == FORM_OBJECT && !r->style.is_yaml && !r->style.is_pretty &&
                    r->kind == r->kind->storage;
    struct buf out = {0};

    if (!is_plain) {
        list_converted(r, l);
        return;
    }
    buf_printf(&out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"metadata\":",
               STR_ARG(r->kind->list_kind), STR_ARG(r->kind->api_version));
    struct json meta = list_meta(r->arena, l);
    json_write(&out, &meta);
    buf_add(&out, S(",\"items\":["));
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            buf_byte(&out, ',');
        /* As upstream: items of built-in kinds leave out apiVersion and kind. */
        if (r->kind->style == KIND_NATIVE)
            object_write_untyped(l->items[i], &out);
        else
            object_write(l->items[i], &out);
    }
    buf_add(&out, S("]}\n"));
    send_buf(r, 200, S("application/json"), &out);
}

/* ---- watches ---- */

static void watch_closed(void *ctx)
{
    struct request *r = ctx;
    struct http_request *q = r->http;

    watching_cancel(r);
    http_respond_end(q);
}

static void watch_drained(void *ctx)
{
    watching_drained(ctx);
}

static void http_watch_start(struct request *r)
{
    struct http_header headers[WARNINGS_MAX + 4];
    size_t n = headers_of(r, S("application/json"), headers);

    http_respond_start(r->http, 200, headers, n);
    http_on_closed(r->http, watch_closed, r);
    http_on_drained(r->http, watch_drained, r);
}

static void bookmark_tree(struct request *r, struct buf *out, uint64_t revision,
                          bool is_initial_end)
{
    if (r->style.form == FORM_TABLE) {
        buf_printf(out,
                   "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"
                   "{\"resourceVersion\":\"%" PRIu64
                   "\"},\"columnDefinitions\":null,\"rows\":[]}",
                   revision);
        return;
    }
    buf_printf(out,
               "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"metadata\":{\"resourceVersion\":"
               "\"%" PRIu64 "\"%s}}",
               STR_ARG(r->kind->kind), STR_ARG(r->kind->api_version), revision,
               is_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
                              : "");
}

static void event_object(struct request *r, struct buf *out, struct object *o,
                         uint64_t revision)
{
    if (r->style.form == FORM_OBJECT) {
        object_write_at(o, revision, out);
        return;
    }
    struct arena_mark mark = arena_mark(r->arena);
    struct buf text = {0};
    object_write_at(o, revision, &text);
    const struct json *tree = json_parse(r->arena, buf_str(&text), NULL, NULL);
    if (r->style.form == FORM_TABLE)
        tree = table(r, version_meta(r->arena, revision), &tree, 1, !r->has_columns);
    else
        tree = json_new(r->arena, metadata_only(r->arena, tree, r->style.is_v1beta1));
    r->has_columns = true;
    json_write(out, tree);
    buf_fini(&text);
    arena_rewind(r->arena, mark);
}

static void http_watch_event(struct request *r, enum event_type type, struct object *o,
                             uint64_t revision, bool is_initial_end)
{
    static const char *const names[] = {[EVENT_ADDED] = "ADDED",
                                        [EVENT_MODIFIED] = "MODIFIED",
                                        [EVENT_DELETED] = "DELETED",
                                        [EVENT_BOOKMARK] = "BOOKMARK"};
    struct buf out = {0};

    buf_printf(&out, "{\"type\":\"%s\",\"object\":", names[type]);
    if (o)
        event_object(r, &out, o, revision);
    else
        bookmark_tree(r, &out, revision, is_initial_end);
    buf_add(&out, S("}\n"));
    http_respond_chunk(r->http, buf_str(&out));
    buf_fini(&out);
}

static void http_watch_end(struct request *r)
{
    struct http_request *q = r->http;

    r->http = NULL;
    http_on_closed(q, NULL, NULL);
    http_on_drained(q, NULL, NULL);
    http_respond_end(q);
}

static void http_watch_fail(struct request *r, const struct json *status, const struct err *err)
{
    struct buf out = {0};

    (void)err;
    buf_add(&out, S("{\"type\":\"ERROR\",\"object\":"));
    json_write(&out, status);
    buf_add(&out, S("}\n"));
    http_respond_chunk(r->http, buf_str(&out));
    buf_fini(&out);
    http_watch_end(r);
}

static bool http_watch_is_full(struct request *r)
{
    return http_respond_queued(r->http) > FRAME_BACKLOG;
}

static void http_watch_alive(struct request *r)
{
    http_respond_chunk(r->http, S("\n"));
}

const struct reply http_reply = {
    .object = http_object,
    .tree = http_tree,
    .fail = http_fail,
    .list = http_list,
    .watch_start = http_watch_start,
    .watch_event = http_watch_event,
    .watch_fail = http_watch_fail,
    .watch_end = http_watch_end,
    .watch_is_full = http_watch_is_full,
    .watch_alive = http_watch_alive,
};

/* ---- for front.c ---- */

void answer_tree(struct http_request *q, int code, const struct json *tree)
{
    static const struct http_header headers[] = {
        {S_INIT("content-type"),  S_INIT("application/json") },
        {S_INIT("cache-control"), S_INIT("no-cache, private")}
    };
    struct buf out = {0};

    json_write(&out, tree);
    buf_byte(&out, '\n');
    http_respond_buf(q, code, headers, countof(headers), &out);
}

void answer_text(struct http_request *q, int code, struct str text)
{
    static const struct http_header headers[] = {
        {S_INIT("content-type"),           S_INIT("text/plain; charset=utf-8")},
        {S_INIT("x-content-type-options"), S_INIT("nosniff")                  }
    };

    http_respond(q, code, headers, countof(headers), text);
}

void server_refuse(struct http_request *q, const struct err *err)
{
    struct api_error e = api_error_of(q->arena, err, (struct status_subject){0});

    answer_tree(q, e.code, json_new(q->arena, status_json(q->arena, &e)));
}
