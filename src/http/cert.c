/* cert.c - our own authority and the certificates it signs (EC P-256, X.509 v3) */
#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "http/tls_priv.h"

#define CA_LIFETIME_DAYS 3650
#define CERT_LIFETIME_DAYS 365
#define SERIAL_BYTES 16
#define CLOCK_SKEW_S 3600 /* certificates are valid a little before they are made */

/* What a failed step of OpenSSL's leaves behind. */
static int openssl_failed(struct err *err, const char *what)
{
    return err_set(err, ERR_INTERNAL, "cannot %s: %s", what, tls_reason());
}

/* ---- texts ---- */

static struct str bio_text(struct arena *a, BIO *b)
{
    char *at;
    long n = BIO_get_mem_data(b, &at);
    struct str text = str_copy(a, str_of(at, (size_t)n));
    BIO_free(b);
    return text;
}

static struct str cert_text(struct arena *a, X509 *cert)
{
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, cert);
    return bio_text(a, b);
}

static struct str key_text(struct arena *a, EVP_PKEY *key)
{
    BIO *b = BIO_new(BIO_s_secmem());
    PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL);
    return bio_text(a, b);
}

static X509 *cert_read(struct str pem)
{
    BIO *b = BIO_new_mem_buf(pem.at, (int)pem.len);
    X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    return cert;
}

static EVP_PKEY *key_read(struct str pem)
{
    BIO *b = BIO_new_mem_buf(pem.at, (int)pem.len);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    BIO_free(b);
    return key;
}

/* ---- parts of a certificate ---- */

static bool add_name(X509_NAME *subject, const char *field, struct str value)
{
    return X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                                      (const unsigned char *)value.at, (int)value.len, -1,
                                      0) == 1;
}

static bool set_times(X509 *cert, struct instant now, struct span lifetime)
{
    time_t at = (time_t)(now.ns / SECOND_NS);
    long s = (long)(lifetime.ns / SECOND_NS);

    return X509_time_adj_ex(X509_getm_notBefore(cert), 0, -CLOCK_SKEW_S, &at) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), (int)(s / 86400), s % 86400, &at);
}

static bool set_serial(X509 *cert)
{
    unsigned char bytes[SERIAL_BYTES];

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f; /* positive */
    bytes[0] |= 0x40;
    BIGNUM *n = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
    BN_free(n);
    return ok;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext && X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    return ok;
}

static bool add_host(GENERAL_NAMES *names, struct str host)
{
    unsigned char ip[16];
    char text[256];
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value = NULL;
    int type = GEN_DNS;

    snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
    if (inet_pton(AF_INET, text, ip) == 1 || inet_pton(AF_INET6, text, ip) == 1) {
        type = GEN_IPADD;
        value = ASN1_OCTET_STRING_new();
        ASN1_STRING_set(value, ip, strchr(text, ':') ? 16 : 4);
    } else {
        value = ASN1_IA5STRING_new();
        ASN1_STRING_set(value, text, (int)strlen(text));
    }
    GENERAL_NAME_set0_value(name, type, value);
    return sk_GENERAL_NAME_push(names, name) > 0;
}

static bool add_hosts(X509 *cert, const struct tls_ask *ask)
{
    if (!ask->n_hosts)
        return true;
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < ask->n_hosts; i++)
        ok = add_host(names, ask->hosts[i]);
    ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    return ok;
}

static X509 *cert_start(EVP_PKEY *key, struct instant now, struct span lifetime)
{
    X509 *cert = X509_new();

    if (cert && X509_set_version(cert, X509_VERSION_3) && set_serial(cert) &&
        set_times(cert, now, lifetime) && X509_set_pubkey(cert, key))
        return cert;
    X509_free(cert);
    return NULL;
}

/* ---- the authority ---- */

int tls_ca_new(struct arena *a, struct str name, struct instant now, struct tls_pem *out,
               struct err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key ? cert_start(key, now, span_s(86400L * CA_LIFETIME_DAYS)) : NULL;
    bool ok = cert && add_name(X509_get_subject_name(cert), "CN", name) &&
              X509_set_issuer_name(cert, X509_get_subject_name(cert)) &&
              add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") &&
              add_extension(cert, cert, NID_key_usage,
                            "critical,keyCertSign,cRLSign,digitalSignature") &&
              add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
              X509_sign(cert, key, EVP_sha256()) > 0;

    if (ok)
        *out = (struct tls_pem){cert_text(a, cert), key_text(a, key)};
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? 0 : openssl_failed(err, "make a certificate authority");
}

