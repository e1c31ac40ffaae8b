/* sets.c - sets of fields that were read before */
#include "schema/sets.h"

#define WAYS 4 /* places for a text */
#define SEEN 256
#define SET_ROOM 6 /* bytes of a set and its text, by those of the text, about */

struct known {
    struct arena arena;
    struct json text; /* raw; len 0: not in use */
    struct fieldset set;
    uint64_t hash;
    uint64_t used; /* when */
};

struct sets {
    struct known all[SETS_MAX];
    uint64_t seen[SEEN]; /* hashes of texts that came once: most never come again */
    uint64_t clock, began;
    const struct known *out[SETS_OUT];
    size_t n_out;
};

struct sets *sets_new(void)
{
    return mem_zero(1, sizeof(struct sets));
}

void sets_free(struct sets *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < SETS_MAX; i++)
        arena_fini(&s->all[i].arena);
    free(s);
}

void sets_begin(struct sets *s)
{
    s->began = s->clock;
    s->n_out = 0;
}

static struct fieldset hand_out(struct sets *s, struct known *k)
{
    k->used = ++s->clock;
    if (s->n_out < SETS_OUT)
        s->out[s->n_out++] = k;
    return k->set;
}

static bool came_before(struct sets *s, uint64_t hash)
{
    uint64_t *seen = &s->seen[hash % SEEN];
    bool is_known = *seen == hash;

    *seen = hash;
    return is_known;
}

/* In the place of the one that was used longest ago, unless that is still in use. */
static int learn(struct sets *s, struct known *ways, uint64_t hash, const struct json *fields,
                 struct known **out, struct err *err)
{
    struct known *oldest = ways,
                 k = {.arena = arena_sized(fields->len * SET_ROOM), .hash = hash};

    for (size_t i = 1; i < WAYS; i++)
        if (ways[i].used < oldest->used)
            oldest = &ways[i];
    *out = NULL;
    if (oldest->text.len && oldest->used > s->began)
        return 0;
    k.text = *json_copy(&k.arena, fields);
    if (fieldset_read(&k.arena, &k.text, &k.set, err) < 0) {
        arena_fini(&k.arena);
        return -1;
    }
    arena_fini(&oldest->arena);
    *oldest = k;
    *out = oldest;
    return 0;
}

int sets_read(struct sets *s, struct arena *a, const struct json *fields, struct fieldset *out,
              struct err *err)
{
    struct known *ways, *k;

    if (!s || !json_is(fields, JSON_RAW) || fields->len > SET_TEXT_MAX)
        return fieldset_read(a, fields, out, err);
    struct str text = str_of(fields->s, fields->len);
    uint64_t hash = str_hash(text);
    ways = &s->all[hash % (SETS_MAX / WAYS) * WAYS];
    for (size_t i = 0; i < WAYS; i++)
        if (ways[i].hash == hash && str_eq(str_of(ways[i].text.s, ways[i].text.len), text)) {
            *out = hand_out(s, &ways[i]);
            return 0;
        }
    if (!came_before(s, hash))
        return fieldset_read(a, fields, out, err);
    if (learn(s, ways, hash, fields, &k, err) < 0)
        return -1;
    if (!k)
        return fieldset_read(a, fields, out, err);
    *out = hand_out(s, k);
    return 0;
}

const struct json *sets_text(const struct sets *s, struct fieldset set)
{
    for (size_t i = 0; s && set.n && i < s->n_out; i++)
        if (s->out[i]->set.at == set.at && s->out[i]->set.n == set.n)
            return &s->out[i]->text;
    return NULL;
}
