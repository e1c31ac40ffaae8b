/* journal_priv.h - what the keeper knows, in a file that outlives it
 *
 *     "berth-keeper 1\n" | record | record ...
 *     record: a frame (wire_priv.h) | u64 checksum over the frame's bytes
 *
 * Appended without a sync: it must survive the keeper's and berth's death, not the machine's
 * (then everything it tells of is gone anyway, and a torn tail is cut off).
 */
#pragma once

#include "base/base.h"
#include "runtime/wire_priv.h"

#define JOURNAL_HEAD "berth-keeper 1\n"
#define JOURNAL_COMPACT_AT ((size_t)1 << 20) /* bytes, before it is written anew */

struct journal {
    int dir; /* borrowed */
    int fd;
    size_t size;
    size_t compact_at;
    struct buf pending; /* frames with their checksums, before journal_flush() */
};

typedef void journal_record_fn(void *ctx, const struct wire_frame *frame);

/* Calls each() for every whole record of a file's bytes; how many bytes were good. 0 where the
 * head is not ours (ERR_UNSUPPORTED: of another version). */
size_t journal_replay(struct str bytes, journal_record_fn *each, void *ctx, struct err *err);

/* Opens or makes `journal` in the directory, replays it and cuts off a torn tail. */
int journal_open(struct journal *j, int dir, journal_record_fn *each, void *ctx,
                 struct err *err);
/* Adds a frame and its checksum to what journal_flush() writes. */
void journal_add(struct journal *j, struct str frame);
/* Writes what was added. Failures are logged: the keeper goes on. */
void journal_flush(struct journal *j);
/* True where a new file would be much smaller: call journal_rewrite() with all live frames. */
bool journal_is_large(const struct journal *j);
void journal_rewrite(struct journal *j, struct str frames_with_sums);
/* A frame and its checksum at the end of `out`. */
void journal_put(struct buf *out, struct str frame);
void journal_close(struct journal *j);
