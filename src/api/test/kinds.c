/* kinds.c - what holds of every table that kindc writes */
#include "api/batch_v1.h"
#include "api/find.h"
#include "api/kueue_v1beta2.h"
#include "base/testing.h"

static size_t n_fields;

static void walk(const struct schema *s, int depth);

/* A field that is not in a set is passed over by whoever asks for the set. */
static void walk_sets(const struct schema *s)
{
    const uint16_t needed = FIELD_REQUIRED | FIELD_NEEDED | FIELD_EXPECTED;
    const uint16_t fixed = FIELD_FIXED | FIELD_FIXED_ONCE_SET;
    size_t n_defs = 0;

    check(s->n_fields <= SCHEMA_SET_FIELDS);
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        bool is_type_meta = f->flags & FIELD_TYPE_META;
        bool has_defaults =
            f->type->def || (f->type->type == SCHEMA_OBJECT && !f->type->no_defaults);
        check_int(s->index->always >> i & 1, !is_type_meta && (f->flags & FIELD_ALWAYS));
        bool is_empty_judged = (f->flags & FIELD_ALWAYS) && !(f->flags & FIELD_POINTER) &&
                               f->type->type == SCHEMA_OBJECT && !f->type->no_rules;
        check_int(s->index->judged >> i & 1,
                  !is_type_meta && ((f->flags & needed) || is_empty_judged));
        check((s->index->ruled >> i & 1) || f->type->no_rules);
        check((s->index->ruled >> i & 1) || !(f->flags & fixed));
        check_int(s->index->fixed >> i & 1, !is_type_meta && (f->flags & fixed));
        check(!f->type->no_rules || !(f->type->check || f->type->rules));
        check(!has_defaults || (s->index->defaulted >> i & 1));
        check_int(s->index->has_def >> i & 1, f->type->def != NULL);
        n_defs += f->type->def != NULL;
    }
    check(!s->index || s->index->n_defs == n_defs);
}

/* Names are found, bits are the fields' places, offsets rise, everybody has a comment. */
static void walk_fields(const struct schema *s, int depth)
{
    uint32_t offset = 0;

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct schema_field *f = &s->fields[i];
        check(schema_field(s, f->name) == f);
        check_int(f->bit, i);
        check(f->offset > offset);
        check(f->offset < s->size);
        check(f->doc.len > 0);
        check(f->type != NULL);
        offset = f->offset;
        n_fields++;
        walk(f->type, depth + 1);
    }
    walk_sets(s);
}

static void walk(const struct schema *s, int depth)
{
    if (depth > 14)
        return;
    check(s->type < SCHEMA_N_TYPES);
    check(s->size > 0);
    check((s->type == SCHEMA_LIST) == (s->item != NULL));
    check((s->type == SCHEMA_MAP) == (s->value != NULL));
    check((s->list_type == LIST_MAP) == (s->n_keys > 0));
    for (size_t i = 0; i < s->n_keys; i++)
        check(schema_field(s->item, s->keys[i]) != NULL);
    if (s->type == SCHEMA_OBJECT)
        walk_fields(s, depth);
    if (s->item)
        walk(s->item, depth + 1);
    if (s->value)
        walk(s->value, depth + 1);
}

TEST(kinds_are_whole)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind *k = kinds[i];
        test_case(k->kind.at);
        check_int(k->id, i);
        check(k->doc.len > 0);
        check(k->n_columns > 0);
        check(k->storage != NULL);
        check(schema_field(k->schema, S("kind")) != NULL);
        walk(k->schema, 0);
    }
    check(n_fields > 1000);
}

TEST(kinds_job_table)
{
    const struct schema *spec = schema_field(kind_job.schema, S("spec"))->type;
    const struct schema_field *f = schema_field(spec, S("parallelism"));

    check(spec == &schema_job_spec);
    check_int(f->proto, 1);
    check_int(f->offset, offsetof(struct job_spec, parallelism));
    check(f->flags & FIELD_POINTER);
    check_int(f->type->def->i, 1);
    check_int(f->type->rules->has, RULE_MINIMUM);
    check_int(schema_field(spec, S("completionMode"))->type->rules->n_enums, 2);
    check(!schema_field(spec, S("scheduling"))->gate->on);
}

/* JSON flattens what protobuf nests; a list has apply keys and another merge key. */
TEST(kinds_pod_table)
{
    const struct schema *volume = &schema_volume, *container = &schema_container;
    const struct schema_field *f = schema_field(volume, S("emptyDir"));
    const struct schema *ports = schema_field(container, S("ports"))->type;

    check_int(f->proto, 2);
    check_int(f->proto_in, 2);
    check_int(ports->list_type, LIST_MAP);
    check_int(ports->n_keys, 2);
    check_samez(ports->merge_key, "containerPort");
    check_int(schema_field(container, S("env"))->type->merge, MERGE_MERGE);
    check(schema_field(&schema_pod_spec, S("volumes"))->type->retain_keys);
    check_int(schema_label_selector.map_type, MAP_ATOMIC);
}

TEST(kinds_presence)
{
    struct job_spec spec = {0};

    SET(&spec, suspend, false);
    check_int(spec.set, UINT64_C(1) << schema_field(&schema_job_spec, S("suspend"))->bit);
    check(IS_SET(&spec, suspend) && !IS_SET(&spec, completions));
    check_samez(COMPLETION_MODE_INDEXED, "Indexed");
}

/* Kueue's kinds behave as CRDs; the older version is stored as the newer. */
TEST(kinds_workload_table)
{
    const struct kind *old = kind_of(S("kueue.x-k8s.io/v1beta1"), S("Workload"));
    const struct schema *spec = schema_field(kind_kueue_workload.schema, S("spec"))->type;
    const struct schema *sets = schema_field(spec, S("podSets"))->type;

    check_int(kind_kueue_workload.style, KIND_CUSTOM);
    check_int(kind_kueue_workload.schema->rules->n_cel, 7);
    check(old->storage == &kind_kueue_workload);
    check_samez(old->convert, "kueue_workload");
    check_int(sets->list_type, LIST_MAP);
    check_int(sets->rules->max_items, 18);
    check_samez(schema_field(sets->item, S("name"))->type->def->type == JSON_STRING
                    ? json_str(schema_field(sets->item, S("name"))->type->def)
                    : S(""),
                "main");
    /* what only native kinds know of a pod does not hold here */
    check(schema_field(&schema_pod_spec, S("restartPolicy"))->type->def_native);
    check(schema_field(&schema_container, S("name"))->type->rules_native);
    check(!schema_field(spec, S("active"))->type->def_native);
    check(!schema_field(&schema_container_port, S("protocol"))->type->def_native);
}
