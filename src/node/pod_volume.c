/* pod_volume.c - volumes as directories: DATA/pods/UID/volumes/NAME
 *
 * Files of ConfigMaps, Secrets and fields are written once, when the pod starts. Everything
 * belongs to the account that the pod runs as; nobody else can enter DATA/pods/UID.
 */
#include "node/node_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/core_v1.h"
#include "object/object.h"

#define EMPTY_DIR_MODE 0777
#define REMOVE_MAX_DEPTH 200 /* each level holds a descriptor */

struct str node_pod_dir(struct arena *a, const struct node_agent *n, struct str uid)
{
    return str_printf(a, "%s/pods/%.*s", n->data_dir, STR_ARG(uid));
}

struct str node_volume_path(struct arena *a, const struct node_agent *n, struct str uid,
                            const struct volume *v)
{
    if (v->host_path)
        return v->host_path->path;
    return str_printf(a, "%s/pods/%.*s/volumes/%.*s", n->data_dir, STR_ARG(uid),
                      STR_ARG(v->name));
}

struct str node_log_dir(struct arena *a, const struct node_agent *n, struct str ns,
                        struct str name, struct str uid)
{
    /* Namespace and uid are short; only the pod's name may be too long for one component. */
    size_t room = NODE_LOG_MAX_NAME - MIN(ns.len + uid.len + 2, (size_t)NODE_LOG_MAX_NAME - 1);

    return str_printf(a, "%s/logs/%.*s_%.*s_%.*s", n->data_dir, STR_ARG(ns),
                      STR_ARG(str_slice(name, 0, room)), STR_ARG(uid));
}

struct str node_log_path(struct arena *a, const struct node_agent *n, struct str ns,
                         struct str name, struct str uid, struct str container, int32_t attempt)
{
    return str_printf(a, "%.*s/%.*s/%d.log", STR_ARG(node_log_dir(a, n, ns, name, uid)),
                      STR_ARG(container), attempt);
}

/* ---- making ---- */

static int make_dir(const char *path, mode_t mode, struct owner owner, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make '%s': %s", path, strerror(errno));
    if (chmod(path, mode) < 0 || (owner.change && lchown(path, owner.uid, owner.gid) < 0))
        return err_set(err, ERR_IO, "cannot give away '%s': %s", path, strerror(errno));
    return 0;
}

/* The directories between the volume and a file in it. */
static int make_parents(struct arena *a, const char *volume, struct str path,
                        struct owner owner, struct err *err)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.at[i] != '/')
            continue;
        const char *dir =
            str_z(a, str_printf(a, "%s/%.*s", volume, STR_ARG(str_slice(path, 0, i))));
        if (make_dir(dir, 0755, owner, err) < 0)
            return -1;
    }
    return 0;
}

static int write_one(struct arena *a, const char *volume, const struct volume_file *f,
                     struct owner owner, struct err *err)
{
    const char *path = str_z(a, str_printf(a, "%s/%.*s", volume, STR_ARG(f->path)));

