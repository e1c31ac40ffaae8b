/* sqlite.c - the backend that outlives us: DIR/berth.db
 *
 * The writer's thread has one connection and commits; the loop has another and reads values by
 * row. Both see a file in WAL mode with synchronous=FULL: what was committed is on the disk.
 */
#include "store/sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/io.h"

/* So long the loop may stand still for a commit that comes alone. */
#define COMMIT_QUICK span_ms(1)

/* Of a turn that makes many puts, so many go to the writer while it makes the next ones: the
 * disk works meanwhile, and who waits for the first goes on. It costs a commit, that another
 * one would have done: it is for who comes after a while, not for steady load. */
#define EARLY_PUTS 16
#define EARLY_EVERY span_ms(20)
#define EARLY_MOST 16 /* after a while */

struct sqlite_store {
    struct store store;
    struct object_home home;
    sqlite3 *reader;
    sqlite3_stmt *read_value, *begin, *commit;
    bool is_reading; /* values of this turn are read in one transaction */
    struct writer *writer;
    int lock;
    uint32_t epoch;      /* writes of older ones fail */
    uint32_t n_kinds;    /* the highest id given in table kind */
    struct write *batch; /* not sent yet, in order */
    struct write **batch_end;
    size_t n_batch;
    bool is_sending; /* the batch goes to the writer on a later turn */
    int64_t early;   /* uptime, in nanoseconds, up to which early ones are accounted for */
    bool is_failing; /* the last commit failed */
};

int sqlite_fail(struct err *err, sqlite3 *db, const char *doing)
{
    int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;

    switch (code & 0xff) {
    case SQLITE_FULL:
        return err_set(err, ERR_IO, "%s: the disk is full", doing);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return err_set(err, ERR_IO, "%s: the data directory cannot be written", doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_EXISTS, "%s: another process is using the store", doing);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return err_set(err, ERR_IO, "%s: the store is damaged (%s); see `berth fsck`", doing,
                       sqlite3_errmsg(db));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (sqlite3_system_errno(db))
            return err_set(err, ERR_IO, "%s: %s", doing, strerror(sqlite3_system_errno(db)));
        return err_set(err, ERR_IO, "%s: %s", doing, sqlite3_errmsg(db));
    default:
        return err_set(err, ERR_IO, "%s: %s", doing, db ? sqlite3_errmsg(db) : "no memory");
    }
}

int sqlite_exec(sqlite3 *db, const char *sql, const char *doing, struct err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_fail(err, db, doing);
    return 0;
}

sqlite3_stmt *sqlite_prepare(sqlite3 *db, const char *sql, struct err *err)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        sqlite_fail(err, db, "cannot read the store");
    return stmt;
}

sqlite3 *sqlite_open(const char *dir, int flags, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    const char *path = str_z(&a, str_printf(&a, "%s/%s", dir, STORE_FILE));
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, gather_files()) != SQLITE_OK) {
        scoped(arena_fini) struct arena b = {0};
        sqlite_fail(err, db, str_z(&b, str_printf(&b, "cannot open store '%s'", path)));
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, 5000); /* a backup or fsck beside us */
    return db;
}

static int64_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t v = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        v = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return v;
}

int sqlite_check_format(sqlite3 *db, const char *dir, struct err *err)
{
    int64_t format = pragma(db, "PRAGMA user_version");
    int64_t application = pragma(db, "PRAGMA application_id");

    if (format < 0 || application < 0)
        return sqlite_fail(err, db, "cannot read the store");
    if (format == 0 && application == 0)
        return 0;
    if (application != STORE_APPLICATION)
        return err_set(err, ERR_UNSUPPORTED, "'%s/%s' is not a store of berth", dir,
                       STORE_FILE);
    if (format > STORE_FORMAT)
        return err_set(err, ERR_UNSUPPORTED,
                       "the store in '%s' has format %d, written by a newer berth; this one "
                       "reads up to %d",
                       dir, (int)format, STORE_FORMAT);
    return 0;
}

