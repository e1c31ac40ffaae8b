/* lex_priv.h - an expression's text as tokens */
#pragma once

#include "cel/ast_priv.h"

enum token_kind {
    T_END,
    T_BAD, /* characters that are no token; already reported */
    T_IDENT,
    T_QUOTED, /* `field name`; text is without the quotes */
    T_INT,
    T_UINT,
    T_DOUBLE,
    T_STRING,
    T_BYTES,
    T_TRUE,
    T_FALSE,
    T_NULL,
    T_IN,
    T_EQ,
    T_NE,
    T_LE,
    T_GE,
    T_LT,
    T_GT,
    T_AND,
    T_OR,
    T_NOT,
    T_PLUS,
    T_MINUS,
    T_STAR,
    T_SLASH,
    T_PERCENT,
    T_ASK,
    T_COLON,
    T_DOT,
    T_COMMA,
    T_LPAREN,
    T_RPAREN,
    T_LBRACKET,
    T_RBRACKET,
    T_LBRACE,
    T_RBRACE,
};

struct token {
    enum token_kind kind;
    uint32_t from, to; /* bytes */
};

struct lexer {
    struct str text;
    uint32_t at;
    struct report *report;
};

struct token lex_next(struct lexer *l);
/* The value of a string or bytes token; false where an escape is wrong (reported). */
bool lex_string(struct lexer *l, struct arena *a, struct token t, struct str *out);
/* `as break const …`: never the name of a variable or global function. */
bool lex_is_reserved(struct str word);
