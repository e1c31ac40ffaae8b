/* args.c - reading a command line by the command's table of flags */
#include "cli/cli.h"

#include <unistd.h>

int cli_fail(const struct cli_args *args, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "berth %s: ", args->command->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return 1;
}

int cli_misuse(const struct cli_args *args, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "berth %s: ", args->command->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\nusage: berth %s\n", args->command->usage);
    return EXIT_USAGE;
}

static int find_flag(const struct cli_command *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->n_flags; i++)
        if (strlen(c->flags[i].name) == len && memcmp(c->flags[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

static int find_letter(const struct cli_command *c, char letter)
{
    for (size_t i = 0; i < c->n_flags; i++)
        if (c->flags[i].letter == letter)
            return (int)i;
    return -1;
}

static void set_value(struct cli_args *args, int flag, const char *value)
{
    args->given[flag] = true;
    args->values[flag] = value;
    if (value)
        vec_push_in(args->arena, &args->repeats[flag], value);
}

/* One argument that begins with '-'; *i moves past a value of its own. 0, or what to exit with.
 */
static int take_flag(struct cli_args *args, int argc, char **argv, int *i)
{
    const struct cli_command *c = args->command;
    const char *word = argv[*i], *value = NULL;
    int flag;

    if (word[1] == '-') {
        const char *eq = strchr(word, '=');
        flag = find_flag(c, word + 2, eq ? (size_t)(eq - word - 2) : strlen(word + 2));
        value = eq ? eq + 1 : NULL;
    } else {
        flag = find_letter(c, word[1]);
        value = flag >= 0 && word[2] ? word + 2 : NULL;
    }
    if (flag < 0)
        return cli_misuse(args, "unknown option '%s'", word);
    if (!c->flags[flag].value) {
        if (value)
            return cli_misuse(args, "option '%s' takes no value", word);
    } else if (!value) {
        if (*i + 1 >= argc)
            return cli_misuse(args, "option '%s' needs a value (%s)", word,
                              c->flags[flag].value);
        value = argv[++*i];
    }
    set_value(args, flag, value);
    return 0;
}

int cli_parse(const struct cli_command *command, struct arena *a, int argc, char **argv,
              struct cli_args *out)
{
    VEC(char *) words = {0};
    int rc;

    *out = (struct cli_args){.command = command, .arena = a};
    assert(command->n_flags <= CLI_MAX_FLAGS);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            if (command->takes_rest) {
                out->rest = argv + i + 1;
                out->n_rest = (size_t)(argc - i - 1);
                break;
            }
            while (++i < argc)
                vec_push_in(a, &words, argv[i]);
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_help(command, stdout);
            return -1;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            if ((rc = take_flag(out, argc, argv, &i)))
                return rc;
        } else {
            vec_push_in(a, &words, argv[i]);
        }
    }
    out->words = words.at;
    out->n_words = words.len;
    if ((int)words.len < command->least_words)
        return cli_misuse(out, "%s",
                          words.len ? "too few arguments" : "an argument is missing");
    if (command->most_words >= 0 && (int)words.len > command->most_words)
        return cli_misuse(out, "unexpected argument '%s'", words.at[command->most_words]);
    return 0;
}

static int flag_of(const struct cli_args *args, const char *name)
{
    int flag = find_flag(args->command, name, strlen(name));

    assert(flag >= 0);
    return flag;
}

const char *cli_value(const struct cli_args *args, const char *flag)
{
    return args->values[flag_of(args, flag)];
}

bool cli_has(const struct cli_args *args, const char *flag)
{
    return args->given[flag_of(args, flag)];
}

bool cli_number(const struct cli_args *args, const char *flag, int64_t least, int64_t most,
                int64_t *out)
{
    const char *text = cli_value(args, flag);
    int64_t v;

    if (!text)
        return true;
    if (!str_to_i64(str_from(text), &v) || v < least || v > most) {
        cli_misuse(args, "--%s: '%s' is no number from %" PRId64 " to %" PRId64, flag, text,
                   least, most);
        return false;
    }
    *out = v;
    return true;
}

bool cli_span(const struct cli_args *args, const char *flag, struct span *out)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {
        {'s', 1    },
        {'m', 60   },
        {'h', 3600 },
        {'d', 86400}
    };
    const char *text = cli_value(args, flag);
    int64_t n, unit = 1;

    if (!text)
        return true;
    struct str digits = str_from(text);
    for (size_t i = 0; i < countof(units); i++)
        if (digits.len && digits.at[digits.len - 1] == units[i].letter) {
            unit = units[i].seconds;
            digits.len--;
            break;
        }
    if (!str_to_i64(digits, &n) || n < 0 || n > CLI_MAX_SPAN_S / unit) {
        cli_misuse(args, "--%s: '%s' is no time such as 30s, 5m, 24h or 7d", flag, text);
        return false;
    }
    *out = span_s(n * unit);
    return true;
}

void cli_help(const struct cli_command *c, FILE *out)
{
    fprintf(out, "usage: berth %s\n\n%s\n", c->usage, c->help);
    if (c->n_flags)
        fputc('\n', out);
    for (size_t i = 0; i < c->n_flags; i++) {
        const struct cli_flag *f = &c->flags[i];
        char left[64];
        snprintf(left, sizeof(left), "%c%c%s--%s%s%s", f->letter ? '-' : ' ',
                 f->letter ? f->letter : ' ', f->letter ? ", " : "  ", f->name,
                 f->value ? " " : "", f->value ? f->value : "");
        fprintf(out, "  %-26s %s\n", left, f->help);
    }
    if (c->example)
        fprintf(out, "\nexample: %s\n", c->example);
}

bool cli_has_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR");

    return isatty(fileno(out)) && !(no && *no);
}
