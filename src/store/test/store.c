/* store.c - the tests of store/, on both backends
 *
 * A row's script is words: `+a 0` puts a to follow revision 0, `-a 3` removes it, `.` lets the
 * loop run dry, `?` prints the list, `?2` the list as of revision 2, `!` closes the store and
 * opens it again. Answers are printed as they come: a revision or the error's code.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/table.h"
#include "store/sqlite_priv.h"

static const struct kind thing = {
    .api_version = S_INIT("v1"), .kind = S_INIT("Thing"), .id = -1};

static int remove_one(const char *path, const struct stat *st unused, int flag unused,
                      struct FTW *ftw unused)
{
    return remove(path);
}

struct world {
    struct io *io;
    struct store *store;
    struct buf out;
    char dir[64];
    int n_puts;
};

static const struct kind *find_kind(void *ctx unused, struct str name)
{
    return str_eqz(name, "v1/Thing") ? &thing : NULL;
}

static void world_reopen(struct world *w)
{
    struct err err = {0};

    store_free(w->store);
    w->store = store_sqlite_open(w->io, w->dir, find_kind, NULL, &err);
    check_samez(err_str(&err), "");
}

static struct world *world_new(bool on_disk)
{
    struct world *w = mem_zero(1, sizeof(*w));
    struct err err = {0};

    if (!on_disk) {
        w->io = io_sim_new(1, (struct instant){SECOND_NS});
        w->store = store_memory_new(w->io, (struct span){0});
        return w;
    }
    snprintf(w->dir, sizeof(w->dir), "/tmp/berth-store-XXXXXX");
    check(mkdtemp(w->dir) != NULL);
    w->io = io_real_new(&err);
    world_reopen(w);
    return w;
}

static void world_free(struct world *w)
{
    store_free(w->store);
    io_free(w->io);
    buf_fini(&w->out);
    if (w->dir[0])
        nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(w);
}

static void answered(void *ctx, uint64_t revision, const struct err *err)
{
    struct world *w = ctx;

    if (err)
        buf_printf(&w->out, "%s ", err_name(err->code));
    else
        buf_printf(&w->out, "%" PRIu64 " ", revision);
}

static struct object *make(struct world *w, struct arena *a, struct str path)
{
    struct str ns = {0}, name;

    if (!str_cut(path, '/', &ns, &name)) {
        name = ns;
        ns = str_of(NULL, 0);
    }
    struct json_obj meta = obj_in(a), o = obj_in(a);
    obj_setz(&meta, "name", json_of_str(name));
    if (ns.len)
        obj_setz(&meta, "namespace", json_of_str(ns));
    obj_setz(&meta, "uid", json_of_str(str_printf(a, "u-%.*s", STR_ARG(path))));
    obj_setz(&o, "metadata", obj_done(&meta));
    obj_setz(&o, "n", json_of_i64(++w->n_puts));
    return object_new(&thing, json_new(a, obj_done(&o)));
}

static void list(struct world *w, struct arena *a, uint64_t revision)
{
    struct err err = {0};
    struct object *o;

    if (store_check(w->store, &thing, revision ? revision : store_revision(w->store), &err) <
        0) {
        buf_printf(&w->out, "%s ", err_name(err.code));
        return;
    }
    struct store_walk walk = store_walk(w->store, a, &thing, S(""), S(""), revision);
    buf_byte(&w->out, '[');
    for (const char *gap = ""; (o = store_next(&walk)); gap = " ")
        buf_printf(&w->out, "%s%.*s:%" PRIu64, gap, STR_ARG(object_path(o)),
                   object_revision(o));
    buf_add(&w->out, S("] "));
}

static void run_dry(struct world *w)
{
    for (int i = 0; i < 5000 && store_in_flight(w->store); i++) {
        if (!io_turn(w->io) && store_in_flight(w->store))
            usleep(200);
        else if (w->dir[0])
            usleep(100);
    }
    check_int(store_in_flight(w->store), 0);
}

static void step(struct world *w, struct arena *a, struct str verb, struct str arg)
{
    uint64_t n = 0;

    str_to_u64(arg, &n);
    struct str path = str_slice(verb, 1, verb.len);
    if (verb.at[0] == '+' || verb.at[0] == '-') {
        struct object *o = make(w, a, path);
        (verb.at[0] == '+' ? store_put : store_delete)(w->store, o, n, answered, w);
        object_unref(o);
    } else if (verb.at[0] == '.') {
        run_dry(w);
    } else if (verb.at[0] == '?') {
        uint64_t revision = 0;
        str_to_u64(path, &revision);
        list(w, a, revision);
    } else if (verb.at[0] == '!') {
        world_reopen(w);
    }
}

static struct str play(struct world *w, struct arena *a, const char *script)
{
    struct str rest = str_from(script), word, arg;

    buf_clear(&w->out);
    while (rest.len) {
        str_cut(rest, ' ', &word, &rest);
        arg = str_of(NULL, 0);
        if (word.at[0] == '+' || word.at[0] == '-')
            str_cut(rest, ' ', &arg, &rest);
        step(w, a, word, arg);
    }
    return str_trim(buf_str(&w->out));
}

static const struct {
    const char *name, *script, *want;
} puts_rows[] = {
    {"the first put gets revision 1",         "+a 0 . ?",                                   "1 [a:1]"           },
    {"answers come in the order of queueing", "+b 0 +a 0 .",                                "1 2"               },
    {"nothing is visible before its turn",    "+a 0 ? .",                                   "[] 1"              },
    {"one must say the version it follows",   "+a 0 . +a 1 . +a 1 .",                       "1 2 CONFLICT"      },
    {"a second create is a conflict",         "+a 0 . +a 0 .",                              "1 CONFLICT"        },
    {"a put in flight counts",                "+a 0 +a 0 +a 1 . ?",                         "1 CONFLICT 2 [a:2]"},
    {"what is gone cannot be followed",       "+a 3 .",                                     "NOT_FOUND"         },
    {"a removal has a revision of its own",   "+a 0 . -a 1 +b 0 . ?",                       "1 2 3 [b:3]"       },
    {"a key may be made again at once",       "+a 0 . -a 1 +a 0 . ?",                       "1 2 3 [a:3]"       },
    {"removing what is in flight twice",      "+a 0 -a 1 -a 1 .",                           "1 2 NOT_FOUND"     },
    {"lists are in the order of the path",    "+b/a 0 +a/z 0 +a-b/c 0 . ?",
     "1 2 3 [a-b/c:3 a/z:2 b/a:1]"                                                                              },
    {"a list as of an old revision",          "+a 0 +b 0 +c 0 . +b 2 -a 1 +d 0 . ?3 ?4 ?5",
     "1 2 3 4 5 6 [a:1 b:2 c:3] [a:1 b:4 c:3] [b:4 c:3]"                                                        },
    {"what changed twice since, as it was",   "+a 0 +b 0 . +a 1 +b 2 . +a 3 . ?2",
     "1 2 3 4 5 [a:1 b:2]"                                                                                      },
    {"a list of the future",                  "+a 0 . ?2",                                  "1 TIMEOUT"         },
};

static void play_rows(bool on_disk)
{
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(puts_rows); i++) {
        test_case(puts_rows[i].name);
        struct world *w = world_new(on_disk);
        check_samez(play(w, &a, puts_rows[i].script), puts_rows[i].want);
        world_free(w);
    }
}

TEST(puts_in_memory)
{
    play_rows(false);
}

TEST(puts_on_disk)
{
    play_rows(true);
}

static void no_problem(void *ctx unused, struct str sentence)
{
    check_samez(sentence, "");
}

TEST(what_outlives_us)
{
    static const struct {
        const char *name, *script, *want;
    } cases[] = {
        {"objects and their revisions",                         "+a 0 +n/b 0 . ! ?",        "1 2 [a:1 n/b:2]"   },
        {"a removal stays one, its revision is not used again", "+a 0 . -a 1 . ! ? +b 0 .",
         "1 2 [] 3"                                                                                             },
        {"a removal before others, and of the last of them",
         "+a 0 . -a 1 +b 0 . -b 3 . ! ? +c 0 .",                                            "1 2 3 4 [] 5"      },
        {"one may follow what was there",                       "+a 0 . ! +a 1 . ! ?",      "1 2 [a:2]"         },
        {"old revisions are gone",                              "+a 0 +b 0 . ! ?1 ?2",      "1 2 GONE [a:1 b:2]"},
        {"what was queued is written",                          "+a 0 ! ?",                 "CANCELED [a:1]"    },
    };
    scoped(arena_fini) struct arena a = {0};
    struct err err = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct world *w = world_new(true);
        check_samez(play(w, &a, cases[i].script), cases[i].want);
        check_int(store_fsck(w->dir, no_problem, NULL, &err), 0);
        world_free(w);
    }
}

TEST(cold_values)
{
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(true);

    play(w, &a, "+a 0 . !");
    struct object *o = store_get(w->store, &thing, S("a"));
    check(!object_is_warm(o));
    check_samez(object_uid(o), "u-a");
    check_samez(object_bytes(o, &a),
                "{\"metadata\":{\"resourceVersion\":\"1\",\"name\":\"a\",\"uid\":\"u-a\"},"
                "\"n\":1}");
    test_case("a replaced version keeps its own bytes");
    world_reopen(w);
    o = object_ref(store_get(w->store, &thing, S("a")));
    play(w, &a, "+a 1 .");
    check(str_has(object_bytes(o, &a), S("\"n\":1}")));
    object_unref(o);
    world_free(w);
}

TEST(replaced_values)
{
    enum { N = 1000 };
    struct world *w = world_new(true);
    scoped(arena_fini) struct arena a = {0};

    for (uint64_t round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++) {
            struct object *o = make(w, &a, str_printf(&a, "t%d", i));
            struct object *was = store_get(w->store, &thing, object_path(o));
            store_put(w->store, o, was ? object_revision(was) : 0, NULL, NULL);
            object_unref(o);
        }
        while (store_in_flight(w->store))
            io_turn(w->io);
    }
    check_int(store_count(w->store, &thing), N);
    test_case("versions that were replaced do not stay in the cache");
    check(w->store->warm.len - w->store->warm_first < 2 * N);
    world_free(w);
}

TEST(refusals)
{
    scoped(arena_fini) struct arena a = {0};
    struct err err = {0};
    struct world *w = world_new(true);
    struct stat st;

    test_case("a directory in use");
    check(!store_sqlite_open(w->io, w->dir, find_kind, NULL, &err));
    check_err(&err, ERR_EXISTS, "already in use");
    test_case("a backup is a store");
    play(w, &a, "+a 0 .");
    const char *copy = str_z(&a, str_printf(&a, "%s/copy", w->dir));
    check_int(store_backup(w->dir, copy, &err), 0);
    check(stat(copy, &st) == 0 && (st.st_mode & 0777) == 0600);
    check_int(store_backup(w->dir, copy, &err), -1);
    check_err(&err, ERR_EXISTS, "exists already");
    test_case("what cannot be a directory");
    check(!store_sqlite_open(w->io, copy, find_kind, NULL, &err));
    check_err(&err, ERR_IO, "cannot open");
    world_free(w);
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void copy_file(const char *from, const char *to)
{
    scoped(close_fd) int in = open(from, O_RDONLY | O_CLOEXEC);
    scoped(close_fd) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    off_t left = size_of(from);

    while (left > 0) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        check(n > 0);
        left -= n;
    }
}

TEST(room_in_the_log)
{
    static const char *const files[] = {"berth.db", "berth.db-wal"};
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(true);
    struct err err = {0};

    test_case("where it rests, the log's file becomes as long as it will ever be");
    play(w, &a, "+a 0 .");
    const char *log = str_z(&a, str_printf(&a, "%s/%s", w->dir, files[1]));
    for (int i = 0; i < 2000 && size_of(log) < STORE_LOG_ROOM; i++)
        usleep(10000);
    check_int(size_of(log), STORE_LOG_ROOM);
    test_case("what is written then is there when the power went");
    play(w, &a, "+b 0 +a 1 .");
    check_int(size_of(log), STORE_LOG_ROOM);
    const char *dir = str_z(&a, str_printf(&a, "%s/copy", w->dir));
    check_int(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < countof(files); i++)
        copy_file(str_z(&a, str_printf(&a, "%s/%s", w->dir, files[i])),
                  str_z(&a, str_printf(&a, "%s/%s", dir, files[i])));
    struct store *copy = store_sqlite_open(w->io, dir, find_kind, NULL, &err);
    check_samez(err_str(&err), "");
    check_int(store_revision(copy), 3);
    check_int(store_count(copy, &thing), 2);
    store_free(copy);
    world_free(w);
}

struct seen {
    struct store_watch *watch;
    struct buf out;
    int wakes;
};

static void take_all(void *ctx)
{
    struct seen *s = ctx;
    struct store_event e;
    struct err err = {0};
    int rc;

    s->wakes++;
    while ((rc = store_watch_next(s->watch, &e, &err)) == 1)
        buf_printf(&s->out, "%c%.*s:%" PRIu64 " ", "+~-"[e.verb], STR_ARG(object_path(e.now)),
                   e.revision);
    if (rc < 0)
        buf_printf(&s->out, "%s ", err_name(err.code));
}

TEST(watches)
{
    static const struct {
        const char *name, *before, *ns, *one;
        uint64_t from;
        const char *after, *want;
    } cases[] = {
        {"from the present", "+a 0 .",      "",  "",  1, "+b 0 +a 1 -b 2 .",               "+b:2 ~a:3 -b:4"},
        {"from the past",    "+a 0 +b 0 .", "",  "",  0, ".",                              "+a:1 +b:2"     },
        {"from between",     "+a 0 +b 0 .", "",  "",  1, "+c 0 .",                         "+b:2 +c:3"     },
        {"from the future",  "+a 0 .",      "",  "",  2, "+b 0 +c 0 .",                    "+c:3"          },
        {"one namespace",    "",            "n", "",  0, "+n/a 0 +m/a 0 +na/a 0 +n/b 0 .", "+n/a:1 +n/b:4" },
        {"one name",         "",            "n", "a", 0, "+n/a 0 +m/a 0 +n/ab 0 +n/a 1 .", "+n/a:1 ~n/a:4" },
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        struct world *w = world_new(false);
        struct seen s = {0};
        play(w, &a, cases[i].before);
        s.watch = store_watch_new(w->store, &thing, str_from(cases[i].ns),
                                  str_from(cases[i].one), cases[i].from, take_all, &s);
        play(w, &a, cases[i].after);
        while (io_turn(w->io))
            ;
        check_samez(str_trim(buf_str(&s.out)), cases[i].want);
        check_int(store_watch_revision(s.watch), MAX(store_revision(w->store), cases[i].from));
        store_watch_free(s.watch);
        buf_fini(&s.out);
        world_free(w);
    }
}

TEST(slow_watch)
{
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(false);
    struct seen s = {0}, idle = {0};

    test_case("one that takes nothing is overtaken; one that waits for other keys is not");
    s.watch = store_watch_new(w->store, &thing, S(""), S(""), 0, take_all, &s);
    idle.watch = store_watch_new(w->store, &thing, S("n"), S(""), 0, take_all, &idle);
    for (int i = 0; i < STORE_MAX_EVENTS + 10; i++) {
        struct object *o = make(w, &a, str_printf(&a, "k%d", i));
        store_put(w->store, o, 0, NULL, NULL);
        object_unref(o);
        arena_reset(&a);
    }
    /* All become visible in one turn, before anybody is told. */
    run_dry(w);
    while (io_turn(w->io))
        ;
    check_samez(str_trim(buf_str(&s.out)), "GONE");
    check_int(idle.wakes, 0);
    play(w, &a, "+n/a 0 .");
    while (io_turn(w->io))
        ;
    check_samez(str_trim(buf_str(&idle.out)),
                str_z(&a, str_printf(&a, "+n/a:%d", STORE_MAX_EVENTS + 11)));
    store_watch_free(s.watch);
    store_watch_free(idle.watch);
    buf_fini(&s.out);
    buf_fini(&idle.out);
    world_free(w);
}

