/* kubeconfigs.c - the kubeconfig files that Berth hands out */
#include "cli/kubeconfigs.h"

#include "base/base64.h"
#include "cli/files.h"

static struct str base64_text(struct arena *a, struct str bytes)
{
    struct buf b = buf_in(a, bytes.len * 4 / 3 + 8);

    base64_encode(&b, bytes);
    return buf_str(&b);
}

struct str kubeconfig_text(struct arena *a, const struct kubeconfig_text *k)
{
    struct buf b = buf_in(a, 4096);
    struct str user = k->user;

    buf_printf(&b,
               "apiVersion: v1\nkind: Config\ncurrent-context: berth\nclusters:\n"
               "- name: berth\n  cluster:\n    server: https://%.*s\n"
               "    certificate-authority-data: %.*s\n"
               "contexts:\n- name: berth\n  context:\n    cluster: berth\n    user: %.*s\n",
               STR_ARG(k->address), STR_ARG(base64_text(a, k->ca)), STR_ARG(user));
    if (k->ns.len)
        buf_printf(&b, "    namespace: %.*s\n", STR_ARG(k->ns));
    buf_printf(&b, "users:\n- name: %.*s\n  user:\n", STR_ARG(user));
    if (k->token.len)
        buf_printf(&b, "    token: %.*s\n", STR_ARG(k->token));
    else
        buf_printf(&b, "    client-certificate-data: %.*s\n    client-key-data: %.*s\n",
                   STR_ARG(base64_text(a, k->cert.cert)), STR_ARG(base64_text(a, k->cert.key)));
    return buf_str(&b);
}

int kubeconfig_save(struct arena *a, struct str path, struct str address, struct str ca,
                    struct str user, const struct tls_pem *cert, struct err *err)
{
    struct kubeconfig_text k = {.address = address, .ca = ca, .user = user, .cert = *cert};

    return file_write(a, path, 0600, kubeconfig_text(a, &k), err);
}
