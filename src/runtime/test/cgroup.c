/* cgroup.c - which tree is where, and what a limit is called there */
#include "base/testing.h"

#include "runtime/cgroup_priv.h"

TEST(cgroup_own_path)
{
    static const char hybrid[] = "9:name=systemd:/\n4:memory:/a/b\n3:cpuset:/\n"
                                 "2:cpu,cpuacct:/x\n0::/u\n";
    static const struct {
        const char *controller, *want;
    } cases[] = {
        {"memory",  "/a/b"},
        {"cpu",     "/x"  },
        {"cpuacct", "/x"  },
        {"",        "/u"  },
        {"pids",    NULL  },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct str got;
        test_case(cases[i].controller);
        bool found = cgroup_own_path(str_from(hybrid), str_from(cases[i].controller), &got);
        check_int(found, cases[i].want != NULL);
        if (found && cases[i].want)
            check_samez(got, cases[i].want);
    }
}

TEST(cgroup_mount)
{
    static const char mounts[] =
        "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
        "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
    static const struct {
        const char *controller, *want;
    } cases[] = {
        {"cpu",    "/sys/fs/cgroup/cpu,cpuacct"},
        {"cpuset", "/sys/fs/cgroup/cpuset"     },
        {"",       "/sys/fs/cgroup/unified"    },
        {"memory", NULL                        },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        struct str got;
        test_case(cases[i].controller);
        bool found = cgroup_mount(str_from(mounts), str_from(cases[i].controller), &got);
        check_int(found, cases[i].want != NULL);
        if (found && cases[i].want)
            check_samez(got, cases[i].want);
    }
}

TEST(cgroup_numbers)
{
    static const struct {
        int64_t millis, shares, weight, quota;
    } cases[] = {
        {1,      2,      1,     1000    },
        {100,    102,    4,     10000   },
        {1000,   1024,   39,    100000  },
        {2500,   2560,   98,    250000  },
        {999999, 262144, 10000, 99999900},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        check_int(cgroup_shares(cases[i].millis), cases[i].shares);
        check_int(cgroup_weight(cases[i].millis), cases[i].weight);
        check_int(cgroup_quota_us(cases[i].millis), cases[i].quota);
    }
}
