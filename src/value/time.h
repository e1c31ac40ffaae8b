/* time.h - moments and spans as Kubernetes writes them
 *
 * A moment is printed in UTC, in seconds (Time) or microseconds (MicroTime). struct instant
 * reaches from 1677 to 2262: what lies outside becomes the nearest end, and Go's zero time
 * (0001-01-01T00:00:00Z) is "no time given".
 */
#pragma once

#include "base/base.h"

/* RFC 3339 with any fraction and offset, as Go's time.Parse reads it. ERR_SYNTAX. */
int time_parse(struct str text, struct instant *out, struct err *err);
/* The same with exactly six digits of fraction, which is all that a MicroTime accepts. */
int time_parse_micro(struct str text, struct instant *out, struct err *err);

/* Is it a time as time_text() writes it, or time_text_micro()? False says nothing: only years
 * 2000 to 2199 are known, and of long months not all days. */
bool time_is_canonical(struct str text, bool is_micro);

/* What such a text says, of all years 0 to 9999. */
struct time_stamp {
    int64_t seconds; /* since 1970, in UTC */
    int nanosecond;
    int digits;         /* of the fraction */
    int offset_minutes; /* east of UTC, as it was written */
};
/* False where it is no such text. */
bool time_read(struct str text, struct time_stamp *out);

#define TIME_TEXT_MAX 32
/* 2024-05-01T10:00:00Z; what is below a second is cut. */
void time_write(struct buf *out, struct instant t);
/* 2024-05-01T10:00:00.123456Z */
void time_write_micro(struct buf *out, struct instant t);
struct str time_text(struct arena *a, struct instant t);
struct str time_text_micro(struct arena *a, struct instant t);

/* A day of the Gregorian calendar as days since 1970-01-01, and back. */
int64_t time_days(int64_t year, int month, int day);
struct time_civil {
    int64_t year;
    int month, day; /* from 1 */
    int hour, minute, second;
    int nanosecond;
    int weekday; /* 0 is Sunday */
    int yearday; /* from 1 */
};
struct time_civil time_civil(struct instant t);
/* The same of seconds since 1970, which reach further. */
struct time_civil time_civil_at(int64_t seconds, int nanosecond);
/* Days of a month, leap years considered. */
int time_month_days(int64_t year, int month);

/* Go's duration text: 1h30m, 1.5s, 300ms, -2m, 0. ERR_SYNTAX with Go's sentence. */
int span_parse(struct str text, struct span *out, struct err *err);
/* As Go prints it: 1h0m0.003s, 5s, 1.5ms, 0s. */
void span_write(struct buf *out, struct span d);
struct str span_text(struct arena *a, struct span d);

/* A span as `kubectl get` shows ages: 119s, 3m10s, 2d1h, 8y; "<invalid>" below -1 s. */
void age_write(struct buf *out, struct span d);
struct str age_text(struct arena *a, struct span d);
/* The age of t at `now`; "<unknown>" for no time. */
struct str age_since(struct arena *a, struct instant t, struct instant now);
