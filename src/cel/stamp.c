/* stamp.c - timestamps, durations and time zones
 *
 * A timestamp reaches from year 1 to 9999 with nanoseconds, further than struct instant. Zones
 * are read from the system's database where an expression names one.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cel/value_priv.h"
#include "value/value.h"

#define DAY 86400
#define NS INT64_C(1000000000)

/* ---- calendar ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct stamp_fields stamp_split(struct cel_value t, int64_t offset)
{
    int64_t s = t.i + offset, days = floor_div(s, DAY), rest = s - days * DAY;
    /* civil date from days, in eras of 400 years that begin in March */
    int64_t z = days + 719468, era = floor_div(z, 146097);
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    struct stamp_fields f = {0};

    f.day = (int)(doy - (153 * mp + 2) / 5 + 1);
    f.month = (int)(mp < 10 ? mp + 3 : mp - 9);
    f.year = yoe + era * 400 + (f.month <= 2);
    f.hour = (int)(rest / 3600);
    f.minute = (int)(rest / 60 % 60);
    f.second = (int)(rest % 60);
    f.milli = (int)(t.len / 1000000);
    f.weekday = (int)(((days % 7) + 11) % 7);
    f.yearday = (int)(days - time_days(f.year, 1, 1));
    return f;
}

/* ---- timestamps as text ---- */

/* n digits at *i. */
static bool number(struct str s, size_t *i, size_t n, int *out)
{
    *out = 0;
    for (size_t k = 0; k < n; k++, (*i)++) {
        if (*i >= s.len || s.at[*i] < '0' || s.at[*i] > '9')
            return false;
        *out = *out * 10 + (s.at[*i] - '0');
    }
    return true;
}

static bool sign(struct str s, size_t *i, char c)
{
    if (*i >= s.len || s.at[*i] != c)
        return false;
    (*i)++;
    return true;
}

static bool fraction(struct str s, size_t *i, uint32_t *nanos)
{
    uint32_t unit = 100000000;

    *nanos = 0;
    if (*i >= s.len || (s.at[*i] != '.' && s.at[*i] != ','))
        return true;
    size_t from = ++*i;
    for (; *i < s.len && s.at[*i] >= '0' && s.at[*i] <= '9'; (*i)++) {
        *nanos += (uint32_t)(s.at[*i] - '0') * unit;
        unit /= 10;
    }
    return *i > from;
}

static bool zone_suffix(struct str s, size_t *i, int *minutes)
{
    int h, m, direction;

    *minutes = 0;
    if (sign(s, i, 'Z'))
        return true;
    direction = sign(s, i, '+') ? 1 : sign(s, i, '-') ? -1 : 0;
    if (!direction || !number(s, i, 2, &h) || !sign(s, i, ':') || !number(s, i, 2, &m) ||
        h > 23 || m > 59)
        return false;
    *minutes = direction * (h * 60 + m);
    return true;
}

struct cel_value stamp_read(struct str s)
{
    int year, month, day, hour, minute, second, zone;
    uint32_t nanos;
    size_t i = 0;

    if (!number(s, &i, 4, &year) || !sign(s, &i, '-') || !number(s, &i, 2, &month) ||
        !sign(s, &i, '-') || !number(s, &i, 2, &day) || !sign(s, &i, 'T') ||
        !number(s, &i, 2, &hour) || !sign(s, &i, ':') || !number(s, &i, 2, &minute) ||
        !sign(s, &i, ':') || !number(s, &i, 2, &second) || !fraction(s, &i, &nanos) ||
        !zone_suffix(s, &i, &zone) || i != s.len || month < 1 || month > 12 || day < 1 ||
        day > time_month_days(year, month) || hour > 23 || minute > 59 || second > 59)
        return cel_fail_name(CEL_E_TEXT, S("type conversion error from 'string' to "
                                           "'google.protobuf.Timestamp'"));
    int64_t t = time_days(year, month, day) * DAY + hour * 3600 + minute * 60 + second -
                (int64_t)zone * 60;
    if (t < STAMP_MIN || t > STAMP_MAX)
        return cel_fail(CEL_E_TIME_OVERFLOW);
    return cel_time(t, nanos, zone);
}

struct str stamp_text(struct arena *a, struct cel_value t)
{
    struct stamp_fields f = stamp_split(t, (int64_t)t.aux * 60);
    struct buf b = buf_in(a, 48);
    uint32_t n = t.len, width = 9;

