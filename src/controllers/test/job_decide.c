/* job_decide.c - what a Job's look decides, in a small text form
 *
 *     job:   c3 p2 b6 indexed suspend limit1 deadline60 failed-only enough0-2#2 refused1
 *     pods:  "a:run b:ok* c:fail*@2 d:run- e:wait"
 *            * holds the finalizer, - is being deleted, ^N ended at second N (of 100)
 *            @N its index, #N failures of its index before, %N its restarts
 *            !J !I !X !C what the policy says: FailJob, Ignore, FailIndex, Count
 *     want:  "create 2", "remove a b", "end Complete", "count a, status failed=1" ...
 */
#include "controllers/job_decide.h"

#include "api/batch_v1.h"
#include "base/testing.h"

struct fixture {
    struct arena *a;
    struct job job;
    struct job_spec spec;
    struct job_status status;
    struct object_meta meta;
    struct pod_template_spec template;
    struct pod_spec pod;
    struct job_look look;
    size_t n_refused; /* creations */
};

static int64_t number_in(struct str word, const char *prefix)
{
    int64_t v = -1;

    str_to_i64(str_slice(word, strlen(prefix), word.len), &v);
    return v;
}

static void add_condition(struct fixture *f, struct str text)
{
    struct job_condition *c = arena_new(f->a, struct job_condition);
    struct str type, status;

    str_cut(text, '=', &type, &status);
    SET(c, type, type);
    SET(c, status, status);
    SET(c, reason, S("Before"));
    SET(&f->status, conditions, (struct job_condition_list){.at = c, .len = 1});
}

/* Uids that wait to be counted as succeeded: "a+b". */
static void add_listed(struct fixture *f, struct str text)
{
    struct uncounted_terminated_pods *u = arena_new(f->a, struct uncounted_terminated_pods);
    VEC(struct str) uids = {0};
    struct str uid;

    while (text.len) {
        str_cut(text, '+', &uid, &text);
        vec_push_in(f->a, &uids, uid);
    }
    SET(u, succeeded, (struct str_list){uids.at, uids.len});
    SET(&f->status, uncounted_terminated_pods, u);
}

/* A rule of the successPolicy: "0-2", "#2", "0-2#2" for indexes, count, both. */
static void add_rule(struct fixture *f, struct str text)
{
    struct success_policy *p = arena_new(f->a, struct success_policy);
    struct success_policy_rule *r = arena_new(f->a, struct success_policy_rule);
    struct str indexes, count;
    int64_t n;

    if (str_cut(text, '#', &indexes, &count) && str_to_i64(count, &n))
        SET(r, succeeded_count, (int32_t)n);
    if (indexes.len)
        SET(r, succeeded_indexes, indexes);
    SET(p, rules, (struct success_policy_rule_list){r, 1});
    SET(&f->spec, success_policy, p);
}

