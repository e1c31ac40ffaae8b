/* crd_check.c - what is refused of a CustomResourceDefinition
 *
 * Source: API server reference 12.2. What all versions say alike (each of schema, subresources,
 * columns, selectable fields by itself) is judged and told once, below `spec`, as upstream
 * does, which keeps it there; the schema as `spec.validation`.
 */
#include "api/rules_priv.h"

#include "api/crd_check_priv.h"
#include "base/base64.h"
#include "schema/compile.h"
#include "schema/structural.h"
#include "schema/table.h"
#include "value/names.h"
#include "value/printable.h"
#include "value/url.h"

#define WARNING_MAX 256 /* bytes */
#define LIST_MAX 1000   /* versions, selectable fields ... */
#define APPROVAL "api-approved.kubernetes.io"

enum part { PART_SCHEMA, PART_SUBRESOURCES, PART_COLUMNS, PART_SELECTABLE, PART_COUNT };

static const struct {
    const char *in_version, *in_spec;
} parts[PART_COUNT] = {
    [PART_SCHEMA] = {"schema",                   "validation"              },
    [PART_SUBRESOURCES] = {"subresources",             "subresources"            },
    [PART_COLUMNS] = {"additionalPrinterColumns", "additionalPrinterColumns"},
    [PART_SELECTABLE] = {"selectableFields",         "selectableFields"        },
};

struct crd {
    struct field_errors *e;
    const struct json *v, *old;         /* whole objects; old may be NULL */
    const struct json *spec, *versions; /* of v */
    const struct json *old_spec;        /* or NULL */
    struct field_path spec_at, versions_at;
    struct crd_rules rules;
    bool is_common[PART_COUNT]; /* said alike in all versions */
};

static struct str text(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static bool flag(const struct json *v, const char *name)
{
    return json_bool(json_get(v, str_from(name)), false);
}

static const struct json *schema_of(const struct json *version)
{
    const struct json *v = json_path(version, "schema", "openAPIV3Schema", NULL);

    return json_is(v, JSON_OBJECT) ? v : NULL;
}

static bool is_true(const struct json *crd, const char *condition)
{
    const struct json *list = json_path(crd, "status", "conditions", NULL);

    json_each (i, list)
        if (str_eqz(text(json_at(list, i), "type"), condition))
            return str_eqz(text(json_at(list, i), "status"), "True");
    return false;
}

/* One of some words; empty is missing. */
static void check_word(struct crd *c, const struct field_path *p, const struct json *v,
                       const char *const *words, size_t n)
{
    if (json_str(v).len == 0)
        field_required(c->e, p, "%s", "");
    else
        field_one_of(c->e, p, v, words, n);
}

/* Lists that are compared each with each are short. */
static bool is_short(struct field_errors *e, const struct field_path *p,
                     const struct json *list)
{
    if (json_len(list) <= LIST_MAX)
        return true;
    field_too_many(e, p, (int64_t)json_len(list), LIST_MAX);
    return false;
}

/* ---- names ---- */

/* All that is wrong with a label, as one error. */
static void check_label(struct crd *c, const struct field_path *p, const struct json *v,
                        bool is_mixed_case)
{
    struct arena *a = c->e->arena;
    struct str name = is_mixed_case ? str_lower(a, json_str(v)) : json_str(v);
    struct name_faults faults = name_check(NAME_DNS_1035_LABEL, name);
    struct buf b = buf_in(a, 128);

    for (size_t i = 0; i < faults.n; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(name_fault(a, &faults, i)));
    if (faults.n)
        field_invalid(c->e, p, v, "%s%.*s",
                      is_mixed_case ? "may have mixed case, but should otherwise match: " : "",
                      STR_ARG(buf_str(&b)));
}

static void check_labels(struct crd *c, const struct field_path *at, const struct json *names,
                         const char *list)
{
    struct field_path p = field_child(at, str_from(list));
    const struct json *v = json_get(names, str_from(list));

    json_each (i, v) {
        struct field_path item = field_item(&p, i);
        check_label(c, &item, json_at(v, i), false);
    }
}

static void check_names(struct crd *c, const struct field_path *at, const struct json *names,
                        bool is_needed)
{
    static const struct {
        const char *name;
        bool is_mixed_case;
    } rows[] = {
        {"plural",   false},
        {"singular", false},
        {"kind",     true },
        {"listKind", true },
    };
    struct field_path list_kind_at = field_child(at, S("listKind"));
    struct str kind = text(names, "kind");

    for (size_t i = 0; i < countof(rows); i++) {
        const struct json *v = json_get(names, str_from(rows[i].name));
        struct field_path p = field_child(at, str_from(rows[i].name));
        if (json_str(v).len)
            check_label(c, &p, v, rows[i].is_mixed_case);
        else if (is_needed)
            field_required(c->e, &p, "%s", "");
    }
    check_labels(c, at, names, "shortNames");
    if (kind.len && str_eq(kind, text(names, "listKind")))
        field_invalid(c->e, &list_kind_at, json_getz(names, "listKind"),
                      "kind and listKind may not be the same");
    check_labels(c, at, names, "categories");
}

static void check_group(struct crd *c)
{
    struct field_path p = field_child(&c->spec_at, S("group"));
    const struct json *group = json_getz(c->spec, "group");
    struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, json_str(group));

    if (json_str(group).len == 0)
        field_required(c->e, &p, "%s", "");
    else if (faults.n)
        field_invalid(c->e, &p, group, "%.*s", STR_ARG(name_fault(c->e->arena, &faults, 0)));
    else if (str_index(json_str(group), '.') == STR_NONE)
        field_invalid(c->e, &p, group, "should be a domain with at least one dot");
}

