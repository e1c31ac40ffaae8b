/* completion.c - `berth completion SHELL`: the shell asks us what could stand next
 *
 *     berth de<TAB> ─▶ script of the shell ─▶ berth complete -- de ─▶ one candidate a line
 *
 * Names come from the berth that runs; where none does there are none, and nobody is told.
 */
#include "cli/session.h"

#include "api/kinds.h"
#include "client/client_http.h"
#include "schema/table.h"

#define AS_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

static const struct {
    const char *name, *script;
} shells[] = {
    {"bash", "_berth() {\n"
             "    local IFS=$'\\n'\n"
             "    COMPREPLY=($(berth complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
             "2>/dev/null))\n"
             "}\n"
             "complete -o default -F _berth berth\n"},
    {"zsh",  "#compdef berth\n"
            "_berth() {\n"
            "    local -a found\n"
            "    found=(${(f)\"$(berth complete -- \"${(@)words[2,CURRENT]}\" "
            "2>/dev/null)\"})\n"
            "    if (( $#found )); then compadd -- $found; else _files; fi\n"
            "}\n"
            "compdef _berth berth\n"                 },
    {"fish", "complete -c berth -f -a "
             "'(berth complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n"
             "complete -c berth -n '__fish_seen_subcommand_from apply delete simulate' "
             "-s f -l filename -r -F\n"             },
};

struct completion {
    struct cli_args *args;
    const struct cli_command *command; /* which the words begin with */
    struct session session;
    bool is_open, has_failed;
    struct str now; /* the word under the cursor */
};

/* ---- candidates ---- */

/* One candidate, where it goes on with what stands there already. */
static void offer(struct completion *c, struct str lead, struct str word)
{
    struct str whole = str_printf(c->args->arena, "%.*s%.*s", STR_ARG(lead), STR_ARG(word));

    if (str_starts(whole, c->now))
        printf("%.*s\n", STR_ARG(whole));
}

static void offer_commands(struct completion *c)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (!cli_commands[i]->is_hidden)
            offer(c, S(""), str_from(cli_commands[i]->name));
}

static void offer_flags(struct completion *c)
{
    for (size_t i = 0; i < c->command->n_flags; i++)
        offer(c, S("--"), str_from(c->command->flags[i].name));
    offer(c, S(""), S("--help"));
}

static void offer_kinds(struct completion *c)
{
    struct str done, last;

    if (!str_rcut(c->now, ',', &done, &last)) /* "jobs,po" goes on with "po" */
        done = S("");
    struct str lead = done.len ? str_printf(c->args->arena, "%.*s,", STR_ARG(done)) : S("");
    for (int id = 0; id < KIND_COUNT; id++) {
        const struct kind *k = kinds[id];
        if (k->stored && k->served && k->storage == k)
            offer(c, lead, k->plural);
    }
    offer(c, lead, S("all"));
}

/* ---- names ---- */

static bool connect_once(struct completion *c)
{
    if (!c->is_open && !c->has_failed) {
        c->has_failed = session_open(&c->session, c->args) != 0;
        c->is_open = !c->has_failed;
    }
    return c->is_open;
}

static void offer_names(struct completion *c, const struct kind *k, struct str lead)
{
    struct err err = {0};
    struct str body;

    if (!connect_once(c))
        return;
    struct client_target t = {.kind = k, .ns = k->namespaced ? c->session.ns : S("")};
    if (!session_http(&c->session, "GET", client_path(c->args->arena, &t), S(AS_TABLE), NULL,
                      NULL, &body, &err))
        return;
    const struct json *rows = json_getz(json_parse(c->args->arena, body, NULL, NULL), "rows");
    json_each (i, rows)
        offer(c, lead,
              json_str(json_path(json_at(rows, i), "object", "metadata", "name", NULL)));
}

/* KIND/NAME, of the kind that stands there; of Jobs where none does. */
static void offer_targets(struct completion *c)
{
    struct str kind, name;

    if (!str_cut(c->now, '/', &kind, &name)) {
        offer_names(c, &kind_job, S("job/"));
        return;
    }
    const struct kind *k = session_kind(c->args, str_z(c->args->arena, kind));
    if (k)
        offer_names(c, k, str_printf(c->args->arena, "%.*s/", STR_ARG(kind)));
}

