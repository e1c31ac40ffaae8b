/* apply.c - whole objects through creates, updates and applies by several managers */
#include "schema/apply.h"
#include "thing_priv.h"

/* One object and its clock. */
struct world {
    struct arena *a;
    const struct json *live;
    int64_t second;
    struct apply_conflicts conflicts;
    struct err err;
};

static struct apply_write write_of(struct world *w, const char *manager,
                                   const char *subresource)
{
    return (struct apply_write){
        .kind = &thing_kind,
        .manager = str_from(manager),
        .subresource = str_from(subresource),
        .now = {w->second++ * SECOND_NS},
        .is_known = true,
    };
}

static bool apply(struct world *w, const char *manager, bool force, const char *config)
{
    struct apply_write write = write_of(w, manager, "");
    const struct json *next;

    write.force = force;
    w->err = (struct err){0};
    next =
        apply_config(w->a, &write, w->live, thing_parse(w->a, config), &w->conflicts, &w->err);
    if (next)
        w->live = next;
    return next != NULL;
}

static void update(struct world *w, const char *manager, const char *subresource,
                   const char *object)
{
    struct apply_write write = write_of(w, manager, subresource);

    w->live = apply_update(w->a, &write, w->live, thing_parse(w->a, object));
}

/* manager[/subresource] operation seconds paths */
static int add_path(void *ctx, const struct element *path, size_t n)
{
    scoped(arena_fini) struct arena a = arena_sized(256);

    buf_printf(ctx, " %.*s", STR_ARG(element_path(&a, path, n)));
    return 0;
}

static struct str owners(struct world *w)
{
    const struct json *list = json_path(w->live, "metadata", "managedFields", NULL);
    struct buf b = buf_in(w->a, 256);

    json_each (i, list) {
        const struct json *e = &list->items[i];
        struct fieldset set = {0};
        struct str time = json_str(json_getz(e, "time"));
        fieldset_read(w->a, json_getz(e, "fieldsV1"), &set, NULL);
        buf_printf(&b, "%s%.*s%s%.*s %.*s %.*s:", i ? "; " : "",
                   STR_ARG(json_str(json_getz(e, "manager"))),
                   json_getz(e, "subresource") ? "/" : "",
                   STR_ARG(json_str(json_getz(e, "subresource"))),
                   STR_ARG(json_str(json_getz(e, "operation"))),
                   STR_ARG(str_slice(time, time.len - 3, time.len - 1)));
        fieldset_each(set, add_path, &b);
    }
    return buf_str(&b);
}

static void check_spec(struct world *w, const char *want)
{
    const struct json *spec = json_getz(w->live, "spec");

    if (!json_eq(spec, thing_parse(w->a, want)))
        check_same(json_text(w->a, spec), json_text(w->a, thing_parse(w->a, want)));
}

TEST(apply_shares)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};
    const struct json *before;

    check(apply(&w, "one", false,
                "{'metadata':{'name':'x'},'spec':{'replicas':1,'tags':['a']}}"));
    check_samez(owners(&w), "one Apply 00: .spec.replicas .spec.tags[=\"a\"]");

    /* The same again writes nothing. */
    before = w.live;
    check(apply(&w, "one", false,
                "{'metadata':{'name':'x'},'spec':{'replicas':1,'tags':['a']}}"));
    check(w.live == before);

    /* An equal value is shared; its owner comes without a time, for nothing has changed. */
    check(apply(&w, "two", false, "{'spec':{'replicas':1}}"));
    check_samez(owners(&w), "one Apply 00: .spec.replicas .spec.tags[=\"a\"]; "
                            "two Apply : .spec.replicas");

    /* What one drops stays while two owns it, and goes with the last. */
    check(apply(&w, "one", false, "{'metadata':{'name':'x'}}"));
    check_spec(&w, "{'replicas':1}");
    check_samez(owners(&w), "two Apply : .spec.replicas");
    check(apply(&w, "two", false, "{'metadata':{'name':'x'}}"));
    check_samez(owners(&w), "");
    check(!json_path(w.live, "spec", "replicas", NULL));
}

