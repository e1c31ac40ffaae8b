/* device.c - selectors over one device and over columns, and what they tell */
#include "cel/device.h"
#include "base/testing.h"

static const char h100[] =
    "{\"attributes\": {\"model\": {\"string\": \"H100\"}, \"index\": {\"int\": 3},"
    " \"other.com/nvlink\": {\"bool\": true}, \"driverVersion\": {\"version\": \"550.3.1\"}},"
    " \"capacity\": {\"memory\": {\"value\": \"80Gi\"}}}";
static const char odd[] = "{\"attributes\": {\"model\": {\"int\": 7},"
                          " \"driverVersion\": {\"version\": \"1.0.0\"}}}";
static const char broken[] = "{\"attributes\": {\"v\": {\"version\": \"1.0\"}}}";

static struct cel_env *device_env(void)
{
    struct cel_env_spec spec = {.kind = CEL_ENV_DEVICE, .version = CEL_STORED};

    return cel_env_new(&spec);
}

static const struct cel_device *device(struct arena *a, const char *text)
{
    const struct json *v = json_parse(a, str_from(text), NULL, NULL);

    return cel_device_of_json(a, S("gpu.com"), v, true);
}

static struct cel_program *compile(struct arena *a, const struct cel_env *env, const char *text)
{
    struct cel_issues issues = {.arena = a};
    struct cel_program *p = cel_compile(env, str_from(text), NULL, &issues);

    check(p != NULL);
    return p;
}

#define D "device.attributes['gpu.com']."

TEST(selectors)
{
    static const struct {
        const char *name, *device, *text, *want;
        int cost;
    } rows[] = {
        {"the driver is a text",                  h100,   "device.driver == 'gpu.com'",                            "true",                      3},
        {"a name without domain is the driver's", h100,   D "model == 'H100'",                                     "true",                      5},
        {"another length is another text",        h100,   D "model == 'H100x'",                                    "false",                     5},
        {"a kind that differs is unequal",        odd,    D "model == 'H100'",                                     "false",                     5},
        {"what is not there is an error",         odd,    D "index > 1",                                           "error: no such key: index", 5},
        {"an unknown domain is empty",            odd,    "has(device.attributes['no'].x)",                        "false",                     3},
        {"an unknown domain is a map of its own", odd,
         "cel.bind(d, device.attributes['no'], has(d.x))",                                                         "false",                     4},
        {"membership is exact",                   odd,    "'no' in device.attributes",                             "false",                     3},
        {"an order of kinds that have none",      odd,    D "model < 'x'",
         "error: no such overload: _<_",                                                                                                        5},
        {"versions compare by precedence",        h100,
         D "driverVersion.isGreaterThan(semver('550.0.0'))",                                                       "true",                      6},
        {"a version compares with versions only", h100,   D "driverVersion == '550.3.1'",
         "error: no such overload",                                                                                                             5},
        {"a text does not mind a version",        h100,   "'550.3.1' == " D "driverVersion",                       "false",                     5},
        {"an int is no version",                  odd,    D "model.isGreaterThan(semver('1.0.0'))",
         "error: no such overload: isGreaterThan",                                                                                              6},
        {"capacities are quantities",             h100,
         "device.capacity['gpu.com'].memory.isLessThan(quantity('1Ti'))",                                          "true",                      6},
        {"a false absorbs the error before it",   odd,    D "index > 1 && device.driver == 'x'",
         "false",                                                                                                                               8},
        {"a bad version fails every expression",  broken, "device.driver == 'gpu.com'",
         "error: attribute v: parse semantic version: No Major.Minor.Patch elements found",                                                     0},
        {"bind names a map",                      h100,   "cel.bind(d, device.attributes['other.com'], d.nvlink)",
         "true",                                                                                                                                5},
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = device_env();

    for (size_t i = 0; i < countof(rows); i++) {
        test_case(rows[i].name);
        struct cel_program *p = compile(&a, env, rows[i].text);
        struct cel_run run = {.arena = &a, .device = device(&a, rows[i].device)};
        check_samez(cel_show(&a, cel_eval(p, &run)), rows[i].want);
        check_int(run.cost, rows[i].cost);
        check(cel_program_bytes(p) <= 2048);
        cel_program_free(p);
    }
    cel_env_free(env);
}

TEST(columns_give_what_rows_give)
{
    static const char *const selectors[] = {
        D "model == 'H100'",
        D "model == 'H100' && " D "index > 2",
        D "index > 2 && " D "model == 'H100'",
        D "index > 2 || " D "model == 'H100'",
        "device.driver == 'gpu.com' && has(" D "index)",
        "'index' in device.attributes['gpu.com'] && " D "model.startsWith('H')",
        "device.capacity['gpu.com'].memory.isGreaterThan(quantity('79Gi')) && " D "index == 3",
        "[1, 2, 3].exists(x, x == " D "index) && device.driver != ''",
        "[1, 2, 3, 4].all(x, device.driver != '')",
        "[1, 2, 3].all(x, device.driver != '') && [1, 2].all(x, device.driver != '')",
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    const struct cel_device *devices[] = {device(&a, h100), device(&a, odd), device(&a, "{}")};
    struct cel_env *env = device_env();

    for (size_t i = 0; i < countof(selectors); i++) {
        struct cel_program *p = compile(&a, env, selectors[i]);
        const struct cel_value *columns[8];
        struct cel_run run = {.arena = &a, .steps = 4}; /* of each row */
        const struct cel_slot *slots;
        uint8_t out[countof(devices)];
        test_case(selectors[i]);
        for (size_t s = 0; s < cel_program_slots(p, &slots); s++) {
            struct cel_value *column = arena_array(&a, struct cel_value, countof(devices));
            for (size_t k = 0; k < countof(devices); k++)
                column[k] = cel_device_slot(devices[k], &slots[s]);
            columns[s] = column;
        }
        cel_eval_many(p, &run, columns, countof(devices), out);
        for (size_t k = 0; k < countof(devices); k++) {
            struct cel_run alone = {.arena = &a, .steps = 4, .device = devices[k]};
            struct cel_value v = cel_eval(p, &alone);
            check_int(out[k], v.kind != CEL_BOOL ? CEL_MATCH_ERROR
                              : v.b              ? CEL_MATCH_YES
                                                 : CEL_MATCH_NO);
        }
        cel_program_free(p);
    }
    cel_env_free(env);
}

TEST(selectors_may_yield)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"a bool",                   "true",    ""                                                  },
        {"whatever an attribute is", D "model", ""                                                  },
        {"no number",                "1",       "must evaluate to bool or the unknown type, not int"},
    };
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cel_env *env = device_env();

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_program *p = compile(&a, env, rows[i].text);
        struct err err = {0};
        test_case(rows[i].name);
        cel_selector_check(p, &err);
        check_samez(err_str(&err), rows[i].want);
        cel_program_free(p);
    }
    cel_env_free(env);
}

