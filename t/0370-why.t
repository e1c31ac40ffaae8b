#!/bin/sh
# Why am I waiting, and what is the smallest thing that would change it? Every answer was tried
# on the engine's own tree before it is given.

test_description='berth why: each kind of wait, who is in front, and the smallest change'
. "$(dirname "$0")/lib.sh"

need_kubectl
start_berth --hollow-nodes 2 --no-defaults

cat >queues.yaml <<'EOF'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec:
  nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: plain
      resources: [{name: cpu, nominalQuota: 4}]
---
# first come, first served, whatever waits behind
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: strict}
spec:
  namespaceSelector: {}
  queueingStrategy: StrictFIFO
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: plain
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: spot}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: spot
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: unready}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: nowhere
      resources: [{name: cpu, nominalQuota: 4}]
EOF
for q in small strict spot unready; do
	printf -- '---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: %s}\nspec: {clusterQueue: %s}\n' $q $q
done >>queues.yaml
why() { berth why "job/$1" >got && cat got; }

test_expect_success 'four queues, and a job that holds most of the first' '
	kubectl apply -f queues.yaml && queued first small 3 600 | kubectl create -f - &&
	kubectl wait job/first --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'short of quota: who holds it, and the least to ask for instead' '
	queued more small 2 600 | kubectl create -f - &&
	wait_until 10 "berth why job/more | grep WaitingForQuota" && why more &&
	grep "2 asked, 1 free; .small. uses 3 and can have 4 at most" got &&
	grep "1 may not be evicted for it: their priority is not lower" got &&
	grep "would help *ask 1 of .cpu. instead of 2" got &&
	grep "submit to queue .strict." got && grep "priority 1 instead of 0 (evicts 1 workload)" got &&
	grep "nominal quota 5 of .cpu. instead of 4 in ClusterQueue .small." got &&
	grep "none reserves anything" got
'
test_expect_success 'what it says is so: with the change, it starts' '
	queued less small 1 600 | kubectl create -f - &&
	kubectl wait job/less --for=jsonpath="{.status.active}"=1 --timeout=10s
'
test_expect_success 'too big for ever: only more quota or asking less helps' '
	queued huge small 100 1 | kubectl create -f - &&
	wait_until 10 "berth why job/huge | grep ExceedsMaxQuota" && why huge &&
	grep "100 asked, .small. can have 4 at most, borrowing included" got &&
	grep "nominal quota" got && ! grep "submit to queue" got
'
test_expect_success 'a taint that it does not tolerate' '
	queued careful spot 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/careful | grep NoMatchingFlavor" && why careful &&
	grep "untolerated taint" got && grep "tolerate the taint .* of flavor .spot." got
'
test_expect_success 'behind the first in a strict queue: who that is' '
	queued wide strict 5 1 | kubectl create -f - &&
	wait_until 10 "berth why job/wide | grep ExceedsMaxQuota" && next_second &&
	queued narrow strict 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/narrow | grep job-wide"
'
test_expect_success 'a queue whose flavor does not exist' '
	queued early unready 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/early | grep \"ClusterQueue unready is inactive\"" &&
	wait_until 10 "kubectl get clusterqueue unready -o jsonpath={.status.conditions[0].reason} | grep FlavorNotFound"
'
test_expect_success 'no such queue' '
	queued lost nowhere 1 1 | kubectl create -f - &&
	wait_until 10 "berth why job/lost | grep \"LocalQueue nowhere doesn.t exist\""
'
test_expect_success 'a job that another controller manages says so' '
	queued foreign small 1 1 | sed "s/^spec:/spec:\n  managedBy: example.com\/other/" | kubectl create -f - &&
	wait_until 10 "berth why job/foreign | grep \"managed by *example.com/other\""
'
test_expect_success 'for programs: codes, and every number' '
	berth why job/more -o json >got && cat got &&
	grep "\"code\": \"ShortOfQuota\"" got && grep "\"shortBy\": 2000" got && grep "\"spared\": \"PriorityNotLower\"" got
'
test_expect_success 'where it runs, nothing is made up' '
	why first && grep "state *Running" got && ! grep "would help" got
'
pair() { # MEMORY - a queue of 2 cpu and that much memory
	cat <<-END
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: ClusterQueue
	metadata: {name: pair}
	spec:
	  namespaceSelector: {}
	  resourceGroups:
	  - coveredResources: [cpu, memory]
	    flavors:
	    - name: plain
	      resources: [{name: cpu, nominalQuota: 2}, {name: memory, nominalQuota: $1}]
	---
	apiVersion: kueue.x-k8s.io/v1beta2
	kind: LocalQueue
	metadata: {name: pair}
	spec: {clusterQueue: pair}
	END
}
test_expect_success 'two resources are short: the change names both' '
	pair 1Gi | kubectl apply -f - && kubectl wait localqueue/pair --for=condition=Active --timeout=10s &&
	queued both pair 4 600 | sed "s/cpu: \"4\"/cpu: \"4\", memory: 2Gi/" | kubectl create -f - &&
	wait_until 10 "why both | grep \"ask 2 of .cpu. instead of 4 in podset .main. and ask 1Gi of .memory. instead of 2Gi\"" &&
	berth why job/both -o json | grep -q also
'
test_expect_success 'none of one is left: more quota of both, and with that it starts' '
	pair 0 | kubectl apply -f - &&
	wait_until 10 "why both | grep \"nominal quota.* of .memory. .* and nominal quota.* of .cpu.\"" &&
	pair 2Gi | sed "s/nominalQuota: 2}/nominalQuota: 4}/" | kubectl apply -f - &&
	kubectl wait job/both --for=jsonpath={.spec.suspend}=false --timeout=10s
'
test_done
