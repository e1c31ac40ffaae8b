/* main.c - the runner of conformance cases
 *
 *     conformance SUITE FILE...
 *
 * Prints each failing case with both sides, ends with `N passed, N failed, N skipped`; exit 1
 * where any failed, 2 on a usage error. Skips are rows of t/conformance/SKIPS
 * (`suite/file | name | reason`; `*` ends a name's prefix), or declared by an adapter.
 */
#include "conformance.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "suites.h"

#define CASE_MAX ((size_t)16 << 20) /* bytes of one line */

struct skip {
    struct str file, name;
    struct str reason;
};

static VEC(struct skip) skips;
static size_t passed, failed, skipped;
static bool is_quiet;

static void head(struct conf *t)
{
    if (!t->has_failed)
        failed++;
    t->has_failed = true;
}

void conf_fail(struct conf *t, const char *what, struct str got, struct str want)
{
    head(t);
    if (is_quiet)
        return;
    printf("  %s\n    got  %.*s\n    want %.*s\n", what, STR_ARG(got), STR_ARG(want));
}

bool conf_same(struct conf *t, const char *what, const struct json *got,
               const struct json *want)
{
    static const struct json null = {.type = JSON_NULL};

    if (json_eq(got ? got : &null, want ? want : &null))
        return true;
    conf_fail(t, what, json_text(t->arena, got ? got : &null),
              json_text(t->arena, want ? want : &null));
    return false;
}

bool conf_same_str(struct conf *t, const char *what, struct str got, struct str want)
{
    if (str_eq(got, want))
        return true;
    conf_fail(t, what, got, want);
    return false;
}

void conf_skip(struct conf *t, const char *reason)
{
    t->skip = reason;
}

static bool name_matches(struct str pattern, struct str name)
{
    if (pattern.len && pattern.at[pattern.len - 1] == '*')
        return str_starts(name, str_slice(pattern, 0, pattern.len - 1));
    return str_eq(pattern, name);
}

static struct str read_file(struct arena *a, const char *path)
{
    scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct buf b = buf_in(a, 1 << 16);
    ssize_t n;

    if (fd < 0) {
        fprintf(stderr, "conformance: cannot open '%s': %s\n", path, strerror(errno));
        exit(2);
    }
    while ((n = read(fd, buf_room(&b, 1 << 16), 1 << 16)) > 0)
        b.len += (size_t)n;
    return buf_str(&b);
}

static void load_skips(struct arena *a)
{
    const char *path = "t/conformance/SKIPS";
    struct str text, line;

    if (access(path, R_OK) != 0)
        return;
    for (text = read_file(a, path); text.len;) {
        struct skip s;
        str_cut(text, '\n', &line, &text);
        line = str_trim(line);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        str_cut(line, '|', &s.file, &line);
        str_cut(line, '|', &s.name, &s.reason);
        s.file = str_trim(s.file), s.name = str_trim(s.name), s.reason = str_trim(s.reason);
        vec_push(&skips, s);
    }
}

static const struct skip *listed_skip(const struct conf_suite *suite, struct conf *t,
                                      struct str name)
{
    struct str file = str_printf(t->arena, "%s/%.*s", suite->name, STR_ARG(t->file));

    vec_each (i, &skips)
        if (name_matches(skips.at[i].file, file) && name_matches(skips.at[i].name, name))
            return &skips.at[i];
    return NULL;
}

static struct str case_name(struct conf *t, const struct json *c)
{
    struct str source = json_str(json_getz(c, "source")), name = json_str(json_getz(c, "name"));
    struct str section = json_str(json_getz(c, "section"));

    if (section.len)
        return str_printf(t->arena, "%.*s/%.*s/%.*s", STR_ARG(json_str(json_getz(c, "file"))),
                          STR_ARG(section), STR_ARG(name));
    return source.len ? str_printf(t->arena, "%.*s: %.*s", STR_ARG(source), STR_ARG(name))
                      : name;
}

static void count(struct conf *t, struct str name)
{
    if (t->has_failed)
        printf("FAIL %.*s:%zu %.*s\n", STR_ARG(t->path), t->line, STR_ARG(name));
    else if (t->skip)
        skipped++;
    else
        passed++;
    t->has_failed = false;
    t->skip = NULL;
}

void conf_each(struct conf *t, const struct json *c, conf_fn *run)
{
    json_each (i, c) {
        run(t, &c->items[i]);
        count(t, str_printf(t->arena, "number %zu", i + 1));
    }
    t->is_split = true;
}

static void end_case(struct conf *t, struct str name)
{
    if (!t->is_split)
        count(t, name);
    t->is_split = false;
    arena_reset(t->arena);
}

static void run_line(const struct conf_suite *suite, const struct conf_file *f, struct conf *t,
                     struct str line)
{
    struct err err = {0};
    const struct json *c = json_parse(t->arena, line, NULL, &err);
    struct str name = case_name(t, c);

    if (!c)
        conf_fail(t, "the case cannot be read", err_str(&err), S(""));
    else if (listed_skip(suite, t, name))
        conf_skip(t, "listed");
    else
        f->run(t, c);
    end_case(t, name);
}

static void run_file(const struct conf_suite *suite, const char *path, struct str only)
{
    scoped(arena_fini) struct arena file_arena = arena_sized(1 << 20);
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);
    struct str text = read_file(&file_arena, path), dir, base, line;
    struct conf t = {.arena = &a, .path = str_from(path)};
    const struct conf_file *f = NULL;

    base = str_rcut(t.path, '/', &dir, &base) ? base : t.path;
    bool is_lines = str_ends(base, S(".jsonl"));
    str_rcut(base, '.', &t.file, &line);
    for (size_t i = 0; i < suite->n_files && !f; i++)
        if (name_matches(str_from(suite->files[i].name), t.file))
            f = &suite->files[i];
    if (!f) {
        printf("FAIL %s: suite '%s' has no such kind of case\n", path, suite->name);
        failed++;
        return;
    }
    if (!is_lines) {
        t.line = 1;
        if (f->text) {
            f->text(&t, text);
            end_case(&t, t.file);
        } else {
            run_line(suite, f, &t, text);
        }
        return;
    }
    for (t.line = 1; text.len; t.line++) {
        str_cut(text, '\n', &line, &text);
        if (line.len && line.len < CASE_MAX && (only.len == 0 || str_has(line, only)))
            run_line(suite, f, &t, line);
    }
}

int main(int argc, char **argv)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    struct str only = str_from(getenv("CASE")); /* only lines that hold this text */
    const struct conf_suite *suite = NULL;

    is_quiet = getenv("QUIET") != NULL;
    for (size_t i = 0; argc > 1 && i < countof(suites); i++)
        if (strcmp(suites[i]->name, argv[1]) == 0)
            suite = suites[i];
    if (argc < 3 || !suite) {
        fprintf(stderr, "%s%s\nusage: conformance SUITE FILE...\n",
                argc < 2 ? "conformance: no suite given"
                         : "conformance: no suite or files for ",
                argc < 2 ? "" : argv[1]);
        return 2;
    }
    load_skips(&a);
    for (int i = 2; i < argc; i++)
        run_file(suite, argv[i], only);
    printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
    vec_fini(&skips);
    return failed != 0;
}
