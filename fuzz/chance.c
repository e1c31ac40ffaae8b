/* chance.c - runs a target on inputs of chance, many and quickly
 *
 *     chance-TARGET SEED EXECUTIONS    inputs from the seed until so many executions were held
 *     chance-TARGET FILE               the one input again
 *
 * libFuzzer looks where it goes and is slow; a target that makes its own way from any bytes
 * needs no steering. The input that broke something is left in chance-TARGET.find.
 */
#include "choose.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define INPUT_BYTES 512

static uint8_t input[INPUT_BYTES];
static char find[4096];

static uint64_t next(uint64_t *state) /* xorshift64* */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static void keep_input(int signal)
{
    int fd = open(find, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd >= 0 && write(fd, input, sizeof(input)) == sizeof(input))
        close(fd);
    raise(signal);
}

static int replay(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, input, sizeof(input));

    if (n < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    LLVMFuzzerTestOneInput(input, (size_t)n);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t state = argc == 3 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1, inputs = 0, left;
    static const int signals[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    struct sigaction once = {.sa_handler = keep_input, .sa_flags = (int)SA_RESETHAND};

    if (argc == 2)
        return replay(argv[1]);
    if (argc != 3) {
        fprintf(stderr, "usage: %s SEED EXECUTIONS | FILE\n", argv[0]);
        return 2;
    }
    left = strtoull(argv[2], NULL, 10);
    snprintf(find, sizeof(find), "%s.find", argv[0]);
    for (size_t i = 0; i < countof(signals); i++)
        sigaction(signals[i], &once, NULL);
    for (; executions < left && (inputs < left || executions); inputs++) {
        for (size_t i = 0; i < INPUT_BYTES; i += sizeof(state)) {
            uint64_t word = next(&state);
            memcpy(&input[i], &word, sizeof(word));
        }
        LLVMFuzzerTestOneInput(input, INPUT_BYTES);
    }
    printf("%llu executions on %llu inputs\n", (unsigned long long)executions,
           (unsigned long long)inputs);
    return 0;
}
