/* access.h - who asks to do what: what every authorizer is asked
 *
 * All texts are borrowed.
 */
#pragma once

#include "value/value.h"

struct access_user {
    struct str name, uid;
    struct str_list groups;
};

struct access {
    struct access_user user;
    struct str verb;
    bool is_resource;
    struct str group, version, resource, subresource, ns, name;
    struct str path;              /* where it is no resource */
    struct field_selector fields; /* of list, watch, deletecollection */
    struct selector labels;
};
