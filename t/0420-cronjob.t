#!/bin/sh
# A CronJob makes Jobs: by hand at once, else when the minute comes. (What takes many minutes, such as
# concurrency policies, history, times that were missed and clocks that are set: sim/test/cron.c.)

test_description='CronJobs: manual runs, the minute, what is suspended or active, schedules and zones'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth
cron() { # NAME SCHEDULE SCRIPT [LINES]
	printf 'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: %s}\nspec:\n  schedule: "%s"\n' "$1" "$2"
	printf '%s\n' "${4:-}" | sed 's/^[[:space:]]*//;/^$/d;s/^/  /'
	printf '  jobTemplate:\n    metadata: {labels: {cron: %s}}\n    spec:\n      template:\n        spec:\n' "$1"
	printf '          restartPolicy: Never\n          containers: [{name: c, image: host, command: [sh, -c, "%s"]}]\n' "$3"
}

test_expect_success 'CronJobs of a short span, for a test that does not wait for minutes' '
	cron tick "@every 2s" "echo ran >>$work/ticks" | kubectl apply -f - &&
	cron wait "@every 2s" "sleep 600" "concurrencyPolicy: Forbid" | kubectl apply -f - &&
	cron paused "@every 1s" true "suspend: true" | kubectl apply -f -
'
test_expect_success 'a run by hand: kubectl create job --from' '
	cron nightly "0 3 * * *" "echo hand >>$work/by-hand" | kubectl apply -f - &&
	kubectl create job now --from=cronjob/nightly && ended now Complete && grep hand by-hand &&
	field_is job/now ".metadata.ownerReferences[0].name" nightly &&
	field_is job/now ".metadata.annotations.cronjob\.kubernetes\.io/instantiate" manual
'
test_expect_success 'wrong schedules, zones and names are refused' '
	! cron bad "60 * * * *" true | kubectl apply -f - 2>err && grep "spec.schedule: Invalid value" err &&
	! cron bad "* * * * *" true "timeZone: Mars/Olympus" | kubectl apply -f - 2>err && grep "spec.timeZone: Invalid value" err &&
	! cron bad "TZ=UTC * * * * *" true | kubectl apply -f - 2>err && grep "spec.schedule: Invalid value" err &&
	! cron $(printf "%053d" 0 | tr 0 a) "* * * * *" true | kubectl apply -f - 2>err && grep "metadata.name: Invalid value" err
'
test_expect_success 'columns say when and in which zone' '
	cron zone "30 6 * * 1-5" true "timeZone: Europe/Berlin" | kubectl apply -f - && kubectl get cronjob zone >got &&
	grep "Europe/Berlin" got
'
test_expect_success 'its time came: a Job named by its minute, with the time in an annotation' '
	wait_until 10 "test -s ticks" && wait_until 5 "test -n \"\$(kubectl get jobs -l cron=tick -o name)\"" &&
	name=$(kubectl get jobs -l cron=tick -o name | head -1) && minute=${name#job.batch/tick-} &&
	test $((minute * 60)) -le $(date +%s) && test $((minute * 60 + 70)) -ge $(date +%s) &&
	field $name ".metadata.annotations.batch\.kubernetes\.io/cronjob-scheduled-timestamp" | grep "^20.*T.*Z$" &&
	events tick | grep "Normal SuccessfulCreate Created job tick-$minute" &&
	wait_until 5 "test -n \"\$(field cronjob/tick .status.lastScheduleTime)\"" &&
	wait_until 5 "test -n \"\$(field cronjob/tick .status.lastSuccessfulTime)\""
'
test_expect_success 'what is suspended made none; what runs is in the list of active ones' '
	test -z "$(kubectl get jobs -l cron=paused -o name)" &&
	wait_until 10 "field cronjob/wait .status.active[*].name | grep ^wait-" &&
	kubectl delete cronjob --all && wait_until 10 "test -z \"\$(kubectl get jobs -o name)\""
'
test_done
