/* program.c - issues, printing back, limits, unknowns, versions */
#include "base/testing.h"
#include "cel/authz.h"

static struct cel_env *env_of(enum cel_env_kind kind, int version)
{
    struct cel_env_spec spec = {.kind = kind, .version = version};
    struct cel_env *env = cel_env_new(&spec);

    cel_env_var(env, S("x"), &cel_type_dyn, 0, 0);
    cel_env_var(env, S("y"), &cel_type_dyn, 0, 0);
    return env;
}

TEST(issues)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"a caret below the place",      "1 +\n  * 2",
         "ERROR: <input>:2:3: Syntax error: mismatched input '*' expecting {'[', '{', '(', "
         "'.', '-', '!', IDENTIFIER, literal}\n |   * 2\n | ..^"                       },
        {"several in one pass",          "[1 +, 2 *]",
         "ERROR: <input>:1:5: Syntax error: mismatched input ',' expecting {'[', '{', '(', "
         "'.', '-', '!', IDENTIFIER, literal}\n | [1 +, 2 *]\n | ....^\n"
         "ERROR: <input>:1:10: Syntax error: mismatched input ']' expecting {'[', '{', '(', "
         "'.', '-', '!', IDENTIFIER, literal}\n | [1 +, 2 *]\n | .........^"           },
        {"columns are code points",      "'\xc3\xa4' + foo",
         "ERROR: <input>:1:7: undeclared reference to 'foo' (in container '')\n"
         " | '\xc3\xa4' + foo\n | .\xef\xbc\x8e....^"                                  },
        {"every name that is not known", "foo + bar",
         "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo + bar\n"
         " | ^\nERROR: <input>:1:7: undeclared reference to 'bar' (in container '')\n"
         " | foo + bar\n | ......^"                                                    },
        {"the overloads there are",      "'a'.charAt('b')",
         "ERROR: <input>:1:11: found no matching overload for 'charAt' applied to "
         "'string.(string)'; it takes string.(int)\n | 'a'.charAt('b')\n | ..........^"},
        {"a word that is reserved",      "while",
         "ERROR: <input>:1:1: reserved identifier: while\n"
         " | while\n | ^"                                                              },
        {"bytes that are no text",       "'\xff'",
         "ERROR: <input>:1:1: expression is not valid UTF-8\n | '\xff'\n | ^"          },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = env_of(CEL_ENV_BASE, CEL_STORED);

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        test_case(rows[i].name);
        check(cel_compile(env, str_from(rows[i].text), NULL, &issues) == NULL);
        check_samez(cel_issues_text(&a, &issues, str_from(rows[i].text)), rows[i].want);
    }
    cel_env_free(env);
}

TEST(printing_back)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"1+2*3",                      "1 + 2 * 3"                        },
        {"(1+2)*3",                    "(1 + 2) * 3"                      },
        {"1-(2-3)",                    "1 - (2 - 3)"                      },
        {"a&&(b||c)&&!d",              "a && (b || c) && !d"              },
        {"(a?b:c)?d:e",                "(a ? b : c) ? d : e"              },
        {"- -x",                       "x"                                },
        {"-(-1)",                      "-(-1)"                            },
        {"!(-1)",                      "!(-1)"                            },
        {"-(1)",                       "-(1)"                             },
        {"(-1.5).f()",                 "-1.5.f()"                         },
        {"-(1.5.f()[0].g)",            "-(1.5.f()[0].g)"                  },
        {"!(-1.5.f())",                "!(-1.5.f())"                      },
        {"[1,?a.?b][?0].all(x,x>0u)",  "[1, ?a.?b][?0].all(x, x > 0u)"    },
        {"!_()",                       "!_()"                             },
        {"-_f(1)",                     "-_f(1)"                           },
        {"T{f:1,`g-h`:has(a.b)}",      "T{f: 1, `g-h`: has(a.b)}"         },
        {"{'a\\n':b'\\xff',1.0:null}", "{\"a\\n\": b\"\\xff\", 1.0: null}"},
        {"cel.bind(v,1,v).`x y`",      "cel.bind(v, 1, v).`x y`"          },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = env_of(CEL_ENV_LANGUAGE, CEL_STORED);

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        test_case(rows[i].text);
        struct str once = cel_unparse(&a, env, str_from(rows[i].text), &issues);
        check_samez(once, rows[i].want);
        check_same(cel_unparse(&a, env, once, &issues), once);
    }
    cel_env_free(env);
}

