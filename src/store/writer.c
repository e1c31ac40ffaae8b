/* writer.c - the thread that commits
 *
 *     loop → [queue in] → BEGIN, rows, COMMIT (one fsync for all that was waiting) → [queue
 * out]
 *
 * A few rows that come while it rests are committed by the loop itself, where commits are known
 * to be quick: two threads that wake each other cost as much as such a commit. The thread does
 * not touch the file meanwhile (is_lent), and the loop not while the thread works (is_busy).
 *
 * It never looks at an object's counters: paths and values were borrowed on the loop's side and
 * stay still until the write is answered. This file has the room's only lock.
 */
#include <pthread.h>
#include <time.h>

#include "io/io.h"
#include "store/sqlite_priv.h"

/* Nothing came for so long: time for what no write should wait for. */
#define REST span_ms(20)
/* What the loop commits itself: as many rows and bytes at most, after as many quick commits.
 * One that is not quick, as the first after a rest may be, costs the credit of a few; one that
 * stalls costs all. */
#define HERE_ROWS 16
#define HERE_BYTES ((size_t)64 << 10)
#define HERE_AFTER 16
#define HERE_MOST 32
#define HERE_SLOW 4
#define HERE_STALL 4 /* times as long as a quick one */

struct fifo {
    struct write *first, **end;
};

struct writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct fifo in, out, failed; /* under the lock */
    struct err err;              /* of failed */
    bool is_ending, is_busy, is_lent;
    /* of whoever has the file: the thread where it is busy, else the loop */
    sqlite3 *db;
    struct span quick; /* a commit of a few rows that takes less */
    int credit;        /* of those */
    int log_pages;     /* in the log, after the last commit */
    sqlite3_stmt *begin, *commit, *rollback, *put_head, *put_body, *del_head, *del_body,
        *put_kind, *put_revision;
    bool has_failed; /* in this epoch */
    uint32_t failed_epoch;
    struct err why;
    bool wants_room; /* in the log's file; the thread's own */
    struct io_wake *wake;
};

static void fifo_init(struct fifo *f)
{
    f->first = NULL;
    f->end = &f->first;
}

static void fifo_add(struct fifo *f, struct write *w)
{
    w->next = NULL;
    *f->end = w;
    f->end = &w->next;
}

static void fifo_move(struct fifo *to, struct fifo *from)
{
    if (!from->first)
        return;
    *to->end = from->first;
    to->end = from->end;
    fifo_init(from);
}

/* ---- rows ---- */

static int run(struct writer *w, sqlite3_stmt *stmt, struct err *err)
{
    int rc = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        return sqlite_fail(err, w->db, "cannot write to the store");
    return 0;
}

static void bind_text(sqlite3_stmt *stmt, int i, struct str s)
{
    sqlite3_bind_text(stmt, i, s.at ? s.at : "", (int)s.len, SQLITE_STATIC);
}

static int write_row(struct writer *w, const struct write *row, struct err *err)
{
    int64_t id = (int64_t)row->row;

    if (row->kind_name.len) {
        sqlite3_bind_int64(w->put_kind, 1, row->kind);
        bind_text(w->put_kind, 2, row->kind_name);
        if (run(w, w->put_kind, err) < 0)
            return -1;
    }
    if (row->is_delete) {
        sqlite3_bind_int64(w->del_head, 1, id);
        sqlite3_bind_int64(w->del_body, 1, id);
        return run(w, w->del_head, err) < 0 ? -1 : run(w, w->del_body, err);
    }
    sqlite3_bind_int64(w->put_head, 1, id);
    sqlite3_bind_int64(w->put_head, 2, row->kind);
    bind_text(w->put_head, 3, row->path);
    bind_text(w->put_head, 4, row->uid);
    sqlite3_bind_int64(w->put_head, 5, (int64_t)row->revision);
    sqlite3_bind_int64(w->put_head, 6, (int64_t)str_sum(row->value));
    sqlite3_bind_int64(w->put_body, 1, id);
    sqlite3_bind_blob(w->put_body, 2, row->value.at, (int)row->value.len, SQLITE_STATIC);
    return run(w, w->put_head, err) < 0 ? -1 : run(w, w->put_body, err);
}

/* The newest revision is that of a row; where a removal was the last, the store must be told.
 */
