/* preempt.c - who is evicted for whom, and which flavor is taken: the rules as rows */
#include "box.h"

static void run_rows(const char *const rows[][3], size_t n, struct queue_config config)
{
    for (size_t i = 0; i < n; i++) {
        struct box b = {.config = config};
        test_case(rows[i][0]);
        box_open(&b);
        box_add(&b, "flavor f|flavor g");
        box_add(&b, rows[i][1]);
        check_samez(box_run(&b), rows[i][2]);
        box_close(&b);
    }
}

TEST(within_a_queue_and_a_cohort)
{
#define ALONE "cq s quota 6 within LowerPriority"
#define PAIR                                                                                   \
    "cq c1 cohort c quota 6 borrow 6 within LowerPriority reclaim LowerPriority"               \
    "|cq c2 cohort c quota 6 borrow 6 within Never reclaim Any"
    static const char *const rows[][3] = {
        {"the lowest goes",
         ALONE "|w low s 2 prio -1 running|w mid s 2 running|w high s 2 prio 1 running|"
               "w in s 2 prio 1",                                               "in preempting low"     },
        {"and the next, where one is not enough",
         ALONE "|w low s 2 prio -1 running|w mid s 2 running|w high s 2 prio 1 running|"
               "w in s 3 prio 1",                                               "in preempting low mid" },
        {"nothing is strictly lower",
         ALONE "|w low s 3 prio -1 running|w mid s 3 running|w in s 1 prio -1",
         "in no-victims"                                                                                },
        {"what may go is not enough",
         ALONE "|w low s 3 prio -1 running|w mid s 3 running|w in s 4",         "in no-victims"         },
        {"a small one is given back where a larger one had to go anyway",
         ALONE "|w low s 1 prio -1 running|w mid s 2 running|w high s 3 prio 1 running|"
               "w in s 2 prio 1",                                               "in preempting mid"     },
        {"of several queues' equals, the newest",
         "cq a cohort c quota 4 reclaim Any|cq x cohort c quota 0|cq y cohort c quota 0|"
         "w y1 y 2 running|w x1 x 2 running|w in a 2",                          "in preempting x1"      },
        {"of several queues' equals, the newest, whatever it is called",
         "cq a cohort c quota 4 reclaim Any|cq x cohort c quota 0|cq y cohort c quota 0|"
         "w x1 x 2 running|w y1 y 2 running|w in a 2",                          "in preempting y1"      },
        {"who must not borrow takes its own, too, though others would free enough",
         "cq a cohort c quota 4 within LowerPriority reclaim Any|cq b cohort c quota 4|"
         "w a1 a 2 running|w b1 b 6 running|w in a 4 prio 5",                   "in preempting b1 a1"   },
        {"other queues before one's own",
         PAIR "|w low c1 3 prio -1 running|w mid c2 3 running|w high c2 6 prio 1 running|"
              "w in c1 3 prio 1",                                               "in preempting mid"     },
        {"to borrow, nothing of others may be taken",
         PAIR "|w high c1 4 prio 1 running|w l1 c2 4 prio -1 running|w l2 c2 4 prio -1 running|"
              "w in c1 4 prio 1",                                               "in no-victims"         },
        {"its own and another's",
         PAIR "|w low c1 3 prio -1 running|w mid c1 2 running|w low2 c2 3 prio -1 running|"
              "w mid2 c2 4 running|w in c1 4",                                  "in preempting low2 low"},
        {"newer equals go, the newest first",
         "cq p quota 6 within LowerOrNewerEqualPriority|w in p 2 prio 1|w a p 2 prio 2 "
         "running|"
         "w b p 2 prio 1 running|w c p 2 prio 1 running",                       "in preempting c"       },
        {"older equals stay",
         "cq p quota 2 within LowerOrNewerEqualPriority|w a p 2 prio 1 running|w in p 2 prio "
         "1",                                                                   "in no-victims"         },
        {"what a neighbour lends is reclaimed",
         "cq a cohort c quota 6 lend 4 reclaim LowerPriority|cq b cohort c quota 6 lend 2 "
         "reclaim LowerPriority|w al a 3 prio -1 running|w bm b 3 running|w bh b 4 prio 1 "
         "running|w in a 3 prio 1",                                             "in preempting bm"      },
        {"what it does not lend is not",
         "cq a cohort c quota 6 lend 4 reclaim LowerPriority|cq b cohort c quota 6 lend 2 "
         "reclaim LowerPriority|w bl b 10 prio -1 running|w in a 9",            "in no-fit"             },
        {"across the tree",
         "cohort root|cohort left parent root|cohort right parent root|cq l cohort left quota "
         "10 reclaim Any|cq r cohort right quota 0|w w r 5 running|w in l 8",   "in preempting w"       },
    };

    run_rows(rows, countof(rows), (struct queue_config){0});
}

