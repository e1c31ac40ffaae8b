/* strategic.c - strategic merge patch: apply, and patches made from documents */
#include "schema/strategic.h"
#include "base/testing.h"

/* Item: name, value; items: a list of Item by name; tags: a set; plain: replaced; labels: a
 * map; strategy: an Item with retainKeys; raw: untyped. Fields are by length, then by name. */
static const struct schema text = {.type = SCHEMA_STRING}, any = {.type = SCHEMA_ANY};
static const struct schema texts = {.type = SCHEMA_MAP, .value = &text};
static const struct schema_field item_fields[] = {
    {S_INIT("name"),  &text},
    {S_INIT("value"), &text}
};
static const struct schema item = {.type = SCHEMA_OBJECT, .fields = item_fields, .n_fields = 2};
static const struct schema kept = {
    .type = SCHEMA_OBJECT, .fields = item_fields, .n_fields = 2, .retain_keys = true};
static const struct schema items = {
    .type = SCHEMA_LIST, .item = &item, .merge = MERGE_MERGE, .merge_key = S_INIT("name")};
static const struct schema tags = {.type = SCHEMA_LIST, .item = &text, .merge = MERGE_MERGE};
static const struct schema plain = {.type = SCHEMA_LIST, .item = &text};
static const struct schema_field fields[] = {
    {S_INIT("raw"),      &any  },
    {S_INIT("tags"),     &tags },
    {S_INIT("items"),    &items},
    {S_INIT("plain"),    &plain},
    {S_INIT("labels"),   &texts},
    {S_INIT("strategy"), &kept },
};
static const struct schema root = {.type = SCHEMA_OBJECT, .fields = fields, .n_fields = 6};

/* 'single' quotes stand for double ones. */
static const struct json *parse(struct arena *a, const char *z)
{
    char *copy;

    if (!z)
        return NULL;
    copy = str_z(a, str_from(z));
    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    const struct json *v = json_parse(a, str_from(copy), NULL, NULL);
    check(v);
    return v;
}

static void check_result(struct arena *a, const struct json *got, const struct err *err,
                         const char *want)
{
    const struct json *v = want[0] == '{' ? parse(a, want) : NULL;

    if (!got)
        check_samez(str_slice(err_str(err), 0, strlen(want)), want);
    else if (!v || !json_eq(got, v))
        check_samez(json_text(a, got), want);
}

TEST(schema_strategic_apply)
{
    static const struct {
        const char *name, *live, *patch, *want;
    } cases[] = {
        {"members merge, null takes out",                             "{'labels':{'a':'1','b':'2'}}",
         "{'labels':{'a':null,'c':'3'}}",                                                                                                                                        "{'labels':{'b':'2','c':'3'}}"                                    },
        {"a plain list is replaced",                                  "{'plain':['a','b']}",                                "{'plain':['c']}",
         "{'plain':['c']}"                                                                                                                                                                                                                         },
        {"a set is united",                                           "{'tags':['a','b']}",                                 "{'tags':['b','c']}",
         "{'tags':['a','b','c']}"                                                                                                                                                                                                                  },
        {"what is new in a set goes before what only the server has", "{'tags':['a']}",
         "{'tags':['b']}",                                                                                                                                                       "{'tags':['b','a']}"                                              },
        {"a list that replaces has its keys",                         "{'items':[{'name':'a'}]}",
         "{'items':[{'$patch':'replace'},{'value':'1'}]}",                                                                                                                       "map: {\"value\":\"1\"} does not contain declared merge key: name"},
        {"items merge by key; new ones go behind those they follow",
         "{'items':[{'name':'a','value':'1'},{'name':'b'}]}",                                                               "{'items':[{'name':'c'},{'name':'a','value':'2'}]}",
         "{'items':[{'name':'c'},{'name':'a','value':'2'},{'name':'b'}]}"                                                                                                                                                                          },
        {"an item that stood in front stays there",                   "{'items':[{'name':'x'},{'name':'a'}]}",
         "{'items':[{'name':'a','value':'2'},{'name':'b'}]}",                                                                                                                    "{'items':[{'name':'x'},{'name':'a','value':'2'},{'name':'b'}]}"  },
        {"an item is deleted",                                        "{'items':[{'name':'a'},{'name':'b'}]}",
         "{'items':[{'$patch':'delete','name':'a'}]}",                                                                                                                           "{'items':[{'name':'b'}]}"                                        },
        {"a list is replaced by directive",                           "{'items':[{'name':'a'},{'name':'b'}]}",
         "{'items':[{'$patch':'replace'},{'name':'c'}]}",                                                                                                                        "{'items':[{'name':'c'}]}"                                        },
        {"a map is replaced by directive",                            "{'labels':{'a':'1'}}",
         "{'labels':{'$patch':'replace','b':'2'}}",                                                                                                                              "{'labels':{'b':'2'}}"                                            },
        {"a map is emptied",                                          "{'labels':{'a':'1'}}",                               "{'labels':{'$patch':'delete'}}",
         "{'labels':{}}"                                                                                                                                                                                                                           },
        {"only these keys stay",                                      "{'strategy':{'name':'a','value':'1'}}",
         "{'strategy':{'$retainKeys':['name'],'name':'b'}}",                                                                                                                     "{'strategy':{'name':'b'}}"                                       },
        {"the order is the patch's",                                  "{'items':[{'name':'a'},{'name':'b'},{'name':'x'}]}",
         "{'$setElementOrder/items':[{'name':'b'},{'name':'a'}]}",                                                                                                               "{'items':[{'name':'b'},{'name':'a'},{'name':'x'}]}"              },
        {"values leave a set",                                        "{'tags':['a','b','c']}",
         "{'$deleteFromPrimitiveList/tags':['a','c']}",                                                                                                                          "{'tags':['b']}"                                                  },
        {"nulls with nothing to take out go",                         "{}",                                                 "{'labels':{'a':null,'b':'1'}}",
         "{'labels':{'b':'1'}}"                                                                                                                                                                                                                    },
        {"an item without its key",                                   "{'items':[{'name':'a'}]}",                           "{'items':[{'value':'1'}]}",
         "map: {\"value\":\"1\"} does not contain declared merge key: name"                                                                                                                                                                        },
        {"an order that the patch breaks",                            "{'tags':['a']}",
         "{'tags':['c','b'],'$setElementOrder/tags':['b','c']}",                                                                                                                 "the order in the patch list"                                     },
        {"an unknown directive",                                      "{'labels':{}}",                                      "{'labels':{'$patch':'mend'}}",
         "unknown $patch directive"                                                                                                                                                                                                                },
        {"a key that is not kept",                                    "{'strategy':{}}",
         "{'strategy':{'$retainKeys':['name'],'value':'1'}}",                                                                                                                    "$retainKeys does not list"                                       },
        {"objects below untyped ones do not merge",                   "{'raw':{'a':{'b':1}}}",
         "{'raw':{'a':{'b':2}}}",                                                                                                                                                "unable to find api field 'a'"                                    },
        {"no live object",                                            NULL,                                                 "{'plain':['a']}",                                   "{'plain':['a']}"                                                 },
        {"no object",                                                 "{}",                                                 "[]",                                                "the patch must be an object"                                     },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].name);
        check_result(&a,
                     schema_strategic_apply(&a, &root, parse(&a, cases[i].live),
                                            parse(&a, cases[i].patch), &err),
                     &err, cases[i].want);
    }
}

