/* suites.h - every suite, by the name of its folder in the conformance data */
#pragma once

extern const struct conf_suite suite_cel;
extern const struct conf_suite suite_dra;
extern const struct conf_suite suite_http;
extern const struct conf_suite suite_job;
extern const struct conf_suite suite_json;
extern const struct conf_suite suite_json_patch;
extern const struct conf_suite suite_k8scel;
extern const struct conf_suite suite_kueue;
extern const struct conf_suite suite_patch;
extern const struct conf_suite suite_schema;
extern const struct conf_suite suite_smd;
extern const struct conf_suite suite_values;

static const struct conf_suite *const suites[] = {
    &suite_cel,    &suite_dra,   &suite_http,  &suite_job,    &suite_json, &suite_json_patch,
    &suite_k8scel, &suite_kueue, &suite_patch, &suite_schema, &suite_smd,  &suite_values,
};
