/* openapi.c - /openapi/v3: an index, and a document for each group and version; /openapi/v2
 *
 * Documents are made when first asked for and kept as text: their hash is in the index, and
 * clients keep what they read under that hash for good.
 */
#include "server/discovery_priv.h"
#include "server/front_priv.h"

#include "http/http.h"
#include "schema/openapi.h"

struct document {
    struct str path; /* "apis/batch/v1" */
    char *text;
    size_t len;
    char hash[20];
};

struct discovery {
    VEC(struct document) documents;
    struct arena arena; /* of the paths */
};

void discovery_forget(struct server *s)
{
    struct discovery *d = s->discovery;

    if (!d)
        return;
    vec_each (i, &d->documents)
        free(d->documents.at[i].text);
    vec_fini(&d->documents);
    arena_fini(&d->arena);
    free(d);
    s->discovery = NULL;
}

static struct document make(struct server *s, struct discovery *d, struct str group,
                            struct str version)
{
    scoped(arena_fini) struct arena a = {0};
    VEC(const struct kind *) all = {0};
    struct buf out = {0};
    struct document doc = {0};

    doc.path = group.len
                   ? str_printf(&d->arena, "apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version))
                   : str_printf(&d->arena, "api/%.*s", STR_ARG(version));
    vec_each (i, &s->kinds) {
        if (str_eq(s->kinds.at[i]->group, group) && str_eq(s->kinds.at[i]->version, version))
            vec_push_in(&a, &all, s->kinds.at[i]);
    }
    json_write(&out, openapi_document(&a, all.at, all.len, S("Berth")));
    doc.text = mem_grow(out.at, out.len);
    doc.len = out.len;
    snprintf(doc.hash, sizeof(doc.hash), "%016" PRIX64, str_digest(str_of(doc.text, doc.len)));
    return doc;
}

static struct discovery *documents(struct server *s)
{
    scoped(arena_fini) struct arena a = {0};
    struct str *groups, *versions;

    if (s->discovery)
        return s->discovery;
    struct discovery *d = mem_zero(1, sizeof(*d));
    size_t n = groups_of(s, &a, &groups);
    for (size_t i = 0; i < n; i++) {
        size_t n_versions = versions_of(s, &a, groups[i], &versions);
        for (size_t j = 0; j < n_versions; j++)
            vec_push(&d->documents, make(s, d, groups[i], versions[j]));
    }
    s->discovery = d;
    return d;
}

static void answer_index(struct server *s, struct http_request *q)
{
    struct arena *a = q->arena;
    struct discovery *d = documents(s);
    struct json_obj o = obj_in(a), paths = obj_in(a);

    vec_each (i, &d->documents) {
        const struct document *doc = &d->documents.at[i];
        struct json_obj one = obj_in(a);
        obj_setz(&one, "serverRelativeURL",
                 json_of_str(
                     str_printf(a, "/openapi/v3/%.*s?hash=%s", STR_ARG(doc->path), doc->hash)));
        obj_set(&paths, doc->path, obj_done(&one));
    }
    obj_setz(&o, "paths", obj_done(&paths));
    answer_cached(q, S("application/json"), json_new(a, obj_done(&o)));
}

static void answer_document(struct http_request *q, const struct document *doc)
{
    struct str hash = server_query(q, S("hash"));
    struct str tag = str_printf(q->arena, "\"%s\"", doc->hash);

    if (hash.len && !str_eqz(hash, doc->hash)) {
        struct http_header to = {S("location"), str_printf(q->arena, "/openapi/v3/%.*s?hash=%s",
                                                           STR_ARG(doc->path), doc->hash)};
        http_respond(q, 301, &to, 1, S(""));
        return;
    }
    const struct http_header headers[] = {
        {S("content-type"),  S("application/json")                                     },
        {S("etag"),          tag                                                       },
        {S("vary"),          S("Accept")                                               },
        {S("cache-control"), hash.len ? S("public, immutable") : S("no-cache, private")},
        {S("expires"),       S("Fri, 31 Dec 2100 23:59:59 GMT")                        }
    };
    size_t n = hash.len ? countof(headers) : countof(headers) - 1;
    if (str_eq(http_header(q, S("if-none-match")), tag)) {
        http_respond(q, 304, headers, n, S(""));
        return;
    }
    http_respond(q, 200, headers, n, str_of(doc->text, doc->len));
}

/* kubectl takes version 2 only as protobuf; an empty document is one, and enough. */
static void answer_v2(struct http_request *q)
{
    static const struct http_header headers[] = {
        {S_INIT("content-type"),
         S_INIT("application/com.github.proto-openapi.spec.v2.v1.0+protobuf")}
    };
    struct str accept = http_header(q, S("accept"));

    if (str_has(accept, S("proto-openapi.spec.v2"))) {
        http_respond(q, 200, headers, countof(headers), S(""));
        return;
    }
    struct arena *a = q->arena;
    struct json_obj o = obj_in(a), info = obj_in(a), none = obj_in(a);
    obj_setz(&info, "title", json_of_z("Berth"));
    obj_setz(&info, "version", json_of_z("v1"));
    obj_setz(&o, "swagger", json_of_z("2.0"));
    obj_setz(&o, "info", obj_done(&info));
    obj_setz(&o, "paths", obj_done(&none));
    answer_cached(q, S("application/json"), json_new(a, obj_done(&o)));
}

bool openapi_answer(struct server *s, struct http_request *q)
{
    static const struct str base = S_INIT("/openapi/v3/");

    if (str_eqz(q->path, "/openapi/v2")) {
        answer_v2(q);
        return true;
    }
    if (str_eqz(q->path, "/openapi/v3") || str_eq(q->path, base)) {
        answer_index(s, q);
        return true;
    }
    if (!str_starts(q->path, base))
        return false;
    struct discovery *d = documents(s);
    vec_each (i, &d->documents) {
        if (str_eq(str_slice(q->path, base.len, q->path.len), d->documents.at[i].path)) {
            answer_document(q, &d->documents.at[i]);
            return true;
        }
    }
    return false;
}
