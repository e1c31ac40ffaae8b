/* event.c - Events: what happened to an object, for people
 *
 *     say() ──▶ told book: which Event, may it be written? ──▶ soon or later ──▶ client
 *
 * event_told.h has the rules about one object, which are upstream's. Over all objects there is
 * a last guard where upstream's recorders have a queue that drops and a client that waits: past
 * EVENT_BURST writes they come at EVENT_RATE, the last EVENT_RESERVE for warnings alone.
 * Conditions lose nothing.
 *
 * A new Event is written EVENT_SOON after what it tells of, together with others: whoever waits
 * for that waits for no Event. Where it is one more of an Event that stands, the write comes
 * EVENT_LATER. What is said meanwhile goes with the write that is on its way and takes nothing
 * from any allowance: the count that people read is the true one for as long as upstream would
 * write every step of it, and there is more left for what is told next. Upstream has no such
 * delay, so that a Job of thirty pods has nothing left for its end.
 */
#include "control/controller_priv.h"
#include "control/event_told.h"

#include "api/core_v1.h"
#include "api/kinds.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/codec.h"
#include "schema/view.h"
#include "value/names.h"

#define EVENT_SOON span_ms(50)
#define EVENT_LATER span_s(1)
#define EVENT_RATE 50 /* writes a second */
#define EVENT_BURST 1000
#define EVENT_RESERVE 250 /* of the burst */
#define EVENT_COST (SECOND_NS / EVENT_RATE)

/* One write, from when it is decided until it is answered. */
struct writing {
    struct list link;        /* in a lane, then in book->asked */
    struct control *control; /* NULL: it has ended */
    struct told *told;
    struct object *about;
    bool is_patch;
};

/* Writes that go together. */
struct lane {
    struct event_book *book;
    struct list writes;
    struct io_timer *timer;
    struct span delay;
};

struct event_book {
    struct control *control;
    struct told_book *told;
    struct lane soon, later;
    struct list asked;
    uint64_t n_made;
    int64_t budget; /* nanoseconds that are not spent; a write costs EVENT_COST */
    struct span counted;
    bool has_complained; /* since all of the budget was there */
};

/* ---- what is written ---- */

static struct object_reference *reference_to(struct arena *a, const struct object *about)
{
    struct object_key key = object_key(about);
    struct object_reference *r = arena_new(a, struct object_reference);

    SET(r, kind, key.kind->kind);
    if (key.ns.len)
        SET(r, namespace, key.ns);
    SET(r, name, key.name);
    SET(r, uid, object_uid(about));
    SET(r, api_version, key.kind->api_version);
    SET(r, resource_version, str_of_u64(a, object_revision(about)));
    return r;
}

static struct client_target target_of(const struct writing *w)
{
    struct str ns = object_key(w->about).ns;

    return (struct client_target){
        .kind = &kind_event, .ns = ns.len ? ns : S("default"), .name = str_from(w->told->name)};
}

static void set_story(struct event *e, const struct told *t)
{
    SET(e, message, t->note);
    SET(e, last_timestamp, t->last);
    SET(e, count, (int32_t)MIN(t->count, (int64_t)INT32_MAX));
}

static struct json whole_body(struct arena *a, const struct writing *w)
{
    struct event *e = arena_new(a, struct event);
    struct object_meta *meta = arena_new(a, struct object_meta);
    struct event_source *source = arena_new(a, struct event_source);
    struct client_target t = target_of(w);

    SET(meta, name, t.name);
    SET(meta, namespace, t.ns);
    SET(source, component, control_component(w->control));
    SET(e, api_version, kind_event.api_version);
    SET(e, kind, kind_event.kind);
    SET(e, metadata, meta);
    SET(e, involved_object, reference_to(a, w->about));
    SET(e, reason, w->told->reason);
    SET(e, source, source);
    SET(e, first_timestamp, w->told->first);
    SET(e, type, w->told->type);
    SET(e, reporting_component, control_component(w->control));
    set_story(e, w->told);
    return schema_encode(a, kind_event.schema, e);
}

static struct json patch_body(struct arena *a, const struct told *t)
{
    struct event *e = arena_new(a, struct event);

    set_story(e, t);
    return schema_encode(a, kind_event.schema, e);
}

/* ---- writing ---- */

static void writing_free(struct writing *w)
{
    list_del(&w->link);
    told_unref(w->told);
    object_unref(w->about);
    free(w);
}

static void answered(void *ctx, const struct client_answer *answer);

static void create(struct writing *w)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct client_target t = target_of(w);
    struct json body = whole_body(&a, w);

    w->is_patch = false;
    w->told->stands = true;
    client_create(control_client(w->control), &t, &body, answered, w);
}

static void count_up(struct writing *w)
{
    scoped(arena_fini) struct arena a = arena_sized(4 << 10);
    struct client_target t = target_of(w);
    struct json body = patch_body(&a, w->told);

    w->is_patch = true;
    client_patch(control_client(w->control), &t, CLIENT_PATCH_MERGE, &body,
                 &(struct client_patch_options){0}, answered, w);
}