static void count_wake(void *ctx)
{
    ((struct seen *)ctx)->wakes++;
}

#define PAD ((size_t)65536)

static void put_heavy(struct world *w, struct arena *a)
{
    struct object *small = make(w, a, S("k")), *was = store_get(w->store, &thing, S("k"));
    char *pad = arena_array(a, char, PAD);

    memset(pad, 'x', PAD);
    struct object *o =
        object_new(&thing, json_with(a, object_tree(small, a), json_of_str(str_of(pad, PAD)),
                                     "pad", NULL));
    store_put(w->store, o, was ? object_revision(was) : 0, NULL, NULL);
    object_unref(o);
    object_unref(small);
    run_dry(w);
    while (io_turn(w->io))
        ;
}

/* Of n versions of 64 KiB, how many a watch takes after the last one, -1: it is cut off. It was
 * there from the start, or comes then and asks for all after the first while another one took
 * each at once. */
static int64_t taken_late(int n, bool is_there)
{
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(false);
    struct store_event e;
    struct err err = {0};
    struct seen s = {0};
    int64_t taken = 0;
    int rc = 0;

    s.watch = store_watch_new(w->store, &thing, S(""), S(""), 0,
                              is_there ? count_wake : take_all, &s);
    for (int i = 0; i < n; i++) {
        put_heavy(w, &a);
        arena_reset(&a);
    }
    if (!is_there) {
        store_watch_free(s.watch);
        s.watch = store_watch_new(w->store, &thing, S(""), S(""), 1, count_wake, &s);
    }
    while ((rc = store_watch_next(s.watch, &e, &err)) == 1)
        taken++;
    store_watch_free(s.watch);
    buf_fini(&s.out);
    world_free(w);
    return rc < 0 ? -1 : taken;
}

