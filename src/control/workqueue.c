/* workqueue.c - keys that wait to be reconciled
 *
 *     delayed (heap by time) ──▶ ready (list, first in first out) ──▶ busy ──▶ gone
 *                ▲                                                     │
 *                └──────────── failed: back-off ◀──────────────────────┘
 */
#include "control/workqueue.h"

#include "control/control.h"
#include "io/io.h"

struct item {
    struct list in_ready;
    struct span due; /* uptime; while delayed */
    size_t heap_at;
    uint8_t n_failed;
    bool is_ready, is_busy, is_delayed, is_dirty;
    size_t key_len;
    char key[];
};

typedef struct item *item_ptr;

struct workqueue {
    struct io *io;
    void (*ready)(void *ctx);
    void *ctx;
    MAP(struct item *) items;
    struct list ready_list;
    HEAP(item_ptr) delayed;
    struct io_timer *timer;
    size_t n_ready, n_busy;
    bool has_called;
};

static bool due_before(const item_ptr *a, const item_ptr *b)
{
    if ((*a)->due.ns != (*b)->due.ns)
        return (*a)->due.ns < (*b)->due.ns;
    return str_cmp(str_of((*a)->key, (*a)->key_len), str_of((*b)->key, (*b)->key_len)) < 0;
}

static void item_moved(item_ptr *i, size_t at)
{
    (*i)->heap_at = at;
}

static void call_ready(void *ctx)
{
    struct workqueue *q = ctx;

    q->has_called = false;
    q->ready(q->ctx);
}

static void make_ready(struct workqueue *q, struct item *i)
{
    if (i->is_ready)
        return;
    i->is_ready = true;
    list_add(&q->ready_list, &i->in_ready);
    q->n_ready++;
    if (!q->has_called) {
        q->has_called = true;
        io_later(q->io, call_ready, q);
    }
}

static void undelay(struct workqueue *q, struct item *i)
{
    if (!i->is_delayed)
        return;
    i->is_delayed = false;
    heap_remove(&q->delayed, i->heap_at);
}

static void set_timer(struct workqueue *q)
{
    if (q->delayed.len == 0)
        io_timer_stop(q->timer);
    else
        io_timer_set(q->timer, (struct span){q->delayed.at[0]->due.ns - io_uptime(q->io).ns});
}

static void timer_fired(void *ctx)
{
    struct workqueue *q = ctx;

    while (q->delayed.len && q->delayed.at[0]->due.ns <= io_uptime(q->io).ns) {
        struct item *i = q->delayed.at[0];
        undelay(q, i);
        if (i->is_busy)
            i->is_dirty = true;
        else
            make_ready(q, i);
    }
    set_timer(q);
}

struct workqueue *workqueue_new(struct io *io, void (*ready)(void *ctx), void *ctx)
{
    struct workqueue *q = mem_zero(1, sizeof(*q));

    *q = (struct workqueue){.io = io, .ready = ready, .ctx = ctx};
    q->delayed.less = due_before;
    q->delayed.moved = item_moved;
    list_init(&q->ready_list);
    q->timer = io_timer_new(io, timer_fired, q);
    return q;
}

void workqueue_free(struct workqueue *q)
{
    if (!q)
        return;
    io_timer_free(q->timer);
    io_later_cancel(q->io, call_ready, q);
    map_each (i, &q->items)
        free(*map_at(&q->items, i));
    map_fini(&q->items);
    heap_fini(&q->delayed);
    free(q);
}

static struct item *item_of(struct workqueue *q, struct str key)
{
    struct item **found = map_get(&q->items, key);

    if (found)
        return *found;
    if (map_len(&q->items) >= CONTROL_MAX_QUEUED)
        die("work queue is over its limit of %d keys", CONTROL_MAX_QUEUED);
    struct item *i = mem_zero(1, sizeof(*i) + key.len);
    i->key_len = key.len;
    memcpy(i->key, key.at, key.len);
    *map_put(&q->items, str_of(i->key, i->key_len)) = i;
    return i;
}

/* An item without any reason to exist goes. */
static void drop_if_idle(struct workqueue *q, struct item *i)
{
    if (i->is_ready || i->is_busy || i->is_delayed || i->n_failed)
        return;
    map_del(&q->items, str_of(i->key, i->key_len));
    free(i);
}

void workqueue_add(struct workqueue *q, struct str key)
{
    struct item *i = item_of(q, key);

    if (i->is_busy)
        i->is_dirty = true;
    else
        make_ready(q, i);
}

static void delay(struct workqueue *q, struct item *i, struct span after)
{
    struct span due = {io_uptime(q->io).ns + MAX(after.ns, (int64_t)0)};

    if (i->is_delayed && i->due.ns <= due.ns)
        return;
    undelay(q, i);
    i->due = due;
    i->is_delayed = true;
    heap_push(&q->delayed, i);
    set_timer(q);
}

void workqueue_add_after(struct workqueue *q, struct str key, struct span after)
{
    if (after.ns <= 0)
        workqueue_add(q, key);
    else
        delay(q, item_of(q, key), after);
}

bool workqueue_take(struct workqueue *q, struct str *out)
{
    if (list_empty(&q->ready_list))
        return false;
    struct item *i = list_item(q->ready_list.next, struct item, in_ready);

    list_del(&i->in_ready);
    q->n_ready--;
    q->n_busy++;
    i->is_ready = false;
    i->is_busy = true;
    i->is_dirty = false;
    *out = str_of(i->key, i->key_len);
    return true;
}

static struct span backoff(uint8_t n_failed)
{
    int64_t ns = CONTROL_BACKOFF_FIRST.ns << MIN(n_failed, (uint8_t)20);

    return (struct span){MIN(ns, CONTROL_BACKOFF_MOST.ns)};
}

void workqueue_done(struct workqueue *q, struct str key, bool has_failed)
{
    struct item **found = map_get(&q->items, key);
    assert(found && (*found)->is_busy);
    struct item *i = *found;

    i->is_busy = false;
    q->n_busy--;
    if (has_failed) {
        delay(q, i, backoff(i->n_failed));
        i->n_failed = MIN(i->n_failed + 1, 200);
    } else {
        i->n_failed = 0;
    }
    if (i->is_dirty && !has_failed)
        make_ready(q, i);
    drop_if_idle(q, i);
}

size_t workqueue_len(const struct workqueue *q)
{
    return q->n_ready + q->delayed.len;
}

size_t workqueue_busy(const struct workqueue *q)
{
    return q->n_busy;
}
