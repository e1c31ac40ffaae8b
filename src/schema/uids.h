/* uids.h - sets of fields that differ in one uid
 *
 * Items of some lists are told apart by uids: who owns an object, which pods are not counted so
 * far. Thousands of sets differ in nothing else. Where the item is the only one of its list,
 * whatever holds of such a set holds with any other uid in its place.
 */
#pragma once

#include "schema/fieldset.h"

#define UID_LEN ((size_t)36)

/* The first uid in the text, as "01234567-89ab-cdef-0123-456789abcdef"; "" where there is none.
 */
struct str uid_find(struct str text);
/* A copy of the text with every `from` become `to`, which is as long. */
struct str uid_swap(struct arena *a, struct str text, struct str from, struct str to);
/* Is every element of the set that has the uid in it the only one of its level, and no field?
 */
bool uid_is_alone(struct fieldset set, struct str uid);
