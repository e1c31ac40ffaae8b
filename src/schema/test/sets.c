/* sets.c - sets that were read before are the very ones, and never others */
#include "schema/sets.h"

#include "base/testing.h"

static void sets_done(struct sets **s)
{
    sets_free(*s);
}

static struct json text_of(struct arena *a, const char *name, int i)
{
    return json_of_raw(str_printf(a, "{\"f:%s%d\":{}}", name, i));
}

static struct fieldset read(struct sets *s, struct arena *a, struct json fields)
{
    struct fieldset set = {0};

    check_int(sets_read(s, a, &fields, &set, NULL), 0);
    return set;
}

TEST(sets_come_again)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    scoped(sets_done) struct sets *s = sets_new();
    struct json x = json_of_raw(S("{\"f:a\":{},\"f:b\":{\"f:c\":{}}}"));
    struct fieldset plain = {0}, once, twice, again;

    sets_begin(s);
    check_int(fieldset_read(&a, &x, &plain, NULL), 0);
    once = read(s, &a, x);
    check(sets_text(s, once) == NULL); /* what came once is not kept */
    twice = read(s, &a, x);
    again = read(s, &a, x);
    check(twice.at == again.at && fieldset_eq(plain, once) && fieldset_eq(plain, twice));
    const struct json *text = sets_text(s, twice);
    check(text && json_eq(text, &x) && text->s != x.s);
    check(sets_text(s, plain) == NULL); /* one like it is not it */

    sets_begin(s);
    check(sets_text(s, twice) == NULL);
    check(read(s, &a, x).at == twice.at);
    check(sets_text(s, twice) != NULL);
}

/* What a write has read stays whatever else it reads. */
TEST(sets_stay_for_a_write)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 18);
    scoped(sets_done) struct sets *s = sets_new();
    struct fieldset got[4 * SETS_MAX];

    sets_begin(s);
    for (int i = 0; i < 4 * SETS_MAX; i++) {
        struct json x = text_of(&a, "n", i);
        read(s, &a, x);
        got[i] = read(s, &a, x);
    }
    for (int i = 0; i < 4 * SETS_MAX; i++)
        check_same(got[i].at[0].e.name, str_printf(&a, "n%d", i));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4 * SETS_MAX; i++) { /* and others come in their place */
            struct json x = text_of(&a, "m", i);
            sets_begin(s);
            read(s, &a, x);
            struct fieldset set = read(s, &a, x);
            const struct json *text = sets_text(s, set);
            check(text && json_eq(text, &x));
        }
}

TEST(sets_of_other_values)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    scoped(sets_done) struct sets *s = sets_new();
    struct json bad = json_of_raw(S("{\"f:a\":{},\"x\":{}}")), empty = json_of_raw(S("{}"));
    struct fieldset set = {0};
    struct err err = {0};
    char *longest = arena_raw(&a, SET_TEXT_MAX + 16, 1);

    for (int i = 0; i < 3; i++) {
        sets_begin(s);
        check_int(sets_read(s, &a, &bad, &set, &err), -1);
        check_int(err.code, ERR_SYNTAX);
        check_int(read(s, &a, empty).n, 0);
        check(sets_text(s, (struct fieldset){0}) == NULL);
    }
    memset(longest, 'a', SET_TEXT_MAX);
    struct json x = json_of_raw(str_printf(&a, "{\"f:%.*s\":{}}", (int)SET_TEXT_MAX, longest));
    for (int i = 0; i < 3; i++)
        check(sets_text(s, read(s, &a, x)) == NULL);
    check_int(read(NULL, &a, text_of(&a, "n", 1)).n, 1);
}
