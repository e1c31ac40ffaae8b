/* words.c - when a Workload that waits is told why */
#include "controllers/words.h"

struct entry {
    struct str key, message; /* owned */
    enum queue_reason reason, said;
    bool is_gated, has_news, was_said;
    struct instant due; /* the news, or the end of the silence */
    size_t at;          /* in the heap */
};
typedef struct entry *entry_ref;

struct words {
    MAP(struct entry *) by_key;
    HEAP(entry_ref) by_due;
};

static bool is_sooner(const entry_ref *a, const entry_ref *b)
{
    return instant_before((*a)->due, (*b)->due);
}

static void has_moved(entry_ref *e, size_t index)
{
    (*e)->at = index;
}

struct words *words_new(void)
{
    struct words *w = mem_zero(1, sizeof(*w));

    w->by_due.less = is_sooner;
    w->by_due.moved = has_moved;
    return w;
}

static void set_text(struct str *to, struct str text)
{
    char *at = mem_alloc(text.len + 1);

    if (text.len)
        memcpy(at, text.at, text.len);
    free((char *)(uintptr_t)to->at);
    *to = str_of(at, text.len);
}

static void drop(struct words *w, struct entry *e)
{
    heap_remove(&w->by_due, e->at);
    map_del(&w->by_key, e->key);
    free((char *)(uintptr_t)e->key.at);
    free((char *)(uintptr_t)e->message.at);
    free(e);
}

void words_free(struct words *w)
{
    if (!w)
        return;
    while (w->by_due.len)
        drop(w, w->by_due.at[0]);
    heap_fini(&w->by_due);
    map_fini(&w->by_key);
    free(w);
}

static struct entry *entry_new(struct words *w, struct str key, struct instant due)
{
    struct entry *e = mem_zero(1, sizeof(*e));

    set_text(&e->key, key);
    e->due = due;
    *map_put(&w->by_key, e->key) = e;
    heap_push(&w->by_due, e);
    return e;
}

static struct instant later(const struct words *w, struct instant now, struct span least,
                            struct span apart)
{
    return instant_add(now, (struct span){MAX(least.ns, apart.ns * (int64_t)w->by_due.len)});
}

void words_say(struct words *w, const struct word *word, struct instant now)
{
    struct instant soon = later(w, now, WORDS_AFTER, FIRST_APART);
    struct entry **found = map_get(&w->by_key, word->key);
    struct entry *e = found ? *found : entry_new(w, word->key, soon);
    bool is_same = e->reason == word->reason && e->is_gated == word->is_gated;

    if (e->was_said && is_same && str_eq(e->message, word->message))
        return;
    if (e->was_said && e->said != word->reason && instant_before(soon, e->due)) {
        e->due = soon;
        heap_fix(&w->by_due, e->at);
    }
    e->reason = word->reason;
    e->is_gated = word->is_gated;
    e->has_news = true;
    set_text(&e->message, word->message);
}

void words_forget(struct words *w, struct str key)
{
    struct entry **e = map_get(&w->by_key, key);

    if (e)
        drop(w, *e);
}

bool words_take(struct words *w, struct instant now, struct word *out, struct instant *next)
{
    while (w->by_due.len && !instant_before(now, w->by_due.at[0]->due)) {
        struct entry *e = w->by_due.at[0];
        if (!e->has_news) {
            drop(w, e);
            continue;
        }
        *out = (struct word){.key = e->key,
                             .message = e->message,
                             .reason = e->reason,
                             .is_gated = e->is_gated,
                             .has_other_reason = !e->was_said || e->said != e->reason};
        e->has_news = false;
        e->was_said = true;
        e->said = e->reason;
        e->due = later(w, now, WORDS_EVERY, WORDS_APART);
        heap_fix(&w->by_due, e->at);
        return true;
    }
    *next = w->by_due.len ? w->by_due.at[0]->due : (struct instant){0};
    return false;
}