static int make_tables(sqlite3 *db, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    struct str sql = str_printf(
        &a,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-1024;"
        "PRAGMA journal_size_limit=%lld; PRAGMA temp_store=MEMORY; BEGIN IMMEDIATE;"
        "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
        "CREATE TABLE IF NOT EXISTS head(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
        " path TEXT NOT NULL, uid TEXT NOT NULL, rev INTEGER NOT NULL, digest INTEGER NOT "
        "NULL);"
        "CREATE TABLE IF NOT EXISTS body(id INTEGER PRIMARY KEY, value BLOB NOT NULL);"
        "INSERT OR IGNORE INTO meta VALUES('revision', 0);"
        "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;",
        2LL * STORE_LOG_ROOM, STORE_APPLICATION, STORE_FORMAT);

    return sqlite_exec(db, str_z(&a, sql), "cannot prepare the store", err);
}

/* ---- reading by row ---- */

static void read_end(void *ctx)
{
    struct sqlite_store *q = ctx;

    sqlite3_step(q->commit);
    sqlite3_reset(q->commit);
    q->is_reading = false;
}

/* One transaction for all values of a turn: each by itself would lock the file and look for the
 * newest state of the log again. It ends before anything newer than it is made visible. */
static void read_begin(struct sqlite_store *q)
{
    if (q->is_reading)
        return;
    sqlite3_step(q->begin);
    sqlite3_reset(q->begin);
    q->is_reading = true;
    io_later(q->store.io, read_end, q);
}

static struct str read_value(struct object_home *h, const struct object *o, struct arena *a)
{
    struct sqlite_store *q = container_of(h, struct sqlite_store, home);
    struct str value = {0};

    read_begin(q);
    sqlite3_bind_int64(q->read_value, 1, (int64_t)object_row(o));
    if (sqlite3_step(q->read_value) != SQLITE_ROW)
        die("cannot read '%.*s' from the store: %s; see `berth fsck`", STR_ARG(object_path(o)),
            sqlite3_errmsg(q->reader));
    value.at = sqlite3_column_blob(q->read_value, 0);
    value.len = (size_t)sqlite3_column_bytes(q->read_value, 0);
    value = str_copy(a, value);
    sqlite3_reset(q->read_value);
    return value;
}

static void value_loaded(struct object_home *h, const struct object *o)
{
    struct sqlite_store *q = container_of(h, struct sqlite_store, home);

    store_warmed(&q->store, (struct object *)(uintptr_t)o);
    store_cool(&q->store);
}

static bool value_has_room(struct object_home *h, size_t n)
{
    const struct store *s = &container_of(h, struct sqlite_store, home)->store;

    return s->warm_bytes + n <= s->warm_limit;
}

/* ---- writing ---- */

static void written(void *ctx);

static struct write *take_batch(struct sqlite_store *q)
{
    struct write *first = q->batch;

    q->batch = NULL;
    q->batch_end = &q->batch;
    q->n_batch = 0;
    return first;
}

static bool may_send_early(struct sqlite_store *q)
{
    int64_t now = io_uptime_now(q->store.io).ns;

    q->early = MAX(q->early, now - EARLY_MOST * EARLY_EVERY.ns);
    if (q->early + EARLY_EVERY.ns > now)
        return false;
    q->early += EARLY_EVERY.ns;
    return true;
}

static void send_batch(void *ctx)
{
    struct sqlite_store *q = ctx;
    struct write *first = take_batch(q);

    q->is_sending = false;
    if (first && writer_commit(q->writer, first))
        io_later(q->store.io, written, q);
    else if (first)
        writer_send(q->writer, first);
}

/* Puts share a commit with what comes until nothing else is ready, but for EARLY_PUTS of them.
 */
