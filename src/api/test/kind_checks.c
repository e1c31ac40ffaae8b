/* kind_checks.c - what the server refuses of small kinds: roles, quotas, nodes, events,
 * policies, as `TYPE FIELD` */
#include "api/find.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"

/* An object of that kind with these members; `old` may be NULL. */
struct row {
    const char *name, *version, *kind, *old, *now, *want;
};

static const struct json *object_of(struct arena *a, const struct row *r, const char *members)
{
    return quoted(
        a, str_printf(a, "{'apiVersion':'%s','kind':'%s',%s}", r->version, r->kind, members));
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        const struct row *r = &rows[i];
        const struct kind *k = kind_of(str_from(r->version), str_from(r->kind));
        test_case(r->name);
        check_samez(refused_object(&a, k, object_of(&a, r, r->now),
                                   r->old ? object_of(&a, r, r->old) : NULL),
                    r->want);
    }
}

/* clang-format off */
TEST(role_checks)
{
#define RBAC "rbac.authorization.k8s.io/v1"
#define REF "'roleRef':{'kind':'ClusterRole','name':'r'}"
    static const struct row rows[] = {
        {"a role as it should be", RBAC, "Role", NULL,
         "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]", ""},
        {"rights of nothing", RBAC, "Role", NULL, "'rules':[{'verbs':[]}]",
         "Required rules[0].verbs, Required rules[0].apiGroups, Required rules[0].resources"},
        {"paths in a namespace", RBAC, "Role", NULL, "'rules':[{'verbs':['get'],'nonResourceURLs':['/x']}]",
         "Invalid rules[0].nonResourceURLs"},
        {"paths are for clusters", RBAC, "ClusterRole", NULL,
         "'rules':[{'verbs':['get'],'nonResourceURLs':['/x']}]", ""},
        {"paths and resources at once", RBAC, "ClusterRole", NULL,
         "'rules':[{'verbs':['get'],'nonResourceURLs':['/x'],'resourceNames':['a']}]",
         "Invalid rules[0].nonResourceURLs"},
        {"the sum of no roles", RBAC, "ClusterRole", NULL, "'aggregationRule':{}",
         "Required aggregationRule.clusterRoleSelectors"},
        {"everyone who can get a role", RBAC, "RoleBinding", NULL,
         REF ",'subjects':[{'kind':'User','name':'u'},{'kind':'ServiceAccount','name':'s'}]", ""},
        {"an account of no namespace, in all of them", RBAC, "ClusterRoleBinding", NULL,
         REF ",'subjects':[{'kind':'ServiceAccount','name':'s'}]", "Required subjects[0].namespace"},
        {"somebody else", RBAC, "RoleBinding", NULL,
         REF ",'subjects':[{'kind':'Robot','name':'r'},{'kind':'User','apiGroup':'x','name':'u'},"
         "{'kind':'ServiceAccount','apiGroup':'x','name':'A_'}]",
         "NotSupported subjects[0].kind, NotSupported subjects[1].apiGroup, "
         "NotSupported subjects[2].apiGroup, Invalid subjects[2].name"},
        {"a role of a namespace, everywhere", RBAC, "ClusterRoleBinding", NULL,
         "'roleRef':{'kind':'Role','name':'a/b','apiGroup':'apps'}",
         "NotSupported roleRef.apiGroup, NotSupported roleRef.kind, Invalid roleRef.name"},
        {"another role later", RBAC, "RoleBinding", REF, "'roleRef':{'kind':'Role','name':'r'}",
         "Invalid roleRef"},
    };

    check_rows(rows, countof(rows));
}

