#!/bin/sh
# kill -9 of berth while Jobs and a CronJob are under way, again and again, at moments that differ:
# controllers begin anew from what is written down. ROUNDS says how often (4; `make check-crash` 200).

test_description='kill -9 at any step of a Job: nothing runs twice, nothing is left behind'
. "$(dirname "$0")/lib.sh"
need_kubectl

rounds=${ROUNDS:-4}
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	rm -f up.out
	start_berth --job-backoff 200ms
	kubectl apply -f - >/dev/null <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: all-$round}
	spec:
	  completions: 8
	  parallelism: 4
	  completionMode: Indexed
	  template:
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: host, command: [sh, -c, "echo all-$round-\$JOB_COMPLETION_INDEX >>$work/ran; sleep 0.1"]}]
	---
	apiVersion: batch/v1
	kind: Job
	metadata: {name: fails-$round}
	spec:
	  completions: 3
	  parallelism: 3
	  completionMode: Indexed
	  backoffLimitPerIndex: 0
	  template:
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: host, command: [sh, -c, "echo fails-$round-\$JOB_COMPLETION_INDEX >>$work/ran; test \$JOB_COMPLETION_INDEX != 1"]}]
	---
	apiVersion: batch/v1
	kind: CronJob
	metadata: {name: tick-$round}
	spec:
	  schedule: "@every 1h"
	  jobTemplate:
	    spec:
	      template:
	        spec:
	          restartPolicy: Never
	          containers: [{name: c, image: host, command: [sh, -c, "true"]}]
	END
	sleep "0.$((round * 53 % 80 + 10))"
	kill_berth
	rm -f up.out
	start_berth --job-backoff 200ms
	sleep "0.$((round * 29 % 60 + 10))"
	kill_berth
done
rm -f up.out
start_berth --job-backoff 200ms

test_expect_success 'every Job ends as it should' '
	i=0 && while [ $i -lt '$rounds' ]; do
		i=$((i + 1))
		ended all-$i Complete 60 && field_is job/all-$i .status.succeeded 8 && field_is job/all-$i .status.failed "" || exit 1
		ended fails-$i Failed 60 && field_is job/fails-$i .status.succeeded 2 && field_is job/fails-$i .status.failed 1 &&
			field_is job/fails-$i .status.failedIndexes 1 && field_is job/fails-$i .status.completedIndexes 0,2 || exit 1
	done
'
test_expect_success 'each index ran once' '
	sort ran | uniq -d >twice && cat twice && test ! -s twice && test "$(wc -l <ran)" = $(('$rounds' * 11))
'
test_expect_success 'as many pods as indexes, and none holds a finalizer' '
	test "$(kubectl get pods -o name | wc -l)" = $(('$rounds' * 11)) &&
	test -z "$(kubectl get pods -o "jsonpath={.items[*].metadata.finalizers}")"
'
test_expect_success 'nothing waits to be counted' '
	test -z "$(kubectl get jobs -o "jsonpath={.items[*].status.uncountedTerminatedPods.*}")" &&
	test -z "$(kubectl get jobs -o "jsonpath={.items[*].status.active}")"
'
test_expect_success 'the keeper dies: what it kept goes with it, the Job counts that and goes on' '
	kubectl apply -f - <<-END && wait_until 10 "test -e first" &&
	apiVersion: batch/v1
	kind: Job
	metadata: {name: lost}
	spec:
	  template:
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: host, command: [sh, -c, "test -e $work/first && exit 0; touch $work/first; exec sleep $((100000 + $$))"]}]
	END
	child=$(pgrep -fx "sleep $((100000 + $$))") && kill -9 "$(ps -o ppid= -p $child | tr -d " ")" &&
	wait_until 10 "! kill -0 $child" && ended lost Complete 30 && field_is job/lost .status.failed 1 && field_is job/lost .status.succeeded 1 &&
	kubectl get pods -l job-name=lost -o "jsonpath={.items[*].status.containerStatuses[*].state.terminated.reason}" | grep KeeperLost
'
test_done
