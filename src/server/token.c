/* token.c - tokens of service accounts: made for whoever may, read from whoever brings one
 *
 *     HEAD.CLAIMS.SIGNATURE     a JSON web token; the key is this data directory's alone
 *
 * A token holds until its time is over, and no longer than its service account and what it is
 * bound to: the same uids must still be there. It stands for no account of this machine.
 */
#include "server/front_priv.h"
#include "server/write_priv.h"

#include "api/kinds.h"
#include "api/metadata.h"
#include "base/base64.h"
#include "http/http.h"
#include "io/io.h"
#include "object/object.h"
#include "schema/conform.h"
#include "schema/default.h"
#include "schema/validate.h"
#include "value/time.h"

#define HEAD "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define ISSUER                                                                                 \
    "https://kubernetes.default.svc" /* and the audience, where none is asked for              \
                                      */
#define TOKEN_MAX_BYTES 8192

/* What a token may be bound to, and the name of the claim. */
static const struct {
    const char *kind, *claim;
    const struct kind *of;
} bounds[] = {
    {"Pod",    "pod",    &kind_pod   },
    {"Secret", "secret", &kind_secret},
    {"Node",   "node",   &kind_node  },
};

/* ---- text ---- */

/* Base64 as it stands in addresses, without padding. */
static struct str to_url64(struct arena *a, struct str bytes)
{
    struct buf out = buf_in(a, bytes.len / 3 * 4 + 8);

    base64_encode(&out, bytes);
    for (size_t i = 0; i < out.len; i++) {
        char c = out.at[i];
        out.at[i] = c == '+' ? '-' : c == '/' ? '_' : c;
        if (c == '=')
            return str_of(out.at, i);
    }
    return buf_str(&out);
}

