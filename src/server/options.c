/* options.c - the query of a request, and DELETE's body, as options */
#include "server/body_priv.h"

#include "api/field_manager.h"

/* The kind of the options in error messages. */
static const char *const options_kinds[VERB_N] = {
    [VERB_CREATE] = "CreateOptions",
    [VERB_UPDATE] = "UpdateOptions",
    [VERB_PATCH] = "PatchOptions",
    [VERB_DELETE] = "DeleteOptions",
    [VERB_DELETECOLLECTION] = "DeleteOptions",
};

static enum validation validation_of(struct str text)
{
    if (str_eqz(text, "Ignore"))
        return VALIDATION_IGNORE;
    return str_eqz(text, "Strict") ? VALIDATION_STRICT : VALIDATION_WARN;
}

static void read_write_options(struct request *r, const struct str_map *query,
                               struct field_errors *errors)
{
    struct options *o = &r->options;

    if (r->verb == VERB_PATCH) {
        struct patch_options p =
            patch_options_of(r->arena, query, r->patch_type == PATCH_APPLY);
        patch_options_check(errors, p);
        o->dry_run = is_dry_run(&p.dry_run);
        o->field_manager = p.field_manager;
        o->validation = validation_of(p.field_validation);
        o->force = p.force;
        return;
    }
    struct create_options c = create_options_of(r->arena, query);
    create_options_check(errors, c);
    o->dry_run = is_dry_run(&c.dry_run);
    o->field_manager = c.field_manager;
    o->validation = validation_of(c.field_validation);
}

int options_read(struct request *r, const struct str_map *query, struct str user_agent)
{
    struct field_errors errors = field_errors_in(r->arena);
    struct options *o = &r->options;
    struct err err = {0};
    int rc = 0;

    o->include_object = str_map_get(query, S("includeObject"));
    switch (r->verb) {
    case VERB_CREATE:
    case VERB_UPDATE:
    case VERB_PATCH:
        read_write_options(r, query, &errors);
        break;
    case VERB_DELETE:
    case VERB_DELETECOLLECTION:
        rc = delete_options_of(r->arena, query, &o->remove, &err);
        if (rc == 0 && r->verb == VERB_DELETECOLLECTION)
            rc = list_options_parse(r->arena, query, &o->list, &err);
        break;
    default:
        rc = list_options_parse(r->arena, query, &o->list, &err);
    }
    if (rc < 0)
        return fail_err(r, &err);
    if (errors.list.len)
        return fail_options(r, options_kinds[r->verb], &errors);
    if (!o->field_manager.len && !(r->verb == VERB_PATCH && r->patch_type == PATCH_APPLY))
        o->field_manager = field_manager_name(r->arena, str_of(NULL, 0), user_agent);
    return 0;
}

int options_of_delete(struct request *r, const struct json *body)
{
    struct err err = {0};

    if (body && delete_options_of_json(r->arena, body, &r->options.remove, &err) < 0)
        return fail_err(r, &err);
    struct field_errors errors = field_errors_in(r->arena);
    delete_options_check(&errors, &r->options.remove);
    r->options.dry_run = is_dry_run(&r->options.remove.dry_run);
    return errors.list.len ? fail_options(r, "DeleteOptions", &errors) : 0;
}
