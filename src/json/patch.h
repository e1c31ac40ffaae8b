/* patch.h - the patches that need no schema: JSON patch (RFC 6902), merge patch (RFC 7386)
 *
 * Results share what the patch leaves alone with the document and with the patch.
 */
#pragma once

#include "json/json.h"

#define JSON_PATCH_MAX_OPS 10000
#define JSON_PATCH_MAX_COPIED ((size_t)3 << 20) /* bytes that `copy` may add in all */
#define JSON_PATCH_MAX_WORK 100000000           /* elements looked at or moved in all */

/* The document after all operations. Where the RFC is silent or upstream laxer: negative
 * indexes count from the end (but not for `add`), `replace` of a missing member adds it, `test`
 * for null passes on a missing member. NULL: ERR_SYNTAX where the patch is no list of objects;
 * ERR_LIMIT past JSON_PATCH_MAX_OPS; ERR_INVALID with the operation where one fails, or where
 * the result passes another limit. */
const struct json *json_patch(struct arena *a, const struct json *doc, const struct json *patch,
                              struct err *err);

/* The document after a merge patch; `doc` may be NULL. As upstream, null members go also from
 * objects inside lists that the patch brings. */
const struct json *json_merge_patch(struct arena *a, const struct json *doc,
                                    const struct json *patch);
/* The merge patch that makes `to` of `from` (NULL: none); {} where two objects are equal. A
 * null member of `to` cannot be said by a merge patch: it is taken out. */
const struct json *json_merge_diff(struct arena *a, const struct json *from,
                                   const struct json *to);
/* The merge patch that carries original -> modified over to current, as a client's apply
 * computes it: what differs from modified is set, what original had and modified lacks is
 * deleted, the rest of current stays. An object, perhaps empty. */
const struct json *json_merge_three_way(struct arena *a, const struct json *original,
                                        const struct json *modified,
                                        const struct json *current);