TEST(quota_checks)
{
    static const struct row rows[] = {
        {"amounts in order", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Container','min':{'cpu':'1'},'defaultRequest':{'cpu':'2'},"
         "'default':{'cpu':'3'},'max':{'cpu':'4'},'maxLimitRequestRatio':{'cpu':'4'}}]}", ""},
        {"amounts out of order", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Container','min':{'cpu':'5'},'defaultRequest':{'cpu':'4'},"
         "'default':{'cpu':'3'},'max':{'cpu':'2'}}]}",
         "Invalid spec.limits[0].min[cpu], Invalid spec.limits[0].defaultRequest[cpu], "
         "Invalid spec.limits[0].defaultRequest[cpu], Invalid spec.limits[0].defaultRequest[cpu], "
         "Invalid spec.limits[0].default[cpu], Invalid spec.limits[0].default[cpu]"},
        {"a ratio nobody can have", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Pod','min':{'cpu':'1'},'max':{'cpu':'2'},'maxLimitRequestRatio':{'cpu':'3'}}]}",
         "Invalid spec.limits[0].maxLimitRequestRatio[cpu]"},
        {"a ratio below one", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Pod','maxLimitRequestRatio':{'cpu':'500m'}}]}",
         "Invalid spec.limits[0].maxLimitRequestRatio[cpu]"},
        {"a pod has no defaults of its own", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Pod','default':{'cpu':'1'},'defaultRequest':{'cpu':'1'}}]}",
         "Forbidden spec.limits[0].default, Forbidden spec.limits[0].defaultRequest"},
        {"a claim of no size, and a type twice", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'PersistentVolumeClaim'},{'type':'PersistentVolumeClaim','max':{'storage':'1'}}]}",
         "Required spec.limits[0], Duplicate spec.limits[1].type"},
        {"a resource nobody knows", "v1", "LimitRange", NULL,
         "'spec':{'limits':[{'type':'Pod','max':{'gpu':'1','a/b':'1','hugepages-2Mi':'1'}}]}",
         "Invalid spec.limits[0].max[gpu]"},
        {"what can be counted", "v1", "ResourceQuota", NULL,
         "'spec':{'hard':{'pods':'4','requests.cpu':'1500m','count/jobs.batch':'3','requests.nvidia.com/gpu':'1'}}", ""},
        {"half a pod, less than nothing, and no name", "v1", "ResourceQuota", NULL,
         "'spec':{'hard':{'pods':'500m','cpu':'-1','gpu':'1'}}",
         "Invalid spec.hard[pods], Invalid spec.hard[cpu], Invalid spec.hard[gpu]"},
        {"scopes that exclude each other", "v1", "ResourceQuota", NULL,
         "'spec':{'scopes':['Terminating','NotTerminating','Late']}",
         "Invalid spec.scopes[2], Invalid spec.scopes"},
        {"scopes stay", "v1", "ResourceQuota", "'spec':{'scopes':['BestEffort']}",
         "'spec':{'scopes':['Terminating']}", "Invalid spec.scopes"},
        {"in another order they are the same", "v1", "ResourceQuota",
         "'spec':{'scopes':['BestEffort','Terminating']}",
         "'spec':{'scopes':['Terminating','BestEffort']}", ""},
        {"a selector of nothing", "v1", "ResourceQuota", NULL,
         "'spec':{'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':'In'},"
         "{'scopeName':'BestEffort','operator':'In','values':['x']}]}}",
         "Required spec.scopeSelector.matchExpressions[0].values, "
         "Invalid spec.scopeSelector.matchExpressions[1].operator"},
    };

    check_rows(rows, countof(rows));
}

TEST(core_checks)
{
#define GONE "'metadata':{'name':'n','deletionTimestamp':'2030-01-01T00:00:00Z'}"
#define EVENT(more) "'metadata':{'name':'e','namespace':'a'},'involvedObject':{'namespace':'a'}" more
#define TOLD "'reportingController':'x/y','reportingInstance':'i','action':'A','reason':'R','type':'Normal','eventTime':'2030-01-01T00:00:00.000000Z'"
    static const struct row rows[] = {
        {"finalizers have names", "v1", "Namespace", NULL,
         "'metadata':{'name':'n'},'spec':{'finalizers':['kubernetes','x.org/a','me','a b']}",
         "Invalid spec.finalizers[2], Invalid spec.finalizers[3]"},
        {"a phase too early", "v1", "Namespace", "'metadata':{'name':'n'}",
         "'metadata':{'name':'n'},'status':{'phase':'Terminating'}", "Invalid status.phase"},
        {"a phase too late", "v1", "Namespace", GONE, GONE ",'status':{'phase':'Active'}",
         "Invalid status.phase"},
        {"a mark twice, and a value that is none", "v1", "Node", NULL,
         "'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':'a','value':'b c','effect':'NoSchedule'},"
         "{'key':'a','effect':'NoExecute'}]}",
         "Invalid spec.taints[1].value, Duplicate spec.taints[1]"},
        {"ranges and addresses", "v1", "Node", NULL,
         "'spec':{'podCIDRs':['10.0.0.0/24','10.0.0.0']},'status':{'addresses':["
         "{'type':'InternalIP','address':'1.2.3.4'},{'type':'InternalIP','address':'1.2.3.4'}],"
         "'capacity':{'cpu':'-1','x.org/a':'500m'}}",
         "Invalid spec.podCIDRs[1], Duplicate status.addresses[1], Invalid status.capacity[cpu], "
         "Invalid status.capacity[x.org/a], Invalid status.allocatable[cpu], "
         "Invalid status.allocatable[x.org/a]"},
        {"told where it happened", "v1", "Event", NULL, EVENT(""), ""},
        {"told elsewhere", "v1", "Event", NULL,
         "'metadata':{'name':'e','namespace':'b'},'involvedObject':{'namespace':'a'}",
         "Invalid involvedObject.namespace"},
        {"of a thing without a namespace, not in default", "v1", "Event", NULL,
         "'metadata':{'name':'e','namespace':'b'},'involvedObject':{'name':'node'}",
         "Invalid involvedObject.namespace"},
        {"the newer form says who and what", "v1", "Event", NULL,
         EVENT(",'eventTime':'2030-01-01T00:00:00.000000Z'"),
         "Required reportingComponent, Required reportingInstance, Required action, Required reason"},
        {"an event of the new group", "events.k8s.io/v1", "Event", NULL,
         "'metadata':{'name':'e','namespace':'a'},'regarding':{'namespace':'a'}," TOLD, ""},
        {"old fields in a new event", "events.k8s.io/v1", "Event", NULL,
         "'metadata':{'name':'e','namespace':'a'},'regarding':{'namespace':'a'},'deprecatedCount':3," TOLD,
         "Invalid deprecatedCount"},
        {"nothing at all", "events.k8s.io/v1", "Event", NULL, "'metadata':{'name':'e','namespace':'default'}",
         "Required reportingController, Required reportingInstance, Required action, Required reason, "
         "Required eventTime, Invalid type"},
    };

    check_rows(rows, countof(rows));
}

