/* job_index.c - sets of completion indexes */
#include "controllers/job_index.h"

typedef VEC(struct index_range) range_vec;

static struct index_set done(const range_vec *v)
{
    struct index_set s = {.at = v->at, .len = v->len};

    for (size_t i = 0; i < v->len; i++)
        s.total += (int64_t)v->at[i].last - v->at[i].first + 1;
    return s;
}

/* Appends a range that begins at or behind the last one's beginning. */
static void append(struct arena *a, range_vec *v, int32_t first, int32_t last)
{
    if (v->len && (int64_t)first <= (int64_t)vec_last(v).last + 1) {
        vec_last(v).last = MAX(vec_last(v).last, last);
        return;
    }
    vec_push_in(a, v, (struct index_range){first, last});
}

struct index_set index_set_parse(struct arena *a, struct str text, int32_t completions)
{
    range_vec v = {0};
    struct str piece, start, end;
    int64_t first, last;

    while (text.len) {
        str_cut(text, ',', &piece, &text);
        bool has_end = str_cut(piece, '-', &start, &end);
        str_cut(end, '-', &end, &piece); /* more parts are ignored */
        if (!str_to_i64(start, &first) || first > INT32_MAX || first < INT32_MIN)
            continue;
        if (first >= completions)
            break;
        last = first;
        if (has_end && (!str_to_i64(end, &last) || last > INT32_MAX))
            continue;
        append(a, &v, (int32_t)first, (int32_t)MIN(last, (int64_t)completions - 1));
    }
    return done(&v);
}

bool index_set_has(const struct index_set *s, int32_t index)
{
    size_t from = 0, to = s->len;

    while (from < to) {
        size_t mid = (from + to) / 2;
        if (index < s->at[mid].first)
            to = mid;
        else if (index > s->at[mid].last)
            from = mid + 1;
        else
            return true;
    }
    return false;
}

int64_t index_sets_share(const struct index_set *a, const struct index_set *b)
{
    int64_t n = 0;

    for (size_t i = 0, k = 0; i < a->len && k < b->len;) {
        int64_t first = MAX(a->at[i].first, b->at[k].first);
        int64_t last = MIN(a->at[i].last, b->at[k].last);
        n += MAX(last - first + 1, INT64_C(0));
        if (a->at[i].last < b->at[k].last)
            i++;
        else
            k++;
    }
    return n;
}

struct index_set index_set_with(struct arena *a, const struct index_set *s,
                                const int32_t *indexes, size_t n)
{
    range_vec v = {0};
    size_t i = 0, k = 0;

    while (i < s->len || k < n) {
        if (k == n || (i < s->len && s->at[i].first <= indexes[k])) {
            append(a, &v, s->at[i].first, s->at[i].last);
            i++;
        } else {
            append(a, &v, indexes[k], indexes[k]);
            k++;
        }
    }
    return done(&v);
}

struct str index_set_text(struct arena *a, const struct index_set *s)
{
    struct buf b = buf_in(a, 16 * s->len + 1);

    for (size_t i = 0; i < s->len; i++) {
        if (i)
            buf_byte(&b, ',');
        buf_i64(&b, s->at[i].first);
        if (s->at[i].last == s->at[i].first)
            continue;
        buf_byte(&b, s->at[i].last == s->at[i].first + 1 ? ',' : '-');
        buf_i64(&b, s->at[i].last);
    }
    return buf_str(&b);
}

static int by_value(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;

    return (a > b) - (a < b);
}

void index_sort(int32_t *indexes, size_t n)
{
    sort_stable(indexes, n, sizeof(*indexes), by_value);
}

/* ---- marks ---- */

#define MARKS_SPREAD 64 /* bits spent on an index, at most; sorting costs more */

bool index_marks_room(struct arena *a, size_t n, int32_t end, struct index_marks *m)
{
    if (end < 0 || (uint64_t)end > (n + 64) * MARKS_SPREAD)
        return false;
    *m = (struct index_marks){.bits = arena_array(a, uint64_t, (size_t)end / 64 + 1),
                              .n_bits = end};
    return true;
}

struct index_marks index_marks_of(struct arena *a, int32_t *indexes, size_t n)
{
    struct index_marks m = {0};
    struct index_set none = {0};
    int32_t most = -1;

    for (size_t i = 0; i < n; i++)
        most = MAX(most, indexes[i]);
    if (most < INT32_MAX && index_marks_room(a, n, most + 1, &m)) {
        for (size_t i = 0; i < n; i++)
            index_marks_add(&m, indexes[i]);
        return m;
    }
    index_sort(indexes, n);
    for (size_t i = 1; i < n; i++)
        m.has_twice |= indexes[i] == indexes[i - 1];
    m.set = index_set_with(a, &none, indexes, n);
    return m;
}

bool index_marks_has(const struct index_marks *m, int32_t index)
{
    if (!m->bits)
        return index_set_has(&m->set, index);
    return index < m->n_bits && m->bits[index / 64] >> (index % 64) & 1;
}

int64_t index_marks_past(const struct index_marks *m, int64_t i)
{
    if (!m->bits) {
        while (i <= INT32_MAX && index_set_has(&m->set, (int32_t)i))
            i++;
        return i;
    }
    while (i < m->n_bits) {
        uint64_t none = ~m->bits[i / 64] >> (i % 64);
        if (none)
            return i + __builtin_ctzll(none);
        i = (i / 64 + 1) * 64;
    }
    return i;
}
