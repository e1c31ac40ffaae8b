/* job_parts.c - the parts that a Job's look is made of: failures and delays, rules of success
 * and of failure, the time to live
 *
 * Numbers in names are those of the scenarios in the Jobs reference (docs/jobs.md lists them).
 */
#include "controllers/job_decide.h"
#include "controllers/ttl.h"

#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "api/kinds.h"
#include "base/testing.h"
#include "schema/codec.h"
#include "json/json.h"

#define NOW ((struct instant){1000 * SECOND_NS})

/* An object of a text in which single quotes stand for double ones. */
static const struct json *tree_of(struct arena *a, const char *text)
{
    char *copy = str_z(a, str_from(text));

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return json_parse(a, str_from(copy), NULL, NULL);
}

static void *decoded(struct arena *a, const struct schema *schema, const char *text)
{
    return schema_decode(a, schema, tree_of(a, text));
}

/* ---- failures ---- */

/* "F-4 S-2": what ended, and when before NOW. */
static size_t ended_pods(struct arena *a, struct str text, struct job_pod *out)
{
    struct str word;
    size_t n = 0;

    while (text.len) {
        int64_t at = 0;
        str_cut(text, ' ', &word, &text);
        str_to_i64(str_slice(word, 1, word.len), &at);
        out[n] = (struct job_pod){.name = str_printf(a, "p%zu", n),
                                  .uid = str_printf(a, "u%zu", n),
                                  .index = JOB_NO_INDEX,
                                  .phase = word.at[0] == 'S' ? POD_SUCCEEDED : POD_FAILED,
                                  .action = word.at[0] == 'I' ? JOB_POLICY_IGNORE : 0,
                                  .has_finalizer = true,
                                  .finished = instant_add(NOW, span_s(at))};
        n++;
    }
    return n;
}

TEST(job_backoff_record)
{
    static const struct {
        const char *name;
        int32_t had; /* failures recorded, the last one 100 s ago */
        const char *pods;
        int32_t failures;
        int64_t last; /* seconds before NOW */
    } cases[] = {
        {"nothing new",                                2, "",                   2, -100 },
        {"J13: what came after the last success",      0, "F-4 F-3 S-2 F-1 F0", 2, 0    },
        {"J14: at the same instant it does not count", 0, "S-2 F-2",            0, -1000},
        {"a success forgets",                          3, "S-1",                0, -1000},
        {"without one they add up",                    3, "F-2 F-1",            5, -1   },
        {"the latest of the new ones, however old",    3, "F-300",              4, -300 },
        {"what the policy ignores is a failure, too",  0, "I-5",                1, -5   },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct job job = {.metadata = arena_new(&a, struct object_meta),
                          .spec = arena_new(&a, struct job_spec),
                          .status = arena_new(&a, struct job_status)};
        struct job_pod pods[8];
        struct job_look look = {
            .job = &job,
            .now = NOW,
            .pods = pods,
            .n_pods = ended_pods(&a, str_from(cases[i].pods), pods),
            .backoff = {cases[i].had, instant_add(NOW, span_s(cases[i].had ? -100 : -1000))}
        };
        test_case(cases[i].name);
        struct job_backoff b = job_backoff_next(&look);
        check_int(b.failures, cases[i].failures);
        if (b.failures)
            check_int(instant_sub(b.last_failure, NOW).ns / SECOND_NS, cases[i].last);
        arena_reset(&a);
    }
}

