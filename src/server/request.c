/* request.c - a request's life, and which verb it goes to */
#include "server/write_priv.h"

#include "server/watch_priv.h"

#define REQUEST_ARENA ((size_t)32 << 10)      /* bytes of its first block */
#define REQUEST_ARENA_MAX ((size_t)128 << 10) /* of one that is used again */

static const struct {
    const char *name;
    void (*run)(struct request *r);
} verbs[VERB_N] = {
    [VERB_GET] = {"get",              verb_get             },
    [VERB_LIST] = {"list",             verb_list            },
    [VERB_WATCH] = {"watch",            verb_watch           },
    [VERB_CREATE] = {"create",           verb_create          },
    [VERB_UPDATE] = {"update",           verb_update          },
    [VERB_PATCH] = {"patch",            verb_patch           },
    [VERB_DELETE] = {"delete",           verb_delete          },
    [VERB_DELETECOLLECTION] = {"deletecollection", verb_deletecollection},
};

struct str verb_name(enum verb v)
{
    return str_from(verbs[v].name);
}

struct request *request_new(struct server *s, const struct reply *reply)
{
    struct request *r;
    struct arena arena;

    if (s->n_spare) {
        r = s->spare[--s->n_spare];
        arena = r->own_arena;
    } else {
        r = mem_alloc(sizeof(*r));
        arena = arena_sized(REQUEST_ARENA);
    }
    *r = (struct request){.server = s, .reply = reply, .own_arena = arena};
    r->arena = &r->own_arena;
    s->n_requests++;
    return r;
}

/* Requests and their arenas are used again, unless a large one made them large. */
static void request_keep(struct server *s, struct request *r)
{
    arena_reset(&r->own_arena);
    if (s->n_spare < SERVER_SPARE_REQUESTS && r->own_arena.total <= REQUEST_ARENA_MAX) {
        s->spare[s->n_spare++] = r;
        return;
    }
    arena_fini(&r->own_arena);
    free(r);
}

void request_fini(struct request *r)
{
    object_unref(r->current);
    object_unref(r->next);
    r->server->n_requests--;
    if (r->counted)
        --*r->counted;
    request_keep(r->server, r);
}

/* ---- nobody listens ---- */

static void mute_object(struct request *r, int code, struct object *o)
{
    (void)r, (void)code, (void)o;
}
static void mute_tree(struct request *r, int code, const struct json *tree)
{
    (void)r, (void)code, (void)tree;
}
static void mute_fail(struct request *r, const struct json *status, const struct err *err)
{
    (void)r, (void)status, (void)err;
}
static void mute_list(struct request *r, const struct list_result *l)
{
    (void)r, (void)l;
}
static const struct reply mute = {
    .object = mute_object, .tree = mute_tree, .fail = mute_fail, .list = mute_list};

void request_abandon(struct request *r)
{
    r->reply = &mute;
    if (r->is_lent)
        r->body = NULL;
}

const struct json *body_named(struct arena *a, const struct json *body, const struct kind *k)
{
    struct json_obj o = obj_in(a);

    if (json_str(json_getz(body, "kind")).len && json_str(json_getz(body, "apiVersion")).len)
        return body;
    obj_setz(&o, "apiVersion", json_of_str(k->api_version));
    obj_setz(&o, "kind", json_of_str(k->kind));
    json_each_member (m, body) {
        if (!str_eqz(m->name, "apiVersion") && !str_eqz(m->name, "kind"))
            obj_add(&o, m->name, m->value);
    }
    return json_new(a, obj_done(&o));
}

void request_begin(struct request *r)
{
    if (authorize(r) < 0) {
        request_fini(r);
        return;
    }
    request_run(r);
}

void request_warn(struct request *r, const char *format, ...)
{
    va_list args;
    char text[1024];

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    vec_each (i, &r->warnings) {
        if (str_eqz(r->warnings.at[i], text))
            return;
    }
    vec_push_in(r->arena, &r->warnings, str_copy(r->arena, str_from(text)));
}

/* ---- subresources ---- */

static const struct {
    const char *name;
    enum verb verb;
    void (*run)(struct request *r);
} subresources[] = {
    {"status",   VERB_GET,    verb_get       },
    {"status",   VERB_UPDATE, verb_update    },
    {"status",   VERB_PATCH,  verb_patch     },
    {"scale",    VERB_GET,    scale_get      },
    {"scale",    VERB_UPDATE, scale_update   },
    {"scale",    VERB_PATCH,  scale_patch    },
    {"binding",  VERB_CREATE, binding_create },
    {"eviction", VERB_CREATE, eviction_create},
    {"finalize", VERB_UPDATE, finalize_update},
    {"token",    VERB_CREATE, token_create   },
};

static bool has_subresource(const struct kind *k, struct str name)
{
    if (str_eqz(name, "status"))
        return k->status;
    if (str_eqz(name, "scale"))
        return k->scale != NULL;
    for (size_t i = 0; i < k->n_subresources; i++) {
        if (str_eq(k->subresources[i].name, name))
            return true;
    }
    return false;
}

static bool has_verb(const struct kind *k, enum verb v)
{
    for (size_t i = 0; i < k->n_verbs; i++) {
        if (str_eq(k->verbs[i], verb_name(v)))
            return true;
    }
    return k->n_verbs == 0;
}

static void run_subresource(struct request *r)
{
    if (has_subresource(r->kind, r->subresource)) {
        for (size_t i = 0; i < countof(subresources); i++) {
            if (str_eqz(r->subresource, subresources[i].name) &&
                subresources[i].verb == r->verb) {
                subresources[i].run(r);
                return;
            }
        }
        fail_method(r);
    } else {
        r->name = str_of(NULL, 0);
        fail_not_found(r);
    }
    request_fini(r);
}

void request_run(struct request *r)
{
    if (r->subresource.len) {
        run_subresource(r);
        return;
    }
    if (!has_verb(r->kind, r->verb)) {
        fail_method(r);
        request_fini(r);
        return;
    }
    if (!r->kind->stored) {
        review_create(r);
        return;
    }
    verbs[r->verb].run(r);
}
