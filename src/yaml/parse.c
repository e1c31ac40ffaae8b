/* parse.c - a YAML stream's events to trees
 *
 * libyaml reads; we build, and stop it early: nesting is bounded by JSON_MAX_DEPTH, and what an
 * alias stands for is shared, not copied, but counted, so that nobody who walks or writes the
 * tree meets more than YAML_MAX_ALIASED bytes of it again.
 */
#include <math.h>
#include <yaml.h>

#include "yaml/scalar_priv.h"
#include "yaml/yaml.h"

#define NODE_COST 8       /* bytes a node counts as, beside its text */
#define LINEAR_MEMBERS 16 /* mappings past this look for duplicates by hash */
#define DUPS_MAX 100

struct anchor {
    struct json value;
    size_t cost, depth; /* of the whole value */
    bool is_open;       /* still being read */
};

struct frame { /* for paths of duplicates */
    const struct frame *up;
    struct str name; /* at == NULL in a sequence */
    size_t index;
};

struct reader {
    struct arena *arena;
    yaml_parser_t yaml;
    yaml_event_t event; /* the current one */
    bool has_event;
    struct json_dups *dups;
    struct err *err;
    MAP(struct anchor) anchors; /* of this document */
    size_t cost, aliased;       /* of the stream so far */
    size_t depth;
};

struct node {
    struct json value;
    size_t depth; /* levels below, with itself */
};

/* A mapping under construction. */
struct mapping {
    VEC(struct json_member) members; /* on the heap */
    VEC(size_t) lines;               /* of each key */
    MAP(uint32_t) names;             /* indexes, once there are many */
    VEC(struct json) merges;         /* what "<<" gave, first to last */
};

static bool read_node(struct reader *r, const struct frame *up, struct node *out);

/* ---- events ---- */

static bool fail_at(struct reader *r, enum err_code code, yaml_mark_t mark, const char *what)
{
    err_set(r->err, code, "yaml: line %zu, column %zu: %s", mark.line + 1, mark.column + 1,
            what);
    return false;
}

static bool fail(struct reader *r, const char *what)
{
    return fail_at(r, ERR_SYNTAX, r->event.start_mark, what);
}

static bool fail_reading(struct reader *r)
{
    const yaml_parser_t *y = &r->yaml;

    if (y->error == YAML_READER_ERROR)
        err_set(r->err, ERR_SYNTAX, "yaml: offset %zu: %s", y->problem_offset,
                y->problem ? y->problem : "cannot be read");
    else
        fail_at(r, ERR_SYNTAX, y->problem_mark, y->problem ? y->problem : "cannot be read");
    return false;
}

static bool next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->yaml, &r->event);
    return r->has_event || fail_reading(r);
}

static struct str text_of(const yaml_char_t *z)
{
    return str_from((const char *)z);
}

static void pay(struct reader *r, size_t bytes)
{
    r->cost += NODE_COST + bytes;
}

/* ---- anchors ---- */

/* A copy of the name, or the empty str where the node has no anchor. */
static struct str open_anchor(struct reader *r, const yaml_char_t *name)
{
    if (!name)
        return (struct str){0};
    struct str copy = str_copy(r->arena, text_of(name));
    map_put(&r->anchors, copy)->is_open = true;
    return copy;
}

static void close_anchor(struct reader *r, struct str name, size_t cost_before,
                         const struct node *n)
{
    if (name.len)
        *map_put(&r->anchors, name) = (struct anchor){
            .value = n->value, .depth = n->depth, .cost = r->cost - cost_before};
}

