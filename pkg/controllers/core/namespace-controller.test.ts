/** A namespace goes even if parts of the API cannot be asked, but not before they can. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { systemClock } from "#base";
import type { Client, Discovery } from "#client";
import { selectControllers, defaultControllerSettings } from "#controllers";
import { contextOn, type ControllerTest, startController } from "../testing.ts";
import { runNamespaceController } from "./namespace-controller.ts";
import { refusal, testRegistry } from "../../registry/testing.ts";

async function until(what: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await what()); tries++) {
    assert.ok(tries < 6000, "timed out");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("deletion of a namespace", () => {
  it("continues without groups whose discovery fails, reports them, and waits for them", async () => {
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

describe("namespace-controller", () => {
  const settings = { settleMs: 0, namespaceWorkers: 2 };
  let run: ControllerTest;
  beforeEach(async () => {
    run = await startController((context) => runNamespaceController(context, settings));
  });
  afterEach(() => run.stop());

  const isGone = async () => (await refusal(run.test.get("v1/namespaces//ns"))).startsWith("404");
  const conditionOf = async (type: string) => {
    const { conditions = [] } = (await run.test.get("v1/namespaces//ns")).object.status;
    return conditions.find((each: { type: string }) => each.type === type);
  };

  it("deletes the content, then the namespace", async () => {
    await run.test.post("v1/configmaps/ns", { metadata: { name: "a" } });
    await run.test.post("coordination.k8s.io/v1/leases/ns", { metadata: { name: "b" }, spec: {} });
    await run.test.remove("v1/namespaces//ns");
    await run.until(isGone);
    assert.deepEqual(await run.test.names("v1/configmaps/ns"), []);
  });

  it("deletes pods first, and other content only once they are gone", async () => {
    const finalizers = ["example.com/hold"];
    const spec = { containers: [{ name: "c", image: "i" }] };
    await run.test.post("v1/pods/ns", { metadata: { name: "p", finalizers }, spec });
    await run.test.post("v1/configmaps/ns", { metadata: { name: "a" } });
    await run.test.remove("v1/namespaces//ns");
    await run.until(async () => (await conditionOf("NamespaceContentRemaining")) !== undefined);
    // The content is counted once the pods are gone.
    const expected = {
      NamespaceContentRemaining: "ContentRemoved",
      NamespaceFinalizersRemaining: "ContentHasNoFinalizers",
    };
    for (const [type, reason] of Object.entries(expected)) {
      const condition = await conditionOf(type);
      assert.deepEqual([condition.status, condition.reason], ["False", reason]);
    }
    assert.deepEqual(await run.test.names("v1/configmaps/ns"), ["a"]);
    await run.test.patch("v1/pods/ns/p", { metadata: { finalizers: null } });
    await run.until(isGone);
  });

  it("counts the remaining content and its finalizers once no pod remains", async () => {
    const finalizers = ["example.com/hold"];
    await run.test.post("v1/configmaps/ns", { metadata: { name: "a", finalizers } });
    await run.test.remove("v1/namespaces//ns");
    const remaining = await run.until(async () => {
      const condition = await conditionOf("NamespaceContentRemaining");
      return condition?.status === "True" ? condition : undefined;
    });
    const message = "Some resources are remaining: configmaps. has 1 resource instances";
    assert.deepEqual([remaining.reason, remaining.message], ["SomeResourcesRemain", message]);
    assert.equal((await conditionOf("NamespaceFinalizersRemaining")).status, "True");
    await run.test.patch("v1/configmaps/ns/a", { metadata: { finalizers: null } });
    await run.until(isGone);
  });

  it("retries when content cannot be deleted, and reports it in the status", async () => {
    await run.test.post("v1/configmaps/ns", { metadata: { name: "a" } });
    run.failNext("deleteCollection", "configmaps", 4);
    await run.test.remove("v1/namespaces//ns");
    const failed = await run.until(async () => {
      const condition = await conditionOf("NamespaceDeletionContentFailure");
      return condition?.status === "True" ? condition : undefined;
    });
    assert.match(failed.message, /1 remaining: configmaps\.: .*injected/);
    await run.until(isGone);
    assert.ok(run.calls("deleteCollection", "configmaps") >= 5);
  });
});
