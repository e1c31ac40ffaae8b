/* cron.c - any text is a schedule or an error, and what comes next comes later; a list of
 * indexes never counts past its end */
#include "api/cron.h"
#include "api/index_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct cron_schedule s = {0};
    struct err err = {0};
    int64_t total = 0;
    int32_t index;

    if (cron_parse(text, &s, &err) == 0) {
        struct zone utc = {0};
        struct instant t = {INT64_C(1893456000) * SECOND_NS}, next = cron_next(&s, &utc, t);
        assert(s.every.ns >= 0 && s.minute >> 60 == 0 && s.month >> 13 == 0);
        assert(!instant_is_set(next) || instant_before(t, next));
    } else {
        assert(err.code != ERR_OK);
    }
    if (index_list_check(text, 1000, &total, NULL) == 0)
        assert(total <= 1000 || str_has(text, S("-")));
    index_lists_overlap(text, text, 1000, &index);
    return 0;
}