static void check_own_name(struct crd *c)
{
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path p = field_child(&meta_at, S("name"));
    const struct json *name = json_path(c->v, "metadata", "name", NULL);
    struct str must = str_printf(c->e->arena, "%.*s.%.*s",
                                 STR_ARG(text(json_getz(c->spec, "names"), "plural")),
                                 STR_ARG(text(c->spec, "group")));

    if (!c->old && !str_eq(json_str(name), must))
        field_invalid(c->e, &p, name, "must be spec.names.plural+\".\"+spec.group");
}

/* ---- groups that are kept for Kubernetes ---- */

enum approval {
    APPROVAL_MISSING,
    APPROVAL_BYPASSED,
    APPROVAL_GIVEN,
    APPROVAL_INVALID,
};

static struct str approval_text(const struct json *crd)
{
    return json_str(json_path(crd, "metadata", "annotations", APPROVAL, NULL));
}

static enum approval approval_of(struct arena *a, const struct json *crd)
{
    struct str word = approval_text(crd);
    struct url u;

    if (word.len == 0)
        return APPROVAL_MISSING;
    if (str_starts(word, S("unapproved")))
        return APPROVAL_BYPASSED;
    return url_parse(a, word, &u, NULL) == 0 && u.host.len && u.scheme.len ? APPROVAL_GIVEN
                                                                           : APPROVAL_INVALID;
}

static void check_approval(struct crd *c)
{
    static const char *const kept[] = {"k8s.io", "kubernetes.io"};
    struct field_path meta_at = field_child(NULL, S("metadata"));
    struct field_path notes_at = field_child(&meta_at, S("annotations"));
    struct field_path p = field_key(&notes_at, S(APPROVAL));
    struct arena *a = c->e->arena;
    struct str group = text(c->spec, "group");
    struct json word = json_of_str(approval_text(c->v));
    enum approval is = approval_of(a, c->v);
    bool is_kept = false;

    for (size_t i = 0; i < countof(kept); i++)
        is_kept |= str_eqz(group, kept[i]) || str_ends(group, str_printf(a, ".%s", kept[i]));
    if (!is_kept || (c->old && approval_of(a, c->old) == is))
        return;
    if (is == APPROVAL_MISSING)
        field_required(c->e, &p,
                       "protected groups must have approval annotation \"" APPROVAL
                       "\", see https://github.com/kubernetes/enhancements/pull/1111");
    if (is == APPROVAL_INVALID)
        field_invalid(c->e, &p, &word,
                      "protected groups must have approval annotation \"" APPROVAL
                      "\" with either a URL or a reason starting with \"unapproved\", see "
                      "https://github.com/kubernetes/enhancements/pull/1111");
}

