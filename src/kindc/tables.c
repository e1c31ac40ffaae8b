/* tables.c - writes api/GROUP_VERSION.c: the const tables
 *
 * Nodes that are no struct are written once a file, however often they are used: the text of
 * the initializer is the key. Arrays are compound literals, which at file scope live for ever.
 */
#include "kindc/model.h"

struct writer {
    struct arena *a;
    const struct model *m;
    const struct kind_file *f;
    struct buf *out;
    MAP(struct str) nodes;    /* initializer -> name */
    MAP(struct str) patterns; /* text -> slot */
    size_t n_cel;
};

void write_escaped(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_printf(out, "\\n");
        else if (c < ' ' || c > '~' || c == '?')
            buf_printf(out, "\\%03o", c);
        else
            buf_byte(out, (char)c);
    }
}

/* .member = S_INIT("text"), where there is one. */
static void write_str(struct buf *out, const char *member, struct str s)
{
    if (!s.len)
        return;
    buf_printf(out, ".%s = S_INIT(\"", member);
    write_escaped(out, s);
    buf_printf(out, "\"), ");
}

/* .member = function of api/, where one is named */
static void write_fn(struct buf *out, const char *member, struct str name)
{
    if (name.len)
        buf_printf(out, ".%s = %.*s, ", member, STR_ARG(name));
}

/* .member = (const struct str[]){...}, .n_member = N */
static void write_strs(struct buf *out, const char *member, const struct str *at, size_t n)
{
    if (!n)
        return;
    buf_printf(out, ".%s = (const struct str[]){", member);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%sS_INIT(\"", i ? ", " : "");
        write_escaped(out, at[i]);
        buf_printf(out, "\")");
    }
    buf_printf(out, "}, .n_%s = %zu, ", member, n);
}

static void write_value(struct buf *out, const struct value *v)
{
    switch (v->type) {
    case VALUE_NULL:
        buf_printf(out, "{.type = JSON_NULL}");
        return;
    case VALUE_BOOL:
        buf_printf(out, "{.type = JSON_BOOL, .boolean = %.*s}", STR_ARG(v->text));
        return;
    case VALUE_INT:
        buf_printf(out, "{.type = JSON_INT, .i = INT64_C(%.*s)}", STR_ARG(v->text));
        return;
    case VALUE_DOUBLE:
        buf_printf(out, "{.type = JSON_DOUBLE, .d = %.*s}", STR_ARG(v->text));
        return;
    case VALUE_TEXT:
        buf_printf(out, "{.type = JSON_STRING, .len = %zu, .s = \"", v->text.len);
        write_escaped(out, v->text);
        buf_printf(out, "\"}");
        return;
    case VALUE_LIST:
        buf_printf(out, "{.type = JSON_ARRAY, .len = %zu, .items = ", v->n);
        break;
    case VALUE_OBJECT:
        buf_printf(out, "{.type = JSON_OBJECT, .len = %zu, .members = ", v->n);
        break;
    }
    if (!v->n) {
        buf_printf(out, "NULL}");
        return;
    }
    buf_printf(out, "(const struct json%s[]){", v->type == VALUE_OBJECT ? "_member" : "");
    for (size_t i = 0; i < v->n; i++) {
        if (v->type == VALUE_OBJECT) {
            buf_printf(out, "{S_INIT(\"");
            write_escaped(out, v->names[i]);
            buf_printf(out, "\"), ");
        }
        write_value(out, &v->items[i]);
        buf_printf(out, v->type == VALUE_OBJECT ? "}, " : ", ");
    }
    buf_printf(out, "}}");
}

/* ---- rules ---- */

static struct str pattern_slot(struct writer *w, struct str pattern)
{
    struct str *slot = map_put(&w->patterns, pattern);

    if (!slot->len) {
        *slot = str_printf(w->a, "pattern_%zu", map_len(&w->patterns));
        buf_printf(w->out, "static struct regex *%.*s;\n", STR_ARG(*slot));
    }
    return *slot;
}

