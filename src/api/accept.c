/* accept.c - which representation a client gets */
#include "api/accept.h"

struct clause {
    struct str type, subtype;
    double q;
    struct str as, group, version, stream, pretty, schema_version;
};

static void read_param(struct clause *c, struct str param)
{
    struct str name, value, more;
    const struct {
        struct str name;
        struct str *to;
    } known[] = {
        {S("as"),     &c->as            },
        {S("g"),      &c->group         },
        {S("v"),      &c->version       },
        {S("stream"), &c->stream        },
        {S("pretty"), &c->pretty        },
        {S("sv"),     &c->schema_version},
    };

    if (!str_cut(param, '=', &name, &value) || value.len == 0 ||
        str_cut(value, '=', &more, &more))
        return;
    name = str_trim(name);
    if (str_eq(name, S("q"))) {
        char text[16] = {0}, *end;
        memcpy(text, value.at, MIN(value.len, sizeof(text) - 1));
        c->q = strtod(text, &end);
        return;
    }
    for (size_t i = 0; i < countof(known); i++)
        if (str_eq(name, known[i].name))
            *known[i].to = str_trim(value);
}

/* False for a clause that names no media type. */
static bool read_clause(struct str text, struct clause *c)
{
    struct str media, params, more;

    *c = (struct clause){.q = 1};
    str_cut(str_trim(text), ';', &media, &params);
    if (!str_cut(media, '/', &c->type, &c->subtype) || c->subtype.len == 0) {
        if (!str_eq(str_trim(c->type), S("*")))
            return false;
        c->subtype = S("*");
    }
    if (str_cut(c->subtype, '/', &more, &more) && more.len)
        return false;
    str_cut(c->subtype, '/', &c->subtype, &more);
    c->type = str_trim(c->type);
    c->subtype = str_trim(c->subtype);
    while (params.len) {
        struct str param;
        str_cut(params, ';', &param, &params);
        read_param(c, param);
    }
    return true;
}

static bool is_any(struct str s)
{
    return str_eq(s, S("*"));
}

static bool goes_before(const struct clause *x, const struct clause *y)
{
    return x->q > y->q || (!is_any(x->type) && is_any(y->type)) ||
           (!is_any(x->subtype) && is_any(y->subtype));
}

/* The order of preference, as upstream's sort leaves it. */
static size_t read_header(struct str header, struct clause *clauses)
{
    size_t n = 0;
    struct str text;

    while (header.len && n < ACCEPT_MAX_CLAUSES) {
        struct clause c;
        str_cut(header, ',', &text, &header);
        if (!read_clause(text, &c))
            continue;
        size_t at = n++;
        for (; at > 0 && goes_before(&c, &clauses[at - 1]); at--)
            clauses[at] = clauses[at - 1];
        clauses[at] = c;
    }
    return n;
}

static const struct {
    struct str kind, group;
    struct str versions[2];
} conversions_known[] = {
    [ACCEPT_TABLE] = {S_INIT("Table"),
                      S_INIT("meta.k8s.io"),
                      {S_INIT("v1"), S_INIT("v1beta1")}},
    [ACCEPT_PARTIAL] = {S_INIT("PartialObjectMetadata"),
                      S_INIT("meta.k8s.io"),
                      {S_INIT("v1"), S_INIT("v1beta1")}},
    [ACCEPT_PARTIAL_LIST] = {S_INIT("PartialObjectMetadataList"),
                      S_INIT("meta.k8s.io"),
                      {S_INIT("v1"), S_INIT("v1beta1")}},
    [ACCEPT_GROUP_DISCOVERY] = {S_INIT("APIGroupDiscoveryList"),
                      S_INIT("apidiscovery.k8s.io"),
                      {S_INIT("v2"), S_INIT("v2beta1")}},
};

static bool can_be_table(struct str media_type)
{
    return str_eq(media_type, S("application/json")) ||
           str_eq(media_type, S("application/yaml"));
}

/* Can the clause's parameters be served with this media type? */
static bool fits(const struct clause *c, struct str media_type, unsigned conversions,
                 struct accepted *out)
{
    if ((c->stream.len && !str_eq(c->stream, S("watch"))) || c->schema_version.len)
        return false;
    out->is_stream = c->stream.len > 0;
    out->is_pretty = str_eq(c->pretty, S("1"));
    if (!c->as.len && !c->group.len && !c->version.len)
        return true;
    for (size_t i = ACCEPT_TABLE; i < countof(conversions_known); i++) {
        if (!(conversions & ACCEPT_BIT(i)) || !str_eq(c->as, conversions_known[i].kind) ||
            !str_eq(c->group, conversions_known[i].group))
            continue;
        if (i == ACCEPT_TABLE && !can_be_table(media_type))
            continue;
        for (size_t k = 0; k < countof(conversions_known[i].versions); k++)
            if (str_eq(c->version, conversions_known[i].versions[k])) {
                out->as = (enum accept_as)i;
                out->version = c->version;
                return true;
            }
    }
    return false;
}

static bool names(const struct clause *c, struct str media_type)
{
    struct str type, subtype;

    str_cut(media_type, '/', &type, &subtype);
    if (is_any(c->type))
        return is_any(c->subtype);
    return str_eq(c->type, type) && (is_any(c->subtype) || str_eq(c->subtype, subtype));
}

static void list_types(struct buf *b, const struct str *served, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "", STR_ARG(served[i]));
}

int accept_negotiate(struct str header, const struct str *served, size_t n_served,
                     unsigned conversions, struct accepted *out, struct err *err)
{
    struct clause clauses[ACCEPT_MAX_CLAUSES];
    size_t n = read_header(header, clauses);

    if (header.len == 0 && n_served) {
        *out = (struct accepted){.media_type = served[0]};
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_served; k++) {
            struct accepted a = {.media_type = served[k], .index = k};
            if (names(&clauses[i], served[k]) &&
                fits(&clauses[i], served[k], conversions, &a)) {
                *out = a;
                return 0;
            }
        }
    scoped(buf_fini) struct buf b = {0};
    list_types(&b, served, n_served);
    return err_set(err, ERR_NOT_ACCEPTED, "only the following media types are accepted: %.*s",
                   STR_ARG(buf_str(&b)));
}

int content_type_match(struct str header, const struct str *served, size_t n_served,
                       size_t *index, struct err *err)
{
    struct str type, params;

    str_cut(header, ';', &type, &params);
    type = str_trim(type);
    for (size_t i = 0; i < n_served; i++)
        if (type.len == 0 || str_eq_nocase(type, served[i])) {
            *index = i;
            return 0;
        }
    scoped(buf_fini) struct buf b = {0};
    list_types(&b, served, n_served);
    return err_set(err, ERR_MEDIA_TYPE,
                   "the body of the request was in an unknown format - accepted media types "
                   "include: %.*s",
                   STR_ARG(buf_str(&b)));
}
