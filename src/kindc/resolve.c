/* resolve.c - names into types, embedded fields into fields, and the checks that need the whole
 */
#include "kindc/model.h"

#define MAX_FIELDS 64 /* bits of a presence map */

struct resolver {
    struct arena *a;
    struct model *m;
    struct kind_file *f;
    struct err *err;
};

like_printf(3, 4) static int fail(struct resolver *r, int line, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(r->err, ERR_SYNTAX, "%.*s:%d: %s", STR_ARG(r->f->path), line, text);
}

/* ---- names ---- */

static struct struct_type *struct_in(const struct kind_file *f, struct str name)
{
    vec_each (i, &f->structs) {
        if (str_eq(f->structs.at[i]->name, name))
            return f->structs.at[i];
    }
    return NULL;
}

static struct named_type *named_in(const struct kind_file *f, struct str name)
{
    vec_each (i, &f->types) {
        if (str_eq(f->types.at[i].name, name))
            return &f->types.at[i];
    }
    return NULL;
}

static int link_uses(struct resolver *r)
{
    vec_each (i, &r->f->use_names) {
        struct str name = r->f->use_names.at[i];
        struct kind_file *found = NULL;
        vec_each (j, &r->m->files) {
            if (str_eq(r->m->files.at[j]->base, name))
                found = r->m->files.at[j];
        }
        if (!found)
            return fail(r, 1, "uses '%.*s', but no %.*s.kind was given", STR_ARG(name),
                        STR_ARG(name));
        vec_push_in(r->a, &r->f->uses, found);
    }
    return 0;
}

void attrs_overlay(struct arena *a, struct attrs *to, const struct attrs *use)
{
    to->flags |= use->flags;
    for (int i = 0; i < NUM_COUNT; i++) {
        if (use->has_num & (1u << i))
            to->num[i] = use->num[i];
    }
    to->has_num |= use->has_num;
    if (use->pattern.len)
        to->pattern = use->pattern;
    if (use->format.len)
        to->format = use->format;
    if (use->gate.len)
        to->gate = use->gate;
    if (use->merge_key.len)
        to->merge_key = use->merge_key;
    if (use->check.len)
        to->check = use->check;
    if (use->defaults.len)
        to->defaults = use->defaults;
    if (use->def)
        to->def = use->def;
    if (use->keys.len)
        memcpy(&to->keys, &use->keys, sizeof(to->keys));
    vec_each (i, &use->rules)
        vec_push_in(a, &to->rules, use->rules.at[i]);
}

int gate_index(const struct model *m, struct str name)
{
    vec_each (i, &m->gates) {
        if (str_eq(m->gates.at[i].name, name))
            return (int)i;
    }
    return -1;
}

static int resolve_type(struct resolver *r, struct type *t);

/* The type takes over what the named one says. */
static int take_named(struct resolver *r, struct kind_file *from, struct named_type *n,
                      struct type *t)
{
    struct kind_file *own = r->f;
    struct type copy;

    if (n->resolving)
        return fail(r, t->line, "type '%.*s' stands for itself", STR_ARG(n->name));
    n->resolving = true;
    r->f = from;
    int rc = resolve_type(r, n->type);
    r->f = own;
    n->resolving = false;
    if (rc < 0)
        return -1;
    copy = *n->type;
    memset(&copy.attrs.rules, 0, sizeof(copy.attrs.rules));
    vec_each (i, &n->type->attrs.rules)
        vec_push_in(r->a, &copy.attrs.rules, n->type->attrs.rules.at[i]);
    attrs_overlay(r->a, &copy.attrs, &t->attrs);
    copy.line = t->line;
    copy.name = t->name;
    *t = copy;
    return 0;
}

static int resolve_name(struct resolver *r, struct type *t)
{
    for (size_t i = 0; i <= r->f->uses.len; i++) {
        struct kind_file *f = i ? r->f->uses.at[i - 1] : r->f;
        struct named_type *n = named_in(f, t->name);
        struct struct_type *s = struct_in(f, t->name);
        if (n)
            return take_named(r, f, n, t);
        if (s) {
            t->base = BASE_OBJECT;
            t->strukt = s;
            return 0;
        }
    }
    return fail(r, t->line,
                "type '%.*s' is nowhere; declare it, or add its file to the 'uses' line",
                STR_ARG(t->name));
}

static int resolve_type(struct resolver *r, struct type *t)
{
    if (t->item && resolve_type(r, t->item) < 0)
        return -1;
    if (t->base == BASE_NAMED && resolve_name(r, t) < 0)
        return -1;
    if (t->base == BASE_LIST && t->item->strukt)
        t->item->strukt->in_list = true;
    if (t->base == BASE_MAP && t->item->strukt)
        t->item->strukt->in_map = true;
    return 0;
}

/* ---- embedding ---- */

static int expand(struct resolver *r, struct struct_type *s);

