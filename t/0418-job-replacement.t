#!/bin/sh
# When the next pod starts: as soon as one goes, or when it has ended.

test_description='podReplacementPolicy: TerminatingOrFailed, Failed'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 100ms
cat >slow.sh <<'END'
echo start >>$1.log
trap 'sleep 1; echo end >>$1.log; exit 1' TERM
sleep 60 & wait
END
slow() { # NAME POLICY
	kubectl apply -f - <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: $1}
	spec:
	  podReplacementPolicy: $2
	  template:
	    spec:
	      restartPolicy: Never
	      terminationGracePeriodSeconds: 5
	      containers: [{name: c, image: host, command: [sh, -c, "cd $work && set -- $1 && . ./slow.sh"]}]
	END
}
log_is() { test "$(tr '\n' ' ' <"$1.log")" = "$2 "; }

test_expect_success 'Failed: the next one starts when the old one has ended' '
	slow wait Failed && wait_until 10 "log_is wait start" &&
	kubectl delete $(pods wait) --wait=false && wait_until 5 "field_is job/wait .status.terminating 1" &&
	field_is job/wait .status.active "" && wait_until 20 "log_is wait \"start end start\"" &&
	kubectl delete job wait && wait_until 10 "test -z \"\$(pods wait)\""
'
test_expect_success 'TerminatingOrFailed: at once, and the one that goes counts as failed' '
	slow now TerminatingOrFailed && wait_until 10 "log_is now start" &&
	kubectl delete $(pods now) --wait=false && wait_until 20 "log_is now \"start start end\"" &&
	field_is job/now .status.failed 1 && kubectl delete job now
'
test_done
