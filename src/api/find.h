/* find.h - built-in kinds by name
 *
 * api/kinds.h lists them all. NULL where there is none.
 */
#pragma once

#include "api/kinds.h"

/* kind_find("batch", "v1", "Job") */
const struct kind *kind_find(struct str group, struct str version, struct str kind);
/* kind_by_resource("batch", "v1", "jobs") */
const struct kind *kind_by_resource(struct str group, struct str version, struct str plural);
/* By an object's apiVersion and kind: kind_of("batch/v1", "Job"). */
const struct kind *kind_of(struct str api_version, struct str kind);