static bool read_alias(struct reader *r, struct node *out)
{
    struct str name = text_of(r->event.data.alias.anchor);
    const struct anchor *x = map_get(&r->anchors, name);
    char what[128];

    if (!x || x->is_open) {
        snprintf(what, sizeof(what),
                 x ? "anchor '%.*s' contains itself" : "unknown anchor '%.*s'",
                 (int)MIN(name.len, (size_t)80), name.at);
        return fail(r, what);
    }
    r->cost += x->cost;
    r->aliased += x->cost;
    if (r->aliased > YAML_MAX_ALIASED)
        return fail_at(r, ERR_LIMIT, r->event.start_mark,
                       "document contains excessive aliasing");
    if (r->depth + x->depth > JSON_MAX_DEPTH)
        return fail_at(r, ERR_LIMIT, r->event.start_mark, "nested too deep");
    *out = (struct node){x->value, x->depth};
    return true;
}

/* ---- scalars and sequences ---- */

static bool read_scalar(struct reader *r, struct node *out)
{
    struct str tag = text_of(r->event.data.scalar.tag);
    struct str text =
        str_of((const char *)r->event.data.scalar.value, r->event.data.scalar.length);
    struct str anchor = open_anchor(r, r->event.data.scalar.anchor);
    size_t cost = r->cost;
    struct json v;

    out->depth = 0;
    text = str_copy(r->arena, text);
    if (tag.len && !str_eq(tag, S("!")) && !yaml_resolve_tag(r->arena, tag, text, &v))
        return fail(r, "the value does not fit its tag");
    if (tag.len == 0)
        v = r->event.data.scalar.plain_implicit ? yaml_resolve(text) : json_of_str(text);
    else if (str_eq(tag, S("!")))
        v = json_of_str(text);
    if (v.type == JSON_DOUBLE && !isfinite(v.d))
        return fail(r, "JSON cannot hold NaN or infinity");
    out->value = v;
    pay(r, text.len);
    close_anchor(r, anchor, cost, out);
    return true;
}

static bool enter(struct reader *r)
{
    if (++r->depth > JSON_MAX_DEPTH)
        return fail_at(r, ERR_LIMIT, r->event.start_mark, "nested too deep");
    return true;
}

typedef VEC(struct json) item_vec;

static void item_vec_fini(item_vec *v)
{
    vec_fini(v);
}

static bool read_sequence(struct reader *r, const struct frame *up, struct node *out)
{
    scoped(item_vec_fini) item_vec items = {0};
    struct str anchor = open_anchor(r, r->event.data.sequence_start.anchor);
    size_t cost = r->cost;
    struct frame here = {.up = up};
    struct node n;

    out->depth = 0;
    if (!enter(r))
        return false;
    for (;; here.index++) {
        if (!next(r))
            return false;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (!read_node(r, &here, &n))
            return false;
        vec_push(&items, n.value);
        out->depth = MAX(out->depth, n.depth);
    }
    r->depth--;
    out->depth++;
    struct json *copy = arena_array(r->arena, struct json, items.len);
    if (items.len)
        memcpy(copy, items.at, items.len * sizeof(*copy));
    out->value = (struct json){.type = JSON_ARRAY, .len = (uint32_t)items.len, .items = copy};
    pay(r, 0);
    close_anchor(r, anchor, cost, out);
    return true;
}

/* ---- mappings ---- */

static void mapping_fini(struct mapping *m)
{
    vec_fini(&m->members);
    vec_fini(&m->lines);
    vec_fini(&m->merges);
    map_fini(&m->names);
}

static size_t find_key(struct mapping *m, struct str name)
{
    if (m->members.len <= LINEAR_MEMBERS) {
        vec_each (i, &m->members)
            if (str_eq(m->members.at[i].name, name))
                return i;
        return STR_NONE;
    }
    for (size_t i = map_len(&m->names); i < m->members.len; i++)
        *map_put(&m->names, m->members.at[i].name) = (uint32_t)i;
    const uint32_t *index = map_get(&m->names, name);
    return index ? *index : STR_NONE;
}

/* A key as JSON has it: a text. */
static bool key_text(struct reader *r, const struct json *v, struct str *out)
{
    switch ((enum json_type)v->type) {
    case JSON_STRING:
        *out = json_str(v);
        return true;
    case JSON_BOOL:
        *out = v->boolean ? S("true") : S("false");
        return true;
    case JSON_INT:
    case JSON_DOUBLE:
        *out = json_text(r->arena, v);
        return true;
    default:
        return fail(r, "a key must be a text, a number or a boolean");
    }
}

