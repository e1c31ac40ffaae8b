/* codec.h - between trees and the C structs that kindc wrote
 *
 * The structs are described in schema/table.h; schema/view.h reads and writes them.
 */
#pragma once

#include "json/json.h"

struct schema;
struct schema_field;

/* The C struct of an object schema, in the arena, from a tree that was conformed. What is
 * absent holds its default, or zero, with its bit clear; values of another type than the
 * schema's are taken as absent. Strings are borrowed from the tree. */
void *schema_decode(struct arena *a, const struct schema *s, const struct json *v);
/* Puts the view of an object into its field of a struct that was decoded without it. */
void schema_view_put(void *out, const struct schema_field *f, const void *view);

/* The tree of a struct: set fields in the order of the table, cleared ones as null. Strings are
 * borrowed from the struct. */
struct json schema_encode(struct arena *a, const struct schema *s, const void *view);