/* A subject that equals its issuer's would read as signed by itself. */
static bool is_issuers_name(const struct tls_ask *ask, X509 *ca)
{
    char text[256] = "";

    X509_NAME_get_text_by_NID(X509_get_subject_name(ca), NID_commonName, text, sizeof(text));
    return !ask->n_groups && str_eqz(ask->name, text);
}

static bool fill_in(X509 *cert, X509 *ca, const struct tls_ask *ask)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    const char *usage = ask->is_server && ask->is_client ? "serverAuth,clientAuth"
                        : ask->is_server                 ? "serverAuth"
                                                         : "clientAuth";

    for (size_t i = 0; i < ask->n_groups; i++)
        if (!add_name(subject, "O", ask->groups[i]))
            return false;
    return add_name(subject, "CN", ask->name) &&
           X509_set_issuer_name(cert, X509_get_subject_name(ca)) &&
           add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, ca, NID_ext_key_usage, usage) &&
           add_extension(cert, ca, NID_authority_key_identifier, "keyid") &&
           add_hosts(cert, ask);
}

int tls_cert_new(struct arena *a, const struct tls_pem *ca, const struct tls_ask *ask,
                 struct instant now, struct tls_pem *out, struct err *err)
{
    X509 *ca_cert = cert_read(ca->cert);
    EVP_PKEY *ca_key = key_read(ca->key);
    int rc = -1;

    if (!ca_cert || !ca_key) {
        err_set(err, ERR_INVALID, "the certificate authority's %s cannot be read: %s",
                ca_cert ? "key" : "certificate", tls_reason());
    } else if (is_issuers_name(ask, ca_cert)) {
        err_set(err, ERR_INVALID,
                "no certificate can be made for '%.*s': it is the authority's own name",
                STR_ARG(ask->name));
    } else {
        struct span life =
            ask->lifetime.ns ? ask->lifetime : span_s(86400L * CERT_LIFETIME_DAYS);
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *cert = key ? cert_start(key, now, life) : NULL;
        if (!cert)
            openssl_failed(err, "make a certificate");
        else if (!fill_in(cert, ca_cert, ask))
            err_set(err, ERR_INVALID, "no certificate can be made for '%.*s': %s",
                    STR_ARG(ask->name), tls_reason());
        else if (X509_sign(cert, ca_key, EVP_sha256()) <= 0)
            openssl_failed(err, "sign a certificate");
        else {
            *out = (struct tls_pem){cert_text(a, cert), key_text(a, key)};
            rc = 0;
        }
        X509_free(cert);
        EVP_PKEY_free(key);
    }
    X509_free(ca_cert);
    EVP_PKEY_free(ca_key);
    return rc;
}

/* ---- reading ---- */

int tls_cert_ends(struct str cert_pem, struct instant *out, struct err *err)
{
    X509 *cert = cert_read(cert_pem);
    struct tm tm = {0};

    if (!cert)
        return err_set(err, ERR_INVALID, "the certificate cannot be read: %s", tls_reason());
    int ok = ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm);
    X509_free(cert);
    if (!ok)
        return err_set(err, ERR_INVALID, "the certificate's end cannot be read");
    out->ns = (int64_t)timegm(&tm) * SECOND_NS;
    return 0;
}

bool tls_cert_covers(struct str cert_pem, const struct str *hosts, size_t n_hosts)
{
    X509 *cert = cert_read(cert_pem);
    bool ok = cert != NULL;
    char text[256];

    for (size_t i = 0; ok && i < n_hosts; i++) {
        snprintf(text, sizeof(text), "%.*s", STR_ARG(hosts[i]));
        ok = X509_check_ip_asc(cert, text, 0) == 1 ||
             X509_check_host(cert, text, strlen(text), 0, NULL) == 1;
    }
    X509_free(cert);
    ERR_clear_error();
    return ok;
}
