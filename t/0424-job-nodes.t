#!/bin/sh
# Nodes go, or let nobody stay: the Job's pods go on elsewhere, and the status says so. (A Node that is
# deleted, and one that comes back in time, take a minute: sim/test/lost.c.)

test_description='Jobs whose nodes are cordoned, tainted or emptied'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --hollow-nodes 2 --job-backoff 200ms
# long NAME [LINES] - a pod of an hour, on whatever node there is
long() {
	kubectl apply -f - <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: $1}
	spec:
	  $(printf '%s\n' "${2:-}" | sed 's/^[[:space:]]*//')
	  template:
	    metadata: {annotations: {berth.dev/run-for: 1h}}
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: hollow, command: ["true"]}]
	END
}
node() { kubectl get pods -l "job-name=$1" --field-selector status.phase=Running -o "jsonpath={.items[*].spec.nodeName}"; }
runs() { wait_until 10 "test -n \"\$(node $1)\""; }

test_expect_success 'cordoned nodes take no more pods; what runs stays' '
	long stays && runs stays && was=$(node stays) && kubectl cordon $was && other=$(kubectl get nodes -o name | sed -n "s,node/\(hollow-.*\),\1,p" | grep -v $was) &&
	long next && runs next && test "$(node next)" = $other && test "$(node stays)" = $was && kubectl uncordon $was
'
test_expect_success 'a node where nobody may stay: the pod is disrupted, counts as failed, and runs elsewhere' '
	was=$(node stays) && kubectl taint node $was maintenance=now:NoExecute &&
	wait_until 20 "test -n \"\$(node stays)\" && test \"\$(node stays)\" != $was" && field_is job/stays .status.failed 1 &&
	kubectl taint node $was maintenance- && kubectl delete job stays next
'
test_expect_success 'where a rule ignores disruptions, it does not count' '
	long moves "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}" && runs moves &&
	was=$(node moves) && kubectl taint node $was maintenance=now:NoExecute &&
	wait_until 20 "test -n \"\$(node moves)\" && test \"\$(node moves)\" != $was" && field_is job/moves .status.failed "" &&
	kubectl taint node $was maintenance-
'
test_expect_success 'drained: evicted pods run elsewhere' '
	was=$(node moves) && kubectl drain $was --ignore-daemonsets --force --timeout=30s &&
	wait_until 20 "test -n \"\$(node moves)\" && test \"\$(node moves)\" != $was" && kubectl uncordon $was
'
test_done
