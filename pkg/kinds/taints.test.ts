import assert from "node:assert/strict";
import { toleratesTaint } from "./taints.ts";

const taint = { key: "broken", value: "disk", effect: "NoExecute" };

describe("toleratesTaint", () => {
  it("matches key, value and effect", () => {
    const matches = (toleration: object) => toleratesTaint(toleration, taint);
    assert.ok(matches({ key: "broken", value: "disk" }));
    assert.ok(matches({ key: "broken", operator: "Equal", value: "disk", effect: "NoExecute" }));
    assert.equal(matches({ key: "broken" }), false);
    assert.equal(matches({ key: "other", operator: "Exists" }), false);
    assert.equal(matches({ key: "broken", operator: "Exists", effect: "NoSchedule" }), false);
  });

  it("matches every key or effect if the toleration has none", () => {
    assert.ok(toleratesTaint({ operator: "Exists" }, taint));
    assert.ok(toleratesTaint({ key: "broken", operator: "Exists" }, taint));
    assert.equal(toleratesTaint({ operator: "Unknown", value: "disk" }, taint), false);
  });
});