static void offer_values(struct completion *c, const struct cli_flag *flag)
{
    static const char *const forms[] = {"json", "yaml", "wide", "name"};

    if (strcmp(flag->name, "namespace") == 0)
        offer_names(c, &kind_namespace, S(""));
    if (strcmp(flag->name, "queue") == 0)
        offer_names(c, &kind_kueue_local_queue, S(""));
    for (size_t i = 0; strcmp(flag->name, "output") == 0 && i < countof(forms); i++)
        offer(c, S(""), str_from(forms[i]));
}

/* ---- where the cursor stands ---- */

/* The flag that a word is, where its value is the next word. */
static const struct cli_flag *wants_value(const struct cli_command *command, const char *word)
{
    for (size_t i = 0; i < command->n_flags; i++) {
        const struct cli_flag *f = &command->flags[i];
        bool is_long = word[0] == '-' && word[1] == '-' && strcmp(word + 2, f->name) == 0;
        bool is_short = f->letter && word[0] == '-' && word[1] == f->letter && !word[2];
        if (f->value && (is_long || is_short))
            return f;
    }
    return NULL;
}

/* Where names are asked for: --data and --namespace of the words so far are ours, too. */
static void take_place(struct completion *c, const struct cli_flag *flag, const char *value)
{
    const struct cli_command *ours = c->args->command;

    for (size_t i = 0; i < ours->n_flags; i++)
        if (strcmp(ours->flags[i].name, flag->name) == 0)
            c->args->values[i] = value;
}

static void offer_words(struct completion *c, const char *first)
{
    switch (c->command->words) {
    case CLI_WORDS_SHELLS:
        for (size_t i = 0; i < countof(shells); i++)
            offer(c, S(""), str_from(shells[i].name));
        return;
    case CLI_WORDS_TARGETS:
        offer_targets(c);
        return;
    case CLI_WORDS_KINDS:
        if (first && !strchr(first, '/')) {
            const struct kind *k = session_kind(c->args, first);
            if (k)
                offer_names(c, k, S(""));
        } else if (first || memchr(c->now.at, '/', c->now.len)) {
            offer_targets(c);
        } else {
            offer_kinds(c);
        }
        return;
    case CLI_WORDS_OTHER:
        return;
    }
}

static int complete(struct cli_args *args)
{
    struct completion c = {.args = args};
    const struct cli_flag *flag = NULL;
    const char *first = NULL;

    if (args->n_rest == 0)
        return 0;
    size_t last = args->n_rest - 1;
    c.now = str_from(args->rest[last]);
    if (last == 0) {
        offer_commands(&c);
        return 0;
    }
    if (!(c.command = cli_command_named(args->rest[0])))
        return 0;
    for (size_t i = 1; i < last; i++) {
        const char *word = args->rest[i];
        if (flag) {
            take_place(&c, flag, word);
            flag = NULL;
        } else if (strcmp(word, "--") == 0) {
            return 0; /* another command's words follow */
        } else if (word[0] == '-') {
            flag = wants_value(c.command, word);
        } else if (!first) {
            first = word;
        }
    }
    if (flag)
        offer_values(&c, flag);
    else if (str_starts(c.now, S("-")))
        offer_flags(&c);
    else
        offer_words(&c, first);
    if (c.is_open)
        session_close(&c.session);
    return 0;
}

static const struct cli_flag complete_flags[] = {CLI_SESSION_FLAGS};

const struct cli_command cli_complete = {
    .name = "complete",
    .usage = "complete -- WORD...",
    .help = "Print what could stand for the last word; for the shell.",
    .flags = complete_flags,
    .n_flags = countof(complete_flags),
    .takes_rest = true,
    .is_hidden = true,
    .run = complete,
};

static int completion(struct cli_args *args)
{
    for (size_t i = 0; i < countof(shells); i++)
        if (strcmp(shells[i].name, args->words[0]) == 0) {
            fputs(shells[i].script, stdout);
            return 0;
        }
    return cli_misuse(args, "'%s' is none of bash, zsh, fish", args->words[0]);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .usage = "completion bash|zsh|fish",
    .help = "Print what makes a shell complete commands, options, kinds and names.",
    .example = "berth completion bash >/etc/bash_completion.d/berth",
    .least_words = 1,
    .most_words = 1,
    .words = CLI_WORDS_SHELLS,
    .run = completion,
};
