/* program.c - from text to program: the steps in order */
#include "cel/plan_priv.h"

#define SCRATCH ((size_t)16 << 10)

static struct node *front(struct arena *a, const struct cel_env *env, struct str text,
                          const struct cel_compile *opts, struct report *r, int *n_locals)
{
    struct node *root = ast_parse(a, env, text, opts->no_macros, r);

    if (r->at.len)
        return NULL;
    *n_locals = ast_check(a, env, root, opts->is_unchecked, r);
    if (*n_locals < 0 || r->at.len)
        return NULL;
    if (!opts->is_unchecked)
        ast_validate(a, env, root, r);
    return r->at.len ? NULL : root;
}

struct cel_program *cel_compile(const struct cel_env *env, struct str text,
                                const struct cel_compile *opts, struct cel_issues *issues)
{
    static const struct cel_compile defaults = {0};
    scoped(arena_fini) struct arena a = arena_sized(SCRATCH);
    struct report r = {.arena = issues->arena, .out = issues, .text = text};
    struct cel_program *p = NULL;
    int n_locals = 0;

    opts = opts ? opts : &defaults;
    struct node *root = front(&a, env, text, opts, &r, &n_locals);
    if (root)
        p = ast_plan(env, root, n_locals, text, &a, &r);
    if (p && !opts->is_unchecked)
        p->estimate = ast_estimate(&a, env, root, opts->sizes.fn ? &opts->sizes : &env->sizes);
    issue_done(&r);
    return p;
}

const struct cel_type *cel_program_type(const struct cel_program *p)
{
    return p->type;
}

struct cel_range cel_program_estimate(const struct cel_program *p)
{
    return p->estimate;
}

size_t cel_program_bytes(const struct cel_program *p)
{
    return sizeof(*p) + p->arena.total;
}

struct str cel_unparse(struct arena *a, const struct cel_env *env, struct str text,
                       struct cel_issues *issues)
{
    struct report r = {.arena = issues->arena, .out = issues, .text = text};
    struct node *root = ast_parse(a, env, text, false, &r);
    struct buf b = buf_in(a, text.len + 16);

    issue_done(&r);
    if (r.at.len)
        return str_of(NULL, 0);
    ast_unparse(&b, root);
    return buf_str(&b);
}
