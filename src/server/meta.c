/* meta.c - is the metadata as it must be? */
#include "server/write_priv.h"

#include "api/metadata.h"

/* Kinds whose names follow another rule than DNS subdomains. */
static const struct {
    const char *group, *kind; /* kind "": the whole group */
    enum name_rule rule;
} name_rules[] = {
    {"",                          "Namespace", NAME_DNS_LABEL     },
    {"",                          "Service",   NAME_DNS_1035_LABEL},
    {"rbac.authorization.k8s.io", "",          NAME_PATH_SEGMENT  },
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

void meta_validate(struct write *w)
{
    struct field_path at = field_child(NULL, S("metadata"));
    const struct json *meta = json_getz(w->tree, "metadata");

    if (!w->old) {
        metadata_check_create(&w->errors, &at, meta,
                              (struct metadata_rule){.is_namespaced = w->kind->namespaced,
                                                     .name = name_rule_of(w->kind)});
        return;
    }
    /* What a write without a version follows is the version just read. */
    struct json_obj m = obj_from(w->arena, meta);
    const struct json *version = meta_get(w->old, S("resourceVersion"));
    if (version)
        obj_setz(&m, "resourceVersion", *version);
    struct json with = obj_done(&m);
    metadata_check_update(&w->errors, &at, &with, json_getz(w->old, "metadata"));
}
