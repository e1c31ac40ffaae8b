/* typed.c - values through a schema: validation, sets, comparing, merging, taking out */
#include "schema/typed.h"
#include "thing_priv.h"

static void check_set(struct arena *a, struct fieldset got, const char *want)
{
    struct json v = fieldset_write(a, got);

    check_same(json_text(a, &v), json_text(a, thing_parse(a, want)));
}

TEST(typed_validate)
{
    static const struct {
        const char *name, *value, *strict, *lax;
    } cases[] = {
        {"all is well",                  "{'replicas':1,'items':[{'name':'a'}],'tags':['x'],'raw':{'a':[1]}}",
         "",                                                                                                                                               ""  },
        {"null is welcome",              "{'replicas':null,'items':null}",                                     "",                                         ""  },
        {"an unknown field",             "{'foo':1}",                                                          ".foo: field not declared in schema",       NULL},
        {"a wrong type",                 "{'replicas':'1'}",                                                   ".replicas: expected number, got string",   NULL},
        {"a map for a list",             "{'tags':{}}",                                                        ".tags: expected list, got map",            NULL},
        {"a list for a map",             "{'limits':[]}",                                                      ".limits: expected map, got list",          NULL},
        {"inside an item",               "{'items':[{'name':'a','value':1}]}",
         ".items[name=\"a\",port=80].value: expected string, got number",                                                                                  NULL},
        {"inside an atomic list",        "{'args':[1]}",                                                       ".args[0]: expected string, got number",
         NULL                                                                                                                                                  },
        {"a value twice",                "{'tags':['a','b','a']}",                                             ".tags[=\"a\"]: duplicate entries for key",
         ""                                                                                                                                                    },
        {"a key twice, once by default", "{'items':[{'name':'a'},{'name':'a','port':80}]}",
         ".items[name=\"a\",port=80]: duplicate entries for key",                                                                                          ""  },
        {"null in a set",                "{'tags':[null]}",                                                    ".tags: a set may not contain a null",      NULL},
        {"a text among items",           "{'items':['a']}",
         ".items: associative list with keys may not contain a string",                                                                                    NULL},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *v = thing_parse(&a, cases[i].value);
        struct err err = {0}, lax = {0};
        test_case(cases[i].name);
        check_int(typed_validate(&thing_spec, v, false, &err), cases[i].strict[0] ? -1 : 0);
        check_samez(err_str(&err), cases[i].strict);
        typed_validate(&thing_spec, v, true, &lax);
        check_samez(err_str(&lax), cases[i].lax ? cases[i].lax : cases[i].strict);
    }
}

TEST(typed_set)
{
    static const struct {
        const char *name, *value, *want;
    } cases[] = {
        {"scalars and leaves",                       "{'replicas':1,'args':['x'],'selector':{'a':'b'}}",
         "{'f:args':{},'f:replicas':{},'f:selector':{}}"                                                                                                          },
        {"entries of a free map are members",        "{'limits':{'cpu':'1'}}",
         "{'f:limits':{'f:cpu':{}}}"                                                                                                                              },
        {"an empty map is owned itself",             "{'limits':{}}",                                    "{'f:limits':{}}"                                        },
        {"an empty list of items is not",            "{'items':[],'tags':[]}",                           "{}"                                                     },
        {"items, their keys by default",             "{'items':[{'name':'a','value':'x'}]}",
         "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'.':{},'f:name':{},'f:value':{}}}"
         "}"                                                                                                                                                      },
        {"an item that stands twice is one thing",
         "{'items':[{'name':'a','value':'x'},{'name':'a','value':'y'}]}",                                "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{}}}"},
        {"a set",                                    "{'tags':['b','a']}",                               "{'f:tags':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}"             },
        {"untyped: maps are granular, lists atomic", "{'raw':{'a':{'b':1},'l':[1]}}",
         "{'f:raw':{'f:a':{'.':{},'f:b':{}},'f:l':{}}}"                                                                                                           },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        struct fieldset s = {0};
        test_case(cases[i].name);
        check_int(typed_set(&a, &thing_spec, thing_parse(&a, cases[i].value), &s, NULL), 0);
        check_set(&a, s, cases[i].want);
    }
}