static int expand_field(struct resolver *r, struct struct_type *s, const struct field *f)
{
    struct struct_type *from = f->type->strukt;

    if (!from)
        return fail(r, f->line, "only a struct can be embedded; '%.*s' is none",
                    STR_ARG(f->type->name));
    if (expand(r, from) < 0)
        return -1;
    vec_each (i, &from->fields) {
        struct field copy = from->fields.at[i];
        if ((copy.proto_in && f->proto) && (copy.proto_in > UINT8_MAX || f->proto > UINT8_MAX))
            return fail(r, f->line,
                        "'%.*s' embeds a struct that embeds one; two levels are known",
                        STR_ARG(from->name));
        copy.proto_in = copy.proto_in ? f->proto << 8 | copy.proto_in : f->proto;
        vec_push_in(r->a, &s->fields, copy);
    }
    if (s->attrs.one_of.len == 0)
        memcpy(&s->attrs.one_of, &from->attrs.one_of, sizeof(s->attrs.one_of));
    return 0;
}

static int expand(struct resolver *r, struct struct_type *s)
{
    typeof(s->fields) old = s->fields;

    if (s->expanded)
        return 0;
    if (s->expanding)
        return fail(r, s->line, "'%.*s' embeds itself", STR_ARG(s->name));
    s->expanding = true;
    memset(&s->fields, 0, sizeof(s->fields));
    vec_each (i, &old) {
        if (!old.at[i].embed)
            vec_push_in(r->a, &s->fields, old.at[i]);
        else if (expand_field(r, s, &old.at[i]) < 0)
            return -1;
    }
    vec_each (i, &s->fields)
        s->fields.at[i].c_name = c_name(r->a, (struct str){0}, s->fields.at[i].name);
    s->expanded = true;
    return 0;
}

/* ---- checks ---- */

static const struct field *field_of(const struct struct_type *s, struct str name)
{
    vec_each (i, &s->fields) {
        if (str_eq(s->fields.at[i].name, name))
            return &s->fields.at[i];
    }
    return NULL;
}

static int check_list(struct resolver *r, const struct field *f, struct type *t)
{
    bool keyed = t->attrs.keys.len > 0;

    vec_each (i, &t->attrs.keys) {
        if (!t->item->strukt || !field_of(t->item->strukt, t->attrs.keys.at[i]))
            return fail(r, f->line, "key '%.*s' is no field of the items of '%.*s'",
                        STR_ARG(t->attrs.keys.at[i]), STR_ARG(f->name));
    }
    if (keyed + !!(t->attrs.flags & FLAG_SET) + !!(t->attrs.flags & FLAG_ATOMIC) > 1)
        return fail(r, f->line, "list '%.*s' is atomic, a set, or has keys: say one",
                    STR_ARG(f->name));
    if (r->f->custom || (t->attrs.flags & (FLAG_REPLACE | FLAG_MERGE_SET)))
        return 0;
    if (keyed && !t->attrs.merge_key.len)
        t->attrs.merge_key = t->attrs.keys.at[0];
    if ((t->attrs.flags & FLAG_SET) && !t->attrs.merge_key.len)
        t->attrs.flags |= FLAG_MERGE_SET;
    return 0;
}

static int check_type(struct resolver *r, const struct field *f, struct type *t)
{
    const uint32_t of_lists = FLAG_SET | FLAG_MERGE_SET | FLAG_UNIQUE;

    if (t->item && check_type(r, f, t->item) < 0)
        return -1;
    if (t->base == BASE_LIST)
        return check_list(r, f, t);
    if ((t->attrs.flags & of_lists) || t->attrs.keys.len)
        return fail(r, f->line,
                    "'%.*s' is no list: set, mergeset, key and unique are not for it",
                    STR_ARG(f->name));
    return 0;
}

static int check_struct(struct resolver *r, struct struct_type *s)
{
    if (s->fields.len > MAX_FIELDS)
        return fail(r, s->line,
                    "'%.*s' has %zu fields; a presence map holds %d: make a part "
                    "of it a struct of its own",
                    STR_ARG(s->name), s->fields.len, MAX_FIELDS);
    vec_each (i, &s->fields) {
        const struct field *f = &s->fields.at[i];
        if (check_type(r, f, f->type) < 0)
            return -1;
        if (!f->proto && !r->f->custom && !(f->type->attrs.flags & FLAG_TYPE_META))
            return fail(r, f->line, "field '%.*s' has no protobuf number; write @N",
                        STR_ARG(f->name));
        if (f->type->attrs.gate.len && gate_index(r->m, f->type->attrs.gate) < 0)
            return fail(r, f->line,
                        "gate '%.*s' is not declared; write 'gate %.*s off' or 'on'",
                        STR_ARG(f->type->attrs.gate), STR_ARG(f->type->attrs.gate));
        for (size_t j = 0; j < i; j++) {
            const struct field *g = &s->fields.at[j];
            if (str_eq(f->name, g->name))
                return fail(r, f->line, "'%.*s' gets field '%.*s' twice", STR_ARG(s->name),
                            STR_ARG(f->name));
            if (f->proto && f->proto == g->proto && f->proto_in == g->proto_in)
                return fail(r, f->line, "'%.*s' and '%.*s' share the protobuf number %d",
                            STR_ARG(f->name), STR_ARG(g->name), f->proto);
        }
    }
    return 0;
}

