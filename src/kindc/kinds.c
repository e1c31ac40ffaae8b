/* kinds.c - writes api/kinds.h and api/kinds.c: the list of all kinds and gates */
#include "kindc/model.h"

struct entry {
    const struct kind_file *f;
    const struct kind_model *k;
    size_t id;
};

typedef VEC(struct entry) entry_vec;

static void all_kinds(struct arena *a, const struct model *m, entry_vec *out)
{
    vec_each (i, &m->files) {
        const struct kind_file *f = m->files.at[i];
        vec_each (j, &f->kinds) {
            size_t id = out->len;
            vec_push_in(a, out, (struct entry){f, &f->kinds.at[j], id});
        }
    }
}

void write_kinds_header(struct arena *a, const struct model *m, struct buf *out)
{
    entry_vec all = {0};

    all_kinds(a, m, &all);
    buf_printf(out, "/* kinds.h - all built-in kinds, written by kindc\n *\n"
                    " * api/find.h looks them up by name.\n */\n#pragma once\n\n"
                    "#include \"schema/table.h\"\n\nenum kind_id {\n");
    vec_each (i, &all)
        buf_printf(out, "    KIND_%.*s, /* %.*s %.*s */\n",
                   STR_ARG(c_upper(a, all.at[i].k->root->c_name)),
                   STR_ARG(all.at[i].f->api_version), STR_ARG(all.at[i].k->name));
    buf_printf(out, "    KIND_COUNT\n};\n\n");
    vec_each (i, &all)
        buf_printf(out, "extern const struct kind kind_%.*s;\n",
                   STR_ARG(all.at[i].k->root->c_name));
    buf_printf(out,
               "\n/* By enum kind_id. */\nextern const struct kind *const kinds[KIND_COUNT];\n"
               "/* Ids in the order of group, version, kind; of group, version, plural. */\n"
               "extern const uint16_t kinds_by_kind[KIND_COUNT];\n"
               "extern const uint16_t kinds_by_plural[KIND_COUNT];\n\nenum gate_id {\n");
    vec_each (i, &m->gates)
        buf_printf(out, "    GATE_%.*s,\n", STR_ARG(c_upper(a, m->gates.at[i].name)));
    buf_printf(out, "    GATE_COUNT\n};\n\n/* By enum gate_id. */\n"
                    "extern const struct schema_gate schema_gates[GATE_COUNT + 1];\n");
}

static int by_place(const struct entry *a, const struct entry *b)
{
    int c = str_cmp(a->f->group, b->f->group);

    return c ? c : str_cmp(a->f->version, b->f->version);
}

static int by_kind(const struct entry *a, const struct entry *b)
{
    int c = by_place(a, b);

    return c ? c : str_cmp(a->k->name, b->k->name);
}

static int by_plural(const struct entry *a, const struct entry *b)
{
    int c = by_place(a, b);

    return c ? c : str_cmp(a->k->plural, b->k->plural);
}

static void write_order(struct buf *out, const char *name, const entry_vec *all)
{
    buf_printf(out, "const uint16_t %s[KIND_COUNT] = {", name);
    vec_each (i, all)
        buf_printf(out, "%s%zu", i ? ", " : "", all->at[i].id);
    buf_printf(out, "};\n");
}

void write_kinds(struct arena *a, const struct model *m, struct buf *out)
{
    entry_vec all = {0};

    all_kinds(a, m, &all);
    buf_printf(out,
               "/* kinds.c - all built-in kinds, written by kindc */\n"
               "#include \"api/kinds.h\"\n\nconst struct kind *const kinds[KIND_COUNT] = {\n");
    vec_each (i, &all)
        buf_printf(out, "    &kind_%.*s,\n", STR_ARG(all.at[i].k->root->c_name));
    buf_printf(out, "};\n");
    vec_sort(&all, by_kind);
    write_order(out, "kinds_by_kind", &all);
    vec_sort(&all, by_plural);
    write_order(out, "kinds_by_plural", &all);
    buf_printf(out, "const struct schema_gate schema_gates[GATE_COUNT + 1] = {\n");
    vec_each (i, &m->gates) {
        buf_printf(out, "    {S_INIT(\"");
        write_escaped(out, m->gates.at[i].name);
        buf_printf(out, "\"), %s, %zu},\n", m->gates.at[i].on ? "true" : "false", i);
    }
    buf_printf(out, "    {.on = false},\n};\n");
}