TEST(typed_compare)
{
    /* want: removed, modified, added */
    static const struct {
        const char *name, *from, *to, *want;
    } cases[] = {
        {"nothing",                                "{'replicas':1}",           "{'replicas':1.0}",                                              "[{},{},{}]"               },
        {"a scalar",                               "{'replicas':1}",           "{'replicas':2}",                                                "[{},{'f:replicas':{}},{}]"},
        {"null is not absent",                     "{'replicas':null}",        "{}",                                                            "[{'f:replicas':{}},{},{}]"},
        {"a subtree with all its nodes",           "{}",                       "{'limits':{'a':'1'}}",
         "[{},{},{'f:limits':{'.':{},'f:a':{}}}]"                                                                                                                          },
        {"an item by its key, wherever it stands",
         "{'items':[{'name':'a','value':'1'},{'name':'b'}]}",                  "{'items':[{'name':'b'},{'name':'a','value':'2'}]}",
         "[{},{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'f:value':{}}}},{}]"                                                                                     },
        {"a set",                                  "{'tags':['a','b']}",       "{'tags':['b','c']}",
         "[{'f:tags':{'v:\\'a\\'':{}}},{},{'f:tags':{'v:\\'c\\'':{}}}]"                                                                                                    },
        {"another form",                           "{'raw':{'a':1}}",          "{'raw':2}",
         "[{'f:raw':{'f:a':{}}},{'f:raw':{}},{}]"                                                                                                                          },
        {"two in another order",
         "{'items':[{'name':'a','value':'1'},{'name':'a','value':'2'}]}",      "{'items':[{'name':'a','value':'2'},{'name':'a','value':'1'}]}",
         "[{},{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{}}},{}]"                                                                                                 },
        {"one becomes two",                        "{'items':[{'name':'a'}]}", "{'items':[{'name':'a'},{'name':'a'}]}",
         "[{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'.':{},'f:name':{}}}},{},"
         "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{}}}]"                                                                                                        },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *from = thing_parse(&a, cases[i].from);
        const struct json *to = thing_parse(&a, cases[i].to);
        struct typed_changes c = {0};
        struct json_arr got = arr_in(&a);
        test_case(cases[i].name);
        check_int(typed_compare(&a, &thing_spec, from, to, &c, NULL), 0);
        arr_add(&got, fieldset_write(&a, c.removed));
        arr_add(&got, fieldset_write(&a, c.modified));
        arr_add(&got, fieldset_write(&a, c.added));
        struct json v = arr_done(&got);
        check_same(json_text(&a, &v), json_text(&a, thing_parse(&a, cases[i].want)));
    }
}

TEST(typed_merge)
{
    static const struct {
        const char *name, *live, *config, *want;
    } cases[] = {
        {"what config leaves out stays",          "{'replicas':1,'name':'x'}",                         "{'replicas':2}",
         "{'replicas':2,'name':'x'}"                                                                                                                                                        },
        {"an atomic list is taken whole",         "{'args':['a','b']}",                                "{'args':['c']}",
         "{'args':['c']}"                                                                                                                                                                   },
        {"items keep their places",               "{'items':[{'name':'a'},{'name':'b'}]}",
         "{'items':[{'name':'b','value':'1'},{'name':'c'}]}",                                                               "{'items':[{'name':'a'},{'name':'b','value':'1'},{'name':'c'}]}"},
        {"the config's order counts for its own", "{'tags':['1','2','3']}",
         "{'tags':['3','1']}",                                                                                              "{'tags':['2','3','1']}"                                        },
        {"an empty map erases nothing",           "{'limits':{'a':'1'}}",                              "{'limits':{}}",
         "{'limits':{'a':'1'}}"                                                                                                                                                             },
        {"but is made",                           "{}",                                                "{'limits':{}}",     "{'limits':{}}"                                                 },
        {"null neither",                          "{'limits':{'a':'1'}}",                              "{'limits':null}",   "{'limits':{'a':'1'}}"                                          },
        {"null over a scalar",                    "{'replicas':1}",                                    "{'replicas':null}", "{'replicas':null}"                                             },
        {"another form",                          "{'raw':[1]}",                                       "{'raw':{'a':1}}",   "{'raw':{'a':1}}"                                               },
        {"two in live become one",                "{'items':[{'name':'a','value':'1'},{'name':'a'}]}",
         "{'items':[{'name':'a','value':'2'}]}",                                                                            "{'items':[{'name':'a','value':'2'}]}"                          },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *live = thing_parse(&a, cases[i].live);
        const struct json *config = thing_parse(&a, cases[i].config);
        const struct json *want = thing_parse(&a, cases[i].want), *got;
        test_case(cases[i].name);
        got = typed_merge(&a, &thing_spec, live, config, NULL);
        if (!json_eq(got, want))
            check_same(json_text(&a, got), json_text(&a, want));
        check(typed_merge(&a, &thing_spec, got, config, NULL) == got); /* idempotent */
    }
}

