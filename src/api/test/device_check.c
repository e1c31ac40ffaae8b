/* device_check.c - what the server refuses of claims, classes and slices, as `TYPE FIELD` */
#include "api/find.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"

/* An object of resource.k8s.io/v1 with these members; `old` may be NULL. */
struct row {
    const char *name, *kind, *old, *now, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        const struct kind *k = kind_of(S("resource.k8s.io/v1"), str_from(rows[i].kind));
        const struct json *v[2] = {NULL, NULL};
        test_case(rows[i].name);
        for (size_t j = 0; j < 2; j++) {
            const char *members = j ? rows[i].old : rows[i].now;
            if (members)
                v[j] = quoted(&a, str_printf(&a, "{'metadata':{'name':'n'},%s}", members));
        }
        check_samez(refused_object(&a, k, v[0], v[1]), rows[i].want);
    }
}

#define CLAIM(devices) "'spec':{'devices':{" devices "}}"
#define REQUEST(more) "{'name':'r','exactly':{'deviceClassName':'c'" more "}}"
#define AT "spec.devices."

/* clang-format off */
TEST(device_claims)
{
    static const struct row rows[] = {
        {"one of a class", "ResourceClaim", NULL, CLAIM("'requests':[" REQUEST("") "]"), ""},
        {"names that are none, and twice", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST("") "," REQUEST("") ",{'name':'R','exactly':{'deviceClassName':'C!'}}]"),
         "Invalid " AT "requests[2].name, Invalid " AT "requests[2].exactly.deviceClassName, "
         "Duplicate " AT "requests[1].name"},
        {"no way to meet a request, and two", "ResourceClaim", NULL,
         CLAIM("'requests':[{'name':'a'},{'name':'b','exactly':{'deviceClassName':'c'},'firstAvailable':[{'name':'s','deviceClassName':'c'}]}]"),
         "Required " AT "requests[0], Invalid " AT "requests[1]"},
        {"how many", "ResourceClaim", NULL,
         CLAIM("'requests':[{'name':'a','exactly':{'deviceClassName':'c','allocationMode':'All','count':2}},"
               "{'name':'b','exactly':{'deviceClassName':'c','count':-1}}]"),
         "Invalid " AT "requests[0].exactly.count, Invalid " AT "requests[1].exactly.count"},
        {"selectors are expressions with a yes or no", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST(",'selectors':[{'cel':{'expression':'device.driver == \\\"d\\\"'}},{},"
               "{'cel':{'expression':'1 +'}},{'cel':{'expression':'device.driver'}}]") "]"),
         "Required " AT "requests[0].exactly.selectors[1].cel, "
         "Invalid " AT "requests[0].exactly.selectors[2].cel.expression, "
         "Invalid " AT "requests[0].exactly.selectors[3].cel.expression"},
        {"tolerations", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST(",'tolerations':[{'key':'a b'},{'operator':'Exists','value':'x'},{'key':'k','value':'x y'}]") "]"),
         "Invalid " AT "requests[0].exactly.tolerations[0].key, "
         "Invalid " AT "requests[0].exactly.tolerations[1].value, "
         "Invalid " AT "requests[0].exactly.tolerations[2].value"},
        {"amounts by their names", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST(",'capacity':{'requests':{'mem':'1','d.org/mem':'1','d.org/a/b':'1','0':'1'}}") "]"),
         "Invalid " AT "requests[0].exactly.capacity.requests[d.org/a/b], "
         "Invalid " AT "requests[0].exactly.capacity.requests[0]"},
        {"what constraints speak of", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST("") ",{'name':'o','firstAvailable':[{'name':'s','deviceClassName':'c'}]}],"
               "'constraints':[{'requests':['r','o','o/s','o/t','r/s','x','r'],'matchAttribute':'d.org/a'},"
               "{'matchAttribute':'a'},{},{'matchAttribute':'d.org/a','distinctAttribute':'d.org/a'}]"),
         "Invalid " AT "constraints[0].requests[3], Invalid " AT "constraints[0].requests[4], "
         "Invalid " AT "constraints[0].requests[5], Duplicate " AT "constraints[0].requests[6], "
         "Invalid " AT "constraints[1].matchAttribute, Required " AT "constraints[2], "
         "Invalid " AT "constraints[3]"},
        {"settings are objects for a driver", "ResourceClaim", NULL,
         CLAIM("'requests':[" REQUEST("") "],'config':[{},{'opaque':{'driver':'D.org','parameters':{}}},"
               "{'opaque':{'driver':'d_','parameters':'x'}},{'requests':['x'],'opaque':{'driver':'d','parameters':{}}}]"),
         "Required " AT "config[0].opaque, Invalid " AT "config[2].opaque.driver, "
         "Invalid " AT "config[2].opaque.parameters, Invalid " AT "config[3].requests[0]"},
        {"of a claim nothing changes", "ResourceClaim", CLAIM("'requests':[" REQUEST("") "]"),
         CLAIM("'requests':[]"), "Invalid spec"},
        {"a template is a claim with labels", "ResourceClaimTemplate", NULL,
         "'spec':{'metadata':{'name':'x','labels':{'a':'b c'}},'spec':{'devices':{'requests':[{'name':'r'}]}}}",
         "Invalid spec.metadata.labels, Invalid spec.metadata.name, Required spec.spec.devices.requests[0]"},
    };

    check_rows(rows, countof(rows));
}

