/* fake.h - a client whose answers the test gives, one at a time
 *
 * Objects are ConfigMaps of namespace "n"; what is asked is written down as words.
 */
#pragma once

#include "api/kinds.h"
#include "base/testing.h"
#include "control/control.h"
#include "io/io.h"
#include "object/object.h"

#define FAKE_MAX 64

struct fake_call {
    client_done_fn *done;
    void *ctx;
};

struct fake {
    struct client client; /* first */
    struct io *io;
    struct arena arena;
    struct buf log; /* "create n/a" ... */
    struct fake_call calls[FAKE_MAX];
    size_t n_calls, n_answered;
    /* the one list or watch that is open */
    client_list_fn *listed;
    void *list_ctx;
    client_watch_fn *event;
    void *watch_ctx;
    struct client_watch watch;
    struct client_load load;
};

static inline void fake_note(struct fake *f, const char *verb, const struct client_target *t,
                             client_done_fn *done, void *ctx)
{
    assert(f->n_calls < FAKE_MAX);
    buf_printf(&f->log, "%s %.*s/%.*s ", verb, STR_ARG(t->ns), STR_ARG(t->name));
    f->calls[f->n_calls++] = (struct fake_call){done, ctx};
}

static inline void fake_get(struct client *c, const struct client_target *t, client_done_fn *fn,
                            void *ctx)
{
    fake_note((struct fake *)c, "get", t, fn, ctx);
}
static inline void fake_create(struct client *c, const struct client_target *t,
                               const struct json *body, client_done_fn *fn, void *ctx)
{
    struct client_target named = *t;

    named.name = json_str(json_path(body, "metadata", "name", NULL));
    fake_note((struct fake *)c, "create", &named, fn, ctx);
}
static inline void fake_update(struct client *c, const struct client_target *t,
                               const struct json *body, client_done_fn *fn, void *ctx)
{
    (void)body;
    fake_note((struct fake *)c, "update", t, fn, ctx);
}
static inline void fake_patch(struct client *c, const struct client_target *t,
                              enum client_patch type, const struct json *body,
                              const struct client_patch_options *o, client_done_fn *fn,
                              void *ctx)
{
    (void)type, (void)body, (void)o;
    fake_note((struct fake *)c, "patch", t, fn, ctx);
}
static inline void fake_remove(struct client *c, const struct client_target *t,
                               const struct client_delete_options *o, client_done_fn *fn,
                               void *ctx)
{
    (void)o;
    fake_note((struct fake *)c, "delete", t, fn, ctx);
}
static inline void fake_list(struct client *c, const struct client_target *t,
                             const struct client_select *sel, client_list_fn *fn, void *ctx)
{
    struct fake *f = (struct fake *)c;

    (void)t;
    buf_printf(&f->log, "list@%" PRId64 " ", io_uptime(f->io).ns / (SECOND_NS / 1000));
    if (sel && sel->fields.len)
        buf_printf(&f->log, "fields=%.*s ", STR_ARG(sel->fields));
    f->listed = fn;
    f->list_ctx = ctx;
}
static inline struct client_watch *fake_watch(struct client *c, const struct client_target *t,
                                              const struct client_select *sel,
                                              uint64_t revision, client_watch_fn *fn, void *ctx)
{
    struct fake *f = (struct fake *)c;

    (void)t, (void)sel;
    buf_printf(&f->log, "watch>%" PRIu64 " ", revision);
    f->event = fn;
    f->watch_ctx = ctx;
    return &f->watch;
}
static inline void fake_watch_stop(struct client_watch *w)
{
    struct fake *f = container_of(w, struct fake, watch);

    f->event = NULL;
}
static inline void fake_free(struct client *c)
{
    (void)c;
}

static inline struct client_load fake_load(struct client *c)
{
    return ((struct fake *)c)->load;
}

static const struct client_ops fake_ops = {
    fake_get,  fake_create, fake_update,     fake_patch, fake_remove,
    fake_list, fake_watch,  fake_watch_stop, fake_load,  fake_free};

static inline void fake_init(struct fake *f)
{
    *f = (struct fake){.client = {&fake_ops}, .arena = arena_sized(64 << 10)};
    f->io = io_sim_new(1, (struct instant){SECOND_NS});
}
static inline void fake_fini(struct fake *f)
{
    buf_fini(&f->log);
    io_free(f->io);
    arena_fini(&f->arena);
}

static inline void fake_run(struct fake *f, int ms)
{
    io_run_until(f->io, instant_add(io_now(f->io), span_ms(ms)));
}

/* What was asked since the last look. */
static inline void fake_check(struct fake *f, const char *want)
{
    check_samez(str_trim(buf_str(&f->log)), want);
    buf_clear(&f->log);
}

/* A ConfigMap; `more` is further metadata, such as ",\"labels\":{...}". */
static inline struct object *fake_object(struct fake *f, const char *name, uint64_t revision,
                                         const char *more)
{
    struct str text = str_printf(
        &f->arena, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"uid-%s\"%s}}",
        name, name, more ? more : "");
    struct object *o = object_new(&kind_config_map, json_parse(&f->arena, text, NULL, NULL));

    object_set_revision(o, revision);
    return o;
}

/* The list that is open is answered: objects "a:5 b:6" (name and revision). */
static inline void fake_listed(struct fake *f, uint64_t revision, const char *objects)
{
    struct object *items[FAKE_MAX];
    struct str left = str_from(objects), word, name, number;
    struct client_list_answer answer = {.items = items, .revision = revision};
    client_list_fn *fn = f->listed;

    while (left.len) {
        int64_t at = 0;
        str_cut(left, ' ', &word, &left);
        str_cut(word, ':', &name, &number);
        check(str_to_i64(number, &at));
        items[answer.n_items++] = fake_object(f, str_z(&f->arena, name), (uint64_t)at, NULL);
    }
    f->listed = NULL;
    fn(f->list_ctx, &answer);
    for (size_t i = 0; i < answer.n_items; i++)
        object_unref(items[i]);
}
static inline void fake_list_fails(struct fake *f)
{
    struct err err = {0};
    struct client_list_answer answer = {.err = &err};

    err_set(&err, ERR_UNAVAILABLE, "nobody is there");
    f->listed(f->list_ctx, &answer);
}

/* One event of the watch that is open; takes the object over. */
static inline void fake_event(struct fake *f, enum watch_event_type type, uint64_t revision,
                              struct object *o)
{
    struct err err = {0};
    struct watch_event e = {.type = type, .object = o, .revision = revision};

    if (type == WATCH_ERROR) {
        err_set(&err, ERR_GONE, "too old");
        e.err = &err;
    }
    f->event(f->watch_ctx, &e);
    object_unref(o);
}

/* The oldest call that is not answered; takes the object over, which may be NULL. */
static inline void fake_answer(struct fake *f, enum err_code code, struct object *o)
{
    struct err err = {0};
    struct client_answer answer = {.code = code == ERR_OK ? 200 : 409, .object = o};

    assert(f->n_answered < f->n_calls);
    if (code != ERR_OK) {
        err_set(&err, code, "refused");
        answer.err = &err;
    }
    struct fake_call call = f->calls[f->n_answered++];
    call.done(call.ctx, &answer);
    object_unref(o);
}
