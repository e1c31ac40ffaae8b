/* h1.c - HTTP/1.1 messages as bytes */
#include "http/h1.h"

/* ---- characters ---- */

/* RFC 9110: what a method or a header name is made of. */
static bool is_token_char(unsigned char c)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && memchr(others, c, sizeof(others) - 1));
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_token_char((unsigned char)s.at[i]))
            return false;
    return s.len > 0;
}

/* Visible ASCII: neither white space nor control characters. */
static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.at[i] <= ' ' || (unsigned char)s.at[i] >= 0x7f)
            return false;
    return s.len > 0;
}

static bool is_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static struct str trim_blanks(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = str_slice(s, 1, s.len);
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* ---- where a head ends ---- */

ssize_t h1_head_len(struct str bytes, size_t *scan, struct err *err)
{
    while (*scan < bytes.len) {
        const char *lf = memchr(bytes.at + *scan, '\n', bytes.len - *scan);
        if (!lf) {
            *scan = bytes.len;
            break;
        }
        size_t at = (size_t)(lf - bytes.at);
        if (at == 0 || bytes.at[at - 1] != '\r')
            return err_set(err, ERR_SYNTAX, "a line ends without CR");
        *scan = at + 1;
        if (*scan > H1_MAX_HEAD)
            break;
        if (at >= 3 && bytes.at[at - 2] == '\n')
            return (ssize_t)*scan;
    }
    if (*scan > H1_MAX_HEAD)
        return err_set(err, ERR_LIMIT, "request line and headers are over %zu bytes",
                       H1_MAX_HEAD);
    return 0;
}

/* ---- headers ---- */

struct parser {
    struct arena *arena;
    struct str rest; /* lines not read yet, each with its CRLF */
    struct h1_head *out;
    size_t n_hosts, n_lengths, n_codings;
    bool close, keep;
    struct err *err;
};

static struct str take_line(struct parser *p)
{
    struct str line = str_slice(p->rest, 0, str_find(p->rest, S("\r\n")));
    p->rest = str_slice(p->rest, line.len + 2, p->rest.len);
    return line;
}

static int bad(struct parser *p, const char *why, struct str subject)
{
    return err_set(p->err, ERR_SYNTAX, "%s: '%.*s'", why, (int)MIN(subject.len, (size_t)64),
                   subject.at ? subject.at : "");
}

static int unsupported(struct parser *p, int status, const char *what, struct str subject)
{
    p->out->status = status;
    return err_set(p->err, ERR_UNSUPPORTED, "%s '%.*s' is not supported", what,
                   (int)MIN(subject.len, (size_t)64), subject.at ? subject.at : "");
}

static int read_length(struct parser *p, struct str value)
{
    uint64_t n = 0;

    if (p->n_lengths++)
        return bad(p, "more than one Content-Length", value);
    for (size_t i = 0; i < value.len; i++) {
        char c = value.at[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(n, UINT64_C(10), &n) ||
            __builtin_add_overflow(n, (uint64_t)(c - '0'), &n))
            return bad(p, "no valid Content-Length", value);
    }
    if (value.len == 0)
        return bad(p, "no valid Content-Length", value);
    p->out->length = n;
    return 0;
}

static int read_coding(struct parser *p, struct str value)
{
    if (p->n_codings++)
        return bad(p, "more than one Transfer-Encoding", value);
    if (!str_eq_nocase(value, S("chunked")))
        return unsupported(p, 501, "transfer coding", value);
    return 0;
}

static int read_connection(struct parser *p, struct str value)
{
    struct str token;

    while (value.len) {
        str_cut(value, ',', &token, &value);
        token = trim_blanks(token);
        if (str_eq_nocase(token, S("close")))
            p->close = true;
        else if (str_eq_nocase(token, S("keep-alive")))
            p->keep = true;
        else if (str_eq_nocase(token, S("upgrade")))
            p->out->wants_upgrade = true;
    }
    return 0;
}

static int read_host(struct parser *p, struct str value)
{
    if (p->n_hosts++)
        return bad(p, "more than one Host", value);
    if (value.len && !is_visible(value))
        return bad(p, "no valid Host", value);
    return 0;
}

static int read_expect(struct parser *p, struct str value)
{
    if (!str_eq_nocase(value, S("100-continue")))
        return unsupported(p, 417, "expectation", value);
    p->out->expects_continue = true;
    return 0;
}

static const struct {
    const char *name;
    int (*read)(struct parser *, struct str);
} known[] = {
    {"content-length",    read_length    },
    {"transfer-encoding", read_coding    },
    {"connection",        read_connection},
    {"host",              read_host      },
    {"expect",            read_expect    },
};

static int read_header(struct parser *p, struct str line)
{
    struct str name, value;

    if (line.at[0] == ' ' || line.at[0] == '\t')
        return bad(p, "a header continues on a second line", line);
    if (!str_cut(line, ':', &name, &value) || !is_token(name))
        return bad(p, "no header", line);
    value = trim_blanks(value);
    if (!is_value(value))
        return bad(p, "a control character in header", name);
    if (p->out->n_headers == H1_MAX_HEADERS)
        return err_set(p->err, ERR_LIMIT, "more than %d headers", H1_MAX_HEADERS);

    struct http_header *h = &p->out->headers[p->out->n_headers++];
    *h = (struct http_header){str_lower(p->arena, name), str_copy(p->arena, value)};
    for (size_t i = 0; i < countof(known); i++)
        if (str_eqz(h->name, known[i].name))
            return known[i].read(p, h->value);
    return 0;
}

static size_t count_lines(struct str s)
{
    size_t n = 0;
    for (const char *at = s.at; (at = memchr(at, '\n', (size_t)(s.at + s.len - at))); at++)
        n++;
    return n;
}

static int read_headers(struct parser *p)
{
    size_t most = MIN(count_lines(p->rest), (size_t)H1_MAX_HEADERS);

    p->out->headers = arena_array(p->arena, struct http_header, most + 1);
    while (p->rest.len) {
        struct str line = take_line(p);
        if (line.len == 0)
            break;
        if (read_header(p, line) < 0)
            return -1;
    }
    if (p->n_codings && p->n_lengths)
        return err_set(p->err, ERR_SYNTAX, "Content-Length and Transfer-Encoding together");
    if (p->n_codings && p->out->minor == 0)
        return err_set(p->err, ERR_SYNTAX, "Transfer-Encoding in HTTP/1.0");
    p->out->keep_alive = !p->close && (p->out->minor > 0 || p->keep);
    p->out->body = p->n_codings     ? H1_BODY_CHUNKED
                   : p->out->length ? H1_BODY_LENGTH
                                    : H1_BODY_NONE;
    return 0;
}

/* "HTTP/1.1" or "HTTP/1.0". */
static int read_version(struct parser *p, struct str version)
{
    if (str_eq(version, S("HTTP/1.1")) || str_eq(version, S("HTTP/1.0"))) {
        p->out->minor = version.at[7] - '0';
        return 0;
    }
    if (version.len == 8 && str_starts(version, S("HTTP/")) && version.at[6] == '.')
        return unsupported(p, 505, "protocol version", version);
    return bad(p, "no protocol version", version);
}

/* ---- requests ---- */

/* "/path?query", "*" of OPTIONS, or "http://host/path" of which the path counts. */
static int read_target(struct parser *p, struct str target)
{
    static const struct str schemes[] = {S_INIT("http://"), S_INIT("https://")};

    if (!is_visible(target) || str_index(target, '#') != STR_NONE)
        return bad(p, "no valid request target", target);
    for (size_t i = 0; i < countof(schemes); i++) {
        if (!str_starts(target, schemes[i]))
            continue;
        struct str rest = str_slice(target, schemes[i].len, target.len);
        size_t slash = str_index(rest, '/');
        target = slash == STR_NONE ? S("/") : str_slice(rest, slash, rest.len);
    }
    if (target.at[0] != '/' &&
        !(str_eq(target, S("*")) && str_eq(p->out->method, S("OPTIONS"))))
        return bad(p, "no valid request target", target);
    p->out->target = str_copy(p->arena, target);
    return 0;
}

int h1_parse_request(struct arena *a, struct str head, struct h1_head *out, struct err *err)
{
    struct parser p = {.arena = a, .rest = head, .out = out, .err = err};
    struct str method, target, version;

    *out = (struct h1_head){0};
    struct str line = take_line(&p);
    if (!str_cut(line, ' ', &method, &target) || !str_rcut(target, ' ', &target, &version))
        return bad(&p, "no request line", line);
    if (method.len > H1_MAX_METHOD || !is_token(method))
        return bad(&p, "no valid method", method);
    out->method = str_copy(a, method);
    if (read_version(&p, version) < 0 || read_target(&p, target) < 0 || read_headers(&p) < 0)
        return -1;
    if (p.n_hosts == 0 && out->minor > 0)
        return err_set(err, ERR_SYNTAX, "the Host header is missing");
    return 0;
}

/* ---- responses ---- */

int h1_parse_response(struct arena *a, struct str head, bool no_body, struct h1_head *out,
                      struct err *err)
{
    struct parser p = {.arena = a, .rest = head, .out = out, .err = err};
    struct str version, rest, code, reason;
    uint64_t status;

    *out = (struct h1_head){0};
    struct str line = take_line(&p);
    if (!str_cut(line, ' ', &version, &rest))
        return bad(&p, "no status line", line);
    str_cut(rest, ' ', &code, &reason);
    if (code.len != 3 || !str_to_u64(code, &status) || status < 100 || !is_value(reason))
        return bad(&p, "no status line", line);
    out->status = (int)status;
    if (read_version(&p, version) < 0 || read_headers(&p) < 0)
        return -1;
    if (no_body || status < 200 || status == 204 || status == 304) {
        out->body = H1_BODY_NONE;
    } else if (out->body == H1_BODY_NONE && !p.n_lengths) {
        out->body = H1_BODY_TO_END;
        out->keep_alive = false;
    }
    return 0;
}

/* ---- chunked bodies ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* "1a;name=value": the size, and extensions that are ignored. */
static int read_size(struct h1_chunked *c, struct err *err)
{
    struct str line = {c->line, c->line_len}, digits, extension;
    uint64_t n = 0;

    str_cut(line, ';', &digits, &extension);
    while (digits.len && digits.at[digits.len - 1] == ' ')
        digits.len--;
    if (digits.len == 0 || digits.len > 15 || !is_value(extension))
        return err_set(err, ERR_SYNTAX, "no valid size of a chunk");
    for (size_t i = 0; i < digits.len; i++) {
        int d = hex_digit(digits.at[i]);
        if (d < 0)
            return err_set(err, ERR_SYNTAX, "no valid size of a chunk");
        n = n << 4 | (unsigned)d;
    }
    c->left = n;
    c->line_len = 0;
    c->state = n ? H1_CHUNK_DATA : H1_CHUNK_TRAILER;
    return 0;
}

/* A trailer is read over; an empty line ends the body. */
static int read_trailer(struct h1_chunked *c, struct err *err)
{
    struct str line = {c->line, c->line_len}, name, value;

    if (line.len == 0) {
        c->state = H1_CHUNK_DONE;
        return 0;
    }
    if (!str_cut(line, ':', &name, &value) || !is_token(name) || !is_value(value))
        return err_set(err, ERR_SYNTAX, "no valid trailer");
    c->trailer_len += c->line_len;
    if (c->trailer_len > H1_MAX_TRAILER)
        return err_set(err, ERR_LIMIT, "trailers are over %zu bytes", H1_MAX_TRAILER);
    c->line_len = 0;
    return 0;
}

/* Moves bytes of a line from *in to c->line; 1 where the line is whole. */
static int gather_line(struct h1_chunked *c, struct str *in, struct err *err)
{
    while (in->len) {
        char b = in->at[0];
        *in = str_slice(*in, 1, in->len);
        if (b == '\n') {
            if (c->line_len == 0 || c->line[c->line_len - 1] != '\r')
                return err_set(err, ERR_SYNTAX, "a line of a chunked body ends without CR");
            c->line_len--;
            return 1;
        }
        if (c->line_len && c->line[c->line_len - 1] == '\r')
            return err_set(err, ERR_SYNTAX, "a CR inside a line of a chunked body");
        if (c->line_len == sizeof(c->line))
            return err_set(err, ERR_LIMIT, "a line of a chunked body is over %d bytes",
                           H1_MAX_CHUNK_LINE);
        c->line[c->line_len++] = b;
    }
    return 0;
}

static int expect_byte(struct str *in, char want, struct err *err)
{
    if (in->at[0] != want)
        return err_set(err, ERR_SYNTAX, "a chunk is longer than its size");
    *in = str_slice(*in, 1, in->len);
    return 0;
}

int h1_chunked_next(struct h1_chunked *c, struct str *in, struct str *data, struct err *err)
{
    int rc;

    *data = (struct str){0};
    while (in->len && c->state != H1_CHUNK_DONE) {
        switch (c->state) {
        case H1_CHUNK_SIZE:
        case H1_CHUNK_TRAILER:
            rc = gather_line(c, in, err);
            if (rc == 1)
                rc = c->state == H1_CHUNK_SIZE ? read_size(c, err) : read_trailer(c, err);
            if (rc < 0)
                return -1;
            break;
        case H1_CHUNK_DATA:
            *data = str_slice(*in, 0, MIN(c->left, (uint64_t)in->len));
            *in = str_slice(*in, data->len, in->len);
            c->left -= data->len;
            if (c->left == 0)
                c->state = H1_CHUNK_DATA_CR;
            return 0;
        case H1_CHUNK_DATA_CR:
            if (expect_byte(in, '\r', err) < 0)
                return -1;
            c->state = H1_CHUNK_DATA_LF;
            break;
        case H1_CHUNK_DATA_LF:
            if (expect_byte(in, '\n', err) < 0)
                return -1;
            c->state = H1_CHUNK_SIZE;
            break;
        case H1_CHUNK_DONE:
            break;
        }
    }
    return 0;
}
