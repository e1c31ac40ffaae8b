#!/bin/sh
# A suspended Job has no pods; what ran is ended, what is resumed starts anew.

test_description='suspend and resume, and what may change meanwhile'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth
suspend() { kubectl patch job "$1" -p "{\"spec\":{\"suspend\":$2}}"; }

test_expect_success 'created suspended: no pod, no start time, and it says so' '
	job held true "suspend: true" | kubectl apply -f - && wait_until 5 "test \"\$(reason held Suspended)\" = JobSuspended" &&
	test -z "$(pods held)" && field_is job/held .status.startTime "" && events held | grep "Normal Suspended Job suspended"
'
test_expect_success 'labels and node selector of its template may change, its command may not' '
	kubectl patch job held --type=merge -p "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"colour\":\"blue\"}},\"spec\":{\"nodeSelector\":{\"kubernetes.io/os\":\"linux\"}}}}}" &&
	! kubectl patch job held --type=json -p "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/command/2\",\"value\":\"false\"}]" 2>err &&
	grep "spec.template.*field is immutable" err
'
test_expect_success 'resumed: it starts now, and runs' '
	suspend held false && ended held Complete && test -n "$(field job/held .status.startTime)" && events held | grep "Normal Resumed Job resumed" &&
	test "$(reason held Suspended)" = JobResumed && field_is "$(pods held)" .metadata.labels.colour blue
'
test_expect_success 'suspended while it runs: its pods end, and nothing counts as failed' '
	job runs "echo x >>$work/runs; test \$(wc -l <$work/runs) -gt 2 || sleep 60" "completions: 2
		parallelism: 2" | kubectl apply -f - && wait_until 10 "test \"\$(wc -l <runs)\" = 2" &&
	suspend runs true && wait_until 10 "test -z \"\$(pods runs)\"" &&
	field_is job/runs .status.active "" && field_is job/runs .status.failed "" && field_is job/runs .status.startTime ""
'
test_expect_success 'and runs again from its start when resumed' '
	suspend runs false && ended runs Complete && field_is job/runs .status.succeeded 2 && test "$(wc -l <runs)" = 4
'
test_expect_success 'a running Job keeps its template' '
	job fixed "sleep 60" | kubectl apply -f - && wait_until 10 "test -n \"\$(pods fixed)\"" &&
	! kubectl patch job fixed --type=merge -p "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}" 2>err &&
	grep "field is immutable" err && kubectl delete job fixed
'
test_done
