/* crd_check.c - what the server refuses of CustomResourceDefinitions, as `TYPE FIELD`
 *
 * A row is a merge patch on one that is fine.
 */
#include "api/find.h"
#include "api/rules.h"
#include "api/test/refused.h"
#include "base/testing.h"
#include "json/patch.h"

#define V(more) "{'name':'v1','served':true,'storage':true," more "}"
#define SCHEMA(s) "'schema':{'openAPIV3Schema':" s "}"
#define OBJECT(more) "{'type':'object'" more "}"
#define PROPERTIES(list) ",'properties':{" list "}"
#define VERSIONS(list) "{'spec':{'versions':[" list "]}}"
#define ONE(schema) VERSIONS(V(SCHEMA(schema)))
/* As the path of what is common to all versions. */
#define AT "spec.validation.openAPIV3Schema"

static const char fine[] =
    "{'metadata':{'name':'things.x.org'},'spec':{'group':'x.org','scope':'Namespaced','names':"
    "{'plural':'things','kind':'Thing'},'versions':[" V(
        SCHEMA(OBJECT(""))) "]},'status':"
                            "{'storedVersions':['v1']}}";

static const struct json *crd(struct arena *a, const char *patch)
{
    const struct json *v =
        json_merge_patch(a, quoted(a, str_from(fine)), quoted(a, str_from(patch)));

    check(v);
    return v;
}

/* `old` may be NULL. */
static void check_rows(const char *const (*rows)[4], size_t n)
{
    const struct kind *k = kind_of(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));

    for (size_t i = 0; i < n; i++) {
        scoped(arena_fini) struct arena a = arena_sized(16 << 10);
        test_case(rows[i][0]);
        check_samez(
            refused_object(&a, k, crd(&a, rows[i][2]), rows[i][1] ? crd(&a, rows[i][1]) : NULL),
            rows[i][3]);
    }
}

