/* env.c - environments: which libraries they have, and what they know by name */
#include "cel/env_priv.h"

const struct cel_type *const cel_builtin_types[] = {
    &cel_type_bool,   &cel_type_int,       &cel_type_uint,     &cel_type_double,
    &cel_type_string, &cel_type_bytes,     &cel_type_null,     &cel_type_list,
    &cel_type_map,    &cel_type_timestamp, &cel_type_duration, &cel_type_type,
};
const size_t cel_n_builtin_types = countof(cel_builtin_types);

static const struct lib_table *const tables[] = {
    &cel_lib_standard, &cel_lib_conversions, &cel_lib_times, &cel_lib_optional,
    &cel_lib_strings,  &cel_lib_math,        &cel_lib_lists, &cel_lib_sets,
    &cel_lib_regex,    &cel_lib_k8s,         &cel_lib_net,   &cel_lib_authz,
};

/* ---- what the kinds of environments hold ---- */

#define NEVER_REMOVED 0
#define BASE_KINDS                                                                             \
    (1u << CEL_ENV_BASE | 1u << CEL_ENV_CRD | 1u << CEL_ENV_ADMISSION | 1u << CEL_ENV_MATCH |  \
     1u << CEL_ENV_DEVICE | 1u << CEL_ENV_NAMED)
#define DEVICE_KINDS (1u << CEL_ENV_DEVICE)
#define KIND(k) (1u << CEL_ENV_##k)

/* A library in the environments of `kinds`, from the compatibility version that introduced it
 * (minor; 0: always) up to the one that removed it. */
