/* eval.c - rows of expressions and what they come to, without variables */
#include "base/testing.h"
#include "cel/test/rows.h"

struct row {
    const char *name, *text, *want;
};

static void run_rows(enum cel_env_kind kind, const struct row *rows, size_t n)
{
    struct cel_env_spec spec = {.kind = kind, .version = CEL_STORED};
    struct cel_env *env = cel_env_new(&spec);
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < n; i++) {
        test_case(rows[i].name);
        check_samez(test_cel(&a, env, rows[i].text), rows[i].want);
        arena_reset(&a);
    }
    cel_env_free(env);
}

TEST(language)
{
    static const struct row rows[] = {
        {"arithmetic follows precedence",               "1 + 2 * 3 - 8 / 4",                                   "5"                                              },
        {"whole numbers do not wrap",                   "9223372036854775807 + 1",                             "error: integer overflow"                        },
        {"the least int can be written",                "-9223372036854775808",                                "-9223372036854775808"                           },
        {"the least int has no negative",               "-(-9223372036854775808)",                             "error: integer overflow"                        },
        {"the least int has no quotient by -1",         "-9223372036854775808 / -1",
         "error: integer overflow"                                                                                                                              },
        {"division cuts towards zero",                  "[-7 / 2, -7 % 2]",                                    "[-3, -1]"                                       },
        {"a false absorbs an error before it",          "1 / 0 == 1 && false",                                 "false"                                          },
        {"a true absorbs an error before it",           "1 / 0 == 1 || true",                                  "true"                                           },
        {"an error stays where nothing decides",        "1 / 0 == 1 && true",
         "error: division by zero"                                                                                                                              },
        {"only the branch taken is evaluated",          "true ? 1 : 1 / 0",                                    "1"                                              },
        {"numbers of all kinds compare",                "1 < 1.5 && 2u > 1 && dyn(1) == 1.0",                  "true"                                           },
        {"NaN is unequal to itself",                    "0.0 / 0.0 == 0.0 / 0.0",                              "false"                                          },
        {"all stops at a false behind an error",        "[0, 2].all(x, 1 / x == 1)",                           "false"                                          },
        {"exists stops at a true behind an error",      "[0, 1].exists(x, 1 / x == 1)",                        "true"                                           },
        {"the error of exists_one stays as it was",     "[[], [1]].exists_one(x, x[0] == 1)",
         "error: index out of bounds: 0"                                                                                                                        },
        {"the first of a loop's errors counts",         "[1, 2].map(x, [0][x])",
         "error: index out of bounds: 1"                                                                                                                        },
        {"a number has nothing to walk over",           "dyn(1).all(x, true)",
         "error: got 'types.Int', expected iterable type"                                                                                                       },
        {"nor has it two variables",                    "dyn('a').exists(i, v, true)",
         "error: unsupported comprehension range type: types.String"                                                                                            },
        {"no type holds itself",                        "cel.bind(l, [], [l] == l)",
         "check: found no matching overload for '_==_' applied to '(list(list(_var1)), "
         "list(_var1))'"                                                                                                                                        },
        {"map collects",                                "[1, 2, 3].map(x, x > 1, x * x)",                      "[4, 9]"                                         },
        {"filter over a map gives keys",                "{'a': 1, 'b': 2}.filter(k, k != 'a')",                "[\"b\"]"                                        },
        {"two variables see index and value",           "['a', 'b'].transformMap(i, v, v)",
         "{0: \"a\", 1: \"b\"}"                                                                                                                                 },
        {"an inserted key must be new",                 "['a', 'a'].transformMapEntry(i, v, {v: i})",
         "error: insert failed: key a already exists"                                                                                                           },
        {"so must a number in another form",
         "[1,2,3,4,5,6,7,8,9,10,dyn(10u)].transformMapEntry(i, v, {v: i})",                                    "error: insert failed: key 10u already exists"   },
        {"a large map is made in the time of its size",
         "lists.range(200000).transformMap(i, v, -v)[199999]",                                                 "-199999"                                        },
        {"what is not there takes a key away",
         "{1:1,2:2,3:3,4:4,5:5,6:6,7:7,8:8,9:9,10:10,?9:optional.none(),11:11}.size()",                        "10"                                             },
        {"a binding that is not read is not evaluated", "cel.bind(x, 1 / 0, true)",                            "true"                                           },
        {"strings count code points",
         "'gr\xc3\xb6\xc3\x9f"
         "e'.size()",                                                                                          "5"                                              },
        {"an optional chain ends where nothing is",     "{'a': {'b': 1}}.?x.b.orValue(7)",                     "7"                                              },
        {"optMap maps what is there",                   "optional.of(2).optMap(x, x * 21).value()",            "42"                                             },
        {"a repeated key is refused",                   "{1: 2, 1u: 3}",                                       "error: Failed with repeated key: 1u"            },
        {"long concatenations are views",               "lists.range(40).map(x, x) + [1] == lists.range(40)",
         "false"                                                                                                                                                },
        {"deep recursion is refused",
         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "[[["
         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "[[["
         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "[",                                                                                                  "check: expression recursion limit exceeded: 250"},
        {"zones come from the database",
         "timestamp('2024-07-01T00:00:00Z').getHours('America/New_York')",                                     "20"                                             },
        {"an offset is a zone too",                     "timestamp('2024-07-01T00:00:00Z').getDate('-02:30')",
         "30"                                                                                                                                                   },
    };

    run_rows(CEL_ENV_LANGUAGE, rows, countof(rows));
}

TEST(kubernetes)
{
    static const struct row rows[] = {
        {"mixed lists are legal under format",            "'%s|%d|%f'.format(['x', -3, 2.5])",
         "\"x|-3|2.500000\""                                                                                                                   },
        {"mixed lists are refused elsewhere",             "[1, 'a'].size() == 2",
         "check: expected type 'int' but found 'string'"                                                                                       },
        {"a bad duration is seen when written",           "duration('1d')",
         "check: invalid duration argument"                                                                                                    },
        {"a conversion that cannot be fails the program", "int('x') == 0",
         "program: type conversion error from 'string' to 'int'"                                                                               },
        {"too many arguments are seen",                   "'none'.format([1])",
         "check: too many arguments supplied to string.format (expected 0, got 1)"                                                             },
        {"quantities compare by value",                   "quantity('1.5Ki') == quantity('1536')",            "true"                           },
        {"the last of repeated keys wins",                "{'a': 1, 'b': 3, 'a': 2}",                         "{\"a\": 2, \"b\": 3}"           },
        {"lists keep what Kubernetes adds",               "[3, 1, 2].sort().isSorted()",                      "true"                           },
        {"an empty list has no maximum",                  "[].max()",                                         "error: max called on empty list"},
        {"semver may be put right first",                 "semver('v01.1', true).compareTo(semver('1.1.0'))",
         "0"                                                                                                                                   },
        {"a name that is nearly known is told",           "isQuantiy('1')",
         "check: undeclared reference to 'isQuantiy' (in container ''), did you mean "
         "'isQuantity'?"                                                                                                                       },
        {"cel.bind is for devices only",                  "cel.bind(a, 1, a)",
         "check: undeclared reference to 'cel' (in container '')"                                                                              },
        {"a format says what is wrong",                   "format.byte().validate('aGk').value()",
         "[\"invalid base64\"]"                                                                                                                },
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}
