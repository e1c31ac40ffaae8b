/* log.c - lines on stderr, and the ways to end at once */
#include "base/base.h"

#include <unistd.h>

static enum log_level the_level = LOG_WARN;
static int64_t (*the_clock)(void *);
static void *the_clock_ctx;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
    the_level = level;
}

enum log_level log_level(void)
{
    return the_level;
}

bool log_level_parse(const char *text, enum log_level *out)
{
    for (size_t i = 0; i < countof(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_set_clock(int64_t (*now)(void *ctx), void *ctx)
{
    the_clock = now;
    the_clock_ctx = ctx;
}

void log_line(enum log_level level, const char *event, const char *format, ...)
{
    char line[2048];
    int n = 0;
    va_list args;

    if (level > the_level)
        return;
    if (the_clock) {
        int64_t ns = the_clock(the_clock_ctx);
        time_t s = (time_t)(ns / 1000000000);
        struct tm tm;
        gmtime_r(&s, &tm);
        n = (int)strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
        n +=
            snprintf(line + n, sizeof(line) - (size_t)n, ".%03dZ ", (int)(ns / 1000000 % 1000));
    }
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%s: %s%s", level_names[level], event,
                  *format ? " " : "");
    n = MIN(n, (int)sizeof(line) - 1);
    va_start(args, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    va_end(args);
    n = MIN(n, (int)sizeof(line) - 2);
    line[n++] = '\n';
    ssize_t wrote = write(STDERR_FILENO, line, (size_t)n);
    (void)wrote; /* nobody is left to be told */
}

void die(const char *format, ...)
{
    va_list args;

    fputs("berth: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

void assert_failed(const char *what, const char *file, int line)
{
    die("broken promise: %s (%s:%d); please report this line", what, file, line);
}

void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
