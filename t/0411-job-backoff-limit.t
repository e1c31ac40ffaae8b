#!/bin/sh
# A Job that fails is tried again, later each time, and not for ever.

test_description='backoffLimit: how often, how late, and what the status says'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 1s

test_expect_success 'a limit of 0: the first failure ends it' '
	job once "exit 3" "backoffLimit: 0" | kubectl apply -f - && ended once Failed &&
	test "$(reason once Failed)" = BackoffLimitExceeded &&
	test "$(reason once FailureTarget)" = BackoffLimitExceeded &&
	field_is job/once .status.failed 1 && test "$(pods once | wc -l)" = 1
'
# J7 of the reported cases
test_expect_success 'a limit of 2: three pods, each later than the one before' '
	job thrice "date +%s%N >>$work/at; exit 1" "backoffLimit: 2" | kubectl apply -f - &&
	ended thrice Failed && field_is job/thrice .status.failed 3 && test "$(pods thrice | wc -l)" = 3 &&
	: "times of ends are whole seconds" && awk "NR == 3 && (\$1 - last) / 1e9 < 1 { exit 1 } { last = \$1 }" at
'
test_expect_success 'it says so in an Event' '
	events once | grep "Warning BackoffLimitExceeded Job has reached the specified backoff limit"
'
test_expect_success 'with OnFailure the container is started again in its pod' '
	kubectl apply -f - <<-END && ended again Complete && test "$(pods again | wc -l)" = 1 &&
	apiVersion: batch/v1
	kind: Job
	metadata: {name: again}
	spec:
	  template:
	    spec:
	      restartPolicy: OnFailure
	      containers: [{name: c, image: host, command: [sh, -c, "echo run >>$work/runs; test \$(wc -l <$work/runs) = 2"]}]
	END
	test "$(kubectl get pods -l job-name=again -o "jsonpath={.items[0].status.containerStatuses[0].restartCount}")" = 1
'
# J01 of the reported cases
test_expect_success 'others that run go on, and are counted, while one waits for its turn' '
	job three "mkdir $work/first && exit 1; sleep 2" "completions: 3
		parallelism: 3" | kubectl apply -f - &&
	wait_until 10 "field_is job/three .status.failed 1" &&
	kubectl get job three -o jsonpath="{.status.active} {.status.ready}" >got && awk "\$2 > \$1 || \$1 < 2 { exit 1 }" got &&
	ended three Complete && field_is job/three .status.succeeded 3
'
test_done
