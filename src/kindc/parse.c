/* parse.c - lines of a .kind file into the model
 *
 * docs/kinds.md has the grammar. One table names the attributes; a block (kind, struct) takes
 * the indented lines below it.
 */
#include "kindc/lex.h"
#include "kindc/model.h"

struct parser {
    struct arena *a;
    struct kind_file *f;
    struct model *m;
    struct err *err;
    struct token *t; /* the next one */
    struct line *line;
    struct struct_type *block; /* takes indented lines, or NULL */
    struct kind_model *kind;   /* where the block is a kind's */
};

#define fail(p, ...) fail_at((p), (p)->t->line, __VA_ARGS__)

like_printf(3, 4) static int fail_at(struct parser *p, int line, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(p->err, ERR_SYNTAX, "%.*s:%d: %s", STR_ARG(p->f->path), line, text);
}

static bool at_punct(const struct parser *p, char c)
{
    return p->t->type == TOKEN_PUNCT && p->t->punct == c;
}

static bool take_punct(struct parser *p, char c)
{
    if (!at_punct(p, c))
        return false;
    p->t++;
    return true;
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->t->type == TOKEN_WORD && str_eqz(p->t->text, word);
}

static bool take_word(struct parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    p->t++;
    return true;
}

/* A word or a text. */
static int parse_text(struct parser *p, const char *what, struct str *out)
{
    if (p->t->type != TOKEN_WORD && p->t->type != TOKEN_TEXT)
        return fail(p, "%s is missing here", what);
    *out = p->t->text;
    p->t++;
    return 0;
}

/* ---- values ---- */

static int parse_value(struct parser *p, struct value *out);

static int parse_list_value(struct parser *p, struct value *out)
{
    VEC(struct value) items = {0};

    while (!take_punct(p, ']')) {
        struct value item;
        if (parse_value(p, &item) < 0)
            return -1;
        vec_push_in(p->a, &items, item);
        take_punct(p, ',');
    }
    *out = (struct value){.type = VALUE_LIST, .items = items.at, .n = items.len};
    return 0;
}

static int parse_object_value(struct parser *p, struct value *out)
{
    VEC(struct value) items = {0};
    VEC(struct str) names = {0};

    while (!take_punct(p, '}')) {
        struct value item;
        struct str name;
        if (parse_text(p, "a member's name", &name) < 0)
            return -1;
        if (!take_punct(p, ':'))
            return fail(p, "a ':' belongs between the member '%.*s' and its value",
                        STR_ARG(name));
        if (parse_value(p, &item) < 0)
            return -1;
        vec_push_in(p->a, &names, name);
        vec_push_in(p->a, &items, item);
        take_punct(p, ',');
    }
    *out = (struct value){
        .type = VALUE_OBJECT, .names = names.at, .items = items.at, .n = items.len};
    return 0;
}

static enum value_type type_of_word(struct str s)
{
    size_t i = 0;
    bool fraction = false;

    if (str_eqz(s, "null"))
        return VALUE_NULL;
    if (str_eqz(s, "true") || str_eqz(s, "false"))
        return VALUE_BOOL;
    if (s.len && s.at[0] == '-')
        i++;
    if (i == s.len)
        return VALUE_TEXT;
    for (; i < s.len; i++) {
        if (s.at[i] == '.')
            fraction = true;
        else if (s.at[i] < '0' || s.at[i] > '9')
            return VALUE_TEXT;
    }
    return fraction ? VALUE_DOUBLE : VALUE_INT;
}

static int parse_value(struct parser *p, struct value *out)
{
    if (take_punct(p, '['))
        return parse_list_value(p, out);
    if (take_punct(p, '{'))
        return parse_object_value(p, out);
    if (p->t->type == TOKEN_TEXT)
        *out = (struct value){.type = VALUE_TEXT, .text = p->t->text};
    else if (p->t->type == TOKEN_WORD)
        *out = (struct value){.type = type_of_word(p->t->text), .text = p->t->text};
    else
        return fail(p, "a value is missing here");
    p->t++;
    return 0;
}

/* ---- attributes ---- */

enum attr_kind { ATTR_FLAG, ATTR_NUM, ATTR_TEXT, ATTR_KEY, ATTR_ONE_OF, ATTR_RULE };

#define ATTR_AT(member) .at = offsetof(struct attrs, member)

