/* args.c - command lines as people write them, and what a wrong one is told */
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/testing.h"

static int nothing(struct cli_args *args)
{
    (void)args;
    return 0;
}

static const struct cli_flag flags[] = {
    {'n', "name",   "NAME", "a value"   },
    {'d', "detach", NULL,   "a switch"  },
    {0,   "long",   "N",    "no letter" },
    {'f', "file",   "FILE", "may repeat"},
};

static const struct cli_command command = {
    .name = "try",
    .usage = "try WORD [-n NAME]",
    .help = "Try.",
    .example = "berth try x",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = 2,
    .run = nothing,
};

/* What fn() writes to a stream, in the arena. */
static struct str written(struct arena *a, FILE *stream, int (*fn)(void *ctx), void *ctx,
                          int *rc)
{
    char path[] = "/tmp/berth-test-XXXXXX", text[4096];
    int to = mkstemp(path), was = dup(fileno(stream));

    fflush(stream);
    dup2(to, fileno(stream));
    *rc = fn(ctx);
    fflush(stream);
    dup2(was, fileno(stream));
    close(was);
    ssize_t n = pread(to, text, sizeof(text), 0);
    close(to);
    unlink(path);
    return str_copy(a, str_of(text, n > 0 ? (size_t)n : 0));
}

struct line {
    const struct cli_command *command;
    struct arena *arena;
    char *argv[12];
    int argc;
    struct cli_args args;
};

static int parse(void *ctx)
{
    struct line *l = ctx;

    return cli_parse(l->command, l->arena, l->argc, l->argv, &l->args);
}

/* "a b -- c" as argv. */
static void split(struct line *l, const char *text)
{
    struct str left = str_from(text), word;

    l->argv[l->argc++] = (char[]){"try"};
    while (left.len && l->argc < (int)countof(l->argv)) {
        str_cut(left, ' ', &word, &left);
        l->argv[l->argc++] = str_z(l->arena, word);
    }
}

/* "name=x detach long= file=a,b words=one,two rest=z" of what was read. */
static struct str told(struct arena *a, const struct cli_args *args)
{
    struct buf b = buf_in(a, 256);

    for (size_t i = 0; i < countof(flags); i++) {
        if (!cli_has(args, flags[i].name))
            continue;
        buf_printf(&b, "%s", flags[i].name);
        vec_each (k, &args->repeats[i])
            buf_printf(&b, "%c%s", k ? ',' : '=', args->repeats[i].at[k]);
        buf_byte(&b, ' ');
    }
    buf_printf(&b, "words");
    for (size_t i = 0; i < args->n_words; i++)
        buf_printf(&b, "%c%s", i ? ',' : '=', args->words[i]);
    for (size_t i = 0; i < args->n_rest; i++)
        buf_printf(&b, "%s%s", i ? "," : " rest=", args->rest[i]);
    return buf_str(&b);
}

TEST(cli_parse)
{
    static const struct {
        const char *name, *line, *want;
        bool takes_rest;
    } cases[] = {
        {"a word",                                    "x",                    "words=x",            false},
        {"a letter and its value",                    "x -n a",               "name=a words=x",     false},
        {"a letter with its value behind it",         "-na x",                "name=a words=x",     false},
        {"a long option and its value",               "--name a x",           "name=a words=x",     false},
        {"with =",                                    "--name=a x",           "name=a words=x",     false},
        {"an empty value with =",                     "--name= x",            "name= words=x",      false},
        {"a switch takes no word",                    "-d x",                 "detach words=x",     false},
        {"options between words",                     "x --long 3 y",         "long=3 words=x,y",   false},
        {"an option given again",                     "-f a -f b --file=c x", "file=a,b,c words=x", false},
        {"a value may begin with -",                  "-n -1 x",              "name=-1 words=x",    false},
        {"- is a word",                               "-",                    "words=-",            false},
        {"behind -- all are words",                   "-- -d x",              "words=-d,x",         false},
        {"behind -- is the rest, where one is taken", "x -- ls -l",           "words=x rest=ls,-l", true },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct cli_command c = command;
        struct line l = {.command = &c, .arena = &a};

        test_case(cases[i].name);
        c.takes_rest = cases[i].takes_rest;
        split(&l, cases[i].line);
        check_int(parse(&l), 0);
        check_samez(told(&a, &l.args), cases[i].want);
    }
}

