/* data_check.c - rules of ConfigMaps and Secrets, and of priority classes */
#include "api/rules_priv.h"

#include "value/names.h"

#define MAX_DATA (1 << 20) /* bytes of all values */
#define USER_PRIORITY_MAX 1000000000

/* ---- keys and sizes ---- */

static void check_keys(struct field_errors *e, const struct field_path *at,
                       const struct json *data)
{
    json_each_member (m, data) {
        struct field_path item = field_key(at, m->name);
        struct name_faults faults = name_check(NAME_CONFIG_MAP_KEY, m->name);
        struct json key = json_of_str(m->name);
        for (size_t i = 0; i < faults.n; i++)
            field_invalid(e, &item, &key, "%.*s", STR_ARG(name_fault(e->arena, &faults, i)));
    }
}

/* Bytes of the values; those in base64 as what they stand for. */
static size_t size_of(const struct json *data, bool is_base64)
{
    size_t n = 0;

    json_each_member (m, data) {
        size_t len = json_str(&m->value).len;
        n += is_base64 ? len / 4 * 3 : len;
    }
    return n;
}

/* Once immutable, the data and the word itself stay. */
static void check_immutable(const struct schema_at *at, const char *const *names, size_t n)
{
    struct field_path word_at = field_child(NULL, S("immutable"));

    if (!json_bool(json_getz(at->old, "immutable"), false))
        return;
    if (!json_bool(json_getz(at->v, "immutable"), false))
        field_forbidden(at->errors, &word_at, "field is immutable when `immutable` is set");
    for (size_t i = 0; i < n; i++) {
        struct str name = str_from(names[i]);
        struct field_path data_at = field_child(NULL, name);
        const struct json *now = json_get(at->v, name), *was = json_get(at->old, name);
        if (json_len(now) + json_len(was) && !json_eq(now, was))
            field_forbidden(at->errors, &data_at, "field is immutable when `immutable` is set");
    }
}

void config_map_check(const struct schema_at *at)
{
    static const char *const names[] = {"data", "binaryData"};
    struct field_path data_at = field_child(NULL, S("data"));
    struct field_path binary_at = field_child(NULL, S("binaryData"));
    const struct json *data = json_getz(at->v, "data"),
                      *binary = json_getz(at->v, "binaryData");

    check_keys(at->errors, &data_at, data);
    check_keys(at->errors, &binary_at, binary);
    json_each_member (m, data) {
        struct field_path item = field_key(&data_at, m->name);
        struct json key = json_of_str(m->name);
        if (json_get(binary, m->name))
            field_invalid(at->errors, &item, &key, "duplicate of key present in binaryData");
    }
    if (size_of(data, false) + size_of(binary, true) > MAX_DATA)
        field_too_long(at->errors, NULL, NULL, MAX_DATA);
    check_immutable(at, names, countof(names));
}

/* Keys that a Secret of some type must have. */
static void check_type(const struct schema_at *at)
{
    static const struct {
        const char *type, *key;
    } needs[] = {
        {"kubernetes.io/dockercfg",        ".dockercfg"       },
        {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
        {"kubernetes.io/ssh-auth",         "ssh-privatekey"   },
        {"kubernetes.io/tls",              "tls.crt"          },
        {"kubernetes.io/tls",              "tls.key"          },
    };
    struct field_path data_at = field_child(NULL, S("data"));
    const struct json *data = json_getz(at->v, "data");
    struct str type = json_str(json_getz(at->v, "type"));

    for (size_t i = 0; i < countof(needs); i++) {
        struct field_path item = field_key(&data_at, str_from(needs[i].key));
        if (str_eqz(type, needs[i].type) && !json_get(data, str_from(needs[i].key)))
            field_required(at->errors, &item, "%s", "");
    }
    if (str_eqz(type, "kubernetes.io/basic-auth") && !json_getz(data, "username") &&
        !json_getz(data, "password")) {
        struct field_path user_at = field_key(&data_at, S("username"));
        struct field_path word_at = field_key(&data_at, S("password"));
        field_required(at->errors, &user_at, "%s", "");
        field_required(at->errors, &word_at, "%s", "");
    }
    if (str_eqz(type, "kubernetes.io/service-account-token") &&
        !json_str(json_path(at->v, "metadata", "annotations",
                            "kubernetes.io/service-account.name", NULL))
             .len) {
        struct field_path meta_at = field_child(NULL, S("metadata"));
        struct field_path notes_at = field_child(&meta_at, S("annotations"));
        struct field_path note_at =
            field_key(&notes_at, S("kubernetes.io/service-account.name"));
        field_required(at->errors, &note_at, "%s", "");
    }
}

void secret_check(const struct schema_at *at)
{
    static const char *const names[] = {"data"};
    struct field_path data_at = field_child(NULL, S("data"));
    const struct json *data = json_getz(at->v, "data");

    check_keys(at->errors, &data_at, data);
    if (size_of(data, true) > MAX_DATA)
        field_too_long(at->errors, &data_at, NULL, MAX_DATA);
    check_type(at);
    check_immutable(at, names, countof(names));
}

/* ---- priority classes ---- */

void priority_class_check(const struct schema_at *at)
{
    static const struct {
        const char *name;
        int64_t value;
    } system[] = {
        {"system-cluster-critical", 2000000000},
        {"system-node-critical",    2000001000},
    };
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path name_at = field_child(&meta_at, S("name"));
    struct field_path value_at = field_child(NULL, S("value"));
    struct str name = json_str(json_path(at->v, "metadata", "name", NULL));
    int64_t value = json_i64(json_getz(at->v, "value"), 0);
    bool is_system = false;

    if (at->old) {
        if (json_i64(json_getz(at->old, "value"), 0) != value)
            field_forbidden(at->errors, &value_at, "may not be changed in an update.");
        return;
    }
    for (size_t i = 0; i < countof(system); i++)
        is_system |= str_eqz(name, system[i].name) && value == system[i].value;
    if (str_starts(name, S("system-")) && !is_system)
        field_forbidden(
            at->errors, &name_at,
            "priority class names with 'system-' prefix are reserved for system use "
            "only. error: %.*s is not a known system priority class",
            STR_ARG(name));
    if (value > USER_PRIORITY_MAX && !is_system)
        field_forbidden(at->errors, &value_at,
                        "maximum allowed value of a user defined priority is %d",
                        USER_PRIORITY_MAX);
}
