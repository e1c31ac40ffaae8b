/* lex.h - the lines of a .kind file as words
 *
 * A logical line is a line and the more deeply indented ones below it (8 columns and more). The
 * comment lines right above it are its doc; a comment at its end is too, where none stands
 * above.
 */
#pragma once

#include "base/base.h"

enum token_type {
    TOKEN_END,   /* of the logical line */
    TOKEN_WORD,  /* name, number, path, @12 */
    TOKEN_TEXT,  /* "quoted", with \" \\ \n \t; or `raw` */
    TOKEN_PUNCT, /* one of [ ] { } ? , : = and := (which is written as 'd') */
};

struct token {
    enum token_type type;
    char punct;
    struct str text;
    int line;
};

struct line {
    int number;
    bool indented; /* belongs to the block above */
    struct str doc;
    struct token *tokens; /* TOKEN_END last */
    size_t n_tokens;
};

#define KIND_FILE_MAX ((size_t)1 << 20) /* bytes */

typedef VEC(struct line) line_vec;

/* All logical lines of a file's text. Errors are ERR_SYNTAX with "FILE:LINE: ..." */
int lex_file(struct arena *a, struct str file, struct str text, line_vec *out, struct err *err);
