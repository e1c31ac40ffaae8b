/* cel.c - how fast expressions are: selectors by device and by column, compiling, and the ten
 * expressions that the peer evaluates too
 *
 *     bench-cel [DIRECTORY of expressions]
 *
 * Prints one figure a line, `name value unit`; the smallest of several rounds, which is what
 * the code costs where the machine is quiet.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "cel/device.h"
#include "measure.h"
#include "value/value.h"

static size_t heap_used(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static struct cel_program *compile(const struct cel_env *env, struct str text)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 12);
    struct cel_issues issues = {.arena = &a};
    struct cel_program *p = cel_compile(env, text, NULL, &issues);

    if (!p)
        die("bench: %.*s", STR_ARG(cel_issues_text(&a, &issues, text)));
    return p;
}

/* ---- devices ---- */

#define DRIVER "gpu.example.com"
#define N_DEVICES 100000

static const char selector[] =
    "device.driver == \"" DRIVER "\" && device.attributes[\"" DRIVER "\"].model == \"H100\" && "
    "device.capacity[\"" DRIVER "\"].memory.isGreaterThan(quantity(\"40Gi\"))";

static struct cel_value quantity_value(struct arena *a, struct str s)
{
    struct quantity q;

    if (quantity_parse(a, s, &q, NULL) < 0)
        die("bench: no quantity '%.*s'", STR_ARG(s));
    return cel_quantity(arena_copy(a, &q));
}

static struct cel_attribute attribute(struct str name, struct cel_value v)
{
    return (struct cel_attribute){.domain = S(DRIVER), .name = name, .value = v};
}

static struct cel_device *make_device(struct arena *a)
{
    struct cel_device *d = arena_new(a, struct cel_device);

    d->driver = cel_text(S(DRIVER));
    d->multi = cel_bool(false);
    d->attributes = arena_array(a, struct cel_attribute, 8);
    d->attributes[0] = attribute(S("index"), cel_int(3));
    d->attributes[1] = attribute(S("uuid"), cel_text(S("GPU-5c3bc9f1-0f2e-4a1c-9d4e")));
    d->attributes[2] = attribute(S("model"), cel_text(S("H100")));
    d->attributes[3] = attribute(S("vendor"), cel_text(S("acme")));
    d->attributes[4] = attribute(S("numa"), cel_int(1));
    d->attributes[5] = attribute(S("mig"), cel_bool(false));
    d->n_attributes = 6;
    d->capacities = arena_array(a, struct cel_attribute, 2);
    d->capacities[0] = attribute(S("memory"), quantity_value(a, S("80Gi")));
    d->capacities[1] = attribute(S("cores"), quantity_value(a, S("132")));
    d->n_capacities = 2;
    cel_device_done(a, d);
    return d;
}

static void bench_device(struct arena *a, const struct cel_env *env)
{
    struct cel_program *p = compile(env, str_from(selector));
    struct cel_device *d = make_device(a);
    struct cel_value slots[16];
    const size_t n = 200000;
    double best[2] = {1e18, 1e18};
    bool ok = true;

    cel_bind(p, d, slots);
    size_t heap = heap_used(), arena = a->total;
    for (int r = 0; r < MEASURE_ROUNDS; r++) {
        struct cel_run run = {.arena = a, .device = d};
        double t = cpu_ns();
        for (size_t i = 0; i < n; i++)
            ok &= cel_is_true(cel_eval(p, &run));
        best[0] = MIN(best[0], (cpu_ns() - t) / (double)n);
        t = cpu_ns();
        for (size_t i = 0; i < n; i++)
            ok &= cel_is_true(cel_eval_bound(p, &run, slots));
        best[1] = MIN(best[1], (cpu_ns() - t) / (double)n);
    }
    size_t used = heap_used() - heap + (a->total - arena);
    if (!ok)
        die("bench: the selector does not match");
    tell("selector/device", best[0], "ns");
    tell("selector/device-bound", best[1], "ns");
    tell("selector/allocated", (double)used, "bytes");
    tell("selector/program", (double)cel_program_bytes(p), "bytes");
    cel_program_free(p);
}

static void bench_columns(struct arena *a, const struct cel_env *env)
{
    struct cel_program *p = compile(env, str_from(selector));
    const struct cel_slot *slots;
    size_t n_slots = cel_program_slots(p, &slots), hits = 0;
    const struct cel_value *columns[16];
    uint8_t *out = arena_array(a, uint8_t, N_DEVICES);
    struct cel_value models[] = {cel_text(S("H100")), cel_text(S("A100")), cel_text(S("L40S"))};
    struct cel_value sizes[] = {quantity_value(a, S("80Gi")), quantity_value(a, S("24Gi"))};
    double best = 1e18;

    for (size_t s = 0; s < n_slots; s++) {
        struct cel_value *column = arena_array(a, struct cel_value, N_DEVICES);
        for (size_t i = 0; i < N_DEVICES; i++)
            column[i] = slots[s].kind == CEL_SLOT_DRIVER     ? cel_text(S(DRIVER))
                        : slots[s].kind == CEL_SLOT_CAPACITY ? sizes[i % 2]
                                                             : models[i % 3];
        columns[s] = column;
    }
    for (int r = 0; r < MEASURE_ROUNDS; r++) {
        struct cel_run run = {.arena = a};
        double t = cpu_ns();
        cel_eval_many(p, &run, columns, N_DEVICES, out);
        best = MIN(best, (cpu_ns() - t) / N_DEVICES);
    }
    for (size_t i = 0; i < N_DEVICES; i++)
        hits += out[i] == CEL_MATCH_YES;
    if (hits != (N_DEVICES + 5) / 6)
        die("bench: %zu of %d devices match", hits, N_DEVICES);
    tell("selector/100000-devices", best, "ns/device");
    cel_program_free(p);
}

