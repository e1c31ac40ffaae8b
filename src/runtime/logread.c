/* logread.c - a container's log as text: tail, since, follow, over rotated files
 *
 *     NAME.3  NAME.4  NAME        the oldest first; NAME is the one that grows
 *
 * Files are read in pieces, one a turn. At the end of NAME a follower waits for inotify; when
 * NAME has become NAME.5 meanwhile (another inode stands there), it reads that to its end and
 * goes on with the next.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/io.h"
#include "runtime/logfile_priv.h"
#include "runtime/logread_priv.h"
#include "runtime/runtime.h"
#include "runtime/runtime_priv.h"

#define READ_BYTES 65536
#define LOOK_AGAIN_MS 250
#define NEWEST UINT64_MAX /* the number of NAME itself */

/* ---- records ---- */

static bool is_time(struct str s)
{
    return s.len >= 20 && s.at[4] == '-' && s.at[10] == 'T';
}

struct log_record log_record_parse(struct str line)
{
    struct log_record whole = {.text = line}, r = {0};
    struct str rest, stream, tag;

    if (!str_cut(line, ' ', &r.time, &rest) || !is_time(r.time) ||
        !str_cut(rest, ' ', &stream, &rest))
        return whole;
    str_cut(rest, ' ', &tag, &r.text);
    r.is_stderr = str_eqz(stream, "stderr");
    if (!r.is_stderr && !str_eqz(stream, "stdout"))
        return whole;
    r.is_piece = tag.len && tag.at[0] == 'P';
    return r;
}

static void give(struct log_view *v, struct str s, struct buf *out)
{
    if (v->left >= 0) {
        s = str_slice(s, 0, (size_t)v->left);
        v->left -= (int64_t)s.len;
    }
    buf_add(out, s);
}

void log_view_put(struct log_view *v, const struct log_record *r, struct buf *out)
{
    bool *in_line = &v->in_line[r->is_stderr];

    if ((v->only_stdout && r->is_stderr) || (v->only_stderr && !r->is_stderr))
        return;
    if (v->has_since && r->time.len && str_cmp(r->time, str_of(v->since, 30)) < 0)
        return;
    if (v->timestamps && r->time.len && !*in_line) {
        give(v, r->time, out);
        give(v, S(" "), out);
    }
    give(v, r->text, out);
    if (!r->is_piece)
        give(v, S("\n"), out);
    *in_line = r->is_piece;
}

/* ---- where the last lines begin ---- */

struct tail {
    int64_t *lines;
    bool is_last; /* the next record looked at is the log's last */
    int64_t start;
};

/* Records that end inside block[..len), from the back; false once enough lines were counted. */
static bool count_back(struct tail *t, struct str block, int64_t offset, bool is_start)
{
    size_t end = block.len; /* just behind a newline */

    while (end > 0) {
        size_t begin = str_rindex(str_slice(block, 0, end - 1), '\n');
        if (begin == STR_NONE && !is_start)
            return true; /* the record begins before this block */
        begin = begin == STR_NONE ? 0 : begin + 1;
        struct log_record r = log_record_parse(str_slice(block, begin, end - 1));
        if (!r.is_piece || t->is_last) {
            if (*t->lines == 0) {
                t->start = offset + (int64_t)end;
                return false;
            }
            --*t->lines;
        }
        t->is_last = false;
        end = begin;
    }
    return true;
}

int64_t log_tail_start(int fd, int64_t size, bool is_newest, int64_t *lines)
{
    char *block = mem_alloc(READ_BYTES);
    struct tail t = {.lines = lines, .is_last = is_newest, .start = -1};
    int64_t end = size;

    while (end > 0 && t.start < 0) {
        int64_t from = MAX(end - READ_BYTES, INT64_C(0));
        ssize_t n = pread(fd, block, (size_t)(end - from), from);
        if (n <= 0)
            break;
        struct str s = str_of(block, (size_t)n);
        size_t last = str_rindex(s, '\n');
        if (last == STR_NONE) { /* a line of somebody else's, without end */
            end = from;
            continue;
        }
        s = str_slice(s, 0, last + 1);
        count_back(&t, s, from, from == 0);
        size_t first = str_index(s, '\n');
        end = from == 0 ? 0 : from + (int64_t)first + 1;
        if (first == last && from > 0)
            end = from; /* one record filled the block */
    }
    free(block);
    return MAX(t.start, INT64_C(0));
}

/* ---- the reader ---- */

