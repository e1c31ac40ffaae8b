#!/bin/sh
# Admission fair sharing: of two queues of one ClusterQueue, who used less goes first.

test_description='admission fair sharing: who used less lately goes first, whoever came first'
. "$(dirname "$0")/lib.sh"

need_kubectl
cat >kueue.yaml <<'EOC'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing:
  usageHalfLifeTime: 1h
  usageSamplingInterval: 1s
EOC
start_berth --hollow-nodes 1 --queue-config kueue.yaml

queues() {
	cat <<-END
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ResourceFlavor
	metadata: {name: box}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: lab}
	spec:
	  namespaceSelector: {}
	  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
	  resourceGroups:
	  - coveredResources: [cpu]
	    flavors:
	    - name: box
	      resources: [{name: cpu, nominalQuota: 2}]
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: red}
	spec: {clusterQueue: lab, fairSharing: {weight: "1"}}
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: blue}
	spec: {clusterQueue: lab, fairSharing: {weight: "1"}}
	END
}
consumed() { # QUEUE - what its status says it consumed of cpu, in billionths
	kubectl get localqueue "$1" -o "jsonpath={.status.fairSharing.admissionFairSharingStatus.consumedResources.cpu}" |
		sed 's/^\([0-9]*\)n$/\1/; s/^\([0-9]*\)u$/\1000/; s/^\([0-9]*\)m$/\1000000/'
}
runs() { kubectl get workloads -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}{.status.conditions[?(@.type==\"Admitted\")].status}{end}" | grep True; }

test_expect_success 'two queues of one ClusterQueue' '
	queues | kubectl apply -f - &&
	kubectl wait clusterqueue/lab localqueue/red localqueue/blue --for=condition=Active --timeout=10s
'
test_expect_success 'red runs, and its status counts what it consumes' '
	queued red-1 red 2 600 | kubectl create -f - &&
	wait_until 10 "runs red-1" &&
	wait_until 15 "test \$(consumed red) -gt 0"
'
test_expect_success 'more with the time, and when it was counted' '
	consumed red >first &&
	kubectl get localqueue red -o jsonpath={.status.fairSharing.admissionFairSharingStatus.lastUpdate} | grep T &&
	wait_until 15 "test \$(consumed red) -gt \$(cat first)"
'
test_expect_success 'red asks again, then blue: blue goes first, who consumed nothing' '
	queued red-2 red 2 600 | kubectl create -f - &&
	wait_until 10 "berth why job/red-2 | grep WaitingForQuota" &&
	queued blue-1 blue 2 600 | kubectl create -f - &&
	wait_until 10 "berth why job/blue-1 | grep WaitingForQuota" &&
	kubectl delete job red-1 &&
	wait_until 10 "runs blue-1" &&
	! runs red-2
'
stop_berth
start_berth --hollow-nodes 1 --queue-config kueue.yaml
test_expect_success 'what was consumed outlives berth' '
	wait_until 15 "test \$(consumed blue) -gt 0" &&
	test "$(consumed red)" -gt "$(cat first)" &&
	kubectl delete job blue-1 &&
	wait_until 10 "runs red-2"
'
test_done
