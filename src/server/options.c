/* options.c - the query of a request, and DELETE's body, as options */
#include "server/options_priv.h"

struct str query_copy(struct arena *a, struct str query)
{
    return str_copy(a, query);
}

static struct str decode(struct arena *a, struct str s, bool is_form)
{
    struct buf out = buf_in(a, s.len + 1);

    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c == '%' && s.len - i > 2) {
            char hex[3] = {s.at[i + 1], s.at[i + 2], 0};
            char *end;
            long v = strtol(hex, &end, 16);
            if (*end == 0) {
                buf_byte(&out, (char)v);
                i += 2;
                continue;
            }
        }
        buf_byte(&out, c == '+' && is_form ? ' ' : c);
    }
    return buf_str(&out);
}

struct str query_decode(struct arena *a, struct str s)
{
    return decode(a, s, true);
}

struct str query_path_decode(struct arena *a, struct str s)
{
    return decode(a, s, false);
}

bool query_find(struct arena *a, struct str query, const char *name, struct str *out)
{
    struct str part, key, value;

    while (query.len) {
        str_cut(query, '&', &part, &query);
        str_cut(part, '=', &key, &value);
        if (!str_eqz(query_decode(a, key), name))
            continue;
        *out = query_decode(a, value);
        return true;
    }
    return false;
}

enum option_type { OPTION_TEXT, OPTION_INT, OPTION_BOOL };

/* Which query parameter goes where, and the flag that says it was given. */
#define AT(member) offsetof(struct options, member)
#define NO_FLAG SIZE_MAX
static const struct {
    const char *name;
    enum option_type type;
    size_t at, flag;
} parameters[] = {
    {"fieldManager",         OPTION_TEXT, AT(field_manager),          NO_FLAG               },
    {"force",                OPTION_BOOL, AT(force),                  AT(has_force)         },
    {"resourceVersion",      OPTION_TEXT, AT(resource_version),       NO_FLAG               },
    {"resourceVersionMatch", OPTION_TEXT, AT(resource_version_match), NO_FLAG               },
    {"limit",                OPTION_INT,  AT(limit),                  NO_FLAG               },
    {"continue",             OPTION_TEXT, AT(continue_),              NO_FLAG               },
    {"labelSelector",        OPTION_TEXT, AT(label_selector),         NO_FLAG               },
    {"fieldSelector",        OPTION_TEXT, AT(field_selector),         NO_FLAG               },
    {"timeoutSeconds",       OPTION_INT,  AT(timeout_s),              NO_FLAG               },
    {"allowWatchBookmarks",  OPTION_BOOL, AT(bookmarks),              NO_FLAG               },
    {"sendInitialEvents",    OPTION_BOOL, AT(initial_events),         AT(has_initial_events)},
    {"gracePeriodSeconds",   OPTION_INT,  AT(grace_s),                AT(has_grace)         },
    {"orphanDependents",     OPTION_BOOL, AT(orphan),                 AT(has_orphan)        },
    {"propagationPolicy",    OPTION_TEXT, AT(propagation),            NO_FLAG               },
    {"includeObject",        OPTION_TEXT, AT(include_object),         NO_FLAG               },
};

bool option_bool(struct str s, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True", ""};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < countof(yes); i++) {
        if (str_eqz(s, yes[i])) {
            *out = true;
            return true;
        }
    }
    for (size_t i = 0; i < countof(no); i++) {
        if (str_eqz(s, no[i])) {
            *out = false;
            return true;
        }
    }
    return false;
}

static int read_parameter(struct request *r, size_t i, struct str value)
{
    char *base = (char *)&r->options + parameters[i].at;
    bool is_good = true;

    switch (parameters[i].type) {
    case OPTION_TEXT:
        *(struct str *)(void *)base = value;
        break;
    case OPTION_INT:
        is_good = value.len == 0 || str_to_i64(value, (int64_t *)(void *)base);
        break;
    case OPTION_BOOL:
        is_good = option_bool(value, (bool *)base);
        break;
    }
    if (!is_good)
        return fail_bad_request(r, "cannot read query parameter \"%s\": invalid value \"%.*s\"",
                                parameters[i].name, STR_ARG(value));
    if (parameters[i].flag != NO_FLAG)
        *((bool *)&r->options + parameters[i].flag) = true;
    return 0;
}

/* The kind of the options in error messages. */
static const char *options_kind(const struct request *r)
{
    static const char *const names[VERB_N] = {
        [VERB_GET] = "GetOptions",       [VERB_LIST] = "ListOptions",
        [VERB_WATCH] = "ListOptions",    [VERB_CREATE] = "CreateOptions",
        [VERB_UPDATE] = "UpdateOptions", [VERB_PATCH] = "PatchOptions",
        [VERB_DELETE] = "DeleteOptions", [VERB_DELETECOLLECTION] = "DeleteOptions"};

    return names[r->verb];
}

