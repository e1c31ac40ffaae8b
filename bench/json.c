/* json.c - how fast objects are read and written: JSON, YAML, patches
 *
 * Prints one figure a line, `name value unit`; the smallest of several rounds, which is what
 * the code costs where the machine is quiet.
 */
#include "measure.h"
#include "yaml/yaml.h"
#include "json/patch.h"

/* A Job of about 2.5 KB, as it is stored. */
static struct str job_text(struct arena *a)
{
    struct buf b = buf_in(a, 4096);

    buf_add(
        &b,
        S("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"train-42\","
          "\"namespace\":\"research\",\"uid\":\"b2c1d0b4-4c9a-4b1e-9f0e-2b9d5ff2c3c1\","
          "\"resourceVersion\":\"123456\",\"generation\":1,\"creationTimestamp\":"
          "\"2026-01-02T03:04:05Z\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"user-queue\","
          "\"app\":\"train\",\"team\":\"vision\"},\"annotations\":"
          "{\"batch.kubernetes.io/job-tracking\":\"\"}},\"spec\":{\"parallelism\":3,"
          "\"completions\":3,\"backoffLimit\":6,\"suspend\":true,\"completionMode\":"
          "\"NonIndexed\",\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/"
          "controller-uid\":\"b2c1d0b4-4c9a-4b1e-9f0e-2b9d5ff2c3c1\"}},\"template\":"
          "{\"metadata\":{\"labels\":{\"app\":\"train\",\"batch.kubernetes.io/job-name\":"
          "\"train-42\"}},\"spec\":{\"containers\":["));
    for (int i = 0; i < 3; i++)
        buf_printf(
            &b,
            "%s{\"name\":\"c%d\",\"image\":\"registry.example.com/team/image:v1.2.%d\","
            "\"command\":[\"/bin/sh\",\"-c\"],\"args\":[\"python3 train.py --epochs 10 && "
            "echo done\"],\"env\":[{\"name\":\"RANK\",\"value\":\"%d\"},{\"name\":\"WORLD\","
            "\"value\":\"3\"}],\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":"
            "\"200Mi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"200Mi\"}},"
            "\"terminationMessagePath\":\"/dev/termination-log\","
            "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}",
            i ? "," : "", i, i, i);
    buf_add(&b,
            S("],\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30,"
              "\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{},\"schedulerName\":"
              "\"default-scheduler\"}}},\"status\":{\"conditions\":[{\"type\":\"Suspended\","
              "\"status\":\"True\",\"lastProbeTime\":\"2026-01-02T03:04:05Z\",\"reason\":"
              "\"JobSuspended\",\"message\":\"Job suspended\"}]}}"));
    return buf_str(&b);
}

int main(void)
{
    struct arena kept = arena_sized(1 << 20), a = arena_sized(1 << 20);
    struct str text = job_text(&kept);
    const struct json *job = json_parse(&kept, text, NULL, NULL), *next, *patch;
    struct buf yaml = buf_in(&kept, 8192), out = buf_in(&kept, 8192);
    struct yaml_docs docs;

    yaml_write(&yaml, job);
    next = json_with(&kept, job, json_of_i64(5), "spec", "parallelism", NULL);
    patch = json_parse(&kept,
                       S("[{\"op\":\"replace\",\"path\":\"/spec/parallelism\",\"value\":5},"
                         "{\"op\":\"add\",\"path\":\"/metadata/labels/x\",\"value\":\"y\"}]"),
                       NULL, NULL);
    printf("# a Job of %zu bytes\n", text.len);
    MEASURE_US(&a, "json/parse", 20000, json_parse(&a, text, NULL, NULL));
    MEASURE_US(&a, "json/write", 20000, buf_clear(&out); json_write(&out, job));
    MEASURE_US(&a, "json/eq, one field differs", 20000, json_eq(job, next));
    MEASURE_US(&a, "json/copy", 20000, json_copy(&a, job));
    MEASURE_US(&a, "json/patch, two operations", 20000, json_patch(&a, job, patch, NULL));
    MEASURE_US(&a, "json/merge patch", 20000,
               json_merge_patch(&a, job, json_merge_diff(&a, job, next)));
    MEASURE_US(&a, "yaml/parse", 1000, yaml_parse(&a, buf_str(&yaml), NULL, &docs, NULL));
    MEASURE_US(&a, "yaml/write", 1000, buf_clear(&out); yaml_write(&out, job));
    arena_fini(&kept);
    arena_fini(&a);
    return 0;
}
