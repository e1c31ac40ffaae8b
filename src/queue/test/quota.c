/* quota.c - the tree's arithmetic, by hand and against a slow model */
#include "queue/quota.h"

#include "base/testing.h"
#include "queue/intern.h"

#define MAX_NODES 16
#define FR QUOTA_FR(1, 1)

/* "r; a<r 10 lend 4 used 8; b<r 8 borrow 0": nodes with their parents, one flavor and resource;
 * a node with children is a cohort. */
struct tree {
    struct quota_node nodes[MAX_NODES];
    struct str names[MAX_NODES];
    size_t n;
};

static struct quota_node *find(struct tree *t, struct str name)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->names[i], name))
            return &t->nodes[i];
    return NULL;
}

static int64_t number_after(struct str line, const char *word, bool *has)
{
    size_t at = str_find(line, str_from(word));
    struct str rest, head;
    int64_t v = 0;

    *has = at != STR_NONE;
    if (!*has)
        return 0;
    rest = str_trim(str_slice(line, at + strlen(word), line.len));
    str_cut(rest, ' ', &head, &rest);
    check(str_to_i64(head, &v));
    return v;
}

static void add_node(struct tree *t, struct str line)
{
    struct str name, parent, first, rest;
    struct quota_node *n = &t->nodes[t->n];
    struct quota_limit l = {.fr = FR};

    str_cut(line, ' ', &name, &line);
    n->weight = 1;
    n->is_leaf = true;
    if (str_cut(name, '<', &name, &parent)) {
        find(t, parent)->is_leaf = false;
        quota_set_parent(n, find(t, parent));
    }
    t->names[t->n++] = name;
    str_cut(line, ' ', &first, &rest);
    if (str_to_i64(first, &l.nominal)) {
        l.borrow = number_after(rest, "borrow", &l.has_borrow);
        l.lend = number_after(rest, "lend", &l.has_lend);
        quota_set_limits(n, &l, 1);
    }
    quota_touch(n);
}

static void tree_parse(struct tree *t, const char *text)
{
    struct str rest = str_from(text), line;
    int64_t used[MAX_NODES] = {0};
    bool has;

    while (rest.len) {
        str_cut(rest, ';', &line, &rest);
        used[t->n] = number_after(line, "used", &has);
        add_node(t, str_trim(line));
    }
    for (size_t i = 0; i < t->n; i++)
        quota_settle(&t->nodes[i]);
    for (size_t i = 0; i < t->n; i++)
        if (used[i])
            quota_add(&t->nodes[i], FR, used[i], NULL);
}

static void tree_fini(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        quota_node_fini(&t->nodes[i]);
}

TEST(what_is_available)
{
    static const struct {
        const char *name, *tree, *node;
        int64_t available, potential;
    } cases[] = {
        {"a queue on its own has its quota",       "a 10 used 4",                      "a", 6,  10},
        {"over-use shows as below zero",           "a 10 used 14",                     "a", -4, 10},
        {"siblings lend what they do not use",     "r; a<r 10; b<r 8 used 3",          "a", 15, 18},
        {"a busy lender lends less",               "r; a<r 10 used 10; b<r 8 used 8",  "a", 0,  18},
        {"a borrowing limit caps",                 "r; a<r 10 borrow 2; b<r 8",        "a", 12, 12},
        {"limit 0: the own quota only",            "r; a<r 10 borrow 0 used 4; b<r 8", "a", 6,  10},
        {"what is not lent stays",                 "r; a<r 10 lend 4; b<r 8",          "b", 12, 12},
        {"and is there for its owner",             "r; a<r 10 lend 4; b<r 8 used 12",  "a", 6,  18},
        {"lent and used: below nominal",           "r; a<r 10; b<r 8 used 15",         "a", 3,  18},
        {"a cohort adds quota of its own",         "r 5; a<r 1; b<r 1",                "a", 7,  7 },
        {"two levels with a limit between",        "r 9; c<r 0 borrow 3; a<c 2",       "a", 5,  5 },
        {"an over-used root blocks all but local", "r; a<r 10 lend 0; b<r 2 used 5",   "a", 7,
         12                                                                                       },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct tree t = {0};
        test_case(cases[i].name);
        tree_parse(&t, cases[i].tree);
        struct quota_node *n = find(&t, str_from(cases[i].node));
        check_int(quota_available(n, FR), cases[i].available);
        check_int(quota_potential(n, FR), cases[i].potential);
        tree_fini(&t);
    }
}

