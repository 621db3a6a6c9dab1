import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Resource } from "#meta";
import type { Registry } from "#registry";
import { testRegistry, type TestRegistry } from "../registry/testing.ts";
import { ordinaryDialer } from "../request/testing.ts";
import { serveDefinitions } from "./definitions.ts";
import { customResourceDefinition } from "./testing.ts";

const path = "apiextensions.k8s.io/v1/customresourcedefinitions";

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

describe("crd/definitions", () => {
  let test: TestRegistry;
  let over: AbortController;
  const served = (): Resource | undefined => test.catalog.find("example.com", "v1", "cats");

  beforeEach(async () => {
    test = await testRegistry();
    over = new AbortController();
  });
  afterEach(() => over.abort());

  /** Serves definitions with other status updates than the registry's, and creates one. */
  async function serve(update: Registry["update"]): Promise<void> {
    const { registry, catalog, clock } = test;
    const { ready, done } = serveDefinitions({
      registry: { ...registry, update },
      catalog,
      clock,
      dialer: ordinaryDialer,
      signal: over.signal,
      report: () => undefined,
      settleMs: () => Promise.resolve(0),
    });
    done.catch(() => undefined);
    await ready;
    await test.post(path, customResourceDefinition({ plural: "cats", kind: "Cat" }));
  }

  it("keeps the resource when the event of its own status update precedes the response", async () => {
    const seen = new Set<Resource>();
    let updates = 0;
    await serve(async (...args) => {
      const response = await test.registry.update(...args);
      updates++;
      for (let turn = 0; turn < 50; turn++) {
        await nextTurn();
        const resource = served();
        if (resource !== undefined) seen.add(resource);
      }
      return response;
    });
    await turns(100);
    assert.equal(updates, 1);
    assert.deepEqual(
      [...seen].map(({ plural }) => plural),
      ["cats"],
    );
    assert.ok(served() === [...seen][0]);
  });

  it("serves nothing when the status could not be written", async () => {
    let wasServed = false;
    await serve(() => {
      wasServed = served() !== undefined;
      return Promise.reject(new Error("the store is not available"));
    });
    await turns(50);
    assert.equal(wasServed, true);
    assert.equal(served()?.plural, undefined);
  });
});
