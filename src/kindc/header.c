/* header.c - writes api/GROUP_VERSION.h: the structs, with our comments */
#include "kindc/model.h"

#define DOC_WIDTH 92

/* A comment, broken at blanks. */
static void write_doc(struct buf *out, const char *indent, struct str doc)
{
    size_t column = strlen(indent) + 3;

    buf_printf(out, "%s/*", indent);
    while (doc.len) {
        struct str word;
        str_cut(doc, ' ', &word, &doc);
        if (column + word.len + 4 > DOC_WIDTH && column > strlen(indent) + 3) {
            buf_printf(out, "\n%s *", indent);
            column = strlen(indent) + 3;
        }
        buf_byte(out, ' ');
        for (size_t i = 0; i < word.len; i++) {
            bool ends = word.at[i] == '*' && i + 1 < word.len && word.at[i + 1] == '/';
            buf_byte(out, ends ? '+' : word.at[i]);
        }
        column += word.len + 1;
    }
    buf_printf(out, " */\n");
}

static const char *scalar(enum base_type t)
{
    switch (t) {
    case BASE_BOOL:
        return "bool ";
    case BASE_INT32:
        return "int32_t ";
    case BASE_INT64:
        return "int64_t ";
    case BASE_DOUBLE:
        return "double ";
    case BASE_STRING:
    case BASE_BYTES:
    case BASE_QUANTITY:
        return "struct str ";
    case BASE_TIME:
    case BASE_MICRO_TIME:
        return "struct instant ";
    case BASE_DURATION:
        return "struct span ";
    case BASE_INT_OR_STRING:
        return "struct int_or_string ";
    default:
        return "const struct json *";
    }
}

/* The name of the list of such items, from view.h. */
static const char *list_of(enum base_type t)
{
    switch (t) {
    case BASE_BOOL:
        return "bool_list";
    case BASE_INT32:
        return "i32_list";
    case BASE_INT64:
        return "i64_list";
    case BASE_DOUBLE:
        return "double_list";
    case BASE_STRING:
    case BASE_BYTES:
    case BASE_QUANTITY:
        return "str_list";
    case BASE_TIME:
    case BASE_MICRO_TIME:
        return "instant_list";
    default:
        return "json_list";
    }
}

static const char *map_of(const struct type *value)
{
    switch (value->base) {
    case BASE_INT32:
        return "i32_map";
    case BASE_STRING:
    case BASE_BYTES:
    case BASE_QUANTITY:
        return "str_map";
    case BASE_TIME:
        return "instant_map";
    case BASE_LIST:
        return "str_list_map";
    default:
        return "json_map";
    }
}

/* A field's declaration up to its name. */
static void write_type(struct buf *out, const struct type *t)
{
    if (t->base == BASE_OBJECT)
        buf_printf(out, "struct %.*s *", STR_ARG(t->strukt->c_name));
    else if (t->base == BASE_LIST && t->item->strukt)
        buf_printf(out, "struct %.*s_list ", STR_ARG(t->item->strukt->c_name));
    else if (t->base == BASE_MAP && t->item->strukt)
        buf_printf(out, "struct %.*s_map ", STR_ARG(t->item->strukt->c_name));
    else if (t->base == BASE_LIST)
        buf_printf(out, "struct %s ", list_of(t->item->base));
    else if (t->base == BASE_MAP)
        buf_printf(out, "struct %s ", map_of(t->item));
    else
        buf_printf(out, "%s", scalar(t->base));
}

static void write_bits(struct buf *out, const struct struct_type *s)
{
    size_t column = 0;

    buf_printf(out, "    /* numbers of the bits */");
    vec_each (i, &s->fields) {
        struct str name = s->fields.at[i].c_name;
        if (column + name.len + 16 > DOC_WIDTH || i == 0) {
            buf_printf(out, "%s\n    char ", i ? ";" : "");
            column = 9;
        } else {
            buf_printf(out, ", ");
        }
        buf_printf(out, "%.*s_bit_[0][%zu]", STR_ARG(name), i + 1);
        column += name.len + 14;
    }
    buf_printf(out, ";\n");
}

