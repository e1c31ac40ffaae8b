/* kubeconfigs.h - the kubeconfig files that Berth hands out */
#pragma once

#include "http/tls.h"

struct kubeconfig_text {
    struct str address; /* "127.0.0.1:6443" */
    struct str ca;      /* PEM */
    struct str user;
    struct tls_pem cert; /* or empty, and a token */
    struct str token;
    struct str ns; /* of the context; "" default */
};
struct str kubeconfig_text(struct arena *a, const struct kubeconfig_text *k);
/* Writes the starter's kubeconfig. -1 with ERR_IO. */
int kubeconfig_save(struct arena *a, struct str path, struct str address, struct str ca,
                    struct str user, const struct tls_pem *cert, struct err *err);
