/* update.c - PUT of an object or its status */
#include "server/write_priv.h"

#include "api/metadata.h"

/* Kinds that a PUT must give a resourceVersion for; all custom ones too. */
static bool needs_version(const struct kind *k)
{
    return k->style == KIND_CUSTOM || str_eqz(k->kind, "Lease") ||
           str_eqz(k->kind, "CustomResourceDefinition");
}

static int check_version(struct request *r, struct str given)
{
    uint64_t version;

    if (!given.len) {
        r->is_unconditional = true;
        if (!needs_version(r->kind))
            return 0;
        struct field_errors errors = field_errors_in(r->arena);
        struct field_path meta = field_child(NULL, S("metadata"));
        struct field_path at = field_child(&meta, S("resourceVersion"));
        struct json zero = json_of_i64(0);
        field_invalid(&errors, &at, &zero, "must be specified for an update");
        return fail_invalid(r, r->name, &errors);
    }
    if (!str_to_u64(given, &version)) {
        struct field_errors errors = field_errors_in(r->arena);
        struct field_path meta = field_child(NULL, S("metadata"));
        struct field_path at = field_child(&meta, S("resourceVersion"));
        struct json bad = json_of_str(given);
        field_invalid(&errors, &at, &bad, "must be an unsigned integer");
        return fail_invalid(r, r->name, &errors);
    }
    if (version != object_revision(r->current))
        return fail_conflict(r, "%s", CONFLICT_WHY);
    return 0;
}

int check_preconditions(struct request *r, const struct json *body)
{
    struct str uid = json_str(meta_get(body, S("uid")));

    if (r->verb != VERB_PATCH && uid.len && !str_eq(uid, object_uid(r->current)))
        return fail_conflict(r,
                             "Precondition failed: UID in precondition: %.*s, UID in object "
                             "meta: %.*s",
                             STR_ARG(uid), STR_ARG(object_uid(r->current)));
    return check_version(r, json_str(meta_get(body, S("resourceVersion"))));
}

bool load_current(struct request *r)
{
    struct str path = path_of(r->arena, r->kind, r->ns, r->name);
    struct object *now = store_get(r->server->store, r->kind->storage, path);

    object_unref(r->current);
    r->current = now ? object_ref(now) : NULL;
    return now != NULL;
}

const struct json *current_tree(struct request *r)
{
    return tree_as_kind(r->arena, object_tree(r->current, r->arena), r->kind->storage, r->kind);
}

/* Kinds that a PUT also makes, where its user may create. */
static bool makes_missing(const struct kind *k)
{
    static const struct {
        const char *group, *kind; /* kind "": the whole group */
    } rows[] = {
        {"coordination.k8s.io",       "Lease"     },
        {"",                          "Event"     },
        {"events.k8s.io",             "Event"     },
        {"",                          "LimitRange"},
        {"",                          "Service"   },
        {"rbac.authorization.k8s.io", ""          },
    };

    for (size_t i = 0; i < countof(rows); i++) {
        if (str_eqz(k->group, rows[i].group) &&
            (!*rows[i].kind || str_eqz(k->kind, rows[i].kind)))
            return true;
    }
    return false;
}

/* PUT of what is not there. */
static void update_missing(struct request *r)
{
    if (r->subresource.len || !makes_missing(r->kind)) {
        fail_not_found(r);
    } else if (authorize_verb(r, S("create")) == 0) {
        r->is_created = true;
        write_tree(r, without_version(r->arena, r->body), NULL);
        return;
    }
    request_fini(r);
}

void verb_update(struct request *r)
{
    struct str name = json_str(meta_get(r->body, S("name")));

    r->is_unconditional = false;
    if (name.len && !str_eq(name, r->name)) {
        fail_bad_request(r,
                         "the name of the object (%.*s) does not match the name on the URL "
                         "(%.*s)",
                         STR_ARG(name), STR_ARG(r->name));
        request_fini(r);
        return;
    }
    if (!load_current(r)) {
        update_missing(r);
        return;
    }
    r->is_created = false;
    if (check_preconditions(r, r->body) < 0) {
        request_fini(r);
        return;
    }
    write_tree(r, r->body, current_tree(r));
}

bool write_again(struct request *r)
{
    bool can = r->verb == VERB_CREATE
                   ? json_str(meta_get(r->body, S("name"))).len == 0 && !r->name.len &&
                         r->attempts + 1 < METADATA_GENERATE_TRIES
                   : r->is_unconditional && r->attempts + 1 < WRITE_MAX_ATTEMPTS;

    if (!can || (r->is_lent && !r->body))
        return false;
    r->attempts++;
    object_unref(r->next);
    r->next = NULL;
    request_run(r);
    return true;
}