/* Lists past a few items go by a sorted index. */
TEST(typed_long_lists)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 18);
    struct json_arr l = arr_in(&a), m = arr_in(&a);
    struct json_obj x = obj_in(&a), y = obj_in(&a);
    struct typed_changes c = {0};

    for (int i = 0; i < 5000; i++) {
        arr_add(&l, json_of_str(str_printf(&a, "t%d", i)));
        arr_add(&m, json_of_str(str_printf(&a, "t%d", 5001 - i)));
    }
    obj_setz(&x, "tags", arr_done(&l));
    obj_setz(&y, "tags", arr_done(&m));
    struct json live = obj_done(&x), config = obj_done(&y);
    const struct json *got = typed_merge(&a, &thing_spec, &live, &config, NULL);
    check_int(json_len(json_getz(got, "tags")), 5002);
    check_int(typed_compare(&a, &thing_spec, &live, got, &c, NULL), 0);
    check_set(&a, c.added, "{'f:tags':{'v:\\'t5000\\'':{},'v:\\'t5001\\'':{}}}");
    check_int(c.removed.n + c.modified.n, 0);
}

TEST(typed_remove)
{
    static const char value[] = "{'replicas':1,'items':[{'name':'a','value':'x'},{'name':'b'}],"
                                "'limits':{'c':'1','d':'2'},'args':['z']}";
    static const struct {
        const char *name, *set, *removed, *extracted;
    } cases[] = {
        {"nothing",                             "{}",                                                      value, "null"                                },
        {"a leaf",                              "{'f:args':{}}",
         "{'replicas':1,'items':[{'name':'a','value':'x'},{'name':'b'}],"
         "'limits':{'c':'1','d':'2'}}",                                                                           "{'args':['z']}"                      },
        {"an item with all below",              "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{}}}",
         "{'replicas':1,'items':[{'name':'b'}],'limits':{'c':'1','d':'2'},'args':['z']}",                         "{'items':[{'name':'a','value':'x'}]}"},
        {"a field of an item",
         "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'f:value':{}}}}",                            "{'replicas':1,'items':[{'name':'a'},{'name':'b'}],'limits':{'c':'1','d':'2'},"
         "'args':['z']}",          "{'items':[{'value':'x'}]}"           },
        {"a container that is a member itself", "{'f:limits':{'.':{},'f:c':{}}}",
         "{'replicas':1,'items':[{'name':'a','value':'x'},{'name':'b'}],'args':['z']}",                           "{'limits':null}"                     },
        {"all entries of a map leave null",     "{'f:limits':{'f:c':{},'f:d':{}}}",
         "{'replicas':1,'items':[{'name':'a','value':'x'},{'name':'b'}],'limits':null,"
         "'args':['z']}",                                                                                         "{'limits':{'c':'1','d':'2'}}"        },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct fieldset item = {0};

    fieldset_read(
        &a,
        thing_parse(&a, "{'f:items':{'k:{\\'name\\':\\'a\\',\\'port\\':80}':{'f:value':{}}}}"),
        &item, NULL);
    check_samez(
        json_text(&a, typed_extract(&a, &thing_spec, thing_parse(&a, value), item, true, NULL)),
        "{\"items\":[{\"name\":\"a\",\"value\":\"x\"}]}");
    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *v = thing_parse(&a, value);
        struct fieldset s = {0};
        test_case(cases[i].name);
        check_int(fieldset_read(&a, thing_parse(&a, cases[i].set), &s, NULL), 0);
        check_same(json_text(&a, typed_remove(&a, &thing_spec, v, s)),
                   json_text(&a, thing_parse(&a, cases[i].removed)));
        if (s.n)
            check_same(json_text(&a, typed_extract(&a, &thing_spec, v, s, false, NULL)),
                       json_text(&a, thing_parse(&a, cases[i].extracted)));
    }
}

TEST(typed_reconcile)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct fieldset s = {0}, out;

    fieldset_read(&a, thing_parse(&a, "{'f:args':{'v:\\'a\\'':{}},'f:selector':{'f:x':{}}}"),
                  &s, NULL);
    check(typed_reconcile(&a, &thing_spec, s, &out));
    check_set(&a, out, "{'f:args':{},'f:selector':{}}");
    check(!typed_reconcile(&a, &thing_spec, out, &out));
    fieldset_read(&a, thing_parse(&a, "{'f:limits':{'f:x':{}},'f:raw':{'f:a':{}}}"), &s, NULL);
    check(!typed_reconcile(&a, &thing_spec, s, &out));
    check_set(&a, typed_named(&a, &thing_spec, s),
              "{'f:limits':{'.':{},'f:x':{}},'f:raw':{'.':{},'f:a':{}}}");
}

TEST(typed_guess)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    check_set(&a,
              typed_guess(&a, thing_parse(&a, "{'a':[{'name':'x','b':1},{'c':null}],'d':{}}")),
              "{'f:a':{'k:{\\'name\\':\\'x\\'}':{'f:b':{},'f:name':{}},'i:1':{'f:c':{}}}}");
}
