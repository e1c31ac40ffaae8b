#!/bin/sh
# What is there, in the form one asks for; and what could stand next on the command line.

test_description='berth get: kinds, names, selectors, forms; completion'
. "$(dirname "$0")/lib.sh"
start_berth
berth run --name a -- echo hello >/dev/null
berth run --name b -- echo hello >/dev/null

test_expect_success 'one kind: a head and a line each' '
	berth get jobs >got && grep "^NAME *STATUS *COMPLETIONS" got && test "$(wc -l <got)" = 3
'
test_expect_success 'by name, several; what is not there is said, the rest is shown' '
	berth get job a b >got && test "$(wc -l <got)" = 3 &&
	rc=0; berth get job a nothing >got 2>err || rc=$?
	test $rc = 1 && grep "^a " got && grep "jobs.batch \"nothing\" not found" err
'
test_expect_success 'several kinds: a table each, names with their kinds' '
	berth get jobs,pods >got && grep "^job.batch/a " got && grep "^pod/a-" got && test "$(grep -c "^NAME" got)" = 2
'
test_expect_success 'all is every kind of work' '
	berth get all >got && grep "^job.batch/b " got && grep "^pod/b-" got
'
test_expect_success 'KIND/NAME of several kinds' '
	node=$(berth get nodes -o name) && berth get job/a localqueue/default node/${node#node/} >got &&
	grep "^job.batch/a " got && grep "^localqueue.kueue.x-k8s.io/default " got && grep "^node/" got
'
test_expect_success 'selectors' '
	berth get pods -l batch.kubernetes.io/job-name=a -o name >got && test "$(wc -l <got)" = 1 &&
	berth get pods --field-selector status.phase=Succeeded -o name >got && test "$(wc -l <got)" = 2 &&
	berth get pods -l colour=blue >got 2>err && test ! -s got && grep "no pods in namespace default" err
'
test_expect_success 'one as YAML or JSON is the object; several are a List' '
	berth get job a -o yaml >got && head -1 got | grep "apiVersion: batch/v1" &&
	berth get job a -o json >got && grep "^  \"kind\": \"Job\"" got &&
	berth get jobs,pods -o json >got && grep "^  \"kind\": \"List\"" got &&
	test "$(grep -c "^      \"kind\": \"Job\"" got)" = 2 && test "$(grep -c "^      \"kind\": \"Pod\"" got)" = 2
'
test_expect_success 'what was printed can be applied again' '
	berth get localqueues,resourceflavors -o yaml >got && berth apply --dry-run -f got
'
test_expect_success 'wide has more columns; -A the namespace' '
	berth get jobs -o wide >got && grep "CONTAINERS" got &&
	berth get jobs -A >got && grep "^NAMESPACE *NAME" got && grep "^default *a " got
'
test_expect_success 'wrong words are named, with one line of usage' '
	for words in "nothings" "jobs,nothings" "jobs,pods a" "jobs pod/a" "job/a -l x=y" "job a -A" "jobs -o xml" "job/"; do
		rc=0; berth get $words 2>err || rc=$?
		test $rc = 2 && test "$(wc -l <err)" = 2 && grep "^usage: berth get" err || return 1
	done
'

# next WORDS... - what could stand for the last word
next() { berth complete -- "$@" 2>/dev/null | sort -u | tr '\n' ' '; }

test_expect_success 'completion: commands, options, kinds' '
	test "$(next lo)" = "logs " && test "$(next get --field)" = "--field-selector " &&
	test "$(next get localq)" = "localqueues " && test "$(next get jobs,localq)" = "jobs,localqueues " &&
	test "$(next get -o j)" = "json " && test "$(next completion "")" = "bash fish zsh "
'
test_expect_success 'completion: names of what is there' '
	test "$(next get jobs "")" = "a b " && test "$(next why "")" = "job/a job/b " &&
	test "$(next delete localqueue/)" = "localqueue/default " && test "$(next run -q "")" = "default " &&
	next get -n "" | grep "kube-system" && test "$(next logs -n kube-system job/)" = "" &&
	test "$(next run -- "")" = ""
'
test_expect_success 'completion: without a berth there are no names, and no noise' '
	berth complete -- get --data "$work/nowhere" jobs "" >got 2>/dev/null && test ! -s got
'
if command -v bash >/dev/null 2>&1; then
	test_expect_success 'bash takes the script' '
		bash -c "eval \"\$(berth completion bash)\"; COMP_WORDS=(berth get jobs b); COMP_CWORD=3; _berth; echo \"\${COMPREPLY[@]}\"" >got &&
		grep -qx b got
	'
else
	test_skip 'there is no bash' 'bash takes the script'
fi
test_done
