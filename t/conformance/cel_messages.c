/* cel_messages.c - the messages that the language's test data use, as tables
 *
 * Field names and types of the public test protos; what the cases never read is left out.
 */
#include "cel_cases.h"

static const struct cel_type *const of_int[] = {&cel_type_int};
static const struct cel_type *const of_uint[] = {&cel_type_uint};
static const struct cel_type *const of_double[] = {&cel_type_double};
static const struct cel_type *const of_bool[] = {&cel_type_bool};
static const struct cel_type *const of_string[] = {&cel_type_string};
static const struct cel_type *const of_bytes[] = {&cel_type_bytes};
static const struct cel_type *const of_any[] = {&cel_type_any};
static const struct cel_type *const of_dyn[] = {&cel_type_dyn};
static const struct cel_type *const of_time[] = {&cel_type_timestamp};
static const struct cel_type *const of_span[] = {&cel_type_duration};
static const struct cel_type *const string_dyn[] = {&cel_type_string, &cel_type_dyn};

#define LIST(p)                                                                                \
    {                                                                                          \
        .kind = CEL_T_LIST, .name = S_INIT("list"), .n_params = 1, .params = p                 \
    }
#define MAP2(p)                                                                                \
    {                                                                                          \
        .kind = CEL_T_MAP, .name = S_INIT("map"), .n_params = 2, .params = p                   \
    }
#define WRAP(p)                                                                                \
    {                                                                                          \
        .kind = CEL_T_WRAPPER, .name = S_INIT("wrapper"), .n_params = 1, .params = p           \
    }
static const struct cel_type ints = LIST(of_int), uints = LIST(of_uint),
                             doubles = LIST(of_double), bools = LIST(of_bool),
                             strings = LIST(of_string), bytess = LIST(of_bytes),
                             anys = LIST(of_any), values = LIST(of_dyn), times = LIST(of_time),
                             spans = LIST(of_span), structure = MAP2(string_dyn);
static const struct cel_type w_int = WRAP(of_int), w_uint = WRAP(of_uint),
                             w_double = WRAP(of_double), w_bool = WRAP(of_bool),
                             w_string = WRAP(of_string), w_bytes = WRAP(of_bytes);
static const struct cel_type *const of_w_int[] = {&w_int};
static const struct cel_type *const of_w_uint[] = {&w_uint};
static const struct cel_type *const of_w_string[] = {&w_string};
static const struct cel_type *const of_structure[] = {&structure};
static const struct cel_type w_ints = LIST(of_w_int), w_uints = LIST(of_w_uint),
                             w_strings = LIST(of_w_string), structures = LIST(of_structure);

