/* map.c - tables in the order of insertion, and heaps */
#include "base/testing.h"

TEST(map_keeps_insertion_order)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    MAP(int) m = {0};

    for (int i = 0; i < 1000; i++)
        *map_put(&m, str_printf(&a, "key-%d", i)) = i;
    for (int i = 0; i < 1000; i += 2)
        check(map_del(&m, str_printf(&a, "key-%d", i)));
    check(!map_del(&m, S("key-0")));
    *map_put(&m, S("key-0")) = 1000;
    check_int(map_len(&m), 501);

    int before = 0;
    map_each (i, &m) {
        check(*map_at(&m, i) > before);
        before = *map_at(&m, i);
    }
    check_int(before, 1000);
    check_int(*map_get(&m, S("key-999")), 999);
    check(map_get(&m, S("key-2")) == NULL);
    map_fini(&m);
}

TEST(map_survives_churn)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g"};
    MAP(size_t) m = {0};

    for (size_t i = 0; i < 10000; i++) {
        struct str put = str_from(keys[i % 7]), del = str_from(keys[(i * 3 + 1) % 7]);
        *map_put(&m, put) = i;
        check_int(*map_get(&m, put), i);
        map_del(&m, del);
        check(map_get(&m, del) == NULL);
    }
    check(m.core.n_slots <= 64);
    map_fini(&m);
}

static bool int_less(const int *a, const int *b)
{
    return *a < *b;
}

TEST(heap_gives_the_smallest)
{
    HEAP(int) h = {.less = int_less};

    for (int i = 0; i < 100; i++)
        heap_push(&h, (i * 37) % 101);
    heap_remove(&h, 50);
    for (int before = -1; h.len;) {
        int x = heap_pop(&h);
        check(x > before);
        before = x;
    }
    heap_fini(&h);
}
