/* wire.c - frames, specs and statuses go out and come back */
#include "base/testing.h"

#include "runtime/wire_priv.h"

TEST(wire_next)
{
    static const struct {
        const char *name;
        struct str bytes;
        int want;
        size_t left;
    } cases[] = {
        {"nothing yet",            S_INIT(""),                          0,  0},
        {"half a length",          S_INIT("\x02\x00"),                  0,  2},
        {"a length and no frame",  S_INIT("\x02\x00\x00\x00"),          0,  4},
        {"an empty frame",         S_INIT("\x02\x00\x00\x00\x06\x00"),  1,  0},
        {"a frame and the next",   S_INIT("\x02\x00\x00\x00\x06\x00_"), 1,  1},
        {"too short for its type", S_INIT("\x01\x00\x00\x00\x06"),      -1, 5},
        {"longer than any may be", S_INIT("\xff\xff\xff\x7f\x06"),      -1, 5},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct str rest = cases[i].bytes;
        struct wire_frame f;
        struct err err;
        test_case(cases[i].name);
        check_int(wire_next(&rest, &f, &err), cases[i].want);
        check_int(rest.len, cases[i].left);
    }
}

TEST(wire_field_cut)
{
    struct str cut[] = {S("\x01"), S("\x01\x00\x05\x00\x00\x00"
                                     "abcd")};
    struct wire_field f;
    struct err err;

    for (size_t i = 0; i < countof(cut); i++)
        check_int(wire_field(&cut[i], &f, &err), -1);
}

static struct runtime_spec sample(void)
{
    static const struct str argv[] = {S_INIT("sh"), S_INIT("-c"), S_INIT("true")};
    static const struct str env[] = {S_INIT("A=1")};
    static const uint32_t groups[] = {7, 8};
    static const struct runtime_mount mounts[] = {
        {.source = S_INIT("/a"), .target = S_INIT("/b"), .read_only = true},
        {.source = S_INIT("/c"),                      .target = S_INIT("/d")                      },
    };

    return (struct runtime_spec){
        .id = S("u-1.main-0"),
        .argv = argv,
        .n_argv = 3,
        .env = env,
        .n_env = 1,
        .cwd = S("/tmp"),
        .log_path = S("/l/0.log"),
        .has_user = true,
        .uid = 1000,
        .gid = 100,
        .groups = groups,
        .n_groups = 2,
        .limits = {.cpu_millis = 500, .memory = 1 << 20},
        .mounts = mounts,
        .n_mounts = 2,
        .oom_score = -5
    };
}

TEST(wire_spec)
{
    scoped(arena_fini) struct arena a = {0};
    struct buf b = buf_in(&a, 64);
    struct runtime_spec in = sample(), out;
    struct err err = {0};

    wire_put_spec(&b, &in);
    check_int(wire_get_spec(&a, buf_str(&b), &out, &err), 0);
    check_same(out.id, in.id);
    check_int(out.n_argv, 3);
    check_same(out.argv[2], S("true"));
    check_same(out.env[0], S("A=1"));
    check_same(out.cwd, in.cwd);
    check_same(out.log_path, in.log_path);
    check_int(out.uid, 1000);
    check_int(out.gid, 100);
    check_int(out.n_groups, 2);
    check_int(out.groups[1], 8);
    check_int(out.limits.cpu_millis, 500);
    check_int(out.limits.memory, 1 << 20);
    check_int(out.n_mounts, 2);
    check_same(out.mounts[0].target, S("/b"));
    check(out.mounts[0].read_only && !out.mounts[1].read_only);
    check_int(out.oom_score, -5);
}

TEST(wire_spec_rules)
{
    static const struct str zero[] = {S_INIT("a\0b")};
    static const struct {
        const char *name, *want;
        struct str id, log;
        bool no_command, has_zero;
    } cases[] = {
        {"an id with a slash", "is not 1 to",         S_INIT("a/b"), {0},           false, false},
        {"an id that hides",   "is not 1 to",         S_INIT(".a"),  {0},           false, false},
        {"no id",              "is not 1 to",         S_INIT(""),    {0},           false, false},
        {"no command",         "there is no command", S_INIT("a"),   {0},           true,  false},
        {"a zero byte",        "zero byte",           S_INIT("a"),   {0},           false, true },
        {"a relative log",     "is not absolute",     S_INIT("a"),   S_INIT("log"), false, false},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = {0};
        struct buf b = buf_in(&a, 64);
        struct runtime_spec in = sample(), out;
        struct err err = {0};
        test_case(cases[i].name);
        in.id = cases[i].id;
        in.log_path = cases[i].log;
        in.n_argv = cases[i].no_command ? 0 : 1;
        if (cases[i].has_zero)
            in.argv = zero;
        wire_put_spec(&b, &in);
        check_int(wire_get_spec(&a, buf_str(&b), &out, &err), -1);
        check_err(&err, ERR_INVALID, cases[i].want);
    }
}

TEST(wire_status)
{
    scoped(arena_fini) struct arena a = {0};
    struct buf b = buf_in(&a, 64);
    struct runtime_status in = {.id = S("x"),
                                .state = RUNTIME_EXITED,
                                .pid = 12,
                                .started = {5},
                                .finished = {6},
                                .exit_code = 137,
                                .signal = 9,
                                .oom_killed = true,
                                .error = S("why")};
    struct runtime_status out;
    struct str cgroup;
    struct err err;

    wire_put_status(&b, &in, S("/cg"));
    check_int(wire_get_status(buf_str(&b), &out, &cgroup, &err), 0);
    check_same(out.id, S("x"));
    check_int(out.state, RUNTIME_EXITED);
    check_int(out.started.ns, 5);
    check_int(out.finished.ns, 6);
    check_int(out.exit_code, 137);
    check_int(out.signal, 9);
    check(out.oom_killed && !out.lost);
    check_same(out.error, S("why"));
    check_same(cgroup, S("/cg"));
}
