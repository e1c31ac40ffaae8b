/* create.c - POST to a collection */
#include "server/write_priv.h"

void verb_create(struct request *r)
{
    struct str version = json_str(meta_get(r->body, S("resourceVersion")));

    if (version.len) {
        /* Upstream answers 500 here, and clients show the text. */
        fail_with(r, 500, "", S("resourceVersion should not be set on objects to be created"));
        request_fini(r);
        return;
    }
    write_tree(r, r->body, NULL);
}