TEST(apply_conflicts)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};
    const struct json *before;

    check(apply(&w, "one", false, "{'spec':{'replicas':1,'name':'n','limits':{'cpu':'1'}}}"));
    before = w.live;
    check(!apply(&w, "two", false, "{'spec':{'replicas':2}}"));
    check_err(&w.err, ERR_CONFLICT,
              "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas");
    check_int(w.conflicts.causes.len, 1);
    check_samez(w.conflicts.causes.at[0].message, "conflict with \"one\"");
    check_samez(w.conflicts.causes.at[0].field, ".spec.replicas");
    check(w.live == before);

    update(&w, "edit", "",
           "{'metadata':{},'spec':{'replicas':1,'name':'m','limits':{'cpu':'1'}}}");
    check_samez(owners(&w), "one Apply 00: .spec.limits.cpu .spec.replicas; "
                            "edit Update 02: .spec.name");
    check(!apply(&w, "two", false, "{'spec':{'replicas':2,'name':'k','limits':{'cpu':'2'}}}"));
    check_err(&w.err, ERR_CONFLICT,
              "Apply failed with 3 conflicts: conflicts with \"edit\" using test/v1:\n"
              "- .spec.name\nconflicts with \"one\":\n- .spec.limits.cpu\n- .spec.replicas");

    check(apply(&w, "two", true, "{'spec':{'replicas':2,'name':'k'}}"));
    check_spec(&w, "{'replicas':2,'name':'k','limits':{'cpu':'1'}}");
    check_samez(owners(&w), "one Apply 00: .spec.limits.cpu; "
                            "two Apply 04: .spec.name .spec.replicas");
}

TEST(apply_items)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};

    check(apply(&w, "one", false, "{'spec':{'items':[{'name':'a','value':'1'}]}}"));
    check(apply(&w, "two", false, "{'spec':{'items':[{'name':'b'}]}}"));
    check_spec(&w, "{'items':[{'name':'a','value':'1'},{'name':'b'}]}");
    check(apply(&w, "two", false, "{'spec':{'items':[{'name':'a','port':80},{'name':'b'}]}}"));
    check(apply(&w, "one", false, "{'spec':{'items':[]}}"));
    check_spec(&w, "{'items':[{'name':'a','port':80},{'name':'b'}]}");
    check(!apply(&w, "one", false, "{'spec':{'items':[{'name':'c'},{'name':'c'}]}}"));
    check_err(&w.err, ERR_INVALID, "duplicate entries for key");
    check(!apply(&w, "one", false, "{'spec':{'foo':1}}"));
    check_err(&w.err, ERR_INVALID, ".spec.foo: field not declared in schema");
    check(!apply(&w, "one", false, "{'metadata':{'managedFields':[]}}"));
    check_err(&w.err, ERR_SYNTAX, "metadata.managedFields must be nil");
}

TEST(apply_update)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};

    update(&w, "create", "",
           "{'metadata':{'name':'x','labels':{'a':'1'}},'spec':{'replicas':1},"
           "'status':{'phase':'new'}}");
    check_samez(owners(&w), "create Update 00: .metadata.labels .metadata.labels.a .spec "
                            ".spec.replicas");

    /* Status comes by its own endpoint, which ignores the rest. */
    update(&w, "ctl", "status",
           "{'metadata':{'labels':{}},'spec':{'replicas':9},'status':{'phase':'on'}}");
    check_samez(owners(&w), "create Update 00: .metadata.labels .metadata.labels.a .spec "
                            ".spec.replicas; ctl/status Update 01: .status.phase");

    /* A change moves ownership and time; no change moves nothing. */
    update(&w, "other", "",
           "{'metadata':{'labels':{'a':'1'}},'spec':{'replicas':2},"
           "'status':{'phase':'on'}}");
    check(str_has(owners(&w), S("other Update 02: .metadata.labels.a .spec.replicas")));
    struct str before = owners(&w);
    update(&w, "third", "",
           "{'metadata':{'labels':{'a':'1'}},'spec':{'replicas':2},"
           "'status':{'phase':'on'}}");
    check_same(owners(&w), before);

    /* An empty list forgets all owners; afterwards there are none. */
    update(&w, "reset", "",
           "{'metadata':{'labels':{'a':'1'},'managedFields':[{}]},"
           "'spec':{'replicas':2},'status':{'phase':'on'}}");
    check_samez(owners(&w), "");
    update(&w, "third", "", "{'metadata':{},'spec':{'replicas':3}}");
    check_samez(owners(&w), "");

    /* The first apply finds an owner for what was there. */
    check(!apply(&w, "one", false, "{'spec':{'replicas':4}}"));
    check_samez(w.conflicts.causes.at[0].message,
                "conflict with \"before-first-apply\" using test/v1");
    check(apply(&w, "one", true, "{'spec':{'replicas':4}}"));
    check(str_has(owners(&w), S("before-first-apply Update")));
}

