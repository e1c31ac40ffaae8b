/* wire.c - frames and fields as bytes */
#include "runtime/wire_priv.h"

static void put_le(char *at, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (char)(v >> (8 * i));
}

static uint64_t get_le(const char *at, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)(uint8_t)at[i] << (8 * i);
    return v;
}

size_t wire_begin(struct buf *b, enum wire_type type)
{
    size_t begun = b->len;

    put_le(buf_room(b, 6), 0, 4);
    put_le(b->at + b->len + 4, (uint64_t)type, 2);
    b->len += 6;
    return begun;
}

void wire_str(struct buf *b, enum wire_tag tag, struct str s)
{
    char *at = buf_room(b, 6 + s.len);

    put_le(at, (uint64_t)tag, 2);
    put_le(at + 2, s.len, 4);
    if (s.len)
        memcpy(at + 6, s.at, s.len);
    b->len += 6 + s.len;
}

void wire_u64(struct buf *b, enum wire_tag tag, uint64_t v)
{
    char bytes[8];

    put_le(bytes, v, 8);
    wire_str(b, tag, str_of(bytes, 8));
}

void wire_end(struct buf *b, size_t begun)
{
    put_le(b->at + begun, b->len - begun - 4, 4);
}

int wire_next(struct str *bytes, struct wire_frame *out, struct err *err)
{
    if (bytes->len < 4)
        return 0;
    size_t len = (size_t)get_le(bytes->at, 4);
    if (len > WIRE_MAX_FRAME)
        return err_set(err, ERR_LIMIT, "frame of %zu bytes is over the limit of %zu", len,
                       WIRE_MAX_FRAME);
    if (len < 2)
        return err_set(err, ERR_SYNTAX, "frame of %zu bytes has no type", len);
    if (bytes->len < 4 + len)
        return 0;
    out->type = (uint16_t)get_le(bytes->at + 4, 2);
    out->fields = str_of(bytes->at + 6, len - 2);
    *bytes = str_slice(*bytes, 4 + len, bytes->len);
    return 1;
}

int wire_field(struct str *fields, struct wire_field *out, struct err *err)
{
    if (fields->len == 0)
        return 0;
    if (fields->len < 6)
        return err_set(err, ERR_SYNTAX, "field is cut off");
    size_t len = (size_t)get_le(fields->at + 2, 4);
    if (len > fields->len - 6)
        return err_set(err, ERR_SYNTAX, "field of %zu bytes is cut off", len);
    out->tag = (uint16_t)get_le(fields->at, 2);
    out->bytes = str_of(fields->at + 6, len);
    *fields = str_slice(*fields, 6 + len, fields->len);
    return 1;
}

uint64_t wire_number(struct wire_field f)
{
    return f.bytes.len == 8 ? get_le(f.bytes.at, 8) : 0;
}

/* ---- a spec ---- */

void wire_put_spec(struct buf *b, const struct runtime_spec *spec)
{
    const struct {
        enum wire_tag tag;
        int64_t v;
    } numbers[] = {
        {TAG_CPU_MILLIS,        spec->limits.cpu_millis       },
        {TAG_CPU_WEIGHT_MILLIS, spec->limits.cpu_weight_millis},
        {TAG_MEMORY,            spec->limits.memory           },
        {TAG_PIDS,              spec->limits.pids             },
        {TAG_NO_NEW_PRIVS,      spec->no_new_privs            },
        {TAG_OOM_SCORE,         spec->oom_score               },
        {TAG_CWD_MAY_FAIL,      spec->cwd_may_fail            },
        {TAG_LOG_MAX,           spec->log_max                 },
        {TAG_LOG_FILES,         spec->log_files               },
    };

    wire_str(b, TAG_ID, spec->id);
    for (size_t i = 0; i < spec->n_argv; i++)
        wire_str(b, TAG_ARG, spec->argv[i]);
    for (size_t i = 0; i < spec->n_env; i++)
        wire_str(b, TAG_ENV, spec->env[i]);
    wire_str(b, TAG_CWD, spec->cwd);
    wire_str(b, TAG_LOG_PATH, spec->log_path);
    if (spec->has_user) {
        wire_u64(b, TAG_UID, spec->uid);
        wire_u64(b, TAG_GID, spec->gid);
        for (size_t i = 0; i < spec->n_groups; i++)
            wire_u64(b, TAG_GROUP, spec->groups[i]);
    }
    for (size_t i = 0; i < countof(numbers); i++)
        if (numbers[i].v)
            wire_u64(b, numbers[i].tag, (uint64_t)numbers[i].v);
    for (size_t i = 0; i < spec->n_mounts; i++) {
        wire_str(b, TAG_MOUNT_SOURCE, spec->mounts[i].source);
        wire_str(b, TAG_MOUNT_TARGET, spec->mounts[i].target);
        if (spec->mounts[i].read_only)
            wire_u64(b, TAG_MOUNT_READ_ONLY, 1);
    }
}

