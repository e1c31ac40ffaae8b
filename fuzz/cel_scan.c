/* A pattern that one pass decides decides as RE2 does, on every text. */
#include "choose.h"

#include "cel/scan_priv.h"

#define MAX_PIECES 8
#define N_TEXTS 8

static const char *const pieces[] = {
    "a",    "b",      "7",     "-",     "_",       ".",     "\\.",    "\\d",         "\\w",
    "\\-",  "\\",     "[",     "]",     "[a-c]",   "[^a]",  "[.-9]",  "[\\.-a]",     "[a-]",
    "[-a]", "[\\w-]", "[]a]",  "[\\]]", "[a\\-c]", "(",     ")",      "|",           "+",
    "*",    "?",      "{2}",   "{1,3}", "{0,}",    "{,2}",  "{0,03}", "{",           "}",
    "$",    "^",      "\\$",   "\\/",   "ab",      "node-", "(?i)",   "[[:digit:]]", "\xc3\xa4",
    "+?",   "{0}",    "\\x41", "\\b",
};
static const char *const texts[] = {"a",  "b",  "7",     "-",        "_",  ".", "]", "9", "c",
                                    "ab", "77", "node-", "\xc3\xa4", "\n", "$", "{", "/", "A"};

static struct str made(struct arena *a, struct bytes *b, const char *first,
                       const char *const *from, unsigned n)
{
    struct buf out = buf_in(a, 64);

    buf_add(&out, str_from(first));
    for (unsigned left = take(b, MAX_PIECES + 1); left; left--) {
        if (take(b, 32))
            buf_add(&out, str_from(from[take(b, n)]));
        else
            buf_byte(&out, (char)take(b, 128));
    }
    return buf_str(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 12);
    struct bytes b = {data, data + size};
    struct str pattern = made(&a, &b, "^", pieces, countof(pieces));
    struct regex *re = regex_new(pattern, NULL);
    const struct scan *s = re ? scan_new(&a, pattern) : NULL;

    for (int i = 0; s && i < N_TEXTS; i++) {
        struct str text = made(&a, &b, "", texts, countof(texts));
        bool ours = scan_match(s, text);
        if (ours != regex_match(re, text))
            fprintf(stderr, "'%.*s' on '%.*s': %d\n", STR_ARG(pattern), STR_ARG(text), ours);
        assert(ours == regex_match(re, text));
        held();
    }
    regex_free(re);
    return 0;
}
