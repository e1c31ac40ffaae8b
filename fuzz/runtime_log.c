/* Must hold: any file can be read as a log; a view never gives more bytes than its limit. */
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/logread_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_of((const char *)data, size), line;
    scoped(buf_fini) struct buf out = {0};
    struct log_view v = {.timestamps = size & 1, .left = (int64_t)(size / 2)};
    int64_t lines = 3;
    static int fd = -1;

    while (rest.len) {
        str_cut(rest, '\n', &line, &rest);
        struct log_record r = log_record_parse(line);
        log_view_put(&v, &r, &out);
    }
    assert(out.len <= size / 2);
    if (fd < 0)
        fd = memfd_create("log", MFD_CLOEXEC);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    int64_t start = log_tail_start(fd, (int64_t)size, true, &lines);
    assert(start >= 0 && start <= (int64_t)size && lines >= 0);
    return 0;
}
