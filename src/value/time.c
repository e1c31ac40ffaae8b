/* time.c - moments as Kubernetes writes them
 *
 * Days are counted from 1970-01-01 with years that begin in March, so that the leap day is a
 * year's last.
 */
#include "value/time.h"

#define DAY_SECONDS 86400
#define ERA_DAYS 146097                       /* of 400 years */
#define SECONDS_LEN 20                        /* bytes of 2006-01-02T15:04:05Z */
#define MICRO_LEN 27                          /* with six digits of fraction */
#define GO_ZERO_SECONDS INT64_C(-62135596800) /* 0001-01-01T00:00:00Z */

int64_t time_days(int64_t year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int time_month_days(int64_t year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Nanoseconds. Not by way of the second's begin: that of the earliest instant is none. */
static uint32_t of_second(struct instant t)
{
    int64_t ns = t.ns % SECOND_NS;

    return (uint32_t)(ns < 0 ? ns + SECOND_NS : ns);
}

struct time_civil time_civil(struct instant t)
{
    return time_civil_at(floor_div(t.ns, SECOND_NS), (int)of_second(t));
}

struct time_civil time_civil_at(int64_t seconds, int nanosecond)
{
    int64_t days = floor_div(seconds, DAY_SECONDS);
    int64_t of_day = seconds - days * DAY_SECONDS, z = days + 719468;
    int64_t era = floor_div(z, ERA_DAYS), of_era = z - era * ERA_DAYS;
    int64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / (ERA_DAYS - 1)) / 365 + era * 400;
    int64_t of_year = z - 719468 - time_days(year, 3, 1); /* from March 1st */
    int month = (int)((5 * of_year + 2) / 153);
    struct time_civil c = {
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        .month = month < 10 ? month + 3 : month - 9,
        .hour = (int)(of_day / 3600),
        .minute = (int)(of_day / 60 % 60),
        .second = (int)(of_day % 60),
        .nanosecond = nanosecond,
        .weekday = (int)(((days + 4) % 7 + 7) % 7),
    };

    c.year = year + (c.month <= 2);
    c.yearday = (int)(days - time_days(c.year, 1, 1)) + 1;
    return c;
}

/* ---- reading ---- */

/* Eight bytes like those, of which a '0' stands for any digit. */
static inline bool is_like(const char *at, const char *like)
{
    uint64_t x, same = 0, room = 0; /* room: 0x80 and more is too much */

    for (int i = 0; i < 8; i++) {
        same |= (uint64_t)(unsigned char)like[i] << 8 * i;
        room |= (uint64_t)(like[i] == '0' ? 0x80 - 10 : 0x80 - 1) << 8 * i;
    }
    memcpy(&x, at, sizeof(x));
    x = le64toh(x) ^ same; /* a digit's value, or 0 */
    return ((x | (x + room)) & UINT64_C(0x8080808080808080)) == 0;
}

static int two_digits(const char *at)
{
    return (at[0] - '0') * 10 + at[1] - '0';
}

bool time_is_canonical(struct str text, bool is_micro)
{
    const char *at = text.at;

    if (text.len != (is_micro ? MICRO_LEN : SECONDS_LEN) || !is_like(at, "0000-00-") ||
        !is_like(at + 8, "00T00:00") ||
        (is_micro ? !is_like(at + 12, "0:00:00.") || !is_like(at + 19, ".000000Z")
                  : !is_like(at + 12, "0:00:00Z")))
        return false;
    int month = two_digits(at + 5), day = two_digits(at + 8);
    return at[0] == '2' && at[1] <= '1' && month >= 1 && month <= 12 && day >= 1 &&
           day <= (month == 2 ? 28 : 30) && two_digits(at + 11) <= 23 &&
           two_digits(at + 14) <= 59 && two_digits(at + 17) <= 59;
}

struct cursor {
    const char *at, *end;
};

/* A number of `min` to `max` digits; -1 where there is none. */
static int take_number(struct cursor *c, int min, int max)
{
    int v = 0, n = 0;

    for (; n < max && c->at < c->end && *c->at >= '0' && *c->at <= '9'; n++)
        v = v * 10 + (*c->at++ - '0');
    return n < min ? -1 : v;
}

static bool take(struct cursor *c, char want)
{
    if (c->at == c->end || *c->at != want)
        return false;
    c->at++;
    return true;
}

/* A fraction of a second in nanoseconds (further digits are cut); *digits of them. */
static int take_fraction(struct cursor *c, int *digits)
{
    int ns = 0, unit = 100000000;

    *digits = 0;
    if (c->end - c->at < 2 || (*c->at != '.' && *c->at != ',') || c->at[1] < '0' ||
        c->at[1] > '9')
        return 0;
    for (c->at++; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, unit /= 10) {
        ns += (*c->at - '0') * unit;
        ++*digits;
    }
    return ns;
}

/* `Z` or an offset such as +02:00. */
static bool take_zone(struct cursor *c, int *offset)
{
    *offset = 0;
    if (take(c, 'Z'))
        return true;
    bool is_west = c->at < c->end && *c->at == '-';
    if (!take(c, '+') && !take(c, '-'))
        return false;
    int hours = take_number(c, 2, 2), minutes = take(c, ':') ? take_number(c, 2, 2) : -1;
    if (hours < 0 || hours > 24 || minutes < 0 || minutes > 60) /* as Go does */
        return false;
    *offset = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

static struct instant instant_of(int64_t seconds, int ns)
{
    int64_t v;

    if (seconds == GO_ZERO_SECONDS && ns == 0)
        return (struct instant){0};
    if (__builtin_mul_overflow(seconds, SECOND_NS, &v) || __builtin_add_overflow(v, ns, &v))
        v = seconds < 0 ? INT64_MIN : INT64_MAX;
    return (struct instant){v};
}

/* Of a text that is canonical. */
static void read_canonical(struct str text, struct time_stamp *out)
{
    const char *at = text.at;
    int year = two_digits(at) * 100 + two_digits(at + 2), ns = 0;

    *out = (struct time_stamp){
        .seconds = time_days(year, two_digits(at + 5), two_digits(at + 8)) * DAY_SECONDS +
                   two_digits(at + 11) * 3600 + two_digits(at + 14) * 60 + two_digits(at + 17)};
    if (text.len == SECONDS_LEN)
        return;
    for (int i = 20; i < 26; i++)
        ns = ns * 10 + (at[i] - '0');
    out->nanosecond = ns * 1000;
    out->digits = 6;
}

bool time_read(struct str text, struct time_stamp *out)
{
    if (time_is_canonical(text, text.len != SECONDS_LEN)) {
        read_canonical(text, out);
        return true;
    }
    if (!text.len)
        return false;
    struct cursor c = {text.at, text.at + text.len};
    struct time_stamp t = {0};
    int year, month, day, hour, minute, second;

    if ((year = take_number(&c, 4, 4)) < 0 || !take(&c, '-') ||
        (month = take_number(&c, 2, 2)) < 1 || month > 12 || !take(&c, '-') ||
        (day = take_number(&c, 2, 2)) < 1 || day > time_month_days(year, month))
        return false;
    if (!take(&c, 'T') || (hour = take_number(&c, 1, 2)) < 0 || hour > 23 || !take(&c, ':') ||
        (minute = take_number(&c, 2, 2)) < 0 || minute > 59 || !take(&c, ':') ||
        (second = take_number(&c, 2, 2)) < 0 || second > 59)
        return false;
    t.nanosecond = take_fraction(&c, &t.digits);
    if (!take_zone(&c, &t.offset_minutes) || c.at != c.end)
        return false;
    t.seconds = time_days(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second -
                t.offset_minutes * 60;
    *out = t;
    return true;
}

static bool read_time(struct str text, bool is_micro, struct instant *out)
{
    struct time_stamp t;

    if (!time_read(text, &t) || (is_micro && t.digits != 6))
        return false;
    *out = instant_of(t.seconds, t.nanosecond);
    return true;
}

int time_parse(struct str text, struct instant *out, struct err *err)
{
    if (!read_time(text, false, out))
        return err_set(err, ERR_SYNTAX,
                       "'%.*s' is no RFC 3339 time such as 2006-01-02T15:04:05Z",
                       (int)MIN(text.len, (size_t)64), text.at ? text.at : "");
    return 0;
}

int time_parse_micro(struct str text, struct instant *out, struct err *err)
{
    if (!read_time(text, true, out))
        return err_set(
            err, ERR_SYNTAX,
            "'%.*s' is no time with microseconds such as 2006-01-02T15:04:05.000000Z",
            (int)MIN(text.len, (size_t)64), text.at ? text.at : "");
    return 0;
}

/* ---- writing ---- */

static void write_digits(char *at, int64_t v, int n)
{
    for (; n > 0; v /= 10)
        at[--n] = (char)('0' + v % 10);
}

static inline void write_two(char *at, uint32_t v)
{
    at[0] = (char)('0' + v / 10);
    at[1] = (char)('0' + v % 10);
}

/* 2006-01-02. Most moments are of the day that was written last. */
static void write_day(char *at, int64_t days)
{
    static _Thread_local struct {
        int64_t days;
        char text[10];
    } last = {0, "1970-01-01"};

    if (days != last.days) {
        struct time_civil c = time_civil_at(days * DAY_SECONDS, 0);
        memcpy(last.text, "0000-00-00", 10);
        write_digits(last.text, c.year, 4);
        write_two(last.text + 5, (uint32_t)c.month);
        write_two(last.text + 8, (uint32_t)c.day);
        last.days = days;
    }
    memcpy(at, last.text, 10);
}

/* Everything up to the seconds, 19 bytes; the nanoseconds that are left. */
static uint32_t write_seconds(char *at, struct instant t)
{
    int64_t seconds = floor_div(t.ns, SECOND_NS), days = floor_div(seconds, DAY_SECONDS);
    uint32_t of_day = (uint32_t)(seconds - days * DAY_SECONDS);

    write_day(at, days);
    at[10] = 'T';
    write_two(at + 11, of_day / 3600);
    at[13] = ':';
    write_two(at + 14, of_day / 60 % 60);
    at[16] = ':';
    write_two(at + 17, of_day % 60);
    return of_second(t);
}

void time_write(struct buf *out, struct instant t)
{
    char text[SECONDS_LEN];

    write_seconds(text, t);
    text[19] = 'Z';
    buf_add(out, str_of(text, sizeof(text)));
}

void time_write_micro(struct buf *out, struct instant t)
{
    char text[MICRO_LEN];
    uint32_t ns = write_seconds(text, t);

    text[19] = '.';
    write_digits(text + 20, ns / 1000, 6);
    text[26] = 'Z';
    buf_add(out, str_of(text, sizeof(text)));
}

struct str time_text(struct arena *a, struct instant t)
{
    struct buf out = buf_in(a, TIME_TEXT_MAX);

    time_write(&out, t);
    return buf_str(&out);
}

struct str time_text_micro(struct arena *a, struct instant t)
{
    struct buf out = buf_in(a, TIME_TEXT_MAX);

    time_write_micro(&out, t);
    return buf_str(&out);
}