TEST(schema_strategic_diff)
{
    static const struct {
        const char *name, *from, *to, *want;
    } cases[] = {
        {"nothing",        "{'labels':{'a':'1'}}",                              "{'labels':{'a':'1'}}",      "{}"                                                    },
        {"deep",           "{'labels':{'a':'1','b':'2'}}",                      "{'labels':{'a':'2'}}",
         "{'labels':{'a':'2','b':null}}"                                                                                                                             },
        {"items",          "{'items':[{'name':'a','value':'1'},{'name':'b'}]}",
         "{'items':[{'name':'c'},{'name':'a','value':'2'}]}",                                                "{'items':[{'name':'c'},{'name':'a','value':'2'},{'$patch':'delete','name':'b'}],"
         "'$setElementOrder/items':[{'name':'c'},{'name':'a'}]}"                                        },
        {"only the order", "{'items':[{'name':'a'},{'name':'b'}]}",
         "{'items':[{'name':'b'},{'name':'a'}]}",                                                            "{'$setElementOrder/items':[{'name':'b'},{'name':'a'}]}"},
        {"a set",          "{'tags':['a','b']}",                                "{'tags':['c','b']}",
         "{'tags':['c'],'$deleteFromPrimitiveList/tags':['a'],"
         "'$setElementOrder/tags':['c','b']}"                                                                                                                        },
        {"kept keys",      "{'strategy':{'name':'a','value':'1'}}",             "{'strategy':{'name':'a'}}",
         "{'strategy':{'value':null,'$retainKeys':['name']}}"                                                                                                        },
        {"from nothing",   NULL,                                                "{'tags':['a']}",            "{'tags':['a']}"                                        },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        const struct json *from = parse(&a, cases[i].from), *to = parse(&a, cases[i].to);
        struct err err = {0};
        test_case(cases[i].name);
        const struct json *patch = schema_strategic_diff(&a, &root, from, to, &err);
        check_result(&a, patch, &err, cases[i].want);
        check(json_eq(schema_strategic_apply(&a, &root, from, patch, &err), to));
    }
}

