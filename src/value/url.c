/* url.c - URLs, as Go's net/url reads them */
#include "value/url.h"

#include "value/ip.h"

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_unreserved(char c)
{
    return is_alpha(c) || is_digit(c) || is_one_of(c, "-_.~");
}

/* What is wrong with the escapes of s, or the empty str. */
static struct str bad_escape(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '%') {
            if (i + 2 >= s.len || hex(s.at[i + 1]) < 0 || hex(s.at[i + 2]) < 0)
                return str_slice(s, i, i + 3);
            i += 2;
        }
    return (struct str){0};
}

bool url_unescape(struct arena *a, struct str s, bool is_query, struct str *out)
{
    struct buf b = buf_in(a, s.len + 1);

    if (bad_escape(s).len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '%') {
            buf_byte(&b, (char)(hex(s.at[i + 1]) << 4 | hex(s.at[i + 2])));
            i += 2;
        } else {
            buf_byte(&b, is_query && s.at[i] == '+' ? ' ' : s.at[i]);
        }
    }
    *out = buf_str(&b);
    return true;
}

static int bad(struct err *err, struct str text, const char *format, struct str at)
{
    char why[160];

    snprintf(why, sizeof(why), "%s \"%.*s\"", format, (int)MIN(at.len, (size_t)80),
             at.at ? at.at : "");
    return err_set(err, ERR_SYNTAX, "parse \"%.*s\": %s", (int)MIN(text.len, (size_t)160),
                   text.at ? text.at : "", at.at ? why : format);
}

/* ---- reading ---- */

/* The scheme in front of *rest, if any. False: a colon with nothing before it. */
static bool take_scheme(struct str *rest, struct str *scheme)
{
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->at[i];
        if (is_alpha(c) || (i > 0 && (is_digit(c) || is_one_of(c, "+-."))))
            continue;
        if (c == ':' && i == 0)
            return false;
        if (c == ':') {
            *scheme = str_slice(*rest, 0, i);
            *rest = str_slice(*rest, i + 1, rest->len);
        }
        return true;
    }
    return true;
}

/* "" or ":" and digits. */
static bool is_port(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (i == 0 ? s.at[i] != ':' : !is_digit(s.at[i]))
            return false;
    return true;
}

/* What stands between brackets: IPv6, a zone behind "%25". */
static bool is_ip_literal(struct arena *a, struct str s)
{
    struct ip ip;

    return url_unescape(a, s, false, &s) && ip_parse(s, &ip, NULL) == 0 && ip.family == 6;
}

static int read_host(struct arena *a, struct str text, struct str host, struct url *u,
                     struct err *err)
{
    size_t end = str_starts(host, S("[")) ? str_rindex(host, ']') : str_rindex(host, ':');
    struct str port = {0};

    if (str_starts(host, S("["))) {
        if (end == STR_NONE)
            return bad(err, text, "missing ']' in host", (struct str){0});
        port = str_slice(host, end + 1, host.len);
    } else if (end != STR_NONE) {
        port = str_slice(host, end, host.len);
    }
    size_t open = str_rindex(host, '[');
    if (open != STR_NONE && (open > 0 || !is_ip_literal(a, str_slice(host, 1, end))))
        return bad(err, text, "invalid IP-literal", (struct str){0});
    if (!is_port(port))
        return bad(err, text, "invalid port after host", port);
    for (size_t i = 0; i < host.len; i++) {
        char c = host.at[i];
        if (c == '%' &&
            (i + 2 >= host.len || hex(host.at[i + 1]) < 0 || hex(host.at[i + 2]) < 0 ||
             (hex(host.at[i + 1]) < 8 && !str_eq(str_slice(host, i, i + 3), S("%25")))))
            return bad(err, text, "invalid URL escape", str_slice(host, i, i + 3));
        if ((unsigned char)c < 0x80 && !is_unreserved(c) &&
            !is_one_of(c, "!$&'()*+,;=:[]<>\"%"))
            return bad(err, text, "invalid character in host name", str_slice(host, i, i + 1));
    }
    return url_unescape(a, host, false, &u->host) ? 0
                                                  : bad(err, text, "invalid URL escape", host);
}

