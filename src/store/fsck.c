/* fsck.c - looking at a store's file, and copying it, without a server */
#include "store/sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/json.h"

static sqlite3 *open_existing(const char *dir, struct err *err)
{
    sqlite3 *db = sqlite_open(dir, SQLITE_OPEN_READONLY, err);

    if (db && sqlite_check_format(db, dir, err) < 0) {
        sqlite3_close(db);
        return NULL;
    }
    return db;
}

/* An empty file that only its owner reads: there are Secrets in the store. */
static int make_private(const char *file, struct err *err)
{
    scoped(close_fd) int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        return 0;
    if (errno == EEXIST)
        return err_set(err, ERR_EXISTS, "cannot write backup '%s': it exists already", file);
    return err_set(err, ERR_IO, "cannot write backup '%s': %s", file, strerror(errno));
}

/* In one step, which is one look at the store: in several, each write beside us would make it
 * begin anew. Nobody waits for a reader. */
static int copy_all(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    int rc = SQLITE_BUSY;

    while (backup && (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)) {
        rc = sqlite3_backup_step(backup, -1);
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
            sqlite3_sleep(20);
    }
    sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ? 0 : -1;
}

int store_backup(const char *dir, const char *file, struct err *err)
{
    sqlite3 *from = open_existing(dir, err), *to = NULL;

    if (!from || make_private(file, err) < 0) {
        sqlite3_close(from);
        return -1;
    }
    int rc = sqlite3_open(file, &to) == SQLITE_OK ? copy_all(from, to) : -1;
    if (rc < 0) {
        err_set(err, ERR_IO, "cannot write backup '%s': %s", file, sqlite3_errmsg(to));
        unlink(file);
    }
    sqlite3_close(to);
    sqlite3_close(from);
    return rc;
}

/* ---- fsck ---- */

struct fsck {
    sqlite3 *db;
    store_problem_fn *problem;
    void *ctx;
    int n;
    struct arena arena; /* of one row */
};

static void tell(struct fsck *f, struct str sentence)
{
    f->n++;
    f->problem(f->ctx, sentence);
}

static void check_file(struct fsck *f, struct err *err)
{
    sqlite3_stmt *stmt = sqlite_prepare(f->db, "PRAGMA integrity_check", err);

    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        struct str line = {(const char *)sqlite3_column_text(stmt, 0),
                           (size_t)sqlite3_column_bytes(stmt, 0)};
        if (!str_eqz(line, "ok"))
            tell(f, str_printf(&f->arena, "the file is damaged: %.*s", STR_ARG(line)));
    }
    sqlite3_finalize(stmt);
}

/* One row of head joined with kind and body; columns as in ROWS below. */
static void check_row(struct fsck *f, sqlite3_stmt *row)
{
    struct arena *a = &f->arena;
    struct str path = {(const char *)sqlite3_column_text(row, 1),
                       (size_t)sqlite3_column_bytes(row, 1)};
    struct str uid = {(const char *)sqlite3_column_text(row, 2),
                      (size_t)sqlite3_column_bytes(row, 2)};
    struct str kind = {(const char *)sqlite3_column_text(row, 4),
                       (size_t)sqlite3_column_bytes(row, 4)};
    struct str value = {sqlite3_column_blob(row, 5), (size_t)sqlite3_column_bytes(row, 5)};
    struct err err = {0};

    struct str who = str_printf(a, "%.*s '%.*s'", STR_ARG(kind), STR_ARG(path));
    if (sqlite3_column_type(row, 4) == SQLITE_NULL)
        tell(f, str_printf(a, "%.*s: its kind is not known to the store", STR_ARG(who)));
    if (sqlite3_column_type(row, 5) == SQLITE_NULL) {
        tell(f, str_printf(a, "%.*s: its value is missing", STR_ARG(who)));
        return;
    }
    uint64_t sum = (uint64_t)sqlite3_column_int64(row, 3);
    if (sum != str_sum(value) && sum != str_digest(value)) /* of format 2, or 1 */
        tell(f, str_printf(a, "%.*s: its value does not fit its digest", STR_ARG(who)));
    const struct json *tree = json_parse(a, value, NULL, &err);
    if (!tree) {
        tell(f, str_printf(a, "%.*s: its value cannot be read: %s", STR_ARG(who), err.text));
        return;
    }
    const struct json *metadata = json_getz(tree, "metadata");
    struct str ns = json_str(json_getz(metadata, "namespace"));
    struct str name = json_str(json_getz(metadata, "name"));
    struct str want = ns.len ? str_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)) : name;
    if (!str_eq(want, path) || !str_eq(json_str(json_getz(metadata, "uid")), uid))
        tell(f,
             str_printf(a, "%.*s: its value belongs to '%.*s'", STR_ARG(who), STR_ARG(want)));
}

static int check_rows(struct fsck *f, struct err *err)
{
    static const char ROWS[] = "SELECT head.id, path, uid, digest, kind.name, value FROM head"
                               " LEFT JOIN kind ON kind.id = head.kind"
                               " LEFT JOIN body ON body.id = head.id ORDER BY head.id";
    sqlite3_stmt *stmt = sqlite_prepare(f->db, ROWS, err);
    int rc;

    if (!stmt)
        return -1;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        check_row(f, stmt);
        arena_reset(&f->arena);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : sqlite_fail(err, f->db, "cannot read the store");
}

/* Rows of a query that should give none: each is a problem. */
static int check_none(struct fsck *f, const char *sql, const char *what, struct err *err)
{
    sqlite3_stmt *stmt = sqlite_prepare(f->db, sql, err);

    if (!stmt)
        return -1;
    while (sqlite3_step(stmt) == SQLITE_ROW)
        tell(f, str_printf(&f->arena, "'%s': %s", (const char *)sqlite3_column_text(stmt, 0),
                           what));
    sqlite3_finalize(stmt);
    return 0;
}

int store_fsck(const char *dir, store_problem_fn *problem, void *ctx, struct err *err)
{
    struct fsck f = {.problem = problem, .ctx = ctx};

    f.db = open_existing(dir, err);
    if (!f.db)
        return -1;
    check_file(&f, err);
    int rc = check_rows(&f, err);
    if (rc == 0)
        rc = check_none(&f, "SELECT path FROM head GROUP BY kind, path HAVING count(*) > 1",
                        "two objects have this name", err);
    if (rc == 0)
        rc = check_none(&f, "SELECT rev FROM head GROUP BY rev HAVING count(*) > 1",
                        "two objects have this revision", err);
    if (rc == 0)
        rc = check_none(&f, "SELECT id FROM body WHERE id NOT IN (SELECT id FROM head)",
                        "a value without an object has this row", err);
    sqlite3_close(f.db);
    arena_fini(&f.arena);
    return rc < 0 ? -1 : f.n;
}
