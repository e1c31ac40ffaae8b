#!/bin/sh
# /metrics has Kueue's names: who waits, who runs, how long it took.

test_description='the numbers of the queues, for Prometheus'
. "$(dirname "$0")/lib.sh"

command -v curl >/dev/null 2>&1 || { echo "1..0 # SKIP curl is not installed"; exit 0; }
start_berth --hollow-nodes 1
metrics() { curl -sSf --max-time 10 --unix-socket "$work/data/berth.sock" http://berth/metrics >got; }
job() { # NAME CPU
	cat <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: default}}
	spec:
	  template:
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: i, command: ["true"], resources: {requests: {cpu: "$2"}}}]
	END
}

test_expect_success 'a job that has run is counted' '
	job one 1 | berth apply -f - &&
	berth wait job/one --for Complete &&
	wait_until 10 "metrics && grep -q \"^kueue_finished_workloads_total{.*} 1\" got" &&
	grep "^kueue_admitted_workloads_total{.*cluster_queue=\"default\".*} 1" got &&
	grep "^kueue_quota_reserved_wait_time_seconds_count{.*} 1" got &&
	grep "^berth_store_writes_total [1-9]" got && grep "^berth_store_commits_total [1-9]" got
'
test_expect_success 'one that waits shows as waiting' '
	job big 100000 | berth apply -f - &&
	wait_until 10 "metrics && grep -q \"^kueue_pending_workloads{.*inadmissible.*} 1\" got" &&
	grep "^kueue_cluster_queue_status{.*status=\"active\"} 1" got
'
if command -v promtool >/dev/null 2>&1; then
	test_expect_success 'Prometheus can read it' 'metrics && promtool check metrics <got'
else
	test_skip 'promtool is not installed' 'Prometheus can read it'
fi
test_done