static bool from_url64(struct arena *a, struct str text, struct str *out)
{
    struct buf b = buf_in(a, text.len + 4);

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        buf_byte(&b, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (b.len % 4)
        buf_byte(&b, '=');
    return base64_decode(a, buf_str(&b), out);
}

static bool sign(struct server *s, struct arena *a, struct str text, struct str *out)
{
    uint8_t mac[SERVER_SIGNATURE];

    if (!s->config.sign || !s->config.sign(s->config.users_ctx, text, mac))
        return false;
    *out = to_url64(a, str_of((char *)mac, sizeof(mac)));
    return true;
}

/* In a time that does not tell where they differ. */
static bool is_same_secret(struct str x, struct str y)
{
    unsigned differ = 0;

    for (size_t i = 0; i < x.len && x.len == y.len; i++)
        differ |= (unsigned)(uint8_t)(x.at[i] ^ y.at[i]);
    return x.len == y.len && differ == 0;
}

/* ---- what still is ---- */

static bool is_there(struct server *s, struct arena *a, const struct kind *k, struct str ns,
                     struct str name, struct str uid)
{
    const struct object *o =
        store_get(s->store, k, path_of(a, k, k->namespaced ? ns : S(""), name));

    return o && str_eq(object_uid(o), uid);
}

static bool is_claim_there(struct server *s, struct arena *a, const struct kind *k,
                           struct str ns, const struct json *claim)
{
    return is_there(s, a, k, ns, json_str(json_getz(claim, "name")),
                    json_str(json_getz(claim, "uid")));
}

/* ---- reading ---- */

/* The claims of a token that this server signed; or NULL. */
static const struct json *claims_of(struct server *s, struct arena *a, struct str token)
{
    struct str signature, signed_text, head, body, want, text;

    if (token.len > TOKEN_MAX_BYTES || !str_rcut(token, '.', &signed_text, &signature) ||
        !str_cut(signed_text, '.', &head, &body) || !str_eq(head, to_url64(a, S(HEAD))) ||
        !sign(s, a, signed_text, &want) || !is_same_secret(signature, want) ||
        !from_url64(a, body, &text))
        return NULL;
    return json_parse(a, text, NULL, NULL);
}

static bool is_for_us(const struct json *audiences)
{
    json_each (i, audiences) {
        if (str_eqz(json_str(json_at(audiences, i)), ISSUER))
            return true;
    }
    return false;
}

bool token_user(struct server *s, struct arena *a, struct str token, struct server_user *u)
{
    const struct json *claims = claims_of(s, a, token);
    const struct json *more = json_getz(claims, "kubernetes.io");
    const struct json *account = json_getz(more, "serviceaccount");
    struct str ns = json_str(json_getz(more, "namespace"));
    struct instant ends = {.ns = json_i64(json_getz(claims, "exp"), 0) * SECOND_NS};

    if (!claims || !is_for_us(json_getz(claims, "aud")) ||
        !instant_before(io_now(s->io), ends) ||
        !is_claim_there(s, a, &kind_service_account, ns, account))
        return false;
    for (size_t i = 0; i < countof(bounds); i++) {
        const struct json *bound = json_get(more, str_from(bounds[i].claim));
        if (bound && !is_claim_there(s, a, bounds[i].of, ns, bound))
            return false;
    }
    struct str *groups = arena_array(a, struct str, 2);
    groups[0] = S("system:serviceaccounts");
    groups[1] = str_printf(a, "system:serviceaccounts:%.*s", STR_ARG(ns));
    u->name = json_str(json_getz(claims, "sub"));
    u->uid = json_str(json_getz(account, "uid"));
    u->groups = groups;
    u->n_groups = 2;
    return true;
}

/* ---- making ---- */

static struct json name_and_uid(struct arena *a, struct str name, struct str uid)
{
    struct json_obj o = obj_in(a);

    obj_setz(&o, "name", json_of_str(name));
    obj_setz(&o, "uid", json_of_str(uid));
    return obj_done(&o);
}

/* Adds the claim of what the token is bound to. */
static int bind(struct request *r, const struct json *spec, struct json_obj *claims)
{
    const struct json *ref = json_getz(spec, "boundObjectRef");
    struct str kind = json_str(json_getz(ref, "kind")), name = json_str(json_getz(ref, "name"));
    struct str uid = json_str(json_getz(ref, "uid"));

    if (!json_has(ref))
        return 0;
    for (size_t i = 0; i < countof(bounds); i++) {
        const struct kind *k = bounds[i].of;
        if (!str_eqz(kind, bounds[i].kind))
            continue;
        const struct object *o = store_get(
            r->server->store, k, path_of(r->arena, k, k->namespaced ? r->ns : S(""), name));
        if (!o) {
            r->kind = k; /* that is what was not found */
            r->name = name;
            return fail_not_found(r);
        }
        if (uid.len && !str_eq(uid, object_uid(o)))
            return fail_conflict(r,
                                 "the UID in the bound object reference (%.*s) does not match "
                                 "the UID in record. The object might have been deleted and "
                                 "then recreated",
                                 STR_ARG(uid));
        obj_set(claims, str_from(bounds[i].claim), name_and_uid(r->arena, name, object_uid(o)));
        return 0;
    }
    return fail_bad_request(r, "cannot bind token for serviceaccount \"%.*s\" to kind \"%.*s\"",
                            STR_ARG(r->name), STR_ARG(kind));
}

static int claims_for(struct request *r, const struct json *spec, struct instant ends,
                      struct str *out)
{
    struct arena *a = r->arena;
    struct json_obj all = obj_in(a), more = obj_in(a);
    int64_t now = io_now(r->server->io).ns / SECOND_NS;
    uint8_t random[16];

    io_random_bytes(r->server->io, random, sizeof(random));
    obj_setz(&more, "namespace", json_of_str(r->ns));
    obj_setz(&more, "serviceaccount", name_and_uid(a, r->name, object_uid(r->current)));
    if (bind(r, spec, &more) < 0)
        return -1;
    obj_setz(&all, "aud", *json_getz(spec, "audiences"));
    obj_setz(&all, "exp", json_of_i64(ends.ns / SECOND_NS));
    obj_setz(&all, "iat", json_of_i64(now));
    obj_setz(&all, "iss", json_of_z(ISSUER));
    obj_setz(&all, "jti", json_of_str(metadata_uid(a, random)));
    obj_setz(&all, "kubernetes.io", obj_done(&more));
    obj_setz(&all, "nbf", json_of_i64(now));
    obj_setz(&all, "sub",
             json_of_str(str_printf(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(r->ns),
                                    STR_ARG(r->name))));
    struct json claims = obj_done(&all);
    *out = json_text(a, &claims);
    return 0;
}

/* What was asked for, conformed, with its defaults and judged; or NULL, answered. */
static const struct json *asked(struct request *r)
{
    const struct kind *k = &kind_authentication_token_request;
    struct field_errors errors = field_errors_in(r->arena);
    struct err err = {0};
    const struct json *tree = kind_conform(r->arena, k, r->body, NULL, NULL, &err);

    if (!tree) {
        fail_err(r, &err);
        return NULL;
    }
    tree = kind_default(r->arena, k, tree, NULL);
    if (json_len(json_path(tree, "spec", "audiences", NULL)) == 0) {
        struct json_arr own = arr_in(r->arena);
        arr_add(&own, json_of_z(ISSUER));
        tree = json_with(r->arena, tree, arr_done(&own), "spec", "audiences", NULL);
    }
    kind_validate(&errors, k, tree, NULL);
    if (errors.list.len) {
        fail_invalid(r, r->name, &errors);
        return NULL;
    }
    return tree;
}

static int make(struct request *r)
{
    struct arena *a = r->arena;
    const struct json *tree = asked(r);
    struct json_obj status = obj_in(a), m = obj_in(a);
    struct str claims, signature;

    if (!tree)
        return -1;
    const struct json *spec = json_getz(tree, "spec");
    struct span holds = {json_i64(json_getz(spec, "expirationSeconds"), 0) * SECOND_NS};
    struct instant now = io_now(r->server->io), ends = instant_add(now, holds);
    if (claims_for(r, spec, ends, &claims) < 0)
        return -1;
    struct str text = str_concat(a, to_url64(a, S(HEAD)), S("."), to_url64(a, claims));
    if (!sign(r->server, a, text, &signature)) {
        struct err err = {0};
        err_set(&err, ERR_UNAVAILABLE, "this server has no key to sign tokens with");
        return fail_err(r, &err);
    }
    obj_setz(&m, "name", json_of_str(r->name));
    obj_setz(&m, "namespace", json_of_str(r->ns));
    obj_setz(&m, "creationTimestamp", json_of_str(time_text(a, now)));
    obj_setz(&status, "token", json_of_str(str_concat(a, text, S("."), signature)));
    obj_setz(&status, "expirationTimestamp", json_of_str(time_text(a, ends)));
    struct json_obj o = obj_from(a, tree);
    obj_setz(&o, "metadata", obj_done(&m));
    obj_setz(&o, "status", obj_done(&status));
    audit_write(r, 201, r->current);
    r->reply->tree(r, 201, json_new(a, obj_done(&o)));
    return 0;
}

void token_create(struct request *r)
{
    if (!load_current(r))
        fail_not_found(r);
    else
        make(r);
    request_fini(r);
}