static void bench_compile(const struct cel_env *env)
{
    const size_t n = 2000;
    double best = 1e18;

    for (int r = 0; r < MEASURE_ROUNDS; r++) {
        double t = cpu_ns();
        for (size_t i = 0; i < n; i++)
            cel_program_free(compile(env, str_from(selector)));
        best = MIN(best, (cpu_ns() - t) / (double)n);
    }
    tell("selector/compile", best / 1e3, "us");
}

/* ---- the ten expressions ---- */

static struct str read_file(struct arena *a, const char *dir, const char *name)
{
    scoped(close_fd) int fd =
        open(str_z(a, str_printf(a, "%s/%s", dir, name)), O_RDONLY | O_CLOEXEC);
    char *at = arena_raw(a, 1 << 14, 1);
    ssize_t n = fd < 0 ? -1 : read(fd, at, 1 << 14);

    if (n < 0)
        die("bench: cannot read '%s/%s'", dir, name);
    return str_trim(str_of(at, (size_t)n));
}

/* The same variables as the peer's. */
static void declare(struct arena *a, struct cel_env *env, struct cel_value *vars)
{
    static const struct {
        const char *name, *type;
    } names[] = {
        {"i",       "int"                },
        {"s",       "string"             },
        {"name",    "string"             },
        {"numbers", "list(int)"          },
        {"tags",    "list(string)"       },
        {"labels",  "map(string, string)"},
        {"device",  "map(string, dyn)"   },
    };
    struct cel_value *ints = arena_array(a, struct cel_value, 100);
    struct cel_value *tags = arena_array(a, struct cel_value, 4);
    struct cel_entry *labels = arena_array(a, struct cel_entry, 8);
    struct cel_entry *device = arena_array(a, struct cel_entry, 4);
    struct err err = {0};

    for (size_t k = 0; k < countof(names); k++)
        cel_env_var(env, str_from(names[k].name),
                    cel_env_type_of(env, str_from(names[k].type), &err), 0, 0);
    for (int k = 0; k < 100; k++)
        ints[k] = cel_int(k);
    for (int k = 0; k < 4; k++)
        tags[k] = cel_text(str_printf(a, "tag-%d", k));
    for (int k = 0; k < 8; k++)
        labels[k] = (struct cel_entry){cel_text(str_printf(a, "label-%d", k)),
                                       cel_text(str_printf(a, "value-%d", k))};
    device[0] = (struct cel_entry){cel_text(S("driver")), cel_text(S(DRIVER))};
    device[1] = (struct cel_entry){cel_text(S("model")), cel_text(S("H100"))};
    device[2] = (struct cel_entry){cel_text(S("memory")), cel_int(80)};
    vars[0] = cel_int(42);
    vars[1] = cel_text(S("the quick brown fox jumps over the lazy dog"));
    vars[2] = cel_text(S("node-17.rack-3.example.com"));
    vars[3] = cel_list(ints, 100);
    vars[4] = cel_list(tags, 4);
    vars[5] = cel_map_of(a, labels, 8);
    vars[6] = cel_map_of(a, device, 3);
}

static void bench_expression(struct cel_env *env, const struct cel_value *vars,
                             const char *name, struct str text)
{
    struct cel_program *p = compile(env, text);
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    double best = 1e18;
    size_t n = 1;

    for (int r = 0; r < MEASURE_ROUNDS + 3; r++) {
        double t = cpu_ns();
        for (size_t i = 0; i < n; i++) {
            struct cel_run run = {.arena = &a, .vars = vars};
            struct cel_value v = cel_eval(p, &run);
            if (v.kind == CEL_ERROR)
                die("bench: %s: %.*s", name, STR_ARG(cel_error_text(&a, v)));
            arena_reset(&a);
        }
        t = cpu_ns() - t;
        if (t < 2e6)
            n *= t < 2e5 ? 10 : 3;
        else
            best = MIN(best, t / (double)n);
    }
    printf("expr/%-39s %10.1f ns\n", name, best);
    cel_program_free(p);
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void bench_expressions(const char *dir)
{
    struct cel_env_spec spec = {
        .kind = CEL_ENV_BASE, .version = CEL_STORED, .limit = UINT64_MAX};
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct cel_env *env = cel_env_new(&spec);
    struct cel_value vars[16];
    struct dirent **files;
    int n = scandir(dir, &files, NULL, by_name);

    declare(&a, env, vars);
    for (int i = 0; i < n; i++) {
        struct str name = str_from(files[i]->d_name);
        if (str_ends(name, S(".cel")))
            bench_expression(env, vars, str_z(&a, str_slice(name, 0, name.len - 4)),
                             read_file(&a, dir, files[i]->d_name));
        free(files[i]);
    }
    free(n < 0 ? NULL : files);
    cel_env_free(env);
}

int main(int argc, char **argv)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct cel_env_spec spec = {.kind = CEL_ENV_DEVICE, .version = CEL_STORED};
    struct cel_env *env = cel_env_new(&spec);

    bench_device(&a, env);
    bench_columns(&a, env);
    bench_compile(env);
    cel_env_free(env);
    bench_expressions(argc > 1 ? argv[1] : "bench/peers/cel/exprs");
    return 0;
}