static int write_revision(struct writer *w, const struct write *last, struct err *err)
{
    if (!last->is_delete)
        return 0;
    sqlite3_bind_int64(w->put_revision, 1, (int64_t)last->revision);
    return run(w, w->put_revision, err);
}

static bool is_small(const struct write *first)
{
    size_t n = 0, bytes = 0;

    for (; first && n <= HERE_ROWS; first = first->next, n++)
        bytes += first->value.len;
    return n <= HERE_ROWS && bytes <= HERE_BYTES;
}

static int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* How long did it take? */
static void learn(struct writer *w, const struct write *first, int64_t ns)
{
    if (ns < w->quick.ns)
        w->credit = MIN(w->credit + 1, HERE_MOST);
    else if (is_small(first))
        w->credit -= ns < HERE_STALL * w->quick.ns ? MIN(w->credit, HERE_SLOW) : w->credit;
}

static int log_grew(void *ctx, sqlite3 *db unused, const char *name unused, int pages)
{
    ((struct writer *)ctx)->log_pages = pages;
    return SQLITE_OK;
}

static int commit_batch(struct writer *w, struct write *first, struct err *err)
{
    struct write *last = first;
    int64_t began = clock_ns();

    if (run(w, w->begin, err) < 0)
        return -1;
    for (struct write *row = first; row; row = row->next) {
        if (write_row(w, row, err) < 0)
            goto undo;
        last = row;
    }
    if (write_revision(w, last, err) < 0 || run(w, w->commit, err) < 0)
        goto undo;
    last->ends_commit = true;
    learn(w, first, clock_ns() - began);
    return 0;
undo:
    if (!sqlite3_get_autocommit(w->db))
        run(w, w->rollback, NULL);
    return -1;
}

/* ---- the thread ---- */

/* Waits, with the lock, until there is something to do; false where it rests. */
static bool await_more(struct writer *w)
{
    struct timespec until;
    int rc = 0;

    if (w->wants_room) {
        int64_t ns = clock_ns() + REST.ns;
        until = (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
    }
    while (!w->in.first && !w->is_ending && rc == 0) {
        if (w->wants_room)
            rc = pthread_cond_timedwait(&w->more, &w->lock, &until);
        else
            rc = pthread_cond_wait(&w->more, &w->lock);
    }
    return w->in.first || w->is_ending || w->is_lent;
}

/* Takes up to STORE_MAX_BATCH writes off the queue; none where it rests or is to end. */
static struct write *next_batch(struct writer *w, bool *is_ending)
{
    struct fifo batch;
    size_t n = 0;

    fifo_init(&batch);
    pthread_mutex_lock(&w->lock);
    w->is_busy = false;
    bool rests = !await_more(w);
    while (w->in.first && n < STORE_MAX_BATCH) {
        struct write *row = w->in.first;
        w->in.first = row->next;
        if (!w->in.first)
            w->in.end = &w->in.first;
        fifo_add(&batch, row);
        n++;
    }
    *is_ending = w->is_ending && !batch.first;
    w->is_busy = batch.first || rests;
    pthread_mutex_unlock(&w->lock);
    if (rests)
        w->wants_room = wal_make_room(w->db);
    return batch.first;
}

static void answer(struct writer *w, struct write *rows, bool is_good)
{
    pthread_mutex_lock(&w->lock);
    while (rows) {
        struct write *next = rows->next;
        fifo_add(is_good ? &w->out : &w->failed, rows);
        rows = next;
    }
    if (!is_good)
        w->err = w->why;
    pthread_mutex_unlock(&w->lock);
}

/* A batch never mixes epochs: the loop opens a new one only when the old one was answered, and
 * what it had queued before comes first. So it is split where the epoch changes. */
static void handle(struct writer *w, struct write *first)
{
    while (first) {
        struct write *last = first;
        while (last->next && last->next->epoch == first->epoch)
            last = last->next;
        struct write *rest = last->next;
        last->next = NULL;
        bool is_good = !(w->has_failed && w->failed_epoch == first->epoch);
        if (is_good && commit_batch(w, first, &w->why) < 0) {
            is_good = false;
            w->has_failed = true;
            w->failed_epoch = first->epoch;
        }
        answer(w, first, is_good);
        first = rest;
    }
}

/* Into the file, so that the log may begin anew. What was committed has been answered. */
static void copy_log(struct writer *w)
{
    int all = 0, copied = -1;

    sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &all, &copied);
    if (copied == all)
        w->log_pages = 0;
}

