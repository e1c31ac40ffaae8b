/* pod_source.c - from what a container names to texts */
#include "node/pod_source.h"

#include "api/core_v1.h"
#include "schema/view.h"
#include "value/quantity.h"

#define FILE_MODE 0644

/* ---- which sources ---- */

struct finding {
    struct arena *arena;
    VEC(struct pod_source) found;
};

static void name_source(struct finding *f, enum source_kind kind, struct str name)
{
    if (!name.len)
        return;
    vec_each (i, &f->found)
        if (f->found.at[i].kind == kind && str_eq(f->found.at[i].name, name))
            return;
    vec_push_in(f->arena, &f->found, (struct pod_source){.kind = kind, .name = name});
}

static void find_in_containers(struct finding *f, const struct container_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct container *c = &l->at[i];
        for (size_t k = 0; k < c->env_from.len; k++) {
            const struct env_from_source *from = &c->env_from.at[k];
            if (from->config_map_ref)
                name_source(f, SOURCE_CONFIG_MAP, from->config_map_ref->name);
            if (from->secret_ref)
                name_source(f, SOURCE_SECRET, from->secret_ref->name);
        }
        for (size_t k = 0; k < c->env.len; k++) {
            const struct env_var_source *from = c->env.at[k].value_from;
            if (from && from->config_map_key_ref)
                name_source(f, SOURCE_CONFIG_MAP, from->config_map_key_ref->name);
            if (from && from->secret_key_ref)
                name_source(f, SOURCE_SECRET, from->secret_key_ref->name);
        }
    }
}

static void find_in_volume(struct finding *f, const struct volume *v)
{
    if (volume_is_ignored(v))
        return;
    if (v->config_map)
        name_source(f, SOURCE_CONFIG_MAP, v->config_map->name);
    if (v->secret)
        name_source(f, SOURCE_SECRET, v->secret->secret_name);
    for (size_t i = 0; v->projected && i < v->projected->sources.len; i++) {
        const struct volume_projection *p = &v->projected->sources.at[i];
        if (p->config_map)
            name_source(f, SOURCE_CONFIG_MAP, p->config_map->name);
        if (p->secret)
            name_source(f, SOURCE_SECRET, p->secret->name);
    }
}

size_t pod_sources(struct arena *a, const struct pod *pod, struct pod_source **out)
{
    struct finding f = {.arena = a};

    find_in_containers(&f, &pod->spec->init_containers);
    find_in_containers(&f, &pod->spec->containers);
    for (size_t i = 0; i < pod->spec->volumes.len; i++)
        find_in_volume(&f, &pod->spec->volumes.at[i]);
    *out = f.found.at;
    return f.found.len;
}

static const struct pod_source *find_source(const struct pod_facts *f, enum source_kind kind,
                                            struct str name)
{
    for (size_t i = 0; i < f->n_sources; i++)
        if (f->sources[i].kind == kind && str_eq(f->sources[i].name, name))
            return f->sources[i].is_missing ? NULL : &f->sources[i];
    return NULL;
}

static int missing(struct err *err, enum source_kind kind, struct str name)
{
    return err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found",
                   kind == SOURCE_SECRET ? "secret" : "configmap", STR_ARG(name));
}

/* One key; *out NULL where it is missing and may be. */
static int find_key(const struct pod_facts *f, enum source_kind kind, struct str name,
                    struct str key, bool optional, const struct str **out, struct err *err)
{
    const struct pod_source *s = find_source(f, kind, name);

    *out = NULL;
    if (!s && optional)
        return 0;
    if (!s)
        return missing(err, kind, name);
    *out = str_map_find(&s->data, key);
    if (!*out)
        *out = str_map_find(&s->binary, key);
    if (*out || optional)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "couldn't find key %.*s in %s %.*s/%.*s", STR_ARG(key),
                   kind == SOURCE_SECRET ? "Secret" : "ConfigMap",
                   STR_ARG(f->pod->metadata->namespace), STR_ARG(name));
}

/* ---- fields ---- */

/* metadata.labels['KEY'] */
static bool subscript(struct str path, struct str prefix, struct str *key)
{
    if (!str_starts(path, prefix) || !str_ends(path, S("']")))
        return false;
    path = str_slice(path, prefix.len, path.len - 2);
    if (!str_starts(path, S("['")))
        return false;
    *key = str_slice(path, 2, path.len);
    return true;
}

static int by_bytes(const struct str *x, const struct str *y)
{
    return str_cmp(*x, *y);
}

/* As upstream writes them into a file: key="value", one a line, sorted. */
static struct str map_text(struct arena *a, const struct str_map *m)
{
    struct buf out = buf_in(a, 64);
    VEC(struct str) lines = {0};

