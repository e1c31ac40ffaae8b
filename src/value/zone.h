/* zone.h - time zones: how far local time is from UTC
 *
 * Names are known to the program; what they mean is read from the system's database
 * (/usr/share/zoneinfo) when it is needed.
 */
#pragma once

#include "base/base.h"

/* A name of the IANA database, "Local", or "" (which is UTC). Names are exact. */
bool zone_is_known(struct str name);

/* The zero value is UTC. Tables lie in the bytes it was read from. */
struct zone {
    int64_t fixed; /* seconds east, where there is no table */
    size_t n_times, n_types;
    const char *times; /* 8 bytes each, rising */
    const char *which; /* for each of them, the type that begins */
    const char *types; /* 6 bytes each */
    struct str rule;   /* POSIX text for what is behind the table; may be empty */
};
/* "", "UTC" and "Local" are UTC. In the arena. ERR_NOT_FOUND: the database has no such file;
 * ERR_SYNTAX: it does not say what we understand. */
int zone_load(struct arena *a, struct str name, struct zone *out, struct err *err);
/* From the bytes of such a file (TZif, version 2 or later), which are borrowed. ERR_SYNTAX. */
int zone_parse(struct str bytes, struct zone *out, struct err *err);
/* Seconds east of UTC at a moment, in seconds since 1970. */
int64_t zone_at(const struct zone *z, int64_t seconds);
