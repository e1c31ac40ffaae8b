/* version.c - `berth version` */
#include "cli/cli.h"

#include "server/server.h"

static int version(struct cli_args *args)
{
    (void)args;
    printf("berth %s, serves Kubernetes 1.%d\n", BERTH_VERSION, SERVER_VERSION_MINOR);
    return 0;
}

const struct cli_command cli_version = {
    .name = "version",
    .usage = "version",
    .help = "Print the version.",
    .run = version,
};
