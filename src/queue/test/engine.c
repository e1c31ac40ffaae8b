/* engine.c - whole cycles, from objects as users write them */
#include "box.h"

TEST(one_cycle)
{
    static const struct {
        const char *name, *box, *want;
    } cases[] = {
        {"an idle queue admits",                  "flavor f|cq a quota 4|w a1 a 4",                  "a1 admitted"            },
        {"more than there can ever be",           "flavor f|cq a quota 4|w a1 a 5",                  "a1 no-fit"              },
        {"a full queue",                          "flavor f|cq a quota 4|w a0 a 3 running|w a1 a 2", "a1 no-victims"          },
        {"idle quota is borrowed",
         "flavor f|cq a cohort c quota 4|cq b cohort c quota 4|w a1 a 7",                            "a1 admitted"            },
        {"who does not borrow goes first",
         "flavor f|cq a cohort c quota 4|cq b cohort c quota 4|w a1 a 5|w b1 b 4",                   "b1 admitted, a1 skipped"},
        {"the higher priority in a queue",        "flavor f|cq a quota 4|w a1 a 2|w a2 a 2 prio 5",
         "a2 admitted"                                                                                                        },
        {"the newest low one goes",
         "flavor f|cq a quota 4 within LowerPriority|w l1 a 2 running|w l2 a 2 running|w h a 1 "
         "prio 9",                                                                                   "h preempting l2"        },
        {"lent quota is reclaimed",
         "flavor f|cq a cohort c quota 4 reclaim Any|cq b cohort c quota 0|w b1 b 3 running|w "
         "a1 "
         "a 4",                                                                                      "a1 preempting b1"       },
        {"no more than needed are preempted",
         "flavor f|cq a quota 8 within LowerPriority|w s1 a 1 running|w s2 a 1 running|w big a "
         "6 "
         "prio 1 running|w h a 6 prio 9",                                                            "h preempting big"       },
        {"equals are not preempted",
         "flavor f|cq a quota 4 within LowerPriority|w l1 a 4 running|w h a 1",                      "h no-victims"           },
        {"a missing flavor: nobody is looked at", "cq a quota 4|w a1 a 1",                           ""                       },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, cases[i].box);
        check_samez(box_run(&b), cases[i].want);
        box_close(&b);
    }
}

/* Public report K01. */
TEST(a_too_big_head_does_not_starve_others)
{
    struct instant next;
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq a cohort c quota 3 reclaim Any|cq b cohort c quota 0|"
                "w b1 b 1|w a4 a 4|w a3 a 3");
    check_samez(box_run(&b), "a4 no-fit, b1 admitted");
    check_samez(box_run(&b), "a3 preempting b1");
    box_add(&b, "done b1");
    check_samez(box_run(&b), "a3 admitted");
    check_samez(box_run(&b), "a4 no-fit");
    check(!queue_has_heads(b.e, NOW, &next));
    box_close(&b);
}

/* Cycles until there is nothing to look at; what they decided, one line each. */
static struct str until_rest(struct box *b)
{
    struct buf out = buf_in(&b->a, 256);
    struct instant later;

    for (int i = 0; i < 100 && queue_has_heads(b->e, NOW, &later); i++) {
        struct str line = box_run(b);
        buf_printf(&out, "%s%.*s", i ? "; " : "", STR_ARG(line));
    }
    return buf_str(&out);
}

/* Nobody waits for ever behind a head that cannot start. */
TEST(what_fits_starts_before_the_engine_rests)
{
    static const struct {
        const char *name, *box, *want;
    } cases[] = {
        {"behind a head whose scan goes on",
         "flavor f|flavor g|cq q quota 4 second 1|w big q 2 and 9 prio 1|w small q 1", "big no-fit; big no-fit; small admitted; big no-fit; big no-fit"},
        {"a smaller size on the flavor that was lost to others",
         "flavor f|flavor g|cq a cohort c quota 0 second 0|cq b cohort c quota 4 second 0|"
         "w w a 1 pods 4 least 1|w b1 b 2",                                            "b1 admitted, w skipped; w no-fit; w admitted"                  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, cases[i].box);
        check_samez(until_rest(&b), cases[i].want);
        box_close(&b);
    }
}

/* Whose tree did not change is not judged again; within a tree all are, as who waits for its
 * victims keeps their room from the others. */