/* ---- columns, subresources ---- */

static void check_column(struct crd *c, const struct field_path *at, const struct json *column)
{
    static const char *const types[] = {"integer", "number", "string", "boolean", "date"};
    static const char *const formats[] = {"int32", "int64", "float",     "double",
                                          "byte",  "date",  "date-time", "password"};
    struct field_path name_at = field_child(at, S("name"));
    struct field_path type_at = field_child(at, S("type"));
    struct field_path format_at = field_child(at, S("format"));
    struct field_path path_at = field_child(at, S("JSONPath")); /* spelled so upstream */
    struct str type = text(column, "type"), format = text(column, "format");
    struct str path = text(column, "jsonPath");

    if (text(column, "name").len == 0)
        field_required(c->e, &name_at, "%s", "");
    if (type.len == 0)
        field_required(c->e, &type_at, "must be one of integer,number,string,boolean,date");
    else if (!str_is_one_of(type, types, countof(types)))
        field_invalid(c->e, &type_at, json_getz(column, "type"),
                      "must be one of integer,number,string,boolean,date");
    if (format.len && !str_is_one_of(format, formats, countof(formats)))
        field_invalid(c->e, &format_at, json_getz(column, "format"),
                      "must be one of int32,int64,float,double,byte,date,date-time,password");
    if (path.len == 0)
        field_required(c->e, &path_at, "%s", "");
    else if (path.at[0] != '.')
        field_invalid(c->e, &path_at, json_getz(column, "jsonPath"),
                      "must be a simple json path starting with .");
}

static void check_columns(struct crd *c, const struct field_path *at, const struct json *list)
{
    json_each (i, list) {
        struct field_path item = field_item(at, i);
        check_column(c, &item, json_at(list, i));
    }
}

static void check_scale_path(struct crd *c, const struct field_path *at,
                             const struct json *scale, const char *name, bool is_needed,
                             const char *below, const char *or_below)
{
    struct field_path p = field_child(at, str_from(name));
    const struct json *v = json_get(scale, str_from(name));
    struct str path = json_str(v);

    if (path.len == 0 && is_needed)
        field_required(c->e, &p, "%s", "");
    if (path.len == 0)
        return;
    if (path.at[0] != '.')
        field_invalid(c->e, &p, v, "must be a simple json path starting with .");
    else if (!str_starts(path, str_from(below)) &&
             !(or_below && str_starts(path, str_from(or_below))))
        field_invalid(c->e, &p, v, "should be a json path under %.*s%s", (int)strlen(below) - 1,
                      below, or_below ? " or .status" : "");
}

static void check_subresources(struct crd *c, const struct field_path *at,
                               const struct json *subresources)
{
    const struct json *scale = json_getz(subresources, "scale");
    struct field_path p = field_child(at, S("scale"));

    if (!json_is(scale, JSON_OBJECT))
        return;
    check_scale_path(c, &p, scale, "specReplicasPath", true, ".spec.", NULL);
    check_scale_path(c, &p, scale, "statusReplicasPath", true, ".status.", NULL);
    check_scale_path(c, &p, scale, "labelSelectorPath", false, ".spec.", ".status.");
}

/* ---- fields that selectors may use ---- */

