/* kueue_workload.c - how a Workload's end looks on the wire */
#include "conformance.h"

#include "api/kinds.h"
#include "controllers/workload_edit.h"
#include "kueue_parts.h"
#include "schema/codec.h"
#include "value/time.h"

/* Messages are left out of every comparison. */
static const struct json *without_messages(struct conf *t, const struct json *v)
{
    const struct json *list = json_path(v, "status", "conditions", NULL);
    struct json_arr out = arr_in(t->arena);

    json_each (i, list)
        arr_add(&out, *json_without(t->arena, json_at(list, i), "message", NULL));
    if (list)
        v = json_with(t->arena, v, arr_done(&out), "status", "conditions", NULL);
    const struct json *checks = json_path(v, "status", "admissionChecks", NULL);
    struct json_arr others = arr_in(t->arena);
    json_each (i, checks)
        arr_add(&others, *json_without(t->arena, json_at(checks, i), "message", NULL));
    return checks ? json_with(t->arena, v, arr_done(&others), "status", "admissionChecks", NULL)
                  : v;
}

static const struct json *request_json(struct conf *t, const struct workload_request *r)
{
    struct json_obj o = obj_in(t->arena);
    bool is_apply = r->type == CLIENT_APPLY;

    obj_setz(&o, "verb", json_of_z("patch"));
    obj_setz(&o, "subresource", json_of_z("status"));
    obj_setz(&o, "contentType",
             json_of_str(is_apply ? S("application/apply-patch+yaml")
                                  : S("application/merge-patch+json")));
    if (r->options.manager.len)
        obj_setz(&o, "fieldManager", json_of_str(r->options.manager));
    if (r->options.force)
        obj_setz(&o, "force", json_of_bool(true));
    obj_setz(&o, "body", *without_messages(t, r->body));
    return json_new(t->arena, obj_done(&o));
}

void kueue_same_request(struct conf *t, const struct workload_request *r,
                        const struct json *want)
{
    if (want)
        want = json_with(t->arena, want, *without_messages(t, json_getz(want, "body")), "body",
                         NULL);
    conf_same(t, "request", request_json(t, r), want);
}

void kueue_workload_finish(struct conf *t, const struct json *c)
{
    const struct json *want = json_path(c, "want", "requests", NULL);
    struct instant now = {0};
    struct kueue_workload *wl = schema_decode(t->arena, kind_kueue_workload.schema,
                                              json_path(c, "objects", "workload", NULL));

    time_parse(json_str(json_getz(c, "now")), &now, NULL);
    struct workload_edit e = workload_edit(t->arena, wl, now);
    struct workload_request_options options = {
        .use_merge_patch =
            json_bool(json_path(c, "gates", "WorkloadRequestUseMergePatch", NULL), false)};
    if (!workload_finish_edit(&e, json_str(json_path(c, "in", "reason", NULL)),
                              S("as the case says"))) {
        conf_same(t, "requests", json_new(t->arena, json_of_i64(0)),
                  json_new(t->arena, json_of_i64((int64_t)json_len(want))));
        return;
    }
    struct workload_request r = workload_request(&e, options);
    kueue_same_request(t, &r, json_at(want, 0));
}