static const struct attr_word {
    const char *word;
    enum attr_kind kind;
    uint32_t flag;
    enum attr_num num;
    size_t at;
} attr_words[] = {
    {"required",           ATTR_FLAG,                   FLAG_REQUIRED},
    {"expected",                    ATTR_FLAG,                                      FLAG_EXPECTED},
    {"needed",       ATTR_FLAG,FLAG_NEEDED},
    {"always",     ATTR_FLAG,                         FLAG_ALWAYS},
    {"fixed",             ATTR_FLAG,                           FLAG_FIXED},
    {"once",                    ATTR_FLAG,                                         FLAG_ONCE},
    {"output",          ATTR_FLAG,           FLAG_OUTPUT},
    {"subresource",ATTR_FLAG,FLAG_SUBRESOURCE},
    {"nullable",             ATTR_FLAG,                      FLAG_NULLABLE},
    {"atomic",                    ATTR_FLAG,                                   FLAG_ATOMIC},
    {"granular",    ATTR_FLAG,                                                              FLAG_GRANULAR},
    {"set",ATTR_FLAG,FLAG_SET},
    {"mergeset",             ATTR_FLAG,            FLAG_MERGE_SET},
    {"replace",                    ATTR_FLAG,                                      FLAG_REPLACE},
    {"retainkeys",       ATTR_FLAG,FLAG_RETAIN_KEYS},
    {"wrapped",             ATTR_FLAG,                                         FLAG_WRAPPED},
    {"preserve",           ATTR_FLAG,                 FLAG_PRESERVE},
    {"embedded",                    ATTR_FLAG,                                       FLAG_EMBEDDED},
    {"unique",        ATTR_FLAG,FLAG_UNIQUE},
    {"both",     ATTR_FLAG,                                            FLAG_BOTH},
    {"skipdefaults",            ATTR_FLAG,                  FLAG_SKIP_DEFAULTS},
    {"min",                    ATTR_NUM,                                      .num = NUM_MIN},
    {"max",       ATTR_NUM,                  .num = NUM_MAX},
    {"above",ATTR_NUM,.num = NUM_ABOVE},
    {"below",             ATTR_NUM,                        .num = NUM_BELOW},
    {"multiple",                    ATTR_NUM,                                          .num = NUM_MULTIPLE},
    {"minlen",           ATTR_NUM,.num = NUM_MINLEN},
    {"maxlen",ATTR_NUM,.num = NUM_MAXLEN},
    {"minitems",                ATTR_NUM,                .num = NUM_MINITEMS},
    {"maxitems",                    ATTR_NUM,                                           .num = NUM_MAXITEMS},
    {"minprops",      ATTR_NUM,                .num = NUM_MINPROPS},
    {"maxprops",                     ATTR_NUM,                                                                 .num = NUM_MAXPROPS},
    {"maxbytes",              ATTR_NUM,                     .num = NUM_MAXBYTES},
    {"pattern",                    ATTR_TEXT,                                      ATTR_AT(pattern)},
    {"format", ATTR_TEXT,ATTR_AT(format)},
    {"gate",  ATTR_TEXT,                  ATTR_AT(gate)},
    {"merge",             ATTR_TEXT,                                 ATTR_AT(merge_key)},
    {"check",                    ATTR_TEXT,                                      ATTR_AT(check)},
    {"defaults", ATTR_TEXT,             ATTR_AT(defaults)},
    {"key",ATTR_KEY},
    {"oneof",           ATTR_ONE_OF                        },
    {"rule",                    ATTR_RULE                                     },
};

static const struct attr_word *attr_word(const struct token *t)
{
    for (size_t i = 0; t->type == TOKEN_WORD && i < countof(attr_words); i++) {
        if (str_eqz(t->text, attr_words[i].word))
            return &attr_words[i];
    }
    return NULL;
}

/* rule "expression" [message T] [messageexpr T] [reason R] [at PATH] [optionalold] */
static int parse_rule(struct parser *p, struct attrs *at)
{
    struct cel_rule r = {0};
    static const struct {
        const char *word;
        size_t at;
    } parts[] = {
        {"message",     offsetof(struct cel_rule, message)           },
        {"messageexpr", offsetof(struct cel_rule, message_expression)},
        {"reason",      offsetof(struct cel_rule, reason)            },
        {"at",          offsetof(struct cel_rule, field_path)        },
    };

    if (parse_text(p, "the rule's expression", &r.rule) < 0)
        return -1;
    for (size_t i = 0; i < countof(parts); i++) {
        if (take_word(p, parts[i].word) &&
            parse_text(p, parts[i].word, (struct str *)((char *)&r + parts[i].at)) < 0)
            return -1;
    }
    r.has_message = r.message.len > 0;
    r.optional_old = take_word(p, "optionalold");
    vec_push_in(p->a, &at->rules, r);
    return 0;
}

