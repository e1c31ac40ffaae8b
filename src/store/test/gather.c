/* gather.c - the tests of the log whose commits are written in one piece
 *
 * One connection writes through it, another reads the same files by the system's own VFS, as a
 * tool beside us would.
 */
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "store/sqlite_priv.h"

struct pair {
    sqlite3 *writer, *reader;
    char dir[64];
};

static int remove_one(const char *path, const struct stat *st unused, int flag unused,
                      struct FTW *ftw unused)
{
    return remove(path);
}

static void run(sqlite3 *db, const char *sql, int want)
{
    check_int(sqlite3_exec(db, sql, NULL, NULL, NULL), want);
}

static struct pair pair_new(void)
{
    struct pair p = {.dir = "/tmp/berth-gather-XXXXXX"};
    scoped(arena_fini) struct arena a = {0};
    struct err err = {0};

    check(mkdtemp(p.dir) != NULL);
    p.writer = sqlite_open(p.dir, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err);
    check(p.writer != NULL);
    run(p.writer,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
        "PRAGMA cache_size=16; CREATE TABLE t(id INTEGER PRIMARY KEY, value BLOB)",
        SQLITE_OK);
    const char *path = str_z(&a, str_printf(&a, "%s/%s", p.dir, STORE_FILE));
    check_int(sqlite3_open_v2(path, &p.reader, SQLITE_OPEN_READONLY, "unix"), SQLITE_OK);
    return p;
}

static void pair_free(struct pair *p)
{
    sqlite3_close(p->reader);
    sqlite3_close(p->writer);
    nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int64_t one(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t v = -1;

    check_int(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        v = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return v;
}

static int64_t log_bytes(const struct pair *p)
{
    char path[96];
    struct stat st = {0};

    snprintf(path, sizeof(path), "%s/%s-wal", p->dir, STORE_FILE);
    stat(path, &st);
    return st.st_size;
}

TEST(a_reader_beside_us)
{
    static const struct {
        int64_t rows, bytes;
        const char *name, *sql;
    } cases[] = {
        {1, 10,     "a row",                                "INSERT INTO t VALUES(1, zeroblob(10))"     },
        {2, 60010,  "a row of several pages",               "INSERT INTO t VALUES(2, randomblob(60000))"},
        {3, 960010, "more than is held at one go",
         "INSERT INTO t VALUES(3, randomblob(900000))"                                                  },
        {3, 960010, "what was taken back never came",
         "BEGIN; INSERT INTO t VALUES(4, randomblob(900000)); ROLLBACK"                                 },
        {4, 960050, "after that",                           "INSERT INTO t VALUES(5, randomblob(40))"   },
        {4, 960050, "more pages than the cache has, twice",
         "BEGIN; UPDATE t SET value = randomblob(length(value));"
         "UPDATE t SET value = randomblob(length(value)) WHERE id < 9; COMMIT"                          },
        {4, 960050, "read again before it is committed",
         "BEGIN; UPDATE t SET value = randomblob(length(value));"
         "SELECT hex(value) FROM t; COMMIT"                                                             },
        {3, 60050,  "fewer",                                "DELETE FROM t WHERE id = 3"                },
    };
    struct pair p = pair_new();

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        run(p.writer, cases[i].sql, SQLITE_OK);
        check_int(one(p.reader, "SELECT count(*) FROM t"), cases[i].rows);
        check_int(one(p.reader, "SELECT sum(length(value)) FROM t"), cases[i].bytes);
        check_int(one(p.reader, "SELECT count(*) FROM pragma_integrity_check WHERE "
                                "integrity_check = 'ok'"),
                  1);
    }
    test_case("the log is copied and begins anew");
    run(p.writer, "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES(9, zeroblob(50))",
        SQLITE_OK);
    check_int(one(p.reader, "SELECT sum(length(value)) FROM t"), 60100);
    check(log_bytes(&p) < 10 * 4096);
    pair_free(&p);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = MIN(bytes, limit.rlim_max);
    setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(the_log_does_not_fit)
{
    struct pair p = pair_new();

    signal(SIGXFSZ, SIG_IGN);
    run(p.writer, "INSERT INTO t VALUES(1, zeroblob(10))", SQLITE_OK);
    test_case("a commit that cannot be written is none");
    limit_files((rlim_t)log_bytes(&p));
    check(sqlite3_exec(p.writer, "INSERT INTO t VALUES(2, zeroblob(10))", NULL, NULL, NULL) !=
          SQLITE_OK);
    check_int(one(p.reader, "SELECT count(*) FROM t"), 1);
    test_case("the next one may");
    limit_files(RLIM_INFINITY);
    run(p.writer, "INSERT INTO t VALUES(3, zeroblob(10))", SQLITE_OK);
    check_int(one(p.reader, "SELECT sum(id) FROM t"), 4);
    pair_free(&p);
}
