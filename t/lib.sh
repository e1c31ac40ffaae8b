# lib.sh - what every end-to-end test stands on; sourced, with test_description set
#
#   test_description='a suspended job gives its quota back'
#   . ./lib.sh            (from t/; or . "$(dirname "$0")/lib.sh")
#   start_berth           own directory, own port, gone at exit
#   test_expect_success 'name' 'commands &&
#	that must all succeed'
#   test_done
#
# Tests wait on conditions (berth wait, wait_until), never on sleep. Output is TAP.

set -u
t_dir=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$t_dir")
case ${BUILD:=build} in /*) ;; *) BUILD=$root/$BUILD ;; esac
BERTH=$BUILD/berth
T=$t_dir
work=$(mktemp -d "${TMPDIR:-/tmp}/berth-t.XXXXXX")
PATH=$work/bin:$PATH
mkdir -p "$work/bin"
ln -s "$BERTH" "$work/bin/berth"
export PATH T work
unset KUBECONFIG BERTH_DATA NO_COLOR
test_count=0 test_failed=0

echo "# $test_description"
[ -x "$BERTH" ] || { echo "Bail out! $BERTH is not built; run make"; exit 1; }

end_test() {
	rc=$?
	trap - EXIT INT TERM
	stop_berth
	cd /
	end_pods
	if [ "$test_failed" = 0 ] && [ -z "${KEEP:-}" ]; then rm -rf "$work"; else echo "# kept: $work"; fi
	exit $rc
}

# end_pods - pods outlive their berth: ends what still runs in the test's directory
end_pods() {
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd" 2>/dev/null) in
		"$work"*) kill -9 "${process#/proc/}" 2>/dev/null ;;
		esac
	done
}
trap end_test EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1

# start_berth [OPTIONS...] - `berth up` in its own directory; waits until it says that it is ready
start_berth() {
	export BERTH_DATA=$work/data
	berth up --data "$BERTH_DATA" --listen 127.0.0.1:0 "$@" >"$work/up.out" 2>>"$work/up.err" &
	berth_pid=$!
	wait_until 20 "grep -q '^ready' '$work/up.out'" || {
		echo "Bail out! berth up did not become ready"
		sed 's/^/# /' "$work/up.err"
		exit 1
	}
	export KUBECONFIG=$BERTH_DATA/kubeconfig
}

# next_second - waits for it: who is older is told by whole seconds
next_second() {
	now=$(date +%s)
	wait_until 5 "test \$(date +%s) -gt $now"
}

# stop_berth - in order; does nothing where none runs
stop_berth() {
	[ -n "${berth_pid:-}" ] || return 0
	kill "$berth_pid" 2>/dev/null
	wait "$berth_pid" 2>/dev/null
	berth_pid=
}

# kill_berth - as a crash would
kill_berth() {
	kill -9 "$berth_pid"
	wait "$berth_pid" 2>/dev/null
	berth_pid=
	return 0
}

# wait_until SECONDS COMMAND - true as soon as the command is
wait_until() {
	wait_end=$(($(date +%s) + $1))
	until eval "$2" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_end" ] || return 1
		sleep 0.05
	done
}

# has_kubectl - is there one that speaks to a server of our version?
has_kubectl() {
	command -v kubectl >/dev/null 2>&1
}

# need_kubectl - ends the script, with a sentence, where there is none
need_kubectl() {
	has_kubectl && return 0
	echo "1..0 # SKIP there is no kubectl on PATH"
	exit 0
}

# job NAME SCRIPT [LINES] - a Job whose one container runs the shell's SCRIPT (in double quotes
# of YAML); LINES are fields of its spec, one a line
job() {
	printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n' "$1"
	printf '%s\n' "${3:-}" | sed 's/^[[:space:]]*//;/^$/d;s/^/  /'
	case ${3:-} in *template:*) return ;; esac
	printf '  template:\n    spec:\n      restartPolicy: Never\n      terminationGracePeriodSeconds: 1\n'
	printf '      containers:\n      - {name: c, image: host, command: [sh, -c, "%s"]}\n' "$2"
}

# field OBJECT PATH - what kubectl reads there, as jsonpath without braces
field() {
	kubectl get "$1" -o "jsonpath={$2}"
}

# field_is OBJECT PATH TEXT - and says what it is where it differs
field_is() {
	field_was=$(field "$1" "$2") || return 1
	[ "$field_was" = "$3" ] || { echo "$1 $2 is '$field_was', not '$3'"; return 1; }
}

# ended JOB HOW [SECONDS] - waits for its condition Complete or Failed
ended() {
	kubectl wait "job/$1" "--for=condition=$2" "--timeout=${3:-20}s"
}

# reason JOB CONDITION - the reason of a condition that is True, or nothing
reason() {
	field "job/$1" ".status.conditions[?(@.type==\"$2\")].reason"
}

# pods JOB - the names of its pods
pods() {
	kubectl get pods -l "job-name=$1" -o name
}

# events OBJECT-NAME - reasons and messages of its Events
events() {
	kubectl get events --field-selector "involvedObject.name=$1" -o \
		'jsonpath={range .items[*]}{.type} {.reason} {.message}{"\n"}{end}'
}

# queued NAME QUEUE CPU SECONDS [CLASS] - a Job for hollow nodes, whose pod runs that long
queued() {
	cat <<-END
	apiVersion: batch/v1
	kind: Job
	metadata:
	  name: $1
	  labels: {kueue.x-k8s.io/queue-name: $2${5:+, kueue.x-k8s.io/priority-class: $5}}
	spec:
	  template:
	    metadata: {annotations: {berth.dev/run-for: ${4}s}}
	    spec:
	      restartPolicy: Never
	      containers:
	      - name: main
	        image: hollow
	        command: ["true"]
	        resources: {requests: {cpu: "$3"}}
	END
}

test_expect_success() {
	test_count=$((test_count + 1))
	if (set -e; eval "$2") >"$work/log" 2>&1 </dev/null; then
		echo "ok $test_count - $1"
	else
		test_failed=$((test_failed + 1))
		echo "not ok $test_count - $1"
		echo "$2" | sed 's/^/# | /'
		tail -40 "$work/log" | sed 's/^/# /'
		[ -s "$work/up.err" ] && tail -5 "$work/up.err" | sed 's/^/# up: /'
	fi
	return 0
}

# test_skip REASON NAME - counted, and said
test_skip() {
	test_count=$((test_count + 1))
	echo "ok $test_count - $2 # SKIP $1"
}

test_done() {
	echo "1..$test_count"
	[ "$test_failed" = 0 ]
	exit
}
