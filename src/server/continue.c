/* continue.c - tokens that say where a list goes on */
#include "server/continue.h"

#include "json/json.h"

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static struct str encode(struct arena *a, struct str s)
{
    struct buf out = buf_in(a, s.len * 4 / 3 + 4);

    for (size_t i = 0; i < s.len; i += 3) {
        uint32_t n = (uint32_t)(uint8_t)s.at[i] << 16;
        size_t left = s.len - i;
        if (left > 1)
            n |= (uint32_t)(uint8_t)s.at[i + 1] << 8;
        if (left > 2)
            n |= (uint8_t)s.at[i + 2];
        for (size_t j = 0; j < MIN(left, (size_t)3) + 1; j++)
            buf_byte(&out, letters[n >> (18 - 6 * j) & 63]);
    }
    return buf_str(&out);
}

static int decode(struct arena *a, struct str s, struct str *out)
{
    struct buf b = buf_in(a, s.len);
    uint32_t n = 0, bits = 0;

    for (size_t i = 0; i < s.len; i++) {
        const char *at = s.at[i] ? strchr(letters, s.at[i]) : NULL;
        if (!at)
            return -1;
        n = n << 6 | (uint32_t)(at - letters);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            buf_byte(&b, (char)(n >> bits & 0xff));
        }
    }
    if (bits >= 6)
        return -1;
    *out = buf_str(&b);
    return 0;
}

struct str continue_text(struct arena *a, int64_t revision, struct str after)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "v", json_of_z("meta.k8s.io/v1"));
    obj_setz(&o, "rv", json_of_i64(revision));
    obj_setz(&o, "start", json_of_str(str_printf(a, "%.*s%c", STR_ARG(after), 0)));
    return encode(a, json_text(a, json_new(a, obj_done(&o))));
}

/* Would a path cleaner change it? Then it is no key of ours. */
static bool is_clean(struct str path)
{
    struct str rest = path, part;

    if (!path.len || path.at[path.len - 1] == '/')
        return false;
    while (rest.len) {
        str_cut(rest, '/', &part, &rest);
        if (!part.len || str_eqz(part, ".") || str_eqz(part, ".."))
            return false;
    }
    return true;
}

int continue_parse(struct arena *a, struct str token, uint64_t *revision, struct str *after,
                   struct err *err)
{
    struct str text;

    if (decode(a, token, &text) < 0)
        return err_set(err, ERR_SYNTAX, "illegal base64 data");
    const struct json *v = json_parse(a, text, NULL, err);
    if (!v)
        return -1;
    if (!str_eqz(json_str(json_getz(v, "v")), "meta.k8s.io/v1"))
        return err_set(err, ERR_SYNTAX, "server does not recognize this encoded version");
    int64_t rv = json_i64(json_getz(v, "rv"), 0);
    if (rv == 0)
        return err_set(err, ERR_SYNTAX, "incorrect encoded start resourceVersion (0)");
    struct str start = json_str(json_getz(v, "start"));
    if (!start.len)
        return err_set(err, ERR_SYNTAX, "start is empty");
    if (start.at[0] == '/')
        start = str_slice(start, 1, start.len);
    if (!is_clean(start))
        return err_set(err, ERR_SYNTAX, "start '%.*s' is not a key", STR_ARG(start));
    if (start.len && start.at[start.len - 1] == 0)
        start.len--;
    *revision = rv < 0 ? 0 : (uint64_t)rv;
    *after = start;
    return 0;
}
