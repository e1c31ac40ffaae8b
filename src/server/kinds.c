/* kinds.c - which kinds are served, found by plural or by name */
#include "server/server_priv.h"

#include "api/convert.h"

static struct str key_of(struct arena *a, struct str group, struct str version, struct str last)
{
    return str_concat(a, group, S("/"), version, S("/"), last);
}

static const struct kind *find(const struct map_core *core, struct str group,
                               struct str version, struct str last)
{
    char room[256];
    scoped(arena_fini) struct arena a = arena_over(room, sizeof(room));
    const struct kind **found =
        map_get_(core, key_of(&a, group, version, last), sizeof(struct kind *));

    return found ? *found : NULL;
}

const struct kind *kind_of_plural(const struct server *s, struct str group, struct str version,
                                  struct str plural)
{
    return find(&s->kind_by_plural.core, group, version, plural);
}

const struct kind *kind_of_name(const struct server *s, struct str group, struct str version,
                                struct str kind)
{
    return find(&s->kind_by_name.core, group, version, kind);
}

void kinds_add(struct server *s, const struct kind *k)
{
    struct arena *a = &s->names;

    *map_put(&s->kind_by_name, key_of(a, k->group, k->version, k->kind)) = k;
    if (!k->served)
        return;
    *map_put(&s->kind_by_plural, key_of(a, k->group, k->version, k->plural)) = k;
    vec_push(&s->kinds, k);
}

const struct kind *kind_find_storage(void *server, struct str name)
{
    struct str rest, kind, group, version;

    str_rcut(name, '/', &rest, &kind);
    if (!str_rcut(rest, '/', &group, &version)) {
        version = rest;
        group = str_of(NULL, 0);
    }
    return kind_of_name(server, group, version, kind);
}

struct str path_of(struct arena *a, const struct kind *k, struct str ns, struct str name)
{
    return k->namespaced ? str_concat(a, ns, S("/"), name) : name;
}

const struct json *tree_as_kind(struct arena *a, const struct json *tree,
                                const struct kind *from, const struct kind *to)
{
    return from == to ? tree : api_convert(a, tree, from, to);
}

struct object *as_kind(struct arena *a, struct object *o, const struct kind *k)
{
    const struct kind *stored = object_key(o).kind;

    if (stored == k || k->storage != stored)
        return object_ref(o);
    struct object *as = object_new(k, tree_as_kind(a, object_tree(o, a), stored, k));
    object_set_revision(as, object_revision(o));
    return as;
}