TEST(versions)
{
    static const struct {
        const char *name, *text;
        int version;
        const char *want;
    } rows[] = {
        {"known since then",                    "ip('::1')",       30,         ""},
        {"not yet known",                       "ip('::1')",       29,
         "undeclared reference to 'ip' (in container ''); known since 1.30"      },
        {"a function that older releases lack", "[1].includes(1)", 36,
         "undeclared reference to 'includes' (in container ''); known since 1.37"},
        {"stored expressions know all",         "[1].includes(1)", CEL_STORED, ""},
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_env *env = env_of(CEL_ENV_BASE, rows[i].version);
        struct cel_issues issues = {.arena = &a};
        test_case(rows[i].name);
        struct cel_program *p = cel_compile(env, str_from(rows[i].text), NULL, &issues);
        check_samez(p ? S("") : issues.list.at[0].text, rows[i].want);
        cel_program_free(p);
        cel_env_free(env);
    }
}

#define EIGHTFOLD ".map(a, a + a + a + a + a + a + a + a)"

TEST(limits)
{
    static const char loop[] = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, "
                               "a + b > 0))";
    static const struct {
        const char *name, *text;
        uint64_t limit, steps;
        bool is_canceled;
        const char *want;
        int64_t cost;
    } rows[] = {
        {"the cost stops right behind the limit", loop,                                       50, 0, false,
         "error: operation cancelled: actual cost limit exceeded",                                                                                               51},
        {"nothing absorbs the limit",             "(x.map(a, a).size() > 9 || true) && true", 2,  0, false,
         "error: operation cancelled: actual cost limit exceeded",                                                                                               3 },
        {"steps are bounded",                     loop,                                       0,  5, false,
         "error: operation cancelled: step limit exceeded",                                                                                                      -1},
        {"a cancel is seen in loops",             "lists.range(1000).all(a, a >= 0)",         0,  0, true,
         "error: operation interrupted",                                                                                                                         -1},
        {"doubling lists cost no memory",
         "[x].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a)[0].size()",             0,  0, false,
         "16",                                                                                                                                                   -1},
        {"but there is an end to it",
         "[lists.range(17)]" EIGHTFOLD EIGHTFOLD EIGHTFOLD EIGHTFOLD EIGHTFOLD EIGHTFOLD
             EIGHTFOLD "[0].size()",
         0,                                                                                       0, false, "error: operation cancelled: memory limit exceeded", -1},
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = env_of(CEL_ENV_BASE, CEL_STORED);
    struct cel_value one = cel_int(1), vars[2] = {cel_list(&one, 1), cel_int(2)};
    bool yes = true;

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(env, str_from(rows[i].text), NULL, &issues);
        struct cel_run run = {
            .arena = &a, .vars = vars, .limit = rows[i].limit, .steps = rows[i].steps};
        test_case(rows[i].name);
        if (rows[i].is_canceled)
            run.cancel = &yes;
        check_samez(cel_show(&a, cel_eval(p, &run)), rows[i].want);
        if (rows[i].cost >= 0)
            check_int(run.cost, rows[i].cost);
        cel_program_free(p);
    }
    cel_env_free(env);
}

