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
