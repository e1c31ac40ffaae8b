/* format.h - what `format` demands of a string
 *
 * Two vocabularies: the rules for names that .kind files use (dns-label, label-key ...), with
 * the sentences of Kubernetes' own validation, and OpenAPI's for custom kinds (date-time, byte
 * ...).
 */
#pragma once

#include "value/field_error.h"
#include "json/json.h"

/* Adds what is wrong with v (a string). An unknown format demands nothing. */
void format_check(struct field_errors *e, struct str format, bool is_custom,
                  const struct field_path *p, const struct json *v);
/* Is the text of that OpenAPI format? True for unknown ones. */
bool format_is(struct str format, struct str text);
/* Is the format one that OpenAPI strings know? */
bool format_is_known(struct str format);
