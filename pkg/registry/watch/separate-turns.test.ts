import assert from "node:assert/strict";
import type { ItemEvent } from "../contract.ts";
import { type TestRegistry, testRegistry } from "../testing.ts";

interface Place {
  readonly what: string;
  readonly path: string;
  readonly write: (api: TestRegistry) => Promise<unknown>;
  /** The types of the events. */
  readonly events: string;
}

const container = { name: "c", image: "i" };
const pod = { metadata: { name: "p" }, spec: { containers: [container] } };
const map = { metadata: { name: "m" } };
const held = { metadata: { name: "m", finalizers: ["example.org/hold"] } };

/** What writes an object twice in one request, or in requests of one turn. */
const places: readonly Place[] = [
  {
    what: "deletion of a pod that is not scheduled",
    path: "v1/pods/ns",
    write: async (api) => {
      await api.post("v1/pods/ns", pod);
      await api.remove("v1/pods/ns/p");
    },
    events: "ADDED MODIFIED DELETED",
  },
  {
    what: "forced deletion of a scheduled pod",
    path: "v1/pods/ns",
    write: async (api) => {
      await api.post("v1/pods/ns", { ...pod, spec: { ...pod.spec, nodeName: "n" } });
      await api.remove("v1/pods/ns/p", { gracePeriodSeconds: 0 });
    },
    events: "ADDED MODIFIED DELETED",
  },
  {
    what: "deletion of a collection of pods",
    path: "v1/pods/ns",
    write: async (api) => {
      await api.post("v1/pods/ns", pod);
      await api.removeAll("v1/pods/ns");
    },
    events: "ADDED MODIFIED DELETED",
  },
  {
    what: "eviction",
    path: "v1/pods/ns",
    write: async (api) => {
      await api.post("v1/pods/ns", pod);
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
      await api.post("v1/pods/ns/p/eviction", eviction);
    },
    events: "ADDED MODIFIED MODIFIED DELETED",
  },
  {
    what: "binding",
    path: "v1/pods/ns",
    write: async (api) => {
      await api.post("v1/pods/ns", pod);
      await api.post("v1/pods/ns/p/binding", {
        metadata: { name: "p" },
        target: { kind: "Node", name: "n" },
      });
      await api.remove("v1/pods/ns/p", { gracePeriodSeconds: 0 });
    },
    events: "ADDED MODIFIED MODIFIED DELETED",
  },
  {
    what: "removal of the last finalizer",
    path: "v1/configmaps/ns",
    write: async (api) => {
      await api.post("v1/configmaps/ns", held);
      await api.remove("v1/configmaps/ns/m");
      await api.patch("v1/configmaps/ns/m", { metadata: { finalizers: null } });
    },
    events: "ADDED MODIFIED DELETED",
  },
  {
    what: "deletion of the dependents first",
    path: "v1/configmaps/ns",
    write: async (api) => {
      await api.post("v1/configmaps/ns", map);
      await api.remove("v1/configmaps/ns/m", { propagationPolicy: "Foreground" });
      await api.patch("v1/configmaps/ns/m", { metadata: { finalizers: null } });
    },
    events: "ADDED MODIFIED DELETED",
  },
  {
    what: "deletion and creation",
    path: "v1/configmaps/ns",
    write: async (api) => {
      await api.post("v1/configmaps/ns", map);
      await api.remove("v1/configmaps/ns/m");
      await api.post("v1/configmaps/ns", map);
    },
    events: "ADDED DELETED ADDED",
  },
  {
    what: "updates of one turn",
    path: "v1/configmaps/ns",
    write: async (api) => {
      await api.post("v1/configmaps/ns", map);
      const values = ["1", "2", "3"];
      await Promise.all(
        values.map((value) => api.patch("v1/configmaps/ns/m", { data: { value } })),
      );
    },
    events: "ADDED MODIFIED MODIFIED MODIFIED",
  },
];

/** Counts the turns of the event loop. */
function countTurns() {
  let turn = 0;
  let next = setImmediate(count);
  function count(): void {
    turn += 1;
    next = setImmediate(count);
  }
  return { now: () => turn, end: () => clearImmediate(next) };
}

describe("two writes of an object in memory", () => {
  for (const { what, path, write, events } of places) {
    it(`reach watchers in separate turns: ${what}`, async () => {
      const api = await testRegistry();
      const found: { readonly turn: number; readonly event: ItemEvent }[] = [];
      const count = events.split(" ").length;
      const turns = countTurns();
      const watching = (async () => {
        const options = { resourceVersion: String(await api.store.revision()) };
        for await (const event of api.watch(path, options)) {
          found.push({ turn: turns.now(), event });
          if (found.length === count) break;
        }
      })();
      // The watch has joined the dispatcher before anything is written.
      await new Promise((resolve) => setTimeout(resolve, 5));
      await write(api);
      await watching;
      turns.end();
      assert.equal(found.map(({ event }) => event.type).join(" "), events);
      assert.equal(new Set(found.map((each) => each.turn)).size, count);
    });
  }

  it("reach a watcher together when there are many", async () => {
    const api = await testRegistry();
    await api.post("v1/configmaps/ns", map);
    const turns = new Set<number>();
    const values = Array.from({ length: 500 }, (_, index) => `${index}`);
    const counter = countTurns();
    let seen = 0;
    const watching = (async () => {
      const options = { resourceVersion: String(await api.store.revision()) };
      for await (const _event of api.watch("v1/configmaps/ns", options)) {
        turns.add(counter.now());
        seen += 1;
        if (seen === values.length) break;
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all(values.map((value) => api.patch("v1/configmaps/ns/m", { data: { value } })));
    await watching;
    counter.end();
    assert.ok(turns.size < values.length, `${turns.size} turns`);
  });
});
