/* steps.c - steps that are taken again leave the owners that the long way leaves */
#include "schema/apply.h"
#include "thing_priv.h"

#define WRITES 6000
#define FORGET_EACH 40 /* writes: then it begins anew */

/* The same in its first version, which some entries are at. */
static const struct kind thing_first = {.group = S_INIT("test"),
                                        .version = S_INIT("v0"),
                                        .kind = S_INIT("Thing"),
                                        .api_version = S_INIT("test/v0"),
                                        .style = KIND_CUSTOM,
                                        .status = true,
                                        .schema = &thing};

static const struct kind *at_version(void *ctx, const struct kind *of, struct str version)
{
    (void)ctx;
    (void)of;
    return str_eqz(version, "test/v0") ? &thing_first : NULL;
}

static const struct apply_versions versions = {.kind = at_version};

static void free_steps(struct steps **s)
{
    steps_free(*s);
}

/* As it comes from a store. */
static const struct json *stored(struct arena *a, const struct json *v)
{
    static const struct json_raw_path fields = {
        {S_INIT("metadata"), S_INIT("managedFields"), S_INIT("fieldsV1")},
        3
    };
    struct err err = {0};
    const struct json *out = json_parse_raw(a, json_text(a, v), &fields, &err);

    check_same(err_str(&err), S(""));
    return out;
}

static const struct json *object(struct arena *a, const char *managed, const char *rest)
{
    return thing_parse(a, str_printf(a,
                                     "{'apiVersion':'test/v1','kind':'Thing','metadata':"
                                     "{'name':'t','managedFields':[%s]}%s%s}%c",
                                     managed, rest[0] ? "," : "", rest, 0)
                              .at);
}

static struct apply_write write_by(const char *manager, const char *subresource)
{
    return (struct apply_write){.kind = &thing_kind,
                                .versions = &versions,
                                .manager = str_from(manager),
                                .subresource = str_from(subresource),
                                .now = {77 * SECOND_NS},
                                .is_known = true};
}

#define ENTRY(manager_, version_, fields_)                                                     \
    "{'manager':'" manager_ "','operation':'Update','apiVersion':'" version_                   \
    "','time':'2026-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{" fields_ "}}"
#define MINE ENTRY("me", "test/v1", "'f:spec':{'f:replicas':{},'f:tags':{'v:\\'a\\'':{}}}")
#define MINE_BUT_MORE ENTRY("me", "test/v1", "'f:spec':{'f:replicas':{},'f:name':{}}")
#define YOURS ENTRY("you", "test/v1", "'f:spec':{'f:limits':{'f:a':{}}}")
#define YOURS_TOO ENTRY("you", "test/v1", "'f:spec':{'f:replicas':{}}")
#define YOURS_BEFORE ENTRY("you", "test/v0", "'f:spec':{'f:limits':{}}")
#define NOTHING ENTRY("you", "test/v1", "")
#define SPEC "'spec':{'replicas':1,'tags':['a'],'limits':{'a':'1','b':'2'}}"

/* One write, and then another: is that the same step? */
TEST(steps_are_the_same)
{
    static const struct {
        const char *name, *managed, *spec, *manager, *change;
        bool is_same;
    } cases[] = {
        {"it is",                       MINE,                  "'replicas':1,'tags':['a']", "me",  "'replicas':2", true },
        {"other values",                MINE,                  "'replicas':7,'name':'x'",   "me",  "'replicas':9", true },
        {"another field",               MINE,                  "'replicas':1,'name':'y'",   "me",  "'name':'x'",   false},
        {"another writer",              MINE,                  "'replicas':1",              "you", "'replicas':2", false},
        {"what he writes is there",     MINE,                  "'replicas':2",              "me",  "'replicas':2", false},
        {"it was not there",            MINE,                  "'tags':['a']",              "me",  "'replicas':2", false},
        {"he owns something else",      MINE_BUT_MORE,         "'replicas':1",              "me",  "'replicas':2", false},
        {"another owns something else", MINE "," YOURS,        "'replicas':1",              "me",  "'replicas':2",
         true                                                                                                           },
        {"another owns it, too",        MINE "," YOURS_TOO,    "'replicas':1",              "me",  "'replicas':2",
         false                                                                                                          },
        {"another at another version",  MINE "," YOURS_BEFORE, "'replicas':1",              "me",
         "'replicas':2",                                                                                           false},
        {"another owns nothing",        MINE "," NOTHING,      "'replicas':1",              "me",  "'replicas':2", false},
        {"an entry stands there twice", MINE "," MINE,         "'replicas':1",              "me",  "'replicas':2",
         false                                                                                                          },
        {"nobody owned it",             YOURS,                 "'replicas':1",              "me",  "'replicas':2", false},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(free_steps) struct steps *steps = steps_new();
        struct apply_write w = write_by("me", "");
        test_case(cases[i].name);
        for (int k = 0; k < 3; k++) { /* the first is seen, the second learnt */
            const struct json *live = stored(&a, object(&a, MINE, SPEC));
            w.steps = steps;
            apply_update(&a, &w, live,
                         json_with(&a, live, json_of_i64(2), "spec", "replicas", NULL));
        }
        check_int(steps_taken(steps), 1);

        const char *spec = str_printf(&a, "'spec':{%s}%c", cases[i].spec, 0).at;
        const struct json *live = stored(&a, object(&a, cases[i].managed, spec));
        const struct json *next = live, *got;
        const struct json *change =
            thing_parse(&a, str_printf(&a, "{%s}%c", cases[i].change, 0).at);
        json_each_member (m, change)
            next = json_with(&a, next, m->value, "spec", str_z(&a, m->name), NULL);
        w.manager = str_from(cases[i].manager);
        got = apply_update(&a, &w, live, next);
        check_int(steps_taken(steps), 1 + cases[i].is_same);
        w.steps = NULL;
        check_same(json_text(&a, got), json_text(&a, apply_update(&a, &w, live, next)));
    }
}

