#!/bin/sh
# Fair sharing: what nobody owns is divided by weight, not by who came first.

test_description='fair sharing: an idle pool is divided by weight, and the over-served give way'
. "$(dirname "$0")/lib.sh"

need_kubectl
cat >kueue.yaml <<'EOF'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing:
  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
EOF
start_berth --hollow-nodes 2 --queue-config kueue.yaml

team() { # NAME WEIGHT - owns nothing, may use all of the pool
	cat <<-END
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: $1}
	spec:
	  cohortName: lab
	  namespaceSelector: {}
	  fairSharing: {weight: "$2"}
	  preemption: {reclaimWithinCohort: Any}
	  resourceGroups:
	  - coveredResources: [cpu]
	    flavors:
	    - name: box
	      resources: [{name: cpu, nominalQuota: 0}]
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: $1}
	spec: {clusterQueue: $1}
	END
}
pool() {
	cat <<-END
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ResourceFlavor
	metadata: {name: box}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: Cohort
	metadata: {name: lab}
	spec:
	  resourceGroups:
	  - coveredResources: [cpu]
	    flavors:
	    - name: box
	      resources: [{name: cpu, nominalQuota: 8}]
	END
}
running() { # QUEUE - how many of its jobs run
	kubectl get workloads -o "jsonpath={range .items[?(@.spec.queueName==\"$1\")]}{.status.conditions[?(@.type==\"Admitted\")].status}{\"\n\"}{end}" | grep -c True
}

test_expect_success 'a pool of 8 that no team owns' '
	{ pool; team red 1; team blue 1; } >teams.yaml && kubectl apply -f teams.yaml &&
	kubectl wait clusterqueue/red clusterqueue/blue --for=condition=Active --timeout=10s
'
test_expect_success 'red comes first and takes all of it' '
	for i in 1 2 3 4 5 6 7 8; do queued red-$i red 1 600 | kubectl create -f - || return 1; done &&
	wait_until 10 "test \$(running red) = 8"
'
test_expect_success 'blue comes and gets half: red gives way, one for one' '
	for i in 1 2 3 4 5 6; do queued blue-$i blue 1 600 | kubectl create -f - || return 1; done &&
	wait_until 15 "test \$(running blue) = 4 && test \$(running red) = 4"
'
test_expect_success 'a share is what a queue uses beyond its own, in thousandths of what there is to lend' '
	wait_until 10 "kubectl get clusterqueue red -o jsonpath={.status.fairSharing.weightedShare} | grep ^500$" &&
	wait_until 10 "kubectl get clusterqueue blue -o jsonpath={.status.fairSharing.weightedShare} | grep ^500$"
'
test_expect_success 'those that went say why' '
	kubectl get workloads -o yaml | grep "reason: InCohortFairSharing"
'
test_expect_success 'then nothing moves any more' '
	kubectl get workloads -o jsonpath="{range .items[*]}{.metadata.name} {.status.conditions[?(@.type==\"Admitted\")].status} {.status.schedulingStats}{\"\n\"}{end}" >before &&
	queued blue-7 blue 1 600 | kubectl create -f - &&
	wait_until 10 "berth why job/blue-7 | grep WaitingForQuota" &&
	kubectl get workloads -o jsonpath="{range .items[*]}{.metadata.name} {.status.conditions[?(@.type==\"Admitted\")].status} {.status.schedulingStats}{\"\n\"}{end}" | grep -v blue-7 >after &&
	cmp before after
'
test_expect_success 'a team that weighs three times as much gets three quarters' '
	{ pool; team red 1; team blue 3; } | kubectl apply -f - &&
	wait_until 15 "test \$(running blue) = 6 && test \$(running red) = 2"
'
test_done
