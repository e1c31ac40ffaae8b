/* cli.h - commands as rows: their words, flags, help, and how they run
 *
 * Results go to stdout, talk to stderr. Exit codes: 0 done, 1 it failed (one sentence on
 * stderr), 2 wrong usage (the wrong word and one line of usage). `berth run` exits as the job
 * did.
 */
#pragma once

#include "base/base.h"

#define EXIT_USAGE 2

struct cli_flag {
    char letter;       /* 0: long form only */
    const char *name;  /* "data" for --data */
    const char *value; /* what the value is, "DIR"; NULL: a switch */
    const char *help;
};

struct cli_args;

/* What a command's words are, for the shell's completion. */
enum cli_words {
    CLI_WORDS_OTHER,
    CLI_WORDS_KINDS,   /* KIND [NAME...] or KIND/NAME... */
    CLI_WORDS_TARGETS, /* KIND/NAME... */
    CLI_WORDS_SHELLS,
};

struct cli_command {
    const char *name;
    const char *usage;   /* without the leading "berth " */
    const char *help;    /* one or two lines */
    const char *example; /* one that works; may be NULL */
    const struct cli_flag *flags;
    size_t n_flags;
    int least_words, most_words; /* positional; most -1: any number */
    bool takes_rest;             /* what follows "--" goes to args->rest */
    bool is_hidden;
    enum cli_words words;
    int (*run)(struct cli_args *args);
};

#define CLI_MAX_FLAGS 32
#define CLI_MAX_REPEATS 32 /* of one flag */
#define CLI_MAX_SPAN_S INT64_C(1000000000)

struct cli_args {
    const struct cli_command *command;
    struct arena *arena;
    const char *values[CLI_MAX_FLAGS]; /* by index in the command's flags; last one wins */
    bool given[CLI_MAX_FLAGS];
    VEC(const char *) repeats[CLI_MAX_FLAGS];
    char *const *words;
    size_t n_words;
    char *const *rest;
    size_t n_rest;
};

extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;
/* The row of that name, or NULL. */
const struct cli_command *cli_command_named(const char *name);

/* Reads argv[1..] into *out. 0, or EXIT_USAGE after one sentence on stderr; -1 where help was
 * asked for and printed. */
int cli_parse(const struct cli_command *command, struct arena *a, int argc, char **argv,
              struct cli_args *out);
/* The flag's value, or NULL where it was not given. The flag must be one of the command's. */
const char *cli_value(const struct cli_args *args, const char *flag);
bool cli_has(const struct cli_args *args, const char *flag);
/* A whole number of the flag, or the default; false after one sentence on stderr. */
bool cli_number(const struct cli_args *args, const char *flag, int64_t least, int64_t most,
                int64_t *out);
/* A time such as 90 (seconds), 30s, 5m, 24h or 7d, likewise. */
bool cli_span(const struct cli_args *args, const char *flag, struct span *out);
/* Prints "berth COMMAND: ..." on stderr; always 1. */
int cli_fail(const struct cli_args *args, const char *format, ...) like_printf(2, 3);
/* The same with the command's usage line; always EXIT_USAGE. */
int cli_misuse(const struct cli_args *args, const char *format, ...) like_printf(2, 3);
void cli_help(const struct cli_command *command, FILE *out);

/* Colours: only on a terminal, and not with NO_COLOR. */
bool cli_has_colour(FILE *out);
