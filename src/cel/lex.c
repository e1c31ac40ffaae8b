/* lex.c - an expression's text as tokens
 *
 * One pass over bytes. A string is only delimited here; its escapes are read when the parser
 * asks for the value. What is no token is reported at once and skipped.
 */
#include "cel/lex_priv.h"

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_of(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char peek(const struct lexer *l, uint32_t ahead)
{
    return l->at + ahead < l->text.len ? l->text.at[l->at + ahead] : 0;
}

bool lex_is_reserved(struct str word)
{
    static const struct str words[] = {
        S_INIT("as"),     S_INIT("break"), S_INIT("const"),     S_INIT("continue"),
        S_INIT("else"),   S_INIT("for"),   S_INIT("function"),  S_INIT("if"),
        S_INIT("import"), S_INIT("let"),   S_INIT("loop"),      S_INIT("package"),
        S_INIT("return"), S_INIT("var"),   S_INIT("namespace"), S_INIT("void"),
        S_INIT("while"),
    };

    for (size_t i = 0; i < countof(words); i++)
        if (str_eq(words[i], word))
            return true;
    return false;
}

/* White space and comments. */
static void skip_blank(struct lexer *l)
{
    for (;;) {
        char c = peek(l, 0);
        if (l->at < l->text.len &&
            (c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r')) {
            l->at++;
        } else if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->text.len && peek(l, 0) != '\n')
                l->at++;
        } else {
            return;
        }
    }
}

/* Length of the escape behind the backslash at i, which stands for itself; 0: none is valid. */
static uint32_t escape_len(struct str s, uint32_t i)
{
    static const char simple[] = "abfnrtv\\?\"'`";
    uint32_t want;
    char c = i + 1 < s.len ? s.at[i + 1] : 0;

    if (c && strchr(simple, c))
        return 2;
    if (c >= '0' && c <= '3') {
        for (want = 2; want < 4; want++)
            if (i + want >= s.len || s.at[i + want] < '0' || s.at[i + want] > '7')
                return 0;
        return 4;
    }
    want = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    for (uint32_t k = 0; k < want; k++)
        if (i + 2 + k >= s.len || hex_of(s.at[i + 2 + k]) < 0)
            return 0;
    return want ? want + 2 : 0;
}

/* The end of the string whose opening quote is at `from`, or 0. */
static uint32_t string_end(struct str s, uint32_t from, bool is_raw)
{
    char q = s.at[from];
    bool is_triple = from + 2 < s.len && s.at[from + 1] == q && s.at[from + 2] == q;
    uint32_t i = from + (is_triple ? 3 : 1);

    while (i < s.len) {
        char c = s.at[i];
        if (c == q) {
            if (!is_triple)
                return i + 1;
            if (i + 2 < s.len && s.at[i + 1] == q && s.at[i + 2] == q)
                return i + 3;
        }
        if (!is_triple && (c == '\n' || c == '\r'))
            return 0;
        if (c == '\\' && !is_raw) {
            uint32_t n = escape_len(s, i);
            if (n == 0)
                return 0;
            i += n;
        } else {
            i++;
        }
    }
    return 0;
}

static struct token bad(struct lexer *l, uint32_t from, uint32_t to)
{
    struct str what = str_slice(l->text, from, MIN(to, from + 40));

    issue_report(l->report, from, "Syntax error: token recognition error at: '%.*s'",
                 STR_ARG(what));
    l->at = to;
    return (struct token){T_BAD, from, to};
}

/* A string or bytes literal if one starts here. */
static bool lex_quoted(struct lexer *l, struct token *out)
{
    uint32_t i = l->at;
    bool is_bytes = false, is_raw = false;

    if (peek(l, 0) == 'b' || peek(l, 0) == 'B')
        is_bytes = true, i++;
    if (i < l->text.len && (l->text.at[i] == 'r' || l->text.at[i] == 'R'))
        is_raw = true, i++;
    if (i >= l->text.len || (l->text.at[i] != '"' && l->text.at[i] != '\''))
        return false;
    uint32_t end = string_end(l->text, i, is_raw);
    if (end == 0) {
        uint32_t to = i;
        while (to < l->text.len && l->text.at[to] != '\n')
            to++;
        *out = bad(l, l->at, MAX(to, i + 1));
        return true;
    }
    *out = (struct token){is_bytes ? T_BYTES : T_STRING, l->at, end};
    l->at = end;
    return true;
}

