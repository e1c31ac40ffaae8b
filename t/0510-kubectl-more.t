#!/bin/sh
# kubectl as people use it past the first day: server-side apply, dry runs, three kinds of patches,
# rights, events, nodes taken out and back.

test_description='kubectl: server-side apply, patches, dry runs, prune, rights, events, cascade, drain'
. "$(dirname "$0")/lib.sh"

has_kubectl || { echo "1..0 # SKIP there is no kubectl on PATH"; exit 0; }
start_berth

cat >job.yaml <<'EOF'
apiVersion: batch/v1
kind: Job
metadata: {name: one, labels: {app: x}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: host, command: [sh, -c, "echo begin; sleep 2; echo end"]}
EOF
map() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {set: a}}\ndata: {k: "%s"}\n---\n' "$1" "$2"; }
at() { kubectl get "$1" -o jsonpath="$2"; }

test_expect_success 'dry runs tell what would be, and make nothing' '
	kubectl apply -f job.yaml --dry-run=server >got && grep "job.batch/one created (server dry run)" got &&
	kubectl create -f job.yaml --dry-run=server -o yaml >got && grep "uid:" got && grep "backoffLimit: 6" got &&
	! kubectl get job one
'
test_expect_success 'server-side apply: owners, a conflict that names them, force' '
	map c 1 | kubectl apply --server-side -f - >got && grep "configmap/c serverside-applied" got &&
	! map c 2 | kubectl apply --server-side --field-manager=other -f - 2>err &&
	grep "conflict with \"kubectl\": .data.k" err && test "$(at cm/c "{.data.k}")" = 1 &&
	map c 2 | kubectl apply --server-side --field-manager=other --force-conflicts -f - &&
	test "$(at cm/c "{.data.k}")" = 2 &&
	kubectl get cm c --show-managed-fields -o yaml >got && grep "manager: other" got
'
test_expect_success 'apply --prune takes away what the files no longer name' '
	kubectl delete cm c && { map c1 1; map c2 2; } | kubectl apply -f - &&
	map c1 1 | kubectl apply -f - --prune -l set=a --prune-allowlist=core/v1/ConfigMap >got 2>/dev/null &&
	grep "configmap/c2 pruned" got && kubectl get cm c1 && ! kubectl get cm c2
'
test_expect_success 'patches: merge, JSON, strategic; a test that fails changes nothing' '
	kubectl patch cm c1 --type merge -p "{\"data\":{\"b\":\"2\"}}" &&
	kubectl patch cm c1 --type json -p "[{\"op\":\"replace\",\"path\":\"/data/b\",\"value\":\"3\"}]" &&
	kubectl create -f job.yaml &&
	kubectl patch job one -p "{\"metadata\":{\"labels\":{\"more\":\"yes\"}}}" &&
	test "$(at job/one "{.metadata.labels.app} {.metadata.labels.more}")" = "x yes" &&
	! kubectl patch cm c1 --type json -p "[{\"op\":\"test\",\"path\":\"/data/b\",\"value\":\"9\"},{\"op\":\"remove\",\"path\":\"/data/k\"}]" 2>err &&
	test "$(at cm/c1 "{.data.b} {.data.k}")" = "3 1"
