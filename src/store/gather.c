/* gather.c - the log's file: what a commit writes reaches the kernel in one piece
 *
 *     head, page, head, page, …  ─▶ [ held ]  ─sync─▶ one write, one fdatasync
 *
 * SQLite writes each frame of the log in two, its head (24 bytes) and its page, and syncs once
 * before it tells anybody that the frames are there. Here they wait for that sync; whatever
 * else is asked of the file is asked after them. A write that fails does so at the sync, where
 * SQLite takes the commit back as it does for a failed sync.
 *
 * Holds only as long as each commit syncs the log (synchronous=FULL): a reader on another
 * connection is told of frames after the sync that wrote them. All files but the log are the
 * system's own.
 */
#include "store/sqlite_priv.h"

#define HELD_MOST ((size_t)31 * (4096 + 24)) /* SQLite takes less than 128 KiB at one go */

struct log_file {
    sqlite3_file base;
    sqlite3_file *file; /* the system's, behind this */
    char *held;         /* HELD_MOST long, from the first write on */
    size_t n_held;
    sqlite3_int64 at; /* where held belongs in the file */
};

static struct log_file *log_of(sqlite3_file *f)
{
    return container_of(f, struct log_file, base);
}

/* What was held is gone afterwards, written or not. */
static int put_held(struct log_file *l)
{
    size_t n = l->n_held;

    l->n_held = 0;
    return n ? l->file->pMethods->xWrite(l->file, l->held, (int)n, l->at) : SQLITE_OK;
}

static int log_write(sqlite3_file *f, const void *bytes, int len, sqlite3_int64 at)
{
    struct log_file *l = log_of(f);
    size_t n = (size_t)len;

    if (l->n_held && (at != l->at + (sqlite3_int64)l->n_held || l->n_held + n > HELD_MOST)) {
        int rc = put_held(l);
        if (rc != SQLITE_OK)
            return rc;
    }
    if (n > HELD_MOST)
        return l->file->pMethods->xWrite(l->file, bytes, len, at);
    if (!l->held)
        l->held = mem_zero(HELD_MOST, 1);
    if (!l->n_held)
        l->at = at;
    memcpy(l->held + l->n_held, bytes, n);
    l->n_held += n;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *f, void *bytes, int len, sqlite3_int64 at)
{
    struct log_file *l = log_of(f);
    int rc = put_held(l);

    return rc == SQLITE_OK ? l->file->pMethods->xRead(l->file, bytes, len, at) : rc;
}

static int log_sync(sqlite3_file *f, int how)
{
    struct log_file *l = log_of(f);
    int rc = put_held(l);

    return rc == SQLITE_OK ? l->file->pMethods->xSync(l->file, how) : rc;
}

static int log_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct log_file *l = log_of(f);
    int rc = put_held(l);

    return rc == SQLITE_OK ? l->file->pMethods->xTruncate(l->file, size) : rc;
}

static int log_size(sqlite3_file *f, sqlite3_int64 *size)
{
    struct log_file *l = log_of(f);
    int rc = put_held(l);

    return rc == SQLITE_OK ? l->file->pMethods->xFileSize(l->file, size) : rc;
}

static int log_close(sqlite3_file *f)
{
    struct log_file *l = log_of(f);
    int rc = put_held(l);
    int closed = l->file->pMethods->xClose(l->file);

    free(l->held);
    return rc == SQLITE_OK ? closed : rc;
}

static int log_control(sqlite3_file *f, int op, void *arg)
{
    sqlite3_file *file = log_of(f)->file;

    return file->pMethods->xFileControl(file, op, arg);
}

static int log_sector(sqlite3_file *f)
{
    sqlite3_file *file = log_of(f)->file;

    return file->pMethods->xSectorSize(file);
}

static int log_device(sqlite3_file *f)
{
    sqlite3_file *file = log_of(f)->file;

    return file->pMethods->xDeviceCharacteristics(file);
}

/* A log has no locks: those are the database's. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

static sqlite3_vfs *the_system; /* set once, before the first file is opened */

static int open_file(sqlite3_vfs *vfs unused, sqlite3_filename name, sqlite3_file *f, int flags,
                     int *flags_out)
{
    if (!(flags & SQLITE_OPEN_WAL))
        return the_system->xOpen(the_system, name, f, flags, flags_out);
    struct log_file *l = log_of(f);
    *l = (struct log_file){.file = (sqlite3_file *)(l + 1)};
    memset(l->file, 0, (size_t)the_system->szOsFile);
    int rc = the_system->xOpen(the_system, name, l->file, flags, flags_out);
    if (rc == SQLITE_OK)
        l->base.pMethods = &methods;
    return rc;
}

const char *gather_files(void)
{
    static sqlite3_vfs vfs;

    if (!the_system) {
        the_system = sqlite3_vfs_find(NULL);
        vfs = *the_system;
        vfs.zName = "berth";
        vfs.szOsFile = (int)sizeof(struct log_file) + the_system->szOsFile;
        vfs.xOpen = open_file;
        sqlite3_vfs_register(&vfs, 0);
    }
    return vfs.zName;
}
