/* pod_limit.c - emptyDirs that may not grow past their sizeLimit
 *
 * What they take on disk is measured beside the loop, one pod's at a time, while it has work to
 * do; the longer that takes, the more seldom. A pod with one that is too full is evicted: it
 * ends Failed, and its Job counts that.
 */
#include "node/node_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/core_v1.h"
#include "api/resource_list.h"
#include "object/object.h"
#include "value/quantity.h"

#define MEASURE_LEAST span_s(1)
#define MEASURE_SHARE 20      /* of the time, measuring takes at most one part in so many */
#define MEASURE_MAX_DEPTH 200 /* each level holds a descriptor */
#define STAT_BLOCK 512

/* One pod's volumes, while they are measured. */
struct measuring {
    struct list link;         /* in agent->measures */
    struct node_agent *agent; /* NULL: it is gone */
    struct arena arena;
    struct str uid;
    struct limited {
        const char *path;
        struct str name, limit; /* as the pod says it */
        int64_t most, taken;    /* bytes */
    } * at;
    size_t len;
    struct span began;
};

/* ---- beside the loop ---- */

/* By descriptors: its owner may exchange directories for links meanwhile. */
static int64_t taken_in(int dir, int depth)
{
    DIR *d = fdopendir(dir);
    struct dirent *e;
    int64_t sum = 0;

    while (d && (e = readdir(d)) != NULL) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += (int64_t)st.st_blocks * STAT_BLOCK;
        if (!S_ISDIR(st.st_mode) || depth == MEASURE_MAX_DEPTH)
            continue;
        int sub = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0)
            sum += taken_in(sub, depth + 1);
    }
    if (d)
        closedir(d);
    else
        close(dir);
    return sum;
}

static void measure(void *ctx)
{
    struct measuring *m = ctx;

    for (size_t i = 0; i < m->len; i++) {
        int dir = open(m->at[i].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        m->at[i].taken = dir < 0 ? 0 : taken_in(dir, 0);
    }
}

/* ---- on it ---- */

static void evict(struct node_pod *p, const struct limited *l)
{
    p->evicted =
        str_printf(&p->arena, "Usage of EmptyDir volume \"%.*s\" exceeds the limit \"%.*s\".",
                   STR_ARG(l->name), STR_ARG(l->limit));
    if (p->object)
        control_event(p->agent->control, p->object, "Warning", "Evicted", "%.*s",
                      STR_ARG(p->evicted));
}

static void measured(void *ctx)
{
    struct measuring *m = ctx;
    struct node_pod **found = m->agent ? map_get(&m->agent->by_uid, m->uid) : NULL;

    if (found) {
        struct node_pod *p = *found;
        struct span took = {io_uptime_now(m->agent->io).ns - m->began.ns};
        struct span wait = {MAX(took.ns * MEASURE_SHARE, MEASURE_LEAST.ns)};
        p->is_measuring = false;
        p->measure_at = instant_add(io_now(m->agent->io), wait);
        for (size_t i = 0; i < m->len && !p->evicted.len; i++)
            if (m->at[i].taken > m->at[i].most)
                evict(p, &m->at[i]);
        node_pod_queue(p);
    }
    if (m->agent)
        list_del(&m->link);
    arena_fini(&m->arena);
    free(m);
}

static void add_volume(struct measuring *m, const struct volume *v, struct str path)
{
    struct quantity limit;

    if (!v->empty_dir || !v->empty_dir->size_limit.len ||
        quantity_parse(&m->arena, v->empty_dir->size_limit, &limit, NULL) < 0 ||
        quantity_sign(&limit) <= 0)
        return;
    m->at[m->len++] = (struct limited){.path = str_z(&m->arena, path),
                                       .name = str_copy(&m->arena, v->name),
                                       .limit = str_copy(&m->arena, v->empty_dir->size_limit),
                                       .most = resource_units(S("memory"), &limit)};
}

static bool has_limits(const struct pod *pod)
{
    for (size_t i = 0; i < pod->spec->volumes.len; i++)
        if (pod->spec->volumes.at[i].empty_dir &&
            pod->spec->volumes.at[i].empty_dir->size_limit.len)
            return true;
    return false;
}

void node_limits_check(struct step *s, struct node_pod *p, const struct pod *pod)
{
    const struct volume_list *l = &pod->spec->volumes;

    if (!has_limits(pod) || p->is_measuring || p->evicted.len)
        return;
    if (instant_before(s->now, p->measure_at)) {
        step_again(s, instant_sub(p->measure_at, s->now));
        return;
    }
    struct measuring *m = mem_zero(1, sizeof(*m));
    m->agent = p->agent;
    m->began = io_uptime_now(p->agent->io);
    m->uid = str_copy(&m->arena, p->uid);
    m->at = arena_array(&m->arena, struct limited, l->len);
    for (size_t i = 0; i < l->len; i++)
        add_volume(m, &l->at[i], node_volume_path(&m->arena, p->agent, p->uid, &l->at[i]));
    list_add(&p->agent->measures, &m->link);
    p->is_measuring = true;
    io_work(p->agent->io, measure, measured, m);
}

void node_limits_free(struct node_agent *a)
{
    while (!list_empty(&a->measures)) {
        struct measuring *m = list_item(a->measures.next, struct measuring, link);
        list_del(&m->link);
        m->agent = NULL;
    }
}