struct runtime_log {
    struct io *io;
    struct runtime_follower follower; /* rt is NULL where nobody follows */
    struct arena arena;
    char *dir, *name, *path;
    struct runtime_log_options o;
    const struct runtime_log_events *events;
    void *ctx;
    struct log_view view;
    int fd; /* of the file that is read, or -1 */
    uint64_t number;
    bool has_begun, is_paused, is_scheduled, is_done;
    struct buf in;
    struct io_timer *again; /* where inotify has no room for us */
};

static void step(void *ctx);
static void look_again(void *ctx);

static void schedule(struct runtime_log *l)
{
    if (l->is_paused || l->is_scheduled)
        return;
    l->is_scheduled = true;
    io_later(l->io, step, l);
}

/* The smallest number among NAME.N that is at least `from`; NEWEST where there is none. Where
 * `inode` is not 0, only the file with that inode counts. */
static uint64_t find_number(const struct runtime_log *l, uint64_t from, ino_t inode)
{
    struct str name = str_from(l->name);
    uint64_t best = NEWEST, n;
    DIR *d = opendir(l->dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        struct str s = str_from(e->d_name);
        if (!str_starts(s, name) || s.len < name.len + 2 || s.at[name.len] != '.' ||
            !str_to_u64(str_slice(s, name.len + 1, s.len), &n))
            continue;
        if (n >= from && n < best && (inode == 0 || e->d_ino == inode))
            best = n;
    }
    if (d)
        closedir(d);
    return best;
}

static int open_number(const struct runtime_log *l, uint64_t number)
{
    scoped(arena_fini) struct arena a = {0};

    if (number == NEWEST)
        return open(l->path, O_RDONLY | O_CLOEXEC);
    return open(str_z(&a, str_printf(&a, "%s.%" PRIu64, l->path, number)),
                O_RDONLY | O_CLOEXEC);
}

/* True where NAME is not the file that we read any more; its new number then. */
static bool was_rotated(struct runtime_log *l)
{
    struct stat ours, theirs;

    if (l->number != NEWEST || fstat(l->fd, &ours) < 0)
        return false;
    if (stat(l->path, &theirs) == 0 && theirs.st_ino == ours.st_ino)
        return false;
    uint64_t number = find_number(l, 0, ours.st_ino);
    if (number == NEWEST)
        return false; /* deleted */
    l->number = number;
    return true;
}

static void next_file(struct runtime_log *l)
{
    close_fd(&l->fd);
    l->number = find_number(l, l->number + 1, 0);
    l->fd = open_number(l, l->number);
}

/* The file and offset to begin at. */
static void begin(struct runtime_log *l)
{
    uint64_t numbers[64], n = find_number(l, 0, 0);
    size_t count = 0;
    int64_t lines = l->o.tail;
    struct stat st;

    l->has_begun = true;
    for (; n != NEWEST && count < countof(numbers) - 1; n = find_number(l, n + 1, 0))
        numbers[count++] = n;
    numbers[count++] = NEWEST;
    if (lines < 0) {
        l->number = numbers[0];
        l->fd = open_number(l, l->number);
        return;
    }
    for (size_t i = count; i-- > 0;) {
        int fd = open_number(l, numbers[i]);
        int64_t start = 0;
        if (fd >= 0 && fstat(fd, &st) == 0)
            start = log_tail_start(fd, st.st_size, i == count - 1, &lines);
        if (start > 0 || i == 0) {
            l->fd = fd;
            l->number = numbers[i];
            if (fd >= 0)
                lseek(fd, start, SEEK_SET);
            return;
        }
        close_fd(&fd);
    }
}

