/* review.c - kinds that are answered and forgotten: may I, may they, who am I, whose token */
#include "server/write_priv.h"

#include "api/rbac.h"
#include "schema/conform.h"

static struct str field(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static struct json strs_json(struct arena *a, const struct str *at, size_t n)
{
    struct json_arr arr = arr_in(a);

    for (size_t i = 0; i < n; i++)
        arr_add(&arr, json_of_str(at[i]));
    return arr_done(&arr);
}

/* ---- access ---- */

static void fill_access(const struct json *spec, struct access *access)
{
    const struct json *res = json_getz(spec, "resourceAttributes");
    const struct json *other = json_getz(spec, "nonResourceAttributes");

    access->is_resource = json_has(res);
    if (!access->is_resource) {
        access->verb = field(other, "verb");
        access->path = field(other, "path");
        return;
    }
    access->verb = field(res, "verb");
    access->group = field(res, "group");
    access->version = field(res, "version");
    access->resource = field(res, "resource");
    access->subresource = field(res, "subresource");
    access->ns = field(res, "namespace");
    access->name = field(res, "name");
}

static struct json access_status(struct request *r, const struct access *access)
{
    struct json_obj status = obj_in(r->arena);

    obj_setz(&status, "allowed", json_of_bool(user_may(r->server, access)));
    return obj_done(&status);
}

static struct access_user myself(const struct request *r)
{
    return (struct access_user){
        .name = r->user->name,
        .uid = r->user->uid,
        .groups = {(struct str *)(uintptr_t)r->user->groups, r->user->n_groups}
    };
}

static int check_attributes(struct request *r, const struct json *spec, bool needs_user)
{
    struct field_errors errors = field_errors_in(r->arena);
    struct field_path at = field_child(NULL, S("spec"));
    struct field_path res = field_child(&at, S("resourceAttributes"));
    struct field_path user = field_child(&at, S("user"));
    bool has_res = json_has(json_getz(spec, "resourceAttributes"));
    bool has_other = json_has(json_getz(spec, "nonResourceAttributes"));
    const struct json *value = json_getz(spec, "resourceAttributes");

    if (has_res == has_other)
        field_invalid(&errors, &res, value,
                      "exactly one of nonResourceAttributes or resourceAttributes must be "
                      "specified");
    if (needs_user && !field(spec, "user").len && !json_len(json_getz(spec, "groups"))) {
        struct json none = json_of_z("");
        field_invalid(&errors, &user, &none, "at least one of user or group must be specified");
    }
    return errors.list.len ? fail_invalid(r, str_of(NULL, 0), &errors) : 0;
}

static int self_access(struct request *r, const struct json *spec, struct json *status)
{
    struct access access = {.user = myself(r)};

    if (check_attributes(r, spec, false) < 0)
        return -1;
    fill_access(spec, &access);
    *status = access_status(r, &access);
    return 0;
}

static int subject_access(struct request *r, const struct json *spec, struct json *status)
{
    struct access access = {
        .user = {.name = field(spec, "user"),
                 .uid = field(spec, "uid"),
                 .groups = str_list_of(r->arena, json_getz(spec, "groups"))}
    };

    if (check_attributes(r, spec, true) < 0)
        return -1;
    fill_access(spec, &access);
    *status = access_status(r, &access);
    return 0;
}

static int local_access(struct request *r, const struct json *spec, struct json *status)
{
    struct str ns = json_str(json_path(spec, "resourceAttributes", "namespace", NULL));

    if (!str_eq(ns, r->ns)) {
        struct field_errors errors = field_errors_in(r->arena);
        struct field_path at = field_child(NULL, S("spec"));
        struct field_path res = field_child(&at, S("resourceAttributes"));
        struct field_path name = field_child(&res, S("namespace"));
        struct json value = json_of_str(ns);
        field_invalid(&errors, &name, &value, "must match metadata.namespace");
        return fail_invalid(r, str_of(NULL, 0), &errors);
    }
    return subject_access(r, spec, status);
}

/* ---- rules ---- */

static int self_rules(struct request *r, const struct json *spec, struct json *status)
{
    struct arena *a = r->arena;
    struct access_user me = myself(r);
    struct json_obj o = obj_in(a);
    struct json_arr resources = arr_in(a), others = arr_in(a);
    struct rbac_rules all =
        rbac_rules_for(server_rbac(r->server), a, &me, field(spec, "namespace"));

    if (!field(spec, "namespace").len)
        return fail_bad_request(r, "no namespace on request");
    for (size_t i = 0; i < all.len; i++) {
        const struct rbac_rule *rule = &all.at[i];
        struct json_obj one = obj_in(a);
        obj_setz(&one, "verbs", strs_json(a, rule->verbs.at, rule->verbs.len));
        if (rule->urls.len) {
            obj_setz(&one, "nonResourceURLs", strs_json(a, rule->urls.at, rule->urls.len));
            arr_add(&others, obj_done(&one));
            continue;
        }
        obj_setz(&one, "apiGroups", strs_json(a, rule->groups.at, rule->groups.len));
        obj_setz(&one, "resources", strs_json(a, rule->resources.at, rule->resources.len));
        if (rule->names.len)
            obj_setz(&one, "resourceNames", strs_json(a, rule->names.at, rule->names.len));
        arr_add(&resources, obj_done(&one));
    }
    obj_setz(&o, "resourceRules", arr_done(&resources));
    obj_setz(&o, "nonResourceRules", arr_done(&others));
    obj_setz(&o, "incomplete", json_of_bool(false));
    *status = obj_done(&o);
    return 0;
}

/* ---- who ---- */

static struct json user_json(struct arena *a, const struct server_user *u)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "username", json_of_str(u->name));
    if (u->uid.len)
        obj_setz(&o, "uid", json_of_str(u->uid));
    obj_setz(&o, "groups", strs_json(a, u->groups, u->n_groups));
    return obj_done(&o);
}

