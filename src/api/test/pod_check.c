/* pod_check.c - what the server refuses of pods, ConfigMaps, Secrets and priority classes, as
 * `TYPE FIELD` */
#include "api/find.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"

/* What is wrong with an object of a kind that has these members besides its metadata. */
static struct str refused(struct arena *a, const char *kind_name, const char *members,
                          const char *old_members)
{
    struct str version =
        str_eqz(str_from(kind_name), "PriorityClass") ? S("scheduling.k8s.io/v1") : S("v1");
    const struct kind *k = kind_of(version, str_from(kind_name));
    const struct json *v[2] = {NULL, NULL};

    for (size_t i = 0; i < 2; i++) {
        const char *text = i ? old_members : members;
        if (!text)
            continue;
        struct str all =
            str_printf(a, "{'apiVersion':'%.*s','kind':'%s','metadata':{'name':'system-x'},%s}",
                       STR_ARG(version), kind_name, text);
        v[i] = quoted(a, all);
    }
    return refused_object(a, k, v[0], v[1]);
}

static const char *pod(struct arena *a, const char *spec)
{
    return str_z(a, str_printf(a,
                               "'spec':{'containers':[{'name':'c','image':'i','resources':{}}],"
                               "%s}",
                               spec));
}

/* clang-format off */
TEST(pod_check_spec)
{
    static const struct { const char *name, *spec, *want; } cases[] = {
        {"nothing wrong", "'restartPolicy':'Never'", ""},
        {"a volume twice", "'volumes':[{'name':'v','emptyDir':{}},{'name':'v','emptyDir':{}}]",
         "Duplicate spec.volumes[1].name"},
        {"two kinds of volume", "'volumes':[{'name':'v','emptyDir':{},'hostPath':{'path':'/x'}}]",
         "Forbidden spec.volumes[0].hostPath"},
        {"no kind of volume is an empty directory", "'volumes':[{'name':'v'}]", ""},
        {"a mount of nothing", "'initContainers':[{'name':'d','image':'i','volumeMounts':[{'name':'v','mountPath':'/v'}]}]",
         "NotFound spec.initContainers[0].volumeMounts[0].name"},
        {"two mounts at a place", "'volumes':[{'name':'v'}],'initContainers':[{'name':'d','image':'i','volumeMounts':"
         "[{'name':'v','mountPath':'/v'},{'name':'v','mountPath':'/v'}]}]",
         "Invalid spec.initContainers[0].volumeMounts[1].mountPath"},
        {"the name of a container", "'initContainers':[{'name':'c','image':'i'}]",
         "Duplicate spec.initContainers[0].name"},
        {"less than nothing", "'initContainers':[{'name':'d','image':'i','resources':{'requests':{'cpu':'-1'}}}]",
         "Invalid spec.initContainers[0].resources.requests[cpu]"},
        {"more than the limit", "'initContainers':[{'name':'d','image':'i','resources':{'requests':{'cpu':'2'},'limits':{'cpu':'1'}}}]",
         "Invalid spec.initContainers[0].resources.requests"},
        {"half of a device", "'initContainers':[{'name':'d','image':'i','resources':{'requests':{'a.b/c':'1500m'},'limits':{'a.b/c':'1500m'}}}]",
         "Invalid spec.initContainers[0].resources.limits[a.b/c], Invalid spec.initContainers[0].resources.requests[a.b/c]"},
        {"a claim of nothing", "'initContainers':[{'name':'d','image':'i','resources':{'claims':[{'name':'x'}]}}]",
         "NotFound spec.initContainers[0].resources.claims[0]"},
        {"a claim of no source", "'resourceClaims':[{'name':'x'}]", "Invalid spec.resourceClaims[0]"},
        {"a claim of two sources", "'resourceClaims':[{'name':'x','resourceClaimName':'a','resourceClaimTemplateName':'b'}]",
         "Invalid spec.resourceClaims[0]"},
        {"no key to tolerate", "'tolerations':[{'operator':'Equal','value':'x'}]", "Invalid spec.tolerations[0].operator"},
        {"seconds for another effect", "'tolerations':[{'key':'a','operator':'Exists','effect':'NoSchedule','tolerationSeconds':1}]",
         "Invalid spec.tolerations[0].effect"},
        {"no handler", "'initContainers':[{'name':'d','image':'i','restartPolicy':'Always','startupProbe':{'periodSeconds':1}}]",
         "Required spec.initContainers[0].startupProbe"},
        {"a value and where it comes from", "'initContainers':[{'name':'d','image':'i','env':[{'name':'E','value':'x','valueFrom':"
         "{'secretKeyRef':{'name':'s','key':'k'}}}]}]",
         "Invalid spec.initContainers[0].env[0].valueFrom"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        test_case(cases[i].name);
        check_samez(refused(&a, "Pod", pod(&a, cases[i].spec), NULL), cases[i].want);
    }
}

TEST(pod_check_changes)
{
    static const struct { const char *name, *old, *spec, *want; } cases[] = {
        {"nothing", "'nodeName':'n'", "'nodeName':'n'", ""},
        {"a binding", "'priority':0", "'priority':0,'nodeName':'n'", ""},
        {"another node", "'nodeName':'n'", "'nodeName':'m'", "Forbidden spec"},
        {"a new toleration", "'hostname':'h'", "'hostname':'h','tolerations':[{'key':'a','operator':'Exists'}]", ""},
        {"a toleration gone", "'tolerations':[{'key':'a','operator':'Exists'}]", "'tolerations':[]", "Forbidden spec.tolerations"},
        {"a toleration for longer", "'tolerations':[{'key':'a','operator':'Exists','effect':'NoExecute','tolerationSeconds':1}]",
         "'tolerations':[{'key':'a','operator':'Exists','effect':'NoExecute','tolerationSeconds':9}]", ""},
        {"a gate gone", "'schedulingGates':[{'name':'a'},{'name':'b'}]", "'schedulingGates':[{'name':'b'}]", ""},
        {"a gate more", "'schedulingGates':[{'name':'a'}]", "'schedulingGates':[{'name':'a'},{'name':'b'}]",
         "Forbidden spec.schedulingGates[1].name"},
        {"a label to be on while gated", "'schedulingGates':[{'name':'a'}]",
         "'schedulingGates':[{'name':'a'}],'nodeSelector':{'x':'y'}", ""},
        {"a label to be on, ungated", "'hostname':'h'", "'hostname':'h','nodeSelector':{'x':'y'}", "Forbidden spec"},
        {"a shorter deadline", "'activeDeadlineSeconds':5", "'activeDeadlineSeconds':3", ""},
        {"a longer deadline", "'activeDeadlineSeconds':5", "'activeDeadlineSeconds':7", "Invalid spec.activeDeadlineSeconds"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        test_case(cases[i].name);
        check_samez(refused(&a, "Pod", pod(&a, cases[i].spec), pod(&a, cases[i].old)),
                    cases[i].want);
    }
}

TEST(pod_check_data)
{
    static const struct { const char *name, *kind, *members, *old, *want; } cases[] = {
        {"keys", "ConfigMap", "'data':{'a.b-c_D':'x'}", NULL, ""},
        {"a bad key", "ConfigMap", "'data':{'a/b':'x'}", NULL, "Invalid data[a/b]"},
        {"a key of both", "ConfigMap", "'data':{'a':'x'},'binaryData':{'a':'eA=='}", NULL, "Invalid data[a]"},
        {"immutable", "ConfigMap", "'immutable':true,'data':{'a':'y'}", "'immutable':true,'data':{'a':'x'}", "Forbidden data"},
        {"mutable again", "ConfigMap", "'data':{'a':'x'}", "'immutable':true,'data':{'a':'x'}", "Forbidden immutable"},
        {"a secret", "Secret", "'data':{'a':'eA=='}", NULL, ""},
        {"half of a key pair", "Secret", "'type':'kubernetes.io/tls','data':{'tls.crt':'eA=='}", NULL, "Required data[tls.key]"},
        {"no user", "Secret", "'type':'kubernetes.io/basic-auth'", NULL, "Required data[username], Required data[password]"},
        {"no account", "Secret", "'type':'kubernetes.io/service-account-token'", NULL,
         "Required metadata.annotations[kubernetes.io/service-account.name]"},
        {"a system's name", "PriorityClass", "'value':5", NULL, "Forbidden metadata.name"},
        {"another value", "PriorityClass", "'value':5", "'value':6", "Forbidden value"},
        {"above the users'", "PriorityClass", "'value':1000000001", NULL, "Forbidden metadata.name, Forbidden value"},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        test_case(cases[i].name);
        check_samez(refused(&a, cases[i].kind, cases[i].members, cases[i].old), cases[i].want);
    }
}
/* clang-format on */
