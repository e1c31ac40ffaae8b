/* disrupt.c - a condition, then a deletion */
#include "controllers/disrupt.h"

#include "api/kinds.h"
#include "control/control.h"
#include "object/object.h"
#include "value/time.h"
#include "json/json.h"

struct disrupting {
    struct client_target target;
    struct client_delete_options options;
};

static void marked(struct step *s, void *ctx, const struct client_answer *answer)
{
    struct disrupting *d = ctx;

    if (answer->err && answer->err->code == ERR_NOT_FOUND)
        step_ignore_error(s);
    else if (!answer->err)
        step_delete(s, &d->target, &d->options, NULL, NULL);
}

static const struct json *mark(struct step *s, struct str uid, const struct disruption *d)
{
    struct arena *a = s->arena;
    struct json_obj c = obj_in(a), status = obj_in(a), meta = obj_in(a), root = obj_in(a);
    struct json_arr conditions = arr_in(a);

    obj_setz(&c, "type", json_of_z("DisruptionTarget"));
    obj_setz(&c, "status", json_of_z("True"));
    obj_setz(&c, "reason", json_of_str(str_from(d->reason)));
    obj_setz(&c, "message", json_of_str(str_from(d->message)));
    obj_setz(&c, "lastTransitionTime", json_of_str(time_text(a, s->now)));
    arr_add(&conditions, obj_done(&c));
    obj_setz(&status, "conditions", arr_done(&conditions));
    if (d->ends)
        obj_setz(&status, "phase", json_of_z("Failed"));
    obj_setz(&meta, "uid", json_of_str(uid));
    obj_setz(&root, "metadata", obj_done(&meta));
    obj_setz(&root, "status", obj_done(&status));
    return json_new(a, obj_done(&root));
}

void disrupt_pod(struct step *s, struct object *pod, const struct disruption *d)
{
    const struct json *tree = object_tree(pod, s->arena);
    struct str phase = json_str(json_path(tree, "status", "phase", NULL));
    bool has_ended = str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
    struct disrupting *x = arena_new(s->arena, struct disrupting);
    struct client_target status;

    step_hold(s, pod);
    *x = (struct disrupting){
        .target = {.kind = &kind_pod, .ns = object_key(pod).ns, .name = object_key(pod).name},
        .options = {.uid = object_uid(pod),                 .grace_s = d->at_once ? 0 : -1                   }
    };
    status = x->target;
    status.subresource = S("status");
    if (has_ended)
        step_delete(s, &x->target, &x->options, NULL, NULL);
    else
        step_patch(s, &status, CLIENT_PATCH_STRATEGIC, mark(s, object_uid(pod), d), NULL,
                   marked, x);
}

static void node_keys(struct object *o, const struct json *tree, struct cache_keys *out)
{
    struct str node = json_str(json_path(tree, "spec", "nodeName", NULL));

    (void)o;
    if (node.len)
        vec_push(&out->keys, node);
}

struct cache_index *pods_by_node(struct cache *pods)
{
    return cache_index(pods, "node", node_keys);
}