    buf_printf(&b, "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)f.year, f.month, f.day, f.hour,
               f.minute, f.second);
    if (n) {
        for (; n % 10 == 0; width--)
            n /= 10;
        buf_printf(&b, ".%0*u", (int)width, n);
    }
    if (t.aux == 0)
        buf_byte(&b, 'Z');
    else
        buf_printf(&b, "%c%02d:%02d", t.aux < 0 ? '-' : '+', abs(t.aux) / 60, abs(t.aux) % 60);
    return buf_str(&b);
}

/* ---- durations ---- */

bool duration_read(struct str text, int64_t *out)
{
    struct span d;

    if (span_parse(text, &d, NULL) < 0)
        return false;
    *out = d.ns;
    return true;
}

struct str duration_text(struct arena *a, int64_t ns)
{
    struct buf b = buf_in(a, 32);
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, rest = u % NS;
    int width = 9;

    buf_printf(&b, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(u / NS));
    if (rest) {
        for (; rest % 10 == 0; width--)
            rest /= 10;
        buf_printf(&b, ".%0*llu", width, (unsigned long long)rest);
    }
    buf_byte(&b, 's');
    return buf_str(&b);
}

/* ---- zones ---- */

#define MAX_ZONE_FILE ((size_t)64 << 10)
#define ZONE_DIR "/usr/share/zoneinfo/"

static int64_t big_endian(const char *s, size_t n)
{
    uint64_t v = s[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (uint8_t)s[i];
    return (int64_t)v;
}

/* One rule of a POSIX zone text: `M3.2.0/2`, in seconds of the local year. */
static bool posix_rule(struct str s, size_t *i, int64_t year, int64_t *out)
{
    int v[3], n = 0;
    int64_t t, time = 2 * 3600;

    if (!sign(s, i, ','))
        return false;
    if (!sign(s, i, 'M'))
        return false; /* the day-number forms are in no zone of the database */
    for (; n < 3; n++) {
        size_t from = *i;
        v[n] = 0;
        while (*i < s.len && s.at[*i] >= '0' && s.at[*i] <= '9')
            v[n] = v[n] * 10 + (s.at[(*i)++] - '0');
        if (*i == from || (n < 2 && !sign(s, i, '.')))
            return false;
    }
    if (v[0] < 1 || v[0] > 12 || v[1] < 1 || v[1] > 5 || v[2] > 6)
        return false;
    int64_t first = time_days(year, v[0], 1), week = ((first % 7) + 11) % 7;
    int64_t day = (v[2] - week + 7) % 7 + 7 * (v[1] - 1);
    while (day >= time_month_days(year, v[0]))
        day -= 7;
    if (sign(s, i, '/')) {
        bool is_minus = sign(s, i, '-');
        int64_t unit = 3600;
        for (time = 0; unit; unit /= 60) {
            int64_t x = 0;
            while (*i < s.len && s.at[*i] >= '0' && s.at[*i] <= '9' && x < 1000)
                x = x * 10 + (s.at[(*i)++] - '0');
            time += x * unit;
            if (!sign(s, i, ':'))
                break;
        }
        if (is_minus)
            time = -time;
    }
    t = (first + day) * DAY + time;
    *out = t;
    return true;
}

static void posix_name(struct str s, size_t *i)
{
    if (sign(s, i, '<')) {
        while (*i < s.len && s.at[*i] != '>')
            (*i)++;
        sign(s, i, '>');
        return;
    }
    while (*i < s.len &&
           ((s.at[*i] >= 'A' && s.at[*i] <= 'Z') || (s.at[*i] >= 'a' && s.at[*i] <= 'z')))
        (*i)++;
}

/* Seconds east of UTC; POSIX writes them west. */
static bool posix_offset(struct str s, size_t *i, int64_t *out)
{
    int64_t total = 0, unit = 3600;
    bool is_east = sign(s, i, '-');

    if (!is_east)
        sign(s, i, '+');
    size_t from = *i;
    for (; unit; unit /= 60) {
        int64_t x = 0;
        while (*i < s.len && s.at[*i] >= '0' && s.at[*i] <= '9' && x < 1000)
            x = x * 10 + (s.at[(*i)++] - '0');
        total += x * unit;
        if (!sign(s, i, ':'))
            break;
    }
    *out = is_east ? total : -total;
    return *i > from;
}

/* The rule at a zone file's end, for moments behind its table: `EST5EDT,M3.2.0,M11.1.0`. */
static bool posix_zone(struct str s, int64_t t, int64_t *out)
{
    int64_t standard, summer, from, to, year;
    size_t i = 0;

    posix_name(s, &i);
    if (!posix_offset(s, &i, &standard))
        return false;
    *out = standard;
    if (i == s.len)
        return true;
    posix_name(s, &i);
    if (!posix_offset(s, &i, &summer))
        summer = standard + 3600;
    year = stamp_split(cel_time(t, 0, 0), standard).year;
    if (!posix_rule(s, &i, year, &from) || !posix_rule(s, &i, year, &to))
        return true;
    from -= standard;
    to -= summer;
    bool is_summer = from < to ? t >= from && t < to : t >= from || t < to;
    if (is_summer)
        *out = summer;
    return true;
}

/* Where a zone file's second, 64-bit part begins and what it holds. */
struct zone_header {
    size_t n_utc, n_std, n_leap, n_times, n_types, n_chars;
};

static bool zone_header(struct str *s, struct zone_header *h)
{
    size_t *fields[] = {&h->n_utc,   &h->n_std,   &h->n_leap,
                        &h->n_times, &h->n_types, &h->n_chars};

    if (s->len < 44 || memcmp(s->at, "TZif", 4) != 0)
        return false;
    for (size_t i = 0; i < countof(fields); i++) {
        int64_t v = big_endian(s->at + 20 + 4 * i, 4);
        if (v < 0 || v > (int64_t)MAX_ZONE_FILE)
            return false;
        *fields[i] = (size_t)v;
    }
    *s = str_slice(*s, 44, s->len);
    return true;
}

static size_t zone_size(const struct zone_header *h, size_t width)
{
    return h->n_times * (width + 1) + h->n_types * 6 + h->n_chars + h->n_leap * (width + 4) +
           h->n_std + h->n_utc;
}

static bool zone_lookup(struct str s, int64_t t, int64_t *out)
{
    struct zone_header h;

    if (!zone_header(&s, &h) || zone_size(&h, 4) > s.len)
        return false;
    s = str_slice(s, zone_size(&h, 4), s.len);
    if (!zone_header(&s, &h) || zone_size(&h, 8) > s.len || h.n_types == 0)
        return false;
    const char *types = s.at + h.n_times * 9;
    size_t i = 0, type = 0;
    while (i < h.n_times && big_endian(s.at + 8 * i, 8) <= t)
        i++;
    struct str footer = str_trim(str_slice(s, zone_size(&h, 8), s.len));
    if (i == h.n_times && footer.len && posix_zone(footer, t, out))
        return true;
    if (i > 0)
        type = (uint8_t)s.at[h.n_times * 8 + i - 1];
    if (type >= h.n_types)
        return false;
    *out = big_endian(types + 6 * type, 4);
    return true;
}

static bool is_zone_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool is_ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' || c == '+';
        if (!is_ok)
            return false;
    }
    return s.len && s.len < 64 && s.at[0] != '/';
}

