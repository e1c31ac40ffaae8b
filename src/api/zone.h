/* zone.h - time zones by name */
#pragma once

#include "base/base.h"

/* A name of the IANA database, "Local", or "" (which is UTC). Names are exact. */
bool zone_is_known(struct str name);
