/* cron.c - reading the schedule of a CronJob */
#include "api/cron.h"

#include "value/time.h"
#include "value/zone.h"

struct field {
    const char *what;
    int min, max;
    const char *const *names; /* of min, min + 1 ... */
    size_t n_names;
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct field fields[] = {
    {"minute",       0, 59, NULL,     0                },
    {"hour",         0, 23, NULL,     0                },
    {"day of month", 1, 31, NULL,     0                },
    {"month",        1, 12, months,   countof(months)  },
    {"day of week",  0, 6,  weekdays, countof(weekdays)},
};

static int bad(struct err *err, struct str text, const char *why)
{
    return err_set(err, ERR_SYNTAX, "%s: '%.*s'", why, STR_ARG(text));
}

/* A whole number without a minus sign; a plus is let pass. */
static bool read_number(struct str s, int *out)
{
    int64_t n;

    if (str_starts(s, S("-")) || !str_to_i64(s, &n) || n > INT32_MAX)
        return false;
    *out = (int)n;
    return true;
}

static bool read_value(const struct field *f, struct str s, int *out)
{
    for (size_t i = 0; i < f->n_names; i++) {
        if (str_eq_nocase(s, str_from(f->names[i]))) {
            *out = f->min + (int)i;
            return true;
        }
    }
    return read_number(s, out);
}

static size_t count(struct str s, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.at[i] == c;
    return n;
}

/* One part of a field: `*`, `n`, `n-m`, each with `/step`. */
static int read_part(const struct field *f, struct str part, uint64_t *bits, bool *is_any,
                     struct err *err)
{
    struct str range, step_text, low, high;
    bool has_step = str_cut(part, '/', &range, &step_text);
    bool has_high = str_cut(range, '-', &low, &high);
    int from = f->min, to = f->max, step = 1;
    bool any = str_eqz(low, "*") || str_eqz(low, "?");

    if (count(part, '/') > 1)
        return bad(err, part, "too many slashes");
    if (!any) {
        if (count(range, '-') > 1)
            return bad(err, part, "too many hyphens");
        if (!read_value(f, low, &from) || (has_high && !read_value(f, high, &to)))
            return bad(err, part, "failed to parse int from");
        if (!has_high)
            to = has_step ? f->max : from;
    }
    if (has_step && !read_number(step_text, &step))
        return bad(err, part, "failed to parse int from");
    if (step == 0)
        return bad(err, part, "step of range should be a positive number");
    if (from < f->min || to > f->max || from > to)
        return err_set(err, ERR_SYNTAX, "%s is out of range (%d-%d): '%.*s'", f->what, f->min,
                       f->max, STR_ARG(part));
    for (int64_t n = from; n <= to; n += step)
        *bits |= UINT64_C(1) << n;
    *is_any |= any && step == 1;
    return 0;
}

static int read_field(const struct field *f, struct str text, uint64_t *bits, bool *is_any,
                      struct err *err)
{
    bool has_more = true;

    *bits = 0;
    *is_any = false;
    while (has_more) {
        struct str part;
        has_more = str_cut(text, ',', &part, &text);
        if (part.len && read_part(f, part, bits, is_any, err) < 0)
            return -1;
    }
    return 0;
}

static int read_fields(struct str text, struct cron_schedule *out, struct err *err)
{
    uint64_t *bits[] = {&out->minute, &out->hour, &out->day, &out->month, &out->weekday};
    struct str rest = text;
    size_t n = 0;

    while (rest.len) {
        size_t at = 0;
        bool any = false;
        while (at < rest.len && !str_is_space(rest.at[at]))
            at++;
        if (n < countof(fields) &&
            read_field(&fields[n], str_slice(rest, 0, at), bits[n], &any, err) < 0)
            return -1;
        if (n == 2)
            out->any_day = any;
        if (n == 4)
            out->any_weekday = any;
        n++;
        rest = str_trim(str_slice(rest, at, rest.len));
    }
    if (n != countof(fields))
        return err_set(err, ERR_SYNTAX, "expected exactly 5 fields, found %zu: [%.*s]", n,
                       STR_ARG(text));
    return 0;
}

static int read_word(struct str text, struct cron_schedule *out, struct err *err)
{
    static const struct {
        const char *word, *fields;
    } words[] = {
        {"@yearly",   "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {"@monthly",  "0 0 1 * *"},
        {"@weekly",   "0 0 * * 0"},
        {"@daily",    "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@hourly",   "0 * * * *"},
    };
    const struct str every = S("@every ");

    for (size_t i = 0; i < countof(words); i++) {
        if (str_eqz(text, words[i].word))
            return read_fields(str_from(words[i].fields), out, err);
    }
    if (!str_starts(text, every))
        return bad(err, text, "unrecognized descriptor");
    if (span_parse(str_slice(text, every.len, text.len), &out->every, err) < 0)
        return err_wrap(err, "failed to parse duration '%.*s'", STR_ARG(text));
    out->every.ns -= out->every.ns % SECOND_NS;
    if (out->every.ns < SECOND_NS)
        out->every.ns = SECOND_NS;
    return 0;
}

int cron_parse(struct str text, struct cron_schedule *out, struct err *err)
{
    struct cron_schedule s = {0};
    struct str zone, rest;

    if (str_starts(text, S("TZ=")) || str_starts(text, S("CRON_TZ="))) {
        if (!str_cut(str_slice(text, str_index(text, '=') + 1, text.len), ' ', &zone, &rest))
            return bad(err, text, "no blank after the time zone");
        if (!zone_is_known(zone))
            return bad(err, zone, "unknown time zone");
        s.has_zone = true;
        s.zone = zone;
        text = rest;
    }
    text = str_trim(text);
    if (!text.len)
        return err_set(err, ERR_SYNTAX, "empty spec string");
    if ((text.at[0] == '@' ? read_word(text, &s, err) : read_fields(text, &s, err)) < 0)
        return -1;
    *out = s;
    return 0;
}