static const struct {
    const char *member, *rule, *exclusive;
} numbers[NUM_COUNT] = {
    [NUM_MIN] = {"minimum",        "RULE_MINIMUM",        NULL                    },
    [NUM_MAX] = {"maximum",        "RULE_MAXIMUM",        NULL                    },
    [NUM_ABOVE] = {"minimum",        "RULE_MINIMUM",        "RULE_EXCLUSIVE_MINIMUM"},
    [NUM_BELOW] = {"maximum",        "RULE_MAXIMUM",        "RULE_EXCLUSIVE_MAXIMUM"},
    [NUM_MULTIPLE] = {"multiple_of",    "RULE_MULTIPLE_OF",    NULL                    },
    [NUM_MINLEN] = {"min_length",     "RULE_MIN_LENGTH",     NULL                    },
    [NUM_MAXLEN] = {"max_length",     "RULE_MAX_LENGTH",     NULL                    },
    [NUM_MINITEMS] = {"min_items",      "RULE_MIN_ITEMS",      NULL                    },
    [NUM_MAXITEMS] = {"max_items",      "RULE_MAX_ITEMS",      NULL                    },
    [NUM_MINPROPS] = {"min_properties", "RULE_MIN_PROPERTIES", NULL                    },
    [NUM_MAXPROPS] = {"max_properties", "RULE_MAX_PROPERTIES", NULL                    },
    [NUM_MAXBYTES] = {"max_bytes",      "RULE_MAX_BYTES",      NULL                    },
};

static void write_numbers(struct buf *b, const struct attrs *at)
{
    buf_printf(b, ".has = 0");
    for (int i = 0; i < NUM_COUNT; i++) {
        if (!(at->has_num & (1u << i)))
            continue;
        buf_printf(b, " | %s", numbers[i].rule);
        if (numbers[i].exclusive)
            buf_printf(b, " | %s", numbers[i].exclusive);
    }
    if (at->flags & FLAG_UNIQUE)
        buf_printf(b, " | RULE_UNIQUE_ITEMS");
    buf_printf(b, ", ");
    for (int i = 0; i < NUM_COUNT; i++) {
        bool fraction = str_index(at->num[i], '.') != STR_NONE;
        if (!(at->has_num & (1u << i)))
            continue;
        if (i <= NUM_MULTIPLE && fraction)
            buf_printf(b, ".%s = {.type = JSON_DOUBLE, .d = %.*s}, ", numbers[i].member,
                       STR_ARG(at->num[i]));
        else if (i <= NUM_MULTIPLE)
            buf_printf(b, ".%s = {.type = JSON_INT, .i = INT64_C(%.*s)}, ", numbers[i].member,
                       STR_ARG(at->num[i]));
        else
            buf_printf(b, ".%s = %.*s, ", numbers[i].member, STR_ARG(at->num[i]));
    }
}

static void write_cel(struct writer *w, struct buf *b, const struct attrs *at)
{
    if (!at->rules.len)
        return;
    buf_printf(b, ".cel = (const struct schema_cel_rule[]){");
    vec_each (i, &at->rules) {
        const struct cel_rule *r = &at->rules.at[i];
        buf_printf(w->out, "static void *cel_%zu;\n", w->n_cel);
        buf_printf(b, "{");
        write_str(b, "rule", r->rule);
        write_str(b, "message", r->message);
        write_str(b, "message_expression", r->message_expression);
        write_str(b, "reason", r->reason);
        write_str(b, "field_path", r->field_path);
        buf_printf(b, ".optional_old_self = %s, .message_set = %s, .slot = &cel_%zu}, ",
                   r->optional_old ? "true" : "false", r->has_message ? "true" : "false",
                   w->n_cel++);
    }
    buf_printf(b, "}, .n_cel = %zu, ", at->rules.len);
}

static void write_rules(struct writer *w, struct buf *b, const struct attrs *at,
                        const struct value *enums, size_t n_enums)
{
    if (!attrs_have_rules(at, n_enums))
        return;
    buf_printf(b, ".rules = &(const struct schema_rules){");
    write_numbers(b, at);
    if (at->pattern.len) {
        struct str slot = pattern_slot(w, at->pattern);
        buf_printf(b, ".pattern = &(const struct schema_pattern){S_INIT(\"");
        write_escaped(b, at->pattern);
        buf_printf(b, "\"), &%.*s}, ", STR_ARG(slot));
    }
    write_str(b, "format", at->format);
    if (n_enums) {
        buf_printf(b, ".enums = (const struct json[]){");
        for (size_t i = 0; i < n_enums; i++) {
            write_value(b, &enums[i]);
            buf_printf(b, ", ");
        }
        buf_printf(b, "}, .n_enums = %zu, ", n_enums);
    }
    write_cel(w, b, at);
    write_strs(b, "exactly_one", at->one_of.at, at->one_of.len);
    buf_printf(b, "}, ");
}

