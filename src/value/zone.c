/* zone.c - reading the system's time zones (RFC 8536, POSIX TZ) */
#include "value/zone.h"

#include <fcntl.h>
#include <unistd.h>

#include "value/time.h"

#define MAX_FILE ((size_t)64 << 10)
#define MAX_NAME 64
#define ZONE_DIR "/usr/share/zoneinfo/"
#define HEADER 44
#define DAY 86400
#define HOUR 3600

static int64_t big_endian(const char *s, size_t n)
{
    uint64_t v = s[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (uint8_t)s[i];
    return (int64_t)v;
}

/* ---- POSIX texts: `EST5EDT,M3.2.0,M11.1.0` ---- */

static bool take(struct str *s, char c)
{
    if (!s->len || s->at[0] != c)
        return false;
    *s = str_slice(*s, 1, s->len);
    return true;
}

static bool take_number(struct str *s, int64_t *out)
{
    size_t n = 0;

    *out = 0;
    while (n < s->len && n < 4 && s->at[n] >= '0' && s->at[n] <= '9')
        *out = *out * 10 + (s->at[n++] - '0');
    *s = str_slice(*s, n, s->len);
    return n > 0;
}

/* hours[:minutes[:seconds]] */
static bool take_time(struct str *s, int64_t *out)
{
    bool is_minus = take(s, '-');
    int64_t unit = HOUR, x;

    if (!is_minus)
        take(s, '+');
    *out = 0;
    do {
        if (!take_number(s, &x))
            return false;
        *out += x * unit;
        unit /= 60;
    } while (unit && take(s, ':'));
    if (is_minus)
        *out = -*out;
    return true;
}

static void take_name(struct str *s)
{
    size_t n = 0;

    if (take(s, '<')) {
        while (s->len && !take(s, '>'))
            *s = str_slice(*s, 1, s->len);
        return;
    }
    while (n < s->len &&
           ((s->at[n] >= 'A' && s->at[n] <= 'Z') || (s->at[n] >= 'a' && s->at[n] <= 'z')))
        n++;
    *s = str_slice(*s, n, s->len);
}

/* `,M3.2.0/2` as seconds of the local year's count; the day-number forms are in no zone of the
 * database. */
static bool take_rule(struct str *s, int64_t year, int64_t *out)
{
    int64_t month, week, weekday, time = 2 * HOUR;

    if (!take(s, ',') || !take(s, 'M') || !take_number(s, &month) || !take(s, '.') ||
        !take_number(s, &week) || !take(s, '.') || !take_number(s, &weekday))
        return false;
    if (take(s, '/') && !take_time(s, &time))
        return false;
    if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6)
        return false;
    int64_t first = time_days(year, (int)month, 1), first_weekday = (first % 7 + 11) % 7;
    int64_t day = (weekday - first_weekday + 7) % 7 + 7 * (week - 1);
    while (day >= time_month_days(year, (int)month))
        day -= 7;
    *out = (first + day) * DAY + time;
    return true;
}

static int64_t year_of(int64_t seconds)
{
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int64_t year = 1970 + days / 366;

    while (time_days(year + 1, 1, 1) <= days)
        year++;
    while (time_days(year, 1, 1) > days)
        year--;
    return year;
}

static bool rule_at(struct str s, int64_t seconds, int64_t *out)
{
    int64_t standard, summer, from, to;

    take_name(&s);
    if (!take_time(&s, &standard))
        return false;
    standard = -standard; /* written west */
    *out = standard;
    if (!s.len)
        return true;
    take_name(&s);
    summer = standard + HOUR;
    if (s.len && s.at[0] != ',') {
        if (!take_time(&s, &summer))
            return false;
        summer = -summer;
    }
    int64_t year = year_of(seconds + standard);
    if (!take_rule(&s, year, &from) || !take_rule(&s, year, &to))
        return false;
    from -= standard;
    to -= summer;
    bool is_summer =
        from < to ? seconds >= from && seconds < to : seconds >= from || seconds < to;
    if (is_summer)
        *out = summer;
    return true;
}

