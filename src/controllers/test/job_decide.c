/* job_decide.c - what a Job's look decides, in a small text form
 *
 *     job:   c3 p2 b6 indexed suspend limit1 deadline60 failed-only
 *     pods:  "a:run b:ok* c:fail*@2 d:run- e:wait"      * holds the finalizer, - is being
 * deleted,
 *            @N its index, #N failures of its index before
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
};

static int64_t number_in(struct str word, const char *prefix)
{
    int64_t v = -1;

    str_to_i64(str_slice(word, strlen(prefix), word.len), &v);
    return v;
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
        else if (str_starts(word, S("deadline")))
            SET(&f->spec, active_deadline_seconds, number_in(word, "deadline"));
        else if (str_starts(word, S("started")))
            SET(&f->status, start_time,
                (struct instant){number_in(word, "started") * SECOND_NS});
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
            p->index = text.at[i + 1] - '0';
        if (text.at[i] == '#')
            p->index_failures = text.at[i + 1] - '0';
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
        buf_printf(&b, " %d%s", p->create[i].index, p->create[i].index_failures ? "!" : "");
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
