/* logfile.c - lines, pieces, rotation, and a disk that is full */
#include "runtime/logfile_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define READ_BYTES 32768
#define OUT_BYTES 65536

/* Shared by all streams: each read is written before the next one. */
static char in[READ_BYTES];
static char out[OUT_BYTES];
static size_t out_len;

/* ---- time ---- */

static void put_digits(char *at, int64_t v, int n)
{
    while (n-- > 0) {
        at[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

void log_put_time(char to[30], int64_t ns)
{
    static int64_t cached_s = -1;
    static char cached[20];
    int64_t s = ns / SECOND_NS;

    if (s != cached_s) {
        time_t t = (time_t)s;
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(cached, sizeof(cached), "%Y-%m-%dT%H:%M:%S", &tm);
        cached_s = s;
    }
    memcpy(to, cached, 19);
    to[19] = '.';
    put_digits(to + 20, ns % SECOND_NS, 9);
    to[29] = 'Z';
}

/* ---- the file ---- */

void logfile_init(struct logfile *f, struct str path, int64_t max, int64_t files)
{
    *f = (struct logfile){
        .fd = -1,
        .max = max > 0 ? max : RUNTIME_LOG_MAX,
        .files = files > 0 ? files : RUNTIME_LOG_FILES,
    };
    if (path.len) {
        f->path = mem_alloc(path.len + 1);
        memcpy(f->path, path.at, path.len);
        f->path[path.len] = 0;
    }
}

static void note_drop(struct logfile *f, size_t n, int error)
{
    f->dropped += n;
    f->drop_errno = error;
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
}

static bool open_file(struct logfile *f)
{
    static const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    struct stat st;

    if (f->fd >= 0)
        return true;
    f->fd = open(f->path, flags, 0640);
    if (f->fd < 0 && errno == ENOENT) {
        make_parents(f->path);
        f->fd = open(f->path, flags, 0640);
    }
    if (f->fd < 0)
        return false;
    f->size = fstat(f->fd, &st) == 0 ? st.st_size : 0;
    return true;
}

/* The highest number among path.N; the oldest are deleted until `keep` are left. */
static uint64_t tidy_rotated(struct logfile *f, int64_t keep)
{
    char *slash = strrchr(f->path, '/');
    struct str name = str_from(slash + 1), rest;
    uint64_t highest = 0, n;
    struct dirent *e;

    *slash = 0;
    DIR *d = opendir(f->path);
    *slash = '/';
    if (!d)
        return 0;
    for (int pass = 0; pass < 2; pass++) {
        rewinddir(d);
        while ((e = readdir(d)) != NULL) {
            rest = str_from(e->d_name);
            if (!str_starts(rest, name) || rest.len < name.len + 2 || rest.at[name.len] != '.')
                continue;
            if (!str_to_u64(str_slice(rest, name.len + 1, rest.len), &n))
                continue;
            if (pass == 0)
                highest = MAX(highest, n);
            else if ((int64_t)(highest - n) >= keep)
                unlinkat(dirfd(d), e->d_name, 0);
        }
    }
    closedir(d);
    return highest;
}

static void rotate(struct logfile *f)
{
    char *numbered = mem_alloc(strlen(f->path) + 24);
    struct stat st;

    if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        free(numbered);
        f->size = 0; /* not a file: nothing to rotate */
        return;
    }
    if (!f->knows_number) {
        f->last_number = tidy_rotated(f, INT64_MAX);
        f->knows_number = true;
    }
    snprintf(numbered, strlen(f->path) + 24, "%s.%" PRIu64, f->path, ++f->last_number);
    if (rename(f->path, numbered) == 0) {
        close(f->fd);
        f->fd = -1;
        f->size = 0;
        tidy_rotated(f, f->files - 1);
    } else {
        f->size = 0; /* tried again after as many bytes */
        log_warn("log not rotated", "file='%s' error='%s'", f->path, strerror(errno));
    }
    free(numbered);
}

static bool write_bytes(struct logfile *f, const char *at, size_t len)
{
    ssize_t n = write(f->fd, at, len);

    if (n == (ssize_t)len) {
        f->size += n;
        return true;
    }
    int why = n < 0 ? errno : ENOSPC;
    if (n > 0 && ftruncate(f->fd, f->size) < 0)
        f->size += n; /* half a record stays */
    note_drop(f, len, why);
    return false;
}

/* Tells, in the log itself, what a full disk took from it. */
static bool write_drop_note(struct logfile *f)
{
    char line[256];
    struct timespec ts;
    uint64_t dropped = f->dropped;

    clock_gettime(CLOCK_REALTIME, &ts);
    log_put_time(line, ts.tv_sec * SECOND_NS + ts.tv_nsec);
    int n = snprintf(line + 30, sizeof(line) - 30,
                     " stderr F berth: %" PRIu64 " bytes of log were dropped: %s\n", dropped,
                     strerror(f->drop_errno));
    if (!write_bytes(f, line, 30 + (size_t)n)) {
        f->dropped = dropped;
        return false;
    }
    f->dropped = 0;
    return true;
}

static void flush(struct logfile *f)
{
    size_t len = out_len;

    out_len = 0;
    if (len == 0 || !f->path)
        return;
    if (!open_file(f)) {
        note_drop(f, len, errno);
        return;
    }
    if (f->dropped && !write_drop_note(f)) {
        f->dropped += len;
        return;
    }
    if (write_bytes(f, out, len) && f->size >= f->max)
        rotate(f);
}

void logfile_fini(struct logfile *f)
{
    if (f->dropped && f->fd >= 0)
        write_drop_note(f);
    close_fd(&f->fd);
    free(f->path);
    *f = (struct logfile){.fd = -1};
}

/* ---- the streams ---- */

static void put_record(struct logpipe *p, struct logfile *f, int64_t now, char tag,
                       struct str head, struct str tail)
{
    if (out_len + LOG_PREFIX + head.len + tail.len + 1 > sizeof(out))
        flush(f);
    char *at = out + out_len;
    log_put_time(at, now);
    memcpy(at + 30, p->is_stderr ? " stderr " : " stdout ", 8);
    at[LOG_TAG_AT] = tag;
    at[LOG_TAG_AT + 1] = ' ';
    at += LOG_PREFIX;
    if (head.len)
        memcpy(at, head.at, head.len);
    if (tail.len)
        memcpy(at + head.len, tail.at, tail.len);
    at[head.len + tail.len] = '\n';
    out_len += LOG_PREFIX + head.len + tail.len + 1;
}

static void drop_piece(struct logpipe *p)
{
    free(p->piece);
    p->piece = NULL;
    p->piece_len = 0;
}

/* Keeps what has no end yet; pieces leave as they fill up. */
static void keep_piece(struct logpipe *p, struct logfile *f, int64_t now, struct str rest)
{
    while (p->piece_len + rest.len >= LOG_MAX_PIECE) {
        size_t n = LOG_MAX_PIECE - p->piece_len;
        put_record(p, f, now, 'P', str_of(p->piece, p->piece_len), str_slice(rest, 0, n));
        p->piece_len = 0;
        rest = str_slice(rest, n, rest.len);
    }
    if (rest.len == 0)
        return;
    if (!p->piece)
        p->piece = mem_alloc(LOG_MAX_PIECE);
    memcpy(p->piece + p->piece_len, rest.at, rest.len);
    p->piece_len += rest.len;
}

static void put_lines(struct logpipe *p, struct logfile *f, struct str bytes)
{
    struct timespec ts;
    size_t end;

    clock_gettime(CLOCK_REALTIME, &ts);
    int64_t now = ts.tv_sec * SECOND_NS + ts.tv_nsec;
    while ((end = str_index(bytes, '\n')) != STR_NONE) {
        struct str line = str_slice(bytes, 0, end);
        bytes = str_slice(bytes, end + 1, bytes.len);
        while (p->piece_len + line.len > LOG_MAX_PIECE) {
            size_t n = LOG_MAX_PIECE - p->piece_len;
            put_record(p, f, now, 'P', str_of(p->piece, p->piece_len), str_slice(line, 0, n));
            p->piece_len = 0;
            line = str_slice(line, n, line.len);
        }
        put_record(p, f, now, 'F', str_of(p->piece, p->piece_len), line);
        drop_piece(p);
    }
    keep_piece(p, f, now, bytes);
    flush(f);
}

int logpipe_read(struct logpipe *p, struct logfile *f)
{
    ssize_t n = read(p->fd, in, sizeof(in));

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : (logpipe_end(p, f), -1);
    if (n == 0) {
        logpipe_end(p, f);
        return -1;
    }
    put_lines(p, f, str_of(in, (size_t)n));
    return n == sizeof(in) ? 1 : 0;
}

void logpipe_end(struct logpipe *p, struct logfile *f)
{
    struct timespec ts;

    if (p->piece_len) {
        clock_gettime(CLOCK_REALTIME, &ts);
        put_record(p, f, ts.tv_sec * SECOND_NS + ts.tv_nsec, 'P',
                   str_of(p->piece, p->piece_len), (struct str){0});
        flush(f);
    }
    drop_piece(p);
    if (p->epoll)
        epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->fd, NULL);
    close_fd(&p->fd);
    p->fd = -1;
}
