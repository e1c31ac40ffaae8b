/* device_check_priv.h - rules that claims, classes and slices of resource.k8s.io share
 *
 * Source: devices reference 10. A list over its limit is told by the table, and its items are
 * not looked at.
 */
#pragma once

#include "value/value.h"

#define DEVICE_ID_MAX 32
#define DEVICE_DOMAIN_MAX 63
#define DEVICE_VALUE_MAX 64 /* bytes of a text or version */
#define DEVICE_EXPRESSION_MAX 10240
#define DEVICE_PARAMETERS_MAX 10240
#define DEVICE_POOL_MAX 253

/* A driver's name; nothing where it is missing. */
void device_driver_check(struct field_errors *e, const struct field_path *p,
                         const struct json *v);
/* A pool's: subdomains between slashes. */
void device_pool_check(struct field_errors *e, const struct field_path *p,
                       const struct json *v);
/* Of an attribute or capacity: [domain/]identifier; `is_full`: with the domain. */
void device_name_check(struct field_errors *e, const struct field_path *p, struct str name,
                       bool is_full);
/* An object of JSON, at most DEVICE_PARAMETERS_MAX bytes of text. */
void device_raw_check(struct field_errors *e, const struct field_path *p, const struct json *v);
/* `at.opaque` of a configuration. */
void device_config_check(struct field_errors *e, const struct field_path *at,
                         const struct json *config);
/* CEL over devices; those of `old` may be what this release no longer takes. */
void device_selectors_check(struct field_errors *e, const struct field_path *at,
                            const struct json *selectors);
/* Exactly one of the members is set (`false` and empty lists are not). Returns how many are. */
size_t device_one_of_check(struct field_errors *e, const struct field_path *p,
                           const struct json *v, const char *const *names, size_t n,
                           const char *what);
