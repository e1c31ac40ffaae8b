/* json_patch.c - suite `json-patch`: RFC 6902 */
#include "conformance.h"
#include "json/patch.h"

static void one(struct conf *t, const struct json *c)
{
    const struct json *want = json_getz(c, "expected");
    struct str comment = json_str(json_getz(c, "comment"));
    struct err err = {0};
    const struct json *got =
        json_patch(t->arena, json_getz(c, "doc"), json_getz(c, "patch"), &err);

    if (json_bool(json_getz(c, "disabled"), false)) {
        conf_skip(t, "the suite itself has disabled it");
        return;
    }
    if (json_getz(c, "error")) {
        if (got)
            conf_fail(t, str_z(t->arena, comment), json_text(t->arena, got), S("an error"));
    } else if (!got) {
        conf_fail(t, str_z(t->arena, comment), err_str(&err), json_text(t->arena, want));
    } else if (want) {
        conf_same(t, str_z(t->arena, comment), got, want);
    }
}

static void documents(struct conf *t, const struct json *cases)
{
    conf_each(t, cases, one);
}

static const struct conf_file files[] = {
    {"spec_tests", .run = documents},
    {"tests",      .run = documents},
};

const struct conf_suite suite_json_patch = {"json-patch", files, countof(files)};
