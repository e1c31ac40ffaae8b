#!/bin/sh
# What a team lends it gets back when it needs it: the borrower's newest job is put back in line.

test_description='lending and reclaiming: an owner gets its quota back, a limit keeps some of it'
. "$(dirname "$0")/lib.sh"

need_kubectl
start_berth --hollow-nodes 2

cat >teams.yaml <<'EOF'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: box}
---
# vision lends 3 of its 4, and takes back what it lent, from whoever borrowed it
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohortName: lab
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 4, lendingLimit: 3}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: speech}
spec:
  cohortName: lab
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: vision}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: speech}
spec: {clusterQueue: speech}
EOF

test_expect_success 'two teams; speech may borrow 3 of the 4 that vision owns' '
	kubectl apply -f teams.yaml &&
	queued own speech 4 600 | kubectl create -f - &&
	kubectl wait job/own --for=jsonpath="{.status.active}"=1 --timeout=10s && next_second &&
	queued guest speech 3 600 | kubectl create -f - &&
	kubectl wait job/guest --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'the ledger: speech borrows 3, vision keeps 1' '
	berth quota lab >got && cat got &&
	grep "^lab .* cpu  *0  *7  *0  *7  *0  *3  *0$" got &&
	grep "^  vision .* cpu  *4  *-  *0  *0  *4  *-  *1$" got
'
test_expect_success 'one more of 1 does not fit: the lending limit holds it' '
	queued late speech 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/late | grep \"1 asked, 0 free\""
'
test_expect_success 'vision takes back what it owns: the guest is evicted, with the reason' '
	queued mine vision 4 600 | kubectl create -f - &&
	kubectl wait job/mine --for=jsonpath="{.status.active}"=1 --timeout=10s &&
	kubectl wait job/guest --for=jsonpath="{.spec.suspend}"=true --timeout=10s &&
	name=$(kubectl get workloads -o name | grep job-guest) &&
	kubectl get $name -o jsonpath="{.status.conditions[?(@.type==\"Preempted\")].reason}" | grep InCohortReclamation &&
	kubectl get $name -o jsonpath="{.status.conditions[?(@.type==\"Evicted\")].message}" | grep "/cohort/lab\|/lab/vision\|reclamation"
'
test_expect_success 'its own job stays; the guest waits in line again' '
	test "$(kubectl get job own -o jsonpath="{.status.active}")" = 1 &&
	wait_until 10 "berth queue | grep \"^guest .* waits\""
'
test_expect_success 'the guest and the late job run when vision is done' '
	kubectl delete job mine && kubectl wait job/guest --for=jsonpath="{.status.active}"=1 --timeout=10s &&
	kubectl delete job guest && kubectl wait job/late --for=condition=Complete --timeout=20s
'
test_done
