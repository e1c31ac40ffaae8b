/* server.c - the server's own life */
#include "server/watch_priv.h"
#include "server/write_priv.h"

#include "api/kinds.h"
#include "client/client.h"
#include "io/io.h"

static const struct str berth_groups[] = {S_INIT("system:masters"),
                                          S_INIT("system:authenticated")};
const struct server_user server_berth = {
    .name = S_INIT("system:berth"), .groups = berth_groups, .n_groups = countof(berth_groups)};

static void tick(void *ctx)
{
    struct server *s = ctx;

    watches_tick_all(s);
    if (!list_empty(&s->watches))
        io_timer_set(s->ticker, WATCH_TICK);
}

void server_tick_soon(struct server *s)
{
    if (!io_timer_is_set(s->ticker))
        io_timer_set(s->ticker, WATCH_TICK);
}

static struct server *server_alloc(struct io *io, const struct server_config *config)
{
    struct server *s = mem_zero(1, sizeof(*s));

    s->io = io;
    s->config = *config;
    s->names = arena_sized(16 << 10);
    s->users = arena_sized(1 << 10);
    s->scratch = arena_sized(SERVER_SCRATCH);
    s->sets = sets_new();
    s->steps = steps_new();
    arena_raw(&s->scratch, 1, 1);
    list_init(&s->watches);
    list_init(&s->clients);
    s->ticker = io_timer_new(io, tick, s);
    if (config->kinds) {
        for (size_t i = 0; i < config->n_kinds; i++)
            kinds_add(s, config->kinds[i]);
    } else {
        for (size_t i = 0; i < KIND_COUNT; i++)
            kinds_add(s, kinds[i]);
    }
    return s;
}

struct server *server_new(struct io *io, const struct server_config *config)
{
    struct server *s = server_alloc(io, config);

    s->store = store_memory_new(io, config->commit);
    s->owns_store = true;
    s->first_revision = store_revision(s->store);
    authz_start(s);
    return s;
}

struct server *server_open(struct io *io, const char *dir, const struct server_config *config,
                           struct err *err)
{
    if (admit_check_names(config->disabled_admission, err) < 0)
        return NULL;
    struct server *s = server_alloc(io, config);

    s->store = store_sqlite_open(io, dir, kind_find_storage, s, err);
    s->owns_store = true;
    if (!s->store) {
        server_free(s);
        return NULL;
    }
    s->first_revision = store_revision(s->store);
    authz_start(s);
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    client_free(s->own);
    homes_free(s);
    known_accounts_free(s);
    assert(list_empty(&s->clients));
    watches_end_all(s);
    events_stop(s);
    authz_stop(s);
    if (s->store)
        store_tap(s->store, NULL, NULL);
    if (s->owns_store)
        store_free(s->store);
    io_timer_free(s->ticker);
    discovery_forget(s);
    while (s->n_spare) {
        struct request *r = s->spare[--s->n_spare];
        arena_fini(&r->own_arena);
        free(r);
    }
    shapes_fini(&s->shapes);
    sets_free(s->sets);
    steps_free(s->steps);
    arena_fini(&s->scratch);
    map_fini(&s->kind_by_plural);
    map_fini(&s->kind_by_name);
    vec_fini(&s->kinds);
    vec_fini(&s->mounts);
    alike_free(s);
    arena_fini(&s->users);
    arena_fini(&s->names);
    free(s);
}

void server_mount(struct server *s, const struct server_mount *m)
{
    vec_push(&s->mounts, *m);
}

static void tapped(void *ctx, const struct store_event *e)
{
    static const char *const verbs[] = {"ADDED", "MODIFIED", "DELETED"};
    struct server *s = ctx;

    s->tap(s->tap_ctx, verbs[e->verb], e->revision, e->now);
}

void server_tap(struct server *s, server_tap_fn *tap, void *ctx)
{
    s->tap = tap;
    s->tap_ctx = ctx;
    store_tap(s->store, tap ? tapped : NULL, s);
}

int server_backup(const char *dir, const char *file, struct err *err)
{
    return store_backup(dir, file, err);
}

int server_fsck(const char *dir, void (*problem)(void *ctx, struct str sentence), void *ctx,
                struct err *err)
{
    return store_fsck(dir, problem, ctx, err);
}

void server_metrics(const struct server *s, struct buf *out)
{
    struct store_counts c = store_counts(s->store);

    buf_printf(out,
               "# HELP berth_store_writes_total Versions of objects written since the start.\n"
               "# TYPE berth_store_writes_total counter\n"
               "berth_store_writes_total %" PRIu64 "\n"
               "# HELP berth_store_commits_total Commits of the log that carried them.\n"
               "# TYPE berth_store_commits_total counter\n"
               "berth_store_commits_total %" PRIu64 "\n",
               c.writes, c.commits);
}
