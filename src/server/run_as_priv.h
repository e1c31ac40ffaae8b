/* run_as_priv.h - admission: whose work runs as whom */
#pragma once

#include "server/write_priv.h"

/* Does an object of that kind hold a pod or a template of one? */
bool kind_runs(struct server *s, const struct kind *k);
/* A step of admission: 0, or -1 after the failure was answered. */
int run_as_admit(struct write *w);
/* The same for a DELETE. */
int run_as_delete(struct request *r);
