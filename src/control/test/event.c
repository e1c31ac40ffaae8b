/* event.c - what of Events comes to the client, and when
 *
 * The client writes down each write: "+1:a@50" creates the Event that was named first, with the
 * note `a`, at 50 ms; "~1:ax3@1050" patches it to be one of three; "(a)" combines others.
 */
#include "control/event_told.h"
#include "control/test/fake.h"

#define NAME_LONG 250

struct sent {
    client_done_fn *done;
    void *ctx;
};

struct desk {
    struct fake fake; /* first */
    struct client_ops ops;
    struct control *control;
    VEC(struct sent) sent;
    size_t n_answered;
    VEC(struct str) names; /* of Events, in the order of their first writes */
    struct json last;      /* the body of the last write */
    int64_t began;
};

static void note(struct desk *d, char verb, struct str name, const struct json *body,
                 struct sent sent)
{
    struct str text = json_str(json_getz(body, "message"));
    bool is_combined = str_starts(text, S(TOLD_COMBINED));
    int64_t count = json_i64(json_getz(body, "count"), 0);
    size_t i = 0;

    while (i < d->names.len && !str_eq(d->names.at[i], name))
        i++;
    if (i == d->names.len)
        vec_push(&d->names, str_copy(&d->fake.arena, name));
    if (is_combined)
        text = str_slice(text, sizeof(TOLD_COMBINED) - 1, text.len);
    buf_printf(&d->fake.log, is_combined ? "%c%zu:(%.*s)" : "%c%zu:%.*s", verb, i + 1,
               STR_ARG(text));
    if (count > 1)
        buf_printf(&d->fake.log, "x%" PRId64, count);
    buf_printf(&d->fake.log, "@%" PRId64 " ", (io_uptime(d->fake.io).ns - d->began) / 1000000);
    d->last = *json_copy(&d->fake.arena, body);
    vec_push(&d->sent, sent);
}

static void desk_create(struct client *c, const struct client_target *t,
                        const struct json *body, client_done_fn *fn, void *ctx)
{
    struct desk *d = container_of(c, struct desk, fake.client);

    check_same(t->ns, json_str(json_path(body, "metadata", "namespace", NULL)));
    note(d, '+', json_str(json_path(body, "metadata", "name", NULL)), body,
         (struct sent){fn, ctx});
}

static void desk_patch(struct client *c, const struct client_target *t, enum client_patch type,
                       const struct json *body, const struct client_patch_options *o,
                       client_done_fn *fn, void *ctx)
{
    (void)o;
    check_int(type, CLIENT_PATCH_MERGE);
    note(container_of(c, struct desk, fake.client), '~', t->name, body, (struct sent){fn, ctx});
}

static void start(struct desk *d)
{
    *d = (struct desk){.ops = fake_ops};
    fake_init(&d->fake);
    d->ops.create = desk_create;
    d->ops.patch = desk_patch;
    d->fake.client.ops = &d->ops;
    d->control = control_new(d->fake.io, &d->fake.client, S("test"));
    d->began = io_uptime(d->fake.io).ns;
}

/* The oldest write that is not answered. */
static void answer(struct desk *d, enum err_code code)
{
    struct err err = {0};
    struct client_answer a = {.code = code == ERR_OK ? 201 : 400};

    if (code != ERR_OK) {
        err_set(&err, code, "refused");
        a.err = &err;
    }
    struct sent s = d->sent.at[d->n_answered++];
    s.done(s.ctx, &a);
}

static void stop(struct desk *d)
{
    control_free(d->control);
    while (d->n_answered < d->sent.len)
        answer(d, ERR_CANCELED);
    vec_fini(&d->sent);
    vec_fini(&d->names);
    fake_fini(&d->fake);
}

static void say(struct desk *d, const char *type, const char *object, const char *what)
{
    struct object *o = fake_object(&d->fake, object, 7, NULL);

    control_event(d->control, o, type, "Done", "%s", what);
    object_unref(o);
}

/* "a b +20 c": notes, and milliseconds that go by; "=404" answers the oldest write, "=" all. */
static void act(struct desk *d, const char *script)
{
    struct str left = str_from(script), word;
    int64_t n;

    while (left.len) {
        str_cut(left, ' ', &word, &left);
        if (word.at[0] == '+' && str_to_i64(word, &n))
            fake_run(&d->fake, (int)n);
        else if (str_eqz(word, "=404"))
            answer(d, ERR_NOT_FOUND);
        else if (str_eqz(word, "=403"))
            answer(d, ERR_FORBIDDEN);
        else if (str_eqz(word, "="))
            while (d->n_answered < d->sent.len)
                answer(d, ERR_OK);
        else
            say(d, "Normal", "x", str_z(&d->fake.arena, word));
    }
}

TEST(event_is_written_a_little_later)
{
    static const struct {
        const char *name, *script, *want;
    } cases[] = {
        {"not at once",                         "a +9",                             ""                   },
        {"together",                            "a +5 b +45",                       "+1:a@50 +2:b@50"    },
        {"what comes meanwhile goes along",     "a a a +50",                        "+1:ax3@50"          },
        {"one that stands waits a second",      "a +50 = a +5 a +994",              "+1:a@50"            },
        {"with all that comes till then",       "a +50 = a +5 a +995",              "+1:a@50 ~1:ax3@1050"},
        {"answered or not",                     "a +50 a +1000",                    "+1:a@50 ~1:ax2@1050"},
        {"one that is gone is made anew",       "a +50 = a +1000 =404",
         "+1:a@50 ~1:ax2@1050 +1:ax2@1050"                                                               },
        {"and goes on",                         "a a +50 = a +1000 =404 = a +1000",
         "+1:ax2@50 ~1:ax3@1050 +1:ax3@1050 ~1:ax4@2050"                                                 },
        {"one that was refused is tried again", "a +50 =403 a +50",                 "+1:a@50 +1:ax2@100" },
        {"a refused patch is left",             "a +50 = a +1000 =403 a +1000",
         "+1:a@50 ~1:ax2@1050 ~1:ax3@2050"                                                               },
    };
    struct desk d;

    for (size_t i = 0; i < countof(cases); i++) {
        test_case(cases[i].name);
        start(&d);
        act(&d, cases[i].script);
        fake_check(&d.fake, cases[i].want);
        stop(&d);
    }
}

