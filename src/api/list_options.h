/* list_options.h - how to list or watch: selectors, versions, pages, continue tokens */
#pragma once

#include "value/value.h"

struct list_options {
    struct selector labels;
    struct field_selector fields;
    bool watch, allow_watch_bookmarks;
    bool has_send_initial_events, send_initial_events;
    bool has_timeout;
    int64_t timeout_seconds;
    int64_t limit; /* 0: no pages */
    struct str resource_version, resource_version_match, continue_token;
};

/* From a URL's query. ERR_SYNTAX (a 400) where a number or a selector cannot be read. */
int list_options_parse(struct arena *a, const struct str_map *query, struct list_options *out,
                       struct err *err);
/* What does not go together, as 422 shows it. */
void list_options_check(struct field_errors *e, const struct list_options *o,
                        bool has_watch_list);

#define REVISION_ANY INT64_C(0)
#define REVISION_NEWEST INT64_C(-1)

/* At which revision to read, and behind which key to go on. */
struct list_start {
    int64_t revision; /* REVISION_ANY, REVISION_NEWEST, or exactly that one */
    bool has_continue;
    struct str from_key; /* the least key that may follow; key_prefix included */
};

/* `is_collection`: not a read of one key. ERR_SYNTAX (a 400) for a version or a token that
 * cannot be read or do not go together. */
int list_options_resolve(struct arena *a, const struct list_options *o, struct str key_prefix,
                         bool is_collection, struct list_start *out, struct err *err);

/* A token that goes on behind `last_key` (without the key prefix) at `revision`; a negative one
 * means "at the newest", for whom the old one is gone. */
struct str continue_encode(struct arena *a, struct str last_key, int64_t revision);
/* ERR_SYNTAX: `continue key is not valid: ...`. */
int continue_decode(struct arena *a, struct str token, struct str key_prefix,
                    struct str *from_key, int64_t *revision, struct err *err);