'
test_expect_success 'a JSON patch reaches into managedFields; a writer may forget a field, or all' '
	map owned 1 | kubectl apply --server-side --field-manager=me -f - && kubectl annotate cm owned note=x &&
	f=/metadata/managedFields/0/fieldsV1 && kubectl patch cm owned --type json --field-manager=me -p "[
		{\"op\":\"test\",\"path\":\"$f/f:data\",\"value\":{\"f:k\":{}}},{\"op\":\"remove\",\"path\":\"$f/f:data/f:k\"}]" &&
	kubectl get cm owned --show-managed-fields -o json >got && ! grep "f:k" got && grep "f:labels" got && grep "f:note" got &&
	kubectl patch cm owned --type merge -p "{\"metadata\":{\"managedFields\":[{}]}}" &&
	test -z "$(kubectl get cm owned --show-managed-fields -o jsonpath="{.metadata.managedFields}")"
'
test_expect_success 'replace, and replace with an old version' '
	kubectl get cm c1 -o yaml >old.yaml && kubectl annotate cm c1 x=y && sed "s/k: \"1\"/k: \"5\"/" old.yaml >new.yaml &&
	! kubectl replace -f new.yaml 2>err && grep "the object has been modified" err &&
	sed "/resourceVersion/d" new.yaml | kubectl replace -f - && test "$(at cm/c1 "{.data.k}")" = 5
'
test_expect_success 'what a Job has no subresource for is said' '
	! kubectl scale job one --replicas=2 2>err && grep "could not find the requested resource" err
'
test_expect_success 'resume, follow the log while it runs, wait for a path' '
	kubectl patch job one -p "{\"spec\":{\"suspend\":false}}" &&
	wait_until 10 "kubectl get pods -l job-name=one --no-headers | grep Running" &&
	kubectl logs -f job/one >got && test "$(tr "\n" " " <got)" = "begin end " &&
	kubectl wait --for=jsonpath="{.status.succeeded}"=1 job/one --timeout=20s
'
test_expect_success 'events, by kubectl events and by selector' '
	kubectl events --for job/one >got && grep "SuccessfulCreate" got &&
	kubectl get events --field-selector involvedObject.kind=Job,reason=Completed >got && grep "job/one" got
'
test_expect_success 'a pod of ones own, attached, and gone after it' '
	kubectl run --rm -i once --image=host --restart=Never --command -- sh -c "echo once" >got && grep once got &&
	! kubectl get pod once
'
test_expect_success 'a CronJob, and a Job from it' '
	kubectl create cronjob nightly --image=host --schedule="0 0 * * *" -- true &&
	kubectl create job by-hand --from=cronjob/nightly && kubectl wait --for=condition=complete job/by-hand --timeout=20s
'
test_expect_success 'all, sorted, by columns and templates' '
	kubectl get all >got && grep "^job.batch/one" got && grep "^cronjob.batch/nightly" got &&
	test "$(kubectl get jobs --sort-by=.metadata.name -o name | tr "\n" " ")" = "job.batch/by-hand job.batch/one " &&
	kubectl get jobs -o custom-columns=N:.metadata.name --no-headers >got && grep -x one got &&
	test "$(kubectl get job one -o go-template="{{.metadata.name}}")" = one
'
test_expect_success 'rights: a role for an account, asked as that account' '
	kubectl create namespace team && kubectl create sa bot -n team &&
	kubectl create role look -n team --verb=get,list --resource=pods &&
	kubectl create rolebinding look -n team --role=look --serviceaccount=team:bot &&
	as="--as=system:serviceaccount:team:bot -n team" && kubectl auth can-i list pods $as &&
	! kubectl auth can-i delete pods $as && kubectl get pods $as &&
	! kubectl get secrets $as 2>err && grep "cannot list resource \"secrets\"" err &&
	kubectl auth whoami -o jsonpath="{.status.userInfo.groups}" | grep system:masters
'
url=$(kubectl config view --minify -o jsonpath="{.clusters[0].cluster.server}")
# bearer TOKEN COMMAND... - kubectl as whoever that token is of, and as nobody else
bearer() {
	token=$1 && shift &&
		KUBECONFIG=/dev/null kubectl --server "$url" --insecure-skip-tls-verify --token "$token" "$@"
}
test_expect_success 'a token makes a program a service account, with its rights and no others' '
	kubectl create token bot -n team >robot && robot=$(cat robot) && bearer "$robot" get pods -n team &&
	! bearer "$robot" get secrets -n team 2>err && grep "system:serviceaccount:team:bot.* cannot list" err &&
	! bearer "${robot%.*}.AAAA" get pods -n team 2>err && grep -i "unauthorized\|logged in" err &&
	! kubectl create token bot -n team --duration 60s 2>err && grep "spec.expirationSeconds" err &&
	! kubectl create token nobody -n team 2>err && grep "\"nobody\" not found" err
'
test_expect_success 'it holds no longer than what it is bound to, and its account' '
	kubectl create secret generic tie -n team --from-literal=a=b &&
	tied=$(kubectl create token bot -n team --bound-object-kind Secret --bound-object-name tie) &&
	bearer "$tied" get pods -n team && kubectl delete secret tie -n team && ! bearer "$tied" get pods -n team &&
	kubectl delete sa bot -n team && kubectl create sa bot -n team &&
	! bearer "$(cat robot)" get pods -n team
'
test_expect_success 'a namespace goes with all that is in it' '
	kubectl create configmap x -n team --from-literal=a=b && kubectl delete namespace team --timeout=20s &&
	! kubectl get namespace team && ! kubectl get configmap x -n team
'
test_expect_success 'deleting: foreground takes pods first; orphan leaves them' '
	kubectl delete job one --cascade=foreground --timeout=20s && test -z "$(kubectl get pods -l job-name=one -o name)" &&
	kubectl delete job by-hand --cascade=orphan && test -n "$(kubectl get pods -l job-name=by-hand -o name)" &&
	kubectl delete pods --all && ! kubectl delete job by-hand 2>err && grep "not found" err &&
	kubectl delete job by-hand --ignore-not-found
'
test_expect_success 'a node is taken out, emptied, and brought back' '
	node=$(kubectl get nodes -o jsonpath="{.items[0].metadata.name}") &&
	kubectl create job sleeper --image=host -- sleep 600 &&
	wait_until 10 "kubectl get pods -l job-name=sleeper --no-headers | grep Running" &&
	kubectl drain "$node" --ignore-daemonsets --grace-period=1 --timeout=30s &&
	kubectl get nodes | grep SchedulingDisabled &&
	wait_until 10 "kubectl get pods -l job-name=sleeper --no-headers | grep Pending" &&
	kubectl uncordon "$node" && wait_until 10 "kubectl get pods -l job-name=sleeper --no-headers | grep Running" &&
	kubectl delete job sleeper --timeout=20s
'
test_expect_success 'explain to the last field, also of the queues' '
	kubectl explain job.spec.template.spec.containers.resources >got && grep "requests" got &&
	kubectl explain workload.status --recursive >got && grep "admission" got &&
	! kubectl explain job.spec.nothing 2>err && grep "does not exist" err
'
test_expect_success 'describe everything there is, without an error' '
	for kind in nodes namespaces configmaps clusterqueues localqueues resourceflavors cronjobs; do
		kubectl describe $kind >got 2>err && test -s got && test ! -s err || return 1
	done
'
test_done
