#!/bin/sh
# What can end or put off a workload besides its own end: checks, pods that do not get ready,
# a limit of time, and a hand on it.

test_description='a workload in waiting and at work: checks, readiness, deadlines, retention'
. "$(dirname "$0")/lib.sh"

need_kubectl
cat >kueue.yaml <<'EOF'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady:
  timeout: 2s
  requeuingStrategy: {backoffBaseSeconds: 1, backoffLimitCount: 1}
objectRetentionPolicies:
  workloads: {afterFinished: 3s}
EOF
start_berth --hollow-nodes 1 --queue-config kueue.yaml

cat >queues.yaml <<'EOF'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: box}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: paid}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: budget}]}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 100}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: free}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 100}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: paid}
spec: {clusterQueue: paid}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: free}
spec: {clusterQueue: free}
EOF
workload() { kubectl get workloads -o name | grep "job-$1"; }
condition() { kubectl get "$(workload "$1")" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].$3}"; }
# The part of the check's controller: budget JOB STATE [SECONDS]
budget() {
	kubectl patch "$(workload "$1")" --subresource status --type merge -p \
		"{\"status\":{\"admissionChecks\":[{\"name\":\"budget\",\"state\":\"$2\",\"message\":\"says the treasurer\",\"lastTransitionTime\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"${3:+,\"requeueAfterSeconds\":$3}}]}}"
}

test_expect_success 'a queue with a check takes nobody before its controller is there' '
	kubectl apply -f queues.yaml &&
	queued bought paid 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/bought | grep \"ClusterQueue paid is inactive\""
'
test_expect_success 'with it: quota is reserved, the job waits for the check, and why says so' '
	kubectl patch admissioncheck budget --subresource status --type merge -p "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":\"Here\",\"message\":\"\",\"lastTransitionTime\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}]}}" &&
	wait_until 10 "condition bought QuotaReserved status | grep True" &&
	wait_until 10 "berth why job/bought | grep -i \"not all checks ready\"" &&
	kubectl get $(workload bought) -o jsonpath="{.status.admissionChecks[0].state}" | grep Pending
'
test_expect_success 'Retry: evicted, put off, and the check is asked anew' '
	budget bought Retry 1 &&
	wait_until 10 "kubectl get $(workload bought) -o jsonpath={.status.admissionChecks[0].retryCount} | grep 1" &&
	wait_until 10 "condition bought QuotaReserved status | grep True"
'
test_expect_success 'Ready: it runs' '
	budget bought Ready && kubectl wait job/bought --for=condition=Complete --timeout=20s
'
test_expect_success 'Rejected: deactivated for good, with the word of the check' '
	queued refused paid 1 1 | kubectl create -f - &&
	wait_until 10 "condition refused QuotaReserved status | grep True" &&
	wait_until 10 "kubectl get $(workload refused) -o jsonpath={.status.admissionChecks[0].state} | grep Pending" &&
	budget refused Rejected &&
	wait_until 10 "kubectl get $(workload refused) -o jsonpath={.spec.active} | grep false" &&
	wait_until 10 "condition refused Evicted reason | grep DeactivatedDueToAdmissionCheck" &&
	condition refused Evicted message | grep "says the treasurer"
'
test_expect_success 'pods that do not get ready: evicted, tried once more, then deactivated' '
	queued stuck free 50 600 | kubectl create -f - &&
	wait_until 60 "condition stuck Evicted reason | grep DeactivatedDueToRequeuingLimitExceeded" &&
	kubectl get $(workload stuck) -o jsonpath="{.status.schedulingStats.evictions[*].reason}" | grep "PodsReadyTimeout Deactivated"
'
test_expect_success 'a job may say how long it runs at most' '
	queued long free 1 600 | sed "s/labels: {/labels: {kueue.x-k8s.io\/max-exec-time-seconds: \"1\", /" | kubectl create -f - &&
	wait_until 20 "condition long Evicted reason | grep DeactivatedDueToMaximumExecutionTimeExceeded" &&
	kubectl wait job/long --for=jsonpath="{.spec.suspend}"=true --timeout=10s
'
test_expect_success 'workloads of finished jobs go after their time' '
	queued brief free 1 0 | kubectl create -f - &&
	kubectl wait job/brief --for=condition=Complete --timeout=20s &&
	wait_until 10 "test -z \"\$(workload brief)\""
'
test_done
