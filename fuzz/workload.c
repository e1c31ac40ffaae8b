/* Any tree as a Workload, a Pod, a Node's pod, a role: numbers come out without going astray,
 * and what is stored reads back. */
#include "api/metadata.h"
#include "api/node_authorizer.h"
#include "api/priority.h"
#include "api/rbac.h"
#include "api/workload_requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 16);
    const struct json *v = json_parse(&a, str_of((const char *)data, size), NULL, NULL);
    struct field_errors e = field_errors_in(&a);
    struct pod_rules rules = {
        .limit_ranges = &v, .n_limit_ranges = 1, .runtime_classes = &v, .n_runtime_classes = 1};
    struct topology_assignment t;
    size_t n;

    if (!v)
        return 0;
    struct workload_record r = workload_record_of(&a, v, &rules, NULL, 0);
    workload_usage(&a, &r, &n);
    workload_shape(&a, v, &r, priority_effective(v, true));
    const struct json *stored =
        json_with(&a, v, workload_requests_json(&a, &r), "status", "resourceRequests", NULL);
    assert(r.len == 0 || !workload_requests_differ(&a, stored, &r));
    workload_nodes(&a, v);
    pod_requests(&a, v, &rules, S(""));
    pod_spec_check_limits(&e, NULL, v);
    struct limit_summary s = limit_summary_of(&a, &v, 1, S(""));
    pod_spec_check_bounds(&e, NULL, v, &s);
    if (topology_domain_count(v) < 1000 && topology_decode(&a, v, &t, NULL) == 0 &&
        t.levels.len) {
        struct json again = topology_encode(&a, &t, TOPOLOGY_SHORTER);
        struct topology_assignment back;
        assert(topology_decode(&a, &again, &back, NULL) == 0 && back.len == t.len);
    }
    metadata_check_create(&e, NULL, v, (struct metadata_rule){true, NAME_DNS_SUBDOMAIN});
    metadata_check_update(&e, NULL, v, v);
    conditions_check(&e, NULL, v, NULL);
    conditions_check(&e, NULL, v, v);
    owner_references_dedup(&a, v, NULL);

    struct rbac *b = rbac_new();
    struct node_graph *g = node_graph_new();
    struct access x = {.user = {.name = S("u")},
                       .verb = S("get"),
                       .resource = S("pods"),
                       .is_resource = true,
                       .ns = S("n")};
    rbac_put_role(b, S("n"), S("r"), v);
    rbac_put_binding(b, S("n"), S("b"), v);
    rbac_allows(b, &a, &x, NULL);
    rbac_put_binding(b, S("n"), S("b"), NULL);
    node_graph_put_pod(g, S("n"), S("p"), v);
    node_graph_put_pod(g, S("n"), S("p"), NULL);
    node_graph_put_slice(g, S("s"), v);
    rbac_free(b);
    node_graph_free(g);
    return 0;
}
