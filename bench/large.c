/* large.c - how what a write costs grows with the length of a list
 *
 * For each list and map of every kind, an object whose list is long and one whose list is four
 * times as long go through what a write goes through; where that costs more than linear time
 * says to expect, the path is told. Nothing printed: nothing found.
 */
#include "api/find.h"
#include "api/kinds.h"
#include "measure.h"
#include "schema/apply.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/strategic.h"
#include "schema/table.h"
#include "schema/validate.h"

#define MAX_DEPTH 14
#define MOST_KINDS 2 /* that are looked at for one list of a type they share */
#define SHORT 1000
#define LONG (4 * SHORT)
#define MOST_TIMES 9.0 /* four times the items may cost so many times the time */
#define LEAST_MS 4.0   /* what costs less is not looked at */

struct path {
    const struct kind *kind;
    const struct schema *at[MAX_DEPTH]; /* the nodes from the root on */
    struct str names[MAX_DEPTH];        /* of the member that holds at[i]; "" in a list */
    size_t n;
};

/* ---- making values ---- */

static struct json scalar(struct arena *a, const struct schema *s, size_t i)
{
    if (s->rules && s->rules->n_enums)
        return s->rules->enums[i % s->rules->n_enums];
    switch ((enum schema_type)s->type) {
    case SCHEMA_BOOL:
        return json_of_bool(true);
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
    case SCHEMA_INT_OR_STRING:
        return json_of_i64((int64_t)i + 1);
    case SCHEMA_TIME:
        return json_of_z("2026-01-02T03:04:05Z");
    case SCHEMA_MICRO_TIME:
        return json_of_z("2026-01-02T03:04:05.000000Z");
    case SCHEMA_QUANTITY:
        return json_of_str(str_printf(a, "%zu", i + 1));
    case SCHEMA_DURATION:
        return json_of_z("1s");
    case SCHEMA_BYTES:
        return json_of_z("YWJj");
    case SCHEMA_FIELDS_V1:
    case SCHEMA_RAW:
    case SCHEMA_ANY: {
        struct json_obj o = obj_in(a);
        return obj_done(&o);
    }
    default:
        return json_of_str(str_printf(a, "x%zu", i));
    }
}

static struct json some(struct arena *a, const struct schema *s, size_t i, int depth)
{
    struct json_obj o = obj_in(a);
    struct json_arr l = arr_in(a);

    switch ((enum schema_type)s->type) {
    case SCHEMA_LIST:
        if (depth > 0)
            arr_add(&l, some(a, s->item, i, depth - 1));
        return arr_done(&l);
    case SCHEMA_MAP:
        if (depth > 0)
            obj_add(&o, str_printf(a, "x%zu", i), some(a, s->value, i, depth - 1));
        return obj_done(&o);
    case SCHEMA_OBJECT:
        for (size_t k = 0; k < s->n_fields; k++) {
            const struct schema_field *f = &s->fields[k];
            bool is_deep = f->type->type == SCHEMA_OBJECT || f->type->type == SCHEMA_LIST ||
                           f->type->type == SCHEMA_MAP;
            if (!is_deep || depth > 0)
                obj_add(&o, f->name, some(a, f->type, i, depth - 1));
        }
        return obj_done(&o);
    default:
        return scalar(a, s, i);
    }
}

/* The list or map at the path's end with n items, in the object that holds it. */
static struct json holding(struct arena *a, const struct path *p, size_t level, size_t n,
                           int depth, bool is_backwards)
{
    const struct schema *s = p->at[level];
    bool is_last = level + 1 == p->n;

    if (is_last && s->type == SCHEMA_LIST) {
        struct json_arr l = arr_in(a);
        for (size_t i = 0; i < n; i++)
            arr_add(&l, some(a, s->item, is_backwards ? n - i : i, depth));
        return arr_done(&l);
    }
    struct json_obj o = obj_in(a);
    if (is_last) {
        for (size_t i = 0; i < n; i++)
            obj_add(&o, str_printf(a, "x%zu", is_backwards ? n - i : i),
                    some(a, s->value, i, depth));
        return obj_done(&o);
    }
    struct json inner = holding(a, p, level + 1, n, depth, is_backwards);
    if (s->type == SCHEMA_LIST) {
        struct json_arr l = arr_in(a);
        arr_add(&l, inner);
        return arr_done(&l);
    }
    struct str name = s->type == SCHEMA_MAP ? S("x") : p->names[level + 1];
    if (s->type == SCHEMA_OBJECT)
        for (size_t k = 0; k < s->n_fields; k++) {
            const struct schema_field *f = &s->fields[k];
            if ((f->flags & FIELD_REQUIRED) && !str_eq(f->name, name))
                obj_add(&o, f->name, some(a, f->type, 1, 1));
        }
    obj_add(&o, name, inner);
    return obj_done(&o);
}

/* ---- what is measured ---- */

