/* metadata.c - what every object's metadata must hold */
#include "api/metadata.h"

#include "api/field_manager.h"
#include "value/printable.h"

#define SUBRESOURCE_MAX 256
#define REASON_MAX 1024
#define MESSAGE_MAX 32768

static struct str text_of(const struct json *v, const char *name)
{
    return json_str(json_get(v, str_from(name)));
}

static void check_name(struct field_errors *e, const struct field_path *at, enum name_rule rule,
                       struct str value)
{
    struct json v = json_of_str(value);

    field_check_name(e, at, rule, &v);
}

/* ---- names ---- */

static enum name_rule as_prefix(enum name_rule rule)
{
    switch (rule) {
    case NAME_DNS_LABEL:
        return NAME_DNS_LABEL_PREFIX;
    case NAME_DNS_1035_LABEL:
        return NAME_DNS_1035_LABEL_PREFIX;
    case NAME_PATH_SEGMENT:
        return NAME_PATH_SEGMENT_PREFIX;
    default:
        return NAME_DNS_SUBDOMAIN_PREFIX;
    }
}

static void check_names(struct field_errors *e, const struct field_path *at,
                        const struct json *meta, struct metadata_rule rule)
{
    struct str name = text_of(meta, "name"), ns = text_of(meta, "namespace");
    struct str generate = text_of(meta, "generateName");
    struct field_path name_at = field_child(at, S("name")),
                      ns_at = field_child(at, S("namespace"));
    struct field_path generate_at = field_child(at, S("generateName"));

    if (generate.len)
        check_name(e, &generate_at, as_prefix(rule.name), generate);
    if (name.len == 0)
        field_required(e, &name_at, "name or generateName is required");
    else
        check_name(e, &name_at, rule.name, name);
    if (!rule.is_namespaced && ns.len)
        field_forbidden(e, &ns_at, "not allowed on this type");
    else if (rule.is_namespaced && ns.len == 0)
        field_required(e, &ns_at, "%s", "");
    else if (rule.is_namespaced)
        check_name(e, &ns_at, NAME_DNS_LABEL, ns);
}

struct str metadata_generate_name(struct arena *a, struct str generate_name, uint32_t random)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct buf out = buf_in(a, 64);

    buf_add(&out, str_slice(generate_name, 0, METADATA_GENERATED_BASE_MAX));
    for (int i = 0; i < 5; i++, random /= sizeof(letters) - 1)
        buf_byte(&out, letters[random % (sizeof(letters) - 1)]);
    return buf_str(&out);
}

struct str metadata_uid(struct arena *a, const uint8_t random[16])
{
    static const char digits[] = "0123456789abcdef";
    char *out = arena_raw(a, 36, 1), *p = out;

    for (int i = 0; i < 16; i++) {
        uint8_t b = random[i];
        if (i == 6)
            b = (uint8_t)(0x40 | (b & 0x0F));
        if (i == 8)
            b = (uint8_t)(0x80 | (b & 0x3F));
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = digits[b >> 4];
        *p++ = digits[b & 15];
    }
    return str_of(out, 36);
}

int metadata_match_namespace(struct str request_ns, struct str object_ns, struct str *out,
                             struct err *err)
{
    if (request_ns.len && object_ns.len && !str_eq(request_ns, object_ns))
        return err_set(err, ERR_SYNTAX,
                       "the namespace of the provided object does not match the "
                       "namespace sent on the request");
    *out = request_ns;
    return 0;
}

int metadata_check_preconditions(struct str want_uid, struct str want_version, struct str uid,
                                 struct str version, struct err *err)
{
    if (want_uid.len && !str_eq(want_uid, uid))
        return err_set(err, ERR_CONFLICT,
                       "the UID in the precondition (%.*s) does not match the UID in record "
                       "(%.*s). The object might have been deleted and then recreated",
                       STR_ARG(want_uid), STR_ARG(uid));
    if (want_version.len && !str_eq(want_version, version))
        return err_set(err, ERR_CONFLICT,
                       "the ResourceVersion in the precondition (%.*s) does not match the "
                       "ResourceVersion in record (%.*s). The object might have been modified",
                       STR_ARG(want_version), STR_ARG(version));
    return 0;
}

