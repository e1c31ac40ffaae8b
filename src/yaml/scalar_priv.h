/* scalar_priv.h - what a plain scalar means */
#pragma once

#include "json/json.h"

/* The value of a plain scalar by the rules of YAML 1.1. JSON_STRING: `text` itself. */
struct json yaml_resolve(struct str text);
/* The same for a scalar with a tag such as "tag:yaml.org,2002:int"; false where the text is
 * none of these. Tags that we do not know make a string. */
bool yaml_resolve_tag(struct arena *a, struct str tag, struct str text, struct json *out);
/* Would the text, written without quotes, be read as something else by us or by others (times,
 * base 60 numbers)? */
bool yaml_needs_quotes(struct str text);
