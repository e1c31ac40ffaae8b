/* cel.h - expressions: environment → program → evaluation
 *
 * Three lifetimes. An environment (names, functions, limits; immutable, shared by all) outlives
 * its programs; a program (one checked and planned expression; immutable, shared too) outlives
 * its evaluations; what an evaluation makes lives in the arena of its caller. There are no
 * globals: everything here is re-entrant.
 *
 *     struct cel_program *p = cel_compile(env, S("self.replicas <= 5"), NULL, &issues);
 *     struct cel_run run = {.arena = a, .vars = vars};
 *     struct cel_value v = cel_eval(p, &run);             run.cost says what it cost
 *
 * Values are 16 bytes and passed by value; types and the ways to make values stand in
 * cel/value.h and cel/type.h, devices and whole columns of them in cel/device.h.
 */
#pragma once

#include "cel/type.h"
#include "cel/value.h"

struct cel_env;
struct cel_program;

/* ---- environments ---- */

enum cel_env_kind {
    CEL_ENV_LANGUAGE,  /* the language's definition with every library; no Kubernetes */
    CEL_ENV_GO,        /* cel-go's standard library only, with its costs */
    CEL_ENV_BASE,      /* Kubernetes: policies, rules and all others are made of it */
    CEL_ENV_CRD,       /* rules of custom resources: declare `self`, `oldSelf` */
    CEL_ENV_ADMISSION, /* policies: object, oldObject, request, params, authorizer … */
    CEL_ENV_MATCH,     /* match conditions: the same without params and variables */
    CEL_ENV_DEVICE,    /* resource.k8s.io/v1: `device` */
    CEL_ENV_NAMED,     /* resource.k8s.io/v1alpha2: `attributes.<type>` */
    CEL_ENV_LIBRARY,   /* every Kubernetes library, nothing folded: upstream's cost tables */
};

enum {                            /* gates that shape an environment for new expressions */
       CEL_GATE_DEVICE_LISTS = 1, /* DRAListTypeAttributes */
       CEL_GATE_DEVICE_MULTI = 2, /* DRAConsumableCapacity */
};

#define CEL_STORED 0 /* version: everything that was ever valid and is not removed */
#define CEL_RELEASE 37

struct cel_env_spec {
    enum cel_env_kind kind;
    int version; /* minor of the compatibility version, or CEL_STORED */
    int release; /* minor of the release imitated; 0: CEL_RELEASE */
    unsigned gates;
    uint64_t limit;       /* cost of one evaluation; 0: the kind's own */
    bool presence_costs;  /* CEL_ENV_GO: has() costs as a selection does */
    struct str container; /* names are looked up in here first: "a.b" */
    bool is_strong_enum;  /* values of an enum have its type */
    bool no_fold;         /* constants are not folded: they cost what making them does */
};

struct cel_env *cel_env_new(const struct cel_env_spec *spec);
/* An environment that knows all of `base`, which must outlive it, and what is declared next. */
struct cel_env *cel_env_extend(const struct cel_env *base);
void cel_env_free(struct cel_env *env);
/* Declares a variable and returns its index in cel_run.vars. Name and type are borrowed. Where
 * the version is outside [since, until) of the environment (0: no bound): not declared, -1. */
int cel_env_var(struct cel_env *env, struct str name, const struct cel_type *type, int since,
                int until);
/* The index of a variable, the kind's own ones included; -1: it is not there. */
int cel_env_index(const struct cel_env *env, struct str name);
/* Makes a struct type known by its name, for messages (T{…}) and qualified names. Borrowed. */
void cel_env_type(struct cel_env *env, const struct cel_type *type, int since, int until);
/* A function of the host's; `signature` as in the library's tables: "int.(string, A) bool". */
int cel_env_function(struct cel_env *env, const char *name, const char *id,
                     const char *signature, cel_fn *fn, struct err *err);
