/* writer.c - the tests of the thread that commits, and of what the loop commits itself
 *
 * A row's script is letters: `t` sends a row to the thread and waits for it, `T` sends as many
 * as are no longer few, `l` asks the loop to commit one, `L` as many. Answers: `t` for what
 * the thread was left to do, `l` for what the loop did.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "io/io.h"
#include "store/sqlite_priv.h"

struct world {
    struct io *io;
    struct writer *writer;
    sqlite3 *reader;
    char dir[64];
    uint64_t n_rows, n_done;
};

static void take(void *ctx)
{
    struct world *w = ctx;
    struct write *failed, *next;
    struct err err = {0};

    for (struct write *row = writer_take(w->writer, &failed, &err); row; row = next) {
        next = row->next;
        check_int(row->revision, ++w->n_done); /* in order */
        free(row);
    }
    check(!failed);
}

static int remove_one(const char *path, const struct stat *st unused, int flag unused,
                      struct FTW *ftw unused)
{
    return remove(path);
}

static struct world *world_new(struct span quick)
{
    struct world *w = mem_zero(1, sizeof(*w));
    struct err err = {0};

    snprintf(w->dir, sizeof(w->dir), "/tmp/berth-writer-XXXXXX");
    check(mkdtemp(w->dir) != NULL);
    w->io = io_real_new(&err);
    sqlite3 *db = sqlite_open(w->dir, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err);
    sqlite_exec(db,
                "PRAGMA journal_mode=WAL; CREATE TABLE meta(name, value);"
                "CREATE TABLE kind(id INTEGER PRIMARY KEY, name);"
                "CREATE TABLE head(id INTEGER PRIMARY KEY, kind, path, uid, rev, digest);"
                "CREATE TABLE body(id INTEGER PRIMARY KEY, value)",
                "cannot prepare", &err);
    w->writer = writer_new(w->io, db, quick, take, w, &err);
    w->reader = sqlite_open(w->dir, SQLITE_OPEN_READONLY, &err);
    check_samez(err_str(&err), "");
    return w;
}

static void world_free(struct world *w)
{
    sqlite3_close(w->reader);
    writer_free(w->writer);
    io_free(w->io);
    nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(w);
}

static struct write *rows(struct world *w, int n, struct str value)
{
    struct write *first = NULL, **end = &first;

    for (int i = 0; i < n; i++) {
        *end = mem_zero(1, sizeof(**end));
        (*end)->row = (*end)->revision = ++w->n_rows;
        (*end)->path = (*end)->uid = S("x");
        (*end)->value = value;
        end = &(*end)->next;
    }
    return first;
}

static int64_t on_disk(struct world *w)
{
    struct err err = {0};
    sqlite3_stmt *stmt = sqlite_prepare(w->reader, "SELECT count(*) FROM body", &err);

    check_int(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void play(struct world *w, const char *script, struct buf *out)
{
    static const char big[60 << 10];

    for (; *script; script++) {
        struct write *first = rows(w, strchr("TL", *script) ? 17 : 1,
                                   *script == 'b' ? str_of(big, sizeof(big)) : S("x"));
        bool is_asked = strchr("lLb", *script) != NULL;
        bool is_here = is_asked && writer_commit(w->writer, first);
        if (is_here) {
            check_int(on_disk(w), w->n_rows); /* before anybody can see them */
            take(w);
        } else {
            writer_send(w->writer, first);
            for (; w->n_done < w->n_rows; usleep(100))
                io_turn(w->io);
            usleep(1000); /* the thread rests */
        }
        if (is_asked)
            buf_printf(out, "%c", is_here ? 'l' : 't');
        check_int(on_disk(w), w->n_rows);
    }
}

TEST(who_commits)
{
    static const struct {
        const char *name;
        int64_t quick_s;
        const char *script, *want;
    } cases[] = {
        {"nothing is known of commits yet", 100, "l",                  "t" },
        {"few rows, after quick commits",   100, "ttttttttttttttttll", "ll"},
        {"many rows are the thread's",      100, "ttttttttttttttttL",  "t" },
        {"large ones count as well",        100, "TTTTTTTTTTTTTTTTl",  "l" },
        {"commits are slow",                0,   "ttttttttttttttttl",  "t" },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(buf_fini) struct buf out = {0};
        struct world *w = world_new(span_s(cases[i].quick_s));
        test_case(cases[i].name);
        play(w, cases[i].script, &out);
        check_samez(buf_str(&out), cases[i].want);
        world_free(w);
    }
}

/* The thread makes room in the log where it rests, and has the file meanwhile. */
static void await_room(const struct world *w)
{
    struct stat st = {0};
    char log[96];

    snprintf(log, sizeof(log), "%s/%s-wal", w->dir, STORE_FILE);
    for (int i = 0; i < 2000 && st.st_size < STORE_LOG_ROOM; i++) {
        usleep(10000);
        check_int(stat(log, &st), 0);
    }
    check_int(st.st_size, STORE_LOG_ROOM);
}

TEST(full_log)
{
    scoped(buf_fini) struct buf out = {0};
    struct world *w = world_new(span_s(100));

    test_case("the loop leaves copying a full log to the thread, in between");
    play(w, "t", &out);
    await_room(w);
    for (int i = 0; i < 2 * STORE_LOG_PAGES / 15; i++)
        play(w, "b", &out);
    struct str known = S("ttttttttttttttt"), answers = buf_str(&out);
    check(str_starts(answers, known));
    answers = str_slice(answers, known.len, answers.len);
    size_t n_left = 0;
    for (size_t i = 0; i < answers.len; i++)
        n_left += answers.at[i] == 't';
    check(n_left > 0 && n_left < 10);
    world_free(w);
}
