/* thing_priv.h - a small kind for the tests of server-side apply
 *
 *     spec:   replicas, name, items (by name; port defaults to 80), tags (a set), args
 * (atomic), limits (a map), selector (an atomic map), raw (untyped) status: phase, conditions
 * (by type)
 */
#pragma once

#include "base/testing.h"
#include "schema/table.h"

#define THING_OBJECT(fields_)                                                                  \
    {                                                                                          \
        .type = SCHEMA_OBJECT, .fields = (fields_), .n_fields = countof(fields_)               \
    }

static const struct schema thing_text = {.type = SCHEMA_STRING};
static const struct schema thing_number = {.type = SCHEMA_INT64};
static const struct schema thing_any = {.type = SCHEMA_ANY};
static const struct json thing_eighty = {.type = JSON_INT, .i = 80};
static const struct schema thing_port = {.type = SCHEMA_INT64, .def = &thing_eighty};
static const struct schema thing_texts = {
    .type = SCHEMA_MAP, .value = &thing_text, .map_type = MAP_GRANULAR};
static const struct schema thing_selector = {
    .type = SCHEMA_MAP, .value = &thing_text, .map_type = MAP_ATOMIC};
static const struct schema thing_tags = {
    .type = SCHEMA_LIST, .item = &thing_text, .list_type = LIST_SET};
static const struct schema thing_args = {
    .type = SCHEMA_LIST, .item = &thing_text, .list_type = LIST_ATOMIC};

static const struct schema_field thing_item_fields[] = {
    {S_INIT("name"),  &thing_text},
    {S_INIT("port"),  &thing_port},
    {S_INIT("value"), &thing_text},
};
static const struct schema thing_item = THING_OBJECT(thing_item_fields);
static const struct str thing_item_keys[] = {S_INIT("name"), S_INIT("port")};
static const struct schema thing_items = {.type = SCHEMA_LIST,
                                          .item = &thing_item,
                                          .list_type = LIST_MAP,
                                          .keys = thing_item_keys,
                                          .n_keys = 2};

static const struct schema_field thing_condition_fields[] = {
    {S_INIT("type"),   &thing_text},
    {S_INIT("status"), &thing_text},
};
static const struct schema thing_condition = THING_OBJECT(thing_condition_fields);
static const struct str thing_condition_keys[] = {S_INIT("type")};
static const struct schema thing_conditions = {.type = SCHEMA_LIST,
                                               .item = &thing_condition,
                                               .list_type = LIST_MAP,
                                               .keys = thing_condition_keys,
                                               .n_keys = 1};

static const struct schema_field thing_spec_fields[] = {
    {S_INIT("raw"),      &thing_any     },
    {S_INIT("args"),     &thing_args    },
    {S_INIT("name"),     &thing_text    },
    {S_INIT("tags"),     &thing_tags    },
    {S_INIT("items"),    &thing_items   },
    {S_INIT("limits"),   &thing_texts   },
    {S_INIT("replicas"), &thing_number  },
    {S_INIT("selector"), &thing_selector},
};
static const struct schema thing_spec = THING_OBJECT(thing_spec_fields);
static const struct schema_field thing_status_fields[] = {
    {S_INIT("phase"),      &thing_text      },
    {S_INIT("conditions"), &thing_conditions},
};
static const struct schema thing_status = THING_OBJECT(thing_status_fields);
static const struct schema_field thing_meta_fields[] = {
    {S_INIT("uid"),           &thing_text },
    {S_INIT("name"),          &thing_text },
    {S_INIT("labels"),        &thing_texts},
    {S_INIT("annotations"),   &thing_texts},
    {S_INIT("managedFields"), &thing_any  },
};
static const struct schema thing_meta = THING_OBJECT(thing_meta_fields);
static const struct schema_field thing_fields[] = {
    {S_INIT("kind"),       &thing_text  },
    {S_INIT("spec"),       &thing_spec  },
    {S_INIT("status"),     &thing_status},
    {S_INIT("metadata"),   &thing_meta  },
    {S_INIT("apiVersion"), &thing_text  },
};
static const struct schema thing = THING_OBJECT(thing_fields);
static const struct kind thing_kind = {.group = S_INIT("test"),
                                       .version = S_INIT("v1"),
                                       .kind = S_INIT("Thing"),
                                       .api_version = S_INIT("test/v1"),
                                       .style = KIND_CUSTOM,
                                       .status = true,
                                       .schema = &thing};

/* 'single' quotes stand for double ones; NULL for NULL. */
static inline const struct json *thing_parse(struct arena *a, const char *z)
{
    struct err err = {0};
    char *copy = z ? str_z(a, str_from(z)) : NULL;

    for (char *at = copy; at && *at; at++)
        if (*at == '\'')
            *at = '"';
    const struct json *v = z ? json_parse(a, str_from(copy), NULL, &err) : NULL;
    if (z && !v)
        check_samez(err_str(&err), z);
    return v;
}
