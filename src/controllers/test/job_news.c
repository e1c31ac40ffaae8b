/* job_news.c - the tests of which changes a queued Job's controller looks at */
#include "controllers/job_news.h"

#include "base/testing.h"
#include "json/json.h"

/* A tree, with single quotes for double ones. */
static const struct json *tree_of(struct arena *a, const char *text)
{
    char *z = str_z(a, str_from(text));

    for (char *c = z; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return json_parse(a, str_from(z), NULL, NULL);
}

#define CONDITION(type, status, more)                                                          \
    "{'status':{'conditions':[{'type':'" type "','status':'" status "'" more "}]}}"

TEST(job_news)
{
    static const struct {
        const char *name, *was, *now;
        bool tells_ready, want;
    } cases[] = {
        {"nothing",                       "{'spec':{'suspend':true}}",                        "{'spec':{'suspend':true}}",              false,false},
        {"a revision and who wrote it",   "{'metadata':{'resourceVersion':'1'}}",
         "{'metadata':{'resourceVersion':'2','managedFields':[{}]}}",                                                                   false,false},
        {"it runs",                       "{'spec':{'suspend':true}}",                        "{'spec':{'suspend':false}}",             false,true},
        {"another queue",                 "{'metadata':{'labels':{'q':'a'}}}",
         "{'metadata':{'labels':{'q':'b'}}}",                                                                                           false,true},
        {"its stop is done",              "{'metadata':{'annotations':{'stopping':'true'}}}",
         "{'metadata':{}}",                                                                                                             false,true},
        {"it is going",                   "{'metadata':{}}",                                  "{'metadata':{'deletionTimestamp':'t'}}", false,
         true},
        {"the first pod",                 "{'status':{}}",                                    "{'status':{'active':1}}",                false,false},
        {"the last pod is gone",          "{'status':{'active':1}}",                          "{'status':{}}",                          false,false},
        {"and it is stopped",             "{'spec':{'suspend':true},'status':{'active':1}}",
         "{'spec':{'suspend':true},'status':{'active':0}}",                                                                             false,true},
        {"one of its pods is gone",       "{'spec':{'suspend':true},'status':{'active':2}}",
         "{'spec':{'suspend':true},'status':{'active':1}}",                                                                             false,false},
        {"it began",                      "{'status':{}}",                                    "{'status':{'startTime':'t'}}",           false,false},
        {"it is about to end",            "{}",                                               CONDITION("SuccessCriteriaMet",           "True",""), false, false},
        {"it succeeded",                          "{}",                                                                            CONDITION("Complete",                                                                                                       "True",""),false, true},
        {"it failed",                            "{}",                                                                         CONDITION("Failed",                                                                                                             "True",                                    ""),                                                                                                                                                                                               false, true},
        {"a pod is ready",             "{'status':{'ready':0}}","{'status':{'ready':1}}",false,false},
        {"and its Workload is told",                "{'status':{'ready':0}}",                              "{'status':{'ready':1}}",                                                              true,
         true                                                                                                                                                                                                                                                                            },
        {"one succeeds of one at a time",      "{'spec':{'parallelism':1},'status':{}}",
         "{'spec':{'parallelism':1},'status':{'succeeded':1}}",    false,false},
        {"one succeeds of two", "{'spec':{'parallelism':2},'status':{}}",
         "{'spec':{'parallelism':2},'status':{'succeeded':1}}",                                                                         false,true                                                                                                                            },
        {"an index fails of two",           "{'spec':{'parallelism':2},'status':{}}",
         "{'spec':{'parallelism':2},'status':{'failedIndexes':'1'}}",                                                                         false,true},
        {"one ends of two",         "{'spec':{'parallelism':2},'status':{}}",
         "{'spec':{'parallelism':2},'status':{'uncountedTerminatedPods':{}}}",                                                                   false,false},
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_int(job_is_news(tree_of(&a, cases[i].was), tree_of(&a, cases[i].now),
                              cases[i].tells_ready),
                  cases[i].want);
    }
}

TEST(job_workload_news)
{
    static const struct {
        const char *name, *was, *now;
        bool want;
    } cases[] = {
        {"nothing",                 "{'spec':{'active':true}}",            "{'spec':{'active':true}}",                   false                                                         },
        {"another spec",            "{'spec':{'active':true}}",            "{'spec':{'active':false}}",                  true                                                          },
        {"it is going",             "{'metadata':{}}",                     "{'metadata':{'deletionTimestamp':'t'}}",     true                                                          },
        {"another owner",           "{'metadata':{'ownerReferences':[]}}",
         "{'metadata':{'ownerReferences':[{'name':'j'}]}}",                                                              true                                                          },
        {"its finalizer goes",      "{'metadata':{'finalizers':['f']}}",   "{'metadata':{}}",                            false                                                         },
        {"one comes",               "{'metadata':{}}",                     "{'metadata':{'finalizers':['f']}}",          true                                                          },
        {"it waits",                "{'status':{}}",                       CONDITION("QuotaReserved",                    "False",                                                        ""), false},
        {"it waits for another reason",                    CONDITION("QuotaReserved",                                                         "False",                                                                         ",'message':'x'"),
         CONDITION("QuotaReserved", "False", ",'message':'y'"), false},
        {"it has its quota",        CONDITION("QuotaReserved",                                        "False",                                                                             ""),
         CONDITION("QuotaReserved", "True", ""), true},
        {"it may start",                         "{}",                                             CONDITION("Admitted",                                                         "True",                                                                         ""), true},
        {"it is over", "{}",                                CONDITION("Finished",                                                                         "True",                                                                                                                                   ""), true},
        {"it is evicted",            "{}",                     CONDITION("Evicted", "True", ""), true},
        {"and for another reason",                     CONDITION("Evicted",                                                          "True",                                                                                           ",'reason':'Preempted'"),
         CONDITION("Evicted", "True", ",'reason':'Deactivated'"), true},
        {"its pods are ready",                   "{}",                                                     CONDITION("PodsReady",                     "True",""), true},
        {"a condition of others",          "{}",        CONDITION("Requeued",                                              "True",                                                                                                         ""), false},
        {"what it was given",                         "{'status':{}}",                                       "{'status':{'admission':{}}}",                                            true                                          },
        {"what it gave back",       "{'status':{}}",                                      "{'status':{'reclaimablePods':[{}]}}",                                                        true                                                                                                                 },
    };
    scoped(arena_fini) struct arena a = {0};

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_int(job_workload_is_news(tree_of(&a, cases[i].was), tree_of(&a, cases[i].now)),
                  cases[i].want);
    }
}
