/* event_told.c - which Events are written, in the order of what is said
 *
 * Said, of object `x` by the teller `j`, as a Normal one:
 *
 *     a  a*3  1..9     a note; three times; nine notes
 *     !a  y.a  k/a     a warning; about another object; by another teller
 *     +600             seconds go by
 *
 * Written: the note, "(a)" where it is one that combines others, "x2" for its count; "-3":
 * three that are withheld.
 */
#include "control/event_told.h"

#include "base/testing.h"

struct desk {
    struct told_book *book;
    struct span now;
    struct buf out;
    int withheld;
};

static void flush(struct desk *d)
{
    if (d->withheld)
        buf_printf(&d->out, "-%d ", d->withheld);
    d->withheld = 0;
}

static void say(struct desk *d, const struct said *s)
{
    const struct told *t = told_count(d->book, s, d->now);

    if (!told_spend(d->book, s, d->now)) {
        d->withheld++;
        return;
    }
    flush(d);
    check_same(t->type, s->type);
    check_same(t->reason, s->reason);
    struct str note = t->note;
    bool is_combined = str_starts(note, S(TOLD_COMBINED));
    if (is_combined)
        note = str_slice(note, sizeof(TOLD_COMBINED) - 1, note.len);
    buf_printf(&d->out, is_combined ? "(%.*s)" : "%.*s", STR_ARG(note));
    if (t->count > 1)
        buf_printf(&d->out, "x%" PRId64, t->count);
    buf_add(&d->out, S(" "));
}

static void say_word(struct desk *d, struct arena *a, struct str word)
{
    struct said s = {S("j"), S("uid-x"), S("Normal"), S("Done"), word};
    struct str head, times;
    int64_t n = 1, from = 0, to = 0;

    if (str_cut(s.note, '/', &head, &s.note))
        s.teller = head;
    else
        s.note = word;
    if (s.note.len > 2 && s.note.at[1] == '.' && s.note.at[2] != '.') {
        s.uid = str_slice(s.note, 0, 1);
        s.note = str_slice(s.note, 2, s.note.len);
    }
    if (str_starts(s.note, S("!"))) {
        s.type = S("Warning");
        s.note = str_slice(s.note, 1, s.note.len);
    }
    if (str_cut(s.note, '.', &head, &times)) {
        check(str_to_i64(head, &from) && str_to_i64(str_slice(times, 1, times.len), &to));
        for (; from <= to; from++) {
            s.note = str_of_u64(a, (uint64_t)from);
            say(d, &s);
        }
        return;
    }
    if (str_cut(s.note, '*', &head, &times))
        check(str_to_i64(times, &n));
    s.note = head;
    while (n--)
        say(d, &s);
}

#define NINE "1 2 3 4 5 6 7 8 9 "
#define MANY                                                                                   \
    "(10) (11)x2 (12)x3 (13)x4 (14)x5 (15)x6 (16)x7 (17)x8 (18)x9 (19)x10 (20)x11 (21)x12 "    \
    "(22)x13 (23)x14 (24)x15 (25)x16 "
#define NEXT_8 "11 12 13 14 15 16 17 18 "
#define NEXT NEXT_8 "19 "
#define TEN "a ax2 ax3 ax4 ax5 ax6 ax7 ax8 ax9 ax10 "
#define FIFTEEN "ax11 ax12 ax13 ax14 ax15 ax16 ax17 ax18 ax19 ax20 ax21 ax22 ax23 ax24 ax25 "

TEST(told)
{
    static const struct {
        const char *name, *said, *written;
    } cases[] = {
        {"the same is counted up",            "a a a",                 "a ax2 ax3"                     },
        {"different ones are two Events",     "a b a",                 "a b ax2"                       },
        {"so are those of two objects",       "a y.a a",               "a a ax2"                       },
        {"of two tellers",                    "a k/a k/a",             "a a ax2"                       },
        {"and a warning is another",          "a !a",                  "a a"                           },
        {"nine stand alone, others together", "1..12",                 NINE "(10) (11)x2 (12)x3"       },
        {"until the allowance ends",          "1..100",                NINE MANY "-75"                 },
        {"what is withheld is counted",       "1..100 +300 101",       NINE MANY "-75 (101)x92"        },
        {"one that stands goes on there",     "1..11 3 12",            NINE "(10) (11)x2 3x2 (12)x3"   },
        {"ten times the same is one note",    "a*10 b",                TEN "b"                         },
        {"similar ten minutes later",         "1..10 +600 11",         NINE "(10) (11)x2"              },
        {"each keeps them together",          "1..10 +500 11 +500 12", NINE "(10) (11)x2 (12)x3"       },
        {"a fresh start a second later",      "1..10 +601 11..20",     NINE "(10) " NEXT "(20)x2"      },
        {"to which old ones count",           "1..10 +601 3 11..19",   NINE "(10) 3x2 " NEXT_8 "(19)x2"},
        {"one more each five minutes",        "a*26 +299 a +1 a a",    TEN FIFTEEN "-2 ax28 -1"        },
        {"which are saved",                   "a*26 +600 a a a",       TEN FIFTEEN "-1 ax27 ax28 -1"   },
        {"up to a burst",                     "+100000 a*26",          TEN FIFTEEN "-1"                },
        {"warnings have their allowance",     "a*26 !b",               TEN FIFTEEN "-1 b"              },
        {"and so has another object",         "a*26 y.b",              TEN FIFTEEN "-1 b"              },
        {"and another teller",                "a*26 k/b",              TEN FIFTEEN "-1 b"              },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct desk d = {.book = told_book_new(), .now = span_s(5)};
        struct str left = str_from(cases[i].said), word;
        int64_t seconds;
        test_case(cases[i].name);
        while (left.len) {
            str_cut(left, ' ', &word, &left);
            if (word.at[0] == '+' && str_to_i64(word, &seconds))
                d.now.ns += seconds * SECOND_NS;
            else
                say_word(&d, &a, word);
        }
        flush(&d);
        check_samez(str_trim(buf_str(&d.out)), cases[i].written);
        buf_fini(&d.out);
        told_book_free(d.book);
    }
}

static struct told *say_of(struct told_book *b, uint64_t object)
{
    scoped(arena_fini) struct arena a = arena_sized(256);
    struct said s = {S("j"), str_of_u64(&a, object), S("Normal"), S("Done"), S("a")};

    check(told_spend(b, &s, span_s(1)));
    return told_count(b, &s, span_s(1));
}

TEST(told_is_bounded)
{
    struct told_book *b = told_book_new();

    for (uint64_t i = 0; i < TOLD_MAX; i++)
        check_int(say_of(b, i)->count, 1);
    check_int(say_of(b, 0)->count, 2);
    test_case("the one that was not used for longest is forgotten");
    check_int(say_of(b, TOLD_MAX)->count, 1);
    check_int(say_of(b, 0)->count, 3);
    check_int(say_of(b, 1)->count, 1);
    test_case("so is what was spent about it");
    for (int i = 0; i < TOLD_OBJECT_BURST - 3; i++)
        say_of(b, 0);
    for (uint64_t i = 0; i < TOLD_MAX; i++)
        say_of(b, TOLD_MAX + i);
    check_int(say_of(b, 0)->count, 1);
    test_case("one that is held stays as it is");
    struct told *kept = told_ref(say_of(b, 7));
    for (uint64_t i = 0; i < TOLD_MAX; i++)
        say_of(b, 3 * TOLD_MAX + i);
    check_same(kept->note, S("a"));
    told_unref(kept);
    told_book_free(b);
}
