/* ast_priv.h - an expression as a tree, from parser to planner
 *
 * Nodes live in the compilation's arena. A node carries the byte it is reported at and the
 * bytes it spans; the checker adds types, the overloads of calls and what names mean.
 */
#pragma once

#include "cel/cel.h"

enum node_kind {
    N_ERROR,
    N_CONST,
    N_IDENT,
    N_SELECT, /* target.name; is_test: has(); is_opt: .? */
    N_CALL,   /* name(args); is_member: args[0] is the receiver */
    N_LIST,
    N_MAP,
    N_STRUCT,
    N_FOLD,
};

enum fold_kind {
    FOLD_ALL,
    FOLD_EXISTS,
    FOLD_EXISTS_ONE,
    FOLD_MAP, /* pred may be NULL */
    FOLD_FILTER,
    FOLD_TO_LIST, /* transformList */
    FOLD_TO_MAP,
    FOLD_TO_ENTRIES,
    FOLD_BIND,
    FOLD_BLOCK,
};

struct overload;
struct function;

struct entry {
    struct node *key, *value; /* key is NULL in lists and messages */
    struct str field;
    uint32_t pos;
    bool is_opt;
};

struct fold {
    enum fold_kind kind;
    bool has_two;
    struct str iter, iter2, accu;
    struct node *range, *init, *cond, *step, *result; /* as the language expands it */
    struct node *pred, *body;                         /* as it was written */
    struct node **slots;                              /* of a block: its expressions */
    uint32_t n_slots;
    struct str *slot_names;
    uint32_t *slot_locals;
};

struct node {
    uint8_t kind;
    bool is_member, is_test, is_opt, is_root; /* root: with a leading dot */
    bool is_name;      /* only identifiers and dots, not in parentheses */
    uint16_t depth;    /* of the tree below */
    uint32_t weight;   /* nodes below, shared ones as often as they are met */
    uint32_t n;        /* args, entries */
    uint32_t pos;      /* where it is reported */
    uint32_t from, to; /* what it spans */
    struct str name;   /* of an identifier, field, function or message type */
    union {
        struct cel_value value;
        struct node *target;
        struct node **args;
        struct entry *entries;
        struct fold *fold;
    };
    const struct node *written; /* the macro call this came from, or NULL */

    /* by the checker */
    const struct cel_type *type;
    int32_t var;                      /* of an identifier or selection that is a variable */
    int32_t local;                    /* … or of a loop; -1: none */
    const struct cel_value *constant; /* … or a constant: a type or enum value */
    const struct overload **overloads;
    uint32_t n_overloads;
    const struct function *function;
    /* by the estimator */
    struct size_info *size;
};

/* Positions and messages, in the order they are found. */
struct report {
    struct arena *arena;
    struct cel_issues *out;
    struct str text;
    uint32_t n_lost;  /* past CEL_MAX_ISSUES */
    VEC(uint32_t) at; /* byte of each */
};
void issue_report(struct report *r, uint32_t pos, const char *format, ...) like_printf(3, 4);
/* Sorts by place and makes lines and columns. */
void issue_done(struct report *r);
/* Line and column of a byte, from 1; columns in code points. */
void text_place(struct str text, uint32_t pos, int *line, int *column);

/* Parses and expands macros. Never NULL; issues are in `r`. */
struct node *ast_parse(struct arena *a, const struct cel_env *env, struct str text,
                       bool no_macros, struct report *r);
/* Expands `call` where it is a macro's; returns the node to use. */
struct node *macro_expand(struct arena *a, const struct cel_env *env, struct node *call,
                          struct report *r);
/* Types everything; the number of loop variables, or -1 with issues. */
int ast_check(struct arena *a, const struct cel_env *env, struct node *root, bool is_lenient,
              struct report *r);
/* Rules on literals that hold after checking (environments of 1.29 and later). */
void ast_validate(struct arena *a, const struct cel_env *env, struct node *root,
                  struct report *r);
struct cel_range ast_estimate(struct arena *a, const struct cel_env *env, struct node *root,
                              const struct cel_size_hook *sizes);
struct cel_program *ast_plan(const struct cel_env *env, struct node *root, int n_locals,
                             struct str text, struct arena *scratch, struct report *r);
void ast_unparse(struct buf *out, const struct node *n);

/* ---- making nodes ---- */

/* Counts depth and weight anew from the children. */
void ast_measure(struct node *n);
struct node *ast_new(struct arena *a, enum node_kind kind, uint32_t pos);
struct node *ast_const(struct arena *a, struct cel_value v, uint32_t pos);
struct node *ast_ident(struct arena *a, struct str name, uint32_t pos);
struct node *ast_call(struct arena *a, struct str name, uint32_t pos, size_t n, ...);
/* "a.b.c" of selections on identifiers, or an empty str. */
struct str ast_qualified(struct arena *a, const struct node *n);