/* One that is gone, after its hour, is written anew. */
static void answered(void *ctx, const struct client_answer *answer)
{
    struct writing *w = ctx;
    const struct err *err = answer->err;

    if (err && w->control && err->code != ERR_CANCELED) {
        if (w->is_patch && err->code == ERR_NOT_FOUND) {
            create(w);
            return;
        }
        log_debug("event not written", "why=\"%s\"", err->text);
        w->told->stands &= w->is_patch;
    }
    writing_free(w);
}

static void write_lane(void *ctx)
{
    struct lane *l = ctx;

    list_each (p, &l->writes) {
        struct writing *w = list_item(p, struct writing, link);
        list_del(&w->link);
        list_add(&l->book->asked, &w->link);
        w->told->is_ready = false;
        if (w->told->stands)
            count_up(w);
        else
            create(w);
    }
}

/* ---- the book ---- */

static void lane_init(struct lane *l, struct event_book *b, struct span delay)
{
    *l = (struct lane){.book = b, .delay = delay};
    list_init(&l->writes);
    l->timer = io_timer_new(control_io(b->control), write_lane, l);
}

static void lane_fini(struct lane *l)
{
    io_timer_free(l->timer);
    list_each (p, &l->writes)
        writing_free(list_item(p, struct writing, link));
}

struct event_book *event_book_new(struct control *c)
{
    struct event_book *b = mem_zero(1, sizeof(*b));

    b->control = c;
    b->told = told_book_new();
    lane_init(&b->soon, b, EVENT_SOON);
    lane_init(&b->later, b, EVENT_LATER);
    list_init(&b->asked);
    b->budget = EVENT_BURST * EVENT_COST;
    b->counted = io_uptime(control_io(c));
    return b;
}

void event_book_free(struct event_book *b)
{
    lane_fini(&b->soon);
    lane_fini(&b->later);
    list_each (p, &b->asked) {
        list_item(p, struct writing, link)->control = NULL;
        list_del(p);
    }
    told_book_free(b->told);
    free(b);
}

/* May one more be written, of all objects? */
static bool has_budget(struct event_book *b, struct str type, struct span now)
{
    const int64_t most = EVENT_BURST * EVENT_COST;
    int64_t least = str_eqz(type, "Normal") ? EVENT_RESERVE * EVENT_COST : 0;
    int64_t since = MIN(now.ns - b->counted.ns, most);

    b->budget = MIN(b->budget + since, most);
    b->counted = now;
    b->has_complained &= b->budget < most;
    if (b->budget - EVENT_COST >= least)
        return true;
    if (!b->has_complained)
        log_info("more events than are written", "rate=%d", EVENT_RATE);
    b->has_complained = true;
    return false;
}

static bool spend(struct event_book *b, const struct said *s, struct span now)
{
    if (!has_budget(b, s->type, now) || !told_spend(b->told, s, now))
        return false;
    b->budget -= EVENT_COST;
    return true;
}

static struct str hex(char room[16], uint64_t v)
{
    char *at = room + 16;

    do
        *--at = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    return str_of(at, (size_t)(room + 16 - at));
}

/* The object's name and the moment; where that is no name, the moment alone. */
static char *name_of(struct event_book *b, struct str about, struct instant now)
{
    char room[512], digits[16];
    scoped(arena_fini) struct arena a = arena_over(room, sizeof(room));
    struct str moment = hex(digits, (uint64_t)now.ns + b->n_made++);
    struct str name = str_concat(&a, about, S("."), moment);

    return str_own(name_is(NAME_DNS_SUBDOMAIN, name) ? name
                                                     : str_concat(&a, S("event."), moment));
}

static void queue(struct event_book *b, struct told *t, struct object *about)
{
    struct lane *l = t->stands ? &b->later : &b->soon;
    struct writing *w = mem_zero(1, sizeof(*w));

    *w = (struct writing){
        .control = b->control, .told = told_ref(t), .about = object_ref(about)};
    if (!t->name)
        t->name = name_of(b, object_key(about).name, t->last);
    t->is_ready = true;
    list_add(&l->writes, &w->link);
    if (!io_timer_is_set(l->timer))
        io_timer_set(l->timer, l->delay);
}

static void say(struct control *c, struct object *about, const struct said *s)
{
    struct event_book *b = control_events(c);
    struct span uptime = io_uptime(control_io(c));
    struct told *t = told_count(b->told, s, uptime);

    t->last = io_now(control_io(c));
    if (t->count == 1)
        t->first = t->last;
    if (!t->is_ready && spend(b, s, uptime))
        queue(b, t, about);
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
    struct said said = {controller_name(s->controller),
                        object_uid(about),
                        str_from(type),
                        str_from(reason),
                        {0}};
    va_list args;

    va_start(args, format);
    said.note = note_of(room, format, args);
    va_end(args);
    say(s->control, about, &said);
}

void control_event(struct control *c, struct object *about, const char *type,
                   const char *reason, const char *format, ...)
{
    char room[EVENT_NOTE_MAX + 1];
    struct said said = {
        control_component(c), object_uid(about), str_from(type), str_from(reason), {0}};
    va_list args;

    va_start(args, format);
    said.note = note_of(room, format, args);
    va_end(args);
    say(c, about, &said);
}
