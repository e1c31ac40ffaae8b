/* commands.c - every command there is */
#include "cli/cli.h"

extern const struct cli_command cli_apply, cli_backup, cli_cel, cli_complete, cli_completion,
    cli_fsck, cli_delete, cli_get, cli_logs, cli_queue, cli_quota, cli_run, cli_simulate,
    cli_up, cli_user, cli_version, cli_wait, cli_why;

const struct cli_command *const cli_commands[] = {
    &cli_up,     &cli_run,  &cli_queue,  &cli_quota,   &cli_why,        &cli_get,
    &cli_apply,  &cli_logs, &cli_delete, &cli_wait,    &cli_user,       &cli_simulate,
    &cli_backup, &cli_fsck, &cli_cel,    &cli_version, &cli_completion, &cli_complete,
};
const size_t cli_n_commands = countof(cli_commands);

const struct cli_command *cli_command_named(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}