TEST(late_watch)
{
    static const struct {
        const char *name;
        int n;
        bool is_there;
        int64_t want;
    } cases[] = {
        {"what a slow one has not taken is kept for it", 300, true,  300},
        {"within bounds",                                900, true,  -1 },
        {"what everybody took is not",                   300, false, -1 },
        {"but for a while",                              60,  false, 59 },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_int(taken_late(cases[i].n, cases[i].is_there), cases[i].want);
    }
}

TEST(counts)
{
    scoped(arena_fini) struct arena a = {0};

    for (int on_disk = 0; on_disk < 2; on_disk++) {
        struct world *w = world_new(on_disk);
        play(w, &a, "+a 0 +b 0 . +c 0 +c 0 .");
        check_int(store_counts(w->store).writes, 3);
        check(on_disk ? store_counts(w->store).commits >= 1 : !store_counts(w->store).commits);
        check(store_counts(w->store).commits <= 3);
        world_free(w);
    }
}

static void put_new(struct world *w, struct arena *a, int n)
{
    for (int i = 0; i < n; i++) {
        struct object *o = make(w, a, str_printf(a, "k%d", w->n_puts));
        store_put(w->store, o, 0, answered, w);
        object_unref(o);
    }
}

/* While a turn makes puts, the first of them are written. That is the thread's doing, which has
 * its own time: so it is given more and more. */
