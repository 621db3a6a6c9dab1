import assert from "node:assert/strict";
import * as names from "./names.ts";

const tooLong = (most: number): string => `must be no more than ${most} characters`;

/** Check, text, and the beginnings of the messages (none = valid). */
const rows: readonly (readonly [(text: string) => readonly string[], string, ...string[]])[] = [
  [names.isDns1123Label, "a-1"],
  [names.isDns1123Label, "a.b", "must not contain dots"],
  [names.isDns1123Label, "A", "a lowercase RFC 1123 label must consist of"],
  [names.isDns1123Label, "a".repeat(64), tooLong(63)],
  [names.isDns1123Label, `a\n`, "a lowercase RFC 1123 label"],
  [names.isDns1123Subdomain, "a.b-c.1"],
  [names.isDns1123Subdomain, "a..b", "a lowercase RFC 1123 subdomain must consist of"],
  [names.isDns1123Subdomain, "", "a lowercase RFC 1123 subdomain must consist of"],
  [names.isDns1123Subdomain, `${"a".repeat(254)}`, tooLong(253)],
  [names.isDns1035Label, "a1"],
  [names.isDns1035Label, "1a", "a DNS-1035 label must consist of"],
  [names.isWildcardDns1123Subdomain, "*.example.com"],
  [names.isWildcardDns1123Subdomain, "a.*.com", "a wildcard DNS-1123 subdomain must start"],
  [names.isQualifiedName, "example.com/My_name.1"],
  [names.isQualifiedName, "a/b/c", "a qualified name must consist of"],
  [names.isQualifiedName, "/a", "prefix part must be non-empty"],
  [names.isQualifiedName, "", "name part must be non-empty", "name part must consist of"],
  [names.isQualifiedName, "Example.com/a", "prefix part a lowercase RFC 1123 subdomain"],
  [names.isQualifiedName, "k".repeat(64), `name part ${tooLong(63)}`],
  [names.isAnnotationKey, "Example.com/Key"],
  [names.isLabelValue, ""],
  [names.isLabelValue, "a b", "a valid label must be an empty string or consist of"],
  [names.isConfigMapKey, "a.b_C-1"],
  [names.isConfigMapKey, "a b", "a valid config key must consist of"],
  [names.isConfigMapKey, "..", "must not be '..'"],
  [names.isConfigMapKey, "..a", "must not start with '..'"],
  [names.isRelaxedEnvVarName, "1 a!"],
  [names.isRelaxedEnvVarName, "a=b", "a valid environment variable name must consist only of"],
  [names.isIdentifier, "_a1"],
  [names.isIdentifier, "1a", "a valid C identifier must start with"],
  [names.isPortName, "http-2"],
  [names.isPortName, "80", "must contain at least one letter"],
  [names.isPortName, "-a--b", "must not contain consecutive hyphens", "must not begin or end"],
  [names.isPortName, "abcdefghijklmnop", tooLong(15)],
  [names.isPercent, "50%"],
  [names.isPercent, "50", "a valid percent string must be a numeric string"],
  [names.isHttpHeaderName, "X-Header"],
  [names.isHttpHeaderName, "X Header", "a valid HTTP header must consist of"],
  [names.isPathSegmentName, "a:b"],
  [names.isPathSegmentName, "a/b%", "may not contain '/'", "may not contain '%'"],
  [names.isPathSegmentName, "..", "may not be '..'"],
];

describe("names", () => {
  for (const [check, text, ...beginnings] of rows) {
    it(`${check.name} ${JSON.stringify(text.slice(0, 30))}`, () => {
      const messages = check(text);
      assert.equal(messages.length, beginnings.length, messages.join("; "));
      for (const [index, beginning] of beginnings.entries()) {
        assert.ok(messages[index]?.startsWith(beginning), messages[index]);
      }
    });
  }

  it("has Kubernetes' messages, with examples and pattern", () => {
    assert.deepEqual(names.isQualifiedName("-"), [
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " +
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ]);
  });

  it("accepts generateName with a trailing dash", () => {
    assert.deepEqual(names.nameCheck("dns-subdomain")("web-", true), []);
    assert.notDeepEqual(names.nameCheck("dns-subdomain")("web-", false), []);
    assert.notDeepEqual(names.nameCheck("dns-subdomain")("web.", true), []);
    assert.deepEqual(names.nameCheck("path-segment")("..", true), []);
  });

  it("checks port numbers", () => {
    assert.deepEqual(names.isPortNumber(65_535), []);
    assert.deepEqual(names.isPortNumber(0), ["must be between 1 and 65535, inclusive"]);
  });
});
