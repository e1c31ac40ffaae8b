/* logread_priv.h - records of a log file, taken apart (for the reader, its tests and fuzzing)
 */
#pragma once

#include "base/base.h"

struct log_record {
    struct str time; /* as written; "" where the line is not in our form */
    bool is_stderr;
    bool is_piece; /* the line goes on in the next record of its stream */
    struct str text;
};

/* One line without its newline. Never fails: what is not in the form is a whole line of text.
 */
struct log_record log_record_parse(struct str line);

struct log_view {
    bool timestamps, only_stdout, only_stderr;
    char since[30]; /* as log_put_time() writes it */
    bool has_since;
    int64_t left;    /* bytes that may still be given; -1 any */
    bool in_line[2]; /* a piece of this stream's line was given */
};

/* Appends what the view shows of one record. */
void log_view_put(struct log_view *v, const struct log_record *r, struct buf *out);
/* Where in a file the last *lines lines begin; *lines goes down by those found. `size` bytes of
 * the descriptor are looked at, and `is_newest` where an unfinished line may end it. */
int64_t log_tail_start(int fd, int64_t size, bool is_newest, int64_t *lines);
