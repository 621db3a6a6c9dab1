import assert from "node:assert/strict";
import { seededRandom, systemClock } from "#base";
import { kubernetes } from "#meta";
import { noInstruments } from "#request";
import { defaultPluginArgs } from "../configuration/profile.ts";
import { extensionPoints, has } from "../framework/extension-points.ts";
import type { PluginHandle } from "../framework/handle.ts";
import { pluginRegistry } from "./registry.ts";

/** Informers that never show an object. */
const informer = { subscribe: () => () => undefined, addIndex: () => undefined, all: () => [] };

describe("plugin registry", () => {
  it("lists all extension points that each plugin implements", () => {
    const handle = {
      domain: kubernetes,
      informers: { of: () => informer },
      clock: systemClock,
      random: seededRandom(1),
      instruments: noInstruments,
      client: { domain: kubernetes },
      snapshot: { nodes: [] },
    } as unknown as PluginHandle;
    for (const [name, { make, points, weight }] of pluginRegistry) {
      const made = make(handle, defaultPluginArgs);
      assert.equal(made.name, name);
      const own = extensionPoints.filter((point) => has(made, point));
      assert.deepEqual(
        own.filter((point) => !points.includes(point)),
        [],
        name,
      );
      assert.ok(weight === 0 || points.includes("score"), name);
    }
  });
});
