/* audit.c - a line for every write: who, what, which object, how it ended */
#include "server/write_priv.h"

#include "io/io.h"
#include "value/time.h"

/* ,"name":"value" */
static void text(struct buf *line, struct str name, struct str value)
{
    buf_add(line, S(",\""));
    buf_add(line, name);
    buf_add(line, S("\":"));
    json_write_str(line, value);
}

void audit_write(struct request *r, int code, const struct object *o)
{
    struct server *s = r->server;

    if (!s->config.audit)
        return;
    struct buf line = buf_in(r->arena, 512);
    buf_add(&line, S("{\"time\":\""));
    time_write_micro(&line, io_now(s->io));
    buf_byte(&line, '"');
    text(&line, S("user"), r->user->name);
    text(&line, S("verb"), verb_name(r->verb));
    text(&line, S("group"), r->kind->group);
    text(&line, S("resource"), r->kind->plural);
    if (r->subresource.len)
        text(&line, S("subresource"), r->subresource);
    if (r->ns.len)
        text(&line, S("namespace"), r->ns);
    text(&line, S("name"), o ? object_key(o).name : r->name);
    if (r->options.dry_run)
        buf_add(&line, S(",\"dryRun\":true"));
    if (code) {
        buf_add(&line, S(",\"code\":"));
        buf_i64(&line, code);
    } else {
        buf_add(&line, S(",\"refused\":true"));
    }
    if (o)
        text(&line, S("resourceVersion"), str_of_u64(r->arena, object_revision(o)));
    buf_byte(&line, '}');
    s->config.audit(s->config.audit_ctx, buf_str(&line));
}
