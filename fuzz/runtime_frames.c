/* Must hold: any bytes on the keeper's socket or in its journal are frames, or an error; a spec
 * that is accepted obeys its rules and comes back the same. */
#include "runtime/journal_priv.h"
#include "runtime/wire_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_spec(struct str fields)
{
    scoped(arena_fini) struct arena a = {0};
    struct runtime_spec spec, again;
    struct buf b = buf_in(&a, 256);

    if (wire_get_spec(&a, fields, &spec, NULL) < 0)
        return;
    assert(spec.id.len > 0 && spec.id.len <= RUNTIME_MAX_ID && spec.n_argv > 0);
    wire_put_spec(&b, &spec);
    assert(wire_get_spec(&a, buf_str(&b), &again, NULL) == 0);
    assert(str_eq(spec.id, again.id) && spec.n_env == again.n_env);
}

static void each(void *ctx, const struct wire_frame *frame)
{
    struct runtime_status s;
    struct str cgroup;

    (void)ctx;
    if (wire_get_status(frame->fields, &s, &cgroup, NULL) == 0)
        assert(s.id.len > 0);
    try_spec(frame->fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_of((const char *)data, size);
    struct wire_frame f;

    while (wire_next(&rest, &f, NULL) > 0)
        each(NULL, &f);
    assert(journal_replay(str_of((const char *)data, size), each, NULL, NULL) <= size);
    return 0;
}
