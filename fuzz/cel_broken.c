/* Expressions of the grammar with a few places spoilt: refused with issues that name a place in
 * the text, or they print to a form that parses to the same form again.
 */
#include "cel_forms.h"

#include "cel/cel.h"

#define MAX_WOUNDS 4

static const char *const pieces[] = {
    "(",           ")",       "[",
    "]",           "{",       "}",
    ",",           ".",       "?",
    ":",           "..",      "&&",
    "||",          "!",       "-",
    "'",           "\"",      "'''",
    "r'",          "b'",      "\\",
    "\\x",         "`",       "`a b`",
    "\xc3",        "\xff",    "//",
    "\n",          "0x",      "1e",
    "1u",          "1e400",   "99999999999999999999",
    " in ",        "true",    "null",
    "while",       "@",       ".?",
    "[?",          "{?",      "T{",
    ".all(v,",     "has(",    "cel.bind(v,1,",
    "dyn(",        ".map(",   "\\u00e4",
    "\\U0010FFFF", "\\ud800", "\\400",
};

/* The text with one place spoilt. */
static struct str spoil(struct arena *a, struct bytes *b, struct str text)
{
    size_t at = text.len ? (take(b, 256) * 256 + take(b, 256)) % text.len : 0;
    size_t n = take(b, 4) ? 0 : MIN(take(b, 6), text.len - at);
    struct buf out = buf_in(a, text.len + 64);

    buf_add(&out, str_slice(text, 0, at));
    if (take(b, 8) == 0) /* a part of it once more */
        buf_add(&out, str_slice(text, at / 2, MIN(at / 2 + take(b, 64), text.len)));
    else if (take(b, 4))
        buf_add(&out, str_from(pieces[take(b, countof(pieces))]));
    buf_add(&out, str_slice(text, at + n, text.len));
    return buf_str(&out);
}

static void check_issues(const struct cel_issues *issues, struct str text)
{
    int lines = 1;

    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n' || text.at[i] == '\r';
    assert(issues->list.len);
    vec_each (i, &issues->list) {
        const struct cel_issue *issue = &issues->list.at[i];
        assert(issue->line <= lines && issue->column <= (int)text.len + 1);
        assert(issue->text.len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cel_env *env;
    static struct arena a;
    struct cel_env_spec spec = {.kind = CEL_ENV_LANGUAGE, .version = CEL_STORED};
    struct bytes b = {data, data + size};
    struct cel_issues issues = {.arena = &a};

    if (!env) {
        env = cel_env_new(&spec);
        a = arena_sized(1 << 16);
        for (const char *c = "iudbsylSmtpoqxvwk"; *c; c++)
            cel_env_var(env, str_of(c, 1), &cel_type_dyn, 0, 0);
    }
    arena_reset(&a);
    struct str text = made_expression(&a, &b);
    for (unsigned n = 1 + take(&b, MAX_WOUNDS); n; n--)
        text = spoil(&a, &b, text);
    struct cel_program *p = cel_compile(env, text, NULL, &issues);
    struct str one;
    if (!p) {
        check_issues(&issues, text);
        cel_issues_text(&a, &issues, text);
    }
    held();
    one = cel_unparse(&a, env, text, &issues);
    if (one.at) {
        struct str two = cel_unparse(&a, env, one, &issues);
        if (!two.at || !str_eq(one, two))
            fprintf(stderr, "%.*s\n%.*s\n%.*s\n", STR_ARG(text), STR_ARG(one), STR_ARG(two));
        assert(two.at && str_eq(one, two));
        held();
    }
    assert(!p || one.at);
    cel_program_free(p);
    return 0;
}
