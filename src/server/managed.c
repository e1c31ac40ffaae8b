/* managed.c - whose field is whose: managedFields, server-side apply, strategic merge
 *
 * A thin hand between a request and the engine in schema/.
 */
#include "server/write_priv.h"

#include "schema/strategic.h"
#include "json/patch.h"

const struct json *patch_strategic(struct request *r, const struct json *old, struct err *err)
{
    return schema_strategic_apply(r->arena, r->kind->schema, old, r->body, err);
}

int managed_fields(struct write *w)
{
    (void)w;
    return 0;
}

void verb_apply(struct request *r)
{
    bool is_there = load_current(r);
    const struct json *old = is_there ? current_tree(r) : NULL;

    r->is_created = !is_there;
    write_tree(r, old ? json_merge_patch(r->arena, old, r->body) : r->body, old);
}
