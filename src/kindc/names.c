/* names.c - API names as C names */
#include "kindc/model.h"

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alnum(char c)
{
    return is_upper(c) || is_lower(c) || (c >= '0' && c <= '9');
}

static char at(struct str s, size_t i)
{
    return i < s.len ? s.at[i] : 0;
}

/* Does a word begin at i? "podIPs": at I, not at P, which belongs to a plural. */
static bool word_begins(struct str s, size_t i)
{
    if (i == 0 || !is_upper(s.at[i]))
        return false;
    if (!is_upper(s.at[i - 1]))
        return true;
    bool plural = at(s, i + 1) == 's' && !is_lower(at(s, i + 2));
    return is_lower(at(s, i + 1)) && !plural;
}

/* What C, gcc's gnu17 or view.h has taken. */
static bool is_taken(struct str s)
{
    static const char *const words[] = {
        "auto",    "bool",   "break",    "case",   "char",   "const",    "continue",
        "default", "do",     "double",   "else",   "enum",   "extern",   "false",
        "float",   "for",    "goto",     "if",     "inline", "int",      "linux",
        "long",    "null",   "register", "return", "set",    "short",    "signed",
        "sizeof",  "static", "struct",   "switch", "true",   "typedef",  "typeof",
        "union",   "unix",   "unsigned", "unused", "void",   "volatile", "while",
    };

    for (size_t i = 0; i < countof(words); i++) {
        if (str_eqz(s, words[i]))
            return true;
    }
    return false;
}

static struct str snake(struct arena *a, struct str prefix, struct str name, bool upper)
{
    struct buf b = buf_in(a, name.len + 16);

    buf_add(&b, prefix);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (!is_alnum(c)) {
            if (b.len && b.at[b.len - 1] != '_' && i + 1 < name.len)
                buf_byte(&b, '_');
            continue;
        }
        if (word_begins(name, i) && b.len && b.at[b.len - 1] != '_')
            buf_byte(&b, '_');
        if (upper && is_lower(c))
            c = (char)(c - 'a' + 'A');
        else if (!upper && is_upper(c))
            c = (char)(c - 'A' + 'a');
        buf_byte(&b, c);
    }
    if (!upper && is_taken(buf_str(&b)))
        buf_byte(&b, '_');
    return buf_str(&b);
}

struct str c_name(struct arena *a, struct str prefix, struct str name)
{
    return snake(a, prefix, name, false);
}

struct str c_upper(struct arena *a, struct str name)
{
    return snake(a, (struct str){0}, name, true);
}
