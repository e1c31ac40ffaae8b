#!/bin/sh
# A Job may take so long and no longer; so may a pod.

test_description='activeDeadlineSeconds of the Job and of its pods'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth

cat >told.sh <<'END'
trap 'echo told >told; exit 0' TERM
sleep 60 & wait
END

test_expect_success 'when its time is over, its pods are ended and it has failed' '
	job late "cd $work && . ./told.sh" "activeDeadlineSeconds: 3" |
	kubectl apply -f - && ended late Failed && test "$(reason late Failed)" = DeadlineExceeded &&
	field_is job/late .status.failed 1 && field_is job/late .status.active "" && grep told told
'
test_expect_success 'no retry outlives it' '
	job tries "exit 1" "activeDeadlineSeconds: 1
		backoffLimit: 100" | kubectl apply -f - && ended tries Failed &&
	test "$(reason tries Failed)" = DeadlineExceeded
'
test_expect_success 'a deadline of 0 ends it at once' '
	job none true "activeDeadlineSeconds: 0" | kubectl apply -f - && ended none Failed &&
	test "$(reason none Failed)" = DeadlineExceeded
'
test_expect_success 'the deadline of a pod is its own: the Job may try again' '
	kubectl apply -f - <<-END && ended pod Failed && test "$(reason pod Failed)" = BackoffLimitExceeded &&
	apiVersion: batch/v1
	kind: Job
	metadata: {name: pod}
	spec:
	  backoffLimit: 0
	  template:
	    spec:
	      restartPolicy: Never
	      activeDeadlineSeconds: 1
	      terminationGracePeriodSeconds: 1
	      containers: [{name: c, image: host, command: [sleep, "60"]}]
	END
	field_is "$(pods pod)" .status.reason DeadlineExceeded && field_is "$(pods pod)" .status.phase Failed
'
test_expect_success 'a later deadline, given while it runs, counts' '
	job longer "sleep 5" "activeDeadlineSeconds: 4" | kubectl apply -f - &&
	kubectl patch job longer -p "{\"spec\":{\"activeDeadlineSeconds\":30}}" && ended longer Complete
'
test_done
