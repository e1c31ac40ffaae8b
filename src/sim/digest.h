/* digest.h - SHA-256 over a long stream, made by a thread beside it
 *
 * What is added is copied and hashed later, in the order in which it came: the sum depends on
 * the bytes alone.
 */
#pragma once

#include "base/base.h"

struct digest;

struct digest *digest_new(void);
void digest_free(struct digest *d); /* accepts NULL */
void digest_add(struct digest *d, const void *at, size_t len);
/* Of all that was added so far, in hexadecimal; more may follow. */
struct str digest_text(struct digest *d, struct arena *a);
