/* scalar.c - what a plain scalar means: YAML 1.1 as Kubernetes' tools resolve it */
#include <math.h>

#include "base/base64.h"
#include "yaml/scalar_priv.h"

#define NUMBER_MAX 512 /* bytes; a longer plain scalar is a text */

/* ---- words ---- */

enum word { WORD_TRUE, WORD_FALSE, WORD_NULL, WORD_NAN, WORD_INF, WORD_MINUS_INF };

static const struct {
    const char *text;
    enum word word;
} words[] = {
    {"y",     WORD_TRUE     },
    {"Y",     WORD_TRUE     },
    {"yes",   WORD_TRUE     },
    {"Yes",   WORD_TRUE     },
    {"YES",   WORD_TRUE     },
    {"true",  WORD_TRUE     },
    {"True",  WORD_TRUE     },
    {"TRUE",  WORD_TRUE     },
    {"on",    WORD_TRUE     },
    {"On",    WORD_TRUE     },
    {"ON",    WORD_TRUE     },
    {"n",     WORD_FALSE    },
    {"N",     WORD_FALSE    },
    {"no",    WORD_FALSE    },
    {"No",    WORD_FALSE    },
    {"NO",    WORD_FALSE    },
    {"false", WORD_FALSE    },
    {"False", WORD_FALSE    },
    {"FALSE", WORD_FALSE    },
    {"off",   WORD_FALSE    },
    {"Off",   WORD_FALSE    },
    {"OFF",   WORD_FALSE    },
    {"",      WORD_NULL     },
    {"~",     WORD_NULL     },
    {"null",  WORD_NULL     },
    {"Null",  WORD_NULL     },
    {"NULL",  WORD_NULL     },
    {".nan",  WORD_NAN      },
    {".NaN",  WORD_NAN      },
    {".NAN",  WORD_NAN      },
    {".inf",  WORD_INF      },
    {".Inf",  WORD_INF      },
    {".INF",  WORD_INF      },
    {"+.inf", WORD_INF      },
    {"+.Inf", WORD_INF      },
    {"+.INF", WORD_INF      },
    {"-.inf", WORD_MINUS_INF},
    {"-.Inf", WORD_MINUS_INF},
    {"-.INF", WORD_MINUS_INF},
};

static bool resolve_word(struct str text, struct json *out)
{
    static const struct json values[] = {
        [WORD_TRUE] = {.type = JSON_BOOL, .boolean = true   },
        [WORD_FALSE] = {.type = JSON_BOOL},
        [WORD_NULL] = {.type = JSON_NULL                },
        [WORD_NAN] = {.type = JSON_DOUBLE,                 .d = NAN                  },
        [WORD_INF] = {.type = JSON_DOUBLE,                 .d = INFINITY},
        [WORD_MINUS_INF] = {.type = JSON_DOUBLE,                 .d = -INFINITY},
    };

    for (size_t i = 0; text.len <= 5 && i < countof(words); i++)
        if (str_eqz(text, words[i].text)) {
            *out = values[words[i].word];
            return true;
        }
    return false;
}

/* ---- numbers ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* [+-] then 0x, 0o, 0b, 0 (octal) or decimal digits, with '_' anywhere taken out before. */
static bool resolve_integer(struct str s, struct json *out)
{
    bool is_negative = s.len && s.at[0] == '-';
    uint64_t v = 0;
    int base = 10;

    if (s.len && (s.at[0] == '-' || s.at[0] == '+'))
        s = str_slice(s, 1, s.len);
    if (s.len > 1 && s.at[0] == '0') {
        char c = (char)(s.at[1] | 0x20);
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        s = str_slice(s, c == 'x' || c == 'b' || c == 'o' ? 2 : 1, s.len);
    }
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        int d = digit_of(s.at[i]);
        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    if (v <= (uint64_t)INT64_MAX + is_negative)
        *out = json_of_i64((int64_t)(is_negative ? 0 - v : v));
    else if (!is_negative)
        *out = json_of_f64((double)v); /* an unsigned one, as JSON holds it */
    else
        return false;
    return true;
}

static size_t skip_digits(struct str s, size_t i)
{
    while (i < s.len && s.at[i] >= '0' && s.at[i] <= '9')
        i++;
    return i;
}

/* [-+]? (.[0-9]+ | [0-9]+ (.[0-9]*)?) ([eE] [-+]? [0-9]+)? */
static bool is_float(struct str s)
{
    size_t i = s.len && (s.at[0] == '-' || s.at[0] == '+'), from = i;

    i = skip_digits(s, i);
    bool has_whole = i > from;
    if (i < s.len && s.at[i] == '.') {
        from = ++i;
        i = skip_digits(s, i);
        if (!has_whole && i == from)
            return false;
    } else if (!has_whole) {
        return false;
    }
    if (i < s.len && (s.at[i] | 0x20) == 'e') {
        i++;
        if (i < s.len && (s.at[i] == '-' || s.at[i] == '+'))
            i++;
        from = i;
        i = skip_digits(s, i);
        if (i == from)
            return false;
    }
    return i == s.len;
}

