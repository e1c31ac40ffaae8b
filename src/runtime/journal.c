/* journal.c - append, replay, write anew */
#include "runtime/journal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUM_BYTES 8

static void put_sum(char *at, uint64_t sum)
{
    for (int i = 0; i < SUM_BYTES; i++)
        at[i] = (char)(sum >> (8 * i));
}

static uint64_t get_sum(const char *at)
{
    uint64_t v = 0;

    for (int i = 0; i < SUM_BYTES; i++)
        v |= (uint64_t)(uint8_t)at[i] << (8 * i);
    return v;
}

size_t journal_replay(struct str bytes, journal_record_fn *each, void *ctx, struct err *err)
{
    struct str head = S(JOURNAL_HEAD);
    struct wire_frame frame;

    if (!str_starts(bytes, head)) {
        if (str_starts(bytes, S("berth-keeper ")))
            err_set(err, ERR_UNSUPPORTED, "the keeper's journal is of another version: '%.*s'",
                    STR_ARG(str_slice(bytes, 0, head.len - 1)));
        return 0;
    }
    struct str rest = str_slice(bytes, head.len, bytes.len);
    for (;;) {
        struct str after = rest;
        if (wire_next(&after, &frame, NULL) <= 0 || after.len < SUM_BYTES)
            break;
        if (str_digest(str_of(rest.at, (size_t)(after.at - rest.at))) != get_sum(after.at))
            break;
        each(ctx, &frame);
        rest = str_slice(after, SUM_BYTES, after.len);
    }
    return bytes.len - rest.len;
}

static int read_whole(int fd, struct buf *out, struct err *err)
{
    for (;;) {
        ssize_t n = read(fd, buf_room(out, 65536), 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "cannot read the keeper's journal: %s",
                           strerror(errno));
        if (n == 0)
            return 0;
        out->len += (size_t)n;
    }
}

/* All of it, or what fitted. */
static size_t write_whole(int fd, struct str s)
{
    size_t done = 0;

    while (done < s.len) {
        ssize_t n = write(fd, s.at + done, s.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

int journal_open(struct journal *j, int dir, journal_record_fn *each, void *ctx,
                 struct err *err)
{
    scoped(buf_fini) struct buf old = {0};
    struct err bad = {0};

    *j = (struct journal){.dir = dir, .compact_at = JOURNAL_COMPACT_AT};
    j->fd = openat(dir, "journal", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (j->fd < 0)
        return err_set(err, ERR_IO, "cannot open the keeper's journal: %s", strerror(errno));
    if (read_whole(j->fd, &old, err) < 0)
        return -1;
    j->size = journal_replay(buf_str(&old), each, ctx, &bad);
    if (bad.code) {
        *err = bad;
        return -1;
    }
    if (j->size == 0)
        journal_rewrite(j, (struct str){0});
    else if (j->size < old.len && ftruncate(j->fd, (off_t)j->size) < 0)
        return err_set(err, ERR_IO, "cannot cut the keeper's journal: %s", strerror(errno));
    return 0;
}

void journal_put(struct buf *out, struct str frame)
{
    uint64_t sum = str_digest(frame);

    buf_add(out, frame);
    put_sum(buf_room(out, SUM_BYTES), sum);
    out->len += SUM_BYTES;
}

void journal_add(struct journal *j, struct str frame)
{
    journal_put(&j->pending, frame);
}

void journal_flush(struct journal *j)
{
    if (j->pending.len == 0)
        return;
    size_t n = write_whole(j->fd, buf_str(&j->pending));
    if (n == j->pending.len) {
        j->size += n;
    } else {
        log_error("keeper cannot write its journal", "error='%s'", strerror(errno));
        if (ftruncate(j->fd, (off_t)j->size) < 0)
            log_error("keeper cannot cut its journal", "error='%s'", strerror(errno));
    }
    buf_clear(&j->pending);
    if (j->pending.cap > 65536)
        buf_fini(&j->pending);
}

bool journal_is_large(const struct journal *j)
{
    return j->size > j->compact_at;
}

void journal_rewrite(struct journal *j, struct str frames_with_sums)
{
    scoped(buf_fini) struct buf all = {0};

    int fd =
        openat(j->dir, "journal.new", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    buf_add(&all, S(JOURNAL_HEAD));
    buf_add(&all, frames_with_sums);
    if (fd < 0 || write_whole(fd, buf_str(&all)) < all.len ||
        renameat(j->dir, "journal.new", j->dir, "journal") < 0) {
        log_error("keeper cannot write its journal anew", "error='%s'", strerror(errno));
        close_fd(&fd);
        j->compact_at *= 2; /* not at every record */
        return;
    }
    close(j->fd);
    j->fd = fd;
    j->size = all.len;
    j->compact_at = MAX(JOURNAL_COMPACT_AT, all.len * 4);
}

void journal_close(struct journal *j)
{
    journal_flush(j);
    buf_fini(&j->pending);
    close_fd(&j->fd);
}