static uint32_t digits(const struct lexer *l, uint32_t i)
{
    while (i < l->text.len && is_digit(l->text.at[i]))
        i++;
    return i;
}

/* Past an exponent at i, or i where there is none. */
static uint32_t exponent(const struct lexer *l, uint32_t i)
{
    uint32_t k = i;

    if (k >= l->text.len || (l->text.at[k] != 'e' && l->text.at[k] != 'E'))
        return i;
    k++;
    if (k < l->text.len && (l->text.at[k] == '+' || l->text.at[k] == '-'))
        k++;
    uint32_t end = digits(l, k);
    return end > k ? end : i;
}

static struct token lex_number(struct lexer *l)
{
    uint32_t from = l->at, i;
    struct token t = {T_INT, from, 0};

    if (peek(l, 0) == '0' && peek(l, 1) == 'x' && hex_of(peek(l, 2)) >= 0) {
        for (i = from + 2; i < l->text.len && hex_of(l->text.at[i]) >= 0;)
            i++;
    } else {
        i = digits(l, from);
        if (i + 1 < l->text.len && l->text.at[i] == '.' && is_digit(l->text.at[i + 1])) {
            i = digits(l, i + 1);
            t.kind = T_DOUBLE;
        }
        uint32_t e = exponent(l, i);
        if (e != i) {
            t.kind = T_DOUBLE;
            i = e;
        }
    }
    if (t.kind == T_INT && i < l->text.len && (l->text.at[i] == 'u' || l->text.at[i] == 'U')) {
        t.kind = T_UINT;
        i++;
    }
    l->at = t.to = i;
    return t;
}

static struct token lex_word(struct lexer *l)
{
    static const struct {
        struct str word;
        enum token_kind kind;
    } keywords[] = {
        {S_INIT("true"),  T_TRUE },
        {S_INIT("false"), T_FALSE},
        {S_INIT("null"),  T_NULL },
        {S_INIT("in"),    T_IN   },
    };
    struct token t = {T_IDENT, l->at, 0};

    while (l->at < l->text.len && (is_alpha(peek(l, 0)) || is_digit(peek(l, 0))))
        l->at++;
    t.to = l->at;
    for (size_t i = 0; t.to - t.from <= 5 && i < countof(keywords); i++)
        if (str_eq(keywords[i].word, str_slice(l->text, t.from, t.to)))
            t.kind = keywords[i].kind;
    return t;
}

/* `a-b/c.d e` */
static struct token lex_escaped(struct lexer *l)
{
    uint32_t from = l->at, i = from + 1;

    for (; i < l->text.len; i++) {
        char c = l->text.at[i];
        if (!is_alpha(c) && !is_digit(c) && c != '.' && c != '/' && c != '-' && c != ' ')
            break;
    }
    if (i >= l->text.len || l->text.at[i] != '`' || i == from + 1)
        return bad(l, from, from + 1);
    l->at = i + 1;
    return (struct token){T_QUOTED, from, i + 1};
}

/* The sign that c alone is, or T_BAD. */
static enum token_kind single(char c)
{
    static const struct {
        char c;
        enum token_kind kind;
    } signs[] = {
        {'.', T_DOT     },
        {'(', T_LPAREN  },
        {')', T_RPAREN  },
        {'[', T_LBRACKET},
        {']', T_RBRACKET},
        {',', T_COMMA   },
        {'<', T_LT      },
        {'>', T_GT      },
        {'!', T_NOT     },
        {'+', T_PLUS    },
        {'-', T_MINUS   },
        {'*', T_STAR    },
        {'/', T_SLASH   },
        {'%', T_PERCENT },
        {'?', T_ASK     },
        {':', T_COLON   },
        {'{', T_LBRACE  },
        {'}', T_RBRACE  },
    };

    for (size_t i = 0; i < countof(signs); i++)
        if (signs[i].c == c)
            return signs[i].kind;
    return T_BAD;
}

static enum token_kind pair(char c, char next)
{
    if (next == '=')
        return c == '=' ? T_EQ : c == '!' ? T_NE : c == '<' ? T_LE : c == '>' ? T_GE : T_BAD;
    return c == '&' && next == '&' ? T_AND : c == '|' && next == '|' ? T_OR : T_BAD;
}