static void write_struct(struct buf *out, const struct struct_type *s)
{
    write_doc(out, "", s->doc);
    buf_printf(out, "struct %.*s {\n    uint64_t set, null;\n", STR_ARG(s->c_name));
    vec_each (i, &s->fields) {
        const struct field *f = &s->fields.at[i];
        write_doc(out, "    ", f->doc);
        buf_printf(out, "    ");
        write_type(out, f->type);
        buf_printf(out, "%.*s;\n", STR_ARG(f->c_name));
    }
    if (s->fields.len)
        write_bits(out, s);
    buf_printf(out, "};\n");
    if (s->in_map) {
        buf_printf(out,
                   "struct %.*s_entry {\n    struct str key;\n    struct %.*s value;\n};\n",
                   STR_ARG(s->c_name), STR_ARG(s->c_name));
    }
    buf_byte(out, '\n');
}

static void write_forward(struct buf *out, const struct kind_file *f)
{
    vec_each (i, &f->structs) {
        struct str name = f->structs.at[i]->c_name;
        buf_printf(out, "struct %.*s;\n", STR_ARG(name));
        if (f->structs.at[i]->in_list)
            buf_printf(out, "struct %.*s_list {\n    struct %.*s *at;\n    size_t len;\n};\n",
                       STR_ARG(name), STR_ARG(name));
        if (f->structs.at[i]->in_map)
            buf_printf(out,
                       "struct %.*s_entry;\nstruct %.*s_map {\n    struct %.*s_entry *at;\n"
                       "    size_t len;\n};\n",
                       STR_ARG(name), STR_ARG(name), STR_ARG(name));
    }
    buf_byte(out, '\n');
}

/* COMPLETION_MODE_INDEXED for the values of named enums. */
static void write_enums(struct arena *a, struct buf *out, const struct kind_file *f)
{
    struct str prefix = c_upper(a, f->prefix);

    vec_each (i, &f->types) {
        const struct named_type *n = &f->types.at[i];
        struct str name = c_upper(a, n->name);
        if (!n->type->enums.len)
            continue;
        if (n->doc.len)
            write_doc(out, "", n->doc);
        vec_each (j, &n->type->enums) {
            struct str text = n->type->enums.at[j].text;
            struct str value = text.len ? c_upper(a, text) : S("EMPTY");
            buf_printf(out, "#define %.*s%.*s_%.*s S(\"", STR_ARG(prefix), STR_ARG(name),
                       STR_ARG(value));
            write_escaped(out, text);
            buf_printf(out, "\")\n");
        }
        buf_byte(out, '\n');
    }
}

void write_header(struct arena *a, const struct kind_file *f, struct buf *out)
{
    buf_printf(
        out,
        "/* %.*s.h - the kinds of %.*s as C structs\n *\n"
        " * Written by kindc from kinds/%.*s.kind. schema/table.h has the layout's rules,\n"
        " * schema/view.h the presence macros; api/kinds.h lists the kinds.\n */\n#pragma "
        "once\n\n"
        "#include \"schema/table.h\"\n#include \"schema/view.h\"\n",
        STR_ARG(f->base), STR_ARG(f->api_version), STR_ARG(f->base));
    vec_each (i, &f->uses)
        buf_printf(out, "#include \"api/%.*s.h\"\n", STR_ARG(f->uses.at[i]->base));
    buf_byte(out, '\n');
    write_forward(out, f);
    write_enums(a, out, f);
    vec_each (i, &f->structs)
        write_struct(out, f->structs.at[i]);
    vec_each (i, &f->structs)
        buf_printf(out, "extern const struct schema schema_%.*s;\n",
                   STR_ARG(f->structs.at[i]->c_name));
}