TEST(device_claim_status)
{
#define SPEC CLAIM("'requests':[" REQUEST("") "]")
#define GOT "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'p','device':'x'}]}}"
#define STATUS(more) SPEC ",'status':{" more "}"
#define USER(uid) "{'resource':'pods','name':'p','uid':'" uid "'}"
    static const struct row rows[] = {
        {"a device, and who has it", "ResourceClaim", SPEC,
         STATUS(GOT ",'reservedFor':[" USER("1") "," USER("2") "]"), ""},
        {"a device nobody asked for", "ResourceClaim", SPEC,
         STATUS("'allocation':{'devices':{'results':[{'request':'q','driver':'d_','pool':'p//q','device':'X','shareID':'1'}]}}"),
         "Invalid status.allocation.devices.results[0].request, "
         "Invalid status.allocation.devices.results[0].driver, "
         "Invalid status.allocation.devices.results[0].pool, "
         "Invalid status.allocation.devices.results[0].device, "
         "Invalid status.allocation.devices.results[0].shareID"},
        {"one that it has is not judged again", "ResourceClaim",
         STATUS("'allocation':{'devices':{'results':[{'request':'q','driver':'d','pool':'p','device':'x'}]}}"),
         STATUS("'allocation':{'devices':{'results':[{'request':'q','driver':'d','pool':'p','device':'x'}]}},"
                "'reservedFor':[" USER("1") "]"), ""},
        {"another device", "ResourceClaim", STATUS(GOT),
         STATUS("'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'p','device':'y'}]}}"),
         "Invalid status.allocation"},
        {"given back", "ResourceClaim", STATUS(GOT), STATUS(""), ""},
        {"given back while it is used", "ResourceClaim", STATUS(GOT ",'reservedFor':[" USER("1") "]"),
         STATUS("'reservedFor':[" USER("1") "]"), "Forbidden status.reservedFor"},
        {"one pod twice", "ResourceClaim", STATUS(GOT),
         STATUS(GOT ",'reservedFor':[" USER("1") "," USER("1") "]"), "Duplicate status.reservedFor[1].uid"},
        {"said of devices that it has not", "ResourceClaim", STATUS(GOT),
         STATUS(GOT ",'devices':[{'driver':'d','pool':'p','device':'x','data':{},'networkData':{'ips':['10.0.0.1/24','10.0.0.1']}},"
                "{'driver':'d','pool':'p','device':'y','data':[]}]"),
         "Invalid status.devices[0].networkData.ips[1], Invalid status.devices[1], "
         "Invalid status.devices[1].data"},
    };

    check_rows(rows, countof(rows));
}

TEST(device_classes)
{
    static const struct row rows[] = {
        {"a class of nothing in particular", "DeviceClass", NULL, "'spec':{}", ""},
        {"an expression that is none", "DeviceClass", NULL,
         "'spec':{'selectors':[{'cel':{'expression':'x'}}]}", "Invalid spec.selectors[0].cel.expression"},
        {"one that was taken before", "DeviceClass", "'spec':{'selectors':[{'cel':{'expression':'x'}}]}",
         "'spec':{'selectors':[{'cel':{'expression':'x'}}],'config':[{}]}", "Required spec.config[0].opaque"},
    };

    check_rows(rows, countof(rows));
}

