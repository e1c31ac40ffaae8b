/* files.c - the few files that commands read and write themselves */
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "yaml/yaml.h"

struct str place_data(struct arena *a, const char *given)
{
    const char *env = getenv("BERTH_DATA"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    struct str path;

    if (given || (env && *env))
        path = str_copy(a, str_from(given ? given : env));
    else if (geteuid() == 0)
        return S("/var/lib/berth");
    else if (state && *state == '/')
        path = str_printf(a, "%s/berth", state);
    else
        path = str_printf(a, "%s/.local/state/berth", home ? home : "/tmp");
    if (path.len && path.at[0] == '/')
        return path;
    char here[4096];
    if (!getcwd(here, sizeof(here)))
        die("cannot tell the current directory: %s", strerror(errno));
    return str_printf(a, "%s/%.*s", here, STR_ARG(path));
}

struct str place_in(struct arena *a, struct str dir, const char *name)
{
    return str_printf(a, "%.*s/%s", STR_ARG(dir), name);
}

int dir_make(struct arena *a, struct str path, uint32_t mode, struct err *err)
{
    char *z = str_z(a, path);

    for (char *p = z + 1;; p++) {
        if (*p != '/' && *p)
            continue;
        char was = *p;
        *p = 0;
        if (mkdir(z, mode) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "cannot make directory '%s': %s", z, strerror(errno));
        *p = was;
        if (!was)
            break;
    }
    struct stat st;
    if (stat(z, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_IO, "'%s' is no directory", z);
    if (access(z, W_OK | X_OK) < 0)
        return err_set(err, ERR_IO, "cannot write to directory '%s': %s", z, strerror(errno));
    return 0;
}

int file_read(struct arena *a, struct str path, struct str *out, struct err *err)
{
    bool is_stdin = str_eq(path, S("-"));
    scoped(close_fd) int fd =
        is_stdin ? dup(STDIN_FILENO) : open(str_z(a, path), O_RDONLY | O_CLOEXEC);
    struct buf b = buf_in(a, 4096);
    ssize_t n;

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open '%.*s': %s",
                       STR_ARG(path), strerror(errno));
    while ((n = read(fd, buf_room(&b, 65536), 65536)) > 0) {
        b.len += (size_t)n;
        if (b.len > FILE_MAX_BYTES)
            return err_set(err, ERR_LIMIT, "'%.*s' is over the limit of %zu MiB", STR_ARG(path),
                           FILE_MAX_BYTES >> 20);
    }
    if (n < 0)
        return err_set(err, ERR_IO, "cannot read '%.*s': %s", STR_ARG(path), strerror(errno));
    *out = buf_str(&b);
    return 0;
}

static int add_objects(struct arena *a, const struct json *v, size_t line,
                       struct file_objects *out, struct err *err)
{
    const struct json *items = json_getz(v, "items");

    if (v->type == JSON_NULL)
        return 0; /* an empty document */
    if (v->type != JSON_OBJECT)
        return err_set(err, ERR_SYNTAX, "line %zu: no object begins here", line);
    if (!str_ends(json_str(json_getz(v, "kind")), S("List")) || !items) {
        vec_push_in(a, &out->list, (struct file_object){v, line});
        return 0;
    }
    json_each (i, items)
        if (add_objects(a, json_at(items, i), line, out, err) < 0)
            return -1;
    return 0;
}

int file_objects(struct arena *a, struct str path, struct file_objects *out, struct err *err)
{
    struct file_objects found = {0};
    struct yaml_docs docs = {0};
    struct str text;

    if (file_read(a, path, &text, err) < 0)
        return -1;
    if (yaml_parse(a, text, NULL, &docs, err) < 0)
        return err_wrap(err, "'%.*s'", STR_ARG(path));
    vec_each (i, &docs.list)
        if (add_objects(a, docs.list.at[i].value, docs.list.at[i].line, &found, err) < 0)
            return err_wrap(err, "'%.*s'", STR_ARG(path));
    if (found.list.len == 0)
        return err_set(err, ERR_NOT_FOUND, "no object is in '%.*s'", STR_ARG(path));
    *out = found;
    return 0;
}

static int write_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.at, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = str_slice(bytes, (size_t)n, bytes.len);
    }
    return 0;
}

int file_write(struct arena *a, struct str path, uint32_t mode, struct str bytes,
               struct err *err)
{
    char *temporary = str_z(a, str_printf(a, "%.*s.new", STR_ARG(path)));
    scoped(close_fd) int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0 || fchmod(fd, mode) < 0 || write_all(fd, bytes) < 0 || fsync(fd) < 0 ||
        rename(temporary, str_z(a, path)) < 0) {
        err_set(err, ERR_IO, "cannot write '%.*s': %s", STR_ARG(path), strerror(errno));
        unlink(temporary);
        return -1;
    }
    return 0;
}

bool file_is_there(struct arena *a, struct str path)
{
    return access(str_z(a, path), F_OK) == 0;
}
