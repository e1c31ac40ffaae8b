#!/bin/sh
# Bad input of every kind gets one clear sentence and the right status or exit code, and nothing
# changes.

test_description='bad input: over the API, in files, on the command line, of the machine'
. "$(dirname "$0")/lib.sh"

command -v curl >/dev/null 2>&1 || { echo "1..0 # SKIP curl is not installed"; exit 0; }
start_berth --no-node

jobs=/apis/batch/v1/namespaces/default/jobs
maps=/api/v1/namespaces/default/configmaps
json='Content-Type: application/json'
# ask CURL-OPTIONS... PATH - the answer in got, its code in code
ask() {
	for path; do :; done
	curl -sS --max-time 10 --unix-socket "$BERTH_DATA/berth.sock" -o got -w '%{http_code}' "$@" >code 2>err
	tr -d '\n' <got >line
}
# refused CODE SENTENCE - what ask() was told; a Status that says so once
refused() {
	test "$(cat code)" = "$1" && grep '"status": *"Failure"' line && grep -- "$2" line
}
job() { # NAME [MORE OF SPEC]
	printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},"spec":{%s"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"host","command":["true"]}]}}}}' "$1" "${2:-}"
}
x=http://x
job kept >kept.json
ask -H "$json" -d @kept.json $x$jobs
berth wait job/kept --for condition=Suspended >/dev/null
berth get jobs,configmaps -o yaml >before

# ---- over the API ----

test_expect_success 'broken JSON, YAML and protobuf: 400, and where' '
	ask -H "$json" -d "{\"kind\": Job}" $x$jobs && refused 400 "invalid character .J. at offset 9: looking for the beginning of a value" &&
	ask -H "$json" -d "{\"kind\":\"Job\"" $x$jobs && refused 400 "unexpected end of JSON input" &&
	ask -H "$json" -d "" $x$jobs && refused 400 "unexpected end of JSON input" &&
	ask -H "Content-Type: application/yaml" -d "kind: [Job" $x$jobs && refused 400 "yaml: line 2, column 1" &&
	ask -H "Content-Type: application/vnd.kubernetes.protobuf" -d "kind" $x$jobs && refused 400 "protobuf body cannot be read" &&
	ask -H "Content-Type: text/plain" -d "kind" $x$jobs && refused 415 "unknown format"
'
test_expect_success 'what is no object, or another one: 400' '
	ask -H "$json" -d "[]" $x$jobs && refused 400 "is not an object" &&
	ask -H "$json" -d "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}" $x$jobs && refused 400 "does not match the expected API version (batch/v1)" &&
	ask -X PUT -H "$json" -d @kept.json $x$jobs/other && refused 400 "does not match the name on the URL"
'
test_expect_success 'an unknown kind, place or verb: 404, 405' '
	ask -H "$json" -d "{}" $x/api/v1/namespaces/default/nothings && refused 404 "could not find the requested resource" &&
	ask $x/apis/nothing/v1/things && test "$(cat code)" = 404 &&
	ask -X BREW $x$jobs/kept && refused 405 "does not allow this method" &&
	ask -H "$json" -d @kept.json $x/apis/batch/v1/namespaces/nowhere/jobs && refused 404 "namespaces .*nowhere.* not found"
'
test_expect_success 'a wrong type names the field: 400' '
	job x "\"parallelism\":\"two\"," >bad && ask -H "$json" -d @bad $x$jobs && refused 400 "spec.parallelism of type int32" &&
	job x "\"parallelism\":99999999999," >bad && ask -H "$json" -d @bad $x$jobs && refused 400 "spec.parallelism of type int32" &&
	ask -H "$json" -d "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":\"x\"}" $x$maps && refused 400 "ConfigMap.metadata"
'
test_expect_success 'an unknown field, or one twice, is told by whoever asks for it: 400' '
	job x "\"parallelismm\":2," >bad && ask -H "$json" -d @bad "$x$jobs?fieldValidation=Strict&dryRun=All" && refused 400 "unknown field ..*spec.parallelismm" &&
	job x "\"parallelism\":1,\"parallelism\":2," >bad && ask -H "$json" -d @bad "$x$jobs?fieldValidation=Strict&dryRun=All" && refused 400 "duplicate field"
