import assert from "node:assert/strict";
import { attributesOf } from "./access-attributes.ts";

describe("access to a kubelet", () => {
  const needs = (method: string, url: string): readonly string[] =>
    attributesOf({ method, url }, "n").map((each) => {
      assert.ok("resourceAttributes" in each);
      const { verb, subresource } = each.resourceAttributes as Record<string, string>;
      return `${verb} ${subresource}`;
    });

  it("uses the fine-grained subresource, then proxy", () => {
    assert.deepEqual(needs("GET", "/pods"), ["get pods", "get proxy"]);
    assert.deepEqual(needs("GET", "/runningpods/"), ["get pods", "get proxy"]);
    assert.deepEqual(needs("GET", "/healthz/ping?x"), ["get healthz", "get proxy"]);
    assert.deepEqual(needs("GET", "/configz"), ["get configz", "get proxy"]);
  });

  it("uses one subresource for other paths", () => {
    assert.deepEqual(needs("GET", "/stats/summary"), ["get stats"]);
    assert.deepEqual(needs("GET", "/metrics/resource"), ["get metrics"]);
    assert.deepEqual(needs("POST", "/exec/ns/p/c"), ["create proxy"]);
    assert.deepEqual(needs("GET", "/podsecret"), ["get proxy"]);
  });
});
