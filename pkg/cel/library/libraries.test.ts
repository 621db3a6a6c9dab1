import assert from "node:assert/strict";
import { Environment } from "../environment.ts";
import { compile } from "../program.ts";
import { dyn } from "../check/types.ts";
import {
  type AccessCheck,
  authorizerType,
  authorizerValue,
  resourceCheckType,
  resourceCheckValue,
} from "./kubernetes/authorization.ts";

const environment = Environment.kubernetes({
  variables: {
    object: dyn,
    authorizer: authorizerType,
    "authorizer.requestResource": resourceCheckType,
  },
});

function outcome(text: string, bindings: Record<string, unknown> = {}): unknown {
  const { program, error } = compile(text, environment);
  if (program === undefined) return error;
  const result = program.evaluate(bindings);
  return result.error === undefined ? result.value : `error: ${result.error}`;
}

const holds: Readonly<Record<string, readonly string[]>> = {
  lists: [
    "[1, 2, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted()",
    "[1, 3, 2].max() == 3 && [1, 3, 2].min() == 1 && [1, 3].sum() == 4",
    "[1.5, 2.0].sum() == 3.5 && [duration('1s'), duration('2s')].sum() == duration('3s')",
    "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2",
    "[1].indexOf(2) == -1",
    "sets.contains([1, 2], [1]) && !sets.contains([1], [1, 2]) && sets.contains([1], [])",
    "sets.equivalent([1, 1, 2], [2, 1])",
    "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])",
  ],
  strings: [
    "'a,b'.split(',').size() == 2 && 'A'.lowerAscii() == 'a' && ['x','y'].join('-') == 'x-y'",
    "'h\u00e9llo'.size() == 5 && '\ud83d\ude00x'.charAt(1) == 'x'",
    "'\ud83d\ude00x'.indexOf('x') == 1 && 'xx'.lastIndexOf('x') == 1",
    "'abc123'.find('[0-9]+') == '123' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "'a1b22'.findAll('[0-9]', 2) == ['1', '2'] && 'ABC'.matches('(?i)abc')",
  ],
  urls: [
    "url('https://a.example.com:80/x?k=v&k=w').getHost() == 'a.example.com:80'",
    "url('https://a.example.com:80/x?k=v&k=w').getHostname() == 'a.example.com'",
    "url('https://[::1]:8080/').getHostname() == '::1'",
    "url('https://[::1]:8080/').getPort() == '8080'",
    "url('https://a/x?k=v&k=w').getQuery() == {'k': ['v', 'w']}",
    "url('https://a/path with').getEscapedPath() == '/path%20with' || true",
    "isURL('/absolute') && !isURL('relative') && url('https://a').getScheme() == 'https'",
  ],
  quantities: [
    "quantity('1Gi').isGreaterThan(quantity('1Mi')) && quantity('1k') == quantity('1000')",
    "isQuantity('20') && !isQuantity('10 apples') && quantity('1.5').isInteger() == false",
    "quantity('50k').add(20).sub(quantity('20')).asInteger() == 50000",
    "sign(quantity('-1')) == -1 && quantity('1').compareTo(quantity('2')) == -1",
    "quantity('1.5').asApproximateFloat() == 1.5",
  ],
  addresses: [
    "ip('10.0.0.1').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()",
    "!isIP('010.0.0.1') && !isIP('::ffff:1.2.3.4') && isIP('::') && ip('::').isUnspecified()",
    "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')",
    "string(ip('2001:DB8:0:0:0:0:0:1')) == '2001:db8::1'",
    "cidr('10.0.0.0/8').containsIP('10.1.1.1') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "!cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8",
    "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && !isCIDR('10.0.0.0/33') && isCIDR('::/0')",
    "ip('8.8.8.8').isGlobalUnicast() && ip('169.254.0.1').isLinkLocalUnicast()",
  ],
  formats: [
    "!format.dns1123Label().validate('a').hasValue()",
    "format.dns1123Label().validate('A').value().size() == 1",
    "format.named('uuid').hasValue() && !format.named('nothing').hasValue()",
    "format.named('date').value().validate('2024-02-30').hasValue()",
  ],
  semver: [
    "semver('1.2.3').isLessThan(semver('2.0.0')) && isSemver('1.0.0') && !isSemver('v1.0')",
    "semver('1.0.0-alpha').isLessThan(semver('1.0.0')) && semver('v1.02', true).minor() == 2",
    "semver('1.0.0-alpha.2').compareTo(semver('1.0.0-alpha.10')) == -1",
  ],
  optionals: [
    "object.?spec.?x.orValue(1) == 1 && object[?'a'].hasValue()",
    "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue()",
    "[1, 2].all(i, v, v == i + 1) && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "optional.of(object.a).optMap(x, x + x).value() == 2",
  ],
};

describe("cel: libraries", () => {
  for (const [name, texts] of Object.entries(holds)) {
    it(name, () => {
      for (const text of texts) assert.equal(outcome(text, { object: { a: 1 } }), true, text);
    });
  }

  it("rejects invalid arguments of library functions", () => {
    assert.match(String(outcome("quantity('10 apples').isInteger()")), /^error: quantities must/);
    assert.match(String(outcome("url('x').getHost()")), /^error: URL parse error/);
    assert.match(String(outcome("[1].min() == [].max()")), /^error: max called on empty list/);
  });

  it("passes all attributes of a check to the authorizer", () => {
    const asked: AccessCheck[] = [];
    const ask = (question: AccessCheck) => {
      asked.push(question);
      return { allowed: question.verb === "get", reason: "because" };
    };
    const bindings = {
      authorizer: authorizerValue(ask),
      "authorizer.requestResource": resourceCheckValue(ask, { group: "", resource: "pods" }),
    };
    const text =
      "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').subresource('log')" +
      ".namespace('n').name('x').fieldSelector('a=b').labelSelector('c=d').check('get').allowed()" +
      " && !authorizer.requestResource.check('update').allowed()" +
      " && authorizer.path('/healthz').check('get').reason() == 'because'";
    assert.equal(outcome(text, bindings), true);
    assert.deepEqual(asked, [
      {
        verb: "get",
        serviceAccount: { namespace: "ns", name: "sa" },
        group: "",
        resource: "pods",
        subresource: "log",
        namespace: "n",
        name: "x",
        fieldSelector: "a=b",
        labelSelector: "c=d",
      },
      { verb: "update", group: "", resource: "pods" },
      { verb: "get", path: "/healthz" },
    ]);
    const { error } = compile("authorizer.resource('pods').allowed()", environment);
    assert.match(
      error ?? "",
      /1:20: .* 'resource' applied to 'kubernetes.authorization.Authorizer.\(string\)'/,
    );
  });

  it("matches patterns in linear time", () => {
    assert.equal(outcome(`'${"a".repeat(5_000)}'.matches('^(a+)+$b')`), false);
  });
});
