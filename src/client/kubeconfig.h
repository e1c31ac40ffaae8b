/* kubeconfig.h - which server, and who we are to it
 *
 * kubectl's file: clusters, users and contexts that pair them. What is read is one context with
 * its texts loaded; what we write is one of each.
 */
#pragma once

#include "base/base.h"

#define KUBECONFIG_MAX_FILE ((size_t)4 << 20) /* bytes; also of each file it names */

struct kubeconfig {
    struct str context, cluster, user; /* names */
    struct str ns;                     /* of the context; "" none */
    struct str server;                 /* "https://127.0.0.1:6443/prefix", "unix:///run/x" */
    struct str ca;                     /* PEM; "": the system's */
    struct str tls_server_name;        /* "": the server's host */
    bool insecure;
    struct str cert, key; /* PEM; "" none */
    struct str token;
};

/* Reads the text. `context` "": the current one. Files that it names (relative to `dir`) are
 * read. Strs are in the arena. -1 with ERR_SYNTAX (no YAML), ERR_NOT_FOUND (no such context,
 * cluster or user), ERR_INVALID (data that cannot be decoded), ERR_UNSUPPORTED (credentials by
 * a plug-in), ERR_IO. */
int kubeconfig_parse(struct arena *a, struct str text, struct str dir, struct str context,
                     struct kubeconfig *out, struct err *err);
/* The same from a file; also ERR_IO, ERR_LIMIT. */
int kubeconfig_load(struct arena *a, struct str path, struct str context,
                    struct kubeconfig *out, struct err *err);
/* As YAML, with everything embedded; names that are "" become "berth". */
struct str kubeconfig_text(struct arena *a, const struct kubeconfig *k);

/* The server's URL in parts. */
struct kubeconfig_server {
    bool is_tls;
    struct str address;   /* for io_connect() */
    struct str host;      /* without port and brackets */
    struct str authority; /* for the Host header */
    struct str prefix;    /* of every path, without a '/' at the end; "" none */
};
/* -1 with ERR_INVALID. */
int kubeconfig_server(struct arena *a, const struct kubeconfig *k,
                      struct kubeconfig_server *out, struct err *err);
