/* Expressions made from the grammar, most of them well typed, with values chosen as freely:
 * what checks prints to itself; the same comes out folded and unfolded, of the text printed
 * back and of the unchecked expression; it has the type that was deduced, and costs no more
 * than was estimated.
 */
#include "cel_forms.h"

#include "cel/cel.h"
#include "cel/env_priv.h"
#include "value/value.h"

#include <math.h>

#define N_VALUES 4 /* sets of values an expression is evaluated with */

/* ---- values ---- */

static const char *const names[] = {"i", "u", "d", "b", "s", "y", "l", "S", "m",
                                    "t", "p", "o", "q", "x", "v", "w", "k"};

static struct cel_value text(struct arena *a, struct bytes *b)
{
    static const char *const texts[] = {
        "",
        "a",
        "one",
        "k",
        "\xc3\xa4",
        "a \xe2\x82\xac c",
        "10Ki",
        "1.2.3",
        "v1.2",
        "10.0.0.1",
        "fe80::1",
        "10.1.0.0/16",
        "7",
        "-1",
        "3s",
        "2024-01-01T00:00:00Z",
        "https://a/b?c=d",
        "(",
        "[a-z]+",
        "true",
        "%s",
        " a ",
        "aXbXc",
        "UTC",
    };
    char *made;

    if (take(b, 8))
        return cel_text(str_from(texts[take(b, countof(texts))]));
    size_t n = take(b, 40);
    made = arena_raw(a, n, 1);
    for (size_t i = 0; i < n; i++)
        made[i] = (char)(' ' + take(b, 95));
    return cel_text(str_of(made, n));
}

static int64_t integer(struct bytes *b)
{
    static const int64_t odd[] = {0, 1,   -1,        2,         3,
                                  7, 100, INT64_MAX, INT64_MIN, INT64_C(1) << 53};

    return take(b, 4) ? odd[take(b, countof(odd))] : (int64_t)take(b, 256) - 128;
}

static double real(struct bytes *b)
{
    static const double odd[] = {0.0, -0.0, 1.5, -1.5, 1e308, 1e-300, 3.0, 9007199254740993.0};
    unsigned at = take(b, countof(odd) + 2);

    return at < countof(odd) ? odd[at] : at == countof(odd) ? NAN : INFINITY;
}

static struct cel_value value_of(struct arena *a, struct bytes *b, char type);

static struct cel_value list(struct arena *a, struct bytes *b, char type)
{
    size_t n = take(b, 6);
    struct cel_value *items = arena_array(a, struct cel_value, n);

    for (size_t i = 0; i < n; i++)
        items[i] = value_of(a, b, type);
    return cel_list(items, n);
}

static struct cel_value map(struct arena *a, struct bytes *b)
{
    static const char *const keys[] = {"k", "a", "one", "\xc3\xa4"};
    size_t n = take(b, countof(keys) + 1);
    struct cel_entry *entries = arena_array(a, struct cel_entry, n);

    for (size_t i = 0; i < n; i++)
        entries[i] = (struct cel_entry){cel_text(str_from(keys[i])), cel_int(integer(b))};
    return cel_map_of(a, entries, n);
}

static struct cel_value value_of(struct arena *a, struct bytes *b, char type)
{
    struct quantity q;

    switch (type) {
    case 'i':
    case 'v':
    case 'w':
    case 'k':
        return cel_int(integer(b));
    case 'u':
        return cel_uint((uint64_t)integer(b));
    case 'd':
        return cel_double(real(b));
    case 'b':
        return cel_bool(take(b, 2));
    case 's':
        return text(a, b);
    case 'y':
        return cel_bytes(cel_str(text(a, b)));
    case 'l':
        return list(a, b, 'i');
    case 'S':
        return list(a, b, 's');
    case 'm':
        return map(a, b);
    case 't':
        return cel_time((int64_t)take(b, 256) * 10000019, take(b, 2) * 5000000u, 0);
    case 'p':
        return cel_duration((int64_t)take(b, 256) * 1000000007 - 4000000000);
    case 'o':
        return take(b, 2) ? cel_some(a, cel_int(integer(b))) : cel_none();
    case 'q':
        q = quantity_of((int64_t)take(b, 200) - 100, (int)take(b, 7) - 3, QUANTITY_DECIMAL_SI);
        return cel_quantity(arena_copy(a, &q));
    default:
        return value_of(a, b, "iudbsylSmtpoq"[take(b, 13)]);
    }
}

static void choose_values(struct arena *a, struct bytes *b, struct cel_value *vars)
{
    for (size_t i = 0; i < countof(names); i++)
        vars[i] = value_of(a, b, names[i][0]);
    unsigned odd = take(b, 3 * countof(names));
    if (odd < countof(names))
        vars[odd] = take(b, 2) ? cel_unknown_of(a, str_from(names[odd])) : cel_fail(CEL_E_NAN);
}

/* ---- what must hold ---- */

