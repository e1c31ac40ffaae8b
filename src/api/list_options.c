/* list_options.c - how to list or watch */
#include "api/list_options.h"

#include "base/base64.h"

#define CONTINUE_VERSION "meta.k8s.io/v1"
#define CONTINUE_MAX 8192 /* bytes of a token */

/* ---- reading ---- */

static struct str text_of(const struct str_map *query, struct str name)
{
    return str_map_get(query, name);
}

static bool flag_of(const struct str_map *query, struct str name, bool *is_there)
{
    const struct str *v = str_map_find(query, name);

    *is_there = v != NULL;
    return v && !str_eq(*v, S("0")) && !str_eq_nocase(*v, S("false"));
}

static int number_of(const struct str_map *query, struct str name, int64_t *out, bool *is_there,
                     struct err *err)
{
    const struct str *v = str_map_find(query, name);

    *is_there = v != NULL;
    if (v && !str_to_i64(*v, out))
        return err_set(err, ERR_SYNTAX, "%.*s: invalid number '%.*s'", STR_ARG(name),
                       (int)MIN(v->len, (size_t)64), v->at ? v->at : "");
    return 0;
}

int list_options_parse(struct arena *a, const struct str_map *query, struct list_options *out,
                       struct err *err)
{
    struct list_options o = {
        .resource_version = text_of(query, S("resourceVersion")),
        .resource_version_match = text_of(query, S("resourceVersionMatch")),
        .continue_token = text_of(query, S("continue")),
    };
    bool is_there;

    o.watch = flag_of(query, S("watch"), &is_there);
    o.allow_watch_bookmarks = flag_of(query, S("allowWatchBookmarks"), &is_there);
    o.send_initial_events = flag_of(query, S("sendInitialEvents"), &o.has_send_initial_events);
    if (number_of(query, S("timeoutSeconds"), &o.timeout_seconds, &o.has_timeout, err) < 0 ||
        number_of(query, S("limit"), &o.limit, &is_there, err) < 0 ||
        selector_parse(a, text_of(query, S("labelSelector")), &o.labels, err) < 0 ||
        field_selector_parse(a, text_of(query, S("fieldSelector")), &o.fields, err) < 0)
        return -1;
    *out = o;
    return 0;
}

/* ---- checking ---- */

static void match_not_supported(struct field_errors *e, const struct field_path *at,
                                struct str match, bool is_watch)
{
    struct json known[] = {json_of_z("NotOlderThan"), json_of_z("Exact"), json_of_z("")};
    struct json bad = json_of_str(match);

    field_not_supported(e, at, &bad, known, is_watch ? 1 : countof(known));
}

static void check_list(struct field_errors *e, const struct list_options *o)
{
    struct field_path match_at = field_child(NULL, S("resourceVersionMatch"));
    struct field_path events_at = field_child(NULL, S("sendInitialEvents"));
    struct str match = o->resource_version_match;

    if (match.len) {
        if (o->resource_version.len == 0)
            field_forbidden(e, &match_at,
                            "resourceVersionMatch is forbidden unless "
                            "resourceVersion is provided");
        if (o->continue_token.len)
            field_forbidden(e, &match_at,
                            "resourceVersionMatch is forbidden when continue is provided");
        if (!str_eq(match, S("Exact")) && !str_eq(match, S("NotOlderThan")))
            match_not_supported(e, &match_at, match, false);
        if (str_eq(match, S("Exact")) && str_eq(o->resource_version, S("0")))
            field_forbidden(e, &match_at,
                            "resourceVersionMatch \"exact\" is forbidden for "
                            "resourceVersion \"0\"");
    }
    if (o->has_send_initial_events)
        field_forbidden(e, &events_at, "sendInitialEvents is forbidden for list");
}

static void check_watch(struct field_errors *e, const struct list_options *o,
                        bool has_watch_list)
{
    struct field_path match_at = field_child(NULL, S("resourceVersionMatch"));
    struct field_path events_at = field_child(NULL, S("sendInitialEvents"));
    struct str match = o->resource_version_match;
    bool is_not_older = str_eq(match, S("NotOlderThan"));

    if (o->has_send_initial_events) {
        if (!is_not_older)
            field_forbidden(e, &match_at,
                            "sendInitialEvents requires setting "
                            "resourceVersionMatch to NotOlderThan");
        if (!has_watch_list)
            field_forbidden(e, &events_at,
                            "sendInitialEvents is forbidden for watch unless "
                            "the WatchList feature gate is enabled");
    }
    if (match.len) {
        if (!o->has_send_initial_events)
            field_forbidden(e, &match_at,
                            "resourceVersionMatch is forbidden for watch unless "
                            "sendInitialEvents is provided");
        if (!is_not_older)
            match_not_supported(e, &match_at, match, true);
        if (o->continue_token.len)
            field_forbidden(e, &match_at,
                            "resourceVersionMatch is forbidden when continue is provided");
    }
}

void list_options_check(struct field_errors *e, const struct list_options *o,
                        bool has_watch_list)
{
    if (o->watch)
        check_watch(e, o, has_watch_list);
    else
        check_list(e, o);
}