/* What grows while a spec is read. */
struct spec_parts {
    struct arena *arena;
    VEC(struct str) argv;
    VEC(struct str) env;
    VEC(uint32_t) groups;
    VEC(struct runtime_mount) mounts;
};

static void take_mount(struct spec_parts *p, struct wire_field f)
{
    if (f.tag == TAG_MOUNT_SOURCE)
        vec_push_in(p->arena, &p->mounts, (struct runtime_mount){.source = f.bytes});
    else if (p->mounts.len && f.tag == TAG_MOUNT_TARGET)
        vec_last(&p->mounts).target = f.bytes;
    else if (p->mounts.len)
        vec_last(&p->mounts).read_only = wire_number(f) != 0;
}

static void take_spec_field(struct spec_parts *p, struct runtime_spec *out, struct wire_field f)
{
    int64_t n = (int64_t)wire_number(f);

    switch ((enum wire_tag)f.tag) {
    case TAG_ID:
        out->id = f.bytes;
        break;
    case TAG_ARG:
        vec_push_in(p->arena, &p->argv, f.bytes);
        break;
    case TAG_ENV:
        vec_push_in(p->arena, &p->env, f.bytes);
        break;
    case TAG_CWD:
        out->cwd = f.bytes;
        break;
    case TAG_CWD_MAY_FAIL:
        out->cwd_may_fail = n != 0;
        break;
    case TAG_LOG_PATH:
        out->log_path = f.bytes;
        break;
    case TAG_UID:
        out->has_user = true;
        out->uid = (uint32_t)n;
        break;
    case TAG_GID:
        out->gid = (uint32_t)n;
        break;
    case TAG_GROUP:
        vec_push_in(p->arena, &p->groups, (uint32_t)n);
        break;
    case TAG_CPU_MILLIS:
        out->limits.cpu_millis = n;
        break;
    case TAG_CPU_WEIGHT_MILLIS:
        out->limits.cpu_weight_millis = n;
        break;
    case TAG_MEMORY:
        out->limits.memory = n;
        break;
    case TAG_PIDS:
        out->limits.pids = n;
        break;
    case TAG_NO_NEW_PRIVS:
        out->no_new_privs = n != 0;
        break;
    case TAG_OOM_SCORE:
        out->oom_score = (int32_t)n;
        break;
    case TAG_LOG_MAX:
        out->log_max = n;
        break;
    case TAG_LOG_FILES:
        out->log_files = n;
        break;
    case TAG_MOUNT_SOURCE:
    case TAG_MOUNT_TARGET:
    case TAG_MOUNT_READ_ONLY:
        take_mount(p, f);
        break;
    default:
        break; /* a newer berth's */
    }
}

static bool is_id(struct str id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return id.len > 0 && id.len <= RUNTIME_MAX_ID && id.at[0] != '.';
}

/* Holds a byte that C strings cannot. */
static bool has_nul(const struct str *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].len && memchr(s[i].at, 0, s[i].len))
            return true;
    return false;
}

