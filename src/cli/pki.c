/* pki.c - the certificates of one data directory */
#include "cli/pki.h"

#include "cli/files.h"

static int load_pair(struct arena *a, struct str pki, const char *name, struct tls_pem *out)
{
    struct str cert = str_printf(a, "%.*s/%s.crt", STR_ARG(pki), name);
    struct str key = str_printf(a, "%.*s/%s.key", STR_ARG(pki), name);

    return file_read(a, cert, &out->cert, NULL) < 0 || file_read(a, key, &out->key, NULL) < 0
               ? -1
               : 0;
}

static int save_pair(struct arena *a, struct str pki, const char *name,
                     const struct tls_pem *pair, struct err *err)
{
    struct str cert = str_printf(a, "%.*s/%s.crt", STR_ARG(pki), name);
    struct str key = str_printf(a, "%.*s/%s.key", STR_ARG(pki), name);

    if (file_write(a, key, 0600, pair->key, err) < 0)
        return -1;
    return file_write(a, cert, 0644, pair->cert, err);
}

static bool is_good(const struct tls_pem *pair, struct instant now)
{
    struct instant ends;

    return tls_cert_ends(pair->cert, &ends, NULL) == 0 &&
           instant_before(instant_add(now, PKI_RENEW_BEFORE), ends);
}

static int have_ca(struct arena *a, struct str pki, struct instant now, struct tls_pem *out,
                   struct err *err)
{
    if (load_pair(a, pki, "ca", out) == 0)
        return 0;
    if (tls_ca_new(a, S("berth-ca"), now, out, err) < 0)
        return -1;
    return save_pair(a, pki, "ca", out, err);
}

static int have_cert(struct arena *a, struct str pki, const char *file,
                     const struct tls_pem *ca, const struct tls_ask *ask, struct instant now,
                     struct tls_pem *out, struct err *err)
{
    if (load_pair(a, pki, file, out) == 0 && is_good(out, now) &&
        tls_cert_covers(out->cert, ask->hosts, ask->n_hosts))
        return 0;
    if (tls_cert_new(a, ca, ask, now, out, err) < 0)
        return -1;
    return save_pair(a, pki, file, out, err);
}

int pki_load(struct arena *a, struct str dir, const struct str *hosts, size_t n_hosts,
             struct instant now, struct pki *out, struct err *err)
{
    struct str pki = place_in(a, dir, "pki"), masters[] = {S("system:masters")};
    struct tls_ask server = {
        .name = S("berth"), .hosts = hosts, .n_hosts = n_hosts, .is_server = true};
    struct tls_ask admin = {
        .name = S("berth-admin"), .groups = masters, .n_groups = 1, .is_client = true};

    if (dir_make(a, pki, 0700, err) < 0 || have_ca(a, pki, now, &out->ca, err) < 0 ||
        have_cert(a, pki, "server", &out->ca, &server, now, &out->server, err) < 0 ||
        have_cert(a, pki, "admin", &out->ca, &admin, now, &out->admin, err) < 0)
        return err_wrap(err, "certificates of '%.*s'", STR_ARG(dir));
    return 0;
}

int pki_issue(struct arena *a, struct str dir, struct str name, const struct str *groups,
              size_t n_groups, struct instant now, struct tls_pem *out, struct err *err)
{
    struct str pki = place_in(a, dir, "pki");
    struct tls_ask ask = {
        .name = name, .groups = groups, .n_groups = n_groups, .is_client = true};
    struct tls_pem ca;

    if (load_pair(a, pki, "ca", &ca) < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no authority in '%.*s'; it is made by the first `berth up`",
                       STR_ARG(pki));
    return tls_cert_new(a, &ca, &ask, now, out, err);
}