static int who_am_i(struct request *r, const struct json *spec unused, struct json *status)
{
    struct json_obj o = obj_in(r->arena);

    obj_setz(&o, "userInfo", user_json(r->arena, r->user));
    *status = obj_done(&o);
    return 0;
}

static int whose_token(struct request *r, const struct json *spec, struct json *status)
{
    const struct server_config *config = &r->server->config;
    struct json_obj o = obj_in(r->arena);
    struct server_user user = {0};
    bool is_known =
        config->token && config->token(config->users_ctx, field(spec, "token"), &user);

    if (is_known) {
        obj_setz(&o, "authenticated", json_of_bool(true));
        obj_setz(&o, "user", user_json(r->arena, &user));
    } else {
        obj_setz(&o, "error", json_of_z("the token belongs to nobody who is known here"));
    }
    *status = obj_done(&o);
    return 0;
}

/* ---- the kinds ---- */

static const struct {
    const char *kind;
    int (*answer)(struct request *r, const struct json *spec, struct json *status);
} reviews[] = {
    {"SelfSubjectAccessReview",  self_access   },
    {"SubjectAccessReview",      subject_access},
    {"LocalSubjectAccessReview", local_access  },
    {"SelfSubjectRulesReview",   self_rules    },
    {"SelfSubjectReview",        who_am_i      },
    {"TokenReview",              whose_token   },
};

static int answer(struct request *r)
{
    struct err err = {0};
    struct json status;

    for (size_t i = 0; i < countof(reviews); i++) {
        if (!str_eqz(r->kind->kind, reviews[i].kind))
            continue;
        const struct json *tree = kind_conform(r->arena, r->kind, r->body, NULL, NULL, &err);
        if (!tree)
            return fail_err(r, &err);
        if (reviews[i].answer(r, json_getz(tree, "spec"), &status) < 0)
            return -1;
        struct json_obj o = obj_from(r->arena, tree), m = obj_in(r->arena);
        obj_setz(&m, "creationTimestamp", json_of_null());
        if (!json_has(json_getz(tree, "metadata")))
            obj_setz(&o, "metadata", obj_done(&m));
        obj_setz(&o, "status", status);
        r->reply->tree(r, 201, json_new(r->arena, obj_done(&o)));
        return 0;
    }
    return fail_method(r);
}

void review_create(struct request *r)
{
    if (r->verb == VERB_CREATE)
        answer(r);
    else
        fail_method(r);
    request_fini(r);
}
