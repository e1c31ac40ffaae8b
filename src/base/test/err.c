/* err.c - errors as sentences */
#include "base/testing.h"

TEST(err_wrap)
{
    struct err err = {0};

    check_int(err_set(&err, ERR_IO, "cannot open '%s'", "x"), -1);
    check_int(err_wrap(&err, "load token"), -1);
    check_err(&err, ERR_IO, "load token: cannot open 'x'");
    check_int(err_set(NULL, ERR_IO, "nobody asks"), -1);
}

TEST(err_is_cut)
{
    struct err err = {0};
    char text[ERR_TEXT_MAX * 2];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    err_set(&err, ERR_LIMIT, "%s", text);
    check(str_ends(err_str(&err), S("xxx...")));
    check_int(err_str(&err).len, ERR_TEXT_MAX - 1);
}
