/* log.c - output to lines, lines to text */
#include "base/testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/io.h"
#include "runtime/logfile_priv.h"
#include "runtime/logread_priv.h"
#include "runtime/runtime.h"

static char dir[64], path[96];

static void make_dir(void)
{
    snprintf(dir, sizeof(dir), "/tmp/berth-log-XXXXXX");
    check(mkdtemp(dir) != NULL);
    snprintf(path, sizeof(path), "%s/c/0.log", dir);
}

static int count_files(bool remove)
{
    char sub[80];
    struct dirent *e;
    int n = 0;

    snprintf(sub, sizeof(sub), "%s/c", dir);
    DIR *d = opendir(sub);
    while (d && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        if (remove)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    if (remove) {
        rmdir(sub);
        rmdir(dir);
    }
    return n;
}

/* Writes as a container would, in the given pieces (a NUL ends the list). */
static void write_pieces(const char *const *pieces, size_t n, int64_t max, int64_t files)
{
    struct logfile f;
    struct logpipe p = {.fd = -1};
    int ends[2];

    check_int(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p.fd = ends[0];
    logfile_init(&f, str_from(path), max, files);
    for (size_t i = 0; i < n; i++) {
        struct str s = str_from(pieces[i]);
        check_int(write(ends[1], s.at, s.len), (int64_t)s.len);
        while (logpipe_read(&p, &f) > 0)
            ;
    }
    close(ends[1]);
    check_int(logpipe_read(&p, &f), -1);
    logfile_fini(&f);
}

struct reading {
    struct io *io;
    struct buf text;
    bool ended;
};

static void got_data(void *ctx, struct str bytes)
{
    buf_add(&((struct reading *)ctx)->text, bytes);
}

static void got_end(void *ctx, const struct err *err)
{
    struct reading *r = ctx;

    check(err == NULL);
    r->ended = true;
    io_stop(r->io);
}

static const struct runtime_log_events reading_events = {.data = got_data, .end = got_end};

static void read_log(struct reading *r, const struct runtime_log_options *o)
{
    struct err err;

    *r = (struct reading){.io = io_real_new(&err)};
    struct runtime_log *l =
        runtime_log_open(r->io, NULL, S(""), str_from(path), o, &reading_events, r);
    io_run(r->io);
    check(r->ended);
    runtime_log_close(l);
    io_free(r->io);
}

TEST(log_time)
{
    char out[30];

    log_put_time(out, INT64_C(1764481832123456789));
    check_same(str_of(out, 30), S("2025-11-30T05:50:32.123456789Z"));
    log_put_time(out, INT64_C(1000));
    check_same(str_of(out, 30), S("1970-01-01T00:00:00.000001000Z"));
}

TEST(log_round)
{
    static const struct {
        const char *name;
        const char *pieces[4];
        size_t n;
        int64_t tail, limit;
        const char *want;
    } cases[] = {
        {"lines",                 {"a\nb\n"},           1, -1, -1, "a\nb\n"  },
        {"a line in pieces",      {"a", "b", "c\nd\n"}, 3, -1, -1, "abc\nd\n"},
        {"no newline at the end", {"a\nb"},             1, -1, -1, "a\nb"    },
        {"empty lines",           {"\n\n"},             1, -1, -1, "\n\n"    },
        {"nothing",               {""},                 1, -1, -1, ""        },
        {"the last two",          {"a\nb\nc\n"},        1, 2,  -1, "b\nc\n"  },
        {"the last, unfinished",  {"a\nb\nc"},          1, 1,  -1, "c"       },
        {"more than there are",   {"a\nb\n"},           1, 9,  -1, "a\nb\n"  },
        {"none of them",          {"a\nb\n"},           1, 0,  -1, ""        },
        {"so many bytes",         {"abc\ndef\n"},       1, -1, 5,  "abc\nd"  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct reading r;
        test_case(cases[i].name);
        make_dir();
        write_pieces(cases[i].pieces, cases[i].n, 0, 0);
        read_log(&r, &(struct runtime_log_options){.tail = cases[i].tail,
                                                   .limit_bytes = cases[i].limit});
        check_samez(buf_str(&r.text), cases[i].want);
        buf_fini(&r.text);
        count_files(true);
    }
}

TEST(log_absent)
{
    struct reading r;

    make_dir();
    read_log(&r, &(struct runtime_log_options){.tail = -1, .limit_bytes = -1});
    check_int(r.text.len, 0);
    buf_fini(&r.text);
    rmdir(dir);
}

TEST(log_rotation)
{
    char line[101];
    const char *pieces[1000];
    struct reading r;

    memset(line, 'x', 99);
    line[99] = '\n';
    line[100] = 0;
    for (size_t i = 0; i < countof(pieces); i++)
        pieces[i] = line;
    make_dir();
    write_pieces(pieces, countof(pieces), 20000, 3);
    test_case("three files are kept");
    check_int(count_files(false), 3);
    test_case("they are read as one, the oldest first");
    read_log(&r, &(struct runtime_log_options){.tail = -1, .limit_bytes = -1});
    check(r.text.len > 25000 && r.text.len < 45000 && r.text.len % 100 == 0);
    buf_fini(&r.text);
    test_case("a tail that spans files");
    read_log(&r, &(struct runtime_log_options){.tail = 200, .limit_bytes = -1});
    check_int(r.text.len, 20000);
    buf_fini(&r.text);
    count_files(true);
}

TEST(log_long_line)
{
    static char big[100001];
    const char *pieces[10];
    struct reading r;

    memset(big, 'y', 60000);
    for (size_t i = 0; i < countof(pieces); i++)
        pieces[i] = big;
    make_dir();
    write_pieces(pieces, countof(pieces), 0, 0);
    test_case("a line without end is written in pieces, and comes back whole");
    read_log(&r, &(struct runtime_log_options){.tail = -1, .limit_bytes = -1});
    check_int(r.text.len, 600000);
    buf_fini(&r.text);
    test_case("its tail is all of it");
    read_log(&r, &(struct runtime_log_options){.tail = 1, .limit_bytes = -1});
    check_int(r.text.len, 600000);
    buf_fini(&r.text);
    count_files(true);
}

TEST(log_disk_full)
{
    const char *pieces[] = {"a\n"};

    make_dir();
    char was[96];
    snprintf(was, sizeof(was), "%s", path);
    snprintf(path, sizeof(path), "/dev/full");
    test_case("a full disk takes the lines, and nothing else happens");
    write_pieces(pieces, 1, 0, 0);
    rmdir(dir);

    test_case("and says so once there is room");
    make_dir();
    struct logfile f;
    struct logpipe p = {.fd = -1};
    struct reading r;
    int ends[2];
    check_int(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    p.fd = ends[0];
    logfile_init(&f, S("/dev/full"), 0, 0);
    check_int(write(ends[1], "lost\n", 5), 5);
    logpipe_read(&p, &f);
    check(f.dropped > 0);
    close(f.fd);
    f.fd = -1;
    free(f.path);
    f.path = mem_alloc(sizeof(path));
    memcpy(f.path, path, sizeof(path));
    check_int(write(ends[1], "kept\n", 5), 5);
    logpipe_read(&p, &f);
    close(ends[1]);
    logpipe_read(&p, &f);
    logfile_fini(&f);
    read_log(&r, &(struct runtime_log_options){.tail = -1, .limit_bytes = -1});
    check_same(buf_str(&r.text), S("berth: 45 bytes of log were dropped: No space left on "
                                   "device\nkept\n"));
    buf_fini(&r.text);
    count_files(true);
}

TEST(log_last)
{
    static const struct {
        const char *name, *text;
        int64_t lines;
        size_t bytes;
        const char *want;
    } cases[] = {
        {"all of it",              "a\nb\n",     9, 99, "a\nb\n"},
        {"the last line",          "a\nb\n",     1, 99, "b\n"   },
        {"the last bytes",         "abc\ndef\n", 9, 3,  "ef\n"  },
        {"without a last newline", "a\nb",       1, 99, "b"     },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        test_case(cases[i].name);
        make_dir();
        write_pieces(&cases[i].text, 1, 0, 0);
        check_samez(runtime_log_last(&a, str_from(path), cases[i].lines, cases[i].bytes),
                    cases[i].want);
        count_files(true);
        check_int(runtime_log_last(&a, str_from(path), 1, 1).len, 0);
    }
}

TEST(log_view)
{
    static const struct {
        const char *name;
        bool timestamps, only_stderr;
        const char *since, *want;
    } cases[] = {
        {"all",        false, false, NULL,                             "ab\ne\nc\n"},
        {"with times", true,  false, NULL,
         "2025-01-01T00:00:01.000000000Z ab\n2025-01-01T00:00:02.000000000Z e\n"
         "2025-01-01T00:00:03.000000000Z c\n"                                      },
        {"one stream", false, true,  NULL,                             "e\n"       },
        {"since then", false, false, "2025-01-01T00:00:02.000000000Z", "e\nc\n"    },
    };
    static const char *const lines[] = {
        "2025-01-01T00:00:01.000000000Z stdout P a",
        "2025-01-01T00:00:01.000000000Z stdout F b",
        "2025-01-01T00:00:02.000000000Z stderr F e",
        "2025-01-01T00:00:03.000000000Z stdout F c",
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(buf_fini) struct buf out = {0};
        struct log_view v = {.timestamps = cases[i].timestamps,
                             .only_stderr = cases[i].only_stderr,
                             .has_since = cases[i].since != NULL,
                             .left = -1};
        test_case(cases[i].name);
        if (cases[i].since)
            memcpy(v.since, cases[i].since, 30);
        for (size_t k = 0; k < countof(lines); k++) {
            struct log_record r = log_record_parse(str_from(lines[k]));
            log_view_put(&v, &r, &out);
        }
        check_samez(buf_str(&out), cases[i].want);
    }
}

TEST(log_foreign)
{
    struct log_record r = log_record_parse(S("not ours at all"));

    check_same(r.text, S("not ours at all"));
    check(!r.is_piece && r.time.len == 0);
}