TEST(apply_cap)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};
    const struct json *list;

    update(&w, "m0", "", "{'metadata':{},'spec':{'limits':{'k0':'0'}}}");
    for (int i = 1; i < 15; i++) {
        struct json_obj limits = obj_from(&a, json_path(w.live, "spec", "limits", NULL));
        obj_set(&limits, str_printf(&a, "k%d", i), json_of_z("1"));
        struct apply_write write = write_of(&w, str_printf(&a, "m%d", i).at, "");
        write.manager = str_printf(&a, "m%d", i);
        w.live = apply_update(&a, &write, w.live,
                              json_with(&a, w.live, obj_done(&limits), "spec", "limits", NULL));
    }
    list = json_path(w.live, "metadata", "managedFields", NULL);
    check_int(json_len(list), APPLY_MAX_UPDATERS);
    check_samez(json_str(json_getz(json_at(list, 0), "manager")), "ancient-changes");
    check_samez(json_str(json_getz(json_at(list, 0), "time")), "1970-01-01T00:00:05Z");
    check(json_path(json_whole(&a, json_at(list, 0)), "fieldsV1", "f:spec", "f:limits", "f:k5",
                    NULL));
}

/* Entries that a write does not touch are not read: which may not be seen. */
TEST(apply_apart)
{
    static const char *const parts[] = {
        "'spec':{'replicas':1}",
        "'spec':{'replicas':2,'limits':{'a':'1'}}",
        "'spec':{'items':[{'name':'a','port':80,'value':'x'}]}",
        "'spec':{'items':[{'name':'a','port':80,'value':'y'},{'name':'b','port':80}]}",
        "'spec':{'tags':['p'],'limits':{'b':'2'}}",
        "'spec':{}",
    };
    static const char *const statuses[] = {
        "{'phase':'on'}",
        "{'conditions':[{'type':'A','status':'1'}]}",
        "{'phase':'off','conditions':[{'type':'A','status':'1'},{'type':'B','status':'1'}]}",
    };
    static const char *const managers[] = {"x", "y", "z"};
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a}, whole = {.a = &a};
    struct kind unknown = thing_kind; /* as of a CRD, whose schema may have changed */
    uint64_t seed = 7;
    size_t most = 0;

    unknown.id = -1;
    check(apply(&w, "one", false, "{'metadata':{'labels':{'a':'1'}},'spec':{'name':'n'}}"));
    whole.live = w.live;
    for (int i = 0; i < 400; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t n = (size_t)(seed >> 33);
        bool is_status = n & 1;
        struct apply_write write = write_of(&w, managers[n / 2 % 3], is_status ? "status" : "");
        struct json next = *thing_parse(
            &a, is_status ? statuses[n / 8 % countof(statuses)]
                          : str_printf(&a, "{%s}", parts[n / 8 % countof(parts)]).at);
        const struct json *of_w =
            is_status ? json_with(&a, w.live, next, "status", NULL)
                      : json_with(&a, w.live, *json_getz(&next, "spec"), "spec", NULL);
        const struct json *of_whole = json_copy(&a, of_w);
        w.live = apply_update(&a, &write, w.live, of_w);
        write.kind = &unknown;
        whole.live = apply_update(&a, &write, whole.live, of_whole);
        check_same(json_text(&a, w.live), json_text(&a, whole.live));
        most = MAX(most, json_len(json_path(w.live, "metadata", "managedFields", NULL)));
    }
    check(most > 4);
}

#define UID_A "0b8a5c1e-1111-4222-8333-944445555566"
#define UID_B "f7777777-8888-4999-aaaa-0123456789ab"

static const struct shape_of created = {.kind = &thing_kind};

