/* yaml.h - YAML text and the JSON tree
 *
 * Scalars mean what they mean to Kubernetes' tools: YAML 1.1 as sigs.k8s.io/yaml resolves it
 * (yes, on and y are booleans; 017 and 0x1f are integers; times stay texts). Mappings become
 * objects in their order; keys that are numbers or booleans become their texts.
 */
#pragma once

#include "json/json.h"

#define YAML_MAX_TEXT JSON_MAX_TEXT
#define YAML_MAX_ALIASED ((size_t)4 << 20) /* bytes that aliases may add to a stream */
#define YAML_MAX_DOCS 100000

struct yaml_doc {
    const struct json *value; /* null for an empty document */
    size_t line;              /* where it begins, from 1 */
};

struct yaml_docs {
    VEC(struct yaml_doc) list; /* in the arena of the parse */
};

/* All documents of a stream. Nothing in them points into `text`. Where `dups` is NULL, a key
 * that a mapping holds twice is refused; else the last one wins and the paths are told as
 * json_parse() tells them. -1 (docs untouched): ERR_SYNTAX or ERR_LIMIT, with line and
 * column. */
int yaml_parse(struct arena *a, struct str text, struct json_dups *dups, struct yaml_docs *docs,
               struct err *err);
/* The only document of a stream, null where it is empty. NULL also where there are more. */
const struct json *yaml_parse_one(struct arena *a, struct str text, struct json_dups *dups,
                                  struct err *err);

/* Block style as `kubectl get -o yaml` prints: keys in natural order, lists not indented under
 * their key, texts of several lines as '|', quotes where a plain scalar would mean something
 * else. Ends with a line feed. Invalid UTF-8 becomes U+FFFD. */
void yaml_write(struct buf *out, const struct json *v);
