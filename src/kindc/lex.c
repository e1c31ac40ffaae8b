/* lex.c - the lines of a .kind file as words */
#include "kindc/lex.h"

#define CONTINUES_AT 8 /* columns */

typedef VEC(struct token) token_vec;

struct lexer {
    struct arena *a;
    struct str file;
    struct err *err;
    int line;
    struct str doc;  /* of the next logical line */
    struct str tail; /* the comment at the end of this one */
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_.-/@$+%*", c));
}

static struct str join_doc(struct arena *a, struct str doc, struct str more)
{
    return doc.len ? str_printf(a, "%.*s %.*s", STR_ARG(doc), STR_ARG(more)) : more;
}

static int lex_error(struct lexer *lx, const char *what)
{
    return err_set(lx->err, ERR_SYNTAX, "%.*s:%d: %s", STR_ARG(lx->file), lx->line, what);
}

/* "text": *i stands behind the first quote, and behind the last one afterwards. */
static int lex_quoted(struct lexer *lx, struct str s, size_t *i, struct str *out)
{
    struct buf b = buf_in(lx->a, 32);

    for (; *i < s.len && s.at[*i] != '"'; ++*i) {
        char c = s.at[*i];
        if (c == '\\') {
            if (++*i >= s.len)
                break;
            c = s.at[*i];
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (c != '"' && c != '\\')
                return lex_error(lx, "only \\\" \\\\ \\n and \\t may follow a backslash; "
                                     "write `...` for a raw text");
        }
        buf_byte(&b, c);
    }
    if (*i >= s.len)
        return lex_error(lx, "the text has no closing '\"' on this line");
    ++*i;
    *out = buf_str(&b);
    return 0;
}

static int lex_token(struct lexer *lx, struct str s, size_t *i, struct token *t)
{
    char c = s.at[*i];

    *t = (struct token){.line = lx->line};
    if (c == '"') {
        t->type = TOKEN_TEXT;
        ++*i;
        return lex_quoted(lx, s, i, &t->text);
    }
    if (c == '`') {
        size_t end = str_index(str_slice(s, *i + 1, s.len), '`');
        if (end == STR_NONE)
            return lex_error(lx, "the raw text has no closing '`' on this line");
        t->type = TOKEN_TEXT;
        t->text = str_slice(s, *i + 1, *i + 1 + end);
        *i += end + 2;
        return 0;
    }
    if (is_word(c)) {
        size_t from = *i;
        while (*i < s.len && is_word(s.at[*i]))
            ++*i;
        t->type = TOKEN_WORD;
        t->text = str_slice(s, from, *i);
        return 0;
    }
    if (strchr("[]{}?,:=", c)) {
        bool marker = c == ':' && *i + 1 < s.len && s.at[*i + 1] == '=';
        t->type = TOKEN_PUNCT;
        t->punct = marker ? 'd' : c;
        t->text = str_slice(s, *i, *i + 1 + marker);
        *i += 1 + marker;
        return 0;
    }
    return err_set(lx->err, ERR_SYNTAX,
                   "%.*s:%d: '%c' cannot stand here; quote it if it belongs to a text",
                   STR_ARG(lx->file), lx->line, c);
}

static int lex_line(struct lexer *lx, struct str s, token_vec *out)
{
    size_t i = 0;

    while (i < s.len) {
        struct token t;
        if (s.at[i] == ' ') {
            i++;
            continue;
        }
        if (s.at[i] == '#') {
            lx->tail = join_doc(lx->a, lx->tail, str_trim(str_slice(s, i + 1, s.len)));
            return 0;
        }
        if (lex_token(lx, s, &i, &t) < 0)
            return -1;
        vec_push_in(lx->a, out, t);
    }
    return 0;
}

/* Ends the logical line under construction, if there is one. */
static void lex_close(struct lexer *lx, struct line *open, token_vec *tokens, line_vec *out)
{
    if (!tokens->len)
        return;
    int last = vec_last(tokens).line;
    vec_push_in(lx->a, tokens, (struct token){.type = TOKEN_END, .line = last});
    open->tokens = tokens->at;
    open->n_tokens = tokens->len;
    if (!open->doc.len)
        open->doc = lx->tail;
    lx->tail = (struct str){0};
    vec_push_in(lx->a, out, *open);
    *tokens = (token_vec){0};
}

int lex_file(struct arena *a, struct str file, struct str text, line_vec *out, struct err *err)
{
    struct lexer lx = {.a = a, .file = file, .err = err};
    struct line open = {0};
    token_vec tokens = {0};

    if (text.len > KIND_FILE_MAX)
        return err_set(err, ERR_LIMIT, "%.*s: larger than %zu bytes; split it", STR_ARG(file),
                       KIND_FILE_MAX);
    while (text.len) {
        struct str raw, s;
        str_cut(text, '\n', &raw, &text);
        lx.line++;
        if (str_index(raw, '\t') != STR_NONE)
            return lex_error(&lx, "a tab; indent by four blanks");
        s = str_trim(raw);
        size_t indent = s.len ? (size_t)(s.at - raw.at) : 0;

        if (s.len == 0 || s.at[0] == '#') {
            lex_close(&lx, &open, &tokens, out);
            lx.doc =
                s.len ? join_doc(a, lx.doc, str_trim(str_slice(s, 1, s.len))) : (struct str){0};
            continue;
        }
        if (indent < CONTINUES_AT || !tokens.len) {
            lex_close(&lx, &open, &tokens, out);
            open = (struct line){.number = lx.line, .indented = indent > 0, .doc = lx.doc};
            lx.doc = (struct str){0};
        }
        if (lex_line(&lx, s, &tokens) < 0)
            return -1;
    }
    lex_close(&lx, &open, &tokens, out);
    return 0;
}
