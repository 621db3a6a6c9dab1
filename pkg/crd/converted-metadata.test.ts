import assert from "node:assert/strict";
import { restoredMetadata } from "./converted-metadata.ts";

describe("metadata of converted objects", () => {
  const original = { name: "a", labels: { a: "1" } };

  it("are the original ones with the labels and annotations of the conversion", () => {
    const converted = { name: "b", uid: "x", annotations: { b: "2" } };
    assert.deepEqual(restoredMetadata(original, converted), {
      name: "a",
      annotations: { b: "2" },
    });
  });

  it("are rejected with Kubernetes' paths", () => {
    assert.match(
      restoredMetadata(original, { labels: { "a b": "" } }) as string,
      /^metadata\.labels: Invalid value: "a b": /,
    );
    assert.match(
      restoredMetadata(original, { annotations: { "a b": "" } }) as string,
      /^metadata\.annotation: Invalid value: "a b": /,
    );
  });
});
