import assert from "node:assert/strict";
import { regexpFault } from "./apiextensions/go-regexp.ts";
import { parseGoUrl } from "./go-url.ts";
import { jsonPathFault } from "./json-path.ts";

describe("regular expressions that Go rejects", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["^[a-z]+(?:x|y){2,3}\\d\\pL$", undefined],
    ["(?P<name>a)(?i:b)[[:alpha:]]", undefined],
    ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
    ["(a)\\1", "invalid escape sequence: `\\1`"],
    ["(a", "missing closing ): `(a`"],
    ["a)", "unexpected ): `a)`"],
    ["[a", "missing closing ]: `[a`"],
    ["*a", "missing argument to repetition operator: `*`"],
    ["a**", "invalid nested repetition operator: `**`"],
    ["a{1001}", "invalid repeat count: `{1001}`"],
  ];
  for (const [pattern, fault] of cases) {
    it(pattern, () => {
      const expected = fault && `error parsing regexp: ${fault}`;
      assert.equal(regexpFault(pattern), expected);
    });
  }
});

describe("JSONPaths that kubectl rejects", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    [".spec.ports[*].port", undefined],
    [".metadata.annotations.example\\.com/x", undefined],
    ["['a b'][?(@.x == 1)]", undefined],
    [".a[", "unterminated array"],
    ["'a", "unterminated quoted string"],
    [".a{", "unrecognized character in action: U+007B '{'"],
  ];
  for (const [text, fault] of cases) {
    it(text, () => assert.equal(jsonPathFault(text), fault));
  }
});

describe("URLs as Go parses them", () => {
  it("has parts", () => {
    const text = "https://u:p@host.example.com:1/a/b?x=1#f";
    const { scheme, host, path, query, fragment } = parseGoUrl(text) as Record<string, any>;
    assert.deepEqual(
      [scheme, host, path, query, fragment],
      ["https", "host.example.com:1", "/a/b", "x=1", "f"],
    );
  });
  for (const text of [":a", "a:b c/%zz", "http://[::1", "http://a:b/"]) {
    it(`rejects ${text}`, () => assert.ok("fault" in parseGoUrl(text)));
  }
});
