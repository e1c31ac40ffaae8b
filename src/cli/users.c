/* users.c - who else may use this berth */
#include "cli/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <openssl/sha.h>

#include "cli/files.h"
#include "server/server.h"
#include "value/names.h"
#include "json/json.h"

#define TOKEN_BYTES 24
#define MAX_GROUPS 256

struct users {
    struct arena arena; /* of what was read last */
    struct str dir;
    struct timespec read_at; /* the file's time then */
    const struct json *list; /* of users, or NULL */
    uint32_t starter_uid;
    struct arena accounts; /* what was handed to the server */
};

static struct str users_path(struct arena *a, struct str dir)
{
    return place_in(a, dir, "users.json");
}

struct users *users_new(struct str dir, uint32_t starter_uid)
{
    struct users *u = mem_zero(1, sizeof(*u));

    u->dir = dir;
    u->starter_uid = starter_uid;
    return u;
}

void users_free(struct users *u)
{
    if (!u)
        return;
    arena_fini(&u->arena);
    arena_fini(&u->accounts);
    free(u);
}

static const struct json *read_list(struct arena *a, struct str dir)
{
    struct str text;

    if (file_read(a, users_path(a, dir), &text, NULL) < 0)
        return NULL;
    return json_getz(json_parse(a, text, NULL, NULL), "users");
}

static void refresh(struct users *u)
{
    scoped(arena_fini) struct arena a = arena_sized(512);
    struct stat st;

    if (stat(str_z(&a, users_path(&a, u->dir)), &st) < 0 ||
        memcmp(&st.st_mtim, &u->read_at, sizeof(st.st_mtim)) == 0)
        return;
    arena_reset(&u->arena);
    u->read_at = st.st_mtim;
    u->list = read_list(&u->arena, u->dir);
}

static struct str hex_digest(struct arena *a, struct str text)
{
    unsigned char sum[SHA256_DIGEST_LENGTH];
    struct buf b = buf_in(a, sizeof(sum) * 2 + 1);

    SHA256((const unsigned char *)text.at, text.len, sum);
    for (size_t i = 0; i < sizeof(sum); i++)
        buf_printf(&b, "%02x", sum[i]);
    return buf_str(&b);
}

static const struct json *find_by(const struct json *list, struct str field, struct str value)
{
    json_each (i, list)
        if (str_eq(json_str(json_get(json_at(list, i), field)), value))
            return json_at(list, i);
    return NULL;
}

/* ---- for the server ---- */

static bool fill_account(struct users *u, const struct passwd *pw, struct server_user *fill)
{
    gid_t groups[MAX_GROUPS];
    int n = MAX_GROUPS;

    if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0)
        n = MAX_GROUPS;
    uint32_t *copy = arena_array(&u->accounts, uint32_t, (size_t)n);
    for (int i = 0; i < n; i++)
        copy[i] = groups[i];
    fill->has_account = true;
    fill->account_uid = pw->pw_uid;
    fill->account_gid = pw->pw_gid;
    fill->account_groups = copy;
    fill->n_account_groups = (size_t)n;
    return true;
}

bool users_account(void *ctx, struct str user, struct server_user *fill)
{
    struct users *u = ctx;
    scoped(arena_fini) struct arena a = arena_sized(512);
    const struct passwd *pw;

    if (str_eq(user, S(USERS_ADMIN))) {
        pw = getpwuid(u->starter_uid);
        if (pw)
            return fill_account(u, pw, fill);
        fill->has_account = true;
        fill->account_uid = fill->account_gid = u->starter_uid;
        return true;
    }
    refresh(u);
    if (!find_by(u->list, S("name"), user))
        return false;
    pw = getpwnam(str_z(&a, user));
    return pw && fill_account(u, pw, fill);
}

bool users_token(void *ctx, struct str token, struct server_user *fill)
{
    struct users *u = ctx;
    scoped(arena_fini) struct arena a = arena_sized(512);

    refresh(u);
    const struct json *user = find_by(u->list, S("tokenSHA256"), hex_digest(&a, token));
    if (!user || token.len == 0)
        return false;
    const struct json *groups = json_getz(user, "groups");
    struct str *copy = arena_array(&u->accounts, struct str, json_len(groups) + 1);
    json_each (i, groups)
        copy[i] = str_copy(&u->accounts, json_str(json_at(groups, i)));
    fill->name = str_copy(&u->accounts, json_str(json_getz(user, "name")));
    fill->groups = copy;
    fill->n_groups = json_len(groups);
    users_account(u, fill->name, fill);
    return true;
}

/* ---- for `berth user` ---- */

static struct str new_token(struct arena *a)
{
    unsigned char bytes[TOKEN_BYTES];
    struct buf b = buf_in(a, TOKEN_BYTES * 2 + 8);

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        die("no random bytes: %s", strerror(errno));
    buf_add(&b, S("berth-"));
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(&b, "%02x", bytes[i]);
    return buf_str(&b);
}

int users_add(struct arena *a, struct str dir, struct str name, const struct str *groups,
              size_t n_groups, struct str *token, struct err *err)
{
    const struct json *list = read_list(a, dir);
    const struct json *was = find_by(list, S("name"), name);
    struct json_arr all = arr_in(a), of = arr_in(a);
    struct json_obj user = was ? obj_from(a, was) : obj_in(a), root = obj_in(a);

    if (!name_is(NAME_PATH_SEGMENT, name) || name.len == 0 || str_starts(name, S("system:")))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is no name for a user: not empty, no '/', not 'system:'",
                       STR_ARG(name));
    if (json_len(list) >= USERS_MAX)
        return err_set(err, ERR_LIMIT, "there are %d users already", USERS_MAX);
    json_each (i, list)
        if (json_at(list, i) != was)
            arr_add(&all, *json_at(list, i));
    for (size_t i = 0; i < n_groups; i++)
        arr_add(&of, json_of_str(groups[i]));
    obj_setz(&user, "name", json_of_str(name));
    obj_setz(&user, "groups", arr_done(&of));
    if (token) {
        *token = new_token(a);
        obj_setz(&user, "tokenSHA256", json_of_str(hex_digest(a, *token)));
    }
    arr_add(&all, obj_done(&user));
    obj_setz(&root, "users", arr_done(&all));
    struct json v = obj_done(&root);
    struct buf text = buf_in(a, 1024);
    json_write_pretty(&text, &v);
    buf_byte(&text, '\n');
    return file_write(a, users_path(a, dir), 0600, buf_str(&text), err);
}
