/* sched.c - nodes in one line of text, a pod in another, and the choice
 *
 *     a cpu=4 pods=2 zone:x !key=value cordoned; b cpu=8
 *     NAME, NAME=amount, LABEL:value, !taint=value (NoSchedule), ?taint=value
 * (PreferNoSchedule),
 *     @NODE (bound there); in a pod LABEL:value is its nodeSelector, ~key a toleration
 */
#include "base/testing.h"

#include "api/core_v1.h"
#include "sched/sched.h"

enum { MAX = 8 };

static void add(struct str_map *m, struct arena *a, struct str key, struct str value)
{
    if (!m->at)
        m->at = arena_array(a, struct str_entry, MAX);
    m->at[m->len++] = (struct str_entry){key, value};
}

static void node_word(struct arena *a, struct node *n, struct str word)
{
    struct str key, value;
    bool is_hard = word.at[0] == '!';

    if (is_hard || word.at[0] == '?') {
        if (!n->spec->taints.at)
            n->spec->taints.at = arena_array(a, struct taint, MAX);
        struct taint *t = &n->spec->taints.at[n->spec->taints.len++];
        str_cut(str_slice(word, 1, word.len), '=', &t->key, &t->value);
        t->effect = is_hard ? S("NoSchedule") : S("PreferNoSchedule");
    } else if (str_eqz(word, "cordoned")) {
        n->spec->unschedulable = true;
    } else if (str_eqz(word, "down")) {
        n->status->conditions.at = arena_new(a, struct node_condition);
        n->status->conditions.len = 1;
        n->status->conditions.at->type = S("Ready");
        n->status->conditions.at->status = S("Unknown");
    } else if (str_cut(word, ':', &key, &value)) {
        add(&n->metadata->labels, a, key, value);
    } else if (str_cut(word, '=', &key, &value)) {
        add(&n->status->allocatable, a, key, value);
    } else {
        n->metadata->name = word;
    }
}

static void set_nodes(struct arena *a, struct sched *s, const char *text)
{
    struct str rest = str_from(text), line, word;

    while (rest.len) {
        struct node *n = arena_new(a, struct node);
        n->metadata = arena_new(a, struct object_meta);
        n->spec = arena_new(a, struct node_spec);
        n->status = arena_new(a, struct node_status);
        str_cut(rest, ';', &line, &rest);
        line = str_trim(line);
        while (line.len) {
            str_cut(line, ' ', &word, &line);
            node_word(a, n, word);
        }
        if (!str_map_find(&n->status->allocatable, S("pods")))
            add(&n->status->allocatable, a, S("pods"), S("110"));
        sched_set_node(s, n);
    }
}

static struct pod *make_pod(struct arena *a, struct str line)
{
    struct pod *p = arena_new(a, struct pod);
    struct container *c = arena_new(a, struct container);
    struct str word, key, value;

    p->metadata = arena_new(a, struct object_meta);
    p->spec = arena_new(a, struct pod_spec);
    p->status = arena_new(a, struct pod_status);
    p->metadata->uid = S("new");
    p->spec->containers = (struct container_list){c, 1};
    c->resources = arena_new(a, struct resource_requirements);
    while (line.len) {
        str_cut(line, ' ', &word, &line);
        if (word.at[0] == '@') {
            p->spec->node_name = str_slice(word, 1, word.len);
        } else if (word.at[0] == '~') {
            p->spec->tolerations.at = arena_new(a, struct toleration);
            p->spec->tolerations.len = 1;
            p->spec->tolerations.at->key = str_slice(word, 1, word.len);
            p->spec->tolerations.at->operator= S("Exists");
        } else if (str_cut(word, ':', &key, &value)) {
            add(&p->spec->node_selector, a, key, value);
        } else if (str_cut(word, '=', &key, &value)) {
            add(&c->resources->requests, a, key, value);
        } else if (str_eqz(word, "done")) {
            p->status->phase = S("Succeeded");
        } else {
            p->metadata->uid = word;
        }
    }
    return p;
}

static void set_pods(struct arena *a, struct sched *s, const char *text)
{
    struct str rest = str_from(text), line;

    while (rest.len) {
        str_cut(rest, ';', &line, &rest);
        sched_set_pod(s, make_pod(a, str_trim(line)));
    }
}

