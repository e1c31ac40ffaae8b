/* Selectors made by the input's bytes: a table of devices evaluated at once gives what each row
 * gives alone, bound to slots and asked of the device.
 */
#include "choose.h"

#include "cel/device.h"
#include "value/value.h"

#define N_ROWS 9
#define A "device.attributes['d']."

static const char *const terms[] = {
    "device.driver == 'd'",
    A "s == 'one'",
    A "s != 'two'",
    A "i > 1",
    A "i == 2",
    A "b",
    "!" A "b",
    A "b == true",
    "'s' in device.attributes['d']",
    "has(" A "i)",
    A "v.isGreaterThan(semver('1.0.0'))",
    "device.capacity['d'].q.isLessThan(quantity('2'))",
    "device.capacity['d'].q.compareTo(quantity('1')) == 0",
    A "?i.orValue(5) == 5",
    A "s in ['one', 'two', 'three', 'four']",
    A "s.startsWith('o')",
    "[1, 2, 3].exists(x, x == " A "i)",
    A "s < 'p'",
    "device.allowMultipleAllocations",
};

static struct cel_program *make(struct arena *a, const struct cel_env *env, struct bytes *b)
{
    struct buf text = buf_in(a, 256);
    struct cel_issues issues = {.arena = a};
    unsigned n = 1 + take(b, 4);

    for (unsigned i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? (take(b, 4) ? " && " : " || ") : "",
                   terms[take(b, countof(terms))]);
    struct cel_program *p = cel_compile(env, buf_str(&text), NULL, &issues);
    assert(p);
    return p;
}

static struct cel_value value(struct arena *a, struct bytes *b)
{
    static const char *const texts[] = {"one", "two", "on", "\xc3\xa4"};
    struct semver v = {.major = take(b, 3)};
    struct quantity q = quantity_of((int64_t)take(b, 3), 0, QUANTITY_DECIMAL_SI);

    switch (take(b, 8)) {
    case 0:
        return cel_int((int64_t)take(b, 4));
    case 1:
        return cel_bool(take(b, 2));
    case 2:
        return cel_semver(arena_copy(a, &v));
    case 3:
        return cel_quantity(arena_copy(a, &q));
    case 4:
        return (struct cel_value){0};
    default:
        return cel_text(str_from(texts[take(b, countof(texts))]));
    }
}

static struct cel_device *device(struct arena *a, struct bytes *b)
{
    static const char *const names[] = {"s", "i", "b", "v"};
    struct cel_device *d = arena_new(a, struct cel_device);

    d->driver = cel_text(take(b, 3) ? S("d") : S("e"));
    d->multi = cel_bool(take(b, 2));
    d->attributes = arena_array(a, struct cel_attribute, 8);
    d->capacities = arena_array(a, struct cel_attribute, 2);
    for (size_t i = 0; i < countof(names); i++) {
        struct cel_value v = value(a, b);
        if (v.kind != CEL_ABSENT)
            d->attributes[d->n_attributes++] = (struct cel_attribute){
                .domain = S("d"), .name = str_from(names[i]), .value = v};
    }
    struct cel_value q = value(a, b);
    if (q.kind != CEL_ABSENT)
        d->capacities[d->n_capacities++] =
            (struct cel_attribute){.domain = S("d"), .name = S("q"), .value = q};
    cel_device_done(a, d);
    return d;
}

static enum cel_match match(struct cel_value v)
{
    return v.kind != CEL_BOOL ? CEL_MATCH_ERROR : v.b ? CEL_MATCH_YES : CEL_MATCH_NO;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cel_env *env;
    struct cel_env_spec spec = {.kind = CEL_ENV_DEVICE, .version = CEL_STORED};
    static struct arena a;
    struct bytes b = {data, data + size};
    const struct cel_value *columns[32];
    struct cel_device *devices[N_ROWS];
    const struct cel_slot *slots;
    struct cel_value row[32];
    uint8_t out[N_ROWS];

    if (!env) {
        env = cel_env_new(&spec);
        a = arena_sized(1 << 16);
    }
    arena_reset(&a);
    struct cel_program *p = make(&a, env, &b);
    size_t n = cel_program_slots(p, &slots);
    for (size_t i = 0; i < N_ROWS; i++)
        devices[i] = device(&a, &b);
    for (size_t s = 0; s < n; s++) {
        struct cel_value *column = arena_array(&a, struct cel_value, N_ROWS);
        for (size_t i = 0; i < N_ROWS; i++)
            column[i] = cel_device_slot(devices[i], &slots[s]);
        columns[s] = column;
    }
    struct cel_run run = {.arena = &a}; /* limits are of each row */
    run.limit = take(&b, 4) ? 0 : 1 + take(&b, 64);
    run.steps = take(&b, 4) ? 0 : 1 + take(&b, 8);
    cel_eval_many(p, &run, columns, N_ROWS, out);
    for (size_t i = 0; i < N_ROWS; i++) {
        struct cel_run alone = run, bound;
        alone.device = devices[i];
        bound = alone;
        struct cel_value v = cel_eval(p, &alone), w;
        cel_bind(p, devices[i], row);
        w = cel_eval_bound(p, &bound, row);
        assert(match(v) == match(w) && alone.cost == bound.cost);
        if (!cel_program_needs_device(p))
            assert(out[i] == match(v));
        held();
    }
    cel_program_free(p);
    return 0;
}