static int read_authority(struct arena *a, struct str text, struct str authority, struct url *u,
                          struct err *err)
{
    struct str host = authority;

    u->has_authority = true;
    u->has_userinfo = str_rcut(authority, '@', &u->userinfo, &host);
    if (!u->has_userinfo) {
        u->userinfo = (struct str){0};
        host = authority;
    }
    for (size_t i = 0; i < u->userinfo.len; i++)
        if (!is_unreserved(u->userinfo.at[i]) &&
            !is_one_of(u->userinfo.at[i], ":!$&'()*+,;=%@"))
            return err_set(err, ERR_SYNTAX, "parse \"%.*s\": net/url: invalid userinfo",
                           (int)MIN(text.len, (size_t)160), text.at);
    if (bad_escape(u->userinfo).len)
        return bad(err, text, "invalid URL escape", bad_escape(u->userinfo));
    return read_host(a, text, host, u, err);
}

/* Go reads a URL twice: first as one without a fragment. A '#' inside of the authority is part
 * of the host then, and breaks it. */
static bool has_hash_in_authority(struct str text, struct str scheme)
{
    struct str rest = str_slice(text, scheme.len + 1, text.len);

    if (scheme.len == 0 || !str_starts(rest, S("//")))
        return false;
    for (size_t i = 2; i < rest.len && rest.at[i] != '/' && rest.at[i] != '?'; i++)
        if (rest.at[i] == '#')
            return true;
    return false;
}

/* `is_request`: what stands in a request, an absolute URI or path. */
static int parse(struct arena *a, struct str text, bool is_request, struct url *out,
                 struct err *err)
{
    struct url u = {0};
    struct str rest = text, broken;

    if (text.len > URL_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "a URL of %zu bytes is over the limit of %zu", text.len,
                       URL_MAX_TEXT);
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7F)
            return bad(err, text, "net/url: invalid control character in URL", (struct str){0});
    if (text.len == 0 && is_request)
        return bad(err, text, "empty url", (struct str){0});
    if (str_eq(text, S("*"))) {
        *out = (struct url){.path = text};
        return 0;
    }
    u.has_fragment = str_cut(text, '#', &rest, &u.fragment);
    if (!take_scheme(&rest, &u.scheme))
        return bad(err, text, "missing protocol scheme", (struct str){0});
    if (has_hash_in_authority(text, u.scheme))
        return bad(err, text, "invalid character in host name", S("#"));
    u.scheme = str_lower(a, u.scheme);
    u.has_query = str_cut(rest, '?', &rest, &u.query);
    if (!str_starts(rest, S("/")) && u.scheme.len == 0 && is_request)
        return bad(err, text, "invalid URI for request", (struct str){0});
    if (!str_starts(rest, S("/")) && u.scheme.len) {
        if ((broken = bad_escape(u.fragment)).len)
            return bad(err, text, "invalid URL escape", broken);
        u.opaque = rest;
        *out = u;
        return 0;
    }
    if (!str_starts(rest, S("/"))) {
        struct str first, others;
        str_cut(rest, '/', &first, &others);
        if (str_index(first, ':') != STR_NONE)
            return bad(err, text, "first path segment in URL cannot contain colon",
                       (struct str){0});
    }
    if (str_starts(rest, S("//")) && (u.scheme.len || !str_starts(rest, S("///")))) {
        struct str authority = str_slice(rest, 2, rest.len);
        size_t slash = str_index(authority, '/');
        rest = slash == STR_NONE ? S("") : str_slice(authority, slash, authority.len);
        if (read_authority(a, text, str_slice(authority, 0, slash), &u, err) < 0)
            return -1;
    }
    u.path = rest;
    if ((broken = bad_escape(u.path)).len || (broken = bad_escape(u.fragment)).len)
        return bad(err, text, "invalid URL escape", broken);
    *out = u;
    return 0;
}

int url_parse(struct arena *a, struct str text, struct url *out, struct err *err)
{
    return parse(a, text, true, out, err);
}

int url_parse_reference(struct arena *a, struct str text, struct url *out, struct err *err)
{
    return parse(a, text, false, out, err);
}

/* ---- parts ---- */