/* ---- annotations, finalizers ---- */

void annotations_check(struct field_errors *e, const struct field_path *at,
                       const struct json *annotations)
{
    struct json none = json_of_z("");
    size_t total = 0;

    json_each_member (m, annotations) {
        check_name(e, at, NAME_LABEL_KEY, str_lower(e->arena, m->name));
        total += m->name.len + json_str(&m->value).len;
    }
    if (total > METADATA_ANNOTATIONS_MAX)
        field_too_long(e, at, &none, METADATA_ANNOTATIONS_MAX);
}

static bool list_has(const struct json *list, struct str text)
{
    json_each (i, list)
        if (str_eq(json_str(json_at(list, i)), text))
            return true;
    return false;
}

static void check_finalizers(struct field_errors *e, const struct field_path *at,
                             const struct json *list)
{
    json_each (i, list)
        check_name(e, at, NAME_LABEL_KEY, json_str(json_at(list, i)));
    if (list_has(list, S("orphan")) && list_has(list, S("foregroundDeletion")))
        field_invalid(e, at, list,
                      "finalizer orphan and foregroundDeletion cannot be both set");
}

/* An object that is being deleted gets no more finalizers. */
static void check_finalizers_update(struct field_errors *e, const struct field_path *at,
                                    const struct json *list, const struct json *old)
{
    struct buf added = buf_in(e->arena, 64);
    struct json_set was = {.arena = e->arena};

    json_each (i, old)
        json_set_put(&was, json_at(old, i));
    json_each (i, list) {
        struct str one = json_str(json_at(list, i));
        if (!json_set_has(&was, json_at(list, i)))
            buf_printf(&added, "%s\"%.*s\"", added.len ? ", " : "", STR_ARG(one));
    }
    if (added.len)
        field_forbidden(e, at,
                        "no new finalizers can be added if the object is being deleted, "
                        "found new finalizers []string{%.*s}",
                        STR_ARG(buf_str(&added)));
}

/* ---- owners ---- */

static void check_owner(struct field_errors *e, const struct field_path *at,
                        const struct json *ref)
{
    static const char *const needed[] = {"kind", "name", "uid"};
    struct str version = text_of(ref, "apiVersion"), group, rest;
    struct field_path version_at = field_child(at, S("apiVersion"));
    struct json bad = json_of_str(version);

    if (version.len == 0)
        field_required(e, &version_at, "must not be empty");
    else if (str_cut(version, '/', &group, &rest) && str_index(rest, '/') != STR_NONE)
        field_invalid(e, &version_at, &bad, "unexpected GroupVersion string: %.*s",
                      STR_ARG(version));
    for (size_t i = 0; i < countof(needed); i++) {
        struct field_path one = field_child(at, str_from(needed[i]));
        if (text_of(ref, needed[i]).len == 0)
            field_required(e, &one, "must not be empty");
    }
    if (str_eq(version, S("v1")) && str_eq(text_of(ref, "kind"), S("Event")))
        field_invalid(e, at, ref, "/v1, Kind=Event is disallowed from being an owner");
}

void owner_references_check(struct field_errors *e, const struct field_path *at,
                            const struct json *refs)
{
    const struct json *first = NULL;

    json_each (i, refs) {
        const struct json *ref = json_at(refs, i);
        struct field_path item = field_item(at, i);
        check_owner(e, &item, ref);
        if (!json_bool(json_getz(ref, "controller"), false))
            continue;
        if (first)
            field_invalid(
                e, at, refs,
                "Only one reference can have Controller set to true. Found \"true\" in "
                "references for %.*s/%.*s and %.*s/%.*s",
                STR_ARG(text_of(first, "kind")), STR_ARG(text_of(first, "name")),
                STR_ARG(text_of(ref, "kind")), STR_ARG(text_of(ref, "name")));
        else
            first = ref;
    }
}

const struct json *owner_references_dedup(struct arena *a, const struct json *refs,
                                          struct str *duplicate)
{
    struct json_set seen = {.arena = a};
    struct json_arr kept = arr_in(a);

    json_each (i, refs) {
        if (!json_set_put(&seen, json_at(refs, i)))
            arr_add(&kept, *json_at(refs, i));
        else if (duplicate)
            *duplicate = text_of(json_at(refs, i), "uid");
    }
    return kept.items.len == json_len(refs) ? refs : json_new(a, arr_done(&kept));
}