TEST(policy_checks)
{
#define POLICY "admissionregistration.k8s.io/v1"
#define MATCH "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':[''],'apiVersions':['v1'],'resources':['pods']}]}"
#define SPEC(more) "'spec':{" MATCH ",'validations':[{'expression':'true'}]" more "}"
#define BIND(more) "'spec':{'policyName':'p','validationActions':['Deny']" more "}"
    static const struct row rows[] = {
        {"a policy as it should be", POLICY, "ValidatingAdmissionPolicy", NULL, SPEC(""), ""},
        {"says nothing of nothing", POLICY, "ValidatingAdmissionPolicy", NULL, "'spec':{}",
         "Required spec.matchConstraints, Required spec.validations, Required spec.auditAnnotations"},
        {"all and others", POLICY, "ValidatingAdmissionPolicy", NULL,
         "'spec':{'matchConstraints':{'resourceRules':[{'operations':['*','CREATE'],'apiGroups':[],"
         "'apiVersions':[''],'resources':['pods'],'resourceNames':['a/b','c','c']}]},'validations':[{'expression':'true'}]}",
         "Invalid spec.matchConstraints.resourceRules[0].resourceNames[0], "
         "Duplicate spec.matchConstraints.resourceRules[0].resourceNames[2], "
         "Invalid spec.matchConstraints.resourceRules[0].operations, "
         "Required spec.matchConstraints.resourceRules[0].apiGroups, "
         "Required spec.matchConstraints.resourceRules[0].apiVersions[0]"},
        {"messages are lines", POLICY, "ValidatingAdmissionPolicy", NULL,
         "'spec':{" MATCH ",'validations':[{'expression':' ','message':' ','reason':'Odd'},"
         "{'expression':'a\\nb'},{'expression':'true','message':'a\\nb','messageExpression':' '}]}",
         "Required spec.validations[0].expression, Invalid spec.validations[0].message, "
         "NotSupported spec.validations[0].reason, Required spec.validations[1].message, "
         "Invalid spec.validations[2].messageExpression, Invalid spec.validations[2].message"},
        {"names of parts", POLICY, "ValidatingAdmissionPolicy", NULL,
         SPEC(",'variables':[{'name':'a-b','expression':'1'},{'name':'c','expression':'1'},{'name':'c','expression':''}],"
              "'matchConditions':[{'name':'','expression':'1'},{'name':'x','expression':'1'},{'name':'x','expression':'1'}],"
              "'auditAnnotations':[{'key':'k','valueExpression':'1'},{'key':'k','valueExpression':'2'}],"
              "'paramKind':{'apiVersion':'a/b/c','kind':'1K'}"),
         "Invalid spec.paramKind.apiVersion, Invalid spec.paramKind.kind, "
         "Required spec.matchConditions[0].name, Duplicate spec.matchConditions[2].name, "
         "Invalid spec.variables[0].name, Required spec.variables[2].expression, "
         "Duplicate spec.variables[2].name, Duplicate spec.auditAnnotations[1].key"},
        {"in force", POLICY, "ValidatingAdmissionPolicyBinding", NULL, BIND(""), ""},
        {"parameters by both ways, or none", POLICY, "ValidatingAdmissionPolicyBinding", NULL,
         BIND(",'paramRef':{'name':'a','selector':{}}"),
         "Forbidden spec.paramRef.name, Forbidden spec.paramRef.selector, "
         "Required spec.paramRef.parameterNotFoundAction"},
        {"no way, and an odd answer", POLICY, "ValidatingAdmissionPolicyBinding", NULL,
         BIND(",'paramRef':{'parameterNotFoundAction':'Shrug'}"),
         "Required spec.paramRef, NotSupported spec.paramRef.parameterNotFoundAction"},
        {"refuse and warn, and refuse", POLICY, "ValidatingAdmissionPolicyBinding", NULL,
         "'spec':{'policyName':'P','validationActions':['Deny','Warn','Deny']}",
         "Invalid spec.policyName, Duplicate spec.validationActions[2], Invalid spec.validationActions"},
    };

    check_rows(rows, countof(rows));
}
/* clang-format on */