static struct cel_env *make(bool no_fold)
{
    static const char *const named[] = {"int",
                                        "uint",
                                        "double",
                                        "bool",
                                        "string",
                                        "bytes",
                                        "list(int)",
                                        "list(string)",
                                        "map(string, int)",
                                        "google.protobuf.Timestamp",
                                        "google.protobuf.Duration",
                                        "optional_type(int)",
                                        "kubernetes.Quantity",
                                        "dyn",
                                        "int",
                                        "int",
                                        "int"};
    struct cel_env_spec spec = {
        .kind = CEL_ENV_BASE, .version = CEL_STORED, .no_fold = no_fold};
    struct cel_env *env = cel_env_new(&spec);

    for (size_t i = 0; i < countof(names); i++) {
        const struct cel_type *t = cel_env_type_of(env, str_from(named[i]), NULL);
        assert(t);
        cel_env_var(env, str_from(names[i]), t, 0, 0);
    }
    return env;
}

struct outcome {
    struct cel_value value;
    uint64_t cost;
};

static struct outcome run(struct arena *a, const struct cel_program *p,
                          const struct cel_value *vars)
{
    struct cel_run r = {.arena = a, .vars = vars, .limit = 20000, .steps = 20000};
    struct cel_value v = cel_eval(p, &r);

    return (struct outcome){v, r.cost};
}

/* A limit may be met earlier or later. */
static bool is_cut(struct outcome x)
{
    return x.value.kind == CEL_ERROR && x.value.form >= CEL_E_COST &&
           x.value.form <= CEL_E_MEMORY;
}

static void must(bool is_so, const char *what, struct str text)
{
    if (!is_so)
        fprintf(stderr, "%s: %.*s\n", what, STR_ARG(text));
    assert(is_so);
}

static void must_be_same(struct arena *a, const char *what, struct str text, struct outcome x,
                         struct outcome y)
{
    struct str left = cel_show(a, x.value), right = cel_show(a, y.value);
    bool is_same = x.value.kind == y.value.kind && str_eq(left, right);

    if (!is_same)
        fprintf(stderr, "%.*s\n%.*s\n", STR_ARG(left), STR_ARG(right));
    must(is_same, what, text);
}

/* The expression in its four forms. */
struct forms {
    struct str text;
    struct cel_program *folded, *unfolded, *printed, *unchecked;
};

static void check_values(struct arena *a, struct bytes *b, const struct forms *f)
{
    uint32_t kinds = cel_type_kinds(cel_program_type(f->folded));
    struct cel_value vars[countof(names)];
    struct outcome x, y, z;

    choose_values(a, b, vars);
    x = run(a, f->folded, vars);
    y = run(a, f->unfolded, vars);
    if (!is_cut(x) && !is_cut(y)) {
        must_be_same(a, "unfolded", f->text, x, y);
        must(x.cost <= y.cost, "folding costs", f->text);
        bool is_typed = x.value.kind == CEL_NULL || (kinds >> x.value.kind & 1);
        must(is_loose || cel_is_stop(x.value) || is_typed, "of another type", f->text);
        must(is_loose || cel_is_stop(x.value) || x.cost <= cel_program_estimate(f->folded).max,
             "more than estimated", f->text);
        z = run(a, f->printed, vars);
        if (x.value.kind == CEL_UNKNOWN) /* its path is as it was written */
            must(z.value.kind == CEL_UNKNOWN, "printed", f->text);
        else
            must_be_same(a, "printed", f->text, x, z);
        must(x.cost == z.cost, "printing costs", f->text);
        /* Of nothing, and of what has no type, a call picks its overload by what was deduced.
         */
        if (!is_loose && str_find(f->text, S(".sum()")) == STR_NONE)
            must_be_same(a, "unchecked", f->text, x, run(a, f->unchecked, vars));
    }
    held();
}

static void check_form(struct arena *a, const struct cel_env *env, struct str text,
                       struct str printed)
{
    struct cel_issues issues = {.arena = a};

    must(str_eq(printed, cel_unparse(a, env, printed, &issues)), "prints otherwise", text);
    held();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cel_compile unchecked = {.is_unchecked = true};
    static struct cel_env *base, *unfolded;
    static struct arena a;
    struct bytes b = {data, data + size};
    struct cel_issues issues = {.arena = &a};
    struct forms f;

    if (!base) {
        base = make(false);
        unfolded = make(true);
        a = arena_sized(1 << 16);
    }
    arena_reset(&a);
    f.text = made_expression(&a, &b);
    if (str_find(f.text, S(" in [])")) != STR_NONE)
        return 0; /* upstream folds it to false, whatever stands before */
    f.folded = cel_compile(base, f.text, NULL, &issues);
    if (!f.folded)
        return 0;
    struct str printed = cel_unparse(&a, base, f.text, &issues);
    check_form(&a, base, f.text, printed);
    f.unfolded = cel_compile(unfolded, f.text, NULL, &issues);
    f.printed = cel_compile(base, printed, NULL, &issues);
    f.unchecked = cel_compile(base, f.text, &unchecked, &issues);
    must(f.unfolded && f.printed && f.unchecked, "does not compile", f.text);
    for (int i = 0; i < N_VALUES; i++)
        check_values(&a, &b, &f);
    cel_program_free(f.folded);
    cel_program_free(f.unfolded);
    cel_program_free(f.printed);
    cel_program_free(f.unchecked);
    return 0;
}
