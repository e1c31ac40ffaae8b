/* list.h - doubly linked, inside the things it links
 *
 * A head is a struct list that points to itself (list_init). Removing the element under the
 * walk is allowed.
 */
#pragma once

#include "base/compiler.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}
static inline bool list_empty(const struct list *l)
{
    return l->next == l || !l->next;
}
static inline void list_add(struct list *head, struct list *x) /* at the end */
{
    x->prev = head->prev;
    x->next = head;
    head->prev->next = x;
    head->prev = x;
}
static inline void list_del(struct list *x) /* may be called again */
{
    if (!x->next)
        return;
    x->prev->next = x->next;
    x->next->prev = x->prev;
    x->next = x->prev = NULL;
}
#define list_item(p, type, member) container_of((p), type, member)
#define list_each(p, head)                                                                     \
    for (struct list *p = (head)->next, *p##_next = p->next; p != (head);                      \
         p = p##_next, p##_next = p->next)
