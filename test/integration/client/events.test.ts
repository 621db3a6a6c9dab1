import assert from "node:assert/strict";
import { seededRandom } from "#base";
import {
  type Client,
  ConnectionError,
  CoreEventRecorder,
  EventRecorder,
  type Handle,
  RegistryClient,
} from "#client";
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
  it("creates an Event, and counts repetitions in its series", async () => {
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
    // Repetitions only increase the count.
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
    // The last one is later than the series of the first lasts.
    assert.deepEqual(shown, ["a 1 1", "a 1 3", "b 1 1", "xxx 1024 1"]);
    const [first] = events;
    assert.equal(first.involvedObject.uid, "u");
    assert.equal(first.reportingComponent, "example.com/tester");
  });

  /** A client whose first `faults` creates are not sent, and whose next ones lose their response. */
  function behindBrokenConnection(client: RegistryClient, faults: number): Client {
    let attempts = 0;
    const broken = new ConnectionError("the connection was closed before the response", false);
    const create: Client["create"] = async (...call) => {
      attempts += 1;
      if (attempts <= faults) throw broken;
      const made = await client.create(...call);
      if (attempts <= 2 * faults) throw broken;
      return made;
    };
    return new Proxy(client, {
      get: (target, name) => {
        if (name === "create") return create;
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  for (const [faults, events, reports] of [
    [1, 1, 0],
    [12, 0, 1],
  ] as const) {
    it(`stores ${events} and reports ${reports} Events after ${faults} failed creates`, async () => {
      const test = await testRegistry({ namespaces: ["default"] });
      const clock = new SlowClock();
      const life = new AbortController();
      const { user } = test.request("v1/events");
      const direct = new RegistryClient({ ...test, user, userAgent: "t", signal: life.signal });
      const troubles: string[] = [];
      const recorder = new CoreEventRecorder(
        {
          client: behindBrokenConnection(direct, faults),
          clock,
          random: seededRandom(1),
          signal: life.signal,
          report: (_what, error) => troubles.push(String(error)),
        },
        "tester",
      );
      const running = recorder.run();
      const node = { metadata: { name: "n", uid: "u", resourceVersion: "1" } };
      recorder.record(nodes, node, { type: "Normal", reason: "Seen", message: "a" });
      await clock.pass(300_000);
      life.abort();
      await running;
      const list = await test.list("v1/events/default");
      assert.equal((await collected(list.items)).length, events);
      assert.equal(troubles.length, reports);
    });
  }
});
