/* Expressions made from the grammar by the input's bytes: they parse, print to themselves, and
 * evaluate the same folded and unfolded.
 */
#include "cel/cel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *at, *end;
};

static unsigned take(struct bytes *b, unsigned n)
{
    return b->at < b->end ? *b->at++ % n : 0;
}

static const char *const leaves[] = {
    "i",
    "s",
    "x",
    "l",
    "m",
    "1",
    "-3",
    "2u",
    "1.5",
    "'a'",
    "'\xc3\xa4'",
    "b'\\x00'",
    "true",
    "null",
    "[]",
    "{}",
    "[1]",
    "['b']",
    "{'k': 1}",
    "int",
    "u",
    "0",
    "''",
    "9223372036854775807",
    "o",
    "timestamp(7)",
    "duration('3s')",
    "quantity('1Ki')",
    "semver('1.2.3')",
    "ip('10.0.0.1')",
    "optional.none()",
    "0.0",
};
static const char *const binary[] = {" + ", " - ",  " * ", " / ",  " % ",  " == ", " != ",
                                     " < ", " <= ", " > ", " >= ", " in ", " && ", " || "};
/* Receivers are what stands before; @ is an argument. */
static const char *const calls[] = {
    ".size()",
    ".contains(@)",
    ".startsWith(@)",
    ".matches(@)",
    ".map(v, @)",
    ".filter(v, @)",
    ".all(v, @)",
    ".exists(v, @)",
    ".exists_one(v, @)",
    ".map(v, @, @)",
    ".transformList(a, v, @)",
    ".transformMap(a, v, @)",
    ".orValue(@)",
    ".hasValue()",
    ".value()",
    ".k",
    ".?k",
    "[@]",
    "[?@]",
    ".indexOf(@)",
    ".split(@)",
    ".join(@)",
    ".replace(@, @)",
    ".substring(@)",
    ".format([@])",
    ".sum()",
    ".max()",
    ".sort()",
    ".distinct()",
    ".flatten()",
    ".slice(@, @)",
    ".reverse()",
    ".first()",
    ".isGreaterThan(@)",
    ".add(@)",
    ".find(@)",
    ".findAll(@)",
    ".getFullYear()",
    ".optMap(v, @)",
    ".or(@)",
    ".charAt(@)",
    ".lowerAscii()",
    ".trim()",
    ".compareTo(@)",
};
static const char *const globals[] = {
    "size(@)",
    "int(@)",
    "uint(@)",
    "double(@)",
    "string(@)",
    "bytes(@)",
    "type(@)",
    "dyn(@)",
    "bool(@)",
    "!@",
    "-@",
    "has(x.k)",
    "[@, @]",
    "{@: @}",
    "(@ ? @ : @)",
    "timestamp(@)",
    "duration(@)",
    "quantity(@)",
    "sets.contains(@, @)",
    "optional.of(@)",
    "lists.range(@)",
    "isQuantity(@)",
    "url(@)",
    "cidr(@)",
    "(@)",
};

static void expression(struct bytes *b, struct buf *out, int depth);

static void fill(struct bytes *b, struct buf *out, const char *form, int depth)
{
    for (; *form; form++) {
        if (*form == '@')
            expression(b, out, depth);
        else
            buf_byte(out, *form);
    }
}

static void expression(struct bytes *b, struct buf *out, int depth)
{
    unsigned kind = depth <= 0 || out->len > 2000 ? 0 : take(b, 8);

    if (kind < 2) {
        buf_add(out, str_from(take(b, 4) == 0 ? "v" : leaves[take(b, countof(leaves))]));
    } else if (kind < 4) {
        buf_byte(out, '(');
        expression(b, out, depth - 1);
        buf_add(out, str_from(binary[take(b, countof(binary))]));
        expression(b, out, depth - 1);
        buf_byte(out, ')');
    } else if (kind < 7) {
        expression(b, out, depth - 1);
        fill(b, out, calls[take(b, countof(calls))], depth - 1);
    } else {
        fill(b, out, globals[take(b, countof(globals))], depth - 1);
    }
}

static struct cel_env *make(bool no_fold)
{
    static const char *const names[] = {"i", "s", "x", "l", "m", "u", "o", "v"};
    struct cel_env_spec spec = {
        .kind = CEL_ENV_BASE, .version = CEL_STORED, .no_fold = no_fold};
    struct cel_env *env = cel_env_new(&spec);

    for (size_t i = 0; i < countof(names); i++)
        cel_env_var(env, str_from(names[i]), &cel_type_dyn, 0, 0);
    return env;
}

static struct cel_value run(struct arena *a, const struct cel_program *p, uint64_t *cost)
{
    static const struct cel_value items[] = {
        {.kind = CEL_INT, .i = 3},
        {.kind = CEL_INT, .i = 1},
        {.kind = CEL_INT, .i = 2}
    };
    struct cel_entry entry = {cel_text(S("k")), cel_int(4)};
    struct cel_value map = cel_map_of(a, arena_copy(a, &entry), 1);
    struct cel_value vars[] = {
        cel_int(7), cel_text(S("a b c")), cel_double(7.5),  cel_list(items, 3),
        map,        cel_uint(9),          cel_some(a, map), cel_bool(true)};
    struct cel_run r = {.arena = a, .vars = vars, .limit = 20000, .steps = 20000};
    struct cel_value v = cel_eval(p, &r);

    *cost = r.cost;
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cel_env *base, *unfolded;
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct bytes b = {data, data + size};
    struct buf text = buf_in(&a, 512);
    struct cel_issues issues = {.arena = &a}, others = {.arena = &a};
    uint64_t cost, cost_unfolded;

    if (!base) {
        base = make(false);
        unfolded = make(true);
    }
    expression(&b, &text, 7);
    struct str s = buf_str(&text);
    struct cel_program *p = cel_compile(base, s, NULL, &issues);
    struct cel_program *q = cel_compile(unfolded, s, NULL, &others);
    if (p && q) {
        struct cel_value v = run(&a, p, &cost), w = run(&a, q, &cost_unfolded);
        bool is_cut = cel_is_stop(v) || cel_is_stop(w);
        assert(is_cut || str_eq(cel_show(&a, v), cel_show(&a, w)));
        assert(is_cut || cost <= cost_unfolded);
        struct cel_issues again = {.arena = &a};
        struct str one = cel_unparse(&a, base, s, &again);
        assert(one.at);
        assert(str_eq(one, cel_unparse(&a, base, one, &again)));
    }
    cel_program_free(p);
    cel_program_free(q);
    return 0;
}
