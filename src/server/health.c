/* health.c - /version, /healthz, /livez, /readyz */
#include "server/front_priv.h"

#include "http/http.h"

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)
#define MINOR STRINGIFY(SERVER_VERSION_MINOR)

static void version(struct server *s, struct http_request *q)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"major",        "1"                   },
        {"minor",        MINOR                 },
        {"gitVersion",   "v1." MINOR ".0+berth"},
        {"gitCommit",    ""                    },
        {"gitTreeState", "clean"               },
        {"buildDate",    "1970-01-01T00:00:00Z"},
        {"goVersion",    "none"                },
        {"compiler",     "cc"                  },
        {"platform",     "linux/amd64"         },
    };
    struct json_obj o = obj_in(q->arena);

    (void)s;
    for (size_t i = 0; i < countof(rows); i++)
        obj_add(&o, str_from(rows[i].name), json_of_str(str_from(rows[i].value)));
    answer_tree(q, 200, json_new(q->arena, obj_done(&o)));
}

/* The store answers or the process is gone: there is little that can be half well. */
static void health(struct http_request *q, struct str base)
{
    static const char *const checks[] = {"ping", "log", "store"};
    struct str verbose = server_query(q, S("verbose"));
    bool is_listed = str_find(q->query, S("verbose")) != STR_NONE || verbose.len;

    if (!is_listed) {
        answer_text(q, 200, S("ok"));
        return;
    }
    struct buf out = buf_in(q->arena, 256);
    for (size_t i = 0; i < countof(checks); i++)
        buf_printf(&out, "[+]%s ok\n", checks[i]);
    buf_printf(&out, "%.*s check passed\n", STR_ARG(str_slice(base, 1, base.len)));
    answer_text(q, 200, buf_str(&out));
}

bool health_answer(struct server *s, struct http_request *q)
{
    static const struct str bases[] = {S_INIT("/healthz"), S_INIT("/livez"), S_INIT("/readyz")};

    if (str_eqz(q->path, "/version") || str_eqz(q->path, "/version/")) {
        version(s, q);
        return true;
    }
    for (size_t i = 0; i < countof(bases); i++) {
        if (str_eq(q->path, bases[i]) ||
            (str_starts(q->path, bases[i]) && q->path.at[bases[i].len] == '/')) {
            health(q, bases[i]);
            return true;
        }
    }
    return false;
}
