#!/bin/sh
# A Job runs its program until that has succeeded as often as asked, and keeps account of it.

test_description='Jobs: one run, many runs, a queue of work; defaults, columns, Events, metrics, logs'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 200ms

test_expect_success 'one run' '
	job one "echo hello" | kubectl apply -f - && ended one Complete && kubectl logs job/one | grep -x hello &&
	field_is job/one .status.succeeded 1 && field_is job/one .status.active "" && field_is job/one .status.failed ""
'
test_expect_success 'it says when it began and ended, and why that was the end' '
	test -n "$(field job/one .status.startTime)" && test -n "$(field job/one .status.completionTime)" &&
	test "$(reason one Complete)" = CompletionsReached && test "$(reason one SuccessCriteriaMet)" = CompletionsReached &&
	kubectl get job one --no-headers | grep "Complete *1/1"
'
test_expect_success 'what was not said has its default' '
	kubectl get job one -o "jsonpath={.spec.parallelism} {.spec.completions} {.spec.backoffLimit} {.spec.completionMode} {.spec.suspend} {.spec.podReplacementPolicy} {.spec.manualSelector}" >got &&
	grep -x "1 1 6 NonIndexed false TerminatingOrFailed *\(false\)*" got
'
test_expect_success 'selector and labels are made from its uid and its name' '
	uid=$(field job/one .metadata.uid) && field_is job/one ".spec.selector.matchLabels.batch\.kubernetes\.io/controller-uid" $uid &&
	pod=$(pods one) && field_is $pod ".metadata.labels.job-name" one &&
	field_is $pod ".metadata.labels.batch\.kubernetes\.io/job-name" one && field_is $pod ".metadata.labels.controller-uid" $uid &&
	field_is $pod ".metadata.labels.batch\.kubernetes\.io/controller-uid" $uid &&
	field_is $pod ".metadata.ownerReferences[0].uid" $uid && field_is $pod ".metadata.ownerReferences[0].blockOwnerDeletion" true
'
test_expect_success 'five runs, two at a time' '
	job five "echo x >>$work/five" "completions: 5
		parallelism: 2" | kubectl apply -f - && ended five Complete && test "$(wc -l <five)" = 5 &&
	field_is job/five .status.succeeded 5 && test "$(pods five | wc -l)" = 5
'
test_expect_success 'without completions it is a queue of work: after the first success nobody new starts, all may finish' '
	job crew "mkdir $work/first 2>/dev/null && exit 0; until test -e $work/go; do sleep 0.1; done" "parallelism: 3" | kubectl apply -f - &&
	wait_until 10 "field_is job/crew .status.succeeded 1" && field_is job/crew .status.active 2 && test -z "$(reason crew Complete)" &&
	touch go && ended crew Complete && field_is job/crew .status.succeeded 3 && test "$(pods crew | wc -l)" = 3
'
test_expect_success 'Events say what was done' '
	events one >got && grep "Normal SuccessfulCreate Created pod: one-" got && grep "Normal Completed Job completed" got
'
test_expect_success 'of thirty pods nine are told one by one, the others together' '
	job many true "completions: 30
		parallelism: 30" | kubectl apply -f - && ended many Complete &&
	wait_until 10 "kubectl describe job many | grep -F \"(combined from similar events): Created pod: many-\"" &&
	test "$(events many | grep -c "Normal SuccessfulCreate Created pod: many-")" = 9
'
test_expect_success 'metrics count it' '
	job bad "exit 1" "backoffLimit: 0" | kubectl apply -f - && ended bad Failed && kubectl get --raw /metrics >got &&
	grep "^job_controller_jobs_finished_total{completion_mode=\"NonIndexed\",result=\"succeeded\",reason=\"\"} 4$" got &&
	grep "^job_controller_jobs_finished_total{completion_mode=\"NonIndexed\",result=\"failed\",reason=\"BackoffLimitExceeded\"} 1$" got &&
	grep "^job_controller_job_pods_finished_total{completion_mode=\"NonIndexed\",result=\"succeeded\"} 39$" got &&
	awk "/^job_controller_terminated_pods_tracking_finalizer_total/ { n[\$1] = \$2 } END {
		for (k in n) if (k ~ /add/) a = n[k]; else d = n[k]; exit a != d }" got
'
test_expect_success 'found by how many have succeeded' '
	kubectl get jobs --field-selector status.successful=5 -o name | grep -x job.batch/five &&
	kubectl get jobs --field-selector status.successful=0 -o name | grep -x job.batch/bad
'
test_done
