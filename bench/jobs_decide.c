/* jobs_decide.c - one look of the Job controller, at ten thousand pods */
#include "jobs.h"
#include "measure.h"

#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "controllers/job_decide.h"

#define PODS 10000

struct fixture {
    struct job job;
    struct job_spec spec;
    struct job_status status;
    struct object_meta meta;
    struct pod_template_spec template;
    struct pod_spec pod;
    struct job_look look;
};

/* Ten thousand pods that run, of which one has just succeeded. */
static void make(struct arena *a, struct fixture *f, bool is_indexed)
{
    struct job_pod *pods = arena_array(a, struct job_pod, PODS);

    *f = (struct fixture){0};
    f->spec.template = &f->template;
    f->template.spec = &f->pod;
    f->job = (struct job){.metadata = &f->meta, .spec = &f->spec, .status = &f->status};
    f->spec.parallelism = PODS;
    f->spec.backoff_limit = 6;
    SET(&f->spec, completions, 2 * PODS);
    SET(&f->spec, completion_mode,
        is_indexed ? COMPLETION_MODE_INDEXED : COMPLETION_MODE_NON_INDEXED);
    SET(&f->status, start_time, (struct instant){SECOND_NS});
    SET(&f->status, active, PODS);
    SET(&f->status, ready, PODS);
    for (int32_t i = 0; i < PODS; i++)
        pods[i] = (struct job_pod){.name = str_printf(a, "job-%d", i),
                                   .uid = str_printf(a, "00000000-%d", i),
                                   .created = {SECOND_NS},
                                   .ready_since = {SECOND_NS},
                                   .index = is_indexed ? (i * 7919) % PODS : JOB_NO_INDEX,
                                   .phase = POD_RUNNING,
                                   .is_ready = true,
                                   .is_assigned = true,
                                   .has_finalizer = true};
    pods[PODS / 2].phase = POD_SUCCEEDED;
    pods[PODS / 2].is_ready = false;
    f->look = (struct job_look){
        .job = &f->job, .pods = pods, .n_pods = PODS, .now = {100 * SECOND_NS}};
}

static void decide(struct arena *a, struct fixture *f)
{
    struct job_plan plan = job_decide(a, &f->look);
    struct job_done done = {.is_all_removed = true};
    struct job_settled settled = job_settle(a, &f->look, &plan, &done);
    uint32_t gone = PODS / 2;
    struct job_concluded end = job_conclude(a, &f->look, &settled, &gone, 1, true);

    use(end.must_write);
}

void job_decisions(void)
{
    scoped(arena_fini) struct arena a = arena_sized(8 << 20);
    struct fixture f;

    make(&a, &f, false);
    MEASURE_US(&a, "jobs/one look at 10,000 pods", 20, decide(&a, &f));
    make(&a, &f, true);
    MEASURE_US(&a, "jobs/one look at 10,000 indexed pods", 20, decide(&a, &f));
}
