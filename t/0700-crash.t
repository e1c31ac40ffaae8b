#!/bin/sh
# kill -9 at random moments under load: nothing acknowledged is lost, nothing runs twice, revisions
# never repeat. ROUNDS says how often (10; `make check-crash` 200).

test_description='kill -9 under load'
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-10}
: >acked; : >"$work/ran"
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	rm -f up.out
	start_berth --no-defaults
	(
		i=0
		while [ $i -lt 200 ]; do
			i=$((i + 1))
			n=r$round-$i
			printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},"spec":{"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"host","command":["sh","-c","echo %s >>%s"]}]}}}}' $n $n "$work/ran" >one.json
			curl -sS --max-time 5 --unix-socket data/berth.sock -H 'Content-Type: application/json' \
				-o answer -w '%{http_code}' -d @one.json http://x/apis/batch/v1/namespaces/default/jobs >code 2>/dev/null || break
			[ "$(cat code)" = 201 ] || break
			sed -n 's/.*"resourceVersion": *"\([0-9]*\)".*/\1 '$n'/p' answer | head -1 >>acked
		done
	) &
	load=$!
	# a moment that differs from round to round
	sleep "0.$((round * 37 % 70 + 10))"
	kill_berth
	wait $load 2>/dev/null
done
rm -f up.out
start_berth --no-defaults

test_expect_success 'load was acknowledged' 'test "$(wc -l <acked)" -gt $((rounds * 2))'
test_expect_success 'every acknowledged job is there' '
	berth get jobs -o name | sed "s,.*/,," | sort >there && cut -d" " -f2 acked | sort >want &&
	comm -13 there want >lost && test ! -s lost
'
test_expect_success 'no revision was given twice' '
	test "$(cut -d" " -f1 acked | sort | uniq -d | wc -l)" = 0
'
test_expect_success 'everything ends, and nothing ran twice' '
	wait_until 120 "test \$(berth get jobs -o json | grep -c \"\\\"type\\\": \\\"Complete\\\"\\|\\\"type\\\": \\\"Failed\\\"\") -ge \$(wc -l <there)" &&
	test "$(sort "$work/ran" | uniq -d | wc -l)" = 0
'
test_done