/* clang-format off */
TEST(crd_check_names)
{
    static const char *const rows[][4] = {
        {"nothing wrong", NULL, "{}", ""},
        {"a name that is not its own", NULL, "{'metadata':{'name':'x.things'}}",
         "Invalid metadata.name"},
        {"a group of one word", NULL, "{'metadata':{'name':'things.org'},'spec':{'group':'org'}}",
         "Invalid spec.group"},
        {"words in capitals", NULL,
         "{'spec':{'names':{'singular':'Thing','shortNames':['ok','No'],'categories':['A']}}}",
         "Invalid spec.names.singular, Invalid spec.names.shortNames[1], "
         "Invalid spec.names.categories[0]"},
        {"kinds begin with a letter", NULL, "{'spec':{'names':{'kind':'3D','listKind':'3DList'}}}",
         "Invalid spec.names.singular, Invalid spec.names.kind, Invalid spec.names.listKind"},
        {"a scope that nobody knows", NULL, "{'spec':{'scope':'Galaxy'}}",
         "NotSupported spec.scope"},
        {"accepted names may be absent, not wrong", NULL,
         "{'status':{'acceptedNames':{'plural':'','kind':'K','listKind':'K','singular':'-'}}}",
         "Invalid status.acceptedNames.singular, Invalid status.acceptedNames.listKind"},
        {"the names stay once they are taken", "{'status':{'conditions':[{'type':'Established','status':'True'}]}}",
         "{'spec':{'scope':'Cluster','names':{'kind':'Other','plural':'others'}}}",
         "Invalid spec.scope, Invalid spec.names.kind, Invalid spec.names.plural"},
        {"before that, only the plural", "{}",
         "{'spec':{'scope':'Cluster','names':{'kind':'Other','plural':'others'}}}",
         "Invalid spec.names.plural"},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_groups_that_are_kept)
{
#define KEPT(note) "{'metadata':{'name':'things.a.k8s.io'" note "},'spec':{'group':'a.k8s.io'}}"
#define NOTE(text) ",'annotations':{'api-approved.kubernetes.io':'" text "'}"
#define NOTE_AT "metadata.annotations[api-approved.kubernetes.io]"
    static const char *const rows[][4] = {
        {"nobody approved", NULL, KEPT(""), "Required " NOTE_AT},
        {"by a page", NULL, KEPT(NOTE("https://github.com/x/y/pull/1")), ""},
        {"not at all, knowingly", NULL, KEPT(NOTE("unapproved, for a test")), ""},
        {"by something", NULL, KEPT(NOTE("/pull/1")), "Invalid " NOTE_AT},
        {"as before", KEPT(""), KEPT(""), ""},
        {"no longer", KEPT(NOTE("unapproved")), KEPT(""), "Required " NOTE_AT},
        {"a group with a dash is nobody's", NULL,
         "{'metadata':{'name':'things.x-k8s.io'},'spec':{'group':'x-k8s.io'}}", ""},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_versions)
{
    static const char *const rows[][4] = {
        {"none", NULL, VERSIONS(""), "Invalid spec.versions, Invalid status.storedVersions[0]"},
        {"one twice, both stored", NULL,
         VERSIONS(V(SCHEMA(OBJECT(""))) "," V(SCHEMA(OBJECT("")))),
         "Invalid spec.versions, Invalid spec.versions"},
        {"a name with a dot, none stored", NULL,
         VERSIONS("{'name':'v1.1','served':true,'storage':false," SCHEMA(OBJECT("")) "}"),
         "Invalid spec.versions[0].name, Invalid spec.versions, Invalid status.storedVersions[0]"},
        {"without a schema", NULL, VERSIONS(V("'schema':{}")),
         "Required spec.versions[0].schema.openAPIV3Schema"},
        {"nor served, as before", VERSIONS("{'name':'v1','served':false,'storage':true}"),
         VERSIONS("{'name':'v1','served':false,'storage':true}"), ""},
        {"served without one, as before", VERSIONS("{'name':'v1','served':true,'storage':true}"),
         VERSIONS("{'name':'v1','served':true,'storage':true}"),
         "Required spec.versions[0].schema.openAPIV3Schema"},
        {"a stored version goes last", NULL, "{'status':{'storedVersions':['v0','v1','v0']}}",
         "Invalid status.storedVersions[2]"},
        {"a warning of what is not deprecated", NULL,
         VERSIONS(V("'deprecationWarning':'x'," SCHEMA(OBJECT("")))),
         "Invalid spec.versions[0].deprecationWarning"},
        {"an empty warning", NULL,
         VERSIONS(V("'deprecated':true,'deprecationWarning':''," SCHEMA(OBJECT("")))),
         "Invalid spec.versions[0].deprecationWarning"},
        {"a warning of two lines", NULL,
         VERSIONS(V("'deprecated':true,'deprecationWarning':'a\\nb'," SCHEMA(OBJECT("")))),
         "Invalid spec.versions[0].deprecationWarning"},
        {"unknown fields are not kept any more", NULL, "{'spec':{'preserveUnknownFields':true}}",
         "Invalid spec.preserveUnknownFields"},
        {"and not with defaults or webhooks", "{'spec':{'preserveUnknownFields':true}}",
         "{'spec':{'preserveUnknownFields':true,'conversion':{'strategy':'Webhook','webhook':"
         "{'clientConfig':{'url':'https://a'},'conversionReviewVersions':['v1']}},'versions':["
         V(SCHEMA(OBJECT(PROPERTIES("'a':{'type':'string','default':'x'}")))) "]}}",
         "Invalid spec.preserveUnknownFields, Invalid spec.conversion.strategy"},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_parts_of_versions)
{
#define WITH(more) VERSIONS(V(SCHEMA(OBJECT("")) "," more))
#define TWO(a, b)                                                                              \
    VERSIONS(V(SCHEMA(OBJECT("")) "," a) ",{'name':'v2','served':true,'storage':false,"        \
             SCHEMA(OBJECT("")) "," b "}")
    static const char *const rows[][4] = {
        {"a column that says nothing", NULL, WITH("'additionalPrinterColumns':[{}]"),
         "Required spec.additionalPrinterColumns[0].name, "
         "Required spec.additionalPrinterColumns[0].type, "
         "Required spec.additionalPrinterColumns[0].JSONPath"},
        {"a column of a wrong sort", NULL,
         WITH("'additionalPrinterColumns':[{'name':'A','type':'float','format':'int16',"
              "'jsonPath':'spec.a'}]"),
         "Invalid spec.additionalPrinterColumns[0].type, "
         "Invalid spec.additionalPrinterColumns[0].format, "
         "Invalid spec.additionalPrinterColumns[0].JSONPath"},
        {"of two versions that differ", NULL,
         TWO("'additionalPrinterColumns':[{'name':'A','type':'date','jsonPath':''}]", "'served':true"),
         "Required spec.versions[0].additionalPrinterColumns[0].JSONPath"},
        {"of two that agree, once", NULL,
         TWO("'subresources':{'scale':{}}", "'subresources':{'scale':{}}"),
         "Required spec.subresources.scale.specReplicasPath, "
         "Required spec.subresources.scale.statusReplicasPath"},
        {"a scale's paths stay on their side", NULL,
         WITH("'subresources':{'scale':{'specReplicasPath':'.status.a','statusReplicasPath':'a',"
              "'labelSelectorPath':'.metadata.a'}}"),
         "Invalid spec.subresources.scale.specReplicasPath, "
         "Invalid spec.subresources.scale.statusReplicasPath, "
         "Invalid spec.subresources.scale.labelSelectorPath"},
        {"a status wants a plain root", NULL,
         VERSIONS(V("'subresources':{'status':{}}," SCHEMA(OBJECT(",'maxProperties':3")))),
         "Invalid " AT},
        {"what the root may say beside it", NULL,
         VERSIONS(V("'subresources':{'status':{}}," SCHEMA(OBJECT(
             ",'required':['a'],'description':'d','x-kubernetes-preserve-unknown-fields':true")))),
         ""},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_selectable_fields)
{
#define SELECT(schema, list) VERSIONS(V(SCHEMA(schema) ",'selectableFields':[" list "]"))
#define PATH(p) "{'jsonPath':'" p "'}"
#define TREE OBJECT(PROPERTIES("'a':{'type':'string'},'b':" OBJECT(PROPERTIES("'c':{'type':'integer'}")) \
             ",'d':{'type':'number'}"))
    static const char *const rows[][4] = {
        {"texts, numbers, deep ones", NULL, SELECT(TREE, PATH(".a") "," PATH(".b.c")), ""},
        {"no path", NULL, SELECT(TREE, "{}"), "Required spec.selectableFields[0].jsonPath"},
        {"in brackets", NULL, SELECT(TREE, PATH(".b[\\\"c\\\"]")),
         "Invalid spec.selectableFields[0].jsonPath"},
        {"an object, a fraction", NULL, SELECT(TREE, PATH(".b") "," PATH(".d")),
         "Invalid spec.selectableFields[0].jsonPath, Invalid spec.selectableFields[1].jsonPath"},
        {"twice", NULL, SELECT(TREE, PATH(".a") "," PATH(".a")),
         "Duplicate spec.selectableFields[1].jsonPath"},
        {"of metadata", NULL,
         SELECT(OBJECT(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'name':{'type':'string'}")))),
                PATH(".metadata.name")),
         "Invalid spec.selectableFields[0].jsonPath"},
        {"without a schema",
         VERSIONS("{'name':'v1','storage':true}"),
         VERSIONS("{'name':'v1','storage':true,'selectableFields':[" PATH(".a") "]}"),
         "Invalid spec.selectableFields"},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_conversion)
{
#define HOOK(client, versions)                                                                 \
    "{'spec':{'conversion':{'strategy':'Webhook','webhook':{'clientConfig':" client            \
    ",'conversionReviewVersions':[" versions "]}}}}"
#define SERVICE(more) HOOK("{'service':{'name':'n','namespace':'ns'" more "}}", "'v1'")
#define ASK "spec.conversion.webhookClientConfig"
#define GOOD_PEM "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BSUZBQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"
#define LIVE "'status':{'conditions':[{'type':'Established','status':'True'}]}"
#define BUNDLE(text) "{'spec':{'conversion':{'strategy':'Webhook','webhook':{'clientConfig':{" \
    "'url':'https://a','caBundle':'" text "'},'conversionReviewVersions':['v1']}}}," LIVE "}"
    static const char *const rows[][4] = {
        {"no way of its own", NULL, "{'spec':{'conversion':{'strategy':''}}}",
         "Required spec.conversion.strategy"},
        {"a webhook of no use", NULL,
         "{'spec':{'conversion':{'strategy':'None','webhook':{'clientConfig':{'url':'https://a'},"
         "'conversionReviewVersions':['v1']}}}}",
         "Forbidden " ASK ", Forbidden spec.conversion.conversionReviewVersions"},
        {"nobody to ask", NULL, HOOK("{}", ""),
         "Required " ASK ", Required spec.conversion.conversionReviewVersions"},
        {"everything wrong with an address", NULL, HOOK("{'url':'http://u@/p?q=1#f'}", "'v1'"),
         "Invalid " ASK ".url, Invalid " ASK ".url, Invalid " ASK ".url, Invalid " ASK
         ".url, Invalid " ASK ".url"},
        {"an address that is none", NULL, HOOK("{'url':'https://a:b/'}", "'v1'"),
         "Required " ASK ".url"},
        {"a relative one", NULL, HOOK("{'url':'a/b'}", "'v1'"),
         "Invalid " ASK ".url, Invalid " ASK ".url"},
        {"a service without names", NULL, HOOK("{'service':{'port':70000}}", "'v1'"),
         "Required " ASK ".service.name, Required " ASK ".service.namespace, Invalid " ASK
         ".service.port"},
        {"its path", NULL, SERVICE(",'path':'/a/b.c/'"), ""},
        {"a path without a slash", NULL, SERVICE(",'path':'ab'"), "Invalid " ASK ".service.path"},
        {"a path with holes", NULL, SERVICE(",'path':'/a//B'"),
         "Invalid " ASK ".service.path, Invalid " ASK ".service.path"},
        {"only slashes", NULL, SERVICE(",'path':'//'"), "Invalid " ASK ".service.path"},
        {"questions nobody asks", NULL, HOOK("{'url':'https://a'}", "'v1','v1','V2'"),
         "Invalid spec.conversion.conversionReviewVersions[1], "
         "Invalid spec.conversion.conversionReviewVersions[2]"},
        {"a bundle that others rely on", BUNDLE(GOOD_PEM), BUNDLE("eA=="),
         "Invalid " ASK ".caBundle"},
        {"one that was bad before", BUNDLE("eA=="), BUNDLE("eQ=="), ""},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_structure)
{
    static const char *const rows[][4] = {
        {"each node says its type", NULL,
         ONE(OBJECT(PROPERTIES("'a':{},'b':{'type':'array','items':{}},'c':" OBJECT(",'additionalProperties':{}")))),
         "Required " AT ".properties[a].type, Required " AT ".properties[b].items.type, "
         "Required " AT ".properties[c].additionalProperties.type"},
        {"or that it has none", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'x-kubernetes-int-or-string':true},"
                               "'b':{'x-kubernetes-preserve-unknown-fields':true}"))), ""},
        {"an array of something", NULL, ONE(OBJECT(PROPERTIES("'a':{'type':'array'}"))),
         "Required " AT ".properties[a].items"},
        {"the root is closed", NULL, ONE(OBJECT(",'additionalProperties':true")),
         "Forbidden " AT ".additionalProperties"},
        {"the root is there, and an object", NULL, ONE("{'type':'array','items':{'type':'string'},'nullable':true}"),
         "Forbidden " AT ".nullable, Invalid " AT ".type"},
        {"number or text, and nothing else", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'x-kubernetes-int-or-string':true,"
                               "'x-kubernetes-preserve-unknown-fields':true}"))),
         "Invalid " AT ".properties[a].x-kubernetes-preserve-unknown-fields"},
        {"an expression that does not compile", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'type':'string','pattern':'(','anyOf':[{'pattern':'['}]}"))),
         "Invalid " AT ".properties[a].anyOf[0].pattern, Invalid " AT ".properties[a].pattern"},
        {"metadata is limited by its names only", NULL,
         ONE(OBJECT(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'labels':" OBJECT(",'maxProperties':1")))))),
         "Forbidden " AT ".properties[metadata]"},
        {"its names", NULL,
         ONE(OBJECT(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'name':{'type':'string','maxLength':5}"))))), ""},
        {"kinds are texts", NULL, ONE(OBJECT(PROPERTIES("'kind':{'type':'integer'}"))),
         "Invalid " AT ".properties[kind].type"},
        {"an object inside must be one", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'type':'string','x-kubernetes-embedded-resource':true}"))),
         "Invalid " AT ".properties[a].type, Required " AT ".properties[a].properties"},
        {"branches have no structure", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'type':'string','allOf':[{'type':'string','title':'t','nullable':true}],"
                               "'not':{'additionalProperties':false,'description':'d','default':null}}"))),
         "Forbidden " AT ".properties[a].allOf[0].type, Forbidden " AT ".properties[a].allOf[0].title, "
         "Forbidden " AT ".properties[a].allOf[0].nullable, Forbidden " AT ".properties[a].not.description"},
        {"but the two of int-or-string", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'x-kubernetes-int-or-string':true,'anyOf':[{'type':'integer'},{'type':'string'}]},"
                               "'b':{'type':'string','allOf':[{'anyOf':[{'type':'integer'},{'type':'string'}]}]}"))), ""},
        {"in that order and place", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'x-kubernetes-int-or-string':true,'allOf':[{},{'anyOf':[{'type':'integer'},{'type':'string'}]}]}"))),
         "Forbidden " AT ".properties[a].allOf[1].anyOf[0].type, "
         "Forbidden " AT ".properties[a].allOf[1].anyOf[1].type"},
        {"and once", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'x-kubernetes-int-or-string':true,'allOf':[{'anyOf':[{'type':'integer'},{'type':'string'}]},"
                               "{'anyOf':[{'type':'integer'},{'type':'string'}]}]}"))),
         "Forbidden " AT ".properties[a].allOf[1].anyOf[0].type, "
         "Forbidden " AT ".properties[a].allOf[1].anyOf[1].type"},
        {"what a branch speaks of is declared beside it", NULL,
         ONE(OBJECT(",'anyOf':[{'required':['a']},{'properties':{'a':{'minLength':1}}}],'not':{'items':{'properties':{'a':{}}}}")),
         "Required " AT ".properties[a], Required " AT ".items"},
        {"deeper down it need not be", NULL,
         ONE(OBJECT(PROPERTIES("'a':" OBJECT(",'anyOf':[{'properties':{'b':{'minLength':1}}}]")))), ""},
        {"and never metadata", NULL,
         ONE(OBJECT(PROPERTIES("'metadata':{'type':'object'}") ",'anyOf':[{'properties':{'metadata':{}}}]")),
         "Forbidden " AT ".anyOf[0].properties[metadata]"},
        {"as loose as before", ONE(OBJECT(PROPERTIES("'a':{}"))), ONE(OBJECT(PROPERTIES("'a':{}"))),
         "Required " AT ".properties[a].type"},
        {"looser, where unknown fields were kept",
         "{'spec':{'preserveUnknownFields':true,'versions':[" V(SCHEMA(OBJECT(PROPERTIES("'a':{}")))) "]}}",
         "{'spec':{'preserveUnknownFields':true,'versions':[" V(SCHEMA(OBJECT(PROPERTIES("'a':{},'b':{}")))) "]}}", ""},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_words)
{
#define LIST(more) ONE(OBJECT(PROPERTIES("'l':{'type':'array'," more "}")))
#define L AT ".properties[l]."
#define KEYED(item, keys)                                                                        \
    LIST("'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':[" keys "],'items':" item)
    static const char *const rows[][4] = {
        {"words of other dialects", NULL,
         ONE(OBJECT(PROPERTIES("'a':{'type':'string','id':'x','uniqueItems':true,'$ref':'#/x',"
                               "'definitions':{'d':{'type':'odd'}},'patternProperties':{'p':{}},"
                               "'dependencies':{'q':['a']}}"))),
         "Forbidden " AT ".properties[a].id, Forbidden " AT ".properties[a].patternProperties, "
         "Forbidden " AT ".properties[a].definitions, Forbidden " AT ".properties[a].dependencies, "
         "Forbidden " AT ".properties[a].$ref, Forbidden " AT ".properties[a].uniqueItems, "
         "NotSupported " AT ".properties[a].definitions[d].type"},
        {"a dialect by name, and nothing else is looked at", NULL,
         ONE("{'$schema':'http://json-schema.org/','properties':{'a':{}}}"), "Invalid " AT},
        {"items as a list", NULL, LIST("'items':[{'type':'string'}]"), "Forbidden " L "items"},
        {"a set's items are wholes", NULL,
         LIST("'x-kubernetes-list-type':'set','items':" OBJECT("")),
         "Invalid " L "items.x-kubernetes-map-type"},
        {"a set of sets", NULL,
         LIST("'x-kubernetes-list-type':'set','items':{'type':'array','x-kubernetes-list-type':'set',"
              "'items':{'type':'string'}}"),
         "Invalid " L "items.x-kubernetes-list-type"},
        {"a set of nulls", NULL,
         LIST("'x-kubernetes-list-type':'set','items':{'type':'string','nullable':true}"),
         "Forbidden " L "items.nullable"},
        {"a map without keys", NULL, KEYED(OBJECT(""), ""), "Required " L "x-kubernetes-list-map-keys"},
        {"keys that are none, twice", NULL, KEYED(OBJECT(PROPERTIES("'k':{'type':'string'}") ",'required':['k']"), "'x','k','k'"),
         "Invalid " L "x-kubernetes-list-map-keys, Invalid " L "x-kubernetes-list-map-keys"},
        {"keys that cannot be compared, or are not there", NULL,
         KEYED(OBJECT(PROPERTIES("'k':" OBJECT("") ",'j':{'type':'string','nullable':true}")), "'k','j'"),
         "Invalid " L "items.properties[k].type, Required " L "items.properties[k].default, "
         "Required " L "items.properties[j].default, Forbidden " L "items.properties[j].nullable"},
        {"keys of a list that is no map", NULL, LIST("'x-kubernetes-list-map-keys':['k'],'items':" OBJECT("")),
         "Required " L "x-kubernetes-list-type"},
        {"a sort of list that nobody knows", NULL, LIST("'x-kubernetes-list-type':'bag','items':" OBJECT("")),
         "NotSupported " L "x-kubernetes-list-type"},
        {"on the wrong thing", NULL,
         ONE(OBJECT(PROPERTIES("'l':{'type':'string','x-kubernetes-list-type':'atomic','x-kubernetes-map-type':'big'}"))),
         "Invalid " L "type, NotSupported " L "x-kubernetes-map-type, Invalid " L "type"},
        {"either declared or free members", NULL,
         ONE(OBJECT(PROPERTIES("'l':" OBJECT(PROPERTIES("'a':{'type':'string'}") ",'additionalProperties':{'type':'string'}")))),
         "Forbidden " L "additionalProperties"},
        {"a set as loose as before", LIST("'x-kubernetes-list-type':'set','items':" OBJECT("")),
         LIST("'x-kubernetes-list-type':'set','items':" OBJECT(",'title':'t'")), ""},
        {"a type as odd as before, which has no structure",
         ONE(OBJECT(PROPERTIES("'a':{'type':'odd'}"))),
         ONE(OBJECT(PROPERTIES("'a':{'type':'other'}"))), ""},
    };

    check_rows(rows, countof(rows));
}

