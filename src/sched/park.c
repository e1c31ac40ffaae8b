/* park.c - pods that found no node, and who is told when there is room
 *
 * A freed slot wakes as many as it has room for, not all that wait.
 */
#include "sched/sched_priv.h"

struct parked {
    char *key;
    struct amounts asks;
    int32_t priority;
};

void parked_free(struct parked *p)
{
    amounts_fini(&p->asks);
    free(p->key);
    free(p);
}

void sched_park(struct sched *s, struct str key, const struct pod *pod)
{
    struct parked **known = map_get(&s->parked, key);
    struct parked *p = known ? *known : mem_zero(1, sizeof(*p));

    amounts_of_pod(&s->resources, pod->spec, &p->asks);
    p->priority = pod->spec->priority;
    if (known)
        return;
    p->key = mem_alloc(key.len + 1);
    memcpy(p->key, key.at, key.len);
    p->key[key.len] = 0;
    map_each (i, &s->parked) {
        if ((*map_at(&s->parked, i))->priority != p->priority)
            s->has_priorities = true;
        break;
    }
    *map_put(&s->parked, str_from(p->key)) = p;
}

void sched_unpark(struct sched *s, struct str key)
{
    struct parked **known = map_get(&s->parked, key);

    if (!known)
        return;
    struct parked *p = *known;
    map_del(&s->parked, key);
    parked_free(p);
    if (map_len(&s->parked) == 0)
        s->has_priorities = false;
}

size_t sched_n_parked(const struct sched *s)
{
    return map_len(&s->parked);
}

static bool has_room(const struct amounts *asks, const struct amounts *free)
{
    for (size_t i = 0; i < asks->len; i++)
        if (asks->at[i] && asks->at[i] > amounts_get(free, i))
            return false;
    return true;
}

static int by_priority(struct parked *const *x, struct parked *const *y)
{
    return ((*x)->priority < (*y)->priority) - ((*x)->priority > (*y)->priority);
}

void sched_wake(struct sched *s, struct str node, sched_wake_fn *wake, void *ctx)
{
    struct sched_node **known = map_get(&s->by_name, node);
    struct amounts left = {0};
    VEC(struct parked *) fit = {0};

    if (!known || !(*known)->is_known || map_len(&s->parked) == 0)
        return;
    amounts_add_all(&left, &(*known)->size, 1);
    amounts_add_all(&left, &(*known)->used, -1);
    map_each (i, &s->parked) {
        struct parked *p = *map_at(&s->parked, i);
        if (has_room(&p->asks, &left))
            vec_push(&fit, p);
    }
    if (s->has_priorities)
        vec_sort(&fit, by_priority);
    vec_each (i, &fit) {
        struct parked *p = fit.at[i];
        struct amounts asks = {0};
        if (!has_room(&p->asks, &left))
            continue;
        amounts_add_all(&asks, &p->asks, 1); /* the call may unpark it */
        if (wake(ctx, str_from(p->key)))
            amounts_add_all(&left, &asks, -1);
        amounts_fini(&asks);
    }
    vec_fini(&fit);
    amounts_fini(&left);
}
