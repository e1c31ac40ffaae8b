/* reports.c - public bug reports about queueing, quota and preemption, each as a test in our
 * words; the numbers are those of the project's list of cases */
#include "box.h"

/* K03: strict order blocks across flavors too, and says who is in front and for want of what.
 */
TEST(strict_fifo_names_who_is_in_front)
{
    static const char queue[] =
        "{\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q\"},\"spec\":{"
        "\"queueingStrategy\":\"%s\",\"namespaceSelector\":{},\"resourceGroups\":[{"
        "\"coveredResources\":[\"gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
        "\"gpu\",\"nominalQuota\":1}]}]},{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
        "\"name\":"
        "\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":10}]}]}]}}";
    static const char workload[] =
        "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":"
        "\"%s\",\"creationTimestamp\":\"2025-12-31T00:00:0%dZ\"},\"spec\":{\"queueName\":\"lq-"
        "q\","
        "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
        "\"name\":\"c\",\"resources\":{\"requests\":{\"%s\":\"1\"}}}]}}}]}}";
    scoped(box_close) struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|flavor g|cq q quota 0");
    box_put(&b, str_printf(&b.a, queue, "StrictFIFO"));
    box_put(&b, str_printf(&b.a, workload, "g1", "g1", 1, "gpu"));
    check_samez(box_run(&b), "g1 admitted");
    box_put(&b, str_printf(&b.a, workload, "g2", "g2", 2, "gpu"));
    box_put(&b, str_printf(&b.a, workload, "c1", "c1", 3, "cpu"));
    check_samez(box_run(&b), "g2 no-victims");
    struct queue_why why = queue_why(b.e, &b.a, S("ns/c1"), NOW);
    check_samez(why.behind, "ns/g2");
    check_int(why.ahead, 1);
    check_samez(why.message, "StrictFIFO: waiting behind ns/g2 (needs 1 gpu, 0 free)");
    box_put(&b, str_printf(&b.a, queue, "BestEffortFIFO"));
    check_samez(box_run(&b), "g2 no-victims");
    check_samez(box_run(&b), "c1 admitted on g");
}

/* K05: who reclaims its own goes before one who wants more than its own. */
TEST(a_reclaimer_within_nominal_goes_first)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq x cohort c quota 4 reclaim Any|cq y cohort c quota 4 reclaim Any|"
                "cq z cohort c quota 0|w x0 x 4 running|w y0 y 1 running|w z0 z 3 running|"
                "w x1 x 2|w y1 y 3");
    check_samez(box_run(&b), "y1 preempting z0, x1 no-victims");
    box_add(&b, "back z0 z 3");
    check_samez(box_run(&b), "y1 admitted, x1 skipped, z0 skipped");
    box_close(&b);
}

/* K07: the preference between preempting and borrowing means what it says. */
TEST(preference_between_flavors)
{
    static const struct {
        const char *prefer, *first, *second;
    } cases[] = {
        {"PreemptionOverBorrowing", "q2a preempting q1a", "q2b admitted on g"},
        {"BorrowingOverPreemption", "q2a admitted on g",  "q2b admitted on g"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        test_case(cases[i].prefer);
        box_open(&b);
        struct str text = str_printf(
            &b.a,
            "flavor f|flavor g|cq q1 cohort c quota 1 borrow 4 second 0 reclaim Any prefer %s|"
            "cq q2 cohort c quota 1 borrow 4 second 0 reclaim Any prefer %s|"
            "cq q3 cohort c quota 0 borrow 4 second 2 reclaim Any prefer %s|w q1a q1 1|w q1b "
            "q1 1",
            cases[i].prefer, cases[i].prefer, cases[i].prefer);
        box_add(&b, str_z(&b.a, text));
        check_samez(box_run(&b), "q1a admitted");
        check_samez(box_run(&b), "q1b admitted"); /* the second one borrows */
        box_add(&b, "w q2a q2 1");
        check_samez(box_run(&b), cases[i].first);
        if (i == 0) {
            box_add(&b, "back q1a q1 1");
            check(str_starts(box_run(&b), S("q2a admitted")));
        }
        box_add(&b, "w q2b q2 1");
        check(str_has(box_run(&b), str_from(cases[i].second)));
        if (i == 0) { /* what was evicted found a place on the other flavor */
            struct queue_why why = queue_why(b.e, &b.a, S("ns/q1a"), NOW);
            check(why.holds_quota || str_has(box_run(&b), S("q1a admitted on g")));
        }
        box_close(&b);
    }
}

/* K09: no borrowing limit means none, also while planning: one victim is enough. */
TEST(an_unlimited_borrower_evicts_no_more_than_it_needs)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq a cohort c quota 4 within LowerPriority reclaim Any|"
                "cq b cohort c quota 4|w al1 a 2 running|w al2 a 2 running|w b1 b 2 running|"
                "w ahi a 3 prio 10");
    check_samez(box_run(&b), "ahi preempting al2");
    box_close(&b);
}