static void parse_job(struct fixture *f, struct str text)
{
    struct str word;

    f->spec.parallelism = 1;
    f->spec.backoff_limit = 6;
    while (text.len) {
        str_cut(text, ' ', &word, &text);
        if (str_eq(word, S("indexed")))
            SET(&f->spec, completion_mode, COMPLETION_MODE_INDEXED);
        else if (str_eq(word, S("suspend")))
            SET(&f->spec, suspend, true);
        else if (str_eq(word, S("failed-only")))
            SET(&f->spec, pod_replacement_policy, POD_REPLACEMENT_POLICY_FAILED);
        else if (str_starts(word, S("limit")))
            SET(&f->spec, backoff_limit_per_index, (int32_t)number_in(word, "limit"));
        else if (str_starts(word, S("enough")))
            add_rule(f, str_slice(word, 6, word.len));
        else if (str_starts(word, S("refused")))
            f->n_refused = (size_t)number_in(word, "refused");
        else if (str_starts(word, S("deadline")))
            SET(&f->spec, active_deadline_seconds, number_in(word, "deadline"));
        else if (str_starts(word, S("started")))
            SET(&f->status, start_time,
                (struct instant){number_in(word, "started") * SECOND_NS});
        else if (str_starts(word, S("record"))) /* so many failures, the last one now */
            f->look.backoff =
                (struct job_backoff){(int32_t)number_in(word, "record"), {100 * SECOND_NS}};
        else if (str_eq(word, S("unseen")))
            f->look.is_waiting = true;
        else if (str_eq(word, S("deleting")))
            SET(&f->meta, deletion_timestamp, (struct instant){99 * SECOND_NS});
        else if (str_eq(word, S("onfailure")))
            SET(&f->pod, restart_policy, S("OnFailure"));
        else if (str_starts(word, S("was"))) /* "wasSuspended=True" */
            add_condition(f, str_slice(word, 3, word.len));
        else if (str_starts(word, S("listed")))
            add_listed(f, str_slice(word, 6, word.len));
        else if (str_starts(word, S("most")))
            SET(&f->spec, max_failed_indexes, (int32_t)number_in(word, "most"));
        else if (str_starts(word, S("done")))
            SET(&f->status, completed_indexes, str_slice(word, 4, word.len));
        else if (str_starts(word, S("ok")))
            SET(&f->status, succeeded, (int32_t)number_in(word, "ok"));
        else if (str_starts(word, S("bad")))
            SET(&f->status, failed, (int32_t)number_in(word, "bad"));
        else if (word.len && word.at[0] == 'c')
            SET(&f->spec, completions, (int32_t)number_in(word, "c"));
        else if (word.len && word.at[0] == 'p')
            SET(&f->spec, parallelism, (int32_t)number_in(word, "p"));
        else if (word.len && word.at[0] == 'b')
            SET(&f->spec, backoff_limit, (int32_t)number_in(word, "b"));
    }
}

static int64_t number_at(struct str text, size_t at)
{
    int64_t n = 0;

    for (; at < text.len && text.at[at] >= '0' && text.at[at] <= '9'; at++)
        n = n * 10 + (text.at[at] - '0');
    return n;
}

static void parse_state(struct job_pod *p, struct str text)
{
    static const struct {
        const char *word;
        enum pod_phase phase;
    } states[] = {
        {"run",  POD_RUNNING  },
        {"wait", POD_PENDING  },
        {"ok",   POD_SUCCEEDED},
        {"fail", POD_FAILED   }
    };

    for (size_t i = 0; i < countof(states); i++)
        if (str_starts(text, str_from(states[i].word)))
            p->phase = states[i].phase;
    p->has_finalizer = str_has(text, S("*"));
    p->is_deleting = str_has(text, S("-"));
    p->is_ready = p->is_assigned = p->phase == POD_RUNNING;
    p->index = JOB_NO_INDEX;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.at[i] == '@')
            p->index = (int32_t)number_at(text, i + 1);
        if (text.at[i] == '^')
            p->finished = (struct instant){number_at(text, i + 1) * SECOND_NS};
        if (text.at[i] == '#')
            p->index_failures = text.at[i + 1] - '0';
        if (text.at[i] == '%')
            p->all_restarts = p->restarts = text.at[i + 1] - '0';
        if (text.at[i] == '!')
            p->action = text.at[i + 1] == 'J'   ? JOB_POLICY_FAIL_JOB
                        : text.at[i + 1] == 'I' ? JOB_POLICY_IGNORE
                        : text.at[i + 1] == 'X' ? JOB_POLICY_FAIL_INDEX
                                                : JOB_POLICY_COUNT;
    }
}

static void parse_pods(struct fixture *f, struct str text)
{
    struct job_pod *pods = arena_array(f->a, struct job_pod, 64);
    struct str word, state;

    while (text.len) {
        str_cut(text, ' ', &word, &text);
        if (word.len == 0)
            continue;
        struct job_pod *p = &pods[f->look.n_pods++];
        str_cut(word, ':', &p->name, &state);
        p->uid = p->name;
        p->finished = (struct instant){95 * SECOND_NS};
        p->created = (struct instant){(int64_t)f->look.n_pods * SECOND_NS};
        parse_state(p, state);
    }
    f->look.pods = pods;
}