static void send(struct store *s, struct op *op)
{
    struct sqlite_store *q = container_of(s, struct sqlite_store, store);
    struct write *w = mem_zero(1, sizeof(*w));

    struct rack *r = op->rack;
    if (!r->number)
        r->number = ++q->n_kinds;
    w->op = op;
    w->kind = r->number;
    if (!r->is_on_disk)
        w->kind_name = r->name;
    w->row = op->row;
    w->revision = object_revision(op->next);
    w->path = object_path(op->next);
    w->uid = object_uid(op->next);
    w->value = op->is_delete ? str_of(NULL, 0) : object_rest(op->next);
    w->is_delete = op->is_delete;
    w->epoch = q->epoch;
    *q->batch_end = w;
    q->batch_end = &w->next;
    if (++q->n_batch % EARLY_PUTS == 0 && may_send_early(q)) {
        writer_send(q->writer, take_batch(q));
        return;
    }
    if (!q->is_sending)
        io_rest(s->io, send_batch, q);
    q->is_sending = true;
}

/* What was queued behind a failed put was judged against versions that will never be: it goes
 * to the writer all the same, which refuses it in order. New puts are judged afresh. */
static void fail_epoch(struct sqlite_store *q, const struct err *err)
{
    /* Said once, not for every write that is refused meanwhile. */
    if (!q->is_failing)
        log_error("store cannot write", "reason=\"%s\"", err->text);
    q->is_failing = true;
    send_batch(q);
    q->epoch++;
    store_forget_flights(&q->store);
}

static void written(void *ctx)
{
    struct sqlite_store *q = ctx;
    struct err err = {0};
    struct write *failed = NULL, *next;

    if (q->is_reading) {
        io_later_cancel(q->store.io, read_end, q);
        read_end(q);
    }
    for (struct write *w = writer_take(q->writer, &failed, &err); w; w = next) {
        next = w->next;
        if (q->is_failing)
            log_warn("store writes again", "revision=%" PRIu64, w->revision);
        q->is_failing = false;
        w->op->is_ready = true;
        w->op->rack->is_on_disk = true;
        q->store.commits += w->ends_commit;
        free(w);
    }
    if (failed && failed->epoch == q->epoch)
        fail_epoch(q, &err);
    for (; failed; failed = next) {
        next = failed->next;
        failed->op->is_ready = true;
        failed->op->err = err;
        free(failed);
    }
    store_ready(&q->store);
}

/* ---- opening ---- */

static struct rack *rack_numbered(struct sqlite_store *q, int64_t number)
{
    vec_each (i, &q->store.racks) {
        if (q->store.racks.at[i]->number == number)
            return q->store.racks.at[i];
    }
    return NULL;
}

static int load_kinds(struct sqlite_store *q, store_kind_fn *find, void *ctx, struct err *err)
{
    sqlite3_stmt *stmt = sqlite_prepare(q->reader, "SELECT id, name FROM kind", err);
    int rc;

    if (!stmt)
        return -1;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct str name = {(const char *)sqlite3_column_text(stmt, 1),
                           (size_t)sqlite3_column_bytes(stmt, 1)};
        struct rack *r = store_rack_named(&q->store, name);
        r->number = (uint32_t)sqlite3_column_int64(stmt, 0);
        r->is_on_disk = true;
        r->kind = find ? find(ctx, name) : NULL;
        q->n_kinds = MAX(q->n_kinds, r->number);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : sqlite_fail(err, q->reader, "cannot read the store");
}

static struct str column_str(sqlite3_stmt *stmt, int i)
{
    return str_of((const char *)sqlite3_column_text(stmt, i),
                  (size_t)sqlite3_column_bytes(stmt, i));
}

static int load_heads(struct sqlite_store *q, struct err *err)
{
    struct store *s = &q->store;
    struct rack *r = NULL;
    sqlite3_stmt *stmt =
        sqlite_prepare(q->reader, "SELECT id, kind, path, uid, rev FROM head", err);
    int rc;

    if (!stmt)
        return -1;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t row = (uint64_t)sqlite3_column_int64(stmt, 0);
        int64_t number = sqlite3_column_int64(stmt, 1);
        if (!r || r->number != number)
            r = rack_numbered(q, number);
        if (!r) {
            sqlite3_finalize(stmt);
            return err_set(err, ERR_IO, "the store is damaged: an object has no kind");
        }
        store_load(s, r,
                   object_at_home(r->kind, column_str(stmt, 2), column_str(stmt, 3),
                                  (uint64_t)sqlite3_column_int64(stmt, 4), &q->home, row));
        s->next_row = MAX(s->next_row, row + 1);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : sqlite_fail(err, q->reader, "cannot read the store");
}