static int parse_number(struct parser *p, struct attrs *at, const struct attr_word *w)
{
    if (p->t->type != TOKEN_WORD ||
        (type_of_word(p->t->text) != VALUE_INT && type_of_word(p->t->text) != VALUE_DOUBLE))
        return fail(p, "a number must follow '%s'", w->word);
    at->num[w->num] = p->t->text;
    at->has_num |= 1u << w->num;
    p->t++;
    return 0;
}

static int parse_names(struct parser *p, struct attrs *at, const struct attr_word *w)
{
    do {
        struct str name;
        if (parse_text(p, w->kind == ATTR_KEY ? "a key field" : "a field", &name) < 0)
            return -1;
        if (w->kind == ATTR_KEY)
            vec_push_in(p->a, &at->keys, name);
        else
            vec_push_in(p->a, &at->one_of, name);
    } while (take_punct(p, ','));
    return 0;
}

/* One attribute; 0 where none stands here. */
static int parse_attr(struct parser *p, struct attrs *at)
{
    if (at_punct(p, '=') || at_punct(p, 'd')) {
        at->flags |= at_punct(p, 'd') ? FLAG_MARKER : 0;
        p->t++;
        at->def = arena_new(p->a, struct value);
        return parse_value(p, at->def) < 0 ? -1 : 1;
    }

    const struct attr_word *w = attr_word(p->t);
    int rc = 0;
    if (!w)
        return 0;
    p->t++;
    switch (w->kind) {
    case ATTR_FLAG:
        at->flags |= w->flag;
        break;
    case ATTR_NUM:
        rc = parse_number(p, at, w);
        break;
    case ATTR_TEXT:
        rc = parse_text(p, w->word, (struct str *)((char *)at + w->at));
        break;
    case ATTR_KEY:
    case ATTR_ONE_OF:
        rc = parse_names(p, at, w);
        break;
    case ATTR_RULE:
        rc = parse_rule(p, at);
        break;
    }
    return rc < 0 ? -1 : 1;
}

static int parse_attrs(struct parser *p, struct attrs *at)
{
    int rc;

    while ((rc = parse_attr(p, at)) > 0)
        ;
    return rc;
}

/* ---- types ---- */

static const struct {
    const char *name;
    enum base_type base;
} base_types[] = {
    {"any",         BASE_ANY          },
    {"bool",        BASE_BOOL         },
    {"int32",       BASE_INT32        },
    {"int64",       BASE_INT64        },
    {"double",      BASE_DOUBLE       },
    {"string",      BASE_STRING       },
    {"bytes",       BASE_BYTES        },
    {"quantity",    BASE_QUANTITY     },
    {"time",        BASE_TIME         },
    {"microtime",   BASE_MICRO_TIME   },
    {"duration",    BASE_DURATION     },
    {"intorstring", BASE_INT_OR_STRING},
    {"fieldsV1",    BASE_FIELDS_V1    },
    {"raw",         BASE_RAW          },
};

static int parse_enums(struct parser *p, struct type *t)
{
    t->base = BASE_STRING;
    while ((p->t->type == TOKEN_WORD && !attr_word(p->t) && p->t->text.at[0] != '@') ||
           p->t->type == TOKEN_TEXT) {
        struct value v = {.type = VALUE_TEXT, .text = p->t->text};
        vec_push_in(p->a, &t->enums, v);
        p->t++;
    }
    return t->enums.len ? 0 : fail(p, "an enum lists its values: enum A B");
}

static struct type *parse_type(struct parser *p)
{
    struct type *t = arena_new(p->a, struct type);

