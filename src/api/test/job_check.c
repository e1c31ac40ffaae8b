/* job_check.c - what the server refuses of Jobs and CronJobs, as `TYPE FIELD`; schedules, lists
 * of indexes, zones */
#include "api/job_check.h"

#include "api/cron.h"
#include "api/find.h"
#include "api/index_list.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"
#include "value/zone.h"

#define SIXTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Numbers in names are those of the scenarios in the Jobs reference (docs/jobs.md). */

/* A running Job whose spec has these members, besides those it must have. */
static const struct json *job_of(struct arena *a, const char *spec, const char *status)
{
    struct str text = str_printf(
        a,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"uid\":"
        "\"u\"},\"spec\":{\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
        "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":"
        "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}%s%s},\"status\":{%s}}",
        *spec ? "," : "", spec, status);
    const struct json *v = json_parse(a, text, NULL, NULL);

    return kind_default(a, kind_of(S("batch/v1"), S("Job")), v, NULL);
}

TEST(job_check_spec)
{
    static const struct {
        const char *name, *spec, *want;
    } cases[] = {
        {"nothing wrong",                                   "",                                                           ""                                                  },
        {"each number below zero",                          "\"parallelism\":-1,\"backoffLimit\":-1",
         "Invalid spec.parallelism, Invalid spec.backoffLimit"                                                                                                                },
        {"indexes without a number",                        "\"completionMode\":\"Indexed\",\"parallelism\":1",
         "Required spec.completions"                                                                                                                                          },
        {"a limit for what has no index",                   "\"maxFailedIndexes\":1",
         "Invalid spec.maxFailedIndexes, Required spec.backoffLimitPerIndex"                                                                                                  },
        {"not our manager's name",                          "\"managedBy\":\"me\"",                                       "Invalid spec.managedBy"                            },
        {"a rule for nothing",                              "\"podFailurePolicy\":{\"rules\":[{\"action\":\"Ignore\"}]}",
         "Invalid spec.podFailurePolicy.rules[0]"                                                                                                                             },
        {"M3: no path behind the domain",                   "\"managedBy\":\"invalid custom controller name\"",
         "Invalid spec.managedBy"                                                                                                                                             },
        {"M4: 72 bytes of 63",                              "\"managedBy\":\"example.com/" SIXTY "\"",
         "TooLong spec.managedBy"                                                                                                                                             },
        {"F11: falling exit codes",
         "\"podFailurePolicy\":{\"rules\":[{\"action\":\"Ignore\",\"onExitCodes\":"
         "{\"operator\":\"In\",\"values\":[2,1,0]}}]}",                                                                   "Invalid spec.podFailurePolicy.rules[0].onExitCodes.values[2], "
         "Invalid spec.podFailurePolicy.rules[0].onExitCodes.values"                                                   },
        {"F12: containers that start again have no policy",
         "\"podFailurePolicy\":{\"rules\":[]},\"template\":{\"metadata\":{\"labels\":{\"a\":"
         "\"b\"}},"
         "\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"c\",\"image\":"
         "\"i\"}]}}",                                                                                                     "Invalid spec.template.spec.restartPolicy"          },
        {"B8: so many indexes need a limit of failed ones",
         "\"completionMode\":\"Indexed\",\"completions\":100001,\"backoffLimitPerIndex\":1",                              "Required spec.maxFailedIndexes"                    },
        {"more than there are",
         "\"completionMode\":\"Indexed\",\"completions\":3,\"successPolicy\":{\"rules\":["
         "{\"succeededIndexes\":\"0-1\",\"succeededCount\":3}]}",                                                         "Invalid spec.successPolicy.rules[0].succeededCount"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        struct field_errors e = field_errors_in(&a);
        const struct kind *k = kind_of(S("batch/v1"), S("Job"));
        test_case(cases[i].name);
        kind_validate(&e, k, job_of(&a, cases[i].spec, ""), NULL);
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

/* What 1.3 of the Jobs reference says of several errors at once, in single quotes. */
TEST(job_check_together)
{
    /* clang-format off */
    static const struct {
        const char *name, *spec, *want;
    } cases[] = {
        {"an empty manager", "'managedBy':''", "Required spec.managedBy"},
        {"no path", "'managedBy':'acme.io/'", "Invalid spec.managedBy"},
        {"no host", "'managedBy':'/foo'", "Invalid spec.managedBy"},
        {"a bad host and a bad path", "'managedBy':'Acme.io/foo bar'", "Invalid spec.managedBy, Invalid spec.managedBy"},
        {"more slashes are of the path", "'managedBy':'acme.io/foo/bar%20x'", ""},
        {"too long on top of it", "'managedBy':'" SIXTY "xxxx'", "Invalid spec.managedBy, TooLong spec.managedBy"},

        {"a mode nobody knows: only successPolicy is judged by it",
         "'completionMode':'Sideways','completions':1,'backoffLimitPerIndex':1,'successPolicy':{'rules':[{'succeededCount':1}]}",
         "NotSupported spec.completionMode, Invalid spec.successPolicy"},
        {"without indexes, nothing else of a successPolicy is said",
         "'successPolicy':{'rules':[{'succeededCount':-1}]}", "Invalid spec.successPolicy"},
        {"nor that it has no rules", "'successPolicy':{'rules':[]}", "Invalid spec.successPolicy"},
        {"with indexes it has some", "'completionMode':'Indexed','completions':1,'successPolicy':{'rules':[]}",
         "Required spec.successPolicy.rules"},
        {"a rule says something", "'completionMode':'Indexed','completions':1,'successPolicy':{'rules':[{}]}",
         "Required spec.successPolicy.rules[0]"},
        {"a count below zero", "'completionMode':'Indexed','completions':1,'successPolicy':{'rules':[{'succeededCount':-1}]}",
         "Invalid spec.successPolicy.rules[0].succeededCount"},
        {"a count over both", "'completionMode':'Indexed','completions':3,'successPolicy':{'rules':[{'succeededIndexes':'0','succeededCount':4}]}",
         "Invalid spec.successPolicy.rules[0].succeededCount, Invalid spec.successPolicy.rules[0].succeededCount"},
        {"a list that cannot be read has none",
         "'completionMode':'Indexed','completions':3,'successPolicy':{'rules':[{'succeededIndexes':'2-1','succeededCount':1}]}",
         "Invalid spec.successPolicy.rules[0].succeededIndexes, Invalid spec.successPolicy.rules[0].succeededCount"},
        {"an empty list is one", "'completionMode':'Indexed','completions':3,'successPolicy':{'rules':[{'succeededIndexes':''}]}", ""},

        {"two limits broken by one number", "'completionMode':'Indexed','completions':5,'backoffLimitPerIndex':1,'maxFailedIndexes':100001",
         "Invalid spec.maxFailedIndexes, Invalid spec.maxFailedIndexes"},
        {"maxFailedIndexes alone", "'completionMode':'Indexed','completions':5,'maxFailedIndexes':1", "Required spec.backoffLimitPerIndex"},
        {"zeros", "'parallelism':0,'completions':0,'backoffLimit':0,'activeDeadlineSeconds':0,'ttlSecondsAfterFinished':0", ""},
        {"each below zero", "'parallelism':-1,'completions':-1,'activeDeadlineSeconds':-1,'backoffLimit':-1,'ttlSecondsAfterFinished':-1",
         "Invalid spec.parallelism, Invalid spec.completions, Invalid spec.activeDeadlineSeconds, Invalid spec.backoffLimit, "
         "Invalid spec.ttlSecondsAfterFinished"},

        {"an action is needed", "'podFailurePolicy':{'rules':[{'onExitCodes':{'operator':'In','values':[1]}}]}",
         "Required spec.podFailurePolicy.rules[0].action"},
        {"both ways to match", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'In','values':[1]},"
         "'onPodConditions':[{'type':'A'}]}]}", "Invalid spec.podFailurePolicy.rules[0]"},
        {"an operator that is not there", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'values':[1]}}]}",
         "Required spec.podFailurePolicy.rules[0].onExitCodes.operator"},
        {"an operator nobody knows", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'Is','values':[0]}}]}",
         "NotSupported spec.podFailurePolicy.rules[0].onExitCodes.operator"},
        {"zero, where it is not In", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'NotIn','values':[0,1]}}]}", ""},
        {"thrice the same", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'In','values':[4,4,4]}}]}",
         "Duplicate spec.podFailurePolicy.rules[0].onExitCodes.values[1], Duplicate spec.podFailurePolicy.rules[0].onExitCodes.values[2]"},
        {"a container that is not there", "'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'containerName':'x','operator':'In','values':[4]}}]}",
         "Invalid spec.podFailurePolicy.rules[0].onExitCodes.containerName"},
        {"a condition without a type", "'podFailurePolicy':{'rules':[{'action':'Count','onPodConditions':[{'type':''}]}]}",
         "Invalid spec.podFailurePolicy.rules[0].onPodConditions[0].type, Invalid spec.podFailurePolicy.rules[0].onPodConditions[0].type"},
        {"replaced only when they failed", "'podReplacementPolicy':'TerminatingOrFailed','podFailurePolicy':{'rules':[]}",
         "NotSupported spec.podReplacementPolicy"},
        {"a replacement nobody knows", "'podReplacementPolicy':'Later'", "NotSupported spec.podReplacementPolicy"},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        struct str spec = json_text(&a, quoted(&a, str_printf(&a, "{%s}", cases[i].spec)));
        const char *inner = str_z(&a, str_slice(spec, 1, spec.len - 1));
        test_case(cases[i].name);
        kind_validate(&e, kind_of(S("batch/v1"), S("Job")), job_of(&a, inner, ""), NULL);
        check_samez(refused_text(&a, &e), cases[i].want);
        arena_reset(&a);
    }
}

