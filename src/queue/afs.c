/* afs.c - arithmetic of admission fair sharing */
#include "queue/afs.h"

#include <math.h>

#define LIMB_BITS 32
#define LIMBS 8 /* 256 bits: a 128-bit amount times a 64-bit mantissa, with room */

void afs_ledger_fini(struct afs_ledger *l)
{
    vec_each (i, &l->penalties)
        vec_fini(&l->penalties.at[i].amounts);
    vec_fini(&l->penalties);
    vec_fini(&l->consumed);
}

double afs_alpha(struct span elapsed, struct span half_life)
{
    if (half_life.ns <= 0)
        return 0;
    return 1.0 - pow(0.5, (double)elapsed.ns / (double)half_life.ns);
}

/* f as mantissa * 10^-digits, the shortest decimal that reads back to f. */
static void shortest_decimal(double f, uint64_t *mantissa, int *digits)
{
    char text[40];
    uint64_t m = 0;
    int point = -1, n = 0, exponent = 0;

    for (int precision = 1; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, f);
        if (strtod(text, NULL) == f)
            break;
    }
    for (const char *p = text; *p; p++) {
        if (*p == '.') {
            point = n;
        } else if (*p == 'e') {
            exponent = (int)strtol(p + 1, NULL, 10);
            break;
        } else {
            m = m * 10 + (uint64_t)(*p - '0');
            n++;
        }
    }
    *mantissa = m;
    *digits = (point < 0 ? 0 : n - point) - exponent;
}

static void limbs_mul(uint32_t limbs[LIMBS], uint64_t by)
{
    uint32_t out[LIMBS] = {0}, parts[2] = {(uint32_t)by, (uint32_t)(by >> LIMB_BITS)};

    for (int p = 0; p < 2; p++) {
        uint64_t carry = 0;
        for (int i = 0; i + p < LIMBS; i++) {
            uint64_t v = (uint64_t)limbs[i] * parts[p] + out[i + p] + carry;
            out[i + p] = (uint32_t)v;
            carry = v >> LIMB_BITS;
        }
    }
    memcpy(limbs, out, sizeof(out));
}

static void limbs_div10(uint32_t limbs[LIMBS])
{
    uint64_t rest = 0;

    for (int i = LIMBS; i-- > 0;) {
        uint64_t v = rest << LIMB_BITS | limbs[i];
        limbs[i] = (uint32_t)(v / 10);
        rest = v % 10;
    }
}

__int128 afs_scale(__int128 nano, double f)
{
    bool is_negative = (nano < 0) != (f < 0);
    unsigned __int128 v = nano < 0 ? -(unsigned __int128)nano : (unsigned __int128)nano;
    uint32_t limbs[LIMBS] = {(uint32_t)v, (uint32_t)(v >> 32), (uint32_t)(v >> 64),
                             (uint32_t)(v >> 96)};
    uint64_t mantissa;
    int digits;

    if (f == 0 || !isfinite(f))
        return 0;
    shortest_decimal(fabs(f), &mantissa, &digits);
    limbs_mul(limbs, mantissa);
    for (; digits < 0; digits++)
        limbs_mul(limbs, 10);
    for (; digits > 0; digits--)
        limbs_div10(limbs);
    v = 0;
    for (int i = 4; i-- > 0;)
        v = v << LIMB_BITS | limbs[i];
    return is_negative ? -(__int128)v : (__int128)v;
}

/* ---- lists of amounts ---- */

__int128 *afs_at(struct afs_amounts *l, uint16_t resource)
{
    vec_each (i, l)
        if (l->at[i].resource == resource)
            return &l->at[i].nano;
    vec_push(l, (struct afs_amount){.resource = resource});
    return &vec_last(l).nano;
}

void afs_decay(struct afs_amounts *consumed, const struct afs_amounts *usage, double alpha)
{
    vec_each (i, consumed)
        consumed->at[i].nano = afs_scale(consumed->at[i].nano, 1 - alpha);
    vec_each (i, usage)
        *afs_at(consumed, usage->at[i].resource) += afs_scale(usage->at[i].nano, alpha);
}

bool afs_penalty_drop(struct afs_ledger *l, uint64_t workload)
{
    vec_each (i, &l->penalties)
        if (l->penalties.at[i].workload == workload) {
            vec_fini(&l->penalties.at[i].amounts);
            vec_remove(&l->penalties, i);
            return true;
        }
    return false;
}

void afs_penalty_set(struct afs_ledger *l, uint64_t workload, struct afs_amounts amounts)
{
    afs_penalty_drop(l, workload);
    vec_push(&l->penalties, (struct afs_penalty){workload, amounts});
}
