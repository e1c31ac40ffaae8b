#!/bin/sh
# What a container says of itself while it runs: probes and hooks.

test_description='startup, readiness and liveness probes; postStart and preStop'
. "$(dirname "$0")/lib.sh"
need_kubectl
start_berth
# pod NAME SCRIPT RESTART-POLICY LINES - LINES belong to its container
pod() {
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  restartPolicy: %s\n  terminationGracePeriodSeconds: 3\n' "$1" "$3"
	printf '  containers:\n  - name: c\n    image: host\n    command: [sh, -c, "cd %s; %s"]\n' "$work" "$2"
	printf '%s\n' "$4" | sed 's/^[[:space:]]*//;/^$/d;s/^/    /'
}
cat >hooks.sh <<'END'
trap 'echo term >>hooks.log; exit 0' TERM
echo start >>hooks.log
while :; do sleep 0.1; done
END
port=$((20000 + $$ % 20000))
ready() { field "pod/$1" ".status.conditions[?(@.type==\"Ready\")].status"; }
of() { field "pod/$1" ".status.containerStatuses[0].$2"; }

test_expect_success 'readiness by a command: ready when it says so, and not when it no longer does' '
	pod ready "sleep 30" Never "readinessProbe: {periodSeconds: 1, failureThreshold: 1, exec: {command: [test, -e, $work/up]}}" |
	kubectl apply -f - && kubectl wait pod/ready --for=jsonpath={.status.phase}=Running --timeout=10s &&
	test "$(ready ready)" = False && touch up && wait_until 10 "test \"\$(ready ready)\" = True" &&
	rm up && wait_until 10 "test \"\$(ready ready)\" = False" && events ready | grep "Warning Unhealthy Readiness probe failed" &&
	kubectl delete pod ready --now
'
test_expect_success 'liveness by a command: the container is ended, and started again' '
	touch alive && pod lives "echo start >>lives.log; sleep 30" OnFailure "livenessProbe: {periodSeconds: 1, failureThreshold: 2, exec: {command: [test, -e, $work/alive]}}" |
	kubectl apply -f - && wait_until 10 "test \"\$(of lives started)\" = true" && rm alive &&
	wait_until 20 "test \"\$(of lives restartCount)\" = 1" && touch alive && events lives | grep "Killing" &&
	wait_until 10 "test \"\$(wc -l <lives.log)\" = 2" && kubectl delete pod lives --now
'
test_expect_success 'with restartPolicy Never it is over then' '
	pod over "sleep 30" Never "livenessProbe: {periodSeconds: 1, failureThreshold: 1, exec: {command: [\"false\"]}}" |
	kubectl apply -f - && kubectl wait pod/over --for=jsonpath={.status.phase}=Failed --timeout=20s
'
test_expect_success 'startup comes first: liveness waits for it' '
	pod starts "sleep 2; touch started; sleep 30" Never "startupProbe: {periodSeconds: 1, failureThreshold: 30, exec: {command: [test, -e, $work/started]}}
		livenessProbe: {periodSeconds: 1, failureThreshold: 1, exec: {command: [test, -e, $work/started]}}" |
	kubectl apply -f - && wait_until 5 "test \"\$(field pod/starts .status.phase)\" = Running" && test "$(of starts started)" = false &&
	wait_until 10 "test \"\$(of starts started)\" = true" && test "$(of starts restartCount)" = 0 && test "$(ready starts)" = True &&
	kubectl delete pod starts --now
'
test_expect_success 'by TCP and by HTTP' '
	command -v python3 >/dev/null || exit 0
	pod web "python3 -u -m http.server $port --bind 127.0.0.1 >web.log 2>&1" Never "ports: [{name: http, containerPort: $port}]
		startupProbe: {periodSeconds: 1, failureThreshold: 20, tcpSocket: {port: $port}}
		readinessProbe: {periodSeconds: 1, httpGet: {path: /web.log, port: http}}
		livenessProbe: {periodSeconds: 1, failureThreshold: 100, httpGet: {path: /nothing-here, port: http}}" |
	kubectl apply -f - && wait_until 20 "test \"\$(ready web)\" = True" &&
	wait_until 10 "events web | grep \"Liveness probe failed: HTTP probe failed with statuscode: 404\"" && kubectl delete pod web --now
'
test_expect_success 'postStart runs after the start; preStop before the end, within the grace' '
	pod hooks ". ./hooks.sh" Never "lifecycle: {postStart: {exec: {command: [sh, -c, \"sleep 0.3; echo post >>$work/hooks.log\"]}}, preStop: {exec: {command: [sh, -c, \"echo pre >>$work/hooks.log; sleep 0.5\"]}}}" >hooks.yaml &&
	kubectl apply -f hooks.yaml && wait_until 10 "test \"\$(ready hooks)\" = True" && kubectl delete pod hooks &&
	test "$(tr "\n" " " <hooks.log)" = "start post pre term "
'
test_expect_success 'a postStart that fails ends the container' '
	pod fails "sleep 30" Never "lifecycle: {postStart: {exec: {command: [\"false\"]}}}" | kubectl apply -f - &&
	kubectl wait pod/fails --for=jsonpath={.status.phase}=Failed --timeout=10s && events fails | grep FailedPostStartHook
'
test_expect_success 'a preStop that hangs is cut off by the grace' '
	pod hangs "sleep 30" Never "lifecycle: {preStop: {exec: {command: [sleep, \"61.423\"]}}}" | kubectl apply -f - &&
	kubectl wait pod/hangs --for=jsonpath={.status.phase}=Running --timeout=10s && kubectl delete pod hangs --timeout=15s &&
	wait_until 5 "! pgrep -fx \"sleep 61.423\""
'
test_done
