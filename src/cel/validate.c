/* validate.c - rules on literals, after the check
 *
 * What would surely fail when it runs is refused when it is written: durations, timestamps,
 * patterns, format strings; and lists and maps whose literals mix types.
 */
#include "cel/env_priv.h"
#include "cel/format_string_priv.h"
#include "cel/value_priv.h"

struct validator {
    struct arena *a;
    const struct cel_env *env;
    struct report *report;
    int mixes_allowed; /* below format() and cel.block */
};

static void walk(struct validator *v, const struct node *n);

static struct str show(struct validator *v, const struct cel_type *t)
{
    return cel_type_text(v->a, t);
}

static void mixed(struct validator *v, const struct node *at, const struct cel_type *want)
{
    struct str w = show(v, want), g = show(v, at->type);

    issue_report(v->report, at->pos, "expected type '%.*s' but found '%.*s'", STR_ARG(w),
                 STR_ARG(g));
}

/* The type of an entry's content. */
static const struct cel_type *content(const struct entry *e)
{
    const struct cel_type *t = e->value->type;

    return e->is_opt && t->kind == CEL_T_OPAQUE && t->n_params == 1 ? t->params[0] : t;
}

static void check_list(struct validator *v, const struct node *n)
{
    for (uint32_t i = 1; i < n->n; i++) {
        if (cel_type_eq(content(&n->entries[0]), content(&n->entries[i])))
            continue;
        mixed(v, n->entries[i].value, content(&n->entries[0]));
        return;
    }
}

static void check_map(struct validator *v, const struct node *n)
{
    for (uint32_t i = 1; i < n->n; i++) {
        if (!cel_type_eq(n->entries[0].key->type, n->entries[i].key->type))
            mixed(v, n->entries[i].key, n->entries[0].key->type);
        if (!cel_type_eq(content(&n->entries[0]), content(&n->entries[i])))
            mixed(v, n->entries[i].value, content(&n->entries[0]));
    }
}

static bool is_const(const struct node *n, uint8_t kind)
{
    return n->kind == N_CONST && n->value.kind == kind;
}

static void check_duration(struct validator *v, const struct node *n)
{
    int64_t ns;

    if (n->n == 1 && is_const(n->args[0], CEL_STRING) &&
        !duration_read(cel_str(n->args[0]->value), &ns))
        issue_report(v->report, n->args[0]->pos, "invalid duration argument");
}

static void check_timestamp(struct validator *v, const struct node *n)
{
    bool is_bad = false;

    if (n->n != 1)
        return;
    const struct node *arg = n->args[0];
    if (is_const(arg, CEL_STRING))
        is_bad = stamp_read(cel_str(arg->value)).kind == CEL_ERROR;
    else if (is_const(arg, CEL_INT))
        is_bad = arg->value.i < STAMP_MIN || arg->value.i > STAMP_MAX;
    if (is_bad)
        issue_report(v->report, arg->pos, "invalid timestamp argument");
}

static void check_matches(struct validator *v, const struct node *n)
{
    const struct node *arg = n->n ? n->args[n->n - 1] : NULL;

    if (n->n != 2 || !is_const(arg, CEL_STRING))
        return;
    struct regex *re = regex_new(cel_str(arg->value), NULL);
    if (!re)
        issue_report(v->report, arg->pos, "invalid matches argument");
    regex_free(re);
}

/* Types of arguments that clauses take; what is dyn may be anything. */
static bool clause_takes(char verb, const struct cel_type *t, bool is_old)
{
    uint32_t kinds = cel_type_kinds(t);

    if (t->kind == CEL_T_DYN || t->kind == CEL_T_ANY || t->kind == CEL_T_PARAM ||
        t->kind == CEL_T_ERROR)
        return true;
    if (t->kind == CEL_T_LIST || t->kind == CEL_T_MAP)
        for (size_t i = 0; verb == 's' && i < t->n_params; i++)
            if (!clause_takes('s', t->params[i], is_old))
                return false;
    return (format_kinds(verb, is_old) & kinds) != 0 &&
           (t->kind != CEL_T_STRUCT || format_kinds(verb, is_old) & 1u << CEL_MESSAGE);
}

