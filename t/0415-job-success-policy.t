#!/bin/sh
# Some results are enough: the rest is not waited for.

test_description='successPolicy: the Job is complete before all its indexes are'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth

test_expect_success 'the leader has succeeded: workers are ended, and do not count as failed' '
	job leader "test \$JOB_COMPLETION_INDEX = 0 || sleep 60" "completionMode: Indexed
		completions: 3
		parallelism: 3
		successPolicy: {rules: [{succeededIndexes: \"0\"}]}" | kubectl apply -f - && ended leader Complete &&
	test "$(reason leader Complete)" = SuccessPolicy && field_is job/leader .status.succeeded 1 &&
	field_is job/leader .status.failed "" && field_is job/leader .status.completedIndexes 0 &&
	field job/leader ".status.conditions[?(@.type==\"Complete\")].message" | grep "Matched rules at index 0"
'
test_expect_success 'any two of four' '
	job any "test \$JOB_COMPLETION_INDEX -lt 2 || sleep 60" "completionMode: Indexed
		completions: 4
		parallelism: 4
		successPolicy: {rules: [{succeededCount: 2}]}" | kubectl apply -f - && ended any Complete &&
	field_is job/any .status.completedIndexes 0,1
'
test_expect_success 'it needs indexes' '
	! job plain true "successPolicy: {rules: [{succeededCount: 1}]}" | kubectl apply -f - 2>err &&
	grep "spec.successPolicy: Invalid value.*requires indexed completion mode" err
'
test_done