TEST(the_lowest_subtree_that_fits)
{
    static const struct {
        const char *name, *tree, *node;
        int64_t ask;
        uint32_t level;
        bool may_reclaim;
    } cases[] = {
        {"own quota",                  "r; a<r 10; b<r 8",       "a", 10, 0, true },
        {"own quota, no cohort",       "a 10",                   "a", 10, 0, false},
        {"the cohort's",               "r; a<r 10; b<r 8",       "a", 11, 1, false},
        {"an inner cohort's",          "r; c<r 5; a<c 1; b<r 8", "a", 6,  1, true },
        {"beyond the inner one",       "r; c<r 5; a<c 1; b<r 8", "a", 7,  2, false},
        {"nowhere: the root's height", "r; a<r 1; b<r 1",        "a", 9,  1, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct tree t = {0};
        bool may_reclaim;
        test_case(cases[i].name);
        tree_parse(&t, cases[i].tree);
        check_int(
            quota_lowest_fit(find(&t, str_from(cases[i].node)), FR, cases[i].ask, &may_reclaim),
            cases[i].level);
        check_int(may_reclaim, cases[i].may_reclaim);
        tree_fini(&t);
    }
}

TEST(shares)
{
    static const struct {
        const char *name, *tree, *node;
        double weight, ratio;
        bool is_borrowing;
    } cases[] = {
        {"within quota",             "r; a<r 3 used 3; b<r 3; c<r 3", "a", 1, 0,          false},
        {"one above, nine lendable", "r; a<r 3 used 4; b<r 3; c<r 3", "a", 1, 1000.0 / 9, true },
        {"the weight divides later", "r; a<r 3 used 4; b<r 3; c<r 3", "a", 2, 1000.0 / 9, true },
        {"no cohort: no share",      "a 3 used 4",                    "a", 1, 0,          false},
        {"a cohort has one too",     "r; c<r 1; a<c 1 used 4; b<r 8", "c", 1, 200,        true },
    };
    struct intern names = {0};

    intern_add(&names, S("x"));
    intern_add(&names, S("cpu"));
    for (size_t i = 0; i < countof(cases); i++) {
        struct tree t = {0};
        test_case(cases[i].name);
        tree_parse(&t, cases[i].tree);
        struct quota_node *n = find(&t, str_from(cases[i].node));
        n->weight = cases[i].weight;
        struct quota_share s = quota_share(n, &names);
        check(s.ratio == cases[i].ratio);
        check_int(s.is_borrowing, cases[i].is_borrowing);
        check(quota_share_value(s) == cases[i].ratio / cases[i].weight);
        tree_fini(&t);
    }
    intern_fini(&names);
}

TEST(a_cycle_is_seen_and_opened)
{
    struct tree t = {0};

    tree_parse(&t, "x 1; y<x 1; z<y 1");
    t.nodes[0].is_leaf = t.nodes[1].is_leaf = false;
    quota_set_parent(&t.nodes[0], &t.nodes[1]);
    check(quota_has_cycle(&t.nodes[2]));
    quota_set_parent(&t.nodes[0], NULL);
    check(!quota_has_cycle(&t.nodes[2]));
    quota_settle(&t.nodes[2]);
    check_int(quota_available(&t.nodes[2], FR), 3);
    tree_fini(&t);
}

/* ---- against a model that computes everything anew ---- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int64_t slow_subtree(const struct tree *t, const struct quota_node *n);

static int64_t slow_local(const struct tree *t, const struct quota_node *n)
{
    const struct quota_cell *c = quota_cell(n, FR);
    return c && c->has_lend && n->parent ? MAX((int64_t)0, slow_subtree(t, n) - c->lend) : 0;
}

static int64_t slow_subtree(const struct tree *t, const struct quota_node *n)
{
    int64_t sum = quota_nominal(n, FR);

    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].parent == n)
            sum += slow_subtree(t, &t->nodes[i]) - slow_local(t, &t->nodes[i]);
    return sum;
}

static int64_t slow_usage(const struct tree *t, const struct quota_node *n, const int64_t *used)
{
    int64_t sum = 0;

    if (n->is_leaf)
        return used[n - t->nodes];
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].parent == n)
            sum += MAX((int64_t)0,
                       slow_usage(t, &t->nodes[i], used) - slow_local(t, &t->nodes[i]));
    return sum;
}

static int64_t slow_available(const struct tree *t, const struct quota_node *n,
                              const int64_t *used)
{
    const struct quota_cell *c = quota_cell(n, FR);
    int64_t subtree = slow_subtree(t, n), usage = slow_usage(t, n, used);
    int64_t local = slow_local(t, n);

    if (!n->parent)
        return subtree - usage;
    int64_t above = slow_available(t, n->parent, used);
    if (c && c->has_borrow)
        above = MIN(above, subtree - local - MAX((int64_t)0, usage - local) + c->borrow);
    return MAX((int64_t)0, local - usage) + above;
}

static void grow(struct tree *t, uint64_t *seed)
{
    t->n = 3 + next(seed) % (MAX_NODES - 3);
    for (size_t i = 0; i < t->n; i++) {
        struct quota_node *n = &t->nodes[i];
        struct quota_limit l = {.fr = FR, .nominal = (int64_t)(next(seed) % 10)};
        n->is_leaf = true;
        if (i > 0) {
            struct quota_node *p = &t->nodes[next(seed) % i];
            p->is_leaf = false;
            quota_set_parent(n, p);
            l.has_borrow = next(seed) % 3 == 0, l.borrow = (int64_t)(next(seed) % 6);
            l.has_lend = next(seed) % 3 == 0, l.lend = (int64_t)(next(seed) % 6);
        }
        quota_set_limits(n, &l, next(seed) % 4 != 0);
    }
    for (size_t i = 0; i < t->n; i++)
        quota_touch(&t->nodes[i]);
    quota_settle(&t->nodes[0]);
}

static void compare(const struct tree *t, const int64_t *used)
{
    for (size_t i = 0; i < t->n; i++) {
        check_int(quota_usage(&t->nodes[i], FR), slow_usage(t, &t->nodes[i], used));
        check_int(quota_available(&t->nodes[i], FR), slow_available(t, &t->nodes[i], used));
    }
}

static void move_usage(struct tree *t, uint64_t *seed, int64_t *used)
{
    size_t i = next(seed) % t->n;
    int64_t v = (int64_t)(next(seed) % 8);

    if (!t->nodes[i].is_leaf)
        return;
    if (next(seed) % 2) {
        quota_add(&t->nodes[i], FR, v, NULL);
        used[i] += v;
    } else {
        v = MIN(v, used[i]);
        quota_remove(&t->nodes[i], FR, v, NULL);
        used[i] -= v;
    }
}

static void try_usage(struct tree *t, uint64_t *seed, struct quota_log *log)
{
    size_t i = next(seed) % t->n;
    int64_t v = (int64_t)(next(seed) % 30);

    if (!t->nodes[i].is_leaf)
        return;
    if (next(seed) % 2)
        quota_add(&t->nodes[i], FR, v, log);
    else
        quota_remove(&t->nodes[i], FR, v, log);
}

TEST(kept_numbers_are_those_computed_anew)
{
    uint64_t seed = 0x1234567;

    for (int round = 0; round < 2000; round++) {
        struct tree t = {0};
        int64_t used[MAX_NODES] = {0};
        struct quota_log log = {0};
        grow(&t, &seed);
        for (int step = 0; step < 12; step++)
            move_usage(&t, &seed, used);
        compare(&t, used);
        for (int step = 0; step < 8; step++) /* what is undone never was */
            try_usage(&t, &seed, &log);
        quota_undo(&log, 0);
        compare(&t, used);
        vec_fini(&log.entries);
        tree_fini(&t);
    }
}