/* ---- nodes ---- */

static const struct {
    const char *type, *size;
} bases[] = {
    [BASE_ANY] = {"SCHEMA_ANY",           "struct json"         },
    [BASE_BOOL] = {"SCHEMA_BOOL",          "bool"                },
    [BASE_INT32] = {"SCHEMA_INT32",         "int32_t"             },
    [BASE_INT64] = {"SCHEMA_INT64",         "int64_t"             },
    [BASE_DOUBLE] = {"SCHEMA_DOUBLE",        "double"              },
    [BASE_STRING] = {"SCHEMA_STRING",        "struct str"          },
    [BASE_BYTES] = {"SCHEMA_BYTES",         "struct str"          },
    [BASE_QUANTITY] = {"SCHEMA_QUANTITY",      "struct str"          },
    [BASE_TIME] = {"SCHEMA_TIME",          "struct instant"      },
    [BASE_MICRO_TIME] = {"SCHEMA_MICRO_TIME",    "struct instant"      },
    [BASE_DURATION] = {"SCHEMA_DURATION",      "struct span"         },
    [BASE_INT_OR_STRING] = {"SCHEMA_INT_OR_STRING", "struct int_or_string"},
    [BASE_FIELDS_V1] = {"SCHEMA_FIELDS_V1",     "struct json"         },
    [BASE_RAW] = {"SCHEMA_RAW",           "struct json"         },
    [BASE_LIST] = {"SCHEMA_LIST",          "struct str_list"     },
    [BASE_MAP] = {"SCHEMA_MAP",           "struct str_map"      },
};

static void write_flag(struct buf *b, uint32_t flags, uint32_t flag, const char *text)
{
    if (flags & flag)
        buf_printf(b, "%s, ", text);
}

/* What lists, maps and objects have alike. */
static void write_attrs(struct writer *w, struct buf *b, const struct attrs *at, bool is_list)
{
    bool merges = at->merge_key.len || (at->flags & FLAG_MERGE_SET);

    if (is_list) {
        write_flag(b, at->flags, FLAG_ATOMIC, ".list_type = LIST_ATOMIC");
        write_flag(b, at->flags, FLAG_SET, ".list_type = LIST_SET");
        if (at->keys.len)
            buf_printf(b, ".list_type = LIST_MAP, ");
        write_strs(b, "keys", at->keys.at, at->keys.len);
    } else {
        write_flag(b, at->flags, FLAG_ATOMIC, ".map_type = MAP_ATOMIC");
        write_flag(b, at->flags, FLAG_GRANULAR, ".map_type = MAP_GRANULAR");
    }
    if (at->flags & FLAG_REPLACE)
        buf_printf(b, ".merge = MERGE_REPLACE, ");
    else if (merges)
        buf_printf(b, ".merge = MERGE_MERGE, ");
    write_str(b, "merge_key", at->merge_key);
    write_flag(b, at->flags, FLAG_RETAIN_KEYS, ".retain_keys = true");
    write_flag(b, at->flags, FLAG_NULLABLE, ".nullable = true");
    write_flag(b, at->flags, FLAG_PRESERVE, ".preserve_unknown = true");
    write_flag(b, at->flags, FLAG_EMBEDDED, ".embedded = true");
    write_flag(b, at->flags, FLAG_WRAPPED, ".proto_items = true");
    write_flag(b, at->flags, FLAG_SKIP_DEFAULTS, ".skip_defaults = true");
    if (!w->f->custom) {
        write_flag(b, ~at->flags, FLAG_BOTH, ".rules_native = true");
        if (at->def)
            write_flag(b, ~at->flags, FLAG_MARKER, ".def_native = true");
    }
    if (at->def) {
        buf_printf(b, ".def = &(const struct json)");
        write_value(b, at->def);
        buf_printf(b, ", ");
    }
    write_fn(b, "check", at->check);
    write_fn(b, "defaults", at->defaults);
}

