#!/bin/sh
# A crash of berth leaves running work untouched: it ends once, and its exit code is learned.

test_description='kill -9 of berth while a job runs'
. "$(dirname "$0")/lib.sh"
start_berth

test_expect_success 'a job of three seconds runs' '
	berth run -d --name work -- sh -c "echo begin >>\"$work/ran\"; sleep 3; echo end >>\"$work/ran\"; exit 0" &&
	berth run -d --name fails -- sh -c "sleep 2; exit 9" &&
	wait_until 10 "test -s \"$work/ran\"" && berth wait job/fails --for Running
'
test_expect_success 'berth is killed, and started again' '
	kill_berth && pgrep -f "sleep 3" &&
	rm -f "$work/up.out"
'
start_berth
test_expect_success 'the job ends Complete, and ran once' '
	berth wait job/work --for Complete --timeout 20s &&
	test "$(grep -c begin "$work/ran")" = 1 && test "$(grep -c end "$work/ran")" = 1 &&
	berth get pods -o name >got && test "$(grep -c work got)" = 1
'
test_expect_success 'the exit code of the other one was learned afterwards' '
	berth wait job/fails --for Failed --timeout 20s &&
	berth get pods -o json >got && grep "\"exitCode\": 9" got
'
test_done