    if (make_parents(a, volume, f->path, owner, err) < 0)
        return -1;
    scoped(close_fd) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make '%s': %s", path, strerror(errno));
    size_t done = 0;
    while (done < f->bytes.len) {
        ssize_t n = write(fd, f->bytes.at + done, f->bytes.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
        done += (size_t)n;
    }
    if (fchmod(fd, (mode_t)f->mode & 07777) < 0 ||
        (owner.change && fchown(fd, owner.uid, owner.gid) < 0))
        return err_set(err, ERR_IO, "cannot give away '%s': %s", path, strerror(errno));
    return 0;
}

/* hostPath: what its type promises. */
static int check_host_path(const struct host_path_volume_source *h, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    const char *path = str_z(&a, h->path);
    static const struct {
        const char *type;
        mode_t format;
    } rows[] = {
        {"Directory",         S_IFDIR },
        {"DirectoryOrCreate", S_IFDIR },
        {"File",              S_IFREG },
        {"FileOrCreate",      S_IFREG },
        {"Socket",            S_IFSOCK},
        {"CharDevice",        S_IFCHR },
        {"BlockDevice",       S_IFBLK },
    };
    struct stat st;

    if (!h->type.len)
        return 0;
    if (stat(path, &st) < 0) {
        if (str_ends(h->type, S("OrCreate")))
            return err_set(err, ERR_UNSUPPORTED,
                           "hostPath '%s' does not exist; make it before, berth makes no files "
                           "outside of its directory",
                           path);
        return err_set(err, ERR_NOT_FOUND, "hostPath '%s': %s", path, strerror(errno));
    }
    for (size_t i = 0; i < countof(rows); i++)
        if (str_eqz(h->type, rows[i].type) && (st.st_mode & S_IFMT) == rows[i].format)
            return 0;
    return err_set(err, ERR_INVALID, "hostPath '%s' is no %.*s", path, STR_ARG(h->type));
}

/* A volume without any source is an emptyDir. */
static bool is_empty_dir(const struct volume *v)
{
    return v->empty_dir || (v->set & ~FIELD_MASK(v, name)) == 0;
}

static int make_volume(struct arena *a, const struct node_agent *n, const struct pod_facts *f,
                       const struct volume *v, struct owner owner, struct err *err)
{
    const char *path = str_z(a, node_volume_path(a, n, f->pod->metadata->uid, v));
    struct volume_files files;

    if (v->host_path)
        return check_host_path(v->host_path, err);
    if (is_empty_dir(v))
        return make_dir(path, EMPTY_DIR_MODE, owner, err);
    if (!volume_has_files(v))
        return err_set(err, ERR_UNSUPPORTED,
                       "volume '%.*s' is of a kind that berth does not mount: use hostPath, "
                       "emptyDir, configMap, secret, downwardAPI or projected",
                       STR_ARG(v->name));
    if (volume_files_of(a, f, v, &files, err) < 0 || make_dir(path, 0755, owner, err) < 0)
        return -1;
    vec_each (i, &files.files)
        if (write_one(a, path, &files.files.at[i], owner, err) < 0)
            return -1;
    return 0;
}

int node_volumes_make(struct arena *a, const struct node_agent *n, const struct pod_facts *f,
                      struct owner owner, struct err *err)
{
    const struct volume_list *l = &f->pod->spec->volumes;
    struct str dir = node_pod_dir(a, n, f->pod->metadata->uid);

    size_t n_ignored = 0;
    for (size_t i = 0; i < l->len; i++)
        n_ignored += volume_is_ignored(&l->at[i]);
    if (l->len == n_ignored)
        return 0;
    if (make_dir(str_z(a, dir), 0700, owner, err) < 0 ||
        make_dir(str_z(a, str_printf(a, "%.*s/volumes", STR_ARG(dir))), 0755, owner, err) < 0)
        return -1;
    for (size_t i = 0; i < l->len; i++)
        if (!volume_is_ignored(&l->at[i]) && make_volume(a, n, f, &l->at[i], owner, err) < 0)
            return err_wrap(err, "volume '%.*s'", STR_ARG(l->at[i].name));
    return 0;
}

/* ---- removing ---- */

/* By descriptors, never by a path: its owner may exchange directories for links meanwhile. */
static void empty_dir(int dir, int depth)
{
    DIR *d = fdopendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) == 0)
            continue;
        int sub =
            depth < REMOVE_MAX_DEPTH
                ? openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                : -1;
        if (sub >= 0)
            empty_dir(sub, depth + 1);
        unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    if (d)
        closedir(d);
    else
        close(dir);
}

/* What cannot go is tried again by the next sweep. */
static void remove_tree(void *ctx)
{
    int dir = open(ctx, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir >= 0)
        empty_dir(dir, 0);
    rmdir(ctx);
}

static void removed(void *ctx)
{
    free(ctx);
}

void node_remove_later(struct node_agent *n, struct str dir)
{
    char *path = mem_alloc(dir.len + 1);

    memcpy(path, dir.at, dir.len);
    path[dir.len] = 0;
    if (access(path, F_OK) < 0)
        free(path);
    else
        io_work(n->io, remove_tree, removed, path);
}

/* The uid at the end of a directory's name. */
static struct str uid_of(struct str name, bool is_log)
{
    struct str head, tail;

    return is_log && str_rcut(name, '_', &head, &tail) ? tail : name;
}

static void sweep_dir(struct node_agent *n, const char *kind, bool is_log,
                      const struct map_core *known)
{
    scoped(arena_fini) struct arena a = {0};
    DIR *d = opendir(str_z(&a, str_printf(&a, "%s/%s", n->data_dir, kind)));
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        struct str uid = uid_of(str_from(e->d_name), is_log);
        if (e->d_name[0] == '.' || map_get_(known, uid, sizeof(bool)) ||
            map_get(&n->by_uid, uid))
            continue;
        node_remove_later(n, str_printf(&a, "%s/%s/%s", n->data_dir, kind, e->d_name));
    }
    if (d)
        closedir(d);
}

void node_sweep(struct node_agent *n)
{
    MAP(bool) known = {0};

    cache_each(i, n->pods) * map_put(&known, object_uid(cache_at(n->pods, i))) = true;
    sweep_dir(n, "pods", false, &known.core);
    sweep_dir(n, "logs", true, &known.core);
    map_fini(&known);
}
