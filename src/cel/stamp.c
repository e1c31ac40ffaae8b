/* stamp.c - timestamps, durations and time zones
 *
 * A timestamp reaches from year 1 to 9999 with nanoseconds, further than struct instant. Zones
 * are read from the system's database where an expression names one.
 */
#include "cel/value_priv.h"
#include "value/value.h"

/* ---- timestamps ---- */

struct time_civil stamp_civil(struct cel_value t, int64_t offset)
{
    return time_civil_at(t.i + offset, (int)t.len);
}

struct cel_value stamp_read(struct str s)
{
    struct time_stamp t;

    if (!time_read(s, &t))
        return cel_fail_name(CEL_E_TEXT, S("type conversion error from 'string' to "
                                           "'google.protobuf.Timestamp'"));
    if (t.seconds < STAMP_MIN || t.seconds > STAMP_MAX)
        return cel_fail(CEL_E_TIME_OVERFLOW);
    return cel_time(t.seconds, (uint32_t)t.nanosecond, t.offset_minutes);
}

struct str stamp_text(struct arena *a, struct cel_value t)
{
    struct time_civil f = stamp_civil(t, (int64_t)t.aux * 60);
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
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, rest = u % SECOND_NS;
    int width = 9;

    buf_printf(&b, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(u / SECOND_NS));
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
