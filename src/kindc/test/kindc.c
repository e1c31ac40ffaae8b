/* kindc.c - what a .kind file says, what is wrong with one, and what is written */
#include "base/testing.h"
#include "kindc/lex.h"
#include "kindc/model.h"

#define HEAD "api batch/v1\n"

static int read_kind(struct arena *a, struct model *m, const char *text, struct err *err)
{
    if (kind_parse(a, m, S("kinds/x_v1.kind"), str_from(text), err) < 0)
        return -1;
    return model_resolve(a, m, err);
}

TEST(kindc_c_name)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"parallelism",            "parallelism"            },
        {"backoffLimitPerIndex",   "backoff_limit_per_index"},
        {"podIPs",                 "pod_ips"                },
        {"hostIP",                 "host_ip"                },
        {"podCIDRs",               "pod_cidrs"              },
        {"HTTPGetAction",          "http_get_action"        },
        {"setHostnameAsFQDN",      "set_hostname_as_fqdn"   },
        {"nonResourceURLs",        "non_resource_urls"      },
        {"FieldsV1",               "fields_v1"              },
        {"default",                "default_"               },
        {"linux",                  "linux_"                 },
        {"set",                    "set_"                   },
        {"x-kubernetes-list-type", "x_kubernetes_list_type" },
        {"$ref",                   "ref"                    },
    };
    scoped(arena_fini) struct arena a = arena_sized(4096);

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        check_samez(c_name(&a, (struct str){0}, str_from(cases[i].name)), cases[i].want);
    }
    check_samez(c_name(&a, S("kueue_"), S("LocalQueue")), "kueue_local_queue");
    check_samez(c_upper(&a, S("kueue.x-k8s.io")), "KUEUE_X_K8S_IO");
}

