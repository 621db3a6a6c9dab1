import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  byRevision,
  dataHash,
  isSameData,
  revisionName,
  templateOf,
  templatePatch,
} from "./controller-revision.ts";

const shared = path.join(import.meta.dirname, "../../../../../shared/cluster-stories");
const template = { metadata: { labels: { app: "a" } }, spec: { hostNetwork: true } };

describe("ControllerRevisions", () => {
  it("contain a template that can be restored", () => {
    const data = templatePatch(template);
    const metadata = { name: "a", uid: "u", resourceVersion: "1" };
    assert.deepEqual(templateOf({ metadata, data, revision: 1 }), template);
    assert.equal(templateOf({ metadata, data: {}, revision: 1 }), undefined);
  });

  it("have data with sorted keys, since other programs compare its bytes", () => {
    const { metadata, spec } = template;
    assert.equal(
      JSON.stringify(templatePatch({ spec, metadata })),
      '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"a"}},' +
        '"spec":{"hostNetwork":true}}}}',
    );
  });

  it("have equal data for any order of keys, and for null in place of absent fields", () => {
    const { metadata, spec } = template;
    const other = { spec, metadata: { creationTimestamp: null, ...metadata } };
    assert.ok(isSameData(templatePatch(template), templatePatch(other)));
    assert.ok(!isSameData(templatePatch(template), templatePatch({ metadata })));
    assert.equal(dataHash(templatePatch(other), 0), dataHash(templatePatch(template), 0));
  });

  it("have the hashes of kube-controller-manager", function () {
    if (!existsSync(shared)) this.skip();
    const { statefulSet } = JSON.parse(
      readFileSync(path.join(shared, "hash-vectors.json"), "utf8"),
    );
    for (const { about, template: of, data, collisionCount, hash } of statefulSet) {
      assert.equal(dataHash(data, collisionCount), hash, about);
      assert.equal(dataHash(templatePatch(of), collisionCount), hash, about);
    }
  });

  it("have truncated names, and sort by number, time and name", () => {
    assert.equal(revisionName("x".repeat(250), "h"), `${"x".repeat(223)}-h`);
    const of = (name: string, revision: number, creationTimestamp: string) => ({
      metadata: { name, uid: name, resourceVersion: "1", creationTimestamp },
      revision,
    });
    const [early, late] = ["2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"];
    const sorted = [of("d", 2, early), of("c", 1, late), of("b", 1, early), of("a", 1, late)];
    assert.equal(
      sorted
        .sort(byRevision)
        .map(({ metadata }) => metadata.name)
        .join(""),
      "bacd",
    );
  });
});
