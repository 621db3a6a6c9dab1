/** A namespace goes even if parts of the API cannot be asked, but not before they can. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { systemClock } from "#base";
import type { Client, Discovery } from "#client";
import { selectControllers, defaultControllerSettings } from "#controllers";
import { contextOn } from "../testing.ts";
import { refusal, testRegistry } from "../../registry/testing.ts";

async function until(what: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await what()); tries++) {
    assert.ok(tries < 1_000, "it never came to that");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("deletion of a namespace", () => {
  it("goes on without groups that cannot be asked, says so, and waits for them", async () => {
    const test = await testRegistry();
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    const { signal } = life;
    const context = contextOn({ ...test, clock: systemClock, signal, report: () => undefined });
    let failures = new Map([["metrics.k8s.io/v1beta1", "no route to host"]]);
    const discover = async (): Promise<Discovery> => ({
      ...(await context.client.discover()),
      failures,
    });
    const client: Client = Object.assign(Object.create(context.client) as Client, { discover });
    const [controller] = selectControllers(["namespace"]);
    const settings = { ...defaultControllerSettings, settleMs: 0, rootCa: "" };
    const running = controller!.run({ ...context, client }, settings);
    await test.post("v1/configmaps/ns", { metadata: { name: "a" } });
    await test.remove("v1/namespaces//ns");
    const condition = async () => {
      const { object } = await test.get("v1/namespaces//ns");
      const all: { type: string; status: string; message: string }[] = object.status.conditions;
      return all?.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure");
    };
    await until(async () => (await condition())?.status === "True");
    assert.equal(
      (await condition())?.message,
      "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of " +
        "server APIs: metrics.k8s.io/v1beta1: no route to host",
    );
    assert.match(await refusal(test.get("v1/configmaps/ns/a")), /^404/);
    failures = new Map();
    await until(async () => (await refusal(test.get("v1/namespaces//ns"))).startsWith("404"));
    life.abort();
    await running;
    await context.informers.ended();
  });
});