/* An entry that a write is about, but does not change, stays as it was written. */
TEST(steps_leave_entries_alone)
{
    static const char others[] =
        "{'operation':'Update','manager':'you','apiVersion':'test/v1',"
        "'fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:tags':{'v:\\'b\\'':{}}}}}";
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    scoped(free_steps) struct steps *steps = steps_new();
    struct apply_write w = write_by("me", "");
    const struct json *live =
        object(&a, str_printf(&a, "%s,%s%c", MINE, others, 0).at, "'spec':{'tags':['a','b']}");
    const struct json *tags = thing_parse(&a, "['a','b','c']"), *got = NULL;

    live = stored(&a, live);
    w.steps = steps;
    for (int i = 0; i < 3; i++)
        got = apply_update(&a, &w, live, json_with(&a, live, *tags, "spec", "tags", NULL));
    check_int(steps_taken(steps), 1);
    const struct json *list = json_path(got, "metadata", "managedFields", NULL);
    check_same(json_text(&a, json_at(list, 0)), json_text(&a, thing_parse(&a, others)));
}

static const char *const uids[] = {
    "00000000-0000-4000-8000-000000000001", "7f3e2d1c-aaaa-4bbb-8ccc-dddddddddddd",
    "ffffffff-ffff-4fff-bfff-ffffffffffff", "0b8a5c1e-1111-4222-8333-944445555566",
    "9abcdef0-1234-4567-89ab-cdef01234567", "5e5e5e5e-5e5e-4e5e-9e5e-5e5e5e5e5e5e",
};

/* The text with a uid for each #. */
static const char *with_uid(struct arena *a, const char *text, const char *uid)
{
    struct buf b = buf_in(a, 256);

    for (; *text; text++)
        if (*text == '#')
            buf_add(&b, str_from(uid));
        else
            buf_byte(&b, *text);
    buf_byte(&b, 0);
    return b.at;
}

/* The same with another uid is the same step, where that stands alone. */
TEST(steps_with_any_uid)
{
    static const struct {
        const char *name, *owned, *spec, *change;
        bool is_same;
    } cases[] = {
        {"it is owned",           "'f:tags':{'v:\\'#\\'':{}}",                "'tags':['#'],'replicas':1",
         "'replicas':2",                                                                                                                         true },
        {"it comes",              "'f:tags':{}",                              "'replicas':1",              "'tags':['#']",                       true },
        {"it goes",               "'f:tags':{'v:\\'#\\'':{}}",                "'tags':['#']",              "'tags':[]",                          true },
        {"it has more below",     "'f:name':{}",                              "'name':'a'",                "'items':[{'name':'#','value':'x'}]",
         true                                                                                                                                         },
        {"it is said, not owned", "'f:name':{}",                              "'name':'a'",                "'name':'#'",                         true },
        {"another is beside it",  "'f:tags':{'v:\\'#\\'':{},'v:\\'a\\'':{}}", "'tags':['#','a']",
         "'replicas':2",                                                                                                                         false},
        {"another comes to it",   "'f:tags':{'v:\\'#\\'':{}}",                "'tags':['#']",              "'tags':['#','a']",
         false                                                                                                                                        },
        {"it is a field's name",  "'f:limits':{'f:#':{}}",                    "'limits':{'#':'1'}",        "'replicas':2",
         false                                                                                                                                        },
        {"and nobody's",          "'f:name':{}",                              "'limits':{'#':'1'}",        "'limits':{}",                        false},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(free_steps) struct steps *steps = steps_new();
        test_case(cases[i].name);
        for (size_t k = 0; k < countof(uids); k++) {
            struct apply_write w = write_by("me", "");
            const char *spec = str_printf(&a, "'spec':{%s}%c", cases[i].spec, 0).at;
            const char *mine =
                str_printf(&a, ENTRY("me", "test/v1", "'f:spec':{%s}") "%c", cases[i].owned, 0)
                    .at;
            const struct json *live = stored(
                &a, object(&a, with_uid(&a, mine, uids[k]), with_uid(&a, spec, uids[k])));
            const struct json *change = thing_parse(
                &a, with_uid(&a, str_printf(&a, "{%s}%c", cases[i].change, 0).at, uids[k]));
            const struct json *next = json_with(&a, live, change->members[0].value, "spec",
                                                str_z(&a, change->members[0].name), NULL);
            w.steps = steps;
            struct str got = json_text(&a, apply_update(&a, &w, live, next));
            w.steps = NULL;
            check_same(got, json_text(&a, apply_update(&a, &w, live, next)));
        }
        /* By chance two fall into one place, and one is taken later. */
        check(steps_taken(steps) <= (cases[i].is_same ? countof(uids) - 2 : 0));
        check((steps_taken(steps) > 0) == cases[i].is_same);
    }
}