static void *thread(void *ctx)
{
    struct writer *w = ctx;
    bool is_ending = false;

    while (!is_ending) {
        struct write *first = next_batch(w, &is_ending);
        if (!first)
            continue;
        handle(w, first);
        io_wake_send(w->wake);
        if (w->log_pages >= STORE_LOG_PAGES)
            copy_log(w);
    }
    return NULL;
}

/* ---- the loop's side ---- */

void writer_send(struct writer *w, struct write *first)
{
    pthread_mutex_lock(&w->lock);
    while (first) {
        struct write *next = first->next;
        fifo_add(&w->in, first);
        first = next;
    }
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->more); /* it wakes to a lock that is free */
}

bool writer_commit(struct writer *w, struct write *first)
{
    if (!is_small(first))
        return false;
    pthread_mutex_lock(&w->lock);
    w->is_lent = !w->is_busy && !w->in.first && w->credit >= HERE_AFTER &&
                 w->log_pages < STORE_LOG_PAGES;
    bool is_lent = w->is_lent;
    pthread_mutex_unlock(&w->lock);
    if (!is_lent)
        return false;
    handle(w, first);
    pthread_mutex_lock(&w->lock);
    w->is_lent = false;
    pthread_mutex_unlock(&w->lock);
    return true;
}

struct write *writer_take(struct writer *w, struct write **failed, struct err *err)
{
    struct fifo out, bad;

    fifo_init(&out);
    fifo_init(&bad);
    pthread_mutex_lock(&w->lock);
    fifo_move(&out, &w->out);
    fifo_move(&bad, &w->failed);
    *err = w->err;
    pthread_mutex_unlock(&w->lock);
    *failed = bad.first;
    return out.first;
}

static int prepare_all(struct writer *w, struct err *err)
{
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } all[] = {
        {&w->begin,        "BEGIN IMMEDIATE"                                },
        {&w->commit,       "COMMIT"                                         },
        {&w->rollback,     "ROLLBACK"                                       },
        {&w->put_kind,     "INSERT OR REPLACE INTO kind VALUES(?,?)"        },
        {&w->put_head,     "INSERT OR REPLACE INTO head VALUES(?,?,?,?,?,?)"},
        {&w->put_body,     "INSERT OR REPLACE INTO body VALUES(?,?)"        },
        {&w->del_head,     "DELETE FROM head WHERE id=?"                    },
        {&w->del_body,     "DELETE FROM body WHERE id=?"                    },
        {&w->put_revision, "UPDATE meta SET value=? WHERE name='revision'"  },
    };

    for (size_t i = 0; i < countof(all); i++) {
        *all[i].stmt = sqlite_prepare(w->db, all[i].sql, err);
        if (!*all[i].stmt)
            return -1;
    }
    return 0;
}

static void writer_close(struct writer *w)
{
    sqlite3_stmt *all[] = {w->begin,    w->commit,   w->rollback, w->put_kind,    w->put_head,
                           w->put_body, w->del_head, w->del_body, w->put_revision};

    for (size_t i = 0; i < countof(all); i++)
        sqlite3_finalize(all[i]);
    sqlite3_close(w->db);
    io_wake_free(w->wake);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    free(w);
}

struct writer *writer_new(struct io *io, sqlite3 *db, struct span quick,
                          void (*done)(void *ctx), void *ctx, struct err *err)
{
    struct writer *w = mem_zero(1, sizeof(*w));
    pthread_condattr_t attr;

    w->db = db;
    w->quick = quick;
    sqlite3_wal_hook(db, log_grew, w);
    fifo_init(&w->in);
    fifo_init(&w->out);
    fifo_init(&w->failed);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->more, &attr);
    pthread_condattr_destroy(&attr);
    w->wants_room = true;
    w->wake = io_wake_new(io, done, ctx);
    if (prepare_all(w, err) < 0) {
        writer_close(w);
        return NULL;
    }
    int rc = pthread_create(&w->thread, NULL, thread, w);
    if (rc) {
        err_set(err, ERR_IO, "cannot start the store's writer: %s", strerror(rc));
        writer_close(w);
        return NULL;
    }
    return w;
}

void writer_free(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (struct fifo *f = &w->out; f; f = f == &w->out ? &w->failed : NULL) {
        while (f->first) {
            struct write *next = f->first->next;
            free(f->first);
            f->first = next;
        }
    }
    writer_close(w);
}
