/** The annotation with the TTL of kubelets' caches. */
import assert from "node:assert/strict";
import { testRegistry } from "../../registry/testing.ts";
import { startController } from "../testing.ts";
import { makeNode, nodeOf, passInSteps } from "./testing.ts";
import { runTtlController } from "./ttl-controller.ts";

describe("ttl-controller", () => {
  it("annotates nodes with a TTL that grows with the cluster", async () => {
    const test = await testRegistry();
    await makeNode(test, "a");
    const run = await startController(runTtlController, { test, clock: test.clock });
    const ttl = async () => {
      await passInSteps(test, 1_000);
      return (await nodeOf(test, "a")).metadata.annotations?.["node.alpha.kubernetes.io/ttl"];
    };
    try {
      assert.equal(await ttl(), "0");
      for (let count = 0; count < 100; count++) await makeNode(test, `n${count}`);
      await passInSteps(test, 1_000);
      // A change of the node, as by its kubelet.
      await test.patch("v1/nodes//a", { metadata: { labels: { changed: "1" } } });
      assert.equal(await ttl(), "15");
      for (let count = 0; count < 11; count++) await test.remove(`v1/nodes//n${count}`);
      await passInSteps(test, 1_000);
      await test.patch("v1/nodes//a", { metadata: { labels: { changed: "2" } } });
      assert.equal(await ttl(), "15");
      await test.remove("v1/nodes//n11");
      await passInSteps(test, 1_000);
      await test.patch("v1/nodes//a", { metadata: { labels: { changed: "3" } } });
      assert.equal(await ttl(), "0");
    } finally {
      await run.stop();
    }
  });
});