TEST(device_slices)
{
#define SLICE(more) "'spec':{'driver':'d','pool':{'name':'p','resourceSliceCount':1},'nodeName':'n'," more "}"
#define DEVICE(more) "'devices':[{'name':'a'," more "}]"
#define POLICY(p) DEVICE("'allowMultipleAllocations':true,'capacity':{'m':{'value':'10','requestPolicy':{" p "}}}")
#define P "spec.devices[0].capacity[m].requestPolicy."
    static const struct row rows[] = {
        {"a device with everything", "ResourceSlice", NULL,
         SLICE(DEVICE("'attributes':{'a':{'int':1},'d.org/b':{'version':'1.2.3'}},'capacity':{'m':{'value':'1'}},"
                      "'taints':[{'key':'k','effect':'NoSchedule'}]")), ""},
        {"nowhere", "ResourceSlice", NULL,
         "'spec':{'driver':'d','pool':{'name':'p','resourceSliceCount':1}}", "Required spec"},
        {"in two places", "ResourceSlice", NULL, SLICE("'allNodes':true"), "Invalid spec"},
        {"in an odd place", "ResourceSlice", NULL,
         "'spec':{'driver':'d','pool':{'name':'p','resourceSliceCount':1},'nodeName':'','nodeSelector':{'nodeSelectorTerms':[]},'allNodes':false}",
         "Required spec.nodeSelector.nodeSelectorTerms, Invalid spec.allNodes, Invalid spec.nodeName, "
         "Invalid spec.nodeSelector.nodeSelectorTerms, Invalid spec"},
        {"another pool", "ResourceSlice", SLICE("'devices':[]"),
         "'spec':{'driver':'d','pool':{'name':'q','resourceSliceCount':1},'nodeName':'n'}",
         "Invalid spec.pool.name"},
        {"names of devices", "ResourceSlice", NULL, SLICE("'devices':[{'name':'a'},{'name':'a'},{'name':'A'}]"),
         "Invalid spec.devices[2].name, Duplicate spec.devices[1].name"},
        {"attributes have one value", "ResourceSlice", NULL,
         SLICE(DEVICE("'attributes':{'a':{},'b':{'int':1,'bool':true},'c':{'version':'1.0'},'1x':{'int':1},"
                      "'abcdefghijklmnopqrstuvwxyz0123456':{'int':1}}")),
         "Invalid spec.devices[0].attributes[a], Invalid spec.devices[0].attributes[b], "
         "Invalid spec.devices[0].attributes[c].version, Invalid spec.devices[0].attributes[1x], "
         "TooLong spec.devices[0].attributes[abcdefghijklmnopqrstuvwxyz0123456]"},
        {"a policy of what is not shared", "ResourceSlice", NULL,
         SLICE(DEVICE("'capacity':{'m':{'value':'10','requestPolicy':{'default':'1'}}}")),
         "Forbidden spec.devices[0].capacity[m].requestPolicy"},
        {"values in order, one of them by itself", "ResourceSlice", NULL,
         SLICE(POLICY("'default':'3','validValues':['1','4','2','2','11']")),
         "Invalid " P "validValues[2], Duplicate " P "validValues[3], Invalid " P "validValues[4], Invalid " P "default"},
        {"a default between two steps", "ResourceSlice", NULL,
         SLICE(POLICY("'default':'4','validRange':{'min':'2','max':'8','step':'3'}")),
         "Invalid " P "default"},
        {"a range in steps", "ResourceSlice", NULL,
         SLICE(POLICY("'default':'3','validRange':{'min':'2','max':'9','step':'2'}")),
         "Invalid " P "validRange.max, Invalid " P "default"},
        {"a range that is none", "ResourceSlice", NULL,
         SLICE(POLICY("'validRange':{'min':'5','max':'2','step':'0'}")),
         "Invalid " P "validRange.max, Required " P "default, Invalid " P "validRange.step"},
        {"a place of its own, unasked", "ResourceSlice", NULL, SLICE(DEVICE("'nodeName':'n'")),
         "Invalid spec.devices[0].nodeName"},
        {"conditions come in two lists", "ResourceSlice", NULL,
         SLICE("'devices':[{'name':'a','bindingConditions':['c']},{'name':'b','bindingConditions':['c','c'],"
               "'bindingFailureConditions':['c','d e']}]"),
         "Invalid spec.devices[0].bindingFailureConditions, Duplicate spec.devices[1].bindingConditions[1], "
         "Invalid spec.devices[1].bindingFailureConditions[0], Invalid spec.devices[1].bindingFailureConditions[1]"},
        {"devices or what they draw from", "ResourceSlice", NULL,
         SLICE("'devices':[{'name':'a'}],'sharedCounters':[{'name':'s','counters':{'c':{'value':'1'}}},"
               "{'name':'s','counters':{'C':{'value':'1'}}}]"),
         "Invalid spec, Invalid spec.sharedCounters[1].counters[C], Duplicate spec.sharedCounters[1].name"},
        {"draws twice from one", "ResourceSlice", NULL,
         SLICE(DEVICE("'consumesCounters':[{'counterSet':'s','counters':{'c':{'value':'1'}}},"
                      "{'counterSet':'s','counters':{'c':{'value':'1'}}}]")),
         "Duplicate spec.devices[0].consumesCounters[1].counterSet"},
    };

    check_rows(rows, countof(rows));
}
/* clang-format on */
