/* testing.h - what the tests of all rooms stand on (never part of the product)
 *
 *     TEST(str_cut)
 *     {
 *         for (...) {
 *             test_case(cases[i].name);
 *             check_same(got, want);
 *         }
 *     }
 *
 * A TEST registers itself; one program a test file. A failed check prints both sides, the file
 * and the row's name, and fails its TEST; the rows after it still run.
 */
#pragma once

#include "base/base.h"

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};

#define TEST(name_)                                                                            \
    static void test_##name_(void);                                                            \
    __attribute__((constructor)) static void register_##name_(void)                            \
    {                                                                                          \
        static struct test t = {.name = #name_, .run = test_##name_};                          \
        test_register(&t);                                                                     \
    }                                                                                          \
    static void test_##name_(void)

void test_register(struct test *t);
/* The row that runs now; shown with its failures. */
void test_case(const char *name);
/* Marks the running TEST as skipped, with the reason, and returns true where `skip` holds. */
bool test_skip_if(bool skip, const char *reason);
/* A file's bytes; fails the test where it cannot be read. */
struct str test_file(struct arena *a, const char *path);

#define check(ok) check_(!!(ok), #ok, __FILE__, __LINE__)
/* Two strs. */
#define check_same(got, want) check_same_((got), (want), #got, __FILE__, __LINE__)
#define check_samez(got, want) check_same_((got), str_from(want), #got, __FILE__, __LINE__)
/* Two whole numbers. */
#define check_int(got, want)                                                                   \
    check_int_((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
/* The error's code, and that its text holds `part`. */
#define check_err(err, code_, part) check_err_((err), (code_), (part), __FILE__, __LINE__)

bool check_(bool ok, const char *what, const char *file, int line);
bool check_same_(struct str got, struct str want, const char *what, const char *file, int line);
bool check_int_(int64_t got, int64_t want, const char *what, const char *file, int line);
bool check_err_(const struct err *err, enum err_code code, const char *part, const char *file,
                int line);
