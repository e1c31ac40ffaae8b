/* wire_priv.h - the frames between berth and its keeper, which are the journal's records too
 *
 *     u32 length of what follows | u16 type | fields
 *     field: u16 tag | u32 length | bytes
 *
 * Little-endian. A reader skips tags and types it does not know, so that an older keeper can
 * serve a newer berth; a tag never changes its meaning.
 */
#pragma once

#include "base/base.h"

#include "runtime/runtime.h"

#define WIRE_VERSION 1
#define WIRE_MAX_FRAME ((size_t)8 << 20)

enum wire_type {
    WIRE_HELLO = 1,   /* both ways, first: VERSION; the keeper adds PID, CONDITION, IS_ROOT */
    WIRE_START = 2,   /* berth: a spec */
    WIRE_STOP = 3,    /* berth: ID, GRACE_MS */
    WIRE_FORGET = 4,  /* berth: ID */
    WIRE_STATUS = 5,  /* keeper: a container as it is now; also the journal's record */
    WIRE_LISTED = 6,  /* keeper, once: every container it knows was told */
    WIRE_REFUSED = 7, /* keeper: a START that was not done: ID, CODE, ERROR */
};

enum wire_tag {
    TAG_VERSION = 1,
    TAG_ID = 2,
    TAG_PID = 3,
    TAG_ARG = 4, /* repeated */
    TAG_ENV = 5, /* repeated */
    TAG_CWD = 6,
    TAG_LOG_PATH = 7,
    TAG_UID = 8,
    TAG_GID = 9,
    TAG_GROUP = 10, /* repeated */
    TAG_CPU_MILLIS = 11,
    TAG_CPU_WEIGHT_MILLIS = 12,
    TAG_MEMORY = 13,
    TAG_PIDS = 14,
    TAG_MOUNT_SOURCE = 15, /* repeated; each starts a mount */
    TAG_MOUNT_TARGET = 16,
    TAG_MOUNT_READ_ONLY = 17,
    TAG_NO_NEW_PRIVS = 18,
    TAG_OOM_SCORE = 19,
    TAG_GRACE_MS = 20,
    TAG_STATE = 22,
    TAG_STARTED = 23,
    TAG_FINISHED = 24,
    TAG_EXIT_CODE = 25,
    TAG_EXIT_SIGNAL = 26,
    TAG_OOM_KILLED = 27,
    TAG_LOST = 28,
    TAG_ERROR = 29,
    TAG_CODE = 30,
    TAG_CONDITION = 31,
    TAG_IS_ROOT = 32,
    TAG_CGROUP = 33,
    TAG_LOG_MAX = 34,
    TAG_LOG_FILES = 35,
    TAG_CWD_MAY_FAIL = 36,
};

/* ---- writing: frames at the end of a buffer ---- */

size_t wire_begin(struct buf *b, enum wire_type type); /* a handle for wire_end() */
void wire_str(struct buf *b, enum wire_tag tag, struct str s);
void wire_u64(struct buf *b, enum wire_tag tag, uint64_t v);
void wire_end(struct buf *b, size_t begun);

/* ---- reading ---- */

struct wire_frame {
    uint16_t type;
    struct str fields; /* borrowed from the bytes that were read */
};

struct wire_field {
    uint16_t tag;
    struct str bytes;
};

/* Takes one frame off the front of *bytes: 1; 0 where more bytes are needed (nothing moves);
 * -1 with ERR_LIMIT or ERR_SYNTAX. */
int wire_next(struct str *bytes, struct wire_frame *out, struct err *err);
/* Takes one field off the front: 1, 0 at the end, -1 with ERR_SYNTAX. */
int wire_field(struct str *fields, struct wire_field *out, struct err *err);
/* The field as a number; 0 where it is not one. */
uint64_t wire_number(struct wire_field f);

/* ---- the two things that travel ---- */

void wire_put_spec(struct buf *b, const struct runtime_spec *spec);
/* The arrays are made in the arena, strs borrow from the frame. ERR_SYNTAX, or ERR_INVALID
 * where the spec breaks a rule of runtime.h. */
int wire_get_spec(struct arena *a, struct str fields, struct runtime_spec *out,
                  struct err *err);

/* `cgroup` is the journal's alone ("" elsewhere). */
void wire_put_status(struct buf *b, const struct runtime_status *s, struct str cgroup);
int wire_get_status(struct str fields, struct runtime_status *out, struct str *cgroup,
                    struct err *err);
