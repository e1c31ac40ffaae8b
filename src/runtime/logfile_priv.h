/* logfile_priv.h - a container's output as lines on disk
 *
 *     2026-11-30T05:50:32.123456789Z stdout F a whole line
 *     2026-11-30T05:50:32.123456789Z stdout P a piece of one; the next record of stdout goes on
 *
 * The form is that of the CRI; our prefix has a fixed width, LOG_PREFIX. A line longer than
 * LOG_MAX_PIECE is written in pieces, and so is what stands unfinished at the end. NAME is the
 * newest file; at log_max bytes it becomes NAME.1, then NAME.2 ...: numbers only rise, and the
 * oldest go.
 */
#pragma once

#include "base/base.h"

#define LOG_MAX_PIECE 16384
#define LOG_PREFIX 40
#define LOG_TAG_AT 38

struct logfile {
    char *path; /* NULL: what comes is dropped */
    int fd;     /* -1: not opened yet */
    int64_t size, max, files;
    uint64_t last_number; /* of rotated files; found when the first one is made */
    bool knows_number;
    uint64_t dropped; /* bytes, since the disk refused them */
    int drop_errno;
};

/* One of a container's two streams. */
struct logpipe {
    int fd;    /* reading end; -1 closed */
    int epoll; /* taken out of this one before it is closed (children may hold copies); 0 none
                */
    bool is_stderr;
    char *piece; /* of an unfinished line; NULL or LOG_MAX_PIECE bytes */
    size_t piece_len;
};

void logfile_init(struct logfile *f, struct str path, int64_t max, int64_t files);
void logfile_fini(struct logfile *f);
/* Reads once (up to 32 KiB) and writes the lines. 1: there may be more; 0: nothing now; -1: the
 * stream ended (its rest is written and fd closed). */
int logpipe_read(struct logpipe *p, struct logfile *f);
/* Ends it as if the writer had. */
void logpipe_end(struct logpipe *p, struct logfile *f);

/* "2026-11-30T05:50:32.123456789Z", 30 bytes, for 1970..9999. */
void log_put_time(char out[30], int64_t ns);
