/* checkpoint.c - which boot of the machine the agent last saw
 *
 *     {"version":1,"bootID":"..."}          what it says, as JSON, one line
 *     sum 0123456789abcdef                  a checksum over the bytes of that line
 *
 * A new field changes no old checkpoint: the sum is over bytes, not over what we made of them.
 */
#include "node/node_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "json/json.h"

#define CHECKPOINT_VERSION 1
#define CHECKPOINT_MAX 65536
#define FILE_NAME "node.json"

struct str checkpoint_text(struct arena *a, struct str boot_id)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "version", json_of_i64(CHECKPOINT_VERSION));
    obj_setz(&o, "bootID", json_of_str(boot_id));
    struct json v = obj_done(&o);
    struct str line = json_text(a, &v);
    return str_printf(a, "%.*s\nsum %016" PRIx64 "\n", STR_ARG(line), str_digest(line));
}

int checkpoint_parse(struct str bytes, struct str *boot_id, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    struct str line, rest;
    char sum[32];

    *boot_id = (struct str){0};
    if (bytes.len > CHECKPOINT_MAX || !str_cut(bytes, '\n', &line, &rest))
        return 0;
    snprintf(sum, sizeof(sum), "sum %016" PRIx64 "\n", str_digest(line));
    if (!str_eqz(rest, sum))
        return 0;
    const struct json *v = json_parse(&a, line, NULL, NULL);
    if (json_i64(json_get(v, S("version")), 0) > CHECKPOINT_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "'%s' is of a newer version of berth", FILE_NAME);
    /* Without escapes the text lies in `bytes` itself. */
    struct str id = json_str(json_get(v, S("bootID")));
    if (id.at >= bytes.at && id.at < bytes.at + bytes.len)
        *boot_id = id;
    return 0;
}

static int write_file(const char *dir, struct str text, struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    const char *new = str_z(&a, str_printf(&a, "%s/%s.new", dir, FILE_NAME));
    const char *path = str_z(&a, str_printf(&a, "%s/%s", dir, FILE_NAME));
    scoped(close_fd) int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text.at, text.len) != (ssize_t)text.len || fsync(fd) < 0 ||
        rename(new, path) < 0)
        return err_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    return 0;
}

int checkpoint_exchange(const char *dir, struct str boot_id, bool *was_restarted,
                        struct err *err)
{
    scoped(arena_fini) struct arena a = {0};
    char *bytes = arena_raw(&a, CHECKPOINT_MAX, 1);
    const char *path = str_z(&a, str_printf(&a, "%s/%s", dir, FILE_NAME));
    scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, bytes, CHECKPOINT_MAX);
    struct str last;

    *was_restarted = false;
    if (fd < 0 && errno != ENOENT)
        return err_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (checkpoint_parse(str_of(bytes, n > 0 ? (size_t)n : 0), &last, err) < 0)
        return -1;
    *was_restarted = last.len && !str_eq(last, boot_id);
    if (str_eq(last, boot_id))
        return 0;
    return write_file(dir, checkpoint_text(&a, boot_id), err);
}