TEST(cli_parse_refuses)
{
    static const struct {
        const char *name, *line, *want;
    } cases[] = {
        {"an unknown option is named",         "x --frob",     "unknown option '--frob'"             },
        {"an unknown letter",                  "x -z",         "unknown option '-z'"                 },
        {"a value that is missing",            "x --name",     "option '--name' needs a value (NAME)"},
        {"a switch with a value",              "x --detach=1", "option '--detach=1' takes no value"  },
        {"no word at all",                     "-d",           "an argument is missing"              },
        {"one word too many",                  "x y z",        "unexpected argument 'z'"             },
        {"the beginning of an option is none", "x --na a",     "unknown option '--na'"               },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct line l = {.command = &command, .arena = &a};
        int rc;

        test_case(cases[i].name);
        split(&l, cases[i].line);
        struct str text = written(&a, stderr, parse, &l, &rc);
        check_int(rc, EXIT_USAGE);
        check_same(text, str_printf(&a, "berth try: %s\nusage: berth try WORD [-n NAME]\n",
                                    cases[i].want));
    }
}

TEST(cli_help)
{
    scoped(arena_fini) struct arena a = arena_sized(4096);
    struct line l = {.command = &command, .arena = &a};
    int rc;

    split(&l, "--help --frob");
    struct str text = written(&a, stdout, parse, &l, &rc);
    check_int(rc, -1);
    check_samez(text, "usage: berth try WORD [-n NAME]\n\nTry.\n\n"
                      "  -n, --name NAME            a value\n"
                      "  -d, --detach               a switch\n"
                      "      --long N               no letter\n"
                      "  -f, --file FILE            may repeat\n"
                      "\nexample: berth try x\n");
}

static int read_number(void *ctx)
{
    struct line *l = ctx;
    int64_t v = 7;

    return cli_number(&l->args, "long", 1, 10, &v) ? (int)v : -1;
}

TEST(cli_number)
{
    static const struct {
        const char *name, *line;
        int want;
    } cases[] = {
        {"not given: what was there", "x",           7 },
        {"a number",                  "x --long 10", 10},
        {"too large",                 "x --long 11", -1},
        {"too small",                 "x --long 0",  -1},
        {"not a number",              "x --long 1x", -1},
        {"empty",                     "x --long=",   -1},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct line l = {.command = &command, .arena = &a};
        int rc;

        test_case(cases[i].name);
        split(&l, cases[i].line);
        check_int(parse(&l), 0);
        struct str text = written(&a, stderr, read_number, &l, &rc);
        check_int(rc, cases[i].want);
        check_int(str_has(text, S("is no number from 1 to 10\nusage: ")), rc < 0);
    }
}

static int read_span(void *ctx)
{
    struct line *l = ctx;
    struct span v = span_s(7);

    return cli_span(&l->args, "long", &v) ? (int)(v.ns / SECOND_NS) : -1;
}

TEST(cli_span)
{
    static const struct {
        const char *name, *line;
        int want;
    } cases[] = {
        {"not given: what was there", "x",               7    },
        {"a number is seconds",       "x --long 90",     90   },
        {"seconds",                   "x --long 30s",    30   },
        {"minutes",                   "x --long 5m",     300  },
        {"hours",                     "x --long 2h",     7200 },
        {"days",                      "x --long 1d",     86400},
        {"nothing",                   "x --long 0",      0    },
        {"a unit alone",              "x --long s",      -1   },
        {"another unit",              "x --long 3w",     -1   },
        {"two units",                 "x --long 1h30m",  -1   },
        {"before now",                "x --long=-1s",    -1   },
        {"past every calendar",       "x --long 20000d", -1   },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct line l = {.command = &command, .arena = &a};
        int rc;

        test_case(cases[i].name);
        split(&l, cases[i].line);
        check_int(parse(&l), 0);
        struct str text = written(&a, stderr, read_span, &l, &rc);
        check_int(rc, cases[i].want);
        check_int(str_has(text, S("is no time such as 30s")), rc < 0);
    }
}

/* What every command promises, whoever writes the next one. */
TEST(cli_commands)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        const struct cli_command *c = cli_commands[i];
        test_case(c->name);
        check(cli_command_named(c->name) == c);
        check(str_starts(str_from(c->usage), str_from(c->name)));
        check(c->help && c->run && c->n_flags <= CLI_MAX_FLAGS);
        check(c->is_hidden || str_ends(str_from(c->help), S(".")));
        check(!c->example || str_starts(str_from(c->example), S("berth ")));
        for (size_t k = 0; k < c->n_flags; k++)
            for (size_t m = 0; m < k; m++) {
                const struct cli_flag *x = &c->flags[k], *y = &c->flags[m];
                check(strcmp(x->name, y->name) != 0);
                check(!x->letter || x->letter != y->letter);
            }
    }
    check(cli_command_named("nothing") == NULL);
}
