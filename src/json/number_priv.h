/* number_priv.h - JSON numbers: text to value */
#pragma once

#include "json/json.h"

/* Reads one number at `at`. *out is an integer where it is written as one and fits 64 bits,
 * else a double. What follows the number, or NULL where there is none; *is_huge where it is
 * one, but out of a double's range. */
const char *json_number(const char *at, const char *end, struct json *out, bool *is_huge);
