import assert from "node:assert/strict";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { domainOf } from "#meta";

const domain = domainOf();

function refusal(text: string): string {
  try {
    decodeContinue(text, domain);
  } catch (error) {
    return (error as Error).message.replace(/^invalid continue token: /, "");
  }
  return "accepted";
}

describe("continue token", () => {
  it("is encoded as by kube-apiserver", () => {
    const token = encodeContinue({ revision: 7, after: "ns/a" }, domain);
    assert.equal(
      Buffer.from(token, "base64url").toString(),
      '{"v":"meta.k8s.io/v1","rv":7,"start":"ns/a\\u0000"}',
    );
    assert.deepEqual(decodeContinue(token, domain), { revision: 7, after: "ns/a" });
  });

  it("continues at the newest revision if rv is negative", () => {
    for (const rv of [-1, -5]) {
      const text = JSON.stringify({ v: "meta.k8s.io/v1", rv, start: "/ns/a\0" });
      const token = Buffer.from(text).toString("base64url");
      assert.deepEqual(decodeContinue(token, domain), { revision: undefined, after: "ns/a" });
    }
  });

  const invalid = "continue key is not valid";
  const texts: readonly (readonly [token: string, message: string])[] = [
    ["a", `${invalid}: illegal base64 data at input byte 0`],
    ["YWJj?", `${invalid}: illegal base64 data at input byte 4`],
    ["YWI=", `${invalid}: illegal base64 data at input byte 3`],
    ["YWJjZ", `${invalid}: illegal base64 data at input byte 4`],
  ];
  for (const [token, message] of texts) {
    it(`is rejected as malformed: ${token}`, () => assert.equal(refusal(token), message));
  }

  const member = "Go struct field continueToken";
  const bodies: readonly (readonly [body: string, message: string])[] = [
    ["i", `${invalid}: invalid character 'i' looking for beginning of value`],
    ["{", `${invalid}: unexpected end of JSON input`],
    ["null", `${invalid}: server does not recognize this encoded version `],
    ["{}", `${invalid}: server does not recognize this encoded version `],
    ['{"v":"v2"}', `${invalid}: server does not recognize this encoded version v2`],
    ["[]", `${invalid}: json: cannot unmarshal array into Go value of type storage.continueToken`],
    [
      "5.0",
      `${invalid}: json: cannot unmarshal number into Go value of type storage.continueToken`,
    ],
    ['{"v":1}', `${invalid}: json: cannot unmarshal number into ${member}.v of type string`],
    [
      '{"start":{}}',
      `${invalid}: json: cannot unmarshal object into ${member}.start of type string`,
    ],
    ['{"rv":"1"}', `${invalid}: json: cannot unmarshal string into ${member}.rv of type int64`],
    [
      '{"rv":{"toString":1}}',
      `${invalid}: json: cannot unmarshal object into ${member}.rv of type int64`,
    ],
    ['{"rv":1.0}', `${invalid}: json: cannot unmarshal number 1.0 into ${member}.rv of type int64`],
    ['{"rv":1e3}', `${invalid}: json: cannot unmarshal number 1e3 into ${member}.rv of type int64`],
    [
      '{"v":"meta.k8s.io/v1","start":"a"}',
      `${invalid}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)`,
    ],
    [
      '{"v":"meta.k8s.io/v1","rv":1}',
      `${invalid}: encoded start key empty (version meta.k8s.io/v1)`,
    ],
    ['{"v":"meta.k8s.io/v1","rv":1,"start":"../a\\u0000"}', `${invalid}: ../a\0`],
    ['{"v":"meta.k8s.io/v1","rv":1,"start":"a//b\\u0000"}', `${invalid}: a//b\0`],
    ['{"v":"meta.k8s.io/v1","rv":1,"start":"//a\\u0000"}', `${invalid}: //a\0`],
  ];
  for (const [body, message] of bodies) {
    it(`is rejected as malformed: ${body}`, () => {
      assert.equal(refusal(Buffer.from(body).toString("base64url")), message);
    });
  }
});