    t->line = p->t->line;
    if (at_punct(p, '[') || at_punct(p, '{')) {
        char close = at_punct(p, '[') ? ']' : '}';
        t->base = close == ']' ? BASE_LIST : BASE_MAP;
        p->t++;
        t->item = parse_type(p);
        if (!t->item || parse_attrs(p, &t->item->attrs) < 0)
            return NULL;
        if (!take_punct(p, close)) {
            fail(p, "'%.*s' cannot stand in a %s's type; a '%c' is missing before it",
                 STR_ARG(p->t->text), close == ']' ? "list" : "map", close);
            return NULL;
        }
    } else if (p->t->type != TOKEN_WORD) {
        fail(p, "a type is missing here");
        return NULL;
    } else {
        struct str name = p->t->text;
        p->t++;
        if (str_eqz(name, "enum") || str_eqz(name, "known")) {
            t->known = str_eqz(name, "known");
            if (take_punct(p, '?'))
                t->attrs.flags |= FLAG_POINTER;
            if (parse_enums(p, t) < 0)
                return NULL;
        }
        t->name = name;
        for (size_t i = 0; i < countof(base_types); i++) {
            if (str_eqz(name, base_types[i].name))
                t->base = base_types[i].base;
        }
    }
    if (take_punct(p, '?'))
        t->attrs.flags |= FLAG_POINTER;
    return t;
}

/* ---- fields ---- */

/* @12, or @2.7 for a field of a message that JSON flattens. */
static int parse_proto(struct parser *p, struct field *f)
{
    struct str s = p->t->text, in, number;
    int64_t n = 0, outer = 0;
    bool nested;

    if (p->t->type != TOKEN_WORD || s.at[0] != '@')
        return 0;
    s = str_slice(s, 1, s.len);
    nested = str_cut(s, '.', &in, &number);
    if (!str_to_i64(nested ? number : in, &n) || (nested && !str_to_i64(in, &outer)) || n < 1 ||
        n > UINT16_MAX || outer < 0 || outer > UINT16_MAX)
        return fail(p, "'@%.*s' is no protobuf number; write @12 or @2.12", STR_ARG(s));
    f->proto = (int)n;
    f->proto_in = (int)outer;
    p->t++;
    return 0;
}

static int parse_field(struct parser *p)
{
    struct field f = {.doc = p->line->doc, .line = p->line->number};

    f.embed = take_word(p, "embed");
    if (!f.embed && parse_text(p, "a field's name", &f.name) < 0)
        return -1;
    if (!f.embed && !f.doc.len)
        return fail_at(p, f.line,
                       "field '%.*s' has no comment; say in the line above what it is for",
                       STR_ARG(f.name));
    f.type = parse_type(p);
    if (!f.type)
        return -1;
    int rc = 1;
    while (rc > 0) {
        const struct token *before = p->t;
        if (parse_proto(p, &f) < 0)
            return -1;
        rc = parse_attr(p, &f.type->attrs);
        if (rc == 0 && p->t != before)
            rc = 1;
    }
    if (rc < 0)
        return -1;
    if (p->t->type != TOKEN_END)
        return fail(p, "'%.*s' is no attribute; docs/kinds.md lists them", STR_ARG(p->t->text));
    for (size_t i = 0; i < p->block->fields.len; i++) {
        if (f.name.len && str_eq(p->block->fields.at[i].name, f.name))
            return fail_at(p, f.line, "field '%.*s' is declared twice; first in line %d",
                           STR_ARG(f.name), p->block->fields.at[i].line);
    }
    if (f.type->attrs.flags & FLAG_SUBRESOURCE) {
        if (!p->kind || !str_eqz(f.name, "status"))
            return fail_at(p, f.line, "only a kind's 'status' can be a subresource");
        p->kind->status = true;
    }
    vec_push_in(p->a, &p->block->fields, f);
    return 0;
}

/* ---- lines of a kind ---- */

/* column "Name" .json.path | cell FUNCTION | age [TYPE] [format F] [wide] */
static int parse_column(struct parser *p)
{
    struct column c = {.type = S("string"), .doc = p->line->doc};
    static const char *const types[] = {"string", "integer", "number", "boolean", "date"};

    if (parse_text(p, "the column's title", &c.name) < 0)
        return -1;
    if (take_word(p, "cell")) {
        if (parse_text(p, "the cell's function", &c.cell) < 0)
            return -1;
    } else if (take_word(p, "age")) {
        c.path = S(".metadata.creationTimestamp");
        c.cell = p->f->custom ? (struct str){0} : S("age");
        c.type = p->f->custom ? S("date") : S("string");
    } else if (parse_text(p, "the column's path", &c.path) < 0) {
        return -1;
    }
    for (size_t i = 0; i < countof(types); i++) {
        if (take_word(p, types[i]))
            c.type = str_from(types[i]);
    }
    if (take_word(p, "format") && parse_text(p, "the column's format", &c.format) < 0)
        return -1;
    c.wide = take_word(p, "wide");
    vec_push_in(p->a, &p->kind->columns, c);
    return 0;
}