TEST(an_event_is_the_business_of_its_tree)
{
    static const struct {
        const char *name, *event, *want;
    } cases[] = {
        {"quota is freed in another tree", "done b2",         "b1 admitted"              },
        {"somebody comes to another tree", "w b3 b 1 prio 2", "b3 no-victims"            },
        {"somebody comes to the tree",     "w c3 c 1",        "p preempting v, c3 no-fit"},
        {"a victim goes",                  "done v",          "p admitted"               },
        {"nothing that anybody waits for", "flavor f",        "p preempting v"           },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(box_close) struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, "flavor f|cq a cohort t quota 4 within LowerPriority|cq c cohort t quota 0|"
                    "cq b quota 1|w v a 4 running|w b2 b 1 running|w p a 4 prio 5|w b1 b 1");
        check_samez(until_rest(&b), "p preempting v, b1 no-victims");
        box_add(&b, cases[i].event);
        check_samez(until_rest(&b), cases[i].want);
    }
}

/* Quota that comes back is taken by who owns it before others borrow it: they would be
 * preempted again in the next cycle. */
TEST(freed_quota_is_its_owners_first)
{
    static const struct {
        const char *name, *box, *event, *want;
    } cases[] = {
        {"all of it",                                             "w a1 a 2|w a2 a 2|w b1 b 3", "done a0",
         "a1 admitted; a2 admitted; b1 no-fit"                                                                                                                                                  },
        {"what it does not need is borrowed",                     "w a1 a 2|w b1 b 2",          "done a0",
         "a1 admitted; b1 admitted"                                                                                                                                                             },
        {"nobody of its own waits",                               "w b1 b 2",                   "done a0", "b1 admitted"                                                                        },
        {"beyond what it owns it stands in line",                 "w a1 a 4|w a2 a 2|w d1 d 2", "done a0",
         "a1 admitted; d1 admitted, a2 skipped"                                                                                                                                                 },
        {"its own does not fit: nobody is kept waiting for that", "w a1 a 8|w b1 b 2",
         "done a0",                                                                                        "a1 no-fit; a1 no-fit, b1 admitted"                                                  },
        {"nor while others are admitted",                         "w a1 a 8|w b1 b 1",
         "done a0|w d1 d 1|w d2 d 1|w d3 d 1",                                                             "a1 no-fit, d1 admitted; a1 no-fit, d2 admitted, b1 admitted; a1 no-fit, d3 admitted"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(box_close) struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, "flavor f|cq a cohort c quota 4 reclaim Any strict|cq b cohort c quota 0|"
                    "cq d cohort c quota 2|w a0 a 6 running");
        box_add(&b, cases[i].box);
        until_rest(&b);
        box_add(&b, cases[i].event);
        queue_why(b.e, &b.a, S("ns/b1"), NOW); /* a question changes nothing */
        check_samez(until_rest(&b), cases[i].want);
    }
}

TEST(an_eviction_that_could_not_be_written_is_asked_again)
{
    scoped(box_close) struct box b = {0};
    struct instant later;

    box_open(&b);
    box_add(&b, "flavor f|cq q quota 1 within LowerPriority|w v q 1 running|w p q 1 prio 5");
    check_samez(until_rest(&b), "p preempting v");
    queue_preemption_failed(b.e, S("ns/p"), S("ns/v"), NOW);
    check(queue_has_heads(b.e, NOW, &later));
    struct queue_plan plan = queue_cycle(b.e, &b.a, NOW);
    check_int(plan.len, 1);
    check(!plan.at[0].victims[0].is_under_way);
}

/* Sums that stopped at their ceiling are known again once what filled them has gone. */
TEST(no_quota_leaks_from_amounts_that_overflow)
{
    static const struct {
        const char *name, *box;
        int64_t used, reserved;
    } cases[] = {
        {"the one that overflows ends",
         "w a1 a 9223372036854775807 running|w a2 a 1 running|done a1",                         1000, 1000},
        {"both end",                     "w a1 a 1E running|w a2 a 1E running|done a1|done a2", 0,    0   },
        {"less than nothing is nothing", "w a1 a -3 running|w a2 a 1 running",                  1000, 1000},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        const struct queue_ledger_line *l;
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, "flavor f|cohort top quota 1|cohort mid parent top quota 1|cq a cohort mid "
                    "quota 4 lend 1");
        box_add(&b, cases[i].box);
        check_int(queue_cq_look(b.e, &b.a, S("a")).reserved[0].used, cases[i].used);
        check_int(queue_lq_look(b.e, &b.a, S("ns"), S("lq-a")).reserved[0].used,
                  cases[i].reserved);
        for (size_t k = queue_ledger(b.e, &b.a, S(""), &l); k-- > 0;)
            check_int(l[k].used, l[k].is_queue ? cases[i].used : 0);
        box_close(&b);
    }
}