#define MAP_TYPE(name, k, v)                                                                   \
    static const struct cel_type *const name##_params[] = {&k, &v};                            \
    static const struct cel_type name = MAP2(name##_params)
MAP_TYPE(bool_bool, cel_type_bool, cel_type_bool);
MAP_TYPE(bool_int, cel_type_bool, cel_type_int);
MAP_TYPE(bool_uint, cel_type_bool, cel_type_uint);
MAP_TYPE(bool_double, cel_type_bool, cel_type_double);
MAP_TYPE(bool_string, cel_type_bool, cel_type_string);
MAP_TYPE(bool_bytes, cel_type_bool, cel_type_bytes);
MAP_TYPE(bool_any, cel_type_bool, cel_type_any);
MAP_TYPE(bool_dyn, cel_type_bool, cel_type_dyn);
MAP_TYPE(bool_time, cel_type_bool, cel_type_timestamp);
MAP_TYPE(bool_span, cel_type_bool, cel_type_duration);
MAP_TYPE(bool_w_int, cel_type_bool, w_int);
MAP_TYPE(int_int, cel_type_int, cel_type_int);
MAP_TYPE(int_bool, cel_type_int, cel_type_bool);
MAP_TYPE(int_string, cel_type_int, cel_type_string);
MAP_TYPE(uint_uint, cel_type_uint, cel_type_uint);
MAP_TYPE(string_string, cel_type_string, cel_type_string);
MAP_TYPE(string_int, cel_type_string, cel_type_int);
MAP_TYPE(string_bytes, cel_type_string, cel_type_bytes);

static const struct cel_enum_value nested_values[] = {
    {S_INIT("FOO"), 0},
    {S_INIT("BAR"), 1},
    {S_INIT("BAZ"), 2}
};
static const struct cel_enum_value global_values[] = {
    {S_INIT("GOO"), 0},
    {S_INIT("GAR"), 1},
    {S_INIT("GAZ"), 2}
};

#define F(n, t)                                                                                \
    {                                                                                          \
        .name = S_INIT(n), .type = &(t)                                                        \
    }
#define K(n, t, k)                                                                             \
    {                                                                                          \
        .name = S_INIT(n), .type = &(t), .kind = (k)                                           \
    }
#define INT32 CEL_F_INT32
#define UINT32 CEL_F_UINT32

/* What both generations of the message have. */
#define COMMON(PKG)                                                                            \
    K("single_sint32", cel_type_int, INT32), F("single_sint64", cel_type_int),                 \
        K("single_fixed32", cel_type_uint, UINT32), F("single_fixed64", cel_type_uint),        \
        K("single_sfixed32", cel_type_int, INT32), F("single_sfixed64", cel_type_int),         \
        K("single_any", cel_type_any, CEL_F_ANY), F("single_duration", cel_type_duration),     \
        F("single_timestamp", cel_type_timestamp),                                             \
        K("single_struct", structure, CEL_F_STRUCT),                                           \
        K("single_value", cel_type_dyn, CEL_F_VALUE), F("single_int64_wrapper", w_int),        \
        K("single_int32_wrapper", w_int, INT32), F("single_double_wrapper", w_double),         \
        K("single_float_wrapper", w_double, CEL_F_FLOAT), F("single_uint64_wrapper", w_uint),  \
        K("single_uint32_wrapper", w_uint, UINT32), F("single_string_wrapper", w_string),      \
        F("single_bool_wrapper", w_bool), F("single_bytes_wrapper", w_bytes),                  \
        K("list_value", values, CEL_F_LISTVALUE), F("standalone_message", PKG##_nested),       \
        {.name = S_INIT("standalone_enum"),                                                    \
         .type = &PKG##_enum_type,                                                             \
         .kind = CEL_F_ENUM,                                                                   \
         .has_presence = PKG##_presence,                                                       \
         .enum_type = &PKG##_enum},                                                            \
        {.name = S_INIT("single_nested_message"), .type = &PKG##_nested, .oneof = 1},          \
        {.name = S_INIT("single_nested_enum"),                                                 \
         .type = &PKG##_enum_type,                                                             \
         .kind = CEL_F_ENUM,                                                                   \
         .has_presence = true,                                                                 \
         .oneof = 1,                                                                           \
         .enum_type = &PKG##_enum},                                                            \
        {.name = S_INIT("oneof_type"), .type = &PKG##_tree, .oneof = 2},                       \
        {.name = S_INIT("oneof_msg"), .type = &PKG##_nested, .oneof = 2},                      \
        {.name = S_INIT("oneof_bool"),                                                         \
         .type = &cel_type_bool,                                                               \
         .oneof = 2,                                                                           \
         .has_presence = true},                                                                \
        K("repeated_int32", ints, INT32), F("repeated_int64", ints),                           \
        K("repeated_uint32", uints, UINT32), F("repeated_uint64", uints),                      \
        K("repeated_sint32", ints, INT32), F("repeated_sint64", ints),                         \
        K("repeated_fixed32", uints, UINT32), F("repeated_fixed64", uints),                    \
        K("repeated_sfixed32", ints, INT32), F("repeated_sfixed64", ints),                     \
        K("repeated_float", doubles, CEL_F_FLOAT), F("repeated_double", doubles),              \
        F("repeated_bool", bools), F("repeated_string", strings), F("repeated_bytes", bytess), \
        F("repeated_nested_message", PKG##_nesteds),                                           \
        {.name = S_INIT("repeated_nested_enum"),                                               \
         .type = &ints,                                                                        \
         .kind = CEL_F_ENUM,                                                                   \
         .enum_type = &PKG##_enum},                                                            \
        K("repeated_any", anys, CEL_F_ANY), F("repeated_duration", spans),                     \
        F("repeated_timestamp", times), K("repeated_struct", structures, CEL_F_STRUCT),        \
        K("repeated_value", values, CEL_F_VALUE), F("repeated_int64_wrapper", w_ints),         \
        K("repeated_int32_wrapper", w_ints, INT32), F("repeated_uint64_wrapper", w_uints),     \
        F("repeated_string_wrapper", w_strings), F("map_bool_bool", bool_bool),                \
        F("map_bool_string", bool_string), F("map_bool_bytes", bool_bytes),                    \
        K("map_bool_int32", bool_int, INT32), F("map_bool_int64", bool_int),                   \
        F("map_bool_uint64", bool_uint), F("map_bool_double", bool_double),                    \
        K("map_bool_any", bool_any, CEL_F_ANY), F("map_bool_duration", bool_span),             \
        F("map_bool_timestamp", bool_time), K("map_bool_value", bool_dyn, CEL_F_VALUE),        \
        K("map_bool_int32_wrapper", bool_w_int, INT32),                                        \
        F("map_bool_int64_wrapper", bool_w_int), F("map_int32_int64", int_int),                \
        F("map_int64_int64", int_int), F("map_int32_bool", int_bool),                          \
        F("map_int64_bool", int_bool), F("map_int64_string", int_string),                      \
        F("map_uint64_uint64", uint_uint),                                                     \
        {.name = S_INIT("map_int32_enum"),                                                     \
         .type = &int_int,                                                                     \
         .kind = CEL_F_ENUM,                                                                   \
         .enum_type = &PKG##_enum},                                                            \
        F("map_string_string", string_string), F("map_string_int64", string_int),              \
        F("map_string_bytes", string_bytes), F("as", cel_type_bool),                           \
        F("break", cel_type_bool), F("const", cel_type_bool), F("continue", cel_type_bool),    \
        F("else", cel_type_bool), F("for", cel_type_bool), F("function", cel_type_bool),       \
        F("if", cel_type_bool), F("import", cel_type_bool), F("let", cel_type_bool),           \
        F("loop", cel_type_bool), F("package", cel_type_bool), F("namespace", cel_type_bool),  \
        F("return", cel_type_bool), F("var", cel_type_bool), F("void", cel_type_bool),         \
        F("while", cel_type_bool), F("in", cel_type_bool), F("true", cel_type_bool),           \
        F("false", cel_type_bool), F("null", cel_type_bool)

/* clang-format off */
#define TYPES(PKG, package)                                                                    \
    static const struct cel_type PKG##_enum = {                                                \
        .kind = CEL_T_ENUM,                                                                    \
        .name = S_INIT("cel.expr.conformance." package ".TestAllTypes.NestedEnum"),            \
        .n_fields = countof(nested_values),                                                    \
        .values = nested_values};                                                              \
    static const struct cel_type PKG##_global = {                                              \
        .kind = CEL_T_ENUM,                                                                    \
        .name = S_INIT("cel.expr.conformance." package ".GlobalEnum"),                         \
        .n_fields = countof(global_values),                                                    \
        .values = global_values};                                                              \
    static const struct cel_field PKG##_nested_fields[] = {                                    \
        {.name = S_INIT("bb"),                                                                 \
         .type = &cel_type_int,                                                                \
         .kind = CEL_F_INT32,                                                                  \
         .has_presence = PKG##_presence}};                                                     \
    static const struct cel_type PKG##_nested = {                                              \
        .kind = CEL_T_STRUCT,                                                                  \
        .name = S_INIT("cel.expr.conformance." package ".TestAllTypes.NestedMessage"),         \
        .n_fields = 1,                                                                         \
        .fields = PKG##_nested_fields};                                                        \
    static const struct cel_type *const PKG##_of_nested[] = {&PKG##_nested};                   \
    static const struct cel_type PKG##_nesteds = LIST(PKG##_of_nested);                        \
    static const struct cel_type PKG##_tree

/* clang-format on */
#define p2_presence true
#define p3_presence false
#define p2_enum_type cel_type_int
#define p3_enum_type cel_type_int
TYPES(p2, "proto2");
TYPES(p3, "proto3");

#define P2(n, t, k, d)                                                                         \
    {                                                                                          \
        .name = S_INIT(n), .type = &(t), .kind = (k), .has_presence = true, .otherwise = d     \
    }
static const struct cel_field p2_fields[] = {
    P2("single_int32", cel_type_int, INT32, ((struct cel_value){.kind = CEL_INT, .i = -32})),
    P2("single_int64", cel_type_int, 0, ((struct cel_value){.kind = CEL_INT, .i = -64})),
    P2("single_uint32", cel_type_uint, UINT32, ((struct cel_value){.kind = CEL_UINT, .u = 32})),
    P2("single_uint64", cel_type_uint, 0, ((struct cel_value){.kind = CEL_UINT, .u = 64})),
    P2("single_float", cel_type_double, CEL_F_FLOAT,
       ((struct cel_value){.kind = CEL_DOUBLE, .d = 3.0})),
    P2("single_double", cel_type_double, 0, ((struct cel_value){.kind = CEL_DOUBLE, .d = 6.4})),
    P2("single_bool", cel_type_bool, 0, ((struct cel_value){.kind = CEL_BOOL, .u = 1})),
    P2("single_string", cel_type_string, 0,
       ((struct cel_value){.kind = CEL_STRING, .form = CEL_ASCII, .len = 5, .s = "empty"})),
    P2("single_bytes", cel_type_bytes, 0,
       ((struct cel_value){.kind = CEL_BYTES, .len = 4, .s = "none"})),
    COMMON(p2),
};
static const struct cel_field p3_fields[] = {
    K("single_int32", cel_type_int, INT32),
    F("single_int64", cel_type_int),
    K("single_uint32", cel_type_uint, UINT32),
    F("single_uint64", cel_type_uint),
    K("single_float", cel_type_double, CEL_F_FLOAT),
    F("single_double", cel_type_double),
    F("single_bool", cel_type_bool),
    F("single_string", cel_type_string),
    F("single_bytes", cel_type_bytes),
    COMMON(p3),
};

#define ALL(PKG, package)                                                                      \
    static const struct cel_type PKG##_all = {                                                 \
        .kind = CEL_T_STRUCT,                                                                  \
        .name = S_INIT("cel.expr.conformance." package ".TestAllTypes"),                       \
        .n_fields = countof(PKG##_fields),                                                     \
        .fields = PKG##_fields};                                                               \
    static const struct cel_field PKG##_tree_fields[] = {F("child", PKG##_tree),               \
                                                         F("payload", PKG##_all)};             \
    static const struct cel_type PKG##_tree = {                                                \
        .kind = CEL_T_STRUCT,                                                                  \
        .name = S_INIT("cel.expr.conformance." package ".NestedTestAllTypes"),                 \
        .n_fields = 2,                                                                         \
        .fields = PKG##_tree_fields}
ALL(p2, "proto2");
ALL(p3, "proto3");

/* cel-go's own tests call it so. */
static const struct cel_type go_all = {.kind = CEL_T_STRUCT,
                                       .name = S_INIT("google.expr.proto3.test.TestAllTypes"),
                                       .n_fields = countof(p3_fields),
                                       .fields = p3_fields};

static const struct cel_field required_fields[] = {
    {.name = S_INIT("required_int32"),
     .type = &cel_type_int,
     .kind = CEL_F_INT32,
     .has_presence = true}
};
static const struct cel_type required = {.kind = CEL_T_STRUCT,
                                         .name =
                                             S_INIT("cel.expr.conformance.proto2.TestRequired"),
                                         .n_fields = 1,
                                         .fields = required_fields};

void case_messages(struct cel_env *env)
{
    static const struct cel_type *const types[] = {
        &p2_all, &p2_tree, &p2_nested, &p2_enum,   &p2_global, &required,
        &go_all, &p3_all,  &p3_tree,   &p3_nested, &p3_enum,   &p3_global,
    };

    for (size_t i = 0; i < countof(types); i++)
        cel_env_type(env, types[i], 0, 0);
}
