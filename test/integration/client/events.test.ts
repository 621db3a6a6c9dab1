import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { EventRecorder, type Handle, RegistryClient } from "#client";
import { SlowClock } from "../../../pkg/client/testing.ts";
import { collected, testRegistry } from "../../../pkg/registry/testing.ts";

const nodes: Handle = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

describe("event recorder", () => {
  it("tells of a happening by an event, and of more of the same by its series", async () => {
    const test = await testRegistry({ namespaces: ["default"] });
    const clock = new SlowClock();
    const life = new AbortController();
    const { user } = test.request("v1/events");
    const client = new RegistryClient({ ...test, user, userAgent: "t", signal: life.signal });
    const troubles: string[] = [];
    const recorder = new EventRecorder({
      client,
      clock,
      random: seededRandom(1),
      controller: "example.com/tester",
      instance: "tester-1",
      signal: life.signal,
      report: (what, error) => troubles.push(`${what}: ${String(error)}`),
    });
    const running = recorder.run();
    const node = { metadata: { name: "n", uid: "u", resourceVersion: "1" } };
    const happening = (note: string, action = "Looking") =>
      recorder.record(nodes, node, { type: "Normal", reason: "Seen", action, note });
    // Of a repetition only the number counts.
    for (const note of ["a", "a", "b"]) {
      happening(note);
      await clock.pass(1_000);
    }
    happening("b", "Listening");
    happening("x".repeat(3_000), "Reading");
    await clock.pass(600_000);
    happening("a");
    await clock.pass(1_000);
    life.abort();
    await running;
    assert.deepEqual(troubles, []);
    const list = await test.list("v1/events/default");
    const events = (await collected(list.items)).map(({ object }) => object);
    const shown = events
      .map(
        ({ message, series }) => `${message.slice(0, 3)} ${message.length} ${series?.count ?? 1}`,
      )
      .sort();
    // The last one comes too late for the series of the first.
    assert.deepEqual(shown, ["a 1 1", "a 1 3", "b 1 1", "xxx 1024 1"]);
    const [first] = events;
    assert.equal(first.involvedObject.uid, "u");
    assert.equal(first.reportingComponent, "example.com/tester");
  });
});
