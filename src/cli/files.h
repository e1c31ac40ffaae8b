/* files.h - the few files that commands read and write themselves */
#pragma once

#include "base/base.h"
#include "json/json.h"

#define FILE_MAX_BYTES ((size_t)64 << 20)

/* The directory of this berth's data: `given`, else $BERTH_DATA, else the system's state
 * directory for root and the user's own otherwise. An absolute path in the arena. */
struct str place_data(struct arena *a, const char *given);
/* DIR/NAME. */
struct str place_in(struct arena *a, struct str dir, const char *name);
/* Makes the directory and those above it with this mode. 0, or -1 with ERR_IO. */
int dir_make(struct arena *a, struct str path, uint32_t mode, struct err *err);
/* The bytes of a file; "-" is standard input. -1: ERR_NOT_FOUND, ERR_IO, ERR_LIMIT. */
int file_read(struct arena *a, struct str path, struct str *out, struct err *err);

/* The objects of a YAML or JSON file in their order; those of a List stand for themselves. */
struct file_object {
    const struct json *value; /* an object */
    size_t line;              /* where its document begins */
};
struct file_objects {
    VEC(struct file_object) list;
};
/* -1 with err, which names the file; ERR_NOT_FOUND also where no object is in it. */
int file_objects(struct arena *a, struct str path, struct file_objects *out, struct err *err);

/* Replaces the file by a new one, durable before it is seen. -1 with ERR_IO. */
int file_write(struct arena *a, struct str path, uint32_t mode, struct str bytes,
               struct err *err);
bool file_is_there(struct arena *a, struct str path);
