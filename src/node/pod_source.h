/* pod_source.h - what a pod's containers are told: variables, files, values of fields (pure)
 *
 * ConfigMaps and Secrets are looked up among those that the agent has read for the pod.
 */
#pragma once

#include "base/base.h"
#include "value/strs.h"

struct container;
struct pod;
struct volume;

enum source_kind { SOURCE_CONFIG_MAP, SOURCE_SECRET };

/* A ConfigMap or Secret that a pod names. */
struct pod_source {
    enum source_kind kind;
    struct str name;
    bool is_missing;
    struct str_map data;   /* decoded */
    struct str_map binary; /* of a ConfigMap: files only */
};

/* What is known about the place. */
struct pod_facts {
    const struct pod *pod;
    const struct pod_source *sources;
    size_t n_sources;
    struct str host_ip;
    int64_t node_cpu_millis, node_memory, node_storage; /* where a limit is not set */
};

/* Every ConfigMap and Secret that the pod names; in the arena. */
size_t pod_sources(struct arena *a, const struct pod *pod, struct pod_source **out);

/* Variables in the order in which they were first set; later ones win. */
struct env {
    struct arena *arena;
    VEC(struct str_entry) vars;
};
void env_set(struct env *e, struct str name, struct str value);
struct str env_get(const struct env *e, struct str name); /* "" where there is none */
/* $(NAME) becomes the variable's value, $$ a dollar; what is unknown stays as it is. */
struct str env_expand(const struct env *e, struct str text);
/* "NAME=value" each. */
const struct str *env_strings(const struct env *e);

/* envFrom, then env, on top of what is there. -1 with ERR_NOT_FOUND or ERR_INVALID where a
 * source that is not optional is missing. */
int env_of_container(struct env *e, const struct pod_facts *f, const struct container *c,
                     struct err *err);

/* One file of a volume. */
struct volume_file {
    struct str path; /* relative, never out of the volume */
    struct str bytes;
    int32_t mode;
};
struct volume_files {
    VEC(struct volume_file) files; /* in the arena */
};
/* The files of a configMap, secret, downwardAPI or projected volume. -1: ERR_NOT_FOUND where a
 * source is missing, ERR_INVALID for an impossible path or field, ERR_UNSUPPORTED. */
int volume_files_of(struct arena *a, const struct pod_facts *f, const struct volume *v,
                    struct volume_files *out, struct err *err);
/* What gives tokens of the API to containers with a network of their own: left out. */
bool volume_is_ignored(const struct volume *v);
/* True for the kinds that volume_files_of() knows. */
bool volume_has_files(const struct volume *v);

/* metadata.name, metadata.labels['k'] ... -1 with ERR_INVALID. */
int pod_field(struct arena *a, const struct pod_facts *f, struct str path, struct str *out,
              struct err *err);
