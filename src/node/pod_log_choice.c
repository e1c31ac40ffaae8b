/* pod_log_choice.c - whose log, and which run's */
#include "node/node_priv.h"

#include "api/core_v1.h"
#include "object/object.h"
#include "schema/view.h"

static void add_names(struct buf *out, const struct container_list *l)
{
    for (size_t i = 0; i < l->len; i++)
        buf_printf(out, "%s%.*s", out->len ? " " : "", STR_ARG(l->at[i].name));
}

static const struct container_status *status_of(const struct pod *pod, struct str name)
{
    const struct container_status_list *lists[2];

    if (!pod->status)
        return NULL;
    lists[0] = &pod->status->container_statuses;
    lists[1] = &pod->status->init_container_statuses;
    for (size_t k = 0; k < countof(lists); k++)
        for (size_t i = 0; i < lists[k]->len; i++)
            if (str_eq(lists[k]->at[i].name, name))
                return &lists[k]->at[i];
    return NULL;
}

static bool has_container(const struct pod *pod, struct str name)
{
    const struct container_list *lists[] = {&pod->spec->containers,
                                            &pod->spec->init_containers};

    for (size_t k = 0; k < countof(lists); k++)
        for (size_t i = 0; i < lists[k]->len; i++)
            if (str_eq(lists[k]->at[i].name, name))
                return true;
    return false;
}

static int choose_container(struct arena *a, const struct pod *pod, struct str *container,
                            struct err *err)
{
    const struct pod_spec *spec = pod->spec;
    struct str name = pod->metadata->name;
    struct buf names = buf_in(a, 64);

    if (!container->len && spec->containers.len == 1) {
        *container = spec->containers.at[0].name;
        return 0;
    }
    if (!container->len) {
        add_names(&names, &spec->containers);
        return err_set(err, ERR_SYNTAX,
                       "a container name must be specified for pod %.*s, choose one of: "
                       "[%.*s]",
                       STR_ARG(name), STR_ARG(buf_str(&names)));
    }
    if (has_container(pod, *container))
        return 0;
    return err_set(err, ERR_SYNTAX, "container %.*s is not valid for pod %.*s",
                   STR_ARG(*container), STR_ARG(name));
}

/* The run whose log is meant. */
static int choose_run(struct node_agent *n, const struct pod *pod, struct str container,
                      bool previous, int32_t *attempt, struct err *err)
{
    struct node_pod **p = map_get(&n->by_uid, pod->metadata->uid);
    const struct container_status *st = status_of(pod, container);
    int32_t newest = -1;

    if (p)
        newest = node_pod_container(*p, container)->attempt;
    else if (st && st->state && (st->state->terminated || st->state->running))
        newest = st->restart_count;
    if (newest < 0) {
        const struct container_state_waiting *w = st && st->state ? st->state->waiting : NULL;
        return err_set(err, ERR_SYNTAX,
                       "container \"%.*s\" in pod \"%.*s\" is waiting to start: %.*s",
                       STR_ARG(container), STR_ARG(pod->metadata->name),
                       STR_ARG(w ? w->reason : S("ContainerCreating")));
    }
    if (previous && newest == 0)
        return err_set(err, ERR_SYNTAX,
                       "previous terminated container \"%.*s\" in pod \"%.*s\" not found",
                       STR_ARG(container), STR_ARG(pod->metadata->name));
    *attempt = previous ? newest - 1 : newest;
    return 0;
}

int node_log_choose(struct arena *a, struct node_agent *n, struct object *o,
                    struct str container, bool previous, struct log_choice *out,
                    struct err *err)
{
    const struct pod *pod = object_view(o, a);
    const struct object_meta *m = pod->metadata;
    int32_t attempt = 0;

    if (choose_container(a, pod, &container, err) < 0 ||
        choose_run(n, pod, container, previous, &attempt, err) < 0)
        return -1;
    out->id = node_container_id(a, m->uid, container, attempt);
    out->path = node_log_path(a, n, m->namespace, m->name, m->uid, container, attempt);
    return 0;
}
