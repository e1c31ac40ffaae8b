/* random.h - the simulation's one source of chance: xoshiro256** seeded by splitmix64 */
#pragma once

#include "base/compiler.h"

struct random {
    uint64_t s[4];
};

struct random random_seeded(uint64_t seed);
uint64_t random_next(struct random *r);
/* 0 .. n - 1; n is not 0. */
uint64_t random_below(struct random *r, uint64_t n);