static struct fixture *fixture(struct arena *a, const char *job, const char *pods)
{
    struct fixture *f = arena_new(a, struct fixture);

    f->a = a;
    f->template.spec = &f->pod;
    f->spec.template = &f->template;
    f->job = (struct job){.metadata = &f->meta, .spec = &f->spec, .status = &f->status};
    f->look = (struct job_look){.job = &f->job, .now = {100 * SECOND_NS}};
    parse_job(f, str_from(job));
    parse_pods(f, str_from(pods));
    return f;
}

/* What a replacement carries of its index: "#2", or nothing. */
static const char *failures_text(struct arena *a, const struct job_birth *b)
{
    return b->index_failures ? str_printf(a, "#%d%c", b->index_failures, 0).at : "";
}

/* The plan as text: removals by name, births, and the outcome. */
static struct str plan_text(struct fixture *f, const struct job_plan *p)
{
    struct buf b = buf_in(f->a, 128);

    if (p->n_remove)
        buf_add(&b, S("remove"));
    for (size_t i = 0; i < p->n_remove; i++)
        buf_printf(&b, " %.*s", STR_ARG(f->look.pods[p->remove[i]].name));
    if (p->n_create && p->create[0].index == JOB_NO_INDEX)
        buf_printf(&b, "create %zu", p->n_create);
    else if (p->n_create)
        buf_add(&b, S("create"));
    for (size_t i = 0; i < p->n_create && p->create[i].index != JOB_NO_INDEX; i++)
        buf_printf(&b, " %d%s", p->create[i].index, failures_text(f->a, &p->create[i]));
    if (p->outcome != JOB_GOES_ON)
        buf_printf(&b, "%s%.*s", b.len ? ", " : "", STR_ARG(p->reason));
    if (p->again.ns >= 0)
        buf_printf(&b, "%sagain in %" PRId64 "s", b.len ? ", " : "", p->again.ns / SECOND_NS);
    return buf_str(&b);
}

