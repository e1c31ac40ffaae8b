/* log.h - one line per event: the event first, then key=value
 *
 *     log_info("job admitted", "job=%s queue=%s", name, queue);
 *
 * error: someone must act; warn: we went on, and how; info: state a person would ask about;
 * debug: the rest. Lines go to stderr with a UTC time that the owner of the clock supplies.
 */
#pragma once

#include "base/compiler.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines above this level are dropped; LOG_WARN at the start. */
void log_set_level(enum log_level level);
enum log_level log_level(void);
/* Parses error|warn|info|debug; false where it is none. */
bool log_level_parse(const char *text, enum log_level *out);
/* Nanoseconds since 1970 for the line's time; without it lines carry none. */
void log_set_clock(int64_t (*now)(void *ctx), void *ctx);

/* `format` gives the key=value part and may be "". */
void log_line(enum log_level level, const char *event, const char *format, ...)
    like_printf(3, 4);
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) (log_level() >= LOG_DEBUG ? log_line(LOG_DEBUG, __VA_ARGS__) : (void)0)
