import assert from "node:assert/strict";
import { memoryBackend, objectStore } from "#storage";
import { testRegistry, type TestRegistry } from "../registry/testing.ts";
import { ObjectReader } from "./objects.ts";

const namespaces = { group: "", plural: "namespaces" };

describe("ObjectReader", () => {
  let revisions: number;
  let test: TestRegistry;
  let objects: ObjectReader;

  beforeEach(async () => {
    const backend = memoryBackend();
    const { revision } = backend;
    backend.revision = (signal) => {
      revisions++;
      return revision.call(backend, signal);
    };
    const store = objectStore(backend, { root: "/registry" });
    test = await testRegistry({ store });
    const { catalog, registry } = test;
    objects = new ObjectReader({ catalog, registry: () => registry, gates: () => false });
    await test.list("v1/namespaces/");
    revisions = 0;
  });
  const find = (name: string) =>
    objects.find(namespaces, name, test.request("v1/namespaces//a").context);

  it("finds what this process wrote without asking the store for its revision", async () => {
    for (const phase of ["a", "b", "c"]) {
      await test.patch("v1/namespaces//ns", { metadata: { labels: { phase } } });
      assert.equal((await find("ns")).metadata.labels.phase, phase);
    }
    assert.equal(revisions, 0);
  });

  it("returns what the cache has without waiting", async () => {
    await test.patch("v1/namespaces//ns", { metadata: { labels: { phase: "a" } } });
    await find("ns");
    const found = find("ns");
    assert.equal(found.metadata?.labels.phase, "a");
  });

  it("asks the store for an object that the cache does not have", async () => {
    assert.equal(await find("missing"), undefined);
    assert.equal(revisions, 1);
  });
});