TEST(event_of_many_leaves_room_for_the_end)
{
    struct desk d;

    start(&d);
    for (int i = 1; i <= 30; i++)
        say(&d, "Normal", "x", str_printf(&d.fake.arena, "%d", i).at);
    fake_run(&d.fake, 50);
    fake_check(&d.fake, "+1:1@50 +2:2@50 +3:3@50 +4:4@50 +5:5@50 +6:6@50 +7:7@50 +8:8@50 "
                        "+9:9@50 +10:(30)x21@50");
    struct object *o = fake_object(&d.fake, "x", 7, NULL);
    control_event(d.control, o, "Normal", "Over", "end");
    object_unref(o);
    fake_run(&d.fake, 50);
    fake_check(&d.fake, "+11:end@100");
    stop(&d);
}

TEST(event_body)
{
    struct desk d;

    start(&d);
    act(&d, "a +2000 = a +1500");
    check_same(json_text(&d.fake.arena, &d.last),
               S("{\"message\":\"a\",\"lastTimestamp\":\"1970-01-01T00:00:03Z\",\"count\":2}"));
    test_case("whole, with the object as it was when it was said");
    answer(&d, ERR_NOT_FOUND);
    check_same(
        json_text(&d.fake.arena, &d.last),
        str_concat(&d.fake.arena,
                   S("{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\""),
                   d.names.at[0],
                   S("\",\"namespace\":\"n\"},\"involvedObject\":{\"kind\":\"ConfigMap\","
                     "\"namespace\":\"n\",\"name\":\"x\",\"uid\":\"uid-x\",\"apiVersion\":"
                     "\"v1\",\"resourceVersion\":\"7\"},\"reason\":\"Done\",\"message\":\"a\","
                     "\"source\":{\"component\":\"test\"},\"firstTimestamp\":"
                     "\"1970-01-01T00:00:01Z\",\"lastTimestamp\":\"1970-01-01T00:00:03Z\","
                     "\"count\":2,\"type\":\"Normal\",\"reportingComponent\":\"test\"}")));
    stop(&d);
}

TEST(event_names)
{
    struct desk d;
    char name[NAME_LONG + 1];

    start(&d);
    test_case("the object and the moment");
    act(&d, "a b +50");
    check_same(d.names.at[0], S("x.3b9aca00"));
    check_same(d.names.at[1], S("x.3b9aca01"));
    test_case("a name that leaves no room");
    memset(name, 'x', NAME_LONG);
    name[NAME_LONG] = 0;
    say(&d, "Normal", name, "a");
    fake_run(&d.fake, 50);
    check_same(d.names.at[2], S("event.3e95ba82"));
    stop(&d);
}

/* Of so many objects, one each. */
static size_t n_written(struct desk *d, const char *type, int n, int *next)
{
    size_t before = d->sent.len;

    for (int i = 0; i < n; i++)
        say(d, type, str_printf(&d->fake.arena, "x%d", (*next)++).at, "a");
    fake_run(&d->fake, 50);
    return d->sent.len - before;
}

TEST(event_guard_over_all_objects)
{
    static const struct {
        const char *name, *type;
        int wait_ms, said;
        size_t want;
    } rows[] = {
        {"a burst",                             "Normal",  0,      900,  750 },
        {"the rest of it is for warnings",      "Warning", 0,      300,  252 }, /* 2 in 50 ms */
        {"fifty a second after that",           "Warning", 1000,   300,  53  }, /* and 50 ms */
        {"others wait until the rest is there", "Normal",  4000,   300,  0   },
        {"which takes five seconds",            "Normal",  2000,   300,  55  },
        {"there is never more than a burst",    "Warning", 100000, 1100, 1000},
    };
    struct desk d;
    int next = 0;

    start(&d);
    for (size_t i = 0; i < countof(rows); i++) {
        test_case(rows[i].name);
        fake_run(&d.fake, rows[i].wait_ms);
        check_int(n_written(&d, rows[i].type, rows[i].said, &next), rows[i].want);
    }
    test_case("one that was left out is written when it is said again, with its count");
    fake_run(&d.fake, 100000);
    buf_clear(&d.fake.log);
    say(&d, "Normal", "x800", "a");
    fake_run(&d.fake, 50);
    check(str_starts(buf_str(&d.fake.log), S("+")) &&
          str_has(buf_str(&d.fake.log), S(":ax2@")));
    stop(&d);
}

TEST(event_is_kept_by_nobody)
{
    struct desk d;

    test_case("what waits goes with its controllers; an answer that comes later does nothing");
    start(&d);
    act(&d, "a +50 = a +1000 b");
    control_free(d.control);
    d.control = NULL;
    answer(&d, ERR_NOT_FOUND);
    check_int(d.sent.len, 2);
    stop(&d);
}
