/* value.c - how fast single values are: quantities, selectors, names, times; authorization
 *
 * Prints one figure a line, `name value unit`; the smallest of several rounds, which is what
 * the code costs where the machine is quiet.
 */
#include "value/value.h"
#include "api/rbac.h"
#include "api/request.h"
#include "measure.h"

static void quantities(struct arena *a)
{
    static const struct str usual[] = {
        S_INIT("500m"), S_INIT("2"),    S_INIT("16Gi"), S_INIT("1500m"),
        S_INIT("8"),    S_INIT("100k"), S_INIT("1.5"),  S_INIT("128Mi"),
    };
    struct quantity q[countof(usual)], big[2], r;
    struct buf b = buf_in(a, 64);

    for (size_t i = 0; i < countof(usual); i++)
        quantity_parse(a, usual[i], &q[i], NULL);
    MEASURE_NS("quantity/parse", 1000000,
               use(quantity_parse(a, usual[i & 7], &q[i & 7], NULL)));
    MEASURE_NS("quantity/compare, one scale", 10000000, use(quantity_cmp(&q[1], &q[4])));
    MEASURE_NS("quantity/compare, other scales", 10000000,
               use(quantity_cmp(&q[i & 7], &q[(i + 1) & 7])));
    MEASURE_NS("quantity/add", 5000000, r = quantity_add(a, &q[i & 7], &q[(i + 3) & 7]);
               use(r.value));
    MEASURE_NS("quantity/units", 5000000, use(quantity_units(&q[i & 7], QUANTITY_MILLI)));
    MEASURE_NS("quantity/write", 1000000, buf_clear(&b);
               quantity_write_canonical(&b, &q[i & 7]));
    quantity_parse(a, S("12345678901234567890.5Gi"), &big[0], NULL);
    quantity_parse(a, S("123456789012345678901234567890"), &big[1], NULL);
    MEASURE_NS("quantity/compare, big", 1000000, use(quantity_cmp(&big[0], &big[1])));
}

static void selectors(struct arena *a)
{
    struct str_entry entries[] = {
        {S("app"),  S("web") },
        {S("tier"), S("back")},
        {S("zone"), S("b")   },
        {S("gen"),  S("7")   }
    };
    struct str_map labels = {entries, countof(entries)};
    struct selector s;

    MEASURE_NS("selector/parse, three terms", 100000, struct arena_mark mark = arena_mark(a);
               selector_parse(a, S("app=web,zone in (a,b,c),!old"), &s, NULL);
               arena_rewind(a, mark));
    selector_parse(a, S("app=web,zone in (a,b,c),!old"), &s, NULL);
    MEASURE_NS("selector/match, three terms", 2000000, use(selector_matches(&s, &labels)));
}

static void texts(struct arena *a)
{
    struct buf b = buf_in(a, 64);
    struct instant t = {0};
    struct request_info r;
    struct str stamps[] = {S("2026-01-02T03:04:05Z"), S("2027-12-31T23:59:59Z")};

    MEASURE_NS("name/subdomain of 24 bytes", 1000000,
               use(name_is(NAME_DNS_SUBDOMAIN, S("a-name.with-some.letters"))));
    MEASURE_NS("time/parse", 1000000, time_parse(stamps[i & 1], &t, NULL); use(t.ns));
    MEASURE_NS("time/write", 1000000, buf_clear(&b); time_write(&b, t));
    MEASURE_NS(
        "request/parse, a list with a selector", 200000, struct arena_mark mark = arena_mark(a);
        request_parse(a, S("GET"),
                      S("/apis/batch/v1/namespaces/a/jobs?limit=500&labelSelector=a%3Db"), &r,
                      NULL);
        arena_rewind(a, mark));
}

static void authorization(struct arena *a)
{
    struct rbac *r = rbac_new();
    struct str group = S("dev");
    struct access x = {
        .user = {.name = S("joe"), .groups = {&group, 1}},
        .verb = S("get"),
        .is_resource = true,
        .group = S("batch"),
        .resource = S("jobs"),
        .ns = S("ns-1")
    };

    for (int i = 0; i < 100; i++) {
        struct str name = str_printf(a, "r%d", i);
        const struct json *role = json_parse(
            a,
            S("{\"rules\":[{\"verbs\":[\"list\",\"watch\",\"get\"],\"apiGroups\":[\"batch\"],"
              "\"resources\":[\"jobs\",\"cronjobs\"]}]}"),
            NULL, NULL);
        const struct json *binding = json_parse(
            a,
            str_printf(a,
                       "{\"subjects\":[{\"kind\":\"User\",\"name\":\"u%d\"}],\"roleRef\":{"
                       "\"kind\":\"ClusterRole\",\"name\":\"r%d\"}}",
                       i, i),
            NULL, NULL);
        rbac_put_role(r, S(""), name, role);
        rbac_put_binding(r, S(""), name, binding);
    }
    MEASURE_NS("rbac/a no after 100 bindings", 100000, use(rbac_allows(r, a, &x, NULL)));
    rbac_free(r);
}

int main(void)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 20);

    quantities(&a);
    selectors(&a);
    texts(&a);
    authorization(&a);
    return 0;
}
