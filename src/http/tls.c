/* tls.c - the contexts of both ends */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "http/tls_priv.h"

static const unsigned char alpn_both[] = "\x02h2\x08http/1.1";
static const unsigned char alpn_http1[] = "\x08http/1.1";

const char *tls_reason(void)
{
    static char text[160]; /* one loop, one thread */
    unsigned long e = ERR_peek_last_error();
    const char *reason = e ? ERR_reason_error_string(e) : NULL;

    snprintf(text, sizeof(text), "%s", reason ? reason : "no reason was given");
    ERR_clear_error();
    return text;
}

/* The chain: our certificate, then those that lead to an authority. */
static int use_own(SSL_CTX *ctx, const struct tls_pem *own, struct err *err)
{
    BIO *b = BIO_new_mem_buf(own->cert.at, (int)own->cert.len);
    X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL), *next;
    bool ok = cert && SSL_CTX_use_certificate(ctx, cert) == 1;

    while (ok && (next = PEM_read_bio_X509(b, NULL, NULL, NULL)))
        SSL_CTX_add0_chain_cert(ctx, next);
    X509_free(cert);
    BIO_free(b);
    if (!ok)
        return err_set(err, ERR_INVALID, "the certificate cannot be used: %s", tls_reason());

    b = BIO_new_mem_buf(own->key.at, (int)own->key.len);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    ok = key && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(b);
    if (!ok)
        return err_set(err, ERR_INVALID, "the key cannot be used: %s", tls_reason());
    ERR_clear_error(); /* the end of the chain's text leaves one */
    return 0;
}

/* Adds the authorities of a PEM text; the subjects go to `names` where it is given. */
static int add_authorities(X509_STORE *store, STACK_OF(X509_NAME) * names, struct str pem,
                           struct err *err)
{
    BIO *b = BIO_new_mem_buf(pem.at, (int)pem.len);
    int n = 0;
    X509 *cert;

    while ((cert = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
        X509_STORE_add_cert(store, cert);
        if (names)
            sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(cert)));
        X509_free(cert);
        n++;
    }
    BIO_free(b);
    if (n == 0)
        return err_set(err, ERR_INVALID, "no certificate authority can be read: %s",
                       tls_reason());
    ERR_clear_error();
    return 0;
}

static SSL_CTX *ctx_new(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    if (!ctx)
        die("cannot start TLS: %s", tls_reason());
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    return ctx;
}

/* ---- servers ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, alpn_both,
                              sizeof(alpn_both) - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

/* Whatever is shown is let in here; wire_peer() tells what counts, for resumed sessions, too.
 */
static int accept_any(X509_STORE_CTX *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    return 1;
}

struct tls_server *tls_server_new(const struct tls_pem *own, struct str client_ca,
                                  struct err *err)
{
    struct tls_server *t = mem_zero(1, sizeof(*t));

    t->ctx = ctx_new(TLS_server_method());
    SSL_CTX_set_num_tickets(t->ctx, 1);
    SSL_CTX_set_session_id_context(t->ctx, (const unsigned char *)"berth", 5);
    SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF); /* tickets need none */
    SSL_CTX_set_alpn_select_cb(t->ctx, choose_protocol, NULL);
    if (use_own(t->ctx, own, err) < 0)
        goto fail;
    if (client_ca.len) {
        STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
        t->client_ca = X509_STORE_new();
        int rc = add_authorities(t->client_ca, names, client_ca, err);
        SSL_CTX_set_client_CA_list(t->ctx, names); /* takes them over */
        if (rc < 0)
            goto fail;
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_cert_verify_callback(t->ctx, accept_any, NULL);
    }
    return t;
fail:
    tls_server_free(t);
    return NULL;
}

void tls_server_free(struct tls_server *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    X509_STORE_free(t->client_ca);
    free(t);
}

/* ---- clients ---- */

static SSL_CTX *client_ctx(const struct tls_client_options *o, bool http2, struct err *err)
{
    SSL_CTX *ctx = ctx_new(TLS_client_method());

    SSL_CTX_set_alpn_protos(ctx, http2 ? alpn_both : alpn_http1,
                            http2 ? sizeof(alpn_both) - 1 : sizeof(alpn_http1) - 1);
    SSL_CTX_set_verify(ctx, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (o->own.cert.len && use_own(ctx, &o->own, err) < 0)
        goto fail;
    if (!o->ca.len)
        SSL_CTX_set_default_verify_paths(ctx);
    else if (add_authorities(SSL_CTX_get_cert_store(ctx), NULL, o->ca, err) < 0)
        goto fail;
    return ctx;
fail:
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls_client *tls_client_new(const struct tls_client_options *options, struct err *err)
{
    struct tls_client *t = mem_zero(1, sizeof(*t));
    unsigned char ip[16];

    t->insecure = options->insecure;
    t->server_name = mem_zero(1, options->server_name.len + 1);
    if (options->server_name.len)
        memcpy(t->server_name, options->server_name.at, options->server_name.len);
    t->is_address = inet_pton(AF_INET, t->server_name, ip) == 1 ||
                    inet_pton(AF_INET6, t->server_name, ip) == 1;
    t->ctx = client_ctx(options, false, err);
    t->ctx_http2 = t->ctx ? client_ctx(options, true, err) : NULL;
    if (t->ctx_http2)
        return t;
    tls_client_free(t);
    return NULL;
}

void tls_client_free(struct tls_client *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    SSL_CTX_free(t->ctx_http2);
    free(t->server_name);
    free(t);
}
