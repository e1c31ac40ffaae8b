/* journal.c - what was whole comes back, what was torn does not */
#include "base/testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/journal_priv.h"

static void put(struct buf *out, const char *id)
{
    scoped(buf_fini) struct buf b = {0};
    size_t begun = wire_begin(&b, WIRE_FORGET);

    wire_str(&b, TAG_ID, str_from(id));
    wire_end(&b, begun);
    journal_put(out, buf_str(&b));
}

static void collect(void *ctx, const struct wire_frame *frame)
{
    struct str fields = frame->fields;
    struct wire_field f;

    if (wire_field(&fields, &f, NULL) > 0)
        buf_add(ctx, f.bytes);
}

TEST(journal_replay)
{
    static const struct {
        const char *name, *head;
        int cut;  /* bytes off the end */
        int flip; /* a byte of the second record, or -1 */
        const char *want;
    } cases[] = {
        {"all whole",                      JOURNAL_HEAD,       0, -1, "abc"},
        {"a torn checksum",                JOURNAL_HEAD,       1, -1, "ab" },
        {"a torn frame",                   JOURNAL_HEAD,       9, -1, "ab" },
        {"a changed byte ends it",         JOURNAL_HEAD,       0, 12, "a"  },
        {"a changed checksum ends it",     JOURNAL_HEAD,       0, 14, "a"  },
        {"another version is not touched", "berth-keeper 2\n", 0, -1, ""   },
        {"somebody else's file",           "hello\n",          0, -1, ""   },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(buf_fini) struct buf file = {0};
        scoped(buf_fini) struct buf got = {0};
        struct err err = {0};
        test_case(cases[i].name);
        buf_add(&file, str_from(cases[i].head));
        put(&file, "a");
        size_t second = file.len;
        put(&file, "b");
        put(&file, "c");
        if (cases[i].flip >= 0)
            file.at[second + (size_t)cases[i].flip] ^= 1;
        file.len -= (size_t)cases[i].cut;
        journal_replay(buf_str(&file), collect, &got, &err);
        check_samez(buf_str(&got), cases[i].want);
        check_int(err.code, str_eqz(str_from(cases[i].head), "berth-keeper 2\n")
                                ? ERR_UNSUPPORTED
                                : ERR_OK);
    }
}

TEST(journal_file)
{
    char dir[] = "/tmp/berth-journal-XXXXXX";
    scoped(buf_fini) struct buf got = {0};
    struct journal j;
    struct err err = {0};

    check(mkdtemp(dir) != NULL);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_int(journal_open(&j, fd, collect, &got, &err), 0);
    put(&j.pending, "a");
    journal_flush(&j);
    put(&j.pending, "b");
    journal_close(&j);
    int torn = openat(fd, "journal", O_WRONLY | O_APPEND | O_CLOEXEC);
    check_int(write(torn, "\x30", 1), 1);
    close(torn);

    test_case("what was written is read, the torn end is cut");
    check_int(journal_open(&j, fd, collect, &got, &err), 0);
    check_same(buf_str(&got), S("ab"));
    put(&j.pending, "c");
    journal_close(&j);
    buf_clear(&got);
    check_int(journal_open(&j, fd, collect, &got, &err), 0);
    check_same(buf_str(&got), S("abc"));

    test_case("a rewrite keeps what it is given, and takes appends");
    scoped(buf_fini) struct buf live = {0};
    put(&live, "z");
    journal_rewrite(&j, buf_str(&live));
    put(&j.pending, "y");
    journal_close(&j);
    buf_clear(&got);
    check_int(journal_open(&j, fd, collect, &got, &err), 0);
    check_same(buf_str(&got), S("zy"));
    journal_close(&j);
    unlinkat(fd, "journal", 0);
    close(fd);
    rmdir(dir);
}
