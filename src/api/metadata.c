/* metadata.c - what every object's metadata must hold */
#include "api/metadata.h"

#include "api/field_manager.h"
#include "api/meta_v1.h"
#include "value/printable.h"

#define SUBRESOURCE_MAX 256
#define REASON_MAX 1024
#define MESSAGE_MAX 32768

#define text_of(v, name) json_str(json_getz((v), name))

/* Metadata by its fields. */
struct meta {
    const struct json *v;
    struct schema_values values;
};
#define META(m, field) FIELD_VALUE(&(m)->values, object_meta, field)

static void read_meta(struct meta *out, struct arena *a, const struct json *v)
{
    out->v = v;
    schema_values(&out->values, a, &schema_object_meta, v);
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
                        const struct meta *meta, struct metadata_rule rule)
{
    struct str name = json_str(META(meta, name)), ns = json_str(META(meta, namespace));
    struct str generate = json_str(META(meta, generate_name));
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

/* What the server writes, by the number of the field; null takes it out. */
struct told {
    uint64_t fields;
    struct json v[SCHEMA_SET_FIELDS];
};

static void tell(struct told *x, size_t field, struct json v)
{
    x->fields |= UINT64_C(1) << field;
    x->v[field] = v;
}

/* As the old object has it. */
static void keep(struct told *x, size_t field, const struct json *old)
{
    const struct json *v = json_get(old, schema_object_meta.fields[field].name);

    tell(x, field, v ? *v : json_of_null());
}

/* The members as they stand, then what is new; each knows its place. */
static struct json with_told(struct arena *a, const struct json *meta, struct told *x)
{
    static const size_t new_ones[] = {
        FIELD_OF(object_meta, uid),
        FIELD_OF(object_meta, creation_timestamp),
        FIELD_OF(object_meta, deletion_timestamp),
        FIELD_OF(object_meta, deletion_grace_period_seconds),
        FIELD_OF(object_meta, generation),
    };
    size_t n = 0, most = (json_is(meta, JSON_OBJECT) ? meta->len : 0) + countof(new_ones);
    struct json_member *members =
        arena_raw(a, most * sizeof(*members), _Alignof(struct json_member));

    json_each_member (m, meta) {
        const struct schema_field *f = schema_field_of(&schema_object_meta, m);
        size_t at = f ? (size_t)(f - schema_object_meta.fields) : 0;
        struct json v = m->value;
        if (f && (x->fields >> at & 1)) {
            v = x->v[at];
            x->fields &= ~(UINT64_C(1) << at);
            if (v.type == JSON_NULL)
                continue;
        }
        v.place = (uint16_t)(f ? at + 1 : 0);
        members[n++] = (struct json_member){m->name, v};
    }
    for (size_t i = 0; i < countof(new_ones); i++) {
        size_t at = new_ones[i];
        if (!(x->fields >> at & 1) || x->v[at].type == JSON_NULL)
            continue;
        members[n] = (struct json_member){schema_object_meta.fields[at].name, x->v[at]};
        members[n++].value.place = (uint16_t)(at + 1);
    }
    return (struct json){.type = JSON_OBJECT, .len = (uint32_t)n, .members = members};
}

struct json metadata_of_new(struct arena *a, const struct json *meta, struct str uid,
                            struct str created, bool has_generation)
{
    struct told x;

    x.fields = 0;
    tell(&x, FIELD_OF(object_meta, self_link), json_of_null());
    tell(&x, FIELD_OF(object_meta, resource_version), json_of_null());
    tell(&x, FIELD_OF(object_meta, uid), json_of_str(uid));
    tell(&x, FIELD_OF(object_meta, creation_timestamp), json_of_str(created));
    tell(&x, FIELD_OF(object_meta, deletion_timestamp), json_of_null());
    tell(&x, FIELD_OF(object_meta, deletion_grace_period_seconds), json_of_null());
    tell(&x, FIELD_OF(object_meta, generation),
         has_generation ? json_of_i64(1) : json_of_null());
    return with_told(a, meta, &x);
}

struct json metadata_following(struct arena *a, const struct json *meta, const struct json *old,
                               bool is_patch)
{
    struct told x;

    x.fields = 0;
    tell(&x, FIELD_OF(object_meta, self_link), json_of_null());
    tell(&x, FIELD_OF(object_meta, resource_version), json_of_null());
    if (!is_patch)
        keep(&x, FIELD_OF(object_meta, uid), old);
    keep(&x, FIELD_OF(object_meta, creation_timestamp), old);
    keep(&x, FIELD_OF(object_meta, deletion_timestamp), old);
    keep(&x, FIELD_OF(object_meta, deletion_grace_period_seconds), old);
    keep(&x, FIELD_OF(object_meta, generation), old);
    return with_told(a, meta, &x);
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
    static const struct str needed[] = {S_INIT("kind"), S_INIT("name"), S_INIT("uid")};
    struct str version = text_of(ref, "apiVersion"), group, rest;
    struct field_path version_at = field_child(at, S("apiVersion"));
    struct json bad = json_of_str(version);

    if (version.len == 0)
        field_required(e, &version_at, "must not be empty");
    else if (str_cut(version, '/', &group, &rest) && str_index(rest, '/') != STR_NONE)
        field_invalid(e, &version_at, &bad, "unexpected GroupVersion string: %.*s",
                      STR_ARG(version));
    for (size_t i = 0; i < countof(needed); i++) {
        struct field_path one = field_child(at, needed[i]);
        if (json_str(json_get(ref, needed[i])).len == 0)
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
        if (name.at[i] >= ' ' && name.at[i] <= '~') { /* as most */
            i++;
            continue;
        }
        int32_t rune = str_rune(name, &i);
        if (rune < 0 || !rune_is_printable(rune))
            field_invalid(e, at, &bad,
                          "should not contain unprintable characters (at byte %zu)", from);
    }
}

static void check_manager(struct field_errors *e, const struct field_path *at,
                          const struct json *entry)
{
    static const char *const operations[] = {"Apply", "Update"};
    struct field_path op_at = field_child(at, S("operation"));
    struct field_path type_at = field_child(at, S("fieldsType"));
    struct field_path manager_at = field_child(at, S("manager"));
    struct field_path sub_at = field_child(at, S("subresource"));
    struct str op = text_of(entry, "operation"), type = text_of(entry, "fieldsType");
    struct json bad_type = json_of_str(type);

    if (op.len == 0)
        field_required(e, &op_at, "%s", "");
    else
        field_one_of(e, &op_at, json_getz(entry, "operation"), operations, countof(operations));
    if (type.len && !str_eq(type, S("FieldsV1")))
        field_invalid(e, &type_at, &bad_type, "must be `FieldsV1`");
    field_manager_check(e, &manager_at, text_of(entry, "manager"));
    if (text_of(entry, "subresource").len > SUBRESOURCE_MAX)
        field_too_long(e, &sub_at, json_getz(entry, "subresource"), SUBRESOURCE_MAX);
}

/* But for entries that are shared with what is known. */
static void check_managers(struct field_errors *e, const struct field_path *at,
                           const struct json *list, const struct json *known)
{
    json_each (i, list) {
        struct field_path item = field_item(at, i);
        if (!json_is_shared(json_at(list, i), json_at(known, i)))
            check_manager(e, &item, json_at(list, i));
    }
}

void managed_fields_check(struct field_errors *e, const struct field_path *at,
                          const struct json *list)
{
    check_managers(e, at, list, NULL);
}

/* ---- the whole ---- */

typedef void check_fn(struct field_errors *e, const struct field_path *at,
                      const struct json *v);

static void check_part(struct field_errors *e, const struct field_path *at, struct str name,
                       check_fn *check, const struct json *v, const struct json *known)
{
    struct field_path part_at = field_child(at, name);

    if (v && !json_is_shared(v, known))
        check(e, &part_at, v);
}

/* What create and update have in common. What is shared with `known`, which may be NULL, was
 * judged before. */
static void check_common(struct field_errors *e, const struct field_path *at,
                         const struct meta *meta, const struct meta *known)
{
    struct field_path managers_at = field_child(at, S("managedFields"));

    check_part(e, at, S("labels"), labels_check, META(meta, labels),
               known ? META(known, labels) : NULL);
    check_part(e, at, S("annotations"), annotations_check, META(meta, annotations),
               known ? META(known, annotations) : NULL);
    check_part(e, at, S("ownerReferences"), owner_references_check,
               META(meta, owner_references), known ? META(known, owner_references) : NULL);
    check_managers(e, &managers_at, META(meta, managed_fields),
                   known ? META(known, managed_fields) : NULL);
}

static void check_generation(struct field_errors *e, const struct field_path *at,
                             const struct json *generation)
{
    struct field_path generation_at = field_child(at, S("generation"));

    if (json_i64(generation, 0) < 0)
        field_invalid(e, &generation_at, generation, "must be greater than or equal to 0");
}

void metadata_check_create(struct field_errors *e, const struct field_path *at,
                           const struct json *v, struct metadata_rule rule)
{
    struct field_path finalizers_at = field_child(at, S("finalizers"));
    struct meta meta, known;

    read_meta(&meta, e->arena, v);
    if (rule.known)
        read_meta(&known, e->arena, rule.known);
    check_names(e, at, &meta, rule);
    check_generation(e, at, META(&meta, generation));
    check_common(e, at, &meta, rule.known ? &known : NULL);
    check_finalizers(e, &finalizers_at, META(&meta, finalizers));
}

/* A text that is empty is a field that was not given. */
static bool is_set(const struct json *v)
{
    return json_has(v) && !(v->type == JSON_STRING && json_str(v).len == 0);
}

static void check_fixed(struct field_errors *e, const struct field_path *at,
                        const struct meta *meta, const struct meta *old)
{
    static const size_t fixed[] = {
        FIELD_OF(object_meta, name),
        FIELD_OF(object_meta, namespace),
        FIELD_OF(object_meta, uid),
        FIELD_OF(object_meta, creation_timestamp),
        FIELD_OF(object_meta, deletion_timestamp),
        FIELD_OF(object_meta, deletion_grace_period_seconds),
    };
    static const struct json null = {.type = JSON_NULL};

    for (size_t i = 0; i < countof(fixed); i++) {
        const struct json *now = schema_value(&meta->values, fixed[i]);
        const struct json *was = schema_value(&old->values, fixed[i]);
        struct field_path one = field_child(at, schema_object_meta.fields[fixed[i]].name);
        if ((is_set(now) || is_set(was)) && !json_eq(now ? now : &null, was ? was : &null))
            field_invalid(e, &one, now, "field is immutable");
    }
}

static bool is_same(const struct json *a, const struct json *b)
{
    return json_is_shared(a, b) || (a->type == JSON_INT && b->type == JSON_INT && a->i == b->i);
}

static bool is_named(const struct json_member *m, struct str name)
{
    return m->name.len == name.len && bytes_eq(m->name.at, name.at, name.len);
}

/* Is all but the version, and who owns what, as it was, member by member? So a write of a
 * status leaves it. *managed is what owns now, *was what did. */
static bool is_as_before(const struct json *v, const struct json *old,
                         const struct json **managed, const struct json **was)
{
    const struct str version = S("resourceVersion"), owned = S("managedFields");
    uint32_t k = 0;

    *managed = *was = NULL;
    if (!json_is(v, JSON_OBJECT) || !json_is(old, JSON_OBJECT))
        return false;
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        k += k < old->len && is_named(&old->members[k], version);
        if (k == old->len || !is_named(m, old->members[k].name))
            return false;
        if (is_named(m, owned)) {
            *managed = &m->value;
            *was = &old->members[k].value;
        } else if (!is_same(&m->value, &old->members[k].value)) {
            return false;
        }
        k++;
    }
    k += k < old->len && is_named(&old->members[k], version);
    return k == old->len;
}