/* ---- where to begin ---- */

static int read_version(struct str text, uint64_t *out, struct err *err)
{
    *out = 0;
    if (text.len && !str_to_u64(text, out))
        return err_set(err, ERR_SYNTAX,
                       "resourceVersion: Invalid value: \"%.*s\": must be an "
                       "unsigned integer of 64 bits",
                       (int)MIN(text.len, (size_t)64), text.at);
    return 0;
}

int list_options_resolve(struct arena *a, const struct list_options *o, struct str key_prefix,
                         bool is_collection, struct list_start *out, struct err *err)
{
    struct list_start s = {0};
    bool has_version = o->resource_version.len && !str_eq(o->resource_version, S("0"));
    uint64_t version;

    if (is_collection && o->continue_token.len) {
        int64_t revision;
        if (continue_decode(a, o->continue_token, key_prefix, &s.from_key, &revision, err) < 0)
            return -1;
        if (has_version)
            return err_set(err, ERR_SYNTAX,
                           "specifying resource version is not allowed when using continue");
        s.has_continue = true;
        s.revision = MAX(revision, REVISION_ANY);
        *out = s;
        return 0;
    }
    if (read_version(o->resource_version, &version, err) < 0)
        return -1;
    if (version && version <= INT64_MAX &&
        (str_eq(o->resource_version_match, S("Exact")) ||
         (o->resource_version_match.len == 0 && is_collection && o->limit > 0)))
        s.revision = (int64_t)version;
    *out = s;
    return 0;
}

/* ---- continue tokens ---- */

struct str continue_encode(struct arena *a, struct str last_key, int64_t revision)
{
    struct json_obj o = obj_in(a);
    struct buf out = buf_in(a, 128);
    struct str start = str_printf(a, "%.*s%c", STR_ARG(last_key), 0);

    obj_setz(&o, "v", json_of_z(CONTINUE_VERSION));
    obj_setz(&o, "rv", json_of_i64(revision));
    obj_setz(&o, "start", json_of_str(start));
    struct json v = obj_done(&o);
    base64_encode(&out, json_text(a, &v));
    while (out.len && out.at[out.len - 1] == '=')
        out.len--;
    for (size_t i = 0; i < out.len; i++)
        out.at[i] = out.at[i] == '+' ? '-' : out.at[i] == '/' ? '_' : out.at[i];
    return buf_str(&out);
}

static bool decode_url_base64(struct arena *a, struct str text, struct str *out)
{
    struct buf b = buf_in(a, text.len + 4);

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '+' || c == '/' || c == '=')
            return false;
        buf_byte(&b, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (b.len % 4)
        buf_byte(&b, '=');
    return base64_decode(a, buf_str(&b), out);
}

/* "/" and a path without ".", "..", empty parts or a slash at the end. */
static bool is_clean(struct str path)
{
    struct str part;

    if (str_eq(path, S("/")))
        return true;
    path = str_slice(path, 1, path.len);
    for (bool has_more = true; has_more;) {
        has_more = str_cut(path, '/', &part, &path);
        if (part.len == 0 || str_eq(part, S(".")) || str_eq(part, S("..")))
            return false;
    }
    return true;
}

int continue_decode(struct arena *a, struct str token, struct str key_prefix,
                    struct str *from_key, int64_t *revision, struct err *err)
{
    struct str text, start;
    const struct json *v;

    if (token.len > CONTINUE_MAX || !decode_url_base64(a, token, &text))
        return err_set(err, ERR_SYNTAX, "continue key is not valid: not base64url");
    if (!(v = json_parse(a, text, NULL, NULL)) || !json_is(v, JSON_OBJECT))
        return err_set(err, ERR_SYNTAX, "continue key is not valid: not JSON");
    if (!str_eq(json_str(json_getz(v, "v")), S(CONTINUE_VERSION)))
        return err_set(err, ERR_SYNTAX,
                       "continue key is not valid: server does not recognize this encoded "
                       "version");
    int64_t rv = json_i64(json_getz(v, "rv"), 0);
    start = json_str(json_getz(v, "start"));
    if (rv == 0)
        return err_set(err, ERR_SYNTAX,
                       "continue key is not valid: incorrect encoded start "
                       "resourceVersion");
    if (start.len == 0)
        return err_set(err, ERR_SYNTAX, "continue key is not valid: encoded start key empty");
    struct buf path = buf_in(a, start.len + 1); /* may hold a 0 at its end */
    if (start.at[0] != '/')
        buf_byte(&path, '/');
    buf_add(&path, start);
    start = buf_str(&path);
    if (!is_clean(start))
        return err_set(err, ERR_SYNTAX, "continue key is not valid: %.*s",
                       (int)MIN(start.len, (size_t)128), start.at);
    struct buf key = buf_in(a, key_prefix.len + start.len);
    buf_add(&key, key_prefix);
    buf_add(&key, str_slice(start, 1, start.len));
    *from_key = buf_str(&key);
    *revision = rv;
    return 0;
}
