/* arena.c - memory that is given back all at once */
#include <malloc.h>

#include "base/testing.h"

TEST(arena_alloc)
{
    scoped(arena_fini) struct arena a = arena_sized(64);

    for (size_t align = 1; align <= 64; align *= 2) {
        char *p = arena_alloc(&a, 100, align);
        check_int((uintptr_t)p % align, 0);
        for (size_t i = 0; i < 100; i++)
            check_int(p[i], 0);
        memset(p, 0xAA, 100);
    }
}

TEST(arena_blocks_are_kept)
{
    static const size_t sizes[] = {10, 1000, 1024, 5000, 40000, 41000, 100000};

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < countof(sizes); i++) {
            scoped(arena_fini) struct arena a = arena_sized(sizes[i]);
            scoped(arena_fini) struct arena b = arena_sized(sizes[i]);
            memset(arena_raw(&a, sizes[i], 1), 0xAA, sizes[i]);
            check_int(*(char *)arena_alloc(&b, sizes[i], 1), 0);
            check_int(a.total >= sizes[i] && a.total < sizes[i] + 1024, 1);
        }
        if (round == 1)
            arena_give_back();
    }
}

TEST(arena_rewind)
{
    scoped(arena_fini) struct arena a = arena_sized(128);
    arena_raw(&a, 16, 1);
    struct arena_mark mark = arena_mark(&a);
    size_t total = a.total;
    char *at = a.at;

    for (int i = 0; i < 100; i++)
        arena_raw(&a, 1000, 8);
    arena_rewind(&a, mark);
    check_int(a.total, total);
    check(a.at == at);
}

TEST(arena_grow)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    char *p = arena_raw(&a, 8, 8);
    memcpy(p, "12345678", 8);
    check(arena_grow(&a, p, 8, 64, 8) == p);
    arena_raw(&a, 1, 1);
    char *q = arena_grow(&a, p, 64, 128, 8);
    check(q != p);
    check_same(str_of(q, 8), S("12345678"));
    char *far = arena_grow(&a, q, 128, 64 << 10, 8); /* the last block, but more than is left */
    check(far != q);
    check_same(str_of(far, 8), S("12345678"));
}

TEST(buf_grows)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    scoped(buf_fini) struct buf heap = {0};
    struct buf in = buf_in(&a, 0);

    for (int i = 0; i < 1000; i++) {
        buf_printf(&heap, "%d,", i);
        buf_i64(&in, i);
        buf_byte(&in, ',');
    }
    check_same(buf_str(&heap), buf_str(&in));
    buf_drop(&heap, heap.len - 4);
    check_same(buf_str(&heap), S("999,"));
}

static void note(void *what)
{
    buf_byte(what, 'x');
}

TEST(arena_hold)
{
    struct arena a = {0};
    scoped(buf_fini) struct buf first = {0};
    scoped(buf_fini) struct buf second = {0};

    arena_hold(&a, note, &first);
    struct arena_mark mark = arena_mark(&a);
    arena_hold(&a, note, &second);
    test_case("a rewind releases what came after the mark");
    arena_rewind(&a, mark);
    check_int(first.len, 0);
    check_int(second.len, 1);
    test_case("a reset the rest, once");
    arena_reset(&a);
    arena_reset(&a);
    check_int(first.len, 1);
    arena_hold(&a, note, &first);
    arena_fini(&a);
    check_int(first.len, 2);
    check_int(second.len, 1);
}

static size_t resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;

    check_int(fscanf(f, "%lu %lu", &size, &resident), 2);
    fclose(f);
    return resident * 4;
}

TEST(mem_settle)
{
    size_t before = resident_kib();

    mem_settle();
    check(resident_kib() < before); /* and what runs on comes back by itself */
    check_samez(S("still here"), "still here");
}

TEST(mem_ready)
{
    size_t before = mallinfo2().uordblks;

    mem_ready();
    check_int(mallinfo2().uordblks, before); /* all of it is free again */
}

TEST(mem_large)
{
    size_t before = mallinfo2().uordblks, resident = resident_kib();

    mem_large((size_t)64 << 20);
    check_int(mallinfo2().uordblks, before);
    if (mallinfo2().arena) /* sanitizers have a heap of their own */
        check(mallinfo2().arena >= (size_t)64 << 20);
    check(resident_kib() < resident + 8192);
}
