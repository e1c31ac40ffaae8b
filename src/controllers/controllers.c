/* controllers.c - all controllers, by name */
#include "controllers/controllers.h"

#include "controllers/controllers_priv.h"
#include "controllers/kueue_config.h"

/* clang-format off */
const struct controller_row controller_rows[] = {
    {"cronjob-controller", "makes Jobs when their time has come", cronjob_start, cronjob_free, NULL},
    {"job-controller", "runs a Job's pods until enough have succeeded", job_start, job_free, job_write_metrics},
    {"kueue", "queues Jobs for quota and admits them", kueue_start, kueue_free, kueue_metrics},
    {"namespace-controller", "empties namespaces that are being deleted", namespace_start, namespace_free, NULL},
    {"garbage-collector-controller", "deletes what lost its owners", garbage_start, garbage_free, NULL},
    {"node-lifecycle-controller", "taints nodes by their state", node_start, node_free, NULL},
    {"pod-garbage-collector-controller", "ends and deletes pods of lost nodes, and the oldest that have ended", pod_garbage_start, pod_garbage_free, NULL},
    {"scheduler", "binds pods to nodes", scheduler_start, scheduler_free, NULL},
    {"taint-eviction-controller", "takes pods from nodes that are tainted NoExecute", taint_eviction_start, taint_eviction_free, NULL},
    {"ttl-after-finished-controller", "deletes finished Jobs when their time is over", ttl_start, ttl_free, NULL},
};
/* clang-format on */
const size_t controller_n_rows = countof(controller_rows);

struct controllers {
    void **states; /* by row; NULL: not started */
};

static bool has_row(struct str name)
{
    for (size_t i = 0; i < controller_n_rows; i++)
        if (str_eqz(name, controller_rows[i].name))
            return true;
    return false;
}

static int check_name(struct str name, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct buf known = buf_in(&a, 256);
    struct str plain = str_starts(name, S("-")) ? str_slice(name, 1, name.len) : name;

    if (str_eq(name, S("*")) || has_row(plain))
        return 0;
    for (size_t i = 0; i < controller_n_rows; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", controller_rows[i].name);
    return err_set(err, ERR_INVALID, "no controller is called '%.*s'; there are %.*s",
                   STR_ARG(plain), STR_ARG(buf_str(&known)));
}

/* Is the controller on, by a list such as "*,-cronjob-controller"? */
static bool is_on(struct str names, const char *name)
{
    bool all = names.len == 0, has_name = false;
    struct str one;

    while (names.len) {
        str_cut(names, ',', &one, &names);
        one = str_trim(one);
        if (str_starts(one, S("-")) && str_eqz(str_slice(one, 1, one.len), name))
            return false;
        all |= str_eq(one, S("*")) || str_starts(one, S("-"));
        has_name |= str_eqz(one, name);
    }
    return all || has_name;
}

struct controllers *controllers_start(struct control *c,
                                      const struct controllers_config *config, struct err *err)
{
    struct str rest = config->names, one;

    while (rest.len) {
        str_cut(rest, ',', &one, &rest);
        if (check_name(str_trim(one), err) < 0)
            return NULL;
    }
    scoped(arena_fini) struct arena a = {0};
    struct kueue_config queueing;
    if (kueue_config_read(&a, config->queueing, &queueing, err) < 0) {
        err_wrap(err, "the queues' configuration");
        return NULL;
    }
    struct controllers *cs = mem_zero(1, sizeof(*cs));
    cs->states = mem_zero(controller_n_rows, sizeof(*cs->states));
    for (size_t i = 0; i < controller_n_rows; i++) {
        const struct controller_row *row = &controller_rows[i];
        if (is_on(config->names, row->name))
            cs->states[i] =
                row->start == kueue_start ? kueue_start_as(c, &queueing) : row->start(c);
        if (cs->states[i] && controller_rows[i].start == job_start)
            job_set_backoff(cs->states[i], config->job_backoff_first, config->job_backoff_most);
    }
    return cs;
}

void controllers_free(struct controllers *cs)
{
    if (!cs)
        return;
    for (size_t i = 0; i < controller_n_rows; i++)
        if (cs->states[i])
            controller_rows[i].free(cs->states[i]);
    free(cs->states);
    free(cs);
}

/* The state of the queues; NULL where they are off. */
static void *queues_of(struct controllers *cs)
{
    for (size_t i = 0; i < controller_n_rows; i++)
        if (controller_rows[i].start == kueue_start)
            return cs->states[i];
    return NULL;
}

void controllers_metrics(struct controllers *cs, struct buf *out)
{
    for (size_t i = 0; i < controller_n_rows; i++) {
        if (cs->states[i] && controller_rows[i].metrics)
            controller_rows[i].metrics(cs->states[i], out);
    }
}

bool controllers_why(struct controllers *cs, struct arena *a, struct str ns, struct str name,
                     struct json *out)
{
    void *queues = queues_of(cs);

    return queues && kueue_why(queues, a, ns, name, out);
}

bool controllers_quota(struct controllers *cs, struct arena *a, struct str ns, struct str name,
                       struct json *out)
{
    void *queues = queues_of(cs);

    return queues && kueue_ledger(queues, a, ns, name, out);
}
