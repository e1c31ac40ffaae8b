#!/bin/sh
# Two teams share a box: each owns half of the processors, and may use what the other leaves idle.

test_description='borrowing: a team uses what another leaves idle, and the ledger says so'
. "$(dirname "$0")/lib.sh"

need_kubectl
start_berth --hollow-nodes 2

cat >teams.yaml <<'EOF'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: box}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
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
kind: ClusterQueue
metadata: {name: speech}
spec:
  cohortName: lab
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: box
      resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 2}]
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

test_expect_success 'two ClusterQueues of one cohort' '
	kubectl apply -f teams.yaml &&
	kubectl wait clusterqueue/vision clusterqueue/speech --for=condition=Active --timeout=10s
'
test_expect_success 'speech runs 4 on its own quota and borrows 2 more' '
	queued own speech 4 600 | kubectl create -f - && next_second && queued more speech 2 600 | kubectl create -f - &&
	kubectl wait job/own job/more --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'berth quota shows who owns, who borrows and what is left, and it adds up' '
	berth quota lab >got && cat got &&
	grep "^lab .* cpu  *0  *8  *0  *6  *2  *2 " got &&
	grep "^  speech .* cpu  *4  *-  *2  *6  *0  *-  *0$" got &&
	grep "^  vision .* cpu  *4  *-  *0  *0  *4  *-  *2$" got
'
test_expect_success 'the ClusterQueue says the same in its status' '
	wait_until 10 "kubectl get clusterqueue speech -o jsonpath={.status.flavorsUsage[0].resources[0].borrowed} | grep ^2$"
'
test_expect_success 'a third job would be over the borrowing limit, and is told so' '
	queued late speech 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/late | grep WaitingForQuota" &&
	berth why job/late >got && cat got &&
	grep "1 asked, 0 free; .speech. uses 6 and can have 6 at most" got
'
test_expect_success 'and so it is for programs, of the Workload, too' '
	berth why job/late -o json >got && grep "\"shortBy\": 1000" got && grep "\"available\": 0" got &&
	name=$(kubectl get workloads -o name | grep job-late | cut -d/ -f2) &&
	wait_until 10 "berth why workload/$name | grep \"QuotaReserved  *False\"" &&
	berth why workload/$name >got && grep "would help" got
'
test_expect_success 'berth quota -o json is a list of trees; no name: those behind the queues here' '
	berth quota -o json >got && grep "\"tree\": \"lab\"" got && grep "\"tree\": \"default\"" got &&
	berth quota -A >got && grep "^lab" got && grep "^default" got &&
	! berth quota nobody 2>err && grep "nobody" err
'
test_expect_success 'vision gets its own 4 once the loan ends' '
	queued first vision 3 1 | kubectl create -f - &&
	wait_until 10 "berth why job/first | grep WaitingForQuota" &&
	kubectl delete job more &&
	kubectl wait job/first --for=condition=Complete --timeout=20s
'
test_expect_success 'and the third job of speech runs then' '
	kubectl wait job/late --for=condition=Complete --timeout=20s
'
test_done