    for (size_t i = 0; i < m->len; i++) {
        struct buf line = buf_in(a, 64);
        buf_printf(&line, "%.*s=\"", STR_ARG(m->at[i].key));
        for (size_t k = 0; k < m->at[i].value.len; k++) {
            char c = m->at[i].value.at[k];
            if (c == '"' || c == '\\')
                buf_byte(&line, '\\');
            if (c == '\n')
                buf_add(&line, S("\\n"));
            else
                buf_byte(&line, c);
        }
        buf_byte(&line, '"');
        vec_push_in(a, &lines, buf_str(&line));
    }
    vec_sort(&lines, by_bytes);
    vec_each (i, &lines)
        buf_printf(&out, "%s%.*s", i ? "\n" : "", STR_ARG(lines.at[i]));
    return buf_str(&out);
}

int pod_field(struct arena *a, const struct pod_facts *f, struct str path, struct str *out,
              struct err *err)
{
    const struct object_meta *m = f->pod->metadata;
    const struct {
        const char *path;
        struct str value;
    } rows[] = {
        {"metadata.name",           m->name                           },
        {"metadata.namespace",      m->namespace                      },
        {"metadata.uid",            m->uid                            },
        {"spec.nodeName",           f->pod->spec->node_name           },
        {"spec.serviceAccountName", f->pod->spec->service_account_name},
        {"status.hostIP",           f->host_ip                        },
        {"status.hostIPs",          f->host_ip                        },
        {"status.podIP",            f->host_ip                        },
        {"status.podIPs",           f->host_ip                        },
    };
    struct str key;

    for (size_t i = 0; i < countof(rows); i++)
        if (str_eqz(path, rows[i].path)) {
            *out = rows[i].value;
            return 0;
        }
    if (subscript(path, S("metadata.labels"), &key))
        *out = str_map_get(&m->labels, key);
    else if (subscript(path, S("metadata.annotations"), &key))
        *out = str_map_get(&m->annotations, key);
    else if (str_eqz(path, "metadata.labels"))
        *out = map_text(a, &m->labels);
    else if (str_eqz(path, "metadata.annotations"))
        *out = map_text(a, &m->annotations);
    else
        return err_set(err, ERR_INVALID, "field '%.*s' of a pod cannot be referred to",
                       STR_ARG(path));
    return 0;
}

static const struct container *find_container(const struct pod *pod, struct str name)
{
    const struct container_list *lists[] = {&pod->spec->containers,
                                            &pod->spec->init_containers};

    for (size_t k = 0; k < countof(lists); k++)
        for (size_t i = 0; i < lists[k]->len; i++)
            if (str_eq(lists[k]->at[i].name, name))
                return &lists[k]->at[i];
    return NULL;
}

/* ceil(quantity / divisor), in the divisor's units. */
static int resource_field(struct arena *a, const struct pod_facts *f, const struct container *c,
                          const struct resource_field_selector *r, struct str *out,
                          struct err *err)
{
    static const struct str_map none = {0};
    struct str which, resource;
    struct quantity q = {0}, divisor = quantity_of(1, 0, QUANTITY_DECIMAL_SI);

    if (r->container_name.len)
        c = find_container(f->pod, r->container_name);
    if (!c || !str_cut(r->resource, '.', &which, &resource))
        return err_set(err, ERR_INVALID, "resource field '%.*s' of container '%.*s' is unknown",
                       STR_ARG(r->resource), STR_ARG(r->container_name));
    bool is_limit = str_eqz(which, "limits");
    const struct str_map *list = !c->resources ? &none
                                 : is_limit    ? &c->resources->limits
                                               : &c->resources->requests;
    const struct str *text = str_map_find(list, resource);
    if (text) {
        if (quantity_parse(a, *text, &q, err) < 0)
            return -1;
    } else if (is_limit && str_eqz(resource, "cpu")) {
        q = quantity_of(f->node_cpu_millis, QUANTITY_MILLI, QUANTITY_DECIMAL_SI);
    } else if (is_limit && str_eqz(resource, "memory")) {
        q = quantity_of(f->node_memory, 0, QUANTITY_BINARY_SI);
    } else if (is_limit && str_eqz(resource, "ephemeral-storage")) {
        q = quantity_of(f->node_storage, 0, QUANTITY_BINARY_SI);
    }
    if (r->divisor.len && quantity_parse(a, r->divisor, &divisor, err) < 0)
        return -1;
    bool is_cpu = str_eqz(resource, "cpu");
    int64_t units = quantity_units(&q, is_cpu ? QUANTITY_MILLI : 0);
    int64_t by = quantity_is_zero(&divisor)
                     ? (is_cpu ? 1000 : 1)
                     : quantity_units(&divisor, is_cpu ? QUANTITY_MILLI : 0);
    *out = str_printf(a, "%" PRId64, units / by + (units % by > 0));
    return 0;
}

/* ---- variables ---- */

