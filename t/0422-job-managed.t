#!/bin/sh
# spec.managedBy: a Job that another controller runs. Ours queues it and counts it, and leaves it
# alone otherwise. The other controller is the shell script below.

test_description='managedBy: another controller runs a Job from creation to Complete, through a queue'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 200ms --log debug
# managed NAME MANAGER [LINES]
managed() {
	job "$1" true "managedBy: $2
		${3:-}"
}
in_queue() { sed "s,^metadata: {name: \(.*\)},metadata: {name: \1\, labels: {kueue.x-k8s.io/queue-name: default}},"; }
status() { kubectl patch job "$1" --subresource=status --type=merge -p "{\"status\":$2}"; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
condition() { # TYPE REASON
	printf '{"type":"%s","status":"True","reason":"%s","lastTransitionTime":"%s"}' "$1" "$2" "$(now)"
}
external() { kubectl get --raw /metrics | grep "^job_controller_jobs_by_external_controller_total{controller_name=\"$1\"}"; }

# M2
test_expect_success 'nothing of ours touches it: no pod, no status, no Event; suspended or not' '
	managed idle example.com/runner | kubectl apply -f - &&
	managed held example.com/runner "suspend: true" | kubectl apply -f - &&
	job ours true | kubectl apply -f - && ended ours Complete &&
	field_is job/idle .status "{}" && field_is job/held .status "{}" && test -z "$(pods idle)" && test -z "$(events idle)"
'
test_expect_success 'it is counted, by who manages' 'external example.com/runner | grep " 2$"'
test_expect_success 'the log says that it was skipped, and for whom' '
	grep "job skipped.*what=\"sync\" job=default/idle uid=$(field job/idle .metadata.uid) managed-by=example.com/runner" up.err
'
test_expect_success 'berth why says who' 'berth why job/idle >got && cat got && grep "managed by *example.com/runner" got'
# M1
test_expect_success 'our own name is us' '
	managed self kubernetes.io/job-controller | kubectl apply -f - && ended self Complete && ! external kubernetes.io/job-controller
'
# M3, M4, M5
test_expect_success 'its form, its length; it never changes' '
	! managed bad "\"invalid custom controller name\"" | kubectl apply -f - 2>err && grep "must be a domain-prefixed path" err &&
	! managed bad example.com/$(printf "%060d" 0) | kubectl apply -f - 2>err && grep "may not be more than 63 bytes" err &&
	! kubectl patch job idle --type=merge -p "{\"spec\":{\"managedBy\":\"example.com/other\"}}" 2>err && grep "field is immutable" err &&
	! kubectl patch job ours --type=merge -p "{\"spec\":{\"managedBy\":\"example.com/other\"}}" 2>err && grep "field is immutable" err
'
test_expect_success 'a label of the older design means nothing' '
	managed label kubernetes.io/job-controller | sed "s,{name: label},{name: label\, labels: {batch.kubernetes.io/managed-by: x.io}}," |
	kubectl apply -f - && ended label Complete
'

# ---- the other controller, end to end ----

test_expect_success 'it waits in the queue like any other: suspended until admitted' '
	kubectl patch clusterqueue default --type=merge -p "{\"spec\":{\"stopPolicy\":\"Hold\"}}" &&
	managed far example.com/runner "completions: 2
		parallelism: 2" | in_queue | kubectl apply -f - &&
	wait_until 10 "field_is job/far .spec.suspend true" && field_is job/far .status "{}" &&
	wait_until 10 "kubectl get workloads -o name | grep far" && berth why job/far >got && grep "managed by" got
'
test_expect_success 'admitted: the queue lets it go' '
	kubectl patch clusterqueue default --type=merge -p "{\"spec\":{\"stopPolicy\":\"None\"}}" &&
	wait_until 10 "field_is job/far .spec.suspend false" && field_is job/far .status "{}"
'
test_expect_success 'its manager makes the pods, with the finalizer of ours, and tells the status' '
	uid=$(field job/far .metadata.uid) && for i in 1 2; do kubectl apply -f - <<-END || exit 1; done &&
	apiVersion: v1
	kind: Pod
	metadata:
	  name: far-$i
	  labels: {job-name: far, batch.kubernetes.io/controller-uid: $uid}
	  finalizers: [batch.kubernetes.io/job-tracking]
	  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: far, uid: $uid, controller: true}]
	spec:
	  restartPolicy: Never
	  containers: [{name: c, image: host, command: [sh, -c, "echo ran >>$work/far.ran"]}]
	END
	status far "{\"startTime\":\"$(now)\",\"active\":2,\"ready\":2}" &&
	kubectl wait pod/far-1 pod/far-2 --for=jsonpath={.status.phase}=Succeeded --timeout=20s && test "$(wc -l <far.ran)" = 2
'
# M8, M9, M10
test_expect_success 'the server holds its status to the rules of a Job' '
	! status far "{\"conditions\":[$(condition SuccessCriteriaMet X),$(condition Complete X)]}" 2>err && grep "completionTime" err &&
	! status far "{\"active\":1,\"ready\":2}" 2>err && grep "cannot set more ready pods than active" err &&
	! status far "{\"completedIndexes\":\"2-1\"}" 2>err && grep "completedIndexes" err &&
	! status far "{\"conditions\":[$(condition Failed X)]}" 2>err && grep "status.conditions" err
'
test_expect_success 'Complete: the queue has its quota back, and the Workload is finished' '
	status far "{\"active\":0,\"ready\":0,\"succeeded\":2,\"completionTime\":\"$(now)\",\"conditions\":[$(condition SuccessCriteriaMet CompletionsReached),$(condition Complete CompletionsReached)]}" &&
	ended far Complete && wait_until 10 "kubectl get workloads -o jsonpath=\"{.items[*].status.conditions[?(@.type==\\\"Finished\\\")].status}\" | grep True"
'
# M7
test_expect_success 'the finalizers of its pods are its own, whatever happens to Job and pods' '
	kubectl annotate pod far-1 touched=yes && kubectl annotate job far touched=yes &&
	job second true | kubectl apply -f - && ended second Complete &&
	field_is pod/far-1 ".metadata.finalizers[0]" batch.kubernetes.io/job-tracking &&
	field_is pod/far-2 ".metadata.finalizers[0]" batch.kubernetes.io/job-tracking &&
	field_is job/far ".status.succeeded" 2 && ! events far | grep -E "SuccessfulCreate|Completed|Resumed"
'
test_expect_success 'a finished Job never becomes unfinished' '
	! status far "{\"conditions\":[]}" 2>err && grep "cannot disable" err
'
test_expect_success 'when the Job is deleted, nobody knows the manager: pods and finalizers go' '
	kubectl delete job far && wait_until 10 "! kubectl get pod far-1" && wait_until 10 "! kubectl get pod far-2"
'
# M6
test_expect_success 'a name that was ours and is now another'"'"'s is left alone' '
	job reborn "sleep 60" | kubectl apply -f - && wait_until 10 "test -n \"\$(pods reborn)\"" && kubectl delete job reborn &&
	managed reborn example.com/runner | kubectl apply -f - && wait_until 10 "test -z \"\$(pods reborn)\"" &&
	field_is job/reborn .status "{}"
'
test_expect_success 'time to live counts for it, too' '
	managed short example.com/runner "ttlSecondsAfterFinished: 0" | kubectl apply -f - &&
	status short "{\"startTime\":\"$(now)\",\"conditions\":[$(condition FailureTarget X),$(condition Failed X)]}" &&
	wait_until 10 "! kubectl get job short"
'
test_done
