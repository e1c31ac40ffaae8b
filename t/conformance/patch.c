/* patch.c - suite `patch`: JSON merge patch and strategic merge patch */
#include "json/patch.h"
#include "conformance.h"
#include "schema/strategic.h"

static void merge(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *original = json_getz(c, "original");
    struct str op = json_str(json_getz(c, "op"));

    if (str_eq(op, S("apply")))
        conf_same(t, "result", json_merge_patch(t->arena, original, json_getz(c, "patch")),
                  json_getz(want, "result"));
    else if (str_eq(op, S("createTwoWay")))
        conf_same(t, "patch", json_merge_diff(t->arena, original, json_getz(c, "modified")),
                  json_getz(want, "patch"));
    else
        conf_same(t, "patch",
                  json_merge_three_way(t->arena, original, json_getz(c, "modified"),
                                       json_getz(c, "current")),
                  json_getz(want, "patch"));
}

/* ---- strategic ---- */

/* The two schemas of format.md. */
static const struct schema *merge_item(void)
{
    static const struct schema text = {.type = SCHEMA_STRING}, any = {.type = SCHEMA_ANY};
    static const struct schema int_list = {.type = SCHEMA_LIST, .item = &any};
    static const struct schema int_merge = {
        .type = SCHEMA_LIST, .item = &any, .merge = MERGE_MERGE};
    static const struct schema texts = {.type = SCHEMA_MAP, .value = &text};
    static struct schema item, items, merged, pointer, replaced, retained, retained_items, kept;
    static const struct schema_field kept_fields[] = {
        {S_INIT("name"),           &text     },
        {S_INIT("value"),          &text     },
        {S_INIT("other"),          &text     },
        {S_INIT("simpleMap"),      &texts    },
        {S_INIT("mergingIntList"), &int_merge},
        {S_INIT("mergingList"),    &merged   },
        {S_INIT("nonMergingList"), &items    },
    };
    static const struct schema_field fields[] = {
        {S_INIT("name"),                  &text          },
        {S_INIT("value"),                 &text          },
        {S_INIT("other"),                 &text          },
        {S_INIT("mergingList"),           &merged        },
        {S_INIT("nonMergingList"),        &items         },
        {S_INIT("mergingIntList"),        &int_merge     },
        {S_INIT("nonMergingIntList"),     &int_list      },
        {S_INIT("mergeItemPtr"),          &pointer       },
        {S_INIT("simpleMap"),             &texts         },
        {S_INIT("replacingItem"),         &replaced      },
        {S_INIT("jsonItem"),              &any           },
        {S_INIT("retainKeysMap"),         &retained      },
        {S_INIT("retainKeysMergingList"), &retained_items},
    };

    item =
        (struct schema){.type = SCHEMA_OBJECT, .fields = fields, .n_fields = countof(fields)};
    kept = (struct schema){
        .type = SCHEMA_OBJECT, .fields = kept_fields, .n_fields = countof(kept_fields)};
    items = (struct schema){.type = SCHEMA_LIST, .item = &item};
    merged = items;
    merged.merge = MERGE_MERGE, merged.merge_key = S("name");
    pointer = item;
    pointer.merge = MERGE_MERGE, pointer.merge_key = S("name");
    replaced = item;
    replaced.merge = MERGE_REPLACE;
    retained = kept;
    retained.retain_keys = true;
    retained_items = merged;
    retained_items.retain_keys = true;
    return &item;
}

static const struct schema *precision_item(void)
{
    static const struct schema any = {.type = SCHEMA_ANY};
    static const struct schema_field fields[] = {
        {S_INIT("name"),    &any},
        {S_INIT("int32"),   &any},
        {S_INIT("int64"),   &any},
        {S_INIT("float32"), &any},
        {S_INIT("float64"), &any},
    };
    static struct schema s;

    s = (struct schema){.type = SCHEMA_OBJECT, .fields = fields, .n_fields = countof(fields)};
    return &s;
}

static bool is_broken(const struct json *c)
{
    static const char *const names[] = {"original", "modified", "current", "patch"};

    for (size_t i = 0; i < countof(names); i++)
        if (json_getz(json_get(c, str_from(names[i])), "invalidText"))
            return true;
    return false;
}

static void strategic(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "want"), *original = json_getz(c, "original");
    const struct json *modified = json_getz(c, "modified"), *got;
    bool is_precision = str_eq(json_str(json_getz(c, "schema")), S("precisionItem"));
    const struct schema *s = is_precision ? precision_item() : merge_item();
    struct str op = json_str(json_getz(c, "op")), error = json_str(json_getz(want, "error"));
    struct err err = {0};

    if (is_broken(c)) {
        conf_same_str(t, "error", S("badJSON"), error);
        return;
    }
    if (str_eq(op, S("apply")))
        got = schema_strategic_apply(t->arena, s, original, json_getz(c, "patch"), &err);
    else if (str_eq(op, S("createTwoWay")))
        got = schema_strategic_diff(t->arena, s, original, modified, &err);
    else
        got =
            schema_strategic_three_way(t->arena, s, original, modified, json_getz(c, "current"),
                                       json_bool(json_getz(c, "overwrite"), false), &err);
    if (error.len && got)
        conf_fail(t, "no error", json_text(t->arena, got), error);
    else if (error.len)
        conf_same_str(t, "error", err.code == ERR_CONFLICT ? S("conflict") : S("invalid"),
                      error);
    else if (!got)
        conf_fail(t, "error", err_str(&err), json_text(t->arena, want));
    else
        conf_same(t, "result", got,
                  json_get(want, str_eq(op, S("apply")) ? S("result") : S("patch")));
}

static const struct conf_file files[] = {
    {"merge",     .run = merge    },
    {"strategic", .run = strategic},
};

const struct conf_suite suite_patch = {"patch", files, countof(files)};
