/* admit_priv.h - the plugins of admission: 0, or -1 after the failure was answered */
#pragma once

#include "server/write_priv.h"

int admit_priority(struct write *w);
int admit_tolerations(struct write *w);
int admit_limits(struct write *w);
int admit_node_taint(struct write *w);
int admit_node_restriction(struct write *w);
int admit_rbac(struct write *w);

/* A Pod that is being created. */
bool is_new_pod(const struct write *w);
/* spec.NAME of the tree. */
void spec_set(struct write *w, struct str name, struct json v);
/* 403 about the object by the name it is to have. */
int fail_forbidden_named(struct write *w, const char *format, ...) like_printf(2, 3);