'
test_expect_success 'a wrong value: 422 with its path' '
	job x "\"parallelism\":-1," >bad && ask -H "$json" -d @bad $x$jobs && refused 422 "spec.parallelism: Invalid value: -1: must be greater than or equal to 0" &&
	job A_B >bad && ask -H "$json" -d @bad $x$jobs && refused 422 "metadata.name: Invalid value"
'
test_expect_success 'a field that never changes: 422' '
	ask -X PATCH -H "Content-Type: application/merge-patch+json" -d "{\"spec\":{\"completions\":9}}" $x$jobs/kept &&
	refused 422 "spec.completions: Invalid value: 9: field is immutable"
'
test_expect_success 'an old version or another uid: 409' '
	ask -X PUT -H "$json" -d "{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"name\":\"kept\",\"resourceVersion\":\"1\"}}" $x$jobs/kept && refused 409 "has been modified" &&
	ask -X DELETE -H "$json" -d "{\"preconditions\":{\"uid\":\"1\"}}" $x$jobs/kept && refused 409 "UID" &&
	ask -H "$json" -d @kept.json $x$jobs && refused 409 "already exists"
'
test_expect_success 'patches that are none: 400, 415, 422' '
	ask -X PATCH -H "Content-Type: application/merge-patch+json" -d "[]" $x$jobs/kept && refused 400 "must be an object" &&
	ask -X PATCH -H "Content-Type: application/json-patch+json" -d "{}" $x$jobs/kept && refused 400 "must be a list of operations" &&
	ask -X PATCH -H "Content-Type: application/json-patch+json" -d "[{\"op\":\"fly\",\"path\":\"/a\"}]" $x$jobs/kept && refused 422 "no such operation" &&
	ask -X PATCH -H "$json" -d "{}" $x$jobs/kept && refused 415 "strategic-merge-patch" &&
	ask -X PATCH -H "Content-Type: application/apply-patch+yaml" -d "{}" $x$jobs/kept && refused 422 "fieldManager: Required value"