static const struct lib_option {
    uint8_t lib, version, since, until;
    unsigned kinds;
} lib_options[] = {
    {LIB_STD,                 0, 0,  NEVER_REMOVED, ~0u                       },
    {LIB_K8S_URL,             0, 0,  NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_REGEX,           0, 0,  NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_LISTS,           0, 0,  NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_STRINGS,             0, 0,  29,            BASE_KINDS                },
    {LIB_STRINGS,             2, 29, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_AUTHZ,           0, 27, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_CROSS,               0, 28, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_OPTIONAL,            2, 28, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_QUANTITY,        0, 28, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_SETS,                0, 29, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_IP,              0, 30, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_CIDR,            0, 30, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_FORMAT,          0, 31, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_AUTHZ_SELECTORS, 0, 31, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_TWO_VAR,             0, 32, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_K8S_SEMVER,          1, 33, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_LISTS,               3, 34, NEVER_REMOVED, BASE_KINDS                },
    {LIB_K8S_INCLUDES,        0, 37, NEVER_REMOVED, BASE_KINDS | KIND(LIBRARY)},
    {LIB_BIND,                0, 31, NEVER_REMOVED, DEVICE_KINDS              },
    {LIB_K8S_SEMVER,          0, 31, NEVER_REMOVED, DEVICE_KINDS              },
    {LIB_K8S_SEMVER,          0, 0,  NEVER_REMOVED, KIND(NAMED)               },
    {LIB_K8S_JSONPATCH,       0, 0,  NEVER_REMOVED, KIND(LIBRARY)             },
    {LIB_CROSS,               0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_OPTIONAL,            2, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_STRINGS,             5, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_MATH,                2, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_LISTS,               3, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_SETS,                0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_ENCODERS,            0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_TWO_VAR,             0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_REGEX,               0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_BIND,                1, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_BLOCK,               0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_PROTO,               0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_NET,                 0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_K8S_IP,              0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
    {LIB_K8S_CIDR,            0, 0,  NEVER_REMOVED, KIND(LANGUAGE)            },
};

/* What holds of all expressions in the environments of `kinds`, in the same way. */
static const struct flag_option {
    size_t flag; /* offset of a bool in struct cel_env */
    uint8_t since;
    unsigned kinds;
} flag_options[] = {
    {offsetof(struct cel_env, folds),          0,  BASE_KINDS                },
    {offsetof(struct cel_env, test_is_free),   0,  BASE_KINDS | KIND(LIBRARY)},
    {offsetof(struct cel_env, costs_k8s),      0,  BASE_KINDS | KIND(LIBRARY)},
    {offsetof(struct cel_env, is_homogeneous), 0,  BASE_KINDS                },
    {offsetof(struct cel_env, validates),      29, BASE_KINDS                },
    {offsetof(struct cel_env, knows_keywords), 31, BASE_KINDS                },
    {offsetof(struct cel_env, is_definition),  0,  KIND(LANGUAGE)            },
    {offsetof(struct cel_env, is_device),      0,  KIND(DEVICE)              },
    {offsetof(struct cel_env, is_named),       0,  KIND(NAMED)               },
};

#define K8S_CALL_LIMIT 1000000

static bool is_within(const struct cel_env *env, int since, int until)
{
    int v = env->spec.version;

    if (v == CEL_STORED)
        return until == NEVER_REMOVED;
    return since <= v && (until == NEVER_REMOVED || v < until);
}

static void configure(struct cel_env *env)
{
    const struct cel_env_spec *s = &env->spec;

    memset(env->libs, -1, sizeof(env->libs));
    for (size_t i = 0; i < countof(lib_options); i++) {
        const struct lib_option *o = &lib_options[i];
        if ((o->kinds >> s->kind & 1) && is_within(env, o->since, o->until))
            env->libs[o->lib] = MAX(env->libs[o->lib], (int8_t)o->version);
    }
    for (size_t i = 0; i < countof(flag_options); i++) {
        const struct flag_option *o = &flag_options[i];
        if ((o->kinds >> s->kind & 1) && is_within(env, o->since, NEVER_REMOVED))
            *(bool *)((char *)env + o->flag) = true;
    }
    if (s->kind == CEL_ENV_DEVICE) { /* list attributes bring their own function */
        bool has_lists = s->version == CEL_STORED || (s->gates & CEL_GATE_DEVICE_LISTS);
        bool is_old = s->release && s->release < 37;
        if (is_old)
            env->libs[LIB_K8S_INCLUDES] = -1;
        if (has_lists)
            env->libs[is_old ? LIB_DEVICE_INCLUDES : LIB_K8S_INCLUDES] = 0;
    }
    env->old_format = env->libs[LIB_STRINGS] < 4;
    env->folds &= !s->no_fold;
    env->libs[LIB_ENUM] = s->is_strong_enum ? 0 : -1;
    if (s->kind == CEL_ENV_GO)
        env->test_is_free = !s->presence_costs;
    bool is_k8s = env->costs_k8s;
    env->limit = s->limit ? s->limit : is_k8s ? K8S_CALL_LIMIT : UINT64_MAX;
}

/* ---- functions ---- */

static void put_head(struct cel_env *env, struct str name)
{
    struct str head, tail;

    if (str_cut(name, '.', &head, &tail))
        *map_put(&env->heads, head) = true;
}

static struct function *function_put(struct cel_env *env, struct str name)
{
    struct function **f = map_put(&env->functions, name);

    if (!*f) {
        put_head(env, name);
        *f = arena_new(&env->arena, struct function);
        (*f)->name = name;
        (*f)->k8s_cost = env->costs_k8s ? (int16_t)cost_by_name(name) : -1;
    }
    return *f;
}

static int add_overload(struct cel_env *env, struct str name, struct overload o,
                        const char *signature, struct err *err)
{
    struct function *f = function_put(env, name);

    if (!signature_read(env, signature, &o, err))
        return -1;
    o.function = f;
    o.order = (uint8_t)MIN(f->overloads.len, (size_t)UINT8_MAX);
    vec_push_in(&env->arena, &f->overloads, arena_copy(&env->arena, &o));
    return 0;
}

static void add_row(struct cel_env *env, const struct lib_row *row)
{
    struct overload o = {.row = row,
                         .id = str_from(row->id),
                         .fn = row->fn,
                         .data = row->data,
                         .cost = row->cost};
    struct err err = {0};

    if (add_overload(env, str_from(row->name), o, row->signature, &err) < 0)
        die("cel: signature of '%s': %s", row->id, err.text);
}

static bool has_row(const struct cel_env *env, const struct lib_row *row)
{
    int v = env->libs[row->lib];

    return v >= row->since && v >= 0 && (row->until == 0 || v < row->until);
}

/* The function as the environment's own, so that it can be changed. */
static struct function *function_own(struct cel_env *env, struct str name)
{
    const struct function *old = env->base ? env_function(env->base, name) : NULL;
    struct function **own = map_get(&env->functions, name), *f;

    if (own || !old)
        return own ? *own : NULL;
    f = function_put(env, name);
    vec_each (i, &old->overloads)
        vec_push_in(&env->arena, &f->overloads, old->overloads.at[i]);
    return f;
}

bool cel_env_cost(struct cel_env *env, const char *name, const char *id, uint32_t cost)
{
    struct function *f = function_own(env, str_from(name));

    for (size_t i = 0; f && i < f->overloads.len; i++) {
        if (!str_eqz(f->overloads.at[i]->id, id))
            continue;
        struct overload *o = arena_copy(&env->arena, f->overloads.at[i]);
        o->cost = COST_FIXED;
        o->fixed_cost = cost;
        f->overloads.at[i] = o;
        return true;
    }
    return false;
}

int cel_env_function(struct cel_env *env, const char *name, const char *id,
                     const char *signature, cel_fn *fn, struct err *err)
{
    struct overload o = {.id = str_from(id), .fn = fn};
    struct str copy = str_copy(&env->arena, str_from(name));

    o.id = str_copy(&env->arena, o.id);
    function_own(env, copy); /* an extension starts with what is there */
    return add_overload(env, copy, o, signature, err);
}

/* ---- types and variables ---- */

static void put_type(struct cel_env *env, const struct cel_type *t)
{
    *map_put(&env->types, t->name) = t;
    put_head(env, t->name);
}

static void add_types(struct cel_env *env)
{
    static const struct {
        uint8_t lib;
        const struct cel_type *type;
    } of_libs[] = {
        {LIB_OPTIONAL,     &cel_type_optional},
        {LIB_K8S_QUANTITY, &cel_type_quantity},
        {LIB_K8S_SEMVER,   &cel_type_semver  },
        {LIB_K8S_IP,       &cel_type_ip      },
        {LIB_K8S_CIDR,     &cel_type_cidr    },
        {LIB_K8S_URL,      &cel_type_url     },
        {LIB_K8S_FORMAT,   &cel_type_format  },
    };

    for (size_t i = 0; i < cel_n_builtin_types; i++)
        put_type(env, cel_builtin_types[i]);
    for (size_t i = 0; i < countof(of_libs); i++)
        if (env_has(env, (enum lib)of_libs[i].lib))
            put_type(env, of_libs[i].type);
}

int cel_env_var(struct cel_env *env, struct str name, const struct cel_type *type, int since,
                int until)
{
    if (!is_within(env, since, until))
        return -1;
    struct env_var *v = map_put(&env->vars, name);
    *v = (struct env_var){name, type, env->n_vars++};
    put_head(env, name);
    return v->index;
}

int cel_env_index(const struct cel_env *env, struct str name)
{
    const struct env_var *v = env_var(env, name);

    return v ? v->index : -1;
}

void cel_env_type(struct cel_env *env, const struct cel_type *type, int since, int until)
{
    if (is_within(env, since, until))
        put_type(env, type);
}

void cel_env_sizes(struct cel_env *env, cel_size_fn *fn, void *ctx)
{
    env->sizes = (struct cel_size_hook){fn, ctx};
}

const struct cel_type *cel_env_type_of(struct cel_env *env, struct str text, struct err *err)
{
    const struct cel_type *t = cel_type_read(&env->arena, env, &text, err);

    if (t && text.len) {
        err_set(err, ERR_SYNTAX, "'%.*s' behind the type", STR_ARG(text));
        return NULL;
    }
    return t;
}

/* ---- making environments ---- */

struct cel_env *cel_env_new(const struct cel_env_spec *spec)
{
    struct cel_env *env = mem_zero(1, sizeof(*env));

    env->arena = arena_sized(64 << 10);
    env->spec = *spec;
    env->spec.container = str_copy(&env->arena, spec->container);
    configure(env);
    add_types(env);
    for (size_t t = 0; t < countof(tables); t++)
        for (size_t i = 0; i < tables[t]->n; i++)
            if (has_row(env, &tables[t]->rows[i]))
                add_row(env, &tables[t]->rows[i]);
    if (spec->kind == CEL_ENV_LANGUAGE)
        env_add_messages(env);
    if (spec->kind == CEL_ENV_DEVICE || spec->kind == CEL_ENV_NAMED)
        env_add_device(env);
    if (spec->kind == CEL_ENV_ADMISSION || spec->kind == CEL_ENV_MATCH)
        env_add_admission(env);
    return env;
}

struct cel_env *cel_env_extend(const struct cel_env *base)
{
    struct cel_env *env = mem_zero(1, sizeof(*env));

    *env = *base;
    env->base = base;
    env->arena = arena_sized(1 << 10);
    memset(&env->functions, 0, sizeof(env->functions));
    memset(&env->vars, 0, sizeof(env->vars));
    memset(&env->heads, 0, sizeof(env->heads));
    memset(&env->types, 0, sizeof(env->types));
    return env;
}

void cel_env_free(struct cel_env *env)
{
    if (!env)
        return;
    map_fini(&env->functions);
    map_fini(&env->vars);
    map_fini(&env->heads);
    map_fini(&env->types);
    arena_fini(&env->arena);
    free(env);
}

/* ---- looking up ---- */

bool env_has_head(const struct cel_env *env, struct str word)
{
    if (env->spec.container.len)
        return true;
    for (; env; env = env->base)
        if (map_get(&env->heads, word))
            return true;
    return false;
}

const struct function *env_function(const struct cel_env *env, struct str name)
{
    for (; env; env = env->base) {
        struct function **f = map_get(&env->functions, name);
        if (f)
            return *f;
    }
    return NULL;
}

const struct env_var *env_var(const struct cel_env *env, struct str name)
{
    for (; env; env = env->base) {
        struct env_var *v = map_get(&env->vars, name);
        if (v)
            return v;
    }
    return NULL;
}

const struct cel_type *env_type(const struct cel_env *env, struct str name)
{
    for (; env; env = env->base) {
        const struct cel_type **t = map_get(&env->types, name);
        if (t)
            return *t;
    }
    return NULL;
}

size_t env_candidates(struct arena *a, const struct cel_env *env, struct str name, bool is_root,
                      struct str *out)
{
    struct str prefix = env->spec.container, tail;
    size_t n = 0;

    while (!is_root && prefix.len && n + 1 < MAX_CONTAINER) {
        out[n++] = str_printf(a, "%.*s.%.*s", STR_ARG(prefix), STR_ARG(name));
        if (!str_rcut(prefix, '.', &prefix, &tail))
            break;
    }
    out[n++] = name;
    return n;
}

/* ---- hints ---- */

/* Letters to change to make one word of the other; at most `max`. */
static size_t distance(struct str a, struct str b, size_t max)
{
    size_t row[64];

    if (a.len >= countof(row) || b.len >= countof(row) || a.len == 0 ||
        (a.len > b.len ? a.len - b.len : b.len - a.len) > max)
        return max + 1;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.len; j++) {
            size_t change = diagonal + (a.at[i] != b.at[j]);
            diagonal = row[j + 1];
            size_t other = MIN(row[j], row[j + 1]) + 1;
            row[j + 1] = MIN(change, other);
        }
    }
    return row[b.len];
}