static void check_selectable(struct crd *c, const struct field_path *at, const struct schema *s,
                             const struct json *list)
{
    size_t n_different = 0;

    if (!is_short(c->e, at, list))
        return;
    json_each (i, list) {
        const struct json *v = json_getz(json_at(list, i), "jsonPath");
        struct field_path item = field_item(at, i);
        struct field_path p = field_child(&item, S("jsonPath"));
        const struct schema *type = NULL;
        bool is_again = false;

        if (json_str(v).len == 0) {
            field_required(c->e, &p, "%s", "");
            continue;
        }
        if (!structural_has_path(c->e->arena, s, json_str(v), true, &type)) {
            field_invalid(c->e, &p, v, "is an invalid path: does not refer to a valid field");
            continue;
        }
        if (str_eqz(json_str(v), ".metadata") || str_starts(json_str(v), S(".metadata.")))
            field_invalid(c->e, &p, v, "must not point to fields in metadata");
        if (type->untyped || (type->type != SCHEMA_STRING && type->type != SCHEMA_BOOL &&
                              type->type != SCHEMA_INT32 && type->type != SCHEMA_INT64))
            field_invalid(c->e, &p, v,
                          "must point to a field of type string, boolean or integer. Enum "
                          "string fields and strings with formats are allowed.");
        for (size_t k = 0; k < i && !is_again; k++)
            is_again = json_eq(json_getz(json_at(list, k), "jsonPath"), v);
        if (is_again)
            field_duplicate(c->e, &p, v);
        n_different += !is_again;
    }
    if (c->rules.few_selectable && n_different > CRD_MAX_SELECTABLE)
        field_too_many(c->e, at, (int64_t)n_different, CRD_MAX_SELECTABLE);
}

/* The list against the schema of one version. */
static void check_selectable_of(struct crd *c, const struct field_path *at,
                                const struct json *version)
{
    const struct json *list = json_getz(version, "selectableFields");
    const struct json *schema = schema_of(version);
    struct json none = json_of_z("");

    if (json_len(list) == 0)
        return;
    if (!schema) {
        field_invalid(c->e, at, &none, "may only be set where there is a schema");
        return;
    }
    if (crd_unstructural_word(schema))
        return; /* said of the schema */
    const struct schema *s = schema_compile(c->e->arena, schema, NULL);
    if (s)
        check_selectable(c, at, s, list);
    schema_compiled_free(s);
}

/* ---- conversion ---- */

static void check_url(struct crd *c, const struct field_path *p, const struct json *v)
{
    static const char form[] = "; desired format: https://host[/path]";
    struct err err = {0};
    struct url u = {0};

    if (json_str(v).len && url_parse_reference(c->e->arena, json_str(v), &u, &err) < 0) {
        field_required(c->e, p, "url must be a valid URL: %.*s%s", STR_ARG(err_str(&err)),
                       form);
        return;
    }
    if (!str_eqz(u.scheme, "https"))
        field_invalid(c->e, p, v, "'https' is the only allowed URL scheme%s", form);
    if (u.host.len == 0)
        field_invalid(c->e, p, v, "host must be specified%s", form);
    if (u.has_userinfo)
        field_invalid(c->e, p, v, "user information is not permitted in the URL");
    if (u.fragment.len)
        field_invalid(c->e, p, v, "fragments are not permitted in the URL");
    if (u.query.len)
        field_invalid(c->e, p, v, "query parameters are not permitted in the URL");
}

/* The path of a service: segments that could be names. */
static void check_url_path(struct crd *c, const struct field_path *p, const struct json *v)
{
    struct str rest = json_str(v), one;
    struct arena *a = c->e->arena;

    if (rest.len == 0 || str_eqz(rest, "/"))
        return;
    if (str_eqz(rest, "//")) {
        field_invalid(c->e, p, v, "segment[0] may not be empty");
        return;
    }
    if (rest.at[0] != '/')
        field_invalid(c->e, p, v, "must start with a '/'");
    rest = str_slice(rest, 1, rest.len - str_ends(rest, S("/")));
    for (size_t i = 0, more = 1; more; i++) {
        more = str_cut(rest, '/', &one, &rest);
        struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, one);
        if (one.len == 0)
            field_invalid(c->e, p, v, "segment[%zu] may not be empty", i);
        for (size_t k = 0; k < faults.n && one.len; k++)
            field_invalid(c->e, p, v, "segment[%zu]: %.*s", i,
                          STR_ARG(name_fault(a, &faults, k)));
    }
}