static int check_kind(struct resolver *r, const struct kind_model *k)
{
    if (!k->stored_as.len)
        return 0;
    vec_each (i, &r->m->files) {
        const struct kind_file *f = r->m->files.at[i];
        if (str_eq(f->api_version, k->stored_as) && struct_in(f, k->name))
            return 0;
    }
    return fail(r, k->line, "kind '%.*s' is to be stored as %.*s, which does not have it",
                STR_ARG(k->name), STR_ARG(k->stored_as));
}

static int check_names(struct resolver *r)
{
    MAP(const struct struct_type *) seen = {0};
    int rc = 0;

    vec_each (i, &r->m->files) {
        r->f = r->m->files.at[i];
        vec_each (j, &r->f->structs) {
            const struct struct_type *s = r->f->structs.at[j];
            const struct struct_type **slot = map_put(&seen, s->c_name);
            if (*slot && rc == 0)
                rc = fail(
                    r, s->line,
                    "the C name '%.*s' is that of '%.*s' in %.*s; give this file a prefix",
                    STR_ARG(s->c_name), STR_ARG((*slot)->name), STR_ARG((*slot)->file->path));
            *slot = s;
        }
    }
    map_fini(&seen);
    return rc;
}

typedef int struct_fn(struct resolver *r, struct struct_type *s);

static int resolve_fields(struct resolver *r, struct struct_type *s)
{
    vec_each (i, &s->fields) {
        if (resolve_type(r, s->fields.at[i].type) < 0)
            return -1;
    }
    return 0;
}

static int each_struct(struct resolver *r, struct_fn *fn)
{
    vec_each (i, &r->m->files) {
        r->f = r->m->files.at[i];
        vec_each (j, &r->f->structs) {
            if (fn(r, r->f->structs.at[j]) < 0)
                return -1;
        }
    }
    return 0;
}

bool type_needs_defaults(const struct type *t)
{
    return t->attrs.def || t->attrs.defaults.len || (t->item && type_needs_defaults(t->item)) ||
           (t->strukt && t->strukt->needs_defaults);
}

bool attrs_have_rules(const struct attrs *at, size_t n_enums)
{
    return at->has_num || (at->flags & FLAG_UNIQUE) || at->pattern.len || at->format.len ||
           at->rules.len || at->one_of.len || n_enums;
}

bool type_needs_rules(const struct type *t)
{
    return t->attrs.check.len || attrs_have_rules(&t->attrs, t->known ? 0 : t->enums.len) ||
           (t->item && type_needs_rules(t->item)) || (t->strukt && t->strukt->needs_rules);
}

static bool struct_needs_defaults(const struct struct_type *s)
{
    bool needs = s->attrs.defaults.len;

    for (size_t n = 0; n < s->fields.len && !needs; n++)
        needs = type_needs_defaults(s->fields.at[n].type);
    return needs;
}

static bool struct_needs_rules(const struct struct_type *s)
{
    const uint32_t ruling = FLAG_REQUIRED | FLAG_EXPECTED | FLAG_FIXED | FLAG_ONCE;
    bool needs = s->attrs.check.len || attrs_have_rules(&s->attrs, 0);

    for (size_t n = 0; n < s->fields.len && !needs; n++) {
        const struct type *t = s->fields.at[n].type;
        needs = !(t->attrs.flags & FLAG_TYPE_META) &&
                ((t->attrs.flags & ruling) || type_needs_rules(t));
    }
    return needs;
}

/* Structs may hold each other: again until nothing more is found. */
static void find_needs(struct resolver *r)
{
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        vec_each (i, &r->m->files) {
            struct kind_file *f = r->m->files.at[i];
            vec_each (k, &f->structs) {
                struct struct_type *s = f->structs.at[k];
                bool defaults = struct_needs_defaults(s), rules = struct_needs_rules(s);
                has_changed |= defaults != s->needs_defaults || rules != s->needs_rules;
                s->needs_defaults = defaults;
                s->needs_rules = rules;
            }
        }
    }
}

int model_resolve(struct arena *a, struct model *m, struct err *err)
{
    struct resolver r = {.a = a, .m = m, .err = err};

    vec_each (i, &m->files) {
        r.f = m->files.at[i];
        if (link_uses(&r) < 0)
            return -1;
    }
    if (each_struct(&r, resolve_fields) < 0 || each_struct(&r, expand) < 0 ||
        each_struct(&r, check_struct) < 0 || check_names(&r) < 0)
        return -1;
    vec_each (i, &m->files) {
        r.f = m->files.at[i];
        vec_each (j, &r.f->kinds) {
            if (check_kind(&r, &r.f->kinds.at[j]) < 0)
                return -1;
        }
    }
    find_needs(&r);
    return 0;
}
