/* report.c - what is wrong with an expression, and where */
#include "cel/ast_priv.h"

#define MAX_SHOWN_LINE 16384 /* bytes; a longer line is not copied into the message */

void issue_report(struct report *r, uint32_t pos, const char *format, ...)
{
    struct cel_issue issue = {0};
    char text[1024];
    va_list ap;

    if (r->at.len >= CEL_MAX_ISSUES) {
        r->n_lost++;
        return;
    }
    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    issue.text = str_copy(r->arena, str_of(text, MIN((size_t)n, sizeof(text) - 1)));
    vec_push_in(r->arena, &r->out->list, issue);
    vec_push_in(r->arena, &r->at, pos);
}

void text_place(struct str text, uint32_t pos, int *line, int *column)
{
    size_t i = 0;

    *line = *column = 1;
    while (i < pos && i < text.len) {
        bool is_end = text.at[i] == '\n';
        str_rune(text, &i);
        *column = is_end ? 1 : *column + 1;
        *line += is_end;
    }
}

static int issue_cmp(const struct cel_issue *a, const struct cel_issue *b)
{
    return a->line != b->line ? a->line - b->line : a->column - b->column;
}

void issue_done(struct report *r)
{
    struct cel_issues *out = r->out;

    vec_each (i, &r->at)
        text_place(r->text, r->at.at[i], &out->list.at[i].line, &out->list.at[i].column);
    vec_sort(&out->list, issue_cmp);
    if (r->n_lost) {
        struct cel_issue more = {
            .text = str_printf(r->arena, "%u more errors were truncated", r->n_lost)};
        vec_push_in(r->arena, &out->list, more);
    }
}

static struct str line_of(struct str text, int line)
{
    struct str head;

    for (;; line--) {
        bool has_more = str_cut(text, '\n', &head, &text);
        if (line == 1 || !has_more)
            return line == 1 ? head : str_of("", 0);
    }
}

/* The line with a caret below it; full-width marks where characters are wide. */
static void show_line(struct buf *b, struct str line, int column)
{
    size_t i = 0;
    int c = 1;

    buf_add(b, S("\n | "));
    for (size_t k = 0; k < line.len; k++)
        buf_byte(b, line.at[k] == '\t' ? ' ' : line.at[k]);
    buf_add(b, S("\n | "));
    for (; i < line.len && c < column; c++) {
        size_t from = i;
        str_rune(line, &i);
        buf_add(b, i - from > 1 ? S("\xef\xbc\x8e") : S("."));
    }
    for (; c < column; c++)
        buf_byte(b, '.');
    bool is_wide = i < line.len && (line.at[i] & 0x80);
    buf_add(b, is_wide ? S("\xef\xbc\xbe") : S("^"));
}

struct str cel_issues_text(struct arena *a, const struct cel_issues *issues, struct str text)
{
    struct buf b = buf_in(a, 256);

    vec_each (i, &issues->list) {
        const struct cel_issue *s = &issues->list.at[i];
        if (i)
            buf_byte(&b, '\n');
        if (s->line == 0) {
            buf_add(&b, s->text);
            continue;
        }
        buf_printf(&b, "ERROR: <input>:%d:%d: %.*s", s->line, s->column, STR_ARG(s->text));
        struct str line = line_of(text, s->line);
        if (line.len <= MAX_SHOWN_LINE)
            show_line(&b, line, s->column);
    }
    return buf_str(&b);
}
