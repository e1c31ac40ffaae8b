#!/bin/sh
# Jobs share a quota; who waits is told why, in numbers, and runs when quota frees.

test_description='queueing for quota: run, wait, why, run'
. "$(dirname "$0")/lib.sh"
start_berth

queue() {
	cat <<-EOF
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ResourceFlavor
	metadata: {name: small}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: small}
	spec:
	  namespaceSelector: {}
	  resourceGroups:
	  - coveredResources: [cpu]
	    flavors:
	    - name: small
	      resources: [{name: cpu, nominalQuota: $1}]
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: small, namespace: default}
	spec: {clusterQueue: small}
	EOF
}

test_expect_success 'a queue with room for two' 'queue 200m | berth apply -f -'
test_expect_success 'two run' '
	berth run -d -q small -c 100m --name a -- sleep 600 &&
	berth run -d -q small -c 100m --name b -- sleep 600 &&
	berth wait job/a job/b --for Running
'
test_expect_success 'the third waits with a reason in numbers and a stable code' '
	berth run -d -q small -c 100m --name c -- true &&
	berth wait job/c --for Waiting &&
	wait_until 5 "berth why job/c | grep WaitingForQuota" &&
	berth why job/c >got && grep "insufficient unused quota for cpu in flavor small, 100m more needed" got &&
	berth why job/c -o json | grep "\"code\": \"WaitingForQuota\""
'
test_expect_success 'what would change that is said, and was tried: room for what it asks' '
	berth why job/c >got && grep "would help" got && grep "ClusterQueue small" got &&
	berth why job/c -o json >got && grep "\"shortBy\": 100" got && grep "\"changes\"" got
'
test_expect_success 'the queue shows who runs and who waits, in which place' '
	berth queue >got && grep "^a .* runs" got && grep "^c .* waits .* 1 " got
'
test_expect_success 'places count in each queue alone, also over all namespaces' '
	berth apply -f - <<-EOF &&
	apiVersion: v1
	kind: Namespace
	metadata: {name: other}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: small, namespace: other}
	spec: {clusterQueue: small}
	EOF
	for i in 1 2 3; do
		berth run -d -q small -c 150m --name d$i -- true && berth run -d -n other -q small -c 150m --name e$i -- true || return 1
	done &&
	for i in 1 2 3; do berth wait job/d$i --for Waiting && berth wait -n other job/e$i --for Waiting || return 1; done &&
	berth queue -A >got && grep "^default .* d3 .* waits .* 4 " got && grep "^other .* e3 .* waits .* 3 " got &&
	berth delete job/d1 job/d2 job/d3 && berth delete -n other job/e1 job/e2 job/e3
'
test_expect_success 'its Workload'"'"'s condition says the same' '
	wait_until 10 "berth get workloads -o json | grep WaitingForQuota"
'
test_expect_success 'when one ends, the third runs to its end' '
	berth delete job/a && berth wait job/c --for Complete --timeout 20s
'
test_expect_success 'more than the queue could ever have is said so' '
	berth run -d -q small -c 1 --name huge -- true &&
	wait_until 5 "berth why job/huge | grep ExceedsMaxQuota"
'
test_expect_success 'more quota admits it' '
	queue 2 | berth apply -f - && berth wait job/huge --for Complete --timeout 20s
'
test_expect_success 'what a LimitRange gives its pods is charged' '
	cat >range.yaml <<-EOF &&
	apiVersion: v1
	kind: LimitRange
	metadata: {name: r}
	spec: {limits: [{type: Container, defaultRequest: {cpu: 77m}, default: {cpu: 1}}]}
	---
	apiVersion: batch/v1
	kind: Job
	metadata: {name: modest, labels: {kueue.x-k8s.io/queue-name: small}}
	spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: host, command: ["true"]}]}}}
	EOF
	berth apply -f range.yaml &&
	wait_until 5 "berth get workloads -o json | grep \"\\\"cpu\\\": \\\"77m\\\"\"" &&
	berth delete limitrange/r && berth delete job/modest
'
test_expect_success 'a queue that does not exist is named' '
	berth run -d -q nowhere --name lost -- true &&
	wait_until 5 "berth why job/lost | grep \"LocalQueue nowhere\""
'
test_expect_success 'ClusterQueue and LocalQueue show their numbers' '
	wait_until 5 "berth get clusterqueue small -o json | grep \"\\\"admittedWorkloads\\\": 1\"" &&
	wait_until 10 "berth get localqueue small -o json | grep \"reason.*Ready\""
'
test_done
