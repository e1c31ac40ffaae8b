/* audit.c - a line for every write: who, what, which object, how it ended */
#include "server/write_priv.h"

#include "io/io.h"
#include "value/time.h"

void audit_write(struct request *r, int code, const struct object *o)
{
    struct server *s = r->server;

    if (!s->config.audit)
        return;
    struct arena *a = r->arena;
    struct json_obj line = obj_in(a);
    struct str name = o ? object_key(o).name : r->name;
    obj_setz(&line, "time", json_of_str(time_text_micro(a, io_now(s->io))));
    obj_setz(&line, "user", json_of_str(r->user->name));
    obj_setz(&line, "verb", json_of_str(verb_name(r->verb)));
    obj_setz(&line, "group", json_of_str(r->kind->group));
    obj_setz(&line, "resource", json_of_str(r->kind->plural));
    if (r->subresource.len)
        obj_setz(&line, "subresource", json_of_str(r->subresource));
    if (r->ns.len)
        obj_setz(&line, "namespace", json_of_str(r->ns));
    obj_setz(&line, "name", json_of_str(name));
    if (r->options.dry_run)
        obj_setz(&line, "dryRun", json_of_bool(true));
    if (code)
        obj_setz(&line, "code", json_of_i64(code));
    else
        obj_setz(&line, "refused", json_of_bool(true));
    if (o)
        obj_setz(&line, "resourceVersion",
                 json_of_str(str_printf(a, "%" PRIu64, object_revision(o))));
    s->config.audit(s->config.audit_ctx, json_text(a, json_new(a, obj_done(&line))));
}
