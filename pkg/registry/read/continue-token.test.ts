import assert from "node:assert/strict";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { domainOf } from "#meta";

describe("continue token", () => {
  it("makes continue tokens that Kubernetes reads", () => {
    const domain = domainOf();
    const token = encodeContinue({ revision: 7, after: "ns/a" }, domain);
    assert.equal(
      Buffer.from(token, "base64url").toString(),
      '{"v":"meta.k8s.io/v1","rv":7,"start":"ns/a\\u0000"}',
    );
    assert.deepEqual(decodeContinue(token, domain), { revision: 7, after: "ns/a" });
    const forged = Buffer.from('{"v":"meta.k8s.io/v1","rv":7,"start":"../secrets/ns/a\\u0000"}');
    assert.throws(() => decodeContinue(forged.toString("base64url"), domain), /malformed/);
  });
});
