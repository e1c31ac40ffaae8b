/* sqlite_priv.h - the file of the SQLite backend, as loop, writer and tools see it
 *
 *     meta  name → value         format, revision (of the newest removal that ended a commit)
 *     kind  id → name            "batch/v1/Job"
 *     head  id → kind, path, uid, rev, digest      the narrow part: read whole at start
 *     body  id → value                             read by row when asked for
 *
 * head.id == body.id. Neither has another index: the loop finds rows by its own.
 */
#pragma once

#include <sqlite3.h>

#include "store/store_priv.h"

#define STORE_FILE "berth.db"
#define STORE_LOCK "berth.lock"
#define STORE_APPLICATION 0x42727468 /* "Brth", the file's application_id */
#define STORE_LOG_PAGES 4000         /* in the log when it is copied into the file */
/* Bytes of so many, each with the head of its frame (24), and one batch more. */
#define STORE_LOG_ROOM ((sqlite3_int64)(STORE_LOG_PAGES + 200) * (4096 + 24))

/* A sentence for a failed call: a full disk and the like in plain words. Always -1. */
int sqlite_fail(struct err *err, sqlite3 *db, const char *doing);
/* Opens DIR/berth.db; flags as for sqlite3_open_v2(). NULL with err. */
sqlite3 *sqlite_open(const char *dir, int flags, struct err *err);
int sqlite_exec(sqlite3 *db, const char *sql, const char *doing, struct err *err);
/* NULL with err. */
sqlite3_stmt *sqlite_prepare(sqlite3 *db, const char *sql, struct err *err);
/* Refuses files that are not ours or of a newer format; 0 where it is fit or empty. */
int sqlite_check_format(sqlite3 *db, const char *dir, struct err *err);

/* ---- wal.c ---- */

/* Lengthens the log's file towards STORE_LOG_ROOM by a piece; true where there is more to do.
 * On the writer's thread, outside a transaction. */
bool wal_make_room(sqlite3 *db);

/* ---- gather.c ---- */

/* The name of a VFS that is the system's, but gathers what a commit writes to the log. Not for
 * connections whose commits do not sync. */
const char *gather_files(void);

/* ---- writer.c: one thread, a queue in and a queue out ---- */

struct writer;
/* One row to write; lives in the op's memory until it is answered. */
struct write {
    struct write *next;
    struct op *op;
    uint32_t kind;
    struct str kind_name; /* where the kind's row is to be made first; else "" */
    uint64_t row, revision;
    struct str path, uid, value; /* borrowed from the op's object */
    bool is_delete;
    bool ends_commit; /* the last row of its commit */
    uint32_t epoch;
};

/* done(ctx) is called on the loop when there is something in writer_take(). A commit of a few
 * rows that takes less than `quick` may be the loop's. */
struct writer *writer_new(struct io *io, sqlite3 *db, struct span quick,
                          void (*done)(void *ctx), void *ctx, struct err *err);
/* Commits here and now, where the thread rests, the rows are few, and the last commits were
 * quick; then writer_take() has them. False: nothing was done, writer_send() them. */
bool writer_commit(struct writer *w, struct write *first);
void writer_send(struct writer *w, struct write *first);
/* What was committed since the last call, in order; what failed, with err set: then every write
 * of that epoch that comes after fails too. */
struct write *writer_take(struct writer *w, struct write **failed, struct err *err);
/* Writes what is queued, then ends the thread. Closes db. */
void writer_free(struct writer *w);