/* ---- files ---- */

struct header {
    size_t n_utc, n_standard, n_leap, n_times, n_types, n_chars;
};

static bool take_header(struct str *s, struct header *h)
{
    size_t *fields[] = {&h->n_utc,   &h->n_standard, &h->n_leap,
                        &h->n_times, &h->n_types,    &h->n_chars};

    if (s->len < HEADER || memcmp(s->at, "TZif", 4) != 0)
        return false;
    for (size_t i = 0; i < countof(fields); i++) {
        int64_t v = big_endian(s->at + 20 + 4 * i, 4);
        if (v < 0 || v > (int64_t)MAX_FILE)
            return false;
        *fields[i] = (size_t)v;
    }
    *s = str_slice(*s, HEADER, s->len);
    return true;
}

/* Of the tables behind a header, where moments are so wide. */
static size_t size_of(const struct header *h, size_t width)
{
    return h->n_times * (width + 1) + h->n_types * 6 + h->n_chars + h->n_leap * (width + 4) +
           h->n_standard + h->n_utc;
}

int zone_parse(struct str bytes, struct zone *out, struct err *err)
{
    struct header h;
    struct zone z = {0};
    int64_t offset;

    if (!take_header(&bytes, &h) || size_of(&h, 4) > bytes.len)
        return err_set(err, ERR_SYNTAX, "not a file of a time zone");
    bytes = str_slice(bytes, size_of(&h, 4), bytes.len);
    if (!take_header(&bytes, &h) || size_of(&h, 8) > bytes.len || h.n_types == 0)
        return err_set(err, ERR_SYNTAX, "a time zone without its second part");
    z.n_times = h.n_times;
    z.n_types = h.n_types;
    z.times = bytes.at;
    z.which = z.times + h.n_times * 8;
    z.types = z.which + h.n_times;
    for (size_t i = 0; i < z.n_times; i++) {
        if ((uint8_t)z.which[i] >= z.n_types)
            return err_set(err, ERR_SYNTAX, "a time zone that names a type it does not have");
    }
    z.rule = str_trim(str_slice(bytes, size_of(&h, 8), bytes.len));
    if (z.rule.len && !rule_at(z.rule, 0, &offset))
        z.rule = S("");
    *out = z;
    return 0;
}

int64_t zone_at(const struct zone *z, int64_t seconds)
{
    size_t from = 0, to = z->n_times; /* how many began by then */
    int64_t offset;

    if (!z->n_types)
        return z->fixed;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (big_endian(z->times + 8 * mid, 8) <= seconds)
            from = mid + 1;
        else
            to = mid;
    }
    if (from == z->n_times && z->rule.len && rule_at(z->rule, seconds, &offset))
        return offset;
    return big_endian(z->types + 6 * (from ? (uint8_t)z->which[from - 1] : 0), 4);
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool is_ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' || c == '+';
        if (!is_ok)
            return false;
    }
    return s.len && s.len < MAX_NAME && s.at[0] != '/';
}

int zone_load(struct arena *a, struct str name, struct zone *out, struct err *err)
{
    ssize_t got = 0;
    size_t n = 0;

    if (!name.len || str_eqz(name, "UTC") || str_eqz(name, "Local")) {
        *out = (struct zone){0};
        return 0;
    }
    if (!is_name(name))
        return err_set(err, ERR_NOT_FOUND, "unknown time zone %.*s", STR_ARG(name));
    char *path = str_z(a, str_printf(a, ZONE_DIR "%.*s", STR_ARG(name)));
    scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "unknown time zone %.*s", STR_ARG(name));
    char *bytes = arena_raw(a, MAX_FILE, 1);
    while (n < MAX_FILE && (got = read(fd, bytes + n, MAX_FILE - n)) > 0)
        n += (size_t)got;
    if (zone_parse(str_of(bytes, n), out, err) < 0)
        return err_wrap(err, "%s", path);
    return 0;
}
