/* digest.c - the sum is that of the bytes, however many come at a time */
#include "sim/digest.h"

#include "base/testing.h"

#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

TEST(digest_text)
{
    static const struct {
        const char *name;
        size_t len, piece;
        const char *want;
    } cases[] = {
        {"nothing",    0,       1,             "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"one piece",  1000000, 1000000,       MILLION_A                                                         },
        {"bytes",      1000000, 1,             MILLION_A                                                         },
        {"odd pieces", 1000000, 64 * 1024 + 7, MILLION_A                                                         },
    };
    scoped(arena_fini) struct arena a = {0};
    char *text = arena_raw(&a, 1000000, 1);

    memset(text, 'a', 1000000);
    for (size_t i = 0; i < countof(cases); i++) {
        struct digest *d = digest_new();
        test_case(cases[i].name);
        for (size_t at = 0; at < cases[i].len; at += cases[i].piece) {
            buf_add(digest_buf(d), str_of(text + at, MIN(cases[i].piece, cases[i].len - at)));
            digest_written(d);
        }

        check_samez(digest_text(d, &a), cases[i].want);
        check_samez(digest_text(d, &a), cases[i].want); /* asking changes nothing */
        digest_free(d);
    }
}
