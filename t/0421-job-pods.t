#!/bin/sh
# Whose a pod is: by its controller reference, and by the Job's selector.

test_description='selectors, adoption and release, deletion, lost pods'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 200ms
pod() { # NAME LABEL SCRIPT
	kubectl apply -f - <<-END
	apiVersion: v1
	kind: Pod
	metadata: {name: $1, labels: {app: $2}}
	spec:
	  restartPolicy: Never
	  terminationGracePeriodSeconds: 1
	  containers: [{name: c, image: host, command: [sh, -c, "$3"]}]
	END
}
by_app() { # NAME COMPLETIONS SCRIPT
	kubectl apply -f - <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: $1}
	spec:
	  completions: $2
	  parallelism: $2
	  manualSelector: true
	  selector: {matchLabels: {app: $1}}
	  template:
	    metadata: {labels: {app: $1}}
	    spec:
	      restartPolicy: Never
	      terminationGracePeriodSeconds: 1
	      containers: [{name: c, image: host, command: [sh, -c, "$3"]}]
	END
}
owner() { field "$1" ".metadata.ownerReferences[*].name"; }

test_expect_success 'a pod that was there and is selected is the Job'"'"'s, and is counted' '
	pod loose mine "sleep 1" && by_app mine 2 "sleep 1" && ended mine Complete &&
	field_is pod/loose ".metadata.ownerReferences[0].name" mine && field_is job/mine .status.succeeded 2 &&
	test "$(kubectl get pods -l app=mine -o name | wc -l)" = 2 &&
	field_is pod/loose .metadata.finalizers ""
'
test_expect_success 'one that comes later is taken too; what is one too many goes' '
	by_app later 1 "sleep 30" && wait_until 10 "field_is job/later .status.ready 1" && pod extra later "sleep 20" &&
	wait_until 10 "events later | grep \"SuccessfulDelete Deleted pod: extra\"" &&
	wait_until 10 "test \"\$(kubectl get pods -l app=later -o name | wc -l)\" = 1" &&
	field_is job/later .status.active 1 && field_is job/later .status.failed "" && kubectl delete job later
'
test_expect_success 'one whose labels no longer match is let go, and replaced' '
	by_app frees 1 "sleep 60" && wait_until 10 "field_is job/frees .status.ready 1" &&
	pod=$(kubectl get pods -l app=frees -o name) && kubectl label $pod app=other --overwrite &&
	wait_until 10 "test -z \"\$(owner $pod)\"" && field_is $pod .metadata.finalizers "" &&
	wait_until 10 "test \"\$(kubectl get pods -l app=frees -o name | wc -l)\" = 1" &&
	kubectl delete job frees && kubectl delete $pod
'
test_expect_success 'a pod of another controller is nobody else'"'"'s' '
	by_app first 1 "sleep 60" && wait_until 10 "field_is job/first .status.ready 1" &&
	pod=$(kubectl get pods -l app=first -o name) && kubectl label $pod app=second --overwrite &&
	wait_until 10 "test -z \"\$(owner $pod)\"" && by_app second 1 "sleep 60" &&
	wait_until 10 "test \"\$(owner $pod)\" = second" && test "$(kubectl get pods -l app=second -o name | wc -l)" = 1 &&
	kubectl delete job first second
'
test_expect_success 'a selector of one'"'"'s own needs manualSelector' '
	! job picks true "selector: {matchLabels: {app: x}}" | kubectl apply -f - 2>err &&
	grep "not auto-generated" err
'
test_expect_success 'deleted with its pods, deleted without them' '
	job takes "sleep 60" | kubectl apply -f - && wait_until 10 "field_is job/takes .status.ready 1" &&
	kubectl delete job takes && wait_until 10 "test -z \"\$(pods takes)\"" &&
	job leaves "sleep 60" | kubectl apply -f - && wait_until 10 "field_is job/leaves .status.ready 1" &&
	kubectl delete job leaves --cascade=orphan && pod=$(pods leaves) && test -n "$pod" &&
	wait_until 10 "field_is $pod .metadata.finalizers \"\"" && test -z "$(owner $pod)" && kubectl delete $pod
'
test_expect_success 'a pod that somebody deletes counts as failed, and is replaced' '
	job lost "mkdir $work/once || exit 0; sleep 60" | kubectl apply -f - && wait_until 10 "field_is job/lost .status.ready 1" &&
	kubectl delete $(pods lost) --now && ended lost Complete && field_is job/lost .status.failed 1 &&
	field_is job/lost .status.succeeded 1
'
# J24
test_expect_success 'a finalizer on a pod of a finished Job, whoever put it there, is taken away' '
	kubectl patch $(pods lost | head -1) -p "{\"metadata\":{\"finalizers\":[\"batch.kubernetes.io/job-tracking\"]}}" &&
	wait_until 10 "test -z \"\$(kubectl get pods -l job-name=lost -o \"jsonpath={.items[*].metadata.finalizers}\")\"" &&
	field_is job/lost .status.succeeded 1 && field_is job/lost .status.failed 1
'
test_done
