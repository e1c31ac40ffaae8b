/* env_priv.h - what an environment knows: functions, names, options */
#pragma once

#include "cel/ast_priv.h"

enum lib { /* what is added and removed as one */
           LIB_STD,
           LIB_CROSS, /* comparisons across int, uint and double */
           LIB_ENUM,  /* strong ones */
           LIB_OPTIONAL,
           LIB_STRINGS,
           LIB_MATH,
           LIB_LISTS,
           LIB_SETS,
           LIB_ENCODERS,
           LIB_TWO_VAR,
           LIB_REGEX,
           LIB_BIND,
           LIB_BLOCK,
           LIB_PROTO,
           LIB_NET, /* the language's own network functions beside Kubernetes' */
           LIB_K8S_LISTS,
           LIB_K8S_INCLUDES,
           LIB_K8S_REGEX,
           LIB_K8S_URL,
           LIB_K8S_QUANTITY,
           LIB_K8S_IP,
           LIB_K8S_CIDR,
           LIB_K8S_FORMAT,
           LIB_K8S_SEMVER,
           LIB_K8S_AUTHZ,
           LIB_K8S_AUTHZ_SELECTORS,
           LIB_K8S_JSONPATCH,
           LIB_DEVICE_INCLUDES, /* 1.36's own */
           LIB_COUNT,
};

/* What a call costs, at run time and in the estimate. */
enum cost {
    COST_ONE,
    COST_NONE,   /* operands pay */
    COST_EQUAL,  /* 0.1 of the smaller side */
    COST_ORDER,  /* the same, for strings and bytes */
    COST_CONCAT, /* 0.1 of both */
    COST_ADD_LIST,
    COST_NEEDLE, /* 0.1 of the second argument */
    COST_ARG,    /* 0.1 of the first */
    COST_ARG2,   /* 0.2 of the first */
    COST_FORMAT,
    COST_TO_BYTES,
    COST_TO_STRING,
    COST_QUOTE,
    COST_IN_LIST,
    COST_MATCH,    /* (s + 1) by the pattern */
    COST_FIND,     /* the same; the result is no longer than s */
    COST_CONTAINS, /* both, multiplied */
    COST_AND,      /* of the estimate only: may stop early */
    COST_COND,
    COST_DYN,
    COST_TRAVERSE, /* of the receiver */
    COST_INCLUDES,
    COST_KEEP, /* 0.1 of the first; the result is as large */
    COST_REPLACE,
    COST_SPLIT,
    COST_JOIN,
    COST_PARSE, /* 0.1 of the text */
    COST_IP,    /* ip(string), or ip() of a cidr */
    COST_CONTAINS_IP,
    COST_CONTAINS_CIDR,
    COST_VALIDATE,
    COST_CHECK,
    COST_SELECTOR,
    COST_INCLUDES_136, /* from here to COST_SETS_TWICE: bound to overloads */
    COST_SLICE,
    COST_LIST_RANGE,
    COST_LIST_REVERSE,
    COST_FLATTEN,
    COST_DISTINCT,
    COST_SORT,
    COST_SORT_BY,
    COST_SETS,
    COST_SETS_TWICE,
    COST_FIXED, /* the host said so */
};

/* One signature of a function; what is 0 or NULL at the end of a row is left out. */
struct lib_row {
    const char *name, *id;
    const char *signature; /* "string.(int) string": receiver, arguments, result */
    cel_fn *fn;
    uint8_t lib;   /* enum lib */
    uint8_t cost;  /* enum cost: of the language's table */
    uint8_t since; /* version of the library that has it first */
    uint8_t until; /* … and the first that has not; 0: still */
    const void *data;
};

struct lib_table {
    const struct lib_row *rows;
    size_t n;
};
extern const struct lib_table cel_lib_standard, cel_lib_conversions, cel_lib_times,
    cel_lib_optional, cel_lib_strings, cel_lib_math, cel_lib_lists, cel_lib_sets, cel_lib_regex,
    cel_lib_k8s, cel_lib_net, cel_lib_authz;

/* Well-known messages; `device` and `attributes.…`. */
void env_add_messages(struct cel_env *env);
void env_add_device(struct cel_env *env);
void env_add_admission(struct cel_env *env);

#define MAX_ARGS 6

struct overload {
    const struct lib_row *row;
    struct str id;
    const struct function *function;
    cel_fn *fn;
    const void *data;
    const struct cel_type *result;
    const struct cel_type *params[MAX_ARGS]; /* the receiver first */
    uint32_t kinds[MAX_ARGS];                /* one bit a kind of value that fits */
    uint32_t item_kinds[MAX_ARGS]; /* of a list's first element, a map's first value */
    uint32_t key_kinds[MAX_ARGS];
    uint32_t fixed_cost;
    uint8_t n_params, n_vars;
    bool is_member;
    uint8_t cost;  /* enum cost, as the environment counts */
    uint8_t op;    /* enum op_code of a specialised operation, or 0 */
    uint8_t order; /* in declaration */
};

struct function {
    struct str name;
    VEC(struct overload *) overloads;
    int16_t k8s_cost; /* by name; -1: none */
};

struct env_var {
    struct str name;
    const struct cel_type *type;
    int index;
};

struct cel_env {
    const struct cel_env *base;
    struct arena arena;
    struct cel_env_spec spec;
    int8_t libs[LIB_COUNT]; /* version, or -1 */
    bool folds;             /* constants are folded; charged as nothing */
    bool test_is_free;      /* has() */
    bool is_homogeneous;    /* literals of lists and maps */
    bool validates;         /* literals of durations, timestamps, patterns */
    bool costs_k8s;         /* calls cost by name, as Kubernetes counts */
    bool is_definition;     /* the language's definition where cel-go differs */
    bool knows_keywords;    /* fields named as reserved words */
    bool is_device, is_named;
    bool old_format;
    uint64_t limit;
    MAP(struct function *) functions;
    MAP(struct env_var) vars;
    MAP(const struct cel_type *) types;
    MAP(bool) heads; /* first words of names with dots */
    int n_vars;
    struct cel_size_hook sizes;
    uint8_t device_mode;
};

/* May a qualified name begin with the word? */
bool env_has_head(const struct cel_env *env, struct str word);
const struct function *env_function(const struct cel_env *env, struct str name);
const struct env_var *env_var(const struct cel_env *env, struct str name);
const struct cel_type *env_type(const struct cel_env *env, struct str name);
static inline bool env_has(const struct cel_env *env, enum lib lib)
{
    return env->libs[lib] >= 0;
}
/* ", did you mean 'x'?" or ", known since 1.31" or "". */
struct str env_hint(struct arena *a, const struct cel_env *env, struct str name);
/* Names `name` may stand for, innermost first: "a.b.x", "a.x", "x". Returns their number. */
#define MAX_CONTAINER 8
size_t env_candidates(struct arena *a, const struct cel_env *env, struct str name, bool is_root,
                      struct str *out);
/* The signature's types; false with err where it cannot be read. */
bool signature_read(struct cel_env *env, const char *text, struct overload *o, struct err *err);
const struct cel_type *cel_type_read(struct arena *a, const struct cel_env *env,
                                     struct str *text, struct err *err);
uint32_t cel_type_kinds(const struct cel_type *t);
extern const struct cel_type *const cel_builtin_types[];
extern const size_t cel_n_builtin_types;
/* A cost by the function's name in Kubernetes, or -1. */
int cost_by_name(struct str name);
bool overload_fits(struct arena *a, const struct overload *o, const struct cel_value *args,
                   size_t n);
