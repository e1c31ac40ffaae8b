/* unify_priv.h - which types agree, and what their variables stand for */
#pragma once

#include "cel/type.h"

struct type_step {
    uint32_t var;
    const struct cel_type *old;
};

struct unifier {
    struct arena *arena;
    VEC(const struct cel_type *) bound; /* by number of the variable; NULL: free */
    VEC(struct type_step) trail;        /* what was bound over, oldest first */
};

/* A variable of its own. */
const struct cel_type *type_fresh(struct unifier *u);
/* Forgets what was learned since the trail was `mark` long. */
void type_rewind(struct unifier *u, size_t mark);
/* t with bound variables replaced; free ones become dyn where asked. */
const struct cel_type *type_settled(struct unifier *u, const struct cel_type *t, bool to_dyn);
/* A signature's type with vars[] in place of its variables. */
const struct cel_type *type_instance(struct unifier *u, const struct cel_type *t,
                                     const struct cel_type *const *vars);
/* dyn, any, or the type of what failed already. */
bool type_is_dyn(const struct cel_type *t);
const struct cel_type *type_more_general(const struct cel_type *a, const struct cel_type *b);
/* May a value of type b be used where a is wanted? Variables are bound on the way, also where
 * the answer is no: rewind then. */
bool type_agrees(struct unifier *u, const struct cel_type *a, const struct cel_type *b);
/* The same; what was learned about variables stays only where it may. */
bool type_assignable(struct unifier *u, const struct cel_type *a, const struct cel_type *b);
