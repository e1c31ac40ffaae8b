#!/bin/sh
# What others ran into, and what happens here: each case is a public report about a queueing
# system, named as in src/queue/test/reports.c, which has the engine's part of it.

test_description='cases from public reports, by kubectl'
. "$(dirname "$0")/lib.sh"

need_kubectl
start_berth --hollow-nodes 4 --no-defaults

kubectl apply -f - >/dev/null <<'END'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: box}
END

# cq NAME CPU [MORE] - a ClusterQueue of so much, MORE lines of its spec, and its LocalQueue
cq() {
	cat <<-END
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: $1}
	spec:
	  namespaceSelector: {}
	  resourceGroups:
	  - coveredResources: [cpu]
	    flavors: [{name: box, resources: [{name: cpu, nominalQuota: $2}]}]
	END
	[ -z "${3:-}" ] || printf '%s\n' "$3" | sed 's/^/  /'
	cat <<-END
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: $1}
	spec: {clusterQueue: $1}
	END
}
workload_of() { kubectl get workloads -o "jsonpath={.items[?(@.metadata.ownerReferences[0].name==\"$1\")].metadata.name}"; }
runs() { kubectl get job "$1" -o jsonpath={.spec.suspend} | grep -q false; }
used() { kubectl get clusterqueue "$1" -o "jsonpath={.status.flavorsReservation[0].resources[0].total}"; }
evictions() { kubectl get workload "$(workload_of "$1")" -o "jsonpath={.status.schedulingStats.evictions[*].count}"; }

test_expect_success 'K01 a head that is too big does not keep out what fits, nor evict for ever' '
	{ cq k01a 3 "cohortName: k01
preemption: {reclaimWithinCohort: Any}"; cq k01b 0 "cohortName: k01"; } | kubectl apply -f - &&
	queued b1 k01b 1 600 | kubectl create -f - && wait_until 10 "runs b1" &&
	queued a4 k01a 4 600 | kubectl create -f - && wait_until 10 "berth why job/a4 | grep ExceedsMaxQuota" &&
	queued a3 k01a 3 600 | kubectl create -f - &&
	wait_until 10 "runs a3 && ! runs b1" && test "$(evictions b1)" = 1 && ! runs a4
'
test_expect_success 'K03 strict order blocks across flavors, and says who is in front' '
	kubectl apply -f - <<-END &&
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: k03}
	spec:
	  namespaceSelector: {}
	  queueingStrategy: StrictFIFO
	  resourceGroups:
	  - coveredResources: [example.com/gpu]
	    flavors: [{name: box, resources: [{name: example.com/gpu, nominalQuota: 1}]}]
	  - coveredResources: [cpu]
	    flavors: [{name: box2, resources: [{name: cpu, nominalQuota: 10}]}]
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ResourceFlavor
	metadata: {name: box2}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: k03}
	spec: {clusterQueue: k03}
	END
	gpu() { queued $1 k03 1 600 | sed "s|requests: {cpu: \"1\"}|requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}|"; } &&
	gpu g1 | kubectl create -f - && wait_until 10 "runs g1" &&
	gpu g2 | kubectl create -f - && wait_until 10 "berth why job/g2 | grep WaitingForQuota" &&
	next_second && queued c1 k03 1 600 | kubectl create -f - &&
	wait_until 10 "berth why job/c1 | grep \"StrictFIFO: waiting behind .*g2.* (needs 1 example.com/gpu, 0 free)\"" &&
	! runs c1
'
test_expect_success 'K03 in the other order of queueing it starts' '
	kubectl patch clusterqueue k03 --type=merge -p "{\"spec\":{\"queueingStrategy\":\"BestEffortFIFO\"}}" &&
	wait_until 10 "runs c1" && ! runs g2
'
test_expect_success 'K11 who is first in line is counted as waiting, whenever one looks' '
	cq k11 9 "queueingStrategy: StrictFIFO" | kubectl apply -f - &&
	queued nine k11 1 600 | sed "s/  template:/  parallelism: 9\n  completions: 9\n&/;" | kubectl create -f - && wait_until 10 "runs nine" &&
	for i in 1 2 3; do queued more-$i k11 1 600 | kubectl create -f - || return 1; done &&
	wait_until 10 "test \$(kubectl get clusterqueue k11 -o jsonpath={.status.pendingWorkloads}) = 3" &&
	for i in 1 2 3 4 5 6 7 8 9 10; do
		kubectl get clusterqueue k11 -o "jsonpath={.status.pendingWorkloads} {.status.admittedWorkloads}" | grep -x "3 1" || return 1
	done
'
test_expect_success 'K17 a victim that lingers is asked once, and its place is taken once it is gone' '
	{ cq k17 1 "preemption: {withinClusterQueue: LowerPriority}"; printf -- "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: urgent}\nvalue: 100\n"; } | kubectl apply -f - &&
	queued victim k17 1 600 | kubectl create -f - && wait_until 10 "runs victim && kubectl get pods -l job-name=victim -o name | grep pod" &&
	kubectl patch pods -l job-name=victim --type=merge -p "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}" 2>/dev/null ||
	kubectl patch $(kubectl get pods -l job-name=victim -o name) --type=merge -p "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}" &&
	queued urgent k17 1 600 urgent | kubectl create -f - &&
	v=$(workload_of victim) && kubectl wait workload/$v --for=condition=Evicted --timeout=10s &&
	queued third k17 1 600 | kubectl create -f - && wait_until 10 "berth why job/third | grep WaitingForQuota" &&
	test "$(evictions victim)" = 1 &&
	kubectl patch $(kubectl get pods -l job-name=victim -o name) --type=merge -p "{\"metadata\":{\"finalizers\":null}}" &&
	wait_until 15 "runs urgent" && test "$(evictions victim)" = 1
