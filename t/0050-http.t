#!/bin/sh
# Whoever speaks HTTP is served the same: both versions, both doors, with and without names.

test_description='one API over HTTP/1.1, HTTP/2, TLS and a unix socket'
. "$(dirname "$0")/lib.sh"

command -v curl >/dev/null 2>&1 || { echo "1..0 # SKIP curl is not installed"; exit 0; }
start_berth --no-node

# from the kubeconfig: where, whom to trust, who we are
field() { sed -n "s/^ *$1: *//p" "$KUBECONFIG" | head -1; }
server=$(field server)
field certificate-authority-data | base64 -d >ca.crt
field client-certificate-data | base64 -d >me.crt
field client-key-data | base64 -d >me.key
get() { curl -sS --max-time 10 --cacert ca.crt --cert me.crt --key me.key "$@"; }

for version in 1.1 2; do
	test_expect_success "HTTP/$version over TLS, known by a certificate" '
		get --http'$version' -o got -w "%{http_version} %{http_code}" "$server/version" >how &&
		grep -qx "'$version' 200" how &&
		grep -q gitVersion got &&
		get --http'$version' -f "$server/api/v1/namespaces/default" >got
	'
	test_expect_success "HTTP/$version: a body over 3 MiB is refused, with a Status" '
		head -c 3200000 /dev/zero >big &&
		get --http'$version' -o got -w "%{http_code}" -H "Expect: 100-continue" \
			-H "Content-Type: application/json" --data-binary @big \
			"$server/api/v1/namespaces/default/configmaps" >how || test "'$version'" = 2 &&
		if grep -qx 413 how; then grep -q RequestEntityTooLarge got; fi
	'
	test_expect_success "HTTP/$version: a watch says its head at once and ends at its time" '
		get --http'$version' -N -o got -w "%{http_code} %{time_starttransfer}" \
			"$server/api/v1/configmaps?watch=1&timeoutSeconds=1" >how &&
		grep -q "^200 0\\.[0-8]" how
	'
done

test_expect_success 'over the socket the kernel says who it is' '
	curl -sS --max-time 10 -f --unix-socket "$BERTH_DATA/berth.sock" \
		http://localhost/api/v1/namespaces/default >got &&
	grep -q "\"name\": *\"default\"" got
'

test_expect_success 'nobody gets nothing' '
	curl -sS --max-time 10 --cacert ca.crt -o got -w "%{http_code}" "$server/api/v1/secrets" >how &&
	grep -qx "40[13]" how &&
	grep -q "\"kind\": *\"Status\"" got
'

test_expect_success 'a certificate of another authority is nobody' '
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
		-subj "/O=system:masters/CN=evil" -keyout evil.key -out evil.crt &&
	curl -sS --max-time 10 --cacert ca.crt --cert evil.crt --key evil.key -o got \
		-w "%{http_code}" "$server/api/v1/secrets" >how &&
	grep -qx 401 how
'

# raw BYTES: what a client that is no client sends
raw() {
	printf "$1" | openssl s_client -quiet -ign_eof -connect "${server#https://}" \
		-CAfile ca.crt -cert me.crt -key me.key 2>/dev/null
}

test_expect_success 'what two programs could read in two ways is refused' '
	raw "GET / HTTP/1.1\\nHost: h\\n\\n" >got && grep -q "^HTTP/1.1 400 " got &&
	raw "GET / HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n" >got &&
	grep -q "^HTTP/1.1 400 " got &&
	raw "GET / HTTP/1.1\\r\\nHost: h\\r\\n X: folded\\r\\n\\r\\n" >got && grep -q "^HTTP/1.1 400 " got &&
	raw "GET / HTTP/3.0\\r\\nHost: h\\r\\n\\r\\n" >got && grep -q "^HTTP/1.1 505 " got
'

test_expect_success 'requests sent ahead are answered in their order' '
	raw "GET /livez HTTP/1.1\\r\\nHost: h\\r\\n\\r\\nGET /version HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n" >got &&
	test "$(grep -o "HTTP/1.1 200" got | wc -l)" = 2 &&
	tail -5 got | grep -q gitVersion
'

test_expect_success 'long answers come compressed to whom asks for it' '
	get -f "$server/openapi/v3/apis/batch/v1" >plain &&
	get -f -H "Accept-Encoding: gzip" -D head "$server/openapi/v3/apis/batch/v1" >packed &&
	if [ $(wc -c <plain) -ge 131072 ]; then
		grep -qi "^content-encoding: gzip" head && gzip -dc packed | cmp - plain
	else
		cmp packed plain
	fi
'

test_expect_success 'a port that is taken gets one sentence' '
	! berth up --data "$work/other" --no-node --listen "${server#https://}" 2>err &&
	grep -q "address already in use" err
'

test_done
