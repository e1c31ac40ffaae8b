/* write_options.c - how to create, update, patch or delete */
#include "api/write_options.h"

#include "api/metadata.h"

/* All values of a repeated parameter. */
static struct str_list values_of(struct arena *a, const struct str_map *query, struct str name)
{
    VEC(struct str) v = {0};

    for (size_t i = 0; i < query->len; i++)
        if (str_eq(query->at[i].key, name))
            vec_push_in(a, &v, query->at[i].value);
    return (struct str_list){v.at, v.len};
}

static bool is_true(struct str v)
{
    return !str_eq(v, S("0")) && !str_eq_nocase(v, S("false"));
}

struct create_options create_options_of(struct arena *a, const struct str_map *query)
{
    return (struct create_options){
        .dry_run = values_of(a, query, S("dryRun")),
        .field_manager = str_map_get(query, S("fieldManager")),
        .field_validation = str_map_get(query, S("fieldValidation")),
    };
}

struct patch_options patch_options_of(struct arena *a, const struct str_map *query,
                                      bool is_apply)
{
    const struct str *force = str_map_find(query, S("force"));

    return (struct patch_options){
        .is_apply = is_apply,
        .has_force = force != NULL,
        .force = force && is_true(*force),
        .dry_run = values_of(a, query, S("dryRun")),
        .field_manager = str_map_get(query, S("fieldManager")),
        .field_validation = str_map_get(query, S("fieldValidation")),
    };
}

int delete_options_of(struct arena *a, const struct str_map *query, struct delete_options *out,
                      struct err *err)
{
    const struct str *grace = str_map_find(query, S("gracePeriodSeconds"));
    const struct str *orphan = str_map_find(query, S("orphanDependents"));
    struct delete_options o = {
        .has_orphan = orphan != NULL,
        .orphan = orphan && is_true(*orphan),
        .propagation_policy = str_map_get(query, S("propagationPolicy")),
        .dry_run = values_of(a, query, S("dryRun")),
    };

    if (grace) {
        o.grace.has_grace = true;
        if (!str_to_i64(*grace, &o.grace.grace))
            return err_set(err, ERR_SYNTAX, "gracePeriodSeconds: invalid number '%.*s'",
                           (int)MIN(grace->len, (size_t)64), grace->at ? grace->at : "");
    }
    *out = o;
    return 0;
}

/* The member where it has the type; false where it has another one than that or null. */
static bool take_member(const struct json *body, const char *name, enum json_type type,
                        const struct json **out)
{
    const struct json *v = json_get(body, str_from(name));

    *out = json_has(v) ? v : NULL;
    return !*out || json_is(v, type);
}

int delete_options_of_json(struct arena *a, const struct json *body, struct delete_options *out,
                           struct err *err)
{
    const struct json *grace, *orphan, *policy, *dry_run, *want, *uid, *version;

    if (!json_is(body, JSON_OBJECT) ||
        !take_member(body, "gracePeriodSeconds", JSON_INT, &grace) ||
        !take_member(body, "orphanDependents", JSON_BOOL, &orphan) ||
        !take_member(body, "propagationPolicy", JSON_STRING, &policy) ||
        !take_member(body, "dryRun", JSON_ARRAY, &dry_run) ||
        !take_member(body, "preconditions", JSON_OBJECT, &want) ||
        !take_member(want, "uid", JSON_STRING, &uid) ||
        !take_member(want, "resourceVersion", JSON_STRING, &version))
        return err_set(err, ERR_SYNTAX, "the body is no DeleteOptions");
    *out = (struct delete_options){
        .grace = {.has_grace = grace != NULL, .grace = json_i64(grace, 0)},
        .has_orphan = orphan != NULL,
        .orphan = json_bool(orphan, false),
        .propagation_policy = json_str(policy),
        .dry_run = str_list_of(a, dry_run),
        .want_uid = json_str(uid),
        .want_version = json_str(version),
    };
    return 0;
}

/* ---- checking ---- */

static void check_dry_run(struct field_errors *e, struct str_list dry_run)
{
    struct field_path at = field_child(NULL, S("dryRun"));
    struct json all = json_of_z("All");

    for (size_t i = 0; i < dry_run.len; i++)
        if (!str_eq(dry_run.at[i], S("All"))) {
            struct json_arr list = arr_in(e->arena);
            for (size_t k = 0; k < dry_run.len; k++)
                arr_add(&list, json_of_str(dry_run.at[k]));
            struct json bad = arr_done(&list);
            field_not_supported(e, &at, &bad, &all, 1);
            return;
        }
}

static void check_field_validation(struct field_errors *e, struct str v)
{
    struct field_path at = field_child(NULL, S("fieldValidation"));
    struct json known[] = {json_of_z("Ignore"), json_of_z("Warn"), json_of_z("Strict")};
    struct json bad = json_of_str(v);

    if (v.len == 0)
        return;
    for (size_t i = 0; i < countof(known); i++)
        if (str_eq(v, json_str(&known[i])))
            return;
    field_not_supported(e, &at, &bad, known, countof(known));
}

void create_options_check(struct field_errors *e, struct create_options o)
{
    struct field_path manager_at = field_child(NULL, S("fieldManager"));

    field_manager_check(e, &manager_at, o.field_manager);
    check_dry_run(e, o.dry_run);
    check_field_validation(e, o.field_validation);
}

void patch_options_check(struct field_errors *e, struct patch_options o)
{
    struct field_path manager_at = field_child(NULL, S("fieldManager"));
    struct field_path force_at = field_child(NULL, S("force"));

    if (!o.is_apply && o.has_force)
        field_forbidden(e, &force_at, "may not be specified for non-apply patch");
    if (o.is_apply && o.field_manager.len == 0)
        field_required(e, &manager_at, "is required for apply patch");
    field_manager_check(e, &manager_at, o.field_manager);
    check_dry_run(e, o.dry_run);
    check_field_validation(e, o.field_validation);
}

void delete_options_check(struct field_errors *e, const struct delete_options *o)
{
    struct field_path at = field_child(NULL, S("propagationPolicy"));
    struct json bad = json_of_str(o->propagation_policy);
    enum delete_policy policy;

    if (o->has_orphan && o->propagation_policy.len)
        field_invalid(e, &at, &bad,
                      "orphanDependents and deletionPropagation cannot be both set");
    if (!delete_policy_find(o->propagation_policy, &policy)) {
        struct json known[3];
        for (size_t i = 0; i < countof(known); i++)
            known[i] = json_of_str(delete_policy_name((enum delete_policy)(i + 1)));
        field_not_supported(e, &at, &bad, known, countof(known));
    }
    check_dry_run(e, o->dry_run);
}