TEST(a_more_favorable_variant_replaces_the_other)
{
    struct box b = {.config.gates =
                        QUEUE_GATES_DEFAULT | 1u << QUEUE_GATE_CONCURRENT_ADMISSION};

    box_open(&b);
    box_add(&b, "flavor f|flavor g|cq a quota 4 second 4|w o a 4 running|w xf a 3 only f|"
                "w xg a 3 only g");
    check_samez(box_run(&b), "xf no-victims");
    check_samez(box_run(&b), "xg admitted on g");
    box_add(&b, "done o");
    check_samez(box_run(&b), "xf replacing xg");
    box_add(&b, "done xg");
    check_samez(box_run(&b), "xf admitted");
    box_add(&b, "w xg a 3 only g");
    check_samez(box_run(&b), "xg skipped");
    box_close(&b);
}

TEST(the_ledger_adds_up)
{
    const struct queue_ledger_line *l;
    struct box b = {0};
    struct buf out;

    box_open(&b);
    box_add(&b,
            "flavor f|cohort top quota 1|cohort mid parent top quota 2|cq a cohort mid quota 4 "
            "lend 3|cq b cohort mid quota 2|cq c cohort top quota 3|w a1 a 2 running|"
            "w b1 b 6 running");
    out = buf_in(&b.a, 1024);
    size_t n = queue_ledger(b.e, &b.a, S("c"), &l);
    for (size_t i = 0; i < n; i++) {
        check_int(l[i].nominal + l[i].from_below + l[i].borrowed, l[i].used + l[i].idle);
        buf_printf(&out, "%.*s\n", STR_ARG(queue_ledger_text(&b.a, &l[i])));
    }
    check_samez(buf_str(&out),
                "top f/cpu: nominal 1 + from below 10 + borrowed 0 = used 7 + idle 4; kept 11, "
                "available 4\n"
                "  c f/cpu: nominal 3 + borrowed 0 = used 0 + idle 3; kept 0, available 4\n"
                "  mid f/cpu: nominal 2 + from below 5 + borrowed 0 = used 7 + idle 0; kept 0, "
                "available 4\n"
                "    a f/cpu: nominal 4 + borrowed 0 = used 2 + idle 2; kept 1, available 4\n"
                "    b f/cpu: nominal 2 + borrowed 4 = used 6 + idle 0; kept 0, available 4\n");
    check_int(queue_ledger(b.e, &b.a, S("nobody"), &l), 0);
    check_int(queue_ledger(b.e, &b.a, S(""), &l), n);
    box_close(&b);
}

/* Its LocalQueue stops and goes on: it is looked at once, then waits for its time again. */
TEST(a_backoff_outlives_a_restart_of_its_queue)
{
    scoped(box_close) struct box b = {0};
    const struct queue_pending *list;

    box_open(&b);
    box_add(&b, "flavor f|cq a quota 1|w big a 1 running");
    box_put(&b, S("{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},"
                  "\"spec\":{\"queueName\":\"lq-a\",\"podSets\":[{\"count\":1,\"template\":{"
                  "\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}]}}}]},"
                  "\"status\":{\"requeueState\":{\"requeueAt\":\"2027-01-01T00:00:00Z\"}}}"));
    for (int stop = 1; stop >= 0; stop--)
        box_put(&b, str_printf(&b.a,
                               "{\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq-a\","
                               "\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":\"a\","
                               "\"stopPolicy\":\"%s\"}}",
                               stop ? "Hold" : "None"));
    check_int(queue_cycle(b.e, &b.a, NOW).len, 1);
    queue_wake(b.e, S("a"), NOW);
    check_int(queue_list(b.e, &b.a, S("a"), &list), 1);
    check(list[0].is_parked);
}