static void path_of(struct buf *b, const struct frame *f)
{
    if (!f)
        return;
    path_of(b, f->up);
    if (!f->name.at)
        buf_printf(b, "[%zu]", f->index);
    else
        buf_printf(b, "%s%.*s", b->len ? "." : "", STR_ARG(f->name));
}

static bool tell_duplicate(struct reader *r, const struct frame *f, size_t first_line)
{
    struct buf b = buf_in(r->arena, 64);
    char what[200];

    if (!r->dups) {
        snprintf(what, sizeof(what), "key '%.*s' is already set on line %zu",
                 (int)MIN(f->name.len, (size_t)100), f->name.at, first_line);
        return fail(r, what);
    }
    path_of(&b, f);
    vec_each (i, &r->dups->paths)
        if (str_eq(r->dups->paths.at[i], buf_str(&b)))
            return true;
    if (r->dups->paths.len < DUPS_MAX)
        vec_push_in(r->arena, &r->dups->paths, buf_str(&b));
    return true;
}

static bool is_merge(const struct reader *r)
{
    return r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.plain_implicit &&
           !r->event.data.scalar.tag && str_eq(text_of(r->event.data.scalar.value), S("<<"));
}

/* "<<: *base" or "<<: [*a, *b]": kept until all keys are known, which win. */
static bool read_merge(struct reader *r, const struct frame *up, struct mapping *m,
                       struct node *out)
{
    struct node n;

    if (!next(r) || !read_node(r, up, &n))
        return false;
    out->depth = MAX(out->depth, n.depth);
    if (n.value.type == JSON_OBJECT) {
        vec_push(&m->merges, n.value);
        return true;
    }
    json_each (i, &n.value)
        if (n.value.items[i].type != JSON_OBJECT)
            return fail(r, "map merge requires map or sequence of maps as the value");
    if (n.value.type != JSON_ARRAY)
        return fail(r, "map merge requires map or sequence of maps as the value");
    json_each (i, &n.value)
        vec_push(&m->merges, n.value.items[i]);
    return true;
}

static void add_member(struct mapping *m, struct str name, struct json v, size_t line)
{
    vec_push(&m->members, (struct json_member){name, v});
    vec_push(&m->lines, line);
}

static bool read_entry(struct reader *r, struct frame *here, struct mapping *m,
                       struct node *out)
{
    size_t line = r->event.start_mark.line + 1, known;
    struct node n;

    if (is_merge(r))
        return read_merge(r, here, m, out);
    if (!read_node(r, here->up, &n) || !key_text(r, &n.value, &here->name))
        return false;
    if (!here->name.at)
        here->name = S("");
    known = find_key(m, here->name);
    if (known != STR_NONE && !tell_duplicate(r, here, m->lines.at[known]))
        return false;
    if (!next(r) || !read_node(r, here, &n))
        return false;
    out->depth = MAX(out->depth, n.depth);
    if (known != STR_NONE)
        m->members.at[known].value = n.value;
    else
        add_member(m, here->name, n.value, line);
    return true;
}

static void add_merged(struct mapping *m)
{
    vec_each (i, &m->merges)
        json_each_member (x, &m->merges.at[i])
            if (find_key(m, x->name) == STR_NONE)
                add_member(m, x->name, x->value, 0);
}

static bool read_mapping(struct reader *r, const struct frame *up, struct node *out)
{
    scoped(mapping_fini) struct mapping m = {0};
    struct str anchor = open_anchor(r, r->event.data.mapping_start.anchor);
    size_t cost = r->cost;
    struct frame here = {.up = up};

    out->depth = 0;
    if (!enter(r))
        return false;
    for (;;) {
        if (!next(r))
            return false;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (!read_entry(r, &here, &m, out))
            return false;
    }
    add_merged(&m);
    r->depth--;
    out->depth++;
    struct json_member *copy = arena_array(r->arena, struct json_member, m.members.len);
    if (m.members.len)
        memcpy(copy, m.members.at, m.members.len * sizeof(*copy));
    out->value =
        (struct json){.type = JSON_OBJECT, .len = (uint32_t)m.members.len, .members = copy};
    pay(r, 0);
    close_anchor(r, anchor, cost, out);
    return true;
}