enum step {
    CONFORM,
    DEFAULT,
    CREATE,
    UPDATE,
    OWN,
    OWN_UPDATE,
    APPLY,
    STRATEGIC,
    DIFF,
    N_STEPS
};

static const char *const step_names[] = {
    "conform",       "default", "validate a new",  "validate an update", "own a new",
    "own an update", "apply",   "strategic patch", "strategic diff"};

static double ms_since(double start)
{
    return (cpu_ns() - start) / 1e6;
}

static void run(const struct path *p, size_t n, int depth, double ms[N_STEPS])
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct json one = holding(&a, p, 0, n, depth, false);
    struct json other = holding(&a, p, 0, n, depth, true);
    const struct json *v = &one, *old = &other;
    struct apply_write w = {.kind = p->kind, .manager = S("m"), .now = {SECOND_NS}};
    struct apply_conflicts conflicts;
    struct field_errors e = field_errors_in(&a);
    struct err err = {0};
    double start = cpu_ns();

    const struct json *x = kind_conform(&a, p->kind, old, NULL, NULL, &err);
    old = kind_default(&a, p->kind, x ? x : old, NULL);
    err = (struct err){0};
    start = cpu_ns();
    x = kind_conform(&a, p->kind, v, old, NULL, &err);
    v = x ? x : v;
    ms[CONFORM] = ms_since(start), start = cpu_ns();
    v = kind_default(&a, p->kind, v, old);
    ms[DEFAULT] = ms_since(start), start = cpu_ns();
    kind_validate(&e, p->kind, v, NULL);
    kind_check(&e, p->kind, v, NULL, NULL);
    ms[CREATE] = ms_since(start), start = cpu_ns();
    e = field_errors_in(&a);
    kind_validate(&e, p->kind, v, old);
    kind_check(&e, p->kind, v, old, old);
    ms[UPDATE] = ms_since(start), start = cpu_ns();
    const struct json *owned = apply_update(&a, &w, NULL, v);
    ms[OWN] = ms_since(start), start = cpu_ns();
    apply_update(&a, &w, owned, old);
    ms[OWN_UPDATE] = ms_since(start), start = cpu_ns();
    w.force = true, w.manager = S("other");
    apply_config(&a, &w, owned, old, &conflicts, NULL);
    ms[APPLY] = ms_since(start), start = cpu_ns();
    schema_strategic_apply(&a, p->kind->schema, old, v, NULL);
    ms[STRATEGIC] = ms_since(start), start = cpu_ns();
    schema_strategic_diff(&a, p->kind->schema, old, v, NULL);
    ms[DIFF] = ms_since(start);
}

static void look(const struct path *p, int depth)
{
    double few[N_STEPS], many[N_STEPS];
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct buf b = buf_in(&a, 64);

    for (size_t i = 1; i < p->n; i++)
        buf_printf(&b, ".%.*s", STR_ARG(p->names[i]));
    run(p, SHORT, depth, few);
    run(p, LONG, depth, many);
    for (int i = 0; i < N_STEPS; i++)
        if (many[i] > LEAST_MS && many[i] > few[i] * MOST_TIMES)
            printf("%-24.*s %-60.*s %-20s %8.1f ms %5.1f times\n", STR_ARG(p->kind->kind),
                   STR_ARG(buf_str(&b)), step_names[i], many[i], many[i] / few[i]);
    fflush(stdout);
}

/* ---- every list and map ---- */

struct known {
    const struct schema *s;
    int n_kinds;
};
static VEC(struct known) known;

static bool is_known(const struct schema *s)
{
    vec_each (i, &known)
        if (known.at[i].s == s)
            return ++known.at[i].n_kinds > MOST_KINDS;
    vec_push(&known, (struct known){s, 1});
    return false;
}

static void walk(struct path *p, const struct schema *s, struct str name,
                 const struct schema **seen, size_t n_seen)
{
    if (p->n >= MAX_DEPTH || n_seen >= MAX_DEPTH)
        return;
    p->at[p->n] = s, p->names[p->n] = name, p->n++;
    if (s->type == SCHEMA_LIST || s->type == SCHEMA_MAP) {
        if (!is_known(s))
            look(p, 1);
        walk(p, s->type == SCHEMA_LIST ? s->item : s->value, S(""), seen, n_seen);
    }
    if (s->type == SCHEMA_OBJECT) {
        bool is_seen = false;
        for (size_t i = 0; i < n_seen; i++)
            is_seen |= s->fields == seen[i]->fields;
        if (!is_seen) {
            seen[n_seen] = s;
            for (size_t i = 0; i < s->n_fields; i++)
                walk(p, s->fields[i].type, s->fields[i].name, seen, n_seen + 1);
        }
    }
    p->n--;
}

int main(int argc, char **argv)
{
    const struct schema *seen[MAX_DEPTH];

    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct path p = {.kind = kinds[i]};
        if (argc > 1 && !str_eqz(kinds[i]->kind, argv[1]))
            continue;
        walk(&p, kinds[i]->schema, S(""), seen, 0);
    }
    return 0;
}