static void check_format(struct validator *v, const struct node *n)
{
    const struct node *list = n->n == 2 ? n->args[1] : NULL;
    struct format_clause f;
    struct cel_value bad;
    uint32_t used = 0;

    if (!list || !n->is_member || !is_const(n->args[0], CEL_STRING) || list->kind != N_LIST)
        return;
    struct str s = cel_str(n->args[0]->value);
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] != '%')
            continue;
        if (++i < s.len && s.at[i] == '%')
            continue;
        if (!format_clause(v->a, s, &i, v->env->old_format, &f, &bad)) {
            struct str text = cel_error_text(v->a, bad);
            issue_report(v->report, n->args[0]->pos, "%.*s", STR_ARG(text));
            return;
        }
        i--;
        if (used >= list->n) {
            issue_report(v->report, list->pos, "index %u out of range", used);
            return;
        }
        const struct node *arg = list->entries[used++].value;
        if (!clause_takes(f.verb, arg->type, v->env->old_format)) {
            struct str type = show(v, arg->type);
            issue_report(v->report, arg->pos, "error during formatting: %s, was given %.*s",
                         format_complaint(f.verb, v->env->old_format), STR_ARG(type));
        }
    }
    if (used < list->n)
        issue_report(v->report, list->entries[used].value->pos,
                     "too many arguments supplied to string.format (expected %u, got %u)", used,
                     list->n);
}

static void check_call(struct validator *v, const struct node *n)
{
    static const struct {
        struct str name;
        void (*check)(struct validator *v, const struct node *n);
    } checks[] = {
        {S_INIT("duration"),  check_duration },
        {S_INIT("timestamp"), check_timestamp},
        {S_INIT("matches"),   check_matches  },
    };
    bool is_format = str_eqz(n->name, "format");

    for (size_t i = 0; v->env->validates && i < countof(checks); i++)
        if (str_eq(checks[i].name, n->name))
            checks[i].check(v, n);
    if (is_format)
        check_format(v, n);
    v->mixes_allowed += is_format;
    for (uint32_t i = 0; i < n->n; i++)
        walk(v, n->args[i]);
    v->mixes_allowed -= is_format;
}

static void walk_fold(struct validator *v, const struct fold *f)
{
    if (f->kind == FOLD_BIND || f->kind == FOLD_BLOCK) {
        v->mixes_allowed += f->kind == FOLD_BLOCK;
        for (uint32_t i = 0; i < f->n_slots; i++)
            walk(v, f->slots[i]);
        if (f->kind == FOLD_BIND)
            walk(v, f->init);
        walk(v, f->body);
        v->mixes_allowed -= f->kind == FOLD_BLOCK;
        return;
    }
    walk(v, f->range);
    if (f->pred)
        walk(v, f->pred);
    if (f->body)
        walk(v, f->body);
}

static void walk(struct validator *v, const struct node *n)
{
    switch ((enum node_kind)n->kind) {
    case N_SELECT:
        if (n->var < 0 && !n->constant)
            walk(v, n->target);
        break;
    case N_CALL:
        check_call(v, n);
        break;
    case N_LIST:
    case N_MAP:
    case N_STRUCT:
        for (uint32_t i = 0; i < n->n; i++) {
            if (n->entries[i].key)
                walk(v, n->entries[i].key);
            walk(v, n->entries[i].value);
        }
        if (!v->env->is_homogeneous || v->mixes_allowed)
            break;
        if (n->kind == N_LIST)
            check_list(v, n);
        else if (n->kind == N_MAP)
            check_map(v, n);
        break;
    case N_FOLD:
        walk_fold(v, n->fold);
        break;
    default:
        break;
    }
}

void ast_validate(struct arena *a, const struct cel_env *env, struct node *root,
                  struct report *r)
{
    struct validator v = {.a = a, .env = env, .report = r};

    walk(&v, root);
}
