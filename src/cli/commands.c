/* commands.c - every command there is */
#include "cli/cli.h"

extern const struct cli_command cli_up, cli_version;

const struct cli_command *const cli_commands[] = {
    &cli_up,
    &cli_version,
};
const size_t cli_n_commands = countof(cli_commands);