/* ---- managed fields ---- */

void field_manager_check(struct field_errors *e, const struct field_path *at, struct str name)
{
    struct json bad = json_of_str(name);

    if (name.len > FIELD_MANAGER_MAX)
        field_too_long(e, at, &bad, FIELD_MANAGER_MAX);
    for (size_t i = 0; i < name.len;) {
        size_t from = i;
        int32_t rune = str_rune(name, &i);
        if (rune < 0 || !rune_is_printable(rune))
            field_invalid(e, at, &bad,
                          "should not contain unprintable characters (at byte %zu)", from);
    }
}

void managed_fields_check(struct field_errors *e, const struct field_path *at,
                          const struct json *list)
{
    static const char *const operations[] = {"Apply", "Update"};

    json_each (i, list) {
        const struct json *entry = json_at(list, i);
        struct field_path item = field_item(at, i);
        struct field_path op_at = field_child(&item, S("operation"));
        struct field_path type_at = field_child(&item, S("fieldsType"));
        struct field_path manager_at = field_child(&item, S("manager"));
        struct field_path sub_at = field_child(&item, S("subresource"));
        struct str op = text_of(entry, "operation"), type = text_of(entry, "fieldsType");
        struct json bad_type = json_of_str(type);

        if (op.len == 0)
            field_required(e, &op_at, "%s", "");
        else
            field_one_of(e, &op_at, json_getz(entry, "operation"), operations,
                         countof(operations));
        if (type.len && !str_eq(type, S("FieldsV1")))
            field_invalid(e, &type_at, &bad_type, "must be `FieldsV1`");
        field_manager_check(e, &manager_at, text_of(entry, "manager"));
        if (text_of(entry, "subresource").len > SUBRESOURCE_MAX)
            field_too_long(e, &sub_at, json_getz(entry, "subresource"), SUBRESOURCE_MAX);
    }
}

/* ---- the whole ---- */

/* What create and update have in common. */
/* What is shared with `old`, which may be NULL, was judged when it was stored. */
static void check_common(struct field_errors *e, const struct field_path *at,
                         const struct json *meta, const struct json *old)
{
    static const struct {
        struct str name;
        void (*check)(struct field_errors *e, const struct field_path *at,
                      const struct json *v);
    } parts[] = {
        {S_INIT("labels"),          labels_check          },
        {S_INIT("annotations"),     annotations_check     },
        {S_INIT("ownerReferences"), owner_references_check},
        {S_INIT("managedFields"),   managed_fields_check  },
    };

    for (size_t i = 0; i < countof(parts); i++) {
        struct field_path part_at = field_child(at, parts[i].name);
        const struct json *v = json_get(meta, parts[i].name);
        if (v && !json_is_shared(v, json_get(old, parts[i].name)))
            parts[i].check(e, &part_at, v);
    }
}

static void check_generation(struct field_errors *e, const struct field_path *at,
                             const struct json *meta)
{
    struct field_path generation_at = field_child(at, S("generation"));

    if (json_i64(json_getz(meta, "generation"), 0) < 0)
        field_invalid(e, &generation_at, json_getz(meta, "generation"),
                      "must be greater than or equal to 0");
}

void metadata_check_create(struct field_errors *e, const struct field_path *at,
                           const struct json *meta, struct metadata_rule rule)
{
    struct field_path finalizers_at = field_child(at, S("finalizers"));

    check_names(e, at, meta, rule);
    check_generation(e, at, meta);
    check_common(e, at, meta, NULL);
    check_finalizers(e, &finalizers_at, json_getz(meta, "finalizers"));
}

/* A text that is empty is a field that was not given. */
static bool is_set(const struct json *v)
{
    return json_has(v) && !(v->type == JSON_STRING && json_str(v).len == 0);
}