static bool says_more(const struct type *t)
{
    const struct attrs *at = &t->attrs;

    return (at->flags & ~(uint32_t)(FLAGS_OF_FIELD | FLAG_BOTH)) || at->def ||
           at->merge_key.len || at->check.len || at->defaults.len ||
           attrs_have_rules(at, t->known ? 0 : t->enums.len);
}

/* What is the struct's own, and the same where a field says more about it. */
static void write_object(struct writer *w, struct buf *b, const struct struct_type *s,
                         const struct attrs *at)
{
    buf_printf(b, ".type = SCHEMA_OBJECT, ");
    write_str(b, "name", s->name);
    write_str(b, "group_version", s->file->api_version);
    buf_printf(b, ".size = sizeof(struct %.*s), .n_fields = %zu, ", STR_ARG(s->c_name),
               s->fields.len);
    if (s->fields.len)
        buf_printf(b, ".fields = fields_%.*s, .index = &index_%.*s, ", STR_ARG(s->c_name),
                   STR_ARG(s->c_name));
    write_str(b, "doc", s->doc);
    if (!s->needs_defaults && !at->defaults.len)
        buf_printf(b, ".no_defaults = true, ");
    if (!s->needs_rules && !at->check.len && !attrs_have_rules(at, 0))
        buf_printf(b, ".no_rules = true, ");
    write_attrs(w, b, at, false);
    write_rules(w, b, at, NULL, 0);
}

/* "&node_7" or "&schema_pod_spec"; writes the node first where it is new. */
static struct str node_ref(struct writer *w, const struct type *t)
{
    struct buf b = buf_in(w->a, 256);

    if (t->strukt && !says_more(t))
        return str_printf(w->a, "&schema_%.*s", STR_ARG(t->strukt->c_name));
    if (t->strukt) {
        struct attrs all = t->strukt->attrs;
        memset(&all.rules, 0, sizeof(all.rules));
        vec_each (i, &t->strukt->attrs.rules)
            vec_push_in(w->a, &all.rules, t->strukt->attrs.rules.at[i]);
        attrs_overlay(w->a, &all, &t->attrs);
        write_object(w, &b, t->strukt, &all);
    } else {
        struct str item = t->item ? node_ref(w, t->item) : (struct str){0};
        buf_printf(&b, ".type = %s, .size = sizeof(%s), ", bases[t->base].type,
                   bases[t->base].size);
        if (t->base == BASE_LIST)
            buf_printf(&b, ".item = %.*s, ", STR_ARG(item));
        if (t->base == BASE_MAP)
            buf_printf(&b, ".additional = ADDITIONAL_SCHEMA, .value = %.*s, ", STR_ARG(item));
        if (t->item && !type_needs_defaults(t->item))
            buf_printf(&b, ".no_defaults = true, ");
        if (!type_needs_rules(t))
            buf_printf(&b, ".no_rules = true, ");
        write_attrs(w, &b, &t->attrs, t->base == BASE_LIST);
        write_rules(w, &b, &t->attrs, t->enums.at, t->known ? 0 : t->enums.len);
    }

    struct str *name = map_put(&w->nodes, buf_str(&b));
    if (!name->len) {
        *name = str_printf(w->a, "node_%zu", map_len(&w->nodes));
        buf_printf(w->out, "static const struct schema %.*s = {%.*s};\n", STR_ARG(*name),
                   STR_ARG(buf_str(&b)));
    }
    return str_printf(w->a, "&%.*s", STR_ARG(*name));
}

/* ---- structs ---- */