/* What an overload costs, whatever it is given; false where it is not known. */
bool cel_env_cost(struct cel_env *env, const char *name, const char *id, uint32_t cost);
/* Reads "list(map(string, int))", "a.b.Type" …; NULL where it is no type. */
const struct cel_type *cel_env_type_of(struct cel_env *env, struct str text, struct err *err);

/* How large may the value at `path` be (a variable, fields, @items, @keys, @values, @indices)?
 * False: nobody knows. */
typedef bool cel_size_fn(void *ctx, const struct str *path, size_t n,
                         const struct cel_type *type, struct cel_range *out);
void cel_env_sizes(struct cel_env *env, cel_size_fn *fn, void *ctx);

/* ---- programs ---- */

#define CEL_MAX_TEXT 100000  /* code points of an expression */
#define CEL_MAX_DEPTH 250    /* nesting */
#define CEL_MAX_MACROS 1000  /* macro calls in one expression */
#define CEL_MAX_NODES 200000 /* of the tree, after macros */
#define CEL_MAX_ISSUES 100

struct cel_issue {
    int line, column; /* from 1; in code points */
    struct str text;
};

/* What is wrong with an expression; all of it in one pass. */
struct cel_issues {
    struct arena *arena; /* where the texts are made; set by the caller */
    VEC(struct cel_issue) list;
    bool is_program; /* it checks, and folding its constants failed */
};

struct cel_compile {
    bool is_unchecked; /* names and overloads are resolved when evaluated */
    bool no_macros;
    struct cel_size_hook {
        cel_size_fn *fn;
        void *ctx;
    } sizes; /* in place of the environment's */
};

/* The program, or NULL with issues. `opts` may be NULL. The text is copied. */
struct cel_program *cel_compile(const struct cel_env *env, struct str text,
                                const struct cel_compile *opts, struct cel_issues *issues);
void cel_program_free(struct cel_program *p);
/* The type the expression yields, as deduced; lives as long as the program. */
const struct cel_type *cel_program_type(const struct cel_program *p);
struct cel_range cel_program_estimate(const struct cel_program *p);
size_t cel_program_bytes(const struct cel_program *p);
/* "ERROR: <input>:1:5: …" with the line and a caret, one after the other. */
struct str cel_issues_text(struct arena *a, const struct cel_issues *issues, struct str text);
/* Parses and prints back, in one form; {NULL} with issues. */
struct str cel_unparse(struct arena *a, const struct cel_env *env, struct str text,
                       struct cel_issues *issues);

/* ---- evaluation ---- */

struct cel_run {
    struct arena *arena;             /* results and their parts live here */
    const struct cel_value *vars;    /* by index; kind CEL_ABSENT where unbound */
    cel_var_fn *var;                 /* or: asked at each reference */
    const struct cel_device *device; /* of the device environments; may be NULL */
    void *ctx;                       /* for the host's functions and var() */
    const bool *cancel;              /* looked at in loops; may be NULL */
    uint64_t limit;                  /* 0: the environment's */
    uint64_t steps;                  /* most operations; 0: CEL_MAX_STEPS */
    uint64_t cost;                   /* out: what was spent, the crossing charge included */
};

#define CEL_MAX_STEPS UINT64_C(100000000)
#define CEL_MAX_BYTES ((size_t)256 << 20) /* of the arena, in one evaluation */
/* Elements of one list, however it is held: what reads them all may copy them. */
#define CEL_MAX_ITEMS (CEL_MAX_BYTES / sizeof(struct cel_value))

/* The value: of kind CEL_ERROR or CEL_UNKNOWN where it is none. */
struct cel_value cel_eval(const struct cel_program *p, struct cel_run *run);

/* Why is it so? The sub-expressions that decided the result, outermost first. */
struct cel_reason {
    int line, column;       /* where it begins, as in an issue */
    struct str text;        /* of the sub-expression, as written */
    struct cel_value value; /* what it came to */
    struct str left, right; /* of a comparison: its sides' values as text */
};
struct cel_reasons {
    VEC(struct cel_reason) list; /* in run->arena */
};
struct cel_value cel_explain(const struct cel_program *p, struct cel_run *run,
                             struct cel_reasons *out);