static void check_service(struct crd *c, const struct field_path *at,
                          const struct json *service)
{
    struct field_path name_at = field_child(at, S("name"));
    struct field_path ns_at = field_child(at, S("namespace"));
    struct field_path port_at = field_child(at, S("port"));
    struct field_path path_at = field_child(at, S("path"));
    const char *fault = port_fault(json_i64(json_getz(service, "port"), 443));

    if (text(service, "name").len == 0)
        field_required(c->e, &name_at, "service name is required");
    if (text(service, "namespace").len == 0)
        field_required(c->e, &ns_at, "service namespace is required");
    if (fault)
        field_invalid(c->e, &port_at, json_getz(service, "port"), "port is not valid: %s",
                      fault);
    check_url_path(c, &path_at, json_getz(service, "path"));
}

static bool is_known_review(struct str version)
{
    return str_eqz(version, "v1") || str_eqz(version, "v1beta1");
}

static void check_review_versions(struct crd *c, const struct field_path *at,
                                  const struct json *list)
{
    bool has_known = false;

    if (json_len(list) == 0)
        field_required(c->e, at, "%s", "");
    if (!is_short(c->e, at, list))
        return;
    json_each (i, list) {
        struct field_path item = field_item(at, i);
        const struct json *v = json_at(list, i);
        bool is_again = false;
        for (size_t k = 0; k < i && !is_again; k++)
            is_again = json_eq(json_at(list, k), v);
        if (is_again)
            field_invalid(c->e, &item, v, "duplicate version");
        else
            check_label(c, &item, v, false);
        has_known |= is_known_review(json_str(v));
    }
    if (json_len(list) && !has_known && c->rules.known_review)
        field_invalid(c->e, at, list, "must include at least one of v1, v1beta1");
}

/* Does the PEM text hold certificates, each one DER sequence? Whether they sign anything is
 * seen when they are used. */
static bool is_pem_good(struct arena *a, struct str pem)
{
    struct str begin = S("-----BEGIN CERTIFICATE-----"), end = S("-----END CERTIFICATE-----");
    size_t n = 0, at;

    while ((at = str_find(pem, begin)) != STR_NONE) {
        struct str der;
        pem = str_slice(pem, at + begin.len, pem.len);
        size_t to = str_find(pem, end);
        if (to == STR_NONE || !base64_decode(a, str_slice(pem, 0, to), &der))
            return false;
        if (der.len < 4 || der.at[0] != 0x30)
            return false;
        n++;
    }
    return n > 0;
}

static bool is_bundle_good(struct crd *c, const struct json *bundle)
{
    struct arena *a = c->e->arena;
    struct str pem;

    return json_str(bundle).len == 0 ||
           (base64_decode(a, json_str(bundle), &pem) && is_pem_good(a, pem));
}

static void check_webhook(struct crd *c, const struct field_path *at, const struct json *client)
{
    struct field_path p = field_child(at, S("webhookClientConfig"));
    struct field_path url_at = field_child(&p, S("url"));
    struct field_path service_at = field_child(&p, S("service"));
    struct field_path bundle_at = field_child(&p, S("caBundle"));
    const struct json *url = json_getz(client, "url"), *service = json_getz(client, "service");
    const struct json *bundle = json_getz(client, "caBundle");

    if (!json_has(client)) {
        field_required(c->e, &p, "required when strategy is set to Webhook");
        return;
    }
    if (json_has(url) == json_has(service))
        field_required(c->e, &p, "exactly one of url or service is required");
    else if (json_has(url))
        check_url(c, &url_at, url);
    else
        check_service(c, &service_at, service);
    /* Tolerated until others depend on it, or where it was bad already. */
    if (c->old && is_true(c->old, "Established") && !is_bundle_good(c, bundle) &&
        is_bundle_good(c, json_path(c->old_spec, "conversion", "webhook", "clientConfig",
                                    "caBundle", NULL)))
        field_invalid(c->e, &bundle_at, bundle,
                      "unable to load root certificates: no certificates in it");
}

