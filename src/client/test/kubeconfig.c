/* kubeconfig.c - what kubectl's file says, and what we write */
#include <unistd.h>

#include "base/testing.h"
#include "client/kubeconfig.h"

#define FILE_OF(cluster, user)                                                                 \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"                                       \
    "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: ns}\n"                  \
    "- name: other\n  context: {cluster: k2, user: ''}\n"                                      \
    "clusters:\n- name: k\n  cluster: {" cluster "}\n"                                         \
    "- name: k2\n  cluster: {server: 'http://h'}\n"                                            \
    "users:\n- name: u\n  user: {" user "}\n"

TEST(kubeconfig_parse)
{
    static const struct {
        const char *name, *text, *context, *want;
    } cases[] = {
        {"the current context",                               FILE_OF("server: 'https://h:1'",                     "token: t"),"",
         "c/k/u/ns https://h:1 ca= cert= key= token=t"},
        {"another context, without a user",                                                   FILE_OF("server: 'https://h:1'",                                                                      "token: t"),
         "other","other/k2// http://h ca= cert= key= token="},
        {"embedded data",
         FILE_OF("server: s, certificate-authority-data: Y2E=",
         "client-certificate-data: Y2VydA==, client-key-data: a2V5"),
         "","c/k/u/ns s ca=ca cert=cert key=key token="},
        {"data comes before a file",
         FILE_OF("server: s, certificate-authority-data: Y2E=, certificate-authority: /none",
         "token: t"),
         "","c/k/u/ns s ca=ca cert= key= token=t"},
        {"no such context",                                         FILE_OF("server: s",                                                                                                       "token: t"),"x",
         "NOT_FOUND there is no context 'x'"},
        {"no server",FILE_OF("","token: t"),"","INVALID cluster 'k' has no server"},
        {"data that is not base64",                                         FILE_OF("server: s, certificate-authority-data: '!'",                                                                                           ""),
         "",                                                                                                                                            "INVALID certificate-authority-data is not base64"},
        {"a certificate without its key",
         FILE_OF("server: s",                                                                              "client-certificate-data: Y2VydA=="),"",
         "INVALID user 'u' has a client certificate but no key"},
        {"a plug-in", FILE_OF("server: s",                                                    "exec: {command: x}"),"",
         "UNSUPPORTED user 'u' gets its credentials from a plug-in, which is not supported; "
         "use "
         "a token or a client certificate"},
        {"a file that is not there",                                                 FILE_OF("server: s, certificate-authority: ca.pem",                                                   ""),
         "","IO cannot open '/nonexistent/ca.pem': No such file or directory"},
        {"nothing",                              "",                            "","SYNTAX a kubeconfig is a mapping"},
        {"no current context","{}","","NOT_FOUND no current-context is set"},
        {"a context without its cluster",
         "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]",                                                               "",
         "NOT_FOUND there is no cluster 'k'"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        struct kubeconfig k;
        struct err err;
        test_case(cases[i].name);
        struct str got;
        if (kubeconfig_parse(&a, str_from(cases[i].text), S("/nonexistent"),
                             str_from(cases[i].context), &k, &err) < 0)
            got = str_printf(&a, "%s %s", err_name(err.code), err.text);
        else
            got =
                str_printf(&a, "%.*s/%.*s/%.*s/%.*s %.*s ca=%.*s cert=%.*s key=%.*s token=%.*s",
                           STR_ARG(k.context), STR_ARG(k.cluster), STR_ARG(k.user),
                           STR_ARG(k.ns), STR_ARG(k.server), STR_ARG(k.ca), STR_ARG(k.cert),
                           STR_ARG(k.key), STR_ARG(k.token));
        check_samez(got, cases[i].want);
    }
}

static void put(const char *dir, const char *name, struct str text)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    check_int(fwrite(text.at, 1, text.len, f), text.len);
    fclose(f);
}

TEST(kubeconfig_load)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    static const char *const names[] = {"ca.pem", "token", "kubeconfig"};
    char dir[] = "/tmp/berth-kubeconfig-XXXXXX", path[128];
    struct kubeconfig k;
    struct err err;

    check(mkdtemp(dir) != NULL);
    put(dir, "ca.pem", S("the authority"));
    put(dir, "token", S("secret\n"));
    put(dir, "kubeconfig",
        str_printf(&a,
                   FILE_OF("server: s, certificate-authority: ca.pem", "tokenFile: %s/token"),
                   dir));
    snprintf(path, sizeof(path), "%s/kubeconfig", dir);
    check_int(kubeconfig_load(&a, str_from(path), (struct str){0}, &k, &err), 0);
    check_samez(k.ca, "the authority");
    check_samez(k.token, "secret");
    for (size_t i = 0; i < countof(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
    check_int(kubeconfig_load(&a, str_from(path), (struct str){0}, &k, &err), -1);
    check_err(&err, ERR_IO, "cannot open '/tmp/berth-kubeconfig-");
}

TEST(kubeconfig_text_reads_back)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 10);
    struct kubeconfig k = {.ns = S("default"),
                           .server = S("https://127.0.0.1:6443"),
                           .ca = S("-----CA\n"),
                           .cert = S("c"),
                           .key = S("k")},
                      got;
    struct err err;

    check_int(kubeconfig_parse(&a, kubeconfig_text(&a, &k), S(""), S(""), &got, &err), 0);
    check_samez(got.context, "berth");
    check_same(got.ns, k.ns);
    check_same(got.server, k.server);
    check_same(got.ca, k.ca);
    check_same(got.cert, k.cert);
    check_same(got.key, k.key);
    check_samez(got.token, "");
    check(!got.insecure);
}

TEST(kubeconfig_server)
{
    static const struct {
        const char *server, *want;
    } cases[] = {
        {"https://127.0.0.1:6443", "tls 127.0.0.1:6443 127.0.0.1 127.0.0.1:6443 ''"   },
        {"https://h",              "tls h:443 h h ''"                                 },
        {"http://h/",              "plain h:80 h h ''"                                },
        {"https://[::1]:1/a/b/",   "tls [::1]:1 ::1 [::1]:1 '/a/b'"                   },
        {"h:8080",                 "plain h:8080 h h:8080 ''"                         },
        {"unix:///run/berth.sock", "plain unix:/run/berth.sock localhost localhost ''"},
        {"ftp://h",                "server 'ftp://h' is no URL of an API server"      },
        {"https://",               "server 'https://' is no URL of an API server"     },
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4 << 10);
        struct kubeconfig k = {.server = str_from(cases[i].server)};
        struct kubeconfig_server s;
        struct err err;
        test_case(cases[i].server);
        check_samez(kubeconfig_server(&a, &k, &s, &err) < 0
                        ? str_from(err.text)
                        : str_printf(&a, "%s %.*s %.*s %.*s '%.*s'", s.is_tls ? "tls" : "plain",
                                     STR_ARG(s.address), STR_ARG(s.host), STR_ARG(s.authority),
                                     STR_ARG(s.prefix)),
                    cases[i].want);
    }
}
