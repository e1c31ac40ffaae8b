/* graceful_delete.c - what a DELETE does to an object */
#include "api/graceful_delete.h"

/* A negative grace means the least one. */
static int64_t at_least_zero(int64_t grace)
{
    return grace < 0 ? 1 : grace;
}

/* It is being deleted: only a shorter grace changes that. */
static void decide_again(struct delete_decision *d, bool is_asked, struct instant now)
{
    struct delete_state *s = &d->state;
    int64_t asked = d->request_grace;

    if (!s->has_grace || s->grace == 0)
        return;
    if (!is_asked || asked >= s->grace) {
        d->is_pending = true;
        if (!is_asked)
            d->request_grace = s->grace;
        return;
    }
    s->timestamp = instant_add(s->timestamp, span_s(asked - s->grace));
    s->grace = asked;
    if (instant_before(s->timestamp, now)) {
        s->timestamp = now;
        if (asked != 0)
            s->grace = 1;
    }
    d->is_graceful = true;
}

struct delete_decision delete_decide(struct delete_state s, struct delete_request r,
                                     bool can_wait, int64_t default_grace, struct instant now)
{
    struct delete_decision d = {.state = s};
    int64_t grace = r.has_grace ? at_least_zero(r.grace) : default_grace;

    d.request_grace = r.has_grace ? grace : 0;
    if (s.has_grace)
        d.state.grace = at_least_zero(s.grace);
    if (!can_wait)
        return d;
    if (s.is_deleting) {
        decide_again(&d, r.has_grace, now);
        return d;
    }
    d.request_grace = grace;
    if (grace == 0)
        return d;
    d.is_graceful = true;
    d.state.is_deleting = true;
    d.state.timestamp = instant_add(now, span_s(grace));
    d.state.has_grace = true;
    d.state.grace = grace;
    d.state.generation += s.generation > 0;
    return d;
}

struct delete_state delete_begin(struct delete_state s, struct instant now)
{
    s.generation += !s.is_deleting && s.generation > 0;
    if (!s.is_deleting || instant_before(now, s.timestamp))
        s.timestamp = now;
    s.is_deleting = true;
    s.has_grace = true;
    s.grace = 0;
    return s;
}

int64_t delete_pod_grace(bool is_asked, int64_t asked, int64_t spec_grace, bool is_scheduled,
                         bool is_over)
{
    int64_t grace = at_least_zero(is_asked ? asked : spec_grace);

    return is_scheduled && !is_over ? grace : 0;
}

static const struct str policies[] = {
    [DELETE_DEFAULT] = S_INIT(""),
    [DELETE_BACKGROUND] = S_INIT("Background"),
    [DELETE_FOREGROUND] = S_INIT("Foreground"),
    [DELETE_ORPHAN] = S_INIT("Orphan"),
};

struct str delete_policy_name(enum delete_policy p)
{
    return policies[p];
}

bool delete_policy_find(struct str name, enum delete_policy *out)
{
    for (size_t i = 0; i < countof(policies); i++)
        if (str_eq(name, policies[i])) {
            *out = (enum delete_policy)i;
            return true;
        }
    return false;
}

struct delete_finalizers delete_gc_finalizers(struct delete_finalizers now, bool has_orphan,
                                              bool orphan, enum delete_policy asked,
                                              enum delete_policy kind_default)
{
    enum delete_policy p = asked;

    if (has_orphan)
        return (struct delete_finalizers){.orphan = orphan};
    if (p == DELETE_DEFAULT && (now.orphan || now.foreground))
        return now;
    if (p == DELETE_DEFAULT)
        p = kind_default;
    return (struct delete_finalizers){.orphan = p == DELETE_ORPHAN,
                                      .foreground = p == DELETE_FOREGROUND};
}
