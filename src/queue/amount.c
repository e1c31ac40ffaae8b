/* amount.c - quantities of quota as whole numbers */
#include "queue/amount.h"

#include <math.h>

#include "base/base.h"

double amount_f64(int64_t amount, int64_t scale)
{
    return amount == AMOUNT_UNLIMITED ? (double)INFINITY : (double)amount / (double)scale;
}
