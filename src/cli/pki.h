/* pki.h - the certificates of one data directory: our own authority, made at the first start
 *
 *     DIR/pki/ca.crt ca.key           the authority
 *     DIR/pki/server.crt server.key   made anew when it ends soon or an address is missing
 *     DIR/pki/admin.crt admin.key     of whoever started berth: system:masters
 */
#pragma once

#include "http/tls.h"

#define PKI_RENEW_BEFORE span_s(30 * 86400)

struct pki {
    struct tls_pem ca, server, admin;
};

/* Loads what is there and makes what is missing. `hosts` are what the server is reached by. -1
 * with err. */
int pki_load(struct arena *a, struct str dir, const struct str *hosts, size_t n_hosts,
             struct instant now, struct pki *out, struct err *err);
/* A client certificate for somebody else, of this directory's authority. */
int pki_issue(struct arena *a, struct str dir, struct str name, const struct str *groups,
              size_t n_groups, struct instant now, struct tls_pem *out, struct err *err);
