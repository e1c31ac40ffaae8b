#!/bin/sh
# A berth starts, says where it listens, refuses what cannot be, and goes down in order.

test_description='berth up: start, two lines, refusals, stop'
. "$(dirname "$0")/lib.sh"
start_berth

test_expect_success 'two lines when ready, and the files that clients need' '
	test "$(wc -l <up.out)" = 2 &&
	grep "berth listens on https://127.0.0.1:[0-9]*" up.out &&
	test -S data/berth.sock && test -f data/kubeconfig
'
test_expect_success 'a flavor and queues named default, and this machine as a node' '
	berth get resourceflavor default && berth get clusterqueue default &&
	berth get localqueue default &&
	wait_until 10 "berth get nodes | grep Ready"
'
test_expect_success 'the version is said without a server' '
	berth version >got && grep "serves Kubernetes 1.37" got
'
test_expect_success 'a second berth on the same directory is refused in one sentence' '
	! berth up --data data --listen 127.0.0.1:0 >out 2>err &&
	test "$(wc -l <err)" = 1 && grep "in use\|another" err
'
test_expect_success 'a port that is taken is refused, and names the address' '
	port=$(sed -n "s/.*127.0.0.1:\([0-9]*\);.*/\1/p" up.out) &&
	! berth up --data other --listen 127.0.0.1:$port >out 2>err &&
	grep "127.0.0.1:$port" err
'
test_expect_success 'unknown words get one line of usage and exit code 2' '
	rc=0; berth up --frobnicate 2>err || rc=$?; test $rc = 2 &&
	grep "unknown option .--frobnicate." err && grep "^usage: berth up" err &&
	rc=0; berth frobnicate 2>err || rc=$?; test $rc = 2 && grep "unknown command" err &&
	rc=0; berth get 2>err || rc=$?; test $rc = 2 &&
	rc=0; berth get nothings 2>err || rc=$?; test $rc = 2 && grep "nothings" err
'
test_expect_success 'an unknown controller is refused with the names there are' '
	! berth up --data third --controllers "*,-jobb" 2>err && grep "job-controller" err
'
test_expect_success 'a directory that cannot be written is refused' '
	touch file && ! berth up --data file/below 2>err && grep "cannot make directory" err
'
test_expect_success 'what fails late is said, too, and goes down in order' '
	mkdir fourth && touch fourth/pods &&
	rc=0; berth up --data fourth --listen 127.0.0.1:0 >out 2>err || rc=$?
	test $rc = 1 && test ! -s out && grep "^berth up: cannot make .*/fourth/pods" err
'
test_expect_success 'a wrong value of an option is refused before anything starts' '
	rc=0; berth up --data fifth --images maybe 2>err || rc=$?; test $rc = 2 && grep "maybe" err &&
	rc=0; berth up --data fifth --hollow-nodes many 2>err || rc=$?; test $rc = 2 && grep "many" err &&
	test ! -e fifth
'
test_expect_success 'every command has help that fits a screen' '
	berth --help >got && test "$(wc -l <got)" -lt 40 &&
	commands=$(sed -n "s/^  \([a-z]*\)  .*/\1/p" got) && test "$(echo "$commands" | wc -l)" -gt 10 &&
	for c in $commands; do
		berth $c --help >got && grep -q "^usage: berth $c" got && test "$(wc -l <got)" -lt 40 || return 1
	done
'
test_expect_success 'SIGTERM ends it in order' '
	kill $berth_pid && wait_until 10 "! kill -0 $berth_pid" && ! berth get nodes 2>err && grep "berth" err
'
test_done
