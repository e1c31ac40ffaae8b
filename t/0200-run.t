#!/bin/sh
# A command as a job: its output here, its exit code ours.

test_description='berth run: output, exit code, environment, stopping, logs'
. "$(dirname "$0")/lib.sh"
start_berth

test_expect_success 'output comes back, and exit code 0' '
	berth run --name hello -- sh -c "echo hello; echo oops >&2" >got 2>err &&
	grep hello got
'
test_expect_success 'the exit code is the job'"'"'s' '
	rc=0; berth run -- sh -c "exit 7" || rc=$?; test $rc = 7
'
test_expect_success 'a command that is not there ends with 127' '
	rc=0; berth run --name none -- no-such-command-here 2>err || rc=$?; test $rc = 127 &&
	grep "cannot execute .no-such-command-here.: command not found" err &&
	wait_until 10 "berth why job/none | grep \"^ended .*exit code 127, cannot execute\""
'
test_expect_success 'it runs where we are, with what we pass' '
	mkdir -p here && cd here && berth run -e COLOUR=blue -- sh -c "pwd; echo colour \$COLOUR" >../got &&
	cd .. && grep "/here$" got && grep "colour blue" got
'
test_expect_success 'logs are kept: whole, the tail, with times' '
	berth logs hello | grep hello && ! berth logs nobody 2>err && grep "pods \"nobody\" not found" err &&
	berth logs job/hello >got && grep hello got && grep oops got &&
	berth run --name many -- seq 1 100 >/dev/null &&
	test "$(berth logs job/many --tail 3 | tr "\n" " ")" = "98 99 100 " &&
	berth logs job/many --tail 1 --timestamps | grep "^20[0-9-]*T[0-9:.]*Z 100$"
'
test_expect_success 'detached: the name is printed, wait knows the end' '
	berth run -d --name later -- sh -c "sleep 1; echo done" >got && grep "^job/later$" got &&
	berth wait job/later --for Complete && berth logs job/later | grep done
'
test_expect_success 'Ctrl-C stops the job, and nothing of it is left' '
	berth run --name long -- sleep 4321 >out 2>&1 & pid=$!
	wait_until 10 "berth get job long" && berth wait job/long --for Running && kill -INT $pid
	rc=0; wait $pid || rc=$?
	test $rc = 130 && ! berth get job long 2>err && wait_until 10 "! pgrep -f \"^sleep 4321\""
'
test_expect_success 'a usage error runs nothing' '
	rc=0; berth run 2>err || rc=$?; test $rc = 2 && grep "behind --" err
'
test_done