static struct cel_value named_zone(struct arena *a, struct str zone, int64_t t)
{
    char path[128], *bytes;
    int64_t offset;
    size_t n = 0;
    ssize_t got;

    if (is_zone_name(zone)) {
        snprintf(path, sizeof(path), ZONE_DIR "%.*s", STR_ARG(zone));
        scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
        bytes = arena_raw(a, MAX_ZONE_FILE, 1);
        while (fd >= 0 && n < MAX_ZONE_FILE &&
               (got = read(fd, bytes + n, MAX_ZONE_FILE - n)) > 0)
            n += (size_t)got;
        if (zone_lookup(str_of(bytes, n), t, &offset))
            return cel_int(offset);
    }
    return cel_fail_text(a, "unknown time zone %.*s", STR_ARG(zone));
}

struct cel_value zone_offset(struct arena *a, struct str zone, struct cel_value t)
{
    struct str hours, minutes;
    int64_t h, m;

    if (zone.len == 0 || str_eqz(zone, "UTC") || str_eqz(zone, "Local"))
        return cel_int(0);
    if (!str_cut(zone, ':', &hours, &minutes))
        return named_zone(a, zone, t.i);
    bool is_minus = hours.len && hours.at[0] == '-';
    if (!str_to_i64(hours, &h) || !str_to_i64(minutes, &m) || h > 1000 || h < -1000)
        return cel_fail_text(a, "invalid time zone offset '%.*s'", STR_ARG(zone));
    if (m < 0 || m > 59)
        return cel_fail_text(a, "timezone offset minutes out of range [0, 59]: %lld",
                             (long long)m);
    return cel_int(h * 3600 + (is_minus ? -m : m) * 60);
}
