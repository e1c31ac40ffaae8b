#!/bin/sh
# Over the socket everybody is who the kernel says: what that gives them, and what it does not.

test_description='several users of one machine'
. "$(dirname "$0")/lib.sh"

command -v curl >/dev/null 2>&1 || { echo "1..0 # SKIP curl is not installed"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root, to be two others"; exit 0; }
command -v setpriv >/dev/null 2>&1 || { echo "1..0 # SKIP setpriv is not installed"; exit 0; }
start_berth --no-node
chmod 711 "$work"

# as USER METHOD PATH [BODY] - the status in code, the answer in got
as() {
	uid=$(id -u "$1") gid=$(id -g "$1") method=$2 path=$3 body=${4:-}
	setpriv --reuid "$uid" --regid "$gid" --clear-groups \
		curl -sS --max-time 10 --unix-socket "$work/data/berth.sock" -H 'Content-Type: application/json' \
		-H 'User-Agent: t' -X "$method" -w '\n%{http_code}' ${body:+-d "$body"} "http://berth$path" >out &&
		code=$(tail -1 out) && sed '$d' out >got
}
job() { # NAME [MORE OF METADATA]
	printf '{"metadata":{"name":"%s"%s},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"host","command":["true"]}]}}}}' "$1" "${2:-}"
}
jobs=/apis/batch/v1/namespaces/u-nobody/jobs

test_expect_success 'the first request makes a namespace of ones own' '
	as nobody GET /api/v1/namespaces/u-nobody/configmaps && test $code = 200
'
test_expect_success 'with the queue of the default namespace' '
	as nobody GET /apis/kueue.x-k8s.io/v1beta2/namespaces/u-nobody/localqueues/default && test $code = 200 &&
	grep -q "\"clusterQueue\":\"default\"" got
'
test_expect_success 'others namespaces are closed' '
	as nobody GET /api/v1/namespaces/default/secrets && test $code = 403 &&
	as daemon GET /api/v1/namespaces/u-nobody/configmaps && test $code = 403
'
test_expect_success 'a job carries its asker' '
	as nobody POST $jobs "$(job mine)" && test $code = 201 &&
	grep -q "run-as\":\"{.\"uid.\":$(id -u nobody)," got
'
test_expect_success 'nobody claims to be somebody else' '
	as nobody POST $jobs "$(job root ",\"annotations\":{\"berth.dev/run-as\":\"{\\\"uid\\\":0,\\\"gid\\\":0}\"}")" &&
	test $code = 403 && grep -q "written by the server" got
'
test_expect_success 'root works for them without becoming them, and they stay who they are' '
	as root POST $jobs "$(job by-root)" && test $code = 201 && grep -q "uid.\":0," got &&
	as root GET $jobs/mine && grep -q "uid.\":$(id -u nobody)," got
'
test_expect_success 'a user may not change what root runs in their namespace' '
	setpriv --reuid "$(id -u nobody)" --regid "$(id -g nobody)" --clear-groups \
		curl -sS --unix-socket "$work/data/berth.sock" -X PATCH -H "Content-Type: application/json-patch+json" \
		-d "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/command\",\"value\":[\"id\"]}]" \
		"http://berth$jobs/by-root" >got && grep -q "may not change what runs as another user" got
'
test_expect_success 'no grants beyond ones own' '
	as nobody POST /apis/rbac.authorization.k8s.io/v1/namespaces/u-nobody/rolebindings "{\"metadata\":{\"name\":\"x\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"nobody\"}]}" &&
	test $code = 403 && grep -q "not currently held" got
'
test_expect_success 'every write left a line: who, what, which' '
	grep "\"user\":\"nobody\"" "$work/data/audit.log" | grep "\"verb\":\"create\"" | grep -q "\"name\":\"mine\""
'
test_expect_success 'a berth that listens everywhere tells others the name of its machine' '
	berth up --data any --listen 0.0.0.0:0 --no-node >any.out 2>&1 & pid=$!
	wait_until 20 "grep -q ^ready any.out" && berth user --data any ann >ann; kill $pid
	wait $pid && grep "server: https://$(hostname):" ann
'
test_done