static int load(struct sqlite_store *q, store_kind_fn *find, void *ctx, struct err *err)
{
    if (load_kinds(q, find, ctx, err) < 0 || load_heads(q, err) < 0)
        return -1;
    int64_t newest = pragma(q->reader, "SELECT value FROM meta WHERE name='revision'");
    if (newest > 0)
        q->store.revision = MAX(q->store.revision, (uint64_t)newest);
    q->store.issued = q->store.start = q->store.revision;
    vec_each (i, &q->store.racks)
        q->store.racks.at[i]->gone = q->store.revision;
    q->read_value = sqlite_prepare(q->reader, "SELECT value FROM body WHERE id=?", err);
    q->begin = sqlite_prepare(q->reader, "BEGIN", err);
    q->commit = sqlite_prepare(q->reader, "COMMIT", err);
    return q->read_value && q->begin && q->commit ? 0 : -1;
}

static int lock_dir(struct sqlite_store *q, const char *dir, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    const char *path = str_z(&a, str_printf(&a, "%s/%s", dir, STORE_LOCK));

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make data directory '%s': %s", dir,
                       strerror(errno));
    q->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (q->lock < 0)
        return err_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (flock(q->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_EXISTS,
                       "data directory '%s' is already in use by another berth", dir);
    return 0;
}

static void sqlite_free(struct store *s)
{
    struct sqlite_store *q = container_of(s, struct sqlite_store, store);

    io_later_cancel(s->io, send_batch, q);
    io_later_cancel(s->io, read_end, q);
    sqlite3_finalize(q->read_value);
    sqlite3_finalize(q->begin);
    sqlite3_finalize(q->commit);
    sqlite3_close(q->reader); /* first: it may not write, and the last to close tidies up */
    if (q->writer) {
        send_batch(q);
        io_later_cancel(s->io, written, q);
        writer_free(q->writer);
    }
    store_fini(s);
    close_fd(&q->lock);
    free(q);
}

static const struct store_backend sqlite = {.send = send, .free = sqlite_free};

static int open_all(struct sqlite_store *q, const char *dir, store_kind_fn *find, void *ctx,
                    struct err *err)
{
    if (lock_dir(q, dir, err) < 0)
        return -1;
    sqlite3 *db = sqlite_open(dir, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!db)
        return -1;
    if (sqlite_check_format(db, dir, err) < 0 || make_tables(db, err) < 0) {
        sqlite3_close(db);
        return -1;
    }
    q->writer = writer_new(q->store.io, db, COMMIT_QUICK, written, q, err);
    if (!q->writer)
        return -1;
    q->reader = sqlite_open(dir, SQLITE_OPEN_READONLY, err);
    if (!q->reader || sqlite_exec(q->reader, "PRAGMA cache_size=-512", "cannot open", err) < 0)
        return -1;
    return load(q, find, ctx, err);
}

struct store *store_sqlite_open(struct io *io, const char *dir, store_kind_fn *find, void *ctx,
                                struct err *err)
{
    struct sqlite_store *q = mem_zero(1, sizeof(*q));

    store_init(&q->store, io, &sqlite);
    q->lock = -1;
    q->home = (struct object_home){
        .read = read_value, .loaded = value_loaded, .has_room = value_has_room};
    q->store.home = &q->home;
    q->batch_end = &q->batch;
    if (open_all(q, dir, find, ctx, err) < 0) {
        sqlite_free(&q->store);
        return NULL;
    }
    return &q->store;
}
