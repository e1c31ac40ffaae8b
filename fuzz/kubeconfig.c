/* kubeconfig.c - any text is read or refused with a sentence; what was read is written and
 * reads back the same */
#include "client/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct str text = {(const char *)data, size};
    struct kubeconfig k, again;
    struct kubeconfig_server server;
    struct err err = {0};

    if (str_has(text, S("tokenFile")) || str_has(text, S("/")))
        return 0; /* names files of this machine */
    if (kubeconfig_parse(&a, text, S("/nonexistent"), S(""), &k, &err) < 0) {
        assert(err.code != ERR_OK && err.text[0]);
        return 0;
    }
    kubeconfig_server(&a, &k, &server, &err);
    assert(kubeconfig_parse(&a, kubeconfig_text(&a, &k), S(""), S(""), &again, &err) == 0);
    assert(!str_is_utf8(k.server) || str_eq(k.server, again.server));
    assert(str_eq(k.ca, again.ca) && str_eq(k.key, again.key));
    return 0;
}
