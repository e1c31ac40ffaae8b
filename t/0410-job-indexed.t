#!/bin/sh
# An Indexed Job runs one pod for each of its indexes, and each pod knows which it is.

test_description='Indexed Jobs: environment, names, annotations, what is complete'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth

test_expect_success 'each index is in the environment of its pod' '
	job all "echo index \$JOB_COMPLETION_INDEX >>$work/ran" "completionMode: Indexed
		completions: 5
		parallelism: 2" | kubectl apply -f - && ended all Complete &&
	sort ran >got && printf "index %s\n" 0 1 2 3 4 | diff - got
'
test_expect_success 'names, hostname, label and annotation carry it' '
	pod=$(kubectl get pods -l batch.kubernetes.io/job-completion-index=3 -o name) &&
	case $pod in pod/all-3-?????) ;; *) echo "$pod"; false ;; esac &&
	field_is $pod .spec.hostname all-3 &&
	field_is $pod ".metadata.annotations.batch\.kubernetes\.io/job-completion-index" 3 &&
	field_is $pod ".metadata.ownerReferences[0].name" all
'
test_expect_success 'the status lists what is complete; no finalizer is left' '
	field_is job/all .status.completedIndexes 0-4 && field_is job/all .status.succeeded 5 &&
	test -z "$(kubectl get pods -o "jsonpath={.items[*].metadata.finalizers}")" &&
	test "$(reason all SuccessCriteriaMet)" = CompletionsReached &&
	test "$(reason all Complete)" = CompletionsReached
'
test_expect_success 'two at a time were never more' '
	job pair "sleep 0.3" "completionMode: Indexed
		completions: 4
		parallelism: 2" | kubectl apply -f - &&
	most=0 && until test -n "$(reason pair Complete)"; do
		n=$(field job/pair .status.active) && test "${n:-0}" -le 2 || exit 1
	done
'
test_expect_success 'a variable of that name in the template stays' '
	kubectl apply -f - <<-END && ended own Complete && grep "^mine$" own.out
	apiVersion: batch/v1
	kind: Job
	metadata: {name: own}
	spec:
	  completionMode: Indexed
	  completions: 1
	  template:
	    spec:
	      restartPolicy: Never
	      containers:
	      - name: c
	        image: host
	        env: [{name: JOB_COMPLETION_INDEX, value: mine}]
	        command: [sh, -c, "echo \$JOB_COMPLETION_INDEX >$work/own.out"]
	END
'
test_expect_success 'a name too long for its last index is refused' '
	! job $(printf "%061d" 0 | tr 0 a) true "completionMode: Indexed
		completions: 100" | kubectl apply -f - 2>err && grep "metadata.name" err
'
test_expect_success 'Indexed without completions is refused' '
	! job none true "completionMode: Indexed
		parallelism: 2" | kubectl apply -f - 2>err &&
	grep "spec.completions: Required value" err
'
test_expect_success 'a name with dots is taken, with a warning: it is in hostnames' '
	job with.dots true | kubectl apply -f - 2>err && grep "Warning: metadata.name: this is used in Pod names and hostnames" err && ended with.dots Complete
'
test_done