/* Texts too large to be written down: `part` n times between the ends. */
TEST(too_much)
{
    static const struct {
        const char *name, *from, *part;
        size_t n;
        const char *to, *want;
    } rows[] = {
        {"an expression that is too long", "'",    "\xc3\xa4",       100000, "'",
         "expression code point size exceeds limit: size: 100002, limit 100000"                                        },
        {"one that is just short enough",  "'",    "\xc3\xa4",       99998,  "'",        ""                            },
        {"parentheses nested too deeply",  "",     "(",              300,    "1",
         "expression recursion limit exceeded: 250"                                                                    },
        {"a tree that is too deep",        "1",    " + 1",           300,    "",         "max recursion depth exceeded"},
        {"a chain of && is balanced",      "true", " && true",       3000,   "",         ""                            },
        {"however long it is",             "true", " || false",      10000,  "",         ""                            },
        {"too many macro calls",           "[0",   ", [].all(x, x)", 1001,   "].size()",
         "more than 1000 macro calls"                                                                                  },
        {"too many parts",                 "x",    ".map(a, a + a)", 249,    "",         "max recursion depth exceeded"},
        {"more errors than are told",      "[1",   ", 2 *",          200,    "]",
         "Syntax error: mismatched input ',' expecting {'[', '{', '(', '.', '-', '!', "
         "IDENTIFIER, literal}"                                                                                        },
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct cel_env *env = env_of(CEL_ENV_LANGUAGE, CEL_STORED);

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct buf b = buf_in(&a, 1 << 10);
        test_case(rows[i].name);
        buf_add(&b, str_from(rows[i].from));
        for (size_t k = 0; k < rows[i].n; k++)
            buf_add(&b, str_from(rows[i].part));
        buf_add(&b, str_from(rows[i].to));
        struct cel_program *p = cel_compile(env, buf_str(&b), NULL, &issues);
        check_samez(p ? S("") : issues.list.at[0].text, rows[i].want);
        check(issues.list.len <= CEL_MAX_ISSUES + 1);
        cel_program_free(p);
        arena_reset(&a);
    }
    cel_env_free(env);
}

TEST(patterns_take_linear_time)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct cel_env *env = env_of(CEL_ENV_BASE, CEL_STORED);
    char *text = memset(arena_raw(&a, 1 << 19, 1), 'a', 1 << 19);
    struct cel_value vars[2] = {cel_text(str_of(text, 1 << 19)), cel_null()};
    struct cel_issues issues = {.arena = &a};
    struct cel_program *p =
        cel_compile(env, S("x.matches('^(a+)+$') && !x.matches('^(a|aa)+b$')"), NULL, &issues);
    struct cel_run run = {.arena = &a, .vars = vars};

    check_samez(cel_show(&a, cel_eval(p, &run)), "true");
    cel_program_free(p);
    cel_env_free(env);
}

TEST(unknowns)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"the path that is not known",         "x.a.b == 1",        "unknown: x.a.b" },
        {"a false needs no unknown",           "x.a == 1 && false", "false"          },
        {"a true needs no unknown",            "true || x",         "true"           },
        {"an unknown outranks an error",       "1 / 0 == 1 || x.a", "unknown: x.a"   },
        {"several are told",                   "x.a + y == 3",      "unknown: y, x.a"},
        {"the other branch is not asked",      "y == 2 ? 1 : x",    "unknown: y"     },
        {"a conversion waits for its operand", "int(x) == 1",       "unknown: x"     },
    };
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *env = env_of(CEL_ENV_BASE, CEL_STORED);
    struct cel_value vars[2] = {cel_unknown_of(&a, S("x")), cel_unknown_of(&a, S("y"))};

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(env, str_from(rows[i].text), NULL, &issues);
        struct cel_run run = {.arena = &a, .vars = vars};
        test_case(rows[i].name);
        check_samez(cel_show(&a, cel_eval(p, &run)), rows[i].want);
        cel_program_free(p);
    }
    cel_env_free(env);
}

/* Folding changes no value, and a cost only where the environment says that it folds. */
TEST(folding)
{
    static const char *const rows[] = {
        "[1, 2, 3].all(v, v in [3, 2, 1])",
        "'b' in ['a', 'b', 'c', 'd', 'e'] && int('7') == 7",
        "[duration('1h'), duration('60m')].max() == duration('1h')",
        "{'a': {'b': [1, 2]}}.a.b.map(v, v * 2) == [2, 4]",
        "'x'.matches('[a-z]') && 'abc'.find('b+') == 'b'",
        "type(1) == int && string(1.5) == '1.5' && quantity('1k') == quantity('1000')",
    };
    struct cel_env_spec spec = {.kind = CEL_ENV_BASE, .version = CEL_STORED}, plain = spec;
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct cel_env *folds, *keeps;

    plain.no_fold = true;
    folds = cel_env_new(&spec), keeps = cel_env_new(&plain);
    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(folds, str_from(rows[i]), NULL, &issues);
        struct cel_program *q = cel_compile(keeps, str_from(rows[i]), NULL, &issues);
        struct cel_run one = {.arena = &a}, two = {.arena = &a};
        test_case(rows[i]);
        check_samez(cel_show(&a, cel_eval(p, &one)), "true");
        check_samez(cel_show(&a, cel_eval(q, &two)), "true");
        check(one.cost <= two.cost);
        check(two.cost <= cel_program_estimate(q).max);
        cel_program_free(p);
        cel_program_free(q);
    }
    cel_env_free(folds);
    cel_env_free(keeps);
}

