/* accept.c - in which form an answer is wanted: the Accept header, clause by clause */
#include "server/accept.h"

#define CLAUSES_MAX 32

struct clause {
    struct str type, subtype;
    struct str as, group, version, stream;
    double q;
    bool is_pretty;
};

static bool read_clause(struct str text, struct clause *c)
{
    struct str rest, part, type, tail;

    *c = (struct clause){.q = 1};
    str_cut(text, ';', &part, &rest);
    part = str_trim(part);
    if (str_eqz(part, "*"))
        part = S("*/*");
    if (!str_cut(part, '/', &type, &tail) || str_index(tail, '/') != STR_NONE)
        return false;
    c->type = type;
    c->subtype = tail;
    while (rest.len) {
        struct str name, value;
        str_cut(rest, ';', &part, &rest);
        str_cut(str_trim(part), '=', &name, &value);
        value = str_trim(value);
        if (str_eqz(name, "as"))
            c->as = value;
        else if (str_eqz(name, "g"))
            c->group = value;
        else if (str_eqz(name, "v"))
            c->version = value;
        else if (str_eqz(name, "stream"))
            c->stream = value;
        else if (str_eqz(name, "pretty"))
            c->is_pretty = str_eqz(value, "1");
        else if (str_eqz(name, "q") && value.len && value.len < 16) {
            char text_q[16] = {0};
            memcpy(text_q, value.at, value.len);
            c->q = strtod(text_q, NULL);
        }
    }
    return true;
}

/* Does a go before b, which stands to its left? */
static bool goes_before(const struct clause *a, const struct clause *b)
{
    bool a_any = str_eqz(a->type, "*"), b_any = str_eqz(b->type, "*");
    bool a_sub = str_eqz(a->subtype, "*"), b_sub = str_eqz(b->subtype, "*");

    return a->q > b->q || (!a_any && b_any) || (!a_sub && b_sub);
}

static bool is_conversion(const struct clause *c, unsigned offers, struct accept *out)
{
    bool is_meta = str_eqz(c->group, "meta.k8s.io");
    bool is_v1 = str_eqz(c->version, "v1"), is_beta = str_eqz(c->version, "v1beta1");

    out->is_v1beta1 = is_beta;
    if (str_eqz(c->as, "Table") && is_meta && (is_v1 || is_beta) &&
        (offers & ACCEPT_OFFER_TABLE)) {
        out->form = ACCEPT_TABLE;
        return true;
    }
    if ((str_eqz(c->as, "PartialObjectMetadata") ||
         str_eqz(c->as, "PartialObjectMetadataList")) &&
        is_meta && (is_v1 || is_beta) && (offers & ACCEPT_OFFER_METADATA)) {
        out->form = ACCEPT_METADATA;
        return true;
    }
    if (str_eqz(c->as, "APIGroupDiscoveryList") && str_eqz(c->group, "apidiscovery.k8s.io") &&
        str_eqz(c->version, "v2") && (offers & ACCEPT_OFFER_DISCOVERY)) {
        out->form = ACCEPT_DISCOVERY;
        return true;
    }
    return false;
}

static bool satisfies(const struct clause *c, unsigned offers, struct accept *out)
{
    bool is_app = str_eqz(c->type, "application"), is_any = str_eqz(c->type, "*");
    bool is_json =
        (is_app && (str_eqz(c->subtype, "json") || str_eqz(c->subtype, "*"))) || is_any;
    bool is_yaml = is_app && str_eqz(c->subtype, "yaml");

    *out = (struct accept){.is_pretty = c->is_pretty, .is_yaml = is_yaml};
    if (!is_json && !is_yaml)
        return false;
    if (c->stream.len && !str_eqz(c->stream, "watch"))
        return false;
    if (c->as.len || c->group.len || c->version.len)
        return is_conversion(c, offers, out);
    return true;
}

bool accept_parse(struct str header, unsigned offers, struct accept *out)
{
    struct clause all[CLAUSES_MAX];
    size_t n = 0;
    struct str part;

    *out = (struct accept){0};
    if (!str_trim(header).len)
        return true;
    while (header.len && n < CLAUSES_MAX) {
        str_cut(header, ',', &part, &header);
        struct clause c;
        if (!read_clause(str_trim(part), &c))
            continue;
        size_t at = n++;
        for (; at > 0 && goes_before(&c, &all[at - 1]); at--)
            all[at] = all[at - 1];
        all[at] = c;
    }
    for (size_t i = 0; i < n; i++) {
        if (satisfies(&all[i], offers, out))
            return true;
    }
    return false;
}
