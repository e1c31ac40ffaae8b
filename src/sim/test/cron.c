/* cron.c - CronJobs by the hour: what runs, what is replaced, what is kept */
#include "sim/sim.h"

#include "base/testing.h"
#include "io/io.h"
#include "json/json.h"

/* How many Jobs lie there and how many Events tell of what. */
struct count {
    size_t jobs, complete, created, forbidden, deleted, active, many;
};

static struct count count(struct sim *s)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct buf dump = buf_in(&a, 1 << 16);
    struct str rest, line;
    struct count n = {0};

    sim_dump(s, &dump);
    rest = buf_str(&dump);
    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        const struct json *v = json_parse(&a, line, NULL, NULL);
        struct str kind = json_str(json_getz(v, "kind"));
        struct str reason = json_str(json_getz(v, "reason"));
        size_t times = (size_t)json_i64(json_getz(v, "count"), 1);
        if (str_eqz(kind, "Job")) {
            n.jobs++;
            n.complete += json_has(json_path(v, "status", "completionTime", NULL));
        } else if (str_eqz(kind, "CronJob")) {
            n.active = json_len(json_path(v, "status", "active", NULL));
        } else if (str_eqz(json_str(json_path(v, "involvedObject", "kind", NULL)), "CronJob")) {
            n.created += str_eqz(reason, "SuccessfulCreate") ? times : 0;
            n.forbidden += str_eqz(reason, "JobAlreadyActive") ? times : 0;
            n.deleted += str_eqz(reason, "SuccessfulDelete") ? times : 0;
            n.many += str_eqz(reason, "TooManyMissedTimes") ? times : 0;
        }
    }
    return n;
}

static struct sim *start(struct arena *a, const char *more, int run_for_s)
{
    struct sim_config config = {.seed = 1, .hollow_nodes = 1};
    struct err err = {0};
    struct sim *s = sim_new(&config, &err);
    struct str text = str_printf(
        a,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c\"},"
        "\"spec\":{\"schedule\":\"*/5 * * * *\",%s\"jobTemplate\":{\"spec\":{\"template\":{"
        "\"metadata\":{\"annotations\":{\"berth.dev/run-for\":\"%ds\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\","
        "\"command\":"
        "[\"x\"]}]}}}}}}",
        more, run_for_s);

    if (!check(s && sim_apply(s, json_parse(a, text, NULL, NULL), &err) == 0))
        fprintf(stderr, "    %s\n", err.text);
    return s;
}

TEST(cron_runs_and_keeps_history)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct sim *s = start(&a, "", 60);

    sim_run(s, span_s(31 * 60));
    struct count n = count(s);
    check_int(n.jobs, 4); /* three complete ones are kept; the last one runs */
    check_int(n.complete, 3);
    check_int(n.created, 6);
    check_int(n.active, 1);
    check_int(n.deleted, 2);
    sim_free(s);
}

TEST(cron_policies)
{
    static const struct {
        const char *name, *more;
        size_t created, deleted, active;
    } cases[] = {
        {"all run",              "",                                   6, 0, 3},
        {"none while one runs",  "\"concurrencyPolicy\":\"Forbid\",",  3, 0, 1},
        {"the new one instead",  "\"concurrencyPolicy\":\"Replace\",", 6, 5, 1},
        {"none while suspended", "\"suspend\":true,",                  0, 0, 0},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct sim *s = start(&a, cases[i].more, 11 * 60 + 30);
        test_case(cases[i].name);
        sim_run(s, span_s(30 * 60 + 30));
        struct count n = count(s);
        check_int(n.created, cases[i].created);
        check_int(n.deleted, cases[i].deleted);
        check_int(n.active, cases[i].active);
        sim_free(s);
    }
}

/* Every five minutes, from a full hour on; at 7 minutes the clock is set. What was due
 * meanwhile is made up for once, and no time counts twice. */
TEST(cron_clock_is_set)
{
    static const struct {
        const char *name, *more;
        int64_t by_s;        /* later */
        size_t soon, at_all; /* Jobs made: a minute after that, and 45 minutes after it */
        bool many;
    } cases[] = {
        {"not at all",                                 "",                                0,     1, 10, false},
        {"an hour later: one run for all",             "",                                3600,  2, 11, false},
        {"a day later, and it is told",                "",                                86400, 2, 11, true },
        {"too late to be made up for",                 "\"startingDeadlineSeconds\":60,", 3600,  1, 10, false},
        {"an hour earlier: none until it was so late", "",                                -3600, 1, 1,  false},
        {"a second is a clock that is corrected",      "",                                1,     1, 10, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct sim *s = start(&a, cases[i].more, 10);
        struct io *io = sim_io(s);
        test_case(cases[i].name);
        sim_run(s, span_s(7 * 60));
        check_int(count(s).created, 1);
        io_sim_set_clock(io, instant_add(io_now(io), span_s(cases[i].by_s)));
        sim_run(s, span_s(60));
        struct count n = count(s);
        check_int(n.created, cases[i].soon);
        check_int(n.many > 0, cases[i].many);
        sim_run(s, span_s(44 * 60 + 30));
        check_int(count(s).created, cases[i].at_all);
        sim_free(s);
    }
}
