#!/bin/sh
# Expressions on the command line: value, type, cost, and where it went wrong.

test_description='berth cel: an expression is tried before it is written into an object'
. "$(dirname "$0")/lib.sh"

cat >device.yaml <<'END'
device:
  driver: gpu.example.com
  attributes:
    model: {string: H100}
    index: {int: 3}
  capacity:
    memory: {value: 80Gi}
END

test_expect_success 'the value of an expression' '
	test "$(berth cel "1 + 2 * 3")" = 7 &&
	test "$(berth cel "[1, 2, 3].map(x, x * x)")" = "[1, 4, 9]"
'

test_expect_success 'variables are YAML, from words and from a file' '
	test "$(berth cel -v "self={replicas: 7, max: 5}" "self.replicas <= self.max")" = false &&
	printf "self:\n  replicas: 4\n" >vars.yaml &&
	test "$(berth cel -f vars.yaml -v limit=5 "self.replicas <= limit")" = true &&
	test "$(berth cel -f - "self.replicas" <vars.yaml)" = 4
'

test_expect_success 'its type and its cost' '
	berth cel --cost "[1, 2, 3].all(x, x > 0)" >got &&
	grep "^type  *bool$" got && grep "^cost  *16$" got && grep "^estimate  *20 to 26$" got
'

test_expect_success 'a selector reads the device that the API would hold' '
	berth cel --env device -f device.yaml \
		"device.attributes[\"gpu.example.com\"].model == \"H100\" &&
		device.capacity[\"gpu.example.com\"].memory.isGreaterThan(quantity(\"40Gi\"))" >got &&
	test "$(cat got)" = true
'

test_expect_success 'which part made it false' '
	berth cel --env device -f device.yaml --explain \
		"device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].index > 5" >got &&
	grep "left  *3" got && grep "right  *5" got && ! grep driver got
'

test_expect_success 'the named model and the environments of rules and policies' '
	test "$(berth cel --env named -v "attributes=[{name: size, quantity: 10Gi}]" \
		"attributes.quantity[\"size\"].isGreaterThan(quantity(\"1Gi\"))")" = true &&
	test "$(berth cel --env crd -v "self={a: 1}" "has(self.a)")" = true &&
	test "$(berth cel --env admission -v "object={spec: {replicas: 7}}" -v oldObject=null \
		"object.spec.replicas > 5 && oldObject == null")" = true &&
	test "$(berth cel --env match -v "request={operation: CREATE}" "request.operation == \"CREATE\"")" = true
'

test_expect_success 'where it went wrong as it was read' '
	! berth cel "size(x" -v x=1 2>err &&
	grep "ERROR: <input>:1:7: Syntax error" err && grep "^ | size(x$" err && grep "^ | [.]\{6\}^$" err &&
	! berth cel "isQuantiy(\"1\")" 2>err && grep "did you mean .isQuantity." err &&
	! berth cel "\"a\".charAt(\"b\")" 2>err && grep "it takes string.(int)" err &&
	! berth cel --new 29 "ip(\"::1\")" 2>err && grep "known since 1.30" err
'

test_expect_success 'where it went wrong as it ran' '
	! berth cel -v "x={a: [2, 0]}" "x.a.all(v, 4 / v == 2)" 2>err &&
	grep "ERROR: <input>:1:12: division by zero" err && grep "^ | [.]\{11\}^$" err
'

test_expect_success 'an expression that would never end ends' '
	! berth cel --env language \
		"lists.range(1000000).all(a, lists.range(1000000).all(b, a + b >= 0))" 2>err &&
	grep "limit exceeded" err
'

test_expect_success 'in scripts only the status counts' '
	berth cel -q true >got && test ! -s got &&
	! berth cel -q false && ! berth cel -q "1 / 0 > 1"
'

test_expect_success 'words that are wrong are named' '
	{ berth cel --env nowhere 1 2>err || test $? = 2; } && grep "no environment .nowhere." err &&
	{ berth cel -v x 1 2>err || test $? = 2; } && grep "no NAME=VALUE" err &&
	{ berth cel 2>err || test $? = 2; } && grep "argument is missing" err
'

test_done
