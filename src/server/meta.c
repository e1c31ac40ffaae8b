/* meta.c - is the metadata as it must be? */
#include "server/write_priv.h"

#include "api/metadata.h"

/* Kinds whose names follow another rule than DNS subdomains. */
static const struct {
    const char *group, *kind; /* kind "": the whole group */
    enum name_rule rule;
} name_rules[] = {
    {"",                          "Namespace", NAME_DNS_LABEL   },
    {"",                          "Service",   NAME_DNS_LABEL   },
    {"rbac.authorization.k8s.io", "",          NAME_PATH_SEGMENT},
};

static enum name_rule name_rule_of(const struct kind *k)
{
    for (size_t i = 0; i < countof(name_rules); i++) {
        if (str_eqz(k->group, name_rules[i].group) &&
            (!*name_rules[i].kind || str_eqz(k->kind, name_rules[i].kind)))
            return name_rules[i].rule;
    }
    return NAME_DNS_SUBDOMAIN;
}

/* Native kinds want a domain in front of a finalizer's name, but for three of old. */
static void check_finalizers(struct write *w, const struct field_path *meta)
{
    static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};
    const struct json *all = meta_get(w->tree, S("finalizers"));
    struct field_path list = field_child(meta, S("finalizers"));

    if (!all || json_is_shared(all, meta_get(w->known, S("finalizers"))))
        return;
    json_each (i, all) {
        struct field_path at = field_item(&list, i);
        struct str name = json_str(json_at(all, i));
        bool is_standard = str_index(name, '/') != STR_NONE;
        for (size_t j = 0; j < countof(standard); j++)
            is_standard |= str_eqz(name, standard[j]);
        if (!is_standard && name_is(NAME_LABEL_KEY, name))
            field_invalid(
                &w->errors, &at, json_at(all, i),
                "name is neither a standard finalizer name nor is it fully qualified");
    }
}

void meta_validate(struct write *w)
{
    struct field_path at = field_child(NULL, S("metadata"));
    const struct json *meta = json_getz(w->tree, "metadata");

    if (w->kind->style == KIND_NATIVE)
        check_finalizers(w, &at);

    if (!w->old) {
        metadata_check_create(
            &w->errors, &at, meta,
            (struct metadata_rule){.is_namespaced = w->kind->namespaced,
                                   .name = name_rule_of(w->kind),
                                   .known = json_getz(w->judged, "metadata")});
        return;
    }
    /* What a write without a version follows is the version just read. */
    const struct json *was = json_getz(w->old, "metadata");
    if (json_str(json_getz(was, "resourceVersion")).len)
        metadata_check_write(&w->errors, &at, meta, was, w->known != NULL);
    else
        metadata_check_update(&w->errors, &at, meta, was);
}
