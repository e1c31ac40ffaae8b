/* stamp.c - a process that leaves the time of its first instruction in a file
 *
 * As small as /bin/true, beside which bench/berth.c puts it: what it takes to load a larger
 * program is not berth's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "value/time.h"

int main(int argc, char **argv)
{
    struct timespec t;
    char file[256];

    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * SECOND_NS + t.tv_nsec;
    if (argc != 2)
        return 2;
    snprintf(file, sizeof(file), "%s.new", argv[1]);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return write(fd, &now, sizeof(now)) == sizeof(now) && rename(file, argv[1]) == 0 ? 0 : 1;
}
