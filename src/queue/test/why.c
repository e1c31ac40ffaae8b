/* why.c - every no names what would make it a yes, and that is true */
#include "box.h"

TEST(the_smallest_change)
{
    static const struct {
        const char *name, *box, *key, *change;
    } cases[] = {
        {"it fits",                                 "flavor f|cq q quota 4|w a q 2",                                "ns/a",
         "nothing: it starts when its turn comes"                                                                                                                                       },
        {"one may ask for what is free",            "flavor f|cq q quota 4|w r q 3 running|w a q 3",
         "ns/a",                                                                                                            "ask 1 of 'cpu' instead of 3 in podset 'main'"              },
        {"or for what there can ever be",           "flavor f|cq q quota 4|w a q 9",                                "ns/a",
         "ask 4 of 'cpu' instead of 9 in podset 'main'"                                                                                                                                 },
        {"nothing is free: a priority that evicts",
         "flavor f|cq q quota 4 within LowerPriority|w r q 4 prio 7 running|w a q 3",                               "ns/a",
         "priority 8 instead of 0 (evicts 1 workload)"                                                                                                                                  },
        {"another queue",                           "flavor f|cq q quota 1|cq big quota 9|w r q 1 running|w a q 1",
         "ns/a",                                                                                                            "submit to queue 'lq-big'"                                  },
        {"more quota",                              "flavor f|cq q quota 1|w r q 1 running|w a q 1",                "ns/a",
         "nominal quota 2 of 'cpu' instead of 1 in ClusterQueue 'q', flavor 'f'"                                                                                                        },
        {"less of two that are short",              "flavor f|cq q quota 4 gpu 2|w a q 6 gpu 3",                    "ns/a",
         "ask 4 of 'cpu' instead of 6 in podset 'main' and "
         "ask 2 of 'gpu' instead of 3 in podset 'main'"                                                                                                                                 },
        {"one of them is out: more quota of both",  "flavor f|cq q quota 4 gpu 0|w a q 6 gpu 3",
         "ns/a",                                                                                                            "nominal quota 3 of 'gpu' instead of 0 in ClusterQueue 'q', flavor 'f' and "
         "nominal quota 6 of 'cpu' instead of 4 in ClusterQueue 'q', flavor 'f'"                                                                                        },
        {"less in two podsets",                     "flavor f|cq q quota 4|w r q 2 running|w a q 6 and 3",          "ns/a",
         "ask 1333m of 'cpu' instead of 6 in podset 'main' and "
         "ask 666m of 'cpu' instead of 3 in podset 'and'"                                                                                                                               },
        {"evicting is enough",
         "flavor f|cq q quota 1 within LowerPriority|w r q 1 running|"
         "w a q 1 prio 3",                                                                                          "ns/a", "nothing: it starts when its turn comes (evicts 1 workload)"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, cases[i].box);
        struct queue_why why = queue_why(b.e, &b.a, str_from(cases[i].key), NOW);
        check(why.is_waiting);
        check(why.n_changes > 0);
        if (why.n_changes)
            check_samez(queue_change_text(&b.a, &why.changes[0]), cases[i].change);
        box_close(&b);
    }
}

TEST(the_reason_has_numbers)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq q quota 10|w r q 6 running|w a q 6");
    struct queue_why why = queue_why(b.e, &b.a, S("ns/a"), NOW);
    check_int(why.n_causes, 2);
    check_int(why.causes[0].code, CAUSE_SHORT);
    check_int(why.causes[0].asked, 6000);
    check_int(why.causes[0].available, 4000);
    check_int(why.causes[0].short_by, 2000);
    check_int(why.causes[0].limit, 10000);
    check_int(why.causes[0].used, 6000);
    check_samez(queue_reason_text(why.reason), "WaitingForQuota");
    check(str_has(why.message, S("2 more needed")));
    box_close(&b);
}

TEST(each_candidate_says_why_it_is_spared)
{
    static const struct {
        const char *name, *box;
        enum queue_spared why;
    } cases[] = {
        {"the policy takes nobody",     "flavor f|cq q quota 4|w r q 4 running|w a q 4 prio 9",
         SPARED_POLICY_NEVER                                                                                         },
        {"its priority is not lower",
         "flavor f|cq q quota 4 within LowerPriority|w r q 4 prio 9 running|w a q 4 prio 9",    SPARED_PRIORITY      },
        {"its queue uses only its own",
         "flavor f|cq q cohort c quota 0 reclaim Any|cq o cohort c quota 4|w r o 4 running|"
         "w a q 4 prio 9",                                                                      SPARED_WITHIN_NOMINAL},
        {"all of them free too little",
         "flavor f|cq q quota 9 within LowerPriority|w r q 4 running|w s q 5 prio 9 running|"
         "w a q 6 prio 9",                                                                      SPARED_ELIGIBLE      },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, cases[i].box);
        struct queue_why why = queue_why(b.e, &b.a, S("ns/a"), NOW);
        check(why.n_candidates > 0);
        if (why.n_candidates)
            check_samez(queue_spared_text(why.candidates[0].why),
                        str_z(&b.a, queue_spared_text(cases[i].why)));
        box_close(&b);
    }
}

TEST(a_closed_or_missing_queue_is_named)
{
    static const struct {
        const char *name, *box, *reason, *message;
    } cases[] = {
        {"the ClusterQueue is stopped", "flavor f|cq q quota 4 stop Hold|w a q 1",  "Suspended",
         "ClusterQueue q is inactive"      },
        {"its flavor is missing",       "cq q quota 4|w a q 1",                     "Suspended",
         "ClusterQueue q is inactive"      },
        {"no such LocalQueue",          "flavor f|cq q quota 4|w a q 1 of nowhere", "Misconfigured",
         "LocalQueue nowhere doesn't exist"},
        {"the ClusterQueue has gone",   "flavor f|cq q quota 4|w a q 1|gone q",     "Misconfigured",
         "ClusterQueue q doesn't exist"    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].name);
        box_open(&b);
        box_add(&b, cases[i].box);
        struct queue_why why = queue_why(b.e, &b.a, S("ns/a"), NOW);
        check_samez(queue_reason_text(why.reason), cases[i].reason);
        check_samez(why.message, cases[i].message);
        box_close(&b);
    }
}

TEST(asking_changes_nothing)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b,
            "flavor f|cq q cohort c quota 4 reclaim Any|cq o cohort c quota 4|w r o 7 running|"
            "w a q 3|w b q 9");
    for (int i = 0; i < 3; i++) {
        queue_why(b.e, &b.a, S("ns/a"), NOW);
        queue_why(b.e, &b.a, S("ns/b"), NOW);
        queue_why(b.e, &b.a, S("ns/r"), NOW);
        check(!queue_why(b.e, &b.a, S("ns/nobody"), NOW).is_known);
    }
    check_samez(box_run(&b), "a preempting r");
    box_close(&b);
}