TEST(job_check_status)
{
    static const char *const done =
        "\"startTime\":\"2030-01-01T00:00:00Z\",\"completionTime\":\"2030-01-01T00:01:00Z\","
        "\"succeeded\":1,\"conditions\":[{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\"},"
        "{\"type\":\"Complete\",\"status\":\"True\"}]";
    const struct {
        const char *name, *was, *now, *want;
    } cases[] = {
        {"a Job completes",            "\"startTime\":\"2030-01-01T00:00:00Z\"", done,                                                     ""                                                  },
        {"counts that fall",           "\"failed\":2,\"succeeded\":2",           "\"failed\":1,\"succeeded\":1",
         "Invalid status.succeeded, Invalid status.failed"                                                                                                                                     },
        {"complete and nothing else",  "",
         "\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]",                                                                   "Required status.completionTime, Required status.startTime, "
         "Invalid status.conditions"                                                                                   },
        {"the first of a type counts", "",
         "\"conditions\":[{\"type\":\"Complete\",\"status\":\"False\"},"
         "{\"type\":\"Complete\",\"status\":\"True\"}]",                                                                                   ""                                                  },
        {"no longer complete",         done,                                     "\"startTime\":\"2030-01-01T00:00:00Z\",\"succeeded\":1",
         "Invalid status.conditions, Invalid status.conditions"                                                                                                                                },
        {"another start",              "\"startTime\":\"2030-01-01T00:00:00Z\"",
         "\"startTime\":\"2030-01-01T00:00:01Z\"",                                                                                         "Invalid status.startTime"                          },
        {"another start after a rest",
         "\"startTime\":\"2030-01-01T00:00:00Z\",\"conditions\":[{\"type\":\"Suspended\","
         "\"status\":\"True\"}]",                                                "\"startTime\":\"2030-01-01T00:00:01Z\",\"conditions\":[{\"type\":\"Suspended\","
         "\"status\":\"False\"}]",                                                                        ""                                                  },
        {"more ready than there are",  "",                                       "\"ready\":2,\"active\":1",                               "Invalid status.ready"                              },
        {"indexes of a Job without",   "",                                       "\"completedIndexes\":\"0\"",
         "Invalid status.completedIndexes"                                                                                                                                                     },
        {"one pod counted twice",      "",
         "\"uncountedTerminatedPods\":{\"succeeded\":[\"a\"],\"failed\":[\"a\"]}",                                                         "Duplicate status.uncountedTerminatedPods.failed[0]"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        job_check_status(&e, JOB_CHECK_TRANSITIONS | JOB_CHECK_START_TIME,
                         job_of(&a, "", cases[i].now), job_of(&a, "", cases[i].was));
        check_samez(refused_text(&a, &e), cases[i].want);
    }
}

TEST(job_check_status_of_indexes)
{
    static const struct {
        const char *name, *now, *want;
    } cases[] = {
        {"M10: they fall",                "'completedIndexes':'2-1'",                     "Invalid status.completedIndexes"},
        {"M10: the same twice",           "'completedIndexes':'0,0'",                     "Invalid status.completedIndexes"},
        {"M11: one succeeded and failed", "'completedIndexes':'1-3','failedIndexes':'3'",
         "Invalid status.failedIndexes"                                                                                    },
        {"each in one of them",           "'completedIndexes':'1-3','failedIndexes':'4'", ""                               },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        static const char spec[] = "\"completionMode\":\"Indexed\",\"completions\":9,"
                                   "\"backoffLimitPerIndex\":1";
        struct field_errors e = field_errors_in(&a);
        struct str now = str_printf(&a, "{%s}", cases[i].now);
        struct str status = json_text(&a, quoted(&a, now));
        test_case(cases[i].name);
        const char *inner = str_z(&a, str_slice(status, 1, status.len - 1));
        job_check_status(&e, JOB_CHECK_TRANSITIONS | JOB_CHECK_START_TIME,
                         job_of(&a, spec, inner), job_of(&a, spec, ""));
        check_samez(refused_text(&a, &e), cases[i].want);
        arena_reset(&a);
    }
}

/* M12: a status that breaks rules since before them: only what changes is judged. */
TEST(job_check_status_that_was_wrong)
{
    static const struct {
        const char *name, *now, *want;
    } cases[] = {
        {"nothing more",               "\"active\":2",             "Invalid status.active"},
        {"as many ready as there are", "\"active\":1,\"ready\":1", ""                     },
        {"more of them",               "\"active\":1,\"ready\":2", "Invalid status.ready" },
    };
    static const char finished[] =
        "\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]";
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        const char *was = str_printf(&a, "%s,\"active\":1%c", finished, 0).at;
        const char *now = str_printf(&a, "%s,%s%c", finished, cases[i].now, 0).at;
        test_case(cases[i].name);
        job_check_status(&e, JOB_CHECK_TRANSITIONS | JOB_CHECK_START_TIME, job_of(&a, "", now),
                         job_of(&a, "", was));
        check_samez(refused_text(&a, &e), cases[i].want);
        arena_reset(&a);
    }
}

