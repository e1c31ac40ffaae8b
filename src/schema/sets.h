/* sets.h - sets of fields that were read before
 *
 * Thousands of objects hold the same few FieldsV1 texts. Those that come again are kept beside
 * their sets: such a text is not read again, and a set that came from here is not written
 * again.
 */
#pragma once

#include "schema/fieldset.h"

#define SETS_MAX 128                /* that are kept */
#define SET_TEXT_MAX ((size_t)4096) /* bytes of a text that is kept */
#define SETS_OUT 16                 /* of those that were read, whose texts are known */

struct sets;

struct sets *sets_new(void);
void sets_free(struct sets *s);

/* What is read from here on is good until the next call. */
void sets_begin(struct sets *s);
/* fieldset_read() of a raw text; of any other value, and where `s` is NULL, that itself. */
int sets_read(struct sets *s, struct arena *a, const struct json *fields, struct fieldset *out,
              struct err *err);
/* The raw text of a set that was read since sets_begin(): that very one, not one like it. NULL
 * where it is not known. */
const struct json *sets_text(const struct sets *s, struct fieldset set);