/* What a new object owns may be told by another's of its shape: which may not be seen. */
TEST(apply_shapes)
{
    static const struct {
        const char *first, *second;
        bool is_one_shape;
    } cases[] = {
        {"'replicas':1,'name':'a'",                                             "'replicas':2,'name':'b'",         true },
        {"'limits':{'a':'1'}",                                                  "'limits':{'a':'2'}",              true },
        {"'limits':{'a':'1'}",                                                  "'limits':{'b':'1'}",              false},
        {"'limits':{'a':'1'}",                                                  "'limits':{}",                     false},
        {"'limits':{}",                                                         "'limits':null",                   false},
        {"'replicas':1",                                                        "'replicas':1,'name':'b'",         false},
        {"'items':[{'name':'a','port':1,'value':'x'}]",
         "'items':[{'name':'b','port':1,'value':'x'}]",                                                            false},
        {"'items':[{'name':'a','port':1,'value':'x'}]",
         "'items':[{'name':'a','port':1,'value':'y'}]",                                                            true },
        {"'items':[{'name':'a','port':1,'value':'x'}]",                         "'items':[{'name':'a','port':1}]",
         false                                                                                                          },
        {"'items':[{'name':'a','port':1}]",
         "'items':[{'name':'a','port':1},{'name':'b','port':1}]",                                                  false},
        {"'args':['a']",                                                        "'args':['b']",                    true },
        {"'args':['a']",                                                        "'args':['a',1]",                  false},
        {"'items':[]",                                                          "'items':[{'name':'a'}]",          false},
        {"'tags':['a']",                                                        "'tags':['b']",                    false},
        {"'raw':1",                                                             "'raw':{'a':1}",                   false},
        {"'raw':{'a':1,'b':2}",                                                 "'raw':{'b':1,'c':2}",             false},
        {"'items':[{'name':'" UID_A "'}]",                                      "'items':[{'name':'" UID_B "'}]",  true },
        {"'items':[{'name':'" UID_A "'}]",                                      "'items':[{'name':'b'}]",          false},
        {"'items':[{'name':'" UID_A "'},{'name':'b'}]",
         "'items':[{'name':'" UID_B "'},{'name':'b'}]",                                                            false},
        {"'items':[{'name':'" UID_A "'}],'tags':['" UID_A "']",
         "'items':[{'name':'" UID_B "'}],'tags':['" UID_A "']",                                                    false},
        {"'items':[{'name':'" UID_A "'}],'limits':{'" UID_A "':'1'}",
         "'items':[{'name':'" UID_B "'}],'limits':{'" UID_A "':'1'}",                                              false},
        {"'tags':['" UID_A "']},'status':{'conditions':[{'type':'" UID_A "'}]",
         "'tags':['" UID_A "']},'status':{'conditions':[{'type':'" UID_B "'}]",                                    false},
        {"'tags':['" UID_A "']",                                                "'tags':['" UID_B "']",            false},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(shapes_fini) struct shapes shapes = {0};
        struct world w = {.a = &a};
        struct apply_write alone = write_of(&w, "m", ""), kept = alone;
        const struct json *object[2];
        test_case(cases[i].second);
        kept.shapes = &shapes;
        for (int k = 0; k < 2; k++)
            object[k] = thing_parse(
                &a,
                str_printf(&a,
                           "{'apiVersion':'test/v1','kind':'Thing','metadata':{'name':'n%d'},"
                           "'spec':{%s}}%c",
                           k, k ? cases[i].second : cases[i].first, 0)
                    .at);
        check(shapes_find(&shapes, &a, &created, object[0]) == NULL);
        apply_update(&a, &kept, NULL, object[0]);
        check((shapes_find(&shapes, &a, &created, object[1]) != NULL) == cases[i].is_one_shape);
        check_same(json_text(&a, apply_update(&a, &kept, NULL, object[1])),
                   json_text(&a, apply_update(&a, &alone, NULL, object[1])));
    }
    test_case("who says himself what he owns is no example");
    scoped(shapes_fini) struct shapes shapes = {0};
    struct world w = {.a = &a};
    struct apply_write alone = write_of(&w, "m", ""), kept = alone;
    const struct json *plain = thing_parse(
        &a,
        "{'apiVersion':'test/v1','kind':'Thing','metadata':{'name':'n'},'spec':{'name':'a'}}");
    const struct json *managed = thing_parse(
        &a,
        "[{'manager':'m','operation':'Update','apiVersion':'test/v1','fieldsType':'FieldsV1',"
        "'fieldsV1':{'f:spec':{'f:replicas':{}}}}]");
    kept.shapes = &shapes;
    apply_update(&a, &kept, NULL,
                 json_with(&a, plain, *managed, "metadata", "managedFields", NULL));
    check_same(json_text(&a, apply_update(&a, &kept, NULL, plain)),
               json_text(&a, apply_update(&a, &alone, NULL, plain)));
}

