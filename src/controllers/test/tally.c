/* tally.c - the tests of what labels come out as */
#include "controllers/tally.h"
#include "base/testing.h"

static const struct tally_row rows[] = {
    {"things_total", "What happened.", 0, 0}
};

static struct str told(struct buf *out, struct tally *t)
{
    buf_clear(out);
    tally_write(t, out);
    tally_free(t);
    return str_slice(buf_str(out),
                     S("# HELP things_total What happened.\n"
                       "# TYPE things_total counter\n")
                         .len,
                     out->len);
}

TEST(labels)
{
    scoped(arena_fini) struct arena a = {0};
    struct buf out = buf_in(&a, 4096);
    struct tally *t = tally_new(rows, countof(rows));

    tally_count(t, 0, 1, "result=\"ok\"");
    tally_count(t, 0, 2, "result=\"%s\"", "ok");
    tally_count(t, 0, 3, "result=\"%.*s\",why=\"%s\"", 2, "okay", "");
    tally_count(t, 0, 4, "code=\"%d\",result=\"%s\"", 7, "ok");
    tally_count(t, 0, 5, "result=\"%.*s\"", 9, "ok");
    check_same(told(&out, t), S("things_total{result=\"ok\"} 8\n"
                                "things_total{result=\"ok\",why=\"\"} 3\n"
                                "things_total{code=\"7\",result=\"ok\"} 4\n"));
}

TEST(long_labels_are_cut)
{
    scoped(arena_fini) struct arena a = {0};
    struct buf out = buf_in(&a, 4096);
    struct tally *t = tally_new(rows, countof(rows));
    char text[1024];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tally_count(t, 0, 1, "%s=\"%s\"", text, text);
    tally_count(t, 0, 1, "%s%c", text, 'x');
    check_same(told(&out, t), str_printf(&a, "things_total{%.*s} 2\n", 511, text));
}
