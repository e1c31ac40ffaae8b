/* patch.c - suite `patch`: JSON merge patch and strategic merge patch */
#include "json/patch.h"
#include "conformance.h"

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

static const struct conf_file files[] = {
    {"merge", .run = merge},
};

const struct conf_suite suite_patch = {"patch", files, countof(files)};