/* Upstream tells a version that is missing after the finalizers, before the rest. */
static void check_update(struct field_errors *e, const struct field_path *at,
                         const struct json *v, const struct json *old_v, bool needs_version,
                         bool is_known)
{
    struct field_path finalizers_at = field_child(at, S("finalizers"));
    struct field_path version_at = field_child(at, S("resourceVersion"));
    struct field_path generation_at = field_child(at, S("generation"));
    struct json no_version = json_of_z("");
    const struct json *managed, *was;
    struct meta meta, old;

    if (is_known && !needs_version && is_as_before(v, old_v, &managed, &was)) {
        struct field_path managers_at = field_child(at, S("managedFields"));
        check_managers(e, &managers_at, managed, was);
        return;
    }
    read_meta(&meta, e->arena, v);
    read_meta(&old, e->arena, old_v);
    if (json_has(META(&old, deletion_timestamp)))
        check_finalizers_update(e, &finalizers_at, META(&meta, finalizers),
                                META(&old, finalizers));
    if (needs_version && json_str(META(&meta, resource_version)).len == 0)
        field_invalid(e, &version_at, &no_version, "must be specified for an update");
    check_generation(e, at, META(&meta, generation));
    if (json_i64(META(&meta, generation), 0) < json_i64(META(&old, generation), 0))
        field_invalid(e, &generation_at, META(&meta, generation), "must not be decremented");
    check_fixed(e, at, &meta, &old);
    check_common(e, at, &meta, is_known ? &old : NULL);
}

void metadata_check_update(struct field_errors *e, const struct field_path *at,
                           const struct json *meta, const struct json *old)
{
    check_update(e, at, meta, old, true, true);
}

void metadata_check_write(struct field_errors *e, const struct field_path *at,
                          const struct json *meta, const struct json *old, bool is_known)
{
    check_update(e, at, meta, old, false, is_known);
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
    struct str time = text_of(c, "lastTransitionTime");
    struct instant t = {0};

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
    if (!time_is_canonical(time, false) &&
        (time_parse(time, &t, NULL) < 0 || !instant_is_set(t)))
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
                      const struct json *list, const struct json *known)
{
    struct json_set types = {.arena = e->arena};

    if (json_is_shared(list, known))
        return;
    json_each (i, list) {
        struct field_path item = field_item(at, i);
        const struct json *c = json_at(list, i), *type = json_getz(c, "type");
        if (!json_is(type, JSON_STRING))
            type = json_new(e->arena, json_of_z(""));
        if (json_set_put(&types, type))
            field_duplicate(e, &item, type);
        if (!json_is_shared(c, json_at(known, i)))
            check_condition(e, &item, c);
    }
}
