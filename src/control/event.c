/* event.c - Events: what happened to an object, for people
 *
 * An event that says the same about the same object again is counted up in the Event that
 * stands already; a repetition within EVENT_QUIET of the last write is counted without being
 * written, and the next write carries the count. The book forgets the oldest past
 * EVENT_BOOK_MAX.
 *
 * Events are for people, who read no thousands: past EVENT_BURST of them they are written at
 * EVENT_RATE, and what is more than that is left out, as upstream's recorders do. Conditions
 * lose nothing.
 *
 * They are written a moment later than what they tell of, together: whoever waits for that
 * waits for no Event.
 */
#include "control/controller_priv.h"

#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "value/time.h"

#define EVENT_BOOK_MAX 4096
#define EVENT_QUIET span_s(1)
#define EVENT_DELAY span_ms(10)
#define EVENT_RATE 50 /* new ones a second that are written */
#define EVENT_BURST 1000
#define EVENT_RESERVE 250 /* of the burst, for warnings alone */

struct told {
    struct str key; /* uid, type, reason and note; owned */
    struct str ns, name;
    struct instant last_write;
    int64_t count;
};

struct unwritten {
    struct str ns;
    struct json body;
};

struct event_book {
    struct control *control;
    MAP(struct told *) told;
    VEC(struct unwritten) unwritten;
    struct arena arena; /* of what is unwritten */
    struct io_timer *timer;
    uint64_t n_made, n_left_out;
    int64_t budget; /* nanoseconds that are not spent; one event costs SECOND_NS / EVENT_RATE */
    struct instant counted;
};

static void told_free(struct told *t)
{
    free((char *)(uintptr_t)t->key.at);
    free((char *)(uintptr_t)t->name.at);
    free((char *)(uintptr_t)t->ns.at);
    free(t);
}

static void nobody_asks(void *ctx, const struct client_answer *answer)
{
    (void)ctx;
    if (answer->err && answer->err->code != ERR_CANCELED)
        log_debug("event not written", "why=\"%s\"", answer->err->text);
}

static void write_all(void *ctx)
{
    struct event_book *b = ctx;

    vec_each (i, &b->unwritten) {
        struct client_target target = {.kind = &kind_event, .ns = b->unwritten.at[i].ns};
        client_create(control_client(b->control), &target, &b->unwritten.at[i].body,
                      nobody_asks, NULL);
    }
    vec_clear(&b->unwritten);
    arena_reset(&b->arena);
}

static void write_later(struct event_book *b, struct str ns, const struct json *body)
{
    struct unwritten u = {str_copy(&b->arena, ns), *json_copy(&b->arena, body)};

    vec_push(&b->unwritten, u);
    if (!io_timer_is_set(b->timer))
        io_timer_set(b->timer, EVENT_DELAY);
}

struct event_book *event_book_new(struct control *c)
{
    struct event_book *b = mem_zero(1, sizeof(*b));

    b->control = c;
    b->timer = io_timer_new(control_io(c), write_all, b);
    b->budget = EVENT_BURST * (SECOND_NS / EVENT_RATE);
    b->counted = io_now(control_io(c));
    return b;
}

void event_book_free(struct event_book *b)
{
    map_each (i, &b->told)
        told_free(*map_at(&b->told, i));
    map_fini(&b->told);
    io_timer_free(b->timer);
    vec_fini(&b->unwritten);
    arena_fini(&b->arena);
    free(b);
}

static struct str heap_copy(struct str s)
{
    char *at = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(at, s.at, s.len);
    return str_of(at, s.len);
}

static struct json reference_to(struct arena *a, const struct object *about)
{
    struct object_key key = object_key(about);
    struct json_obj o = obj_in(a);

    obj_setz(&o, "kind", json_of_str(key.kind->kind));
    if (key.ns.len)
        obj_setz(&o, "namespace", json_of_str(key.ns));
    obj_setz(&o, "name", json_of_str(key.name));
    obj_setz(&o, "uid", json_of_str(object_uid(about)));
    obj_setz(&o, "apiVersion", json_of_str(key.kind->api_version));
    obj_setz(&o, "resourceVersion", json_of_str(str_of_u64(a, object_revision(about))));
    return obj_done(&o);
}

static struct json event_body(struct control *c, struct arena *a, const struct object *about,
                              const struct told *t, struct str type, struct str reason,
                              struct str note)
{
    struct json time = json_of_str(time_text(a, io_now(control_io(c))));
    struct json_obj o = obj_in(a), meta = obj_in(a), source = obj_in(a);