static void write_field(struct writer *w, const struct struct_type *s, size_t bit,
                        struct str ref)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {
        {FLAG_REQUIRED,  "FIELD_REQUIRED"      },
        {FLAG_POINTER,   "FIELD_POINTER"       },
        {FLAG_ALWAYS,    "FIELD_ALWAYS"        },
        {FLAG_FIXED,     "FIELD_FIXED"         },
        {FLAG_TYPE_META, "FIELD_TYPE_META"     },
        {FLAG_ONCE,      "FIELD_FIXED_ONCE_SET"},
        {FLAG_OUTPUT,    "FIELD_OUTPUT"        },
        {FLAG_NEEDED,    "FIELD_NEEDED"        },
        {FLAG_EXPECTED,  "FIELD_EXPECTED"      },
    };
    const struct field *f = &s->fields.at[bit];

    buf_printf(w->out, "    {");
    write_str(w->out, "name", f->name);
    buf_printf(w->out, ".type = %.*s, .flags = 0", STR_ARG(ref));
    for (size_t i = 0; i < countof(flags); i++) {
        if (f->type->attrs.flags & flags[i].flag)
            buf_printf(w->out, " | %s", flags[i].name);
    }
    buf_printf(w->out, ", .proto = %d, .proto_in = %d, .bit = %zu, ", f->proto, f->proto_in,
               bit);
    buf_printf(w->out, ".offset = offsetof(struct %.*s, %.*s), ", STR_ARG(s->c_name),
               STR_ARG(f->c_name));
    if (f->type->attrs.gate.len)
        buf_printf(w->out, ".gate = &schema_gates[%d], ",
                   gate_index(w->m, f->type->attrs.gate));
    write_str(w->out, "doc", f->doc);
    buf_printf(w->out, "},\n");
}

/* The fields with any of the flags, a bit each. */
static uint64_t fields_with(const struct struct_type *s, uint32_t flags)
{
    uint64_t set = 0;

    vec_each (i, &s->fields) {
        uint32_t own = s->fields.at[i].type->attrs.flags;
        if ((own & flags) && !(own & FLAG_TYPE_META))
            set |= UINT64_C(1) << i;
    }
    return set;
}

/* The fields whose absence may be wrong: what is always written is judged as empty. */
static uint64_t judged_absent(const struct struct_type *s)
{
    uint64_t set = fields_with(s, FLAG_REQUIRED | FLAG_NEEDED | FLAG_EXPECTED);

    vec_each (i, &s->fields) {
        const struct type *t = s->fields.at[i].type;
        if ((t->attrs.flags & FLAG_ALWAYS) && !(t->attrs.flags & FLAG_POINTER) && t->strukt &&
            type_needs_rules(t))
            set |= UINT64_C(1) << i;
    }
    return set;
}