TEST(job_decide)
{
    static const struct {
        const char *name, *job, *pods, *want;
    } cases[] = {
        {"a new job starts as many as may run",                                "c3 p2",                              "",                     "create 2"                      },
        {"no more than are still missing",                                     "c3 p5 ok2",                          "a:run*",               ""                              },
        {"a success frees a place",                                            "c3 p2",                              "a:ok* b:run*",         "create 1"                      },
        {"without completions any success stops new ones",                     "p3",                                 "a:ok* b:run*",         ""                              },
        {"a pod that is going is replaced, after the back-off",                "c1 p1",                              "a:run*-",
         "again in 5s"                                                                                                                                                       },
        {"or only when it has failed, if asked for",                           "c1 p1 failed-only",                  "a:run*-",              ""                              },
        {"surplus goes: the unassigned first",                                 "c9 p1",                              "a:run* b:wait*",       "remove b"                      },
        {"suspension removes all that is active",                              "c2 p2 suspend",                      "a:run* b:wait* c:ok*",
         "remove b a"                                                                                                                                                        },
        {"one failure waits ten seconds from its end",                         "c1 p1",                              "a:fail*",              "again in 5s"                   },
        {"at the back-off limit it goes on",                                   "c1 p1 b1",                           "a:fail*",              "again in 5s"                   },
        {"past the back-off limit it fails, and takes the rest along",         "c3 p2 b0",
         "a:fail* b:run*",                                                                                                                   "remove b, BackoffLimitExceeded"},
        {"past its deadline likewise",                                         "c3 p2 deadline60 started30",         "a:run*",
         "remove a, DeadlineExceeded"                                                                                                                                        },
        {"a suspended job has no deadline",                                    "c3 p2 deadline60 started30 suspend", "a:run*",
         "remove a"                                                                                                                                                          },
        {"indexed: the smallest that nobody has",                              "c4 p3 indexed done0",                "a:run*@2",
         "create 1 3"                                                                                                                                                        },
        {"indexed: one of two with the same index goes, and one past the end", "c3 p5 indexed",
         "a:wait*@1 b:run*@1 c:run*@7",                                                                                                      "remove c a"                    },
        {"indexed: a pod without an index goes",                               "c3 p3 indexed",                      "a:run*",               "remove a"                      },
        {"per index: a replacement carries the count",                         "c2 p2 indexed limit2",
         "a:fail*@0 b:run*@1",                                                                                                               "again in 5s"                   },
        {"per index: past its limit the index is given up",                    "c2 p2 indexed limit0",
         "a:fail*@0 b:run*@1",                                                                                                               ""                              },
        {"per index: all ended and one failed",                                "c2 p2 indexed limit0 done1",         "a:fail*@0",
         "FailedIndexes"                                                                                                                                                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        struct fixture *f = fixture(&a, cases[i].job, cases[i].pods);
        test_case(cases[i].name);
        struct job_plan plan = job_decide(&a, &f->look);
        check_samez(plan_text(f, &plan), cases[i].want);
        arena_reset(&a);
    }
}

/* What the counting does with pods that have ended, when every write succeeds. */
static struct str track_text(struct fixture *f)
{
    struct job_plan plan = job_decide(f->a, &f->look);
    struct job_done done = {.n_removed = plan.n_remove, .is_all_removed = true};
    struct job_settled s = job_settle(f->a, &f->look, &plan, &done);
    struct job_concluded end = job_conclude(f->a, &f->look, &s, s.let_go, s.n_let_go, true);
    struct buf b = buf_in(f->a, 128);
    const struct uncounted_terminated_pods *u = s.status->uncounted_terminated_pods;

    buf_printf(&b, "list %zu+%zu", u->succeeded.len, u->failed.len);
    buf_printf(&b, ", count %d+%d", end.status->succeeded, end.status->failed);
    if (end.end != JOB_GOES_ON)
        buf_printf(&b, ", %s", end.end == JOB_FAILS ? "Failed" : "Complete");
    return buf_str(&b);
}

TEST(job_counts_each_pod_once)
{
    static const struct {
        const char *name, *job, *pods, *want;
    } cases[] = {
        {"listed first, then counted",                  "c3 p3",         "a:ok* b:run* c:fail*", "list 1+1, count 1+1"          },
        {"without its finalizer it was counted before", "c3 p3 ok1",     "a:ok b:run*",
         "list 0+0, count 1+0"                                                                                                  },
        {"the last success completes it",               "c1 p1",         "a:ok*",                "list 1+0, count 1+0, Complete"},
        {"indexes are their own list",                  "c2 p2 indexed", "a:ok*@0 b:ok*@1",
         "list 0+0, count 2+0, Complete"                                                                                        },
        {"the last failure fails it",                   "c1 p1 b0",      "a:fail*",              "list 0+1, count 0+1, Failed"  },
        {"while a pod is going it is not over",         "c1 p1 b0",      "a:fail* b:run*-",
         "list 0+2, count 0+2"                                                                                                  },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(track_text(fixture(&a, cases[i].job, cases[i].pods)), cases[i].want);
        arena_reset(&a);
    }
}

/* The plan, then the status once every write has succeeded; numbers that are 0 are left out.
 * `!` behind a condition: with this look. */
static struct str story_text(struct fixture *f)
{
    struct job_plan plan = job_decide(f->a, &f->look);
    struct job_done done = {
        .n_removed = plan.n_remove, .n_create_failed = f->n_refused, .is_all_removed = true};
    struct buf b = buf_in(f->a, 256);

    for (size_t i = 0; i < plan.n_remove; i++)
        done.n_ready_removed += f->look.pods[plan.remove[i]].is_ready;
    struct job_settled s = job_settle(f->a, &f->look, &plan, &done);
    struct job_concluded end = job_conclude(f->a, &f->look, &s, s.let_go, s.n_let_go, true);
    const struct job_status *st = end.status;
    const struct {
        const char *name;
        int64_t n;
    } numbers[] = {
        {"active",      st->active         },
        {"ready",       st->ready          },
        {"terminating", st->terminating    },
        {"ok",          st->succeeded      },
        {"bad",         st->failed         },
        {"let-go",      (int64_t)s.n_let_go},
    };
    buf_printf(&b, "%.*s |", STR_ARG(plan_text(f, &plan)));
    for (size_t i = 0; i < countof(numbers); i++)
        if (numbers[i].n)
            buf_printf(&b, " %s %" PRId64, numbers[i].name, numbers[i].n);
    if (st->completed_indexes.len)
        buf_printf(&b, " done %.*s", STR_ARG(st->completed_indexes));
    if (st->failed_indexes.len)
        buf_printf(&b, " gave-up %.*s", STR_ARG(st->failed_indexes));
    for (size_t i = 0; i < st->conditions.len; i++)
        buf_printf(&b, " %.*s%s", STR_ARG(st->conditions.at[i].type),
                   str_eq(st->conditions.at[i].status, S("True")) ? "" : "=False");
    return buf_str(&b);
}

#define OK_5 "a:ok* b:ok* c:ok* d:ok* e:ok*"
#define RUN_5 "a:run* b:run* c:run* d:run* e:run*"

/* The scenarios of jobs reference 6.1 to 6.6, by their numbers. */
TEST(job_scenarios)
{
    /* clang-format off */
    static const struct {
        const char *name, *job, *pods, *want;
    } cases[] = {
        {"J1", "c5 p2", "", "create 2 | active 2"},
        {"J2", "p2", "", "create 2 | active 2"},
        {"J3", "c5 p2", "a:run* b:ok*", "create 1 | active 2 ready 1 ok 1 let-go 1"},
        {"J4", "p2", "a:run* b:ok*", " | active 1 ready 1 ok 1 let-go 1"},
        {"J5", "p2", "a:ok* b:fail*", " | ok 1 bad 1 let-go 2 SuccessCriteriaMet Complete"},
        {"J6", "c5 p2", OK_5, " | ok 5 let-go 5 SuccessCriteriaMet Complete"},
        {"J7", "c4 p3", "a:run* b:run* c:run* d:ok* e:ok*", "remove c | active 2 ready 2 terminating 1 ok 2 let-go 2"},
        {"J8", "c5 p2", "a:run* b:run* c:run* d:run* e:run* f:run* g:run* h:run* i:run* j:run*",
         "remove j i h g f e d c | active 2 ready 2 terminating 8"},
        {"J9: a creation is refused", "c5 p2 refused1", "a:run*", "create 1 | active 1 ready 1"},
        {"J10: a quota takes ten", "c200 p100 refused90", "", "create 100 | active 10"},
        {"J11: now is five seconds after its end", "c5 p2", "a:run* b:fail*", "again in 5s | active 1 ready 1 bad 1 let-go 1"},
        {"J12: one failure", "c1 p1 record1", "", "again in 10s |"},
        {"J12: three", "c1 p1 record3", "", "again in 40s |"},
        {"J12: nine", "c1 p1 record9", "", "again in 600s |"},
        {"J15", "c5 p2 b0 deleting", "a:fail*", "BackoffLimitExceeded | bad 1 let-go 1 FailureTarget Failed"},
        {"J16", "c5 p2 b0 deleting unseen", "a:fail*", "BackoffLimitExceeded | bad 1 let-go 1"},
        {"J17", "c3 p2 b0", "a:run* b:run* c:fail*",
         "remove a b, BackoffLimitExceeded | terminating 2 bad 3 let-go 3 FailureTarget"},
        {"J17: and when they are gone", "c3 p2 b0 bad3 wasFailureTarget=True", "", "Before | bad 3 FailureTarget Failed"},
        {"J18: three restarts", "c1 p1 b3 onfailure", "a:run*%3",
         "remove a, BackoffLimitExceeded | terminating 1 bad 1 let-go 1 FailureTarget"},
        {"J18: two", "c1 p1 b3 onfailure", "a:run*%2", " | active 1 ready 1"},
        {"J18: none are allowed", "c1 p1 b0 onfailure", "a:run*%1",
         "remove a, BackoffLimitExceeded | terminating 1 bad 1 let-go 1 FailureTarget"},
        {"J19", "c1 p1 deadline10 started85", "a:run*",
         "remove a, DeadlineExceeded | terminating 1 bad 1 let-go 1 FailureTarget"},
        {"J20", "c5 p2 deleting", "a:run* b:run* c:ok*", " | active 2 ready 2 ok 1 let-go 3"},
        {"J22", "c5 p2 listeda+b", "a:ok b:ok* c:run*", "create 1 | active 2 ready 1 ok 2 let-go 1"},
        {"J23", "c2 p1 wasFailureTarget=False", "a:run*", " | active 1 ready 1 FailureTarget=False"},

        {"I1", "c5 p2 indexed", "", "create 0 1 | active 2"},
        {"I2", "c3 p3 indexed", "a:ok*@0 b:fail*@1 c:ok*@1 d:ok*@2", " | ok 3 bad 1 let-go 4 done 0-2 SuccessCriteriaMet Complete"},
        {"I3", "c3 p3 indexed", "a:ok*@0 b:ok*@1 c:ok*@1", "create 2 | active 1 ok 2 let-go 3 done 0,1"},
        {"I4", "c20 p8 indexed", "a:run*@0 b:ok*@2 c:wait*@3 d:ok*@4 e:ok*@5 f:ok*@7 g:ok*@8 h:ok*@9",
         "create 1 6 10 11 12 13 | active 8 ready 1 ok 6 let-go 6 done 2,4,5,7-9"},
        {"I5: their back-off is over", "c4 p3 indexed", "a:fail*@0^10 b:wait*@1 c:fail*@2^10", "create 0 2 | active 3 bad 2 let-go 2"},
        {"I6", "c5 p5 indexed", "n:run* a:ok*@0 b:run*@1 c:run*@2 d:wait*@2",
         "remove n d | active 2 ready 2 terminating 2 ok 1 let-go 1 done 0"},
        {"I7", "c5 p2 indexed", "a:ok*@0 b:run*@5 c:ok*@6 d:wait*@7 e:fail*@8",
         "remove b d | terminating 2 ok 1 let-go 3 done 0"},
        {"I8: read as 0-5,8,9", "c9 p1 indexed done0-5,8-10", "", "create 6 | active 1 ok 7 done 0-5,8"},
        {"I9", "c4 p4 indexed done0,1-foo,bar", "a:ok*@3", "create 1 2 | active 2 ok 2 let-go 1 done 0,3"},
        {"I10: scaled down to what is complete", "c2 p2 indexed done0,1,3,4 ok4", "a:run*@2",
         "remove a | terminating 1 ok 2 let-go 1 done 0,1 SuccessCriteriaMet"},

        {"F1", "c1 p1", "a:fail*!J", "PodFailurePolicy | bad 1 let-go 1 FailureTarget Failed"},
        {"F3", "c1 p1 b0 failed-only", "a:fail*!I", "again in 5s | let-go 1"},
        {"F6", "c1 p1 b0 failed-only", "a:fail*!C", "BackoffLimitExceeded | bad 1 let-go 1 FailureTarget Failed"},
        {"F9", "c1 p1 b0 failed-only", "a:run*-", " | terminating 1"},
        {"F10", "c1 p1 failed-only", "a:run* b:run* c:run*- d:run*- e:run*- f:run*-",
         "remove b | active 1 ready 1 terminating 5"},

        {"B1", "c2 p2 indexed limit0", "a:fail*@0 b:run*@1", " | active 1 ready 1 bad 1 let-go 1 gave-up 0"},
        {"B2", "c2 p2 indexed limit1", "a:fail*@0 b:fail*@1#1", "again in 5s | bad 1 let-go 1 gave-up 1"},
        {"B3", "c2 p2 indexed limit1", "a:fail*@0#1 b:ok*@1",
         "FailedIndexes | ok 1 bad 1 let-go 2 done 1 gave-up 0 FailureTarget Failed"},
        {"B4", "c2 p2 indexed limit1 most0", "a:fail*@0#1 b:run*@1",
         "remove b, MaxFailedIndexesExceeded | terminating 1 bad 2 let-go 2 gave-up 0 FailureTarget"},
        {"B5", "c2 p2 indexed limit5", "a:fail*@0!X b:run*@1", " | active 1 ready 1 bad 1 let-go 1 gave-up 0"},

        {"B6: one is held back, the one that failed most often", "c1 p1 indexed limit4", "a:fail*@0 b:fail*@0#2 c:fail*@0#1^1",
         "again in 35s | bad 2 let-go 2"},
        {"B6: the next one carries its count", "c1 p1 indexed limit4", "b:fail*@0#2^1", "create 0#3 | active 1"},
        {"B6: once that is there, it goes", "c1 p1 indexed limit4", "b:fail*@0#2^1 d:wait*@0#3", " | active 1 bad 1 let-go 1"},

        {"S7: enough, though one has failed", "c3 p3 indexed enough0,1#1", "a:fail*@0 b:run*@0 c:ok*@1 d:run*@2",
         "remove b d, SuccessPolicy | terminating 2 ok 1 bad 1 let-go 4 done 1 SuccessCriteriaMet"},
        {"S7: complete when they are gone", "c3 p3 indexed enough0,1#1 ok1 bad1 done1 wasSuccessCriteriaMet=True", "",
         "Before | ok 1 bad 1 done 1 SuccessCriteriaMet Complete"},
        {"S8: enough and too many failures at once: failed", "c2 p2 b0 indexed enough0", "a:ok*@0 b:fail*@1",
         "BackoffLimitExceeded | ok 1 bad 1 let-go 2 done 0 FailureTarget Failed"},
        {"a rule of none is met by the first", "c2 p1 indexed enough#0", "", "create 0 | active 1"},
        {"S9: success that was decided stays", "c2 p2 wasSuccessCriteriaMet=True", "a:fail*!J", "Before | bad 1 let-go 1 SuccessCriteriaMet Complete"},
        {"S10: and so does failure", "c1 p1 wasFailureTarget=True", "a:ok*", "Before | ok 1 let-go 1 FailureTarget Failed"},

        {"P1", "c2 p2 suspend", "", " | Suspended"},
        {"P2", "c2 p2 suspend started90", "a:run* b:run*", "remove b a | terminating 2 Suspended"},
        {"P3", "c2 p2 suspend started90 unseen", "a:run* b:run*", " | active 2 ready 2"},
        {"P4", "c2 p2 wasSuspended=True", "", "create 2 | active 2 Suspended=False"},

        /* Of the reported cases. */
        {"J01: while one waits, the others are counted", "c3 p3", "a:fail* b:run* c:run*",
         "again in 5s | active 2 ready 2 bad 1 let-go 1"},
        {"J07: a limit of 1 takes two pods", "c1 p1 b1 bad1", "a:fail*",
         "BackoffLimitExceeded | bad 2 let-go 1 FailureTarget Failed"},

        /* What goes together badly. */
        {"complete outranks suspended", "c1 p1 suspend", "a:ok*", " | ok 1 let-go 1 SuccessCriteriaMet Complete"},
        {"a failure and the last success at once: failed", "c1 p1 b0", "a:ok* b:fail*",
         "BackoffLimitExceeded | ok 1 bad 1 let-go 2 FailureTarget Failed"},
        {"more succeeded than asked for", "c1 p1", "a:ok* b:ok*", " | ok 2 let-go 2 SuccessCriteriaMet Complete"},
        {"a parallelism of 0 removes what runs", "c2 p0", "a:run*", "remove a | terminating 1"},
        {"no completions are complete at once", "c0 p1", "", " | SuccessCriteriaMet Complete"},
        {"a deleted Job decides nothing new", "c5 p5 deleting", "", " |"},
        {"one that is going and had succeeded counts as that", "c1 p1", "a:ok*-", " | ok 1 let-go 1 SuccessCriteriaMet Complete"},
        {"an index past the end never counts", "c1 p1 indexed", "a:ok*@5", "create 0 | active 1 let-go 1"},
        {"a pod that lost its finalizer while it ran counts nothing", "c1 p1", "a:fail", "create 1 | active 1"},
    };
    /* clang-format on */
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(story_text(fixture(&a, cases[i].job, cases[i].pods)), cases[i].want);
        arena_reset(&a);
    }
}

