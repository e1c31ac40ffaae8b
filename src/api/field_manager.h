/* field_manager.h - under which name a write is recorded */
#pragma once

#include "base/base.h"

#define FIELD_MANAGER_MAX 128 /* bytes */

/* The one that was given, else what the User-Agent has before its first '/', printable and cut
 * to FIELD_MANAGER_MAX bytes. */
struct str field_manager_name(struct arena *a, struct str given, struct str user_agent);
