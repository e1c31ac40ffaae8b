#!/bin/sh
# A queue can be held (nobody new starts) or drained (who runs is stopped, too), and opened again.

test_description='hold and drain: a queue stops, says so, and goes on'
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
metadata: {name: night}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: night}
spec: {clusterQueue: night}
EOF
stop() { kubectl patch "$1" --type merge -p "{\"spec\":{\"stopPolicy\":\"$2\"}}"; }

test_expect_success 'a queue with a job that runs' '
	kubectl apply -f queue.yaml && queued runs night 2 600 | kubectl create -f - &&
	kubectl wait job/runs --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'held: who runs goes on, who comes waits and is told that the queue is stopped' '
	stop clusterqueue/night Hold &&
	queued waits night 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/waits | grep \"ClusterQueue night is inactive\"" &&
	berth why job/waits -o json | grep "\"code\": \"Suspended\"" &&
	kubectl wait clusterqueue/night --for=condition=Active=False --timeout=5s &&
	test "$(kubectl get job runs -o jsonpath="{.status.active}")" = 1
'
test_expect_success 'opened again: it runs' '
	stop clusterqueue/night None && kubectl wait job/waits --for=condition=Complete --timeout=20s
'
test_expect_success 'drained: who runs is stopped and waits' '
	stop clusterqueue/night HoldAndDrain &&
	kubectl wait job/runs --for=jsonpath="{.spec.suspend}"=true --timeout=10s &&
	wait_until 10 "kubectl get workloads -o yaml | grep ClusterQueueStopped" &&
	wait_until 10 "berth why job/runs | grep Suspended"
'
test_expect_success 'opened again: it starts anew by itself' '
	stop clusterqueue/night None &&
	kubectl wait job/runs --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'a LocalQueue alone can be drained, too' '
	stop localqueue/night HoldAndDrain &&
	kubectl wait job/runs --for=jsonpath="{.spec.suspend}"=true --timeout=10s &&
	wait_until 10 "berth why job/runs | grep \"LocalQueue night is inactive\"" &&
	stop localqueue/night None &&
	kubectl wait job/runs --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'one workload alone can be taken out and put back' '
	name=$(kubectl get workloads -o name | grep job-runs) &&
	kubectl patch $name --type merge -p "{\"spec\":{\"active\":false}}" &&
	kubectl wait job/runs --for=jsonpath="{.spec.suspend}"=true --timeout=10s &&
	wait_until 10 "berth why job/runs | grep deactivated" &&
	kubectl patch $name --type merge -p "{\"spec\":{\"active\":true}}" &&
	kubectl wait job/runs --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'a queue that is deleted stays while somebody uses it, admits nobody, and goes with the last' '
	kubectl delete clusterqueue night --wait=false && kubectl delete resourceflavor box --wait=false &&
	kubectl wait clusterqueue/night --for=jsonpath="{.status.conditions[0].reason}"=Terminating --timeout=10s &&
	queued after night 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/after | grep \"ClusterQueue night\"" &&
	test "$(kubectl get job runs -o jsonpath="{.status.active}")" = 1 &&
	kubectl get resourceflavor box &&
	kubectl delete job runs && kubectl wait clusterqueue/night --for=delete --timeout=10s &&
	kubectl wait resourceflavor/box --for=delete --timeout=10s
'
test_done