#define INDEXED(c, p) "\"completionMode\":\"Indexed\",\"completions\":" c ",\"parallelism\":" p
#define ON(os)                                                                                 \
    "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":"       \
    "\"Never\",\"nodeSelector\":{\"os\":\"" os                                                 \
    "\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

TEST(job_check_changes)
{
    static const struct {
        const char *name, *was, *now, *want;
    } cases[] = {
        {"M5: another manager",          "\"managedBy\":\"a.io/x\"",                  "\"managedBy\":\"a.io/y\"",
         "Invalid spec.managedBy"                                                                                                         },
        {"M5: one where there was none", "",                                          "\"managedBy\":\"a.io/y\"",
         "Invalid spec.managedBy"                                                                                                         },
        {"M5: none where there was one", "\"managedBy\":\"a.io/x\"",                  "",
         "Invalid spec.managedBy"                                                                                                         },
        {"M5: suspended or not",         "\"suspend\":true,\"managedBy\":\"a.io/x\"",
         "\"suspend\":true",                                                                                      "Invalid spec.managedBy"},
        {"I11: completions alone",       INDEXED("5",                                 "5"),                       INDEXED("7",              "5"),
         "Invalid spec.completions"},
        {"with the parallelism",     INDEXED("5",                                                "5"),                                                     INDEXED("7",                                                              "7"), ""},
        {"completions of a Job without indexes",                   "\"completions\":5",
         "\"completions\":7,\"parallelism\":7",                              "Invalid spec.completions"},
        {"P5: suspended: other nodes, and go","\"suspend\":true," ON("x"),                                       ON("y"),          ""                                         },
        {"P6: running: no other nodes",           ON("x"),         ON("y"),                        "Invalid spec.template"      },
        {"what may change",             "\"completions\":1",
         "\"completions\":1,\"parallelism\":3,\"backoffLimit\":1,\"activeDeadlineSeconds\":9,"
         "\"ttlSecondsAfterFinished\":1,\"suspend\":true,\"podReplacementPolicy\":\"Failed\"",                     ""                                      },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct field_errors e = field_errors_in(&a);
        test_case(cases[i].name);
        kind_validate(&e, kind_of(S("batch/v1"), S("Job")), job_of(&a, cases[i].now, ""),
                      job_of(&a, cases[i].was, ""));
        check_samez(refused_text(&a, &e), cases[i].want);
        arena_reset(&a);
    }
}