TEST(schema_strategic_three_way)
{
    static const struct {
        const char *name, *original, *modified, *current, *want;
        bool overwrite;
    } cases[] = {
        {"others' additions stay",        "{'labels':{'a':'1'}}",                  "{'labels':{'a':'2'}}",
         "{'labels':{'a':'1','b':'x'}}",                                                                                                                         "{'labels':{'a':'2'}}",                false},
        {"what is no longer wanted goes", "{'items':[{'name':'a'},{'name':'b'}]}",
         "{'items':[{'name':'a'}]}",                                                                       "{'items':[{'name':'a'},{'name':'b'},{'name':'c'}]}",
         "{'items':[{'$patch':'delete','name':'b'}],'$setElementOrder/items':[{'name':'a'}]}",                                                                                                          false},
        {"two changes of one field",      "{'labels':{'a':'1'}}",                  "{'labels':{'a':'2'}}",
         "{'labels':{'a':'3'}}",                                                                                                                                 "the patch changes what someone else", false},
        {"ours wins",                     "{'labels':{'a':'1'}}",                  "{'labels':{'a':'2'}}", "{'labels':{'a':'3'}}",
         "{'labels':{'a':'2'}}",                                                                                                                                                                        true },
        {"nothing to do",                 "{'tags':['a']}",                        "{'tags':['a']}",       "{'tags':['a']}",                                     "{}",                                  false},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);

    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        test_case(cases[i].name);
        check_result(&a,
                     schema_strategic_three_way(
                         &a, &root, parse(&a, cases[i].original), parse(&a, cases[i].modified),
                         parse(&a, cases[i].current), cases[i].overwrite, &err),
                     &err, cases[i].want);
    }
}

TEST(schema_strategic_work)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct json_arr list = arr_in(&a);
    struct json_obj o = obj_in(&a);
    struct err err = {0};

    for (int i = 0; i < 20000; i++)
        arr_add(&list, json_of_i64(i));
    obj_setz(&o, "tags", arr_done(&list));
    struct json big = obj_done(&o);
    check(!schema_strategic_apply(&a, &root, &big, &big, &err));
    check_err(&err, ERR_LIMIT, "steps");
}

/* ---- patches of random documents ---- */

static uint32_t pick(uint64_t *x, uint32_t n)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (uint32_t)(*x >> 33) % n;
}

static struct json word(uint64_t *x)
{
    static const struct str words[] = {S_INIT("a"), S_INIT("b"), S_INIT("c"), S_INIT("d")};

    return json_of_str(words[pick(x, countof(words))]);
}

static int by_text(const struct json *a, const struct json *b)
{
    return json_cmp(a, b);
}

/* Some of a, b, c, d: sorted, or in any order as items. (As upstream, a diff compares the order
 * of a set with the sorted one, and so misses some changes of the order alone.) */
static struct json some(struct arena *a, uint64_t *x, bool are_items)
{
    struct json_arr l = arr_in(a);
    unsigned seen = 0;

    for (uint32_t n = pick(x, 5); n > 0; n--) {
        struct json w = word(x);
        if (seen & 1u << (w.s[0] - 'a'))
            continue;
        seen |= 1u << (w.s[0] - 'a');
        struct json_obj o = obj_in(a);
        obj_setz(&o, "name", w);
        if (pick(x, 2))
            obj_setz(&o, "value", word(x));
        arr_add(&l, are_items ? obj_done(&o) : w);
    }
    if (!are_items)
        vec_sort(&l.items, by_text);
    return arr_done(&l);
}

static const struct json *random_document(struct arena *a, uint64_t *x)
{
    struct json_obj o = obj_in(a), labels = obj_in(a), strategy = obj_in(a);

    if (pick(x, 3))
        obj_setz(&o, "items", some(a, x, true));
    if (pick(x, 3))
        obj_setz(&o, "tags", some(a, x, false));
    if (pick(x, 3))
        obj_setz(&o, "plain", some(a, x, false));
    for (uint32_t n = pick(x, 4); n > 0; n--) {
        struct json name = word(x);
        obj_set(&labels, json_str(&name), word(x));
    }
    if (labels.members.len)
        obj_setz(&o, "labels", obj_done(&labels));
    obj_setz(&strategy, "name", word(x));
    if (pick(x, 2))
        obj_setz(&strategy, "value", word(x));
    if (pick(x, 2))
        obj_setz(&o, "strategy", obj_done(&strategy));
    return json_new(a, obj_done(&o));
}

/* A patch made from a -> b and applied to a gives b; of b it changes nothing; and with nobody
 * else at work three documents give what two give. */
TEST(schema_strategic_there_and_back)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < 5000; i++) {
        const struct json *from = random_document(&a, &x), *to = random_document(&a, &x);
        struct err err = {0};
        const struct json *patch = schema_strategic_diff(&a, &root, from, to, &err), *got;
        check_same(err_str(&err), S(""));
        got = schema_strategic_apply(&a, &root, from, patch, &err);
        if (!json_eq(got, to)) {
            check_same(json_text(&a, got), json_text(&a, to));
            check_same(json_text(&a, patch), json_text(&a, from));
            return;
        }
        check_int(json_len(schema_strategic_diff(&a, &root, to, to, &err)), 0);
        patch = schema_strategic_three_way(&a, &root, from, to, from, false, &err);
        if (!check(patch && json_eq(schema_strategic_apply(&a, &root, from, patch, &err), to)))
            return;
        arena_reset(&a);
    }
}