TEST(of_one_moment)
{
#define ONE "11111111-1111-4111-8111-111111111111"
#define ONE_MORE "11111111-1111-4111-8111-111111111112"
#define TWO "22222222-2222-4222-8222-222222222222"
#define QUEUES "cq a cohort c quota 4 reclaim Any|cq x cohort c quota 0|cq y cohort c quota 0|"
    static const char *const rows[][3] = {
        {"of several queues', the first by uid",
         QUEUES "w " TWO " x 2 running|w " ONE " y 2 same running|w in a 2",
         "in preempting " ONE},
        {"whatever the order in which they came",
         QUEUES "w " ONE " x 2 running|w " TWO " y 2 same running|w in a 2",
         "in preempting " ONE},
        {"of one queue's",                        QUEUES "w " TWO " x 2 running|w " ONE " x 2 same running|w in a 2",
         "in preempting " ONE},
        {"uids that begin alike",
         QUEUES "w " ONE_MORE " x 2 running|w " ONE " y 2 same running|w in a 2",
         "in preempting " ONE},
        {"a uid that is no UUID",                 QUEUES "w " ONE " x 2 running|w 0z y 2 same running|w in a 2",
         "in preempting 0z"  },
    };

    run_rows(rows, countof(rows), (struct queue_config){0});
}

TEST(borrowing_while_preempting)
{
#define FIVE                                                                                   \
    "cq as cohort c quota 1 borrow 12 within LowerPriority reclaim LowerPriority borrowers "   \
    "LowerPriority threshold 0|cq bs cohort c quota 1 borrow 12 within LowerPriority reclaim " \
    "Any borrowers LowerPriority threshold 0|cq ab cohort c quota 1 borrow 12|cq bb cohort c " \
    "quota 0 borrow 13|cq shared cohort c quota 10"
    static const char *const rows[][3] = {
        {"who is below the threshold goes",
         FIVE "|w abl ab 10 prio -1 running|w bbl bb 1 prio -1 running|w in as 10",
         "in preempting abl"                                                                                                          },
        {"at the threshold still",                              FIVE "|w w bs 10 running|w in as 10 prio 2",
         "in preempting w"                                                                                                            },
        {"above the threshold not",                             FIVE "|w w bs 10 prio 1 running|w in as 10 prio 2",
         "in no-victims"                                                                                                              },
        {"above the threshold, but nothing is borrowed for it",
         FIVE "|w w bs 13 prio 1 running|w in as 1 prio 2",                                                         "in preempting w" },
        {"equals never, while borrowing",                       FIVE "|w w as 10 running|w in bs 10",
         "in no-victims"                                                                                                              },
        {"nor where only lower ones may be reclaimed",          FIVE "|w w bs 13 running|w in as 2",
         "in no-victims"                                                                                                              },
        {"its own first, where that is enough",
         FIVE "|w a1 as 10 prio 1 running|w a2 as 1 prio 1 running|w b1 bs 1 prio 1 running|"
              "w b2 bs 1 prio 2 running|w in bs 1 prio 3",                                                          "in preempting b1"},
    };

    run_rows(rows, countof(rows), (struct queue_config){0});
}

