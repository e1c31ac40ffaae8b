/* node.h - the agent of one real node: its Node object, its pods, their logs
 *
 * Pods that are bound to the node run as processes of this machine (runtime/), as the account
 * that their annotation berth.dev/run-as names. The agent may end at any time: the next one
 * finds what runs, and nothing runs twice. After a restart of the machine, pods that were here
 * end Failed with reason NodeRestart.
 */
#pragma once

#include "base/base.h"
#include "value/strs.h"

struct client;
struct http_request;
struct io;
struct node_agent;

#define NODE_MAX_PODS 250

struct node_config {
    struct str name;     /* of the Node; "" is this machine's name */
    struct str data_dir; /* absolute; the agent's parts are keeper/, pods/, logs/, node.json */
    struct str address;  /* others reach it by; "" none */
    int32_t log_port;    /* where logs are served for other machines; 0 none */
    bool is_remote;      /* in another process than the server: renews a Lease */
    bool is_cordoned;    /* registers unschedulable */
    bool refuse_images;  /* containers that name an image (other than "host") are refused */
    int32_t max_pods;    /* 0: NODE_MAX_PODS */
    struct str_map labels; /* beside the usual ones */
};

/* `client` must outlive it. NULL with ERR_IO where the directory cannot be used. */
struct node_agent *node_agent_new(struct io *io, struct client *client,
                                  const struct node_config *config, struct err *err);
/* Containers run on. Accepts NULL. */
void node_agent_free(struct node_agent *a);

/* Answers `GET .../pods/NAME/log?...`: container, follow, previous, tailLines, sinceSeconds,
 * sinceTime, timestamps, limitBytes, stream. The caller was authorised. */
void node_agent_log(struct node_agent *a, struct http_request *q, struct str ns,
                    struct str name);
