/* main.c - the program: the keeper's branch first, then one command of the table */
#include "cli/cli.h"

#include "runtime/keeper.h"

static void print_commands(FILE *out)
{
    fprintf(out, "usage: berth COMMAND [OPTIONS] ...\n\n"
                 "Jobs, queues and devices on this machine, behind the Kubernetes API.\n\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        const struct cli_command *c = cli_commands[i];
        size_t line = strcspn(c->help, "\n");
        if (!c->is_hidden)
            fprintf(out, "  %-12s %.*s\n", c->name, (int)line, c->help);
    }
    fprintf(out, "\nberth COMMAND --help says more of one; begin with: berth up\n");
}

int main(int argc, char **argv)
{
    if (keeper_is_asked(argc, argv))
        return keeper_main(argc, argv); /* before any library starts */

    if (argc < 2) {
        print_commands(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        const struct cli_command *c = argc > 2 ? cli_command_named(argv[2]) : NULL;
        if (c)
            cli_help(c, stdout);
        else
            print_commands(stdout);
        return 0;
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    const struct cli_command *c = cli_command_named(name);
    if (!c) {
        fprintf(stderr, "berth: unknown command '%s'\nusage: berth COMMAND [OPTIONS] ...\n",
                argv[1]);
        return EXIT_USAGE;
    }
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct cli_args args;
    int rc = cli_parse(c, &a, argc - 1, argv + 1, &args);
    if (rc)
        return rc < 0 ? 0 : rc;
    return c->run(&args);
}