TEST(the_right_of_a_subtree)
{
#define TREE(n) "cohort r|cohort c parent r quota " n "|cq q cohort c quota 0 reclaim Any"
    static const char *const rows[][3] = {
        {"quota of the subtree is taken back, whatever the priority",
         TREE("2") "|cq b cohort r quota 0|w w b 2 prio 5 running|w in q 2", "in preempting w"    },
        {"who stays within its own is safe",
         TREE("2") "|cq b cohort r quota 0|cq n cohort r quota 2|w own n 2 prio -10 running|"
                   "w w b 2 running|w in q 2",                               "in preempting w"    },
        {"both, where both borrow",
         TREE("2") "|cq b cohort r quota 0|w w1 b 1 prio 1 running|w w2 b 1 prio 2 running|"
                   "w in q 2",                                               "in preempting w1 w2"},
        {"a subtree within its own is safe as a whole",
         "cohort r|cohort c parent r quota 2|cohort o parent r quota 2|cq q cohort c quota 0 "
         "reclaim Any|cq qo cohort o quota 0|cq same cohort c quota 0|w o1 qo 1 prio -10 "
         "running|w o2 qo 1 prio -10 running|w w same 2 running|w in q 2",   "in no-fit"          },
    };

    run_rows(rows, countof(rows), (struct queue_config){0});
}

TEST(shares)
{
#define THREE                                                                                  \
    "cq a cohort all quota 3 within LowerPriority reclaim Any|cq b cohort all quota 3 "        \
    "within "                                                                                  \
    "LowerPriority reclaim Any|cq c cohort all quota 3 within LowerPriority reclaim Any"
#define RUN(cq, n) "|w " cq #n " " cq " 1 running"
#define A3 RUN("a", 1) RUN("a", 2) RUN("a", 3)
#define B5 RUN("b", 1) RUN("b", 2) RUN("b", 3) RUN("b", 4) RUN("b", 5)
    static const char *const rows[][3] = {
        {"within its nominal quota it reclaims",                        THREE A3 B5 RUN("c", 1) "|w in c 1",
         "in preempting b5"},
        {"an even share is allowed",                                                             THREE A3 B5 RUN("c",                                                       1) "|w in a 1",     "in preempting b5"},
        {"to turn the imbalance round is not",                                           THREE A3 B5 "|w in a 2",                                                              "in no-victims"                                                   },
        {"down to nothing, within nominal",                                              THREE "|w b1 b 9 running|w in a 2",
         "in preempting b1"},
        {"more than the other had is too much",
         THREE "|w a1 a 2 running|w b1 b 7 running|w in a 5",                                                               "in no-victims"                                                                                                          },
        {"its own low one counts too",
         THREE "|w al a 1 prio -1 running|w a2 a 2 running|w b1 b 3 running|w b2 b 3 running|"
               "w in a 2",   "in preempting b2"},
        {"a weight is a larger share",
         "cq a cohort all quota 3 weight 2 reclaim Any|cq b cohort all quota 3 reclaim Any|cq "
         "c cohort all quota 3" A3 B5 RUN("b",                                                            6) "|w in a 2",
         "in preempting b6 b5"},
        {"weight 0: all that is borrowed, and only that",
         "cq a cohort all quota 3 reclaim Any|cq b cohort all quota 3 weight 0|cq c cohort "
         "all "
         "quota 3" A3 B5 RUN("b",                                                              6) "|w in a 3",
         "in preempting b6 b5 b4"},
        {"what it borrows of another flavor does not count against it",
         "cq a cohort all quota 3 second 0 reclaim Any|cq b cohort all quota 0 second 5 "
         "reclaim Any|"
         "w a1 a 2 running|w a2 a 5 running on g|w b1 b 1 running|w in a 1","in preempting b1"                                                                                         },
        {"weight 0 takes from nobody who has a weight",
         "cq a cohort all quota 1 weight 0 reclaim Any|cq b cohort all quota 1|cq c cohort "
         "all "
         "quota 1|w a1 a 1 running|w b1 b 2 running|w in a 1",                 "in no-victims"                                             },
    };

    run_rows(rows, countof(rows),
             (struct queue_config){.gates = QUEUE_GATES_DEFAULT, .fair_sharing = true});
}

