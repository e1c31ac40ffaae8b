/* users.c - who else may use this berth */
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "cli/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/files.h"
#include "io/io.h"
#include "server/server.h"
#include "value/names.h"
#include "json/json.h"

#define TOKEN_BYTES 24
#define KEY_BYTES 32
#define MAX_GROUPS 256
#define ACCOUNT_AGE_S 60 /* how long the system's word about an account is believed */

/* One who asked: looked up once, so that not every request reads the system's files. Requests
 * point to the lists: they are replaced only where they have changed, and never freed. */
struct known {
    struct str name;
    const struct str *groups;
    size_t n_groups;
    uint64_t file; /* the reading of users.json that groups are of */
    bool has_account;
    uint32_t uid, gid;
    const uint32_t *account_groups;
    size_t n_account_groups;
    struct span asked; /* uptime when the system was asked; 0: never */
};

struct users {
    struct io *io;
    struct arena arena; /* of what was read last */
    uint64_t n_reads;
    struct str dir;
    struct timespec read_at; /* the file's time then */
    const struct json *list; /* of users, or NULL */
    uint32_t starter_uid;
    struct arena kept;            /* what was handed to the server */
    MAP(struct known) known;      /* by name */
    unsigned char key[KEY_BYTES]; /* that tokens of service accounts are signed with */
    bool has_key;
};

static struct str users_path(struct arena *a, struct str dir)
{
    return place_in(a, dir, "users.json");
}

struct users *users_new(struct io *io, struct str dir, uint32_t starter_uid)
{
    struct users *u = mem_zero(1, sizeof(*u));

    u->io = io;
    u->dir = dir;
    u->starter_uid = starter_uid;
    return u;
}

void users_free(struct users *u)
{
    if (!u)
        return;
    arena_fini(&u->arena);
    arena_fini(&u->kept);
    map_fini(&u->known);
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
    u->n_reads++;
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

static struct known *known_of(struct users *u, struct str name)
{
    struct known *k = map_get(&u->known, name);

    if (k)
        return k;
    name = str_copy(&u->kept, name);
    k = map_put(&u->known, name);
    k->name = name;
    return k;
}

static void take_account(struct users *u, struct known *k, const struct passwd *pw)
{
    gid_t groups[MAX_GROUPS];
    int n = MAX_GROUPS;

    if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0)
        n = MAX_GROUPS;
    k->has_account = true;
    k->uid = pw->pw_uid;
    k->gid = pw->pw_gid;
    if (n > 0 && (size_t)n == k->n_account_groups &&
        memcmp(k->account_groups, groups, sizeof(gid_t) * (size_t)n) == 0)
        return;
    uint32_t *copy = arena_array(&u->kept, uint32_t, (size_t)n);
    for (int i = 0; i < n; i++)
        copy[i] = groups[i];
    k->account_groups = copy;
    k->n_account_groups = (size_t)n;
}

/* The account of that name; the starter's certificate stands for the starter. */
static void ask_system(struct users *u, struct known *k)
{
    bool is_starter = str_eq(k->name, S(USERS_ADMIN));
    scoped(arena_fini) struct arena a = arena_sized(512);
    const struct passwd *pw =
        is_starter ? getpwuid(u->starter_uid) : getpwnam(str_z(&a, k->name));

    k->has_account = is_starter;
    k->uid = k->gid = u->starter_uid;
    k->asked = io_uptime(u->io);
    if (pw)
        take_account(u, k, pw);
}

bool users_account(void *ctx, struct str user, struct server_user *fill)
{
    struct users *u = ctx;

    refresh(u);
    if (!str_eq(user, S(USERS_ADMIN)) && !find_by(u->list, S("name"), user))
        return false;
    struct known *k = known_of(u, user);
    if (!k->asked.ns || io_uptime(u->io).ns - k->asked.ns >= span_s(ACCOUNT_AGE_S).ns)
        ask_system(u, k);
    if (!k->has_account)
        return false;
    fill->has_account = true;
    fill->account_uid = k->uid;
    fill->account_gid = k->gid;
    fill->account_groups = k->account_groups;
    fill->n_account_groups = k->n_account_groups;
    return true;
}

static void take_groups(struct users *u, struct known *k, const struct json *groups)
{
    if (k->file == u->n_reads)
        return;
    struct str *copy = arena_array(&u->kept, struct str, json_len(groups) + 1);
    json_each (i, groups)
        copy[i] = str_copy(&u->kept, json_str(json_at(groups, i)));
    k->groups = copy;
    k->n_groups = json_len(groups);
    k->file = u->n_reads;
}

bool users_token(void *ctx, struct str token, struct server_user *fill)
{
    struct users *u = ctx;
    scoped(arena_fini) struct arena a = arena_sized(512);

    refresh(u);
    const struct json *user = find_by(u->list, S("tokenSHA256"), hex_digest(&a, token));
    if (!user || token.len == 0)
        return false;
    struct known *k = known_of(u, json_str(json_getz(user, "name")));
    take_groups(u, k, json_getz(user, "groups"));
    fill->name = k->name;
    fill->groups = k->groups;
    fill->n_groups = k->n_groups;
    users_account(u, k->name, fill);
    return true;
}

static void random_bytes(unsigned char *out, size_t n)
{
    if (getrandom(out, n, 0) != (ssize_t)n)
        die("no random bytes: %s", strerror(errno));
}

static int make_key(struct users *u, struct arena *a, struct str path, struct err *err)
{
    random_bytes(u->key, KEY_BYTES);
    return file_write(a, path, 0600, str_of((char *)u->key, KEY_BYTES), err);
}

/* DIR/pki/token.key, made when it is first needed. */
static int load_key(struct users *u, struct err *err)
{
    scoped(arena_fini) struct arena a = arena_sized(1024);
    struct str path = place_in(&a, u->dir, "pki/token.key"), bytes;

    if (file_read(&a, path, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND ? make_key(u, &a, path, err) : -1;
    if (bytes.len != KEY_BYTES)
        return err_set(err, ERR_INVALID, "'%.*s' is no key of %d bytes", STR_ARG(path),
                       KEY_BYTES);
    memcpy(u->key, bytes.at, KEY_BYTES);
    return 0;
}

bool users_sign(void *ctx, struct str bytes, uint8_t *out)
{
    struct users *u = ctx;
    struct err err = {0};

    if (!u->has_key && load_key(u, &err) < 0)
        log_error("no key for tokens", "reason=\"%s\"", err.text);
    else
        u->has_key = true;
    return u->has_key && HMAC(EVP_sha256(), u->key, KEY_BYTES, (const unsigned char *)bytes.at,
                              bytes.len, out, NULL);
}

/* ---- for `berth user` ---- */

static struct str new_token(struct arena *a)
{
    unsigned char bytes[TOKEN_BYTES];
    struct buf b = buf_in(a, TOKEN_BYTES * 2 + 8);

    random_bytes(bytes, sizeof(bytes));
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