static void check_conversion(struct crd *c)
{
    static const char *const strategies[] = {"None", "Webhook"};
    struct field_path at = field_child(&c->spec_at, S("conversion"));
    struct field_path strategy_at = field_child(&at, S("strategy"));
    struct field_path client_at = field_child(&at, S("webhookClientConfig"));
    struct field_path reviews_at = field_child(&at, S("conversionReviewVersions"));
    const struct json *conversion = json_getz(c->spec, "conversion");
    const struct json *webhook = json_getz(conversion, "webhook");
    const struct json *client = json_getz(webhook, "clientConfig");
    const struct json *reviews = json_getz(webhook, "conversionReviewVersions");
    struct str strategy = text(conversion, "strategy");

    if (!json_has(conversion))
        return;
    if (!str_eqz(strategy, "None") && flag(c->spec, "preserveUnknownFields"))
        field_invalid(c->e, &strategy_at, json_getz(conversion, "strategy"),
                      "must be None if spec.preserveUnknownFields is true");
    check_word(c, &strategy_at, json_getz(conversion, "strategy"), strategies,
               countof(strategies));
    if (str_eqz(strategy, "Webhook")) {
        check_webhook(c, &at, client);
        check_review_versions(c, &reviews_at, reviews);
        return;
    }
    if (json_has(client))
        field_forbidden(c->e, &client_at,
                        "should not be set when strategy is not set to Webhook");
    if (json_len(reviews))
        field_forbidden(c->e, &reviews_at,
                        "should not be set when strategy is not set to Webhook");
}

/* ---- versions ---- */

static void check_warning(struct crd *c, const struct field_path *at,
                          const struct json *version)
{
    struct field_path p = field_child(at, S("deprecationWarning"));
    const struct json *warning = json_getz(version, "deprecationWarning");
    struct str s = json_str(warning);

    if (!json_has(warning))
        return;
    if (!flag(version, "deprecated")) {
        field_invalid(c->e, &p, warning, "can only be set for deprecated versions");
        return;
    }
    if (s.len == 0)
        field_invalid(c->e, &p, warning, "cannot be an empty string");
    if (s.len > WARNING_MAX)
        field_invalid(c->e, &p, warning, "must be <= %d characters long", WARNING_MAX);
    for (size_t i = 0; i < s.len;) {
        size_t from = i;
        int32_t rune = str_rune(s, &i);
        if (rune >= 0 && rune_is_printable(rune))
            continue;
        field_invalid(c->e, &p, warning,
                      "must only contain printable UTF-8 characters; non-printable character "
                      "found at index %zu",
                      from);
        break;
    }
}

static bool has_status(const struct json *version)
{
    return json_has(json_path(version, "subresources", "status", NULL));
}

/* Of a common schema: a status in any version counts. */
static bool is_status_on(const struct crd *c, const struct json *version)
{
    bool is_on = has_status(version);

    json_each (i, c->versions)
        is_on |= c->is_common[PART_SCHEMA] && has_status(json_at(c->versions, i));
    return is_on;
}

static void check_part(struct crd *c, enum part part, const struct field_path *at,
                       const struct json *version)
{
    struct field_path schema_at = field_child(at, S("openAPIV3Schema"));
    const struct json *v = json_get(version, str_from(parts[part].in_version));

    switch (part) {
    case PART_SCHEMA:
        if (schema_of(version))
            crd_schema_check(c->e, &schema_at, schema_of(version), is_status_on(c, version),
                             &c->rules);
        break;
    case PART_SUBRESOURCES:
        check_subresources(c, at, v);
        break;
    case PART_COLUMNS:
        check_columns(c, at, v);
        break;
    default:
        check_selectable_of(c, at, version);
        break;
    }
}