static bool cut_api_version(struct str s, struct str *group, struct str *version)
{
    if (str_cut(s, '/', group, version))
        return group->len && version->len && str_index(*version, '/') == STR_NONE;
    *version = *group;
    *group = (struct str){0};
    return version->len > 0;
}

#define push_words(p, list)                                                                    \
    while ((p)->t->type == TOKEN_WORD || (p)->t->type == TOKEN_TEXT) {                         \
        vec_push_in((p)->a, (list), (p)->t->text);                                             \
        (p)->t++;                                                                              \
    }

/* subresource NAME [API_VERSION KIND] VERB... */
static int parse_subresource(struct parser *p)
{
    struct subresource s = {0};

    if (parse_text(p, "the subresource's name", &s.name) < 0)
        return -1;
    if (p->t->type == TOKEN_WORD && p->t[1].type == TOKEN_WORD && p->t[1].text.at[0] >= 'A' &&
        p->t[1].text.at[0] <= 'Z') {
        if (!cut_api_version(p->t->text, &s.group, &s.version))
            return fail(p, "'%.*s' is no group and version", STR_ARG(p->t->text));
        s.kind = p->t[1].text;
        p->t += 2;
    }
    push_words(p, &s.verbs);
    if (!s.verbs.len)
        return fail(p, "subresource '%.*s' has no verbs; say which: get update patch",
                    STR_ARG(s.name));
    vec_push_in(p->a, &p->kind->subresources, s);
    return 0;
}

static int parse_scale(struct parser *p)
{
    p->kind->has_scale = true;
    for (int i = 0; i < 3; i++) {
        if (parse_text(p, "a path of scale (spec, status, selector)", &p->kind->scale[i]) < 0)
            return -1;
    }
    return 0;
}

static int parse_select(struct parser *p)
{
    push_words(p, &p->kind->selectable);
    return 0;
}

static int parse_verbs(struct parser *p)
{
    push_words(p, &p->kind->verbs);
    return 0;
}

static int parse_stored_as(struct parser *p)
{
    return parse_text(p, "the stored group and version", &p->kind->stored_as);
}

static int parse_convert(struct parser *p)
{
    return parse_text(p, "the conversion's name", &p->kind->convert);
}

static int parse_warning(struct parser *p)
{
    return parse_text(p, "the warning's text", &p->kind->warning);
}

static int parse_no_name(struct parser *p)
{
    p->kind->no_name = true;
    return 0;
}

static int parse_kind_attr(struct parser *p)
{
    p->t--;
    return parse_attr(p, &p->block->attrs) < 0 ? -1 : 0;
}

typedef int line_fn(struct parser *p);

static const struct {
    const char *word;
    line_fn *parse;
} kind_lines[] = {
    {"column",      parse_column     },
    {"subresource", parse_subresource},
    {"scale",       parse_scale      },
    {"select",      parse_select     },
    {"verbs",       parse_verbs      },
    {"stored",      parse_stored_as  },
    {"convert",     parse_convert    },
    {"warning",     parse_warning    },
    {"noname",      parse_no_name    },
    {"check",       parse_kind_attr  },
    {"defaults",    parse_kind_attr  },
};

static int parse_member(struct parser *p)
{
    if (!p->block)
        return fail(p, "an indented line belongs to a kind or struct; none is open");
    for (size_t i = 0; p->kind && i < countof(kind_lines); i++) {
        if (!take_word(p, kind_lines[i].word))
            continue;
        if (kind_lines[i].parse(p) < 0)
            return -1;
        return p->t->type == TOKEN_END ? 0
                                       : fail(p, "'%.*s' does not belong to '%s'",
                                              STR_ARG(p->t->text), kind_lines[i].word);
    }
    if (at_word(p, "oneof") || (at_word(p, "rule") && p->t[1].type == TOKEN_TEXT)) {
        /* a rule of the whole struct; a field of that name has a type behind it */
        if (parse_attrs(p, &p->block->attrs) < 0)
            return -1;
        return p->t->type == TOKEN_END ? 0 : fail(p, "'%.*s' is no rule", STR_ARG(p->t->text));
    }
    return parse_field(p);
}