static size_t port_at(const struct url *u)
{
    size_t colon = str_rindex(u->host, ':');

    return colon != STR_NONE && is_port(str_slice(u->host, colon, u->host.len)) ? colon
                                                                                : u->host.len;
}

struct str url_hostname(const struct url *u)
{
    struct str h = str_slice(u->host, 0, port_at(u));

    return str_starts(h, S("[")) && str_ends(h, S("]")) ? str_slice(h, 1, h.len - 1) : h;
}

struct str url_port(const struct url *u)
{
    return str_slice(u->host, port_at(u) + 1, u->host.len);
}

/* Which bytes a part of a URL holds as they are: `plain` beside the unreserved ones, and
 * `kept` where the writer left them alone. */
struct url_part {
    const char *plain, *kept;
};
static const struct url_part path_part = {"$&+,/:;=@", "!'()*[]%"};
static const struct url_part fragment_part = {"$&+,/:;=?@!()*", "'[]%"};
static const struct url_part user_part = {"$&+,;=", ""};

/* As it was written where that is proper, else decoded and encoded again. */
static struct str escaped(struct arena *a, struct str s, const struct url_part *part)
{
    struct buf b = buf_in(a, s.len + 1);
    struct str decoded;
    bool is_fine = part->kept[0] != 0;

    for (size_t i = 0; i < s.len; i++)
        is_fine = is_fine && (is_unreserved(s.at[i]) || is_one_of(s.at[i], part->plain) ||
                              is_one_of(s.at[i], part->kept));
    if (is_fine || !url_unescape(a, s, false, &decoded))
        return s;
    for (size_t i = 0; i < decoded.len; i++)
        if (is_unreserved(decoded.at[i]) || is_one_of(decoded.at[i], part->plain))
            buf_byte(&b, decoded.at[i]);
        else
            buf_printf(&b, "%%%02X", (unsigned char)decoded.at[i]);
    return buf_str(&b);
}

struct str url_escaped_path(struct arena *a, const struct url *u)
{
    return escaped(a, u->path, &path_part);
}

struct str_map url_query(struct arena *a, const struct url *u)
{
    struct str rest = u->query, pair, name, value;
    VEC(struct str_entry) v = {0};

    while (rest.len) {
        str_cut(rest, '&', &pair, &rest);
        if (pair.len == 0 || str_index(pair, ';') != STR_NONE)
            continue;
        str_cut(pair, '=', &name, &value);
        if (url_unescape(a, name, true, &name) && url_unescape(a, value, true, &value))
            vec_push_in(a, &v, (struct str_entry){name, value});
    }
    return (struct str_map){v.at, v.len};
}

static void write_userinfo(struct buf *b, struct arena *a, struct str userinfo)
{
    struct str user, password;
    bool has_password = str_cut(userinfo, ':', &user, &password);

    buf_add(b, escaped(a, user, &user_part));
    if (has_password) {
        buf_byte(b, ':');
        buf_add(b, escaped(a, password, &user_part));
    }
    buf_byte(b, '@');
}

struct str url_text(struct arena *a, const struct url *u)
{
    struct buf b = buf_in(a, 128);

    if (u->scheme.len)
        buf_printf(&b, "%.*s:", STR_ARG(u->scheme));
    if (u->has_authority && (u->host.len || u->path.len || u->has_userinfo) &&
        (u->scheme.len || u->host.len || u->has_userinfo))
        buf_add(&b, S("//"));
    if (u->has_userinfo)
        write_userinfo(&b, a, u->userinfo);
    for (size_t i = 0; i < u->host.len; i++)
        if ((unsigned char)u->host.at[i] >= 0x80 || u->host.at[i] == '%')
            buf_printf(&b, "%%%02X", (unsigned char)u->host.at[i]);
        else
            buf_byte(&b, u->host.at[i]);
    buf_add(&b, u->opaque);
    buf_add(&b, url_escaped_path(a, u));
    if (u->has_query)
        buf_printf(&b, "?%.*s", STR_ARG(u->query));
    if (u->fragment.len)
        buf_printf(&b, "#%.*s", STR_ARG(escaped(a, u->fragment, &fragment_part)));
    return buf_str(&b);
}
