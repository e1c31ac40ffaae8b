/* tally.c - counters and histograms by labels */
#include "controllers/tally.h"

#include <stdarg.h>

struct tallied {
    uint64_t count;
    double sum;
    uint64_t buckets[TALLY_MAX_BOUNDS];
};

struct family {
    MAP(struct tallied) by_labels; /* keys in the arena */
};

struct tally {
    const struct tally_row *rows;
    size_t n;
    struct arena arena;
    struct family families[];
};

struct tally *tally_new(const struct tally_row *rows, size_t n)
{
    struct tally *t = mem_zero(1, sizeof(*t) + n * sizeof(t->families[0]));

    t->rows = rows;
    t->n = n;
    for (size_t i = 0; i < n; i++)
        assert(rows[i].n_bounds <= TALLY_MAX_BOUNDS);
    return t;
}

void tally_free(struct tally *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        map_fini(&t->families[i].by_labels);
    arena_fini(&t->arena);
    free(t);
}

static char *add_text(char *p, const char *end, struct str text)
{
    size_t n = MIN(text.len, (size_t)(end - p));

    if (n)
        memcpy(p, text.at, n);
    return p + n;
}

/* Labels are mostly formats of texts alone, several for each look at a Job: those are put
 * together here, as printf() does it in several times the time. What does not fit in `room` is
 * cut. */
like_printf(3, 0) static struct str
    labels_text(char *room, size_t size, const char *format, va_list args)
{
    const char *end = room + size - 1, *f = format, *next;
    char *p = room;
    va_list whole;

    va_copy(whole, args);
    for (; (next = strchr(f, '%')); f = next) {
        p = add_text(p, end, str_of(f, (size_t)(next - f)));
        if (next[1] == 's') {
            p = add_text(p, end, str_from(va_arg(args, const char *)));
            next += 2;
        } else if (strncmp(next, "%.*s", 4) == 0) {
            int len = va_arg(args, int);
            const char *at = va_arg(args, const char *);
            p = add_text(p, end, str_of(at, len > 0 ? strnlen(at, (size_t)len) : 0));
            next += 4;
        } else {
            int n = vsnprintf(room, size, format, whole);
            va_end(whole);
            return str_of(room, MIN((size_t)MAX(n, 0), size - 1));
        }
    }
    p = add_text(p, end, str_from(f));
    va_end(whole);
    return str_of(room, (size_t)(p - room));
}

/* NULL where there are too many. */
like_printf(3, 0) static struct tallied *tallied(struct tally *t, size_t row,
                                                 const char *format, va_list args)
{
    char room[512];
    struct str labels = labels_text(room, sizeof(room), format, args);
    struct family *f = &t->families[row];
    struct tallied *x = map_get(&f->by_labels, labels);

    if (x)
        return x;
    if (map_len(&f->by_labels) >= TALLY_MAX_LABELS)
        return NULL;
    return map_put(&f->by_labels, str_copy(&t->arena, labels));
}

void tally_count(struct tally *t, size_t row, uint64_t n, const char *labels, ...)
{
    va_list args;

    va_start(args, labels);
    struct tallied *x = tallied(t, row, labels, args);
    va_end(args);
    if (x)
        x->count += n;
}

void tally_observe(struct tally *t, size_t row, double value, const char *labels, ...)
{
    const struct tally_row *r = &t->rows[row];
    double bound = r->first;
    va_list args;

    va_start(args, labels);
    struct tallied *x = tallied(t, row, labels, args);
    va_end(args);
    if (!x)
        return;
    x->count++;
    x->sum += value;
    for (size_t i = 0; i < r->n_bounds; i++, bound *= 2)
        x->buckets[i] += value <= bound;
}

static void write_histogram(const struct tally_row *r, struct str labels,
                            const struct tallied *x, struct buf *out)
{
    const char *comma = labels.len ? "," : "";
    double bound = r->first;

    for (size_t i = 0; i < r->n_bounds; i++, bound *= 2)
        buf_printf(out, "%s_bucket{%.*s%sle=\"%g\"} %" PRIu64 "\n", r->name, STR_ARG(labels),
                   comma, bound, x->buckets[i]);
    buf_printf(out, "%s_bucket{%.*s%sle=\"+Inf\"} %" PRIu64 "\n", r->name, STR_ARG(labels),
               comma, x->count);
    buf_printf(out, "%s_sum{%.*s} %g\n%s_count{%.*s} %" PRIu64 "\n", r->name, STR_ARG(labels),
               x->sum, r->name, STR_ARG(labels), x->count);
}

void tally_write(const struct tally *t, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tally_row *r = &t->rows[i];
        const struct family *f = &t->families[i];
        buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", r->name, r->help, r->name,
                   r->n_bounds ? "histogram" : "counter");
        map_each (k, &f->by_labels) {
            struct str labels = map_key(&f->by_labels, k);
            const struct tallied *x = map_at(&f->by_labels, k);
            if (r->n_bounds)
                write_histogram(r, labels, x, out);
            else
                buf_printf(out, "%s{%.*s} %" PRIu64 "\n", r->name, STR_ARG(labels), x->count);
        }
    }
}