/* See struct schema_index. */
static void write_index(struct writer *w, const struct struct_type *s)
{
    size_t n = s->fields.len, n_slots = 2;
    uint64_t defaulted = 0, defs = 0, fixed = fields_with(s, FLAG_FIXED | FLAG_ONCE);
    uint64_t ruled = fixed;

    while (n_slots < 2 * n)
        n_slots *= 2;
    size_t *slots = arena_array(w->a, size_t, n_slots);
    for (size_t i = 0; i < n; i++) {
        size_t slot = str_sketch(s->fields.at[i].name) & (n_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = i + 1;
        if (type_needs_defaults(s->fields.at[i].type))
            defaulted |= UINT64_C(1) << i;
        if (s->fields.at[i].type->attrs.def)
            defs |= UINT64_C(1) << i;
        if (type_needs_rules(s->fields.at[i].type))
            ruled |= UINT64_C(1) << i;
    }
    buf_printf(w->out,
               "extern const struct schema_index index_%.*s;\n"
               "const struct schema_index index_%.*s = {.always = 0x%" PRIx64
               ", .defaulted = 0x%" PRIx64 ", .has_def = 0x%" PRIx64 ", .ruled = 0x%" PRIx64
               ", .fixed = 0x%" PRIx64 ", .judged = 0x%" PRIx64
               ", .mask = %zu, .n_defs = %d,\n    .slots = (const uint16_t[]){",
               STR_ARG(s->c_name), STR_ARG(s->c_name), fields_with(s, FLAG_ALWAYS), defaulted,
               defs, ruled, fixed, judged_absent(s), n_slots - 1, __builtin_popcountll(defs));
    for (size_t i = 0; i < n_slots; i++)
        buf_printf(w->out, "%s%zu", i ? ", " : "", slots[i]);
    buf_printf(w->out, "}};\n");
}

static bool is_kind(const struct kind_file *f, const struct struct_type *s)
{
    vec_each (i, &f->kinds) {
        if (f->kinds.at[i].root == s)
            return true;
    }
    return false;
}

static void write_struct(struct writer *w, const struct struct_type *s)
{
    struct str *refs = arena_array(w->a, struct str, s->fields.len + 1);
    struct buf b = buf_in(w->a, 512);

    vec_each (i, &s->fields)
        refs[i] = node_ref(w, s->fields.at[i].type);
    if (s->fields.len) {
        buf_printf(w->out, "const struct schema_field fields_%.*s[] = {\n", STR_ARG(s->c_name));
        vec_each (i, &s->fields)
            write_field(w, s, i, refs[i]);
        buf_printf(w->out, "};\n");
        write_index(w, s);
    }
    struct attrs attrs = s->attrs;
    if (is_kind(w->f, s))
        attrs.check = (struct str){0}; /* the kind says it */
    write_object(w, &b, s, &attrs);
    buf_printf(w->out, "const struct schema schema_%.*s = {%.*s};\n\n", STR_ARG(s->c_name),
               STR_ARG(buf_str(&b)));
}

/* Fields of structs that nodes of this file copy may stand in other files. */
static void write_externs(struct writer *w)
{
    vec_each (i, &w->m->files) {
        const struct kind_file *f = w->m->files.at[i];
        bool used = f == w->f;
        vec_each (j, &w->f->uses)
            used = used || w->f->uses.at[j] == f;
        if (!used)
            continue;
        vec_each (j, &f->structs) {
            struct str name = f->structs.at[j]->c_name;
            buf_printf(w->out,
                       "extern const struct schema_field fields_%.*s[];\n"
                       "extern const struct schema_index index_%.*s;\n",
                       STR_ARG(name), STR_ARG(name));
        }
    }
    buf_byte(w->out, '\n');
}

/* ---- kinds ---- */

static void write_column(struct buf *out, const struct column *c)
{
    buf_printf(out, "        {");
    write_str(out, "name", c->name);
    write_str(out, "type", c->type);
    write_str(out, "format", c->format);
    write_str(out, "path", c->path);
    write_str(out, "cell", c->cell);
    write_str(out, "doc", c->doc);
    buf_printf(out, ".priority = %d},\n", c->wide);
}

/* Name is there unless the kind has one of its own; without any: Age, or what upstream prints
 * for built-in kinds that have no printer. */
static void write_columns(struct writer *w, const struct kind_model *k)
{
    static const struct column name = {.name = S_INIT("Name"),
                                       .type = S_INIT("string"),
                                       .format = S_INIT("name"),
                                       .path = S_INIT(".metadata.name"),
                                       .doc = S_INIT("The object's name.")};
    static const struct column age = {.name = S_INIT("Age"),
                                      .type = S_INIT("date"),
                                      .path = S_INIT(".metadata.creationTimestamp"),
                                      .doc = S_INIT("How long it exists.")};
    static const struct column created = {.name = S_INIT("Created At"),
                                          .type = S_INIT("date"),
                                          .path = S_INIT(".metadata.creationTimestamp"),
                                          .cell = S_INIT("created_at"),
                                          .doc = S_INIT("When it was made.")};
    size_t n = k->columns.len + !k->no_name + !k->columns.len;

    buf_printf(w->out, "    .n_columns = %zu,\n    .columns = (const struct kind_column[]){\n",
               n);
    if (!k->no_name)
        write_column(w->out, &name);
    vec_each (i, &k->columns)
        write_column(w->out, &k->columns.at[i]);
    if (!k->columns.len)
        write_column(w->out, w->f->custom ? &age : &created);
    buf_printf(w->out, "    },\n");
}

static void write_subresources(struct buf *out, const struct kind_model *k)
{
    if (!k->subresources.len)
        return;
    buf_printf(out,
               "    .n_subresources = %zu,\n"
               "    .subresources = (const struct kind_subresource[]){\n",
               k->subresources.len);
    vec_each (i, &k->subresources) {
        const struct subresource *s = &k->subresources.at[i];
        buf_printf(out, "        {");
        write_str(out, "name", s->name);
        write_str(out, "group", s->group);
        write_str(out, "version", s->version);
        write_str(out, "kind", s->kind);
        write_strs(out, "verbs", s->verbs.at, s->verbs.len);
        buf_printf(out, "},\n");
    }
    buf_printf(out, "    },\n");
}

static const struct struct_type *stored_root(const struct writer *w, const struct kind_model *k)
{
    vec_each (i, &w->m->files) {
        const struct kind_file *f = w->m->files.at[i];
        if (!str_eq(f->api_version, k->stored_as))
            continue;
        vec_each (j, &f->kinds) {
            if (str_eq(f->kinds.at[j].name, k->name))
                return f->kinds.at[j].root;
        }
    }
    return k->root;
}

static void write_verbs(struct buf *out, const struct kind_model *k)
{
    static const struct str all[] = {
        S_INIT("create"), S_INIT("delete"), S_INIT("deletecollection"), S_INIT("get"),
        S_INIT("list"),   S_INIT("patch"),  S_INIT("update"),           S_INIT("watch")};

    if (k->verbs.len)
        write_strs(out, "verbs", k->verbs.at, k->verbs.len);
    else
        write_strs(out, "verbs", all, k->unstored ? 1 : countof(all));
}

static void write_kind(struct writer *w, const struct kind_model *k)
{
    struct buf *out = w->out;

    buf_printf(out, "const struct kind kind_%.*s = {\n    ", STR_ARG(k->root->c_name));
    write_str(out, "group", w->f->group);
    write_str(out, "version", w->f->version);
    write_str(out, "kind", k->name);
    write_str(out, "api_version", w->f->api_version);
    write_str(out, "list_kind", k->list_kind);
    write_str(out, "plural", k->plural);
    write_str(out, "singular", k->singular);
    write_strs(out, "short_names", k->short_names.at, k->short_names.len);
    write_strs(out, "categories", k->categories.at, k->categories.len);
    write_verbs(out, k);
    write_strs(out, "selectable", k->selectable.at, k->selectable.len);
    write_str(out, "convert", k->convert);
    write_fn(out, "check", k->root->attrs.check);
    write_str(out, "warning", k->warning);
    write_str(out, "doc", k->root->doc);
    buf_printf(out, "\n    .id = KIND_%.*s, .style = %s, ",
               STR_ARG(c_upper(w->a, k->root->c_name)),
               w->f->custom ? "KIND_CUSTOM" : "KIND_NATIVE");
    buf_printf(
        out, ".namespaced = %d, .status = %d, .stored = %d, .generation = %d, .served = %d,\n",
        k->namespaced, k->status, !k->unstored, k->generation, !k->hidden);
    if (k->has_scale) {
        buf_printf(out, "    .scale = &(const struct kind_scale){");
        write_str(out, "spec_path", k->scale[0]);
        write_str(out, "status_path", k->scale[1]);
        write_str(out, "selector_path", k->scale[2]);
        buf_printf(out, "},\n");
    }
    buf_printf(out, "    .schema = &schema_%.*s, .storage = &kind_%.*s,\n",
               STR_ARG(k->root->c_name), STR_ARG(stored_root(w, k)->c_name));
    write_subresources(out, k);
    write_columns(w, k);
    buf_printf(out, "};\n\n");
}

void write_tables(struct arena *a, const struct model *m, const struct kind_file *f,
                  struct buf *out)
{
    struct writer w = {.a = a, .m = m, .f = f, .out = out};

    buf_printf(
        out,
        "/* %.*s.c - the kinds of %.*s as tables, written by kindc */\n"
        "#include \"api/kinds.h\"\n#include \"api/rules_priv.h\"\n#include \"api/%.*s.h\"\n\n",
        STR_ARG(f->base), STR_ARG(f->api_version), STR_ARG(f->base));
    write_externs(&w);
    vec_each (i, &f->structs)
        write_struct(&w, f->structs.at[i]);
    vec_each (i, &f->kinds)
        write_kind(&w, &f->kinds.at[i]);
    map_fini(&w.nodes);
    map_fini(&w.patterns);
}
