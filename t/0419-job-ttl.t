#!/bin/sh
# A finished Job goes by itself, and takes its pods along.

test_description='ttlSecondsAfterFinished'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth
gone() { wait_until "$2" "! kubectl get job $1" && test -z "$(pods "$1")"; }

test_expect_success 'after 0 seconds: at once' 'job zero true "ttlSecondsAfterFinished: 0" | kubectl apply -f - && gone zero 5'
test_expect_success 'also where it failed' '
	job fails false "backoffLimit: 0
		ttlSecondsAfterFinished: 0" | kubectl apply -f - && gone fails 5
'
test_expect_success 'after 1 second, not before it has finished' '
	job one "sleep 1.5" "ttlSecondsAfterFinished: 1" | kubectl apply -f - && sleep 1.2 && kubectl get job one && gone one 8
'
test_expect_success 'given when it has finished already' '
	job later true | kubectl apply -f - && ended later Complete &&
	kubectl patch job later -p "{\"spec\":{\"ttlSecondsAfterFinished\":0}}" && gone later 5
'
test_done