/* The estimate is an upper bound but for what upstream itself counts too low. */
TEST(known_underestimates)
{
    static const char *const rows[] = {
        "format.uri().validate('a b').hasValue()", /* the pattern is longer than assumed */
        "optional.of({'a': 1}).value().a == 1",    /* a chain on a computed root costs 1 more */
    };
    struct cel_env_spec spec = {.kind = CEL_ENV_BASE, .version = CEL_STORED, .no_fold = true};
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cel_env *env = cel_env_new(&spec);

    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(env, str_from(rows[i]), NULL, &issues);
        struct cel_run run = {.arena = &a};
        test_case(rows[i]);
        check(p != NULL);
        cel_eval(p, &run);
        check(run.cost > cel_program_estimate(p).max);
        cel_program_free(p);
    }
    cel_env_free(env);
}

TEST(policies)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"a request has declared fields",     "request.userInfo.username.startsWith('system:')",
         ""                                                                                                                },
        {"and no others",                     "request.user == 'x'",                               "undefined field 'user'"},
        {"objects are what they are",         "object.spec.replicas > 3 && !has(oldObject.spec)",  ""                      },
        {"the authorizer is asked by chains",
         "authorizer.group('').resource('pods').namespace('x').check('get').allowed()",            ""                      },
        {"a variable may have a dot",         "authorizer.requestResource.check('get').allowed()", ""                      },
        {"labels of the namespace are texts", "namespaceObject.metadata.labels['a'] == 1",
         "found no matching overload for '_==_' applied to '(string, int)'"                                                },
    };
    struct cel_env_spec spec = {.kind = CEL_ENV_ADMISSION, .version = CEL_STORED};
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cel_env *env = cel_env_new(&spec);

    check(cel_env_index(env, S("params")) >= 0);
    check_int(cel_env_index(env, S("self")), -1);
    for (size_t i = 0; i < countof(rows); i++) {
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(env, str_from(rows[i].text), NULL, &issues);
        test_case(rows[i].name);
        check_samez(p ? S("") : issues.list.at[0].text, rows[i].want);
        cel_program_free(p);
    }
    cel_env_free(env);
}

static struct cel_decision allow_all(const struct cel_authz *authz, struct arena *a,
                                     const struct cel_authz_question *q)
{
    (void)authz;
    return (struct cel_decision){
        .is_allowed = true,
        .reason = str_printf(a, "%.*s/%.*s may %.*s", STR_ARG(q->account_namespace),
                             STR_ARG(q->account_name), STR_ARG(q->verb))};
}

TEST(service_accounts)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"the host hears who asks",             "('ns', 'a.b').path('/x').check('get').reason()",
         "\"ns/a.b may get\""                                                                                                          },
        {"an account's name has no empty part",
         "('ns', 'a..b').path('/x').check('get').reason()",                                       "error: Invalid service account name"},
        {"a namespace's name has no dots",      "('n.s', 'a').path('/x').check('get').reason()",
         "error: Invalid service account namespace"                                                                                    },
    };
    struct cel_env_spec spec = {.kind = CEL_ENV_ADMISSION, .version = CEL_STORED};
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cel_env *env = cel_env_new(&spec);
    struct cel_authz authz = {.decide = allow_all};
    struct cel_value vars[16] = {0};

    vars[cel_env_index(env, S("authorizer"))] = cel_authorizer(&a, &authz);
    for (size_t i = 0; i < countof(rows); i++) {
        struct str text = str_printf(&a, "authorizer.serviceAccount%s", rows[i].text);
        struct cel_issues issues = {.arena = &a};
        struct cel_program *p = cel_compile(env, text, NULL, &issues);
        struct cel_run run = {.arena = &a, .vars = vars};
        test_case(rows[i].name);
        check_samez(cel_show(&a, cel_eval(p, &run)), rows[i].want);
        cel_program_free(p);
    }
    cel_env_free(env);
}
