#!/bin/sh
# A whole Berth on a virtual clock: the same seed gives the same day.

test_description='berth simulate: determinism, another seed, errors'
. "$(dirname "$0")/lib.sh"

mkdir jobs
for i in 1 2 3 4 5 6; do
	cat >jobs/$i.yaml <<-EOF
	apiVersion: batch/v1
	kind: Job
	metadata: {name: j$i, labels: {kueue.x-k8s.io/queue-name: default}}
	spec:
	  template:
	    metadata: {annotations: {berth.dev/run-for: ${i}m}}
	    spec:
	      restartPolicy: Never
	      containers: [{name: c, image: x, command: [x], resources: {requests: {cpu: "20"}}}]
	EOF
done

sed 's/cpu: "20"/cpu: "3"/' -i jobs/*.yaml

test_expect_success 'a day, twice from one seed: the same hash and the same state' '
	berth simulate --seed 5 --for 24h -f jobs --dump a >one && berth simulate --seed 5 --for 24h -f jobs --dump b >two &&
	cmp one two && cmp a b && grep "^hash *[0-9a-f]\{64\}$" one
'
test_expect_success 'another seed: another hash' '
	berth simulate --seed 6 --for 24h -f jobs >other && ! cmp one other
'
test_expect_success 'all jobs ended in it' '
	test "$(grep -c "\"kind\":\"Job\".*\"type\":\"Complete\"" a)" = 6
'
test_expect_success 'the objects of a List are applied as if each had a file of its own' '
	{ printf "apiVersion: v1\nkind: List\nitems:\n" && sed -s "s/^/  /; 1s/^ /-/" jobs/*.yaml; } >list.yaml &&
	berth simulate --seed 5 --for 24h -f list.yaml --dump c >/dev/null &&
	test "$(grep -c "\"kind\":\"Job\".*\"type\":\"Complete\"" c)" = 6
'
test_expect_success 'a wrong object is named with its file and line' '
	printf "apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n" >bad.yaml &&
	! berth simulate -f bad.yaml 2>err && grep "bad.yaml:1.*Nothing" err
'
test_done
