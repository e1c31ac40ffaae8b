/* small_checks.c - rules of parts that many kinds have */
#include "api/core_v1.h"
#include "api/metadata.h"
#include "api/rules_priv.h"
#include "value/selector.h"

void label_selector_check(const struct schema_at *at)
{
    selector_check_json(at->errors, at->path, at->v);
}

/* Upstream's paths leave `metadata` out here. */
void pod_template_spec_check(const struct schema_at *at)
{
    struct field_path labels_at = field_child(at->path, S("labels"));
    struct field_path annotations_at = field_child(at->path, S("annotations"));
    const struct json *meta = FIELD_VALUE(at->values, pod_template_spec, metadata);

    labels_check(at->errors, &labels_at, json_getz(meta, "labels"));
    annotations_check(at->errors, &annotations_at, json_getz(meta, "annotations"));
}