/* Old shapes make room; where none comes again, few are learnt. */
TEST(apply_shapes_many)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    scoped(shapes_fini) struct shapes shapes = {0};
    const struct json fields = json_of_raw(S("{}"));
    size_t n = 0;

    for (int i = 0; i < 100; i++)
        shapes_learn(&shapes, &created, thing_parse(&a, str_printf(&a, "{'k%d':1}%c", i, 0).at),
                     &fields);
    for (int i = 0; i < 100; i++)
        n += shapes_find(&shapes, &a, &created,
                         thing_parse(&a, str_printf(&a, "{'k%d':2}%c", i, 0).at)) != NULL;
    check_int(n, 8 + 100 / 16);
    for (int i = 0; i < 2 * SHAPES_MAX; i++) {
        const struct json *tree = thing_parse(&a, str_printf(&a, "{'l%d':1}%c", i, 0).at);
        shapes_learn(&shapes, &created, tree, &fields);
        check(shapes_find(&shapes, &a, &created, tree) != NULL);
    }
}

/* A set that an earlier program recorded, of a map that is atomic now, is made to fit; what
 * this one recorded is not looked at. */
TEST(apply_earlier)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct world w = {.a = &a};

    for (int is_known = 0; is_known < 2; is_known++) {
        w.live = thing_parse(
            &a,
            "{'apiVersion':'test/v1','kind':'Thing','metadata':{'name':'t','managedFields':["
            "{'manager':'m','operation':'Update','apiVersion':'test/v1','fieldsType':"
            "'FieldsV1','fieldsV1':{'f:spec':{'f:selector':{'f:x':{}}}}}]},"
            "'spec':{'selector':{'x':'1'}}}");
        for (int is_apply = 0; is_apply < 2; is_apply++) {
            struct apply_write write = write_of(&w, "n", "");
            write.is_known = is_known;
            const struct json *config = thing_parse(
                &a, "{'apiVersion':'test/v1','kind':'Thing','spec':{'replicas':1}}");
            const struct json *next =
                is_apply ? apply_config(&a, &write, w.live, config, &w.conflicts, &w.err)
                         : apply_update(
                               &a, &write, w.live,
                               json_with(&a, w.live, json_of_i64(1), "spec", "replicas", NULL));
            struct str text = json_text(&a, json_path(next, "metadata", "managedFields", NULL));
            check(str_has(text, S("{\"f:selector\":{\"f:x\":{}}}")) == is_known);
            check(str_has(text, S("{\"f:selector\":{}}")) == !is_known);
        }
    }
}

TEST(apply_kubectl)
{
    static const char last[] = "{\\'apiVersion\\':\\'test/v1\\',\\'spec\\':{\\'replicas\\':1}}";
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct world w = {.a = &a};
    struct str annotation;

    update(&w, "kubectl-client-side-apply", "",
           str_printf(&a,
                      "{'metadata':{'annotations':{'kubectl.kubernetes.io/"
                      "last-applied-configuration':'%s'}},'spec':{'replicas':1}}",
                      last)
               .at);
    check(!apply(&w, "other", false, "{'spec':{'replicas':2}}"));
    check(apply(&w, "kubectl", false, "{'spec':{'replicas':2}}")); /* it meets only itself */
    annotation = json_str(json_path(w.live, "metadata", "annotations",
                                    "kubectl.kubernetes.io/last-applied-configuration", NULL));
    check_samez(annotation, "{\"spec\":{\"replicas\":2}}\n");
    update(&w, "edit", "", "{'metadata':{},'spec':{'replicas':5}}");
    check(!apply(&w, "kubectl", false, "{'spec':{'replicas':2}}"));
}

