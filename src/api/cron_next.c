/* cron_next.c - the next time of a schedule
 *
 * Fields are advanced from the month down to the minute. Days and months go by the calendar,
 * hours and minutes by elapsed time; whenever a field comes round to its start, all begins
 * again at the month. Moments are seconds since 1970.
 */
#include "api/cron.h"

#include "value/time.h"

#define HOUR 3600
#define MINUTE 60
#define MAX_BITS 64
#define FARTHEST (INT64_MAX - (CRON_MAX_YEARS + 2) * 366 * 24 * HOUR * SECOND_NS)

struct walk {
    const struct cron_schedule *s;
    const struct zone *zone;
    int64_t t;
    struct time_civil at; /* t, by the zone's clocks */
    bool has_moved;       /* what is smaller than the field at hand stands at its start */
};

static void move_to(struct walk *w, int64_t t)
{
    w->t = t;
    w->at = time_civil((struct instant){(t + zone_at(w->zone, t)) * SECOND_NS});
}

/* The moment of a local time. One that does not exist becomes an hour earlier or later, as the
 * offset after the change of clocks tells. */
static int64_t moment(const struct zone *z, int64_t year, int month, int day, int hour,
                      int minute, int second)
{
    int64_t local =
        time_days(year, month, day) * 24 * HOUR + hour * HOUR + minute * MINUTE + second;
    int64_t offset = zone_at(z, local), guess = zone_at(z, local - offset);

    return local - (guess == offset ? offset : guess);
}

static bool has(uint64_t bits, int n)
{
    return n < MAX_BITS && (bits >> n & 1);
}

static bool day_matches(const struct walk *w)
{
    bool day = has(w->s->day, w->at.day), weekday = has(w->s->weekday, w->at.weekday);

    return w->s->any_day || w->s->any_weekday ? day && weekday : day || weekday;
}

static void start_at(struct walk *w, int day, int hour)
{
    if (!w->has_moved)
        move_to(w, moment(w->zone, w->at.year, w->at.month, day, hour, 0, 0));
    w->has_moved = true;
}

/* Each is false where the field came round. */
static bool find_month(struct walk *w)
{
    while (!has(w->s->month, w->at.month)) {
        start_at(w, 1, 0);
        const struct time_civil *c = &w->at;
        int64_t year = c->year + (c->month == 12);
        move_to(
            w, moment(w->zone, year, c->month % 12 + 1, c->day, c->hour, c->minute, c->second));
        if (w->at.month == 1)
            return false;
    }
    return true;
}

static bool find_day(struct walk *w)
{
    while (!day_matches(w)) {
        start_at(w, w->at.day, 0);
        const struct time_civil *c = &w->at;
        /* A day past the month's last is one of the next: time_days() counts on. */
        move_to(w,
                moment(w->zone, c->year, c->month, c->day + 1, c->hour, c->minute, c->second));
        if (w->at.hour > 12) /* no midnight: the clocks changed then */
            move_to(w, w->t + (24 - w->at.hour) * HOUR);
        else if (w->at.hour)
            move_to(w, w->t - w->at.hour * HOUR);
        if (w->at.day == 1)
            return false;
    }
    return true;
}

static bool find_hour(struct walk *w)
{
    while (!has(w->s->hour, w->at.hour)) {
        start_at(w, w->at.day, w->at.hour);
        move_to(w, w->t + HOUR);
        if (w->at.hour == 0)
            return false;
    }
    return true;
}

static bool find_minute(struct walk *w)
{
    while (!has(w->s->minute, w->at.minute)) {
        if (!w->has_moved)
            move_to(w, w->t - w->t % MINUTE);
        w->has_moved = true;
        move_to(w, w->t + MINUTE);
        if (w->at.minute == 0)
            return false;
    }
    return true;
}

/* Minutes begin with their first second. */
static bool find_second(struct walk *w)
{
    if (w->at.second == 0)
        return true;
    move_to(w, w->t + MINUTE - w->at.second);
    w->has_moved = true;
    return false;
}

struct instant cron_next(const struct cron_schedule *s, const struct zone *zone,
                         struct instant t)
{
    const struct instant never = {0};
    struct walk w = {.s = s, .zone = zone};
    int64_t fraction = t.ns % SECOND_NS;

    fraction += fraction < 0 ? SECOND_NS : 0;
    if (s->every.ns)
        return instant_add(t, (struct span){s->every.ns - fraction});
    if (t.ns < -FARTHEST || t.ns > FARTHEST || !s->minute || !s->hour || !s->month ||
        (!s->day && !s->weekday))
        return never;
    move_to(&w, (t.ns - fraction) / SECOND_NS + 1);
    int64_t last = w.at.year + CRON_MAX_YEARS;
    while (w.at.year <= last) {
        if (find_month(&w) && find_day(&w) && find_hour(&w) && find_minute(&w) &&
            find_second(&w))
            return (struct instant){w.t * SECOND_NS};
    }
    return never;
}
