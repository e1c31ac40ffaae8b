/* workqueue.c - which key runs when
 *
 * A row is a little script: "+a" queues a, "+a@50" in 50 ms, "." lets all that is ready run,
 * ".100" 100 ms go by, "ok:a" and "fail:a" end a run. What ran is told with its time.
 */
#include "control/workqueue.h"

#include "base/testing.h"
#include "io/io.h"

struct world {
    struct io *io;
    struct workqueue *q;
    struct buf log;
};

static void ready(void *ctx)
{
    struct world *w = ctx;
    struct str key;

    while (workqueue_take(w->q, &key))
        buf_printf(&w->log, "%.*s@%" PRId64 " ", STR_ARG(key),
                   io_uptime(w->io).ns / (SECOND_NS / 1000));
}

static int64_t ms_of(struct str text)
{
    int64_t ms = 0;

    check(text.len == 0 || str_to_i64(text, &ms));
    return ms;
}

static void play(struct world *w, const char *script)
{
    struct str left = str_from(script), word, head, tail;

    while (left.len) {
        str_cut(left, ' ', &word, &left);
        if (word.at[0] == '.') {
            int64_t ms = ms_of(str_slice(word, 1, word.len));
            io_run_until(w->io, instant_add(io_now(w->io), span_ms(ms)));
        } else if (word.at[0] == '+') {
            bool is_later = str_cut(str_slice(word, 1, word.len), '@', &head, &tail);
            if (is_later)
                workqueue_add_after(w->q, head, span_ms(ms_of(tail)));
            else
                workqueue_add(w->q, head);
        } else {
            str_cut(word, ':', &head, &tail);
            workqueue_done(w->q, tail, str_eq(head, S("fail")));
        }
    }
}

TEST(workqueue)
{
    static const struct {
        const char *name, *script, *want;
        size_t len, busy; /* at the end */
    } cases[] = {
        {"a key stands in it once",                           "+a +b +a .",                           "a@0 b@0",         0, 2},
        {"first come, first served",                          "+b +a +c .",                           "b@0 a@0 c@0",     0, 3},
        {"queued while it runs: once more",                   "+a . +a +a . ok:a . ok:a .",           "a@0 a@0",         0, 0},
        {"while it runs it does not run again",               "+a . +a .100",                         "a@0",             0, 1},
        {"later",                                             "+a@50 .49 +b . .100",                  "b@49 a@50",       0, 2},
        {"the earlier of two delays counts",                  "+a@50 +a@20 .100 ok:a .100",           "a@20",            0, 0},
        {"also where it was first",                           "+a@20 +a@50 .100 ok:a .100",           "a@20",            0, 0},
        {"no delay is now",                                   "+a@0 .",                               "a@0",             0, 1},
        {"a run before its time does not take the time away", "+a@50 +a . ok:a .100",
         "a@0 a@50",                                                                                                     0, 1},
        {"due while it runs: once more",                      "+a@50 +a .100 ok:a .",                 "a@0 a@100",       0, 1},
        {"a failure comes back after 5 ms, 10, 20",           "+a . fail:a .5 fail:a .10 fail:a .20",
         "a@0 a@5 a@15 a@35",                                                                                            0, 1},
        {"not before its time",                               "+a . fail:a .4",                       "a@0",             1, 0},
        {"a success forgets the failures",                    "+a . fail:a .5 ok:a +a . fail:a .5",
         "a@0 a@5 a@5 a@10",                                                                                             0, 1},
        {"each key has its own failures",                     "+a +b . fail:a ok:b +b .1 .4",         "a@0 b@0 b@0 a@5", 0,
         2                                                                                                                   },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct world w = {.io = io_sim_new(i + 1, (struct instant){SECOND_NS})};

        test_case(cases[i].name);
        w.q = workqueue_new(w.io, ready, &w);
        play(&w, cases[i].script);
        check_samez(str_trim(buf_str(&w.log)), cases[i].want);
        check_int(workqueue_len(w.q), cases[i].len);
        check_int(workqueue_busy(w.q), cases[i].busy);
        workqueue_free(w.q);
        io_free(w.io);
        buf_fini(&w.log);
    }
}

TEST(workqueue_backs_off_for_a_minute_at_most)
{
    struct world w = {.io = io_sim_new(1, (struct instant){SECOND_NS})};

    w.q = workqueue_new(w.io, ready, &w);
    play(&w, "+a .");
    for (int i = 0; i < 20; i++)
        play(&w, "fail:a .60000");
    buf_clear(&w.log);
    play(&w, "fail:a .59999");
    check_int(w.log.len, 0);
    play(&w, ".1");
    check_int(workqueue_busy(w.q), 1);
    workqueue_free(w.q);
    io_free(w.io);
    buf_fini(&w.log);
}
