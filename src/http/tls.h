/* tls.h - our own certificate authority, and what both ends of a TLS connection agree on
 *
 * Certificates and keys travel as PEM texts; keys are EC P-256. Whoever makes them keeps the
 * texts secret and on disk: nothing here touches a file.
 */
#pragma once

#include "base/base.h"

struct tls_pem {
    struct str cert, key;
};

/* A new authority that signs itself, valid for ten years. Texts in the arena. -1 with
 * ERR_INTERNAL. */
int tls_ca_new(struct arena *a, struct str name, struct instant now, struct tls_pem *out,
               struct err *err);

struct tls_ask {
    struct str name;          /* subject's common name */
    const struct str *groups; /* subject's organisations */
    size_t n_groups;
    const struct str *hosts; /* DNS names and IP addresses that the certificate stands for */
    size_t n_hosts;
    bool is_server, is_client;
    struct span lifetime; /* 0: one year */
};
/* A new key and a certificate for it, signed by the authority. -1 with ERR_INVALID (the
 * authority's texts cannot be read, the name is its own or over 64 bytes) or ERR_INTERNAL. */
int tls_cert_new(struct arena *a, const struct tls_pem *ca, const struct tls_ask *ask,
                 struct instant now, struct tls_pem *out, struct err *err);

/* The moment the first certificate of the text ends to be valid. -1 with ERR_INVALID. */
int tls_cert_ends(struct str cert_pem, struct instant *out, struct err *err);
/* Is the certificate made for every one of these hosts? */
bool tls_cert_covers(struct str cert_pem, const struct str *hosts, size_t n_hosts);

struct tls_server;
/* Client certificates are asked for, not required; they count when `client_ca` (a PEM text;
 * "": none is asked for) signed them. NULL with ERR_INVALID. */
struct tls_server *tls_server_new(const struct tls_pem *own, struct str client_ca,
                                  struct err *err);
void tls_server_free(struct tls_server *t); /* accepts NULL */

struct tls_client;
struct tls_client_options {
    struct str ca;          /* PEM; "": the system's authorities */
    struct tls_pem own;     /* a client certificate, or empty */
    struct str server_name; /* the name (or address) its certificate must cover */
    bool insecure;          /* believe any certificate */
};
/* NULL with ERR_INVALID. */
struct tls_client *tls_client_new(const struct tls_client_options *options, struct err *err);
void tls_client_free(struct tls_client *t); /* accepts NULL */
