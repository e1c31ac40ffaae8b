/* node_taints.c - the tests of what a node's state asks for */
#include "controllers/node_taints.h"
#include "base/testing.h"

#define READY(status)                                                                          \
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status "\"}]}"
#define TAINT(key) "{\"key\":\"" key "\",\"effect\":\"NoSchedule\"}"
#define NOT_READY "node.kubernetes.io/not-ready"

TEST(node_taints)
{
    static const struct {
        const char *name, *node, *want; /* want: keys, ! for NoExecute, or "same" */
    } cases[] = {
        {"a ready node loses the taint of new ones",
         "{\"spec\":{\"taints\":[" TAINT(NOT_READY) "]}," READY("True") "}",                                       ""                         },
        {"one that is not gets it",                  "{" READY("False") "}",                                       NOT_READY " " NOT_READY "!"},
        {"one that says nothing too",                "{}",                                                         NOT_READY                  },
        {"one that is unknown is unreachable",       "{" READY("Unknown") "}",
         "node.kubernetes.io/unreachable node.kubernetes.io/unreachable!"                                                                     },
        {"what others taint stays",
         "{\"spec\":{\"taints\":[" TAINT("a") "," TAINT(NOT_READY) "]}," READY("True") "}",
         "a"                                                                                                                                  },
        {"cordoned",                                 "{\"spec\":{\"unschedulable\":true}," READY("True") "}",
         "node.kubernetes.io/unschedulable"                                                                                                   },
        {"nothing to do",                            "{\"spec\":{\"taints\":[" TAINT("a") "]}," READY("True") "}", "same"                     },
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        const struct json *node = json_parse(&a, str_from(cases[i].node), NULL, NULL);
        const struct json *taints = node_taints_decide(&a, node, (struct instant){SECOND_NS});
        struct buf got = buf_in(&a, 64);
        json_each (j, taints) {
            if (j)
                buf_byte(&got, ' ');
            buf_add(&got, json_str(json_getz(json_at(taints, j), "key")));
            if (str_eqz(json_str(json_getz(json_at(taints, j), "effect")), "NoExecute"))
                buf_byte(&got, '!');
        }
        check_samez(taints ? buf_str(&got) : S("same"), cases[i].want);
    }
}

TEST(node_lease)
{
    struct node_lease lease = {.is_there = true, .renewed = {100 * SECOND_NS}};

    check_int(node_lease_ends(lease).ns, 140 * SECOND_NS);
    lease.lasts = span_s(5);
    check_int(node_lease_ends(lease).ns, 105 * SECOND_NS);
    lease.is_there = false;
    check(!instant_is_set(node_lease_ends(lease)));
}