'
test_expect_success 'too large: bodies, objects, nesting, aliases' '
	head -c 4000000 /dev/zero | tr "\\0" a >big && ask -H "$json" --data-binary @big $x$maps && refused 413 "limit is 3145728" &&
	{ printf "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\""; head -c 1100000 big; printf "\"}}"; } >bad &&
	ask -H "$json" --data-binary @bad $x$maps && refused 422 "may not be more than 1048576 bytes" &&
	{ head -c 100000 big | tr a "["; } >bad && ask -H "$json" --data-binary @bad $x$maps && refused 400 "nested deeper than the limit" &&
	{ echo "a: &a [x,x,x,x,x,x,x,x]"; for i in b:a c:b d:c e:d f:e g:f h:g; do t=*${i#*:}; echo "${i%:*}: &${i%:*} [$t,$t,$t,$t,$t,$t,$t,$t,$t]"; done; } >bad.yaml &&
	ask -H "Content-Type: application/yaml" --data-binary @bad.yaml $x$maps && refused 400 "excessive aliasing"
'
# many N ITEM - N times the item, with commas between
many() {
	yes "$2" | head -n "$1" | paste -sd, -
}
test_expect_success 'lists without end: refused before they are given defaults' '
	pod="{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[" &&
	{ echo "$pod"; many 1000000 "{}"; echo "]}}"; } >bad && ask -H "$json" --data-binary @bad $x/api/v1/namespaces/default/pods && refused 413 "limit is 250000 values" &&
	{ echo "$pod"; many 20000 "{\"name\":\"x\"}"; echo "]}}"; } >bad && ask -H "$json" --data-binary @bad $x/api/v1/namespaces/default/pods && refused 422 "more\]" &&
	{ job x "\"selector\":{\"matchLabels\":{}}," | sed "s/\"command\":.*//"; echo "\"args\":["; many 1000000 0; echo "]}]}}}}"; } >bad && ask -H "$json" --data-binary @bad $x$jobs && refused 413 "limit is 250000 values" &&
	{ echo "{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"name\":\"x\",\"ownerReferences\":["; many 20000 "{\"apiVersion\":\"v1\",\"kind\":\"a\",\"name\":\"b\",\"uid\":\"c\",\"controller\":true}"; echo "]}}"; } >bad && ask -H "$json" --data-binary @bad $x$jobs && refused 422 "spec.template.spec.containers: Required value"
'
test_expect_success 'objects that the store would not take: 413' '
	{ job x | sed "s/\"command\".*//"; echo "\"args\":["; for i in $(seq 18); do test $i = 1 || echo ,; echo "\"$(head -c 90000 big)\""; done; echo "]}]}}}}"; } >bad &&
	ask -H "$json" --data-binary @bad $x$jobs && refused 413 "request is too large"
'
test_expect_success 'patches that make an object grow: 413, 422' '
	{ echo "["; many 10001 "{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"Job\"}"; echo "]"; } >bad &&
	ask -X PATCH -H "Content-Type: application/json-patch+json" --data-binary @bad $x$jobs/kept && refused 413 "the limit is 10000" &&
	{ echo "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"a/b\":\"$(head -c 100000 big)\"}},"; many 40 "{\"op\":\"copy\",\"from\":\"/metadata/annotations\",\"path\":\"/metadata/annotations/x\"}"; echo "]"; } >bad &&
	ask -X PATCH -H "Content-Type: application/json-patch+json" --data-binary @bad $x$jobs/kept && refused 422 "copies of the patch add more than" &&
	{ echo "[{\"op\":\"add\",\"path\":\"/spec/template/spec/containers/0/args\",\"value\":[]},"; many 9999 "{\"op\":\"add\",\"path\":\"/spec/template/spec/containers/0/args/0\",\"value\":{}}"; echo "]"; } >bad &&
	ask -X PATCH -H "Content-Type: application/json-patch+json" --data-binary @bad $x$jobs/kept && test "$(cat code)" = 400
'
test_expect_success 'wrong words behind the question mark: 400, 422' '
	ask "$x$jobs?limit=x" && refused 400 "limit" &&
	ask "$x$jobs?labelSelector=%21%21" && refused 400 "unable to parse requirement" &&
	ask "$x$jobs?fieldSelector=a.b%3Dc" && refused 400 "field label not supported: a.b" &&
	ask "$x$jobs?continue=junk" && refused 400 "continue key is not valid" &&
	ask -H "$json" -d @kept.json "$x$jobs?dryRun=Maybe" && refused 422 "dryRun"
'
test_expect_success 'none of it has changed anything' '
	berth get jobs,configmaps -o yaml >after && cmp before after
'

# ---- in files, on the command line ----

# wrong CODE SENTENCE COMMAND... - one sentence on stderr (with exit code 2, one line of usage below)
wrong() {
	want=$1 words=$2 rc=0
	shift 2
	"$@" >out 2>err || rc=$?
	test $rc = "$want" && test ! -s out && grep -- "$words" err && test "$(wc -l <err)" = "$want"
}
test_expect_success 'files that cannot be read are named, with the line' '
	printf "kind: [" >bad.yaml && wrong 1 "^berth apply: .bad.yaml.: yaml: line 2" berth apply -f bad.yaml &&
	printf "words" >bad.yaml && wrong 1 "bad.yaml.: line 1: no object begins here" berth apply -f bad.yaml &&
	printf "# words\n" >bad.yaml && wrong 1 "no object is in .bad.yaml." berth apply -f bad.yaml &&
	printf "kind: Job\n" >bad.yaml && wrong 1 "bad.yaml:1: the object has no apiVersion and kind" berth apply -f bad.yaml &&
	printf -- "---\nkind: Job\napiVersion: nope/v1\nmetadata: {name: x}\n" >bad.yaml && wrong 1 "bad.yaml:1: the server has no kind Job in nope/v1" berth apply -f bad.yaml &&
	wrong 1 "cannot open .nowhere.yaml.: No such file" berth apply -f nowhere.yaml &&
	wrong 1 "cannot read ./.: Is a directory" berth apply -f /
'
test_expect_success 'wrong words get one line of usage and exit code 2' '
	wrong 2 "unknown option .--frob." berth run --frob -- true &&
	wrong 2 "no command is given" berth run &&
	wrong 2 "the server has no kind .nothing." berth delete nothing/x &&
	wrong 2 "which job? name one" berth delete job &&
	wrong 2 "no time such as 30s" berth wait job/kept --for Complete --timeout soon &&
	wrong 2 "no number from" berth logs job/kept --tail many &&
	wrong 2 "writes no log" berth logs queue/default &&
	wrong 2 "none of bash, zsh, fish" berth completion tcsh
'
test_expect_success 'what is not there is said, exit code 1' '
	wrong 1 "jobs.batch .none. not found" berth logs job/none &&
	wrong 1 "jobs.batch .none. not found" berth why job/none &&
	wrong 1 "jobs.batch .none. not found" berth delete job/none &&
	wrong 1 "no berth runs in .*nowhere.; start one by .berth up." berth get jobs --data "$work/nowhere" &&
	wrong 1 "quantities must match" berth run -c many -- true &&
	wrong 1 "namespaces .nowhere. not found" berth run -n nowhere -- true &&
	wrong 1 "cannot open .nowhere." berth simulate -f nowhere
'

# ---- of the machine ----

test_expect_success 'addresses that cannot be' '
	wrong 1 "must be HOST:PORT" berth up --data other --listen nonsense &&
	wrong 1 "the port must be a number" berth up --data other --listen 127.0.0.1:99999
'
test_expect_success 'an admission plugin that does not exist is named, with those there are' '
	wrong 1 "no admission plugin is called .Nope.; there are NamespaceLifecycle" berth up --data other --disable-admission Priority,Nope
'
test_expect_success 'a data directory that is in use' '
	wrong 1 "in use" berth up --data "$BERTH_DATA" --listen 127.0.0.1:0 && berth get job kept
'
test_expect_success 'a berth in order leaves one file of data; one of a newer format is not touched' '
	kill $berth_pid && wait_until 10 "! kill -0 $berth_pid" && test ! -e data/berth.db-wal &&
	cp -r data newer && printf "\0\0\0\143" | dd of=newer/berth.db bs=1 seek=60 conv=notrunc 2>/dev/null &&
	cp newer/berth.db copy &&
	wrong 1 "has format 99, written by a newer berth; this one reads up to" berth up --data newer --listen 127.0.0.1:0 &&
	wrong 1 "has format 99" berth fsck --data newer && wrong 1 "has format 99" berth backup --data newer there &&
	cmp newer/berth.db copy
'
test_expect_success 'a file that is no store' '
	cp -r data damaged && head -c 8192 kept.json >damaged/berth.db &&
	wrong 1 "damaged/berth.db\|store is damaged\|not a store" berth up --data damaged --listen 127.0.0.1:0
'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
	test_expect_success 'a directory that may not be written' '
		chmod 711 "$work" && mkdir closed && chmod 555 closed &&
		wrong 1 "cannot write to directory .*closed.: Permission denied" \
			setpriv --reuid nobody --clear-groups "$BERTH" up --data "$work/closed" --listen 127.0.0.1:0
	'
else
	test_expect_success 'a directory that may not be written' '
		mkdir closed && chmod 555 closed &&
		if [ "$(id -u)" != 0 ]; then wrong 1 "cannot write to directory .*closed" berth up --data closed --listen 127.0.0.1:0; fi
	'
fi

# A disk with little room: a file may not grow past its limit here (ENOSPC is worded likewise).
rm -f up.out
(ulimit -f 1000; exec "$BERTH" up --data "$work/full" --no-node --listen 127.0.0.1:0 >up.out 2>full.err) &
berth_pid=$!
wait_until 20 'grep -q "^ready" up.out'
BERTH_DATA=$work/full
fill() {
	i=0
	head -c 60000 big >value
	while [ $i -lt 30 ]; do
		i=$((i + 1))
		printf '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%s"},"data":{"a":"%s"}}' $i "$(cat value)" >one
		ask -H "$json" --data-binary @one $x$maps
		[ "$(cat code)" = 201 ] || return 0
		echo configmap/c$i >>acked
	done
	return 1
}
test_expect_success 'where nothing more can be written, writes are refused with the reason' '
	: >acked && fill && refused 500 "cannot write to the store" && test -s acked
'
test_expect_success 'what was acknowledged can be read; it is said once' '
	berth get configmaps -o name | sort >got && sort acked | cmp - got &&
	grep -c "store cannot write" full.err | grep -x 1
'
stop_berth
rm -f up.out
berth up --data "$work/full" --no-node --listen 127.0.0.1:0 >up.out &
berth_pid=$!
wait_until 20 'grep -q "^ready" up.out'
test_expect_success 'with room again, after a restart: all of it is there, and writes go on' '
	berth get configmaps -o name | sort >got && sort acked | cmp - got && berth fsck &&
	ask -H "$json" --data-binary @one $x$maps && test "$(cat code)" = 201
'
test_done