TEST(kindc_errors)
{
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"a field without a comment",     HEAD "# A.\nstruct A\n    x int32 @1\n",
         "kinds/x_v1.kind:4: field 'x' has no comment; say in the line above what it is for"                                                         },
        {"a comment too far away",        HEAD "# A.\nstruct A\n    # Doc.\n\n    x int32 @1\n",
         "has no comment"                                                                                                                            },
        {"a comment at the end does",     HEAD "# A.\nstruct A\n    x int32 @1 # Doc.\n",                  NULL                                      },
        {"a struct without a comment",    HEAD "struct A\n    # X.\n    x int32 @1\n",
         ":2: struct 'A' has no comment"                                                                                                             },
        {"an unknown type",               HEAD "# A.\nstruct A\n    # X.\n    x B @1\n",
         ":5: type 'B' is nowhere"                                                                                                                   },
        {"an unknown attribute",          HEAD "# A.\nstruct A\n    # X.\n    x int32 @1 mini 3\n",
         ":5: 'mini' is no attribute"                                                                                                                },
        {"no number",                     HEAD "# A.\nstruct A\n    # X.\n    x int32 @1 min low\n",
         "a number must follow 'min'"                                                                                                                },
        {"no protobuf number",            HEAD "# A.\nstruct A\n    # X.\n    x int32\n",
         "field 'x' has no protobuf number"                                                                                                          },
        {"custom kinds need none",
         "api a.b/v1 style custom\n# A.\nstruct A\n    # X.\n    x int32\n",                               NULL                                      },
        {"one number twice",
         HEAD "# A.\nstruct A\n    # X.\n    x int32 @1\n    # Y.\n    y bool @1\n",
         "'y' and 'x' share the protobuf number 1"                                                                                                   },
        {"a bad number",                  HEAD "# A.\nstruct A\n    # X.\n    x int32 @x\n",
         "'@x' is no protobuf number"                                                                                                                },
        {"one field twice",
         HEAD "# A.\nstruct A\n    # X.\n    x int32 @1\n    # X.\n    x bool @2\n",
         ":7: field 'x' is declared twice; first in line 5"                                                                                          },
        {"a key that is no field",
         HEAD "# A.\nstruct A\n    # X.\n    x [B] @1 key id\n# B.\nstruct B\n    # N.\n    n "
              "string @1\n",                                                                               "key 'id' is no field of the items of 'x'"},
        {"atomic and set",                HEAD "# A.\nstruct A\n    # X.\n    x [string] @1 atomic set\n",
         "say one"                                                                                                                                   },
        {"a set that is no list",         HEAD "# A.\nstruct A\n    # X.\n    x string @1 set\n",
         "'x' is no list"                                                                                                                            },
        {"embeds itself",                 HEAD "# A.\nstruct A\n    embed A @1\n",                         "'A' embeds itself"                       },
        {"embeds a text",                 HEAD "# A.\nstruct A\n    embed string @1\n",
         "only a struct can be embedded"                                                                                                             },
        {"a type that is itself",         HEAD "type T T\n# A.\nstruct A\n    # X.\n    x T @1\n",
         "type 'T' stands for itself"                                                                                                                },
        {"an unknown gate",               HEAD "# A.\nstruct A\n    # X.\n    x int32 @1 gate G\n",
         "gate 'G' is not declared"                                                                                                                  },
        {"a gate that is neither",        HEAD "gate G maybe\n",                                           "gate 'G' is on or off"                   },
        {"an unknown file",               HEAD "uses y_v1\n",                                              "no y_v1.kind was given"                  },
        {"a member of nothing",           HEAD "    x int32 @1\n",                                         "an indented line belongs to"             },
        {"an unknown statement",          HEAD "kinds Job\n",                                              "'kinds' begins no statement"             },
        {"a kind of another group",       HEAD "# J.\nkind Job batch/v2 namespaced plural jobs\n",
         "must be that of this file, batch/v1"                                                                                                       },
        {"a kind without a plural",       HEAD "# J.\nkind Job batch/v1 namespaced\n",                     "no plural"                               },
        {"a kind without a scope",        HEAD "# J.\nkind Job batch/v1 plural jobs\n",
         "either namespaced or cluster"                                                                                                              },
        {"an open text",                  HEAD "# A.\nstruct A\n    # X.\n    x string @1 pattern \"a\n",
         ":5: the text has no closing"                                                                                                               },
        {"a tab",                         HEAD "# A.\nstruct A\n\tx string\n",                             ":4: a tab"                               },
        {"a stray sign",                  HEAD "# A.\nstruct A\n    # X.\n    x string @1 ;\n",
         ":5: ';' cannot stand here"                                                                                                                 },
        {"an empty enum",                 HEAD "# A.\nstruct A\n    # X.\n    x enum @1\n",                "an enum lists"                           },
        {"an open list",                  HEAD "# A.\nstruct A\n    # X.\n    x [string @1\n",
         "a ']' is missing"                                                                                                                          },
        {"a verb less subresource",
         HEAD "# J.\nkind J batch/v1 namespaced plural js nometa\n    subresource log\n",
         "subresource 'log' has no verbs"                                                                                                            },
        {"status alone is a subresource",
         HEAD "# A.\nstruct A\n    # X.\n    x int32 @1 subresource\n",
         "only a kind's 'status'"                                                                                                                    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct model m = {0};
        struct err err = {0};
        test_case(cases[i].name);
        int rc = read_kind(&a, &m, cases[i].text, &err);
        check_int(rc, cases[i].want ? -1 : 0);
        if (cases[i].want && rc < 0)
            check_err(&err, ERR_SYNTAX, cases[i].want);
        else if (rc < 0)
            check_samez(err_str(&err), "");
    }
}

TEST(kindc_too_many_fields)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct buf text = buf_in(&a, 4096);
    struct model m = {0};
    struct err err = {0};

    buf_printf(&text, HEAD "# A.\nstruct A\n");
    for (int i = 1; i <= 65; i++)
        buf_printf(&text, "    # X.\n    x%d int32 @%d\n", i, i);
    check_int(kind_parse(&a, &m, S("a.kind"), buf_str(&text), &err), 0);
    check_int(model_resolve(&a, &m, &err), -1);
    check_err(&err, ERR_SYNTAX, "'A' has 65 fields; a presence map holds 64");
}