TEST(job_backoff_delay)
{
    static const struct {
        int32_t failures;
        int64_t first_s, most_s, ago_s, left_s;
    } cases[] = {
        {0,  0, 0,   0,  0  },
        {1,  0, 0,   0,  10 },
        {1,  0, 0,   4,  6  },
        {1,  0, 0,   11, 0  },
        {3,  0, 0,   0,  40 },
        {7,  0, 0,   0,  600},
        {90, 0, 0,   0,  600}, /* doubling has an end */
        {7,  0, 360, 0,  360}, /* as older releases had it */
        {2,  1, 600, 0,  2  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct job_look look = {.now = NOW,
                                .backoff_first = span_s(cases[i].first_s),
                                .backoff_most = span_s(cases[i].most_s)};
        struct job_backoff b = {cases[i].failures, instant_add(NOW, span_s(-cases[i].ago_s))};
        check_int(job_backoff_left(&look, &b).ns / SECOND_NS, cases[i].left_s);
    }
}

/* B7: failures that counted and failures that were ignored delay alike. */
TEST(job_index_backoff_delay)
{
    struct job_look look = {.now = NOW, .backoff_first = span_s(5)};
    struct job_pod last = {.index_failures = 1, .index_ignored = 1, .finished = NOW};

    check_int(job_index_backoff_left(&look, &last).ns / SECOND_NS, 20);
    last.finished = instant_add(NOW, span_s(-19));
    check_int(job_index_backoff_left(&look, &last).ns / SECOND_NS, 1);
}

/* ---- enough ---- */

TEST(job_success_rules)
{
    static const struct {
        const char *name, *rules, *succeeded;
        int32_t want; /* the rule, or -1 */
    } cases[] = {
        {"S1: all that are listed",            "[{'succeededIndexes':'0-2'}]",                        "0-2,4-7", 0 },
        {"S2: the one listed has not",         "[{'succeededIndexes':'3'}]",                          "0-2",     -1},
        {"S3: so many, whichever",             "[{'succeededCount':2}]",                              "0-2",     0 },
        {"S3: not so many",                    "[{'succeededCount':4}]",                              "0-2",     -1},
        {"S4: the first rule that is met",
         "[{'succeededIndexes':'9'},{'succeededIndexes':'4,6'}]",                                     "0-2,4-7", 1 },
        {"S5: so many of those listed",        "[{'succeededIndexes':'3-6','succeededCount':2}]",
         "0-2,4-7",                                                                                              0 },
        {"S5: one of them is too few",         "[{'succeededIndexes':'3-6','succeededCount':2}]",
         "0-2,6-7",                                                                                              -1},
        {"S6: not all of two stretches",       "[{'succeededIndexes':'1-3,5-7'}]",                    "2-4,6-8", -1},
        {"S6: four of them are enough",        "[{'succeededIndexes':'1-3,5-7','succeededCount':4}]",
         "2-4,6-8",                                                                                              0 },
        {"what is listed is past the end",     "[{'succeededIndexes':'10-12','succeededCount':0}]",
         "0-9",                                                                                                  -1},
        {"what cannot be read is passed over", "[{'succeededIndexes':'x,1'}]",                        "1",       0 },
        {"no rules",                           "[]",                                                  "0-9",     -1},
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct str text = str_printf(&a,
                                     "{'spec':{'completions':10,'completionMode':'Indexed',"
                                     "'successPolicy':{'rules':%s}}}%c",
                                     cases[i].rules, 0);
        const struct job *job = decoded(&a, kind_job.schema, text.at);
        struct index_set done = index_set_parse(&a, str_from(cases[i].succeeded), 10);
        test_case(cases[i].name);
        check_int(job_success_rule(&a, job, &done), cases[i].want);
        arena_reset(&a);
    }
}

/* ---- what failed, and how ---- */

/* "FailJob In 1,2; Ignore side In 4; Ignore when DisruptionTarget" */
static const struct job *job_with_rules(struct arena *a, struct str text)
{
    struct buf b = buf_in(a, 256);
    struct str rule, word[4];

    buf_add(&b, S("{'spec':{'podFailurePolicy':{'rules':["));
    for (bool first = true; text.len; first = false) {
        size_t n = 0;
        str_cut(text, ';', &rule, &text);
        while (rule.len && n < countof(word)) {
            str_cut(rule, ' ', &word[n], &rule);
            n += word[n].len > 0;
        }
        buf_printf(&b, "%s{'action':'%.*s',", first ? "" : ",", STR_ARG(word[0]));
        if (str_eqz(word[1], "when"))
            buf_printf(&b, "'onPodConditions':[{'type':'%.*s','status':'True'}]}",
                       STR_ARG(word[2]));
        else if (n == 4)
            buf_printf(&b,
                       "'onExitCodes':{'containerName':'%.*s','operator':'%.*s','values':["
                       "%.*s]}}",
                       STR_ARG(word[1]), STR_ARG(word[2]), STR_ARG(word[3]));
        else
            buf_printf(&b, "'onExitCodes':{'operator':'%.*s','values':[%.*s]}}",
                       STR_ARG(word[1]), STR_ARG(word[2]));
    }
    buf_add(&b, S("]}}}"));
    buf_byte(&b, 0);
    return decoded(a, kind_job.schema, buf_str(&b).at);
}

static void add_ends(struct buf *b, const char *list, struct str text, char mark)
{
    struct str word, name, value;
    const char *comma = "";

    buf_printf(b, ",'%s':[", list);
    while (text.len) {
        str_cut(text, ' ', &word, &text);
        if (!str_cut(word, ':', &name, &value) || (mark == '+') != (name.at[0] == '+'))
            continue;
        buf_printf(b, "%s{'name':'%.*s','state':{'terminated':{'exitCode':%.*s}}}", comma,
                   STR_ARG(str_slice(name, mark == '+', name.len)), STR_ARG(value));
        comma = ",";
    }
    buf_byte(b, ']');
}

/* "main:2 side:0 +init:0 DisruptionTarget=True": exit codes, those of init containers with a
 * plus, and a condition. */
static const struct json *failed_pod(struct arena *a, struct str text)
{
    struct buf b = buf_in(a, 256);
    struct str rest = text, word, type, status;

    buf_add(&b, S("{'metadata':{'name':'p','namespace':'default'},'spec':{},'status':{"));
    buf_add(&b, S("'phase':'Failed'"));
    add_ends(&b, "containerStatuses", text, 0);
    add_ends(&b, "initContainerStatuses", text, '+');
    while (rest.len) {
        str_cut(rest, ' ', &word, &rest);
        if (str_cut(word, '=', &type, &status))
            buf_printf(&b, ",'conditions':[{'type':'%.*s','status':'%.*s'}]", STR_ARG(type),
                       STR_ARG(status));
    }
    buf_add(&b, S("}}"));
    buf_byte(&b, 0);
    return tree_of(a, buf_str(&b).at);
}

TEST(job_failure_rules)
{
    /* clang-format off */
    static const struct {
        const char *name, *rules, *pod;
        enum job_policy_action want;
        const char *message; /* of FailJob */
    } cases[] = {
        {"F1: the code is listed", "FailJob In 1,2,3", "main:2", JOB_POLICY_FAIL_JOB,
         "Container main for pod default/p failed with exit code 2 matching FailJob rule at index 0"},
        {"F2: an action nobody knows never matches", "Explode In 1,2; FailJob In 2,3", "main:2", JOB_POLICY_FAIL_JOB,
         "Container main for pod default/p failed with exit code 2 matching FailJob rule at index 1"},
        {"F3: ignored", "Ignore In 1,2,3", "main:2", JOB_POLICY_IGNORE, ""},
        {"F4: zeros are passed over", "FailJob NotIn 111", "main:111 side:0 +init:0", JOB_POLICY_NONE, ""},
        {"F5: also where the list has one", "FailJob NotIn 0", "main:1 side:0", JOB_POLICY_FAIL_JOB,
         "Container main for pod default/p failed with exit code 1 matching FailJob rule at index 0"},
        {"F6: the first that matches", "Count In 1,2; Ignore In 2,3", "main:2", JOB_POLICY_COUNT, ""},
        {"F7: a disruption is ignored", "Ignore when DisruptionTarget", "DisruptionTarget=True", JOB_POLICY_IGNORE, ""},
        {"F8: a disruption ends it", "FailJob when DisruptionTarget", "DisruptionTarget=True", JOB_POLICY_FAIL_JOB,
         "Pod default/p has condition DisruptionTarget matching FailJob rule at index 0"},
        {"B5: this index is over", "FailIndex In 3", "main:3", JOB_POLICY_FAIL_INDEX, ""},
        {"main containers come before init containers", "FailJob In 4,5", "+init:5 main:4", JOB_POLICY_FAIL_JOB,
         "Container main for pod default/p failed with exit code 4 matching FailJob rule at index 0"},
        {"only the container that is named", "Ignore side In 4", "main:4", JOB_POLICY_NONE, ""},
        {"and that one", "Ignore side In 4", "main:4 side:4", JOB_POLICY_IGNORE, ""},
        {"a condition that is False is another", "Ignore when DisruptionTarget", "DisruptionTarget=False", JOB_POLICY_NONE, ""},
        {"no rule matches", "Ignore In 9", "main:2", JOB_POLICY_NONE, ""},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct str message = {0};
        test_case(cases[i].name);
        check_int(job_policy_of(&a, job_with_rules(&a, str_from(cases[i].rules)),
                                failed_pod(&a, str_from(cases[i].pod)), &message),
                  cases[i].want);
        check_samez(message, cases[i].message);
        arena_reset(&a);
    }
}

/* ---- time to live ---- */

TEST(job_time_to_live)
{
    static const struct {
        const char *name, *spec, *condition, *at; /* it is 00:01:00 */
        bool applies;
        int64_t left_s;
    } cases[] = {
        {"T1: none is left",          "'ttlSecondsAfterFinished':0",                      "Complete",      "00:01:00", true,  0  },
        {"T2: sixty seconds",         "'ttlSecondsAfterFinished':100",                    "Failed",        "00:00:20", true,  60 },
        {"over for a while",          "'ttlSecondsAfterFinished':1",                      "Complete",      "00:00:00", true,  -59},
        {"it ends later than now",    "'ttlSecondsAfterFinished':1",                      "Complete",      "00:02:00", true,
         61                                                                                                                      },
        {"for ever",                  "'completions':1",                                  "Complete",      "00:01:00", false, 0  },
        {"decided, not over",         "'ttlSecondsAfterFinished':0",                      "FailureTarget", "00:01:00", false,
         0                                                                                                                       },
        {"another controller's, too", "'managedBy':'x.io/y','ttlSecondsAfterFinished':0",
         "Failed",                                                                                         "00:01:00", true,  0  },
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct instant now = {INT64_C(1893456060) * SECOND_NS}; /* 2030-01-01T00:01:00Z */

    for (size_t i = 0; i < countof(cases); i++) {
        struct str text = str_printf(&a,
                                     "{'metadata':{'name':'j'},'spec':{%s},'status':{"
                                     "'conditions':[{'type':'%s','status':'True',"
                                     "'lastTransitionTime':'2030-01-01T%sZ'}]}}%c",
                                     cases[i].spec, cases[i].condition, cases[i].at, 0);
        struct ttl_left left = ttl_decide(decoded(&a, kind_job.schema, text.at), now);
        test_case(cases[i].name);
        check(left.applies == cases[i].applies);
        check(!left.has_no_time);
        if (left.applies)
            check_int(left.left.ns / SECOND_NS, cases[i].left_s);
        arena_reset(&a);
    }
}

/* Marked one by one and all at once: with bits, and as a set where they lie far apart. */
TEST(job_index_marks)
{
    static const int32_t near[] = {0, 1, 63, 64, 2, 127, 130, 3}, far[] = {5, 1000000, 6};
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct index_marks all, m;
    int32_t copy[countof(near)];

    memcpy(copy, near, sizeof(near));
    all = index_marks_of(&a, copy, countof(near));
    check(index_marks_room(&a, countof(near), 131, &m));
    for (size_t i = 0; i < countof(near); i++)
        index_marks_add(&m, near[i]);
    check(!m.has_twice && !all.has_twice);
    for (int32_t i = 0; i < 200; i++) {
        int32_t past = i;
        while (index_marks_has(&all, past))
            past++;
        check(index_marks_has(&m, i) == index_marks_has(&all, i));
        check_int(index_marks_past(&m, i), past);
        check_int(index_marks_past(&all, i), past);
    }
    index_marks_add(&m, 63);
    check(m.has_twice);

    memcpy(copy, far, sizeof(far));
    check(!index_marks_room(&a, countof(far), 1000001, &m));
    m = index_marks_of(&a, copy, countof(far));
    check_int(index_marks_past(&m, 4), 4);
    check_int(index_marks_past(&m, 5), 7);
    check_int(index_marks_past(&m, 1000000), 1000001);
}
