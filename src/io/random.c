/* random.c - xoshiro256** */
#include "io/random.h"

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct random random_seeded(uint64_t seed)
{
    struct random r;
    for (size_t i = 0; i < countof(r.s); i++)
        r.s[i] = splitmix(&seed);
    return r;
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t random_next(struct random *r)
{
    uint64_t *s = r->s, out = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return out;
}

uint64_t random_below(struct random *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)random_next(r) * n) >> 64);
}