static void check_schema_is_there(struct crd *c, const struct field_path *version_at,
                                  const struct json *version)
{
    struct field_path part_at = field_child(version_at, S("schema"));
    struct field_path p = field_child(&part_at, S("openAPIV3Schema"));
    bool keeps_all = flag(c->spec, "preserveUnknownFields");

    if (schema_of(version))
        return;
    if (c->rules.needs_schema)
        field_required(c->e, &p, "schemas are required");
    else if (!keeps_all && flag(version, "served"))
        field_required(c->e, &p, "because otherwise all fields are pruned");
}

static void check_versions(struct crd *c)
{
    struct json_set names = {.arena = c->e->arena};
    size_t n_storage = 0;
    bool is_unique = true;

    json_each (i, c->versions) {
        const struct json *version = json_at(c->versions, i);
        struct field_path at = field_item(&c->versions_at, i);
        struct field_path name_at = field_child(&at, S("name"));
        is_unique &= !json_set_put(&names, json_getz(version, "name"));
        n_storage += flag(version, "storage");
        check_label(c, &name_at, json_getz(version, "name"), false);
        check_schema_is_there(c, &at, version);
        check_warning(c, &at, version);
        for (enum part part = 0; part < PART_COUNT; part++) {
            bool is_common = c->is_common[part];
            struct field_path p = is_common
                                      ? field_child(&c->spec_at, str_from(parts[part].in_spec))
                                      : field_child(&at, str_from(parts[part].in_version));
            if (i == 0 || !is_common)
                check_part(c, part, &p, version);
        }
    }
    if (!is_unique)
        field_invalid(c->e, &c->versions_at, c->versions, "must contain unique version names");
    if (n_storage != 1)
        field_invalid(c->e, &c->versions_at, c->versions,
                      "must have exactly one version marked as storage version");
}

