/* session.h - one command's talk with a running berth
 *
 * Connects by the unix socket of the data directory (or by $KUBECONFIG with --remote) and lets
 * a command ask one thing after another: each call runs the loop until its answer is there.
 */
#pragma once

#include "cli/cli.h"
#include "client/client.h"
#include "json/json.h"

struct io;
struct http_header;
struct object;

struct session {
    struct cli_args *args;
    struct arena *arena; /* the command's */
    struct io *io;
    struct client *client;
    struct str dir, ns;
};

/* Flags that every command with a session has; put CLI_SESSION_FLAGS into its table. */
#define CLI_SESSION_FLAGS                                                                      \
    {0, "data", "DIR", "the data directory of the berth to talk to"},                          \
    {                                                                                          \
        'n', "namespace", "NAME", "the namespace (`default`, or yours)"                        \
    }

/* 0, or the exit code after one sentence on stderr. */
int session_open(struct session *s, struct cli_args *args);
void session_close(struct session *s);

/* The loop runs until session_done(), at the most for `most` (0: no limit); false where the
 * time was up. */
bool session_run(struct session *s, struct span most);
void session_done(struct session *s);

struct session_answer {
    int code;
    struct object *object; /* a reference of the caller's, or NULL */
    struct err err;        /* ERR_OK on success */
};
struct session_answer session_get(struct session *s, const struct client_target *t);
struct session_answer session_create(struct session *s, const struct client_target *t,
                                     const struct json *body);
struct session_answer session_patch(struct session *s, const struct client_target *t,
                                    enum client_patch type, const struct json *body,
                                    const struct client_patch_options *options);
struct session_answer session_delete(struct session *s, const struct client_target *t,
                                     const struct client_delete_options *options);
/* Trees of all objects, in the arena; -1 with err. */
int session_list(struct session *s, const struct client_target *t,
                 const struct client_select *sel, const struct json ***out, size_t *n,
                 struct err *err);
/* Any other request. `each` is told pieces of the body as they come (NULL: gathered into
 * *body). The status, or 0 with err. */
int session_http(struct session *s, const char *method, struct str target, struct str accept,
                 void (*each)(void *ctx, struct str piece), void *ctx, struct str *body,
                 struct err *err);

/* The kind that a word on the command line means: plural, singular, short name or kind, with or
 * without its group. NULL after one sentence on stderr. */
const struct kind *session_kind(const struct cli_args *args, const char *word);
/* Reads "job/NAME" or "NAME" (then `otherwise`). False after one sentence on stderr. */
bool session_target(struct session *s, const char *word, const struct kind *otherwise,
                    struct client_target *out);
/* "job.batch/NAME", as kubectl prints it. */
struct str session_display(struct arena *a, const struct kind *k, struct str name);