/* The directory is made as the keeper will at the first byte, so that it can be watched. */
static void start_watch(struct runtime_log *l, struct runtime *rt)
{
    for (char *slash = strchr(l->dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(l->dir, 0755);
        *slash = '/';
    }
    mkdir(l->dir, 0755);
    runtime_follow(rt, &l->follower, l->dir);
    if (l->follower.watch < 0)
        l->again = io_timer_new(l->io, look_again, l);
}

static void woken(struct runtime_follower *f)
{
    schedule(container_of(f, struct runtime_log, follower));
}

/* The whole records of l->in become text. */
static void put_records(struct runtime_log *l, bool is_end, struct buf *out)
{
    struct str rest = buf_str(&l->in), line;

    while (rest.len && l->view.left != 0) {
        size_t end = str_index(rest, '\n');
        if (end == STR_NONE && !is_end && rest.len < READ_BYTES)
            break;
        line = str_slice(rest, 0, end == STR_NONE ? rest.len : end);
        rest = str_slice(rest, line.len + (end != STR_NONE), rest.len);
        struct log_record r = log_record_parse(line);
        log_view_put(&l->view, &r, out);
    }
    buf_drop(&l->in, l->in.len - rest.len);
}

static void finish(struct runtime_log *l)
{
    runtime_unfollow(&l->follower);
    l->events->end(l->ctx, NULL);
}

/* At the end of what there is: 1 go on reading, 0 wait, -1 it is all. */
static int at_end(struct runtime_log *l, bool may_grow)
{
    if (l->fd >= 0 && was_rotated(l))
        return 1;
    if (l->number != NEWEST) {
        next_file(l);
        return 1;
    }
    if (l->fd < 0)
        l->fd = open_number(l, NEWEST);
    else if (!may_grow)
        return -1;
    else
        return 0;
    if (l->fd >= 0)
        return 1;
    return may_grow ? 0 : -1;
}

static void look_again(void *ctx)
{
    schedule(ctx);
}

static void step(void *ctx)
{
    struct runtime_log *l = ctx;
    struct buf out = {0};
    bool may_grow =
        l->o.follow && l->follower.rt && runtime_may_write(l->follower.rt, l->follower.id);
    int more = 1;

    l->is_scheduled = false;
    if (l->is_done) {
        finish(l);
        return;
    }
    if (!l->has_begun)
        begin(l);
    ssize_t n = l->fd < 0 ? 0 : read(l->fd, buf_room(&l->in, READ_BYTES), READ_BYTES);
    if (n > 0)
        l->in.len += (size_t)n;
    else
        more = at_end(l, may_grow);
    put_records(l, more < 0, &out);
    l->is_done = more < 0 || l->view.left == 0;
    if (more > 0 || l->is_done)
        schedule(l);
    else if (l->again)
        io_timer_set(l->again, span_ms(LOOK_AGAIN_MS));
    if (out.len)
        l->events->data(l->ctx, buf_str(&out)); /* may close us: nothing of ours after it */
    buf_fini(&out);
}

struct runtime_log *runtime_log_open(struct io *io, struct runtime *rt, struct str id,
                                     struct str log_path, const struct runtime_log_options *o,
                                     const struct runtime_log_events *events, void *ctx)
{
    struct runtime_log *l = mem_zero(1, sizeof(*l));
    struct str dir, name;

    *l = (struct runtime_log){.io = io, .o = *o, .events = events, .ctx = ctx, .fd = -1};
    str_rcut(log_path, '/', &dir, &name);
    l->path = str_z(&l->arena, log_path);
    l->dir = str_z(&l->arena, dir);
    l->name = str_z(&l->arena, name);
    l->view = (struct log_view){.timestamps = o->timestamps,
                                .only_stdout = o->only_stdout,
                                .only_stderr = o->only_stderr,
                                .has_since = instant_is_set(o->since),
                                .left = o->limit_bytes};
    if (l->view.has_since)
        log_put_time(l->view.since, o->since.ns);
    l->follower.id = str_copy(&l->arena, id);
    l->follower.wake = woken;
    if (o->follow && rt)
        start_watch(l, rt);
    schedule(l);
    return l;
}

struct str runtime_log_last(struct arena *a, struct str log_path, int64_t lines, size_t bytes)
{
    struct buf out = buf_in(a, 256);
    struct log_view view = {.left = -1};
    scoped(close_fd) int fd = open(str_z(a, log_path), O_RDONLY | O_CLOEXEC);
    struct stat st;
    struct str rest, line;

    if (fd < 0 || fstat(fd, &st) < 0)
        return (struct str){0};
    int64_t start = log_tail_start(fd, st.st_size, true, &lines);
    /* More than this cannot be shown: each record shows all but its prefix. */
    start = MAX(start, st.st_size - (int64_t)(bytes + LOG_MAX_PIECE) * 2);
    size_t room = (size_t)(st.st_size - start);
    char *text = arena_raw(a, room + 1, 1);
    ssize_t n = pread(fd, text, room, start);
    rest = str_of(text, n > 0 ? (size_t)n : 0);
    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        struct log_record r = log_record_parse(line);
        log_view_put(&view, &r, &out);
    }
    return str_slice(buf_str(&out), out.len > bytes ? out.len - bytes : 0, out.len);
}

void runtime_log_pause(struct runtime_log *l)
{
    l->is_paused = true;
    io_later_cancel(l->io, step, l);
    l->is_scheduled = false;
}

void runtime_log_resume(struct runtime_log *l)
{
    l->is_paused = false;
    schedule(l);
}

void runtime_log_close(struct runtime_log *l)
{
    if (!l)
        return;
    io_later_cancel(l->io, step, l);
    runtime_unfollow(&l->follower);
    io_timer_free(l->again);
    close_fd(&l->fd);
    buf_fini(&l->in);
    arena_fini(&l->arena);
    free(l);
}
