/* run_as.c - as which account of this machine an object's work runs */
#include "api/run_as.h"

struct str run_as_text(struct arena *a, const struct run_as *r)
{
    struct buf out = buf_in(a, 64);

    buf_printf(&out, "{\"uid\":%" PRIu32 ",\"gid\":%" PRIu32 ",\"groups\":[", r->uid, r->gid);
    for (size_t i = 0; i < r->n_groups; i++)
        buf_printf(&out, "%s%" PRIu32, i ? "," : "", r->groups[i]);
    buf_add(&out, S("]}"));
    return buf_str(&out);
}

static int read_id(const struct json *v, uint32_t *out, struct err *err)
{
    int64_t id = json_i64(v, -1);

    /* The last one means "leave it" to the kernel. */
    if (id < 0 || id >= UINT32_MAX)
        return err_set(err, ERR_INVALID, "an account needs whole numbers below 4294967295");
    *out = (uint32_t)id;
    return 0;
}

int run_as_parse(struct arena *a, struct str text, struct run_as *out, struct err *err)
{
    const struct json *v = json_parse(a, text, NULL, err), *groups = json_getz(v, "groups");
    struct run_as r = {.n_groups = json_len(groups)};
    uint32_t *ids;

    if (!v)
        return err_wrap(err, "cannot read " RUN_AS_ANNOTATION);
    if (read_id(json_getz(v, "uid"), &r.uid, err) < 0 ||
        read_id(json_getz(v, "gid"), &r.gid, err) < 0)
        return err_wrap(err, "cannot read " RUN_AS_ANNOTATION);
    if (r.n_groups > RUN_AS_MAX_GROUPS)
        return err_set(err, ERR_INVALID, "%zu groups are over the limit of %d", r.n_groups,
                       RUN_AS_MAX_GROUPS);
    ids = arena_array(a, uint32_t, r.n_groups);
    for (size_t i = 0; i < r.n_groups; i++) {
        if (read_id(json_at(groups, i), &ids[i], err) < 0)
            return err_wrap(err, "cannot read " RUN_AS_ANNOTATION);
    }
    r.groups = ids;
    *out = r;
    return 0;
}

int run_as_of(struct arena *a, const struct json *object, bool *is_there, struct run_as *out,
              struct err *err)
{
    struct str text =
        json_str(json_path(object, "metadata", "annotations", RUN_AS_ANNOTATION, NULL));

    *is_there = text.len > 0;
    return text.len ? run_as_parse(a, text, out, err) : 0;
}
