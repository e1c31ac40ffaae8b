/* cert.c - an authority, what it signs, and what both say */
#include "base/testing.h"
#include "http/tls.h"

#define NOW ((struct instant){INT64_C(1700000000) * SECOND_NS})

TEST(tls_cert_new)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    static const struct str hosts[] = {S_INIT("localhost"), S_INIT("127.0.0.1"), S_INIT("::1")};
    static const struct str others[] = {S_INIT("localhost"), S_INIT("127.0.0.2")};
    static const struct str groups[] = {S_INIT("system:masters"), S_INIT("b")};
    struct tls_pem ca, server, client;
    struct instant ends;
    struct err err;

    check_int(tls_ca_new(&a, S("berth-ca"), NOW, &ca, &err), 0);
    check(str_starts(ca.cert, S("-----BEGIN CERTIFICATE-----\n")));
    check(str_starts(ca.key, S("-----BEGIN PRIVATE KEY-----\n")));
    struct tls_ask ask = {.name = S("berth"),
                          .hosts = hosts,
                          .n_hosts = 3,
                          .is_server = true,
                          .lifetime = span_s(3600)};
    check_int(tls_cert_new(&a, &ca, &ask, NOW, &server, &err), 0);
    check_int(tls_cert_ends(server.cert, &ends, &err), 0);
    check_int(ends.ns, instant_add(NOW, span_s(3600)).ns);
    check(tls_cert_covers(server.cert, hosts, 3));
    check(!tls_cert_covers(server.cert, others, 2));
    check(!tls_cert_covers(S("no certificate"), hosts, 3));

    struct tls_server *t = tls_server_new(&server, ca.cert, &err);
    check(t != NULL);
    tls_server_free(t);
    tls_server_free(NULL);
    ask = (struct tls_ask){
        .name = S("admin"), .groups = groups, .n_groups = 2, .is_client = true};
    check_int(tls_cert_new(&a, &ca, &ask, NOW, &client, &err), 0);
    struct tls_client_options options = {
        .ca = ca.cert, .own = client, .server_name = S("localhost")};
    struct tls_client *c = tls_client_new(&options, &err);
    check(c != NULL);
    tls_client_free(c);
    tls_client_free(NULL);
}

TEST(tls_bad_texts)
{
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);
    struct tls_pem bad = {S("x"), S("y")}, ca, out = {0};
    struct tls_ask ask = {.name = S("a"), .is_server = true};
    struct instant ends;
    struct err err;

    check_int(tls_ca_new(&a, S("berth-ca"), NOW, &ca, &err), 0);
    check_int(tls_cert_new(&a, &bad, &ask, NOW, &out, &err), -1);
    check_err(&err, ERR_INVALID, "the certificate authority's certificate cannot be read");
    check_int(tls_cert_ends(S("x"), &ends, &err), -1);
    check_err(&err, ERR_INVALID, "the certificate cannot be read");
    check(!tls_server_new(&bad, (struct str){0}, &err));
    check_err(&err, ERR_INVALID, "the certificate cannot be used");
    check(!tls_server_new(&(struct tls_pem){ca.cert, S("y")}, (struct str){0}, &err));
    check_err(&err, ERR_INVALID, "the key cannot be used");
    check(!tls_server_new(&ca, S("z"), &err));
    check_err(&err, ERR_INVALID, "no certificate authority can be read");
    check(!tls_client_new(&(struct tls_client_options){.ca = S("z")}, &err));
    check_err(&err, ERR_INVALID, "no certificate authority can be read");
    ask.name = S("berth-ca");
    check_int(tls_cert_new(&a, &ca, &ask, NOW, &out, &err), -1);
    check_err(&err, ERR_INVALID, "it is the authority's own name");
    char name[100];
    memset(name, 'n', sizeof(name));
    ask.name = str_of(name, sizeof(name));
    check_int(tls_cert_new(&a, &ca, &ask, NOW, &out, &err), -1);
    check_err(&err, ERR_INVALID, "string too long");
}