static int check_spec(const struct runtime_spec *s, struct err *err)
{
    struct str paths[] = {s->cwd, s->log_path};

    if (!is_id(s->id))
        return err_set(err, ERR_INVALID, "container id '%.*s' is not 1 to %d of [A-Za-z0-9._-]",
                       STR_ARG(str_slice(s->id, 0, 64)), RUNTIME_MAX_ID);
    if (s->n_argv == 0)
        return err_set(err, ERR_INVALID, "there is no command");
    if (s->n_argv + s->n_env > RUNTIME_MAX_STRINGS)
        return err_set(err, ERR_LIMIT, "%zu arguments and variables are over the limit of %d",
                       s->n_argv + s->n_env, RUNTIME_MAX_STRINGS);
    if (s->n_groups > RUNTIME_MAX_GROUPS || s->n_mounts > RUNTIME_MAX_MOUNTS)
        return err_set(err, ERR_LIMIT, "%zu groups or %zu mounts are over the limit of %d",
                       s->n_groups, s->n_mounts, RUNTIME_MAX_GROUPS);
    if (has_nul(s->argv, s->n_argv) || has_nul(s->env, s->n_env) ||
        has_nul(paths, countof(paths)))
        return err_set(err, ERR_INVALID, "a command, variable or path holds a zero byte");
    for (size_t i = 0; i < s->n_mounts; i++)
        if (has_nul(&s->mounts[i].source, 1) || has_nul(&s->mounts[i].target, 1) ||
            !str_starts(s->mounts[i].source, S("/")) ||
            !str_starts(s->mounts[i].target, S("/")))
            return err_set(err, ERR_INVALID, "mount on '%.*s' does not join absolute paths",
                           STR_ARG(s->mounts[i].target));
    if (s->log_path.len && s->log_path.at[0] != '/')
        return err_set(err, ERR_INVALID, "log path '%.*s' is not absolute",
                       STR_ARG(s->log_path));
    return 0;
}

int wire_get_spec(struct arena *a, struct str fields, struct runtime_spec *out, struct err *err)
{
    struct spec_parts p = {.arena = a};
    struct runtime_spec s = {0};
    struct wire_field f;
    int rc;

    while ((rc = wire_field(&fields, &f, err)) > 0)
        take_spec_field(&p, &s, f);
    if (rc < 0)
        return -1;
    s.argv = p.argv.at;
    s.n_argv = p.argv.len;
    s.env = p.env.at;
    s.n_env = p.env.len;
    s.groups = p.groups.at;
    s.n_groups = p.groups.len;
    s.mounts = p.mounts.at;
    s.n_mounts = p.mounts.len;
    *out = s; /* also where it is invalid: the answer names the id */
    return check_spec(&s, err);
}

/* ---- a status ---- */

void wire_put_status(struct buf *b, const struct runtime_status *s, struct str cgroup)
{
    wire_str(b, TAG_ID, s->id);
    wire_u64(b, TAG_STATE, (uint64_t)s->state);
    wire_u64(b, TAG_PID, (uint64_t)s->pid);
    wire_u64(b, TAG_STARTED, (uint64_t)s->started.ns);
    if (s->state == RUNTIME_EXITED) {
        wire_u64(b, TAG_FINISHED, (uint64_t)s->finished.ns);
        wire_u64(b, TAG_EXIT_CODE, (uint64_t)s->exit_code);
        wire_u64(b, TAG_EXIT_SIGNAL, (uint64_t)s->signal);
        wire_u64(b, TAG_OOM_KILLED, s->oom_killed);
        wire_u64(b, TAG_LOST, s->lost);
        wire_str(b, TAG_ERROR, s->error);
    }
    if (cgroup.len)
        wire_str(b, TAG_CGROUP, cgroup);
}

int wire_get_status(struct str fields, struct runtime_status *out, struct str *cgroup,
                    struct err *err)
{
    struct runtime_status s = {0};
    struct wire_field f;
    int rc;

    *cgroup = (struct str){0};
    while ((rc = wire_field(&fields, &f, err)) > 0) {
        int64_t n = (int64_t)wire_number(f);
        switch ((enum wire_tag)f.tag) {
        case TAG_ID:
            s.id = f.bytes;
            break;
        case TAG_STATE:
            s.state = n >= 0 && n <= RUNTIME_EXITED ? (enum runtime_state)n : RUNTIME_EXITED;
            break;
        case TAG_PID:
            s.pid = (int32_t)n;
            break;
        case TAG_STARTED:
            s.started.ns = n;
            break;
        case TAG_FINISHED:
            s.finished.ns = n;
            break;
        case TAG_EXIT_CODE:
            s.exit_code = (int32_t)n;
            break;
        case TAG_EXIT_SIGNAL:
            s.signal = (int32_t)n;
            break;
        case TAG_OOM_KILLED:
            s.oom_killed = n != 0;
            break;
        case TAG_LOST:
            s.lost = n != 0;
            break;
        case TAG_ERROR:
            s.error = f.bytes;
            break;
        case TAG_CGROUP:
            *cgroup = f.bytes;
            break;
        default:
            break;
        }
    }
    if (rc < 0)
        return -1;
    if (!is_id(s.id))
        return err_set(err, ERR_SYNTAX, "status has no container id");
    *out = s;
    return 0;
}
