/* wire.c - plain or TLS over one stream
 *
 * TLS reads from and writes to memory: a BIO of our own takes ciphertext from `in` (the bytes
 * of the event that runs now) and gives it to `out`, which leaves in one write afterwards. An
 * idle connection keeps neither.
 */
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "http/tls_priv.h"
#include "http/wire.h"

#define READ_SIZE (16 << 10) /* the largest TLS record */

struct wire {
    struct io *io;
    struct io_stream *stream;
    const struct wire_events *events;
    void *ctx;
    SSL *ssl; /* NULL: plain */
    const struct tls_server *server;
    struct str in;   /* ciphertext to read now */
    struct buf held; /* ciphertext that came while paused */
    struct buf out;  /* ciphertext to send */
    int calls;       /* of ours that are running: close() leaves freeing to them */
    bool is_ready, is_closed, is_paused, is_broken, has_ended;
};

/* ---- ciphertext in memory ---- */

static int bio_read(BIO *b, char *out, int size)
{
    struct wire *w = BIO_get_data(b);
    size_t n = MIN(w->in.len, (size_t)size);

    BIO_clear_retry_flags(b);
    if (n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    memcpy(out, w->in.at, n);
    w->in = str_slice(w->in, n, w->in.len);
    return (int)n;
}

static int bio_write(BIO *b, const char *at, int n)
{
    struct wire *w = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    buf_add(&w->out, str_of(at, (size_t)n));
    return n;
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
    (void)b;
    (void)n;
    (void)p;
    return what == BIO_CTRL_FLUSH;
}

static BIO *bio_new(struct wire *w)
{
    static BIO_METHOD *method; /* made once, never freed: one for the process */

    if (!method) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth wire");
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    BIO *b = BIO_new(method);
    BIO_set_data(b, w);
    BIO_set_init(b, 1);
    return b;
}

static void send_out(struct wire *w)
{
    if (w->out.len && !w->is_closed)
        io_stream_write_buf(w->stream, &w->out);
}

/* ---- life ---- */

static void wire_free(struct wire *w)
{
    SSL_free(w->ssl);
    buf_fini(&w->held);
    buf_fini(&w->out);
    free(w);
}

/* Ends a call of ours that may have called our owner, who may have closed us. */
static void leave(struct wire *w)
{
    if (--w->calls == 0 && w->is_closed)
        wire_free(w);
}

static void tell_end(struct wire *w, const struct err *err)
{
    if (w->has_ended || w->is_closed)
        return;
    w->has_ended = true;
    w->events->end(w->ctx, err);
}

static void tell_ready(struct wire *w)
{
    if (w->is_ready)
        return;
    w->is_ready = true;
    w->events->ready(w->ctx);
}

static void ready_task(void *ctx)
{
    struct wire *w = ctx;

    w->calls++;
    tell_ready(w);
    leave(w);
}

/* ---- TLS ---- */

static void tls_failed(struct wire *w)
{
    struct err err;
    long verify = SSL_get_verify_result(w->ssl);
    const char *doing = w->is_ready ? "TLS broke" : "the TLS handshake failed";

    w->is_broken = true;
    if (!w->is_ready && verify != X509_V_OK && !w->server) {
        ERR_clear_error();
        err_set(&err, ERR_UNAVAILABLE, "the certificate of '%s' is not trusted: %s",
                io_stream_peer(w->stream).address, X509_verify_cert_error_string(verify));
    } else {
        err_set(&err, ERR_UNAVAILABLE, "%s with '%s': %s", doing,
                io_stream_peer(w->stream).address, tls_reason());
    }
    send_out(w); /* the alert */
    tell_end(w, &err);
}

/* True where the handshake is done. */
static bool handshake(struct wire *w)
{
    if (w->is_ready)
        return true;
    ERR_clear_error();
    int rc = SSL_do_handshake(w->ssl);
    if (rc == 1) {
        send_out(w);
        tell_ready(w);
        return !w->is_closed;
    }
    if (SSL_get_error(w->ssl, rc) == SSL_ERROR_WANT_READ)
        send_out(w);
    else
        tls_failed(w);
    return false;
}

/* Decrypts what `in` holds; stops early when it is paused, broken or closed. */
static void tls_read(struct wire *w)
{
    char plain[READ_SIZE];

    if (!handshake(w))
        return;
    while (!w->is_closed && !w->is_paused && !w->has_ended) {
        ERR_clear_error();
        int n = SSL_read(w->ssl, plain, sizeof(plain));
        if (n > 0) {
            w->events->data(w->ctx, str_of(plain, (size_t)n));
            continue;
        }
        switch (SSL_get_error(w->ssl, n)) {
        case SSL_ERROR_WANT_READ:
            send_out(w); /* a key update may want an answer */
            return;
        case SSL_ERROR_ZERO_RETURN:
            tell_end(w, NULL);
            return;
        default:
            tls_failed(w);
            return;
        }
    }
}

static void tls_came(struct wire *w, struct str bytes)
{
    struct buf held = w->held;

    if (held.len) {
        buf_add(&held, bytes);
        bytes = buf_str(&held);
    }
    w->held = (struct buf){0};
    w->in = bytes;
    w->calls++;
    if (!w->is_broken)
        tls_read(w);
    if (!w->is_closed) {
        if (!w->has_ended && w->in.len)
            buf_add(&w->held, w->in);
        w->in = (struct str){0};
    }
    leave(w);
    buf_fini(&held);
}

/* ---- the stream's events ---- */

static void came(void *ctx, struct str bytes)
{
    struct wire *w = ctx;

    if (w->ssl) {
        tls_came(w, bytes);
        return;
    }
    w->calls++;
    if (!w->is_ready) {
        io_later_cancel(w->io, ready_task, w);
        tell_ready(w);
    }
    if (!w->is_closed)
        w->events->data(w->ctx, bytes);
    leave(w);
}

static void ended(void *ctx, const struct err *err)
{
    struct wire *w = ctx;

    w->calls++;
    if (w->ssl && !w->is_paused)
        tls_came(w, (struct str){0}); /* what was held while paused comes first */
    tell_end(w, err);
    leave(w);
}

static void drained(void *ctx)
{
    struct wire *w = ctx;

    if (!w->is_ready || !w->events->drained)
        return;
    w->calls++;
    w->events->drained(w->ctx);
    leave(w);
}

static const struct io_stream_events stream_events = {came, ended, drained};

static struct wire *wire_new(struct io *io, const struct wire_events *events, void *ctx)
{
    struct wire *w = mem_zero(1, sizeof(*w));

    w->io = io;
    w->events = events;
    w->ctx = ctx;
    return w;
}

static void use_tls(struct wire *w, SSL_CTX *ctx)
{
    w->ssl = SSL_new(ctx);
    if (!w->ssl)
        die("cannot start TLS: %s", tls_reason());
    BIO *b = bio_new(w);
    SSL_set_bio(w->ssl, b, b);
}

struct wire *wire_server(struct io *io, struct io_stream *s, struct tls_server *tls,
                         const struct wire_events *events, void *ctx)
{
    struct wire *w = wire_new(io, events, ctx);

    w->stream = s;
    w->server = tls;
    if (tls) {
        use_tls(w, tls->ctx);
        SSL_set_accept_state(w->ssl);
    } else {
        io_later(io, ready_task, w);
    }
    io_stream_attach(s, &stream_events, w);
    return w;
}

static void start_handshake(void *ctx)
{
    struct wire *w = ctx;

    w->calls++;
    handshake(w);
    leave(w);
}

struct wire *wire_client(struct io *io, struct str address, struct tls_client *tls, bool http2,
                         const struct wire_events *events, void *ctx)
{
    struct wire *w = wire_new(io, events, ctx);

    if (tls) {
        use_tls(w, http2 ? tls->ctx_http2 : tls->ctx);
        if (!tls->insecure && tls->is_address)
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(w->ssl), tls->server_name);
        else if (!tls->insecure)
            SSL_set1_host(w->ssl, tls->server_name);
        if (!tls->is_address && tls->server_name[0])
            SSL_set_tlsext_host_name(w->ssl, tls->server_name);
        SSL_set_connect_state(w->ssl);
        io_later(io, start_handshake, w);
    } else {
        io_later(io, ready_task, w);
    }
    w->stream = io_connect(io, address, &stream_events, w);
    return w;
}

