/* jsonpath.c - finding the first value along a path */
#include "schema/jsonpath.h"

enum part_kind { PART_NAME, PART_INDEX, PART_ALL, PART_FILTER };

struct part {
    enum part_kind kind;
    struct str name;  /* of a member; of the filter's member path, ".type" */
    struct str value; /* of the filter */
    int64_t index;
};

static bool is_name_end(char c)
{
    return c == '.' || c == '[';
}

/* A name up to '.' or '['; a backslash takes the next byte as it is. */
static struct str take_name(struct arena *a, struct str *path)
{
    struct buf b = buf_in(a, path->len + 1);
    size_t i = 0;

    for (; i < path->len && !is_name_end(path->at[i]); i++) {
        if (path->at[i] == '\\' && i + 1 < path->len)
            i++;
        buf_byte(&b, path->at[i]);
    }
    *path = str_slice(*path, i, path->len);
    return buf_str(&b);
}

static bool unquote(struct str s, struct str *out)
{
    if (s.len < 2 || (s.at[0] != '\'' && s.at[0] != '"') || s.at[s.len - 1] != s.at[0])
        return false;
    *out = str_slice(s, 1, s.len - 1);
    return true;
}

/* What stands between [?( and )]: @.type=='Ready'. */
static bool parse_filter(struct str text, struct part *out)
{
    size_t eq = str_find(text, S("=="));

    if (eq == STR_NONE || text.len < 2 || text.at[0] != '@')
        return false;
    out->kind = PART_FILTER;
    out->name = str_trim(str_slice(text, 1, eq));
    return unquote(str_trim(str_slice(text, eq + 2, text.len)), &out->value);
}

static bool parse_bracket(struct str inside, struct part *out)
{
    if (str_eq(inside, S("*"))) {
        out->kind = PART_ALL;
        return true;
    }
    if (unquote(inside, &out->name)) {
        out->kind = PART_NAME;
        return true;
    }
    if (str_starts(inside, S("?(")) && str_ends(inside, S(")")))
        return parse_filter(str_slice(inside, 2, inside.len - 1), out);
    out->kind = PART_INDEX;
    return str_to_i64(inside, &out->index);
}

/* The end of a bracket that begins at 0: quotes may hold ']'. */
static size_t bracket_end(struct str path)
{
    char quote = 0;

    for (size_t i = 1; i < path.len; i++) {
        char c = path.at[i];
        if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? 0 : c;
        else if (!quote && c == ']')
            return i;
    }
    return STR_NONE;
}

/* Takes one part off the path; false where it cannot be read. */
static bool take_part(struct arena *a, struct str *path, struct part *out)
{
    *out = (struct part){0};
    if (path->at[0] == '[') {
        size_t end = bracket_end(*path);
        if (end == STR_NONE || !parse_bracket(str_slice(*path, 1, end), out))
            return false;
        *path = str_slice(*path, end + 1, path->len);
        return true;
    }
    if (path->at[0] != '.')
        return false;
    *path = str_slice(*path, 1, path->len);
    if (path->len && path->at[0] == '[')
        return take_part(a, path, out);
    out->name = take_name(a, path);
    return out->name.len > 0;
}

static struct str strip(struct str path)
{
    path = str_trim(path);
    if (path.len >= 2 && path.at[0] == '{' && path.at[path.len - 1] == '}')
        path = str_trim(str_slice(path, 1, path.len - 1));
    if (path.len && path.at[0] == '$')
        path = str_slice(path, 1, path.len);
    return path;
}

static const struct json *find(struct arena *a, const struct json *v, struct str path);

static bool passes(struct arena *a, const struct json *item, const struct part *p)
{
    const struct json *x = find(a, item, p->name);

    return x && x->type == JSON_STRING && str_eq(json_str(x), p->value);
}

static const struct json *find(struct arena *a, const struct json *v, struct str path)
{
    struct part p;

    if (!v || path.len == 0)
        return v;
    if (!take_part(a, &path, &p))
        return NULL;
    if (p.kind == PART_NAME)
        return find(a, json_get(v, p.name), path);
    if (p.kind == PART_INDEX) {
        int64_t i = p.index < 0 ? p.index + (int64_t)json_len(v) : p.index;
        return i < 0 ? NULL : find(a, json_at(v, (size_t)i), path);
    }
    json_each (i, v) {
        const struct json *item = json_at(v, i);
        if (p.kind == PART_FILTER && !passes(a, item, &p))
            continue;
        const struct json *found = find(a, item, path);
        if (found)
            return found;
    }
    return NULL;
}

const struct json *jsonpath_first(struct arena *a, const struct json *v, struct str path)
{
    return path.len > JSONPATH_MAX ? NULL : find(a, v, strip(path));
}

int jsonpath_check(struct str path, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct str rest = strip(path);
    struct part p;

    if (path.len > JSONPATH_MAX)
        return err_set(err, ERR_LIMIT, "JSONPath of %zu bytes is over the limit of %d",
                       path.len, JSONPATH_MAX);
    while (rest.len)
        if (!take_part(&a, &rest, &p))
            return err_set(err, ERR_SYNTAX,
                           "JSONPath '%.*s' cannot be read; it looks like .status.phase or "
                           ".status.conditions[?(@.type=='Ready')].status",
                           STR_ARG(path));
    return 0;
}