/* Parked with its shape while its time has not come: capacity does not wake it. */
TEST(a_backoff_holds_for_who_is_parked_with_its_shape)
{
    static const char wl[] =
        "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%"
        "s\"},"
        "\"spec\":{\"queueName\":\"lq-a\",\"podSets\":[{\"count\":1,\"template\":{\"spec\":{"
        "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}]}}}]},\"status\":{%s}}";
    scoped(box_close) struct box b = {0};
    const struct queue_pending *list;

    box_open(&b);
    box_add(&b, "flavor f|cq a quota 1|w big a 1 running");
    box_put(&b, str_printf(&b.a, wl, "x", "x", ""));
    box_put(&b, str_printf(&b.a, wl, "y", "y", ""));
    box_put(&b, str_printf(&b.a, wl, "y", "y",
                           "\"requeueState\":{\"requeueAt\":\"2027-01-01T00:00:00Z\"}"));
    check_samez(box_run(&b), "x no-victims");
    queue_wake(b.e, S("a"), NOW);
    check_int(queue_list(b.e, &b.a, S("a"), &list), 2);
    check(!list[0].is_parked);
    check(list[1].is_parked);
    queue_wake(b.e, S("a"), instant_add(NOW, span_s(366 * 24 * 3600)));
    queue_list(b.e, &b.a, S("a"), &list);
    check(!list[1].is_parked);
}

/* Two racing writes may close a circle; it opens with either edge. */
TEST(cohorts_in_a_circle)
{
    static const struct {
        const char *name, *box, *then;
    } cases[] = {
        {"its own parent",    "cohort c parent c quota 4|cq a cohort c quota 0|w w a 1",
         "cohort c quota 4"                                                                                },
        {"two of each other",
         "cohort c parent d quota 4|cohort d parent c quota 0|cq a cohort c "
         "quota 0|w w a 1",                                                              "cohort d quota 0"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, "flavor f");
        box_add(&b, cases[i].box);
        check_samez(until_rest(&b), "w refused");
        box_add(&b, cases[i].then);
        check_samez(until_rest(&b), "w admitted");
        box_add(&b, cases[i].box);
        queue_delete_cohort(b.e, S("c"));
        queue_delete_cohort(b.e, S("d"));
        box_close(&b);
    }
}

TEST(a_cohort_that_was_its_own_parent_goes)
{
    scoped(box_close) struct box b = {0};

    box_open(&b);
    box_add(&b, "cohort c parent c quota 4");
    queue_delete_cohort(b.e, S("c"));
    check_int(queue_ledger(b.e, &b.a, S("c"), &(const struct queue_ledger_line *){0}), 0);
}

/* Parked from the start: nobody of its queue was ever looked at. */
TEST(a_backoff_ends_in_an_idle_queue)
{
    scoped(box_close) struct box b = {0};
    const struct queue_pending *list;

    box_open(&b);
    box_add(&b, "flavor f|cq a cohort c quota 1");
    box_put(&b, S("{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},"
                  "\"spec\":{\"queueName\":\"lq-a\",\"podSets\":[{\"count\":1,\"template\":{"
                  "\"spec\":{\"containers\":[{}]}}}]},\"status\":{\"requeueState\":{"
                  "\"requeueAt\":\"2026-01-01T01:00:00Z\"}}}"));
    for (int hour = 0; hour < 2; hour++) {
        queue_wake(b.e, S("a"), instant_add(NOW, span_s(hour * 3600)));
        check_int(queue_list(b.e, &b.a, S("a"), &list), 1);
        check_int(list[0].is_parked, hour == 0);
    }
}

/* Its status says QuotaReserved and names no ClusterQueue: it neither waits nor uses quota. */
TEST(a_reservation_without_an_admission_waits_for_its_owner)
{
    scoped(box_close) struct box b = {0};
    struct instant later;

    box_open(&b);
    box_add(&b, "flavor f|cq a quota 4");
    box_put(&b, S("{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},"
                  "\"spec\":{\"queueName\":\"lq-a\",\"podSets\":[{\"count\":1,\"template\":{"
                  "\"spec\":{\"containers\":[{}]}}}]},\"status\":{\"conditions\":[{\"type\":"
                  "\"QuotaReserved\",\"status\":\"True\"}]}}"));
    check(!queue_has_heads(b.e, NOW, &later));
    check_int(queue_cq_look(b.e, &b.a, S("a")).reserving, 0);
}

