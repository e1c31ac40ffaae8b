/* A text is refused with issues, or it prints to a form that parses to the same form again; its
 * value is the same with constants folded and not, and the folded run costs no more.
 */
#include "choose.h"

#include "cel/cel.h"

static struct cel_env *make(enum cel_env_kind kind, bool no_fold)
{
    struct cel_env_spec spec = {.kind = kind, .version = CEL_STORED, .no_fold = no_fold};
    struct cel_env *env = cel_env_new(&spec);

    cel_env_var(env, S("i"), &cel_type_int, 0, 0);
    cel_env_var(env, S("s"), &cel_type_string, 0, 0);
    cel_env_var(env, S("x"), &cel_type_dyn, 0, 0);
    cel_env_var(env, S("l"), &cel_type_list, 0, 0);
    return env;
}

static struct cel_value run(struct arena *a, const struct cel_program *p, uint64_t *cost)
{
    struct cel_value items[] = {cel_int(1), cel_int(2), cel_text(S("two"))};
    struct cel_value vars[] = {cel_int(7), cel_text(S("sieben")), cel_double(7.5),
                               cel_list(*arena_copy(a, &items), 3)};
    struct cel_run r = {.arena = a, .vars = vars, .limit = 20000, .steps = 20000};
    struct cel_value v = cel_eval(p, &r);

    *cost = r.cost;
    return v;
}

static void check_print(struct arena *a, const struct cel_env *env, struct str text)
{
    struct cel_issues issues = {.arena = a}, again = {.arena = a};
    struct str one = cel_unparse(a, env, text, &issues), two;

    cel_issues_text(a, &issues, text);
    if (!one.at)
        return;
    two = cel_unparse(a, env, one, &again);
    if (!two.at && again.list.len) /* parentheses count towards the depth */
        return;
    assert(str_eq(one, two));
    held();
}

static bool is_same(struct arena *a, struct cel_value x, struct cel_value y)
{
    return x.kind == y.kind && str_eq(cel_show(a, x), cel_show(a, y));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cel_env *language, *base, *unfolded;
    static struct arena a;
    struct str text = {(const char *)data, size};
    struct cel_issues issues = {.arena = &a}, others = {.arena = &a};
    struct cel_program *p, *q;
    uint64_t cost, cost_unfolded;

    if (!base) {
        language = make(CEL_ENV_LANGUAGE, false);
        base = make(CEL_ENV_BASE, false);
        unfolded = make(CEL_ENV_BASE, true);
        a = arena_sized(1 << 16);
    }
    arena_reset(&a);
    if (size > 4000)
        return 0;
    check_print(&a, language, text);
    p = cel_compile(language, text, NULL, &issues);
    if (p)
        cel_show(&a, run(&a, p, &cost));
    cel_program_free(p);
    p = cel_compile(base, text, NULL, &issues);
    q = cel_compile(unfolded, text, NULL, &others);
    if (p && q) {
        struct cel_value v = run(&a, p, &cost), w = run(&a, q, &cost_unfolded);
        bool is_cut = cel_is_stop(v) || cel_is_stop(w); /* a limit may come earlier */
        assert(is_cut || is_same(&a, v, w));
        assert(is_cut || cost <= cost_unfolded);
        held();
    }
    cel_program_free(p);
    cel_program_free(q);
    return 0;
}
