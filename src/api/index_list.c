/* index_list.c - lists of completion indexes, strictly */
#include "api/index_list.h"

struct interval {
    int32_t first, last;
};

static int read_index(struct str s, int32_t completions, int32_t *out, struct err *err)
{
    int64_t n;

    if (!str_to_i64(s, &n))
        return err_set(err, ERR_SYNTAX, "cannot convert string to integer for index: \"%.*s\"",
                       STR_ARG(s));
    if (n >= completions)
        return err_set(err, ERR_SYNTAX, "too large index: \"%.*s\"", STR_ARG(s));
    *out = (int32_t)(n < INT32_MIN ? INT32_MIN : n);
    return 0;
}

static int read_interval(struct str s, int32_t completions, struct interval *out,
                         struct err *err)
{
    struct str first, last;
    bool is_pair = str_cut(s, '-', &first, &last);

    if (is_pair && str_index(last, '-') != STR_NONE)
        return err_set(err, ERR_SYNTAX,
                       "the fragment \"%.*s\" violates the requirement that an index interval "
                       "can have at most two parts separated by '-'",
                       STR_ARG(s));
    if (read_index(first, completions, &out->first, err) < 0)
        return -1;
    out->last = out->first;
    if (!is_pair)
        return 0;
    if (read_index(last, completions, &out->last, err) < 0)
        return -1;
    if (out->first >= out->last)
        return err_set(err, ERR_SYNTAX,
                       "non-increasing order, previous: %" PRId32 ", current: %" PRId32,
                       out->first, out->last);
    return 0;
}

int index_list_check(struct str text, int32_t completions, int64_t *total, struct err *err)
{
    struct interval one = {0};
    int32_t previous = 0;
    int64_t n = 0;
    bool has_more = text.len > 0, has_previous = false;

    while (has_more) {
        struct str piece;
        has_more = str_cut(text, ',', &piece, &text);
        if (read_interval(piece, completions, &one, err) < 0)
            return -1;
        if (has_previous && previous >= one.first)
            return err_set(err, ERR_SYNTAX,
                           "non-increasing order, previous: %" PRId32 ", current: %" PRId32,
                           previous, one.first);
        previous = one.last;
        has_previous = true;
        n += (int64_t)one.last - one.first + 1;
    }
    if (total)
        *total = n;
    return 0;
}

/* The next interval that parses; false at the end. */
static bool next_interval(struct str *rest, int32_t completions, struct interval *out)
{
    while (rest->len) {
        struct str piece;
        str_cut(*rest, ',', &piece, rest);
        if (read_interval(piece, completions, out, NULL) == 0)
            return true;
    }
    return false;
}

bool index_lists_overlap(struct str one, struct str other, int32_t completions, int32_t *index)
{
    struct interval a, b;
    bool has_a = next_interval(&one, completions, &a);
    bool has_b = next_interval(&other, completions, &b);

    while (has_a && has_b) {
        if (a.first <= b.last && b.first <= a.last) {
            *index = MAX(a.first, b.first);
            return true;
        }
        if (a.last < b.first)
            has_a = next_interval(&one, completions, &a);
        else
            has_b = next_interval(&other, completions, &b);
    }
    return false;
}
