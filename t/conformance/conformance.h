/* conformance.h - running cases with known right answers
 *
 * A suite is t/conformance/SUITE.c: a table from a file's base name to the function that runs
 * one case of it. Adapters call only doors that the product itself calls.
 */
#pragma once

#include "json/json.h"

struct conf {
    struct arena *arena; /* emptied after each case */
    struct str file;     /* base name without its ending */
    struct str path;
    size_t line; /* of the case, from 1 */
    /* private to main.c */
    bool has_failed;
    bool is_split; /* its parts were counted */
    const char *skip;
};

/* Runs one case. `c` is the line's object; for a suite whose file is one document, that. */
typedef void conf_fn(struct conf *t, const struct json *c);
/* For files whose document is a list: runs and counts each element as a case of its own. */
void conf_each(struct conf *t, const struct json *c, conf_fn *run);
/* For files that are no JSON Lines: gets the whole text. */
typedef void conf_text_fn(struct conf *t, struct str text);

struct conf_file {
    const char *name; /* base name; a trailing '*' matches any rest */
    conf_fn *run;     /* one of the two */
    conf_text_fn *text;
};

struct conf_suite {
    const char *name;
    const struct conf_file *files;
    size_t n_files;
};

/* Fails the case with both sides (any of them may be "" for none). Several may fail; the case
 * counts once. */
void conf_fail(struct conf *t, const char *what, struct str got, struct str want);
/* Fails unless both are equal; NULL is equal to null. True where they are. */
bool conf_same(struct conf *t, const char *what, const struct json *got,
               const struct json *want);
bool conf_same_str(struct conf *t, const char *what, struct str got, struct str want);
/* The case is outside what we do, by a rule that the reason states. */
void conf_skip(struct conf *t, const char *reason);
