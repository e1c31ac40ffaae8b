#!/bin/sh
# kubectl drives the same server.

test_description='kubectl: apply, create, get, explain, describe, wait, logs, label, edit, diff, delete'
. "$(dirname "$0")/lib.sh"

has_kubectl || { echo "1..0 # SKIP there is no kubectl on PATH"; exit 0; }
start_berth

cat >job.yaml <<'EOF'
apiVersion: batch/v1
kind: Job
metadata: {name: one}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: host, command: [sh, -c, "echo from one; sleep 1"]}
EOF

test_expect_success 'version and discovery' '
	kubectl version >got 2>&1 && grep "Server Version: v1.37" got &&
	kubectl api-resources >got && grep "^clusterqueues" got && grep "^jobs" got
'
test_expect_success 'apply, and apply again' '
	kubectl apply -f job.yaml >got && grep "job.batch/one created" got &&
	kubectl apply -f job.yaml >got && grep "unchanged" got
'
test_expect_success 'get shows columns; wait and logs -f know the end' '
	kubectl get jobs >got && grep "^NAME *STATUS *COMPLETIONS" got &&
	kubectl logs -f job/one >got && grep "from one" got &&
	kubectl wait --for=condition=Complete job/one --timeout=20s
'
test_expect_success 'describe has the events' '
	kubectl describe job one >got && grep "SuccessfulCreate" got && grep "Completed" got
'
test_expect_success 'explain reads our descriptions' '
	kubectl explain job.spec.parallelism >got && grep "pods may run at the same time" got &&
	kubectl explain clusterqueue.spec >got && grep "cohortName" got
'
test_expect_success 'label, annotate, patch, scale down a wrong name' '
	kubectl label job one colour=blue && kubectl get jobs -l colour=blue -o name | grep "job.batch/one" &&
	kubectl annotate job one note=x && kubectl patch job one -p "{\"spec\":{\"ttlSecondsAfterFinished\":600}}" &&
	! kubectl get job nothing 2>err && grep "jobs.batch \"nothing\" not found" err
'
test_expect_success 'diff tells a change, and changes nothing' '
	sed "s/one}/one, labels: {colour: red}}/" job.yaml >other.yaml &&
	rc=0; kubectl diff -f other.yaml >got || rc=$?; test $rc = 1 && grep "red" got &&
	kubectl get job one -o jsonpath="{.metadata.labels.colour}" | grep blue
'
test_expect_success 'edit with an editor that changes one word' '
	printf "#!/bin/sh\nsed -i s/blue/green/ \"\$1\"\n" >ed && chmod +x ed &&
	KUBE_EDITOR=$PWD/ed kubectl edit job one &&
	kubectl get job one -o jsonpath="{.metadata.labels.colour}" | grep green
'
test_expect_success 'a wrong field is refused with its path' '
	! sed "s/^spec:/spec:\n  parallelismm: 2/" job.yaml | sed "s/name: one/name: two/" | kubectl create -f - 2>err &&
	grep "parallelismm" err
'
test_expect_success 'a wrong value is refused with the words clients know' '
	! sed "s/^spec:/spec:\n  parallelism: -1/" job.yaml | sed "s/name: one/name: two/" | kubectl create -f - 2>err &&
	grep "spec.parallelism: Invalid value: -1: must be greater than or equal to 0" err
'
test_expect_success 'a watch sees what happens' '
	(timeout 10 kubectl get configmaps -w --no-headers >watched 2>&1 &) &&
	wait_until 5 "kubectl create configmap seen --from-literal=a=b" && wait_until 8 "grep seen watched"
'
test_expect_success 'delete takes the pods along' '
	kubectl delete job one && wait_until 10 "test -z \"\$(kubectl get pods -o name)\""
'
test_done
