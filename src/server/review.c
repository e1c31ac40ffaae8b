/* review.c - kinds that are answered and forgotten */
#include "server/write_priv.h"

void review_create(struct request *r)
{
    fail_method(r);
    request_fini(r);
}