TEST(crd_check_defaults)
{
#define DEFAULT(node) ONE(OBJECT(PROPERTIES("'d':" node)))
#define D AT ".properties[d]."
#define WHOLE(more) "{'type':'object','x-kubernetes-embedded-resource':true" more "}"
    static const char *const rows[][4] = {
        {"nothing unknown, and of the right type", NULL,
         DEFAULT(OBJECT(PROPERTIES("'a':{'type':'string'}") ",'default':{'a':1,'b':2}")),
         "Invalid " D "default, TypeInvalid " D "default.a"},
        {"unknown as before", DEFAULT(OBJECT(",'default':{'a':1}")), DEFAULT(OBJECT(",'default':{'b':1}")), ""},
        {"a verdict without a path is the default's", NULL,
         DEFAULT("{'type':'string','default':'x','not':{'minLength':1}}"), "Invalid " D "default"},
        {"none at the root's metadata", NULL,
         ONE(OBJECT(PROPERTIES("'kind':{'type':'string','default':'x'}"))),
         "Forbidden " AT ".properties[kind].default"},
        {"in free members as anywhere", NULL, DEFAULT(OBJECT(",'additionalProperties':{'type':'string','default':1}")), ""},
        {"not in those of metadata", NULL,
         DEFAULT(WHOLE(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'labels':" OBJECT(",'additionalProperties':{'type':'string','default':'x'}")))))),
         "Forbidden " D "properties[metadata].properties[labels].additionalProperties.default"},
        {"a whole object has a kind", NULL, DEFAULT(WHOLE(PROPERTIES("'s':{'type':'string'}") ",'default':{'s':'x'}")),
         "Required " D "default.apiVersion, Required " D "default.kind"},
        {"metadata that decodes", NULL,
         DEFAULT(WHOLE(PROPERTIES("'s':{'type':'string'}") ",'default':{'apiVersion':'v1','kind':'K','metadata':{'labels':1}}")),
         "Invalid " D "default.metadata"},
        {"metadata that is well formed", NULL,
         DEFAULT(WHOLE(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'name':{'type':'string','default':'a/b'}"))))),
         "Invalid " D "properties[metadata].properties[name].default"},
        {"a list inside of metadata", NULL,
         DEFAULT(WHOLE(PROPERTIES("'metadata':" OBJECT(PROPERTIES("'finalizers':{'type':'array','items':{'type':'string','default':7}}"))))),
         "Invalid " D "properties[metadata].properties[finalizers].items.default"},
        {"an object in an object is judged by itself", NULL,
         DEFAULT(WHOLE(PROPERTIES("'x':" WHOLE(PROPERTIES("'kind':{'type':'string','default':'%'}"))))),
         "Invalid " D "properties[x].properties[kind].default"},
        {"whole objects in what is given for their parent", NULL,
         DEFAULT(OBJECT(PROPERTIES("'x':" WHOLE(PROPERTIES("'s':{'type':'string'}"))) ",'default':{'x':{'apiVersion':'v1','kind':''}}")),
         "Invalid " D "default.x.kind"},
    };

    check_rows(rows, countof(rows));
}
/* clang-format on */

/* A list with n entries of some text. */
static const char *many(struct arena *a, const char *head, const char *entry, size_t n,
                        const char *tail)
{
    struct buf b = buf_in(a, 1 << 20);

    buf_add(&b, str_from(head));
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", entry);
    buf_add(&b, str_from(tail));
    return str_z(a, buf_str(&b));
}

static const char *deep(struct arena *a, size_t n)
{
    struct buf b = buf_in(a, 1 << 16);

    buf_add(&b, S("{'spec':{'versions':[{'name':'v1','storage':true,'schema':{"
                  "'openAPIV3Schema':"));
    for (size_t i = 0; i < n; i++)
        buf_add(&b, S("{'type':'array','items':"));
    buf_add(&b, S("{'type':'string'}"));
    for (size_t i = 0; i < n; i++)
        buf_byte(&b, '}');
    buf_add(&b, S("}}]}}"));
    return str_z(a, buf_str(&b));
}

/* What is too large is refused as that, and not looked at any further. */
TEST(crd_check_limits)
{
    scoped(arena_fini) struct arena a = arena_sized(16 << 20);
    const struct {
        const char *name, *crd, *want;
    } rows[] = {
        {"a schema nested too deep", deep(&a, 120), "Invalid " AT},
        { "a million versions",
         many(&a, "{'spec':{'versions':[",          "{'name':'a'}",                                  1000000, "]}}"),
         "TooMany spec.versions"},
        {                                  "a schema of a million nodes",
         many(&a,
         "{'spec':{'versions':[{'name':'v1','storage':true,'schema':{'openAPIV3Schema':"
              "{'type':'object','allOf':[",                "{}",                                            1000000, "]}}}]}}"),
         "Invalid " AT},
        {                                            "a million keys",
         many(&a,
         "{'spec':{'versions':[{'name':'v1','storage':true,'schema':{'openAPIV3Schema':"
              "{'type':'object','x-kubernetes-list-map-keys':[",               "'k'",                                            1000000, "]}}}]}}"),
         "Invalid " AT},
        {                                            "a million stored versions",
         many(&a, "{'status':{'storedVersions':[",                  "'v1'",                          1000000, "]}}"),
         "TooMany status.storedVersions"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        const char *const row[1][4] = {
            {rows[i].name, NULL, rows[i].crd, rows[i].want}
        };
        check_rows(row, 1);
    }
}