static void check_dry_run(struct request *r, struct field_errors *errors,
                          const struct json *all)
{
    struct field_path at = field_child(NULL, S("dryRun"));
    const struct json known[] = {json_of_z("All")};

    json_each (i, all) {
        if (str_eqz(json_str(json_at(all, i)), "All"))
            r->options.dry_run = true;
        else
            field_not_supported(errors, &at, json_at(all, i), known, countof(known));
    }
}

static void check_validation(struct request *r, struct field_errors *errors, struct str given)
{
    static const struct {
        const char *name;
        enum validation is;
    } modes[] = {
        {"",       VALIDATION_WARN  },
        {"Ignore", VALIDATION_IGNORE},
        {"Strict", VALIDATION_STRICT},
        {"Warn",   VALIDATION_WARN  }
    };
    const struct json known[] = {json_of_z("Ignore"), json_of_z("Strict"), json_of_z("Warn")};
    struct field_path at = field_child(NULL, S("fieldValidation"));
    struct json value = json_of_str(given);

    for (size_t i = 0; i < countof(modes); i++) {
        if (str_eqz(given, modes[i].name)) {
            r->options.validation = modes[i].is;
            return;
        }
    }
    field_not_supported(errors, &at, &value, known, countof(known));
}

static void check_manager(struct request *r, struct field_errors *errors)
{
    struct str manager = r->options.field_manager;
    struct field_path at = field_child(NULL, S("fieldManager"));
    struct json value = json_of_str(manager);
    bool is_apply = r->verb == VERB_PATCH && r->patch_type == PATCH_APPLY;

    if (is_apply && !manager.len)
        field_required(errors, &at, "is required for apply patch");
    if (manager.len > MANAGER_MAX)
        field_too_long(errors, &at, &value, MANAGER_MAX);
    for (size_t i = 0; i < manager.len; i++) {
        if ((unsigned char)manager.at[i] < 0x20 || manager.at[i] == 0x7f) {
            field_invalid(errors, &at, &value, "should only contain printable characters");
            break;
        }
    }
    struct field_path force = field_child(NULL, S("force"));
    if (r->verb == VERB_PATCH && !is_apply && r->options.has_force)
        field_forbidden(errors, &force, "may not be specified for non-apply patch");
}

int options_read(struct request *r, struct str query)
{
    struct field_errors errors = field_errors_in(r->arena);
    struct str value;

    for (size_t i = 0; i < countof(parameters); i++) {
        if (query_find(r->arena, query, parameters[i].name, &value) &&
            read_parameter(r, i, value) < 0)
            return -1;
    }
    bool is_write = r->verb >= VERB_CREATE;
    if (is_write && query_find(r->arena, query, "dryRun", &value)) {
        struct json one = json_of_str(value);
        struct json all = {.type = JSON_ARRAY, .len = 1, .items = &one};
        check_dry_run(r, &errors, &all);
    }
    if (r->verb == VERB_CREATE || r->verb == VERB_UPDATE || r->verb == VERB_PATCH) {
        value = str_of(NULL, 0);
        query_find(r->arena, query, "fieldValidation", &value);
        check_validation(r, &errors, value);
        check_manager(r, &errors);
    }
    return errors.list.len ? fail_options(r, options_kind(r), &errors) : 0;
}

int options_of_delete(struct request *r, const struct json *body)
{
    struct options *o = &r->options;
    struct field_errors errors = field_errors_in(r->arena);
    const struct json *grace = json_getz(body, "gracePeriodSeconds");
    const struct json *orphan = json_getz(body, "orphanDependents");

    if (json_has(grace)) {
        if (grace->type != JSON_INT)
            return fail_bad_request(
                r, "gracePeriodSeconds of DeleteOptions is not a whole number");
        o->has_grace = true;
        o->grace_s = grace->i;
    }
    if (json_has(orphan)) {
        o->has_orphan = true;
        o->orphan = json_bool(orphan, false);
    }
    if (json_str(json_getz(body, "propagationPolicy")).len)
        o->propagation = json_str(json_getz(body, "propagationPolicy"));
    o->precondition_uid = json_str(json_path(body, "preconditions", "uid", NULL));
    o->precondition_version =
        json_str(json_path(body, "preconditions", "resourceVersion", NULL));
    check_dry_run(r, &errors, json_getz(body, "dryRun"));
    return errors.list.len ? fail_options(r, "DeleteOptions", &errors) : 0;
}
