/* A text is refused, or its canonical form reads back to the same value and the same form; sums
 * and differences undo each other; comparing agrees with arithmetic. */
#include "value/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct str text = str_of((const char *)data, size), left, right;
    struct quantity x, y, back;

    str_cut(text, ' ', &left, &right);
    if (quantity_parse(&a, left, &x, NULL) < 0)
        return 0;
    struct buf once = buf_in(&a, 64), twice = buf_in(&a, 64);
    quantity_write_canonical(&once, &x);
    if (once.len <= QUANTITY_MAX_TEXT) {
        assert(quantity_parse(&a, buf_str(&once), &back, NULL) == 0);
        assert(quantity_cmp(&back, &x) == 0);
        quantity_write_canonical(&twice, &back);
        if (back.format == x.format)
            assert(str_eq(buf_str(&once), buf_str(&twice)));
    }
    quantity_units(&x, 0);
    quantity_scaled_value(&x, QUANTITY_MILLI);
    quantity_f64(&x);
    quantity_round(&a, &x, QUANTITY_MILLI, NULL);
    if (quantity_parse(&a, right, &y, NULL) < 0)
        return 0;
    struct quantity sum = quantity_add(&a, &x, &y), less = quantity_sub(&a, &sum, &y);
    assert(quantity_cmp(&less, &x) == 0);
    assert(quantity_cmp(&sum, &x) == quantity_sign(&y));
    struct quantity difference = quantity_sub(&a, &x, &y);
    assert(quantity_sign(&difference) == quantity_cmp(&x, &y));
    return 0;
}
