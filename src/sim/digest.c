/* digest.c - the thread that hashes
 *
 *     digest_written() → filling ──full──▶ handed → thread: hash
 *
 * One batch is handed over at a time; whoever has filled the next waits for it. The thread
 * begins with the first batch: a short stream needs none. This file has the room's only lock.
 */
#include <openssl/evp.h> /* first: its macros use words that base/ gives a meaning */
#include <pthread.h>

#include "sim/digest.h"

#define DIGEST_BATCH ((size_t)256 << 10) /* bytes */

struct digest {
    EVP_MD_CTX *sum; /* the thread's own while there is something in `handed` */
    struct buf filling;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buf handed; /* under the lock */
    bool is_ending;
};

static void hash(struct digest *d, const struct buf *b)
{
    if (b->len && !EVP_DigestUpdate(d->sum, b->at, b->len))
        die("no digest can be made");
}

static void *work(void *ctx)
{
    struct digest *d = ctx;

    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->handed.len && !d->is_ending)
            pthread_cond_wait(&d->changed, &d->lock);
        if (!d->handed.len)
            break;
        pthread_mutex_unlock(&d->lock);
        hash(d, &d->handed);
        pthread_mutex_lock(&d->lock);
        d->handed.len = 0;
        pthread_cond_signal(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void start(struct digest *d)
{
    if (d->has_thread)
        return;
    if (pthread_create(&d->thread, NULL, work, d) != 0)
        die("cannot start the thread that hashes");
    d->has_thread = true;
}

/* With the lock: until the thread has nothing. */
static void await_idle(struct digest *d)
{
    while (d->handed.len)
        pthread_cond_wait(&d->changed, &d->lock);
}

static void hand_over(struct digest *d)
{
    start(d);
    pthread_mutex_lock(&d->lock);
    await_idle(d);
    struct buf empty = d->handed;
    d->handed = d->filling;
    d->filling = empty;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

struct digest *digest_new(void)
{
    struct digest *d = mem_zero(1, sizeof(*d));

    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->sum = EVP_MD_CTX_new();
    if (!d->sum || !EVP_DigestInit_ex(d->sum, EVP_sha256(), NULL))
        die("no digest can be made");
    return d;
}

void digest_free(struct digest *d)
{
    if (!d)
        return;
    if (d->has_thread) {
        pthread_mutex_lock(&d->lock);
        d->is_ending = true;
        pthread_cond_signal(&d->changed);
        pthread_mutex_unlock(&d->lock);
        pthread_join(d->thread, NULL);
    }
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    EVP_MD_CTX_free(d->sum);
    buf_fini(&d->filling);
    buf_fini(&d->handed);
    free(d);
}

struct buf *digest_buf(struct digest *d)
{
    return &d->filling;
}

void digest_written(struct digest *d)
{
    if (d->filling.len >= DIGEST_BATCH)
        hand_over(d);
}

struct str digest_text(struct digest *d, struct arena *a)
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    unsigned char sum[32];
    struct buf b = buf_in(a, sizeof(sum) * 2 + 1);

    pthread_mutex_lock(&d->lock);
    await_idle(d);
    pthread_mutex_unlock(&d->lock);
    hash(d, &d->filling);
    d->filling.len = 0;
    if (!copy || !EVP_MD_CTX_copy_ex(copy, d->sum) || !EVP_DigestFinal_ex(copy, sum, NULL))
        die("no digest can be made");
    EVP_MD_CTX_free(copy);
    for (size_t i = 0; i < sizeof(sum); i++)
        buf_printf(&b, "%02x", sum[i]);
    return buf_str(&b);
}