TEST(cron_parse)
{
    static const struct {
        const char *text, *want; /* minutes, any day, any weekday; or what is wrong */
    } cases[] = {
        {"* * * * *",               "fffffffffffffff 1 1"               },
        {"*/20 0 1 jan mon",        "10000100001 0 0"                   },
        {"5/20 0 * * ?",            "200002000020 1 1"                  },
        {"1,3-5 0 */2 * *",         "3a 0 1"                            },
        {",, 0 1 1 *",              "0 0 1"                             },
        {"+1 0 1 1 SUN",            "2 0 0"                             },
        {"@hourly",                 "1 1 1"                             },
        {"TZ=Asia/Tokyo 0 0 * * *", "1 1 1"                             },
        {"TZ= 0 0 * * *",           "1 1 1"                             },
        {"@every 1m1.5s",           "61s"                               },
        {"@every -3s",              "1s"                                },
        {"",                        "empty spec"                        },
        {"* * * *",                 "expected exactly 5 fields, found 4"},
        {"* * * * * *",             "expected exactly 5 fields, found 6"},
        {"60 * * * *",              "minute is out of range"            },
        {"5-1 * * * *",             "minute is out of range"            },
        {"* * 0 * *",               "day of month is out of range"      },
        {"* * * * 7",               "day of week is out of range"       },
        {"*/0 * * * *",             "step of range"                     },
        {"1-2-3 * * * *",           "too many hyphens"                  },
        {"1/2/3 * * * *",           "too many slashes"                  },
        {"-1 * * * *",              "failed to parse int"               },
        {"@Hourly",                 "unrecognized descriptor"           },
        {"@every x",                "failed to parse duration"          },
        {"TZ=Mars/Base 0 0 * * *",  "unknown time zone"                 },
        {"TZ=UTC",                  "no blank"                          },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct cron_schedule s;
        struct err err = {0};
        char got[64];
        test_case(cases[i].text);
        if (cron_parse(str_from(cases[i].text), &s, &err) < 0) {
            check_err(&err, ERR_SYNTAX, cases[i].want);
            continue;
        }
        if (s.every.ns)
            snprintf(got, sizeof(got), "%" PRId64 "s", s.every.ns / SECOND_NS);
        else
            snprintf(got, sizeof(got), "%" PRIx64 " %d %d", s.minute, s.any_day, s.any_weekday);
        check_samez(str_from(got), cases[i].want);
    }
}

TEST(zone_is_known)
{
    check(zone_is_known(S("Europe/Rome")));
    check(zone_is_known(S("UTC")) && zone_is_known(S("Local")) && zone_is_known(S("")));
    check(zone_is_known(S("Africa/Abidjan")) && zone_is_known(S("Zulu")));
    check(!zone_is_known(S("europe/rome")) && !zone_is_known(S("Europe")));
}

TEST(index_list)
{
    int64_t total = 0;
    int32_t index;

    check_int(index_list_check(S("0,2-4"), 5, &total, NULL), 0);
    check_int(total, 4);
    check_int(index_list_check(S("0,2-5"), 5, &total, NULL), -1);
    check_int(index_list_check(S("2,1"), 5, &total, NULL), -1);
    check_int(index_list_check(S("2-2"), 5, &total, NULL), -1);
    check(index_lists_overlap(S("0-3,7"), S("x,5-7"), 9, &index));
    check_int(index, 7);
    check(!index_lists_overlap(S("0-3"), S("4,5"), 9, &index));
}
