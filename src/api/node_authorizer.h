/* node_authorizer.h - what a node's identity may touch
 *
 * User system:node:NAME in group system:nodes may work on its own node, its pods and what they
 * mount, claim or run as. The index knows which object belongs to which node through pods and
 * ResourceSlices; its owner keeps it up with the store. Every "no" is no opinion: the next
 * authorizer decides. Which fields of an object a node may change is admission's matter.
 */
#pragma once

#include "api/access.h"

struct node_graph;
struct node_graph *node_graph_new(void);
void node_graph_free(struct node_graph *g);
/* A Pod or ResourceSlice as stored; `object` NULL takes it out. Nothing of the tree is kept.
 * About 100 bytes for each thing that a pod refers to. */
void node_graph_put_pod(struct node_graph *g, struct str ns, struct str name,
                        const struct json *object);
void node_graph_put_slice(struct node_graph *g, struct str name, const struct json *object);

/* The node of a user name with its groups; "" where it is none. */
struct str node_of_user(const struct access_user *user);
/* True: allowed. */
bool node_allows(const struct node_graph *g, const struct access *access);
