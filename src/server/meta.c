/* meta.c - is the metadata as it must be? */
#include "server/write_priv.h"

#include "value/names.h"
#include "value/selector.h"

static void check_name(struct write *w, const struct field_path *meta)
{
    struct field_path at = field_child(meta, S("name"));
    struct json name = json_of_str(w->name);

    if (!w->name.len) {
        field_required(&w->errors, &at, "name or generateName is required");
        return;
    }
    enum name_rule rule = NAME_DNS_SUBDOMAIN;
    if (str_eqz(w->kind->kind, "Namespace"))
        rule = NAME_DNS_LABEL;
    if (str_eqz(w->kind->group, "rbac.authorization.k8s.io"))
        rule = NAME_PATH_SEGMENT;
    struct name_faults faults = name_check(rule, w->name);
    for (size_t i = 0; i < faults.n; i++)
        field_invalid(&w->errors, &at, &name, "%.*s",
                      STR_ARG(name_fault(w->arena, &faults, i)));
}

void meta_validate(struct write *w)
{
    struct field_path meta = field_child(NULL, S("metadata"));
    struct field_path labels = field_child(&meta, S("labels"));

    if (!w->old)
        check_name(w, &meta);
    labels_check(&w->errors, &labels, meta_get(w->tree, S("labels")));
}
