/* client_path.c - where things live on an API server */
#include "client/client_http.h"
#include "schema/table.h"

/* What stands for itself in a path or a query. */
static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

static void escape(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (is_plain(s.at[i]))
            buf_byte(b, s.at[i]);
        else
            buf_printf(b, "%%%02X", (unsigned char)s.at[i]);
    }
}

static void add_part(struct buf *b, struct str part)
{
    buf_byte(b, '/');
    escape(b, part);
}

struct str client_path(struct arena *a, const struct client_target *t)
{
    const struct kind *k = t->kind;
    struct buf b = buf_in(a, 128);

    buf_add(&b, k->group.len ? S("/apis") : S("/api"));
    if (k->group.len)
        add_part(&b, k->group);
    add_part(&b, k->version);
    if (k->namespaced && t->ns.len) {
        buf_add(&b, S("/namespaces"));
        add_part(&b, t->ns);
    }
    add_part(&b, k->plural);
    if (t->name.len)
        add_part(&b, t->name);
    if (t->subresource.len)
        add_part(&b, t->subresource);
    return buf_str(&b);
}

void client_query(struct buf *path, struct str name, struct str value)
{
    buf_byte(path, str_index(buf_str(path), '?') == STR_NONE ? '?' : '&');
    escape(path, name);
    buf_byte(path, '=');
    escape(path, value);
}
