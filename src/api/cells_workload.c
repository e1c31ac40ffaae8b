/* cells_workload.c - cells of what runs: containers, images and selectors of pods, Jobs,
 * CronJobs and templates; the wide columns of pods and nodes
 *
 * Source: API server reference, tables.
 */
#include "api/rules_priv.h"

#include "value/selector.h"
#include "value/time.h"

#define NONE S("<none>")

static struct json or_none(struct str s)
{
    return json_of_str(s.len ? s : NONE);
}

/* One field of each object of a list, by commas. */
static struct json joined(struct arena *a, const struct json *list, struct str field)
{
    struct buf b = buf_in(a, 64);

    json_each (i, list)
        buf_printf(&b, "%s%.*s", i ? "," : "",
                   STR_ARG(json_str(json_get(json_at(list, i), field))));
    return json_of_str(buf_str(&b));
}

/* A LabelSelector as its text. */
static struct json selector_cell(struct arena *a, const struct json *v)
{
    struct selector s;

    if (!json_has(v))
        return json_of_str(NONE);
    if (selector_of_json(a, v, &s, NULL) < 0)
        return json_of_z("<error>");
    return or_none(selector_text(a, &s));
}

/* ---- Jobs and CronJobs ---- */

static const struct json *job_containers(const struct json *job)
{
    return json_path(job, "spec", "template", "spec", "containers", NULL);
}

struct json cell_job_containers(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return joined(a, job_containers(o), S("name"));
}

struct json cell_job_images(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return joined(a, job_containers(o), S("image"));
}

struct json cell_job_selector(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return selector_cell(a, json_path(o, "spec", "selector", NULL));
}

static const struct json *cron_job_template(const struct json *o)
{
    return json_path(o, "spec", "jobTemplate", NULL);
}

struct json cell_cron_job_containers(struct arena *a, const struct json *o, struct instant now)
{
    return cell_job_containers(a, cron_job_template(o), now);
}

struct json cell_cron_job_images(struct arena *a, const struct json *o, struct instant now)
{
    return cell_job_images(a, cron_job_template(o), now);
}

struct json cell_cron_job_selector(struct arena *a, const struct json *o, struct instant now)
{
    return cell_job_selector(a, cron_job_template(o), now);
}

struct json cell_cron_job_timezone(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return or_none(json_str(json_path(o, "spec", "timeZone", NULL)));
}

/* A text, although the column is declared boolean. */
struct json cell_cron_job_suspend(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *v = json_path(o, "spec", "suspend", NULL);

    (void)a, (void)now;
    if (!json_has(v))
        return json_of_z("<unset>");
    return json_bool(v, false) ? json_of_z("True") : json_of_z("False");
}

struct json cell_cron_job_active(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return json_of_i64((int64_t)json_len(json_path(o, "status", "active", NULL)));
}

struct json cell_cron_job_last_schedule(struct arena *a, const struct json *o,
                                        struct instant now)
{
    struct str text = json_str(json_path(o, "status", "lastScheduleTime", NULL));
    struct instant t;

    if (!text.len || time_parse(text, &t, NULL) < 0)
        return json_of_str(NONE);
    return json_of_str(age_since(a, t, now));
}

/* ---- pods and templates ---- */

struct json cell_pod_ip(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *first = json_at(json_path(o, "status", "podIPs", NULL), 0);

    (void)a, (void)now;
    return or_none(
        json_str(first ? json_getz(first, "ip") : json_path(o, "status", "podIP", NULL)));
}

struct json cell_pod_node(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return or_none(json_str(json_path(o, "spec", "nodeName", NULL)));
}

struct json cell_pod_nominated_node(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return or_none(json_str(json_path(o, "status", "nominatedNodeName", NULL)));
}

static bool is_true(const struct json *conditions, struct str type)
{
    json_each (i, conditions) {
        const struct json *c = json_at(conditions, i);
        if (str_eq(json_str(json_getz(c, "type")), type))
            return str_eqz(json_str(json_getz(c, "status")), "True");
    }
    return false;
}

struct json cell_pod_readiness_gates(struct arena *a, const struct json *o, struct instant now)
{
    const struct json *gates = json_path(o, "spec", "readinessGates", NULL);
    const struct json *conditions = json_path(o, "status", "conditions", NULL);
    size_t n_true = 0;

    (void)now;
    if (!json_len(gates))
        return json_of_str(NONE);
    json_each (i, gates)
        n_true += is_true(conditions, json_str(json_getz(json_at(gates, i), "conditionType")));
    return json_of_str(str_printf(a, "%zu/%zu", n_true, json_len(gates)));
}

static const struct json *template_containers(const struct json *o)
{
    return json_path(o, "template", "spec", "containers", NULL);
}

struct json cell_pod_template_containers(struct arena *a, const struct json *o,
                                         struct instant now)
{
    (void)now;
    return joined(a, template_containers(o), S("name"));
}

struct json cell_pod_template_images(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return joined(a, template_containers(o), S("image"));
}

struct json cell_pod_template_labels(struct arena *a, const struct json *o, struct instant now)
{
    (void)now;
    return labels_cell(a, json_path(o, "template", "metadata", "labels", NULL));
}

struct json labels_cell(struct arena *a, const struct json *labels)
{
    struct buf b = buf_in(a, 64);

    json_each_member (m, labels)
        buf_printf(&b, "%s%.*s=%.*s", b.len ? "," : "", STR_ARG(m->name),
                   STR_ARG(json_str(&m->value)));
    return or_none(buf_str(&b));
}

/* ---- nodes ---- */

static struct json address(const struct json *node, struct str type)
{
    const struct json *list = json_path(node, "status", "addresses", NULL);

    json_each (i, list) {
        const struct json *v = json_at(list, i);
        if (str_eq(json_str(json_getz(v, "type")), type))
            return or_none(json_str(json_getz(v, "address")));
    }
    return json_of_str(NONE);
}

static struct json node_info(const struct json *node, struct str field)
{
    struct str s = json_str(json_get(json_path(node, "status", "nodeInfo", NULL), field));

    return json_of_str(s.len ? s : S("<unknown>"));
}

struct json cell_node_internal_ip(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return address(o, S("InternalIP"));
}

struct json cell_node_external_ip(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return address(o, S("ExternalIP"));
}

struct json cell_node_os_image(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return node_info(o, S("osImage"));
}

struct json cell_node_kernel_version(struct arena *a, const struct json *o, struct instant now)
{
    (void)a, (void)now;
    return node_info(o, S("kernelVersion"));
}

struct json cell_node_container_runtime(struct arena *a, const struct json *o,
                                        struct instant now)
{
    (void)a, (void)now;
    return node_info(o, S("containerRuntimeVersion"));
}