/* ---- random histories ---- */

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*seed >> 33) % n;
}

static const struct json *random_next(struct arena *a, uint64_t *seed, const struct json *live,
                                      bool is_status)
{
    static const struct {
        const char *name, *values[3];
    } parts[] = {
        {"replicas", {"1", "2", "null"}                                                 },
        {"name",     {"'x'", "'y'", "'#'"}                                              },
        {"tags",     {"['p']", "['p','#','p']", "['#']"}                                },
        {"items",    {"[{'name':'#'}]", "[{'name':'b'},{'name':'#','value':'x'}]", "[]"}},
        {"limits",   {"{'a':'1'}", "{'a':'2','b':'1'}", "{}"}                           },
        {"selector", {"{'a':'1'}", "{'b':'1'}", "null"}                                 },
        {"raw",      {"{'a':{'b':1}}", "[1]", "{'a':{'b':2,'c':[1]}}"}                  },
    };
    static const char *const statuses[] = {
        "{'phase':'on'}",
        "{'conditions':[{'type':'A','status':'1'}]}",
        "{'phase':'on','conditions':[{'type':'A','status':'0'},{'type':'B','status':'1'}]}",
        "{'phase':'off','conditions':[{'type':'B','status':'1'},{'type':'A','status':'1'}]}",
    };

    if (is_status)
        return json_with(a, live, *thing_parse(a, statuses[pick(seed, countof(statuses))]),
                         "status", NULL);
    for (uint32_t n = 1 + pick(seed, 2); n > 0; n--) {
        const char *uid = uids[pick(seed, countof(uids))];
        uint32_t i = pick(seed, countof(parts)), value = pick(seed, 4);
        live = value < 3 ? json_with(a, live,
                                     *thing_parse(a, with_uid(a, parts[i].values[value], uid)),
                                     "spec", parts[i].name, NULL)
                         : json_without(a, live, "spec", parts[i].name, NULL);
    }
    if (pick(seed, 8) == 0)
        live = json_with(a, live, json_of_z("v"), "metadata", "labels", "l", NULL);
    if (pick(seed, 4) == 0) /* in another order */
        live = json_with(a, json_without(a, live, "metadata", "name", NULL), json_of_z("t"),
                         "metadata", "name", NULL);
    return live;
}

/* Some are at another version, stand twice, say nothing or are written oddly. */
static const struct json *with_odd_entries(struct arena *a, uint64_t *seed,
                                           const struct json *live)
{
    static const char *const odd[] = {
        ENTRY("x", "test/v0", "'f:spec':{'f:replicas':{},'f:name':{}}"),
        ENTRY("y", "test/v1", "'f:spec':{'f:tags':{'v:\\'p\\'':{}},'f:replicas':{}}"),
        ENTRY("x", "test/v1", ""),
        ENTRY("z", "test/v9", "'f:spec':{'f:replicas':{}}"),
    };
    const struct json *list = json_path(live, "metadata", "managedFields", NULL);
    struct json_arr l = arr_in(a);

    json_each (i, list)
        arr_add(&l, list->items[i]);
    arr_add(&l, *thing_parse(a, odd[pick(seed, countof(odd))]));
    return json_with(a, live, arr_done(&l), "metadata", "managedFields", NULL);
}

TEST(steps_histories)
{
    static const char *const managers[] = {"x", "y"};
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    scoped(free_steps) struct steps *steps = steps_new();
    struct arena live_in = arena_sized(1 << 14);
    const struct json *start = object(&a, MINE, SPEC), *live = start;
    struct arena_mark mark = arena_mark(&a);
    uint64_t seed = 11;

    for (int i = 0; i < WRITES; i++) {
        bool is_status = pick(&seed, 2);
        struct apply_write w =
            write_by(managers[pick(&seed, countof(managers))], is_status ? "status" : "");
        if (i % FORGET_EACH == 0)
            live = start;
        if (pick(&seed, 16) == 0)
            live = with_odd_entries(&a, &seed, live);
        live = stored(&a, live);
        w.now = (struct instant){(i % 7) * SECOND_NS};
        const struct json *next = random_next(&a, &seed, live, is_status);
        struct str plain = json_text(&a, apply_update(&a, &w, live, next));
        w.steps = steps;
        live = apply_update(&a, &w, live, next);
        check_same(json_text(&a, live), plain);
        arena_reset(&live_in);
        live = json_copy(&live_in, live);
        arena_rewind(&a, mark);
    }
    check(steps_taken(steps) > WRITES / 8);
    arena_fini(&live_in);
}