/* ---- what the handshake told ---- */

bool wire_is_http2(const struct wire *w)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    if (w->ssl)
        SSL_get0_alpn_selected(w->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool wire_is_tls(const struct wire *w)
{
    return w->ssl != NULL;
}

static struct str name_entry(struct arena *a, X509_NAME *subject, int *at, int nid)
{
    unsigned char *utf8 = NULL;

    *at = X509_NAME_get_index_by_NID(subject, nid, *at);
    if (*at < 0)
        return (struct str){0};
    int n =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, *at)));
    struct str s = n > 0 ? str_copy(a, str_of((char *)utf8, (size_t)n)) : (struct str){0};
    OPENSSL_free(utf8);
    return s;
}

static void read_subject(struct arena *a, X509 *cert, struct http_peer *out)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int n = X509_NAME_entry_count(subject), at = -1;
    struct str *groups = arena_array(a, struct str, (size_t)n + 1);

    out->cert_name = name_entry(a, subject, &at, NID_commonName);
    out->cert_groups = groups;
    for (at = -1;;) {
        struct str group = name_entry(a, subject, &at, NID_organizationName);
        if (at < 0)
            break;
        groups[out->n_cert_groups++] = group;
    }
}

/* Why the certificate does not count, or "". Done here for each connection: a resumed session
 * skips OpenSSL's own check, and the certificate may have ended meanwhile. */