void env_set(struct env *e, struct str name, struct str value)
{
    vec_each (i, &e->vars)
        if (str_eq(e->vars.at[i].key, name)) {
            e->vars.at[i].value = value;
            return;
        }
    vec_push_in(e->arena, &e->vars, (struct str_entry){name, value});
}

static const struct str *find_var(const struct env *e, struct str name)
{
    vec_each (i, &e->vars)
        if (str_eq(e->vars.at[i].key, name))
            return &e->vars.at[i].value;
    return NULL;
}

struct str env_get(const struct env *e, struct str name)
{
    const struct str *v = find_var(e, name);

    return v ? *v : (struct str){0};
}

struct str env_expand(const struct env *e, struct str text)
{
    if (str_index(text, '$') == STR_NONE)
        return text;
    struct buf out = buf_in(e->arena, text.len + 32);
    for (size_t i = 0; i < text.len; i++) {
        struct str rest = str_slice(text, i, text.len);
        size_t end = str_starts(rest, S("$(")) ? str_index(rest, ')') : STR_NONE;
        const struct str *value = end == STR_NONE ? NULL : find_var(e, str_slice(rest, 2, end));
        if (str_starts(rest, S("$$"))) {
            buf_byte(&out, '$');
            i++;
        } else if (value) {
            buf_add(&out, *value);
            i += end;
        } else {
            buf_byte(&out, text.at[i]);
        }
    }
    return buf_str(&out);
}

const struct str *env_strings(const struct env *e)
{
    struct str *out = arena_array(e->arena, struct str, e->vars.len + 1);

    vec_each (i, &e->vars)
        out[i] = str_printf(e->arena, "%.*s=%.*s", STR_ARG(e->vars.at[i].key),
                            STR_ARG(e->vars.at[i].value));
    return out;
}

static int set_all(struct env *e, const struct pod_facts *f, enum source_kind kind,
                   struct str name, bool optional, struct str prefix, struct err *err)
{
    const struct pod_source *s = find_source(f, kind, name);

    if (!s)
        return optional ? 0 : missing(err, kind, name);
    for (size_t i = 0; i < s->data.len; i++)
        env_set(e,
                prefix.len ? str_printf(e->arena, "%.*s%.*s", STR_ARG(prefix),
                                        STR_ARG(s->data.at[i].key))
                           : s->data.at[i].key,
                s->data.at[i].value);
    return 0;
}

static int env_from(struct env *e, const struct pod_facts *f, const struct container *c,
                    struct err *err)
{
    for (size_t i = 0; i < c->env_from.len; i++) {
        const struct env_from_source *from = &c->env_from.at[i];
        if (from->config_map_ref &&
            set_all(e, f, SOURCE_CONFIG_MAP, from->config_map_ref->name,
                    from->config_map_ref->optional, from->prefix, err) < 0)
            return -1;
        if (from->secret_ref && set_all(e, f, SOURCE_SECRET, from->secret_ref->name,
                                        from->secret_ref->optional, from->prefix, err) < 0)
            return -1;
    }
    return 0;
}

/* *value NULL: the variable is left out. */
static int value_from(struct env *e, const struct pod_facts *f, const struct container *c,
                      const struct env_var *v, const struct str **value, struct err *err)
{
    const struct env_var_source *from = v->value_from;
    struct str *text = arena_new(e->arena, struct str);

    *value = text;
    if (from->field_ref)
        return pod_field(e->arena, f, from->field_ref->field_path, text, err);
    if (from->resource_field_ref)
        return resource_field(e->arena, f, c, from->resource_field_ref, text, err);
    if (from->config_map_key_ref)
        return find_key(f, SOURCE_CONFIG_MAP, from->config_map_key_ref->name,
                        from->config_map_key_ref->key, from->config_map_key_ref->optional,
                        value, err);
    if (from->secret_key_ref)
        return find_key(f, SOURCE_SECRET, from->secret_key_ref->name, from->secret_key_ref->key,
                        from->secret_key_ref->optional, value, err);
    return err_set(err, ERR_UNSUPPORTED, "variable '%.*s' has a source of an unknown kind",
                   STR_ARG(v->name));
}

int env_of_container(struct env *e, const struct pod_facts *f, const struct container *c,
                     struct err *err)
{
    if (env_from(e, f, c, err) < 0)
        return -1;
    for (size_t i = 0; i < c->env.len; i++) {
        const struct env_var *v = &c->env.at[i];
        const struct str *value = NULL;
        if (!v->value_from) {
            env_set(e, v->name, env_expand(e, v->value));
            continue;
        }
        if (value_from(e, f, c, v, &value, err) < 0)
            return -1;
        if (value)
            env_set(e, v->name, *value);
    }
    return 0;
}

/* ---- files of volumes ---- */

