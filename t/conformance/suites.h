/* suites.h - every suite, by the name of its folder in the conformance data */
#pragma once

extern const struct conf_suite suite_json;

static const struct conf_suite *const suites[] = {
    &suite_json,
};
