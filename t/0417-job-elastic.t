#!/bin/sh
# An Indexed Job grows and shrinks while it runs; any Job changes its parallelism.

test_description='elastic Jobs: completions and parallelism together, parallelism alone'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth
size() { kubectl patch job "$1" -p "{\"spec\":{\"completions\":$2,\"parallelism\":$2}}"; }

test_expect_success 'grows: the next indexes start' '
	job grows "test -e $work/go || sleep 0.1; until test -e $work/go; do sleep 0.1; done" "completionMode: Indexed
		completions: 2
		parallelism: 2" | kubectl apply -f - && wait_until 10 "field_is job/grows .status.ready 2" &&
	size grows 4 && wait_until 10 "field_is job/grows .status.ready 4"
'
test_expect_success 'shrinks: the highest end, and do not count as failed' '
	size grows 1 && wait_until 10 "test \"\$(pods grows | wc -l)\" = 1" && field_is job/grows .status.failed "" &&
	touch go && ended grows Complete && field_is job/grows .status.completedIndexes 0
'
test_expect_success 'shrunk to what is complete, it is complete' '
	job done "test \$JOB_COMPLETION_INDEX = 0 || sleep 60" "completionMode: Indexed
		completions: 3
		parallelism: 3" | kubectl apply -f - && wait_until 10 "field_is job/done .status.completedIndexes 0" &&
	size done 1 && ended done Complete && field_is job/done .status.succeeded 1
'
test_expect_success 'completions alone may not change' '
	job alone "sleep 60" "completionMode: Indexed
		completions: 2
		parallelism: 2" | kubectl apply -f - &&
	! kubectl patch job alone -p "{\"spec\":{\"completions\":3}}" 2>err &&
	grep "can only be modified in tandem with spec.parallelism" err && kubectl delete job alone
'
test_expect_success 'a parallelism of 0 pauses, more continues' '
	job pause "sleep 0.2" "completions: 3
		parallelism: 0" | kubectl apply -f - && sleep 0.3 && test -z "$(pods pause)" &&
	kubectl patch job pause -p "{\"spec\":{\"parallelism\":3}}" && ended pause Complete
'
test_done