static struct str since_hint(struct arena *a, const struct cel_env *env, struct str name)
{
    for (size_t t = 0; t < countof(tables); t++) {
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct lib_row *row = &tables[t]->rows[i];
            if (!str_eqz(name, row->name))
                continue;
            for (size_t k = 0; k < countof(lib_options); k++) {
                const struct lib_option *o = &lib_options[k];
                if (o->lib == row->lib && o->since > 0 && o->version >= row->since &&
                    (o->kinds >> env->spec.kind & 1))
                    return str_printf(a, "; known since 1.%d", o->since);
            }
        }
    }
    return str_of("", 0);
}

struct str env_hint(struct arena *a, const struct cel_env *env, struct str name)
{
    struct str best = {0}, since = since_hint(a, env, name);
    size_t max = name.len < 5 ? 1 : 2, d;

    if (since.len)
        return since;
    for (const struct cel_env *e = env; e; e = e->base) {
        map_each (i, &e->vars) {
            d = distance(name, map_key(&e->vars, i), max);
            if (d <= max)
                best = map_key(&e->vars, i), max = d - (d > 0);
        }
        map_each (i, &e->functions) {
            d = distance(name, map_key(&e->functions, i), max);
            if (d <= max && map_key(&e->functions, i).at[0] != '_')
                best = map_key(&e->functions, i), max = d - (d > 0);
        }
    }
    return best.at ? str_printf(a, ", did you mean '%.*s'?", STR_ARG(best)) : str_of("", 0);
}