TEST(sched_choose)
{
    static const struct {
        const char *name, *nodes, *pods, *pod, *want;
    } cases[] = {
        {"the only one",                  "a cpu=4",                                "",                "cpu=2",        "a"                                  },
        {"the emptier one",               "a cpu=4; b cpu=4",                       "p @a cpu=2",      "cpu=2",        "b"                                  },
        {"the first by name of equals",   "b cpu=4; a cpu=4",                       "",                "cpu=2",        "a"                                  },
        {"what is bound counts",          "a cpu=4",                                "p @a cpu=3",      "cpu=2",
         "0/1 nodes are available: 1 Insufficient cpu. cpu: 2 asked, at most 1 of 4 free (node "
         "a)."                                                                                                                                              },
        {"what is finished does not",     "a cpu=4",                                "p @a cpu=3 done", "cpu=2",        "a"                                  },
        {"thousandths",                   "a cpu=4",                                "p @a cpu=3500m",  "cpu=501m",
         "0/1 nodes are available: 1 Insufficient cpu. cpu: 501m asked, at most 500m of 4 free "
         "(node a)."                                                                                                                                        },
        {"a resource nobody has",         "a cpu=4",                                "",                "gpu=1",
         "0/1 nodes are available: 1 Insufficient gpu. gpu: 1 asked, at most 0 of 0 free (node "
         "a)."                                                                                                                                              },
        {"nothing of it is always there", "a cpu=4",                                "",                "gpu=0",        "a"                                  },
        {"too many pods",                 "a cpu=4 pods=1",                         "p @a",            "",
         "0/1 nodes are available: 1 Too many pods. pods: 1 asked, at most 0 of 1 free (node "
         "a)."                                                                                                                                              },
        {"all that is short is told",     "a cpu=1 memory=1Gi; b cpu=2 memory=1Gi", "",
         "cpu=4 memory=2Gi",                                                                                           "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory."
         " cpu: 4 asked, at most 2 of 2 free (node b)."
         " memory: 2Gi asked, at most 1Gi of 1Gi free (node a)."                                                                },
        {"a cordoned node",               "a cpu=4 cordoned; b cpu=1",              "",                "cpu=2",
         "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
         " cpu: 2 asked, at most 1 of 1 free (node b)."                                                                                                     },
        {"a node that is not ready",      "a cpu=4 down",                           "",                "cpu=2",
         "0/1 nodes are available: 1 node(s) were not ready."                                                                                               },
        {"a taint",                       "a cpu=4 !gpu=yes",                       "",                "cpu=2",
         "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: yes}."                                                                             },
        {"a tolerated one",               "a cpu=4 !gpu=yes",                       "",                "cpu=2 ~gpu",   "a"                                  },
        {"a soft taint is avoided",       "a cpu=4 ?gpu=yes; b cpu=4",              "",                "cpu=2",        "b"                                  },
        {"but not refused",               "a cpu=4 ?gpu=yes",                       "",                "cpu=2",        "a"                                  },
        {"a label is demanded",           "a cpu=4; b cpu=4 zone:x",                "",                "cpu=2 zone:x", "b"                                  },
        {"and missing",                   "a cpu=4 zone:y",                         "",                "cpu=2 zone:x",
         "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."                                                                    },
        {"no nodes at all",               "",                                       "p @a cpu=1",      "cpu=2",        "no nodes available to schedule pods"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct sched *s = sched_new();
        test_case(cases[i].name);
        set_nodes(&a, s, cases[i].nodes);
        set_pods(&a, s, cases[i].pods);
        struct sched_choice c =
            sched_choose(s, &a, make_pod(&a, str_from(cases[i].pod)), NULL, NULL);
        check_samez(c.node.len ? c.node : c.message, cases[i].want);
        sched_free(s);
    }
}

TEST(sched_events)
{
    scoped(arena_fini) struct arena a = {0};
    struct sched *s = sched_new();
    struct pod *big = make_pod(&a, S("cpu=3"));
    struct pod *bound = make_pod(&a, S("p @a cpu=3"));
    struct pod *unbound = make_pod(&a, S("p cpu=3"));

    set_nodes(&a, s, "a cpu=4");
    test_case("an assumed pod takes its room, also when seen unbound meanwhile");
    sched_assume(s, unbound, S("a"));
    sched_set_pod(s, unbound);
    check_int(sched_choose(s, &a, big, NULL, NULL).n_fit, 0);
    test_case("seen bound, it counts once");
    sched_set_pod(s, bound);
    sched_set_pod(s, bound);
    check_int(sched_choose(s, &a, big, NULL, NULL).n_fit, 0);
    test_case("and gives it back");
    sched_remove_pod(s, S("p"));
    sched_remove_pod(s, S("p"));
    check_int(sched_choose(s, &a, big, NULL, NULL).n_fit, 1);
    test_case("a binding that was assumed is confirmed, another one is not");
    check(!sched_confirm(s, S("p"), S("a")));
    sched_assume(s, unbound, S("a"));
    check(!sched_confirm(s, S("p"), S("b")));
    sched_set_pod(s, unbound);
    check(sched_has_pod(s, S("p")));
    check(sched_confirm(s, S("p"), S("a")));
    check_int(sched_choose(s, &a, big, NULL, NULL).n_fit, 0);
    sched_set_pod(s, unbound); /* as no watch tells it: it is assumed no more */
    check(!sched_has_pod(s, S("p")));
    test_case("a pod may come before its node");
    set_pods(&a, s, "q @b cpu=3");
    check_int(sched_n_nodes(s), 1);
    set_nodes(&a, s, "b cpu=4 only:b");
    check_int(sched_choose(s, &a, make_pod(&a, S("cpu=2 only:b")), NULL, NULL).n_fit, 0);
    test_case("and outlive it");
    sched_remove_node(s, S("b"));
    check_int(sched_n_nodes(s), 1);
    set_nodes(&a, s, "b cpu=8 only:b");
    check_int(sched_choose(s, &a, make_pod(&a, S("cpu=5 only:b")), NULL, NULL).n_fit, 1);
    check_int(sched_choose(s, &a, make_pod(&a, S("cpu=6 only:b")), NULL, NULL).n_fit, 0);
    sched_free(s);
}

static bool veto(void *ctx, struct str node, struct str *why)
{
    *why = S("cannot allocate all claims");
    return str_eqz(node, ctx);
}

TEST(sched_allow)
{
    scoped(arena_fini) struct arena a = {0};
    struct sched *s = sched_new();
    char b[] = "b", none[] = "";

    set_nodes(&a, s, "a cpu=4; b cpu=4; c cpu=1");
    check_samez(sched_choose(s, &a, make_pod(&a, S("cpu=2")), veto, b).node, "b");
    check_samez(sched_choose(s, &a, make_pod(&a, S("cpu=2")), veto, none).message,
                "0/3 nodes are available: 1 Insufficient cpu, 2 cannot allocate all claims."
                " cpu: 2 asked, at most 1 of 1 free (node c).");
    sched_free(s);
}

struct waking {
    struct sched *s;
    struct buf order;
    struct str refuses;
};

static bool woken(void *ctx, struct str key)
{
    struct waking *w = ctx;

    if (str_eq(key, w->refuses))
        return false;
    buf_printf(&w->order, "%.*s ", STR_ARG(key));
    sched_unpark(w->s, key);
    return true;
}

TEST(sched_wake)
{
    static const struct {
        const char *name, *free, *refuses, *want;
    } cases[] = {
        {"nobody fits",                   "cpu=1", "",  ""      },
        {"as many as there is room for",  "cpu=5", "",  "b a "  },
        {"the highest priority first",    "cpu=2", "",  "b "    },
        {"all",                           "cpu=9", "",  "b a c "},
        {"what is refused is offered on", "cpu=2", "b", "a "    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct waking w = {.s = sched_new(), .refuses = str_from(cases[i].refuses)};
        test_case(cases[i].name);
        struct pod *low = make_pod(&a, S("cpu=2")), *high = make_pod(&a, S("cpu=2"));
        high->spec->priority = 7;
        sched_park(w.s, S("a"), low);
        sched_park(w.s, S("b"), high);
        sched_park(w.s, S("c"), low);
        set_nodes(&a, w.s, str_printf(&a, "n %s%c", cases[i].free, 0).at);
        sched_wake(w.s, S("n"), woken, &w);
        check_samez(buf_str(&w.order), cases[i].want);
        buf_fini(&w.order);
        sched_free(w.s);
    }
}

struct waiting {
    int cpu, priority, place; /* place 0: not parked */
};

/* Whom the room would wake if every parked pod were looked at; they are unparked. */
static void wake_slowly(struct waiting *pods, int n, int left, struct buf *order)
{
    for (;;) {
        int best = -1;
        for (int i = 0; i < n; i++) {
            struct waiting *p = &pods[i], *b = best < 0 ? NULL : &pods[best];
            if (p->place && p->cpu <= left &&
                (!b || p->priority > b->priority ||
                 (p->priority == b->priority && p->place < b->place)))
                best = i;
        }
        if (best < 0)
            return;
        left -= pods[best].cpu;
        pods[best].place = 0;
        buf_printf(order, "p%d ", best);
    }
}

TEST(sched_wake_order)
{
    enum { N = 40, ROUNDS = 400 };
    scoped(arena_fini) struct arena a = {0};
    struct waiting pods[N] = {0};
    struct sched *s = sched_new();
    uint64_t random = 7;

    for (int round = 0; round < ROUNDS; round++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int i = (int)(random >> 33) % N;
        struct str key = str_printf(&a, "p%d", i);
        if (pods[i].place && (random >> 60) < 4) {
            sched_unpark(s, key);
            pods[i].place = 0;
        } else { /* parked again it keeps its place */
            struct pod *pod = make_pod(
                &a, str_printf(&a, "cpu=%d", pods[i].cpu = 1 + (int)(random >> 40) % 4));
            pod->spec->priority = pods[i].priority = (int)(random >> 45) % 3;
            pods[i].place = pods[i].place ? pods[i].place : round + 1;
            sched_park(s, key, pod);
        }
        if (round % 8 != 7)
            continue;
        struct waking w = {.s = s};
        struct buf want = buf_in(&a, 64);
        int left = (int)(random >> 55) % 12;
        set_nodes(&a, s, str_printf(&a, "n cpu=%d%c", left, 0).at);
        sched_wake(s, S("n"), woken, &w);
        wake_slowly(pods, N, left, &want);
        check_same(buf_str(&w.order), buf_str(&want));
        buf_fini(&w.order);
    }
    sched_free(s);
}

TEST(sched_init_containers)
{
    static const struct {
        const char *name, *init, *sidecar;
        int64_t want; /* cpus that must be free */
    } cases[] = {
        {"init containers run before",  "3",  NULL, 3},
        {"and not together with them",  "1",  NULL, 2},
        {"sidecars run beside",         NULL, "2",  4},
        {"and beside those after them", "3",  "2",  5},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct sched *s = sched_new();
        struct pod *p = make_pod(&a, S("cpu=2"));
        struct container *init = arena_array(&a, struct container, 2);
        size_t n = 0;
        test_case(cases[i].name);
        for (int k = 0; k < 2; k++) {
            const char *cpu = k == 0 ? cases[i].sidecar : cases[i].init;
            if (!cpu)
                continue;
            init[n].restart_policy = k == 0 ? S("Always") : S("");
            init[n].resources = arena_new(&a, struct resource_requirements);
            add(&init[n].resources->requests, &a, S("cpu"), str_from(cpu));
            n++;
        }
        p->spec->init_containers = (struct container_list){init, n};
        set_nodes(&a, s,
                  str_printf(&a, "a cpu=%d; b cpu=%d%c", (int)cases[i].want - 1,
                             (int)cases[i].want, 0)
                      .at);
        struct sched_choice c = sched_choose(s, &a, p, NULL, NULL);
        check_samez(c.node, "b");
        check_int(c.n_fit, 1); /* the other would not do, even alone */
        sched_free(s);
    }
}

TEST(sched_speed)
{
    scoped(arena_fini) struct arena a = {0};
    struct sched *s = sched_new();

    for (int i = 0; i < 2000; i++)
        set_nodes(&a, s, str_printf(&a, "n%d cpu=4 memory=8Gi zone:x%c", i, 0).at);
    for (int i = 0; i < 200; i++) {
        struct pod *p = make_pod(&a, str_printf(&a, "p%d cpu=3", i));
        struct sched_choice c = sched_choose(s, &a, p, NULL, NULL);
        check(c.node.len > 0);
        sched_assume(s, p, c.node);
    }
    check_int(sched_choose(s, &a, make_pod(&a, S("cpu=3")), NULL, NULL).n_fit, 1800);
    sched_free(s);
}

/* What was worked out for one pod and kept must not show in the choice for the next: pods come
 * and go, and each is placed as by somebody who sees the nodes for the first time. */
TEST(choices_do_not_remember)
{
    static const char nodes[] =
        "a cpu=8 memory=16; b cpu=4 memory=64; c cpu=8 memory=8; d cpu=16 "
        "memory=16 ?slow=1; e cpu=2 memory=32 zone:x";
    static const char *const asks[] = {"cpu=1", "cpu=1", "memory=2", "cpu=1 zone:x",
                                       "cpu=2 memory=4"};
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct sched *s = sched_new();
    struct pod *placed[60];
    size_t n = 0;

    set_nodes(&a, s, nodes);
    for (uint32_t i = 0; i < countof(placed); i++) {
        struct sched *fresh = sched_new();
        struct pod *pod = make_pod(&a, str_from(asks[i * i % countof(asks)]));
        pod->metadata->uid = str_printf(&a, "p%u", i);
        set_nodes(&a, fresh, nodes);
        for (size_t k = 0; k < n; k++)
            sched_set_pod(fresh, placed[k]);
        struct sched_choice want = sched_choose(fresh, &a, pod, NULL, NULL);
        struct sched_choice got = sched_choose(s, &a, pod, NULL, NULL);
        check_same(got.node, want.node);
        if (want.node.len) {
            pod->spec->node_name = str_copy(&a, want.node);
            sched_set_pod(s, pod);
            placed[n++] = pod;
        }
        if (n > 4 && i % 3 == 0) {
            sched_remove_pod(s, placed[i % n]->metadata->uid);
            placed[i % n] = placed[n - 1];
            n--;
        }
        sched_free(fresh);
    }
    sched_free(s);
}
