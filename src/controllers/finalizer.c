/* finalizer.c - one finalizer of an object, put on or taken off */
#include "controllers/finalizer.h"

#include "object/object.h"

static const struct json *finalizers_of(struct arena *a, struct object *o)
{
    return json_path(object_tree(o, a), "metadata", "finalizers", NULL);
}

bool finalizer_is_on(struct arena *a, struct object *o, struct str name)
{
    const struct json *list = finalizers_of(a, o);

    json_each (i, list)
        if (str_eq(json_str(json_at(list, i)), name))
            return true;
    return false;
}

void finalizer_set(struct step *s, struct object *o, struct str name, bool wanted)
{
    const struct json *list = finalizers_of(s->arena, o);
    struct json_arr next = arr_in(s->arena);
    struct json_obj meta = obj_in(s->arena), root = obj_in(s->arena);
    struct object_key key = object_key(o);
    struct client_target t = {.kind = key.kind, .ns = key.ns, .name = key.name};

    if (finalizer_is_on(s->arena, o, name) == wanted)
        return;
    json_each (i, list)
        if (!str_eq(json_str(json_at(list, i)), name))
            arr_add(&next, *json_at(list, i));
    if (wanted)
        arr_add(&next, json_of_str(name));
    obj_setz(&meta, "finalizers", arr_done(&next));
    obj_setz(&root, "metadata", obj_done(&meta));
    struct json body = obj_done(&root);
    step_patch(s, &t, CLIENT_PATCH_MERGE, &body, &(struct client_patch_options){0}, NULL, NULL);
}
