import assert from "node:assert/strict";
import { PrefixRouter } from "./prefix-router.ts";

describe("PrefixRouter", () => {
  it("finds the value of a key's prefix, at any depth", () => {
    const router = new PrefixRouter<string>();
    for (const prefix of ["/r/pods/", "/r/services/specs/", "/r/services/endpoints/"]) {
      router.set(prefix, prefix);
    }
    assert.equal(router.find("/r/pods/ns/a"), "/r/pods/");
    assert.equal(router.find("/r/services/specs/ns/a"), "/r/services/specs/");
    assert.equal(router.find("/r/services/other/ns/a"), undefined);
    assert.equal(router.find("/r/podsets/ns/a"), undefined);
    assert.equal(router.find("/r/pods"), undefined);
    assert.equal(router.find(""), undefined);
  });
});