bool volume_has_files(const struct volume *v)
{
    return v->config_map || v->secret || v->downward_api || v->projected;
}

bool volume_is_ignored(const struct volume *v)
{
    for (size_t i = 0; v->projected && i < v->projected->sources.len; i++)
        if (v->projected->sources.at[i].service_account_token)
            return true;
    return false;
}

/* A path that stays inside. */
static bool is_inside(struct str path)
{
    struct str part;

    if (!path.len || path.at[0] == '/' || memchr(path.at, 0, path.len))
        return false;
    while (path.len) {
        str_cut(path, '/', &part, &path);
        if (str_eqz(part, "..") || part.len == 0 || part.len > 255)
            return false;
    }
    return true;
}

static int add_file(struct arena *a, struct volume_files *out, struct str path,
                    struct str bytes, int32_t mode, struct err *err)
{
    if (!is_inside(path))
        return err_set(err, ERR_INVALID, "path '%.*s' leaves the volume", STR_ARG(path));
    vec_push_in(a, &out->files, (struct volume_file){path, bytes, mode});
    return 0;
}

static int add_items(struct arena *a, const struct pod_facts *f, enum source_kind kind,
                     struct str name, const struct key_to_path_list *items, bool optional,
                     int32_t mode, struct volume_files *out, struct err *err)
{
    const struct pod_source *s = find_source(f, kind, name);

    if (!s)
        return optional ? 0 : missing(err, kind, name);
    for (size_t i = 0; i < items->len; i++) {
        const struct key_to_path *item = &items->at[i];
        const struct str *bytes;
        if (find_key(f, kind, name, item->key, optional, &bytes, err) < 0)
            return -1;
        if (bytes && add_file(a, out, item->path, *bytes,
                              IS_SET(item, mode) ? item->mode : mode, err) < 0)
            return -1;
    }
    const struct str_map *maps[] = {&s->data, &s->binary};
    for (size_t k = 0; !items->len && k < countof(maps); k++)
        for (size_t i = 0; i < maps[k]->len; i++)
            if (add_file(a, out, maps[k]->at[i].key, maps[k]->at[i].value, mode, err) < 0)
                return -1;
    return 0;
}

static int add_fields(struct arena *a, const struct pod_facts *f,
                      const struct downward_api_volume_file_list *l, int32_t mode,
                      struct volume_files *out, struct err *err)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct downward_api_volume_file *file = &l->at[i];
        struct str text = {0};
        if (file->field_ref && pod_field(a, f, file->field_ref->field_path, &text, err) < 0)
            return -1;
        if (file->resource_field_ref &&
            resource_field(a, f, NULL, file->resource_field_ref, &text, err) < 0)
            return -1;
        if (add_file(a, out, file->path, text, IS_SET(file, mode) ? file->mode : mode, err) < 0)
            return -1;
    }
    return 0;
}

static int add_projection(struct arena *a, const struct pod_facts *f,
                          const struct volume_projection *p, int32_t mode,
                          struct volume_files *out, struct err *err)
{
    if (p->config_map)
        return add_items(a, f, SOURCE_CONFIG_MAP, p->config_map->name, &p->config_map->items,
                         p->config_map->optional, mode, out, err);
    if (p->secret)
        return add_items(a, f, SOURCE_SECRET, p->secret->name, &p->secret->items,
                         p->secret->optional, mode, out, err);
    if (p->downward_api)
        return add_fields(a, f, &p->downward_api->items, mode, out, err);
    return err_set(err, ERR_UNSUPPORTED, "a projected source is of a kind that is not built");
}

static int32_t mode_or(bool is_set, int32_t mode)
{
    return is_set ? mode : FILE_MODE;
}

int volume_files_of(struct arena *a, const struct pod_facts *f, const struct volume *v,
                    struct volume_files *out, struct err *err)
{
    *out = (struct volume_files){0};
    if (v->config_map)
        return add_items(
            a, f, SOURCE_CONFIG_MAP, v->config_map->name, &v->config_map->items,
            v->config_map->optional,
            mode_or(IS_SET(v->config_map, default_mode), v->config_map->default_mode), out,
            err);
    if (v->secret)
        return add_items(
            a, f, SOURCE_SECRET, v->secret->secret_name, &v->secret->items, v->secret->optional,
            mode_or(IS_SET(v->secret, default_mode), v->secret->default_mode), out, err);
    if (v->downward_api)
        return add_fields(
            a, f, &v->downward_api->items,
            mode_or(IS_SET(v->downward_api, default_mode), v->downward_api->default_mode), out,
            err);
    int32_t mode = mode_or(IS_SET(v->projected, default_mode), v->projected->default_mode);
    for (size_t i = 0; i < v->projected->sources.len; i++)
        if (add_projection(a, f, &v->projected->sources.at[i], mode, out, err) < 0)
            return -1;
    return 0;
}