/* Public report K27: what the pod gets when it is made. */
TEST(a_limit_is_asked_for_before_a_default_is)
{
    static const struct {
        const char *name, *resources;
        int64_t want;
    } cases[] = {
        {"a limit is a request",      "{\"limits\":{\"cpu\":\"3\"}}",   3000},
        {"nothing is the default",    "{}",                             1000},
        {"a request stays a request", "{\"requests\":{\"cpu\":\"2\"}}", 2000},
    };
    scoped(arena_fini) struct arena a = {0};
    const struct json *range = json_parse(
        &a,
        S("{\"metadata\":{\"namespace\":\"ns\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
          "\"defaultRequest\":{\"cpu\":\"1\"}}]}}"),
        NULL, NULL);
    const struct queue_config config = queue_config_default();
    const struct queue_loader loader = {
        .config = &config, .rules = {.limit_ranges = &range, .n_limit_ranges = 1}
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct queue_workload_spec spec;
        const struct json *wl = json_parse(
            &a,
            str_printf(
                &a,
                "{\"metadata\":{\"namespace\":\"ns\"},\"spec\":{\"podSets\":[{\"count\":1,"
                "\"template\":{\"spec\":{\"containers\":[{\"resources\":%s}]}}}]}}",
                cases[i].resources),
            NULL, NULL);
        test_case(cases[i].name);
        queue_load_workload(&a, wl, &loader, &spec);
        check_int(spec.podsets[0].n_requests, 1);
        check_int(spec.podsets[0].requests[0].amount, cases[i].want);
        const struct queue_podset_spec *only;
        check_int(queue_load_requests(&a, wl, &loader, &only), 1);
        check_same(only[0].name, S("main"));
        check_int(only[0].n_requests, 1);
        check_int(only[0].requests[0].amount, cases[i].want);
    }
}

/* A version whose podsets are known is read without them; any other as a whole. */
TEST(a_next_version_counts_for_what_it_says)
{
    static const struct {
        const char *name, *first, *next, *want;
    } cases[] = {
        {"only its state is another", "u 1 1 3 \"x\":0",
         "u 1 1 3 \"requeueState\":{\"count\":1}",                           "w admitted"},
        {"another spec",              "u 1 1 9 \"x\":0",  "u 2 1 3 \"x\":0", "w admitted"},
        {"pods given back",           "u 1 3 2 \"x\":0",
         "u 1 3 2 \"reclaimablePods\":[{\"name\":\"main\",\"count\":2}]",    "w admitted"},
        {"another one of that name",  "u 1 1 9 \"x\":0",  "v 1 1 3 \"x\":0", "w admitted"},
        {"nobody counts its specs",   "u 0 1 9 \"x\":0",  "u 0 1 3 \"x\":0", "w admitted"},
        {"what is wrong stays wrong", "u 1 1 -1 \"x\":0",
         "u 1 1 -1 \"requeueState\":{\"count\":1}",                          "w refused" },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(box_close) struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, "flavor f|cq a quota 4");
        for (int k = 0; k < 2; k++) {
            struct str line = str_from(k ? cases[i].next : cases[i].first);
            struct str uid = box_word(&line), generation = box_word(&line);
            struct str pods = box_word(&line), cpu = box_word(&line);
            const struct json *o = json_parse(
                &b.a,
                str_printf(
                    &b.a,
                    "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\","
                    "\"uid\":\"%.*s\",\"generation\":%.*s},\"spec\":{\"queueName\":\"lq-a\","
                    "\"podSets\":[{\"count\":%.*s,\"template\":{\"spec\":{\"containers\":[{"
                    "\"resources\":{\"requests\":{\"cpu\":\"%.*s\"},\"limits\":{\"cpu\":\"%.*"
                    "s\""
                    "}}}]}}}]},\"status\":{%.*s}}",
                    STR_ARG(uid), STR_ARG(generation), STR_ARG(pods),
                    STR_ARG(str_eqz(cpu, "-1") ? S("2") : cpu),
                    STR_ARG(str_eqz(cpu, "-1") ? S("1") : cpu), STR_ARG(line)),
                NULL, NULL);
            check(queue_put_changed(b.e, &b.a, o, &b.loader, NOW));
        }
        check_same(box_run(&b), str_from(cases[i].want));
    }
}