/* The parts of the written texts that a line of the language asks for. */
TEST(kindc_writes)
{
    static const struct {
        const char *name, *field, *header, *table;
    } cases[] = {
        {"a number",                "x int32? @7 = 1 min 0",                  "    int32_t x;",         ".minimum = {.type = JSON_INT"           },
        {"its flags",               "x int32? @7",                            "x_bit_[0][1]",           ".flags = 0 | FIELD_POINTER, .proto = 7,"},
        {"a default",               "x string @1 = Never",                    "    struct str x;",
         ".def = &(const struct json){.type = JSON_STRING, .len = 5, .s = \"Never\"}"                                                            },
        {"a native default",        "x string @1 = Never",                    "",                       ".def_native = true"                     },
        {"an object as default",    "x raw @1 = {a: 1, b: [true]}",           "const struct json *x;",
         "{S_INIT(\"a\"), {.type = JSON_INT, .i = INT64_C(1)}}"                                                                                  },
        {"a list of texts",         "x [string maxlen 9] @1 set",             "struct str_list x;",
         ".list_type = LIST_SET, .merge = MERGE_MERGE,"                                                                                          },
        {"keys",                    "x [B] @1 key n,o",                       "struct b_list x;",
         ".keys = (const struct str[]){S_INIT(\"n\"), S_INIT(\"o\")}, .n_keys = 2, .merge = "
         "MERGE_MERGE, .merge_key = S_INIT(\"n\")"                                                                                               },
        {"keys that do not merge",  "x [B] @1 key n,o replace",               "",                       ".merge = MERGE_REPLACE"                 },
        {"a map of structs",        "x {B} @1",                               "struct b_map x;",
         "ADDITIONAL_SCHEMA, .value = &schema_b"                                                                                                 },
        {"a struct",                "x B @1",                                 "struct b *x;",           ".type = &schema_b,"                     },
        {"a struct with a default", "x B @1 = {}",                            "",                       ".type = &node_1,"                       },
        {"an enum",                 "x enum A \"b c\" @1",                    "struct str x;",          ".n_enums = 2"                           },
        {"a pattern",               "x string @1 pattern `^\\d?$`",           "",
         "S_INIT(\"^\\\\d\\077$\"), &pattern_1"                                                                                                  },
        {"a rule",                  "x B @1 rule \"has(self.n)\" message no", "",
         ".cel = (const struct schema_cel_rule[]){{.rule = S_INIT(\"has(self.n)\")"                                                              },
        {"embedded fields",         "embed B @3",                             "    struct str n;",      ".proto = 1, .proto_in = 3"              },
        {"moments",                 "x [time] @1",                            "struct instant_list x;", "SCHEMA_TIME"                            },
        {"exclusive limits",        "x double @1 above 0.5",                  "double x;",
         "RULE_EXCLUSIVE_MINIMUM, .minimum = {.type = JSON_DOUBLE, .d = 0.5}"                                                                    },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct buf text = buf_in(&a, 256), header = {0}, table = {0};
        struct model m = {0};
        struct err err = {0};
        test_case(cases[i].name);
        buf_printf(&text,
                   HEAD "# A.\nstruct A\n    # The x.\n    %s\n"
                        "# B.\nstruct B\n    # N.\n    n string @1\n"
                        "    # O.\n    o string @2\n"
                        "# C.\nstruct C\n    embed B @3\n",
                   cases[i].field);
        buf_byte(&text, 0);
        if (!check_int(read_kind(&a, &m, text.at, &err), 0)) {
            check_samez(err_str(&err), "");
            continue;
        }
        write_header(&a, m.files.at[0], &header);
        write_tables(&a, &m, m.files.at[0], &table);
        if (!str_has(buf_str(&header), str_from(cases[i].header)))
            check_samez(buf_str(&header), cases[i].header);
        if (!str_has(buf_str(&table), str_from(cases[i].table)))
            check_samez(buf_str(&table), cases[i].table);
        buf_fini(&header);
        buf_fini(&table);
    }
}

TEST(kindc_lines)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    line_vec lines = {0};
    struct err err = {0};
    struct str text =
        S("# file\n\n# one\n# two\nstruct A\n    x int32 # tail\n        min 3\n");

    check_int(lex_file(&a, S("f"), text, &lines, &err), 0);
    check_int(lines.len, 2);
    check_same(lines.at[0].doc, S("one two"));
    check(!lines.at[0].indented && lines.at[1].indented);
    check_same(lines.at[1].doc, S("tail"));
    check_int(lines.at[1].n_tokens, 5);
    check_int(lines.at[1].number, 6);
}
