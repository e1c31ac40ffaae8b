/* digest.h - SHA-256 over a long stream, made by a thread beside it
 *
 * What is written is hashed later, in the order in which it came: the sum depends on the bytes
 * alone.
 */
#pragma once

#include "base/base.h"

struct digest;

struct digest *digest_new(void);
void digest_free(struct digest *d); /* accepts NULL */
/* What is not handed to the thread yet, for more to be written behind it; then
 * digest_written(). */
struct buf *digest_buf(struct digest *d);
void digest_written(struct digest *d);
/* Of all that was added so far, in hexadecimal; more may follow. */
struct str digest_text(struct digest *d, struct arena *a);