'
test_expect_success 'K19 a full queue and something urgent: the newest goes, and only that, though machines are idle' '
	cq k19 4 "preemption: {withinClusterQueue: LowerPriority}" | kubectl apply -f - &&
	for i in 1 2 3 4; do queued low-$i k19 1 600 | kubectl create -f - && wait_until 10 "runs low-$i" && next_second || return 1; done &&
	queued high k19 1 600 urgent | kubectl create -f - && wait_until 15 "runs high" &&
	runs low-1 && runs low-2 && runs low-3 && ! runs low-4
'
test_expect_success 'K21 partial admission down to exactly the minimum: the Job starts with that many' '
	cq k21 9 | kubectl apply -f - &&
	queued ten k21 1 600 | sed "s/^  name: ten/&\n  annotations: {kueue.x-k8s.io\/job-min-parallelism: \"9\"}/; s/^  template:/  parallelism: 10\n  completions: 10\n  completionMode: Indexed\n&/" >ten.yaml &&
	kubectl create -f ten.yaml && wait_until 10 "runs ten" &&
	test "$(kubectl get job ten -o jsonpath={.spec.parallelism})" = 9 &&
	test "$(kubectl get workload $(workload_of ten) -o jsonpath={.status.admission.podSetAssignments[0].count})" = 9
'
test_expect_success 'K25 an owner that is still going away keeps its quota; gone, it is free' '
	cq k25 2 | kubectl apply -f - && queued going k25 2 600 | kubectl create -f - &&
	wait_until 10 "runs going && kubectl get pods -l job-name=going -o name | grep pod" &&
	pod=$(kubectl get pods -l job-name=going -o name) &&
	kubectl patch $pod --type=merge -p "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}" &&
	kubectl delete job going --cascade=foreground --wait=false &&
	wait_until 10 "kubectl get $pod -o jsonpath={.metadata.deletionTimestamp} | grep T" &&
	queued next k25 2 600 | kubectl create -f - && wait_until 10 "berth why job/next | grep WaitingForQuota" &&
	kubectl get job going && wait_until 10 "test \"\$(used k25)\" = 2" && ! runs next &&
	kubectl patch $pod --type=merge -p "{\"metadata\":{\"finalizers\":null}}" &&
	wait_until 15 "runs next"
'
test_expect_success 'K25 an owner deleted alone: the Workload is finished at once, with nothing left behind' '
	w=$(workload_of next) && kubectl delete job next --cascade=orphan &&
	wait_until 15 "kubectl get workload $w -o jsonpath={.status.conditions[?\(@.type==\\\"Finished\\\"\)].reason} | grep OwnerNotFound || ! kubectl get workload $w" &&
	wait_until 10 "test \"\$(used k25)\" = 0" &&
	test -z "$(kubectl get workload $w -o jsonpath={.metadata.finalizers} 2>/dev/null)"
'
test_expect_success 'K27 limits count as requests before the default of a LimitRange does' '
	kubectl create namespace ns27 &&
	cq k27 8 | sed "s/^metadata: {name: k27}/&/" | kubectl apply -n ns27 -f - &&
	kubectl apply -n ns27 -f - <<-END &&
	apiVersion: v1
	kind: LimitRange
	metadata: {name: d}
	spec: {limits: [{type: Container, defaultRequest: {cpu: "1"}}]}
	END
	queued limits k27 3 600 | sed "s/requests:/limits:/" | kubectl create -n ns27 -f - &&
	wait_until 10 "test \"\$(used k27)\" = 3"
'
test_expect_success 'A07 a late "not admitted" loses against the admission' '
	cq a07 1 "stopPolicy: Hold" | kubectl apply -f - && queued late a07 1 600 | kubectl create -f - &&
	wait_until 10 "workload_of late | grep late" && w=$(workload_of late) &&
	rv=$(kubectl get workload $w -o jsonpath={.metadata.resourceVersion}) &&
	cq a07 1 | kubectl apply -f - && kubectl patch clusterqueue a07 --type=merge -p "{\"spec\":{\"stopPolicy\":\"None\"}}" &&
	wait_until 10 "runs late" &&
	cat >late.yaml <<-END &&
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: Workload
	metadata: {name: $w, namespace: default, resourceVersion: "$rv"}
	status:
	  conditions:
	  - {type: QuotaReserved, status: "False", reason: Pending, message: queue missing, lastTransitionTime: "2030-01-01T00:00:00Z"}
	END
	! kubectl apply --server-side --subresource=status --field-manager=late --force-conflicts -f late.yaml 2>err &&
	grep -i "conflict\|modified" err &&
	runs late && kubectl wait workload/$w --for=condition=QuotaReserved --timeout=5s
'
test_done
