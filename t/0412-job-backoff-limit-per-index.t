#!/bin/sh
# Each index has its own retries: one that cannot work does not stop the others.

test_description='backoffLimitPerIndex, maxFailedIndexes'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 300ms
fails_on() { # NAME INDEX LINES
	job "$1" "echo \$JOB_COMPLETION_INDEX >>$work/$1.ran; test \$JOB_COMPLETION_INDEX != $2" "completionMode: Indexed
		$3" | kubectl apply -f -
}

test_expect_success 'one index fails twice, the others succeed' '
	fails_on one 1 "completions: 3
		parallelism: 3
		backoffLimitPerIndex: 1" && ended one Failed && test "$(reason one Failed)" = FailedIndexes &&
	field_is job/one .status.failedIndexes 1 && field_is job/one .status.completedIndexes 0,2 &&
	field_is job/one .status.failed 2 && field_is job/one .status.succeeded 2 &&
	test "$(grep -c 1 one.ran)" = 2
'
test_expect_success 'the replacement carries the count of failures' '
	kubectl get pods -l batch.kubernetes.io/job-completion-index=1 -o \
		"jsonpath={.items[*].metadata.annotations.batch\.kubernetes\.io/job-index-failure-count}" |
	tr " " "\n" | sort | tr "\n" " " | grep "^0 1 $"
'
test_expect_success 'the global limit is out of the way' 'field_is job/one .spec.backoffLimit 2147483647'
test_expect_success 'more failed indexes than allowed end the Job' '
	job most "test \$JOB_COMPLETION_INDEX = 9 && sleep 60; exit 1" "completionMode: Indexed
		completions: 10
		parallelism: 10
		backoffLimitPerIndex: 0
		maxFailedIndexes: 2" | kubectl apply -f - && ended most Failed &&
	test "$(reason most Failed)" = MaxFailedIndexesExceeded && field_is job/most .status.active ""
'
test_expect_success 'maxFailedIndexes alone is refused' '
	! job alone true "completionMode: Indexed
		completions: 1
		maxFailedIndexes: 1" | kubectl apply -f - 2>err &&
	grep "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified" err
'
test_done
