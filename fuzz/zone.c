/* zone.c - any bytes are a time zone or an error; a zone answers at any moment */
#include "value/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone z;
    struct err err = {0};

    if (zone_parse(str_of((const char *)data, size), &z, &err) < 0) {
        assert(err.code == ERR_SYNTAX);
        return 0;
    }
    for (int64_t t = -INT64_C(62135596800); t < INT64_C(253402300800); t += 1000000007)
        zone_at(&z, t);
    return 0;
}
