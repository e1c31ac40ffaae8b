/* h2.c - what both sides of HTTP/2 share */
#include "http/h2.h"

#define RESET_BURST 1000 /* streams a client may reset in one go, and then */
#define RESET_RATE 50    /* so many a second; past that the connection ends */
#define MAX_CONTINUATIONS 16
#define MAX_SETTINGS 32

nghttp2_session *h2_session_new(bool is_server, const nghttp2_session_callbacks *callbacks,
                                void *ctx)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,    H2_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,   H2_MAX_HEAD     },
        is_server
            ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_MAX_STREAMS  }
            : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH,            0               },
    };
    nghttp2_option *option;
    nghttp2_session *session;

    nghttp2_option_new(&option);
    nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESET_RATE);
    nghttp2_option_set_max_continuations(option, MAX_CONTINUATIONS);
    nghttp2_option_set_max_settings(option, MAX_SETTINGS);
    nghttp2_option_set_no_closed_streams(option, 1);
    int rc = is_server ? nghttp2_session_server_new2(&session, callbacks, ctx, option)
                       : nghttp2_session_client_new2(&session, callbacks, ctx, option);
    nghttp2_option_del(option);
    if (rc)
        die("cannot start HTTP/2: %s", nghttp2_strerror(rc));
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, countof(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, H2_CONN_WINDOW);
    return session;
}

bool h2_send(nghttp2_session *session, struct wire *w)
{
    struct buf out = {0};

    while (wire_queued(w) + out.len < H2_MAX_QUEUED) {
        const uint8_t *at;
        ssize_t n = nghttp2_session_mem_send(session, &at);
        if (n <= 0)
            break;
        buf_add(&out, str_of((const char *)at, (size_t)n));
    }
    if (out.len)
        wire_write_buf(w, &out);
    return nghttp2_session_want_read(session) || nghttp2_session_want_write(session);
}

nghttp2_nv h2_header(struct arena *a, struct str name, struct str value)
{
    name = str_lower(a, name);
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] != '\r' && value.at[i] != '\n' && value.at[i])
            continue;
        char *clean = memcpy(arena_raw(a, value.len, 1), value.at, value.len);
        for (size_t k = i; k < value.len; k++)
            if (clean[k] == '\r' || clean[k] == '\n' || !clean[k])
                clean[k] = ' ';
        value.at = clean;
        break;
    }
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.at,
        .namelen = name.len,
        .value = (uint8_t *)(uintptr_t)value.at,
        .valuelen = value.len,
    };
}

bool h2_is_hop_header(struct str name)
{
    static const struct str hop[] = {S_INIT("connection"), S_INIT("keep-alive"),
                                     S_INIT("proxy-connection"), S_INIT("transfer-encoding"),
                                     S_INIT("upgrade")};

    for (size_t i = 0; i < countof(hop); i++)
        if (str_eq_nocase(name, hop[i]))
            return true;
    return false;
}
