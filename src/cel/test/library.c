/* library.c - what the language and its libraries come to, edge by edge */
#include "base/testing.h"
#include "cel/test/rows.h"

struct row {
    const char *text, *want;
};

static void run_rows(enum cel_env_kind kind, const struct row *rows, size_t n)
{
    struct cel_env_spec spec = {.kind = kind, .version = CEL_STORED};
    struct cel_env *env = cel_env_new(&spec);
    scoped(arena_fini) struct arena a = arena_sized(64 << 10);

    for (size_t i = 0; i < n; i++) {
        test_case(rows[i].text);
        check_samez(test_cel(&a, env, rows[i].text), rows[i].want);
        arena_reset(&a);
    }
    cel_env_free(env);
}

/* A row is a line, however long. */
/* clang-format off */

TEST(syntax)
{
    static const struct row rows[] = {
        {"1.", "check: Syntax error: mismatched input '<EOF>' expecting IDENTIFIER"},
        {"'\\x41\\101\\u00e4\\U0001F600' ", "\"AA\303\244\360\237\230\200\""},
        {"b'\\xff\\377\\101'", "b\"\\xff\\xffA\""},
        {"'\\400'", "check: Syntax error: token recognition error at: ''\\400''"},
        {"'\\ud800'", "check: invalid unicode code point"},
        {"rb'a'", "check: Syntax error: mismatched input ''a'' expecting <EOF>"},
        {"'a\nb'", "check: Syntax error: token recognition error at: ''a'"},
        {"0x1fu", "31u"},
        {"0X1F", "check: Syntax error: mismatched input 'X1F' expecting <EOF>"},
        {"007", "7"},
        {"18446744073709551615u", "18446744073709551615u"},
        {"18446744073709551616u", "check: invalid uint literal"},
        {"1e400", "check: invalid double literal"},
        {"{'package': 1}.package", "1"},
        {"{'true': 1}.true", "check: Syntax error: mismatched input 'true' expecting IDENTIFIER"},
        {"-!true", "check: Syntax error: mismatched input '!' expecting an operand"},
        {"!!true", "true"},
        {"[,]", "[]"},
        {"{,}", "{}"},
        {"[1,2,]", "[1, 2]"},
        {"true ? false ? 1 : 2 : 3", "check: Syntax error: mismatched input '?' expecting ':'"},
        {"true ? (false ? 1 : 2) : 3", "2"},
        {"false ? 1 : true ? 2 : 3", "2"},
        {"{1: 'a'}[dyn(1u)]", "\"a\""},
        {"{1: 'a'}[dyn(1.0)]", "\"a\""},
        {"{1: 'a'}[dyn(1.5)]", "error: no such key: 1.5"},
        {"[1,2][dyn(1u)]", "2"},
        {"[1,2][dyn(1.0)]", "2"},
        {"[1,2][dyn(1.5)]", "error: unsupported index value 1.5 in list"},
        {"[1,2][dyn('a')]", "error: unsupported index type 'string' in list"},
        {"[1,2][2]", "error: index out of bounds: 2"},
        {"'a' + 'b' + ''", "\"ab\""},
        {"[1] + [2] + []", "[1, 2]"},
        {"dyn(2).includes(2)", "true"},
        {"jsonpatch.escapeKey('a/b~c')", "check: undeclared reference to 'jsonpatch' (in container '')"},
        {"dyn(1) && false", "false"},
        {"dyn(1) || true", "true"},
        {"dyn(1) && true", "error: no such overload"},
        {"dyn(1) ? 1 : 2", "error: no such overload"},
        {"!dyn(1)", "error: no such overload"},
        {"size(1)", "check: found no matching overload for 'size' applied to '(int)'; it takes (bytes) or bytes.() or (list(A)) or list(A).() \342\200\246"},
        {"size({'a': 1})", "1"},
        {"size(b'ab')", "2"},
        {"{'a': 1}.b", "error: no such key: b"},
        {"{'a': 1}['b']", "error: no such key: b"},
        {"{'a': 1}.a.b", "check: type 'int' does not support field selection"},
        {"1.a", "check: type 'int' does not support field selection"},
        {"'a'.b", "check: type 'string' does not support field selection"},
        {"[1].a", "check: type 'list(int)' does not support field selection"},
        {"1[0]", "check: found no matching overload for '_[_]' applied to '(int, int)'"},
        {"true ? 1", "check: Syntax error: mismatched input '<EOF>' expecting ':'"},
        {"[1, 2", "check: Syntax error: mismatched input '<EOF>' expecting ']'"},
        {"{'a': 1", "check: Syntax error: mismatched input '<EOF>' expecting '}'"},
        {"{'a'}", "check: Syntax error: mismatched input '}' expecting ':'"},
        {"f(1,)", "check: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"1 +", "check: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"1 = 2", "check: Syntax error: token recognition error at: '='"},
        {"1 & 2", "check: Syntax error: token recognition error at: '&'"},
        {"\"a", "check: Syntax error: token recognition error at: '\"a'"},
        {"'a\\qb'", "check: Syntax error: token recognition error at: ''a\\qb''"},
        {"`a`", "check: Syntax error: mismatched input '`a`' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"// only a comment", "check: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"1 // comment", "1"},
        {"", "check: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"   ", "check: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"1 /* x */", "check: Syntax error: mismatched input '*' expecting {'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}"},
        {"{'if': 1}.if", "1"},
        {"true && 1", "check: expected type 'bool' but found 'int'"},
        {"1 || true", "check: expected type 'bool' but found 'int'"},
        {"[1, 2, 3][1]", "2"},
        {"[[1, 2], [3]][0][1]", "2"},
        {"{'a': [1, {'b': 2}]}.a[1].b", "check: expected type 'int' but found 'map(string, int)'"},
        {".5", "0.5"},
        {"5.e3", "check: type 'int' does not support field selection"},
    };
    static const struct row defined[] = {
        {"{0: 1, 0u: 2}", "error: Failed with repeated key: 0u"},
        {"{1.0: 1}", "error: unsupported key type: 1.0"},
        {"{null: 1}", "error: unsupported key type: null"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(names)
{
    static const struct row rows[] = {
        {"{'a': {'in': 1}}.a.`in`", "1"},
        {"has({'a': null}.a)", "true"},
        {"has(dyn([1]).a)", "false"},
        {"has(dyn(1).a)", "false"},
        {"has({}.a.b)", "error: no such key: a"},
        {"x", "check: undeclared reference to 'x' (in container '')"},
        {"f(1)", "check: undeclared reference to 'f' (in container '')"},
        {"a.b.c", "check: undeclared reference to 'a' (in container '')"},
        {"T{a: 1}", "check: undeclared reference to 'T' (in container '')"},
        {"int{a: 1}", "check: 'int' is not a message type"},
        {"has(1)", "check: invalid argument to has() macro"},
        {"has({'a': 1}['a'])", "check: invalid argument to has() macro"},
        {"a.`b c`", "check: undeclared reference to 'a' (in container '')"},
        {"a.``", "check: Syntax error: token recognition error at: '`'"},
        {"{'a-b': 1}.`a-b`", "1"},
        {"{'a': 1}.`a`", "1"},
        {"{'a/b.c': 1}.`a/b.c`", "1"},
        {"as", "check: reserved identifier: as"},
        {"namespace", "check: reserved identifier: namespace"},
        {"package.x", "check: reserved identifier: package"},
        {"loop()", "check: reserved identifier: loop"},
        {"cel.bind(x, 1, x)", "check: undeclared reference to 'cel' (in container '')"},
    };
    static const struct row defined[] = {
        {"cel.block([1, cel.index(0) + 1], cel.index(1))", "2"},
        {"has({'a':1}.b) ? 1 : 2", "2"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(arithmetic)
{
    static const struct row rows[] = {
        {"-9223372036854775809", "check: invalid int literal"},
        {"1e-400", "0.0"},
        {"!-1", "check: Syntax error: mismatched input '-' expecting an operand"},
        {"--1", "1"},
        {"-1.abs()", "check: undeclared reference to 'abs' (in container '')"},
        {"[1,2][-1]", "error: index out of bounds: -1"},
        {"9223372036854775807 * 2", "error: integer overflow"},
        {"-9223372036854775808 % -1", "error: integer overflow"},
        {"0u - 1u", "error: unsigned integer overflow"},
        {"1 / 0", "error: division by zero"},
        {"1 % 0", "error: modulus by zero"},
        {"1.0 / 0.0", "+Inf"},
        {"7u % 4u", "3u"},
        {"5.0 % 2.0", "check: found no matching overload for '_%_' applied to '(double, double)'"},
        {"-1", "-1"},
        {"-dyn('a')", "error: no such overload: -_"},
        {"dyn(1) + dyn('a')", "error: no such overload: _+_"},
        {"dyn([1]) + dyn([2])", "[1, 2]"},
        {"(1 + 2", "check: Syntax error: mismatched input '<EOF>' expecting ')'"},
        {"1e+3", "1000.0"},
        {"1E-2", "0.01"},
        {"1/2", "0"},
        {"-7/2", "-3"},
        {"-7%3", "-1"},
        {"7%-3", "1"},
        {"2u * 3u", "6u"},
        {"18446744073709551615u + 1u", "error: unsigned integer overflow"},
        {"-(5u)", "check: found no matching overload for '-_' applied to '(uint)'"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(comparisons)
{
    static const struct row rows[] = {
        {".5 + 1e3 == 1000.5", "true"},
        {"r'\\x41' == '\\\\x41'", "true"},
        {"B'a' == b'a'", "true"},
        {"'''a'b\nc''' == \"a'b\\nc\"", "true"},
        {"1 < 2 == true", "true"},
        {"'a' in {'a': 1}", "true"},
        {"2 in {1: 1, 2: 2}", "true"},
        {"2.0 in {1: 1, 2: 2}", "check: found no matching overload for '@in' applied to '(double, map(int, int))'"},
        {"dyn(2.0) in {1: 1, 2: 2}", "true"},
        {"dyn(1) < dyn('a')", "error: no such overload: _<_"},
        {"dyn(1) < dyn(2.0)", "true"},
        {"dyn(0.0/0.0) < 1", "error: NaN values cannot be ordered"},
        {"(0.0/0.0) == (0.0/0.0)", "false"},
        {"(0.0/0.0) in [0.0/0.0]", "false"},
        {"null == null", "true"},
        {"dyn(null) == 1", "false"},
        {"{} == {}", "true"},
        {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
        {"dyn({1: 'a'}) == dyn({1u: 'a'})", "true"},
        {"dyn([1, 2.0]) == dyn([1.0, 2])", "check: expected type 'int' but found 'double'"},
        {"'a' < 'B'", "false"},
        {"b'a' < b'b'", "true"},
        {"false < true", "true"},
        {"[1] < [2]", "check: found no matching overload for '_<_' applied to '(list(int), list(int))'"},
        {"0.1 + 0.2 == 0.3", "false"},
        {"9223372036854775807 + 1 > 0 || true", "true"},
        {"'abc' in ['abc']", "true"},
        {"'a' in 'abc'", "check: found no matching overload for '@in' applied to '(string, string)'"},
        {"1 in []", "false"},
        {"1 in [1, 2, 3] && 4 in [1, 2, 3]", "false"},
        {"dyn(1) in ['a', 'b']", "false"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(conversions)
{
    static const struct row rows[] = {
        {"int('0x10')", "program: type conversion error from 'string' to 'int'"},
        {"int('+5')", "5"},
        {"int(' 5')", "program: type conversion error from 'string' to 'int'"},
        {"int('1_0')", "program: type conversion error from 'string' to 'int'"},
        {"int(1.9)", "1"},
        {"int(-1.9)", "-1"},
        {"int(9223372036854775807.0)", "program: integer overflow"},
        {"uint(-0.5)", "program: unsigned integer overflow"},
        {"uint('+5')", "program: type conversion error from 'string' to 'uint'"},
        {"uint(18446744073709551615.0)", "program: unsigned integer overflow"},
        {"double('0x1p4')", "16.0"},
        {"double('inf')", "+Inf"},
        {"double('1e400')", "program: type conversion error from 'string' to 'double'"},
        {"double(' 1')", "program: type conversion error from 'string' to 'double'"},
        {"bool('True')", "true"},
        {"bool('yes')", "program: type conversion error from 'string' to 'bool'"},
        {"string(1e6)", "\"1e+06\""},
        {"string(123456.0)", "\"123456\""},
        {"string(1234567.0)", "\"1.234567e+06\""},
        {"string(0.0001)", "\"0.0001\""},
        {"string(0.00001)", "\"1e-05\""},
        {"string(1.0)", "\"1\""},
        {"string(-0.0)", "\"-0\""},
        {"string(b'\\xff')", "program: invalid UTF-8 in bytes, cannot convert to string"},
        {"bytes('\303\244').size()", "2"},
        {"type(1) == int && type(type(1)) == type", "true"},
        {"type([1]) == list", "true"},
        {"type(null) == null_type", "true"},
        {"base64.encode(b'hi')", "check: undeclared reference to 'base64' (in container '')"},
        {"type(1) == type(dyn(1.0))", "false"},
        {"string(type(1))", "check: found no matching overload for 'string' applied to '(type(int))'; it takes (string) or (bool) or (bytes) or (double) \342\200\246"},
        {"double(uint(18446744073709551615u))", "1.8446744073709552e+19"},
        {"uint('18446744073709551616')", "program: type conversion error from 'string' to 'uint'"},
        {"int('-9223372036854775808')", "-9223372036854775808"},
        {"double('1e-5')", "1e-05"},
        {"double('.5')", "0.5"},
        {"double('5.')", "5.0"},
        {"double('1_0')", "program: type conversion error from 'string' to 'double'"},
        {"double('NaN')", "NaN"},
        {"double('-Infinity')", "-Inf"},
        {"string(9007199254740993.0)", "\"9.007199254740992e+15\""},
        {"string(0.1)", "\"0.1\""},
        {"string(100000.0)", "\"100000\""},
        {"string(999999.5)", "\"999999.5\""},
        {"bytes('a') == b'a'", "true"},
        {"string(b'\\xe2\\x82\\xac')", "\"\342\202\254\""},
    };
    static const struct row defined[] = {
        {"base64.decode('aGk')", "b\"hi\""},
        {"base64.decode('a')", "error: illegal base64 data at input byte 0"},
        {"base64.decode('a===')", "error: illegal base64 data at input byte 1"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(strings)
{
    static const struct row rows[] = {
        {"br'\\x41'.size()", "4"},
        {"'a\303\251'.size()", "2"},
        {"'abc'.charAt(3)", "\"\""},
        {"'abc'.charAt(4)", "error: index out of range: 4"},
        {"'abc'.indexOf('', 5)", "3"},
        {"'abc'.indexOf('')", "0"},
        {"'abc'.indexOf('c', 3)", "-1"},
        {"'abc'.indexOf('c', -1)", "error: index out of range: -1"},
        {"'abcabc'.lastIndexOf('a', 2)", "0"},
        {"'abc'.lastIndexOf('', 1)", "1"},
        {"'abc'.lastIndexOf('')", "3"},
        {"'abc'.lastIndexOf('a', 3)", "-1"},
        {"'aaa'.replace('', 'x', 2)", "\"xaxaa\""},
        {"'aaa'.replace('a', 'b', 0)", "\"aaa\""},
        {"'aaa'.replace('a', 'b', -1)", "\"bbb\""},
        {"'abc'.split('')", "[\"a\", \"b\", \"c\"]"},
        {"'abc'.split('', 2)", "[\"a\", \"bc\"]"},
        {"''.split('')", "[]"},
        {"''.split(',')", "[\"\"]"},
        {"'a,b'.split(',', 0)", "[]"},
        {"'a,b'.split(',', 1)", "[\"a,b\"]"},
        {"'a,b,'.split(',')", "[\"a\", \"b\", \"\"]"},
        {"'abc'.substring(1, 1)", "\"\""},
        {"'abc'.substring(4)", "error: index out of range: 4"},
        {"' \\u00a0\\u2003x\\u200b '.trim()", "\"x\342\200\213\""},
        {"strings.quote('a\"b\\n\\u0007')", "\"\\\"a\\\\\\\"b\\\\n\\\\a\\\"\""},
        {"'\\u00e4'.size() + b'\\xc3\\xa4'.size()", "3"},
    };
    static const struct row defined[] = {
        {"'abc'.reverse()", "\"cba\""},
        {"'abc'.indexOf('a', 30)", "error: index out of range: 30"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(formats)
{
    static const struct row rows[] = {
        {"'%5d'.format([1])", "check: could not parse formatting clause: unrecognized formatting clause \"5\""},
        {"'%.3f'.format([1.23456])", "\"1.235\""},
        {"'%f'.format([1234567.891])", "\"1,234,567.891000\""},
        {"'%.0f'.format([0.5])", "\"0\""},
        {"'%.0f'.format([2.5])", "\"2\""},
        {"'%s'.format([1.5e300])", "\"1.5e+300\""},
        {"'%s'.format([null])", "\"null\""},
        {"'%s'.format([type(1)])", "\"int\""},
        {"'%s'.format([optional.none()])", "check: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type(dyn)"},
        {"'%b'.format([-5])", "\"-101\""},
        {"'%x'.format(['h\303\251'])", "\"68c3a9\""},
        {"'%X'.format([255u])", "\"FF\""},
        {"'%o'.format([-8])", "\"-10\""},
        {"'%d'.format(['a'])", "check: error during formatting: decimal clause can only be used on integers, was given string"},
        {"'%'.format([])", "check: unexpected end of string"},
        {"'%.'.format([1])", "check: could not parse formatting clause: error while parsing precision: could not find end of precision specifier"},
        {"'%%'.format([])", "\"%\""},
        {"'%s'.format([{'b': 1, 'a': [1.5, 'x', b'y', null, true, timestamp(0)]}])", "\"{\\\"a\\\":[1.500000, \\\"x\\\", b\\\"y\\\", null, true, timestamp(\\\"1970-01-01T00:00:00Z\\\")], \\\"b\\\":1}\""},
        {"'%s'.format([{1.5: 2}])", "error: error during formatting: no formatting function for map key of type double"},
        {"'%f'.format(['NaN'])", "\"NaN\""},
        {"'%f'.format(['Infinity'])", "\"\342\210\236\""},
        {"'%e'.format([1e-10])", "\"1.000000\342\200\257\303\227\342\200\25710\342\201\273\302\271\342\201\260\""},
    };
    static const struct row defined[] = {
        {"'%e'.format([31.4])", "\"3.140000e+01\""},
        {"'%d'.format([1.5])", "\"1.5\""},
        {"'%s'.format([2.0])", "\"2\""},
        {"'%s'.format([1e20])", "\"100000000000000000000\""},
        {"'%.101f'.format([1.0])", "check: could not parse formatting clause: precision 101 exceeds maximum allowed precision 100"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(patterns)
{
    static const struct row rows[] = {
        {"'abc'.matches('B')", "false"},
        {"'abc'.matches('b')", "true"},
        {"matches('abc', '^c')", "false"},
        {"'aaa'.findAll('a*')", "[\"aaa\"]"},
        {"'baac'.findAll('a*')", "[\"\", \"aa\", \"\"]"},
        {"'abc'.findAll('[a-z]', 0)", "[]"},
        {"'abc'.findAll('[a-z]', -1)", "[\"a\", \"b\", \"c\"]"},
        {"'abc'.find('z')", "\"\""},
    };
    static const struct row defined[] = {
        {"regex.replace('abc', 'b', 'x$1')", "\"ax$1c\""},
        {"regex.replace('abc', 'b', 'x\\\\')", "error: invalid replacement string: 'x\\' \\ not allowed at end"},
        {"regex.replace('aaa', 'a', 'b', 2)", "\"bba\""},
        {"regex.extract('ab', '(a)(b)')", "error: regular expression has more than one capturing group: \"(a)(b)\""},
        {"regex.extractAll('a1b2', '[a-z]([0-9])')", "[\"1\", \"2\"]"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(lists)
{
    static const struct row rows[] = {
        {"['a','b'].join()", "\"ab\""},
        {"[1].join(',')", "check: found no matching overload for 'join' applied to 'list(int).(string)'; it takes list(string).() or list(string).(string)"},
        {"dyn([1]).join(',')", "error: no such overload: join"},
        {"[3, 1, 2].isSorted()", "false"},
        {"['b', 'a'].max()", "\"b\""},
        {"[1.5, 2.5].sum()", "4.0"},
        {"[1u].sum()", "1u"},
        {"['a'].sum()", "check: found no matching overload for 'sum' applied to 'list(string).()'; it takes list(int).() or list(uint).() or list(double).() or list(google.protobuf.Duration).()"},
        {"[1, 2, 1].lastIndexOf(1)", "2"},
        {"[1, 2].indexOf(3)", "-1"},
        {"[[1], [2]].indexOf([2])", "1"},
        {"[1, 2].includes(2)", "true"},
        {"[1, [2, [3]]].flatten()", "check: expected type 'int' but found 'list(dyn)'"},
        {"[[1], [2, 3]].flatten(0)", "[[1], [2, 3]]"},
        {"[[1], [2, 3]].flatten(-1)", "error: level must be non-negative"},
        {"[[[1]]].flatten(2)", "[1]"},
        {"[2, 1].sort()", "[1, 2]"},
        {"['b', 'a'].sort()", "[\"a\", \"b\"]"},
        {"[[1], [0]].sort()", "check: found no matching overload for 'sort' applied to 'list(list(int)).()'; it takes list(int).() or list(uint).() or list(double).() or list(bool).() \342\200\246"},
        {"[{'a': 2}, {'a': 1}].sortBy(x, x.a)", "[{\"a\": 1}, {\"a\": 2}]"},
        {"[1].first()", "optional.of(1)"},
        {"[].last()", "optional.none()"},
        {"lists.range(3)", "[0, 1, 2]"},
        {"[1,2,3].slice(-1, 2)", "error: cannot slice(-1, 2), negative indexes not supported"},
        {"[1,2,3].slice(2, 1)", "error: cannot slice(2, 1), start index must be less than or equal to end index"},
        {"sets.contains([1], [])", "true"},
        {"sets.intersects([], [1])", "false"},
        {"sets.contains([1], ['a'])", "check: found no matching overload for 'sets.contains' applied to '(list(int), list(string))'; it takes (list(A), list(A))"},
        {"dyn([dyn('a'), dyn(1)]).join(',')", "error: join: invalid input: 1"},
        {"[1,2].distinct()", "[1, 2]"},
        {"[[1,2],[1,2]].distinct()", "[[1, 2]]"},
        {"[1].slice(-3, 9223372036854775807)", "error: cannot slice(-3, 9223372036854775807), negative indexes not supported"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(math)
{
    static const struct row rows[] = {
        {"math.abs(-1)", "check: undeclared reference to 'math' (in container ''), did you mean 'path'?"},
    };
    static const struct row defined[] = {
        {"math.least([])", "check: math.least() invalid single argument value"},
        {"math.least('a')", "check: math.least() invalid single argument value"},
        {"math.greatest()", "check: math.greatest() requires at least one argument"},
        {"math.round(-2.5)", "-3.0"},
        {"math.round(0.49999999999999994)", "0.0"},
        {"math.sign(-0.0)", "-0.0"},
        {"math.abs(-9223372036854775808)", "error: integer overflow"},
        {"math.bitShiftLeft(1, -1)", "error: math.bitShiftLeft() negative offset: -1"},
        {"math.bitShiftLeft(1, 64)", "0"},
        {"math.bitNot(0)", "-1"},
        {"math.sqrt(-1)", "NaN"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(loops)
{
    static const struct row rows[] = {
        {"[1,2,3].map(x, x > 1, x)", "[2, 3]"},
        {"{'b':1,'a':2}.map(k, k)", "[\"b\", \"a\"]"},
        {"[1,2].map(i, v, i)", "check: undeclared reference to 'v' (in container '')"},
        {"[1,2].transformList(i, v, i * v)", "[0, 2]"},
        {"[1,2].transformList(i, v, i > 0, v)", "[2]"},
        {"{'a':1}.all(k, v, v == 1)", "true"},
        {"[1,2].existsOne(i, v, v == 2)", "true"},
        {"[1,2].existsOne(v, v == 2)", "true"},
        {"{1: 1, 2: 2}.transformMapEntry(k, v, {v: k})", "{1: 1, 2: 2}"},
        {"[1, 2, 3].all(x, x)", "check: expected type 'bool' but found 'int'"},
        {"[true, 1].all(x, x)", "check: expected type 'bool' but found 'int'"},
        {"dyn([true, 1]).all(x, x)", "check: expected type 'bool' but found 'int'"},
        {"dyn([false, 1]).all(x, x)", "check: expected type 'bool' but found 'int'"},
        {"dyn([1, false]).all(x, x)", "check: expected type 'int' but found 'bool'"},
        {"dyn([1, true]).exists(x, x)", "check: expected type 'int' but found 'bool'"},
        {"dyn(['a']).filter(x, x)", "error: no such overload"},
        {"[1].exists_one(x, dyn(1))", "error: no such overload"},
        {"[1].map(1, 2)", "check: argument is not an identifier"},
        {"[1].all(a.b, true)", "check: argument must be a simple name"},
        {"[1].map(x.y, x)", "check: argument is not an identifier"},
        {"1.all(x, true)", "check: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"},
        {"dyn(1).all(x, true)", "error: got 'types.Int', expected iterable type"},
        {"dyn(1).transformList(i, v, v)", "error: unsupported comprehension range type: types.Int"},
        {"[1].map(if, 1)", "check: reserved identifier: if"},
        {"[1, 2, 3].map(i, i + 1).filter(i, i > 2).size()", "2"},
        {"[0].map(x, [1].map(x, x + 1)[0] + x)", "[2]"},
        {"[1].all(x, [x].all(x, x == 1) && x == 1)", "true"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(optionals)
{
    static const struct row rows[] = {
        {"dyn({}).?a.b.c", "optional.none()"},
        {"dyn(1).?a", "optional.none()"},
        {"{'a': 1}.?a", "optional.of(1)"},
        {"{'a': {'b': 2}}.?a.b.orValue(3)", "2"},
        {"[1][?5].hasValue()", "false"},
        {"optional.of(1) == optional.of(1.0)", "check: found no matching overload for '_==_' applied to '(optional_type(int), optional_type(double))'"},
        {"optional.none() == optional.none()", "true"},
        {"optional.ofNonZeroValue('')", "optional.none()"},
        {"optional.ofNonZeroValue(timestamp(0))", "optional.of(timestamp(\"1970-01-01T00:00:00Z\"))"},
        {"{?'a': optional.none(), 'b': 1}", "{\"b\": 1}"},
        {"{?'a': dyn(1)}", "error: cannot initialize optional entry from non-optional value 1"},
        {"[?optional.of(1), ?optional.none()]", "[1]"},
        {"optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z'))", "optional.none()"},
        {"optional.ofNonZeroValue(duration('0'))", "optional.none()"},
        {"optional.ofNonZeroValue([])", "optional.none()"},
        {"optional.ofNonZeroValue({})", "optional.none()"},
        {"optional.ofNonZeroValue(null)", "optional.none()"},
        {"optional.ofNonZeroValue(b'')", "optional.none()"},
        {"optional.ofNonZeroValue(0u)", "optional.none()"},
        {"optional.ofNonZeroValue(-0.0)", "optional.none()"},
        {"optional.none().value()", "error: optional.none() dereference"},
        {"optional.of(1).or(optional.of(2)).value()", "1"},
        {"optional.none().or(1)", "check: found no matching overload for 'or' applied to 'optional_type(_var0).(int)'; it takes optional_type(A).(optional_type(A))"},
        {"dyn(1).orValue(2)", "error: no such overload"},
        {"dyn(1).hasValue()", "error: no such overload: hasValue"},
        {"optional.of(optional.of(1)).optFlatMap(x, x)", "optional.of(1)"},
        {"optional.of(1).optMap(x, x / 0)", "error: division by zero"},
        {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"},
        {"optional.unwrap([optional.of(1)])", "[1]"},
        {"optional.unwrap([dyn(1)])", "error: no such overload: optional.unwrap"},
        {"has({'a': 1}.?a)", "check: invalid argument to has() macro"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(times)
{
    static const struct row rows[] = {
        {"duration('1h') + duration('30m')", "duration(\"5400s\")"},
        {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
        {"timestamp('2024-01-01T00:00:00Z') - timestamp('2023-01-01T00:00:00Z')", "duration(\"31536000s\")"},
        {"timestamp('0001-01-01T00:00:00Z') - timestamp('9999-12-31T23:59:59Z')", "error: integer overflow"},
        {"timestamp('0000-12-31T23:59:59Z')", "check: invalid timestamp argument"},
        {"timestamp('2024-02-30T00:00:00Z')", "check: invalid timestamp argument"},
        {"timestamp(253402300800)", "check: invalid timestamp argument"},
        {"duration('1.5h30m.5s')", "duration(\"7200.5s\")"},
        {"duration('-1h1ns')", "duration(\"-3600.000000001s\")"},
        {"duration('1us') == duration('1\302\265s')", "true"},
        {"duration('')", "check: invalid duration argument"},
        {"duration('0')", "duration(\"0s\")"},
        {"duration('1')", "check: invalid duration argument"},
        {"duration('9223372036854775807ns')", "duration(\"9223372036.854775807s\")"},
        {"duration('9223372036854775808ns')", "check: invalid duration argument"},
        {"string(duration('-1.5s'))", "\"-1.5s\""},
        {"string(timestamp('2024-01-01T00:00:00.120+02:00'))", "\"2024-01-01T00:00:00.12+02:00\""},
        {"timestamp('2024-01-01T00:00:00+02:00') == timestamp('2023-12-31T22:00:00Z')", "true"},
        {"timestamp('2024-01-01T00:00:00+02:00').getHours()", "22"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('02:30')", "2"},
        {"timestamp('2024-01-01T00:00:00Z').getMinutes('-02:30')", "30"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('+25:00')", "1"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('02:60')", "error: timezone offset minutes out of range [0, 59]: 60"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('Nowhere/X')", "error: unknown time zone Nowhere/X"},
        {"timestamp('2024-01-01T00:00:00Z').getDayOfWeek()", "1"},
        {"timestamp('2024-12-31T00:00:00Z').getDayOfYear()", "365"},
        {"timestamp(0).getMilliseconds()", "0"},
        {"duration('1h2m3s4ms').getMilliseconds()", "3723004"},
        {"-dyn(duration('1s'))", "duration(\"-1s\")"},
        {"timestamp(1) < timestamp(2)", "true"},
        {"duration('1s') < duration('2s')", "true"},
        {"duration('1h').getHours() == 1 && duration('90m').getMinutes() == 90", "true"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('Local')", "0"},
        {"timestamp('2024-01-01T00:00:00Z').getHours('')", "0"},
        {"timestamp('2024-07-01T12:00:00.123456789Z')", "timestamp(\"2024-07-01T12:00:00.123456789Z\")"},
        {"timestamp('2024-07-01t12:00:00z')", "check: invalid timestamp argument"},
        {"timestamp('2024-07-01 12:00:00Z')", "check: invalid timestamp argument"},
        {"timestamp('2024-07-01T12:00:00')", "check: invalid timestamp argument"},
        {"timestamp('2024-07-01T24:00:00Z')", "check: invalid timestamp argument"},
        {"timestamp('2024-07-01T23:59:60Z')", "check: invalid timestamp argument"},
        {"timestamp('2024-07-01T12:00:00+24:00')", "timestamp(\"2024-07-01T12:00:00+24:00\")"},
        {"int(timestamp('1969-12-31T23:59:59.5Z'))", "-1"},
        {"string(timestamp(-1))", "\"1969-12-31T23:59:59Z\""},
        {"int(duration('1.5s'))", "1500000000"},
    };
    static const struct row defined[] = {
        {"duration('123.321456789s').getMilliseconds()", "321"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(quantities)
{
    static const struct row rows[] = {
        {"type(quantity('1')) == kubernetes.Quantity", "true"},
        {"quantity('1.5') + 1", "check: found no matching overload for '_+_' applied to '(kubernetes.Quantity, int)'"},
        {"quantity('10').asInteger()", "10"},
        {"quantity('1.5').asInteger()", "error: cannot convert value to integer"},
        {"quantity('1.0').isInteger()", "false"},
        {"quantity('1.5k').isInteger()", "true"},
        {"quantity('1Pi').isInteger()", "false"},
        {"quantity('10Ti').isInteger()", "true"},
        {"quantity('50.703k').isInteger()", "true"},
        {"quantity('12E').isInteger()", "false"},
        {"quantity('1e3').isInteger()", "true"},
        {"quantity('100m').add(quantity('900m')).isInteger()", "false"},
        {"quantity('0').add(quantity('5k')).isInteger()", "true"},
        {"quantity('1Ki').asApproximateFloat()", "1024.0"},
        {"quantity('1').sub(3).asInteger()", "-2"},
        {"quantity('200M') == quantity('0.2G')", "true"},
        {"quantity('1') == 1", "check: found no matching overload for '_==_' applied to '(kubernetes.Quantity, int)'"},
        {"dyn(quantity('1')) == 1", "error: no such overload"},
        {"isQuantity('5.')", "true"},
        {"isQuantity('.5')", "true"},
        {"isQuantity('1E')", "true"},
        {"isQuantity('')", "false"},
        {"isQuantity('1 Ki')", "false"},
        {"quantity('')", "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"quantity('1.2.3')", "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"quantity('+1')", "quantity(\"+1\")"},
        {"string(quantity('1'))", "check: found no matching overload for 'string' applied to '(kubernetes.Quantity)'; it takes (string) or (bool) or (bytes) or (double) \342\200\246"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(versions)
{
    static const struct row rows[] = {
        {"semver('1.2.3-01')", "error: Numeric PreRelease version must not contain leading zeroes \"01\""},
        {"semver('1.2.3-a.b.1+x')", "semver(\"1.2.3-a.b.1+x\")"},
        {"semver('')", "error: Version string empty"},
        {"semver('01.2.3')", "error: Major number must not contain leading zeroes \"01\""},
        {"semver('1.x.3')", "error: Invalid character(s) found in minor number \"x\""},
        {"semver('1.2.3-\303\251')", "error: Invalid character(s) found in prerelease \"\303\251\""},
        {"semver('v1', true).minor()", "0"},
        {"semver('1.2.3-', true)", "error: Prerelease is empty"},
        {"semver('v1.2.3')", "error: Invalid character(s) found in major number \"v1\""},
        {"semver('1.2.3-alpha').compareTo(semver('1.2.3-alpha.1'))", "-1"},
        {"semver('1.2.3-1').compareTo(semver('1.2.3-a'))", "-1"},
        {"semver('99999999999999999999.0.0')", "error: Major number is out of range \"99999999999999999999\""},
        {"isSemver('1.0.0', true)", "true"},
        {"semver(' 1.0.0', true)", "error: Invalid character(s) found in major number \" 1\""},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(addresses)
{
    static const struct row rows[] = {
        {"type(ip('::1')) == net.IP", "true"},
        {"ip('10.0.0.1').family()", "4"},
        {"ip('::ffff:10.0.0.1')", "error: IPv4-mapped IPv6 address \"::ffff:10.0.0.1\" is not allowed"},
        {"ip('::1').isLoopback()", "true"},
        {"ip('0.0.0.0').isUnspecified()", "true"},
        {"ip('224.0.0.1').isLinkLocalMulticast()", "true"},
        {"ip('169.254.0.1').isLinkLocalUnicast()", "true"},
        {"ip('255.255.255.255').isGlobalUnicast()", "false"},
        {"ip('10.0.0.01')", "error: IP Address \"10.0.0.01\" parse error during conversion from string: ParseAddr(\"10.0.0.01\"): IPv4 field has octet with leading zero"},
        {"ip('10.0.0.256')", "error: IP Address \"10.0.0.256\" parse error during conversion from string: ParseAddr(\"10.0.0.256\"): IPv4 field has value >255"},
        {"ip('')", "error: IP Address \"\" parse error during conversion from string: ParseAddr(\"\"): unable to parse IP"},
        {"ip('1.2.3.4.5')", "error: IP Address \"1.2.3.4.5\" parse error during conversion from string: ParseAddr(\"1.2.3.4.5\"): IPv4 address too long"},
        {"ip('1.2.3.a')", "error: IP Address \"1.2.3.a\" parse error during conversion from string: ParseAddr(\"1.2.3.a\"): unexpected character (at \"a\")"},
        {"ip('1::2::3')", "error: IP Address \"1::2::3\" parse error during conversion from string: ParseAddr(\"1::2::3\"): multiple :: in address (at \":3\")"},
        {"ip('12345::')", "error: IP Address \"12345::\" parse error during conversion from string: ParseAddr(\"12345::\"): each group must have 4 or less digits (at \"12345::\")"},
        {"ip.isCanonical('2001:DB8::1')", "false"},
        {"ip.isCanonical('2001:db8::1')", "true"},
        {"string(ip('2001:DB8:0:0::1'))", "\"2001:db8::1\""},
        {"isIP('1.2.3.4/8')", "false"},
        {"cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"},
        {"cidr('10.0.0.0/8').containsIP('bad')", "error: no such overload"},
        {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"},
        {"cidr('10.0.0.0/33')", "error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0/33\"): prefix length out of range"},
        {"cidr('10.0.0.0/08')", "error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0/08\"): bad bits after slash: \"08\""},
        {"cidr('10.0.0.0')", "error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'"},
        {"cidr('::ffff:1.2.3.4/96')", "error: IPv4-mapped IPv6 address \"::ffff:1.2.3.4/96\" is not allowed"},
        {"cidr('fe80::%eth0/64')", "error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"fe80::%eth0/64\"): IPv6 zones cannot be present in a prefix"},
        {"cidr('10.1.2.3/8').ip()", "ip(\"10.1.2.3\")"},
        {"cidr('10.1.2.3/8').prefixLength()", "8"},
        {"string(cidr('10.1.2.3/8').masked())", "\"10.0.0.0/8\""},
        {"cidr('10.0.0.0/8') == cidr('10.0.0.1/8')", "false"},
    };
    static const struct row defined[] = {
        {"ip('::ffff:c0a8:1') == ip('192.168.0.1')", "true"},
        {"ip('::ffff:192.168.0.1')", "error: IPv4-mapped IPv6 address \"::ffff:192.168.0.1\" is not allowed"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
    run_rows(CEL_ENV_LANGUAGE, defined, countof(defined));
}

TEST(urls)
{
    static const struct row rows[] = {
        {"url('https://a.com:80/p?x=1#f').getPort()", "\"80\""},
        {"url('/path?x=1').getQuery()", "{\"x\": [\"1\"]}"},
        {"url('https://a.com').getEscapedPath()", "\"\""},
        {"url('a.com')", "error: URL parse error during conversion from string: parse \"a.com\": invalid URI for request"},
        {"url('')", "error: URL parse error during conversion from string: parse \"\": empty url"},
        {"url('http://[::1/')", "error: URL parse error during conversion from string: parse \"http://[::1/\": missing ']' in host"},
        {"url('http://a b.com/')", "error: URL parse error during conversion from string: parse \"http://a b.com/\": invalid character in host name \" \""},
        {"url('http://a.com/%zz')", "error: URL parse error during conversion from string: parse \"http://a.com/%zz\": invalid URL escape \"%zz\""},
        {"url('http://a.com:x/')", "error: URL parse error during conversion from string: parse \"http://a.com:x/\": invalid port after host \":x\""},
        {"url('http://a.com/?a=1&b&c=%20x+y').getQuery()", "{\"a\": [\"1\"], \"b\": [\"\"], \"c\": [\" x y\"]}"},
        {"url('http://a.com/?a;b').getQuery()", "{}"},
        {"isURL('http://a\\x00')", "false"},
        {"url('mailto:x@y')", "url(\"mailto:x@y\")"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}

TEST(named_formats)
{
    static const struct row rows[] = {
        {"format.dns1123Label().validate('A')", "optional.of([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])"},
        {"format.dns1123Label().validate('a.b').value()", "[\"must not contain dots\"]"},
        {"format.dns1123Subdomain().validate('a.b')", "optional.none()"},
        {"format.labelValue().validate('')", "optional.none()"},
        {"format.qualifiedName().validate('a/b/c').value()", "[\"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')\"]"},
        {"format.uuid().validate('x').value()", "[\"does not match the UUID format\"]"},
        {"format.date().validate('2024-13-01').value()", "[\"invalid date\"]"},
        {"format.datetime().validate('2024-01-01').value()", "[\"invalid datetime\"]"},
        {"format.uri().validate('x y').value()", "[\"parse \\\"x y\\\": invalid URI for request\"]"},
        {"format.named('dns1123Label').value() == format.dns1123Label()", "true"},
        {"format.dns1035LabelPrefix().validate('a-')", "optional.none()"},
        {"format.byte().validate('aGk=')", "optional.none()"},
    };

    run_rows(CEL_ENV_BASE, rows, countof(rows));
}
