#!/bin/sh
# Urgent work goes first, and may put less urgent work of its own queue back in line.

test_description='priorities: who goes first, who has to go, and what a higher class would change'
. "$(dirname "$0")/lib.sh"

need_kubectl
start_berth --hollow-nodes 1

cat >queue.yaml <<'EOF'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: box}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: shared}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: shared}
spec: {clusterQueue: shared}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: paper-deadline}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: whenever}
value: -10
EOF

test_expect_success 'a queue, and two classes' 'kubectl apply -f queue.yaml'
test_expect_success 'two jobs fill it; a third of the same priority waits' '
	queued long shared 3 600 whenever | kubectl create -f - &&
	kubectl wait job/long --for=jsonpath="{.status.active}"=1 --timeout=10s &&
	queued short shared 1 600 | kubectl create -f - &&
	kubectl wait job/short --for=jsonpath="{.status.active}"=1 --timeout=10s &&
	queued third shared 2 1 whenever | kubectl create -f - &&
	wait_until 10 "berth why job/third | grep WaitingForQuota"
'
test_expect_success 'why tells that nobody has to go for it, and from which priority on somebody would' '
	berth why job/third >got && cat got &&
	grep "held by .*2 may not be evicted for it: their priority is not lower" got &&
	grep "priority -9 instead of -10 (evicts 1 workload)" got &&
	berth why job/third -o json | grep "\"spared\": \"PriorityNotLower\""
'
test_expect_success 'an urgent one takes the place of the least urgent' '
	queued urgent shared 3 600 paper-deadline | kubectl create -f - &&
	kubectl wait job/urgent --for=jsonpath="{.status.active}"=1 --timeout=10s &&
	kubectl wait job/long --for=jsonpath="{.spec.suspend}"=true --timeout=10s &&
	test "$(kubectl get job short -o jsonpath="{.status.active}")" = 1
'
test_expect_success 'the one that went says who came' '
	name=$(kubectl get workloads -o name | grep job-long) &&
	kubectl get $name -o jsonpath="{.status.conditions[?(@.type==\"Preempted\")].reason}" | grep InClusterQueue &&
	kubectl get events | grep "EvictedDueToPreempted" &&
	uid=$(kubectl get $(kubectl get workloads -o name | grep job-urgent) -o jsonpath={.metadata.uid}) &&
	kubectl get $name -o jsonpath="{.status.conditions[?(@.type==\"Preempted\")].message}" | grep "$uid"
'
test_expect_success 'a waiting job whose class is raised goes first' '
	queued later shared 2 1 | kubectl create -f - && wait_until 10 "berth why job/later | grep Waiting" &&
	kubectl label job third --overwrite kueue.x-k8s.io/priority-class=paper-deadline &&
	wait_until 10 "kubectl get workloads -o jsonpath=\"{range .items[*]}{.metadata.name} {.spec.priority}{\\\"\\\\n\\\"}{end}\" | grep \"job-third.* 1000\""
'
test_expect_success 'and runs before it, once there is room' '
	kubectl delete job urgent && kubectl wait job/third --for=condition=Complete --timeout=20s
'
test_done