/* ---- lines at the left edge ---- */

static int add_struct(struct parser *p, struct str name)
{
    for (size_t i = 0; i < p->f->structs.len; i++) {
        if (str_eq(p->f->structs.at[i]->name, name))
            return fail(p, "'%.*s' is declared twice; first in line %d", STR_ARG(name),
                        p->f->structs.at[i]->line);
    }
    p->block = arena_new(p->a, struct struct_type);
    *p->block = (struct struct_type){
        .file = p->f, .name = name, .doc = p->line->doc, .line = p->line->number};
    p->block->c_name = c_name(p->a, p->f->prefix, name);
    vec_push_in(p->a, &p->f->structs, p->block);
    p->kind = NULL;
    return 0;
}

/* api GROUP/VERSION [prefix P] [style custom] */
static int parse_api(struct parser *p)
{
    struct str gv, style = {0};

    if (parse_text(p, "group/version", &gv) < 0)
        return -1;
    if (!cut_api_version(gv, &p->f->group, &p->f->version))
        return fail(p, "'%.*s' is no group and version", STR_ARG(gv));
    p->f->api_version = gv;
    if (take_word(p, "prefix") && parse_text(p, "the prefix", &p->f->prefix) < 0)
        return -1;
    if (take_word(p, "style") && parse_text(p, "the style", &style) < 0)
        return -1;
    p->f->custom = str_eqz(style, "custom");
    if (style.len && !p->f->custom && !str_eqz(style, "native"))
        return fail(p, "style is native or custom");
    return 0;
}

static int parse_uses(struct parser *p)
{
    push_words(p, &p->f->use_names);
    return 0;
}

static int parse_gate(struct parser *p)
{
    struct gate g = {0};

    if (parse_text(p, "the gate's name", &g.name) < 0)
        return -1;
    g.on = at_word(p, "on");
    if (!take_word(p, "on") && !take_word(p, "off"))
        return fail(p, "gate '%.*s' is on or off", STR_ARG(g.name));
    vec_push_in(p->a, &p->m->gates, g);
    return 0;
}

static int parse_struct(struct parser *p)
{
    struct str name;

    if (parse_text(p, "the struct's name", &name) < 0 || add_struct(p, name) < 0)
        return -1;
    if (!p->line->doc.len)
        return fail(p, "struct '%.*s' has no comment; say in the line above what it is",
                    STR_ARG(name));
    return parse_attrs(p, &p->block->attrs);
}

static int parse_named(struct parser *p)
{
    struct named_type t = {.doc = p->line->doc, .line = p->line->number};

    p->block = NULL;
    p->kind = NULL;
    if (parse_text(p, "the type's name", &t.name) < 0)
        return -1;
    t.type = parse_type(p);
    if (!t.type || parse_attrs(p, &t.type->attrs) < 0)
        return -1;
    vec_push_in(p->a, &p->f->types, t);
    return 0;
}

static int kind_words(struct parser *p, struct kind_model *k)
{
    while (p->t->type == TOKEN_WORD) {
        if (take_word(p, "namespaced"))
            k->namespaced = true;
        else if (take_word(p, "cluster"))
            k->cluster = true;
        else if (take_word(p, "unstored"))
            k->unstored = true;
        else if (take_word(p, "hidden"))
            k->hidden = true;
        else if (take_word(p, "nometa"))
            k->no_meta = true;
        else if (take_word(p, "generation"))
            k->generation = true;
        else if (take_word(p, "plural")) {
            if (parse_text(p, "the plural", &k->plural) < 0)
                return -1;
        } else if (take_word(p, "singular")) {
            if (parse_text(p, "the singular", &k->singular) < 0)
                return -1;
        } else if (take_word(p, "short")) {
            do {
                struct str s;
                if (parse_text(p, "a short name", &s) < 0)
                    return -1;
                vec_push_in(p->a, &k->short_names, s);
            } while (take_punct(p, ','));
        } else if (take_word(p, "category")) {
            struct str s;
            if (parse_text(p, "a category", &s) < 0)
                return -1;
            vec_push_in(p->a, &k->categories, s);
        } else {
            return fail(p, "'%.*s' says nothing about a kind", STR_ARG(p->t->text));
        }
    }
    return 0;
}

