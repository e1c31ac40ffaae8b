/* vec.c - growing arrays and the stable sort */
#include "base/testing.h"

struct pair {
    int key, order;
};

static int by_key(const struct pair *a, const struct pair *b)
{
    return (a->key > b->key) - (a->key < b->key);
}

TEST(vec_sort_is_stable)
{
    VEC(struct pair) v = {0};

    for (int i = 0; i < 5000; i++)
        vec_push(&v, (struct pair){(i * 7919) % 13, i});
    vec_sort(&v, by_key);
    for (size_t i = 1; i < v.len; i++)
        check(v.at[i - 1].key < v.at[i].key ||
              (v.at[i - 1].key == v.at[i].key && v.at[i - 1].order < v.at[i].order));
    vec_fini(&v);
}

static int by_distance(void *from, const void *a, const void *b)
{
    int x = abs(*(const int *)a - *(int *)from), y = abs(*(const int *)b - *(int *)from);
    return (x > y) - (x < y);
}

TEST(an_order_may_depend_on_something_else)
{
    int at[] = {9, 1, 4, 7, 5}, from = 6;

    sort_with(at, countof(at), sizeof(*at), by_distance, &from);
    check_int(at[0], 7); /* 5 is as near, and stood behind it */
    check_int(at[1], 5);
    check_int(at[4], 1);
}

TEST(vec_insert_and_remove)
{
    VEC(int) v = {0};

    for (int i = 0; i < 10; i++)
        vec_insert(&v, 0, i);
    vec_remove(&v, 9);
    check_int(v.len, 9);
    check_int(v.at[0], 9);
    check_int(vec_pop(&v), 1);
    vec_fini(&v);
}
