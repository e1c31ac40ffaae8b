/* stamp.c - timestamps, durations and time zones
 *
 * A timestamp reaches from year 1 to 9999 with nanoseconds, further than struct instant. Zones
 * are read from the system's database where an expression names one.
 */

#include "cel/value_priv.h"
#include "value/value.h"
#include "value/zone.h"

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

static struct cel_value named_zone(struct arena *a, struct str name, int64_t t)
{
    struct zone zone;

    if (zone_load(a, name, &zone, NULL) < 0)
        return cel_fail_text(a, "unknown time zone %.*s", STR_ARG(name));
    return cel_int(zone_at(&zone, t));
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
