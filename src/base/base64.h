/* base64.h - bytes as text (RFC 4648, standard alphabet, padded) */
#pragma once

#include "base/buf.h"

void base64_encode(struct buf *out, struct str bytes);
/* False where the text is not base64; new lines are passed over, as Go does. In the arena. */
bool base64_decode(struct arena *a, struct str text, struct str *out);
/* Where a text stops being base64: the byte, or the start of a last group that is cut short. */
size_t base64_fault(struct str text);
