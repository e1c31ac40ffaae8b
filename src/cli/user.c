/* user.c - `berth user`: lets somebody else in
 *
 * Prints a kubeconfig for them. They are known to the server from then on; where the machine
 * has an account of that name, their work runs as it.
 */
#include "cli/cli.h"
#include "cli/files.h"
#include "cli/pki.h"
#include "cli/users.h"

#include <unistd.h>

#include "client/kubeconfig.h"
#include "io/io.h"
#include "value/names.h"

/* Where berth listens on every address, others find it by this machine's name, which stands in
 * its certificate. */
static struct str for_others(struct arena *a, struct str server)
{
    static const struct str any[] = {S_INIT("https://0.0.0.0:"), S_INIT("https://[::]:")};
    char name[256] = "";

    for (size_t i = 0; i < countof(any); i++) {
        if (str_starts(server, any[i]) && gethostname(name, sizeof(name) - 1) == 0)
            return str_concat(a, S("https://"), str_from(name), S(":"),
                              str_slice(server, any[i].len, server.len));
    }
    return server;
}

static int print_config(struct cli_args *args, struct str dir, struct str name,
                        const struct tls_pem *cert, struct str token)
{
    struct kubeconfig own, theirs;
    struct err err = {0};

    if (kubeconfig_load(args->arena, place_in(args->arena, dir, "kubeconfig"), S(""), &own,
                        &err) < 0)
        return cli_fail(args, "%s; it is made by `berth up`", err.text);
    theirs = (struct kubeconfig){.user = name,
                                 .server = for_others(args->arena, own.server),
                                 .ca = own.ca,
                                 .cert = cert->cert,
                                 .key = cert->key,
                                 .token = token};
    struct str ns = str_printf(args->arena, "u-%.*s", STR_ARG(name));
    if (name_is(NAME_DNS_LABEL, ns)) /* theirs, where they have an account of this machine */
        theirs.ns = ns;
    struct str text = kubeconfig_text(args->arena, &theirs);
    fwrite(text.at, 1, text.len, stdout);
    return 0;
}

static int user(struct cli_args *args)
{
    struct arena *a = args->arena;
    struct str dir = place_data(a, cli_value(args, "data")), name = str_from(args->words[0]);
    struct str groups[CLI_MAX_REPEATS], token = {0};
    struct tls_pem cert = {0};
    struct err err = {0};
    bool has_token = cli_has(args, "token");
    size_t n = 0;

    for (size_t f = 0; f < args->command->n_flags; f++)
        if (strcmp(args->command->flags[f].name, "group") == 0)
            vec_each (i, &args->repeats[f])
                if (n < countof(groups))
                    groups[n++] = str_from(args->repeats[f].at[i]);
    if (users_add(a, dir, name, groups, n, has_token ? &token : NULL, &err) < 0)
        return cli_fail(args, "%s", err.text);
    if (!has_token) {
        struct io *io = io_real_new(&err);
        if (!io)
            return cli_fail(args, "%s", err.text);
        int rc = pki_issue(a, dir, name, groups, n, io_now(io), &cert, &err);
        io_free(io);
        if (rc < 0)
            return cli_fail(args, "%s", err.text);
    }
    return print_config(args, dir, name, &cert, token);
}

static const struct cli_flag flags[] = {
    {0, "data",  "DIR",   "the data directory of the berth"           },
    {0, "group", "GROUP", "a group they belong to; may be given again"},
    {0, "token", NULL,    "a token instead of a certificate"          },
};

const struct cli_command cli_user = {
    .name = "user",
    .usage = "user NAME [--group GROUP]... [--token]",
    .help = "Print a kubeconfig that lets somebody else in.",
    .example = "berth user ann --group lab >ann.kubeconfig",
    .flags = flags,
    .n_flags = countof(flags),
    .least_words = 1,
    .most_words = 1,
    .run = user,
};