/* J03: the Job's new status came before the pod's new version. */
TEST(job_counts_once_with_a_stale_pod)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct fixture *f = fixture(&a, "c2 p1 ok1", "a:ok* b:run*");
    struct str gone[] = {S("a")};

    f->look.let_go = gone;
    f->look.n_let_go = 1;
    check_samez(story_text(f), " | active 1 ready 1 ok 1");
}

/* J21: six hundred at once. A look lists 500 uids, and nothing ends before the last is counted.
 */
TEST(job_counts_five_hundred_a_look)
{
    static const struct {
        const char *name, *job;
        int32_t counted;
    } cases[] = {
        {"of more that are asked for", "c1000 p600",        500},
        {"the last ones of a Job",     "c600 p600",         500},
        {"indexes, too",               "c600 p600 indexed", 500},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);

    for (size_t i = 0; i < countof(cases); i++) {
        struct fixture *f = fixture(&a, cases[i].job, "");
        struct job_pod *pods = arena_array(&a, struct job_pod, 600);
        test_case(cases[i].name);
        for (int k = 0; k < 600; k++)
            pods[k] = (struct job_pod){
                .name = str_printf(&a, "p%d", k),
                .uid = str_printf(&a, "u%d", k),
                .index =
                    str_eq(f->spec.completion_mode, COMPLETION_MODE_INDEXED) ? k : JOB_NO_INDEX,
                .phase = POD_SUCCEEDED,
                .has_finalizer = true};
        f->look.pods = pods;
        f->look.n_pods = 600;
        struct job_plan plan = job_decide(&a, &f->look);
        struct job_done done = {.is_all_removed = true};
        struct job_settled s = job_settle(&a, &f->look, &plan, &done);
        struct job_concluded end = job_conclude(&a, &f->look, &s, s.let_go, s.n_let_go, true);
        check_int((int64_t)s.n_let_go, cases[i].counted);
        check(s.is_full);
        check(end.end == JOB_GOES_ON);
        arena_reset(&a);
    }
}

TEST(index_sets)
{
    static const struct {
        const char *text;
        int32_t completions;
        const char *want;
        int total;
    } cases[] = {
        {"1,3-5,7",   10, "1,3-5,7", 5},
        {"0,1",       10, "0,1",     2},
        {"0,1,2",     10, "0-2",     3},
        {"3-9",       5,  "3,4",     2},
        {"7",         5,  "",        0},
        {"a,2,b-c,4", 10, "2,4",     2},
        {"",          10, "",        0},
        {"1-3-9,5",   10, "1-3,5",   4},
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        struct index_set s = index_set_parse(&a, str_from(cases[i].text), cases[i].completions);
        test_case(cases[i].text);
        check_samez(index_set_text(&a, &s), cases[i].want);
        check_int(s.total, cases[i].total);
    }
}
