/* main.c - kindc DIR FILE.kind...: writes DIR/BASE.h, DIR/BASE.c, DIR/kinds.h and DIR/kinds.c
 *
 * All files at once, because they refer to each other. Nothing is written where one is wrong.
 */
#include <errno.h>

#include "kindc/lex.h"
#include "kindc/model.h"

static int read_file(struct arena *a, const char *path, struct str *out, struct err *err)
{
    FILE *in = fopen(path, "rb");
    struct buf b = buf_in(a, 64 << 10);
    size_t n;

    if (!in)
        return err_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    while (b.len <= KIND_FILE_MAX && (n = fread(buf_room(&b, 64 << 10), 1, 64 << 10, in)) > 0)
        b.len += n;
    fclose(in);
    *out = buf_str(&b);
    return 0;
}

static int write_file(struct arena *a, const char *dir, struct str base, const char *suffix,
                      const struct buf *text, struct err *err)
{
    struct str path = str_printf(a, "%s/%.*s.%s", dir, STR_ARG(base), suffix);
    FILE *out = fopen(str_z(a, path), "wb");
    bool ok;

    if (!out)
        return err_set(err, ERR_IO, "cannot write '%.*s': %s", STR_ARG(path), strerror(errno));
    ok = fwrite(text->at, 1, text->len, out) == text->len;
    if (fclose(out) != 0 || !ok)
        return err_set(err, ERR_IO, "cannot write '%.*s': %s", STR_ARG(path), strerror(errno));
    return 0;
}

static int write_all(struct arena *a, const struct model *m, const char *dir, struct err *err)
{
    struct buf header = {0}, tables = {0};
    int rc = 0;

    vec_each (i, &m->files) {
        const struct kind_file *f = m->files.at[i];
        buf_clear(&header);
        buf_clear(&tables);
        write_header(a, f, &header);
        write_tables(a, m, f, &tables);
        if (rc == 0)
            rc = write_file(a, dir, f->base, "h", &header, err);
        if (rc == 0)
            rc = write_file(a, dir, f->base, "c", &tables, err);
    }
    buf_clear(&header);
    buf_clear(&tables);
    write_kinds_header(a, m, &header);
    write_kinds(a, m, &tables);
    if (rc == 0)
        rc = write_file(a, dir, S("kinds"), "h", &header, err);
    if (rc == 0)
        rc = write_file(a, dir, S("kinds"), "c", &tables, err);
    buf_fini(&header);
    buf_fini(&tables);
    return rc;
}

static int run(struct arena *a, int argc, char **argv, struct err *err)
{
    struct model m = {0};

    for (int i = 2; i < argc; i++) {
        struct str text;
        if (read_file(a, argv[i], &text, err) < 0 ||
            kind_parse(a, &m, str_from(argv[i]), text, err) < 0)
            return -1;
    }
    if (model_resolve(a, &m, err) < 0)
        return -1;
    return write_all(a, &m, argv[1], err);
}

int main(int argc, char **argv)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct err err = {0};

    if (argc < 3) {
        fprintf(stderr, "usage: kindc DIR FILE.kind...\n");
        return 2;
    }
    if (run(&a, argc, argv, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
