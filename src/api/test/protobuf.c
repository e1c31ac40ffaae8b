/* protobuf.c - bodies that clients send, by the tables of built-in kinds */
#include "schema/protobuf.h"

#include "api/find.h"
#include "base/testing.h"

/* Messages are written as in the tests of upstream's tools: number{...} nests, number=text is a
 * text, number:value a whole number below 128. */
static void put(struct buf *out, const char **at)
{
    while (**at && **at != '}') {
        char *end;
        unsigned long number = strtoul(*at, &end, 10);
        *at = end;
        char sign = *(*at)++;
        if (sign == '{') {
            struct buf inner = {0};
            put(&inner, at);
            (*at)++;
            buf_byte(out, (char)(number << 3 | 2));
            buf_byte(out, (char)inner.len);
            buf_add(out, buf_str(&inner));
            buf_fini(&inner);
        } else if (sign == '=') {
            size_t n = strcspn(*at, " }");
            buf_byte(out, (char)(number << 3 | 2));
            buf_byte(out, (char)n);
            buf_add(out, str_of(*at, n));
            *at += n;
        } else {
            buf_byte(out, (char)(number << 3));
            buf_byte(out, (char)strtoul(*at, &end, 10));
            *at = end;
        }
        *at += strspn(*at, " ");
    }
}

TEST(protobuf_kinds)
{
    static const struct {
        const char *name, *api_version, *kind, *message, *want;
    } cases[] = {
        {"a pointer keeps its zero",              "batch/v1",                        "Job",         "2{1:0 10:0}",
         "\"spec\":{\"parallelism\":0,\"suspend\":false"                                                                                                                                               },
        {"a source is flat in a volume",          "v1",                              "Pod",         "2{1{1=tmp 2{2{1=Memory}}}}",
         "\"volumes\":[{\"name\":\"tmp\",\"emptyDir\":{\"medium\":\"Memory\"}}]"                                                                                                                       },
        {"a reference is flat in a key selector", "v1",                              "Pod",
         "2{2{1=c 7{1=E 3{4{1{1=s} 2=k}}}}}",                                                                                                         "\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}"},
        {"two messages are flat in a rule",       "admissionregistration.k8s.io/v1",
         "ValidatingAdmissionPolicy",                                                               "2{2{3{1=n 2{1=CREATE 2{1=apps 2=v1 3=pods}}}}}",
         "{\"resourceNames\":[\"n\"],\"operations\":[\"CREATE\"],\"apiGroups\":[\"apps\"],"
         "\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}"                                                                                                                                          },
        {"a named list of texts",                 "authentication.k8s.io/v1",        "TokenReview",
         "3{2{1=u 4{1=k 2{1=a 1=b}}}}",                                                                                                               "\"extra\":{\"k\":[\"a\",\"b\"]}"                },
        {"quantities and maps",                   "v1",                              "Pod",         "2{2{1=c 8{2{1=cpu 2{1=2}}}}}",
         "\"requests\":{\"cpu\":\"2\"}"                                                                                                                                                                },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        const struct kind *k = kind_of(str_from(cases[i].api_version), str_from(cases[i].kind));
        struct buf message = {0};
        struct err err = {0};
        const char *at = cases[i].message;
        test_case(cases[i].name);
        put(&message, &at);
        const struct json *v = protobuf_decode(&a, k->schema, buf_str(&message), &err);
        if (!v) {
            check_samez(err_str(&err), "");
        } else {
            struct str text = json_text(&a, v);
            if (!str_has(text, str_from(cases[i].want)))
                check_samez(text, cases[i].want);
        }
        buf_fini(&message);
    }
}

/* JSON would make U+FFFD of each, and so one of two that differ. */
TEST(protobuf_texts_are_utf8)
{
    static const struct {
        const char *name, *message, *want;
    } cases[] = {
        {"a text",           "1{1=\xff}",                         "protobuf body cannot be read: a string is not UTF-8"},
        {"a key of a map",   "1{11{1=\xff 2=v}}",
         "protobuf body cannot be read: a key of a map is not UTF-8"                                                   },
        {"a value of a map", "1{11{1=k 2=\xff}}",
         "protobuf body cannot be read: a string is not UTF-8"                                                         },
        {"a port's name",    "2{2{1=c 10{1{2{2{1:1 3=\xff}}}}}}",
         "protobuf body cannot be read: a string is not UTF-8"                                                         },
        {"what is UTF-8",    "1{11{1=\xc3\xa9 2=\xe2\x82\xac}}",  ""                                                   },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        scoped(buf_fini) struct buf message = {0};
        struct err err = {0};
        const char *at = cases[i].message;
        test_case(cases[i].name);
        put(&message, &at);
        const struct json *v =
            protobuf_decode(&a, kind_of(S("v1"), S("Pod"))->schema, buf_str(&message), &err);
        check(!v == (cases[i].want[0] != 0));
        check_samez(err_str(&err), cases[i].want);
    }
}
