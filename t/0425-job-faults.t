#!/bin/sh
# Jobs that nobody can run, and programs that behave badly: the status says what happened.

test_description='no room, no program, signals, a deaf program, runaways, endless output, a full volume'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth --job-backoff 300ms
of() { kubectl get pods -l "job-name=$1" -o "jsonpath={.items[0]$2}"; }
code_is() { # JOB CODE REASON
	ended "$1" Failed && test "$(of "$1" .status.containerStatuses[0].state.terminated.exitCode)" = "$2" &&
	of "$1" .status.containerStatuses[0].state.terminated.reason | grep "$3"
}
program() { # NAME COMMAND LINES
	kubectl apply -f - <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: $1}
	spec:
	  backoffLimit: 0
	  template:
	    spec:
	      restartPolicy: Never
	      terminationGracePeriodSeconds: 1
	      containers: [{name: c, image: host, command: $2 ${3:-}}]
	END
}

test_expect_success 'what no node can hold waits, and says why; with a deadline it ends' '
	program huge "[\"true\"]" ", resources: {requests: {cpu: \"10000\"}}" &&
	wait_until 10 "of huge .status.conditions[0].reason | grep Unschedulable" &&
	of huge .status.conditions[0].message | grep "Insufficient cpu" && berth why job/huge >got && cat got && grep -i "cpu" got &&
	kubectl patch job huge -p "{\"spec\":{\"activeDeadlineSeconds\":1}}" && ended huge Failed &&
	test "$(reason huge Failed)" = DeadlineExceeded
'
test_expect_success 'a program that is not there: 127' 'program none "[no-such-program]" && code_is none 127 "ContainerCannotRun\|StartError\|Error"'
test_expect_success 'one that may not run: 126' '
	printf "#!/bin/sh\n" >plain && chmod 644 plain && program plain "[$work/plain]" && code_is plain 126 "ContainerCannotRun\|StartError\|Error"
'
test_expect_success 'killed by a signal: 128 and its number' '
	echo "kill -9 \$\$" >kill.sh && echo "kill -6 \$\$" >abort.sh &&
	job killed ". $work/kill.sh" "backoffLimit: 0" | kubectl apply -f - && code_is killed 137 Error &&
	job aborted ". $work/abort.sh" "backoffLimit: 0" | kubectl apply -f - && code_is aborted 134 Error
'
cat >deaf.sh <<'END'
trap '' TERM
touch deaf.up
while :; do sleep 0.1; done
END
test_expect_success 'one that hears no SIGTERM is killed when its grace is over' '
	job deaf "cd $work && . ./deaf.sh" | kubectl apply -f - && wait_until 10 "test -e deaf.up" &&
	kubectl delete job deaf && wait_until 10 "test -z \"\$(pods deaf)\"" && ! pgrep -f "cd $work && . ./deaf.sh"
'
test_expect_success 'what it left behind in the background goes with it' '
	job forks "setsid sleep 86399 & sleep 0.2; exit 0" | kubectl apply -f - && ended forks Complete &&
	wait_until 10 "! pgrep -fx \"sleep 86399\""
'
# LOG_BYTES is how many: a gigabyte, which rotation bounds
test_expect_success 'a line without an end is logged in pieces, and old ones go' '
	echo "head -c ${LOG_BYTES:-1000000000} /dev/zero | tr \"\\\\0\" x" >talk.sh && job talks ". $work/talk.sh" | kubectl apply -f - && ended talks Complete 300 &&
	test "$(du -sk data/logs | cut -f1)" -lt 70000 && kubectl logs job/talks --limit-bytes=100 | grep -q "^xxxx"
'
test_expect_success 'a Job whose pod is refused says so, and is tried again' '
	printf "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: 500m}}]}\n" | kubectl apply -f - &&
	program refused "[\"true\"]" ", resources: {limits: {cpu: \"1\"}}" &&
	wait_until 10 "events refused | grep \"Warning FailedCreate Error creating.*maximum cpu usage per Container is 500m\"" &&
	test -z "$(pods refused)" && field_is job/refused .status.active "" && field_is job/refused .status.failed "" &&
	kubectl delete limitrange small && ended refused Complete 30 && field_is job/refused .status.succeeded 1
'
test_expect_success 'one that fills its emptyDir past the limit is evicted: the pod says so, the Job counts it' '
	kubectl apply -f - <<-END && ended full Failed 30 && test "$(reason full Failed)" = BackoffLimitExceeded &&
	apiVersion: batch/v1
	kind: Job
	metadata: {name: full}
	spec:
	  backoffLimit: 0
	  template:
	    spec:
	      restartPolicy: Never
	      volumes: [{name: scratch, emptyDir: {sizeLimit: 1Mi}}]
	      containers:
	      - name: c
	        image: host
	        volumeMounts: [{name: scratch, mountPath: /tmp/scratch-$$}]
	        command: [sh, -c, "cd \$BERTH_VOLUME_SCRATCH && mkdir deep && head -c 4000000 /dev/zero >deep/much; sleep 60"]
	END
	of full .status.reason | grep -x Evicted && of full .status.message | grep "Usage of EmptyDir volume .scratch. exceeds the limit .1Mi." &&
	field_is job/full .status.failed 1 && pod=$(pods full) && events ${pod#pod/} | grep "Warning Evicted Usage of EmptyDir"
'
test_expect_success 'one that stays below the limit does not notice' '
	kubectl apply -f - <<-END && ended fits Complete 30
	apiVersion: batch/v1
	kind: Job
	metadata: {name: fits}
	spec:
	  backoffLimit: 0
	  template:
	    spec:
	      restartPolicy: Never
	      volumes: [{name: scratch, emptyDir: {sizeLimit: 8Mi}}]
	      containers: [{name: c, image: host, command: [sh, -c, "head -c 4000000 /dev/zero >\$BERTH_VOLUME_SCRATCH/x; sleep 2.5"]}]
	END
'
test_expect_success 'what is wrong in a Job is said at once, all of it' '
	! kubectl apply -f - 2>err <<-END
	apiVersion: batch/v1
	kind: Job
	metadata: {name: wrong}
	spec:
	  parallelism: -1
	  completions: -1
	  backoffLimit: -1
	  completionMode: Sideways
	  template:
	    spec: {restartPolicy: Always, containers: []}
	END
	for f in parallelism completions backoffLimit completionMode template.spec.restartPolicy template.spec.containers; do
		grep "spec.$f:" err || exit 1
	done
'
test_expect_success 'nothing of all that is left' '
	kubectl delete jobs --all && wait_until 20 "test -z \"\$(kubectl get pods -o name)\""
'
test_done
