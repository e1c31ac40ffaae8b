/* embedded.c - whole objects inside custom resources */
#include "api/embedded.h"

#include "api/metadata.h"
#include "schema/table.h"
#include "value/names.h"

static void add_faults(struct field_errors *e, const struct field_path *p, const struct json *v,
                       enum name_rule rule, struct str text)
{
    struct name_faults faults = name_check(rule, text);

    if (faults.n)
        field_invalid(e, p, v, "%.*s", STR_ARG(name_fault(e->arena, &faults, 0)));
}

static void check_version(struct field_errors *e, const struct field_path *path,
                          const struct json *v)
{
    struct field_path p = field_child(path, S("apiVersion"));
    struct str text = json_str(v), head, tail;

    if (!json_has(v))
        field_required(e, &p, "%s", "must not be empty");
    else if (text.len == 0)
        field_invalid(e, &p, v, "must not be empty");
    else if (str_cut(text, '/', &head, &tail) && str_has(tail, S("/")))
        field_invalid(e, &p, v, "unexpected GroupVersion string: %.*s", STR_ARG(text));
}

static void check_kind(struct field_errors *e, const struct field_path *path,
                       const struct json *v)
{
    struct field_path p = field_child(path, S("kind"));

    if (!json_has(v))
        field_required(e, &p, "%s", "must not be empty");
    else if (json_str(v).len == 0)
        field_invalid(e, &p, v, "must not be empty");
    else
        add_faults(e, &p, v, NAME_DNS_1035_LABEL, str_lower(e->arena, json_str(v)));
}

/* As of a created object, but the name may be absent and the namespace is optional. */
static void check_meta(struct field_errors *e, const struct field_path *path,
                       const struct json *meta)
{
    struct field_path p = field_child(path, S("metadata"));
    struct field_path name = field_child(&p, S("name")), ns = field_child(&p, S("namespace"));
    struct field_path labels = field_child(&p, S("labels"));
    struct field_path notes = field_child(&p, S("annotations"));
    const struct json *v;

    if (json_str(v = json_getz(meta, "name")).len)
        add_faults(e, &name, v, NAME_PATH_SEGMENT, json_str(v));
    if (json_str(v = json_getz(meta, "namespace")).len)
        add_faults(e, &ns, v, NAME_DNS_LABEL, json_str(v));
    labels_check(e, &labels, json_getz(meta, "labels"));
    annotations_check(e, &notes, json_getz(meta, "annotations"));
}

void embedded_check_one(struct field_errors *e, const struct field_path *path,
                        const struct json *v)
{
    check_version(e, path, json_getz(v, "apiVersion"));
    check_kind(e, path, json_getz(v, "kind"));
    if (json_getz(v, "metadata"))
        check_meta(e, path, json_getz(v, "metadata"));
}

void embedded_check(struct field_errors *e, const struct schema *s,
                    const struct field_path *path, const struct json *v)
{
    if (!s)
        return;
    if (v->type == JSON_ARRAY && s->item) {
        for (size_t i = 0; i < v->len; i++) {
            struct field_path child = field_item(path, i);
            if (s->item->embedded && v->items[i].type == JSON_OBJECT)
                embedded_check_one(e, &child, &v->items[i]);
            embedded_check(e, s->item, &child, &v->items[i]);
        }
        return;
    }
    json_each_member (m, v) {
        const struct schema_field *f = schema_field(s, m->name);
        const struct schema *type = f ? f->type : s->value;
        struct field_path child = f ? field_child(path, m->name) : field_key(path, m->name);
        if (!type)
            continue;
        if (type->embedded && m->value.type == JSON_OBJECT)
            embedded_check_one(e, &child, &m->value);
        embedded_check(e, type, &child, &m->value);
    }
}