TEST(explain_tells_what_decided)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"the term that is false",              "device.driver == 'gpu.com' && " D "model == 'A100'",
         D "model == 'A100' [\"H100\" \"A100\"] is false"           },
        {"each alternative that is false",      D "index > 5 || " D "index < 2",
         D "index > 5 [3 5] is false; " D "index < 2 [3 2] is false"},
        {"the operand that failed",             D "nothing + 1 > 2 && true",
         D "nothing is error: no such key: nothing"                 },
        {"the step of a loop that failed",      "[1, 2].map(x, x / 0).size() > 0",
         "x / 0 [2 0] is error: division by zero"                   },
        {"the condition of a loop that failed", "[1, 0].all(x, 1 / x == 1)",
         "1 / x [1 0] is error: division by zero"                   },
        {"the entry of a list that failed",     "[dyn(1), -" D "index, " D "nothing].size() == 3",
         D "nothing is error: no such key: nothing"                 },
        {"an operand that is no bool",          "!" D "index || " D "model == 'x'",
         "!" D "index is error: no such overload"                   },
        {"the branch that failed",              "true ? " D "nothing : true",
         D "nothing is error: no such key: nothing"                 },
        {"the branch that was taken",           "true ? " D "index == 1 : true",
         "true is true; " D "index == 1 [3 1] is false"             },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = device_env();

    for (size_t i = 0; i < countof(rows); i++) {
        test_case(rows[i].name);
        struct cel_program *p = compile(&a, env, rows[i].text);
        struct cel_run run = {.arena = &a, .device = device(&a, h100)};
        struct cel_reasons reasons;
        struct buf b = buf_in(&a, 256);
        cel_explain(p, &run, &reasons);
        vec_each (k, &reasons.list) {
            const struct cel_reason *r = &reasons.list.at[k];
            buf_printf(&b, "%s%.*s", k ? "; " : "", STR_ARG(r->text));
            if (r->left.at && r->right.at)
                buf_printf(&b, " [%.*s %.*s]", STR_ARG(r->left), STR_ARG(r->right));
            buf_printf(&b, " is %.*s", STR_ARG(cel_show(&a, r->value)));
        }
        check_samez(buf_str(&b), rows[i].want);
        cel_program_free(p);
    }
    cel_env_free(env);
}
