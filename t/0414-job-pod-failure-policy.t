#!/bin/sh
# Not every failure is the same: some end the Job, some do not count.

test_description='podFailurePolicy: FailJob, Ignore, Count, FailIndex; by exit code and by condition'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 300ms
rule() { # ACTION CODES
	printf 'podFailurePolicy: {rules: [{action: %s, onExitCodes: {operator: In, values: [%s]}}]}' "$1" "$2"
}

test_expect_success 'FailJob: no retry, and the message names container, code and rule' '
	job dies "exit 42" "backoffLimit: 6
		$(rule FailJob 42)" | kubectl apply -f - && ended dies Failed &&
	test "$(reason dies Failed)" = PodFailurePolicy && field_is job/dies .status.failed 1 &&
	field job/dies ".status.conditions[?(@.type==\"Failed\")].message" >got &&
	grep "Container c for pod default/dies-..... failed with exit code 42 matching FailJob rule at index 0" got
'
test_expect_success 'Ignore: it does not count, and is tried again' '
	job shrugs "echo x >>$work/shrugs; test \$(wc -l <$work/shrugs) -gt 2 || exit 7" "backoffLimit: 0
		$(rule Ignore 7)" | kubectl apply -f - && ended shrugs Complete &&
	field_is job/shrugs .status.failed "" && test "$(pods shrugs | wc -l)" = 3
'
test_expect_success 'Count: as without a rule, so that what stands behind it is not asked; the first that matches decides' '
	job counts "exit 7" "backoffLimit: 0
		podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [7]}}, {action: Ignore, onExitCodes: {operator: NotIn, values: [0]}}]}" |
	kubectl apply -f - && ended counts Failed && test "$(reason counts Failed)" = BackoffLimitExceeded && field_is job/counts .status.failed 1
'
test_expect_success 'FailIndex: this index is over, the others go on' '
	job index "test \$JOB_COMPLETION_INDEX = 0 && exit 5; exit 0" "completionMode: Indexed
		completions: 2
		backoffLimitPerIndex: 5
		$(rule FailIndex 5)" | kubectl apply -f - && ended index Failed &&
	field_is job/index .status.failedIndexes 0 && field_is job/index .status.completedIndexes 1 &&
	field_is job/index .status.failed 1
'
test_expect_success 'an eviction is a disruption, which a rule may ignore' '
	job moved "test -e $work/second || { touch $work/second; sleep 60; }" "backoffLimit: 0
		podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}" |
	kubectl apply -f - && wait_until 10 "test -e $work/second" && pod=$(pods moved) &&
	printf "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\"}}" ${pod#pod/} |
	kubectl create --raw "/api/v1/namespaces/default/pods/${pod#pod/}/eviction" -f - &&
	ended moved Complete && field_is job/moved .status.failed ""
'
test_expect_success 'with a policy, pods are replaced only when they have failed' '
	field_is job/moved .spec.podReplacementPolicy Failed
'
test_expect_success 'how often each action was taken is counted' '
	kubectl get --raw /metrics >got &&
	grep "^job_controller_pod_failures_handled_by_failure_policy_total{action=\"FailJob\"} 1$" got &&
	grep "^job_controller_pod_failures_handled_by_failure_policy_total{action=\"FailIndex\"} 1$" got
'
test_expect_success 'wrong rules are refused, each with its path' '
	! job wrong true "podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1, 0]}}]}" |
	kubectl apply -f - 2>err && grep "spec.podFailurePolicy.rules\[0\].action: Invalid value" err &&
	grep "onExitCodes.values\[1\]: Invalid value: 0: must not be 0 for the In operator" err
'
test_done