/* Applies one after the other, with what came before remembered and without. */
TEST(apply_config_shapes)
{
    static const struct {
        const char *manager, *subresource;
        bool force;
        const char *body;
    } steps[] = {
        {"one",   "",       false, "'spec':{'replicas':1,'tags':['a']}"                     },
        {"one",   "",       false, "'spec':{'replicas':2,'tags':['a']}"                     },
        {"one",   "",       false, "'spec':{'replicas':3,'tags':['b']}"                     },
        {"two",   "",       false, "'spec':{'replicas':1,'tags':['a']}"                     },
        {"two",   "",       true,  "'spec':{'replicas':1,'tags':['a']}"                     },
        {"one",   "",       false, "'spec':{'items':[{'name':'a','value':'x'}]}"            },
        {"one",   "",       false, "'spec':{'items':[{'name':'a','value':'y'}]}"            },
        {"one",   "",       false, "'spec':{'items':[{'name':'b','value':'y'}]}"            },
        {"one",   "",       false, "'spec':{'items':[{'name':'b','value':'y','port':7}]}"   },
        {"one",   "",       false, "'spec':{'replicas':'many','tags':['a']}"                },
        {"one",   "",       false, "'spec':{'none':1}"                                      },
        {"three", "status", false, "'status':{'conditions':[{'type':'A','status':'True'}]}" },
        {"three", "status", false, "'status':{'conditions':[{'type':'A','status':'False'}]}"},
        {"three", "status", false, "'status':{'phase':'x'},'spec':{'replicas':9}"           },
        {"three", "",       true,  "'status':{'phase':'x'},'spec':{'replicas':9}"           },
        {"three", "status", false, "'status':{'phase':'y'},'spec':{'replicas':9}"           },
        {"one",   "",       false, "'metadata':{'managedFields':[]},'spec':{'replicas':1}"  },
        {"two",   "",       false, ""                                                       },
        {"one",   "",       false, ""                                                       },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 18);
    static const struct json_raw_path stored = {
        {S_INIT("metadata"), S_INIT("managedFields"), S_INIT("fieldsV1")},
        3
    };
    scoped(shapes_fini) struct shapes shapes = {0};
    struct sets *sets = sets_new();
    struct world plain = {.a = &a}, kept = {.a = &a};
    const struct json *edited = thing_parse(
        &a, "{'apiVersion':'test/v1','kind':'Thing','metadata':{'labels':{'a':'1'},"
            "'managedFields':[{'manager':'edit','operation':'Update','apiVersion':'test/v1',"
            "'fieldsType':'FieldsV1','fieldsV1':{'f:metadata':{'f:labels':{'.':{},'f:a':{}}}}},"
            "{'manager':'make','operation':'Update','apiVersion':'test/v1','fieldsType':"
            "'FieldsV1','fieldsV1':{'f:spec':{'.':{},'f:tags':{'.':{},'v:\\'a\\'':{}}}}}]},"
            "'spec':{'tags':['a']}}");

    for (size_t i = 0; i < 6 * countof(steps); i++) {
        size_t n = i % countof(steps);
        if (i >= 3 * countof(steps) && n == 0)
            plain.live = kept.live = json_parse_raw(&a, json_text(&a, edited), &stored, NULL);
        const struct json *next[2];
        struct world *w = &plain;
        const struct json *config =
            thing_parse(&a, str_printf(&a, "{'apiVersion':'test/v1','kind':'Thing'%s%s}%c",
                                       steps[n].body[0] ? "," : "", steps[n].body, 0)
                                .at);
        test_case(steps[n].body);
        for (int k = 0; k < 2; k++, w = &kept) {
            struct apply_write write = write_of(w, steps[n].manager, steps[n].subresource);
            write.force = steps[n].force;
            write.shapes = k ? &shapes : NULL;
            write.sets = k ? sets : NULL;
            w->err = (struct err){0};
            next[k] = apply_config(&a, &write, w->live, config, &w->conflicts, &w->err);
            if (next[k]) /* as it comes from a store */
                w->live = json_parse_raw(&a, json_text(&a, next[k]), &stored, NULL);
        }
        check(!next[0] == !next[1]);
        check_same(err_str(&kept.err), err_str(&plain.err));
        check_same(json_text(&a, kept.live), json_text(&a, plain.live));
    }
    test_case("who creates owns more than who applies the same");
    const struct json *config = thing_parse(
        &a, "{'apiVersion':'test/v1','kind':'Thing','spec':{'replicas':1,'tags':['a']}}");
    struct apply_write write = write_of(&plain, "one", "");
    const struct json *alone = apply_update(&a, &write, NULL, config);
    write.shapes = &shapes;
    check_same(json_text(&a, apply_update(&a, &write, NULL, config)), json_text(&a, alone));
    sets_free(sets);
}
