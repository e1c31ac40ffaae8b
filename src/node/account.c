/* account.c - names and homes of accounts, looked up beside the loop (they may be far away) */
#include "node/node_priv.h"

#include <pwd.h>
#include <unistd.h>

#define MAX_ENTRY 16384 /* bytes of an entry of the account database */

struct waiter {
    io_fn *ready;
    void *ctx;
};

struct lookup {
    struct account account; /* first */
    struct accounts *owner; /* NULL: nobody wants it any more */
    VEC(struct waiter) waiters;
};

struct accounts {
    struct io *io;
    MAP(struct lookup *) by_uid; /* key: the bytes of account.uid */
};

struct accounts *accounts_new(struct io *io)
{
    struct accounts *a = mem_zero(1, sizeof(*a));

    a->io = io;
    return a;
}

static void lookup_free(struct lookup *l)
{
    free(l->account.name);
    free(l->account.home);
    vec_fini(&l->waiters);
    free(l);
}

void accounts_free(struct accounts *a)
{
    if (!a)
        return;
    map_each (i, &a->by_uid) {
        struct lookup *l = *map_at(&a->by_uid, i);
        if (l->account.is_known)
            lookup_free(l);
        else
            l->owner = NULL; /* freed when its work is done */
    }
    map_fini(&a->by_uid);
    free(a);
}

static char *copy_z(const char *z)
{
    size_t n = strlen(z) + 1;

    return memcpy(mem_alloc(n), z, n);
}

/* On the pool: touches nothing but its own entry. */
static void look_up(void *ctx)
{
    struct lookup *l = ctx;
    struct passwd pw, *found = NULL;
    char *room = mem_alloc(MAX_ENTRY);

    if (getpwuid_r(l->account.uid, &pw, room, MAX_ENTRY, &found) != 0)
        found = NULL;
    l->account.name = copy_z(found && pw.pw_name ? pw.pw_name : "");
    l->account.home = copy_z(found && pw.pw_dir ? pw.pw_dir : "");
    free(room);
}

static void looked_up(void *ctx)
{
    struct lookup *l = ctx;

    l->account.is_known = true;
    if (!l->owner) {
        lookup_free(l);
        return;
    }
    vec_each (i, &l->waiters)
        l->waiters.at[i].ready(l->waiters.at[i].ctx);
    vec_fini(&l->waiters);
}

const struct account *account_find(struct accounts *a, uint32_t uid, io_fn *ready, void *ctx)
{
    struct lookup **known = map_get(&a->by_uid, str_of((char *)&uid, sizeof(uid)));
    struct lookup *l = known ? *known : NULL;

    if (l && l->account.is_known)
        return &l->account;
    if (!l) {
        l = mem_zero(1, sizeof(*l));
        l->owner = a;
        l->account.uid = uid;
        *map_put(&a->by_uid, str_of((char *)&l->account.uid, sizeof(l->account.uid))) = l;
        io_work(a->io, look_up, looked_up, l);
    }
    if (!l->waiters.len || vec_last(&l->waiters).ctx != ctx)
        vec_push(&l->waiters, (struct waiter){ready, ctx});
    return NULL;
}