static bool is_said_alike(const struct json *versions, const char *part)
{
    const struct json none = json_of_null();
    const struct json *first = json_get(json_at(versions, 0), str_from(part));

    json_each (i, versions) {
        const struct json *v = json_get(json_at(versions, i), str_from(part));
        if (!json_eq(v ? v : &none, first ? first : &none))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

void crd_stored_versions_check(struct field_errors *e, const struct field_path *at,
                               const struct json *stored, const struct json *versions)
{
    if (json_len(stored) == 0) {
        field_invalid(e, at, stored, "must have at least one stored version");
        return;
    }
    if (!is_short(e, at, stored))
        return;
    json_each (i, versions) {
        const struct json *version = json_at(versions, i);
        bool is_stored = false;
        json_each (k, stored)
            is_stored |= str_eq(json_str(json_at(stored, k)), text(version, "name"));
        if (flag(version, "storage") && !is_stored)
            field_invalid(e, at, json_getz(version, "name"),
                          "must have the storage version %.*s", STR_ARG(text(version, "name")));
    }
    json_each (i, stored) {
        struct field_path item = field_item(at, i);
        bool is_known = false, is_told_later = false;
        json_each (k, versions)
            is_known |=
                str_eq(text(json_at(versions, k), "name"), json_str(json_at(stored, i)));
        for (size_t k = i + 1; k < json_len(stored); k++)
            is_told_later |= json_eq(json_at(stored, k), json_at(stored, i));
        if (!is_known && !is_told_later)
            field_invalid(e, &item, json_at(stored, i), "must appear in spec.versions");
    }
}

/* Which rules hold for c->v, which may break what the stored one breaks. */
static void set_rules(struct crd *c)
{
    const struct json *old_versions = json_getz(c->old_spec, "versions");
    const struct json *conversion = json_getz(c->old_spec, "conversion");
    const struct json *reviews =
        json_path(conversion, "webhook", "conversionReviewVersions", NULL);
    bool has_known = json_len(reviews) == 0;
    bool has_words = false;

    c->rules = (struct crd_rules){true, true, true, true, true, true, true, true};
    json_each (i, old_versions) {
        const struct json *old_list = json_getz(json_at(old_versions, i), "selectableFields");
        crd_rules_drop(&c->rules, schema_of(json_at(old_versions, i)));
        json_each (k, c->versions)
            if (json_len(old_list) > CRD_MAX_SELECTABLE &&
                json_eq(old_list, json_getz(json_at(c->versions, k), "selectableFields")))
                c->rules.few_selectable = false;
    }
    json_each (i, reviews)
        has_known |= is_known_review(json_str(json_at(reviews, i)));
    c->rules.known_review = has_known;
    json_each (i, c->versions) {
        const struct json *schema = schema_of(json_at(c->versions, i));
        has_words |= crd_schema_has_default(schema) || crd_schema_has_extension(schema);
    }
    if (!flag(c->spec, "preserveUnknownFields") || has_words)
        c->rules.structural = true;
    for (enum part part = 0; part < PART_COUNT; part++)
        c->is_common[part] = is_said_alike(c->versions, parts[part].in_version);
}

static void check_unknown_fields(struct crd *c)
{
    struct field_path p = field_child(&c->spec_at, S("preserveUnknownFields"));
    const struct json *v = json_getz(c->spec, "preserveUnknownFields");
    bool has_default = false;

    if (!flag(c->spec, "preserveUnknownFields"))
        return;
    json_each (i, c->versions)
        has_default |= crd_schema_has_default(schema_of(json_at(c->versions, i)));
    if (has_default)
        field_invalid(c->e, &p, v, "must be false in order to use defaults in the schema");
    if (!flag(c->old_spec, "preserveUnknownFields"))
        field_invalid(c->e, &p, v,
                      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                      "spec.versions[*].schema instead");
}

static void check_fixed(struct crd *c)
{
    static const struct {
        const char *parent, *name;
        bool once_established;
    } rows[] = {
        {NULL,    "scope",  true },
        {"names", "kind",   true },
        {NULL,    "group",  false},
        {"names", "plural", false},
    };
    bool is_established = is_true(c->old, "Established");

    for (size_t i = 0; i < countof(rows) && c->old; i++) {
        struct field_path parent_at = field_child(&c->spec_at, S("names"));
        struct field_path p =
            field_child(rows[i].parent ? &parent_at : &c->spec_at, str_from(rows[i].name));
        const struct json *now = rows[i].parent ? json_getz(c->spec, "names") : c->spec;
        const struct json *was = rows[i].parent ? json_getz(c->old_spec, "names") : c->old_spec;
        now = json_get(now, str_from(rows[i].name));
        if (rows[i].once_established && !is_established)
            continue;
        if (!str_eq(json_str(now), text(was, rows[i].name)))
            field_invalid(c->e, &p, now, "field is immutable");
    }
}

void crd_check(const struct schema_at *at)
{
    static const char *const scopes[] = {"Cluster", "Namespaced"};
    struct crd c = {.e = at->errors, .v = at->v, .old = at->old};
    struct field_path status_at = field_child(NULL, S("status"));
    struct field_path accepted_at = field_child(&status_at, S("acceptedNames"));
    struct field_path stored_at = field_child(&status_at, S("storedVersions"));

    c.spec = json_getz(at->v, "spec");
    c.versions = json_getz(c.spec, "versions");
    c.old_spec = json_getz(at->old, "spec");
    c.spec_at = field_child(NULL, S("spec"));
    c.versions_at = field_child(&c.spec_at, S("versions"));
    struct field_path names_at = field_child(&c.spec_at, S("names"));
    struct field_path scope_at = field_child(&c.spec_at, S("scope"));
    if (!is_short(c.e, &c.versions_at, c.versions))
        return;
    set_rules(&c);
    check_own_name(&c);
    check_group(&c);
    check_word(&c, &scope_at, json_getz(c.spec, "scope"), scopes, countof(scopes));
    check_unknown_fields(&c);
    check_versions(&c);
    check_names(&c, &names_at, json_getz(c.spec, "names"), true);
    check_conversion(&c);
    check_fixed(&c);
    check_names(&c, &accepted_at, json_path(c.v, "status", "acceptedNames", NULL), false);
    crd_stored_versions_check(c.e, &stored_at, json_path(c.v, "status", "storedVersions", NULL),
                              c.versions);
    check_approval(&c);
}
