/* backup.c - `berth backup` and `berth fsck`: the store's file, copied and looked at
 *
 * Both read the file; a berth may be running on it.
 */
#include "cli/cli.h"
#include "cli/files.h"

#include "server/server.h"

static const struct cli_flag flags[] = {
    {0, "data", "DIR", "the data directory"},
};

static int backup(struct cli_args *args)
{
    struct str dir = place_data(args->arena, cli_value(args, "data"));
    struct err err = {0};

    if (server_backup(str_z(args->arena, dir), args->words[0], &err) < 0)
        return cli_fail(args, "%s", err.text);
    printf("wrote %s\n", args->words[0]);
    return 0;
}

const struct cli_command cli_backup = {
    .name = "backup",
    .usage = "backup [--data DIR] FILE",
    .help =
        "Write a consistent copy of everything stored to a new file; berth may be running.\n"
        "To go back to it, put it as berth.db into an empty data directory.",
    .example = "berth backup /mnt/berth-$(date +%F).db",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = 1,
    .run = backup,
};

static void tell(void *ctx, struct str sentence)
{
    (void)ctx;
    fprintf(stderr, "berth fsck: %.*s\n", STR_ARG(sentence));
}

static int fsck(struct cli_args *args)
{
    struct str dir = place_data(args->arena, cli_value(args, "data"));
    struct err err = {0};
    int n = server_fsck(str_z(args->arena, dir), tell, NULL, &err);

    if (n < 0)
        return cli_fail(args, "%s", err.text);
    if (n)
        return cli_fail(args, "%d problems in '%.*s'", n, STR_ARG(dir));
    printf("%.*s: no problem found\n", STR_ARG(dir));
    return 0;
}

const struct cli_command cli_fsck = {
    .name = "fsck",
    .usage = "fsck [--data DIR]",
    .help = "Look at everything stored and say what is wrong with it; nothing is changed.",
    .example = "berth fsck",
    .flags = flags,
    .n_flags = countof(flags),
    .run = fsck,
};