TEST(early_puts)
{
    scoped(arena_fini) struct arena a = {0};
    uint64_t most = 0;

    for (unsigned ms = 1; most < 2 && ms <= 2048; ms *= 2) {
        struct world *w = world_new(true);
        put_new(w, &a, 17);
        usleep(ms * 1000);
        put_new(w, &a, 3);
        run_dry(w);
        check_samez(str_trim(buf_str(&w->out)),
                    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
        most = MAX(most, store_counts(w->store).commits);
        world_free(w);
    }
    check_int(most, 2);
}

/* Under steady load one commit does for many: few are made early. */
TEST(steady_puts)
{
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(true);
    struct span began = io_uptime_now(w->io);

    for (int i = 0; i < 100; i++) {
        put_new(w, &a, 16);
        usleep(3000); /* longer than most commits */
    }
    int64_t ms = (io_uptime_now(w->io).ns - began.ns) / 1000000;
    run_dry(w);
    check(store_counts(w->store).commits <=
          (uint64_t)(16 + ms / 20 + 1600 / STORE_MAX_BATCH + 2));
    world_free(w);
}

TEST(many)
{
    scoped(arena_fini) struct arena a = {0};
    struct world *w = world_new(false);

    test_case("in any order of putting, lists are sorted and pages meet");
    for (unsigned i = 0; i < 5000; i++) {
        struct object *o = make(w, &a, str_printf(&a, "k%05u", i * 2654435761u % 100000u));
        store_put(w->store, o, 0, NULL, NULL);
        object_unref(o);
    }
    run_dry(w);
    struct str after = S("");
    size_t n = 0;
    for (bool is_end = false; !is_end;) {
        struct store_walk walk = store_walk(w->store, &a, &thing, S(""), after, 0);
        struct object *o;
        for (int i = 0; i < 7 && (o = store_next(&walk)); i++, n++) {
            check(str_cmp(after, object_path(o)) < 0);
            after = object_path(o);
        }
        is_end = !store_next(&walk);
    }
    check_int(n, store_count(w->store, &thing));
    test_case("what is left is counted without walking");
    struct store_walk walk = store_walk(w->store, &a, &thing, S(""), S(""), 0);
    for (int i = 0; i < 1234; i++)
        store_next(&walk);
    check_int(store_rest(&walk), n - 1234);
    check(!store_next(&walk));
    play(w, &a, "+n/a 0 +n/b 0 +n0/c 0 +m/z 0 .");
    walk = store_walk(w->store, &a, &thing, S("n"), S("n/a"), 0);
    check_int(store_rest(&walk), 1);
    world_free(w);
}