static struct str check_client(struct arena *a, const struct wire *w, X509 *cert)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    struct str why = {0};

    if (!X509_STORE_CTX_init(ctx, w->server->client_ca, cert,
                             SSL_get_peer_cert_chain(w->ssl)) ||
        !X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT) || X509_verify_cert(ctx) != 1)
        why =
            str_copy(a, str_from(X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx))));
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return why;
}

void wire_peer(const struct wire *w, struct arena *a, struct http_peer *out)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    *out = (struct http_peer){.io = io_stream_peer(w->stream), .is_tls = w->ssl != NULL};
    X509 *cert = w->ssl ? SSL_get0_peer_certificate(w->ssl) : NULL;
    if (!cert || !w->server || !w->server->client_ca)
        return;
    out->cert_error = check_client(a, w, cert);
    if (out->cert_error.len)
        return;
    read_subject(a, cert, out);
    X509_digest(cert, EVP_sha256(), digest, &n);
    struct buf hex = buf_in(a, 2 * (size_t)n + 1);
    for (unsigned i = 0; i < n; i++)
        buf_printf(&hex, "%02x", digest[i]);
    out->cert_digest = buf_str(&hex);
}

/* ---- writing and ending ---- */

static void tls_write(struct wire *w, struct str bytes)
{
    while (bytes.len && !w->is_broken) {
        ERR_clear_error();
        int n = SSL_write(w->ssl, bytes.at, (int)MIN(bytes.len, (size_t)1 << 30));
        if (n <= 0) {
            w->is_broken = true;
            ERR_clear_error();
            io_stream_shutdown(w->stream); /* its end tells our owner */
            return;
        }
        bytes = str_slice(bytes, (size_t)n, bytes.len);
    }
}

void wire_write(struct wire *w, struct str bytes)
{
    assert(w->is_ready);
    if (!w->ssl) {
        io_stream_write(w->stream, bytes);
        return;
    }
    tls_write(w, bytes);
    send_out(w);
}

void wire_write_buf(struct wire *w, struct buf *b)
{
    assert(w->is_ready);
    if (!w->ssl) {
        io_stream_write_buf(w->stream, b);
        return;
    }
    tls_write(w, buf_str(b));
    send_out(w);
    buf_fini(b);
    *b = (struct buf){0};
}

size_t wire_queued(const struct wire *w)
{
    return io_stream_queued(w->stream);
}

void wire_pause(struct wire *w)
{
    w->is_paused = true;
    io_stream_pause(w->stream);
}

static void read_held(void *ctx)
{
    struct wire *w = ctx;

    if (!w->is_paused)
        tls_came(w, (struct str){0});
}

void wire_resume(struct wire *w)
{
    if (!w->is_paused)
        return;
    w->is_paused = false;
    io_stream_resume(w->stream);
    /* Plaintext may wait inside OpenSSL even where no ciphertext is held. */
    if (w->ssl)
        io_later(w->io, read_held, w);
}

void wire_shutdown(struct wire *w)
{
    if (w->ssl && w->is_ready && !w->is_broken) {
        SSL_shutdown(w->ssl);
        ERR_clear_error();
        send_out(w);
        w->is_broken = true;
    }
    io_stream_shutdown(w->stream);
}

void wire_close(struct wire *w, bool flush)
{
    if (w->ssl && w->is_ready && !w->is_broken) {
        SSL_shutdown(w->ssl);
        ERR_clear_error();
        send_out(w);
    }
    io_later_cancel(w->io, ready_task, w);
    io_later_cancel(w->io, start_handshake, w);
    io_later_cancel(w->io, read_held, w);
    io_stream_close(w->stream, flush);
    w->is_closed = true;
    if (w->calls == 0)
        wire_free(w);
}
