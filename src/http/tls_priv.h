/* tls_priv.h - what wire.c needs of the contexts */
#pragma once

#include <openssl/ssl.h>

#include "http/tls.h"

struct tls_server {
    SSL_CTX *ctx;
    X509_STORE *client_ca; /* NULL: none is asked for */
};

struct tls_client {
    SSL_CTX *ctx, *ctx_http2; /* the second offers h2, too */
    char *server_name;
    bool is_address; /* server_name is an IP address */
    bool insecure;
};

/* OpenSSL's newest reason, as words; its queue is empty afterwards. */
const char *tls_reason(void);