/* K11: the head that is looked at still counts as waiting. */
TEST(pending_counts_the_head)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq q strict quota 9|w j0 q 9 running|w j1 q 1|w j2 q 1|w j3 q 1");
    for (int i = 0; i < 3; i++) {
        struct queue_cq_view v = queue_cq_look(b.e, &b.a, S("q"));
        check_int(v.pending_active + v.pending_parked, 3);
        check_int(v.reserving, 1);
        box_run(&b);
    }
    box_close(&b);
}

/* K13: who preempts while borrowing wins the slot that it emptied, by priority or by time. */
TEST(a_borrowing_preemptor_gets_what_it_freed)
{
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        struct box b = {.config.gates = QUEUE_GATES_DEFAULT};
        queue_config_gate(&b.config, S("PrioritySortingWithinCohort"), by_priority);
        box_open(&b);
        box_add(&b, "flavor f|cq a cohort c quota 1 within LowerPriority reclaim Any borrowers "
                    "LowerPriority|cq b cohort c quota 1|cq idle cohort c quota 2|"
                    "w a1 a 1 prio 100 running|w b1 b 1 running|w b2 b 2 running|"
                    "w a2 a 2 prio 100");
        check_samez(box_run(&b), "a2 preempting b2");
        box_add(&b, "back b2 b 2");
        check(str_has(box_run(&b), S("a2 admitted")));
        for (int i = 0; i < 10; i++)
            check(!str_has(box_run(&b), S("preempting")));
        box_close(&b);
    }
}

/* K15: an even split is allowed, asking for more is refused, and nothing flaps. */
TEST(final_share_allows_an_even_split)
{
    static const struct {
        const char *gang, *want;
    } cases[] = {
        {"w g p2 6", "g no-victims"      },
        {"w g p2 5", "g no-victims"      },
        {"w g p2 4", "g preempting w4 w3"},
        {"w g p2 3", "g preempting w4 w3"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {
            .config = {
                       .gates = QUEUE_GATES_DEFAULT, .fair_sharing = true, .fair_final_only = true}
        };
        test_case(cases[i].gang);
        box_open(&b);
        box_add(&b, "flavor f|cohort c quota 8|cq p1 cohort c quota 0 reclaim Any|"
                    "cq p2 cohort c quota 0 reclaim Any|w w1 p1 2 running|w w2 p1 2 running|"
                    "w w3 p1 2 running|w w4 p1 2 running");
        box_add(&b, cases[i].gang);
        check_samez(box_run(&b), cases[i].want);
        if (i >= 2) {
            box_add(&b, "back w3 p1 2|back w4 p1 2");
            check(str_has(box_run(&b), S("g admitted")));
            for (int k = 0; k < 10; k++)
                check(!str_has(box_run(&b), S("preempting")));
        }
        box_close(&b);
    }
}

/* K17: to ask a victim twice changes nothing, and nothing remembers it once it is gone. */
TEST(asking_twice_is_asking_once)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq q quota 1 within LowerPriority|w v q 1 running|w p q 1 prio 5");
    for (int i = 0; i < 3; i++) {
        struct queue_plan plan = queue_cycle(b.e, &b.a, NOW);
        check_int(plan.len, 1);
        check_int(plan.at[0].outcome, OUTCOME_PREEMPTING);
        check_int(plan.at[0].victims[0].is_under_way, i > 0);
    }
    box_add(&b, "back v q 1");
    check_samez(box_run(&b), "p admitted");
    box_add(&b, "done p");
    check_samez(box_run(&b), "v admitted");
    box_close(&b);
}