    obj_setz(&meta, "name", json_of_str(t->name));
    obj_setz(&meta, "namespace", json_of_str(t->ns));
    obj_setz(&source, "component", json_of_str(control_component(c)));
    obj_setz(&o, "apiVersion", json_of_z("v1"));
    obj_setz(&o, "kind", json_of_z("Event"));
    obj_setz(&o, "metadata", obj_done(&meta));
    obj_setz(&o, "involvedObject", reference_to(a, about));
    obj_setz(&o, "reason", json_of_str(reason));
    obj_setz(&o, "message", json_of_str(note));
    obj_setz(&o, "source", obj_done(&source));
    obj_setz(&o, "firstTimestamp", time);
    obj_setz(&o, "lastTimestamp", time);
    obj_setz(&o, "count", json_of_i64(1));
    obj_setz(&o, "type", json_of_str(type));
    obj_setz(&o, "reportingComponent", json_of_str(control_component(c)));
    return obj_done(&o);
}

static void count_up(struct control *c, struct arena *a, struct told *t)
{
    struct instant now = io_now(control_io(c));
    struct json_obj o = obj_in(a);
    struct client_target target = {.kind = &kind_event, .ns = t->ns, .name = t->name};

    t->count++;
    if (instant_sub(now, t->last_write).ns < EVENT_QUIET.ns)
        return;
    t->last_write = now;
    obj_setz(&o, "count", json_of_i64(t->count));
    obj_setz(&o, "lastTimestamp", json_of_str(time_text(a, now)));
    struct json body = obj_done(&o);
    client_patch(control_client(c), &target, CLIENT_PATCH_MERGE, &body,
                 &(struct client_patch_options){0}, nobody_asks, NULL);
}

static void forget_oldest(struct event_book *b)
{
    map_each (i, &b->told) {
        struct told *t = *map_at(&b->told, i);
        map_del(&b->told, t->key);
        told_free(t);
        return;
    }
}

/* May one more be written? */
static bool spend(struct event_book *b, struct str type, struct instant now)
{
    const int64_t cost = SECOND_NS / EVENT_RATE;
    int64_t least = str_eqz(type, "Normal") ? EVENT_RESERVE * cost : 0;
    int64_t since = MAX(instant_sub(now, b->counted).ns, INT64_C(0));

    b->budget = since > EVENT_BURST * cost ? EVENT_BURST * cost
                                           : MIN(b->budget + since, EVENT_BURST * cost);
    b->counted = now;
    if (b->budget - cost < least) {
        if (b->n_left_out++ == 0)
            log_info("more events than are written", "rate=%d", EVENT_RATE);
        return false;
    }
    b->budget -= cost;
    b->n_left_out = 0;
    return true;
}

static void say(struct control *c, struct object *about, struct str type, struct str reason,
                struct str note)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct event_book *b = control_events(c);
    struct str key =
        str_concat(&a, object_uid(about), S(" "), type, S(" "), reason, S(" "), note);
    struct told **found = map_get(&b->told, key);
    struct object_key of = object_key(about);

    if (found) {
        count_up(c, &a, *found);
        return;
    }
    struct instant now = io_now(control_io(c));
    if (!spend(b, type, now))
        return;
    if (map_len(&b->told) >= EVENT_BOOK_MAX)
        forget_oldest(b);
    struct told *t = mem_zero(1, sizeof(*t));
    *t = (struct told){.key = heap_copy(key), .last_write = now, .count = 1};
    t->ns = heap_copy(of.ns.len ? of.ns : S("default"));
    t->name = heap_copy(
        str_printf(&a, "%.*s.%" PRIx64, STR_ARG(of.name), (uint64_t)now.ns + b->n_made++));
    *map_put(&b->told, t->key) = t;
    struct json body = event_body(c, &a, about, t, type, reason, note);
    write_later(b, t->ns, &body);
}

like_printf(2, 0) static struct str
    note_of(char room[EVENT_NOTE_MAX + 1], const char *format, va_list args)
{
    int n = vsnprintf(room, EVENT_NOTE_MAX + 1, format, args);

    if (n > EVENT_NOTE_MAX) {
        memcpy(room + EVENT_NOTE_MAX - 4, " ...", 4);
        n = EVENT_NOTE_MAX;
    }
    return str_of(room, (size_t)n);
}

void step_event(struct step *s, struct object *about, const char *type, const char *reason,
                const char *format, ...)
{
    char room[EVENT_NOTE_MAX + 1];
    va_list args;

    va_start(args, format);
    say(s->control, about, str_from(type), str_from(reason), note_of(room, format, args));
    va_end(args);
}

void control_event(struct control *c, struct object *about, const char *type,
                   const char *reason, const char *format, ...)
{
    char room[EVENT_NOTE_MAX + 1];
    va_list args;

    va_start(args, format);
    say(c, about, str_from(type), str_from(reason), note_of(room, format, args));
    va_end(args);
}
