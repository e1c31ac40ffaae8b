/* pod_plan.c - a pod in one line of text, and what is to be done
 *
 *     OnFailure i:a=e0 s:log=running m:main=e3*2@100 now=105
 *
 * i: init container, s: sidecar, m: main; =state: starting running stopping eCODE; *run number,
 * @end in seconds, +how long it ran, ~reason that it cannot start before @end. A state with !:
 * a probe says that it must end; with ?: its startup probe has not passed.
 */
#include "base/testing.h"

#include "api/core_v1.h"
#include "node/pod_plan.h"
#include "schema/view.h"

static int64_t number(struct str s)
{
    int64_t n = 0;

    check(str_to_i64(s, &n));
    return n;
}

/* Cuts off the part behind the last `mark`. */
static int64_t cut_number(struct str *s, char mark, int64_t otherwise)
{
    size_t at = str_rindex(*s, mark);

    if (at == STR_NONE)
        return otherwise;
    int64_t n = number(str_slice(*s, at + 1, s->len));
    *s = str_slice(*s, 0, at);
    return n;
}

static struct str cut_text(struct str *s, char mark)
{
    size_t at = str_rindex(*s, mark);

    if (at == STR_NONE)
        return (struct str){0};
    struct str tail = str_slice(*s, at + 1, s->len);
    *s = str_slice(*s, 0, at);
    return tail;
}

static void read_container(struct str word, struct container *c, struct container_seen *s)
{
    static const struct {
        const char *word;
        enum container_at at;
    } states[] = {
        {"starting", CONTAINER_STARTING},
        {"running",  CONTAINER_RUNNING },
        {"stopping", CONTAINER_STOPPING},
    };
    bool is_sidecar = word.at[0] == 's';

    word = str_slice(word, 2, word.len);
    s->problem = cut_text(&word, '~');
    int64_t ran = cut_number(&word, '+', 1);
    s->end.finished = (struct instant){cut_number(&word, '@', 0) * SECOND_NS};
    s->end.started = (struct instant){s->end.finished.ns - ran * SECOND_NS};
    s->problem_until = s->problem.len ? s->end.finished : (struct instant){0};
    s->attempt = (int32_t)cut_number(&word, '*', 0);
    struct str state = cut_text(&word, '=');
    s->is_unhealthy = str_ends(state, S("!"));
    s->is_unstarted = str_ends(state, S("?"));
    if (s->is_unhealthy || s->is_unstarted)
        state = str_slice(state, 0, state.len - 1);
    SET(c, name, word);
    if (is_sidecar)
        SET(c, restart_policy, S("Always"));
    for (size_t i = 0; i < countof(states); i++)
        if (str_eqz(state, states[i].word))
            s->at = states[i].at;
    if (str_starts(state, S("e"))) {
        s->at = CONTAINER_ENDED;
        s->end.is_set = true;
        s->end.exit_code = (int32_t)number(str_slice(state, 1, state.len));
    }
}

static void read_word(struct arena *a, struct str word, struct pod *pod, struct pod_seen *seen)
{
    struct str key, value;
    struct pod_spec *spec = pod->spec;

    if (word.at[1] == ':') {
        bool is_main = word.at[0] == 'm';
        struct container_list *l = is_main ? &spec->containers : &spec->init_containers;
        struct container_seen *s = is_main ? seen->main : seen->init;
        read_container(word, &l->at[l->len], &s[l->len]);
        l->len++;
        return;
    }
    str_cut(word, '=', &key, &value);
    if (str_eqz(key, "now")) {
        seen->now.ns = number(value) * SECOND_NS;
    } else if (str_eqz(key, "start")) {
        seen->start_time.ns = number(value) * SECOND_NS;
    } else if (str_eqz(key, "deadline")) {
        SET(spec, active_deadline_seconds, number(value));
    } else if (str_eqz(key, "deleted")) {
        SET(pod->metadata, deletion_timestamp, (struct instant){1});
        SET(pod->metadata, deletion_grace_period_seconds, number(value));
    } else if (str_eqz(key, "gone")) {
        seen->is_gone = true;
    } else if (str_eqz(key, "refused")) {
        seen->refused = value;
    } else if (str_eqz(key, "at-once")) {
        seen->refused_grace = span_s(number(value));
    } else if (str_eqz(key, "phase")) {
        pod->status = arena_new(a, struct pod_status);
        SET(pod->status, phase, value);
    } else {
        SET(spec, restart_policy, word);
    }
}