/* ---- documents ---- */

static bool read_node(struct reader *r, const struct frame *up, struct node *out)
{
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, out);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(r, up, out);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(r, up, out);
    case YAML_ALIAS_EVENT:
        return read_alias(r, out);
    default:
        return fail(r, "a value was expected");
    }
}

static bool read_document(struct reader *r, struct yaml_docs *docs)
{
    size_t line = r->event.start_mark.line + 1;
    struct node n;

    map_clear(&r->anchors);
    if (docs->list.len >= YAML_MAX_DOCS)
        return fail_at(r, ERR_LIMIT, r->event.start_mark, "too many documents");
    if (!next(r) || !read_node(r, NULL, &n) || !next(r))
        return false;
    vec_push_in(r->arena, &docs->list, (struct yaml_doc){json_new(r->arena, n.value), line});
    return true;
}

static bool read_stream(struct reader *r, struct yaml_docs *docs)
{
    for (;;) {
        if (!next(r))
            return false;
        if (r->event.type == YAML_STREAM_END_EVENT)
            return true;
        if (r->event.type == YAML_DOCUMENT_START_EVENT && !read_document(r, docs))
            return false;
    }
}

/* JSON is mostly YAML, but for tabs and for values that follow each other; what begins like an
 * object is tried as JSON first. */
static bool try_json(struct arena *a, struct str text, struct json_dups *dups,
                     struct yaml_docs *docs)
{
    struct json_dups seen = {0};
    struct yaml_docs found = {0};
    struct str rest = str_trim(text);

    if (rest.len == 0 || rest.at[0] != '{')
        return false;
    for (size_t line = 1; rest.len;) {
        const char *from = rest.at;
        const struct json *v = json_parse_next(a, &rest, &seen, NULL);
        if (!v || (seen.paths.len && !dups) || found.list.len >= YAML_MAX_DOCS)
            return false;
        vec_push_in(a, &found.list, (struct yaml_doc){json_copy(a, v), line});
        for (; from < rest.at; from++)
            line += *from == '\n';
    }
    if (dups)
        *dups = seen;
    *docs = found;
    return true;
}

int yaml_parse(struct arena *a, struct str text, struct json_dups *dups, struct yaml_docs *docs,
               struct err *err)
{
    struct reader r = {.arena = a, .dups = dups, .err = err};
    struct yaml_docs found = {0};
    bool ok;

    if (text.len > YAML_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "yaml: text of %zu bytes is over the limit of %zu",
                       text.len, YAML_MAX_TEXT);
    if (!try_json(a, text, dups, &found)) {
        if (!yaml_parser_initialize(&r.yaml))
            die("out of memory");
        yaml_parser_set_input_string(&r.yaml, (const unsigned char *)(text.at ? text.at : ""),
                                     text.len);
        ok = read_stream(&r, &found);
        if (r.has_event)
            yaml_event_delete(&r.event);
        yaml_parser_delete(&r.yaml);
        map_fini(&r.anchors);
        if (!ok)
            return -1;
    }
    *docs = found;
    return 0;
}

const struct json *yaml_parse_one(struct arena *a, struct str text, struct json_dups *dups,
                                  struct err *err)
{
    struct yaml_docs docs = {0};

    if (yaml_parse(a, text, dups, &docs, err) < 0)
        return NULL;
    if (docs.list.len == 0)
        return json_new(a, json_of_null());
    if (docs.list.len > 1) {
        err_set(err, ERR_SYNTAX,
                "yaml: line %zu: one document was expected, here a second begins",
                docs.list.at[1].line);
        return NULL;
    }
    return docs.list.at[0].value;
}