static void check_fixed(struct field_errors *e, const struct field_path *at,
                        const struct json *meta, const struct json *old)
{
    static const char *const fixed[] = {"name",
                                        "namespace",
                                        "uid",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds"};
    static const struct json null = {.type = JSON_NULL};

    for (size_t i = 0; i < countof(fixed); i++) {
        struct field_path one = field_child(at, str_from(fixed[i]));
        const struct json *now = json_get(meta, str_from(fixed[i]));
        const struct json *was = json_get(old, str_from(fixed[i]));
        if ((is_set(now) || is_set(was)) && !json_eq(now ? now : &null, was ? was : &null))
            field_invalid(e, &one, now, "field is immutable");
    }
}

void metadata_check_update(struct field_errors *e, const struct field_path *at,
                           const struct json *meta, const struct json *old)
{
    struct field_path finalizers_at = field_child(at, S("finalizers"));
    struct field_path version_at = field_child(at, S("resourceVersion"));
    struct field_path generation_at = field_child(at, S("generation"));
    struct json no_version = json_of_z("");

    if (json_has(json_getz(old, "deletionTimestamp")))
        check_finalizers_update(e, &finalizers_at, json_getz(meta, "finalizers"),
                                json_getz(old, "finalizers"));
    if (text_of(meta, "resourceVersion").len == 0)
        field_invalid(e, &version_at, &no_version, "must be specified for an update");
    check_generation(e, at, meta);
    if (json_i64(json_getz(meta, "generation"), 0) < json_i64(json_getz(old, "generation"), 0))
        field_invalid(e, &generation_at, json_getz(meta, "generation"),
                      "must not be decremented");
    check_fixed(e, at, meta, old);
    check_common(e, at, meta, old);
}

/* ---- conditions ---- */

/* [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])? */
static bool is_reason(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_word = is_letter || (c >= '0' && c <= '9') || c == '_';
        bool is_inside = i > 0 && i + 1 < s.len;
        if (!(i == 0 ? is_letter : is_word || (is_inside && (c == ',' || c == ':'))))
            return false;
    }
    return true;
}

static void check_condition(struct field_errors *e, const struct field_path *at,
                            const struct json *c)
{
    static const char *const statuses[] = {"False", "True", "Unknown"};
    struct field_path type_at = field_child(at, S("type")),
                      status_at = field_child(at, S("status"));
    struct field_path seen_at = field_child(at, S("observedGeneration"));
    struct field_path time_at = field_child(at, S("lastTransitionTime"));
    struct field_path reason_at = field_child(at, S("reason"));
    struct field_path message_at = field_child(at, S("message"));
    struct str reason = text_of(c, "reason");
    struct instant time = {0};

    if (text_of(c, "type").len == 0)
        field_required(e, &type_at, "%s", "");
    else
        check_name(e, &type_at, NAME_LABEL_KEY, text_of(c, "type"));
    if (text_of(c, "status").len == 0)
        field_required(e, &status_at, "%s", "");
    else
        field_one_of(e, &status_at, json_getz(c, "status"), statuses, countof(statuses));
    if (json_i64(json_getz(c, "observedGeneration"), 0) < 0)
        field_invalid(e, &seen_at, json_getz(c, "observedGeneration"),
                      "must be greater than or equal to zero");
    if (time_parse(text_of(c, "lastTransitionTime"), &time, NULL) < 0 || !instant_is_set(time))
        field_required(e, &time_at, "%s", "");
    if (reason.len == 0)
        field_required(e, &reason_at, "%s", "");
    else if (!is_reason(reason))
        field_invalid(e, &reason_at, json_getz(c, "reason"),
                      "a condition reason must start with alphabetic character, optionally "
                      "followed by a string of alphanumeric characters or '_,:', and must end "
                      "with an alphanumeric character or '_'");
    if (reason.len > REASON_MAX)
        field_too_long(e, &reason_at, json_getz(c, "reason"), REASON_MAX);
    if (text_of(c, "message").len > MESSAGE_MAX)
        field_too_long(e, &message_at, json_getz(c, "message"), MESSAGE_MAX);
}

void conditions_check(struct field_errors *e, const struct field_path *at,
                      const struct json *list)
{
    struct json_set types = {.arena = e->arena};

    json_each (i, list) {
        struct field_path item = field_item(at, i);
        const struct json *type =
            json_new(e->arena, json_of_str(text_of(json_at(list, i), "type")));
        if (json_set_put(&types, type))
            field_duplicate(e, &item, type);
        check_condition(e, &item, json_at(list, i));
    }
}