static void read_pod(struct arena *a, const char *text, struct pod *pod, struct pod_seen *seen)
{
    struct str rest = str_from(text), word;
    enum { MAX = 8 };

    pod->metadata = arena_new(a, struct object_meta);
    pod->spec = arena_new(a, struct pod_spec);
    pod->spec->termination_grace_period_seconds = 30;
    pod->spec->containers.at = arena_array(a, struct container, MAX);
    pod->spec->init_containers.at = arena_array(a, struct container, MAX);
    *seen = (struct pod_seen){.pod = pod,
                              .init = arena_array(a, struct container_seen, MAX),
                              .main = arena_array(a, struct container_seen, MAX),
                              .now = {SECOND_NS}};
    while (rest.len) {
        str_cut(rest, ' ', &word, &rest);
        read_word(a, word, pod, seen);
    }
}

static void say_todos(struct buf *out, const struct container_list *l,
                      const struct container_todo *todo)
{
    for (size_t i = 0; i < l->len; i++) {
        struct str name = l->at[i].name;
        if (todo[i].start)
            buf_printf(out, " start %.*s#%d", STR_ARG(name), todo[i].attempt);
        else if (todo[i].waiting.len)
            buf_printf(out, " %.*s:%.*s", STR_ARG(name), STR_ARG(todo[i].waiting));
        if (todo[i].stop)
            buf_printf(out, " stop %.*s", STR_ARG(name));
    }
}

static struct str say(struct arena *a, const struct pod *pod, const struct pod_todo *todo)
{
    struct buf out = buf_in(a, 128);
    bool stops = false;

    buf_add(&out, todo->phase);
    if (todo->reason.len)
        buf_printf(&out, "/%.*s", STR_ARG(todo->reason));
    say_todos(&out, &pod->spec->init_containers, todo->init);
    say_todos(&out, &pod->spec->containers, todo->main);
    for (size_t i = 0; i < pod->spec->containers.len; i++)
        stops = stops || todo->main[i].stop;
    if (stops)
        buf_printf(&out, " in %ds", (int)(todo->grace.ns / SECOND_NS));
    if (todo->is_dead)
        buf_add(&out, S(" dead"));
    if (todo->can_delete)
        buf_add(&out, S(" delete"));
    if (instant_is_set(todo->again))
        buf_printf(&out, " again %d", (int)(todo->again.ns / SECOND_NS));
    return buf_str(&out);
}

