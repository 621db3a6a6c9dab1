import assert from "node:assert/strict";
import { patchedText } from "./patched-text.ts";

const document = {
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a", labels: { b: "1", a: "2" } },
  data: { z: "1", k: 5 },
};
const metadata = `"metadata":{"name":"a","labels":{"b":"1","a":"2"}}`;

describe("the JSON text of a patched document", () => {
  it("sorts the keys of objects that a JSON patch traverses", () => {
    const patch = [{ op: "add", path: "/data/k", value: 5 }];
    const data = `"data":{"k":5,"z":"1"}`;
    const text = `{"apiVersion":"v1",${data},"kind":"ConfigMap",${metadata}}`;
    assert.equal(patchedText(document, patch), text);
  });

  it("sorts the keys of merged objects, and of objects in lists of the patch", () => {
    const patch = { metadata: { labels: { a: "2" } } };
    const data = `"data":{"z":"1","k":5}`;
    const labels = `"metadata":{"labels":{"a":"2","b":"1"},"name":"a"}`;
    assert.equal(
      patchedText(document, patch),
      `{"apiVersion":"v1",${data},"kind":"ConfigMap",${labels}}`,
    );
    assert.equal(patchedText({ l: [{ b: 1, a: 2 }] }, { l: [{}] }), `{"l":[{"a":2,"b":1}]}`);
  });
});
