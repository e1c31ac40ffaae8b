/* words.c - the tests of when a Workload is told why it waits */
#include "controllers/words.h"

#include "base/testing.h"

/* A script: "quota:m" says message m for a reason, "+250" lets 250 ms go by and takes what is
 * due, "forget" forgets. What was told: "m@250", "!" before it where the reason is another. */
static struct str play(struct arena *a, const char *script)
{
    struct str rest = str_from(script), one, head, message;
    struct instant now = {SECOND_NS}, next;
    struct words *w = words_new();
    struct buf out = buf_in(a, 128);
    int64_t ms = 0, more;
    struct word word;

    while (rest.len) {
        str_cut(rest, ' ', &one, &rest);
        if (str_starts(one, S("+")) && str_to_i64(one, &more)) {
            ms += more;
            now = instant_add(now, span_ms(more));
            while (words_take(w, now, &word, &next))
                buf_printf(&out, "%s%s%.*s@%" PRId64, buf_str(&out).len ? " " : "",
                           word.has_other_reason ? "!" : "", STR_ARG(word.message), ms);
        } else if (str_eqz(one, "forget")) {
            words_forget(w, S("n/w"));
        } else {
            str_cut(one, ':', &head, &message);
            words_say(w,
                      &(struct word){.key = S("n/w"),
                                     .message = message,
                                     .reason = str_eqz(head, "quota")
                                                   ? QUEUE_WAITING_FOR_QUOTA
                                                   : QUEUE_EXCEEDS_MAX_QUOTA},
                      now);
        }
    }
    words_free(w);
    return buf_str(&out);
}

TEST(words)
{
    static const struct {
        const char *name, *script, *want;
    } cases[] = {
        {"the first is told after a moment",              "quota:a +99 +1",                          "!a@100"       },
        {"who is served within the moment hears nothing", "quota:a +50 forget +100",                 ""             },
        {"of several, the newest",                        "quota:a +50 quota:b +50",                 "!b@100"       },
        {"the same again is not told again",              "quota:a +100 quota:a +9000",              "!a@100"       },
        {"new numbers wait",                              "quota:a +100 quota:b +4900 quota:c +100", "!a@100 c@5100"},
        {"a new reason does not",                         "quota:a +100 max:b +100",                 "!a@100 !b@200"},
        {"a reason that comes back has only numbers",     "quota:a +100 max:b quota:c +100",
         "!a@100 c@200"                                                                                             },
        {"after the silence all begins again",            "quota:a +100 +6000 quota:a +100",
         "!a@100 !a@6200"                                                                                           },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(play(&a, cases[i].script), cases[i].want);
    }
}

TEST(words_next)
{
    struct words *w = words_new();
    struct instant now = {SECOND_NS}, next = {7};
    struct word word = {.key = S("n/w"), .message = S("m"), .reason = QUEUE_PENDING};

    test_case("nothing was said");
    check(!words_take(w, now, &word, &next));
    check_int(next.ns, 0);
    test_case("when to look again");
    words_say(w, &word, now);
    check(!words_take(w, now, &word, &next));
    check_int(next.ns, SECOND_NS + WORDS_AFTER.ns);
    words_free(w);
}

/* A thousand workloads wait: four seconds until the first sentence, ten until the next. */
TEST(the_more_wait_the_less_each_is_told)
{
    struct words *w = words_new();
    struct instant now = {SECOND_NS}, next;
    struct word word = {.message = S("m"), .reason = QUEUE_PENDING}, told;
    char key[16];
    int n = 0;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            snprintf(key, sizeof(key), "n/%d", i);
            word.key = str_from(key);
            words_say(w, &word, now);
        }
    while (words_take(w, instant_add(now, span_ms(200)), &told, &next))
        n++;
    check(n > 25 && n < 75);
    now = instant_add(now, span_s(4));
    while (words_take(w, now, &told, &next))
        n++;
    check_int(n, 1000);
    word.message = S("other");
    words_say(w, &word, now);
    check(!words_take(w, instant_add(now, span_ms(9900)), &told, &next));
    check(words_take(w, instant_add(now, span_ms(10000)), &told, &next));
    words_free(w);
}