static bool resolve_number(struct str text, struct json *out)
{
    char plain[NUMBER_MAX + 1];
    size_t n = 0;

    if (text.len > NUMBER_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] != '_' || text.at[0] == '.') /* ".1_0" stays a text */
            plain[n++] = text.at[i];
    plain[n] = 0;
    if (text.at[0] != '.' && resolve_integer(str_of(plain, n), out))
        return true;
    if (!is_float(str_of(plain, n)))
        return false;
    *out = json_of_f64(strtod(plain, NULL));
    return !isinf(out->d);
}

struct json yaml_resolve(struct str text)
{
    struct json v;
    char first = text.len ? text.at[0] : 0;

    if (resolve_word(text, &v))
        return v;
    if (((first >= '0' && first <= '9') || first == '+' || first == '-' || first == '.') &&
        resolve_number(text, &v))
        return v;
    return json_of_str(text);
}

/* ---- tags ---- */

bool yaml_resolve_tag(struct arena *a, struct str tag, struct str text, struct json *out)
{
    struct str prefix = S("tag:yaml.org,2002:"), name = {0};

    if (str_starts(tag, prefix))
        name = str_slice(tag, prefix.len, tag.len);
    *out = yaml_resolve(text);
    if (str_eqz(name, "binary")) {
        struct str bytes;
        bool ok = base64_decode(a, text, &bytes);
        *out = json_of_str(ok ? bytes : S(""));
        return ok;
    }
    if (str_eqz(name, "bool"))
        return out->type == JSON_BOOL;
    if (str_eqz(name, "null"))
        return out->type == JSON_NULL;
    if (str_eqz(name, "int"))
        return out->type == JSON_INT;
    if (str_eqz(name, "float")) {
        if (out->type == JSON_INT)
            *out = json_of_f64((double)out->i);
        return out->type == JSON_DOUBLE;
    }
    *out = json_of_str(text);
    return true;
}

/* ---- quotes ---- */

/* Takes one or two digits up to `most`, then `then` where it is not 0. */
static bool take_part(struct str s, size_t *i, int least, int most, char then)
{
    size_t from = *i;
    int v = 0;

    for (*i = skip_digits(s, from); from < *i; from++)
        v = MIN(v * 10 + (s.at[from] - '0'), 9999);
    if (*i == 0 || digit_of(s.at[*i - 1]) > 9 || v < least || v > most)
        return false;
    return !then || (*i < s.len && s.at[(*i)++] == then);
}

/* 15:4:5, a fraction, and a zone (Z, +07:00) where one is wanted. */
static bool is_clock(struct str s, size_t i, bool has_zone)
{
    if (!take_part(s, &i, 0, 23, ':') || !take_part(s, &i, 0, 59, ':') ||
        !take_part(s, &i, 0, 59, 0))
        return false;
    if (i < s.len && s.at[i] == '.')
        i = skip_digits(s, i + 1);
    if (!has_zone)
        return i == s.len;
    if (i + 1 == s.len)
        return s.at[i] == 'Z';
    if (i + 6 != s.len || (s.at[i] != '+' && s.at[i] != '-'))
        return false;
    i++;
    return take_part(s, &i, 0, 24, ':') && take_part(s, &i, 0, 60, 0) && i == s.len;
}

/* 2006-1-2, alone or before 'T', 't' or a blank and a time of the day. */
static bool is_time(struct str s)
{
    size_t i = 0;

    if (skip_digits(s, 0) != 4 || !take_part(s, &i, 0, 9999, '-') ||
        !take_part(s, &i, 1, 12, '-') || !take_part(s, &i, 1, 31, 0))
        return false;
    if (i == s.len)
        return true;
    return (s.at[i] == 'T' || s.at[i] == 't' || s.at[i] == ' ') &&
           is_clock(s, i + 1, s.at[i] != ' ');
}

/* [-+]? [0-9][0-9_]* (:[0-5]?[0-9])+ (.[0-9_]*)? */
static bool is_base60(struct str s)
{
    size_t i = s.len && (s.at[0] == '-' || s.at[0] == '+');
    size_t groups = 0;

    if (skip_digits(s, i) == i)
        return false;
    while (i < s.len && (s.at[i] == '_' || digit_of(s.at[i]) < 10))
        i++;
    for (; i < s.len && s.at[i] == ':'; groups++) {
        size_t from = ++i;
        i = skip_digits(s, i);
        if (i == from || i > from + 2 || (i == from + 2 && s.at[from] > '5'))
            return false;
    }
    if (groups && i < s.len && s.at[i] == '.')
        for (i++; i < s.len && (s.at[i] == '_' || digit_of(s.at[i]) < 10);)
            i++;
    return groups && i == s.len;
}

bool yaml_needs_quotes(struct str text)
{
    return yaml_resolve(text).type != JSON_STRING || is_time(text) || is_base60(text);
}
