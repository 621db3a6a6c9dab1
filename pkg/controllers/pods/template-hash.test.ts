import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { podTemplateHash } from "./template-hash.ts";

const shared = path.join(import.meta.dirname, "../../../../shared/cluster-stories");

describe("podTemplateHash", () => {
  const template = (image: string) => ({
    metadata: { labels: { app: "a" } },
    spec: { containers: [{ name: "c", image }] },
  });

  it("differs by template and by collision count", () => {
    const hashes = [
      podTemplateHash(template("a")),
      podTemplateHash(template("b")),
      podTemplateHash(template("a"), 0),
      podTemplateHash(template("a"), 1),
    ];
    assert.equal(new Set(hashes).size, 4);
    for (const hash of hashes) assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{8,10}$/);
  });

  it("does not depend on the order of keys", () => {
    const { metadata, spec } = template("a");
    assert.equal(podTemplateHash({ spec, metadata }), podTemplateHash({ metadata, spec }));
  });

  it("equals that of kube-controller-manager", function () {
    if (!existsSync(shared)) this.skip();
    const { podTemplate } = JSON.parse(
      readFileSync(path.join(shared, "hash-vectors.json"), "utf8"),
    );
    for (const { about, template, collisionCount, hash } of podTemplate) {
      assert.equal(podTemplateHash(template, collisionCount), hash, about);
    }
  });
});