static struct type *named_type_of(struct parser *p, const char *name)
{
    struct type *t = arena_new(p->a, struct type);

    t->name = str_from(name);
    t->line = p->line->number;
    if (str_eqz(t->name, "string"))
        t->base = BASE_STRING;
    return t;
}

/* apiVersion, kind and metadata, which every object has. */
static void add_type_meta(struct parser *p, const struct kind_model *k)
{
    static const struct {
        const char *name, *type, *doc;
        int proto;
        uint32_t flags;
    } meta[] = {
        {"apiVersion", "string",     "Group and version of this text.",      0, FLAG_TYPE_META},
        {"kind",       "string",     "What this text describes.",            0, FLAG_TYPE_META},
        {"metadata",   "ObjectMeta", "Name, labels and life of the object.", 1, FLAG_ALWAYS   },
    };

    for (size_t i = 0; i < countof(meta) - k->no_meta; i++) {
        struct field f = {.name = str_from(meta[i].name),
                          .doc = str_from(meta[i].doc),
                          .type = named_type_of(p, meta[i].type),
                          .proto = meta[i].proto,
                          .line = p->line->number};
        f.type->attrs.flags |= meta[i].flags;
        vec_push_in(p->a, &p->block->fields, f);
    }
}

static int parse_kind(struct parser *p)
{
    struct kind_model k = {.line = p->line->number};

    if (parse_text(p, "the kind's name", &k.name) < 0)
        return -1;
    if (!p->line->doc.len)
        return fail(p, "kind '%.*s' has no comment; say in the line above what it is",
                    STR_ARG(k.name));
    if (p->t->type == TOKEN_WORD && str_eq(p->t->text, p->f->api_version))
        p->t++;
    else
        return fail(p, "the kind's group and version must be that of this file, %.*s",
                    STR_ARG(p->f->api_version));
    if (kind_words(p, &k) < 0 || add_struct(p, k.name) < 0)
        return -1;
    k.root = p->block;
    k.singular = k.singular.len ? k.singular : str_lower(p->a, k.name);
    k.list_kind = str_printf(p->a, "%.*sList", STR_ARG(k.name));
    if (!k.plural.len)
        return fail(p, "kind '%.*s' has no plural; it is the name in URLs", STR_ARG(k.name));
    if (k.namespaced == k.cluster)
        return fail(p, "kind '%.*s' must be either namespaced or cluster", STR_ARG(k.name));
    add_type_meta(p, &k);
    vec_push_in(p->a, &p->f->kinds, k);
    p->kind = &vec_last(&p->f->kinds);
    return 0;
}

static const struct {
    const char *word;
    line_fn *parse;
} statements[] = {
    {"api",    parse_api   },
    {"uses",   parse_uses  },
    {"gate",   parse_gate  },
    {"kind",   parse_kind  },
    {"struct", parse_struct},
    {"type",   parse_named },
};

static int parse_statement(struct parser *p)
{
    for (size_t i = 0; i < countof(statements); i++) {
        if (!take_word(p, statements[i].word))
            continue;
        if (statements[i].parse(p) < 0)
            return -1;
        return p->t->type == TOKEN_END
                   ? 0
                   : fail(p,
                          "'%.*s' does not belong to this line; docs/kinds.md has the grammar",
                          STR_ARG(p->t->text));
    }
    return fail(p, "'%.*s' begins no statement; they are api, uses, gate, kind, struct, type",
                STR_ARG(p->t->text));
}

static struct str base_of(struct str path)
{
    size_t slash = str_rindex(path, '/');
    struct str name = slash == STR_NONE ? path : str_slice(path, slash + 1, path.len);

    return str_ends(name, S(".kind")) ? str_slice(name, 0, name.len - 5) : name;
}

int kind_parse(struct arena *a, struct model *m, struct str path, struct str text,
               struct err *err)
{
    struct kind_file *f = arena_new(a, struct kind_file);
    struct parser p = {.a = a, .f = f, .m = m, .err = err};
    line_vec lines = {0};

    f->path = path;
    f->base = base_of(path);
    if (lex_file(a, path, text, &lines, err) < 0)
        return -1;
    vec_each (i, &lines) {
        p.line = &lines.at[i];
        p.t = p.line->tokens;
        if ((p.line->indented ? parse_member(&p) : parse_statement(&p)) < 0)
            return -1;
    }
    vec_push_in(a, &m->files, f);
    return 0;
}