static struct token lex_sign(struct lexer *l)
{
    enum token_kind kind = pair(peek(l, 0), peek(l, 1));
    size_t from = l->at, to = from;
    uint32_t n = 2;

    if (kind == T_BAD) {
        kind = single(peek(l, 0));
        n = 1;
    }
    if (kind != T_BAD) {
        l->at += n;
        return (struct token){kind, (uint32_t)from, l->at};
    }
    str_rune(l->text, &to);
    return bad(l, (uint32_t)from, (uint32_t)to);
}

struct token lex_next(struct lexer *l)
{
    struct token t;

    skip_blank(l);
    if (l->at >= l->text.len)
        return (struct token){T_END, (uint32_t)l->text.len, (uint32_t)l->text.len};
    char c = peek(l, 0);
    if ((c == '"' || c == '\'' || c == 'b' || c == 'B' || c == 'r' || c == 'R') &&
        lex_quoted(l, &t))
        return t;
    if (is_alpha(c))
        return lex_word(l);
    if (is_digit(c))
        return lex_number(l);
    if (c == '.' && is_digit(peek(l, 1))) {
        t = (struct token){T_DOUBLE, l->at, digits(l, l->at + 1)};
        t.to = exponent(l, t.to);
        l->at = t.to;
        return t;
    }
    return c == '`' ? lex_escaped(l) : lex_sign(l);
}

/* The number of an escape's digits. */
static uint32_t escape_value(struct str s, uint32_t from, uint32_t to, uint32_t base)
{
    uint32_t v = 0;

    for (uint32_t i = from; i < to; i++)
        v = v * base + (uint32_t)hex_of(s.at[i]);
    return v;
}

/* One escape at i: appends what it stands for. */
static bool unescape(struct lexer *l, struct buf *b, uint32_t i, uint32_t n, bool is_bytes)
{
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    char c = l->text.at[i + 1], utf8[4];
    const char *simple = strchr(names, c);
    uint32_t rune;

    if (n == 2) {
        buf_byte(b, simple ? values[simple - names] : c);
        return true;
    }
    rune = c >= '0' && c <= '3' ? escape_value(l->text, i + 1, i + 4, 8)
                                : escape_value(l->text, i + 2, i + n, 16);
    if (is_bytes) {
        if (c == 'u' || c == 'U') {
            issue_report(l->report, i, "unable to unescape string");
            return false;
        }
        buf_byte(b, (char)rune);
        return true;
    }
    if (rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF)) {
        issue_report(l->report, i, "invalid unicode code point");
        return false;
    }
    buf_add(b, str_of(utf8, str_put_rune(utf8, (int32_t)rune)));
    return true;
}

bool lex_string(struct lexer *l, struct arena *a, struct token t, struct str *out)
{
    uint32_t i = t.from, to;
    bool is_bytes = t.kind == T_BYTES, is_raw = false;
    struct str s = l->text;

    i += is_bytes;
    if (s.at[i] == 'r' || s.at[i] == 'R')
        is_raw = true, i++;
    uint32_t quote =
        i + 2 < t.to && s.at[i + 1] == s.at[i] && s.at[i + 2] == s.at[i] && t.to - i >= 6 ? 3
                                                                                          : 1;
    i += quote;
    to = t.to - quote;
    *out = str_slice(s, i, to);
    if ((is_raw || !memchr(s.at + i, '\\', to - i)) && !memchr(s.at + i, '\r', to - i)) {
        *out = str_copy(a, *out);
        return true;
    }
    struct buf b = buf_in(a, to - i + 4);
    while (i < to) {
        if (s.at[i] == '\\' && !is_raw) {
            uint32_t n = escape_len(s, i);
            if (!unescape(l, &b, i, n, is_bytes))
                return false;
            i += n;
        } else if (s.at[i] == '\r') { /* CR LF and CR are LF */
            buf_byte(&b, '\n');
            i += i + 1 < to && s.at[i + 1] == '\n' ? 2 : 1;
        } else {
            buf_byte(&b, s.at[i++]);
        }
    }
    *out = buf_str(&b);
    return true;
}