/* K19: a full queue and a higher priority inside it: the newest low one goes, and only that. */
TEST(one_victim_in_a_full_queue)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq prod quota 4 within LowerPriority|w l1 prod 1 running|"
                "w l2 prod 1 running|w l3 prod 1 running|w l4 prod 1 running|"
                "w h prod 1 prio 1");
    check_samez(box_run(&b), "h preempting l4");
    box_close(&b);
}

/* K21: partial admission down to exactly the minimum. */
TEST(partial_admission_reaches_the_minimum)
{
    struct box b = {0};

    box_open(&b);
    box_add(&b, "flavor f|cq q quota 9");
    box_put(&b,
            S("{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},"
              "\"spec\":{\"queueName\":\"lq-q\",\"podSets\":[{\"name\":\"main\",\"count\":10,"
              "\"minCount\":9,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
              "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}"));
    struct queue_plan p = queue_cycle(b.e, &b.a, NOW);
    check_int(p.len, 1);
    check_int(p.at[0].outcome, OUTCOME_ADMITTED);
    check_int(p.at[0].podsets[0].count, 9);
    box_close(&b);
}

/* K23: a scaled-down elastic job is charged for the pods that run. */
TEST(scaling_down_charges_what_runs)
{
    static const char text[] =
        "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},\"spec\":{"
        "\"queueName\":\"lq-q\",\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{"
        "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}"
        "}]"
        "}}}]},\"status\":{\"reclaimablePods\":[{\"name\":\"main\",\"count\":%d}],"
        "\"admission\":{"
        "\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":10,"
        "\"flavors\":{\"cpu\":\"f\"},\"resourceUsage\":{\"cpu\":\"10\"}}]},\"conditions\":[{"
        "\"type\":\"QuotaReserved\",\"status\":\"True\"}]}}";
    static const struct {
        int count, reclaimable, charged;
    } cases[] = {
        {10, 0, 10},
        {10, 4, 6 },
        {6,  0, 6 },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct box b = {0};
        char room[1024];
        box_open(&b);
        box_add(&b, "flavor f|cq q quota 20");
        snprintf(room, sizeof(room), text, cases[i].count, cases[i].reclaimable);
        box_put(&b, str_from(room));
        check_int(queue_cq_look(b.e, &b.a, S("q")).reserved[0].used, cases[i].charged * 1000);
        box_close(&b);
    }
}

/* S03: what was consumed of a dear resource counts by its weight. */
TEST(gpu_time_counts_in_the_order_of_users)
{
    static const struct queue_weight weights[] = {
        {S_INIT("cpu"), 0.05},
        {S_INIT("gpu"), 1   },
    };
    static const struct queue_consumed used[2][2] = {
        {{S_INIT("cpu"), 3600, 0}, {S_INIT("gpu"), 28800, 0}},
        {{S_INIT("cpu"), 3600, 0}, {S_INIT("gpu"), 0, 0}    },
    };
    scoped(box_close) struct box b = {
        .config = {.gates = QUEUE_GATES_DEFAULT,
                   .afs = true,
                   .afs_half_life = span_s(3600),
                   .afs_sampling = span_s(300),
                   .afs_weights = weights,
                   .n_afs_weights = countof(weights)}
    };

    box_open(&b);
    box_add(&b, "flavor f|cq q usage quota 1");
    for (int u = 0; u < 2; u++) {
        box_put(&b, str_printf(&b.a,
                               "{\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"u%d\","
                               "\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":\"q\"}}",
                               u + 1));
        queue_afs_seed(b.e, S("ns"), str_printf(&b.a, "u%d", u + 1), used[u], 2, NOW);
    }
    box_add(&b, "w first q 1 of u1|w second q 1 of u2");
    check_samez(box_run(&b), "second admitted");

    const struct queue_consumed *left; /* an hour later half of it is forgotten */
    check_int(
        queue_afs_sample(b.e, &b.a, S("ns"), S("u1"), instant_add(NOW, span_s(3600)), &left),
        2);
    check_same(left[1].resource, S("gpu"));
    check_int(left[1].units, 14400);
}