TEST(which_flavor)
{
    static const char *const rows[][3] = {
        {"the first that fits",                                "cq q quota 4 second 9|w in q 4", "in admitted"     },
        {"the next, rather than to preempt",
         "cq q quota 4 second 9 within LowerPriority|w l q 4 prio -1 running|w in q 4",          "in admitted on g"},
        {"to preempt, where that may stop the search",
         "cq q quota 4 second 9 within LowerPriority can-preempt MayStopSearch|w l q 4 prio "
         "-1 "
         "running|w in q 4",                                                                     "in preempting l" },
        {"but not where nobody may be preempted",
         "cq q quota 4 second 9 within LowerPriority can-preempt MayStopSearch|w l q 4 "
         "running|"
         "w in q 4",                                                                             "in admitted on g"},
        {"to borrow may stop the search, and does by default",
         "cq q cohort c quota 1 second 9|cq o cohort c quota 9|w in q 4",                        "in admitted"     },
        {"or the next is tried",
         "cq q cohort c quota 1 second 9 can-borrow TryNextFlavor|cq o cohort c quota 9|"
         "w in q 4",                                                                             "in admitted on g"},
        {"to borrow is better than to preempt",
         "cq q cohort c quota 4 second 0 within LowerPriority can-borrow TryNextFlavor|"
         "cq o cohort c quota 0 second 4|w l q 4 prio -1 running|w in q 4",                      "in admitted on g"},
        {"unless the other is preferred",
         "cq q cohort c quota 4 second 0 within LowerPriority prefer PreemptionOverBorrowing|"
         "cq o cohort c quota 0 second 4|w l q 4 prio -1 running|w in q 4",                      "in preempting l" },
    };

    run_rows(rows, countof(rows), (struct queue_config){0});
}

TEST(who_is_served_first)
{
    static const char *const fair[][3] = {
        {"the smaller share, not the older",
         "cohort all quota 10|cq a cohort all quota 50|cq b cohort all quota 50|w a0 a 50 "
         "running|w b0 b 55 running|w bn b 1|w an a 5", "an admitted, bn skipped"},
        {"who does not borrow, whatever its share",
         "cq a cohort all quota 5 second 5|cq b cohort all quota 5 borrow 5 second 0|w b0 b 4 "
         "running|w bn b 5|w an a 2",                   "an admitted, bn skipped"},
    };
    static const char *const classical[][3] = {
        {"the lower subtree before the higher priority",
         "cohort root|cohort g parent root quota 4|cq g1 cohort g quota 0|cq e cohort root "
         "quota 0|w ew e 4 prio 3|w gw g1 4",                        "gw admitted, ew skipped"                },
        {"room that a victim will leave is not there yet",
         "cq a cohort c quota 4 within LowerPriority|cq d cohort c quota 1|cq b cohort c quota "
         "0|"
         "w v a 4 prio -1 running|w p a 2 prio 5|w d1 d 1|w b1 b 1", "p preempting v, d1 admitted, b1 skipped"},
        {"then priority, then time",
         "cq a cohort c quota 0|cq b cohort c quota 0|cq d cohort c quota 0|cohort c quota 3|"
         "w a1 a 2|w b1 b 2 prio 1|w d1 d 1",                        "b1 admitted, a1 skipped, d1 admitted"   },
    };

    run_rows(fair, countof(fair),
             (struct queue_config){.gates = QUEUE_GATES_DEFAULT, .fair_sharing = true});
    run_rows(classical, countof(classical), (struct queue_config){0});
}
