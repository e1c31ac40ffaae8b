/* files.c - where data is, and the files that people write */
#include "cli/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

TEST(place_data)
{
    char here[4096];
    bool is_root = geteuid() == 0;
    static const struct {
        const char *name, *given, *berth_data, *state, *home, *want, *want_of_root;
    } cases[] = {
        {"what is given",                                     "/g", "/b", "/s", "/h", "/g",                    "/g"            },
        {"the environment",                                   NULL, "/b", "/s", "/h", "/b",                    "/b"            },
        {"an empty variable is none",                         NULL, "",   "/s", "/h", "/s/berth",              "/var/lib/berth"},
        {"the user's own state",                              NULL, NULL, "/s", "/h", "/s/berth",              "/var/lib/berth"},
        {"below home where nothing is said",                  NULL, NULL, NULL, "/h", "/h/.local/state/berth",
         "/var/lib/berth"                                                                                                      },
        {"a state directory that is relative does not count", NULL, NULL, "s",  "/h",
         "/h/.local/state/berth",                                                                              "/var/lib/berth"},
        {"a name is below where we are",                      "d",  NULL, NULL, "/h", "HERE/d",                "HERE/d"        },
    };

    check(getcwd(here, sizeof(here)) != NULL);
    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        const char *want = is_root ? cases[i].want_of_root : cases[i].want;
        struct str whole = str_starts(str_from(want), S("HERE"))
                               ? str_printf(&a, "%s%s", here, want + 4)
                               : str_from(want);

        test_case(cases[i].name);
        set("BERTH_DATA", cases[i].berth_data);
        set("XDG_STATE_HOME", cases[i].state);
        set("HOME", cases[i].home);
        check_same(place_data(&a, cases[i].given), whole);
    }
}

/* A directory of this test's own. */
static struct str room(struct arena *a)
{
    struct str path = S("/tmp/berth-test-XXXXXX");
    char *at = str_z(a, path);

    if (!mkdtemp(at))
        die("cannot make a directory in /tmp");
    return str_from(at);
}

TEST(file_objects)
{
    static const struct {
        const char *name, *text, *want; /* "line:name ..." */
        enum err_code code;
    } cases[] = {
        {"JSON",                     "{\"metadata\":{\"name\":\"a\"}}",                        "1:a ",     ERR_OK    },
        {"YAML",                     "metadata:\n  name: a\n",                                 "1:a ",     ERR_OK    },
        {"several documents",        "metadata: {name: a}\n---\nmetadata: {name: b}\n",        "1:a 2:b ",
         ERR_OK                                                                                                      },
        {"empty documents are none", "---\n---\nmetadata: {name: a}\n---\n",                   "2:a ",     ERR_OK    },
        {"a List is what it holds",
         "kind: List\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n", "1:a 1:b ", ERR_OK    },
        {"a key twice is refused",   "metadata: {name: a}\nmetadata: {name: b}\n",             "metadata",
         ERR_SYNTAX                                                                                                  },
        {"broken YAML",              "metadata: {name: a\n",                                   "f.yaml",   ERR_SYNTAX},
        {"broken JSON",              "{\"metadata\":",                                         "f.yaml",   ERR_SYNTAX},
        {"a text is no object",      "just words\n",                                           "f.yaml",   ERR_SYNTAX},
    };
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str dir = room(&a), path = place_in(&a, dir, "f.yaml");

    for (size_t i = 0; i < countof(cases); i++) {
        struct file_objects got = {0};
        struct err err = {0};
        struct buf b = buf_in(&a, 64);

        test_case(cases[i].name);
        check_int(file_write(&a, path, 0600, str_from(cases[i].text), &err), 0);
        int rc = file_objects(&a, path, &got, &err);
        if (cases[i].code != ERR_OK) {
            check_int(rc, -1);
            check_err(&err, cases[i].code, cases[i].want);
            continue;
        }
        if (!check_int(rc, 0))
            fprintf(stderr, "    %s\n", err.text);
        vec_each (k, &got.list)
            buf_printf(
                &b, "%zu:%.*s ", got.list.at[k].line,
                STR_ARG(json_str(json_path(got.list.at[k].value, "metadata", "name", NULL))));
        check_samez(buf_str(&b), cases[i].want);
    }
    unlink(str_z(&a, path));
    rmdir(str_z(&a, dir));
}

TEST(files)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str dir = room(&a), deep = place_in(&a, dir, "a/b"), path = place_in(&a, deep, "f"),
               text;
    struct err err = {0};
    struct stat st;

    test_case("directories are made with those above them, also again");
    check_int(dir_make(&a, deep, 0700, &err), 0);
    check_int(dir_make(&a, deep, 0700, &err), 0);

    test_case("a file is written whole, with its mode, and replaced");
    check_int(file_write(&a, path, 0640, S("one"), &err), 0);
    check_int(file_write(&a, path, 0640, S("two"), &err), 0);
    check_int(file_read(&a, path, &text, &err), 0);
    check_same(text, S("two"));
    check(stat(str_z(&a, path), &st) == 0 && (st.st_mode & 0777) == 0640);
    check(file_is_there(&a, path));
    check(!file_is_there(&a, place_in(&a, deep, "g")));

    test_case("what is not there");
    check_int(file_read(&a, place_in(&a, deep, "g"), &text, &err), -1);
    check_err(&err, ERR_NOT_FOUND, "a/b/g");

    test_case("below a file there is no directory");
    check_int(dir_make(&a, place_in(&a, path, "x"), 0700, &err), -1);
    check_err(&err, ERR_IO, "cannot make directory");

    test_case("a file over the limit is refused before it is read");
    int fd = open(str_z(&a, path), O_WRONLY | O_CLOEXEC);
    check_int(ftruncate(fd, (off_t)FILE_MAX_BYTES + 1), 0);
    close(fd);
    check_int(file_read(&a, path, &text, &err), -1);
    check_err(&err, ERR_LIMIT, "/a/b/f");

    unlink(str_z(&a, path));
    rmdir(str_z(&a, deep));
    rmdir(str_z(&a, place_in(&a, dir, "a")));
    rmdir(str_z(&a, dir));
}