TEST(pod_decide)
{
    static const struct {
        const char *name, *pod, *want;
    } cases[] = {
        {"a new pod starts",                           "Never m:a m:b",                                 "Pending start a#0 start b#0"},
        {"starting is not running",                    "Never m:a=starting",                            "Pending"                    },
        {"one runs",                                   "Never m:a=running m:b=e0",                      "Running"                    },
        {"all succeeded",                              "Never m:a=e0 m:b=e0",                           "Succeeded dead"             },
        {"one failed",                                 "Never m:a=e0 m:b=e1",                           "Failed dead"                },
        {"one failed, one runs",                       "Never m:a=running m:b=e1",                      "Running"                    },
        {"first restart is at once",                   "OnFailure m:a=e1@5 now=5",                      "Running start a#1"          },
        {"success is not repeated",                    "OnFailure m:a=e0@5 now=5",                      "Succeeded dead"             },
        {"Always repeats success",                     "Always m:a=e0@5 now=5",                         "Running start a#1"          },
        {"the second restart waits 10 s",              "OnFailure m:a=e1*1@5 now=5",
         "Running a:CrashLoopBackOff again 15"                                                                                       },
        {"and then comes",                             "OnFailure m:a=e1*1@5 now=15",                   "Running start a#2"          },
        {"the fifth waits 80 s",                       "OnFailure m:a=e1*4@5 now=5",
         "Running a:CrashLoopBackOff again 85"                                                                                       },
        {"never more than 300 s",                      "OnFailure m:a=e1*40@5 now=5",
         "Running a:CrashLoopBackOff again 305"                                                                                      },
        {"a long run forgives",                        "OnFailure m:a=e1*4@5+700 now=5",                "Running start a#5"          },
        {"what cannot start says why",                 "Never m:a~ErrImagePull",                        "Pending a:ErrImagePull"     },
        {"and is tried again",                         "Never m:a@20~Broken",                           "Pending a:Broken again 20"  },
        {"a run after the first, too",                 "OnFailure m:a=e1@20~Broken now=20",
         "Running a:Broken again 20"                                                                                                 },
        {"init containers one by one",                 "Never i:x i:y m:a",                             "Pending start x#0"          },
        {"the next when one succeeded",                "Never i:x=e0 i:y m:a",                          "Pending start y#0"          },
        {"they are awaited",                           "Never i:x=running m:a",                         "Pending"                    },
        {"then the others",                            "Never i:x=e0 m:a",                              "Pending start a#0"          },
        {"init failed",                                "Never i:x=e2 m:a",                              "Failed dead"                },
        {"init is repeated",                           "OnFailure i:x=e2@5 m:a now=5",                  "Pending start x#1"          },
        {"Always means on failure there",              "Always i:x=e2@5 m:a now=5",                     "Pending start x#1"          },
        {"and not on success",                         "Always i:x=e0@5 m:a now=5",                     "Pending start a#0"          },
        {"a sidecar is up first",                      "Never s:l m:a",                                 "Pending start l#0"          },
        {"it must be up",                              "Never s:l=starting m:a",                        "Pending"                    },
        {"and stays",                                  "Never s:l=running m:a",                         "Pending start a#0"          },
        {"it comes back, even then",                   "Never s:l=e1@5 m:a=running now=5",              "Running start l#1"          },
        {"and goes at the end",                        "Never s:l=running m:a=e0",                      "Running stop l"             },
        {"its code does not count",                    "Never s:l=e137 m:a=e0",                         "Succeeded dead"             },
        {"init failed beside a sidecar",               "Never s:l=running i:x=e1 m:a",                  "Pending stop l"             },
        {"deleted while it runs",                      "Never m:a=running deleted=7",                   "Running stop a in 7s"       },
        {"deleted and ended",                          "Never m:a=e143 deleted=7",                      "Failed dead delete"         },
        {"deleted, but it succeeded",                  "Never m:a=e0 deleted=7",                        "Succeeded dead delete"      },
        {"deleted before it began",                    "Never m:a deleted=7",                           "Failed dead delete"         },
        {"a finished pod is deleted",                  "Never m:a=e0 phase=Succeeded deleted=7",
         "Succeeded dead delete"                                                                                                     },
        {"a finished pod stays so",                    "Never m:a phase=Failed",                        "Failed dead"                },
        {"gone from the API",                          "Never m:a=running gone",                        "Running stop a in 2s"       },
        {"its deadline is awaited",                    "Never m:a=running deadline=60 start=10 now=20",
         "Running again 70"                                                                                                          },
        {"and ends it",                                "Never m:a=running deadline=60 start=10 now=70",
         "Running stop a in 30s"                                                                                                     },
        {"as what it is called",                       "Never m:a=e143 deadline=60 start=10 now=70",
         "Failed/DeadlineExceeded dead"                                                                                              },
        {"refused",                                    "Never m:a refused=NodeRestart",                 "Failed/NodeRestart dead"    },
        {"evicted: with little grace",                 "Never m:a=running refused=Evicted at-once=1",
         "Running stop a in 1s"                                                                                                      },
        {"and when it has ended",                      "Never m:a=e137 refused=Evicted at-once=1",
         "Failed/Evicted dead"                                                                                                       },
        {"a failed probe ends it",                     "OnFailure m:a=running!",                        "Running stop a in 30s"      },
        {"and it is started again, whatever its code", "OnFailure m:a=e0!@5 now=5",
         "Running start a#1"                                                                                                         },
        {"but not with Never",                         "Never m:a=e143!@5 now=5",                       "Failed dead"                },
        {"a sidecar's startup probe is awaited",       "Never s:l=running? m:a",                        "Pending"                    },
        {"a sidecar's failed probe ends it",           "Never s:l=running! m:a=running",
         "Running stop l"                                                                                                            },
        {"sidecars go in reverse order",               "Never s:k=running s:l=running m:a=e0",
         "Running stop l"                                                                                                            },
        {"each when the next has gone",                "Never s:k=running s:l=e0 m:a=e0",               "Running stop k"             },
        {"deleted: they go after the others",          "Never s:l=running m:a=running deleted=7",
         "Running stop a in 7s"                                                                                                      },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct pod pod = {0};
        struct pod_seen seen;
        test_case(cases[i].name);
        read_pod(&a, cases[i].pod, &pod, &seen);
        struct pod_todo todo = pod_decide(&a, &seen);
        check_samez(say(&a, &pod, &todo), cases[i].want);
    }
}

TEST(pod_restart_rules)
{
    static const struct {
        const char *name, *operator;
        int32_t code;
        const char *want;
    } cases[] = {
        {"a listed code restarts", "In",    42, "Running start a#1"},
        {"another does not",       "In",    41, "Failed dead"      },
        {"not listed restarts",    "NotIn", 41, "Running start a#1"},
        {"listed as not to",       "NotIn", 42, "Failed dead"      },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct pod pod = {0};
        struct pod_seen seen;
        int32_t codes[] = {42};
        struct container_restart_rule_on_exit_codes on = {0}, *o = &on;
        struct container_restart_rule rule = {0}, *r = &rule;
        test_case(cases[i].name);
        read_pod(&a, "Never m:a=e0@5 now=5", &pod, &seen);
        seen.main[0].end.exit_code = cases[i].code;
        SET(o, operator, str_from(cases[i].operator));
        SET(o, values, (struct i32_list){codes, 1});
        SET(r, action, S("Restart"));
        SET(r, exit_codes, o);
        SET(&pod.spec->containers.at[0], restart_policy_rules,
            (struct container_restart_rule_list){r, 1});
        struct pod_todo todo = pod_decide(&a, &seen);
        check_samez(say(&a, &pod, &todo), cases[i].want);
    }
}
