/* testing.c - registered tests on cmocka, with TAP output */
#include "base/testing.h"

#include <errno.h>
#include <setjmp.h>
#include <unistd.h>

#include <cmocka.h>

static struct test *first, **last = &first;
static size_t n_tests;
static const char *row;
static int failures;
static const char *skipped;

void test_register(struct test *t)
{
    *last = t;
    last = &t->next;
    n_tests++;
}

void test_case(const char *name)
{
    row = name;
}

bool test_skip_if(bool skip, const char *reason)
{
    if (skip)
        skipped = reason;
    return skip;
}

struct str test_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    struct buf b = buf_in(a, 4096);
    size_t n;

    if (!check_(f != NULL, path, __FILE__, __LINE__))
        return (struct str){0};
    while ((n = fread(buf_room(&b, 65536), 1, 65536, f)) > 0)
        b.len += n;
    fclose(f);
    return buf_str(&b);
}

static void fail_head(const char *what, const char *file, int line)
{
    failures++;
    fprintf(stderr, "%s:%d: %s%s%s\n", file, line, row ? row : "", row ? ": " : "", what);
}

bool check_(bool ok, const char *what, const char *file, int line)
{
    if (!ok)
        fail_head(what, file, line);
    return ok;
}

bool check_same_(struct str got, struct str want, const char *what, const char *file, int line)
{
    if (str_eq(got, want))
        return true;
    fail_head(what, file, line);
    fprintf(stderr, "    got  '%.*s'\n    want '%.*s'\n", STR_ARG(got), STR_ARG(want));
    return false;
}

bool check_int_(int64_t got, int64_t want, const char *what, const char *file, int line)
{
    if (got == want)
        return true;
    fail_head(what, file, line);
    fprintf(stderr, "    got  %" PRId64 "\n    want %" PRId64 "\n", got, want);
    return false;
}

bool check_err_(const struct err *err, enum err_code code, const char *part, const char *file,
                int line)
{
    if (err->code == code && str_has(str_from(err->text), str_from(part)))
        return true;
    fail_head("the error", file, line);
    fprintf(stderr, "    got  %s '%s'\n    want %s '%s'\n", err_name(err->code), err->text,
            err_name(code), part);
    return false;
}

static void run_one(void **state)
{
    const struct test *t = *state;

    row = NULL;
    skipped = NULL;
    failures = 0;
    t->run();
    if (failures)
        fail_msg("%d checks failed", failures);
    if (skipped) {
        fprintf(stderr, "skipped: %s\n", skipped);
        skip();
    }
}

int main(void)
{
    struct CMUnitTest *tests = mem_zero(n_tests, sizeof(*tests));
    size_t i = 0;

    for (struct test *t = first; t; t = t->next)
        tests[i++] =
            (struct CMUnitTest){.name = t->name, .test_func = run_one, .initial_state = t};
    setenv("CMOCKA_MESSAGE_OUTPUT", "TAP", 0);
    int rc = _cmocka_run_group_tests("tests", tests, n_tests, NULL, NULL);
    free(tests);
    return rc != 0;
}
