/** Addresses of pods, from ranges that a controller gives to nodes and that are exhausted. */
import assert from "node:assert/strict";
import { type NodesTest, startNodes } from "./testing.ts";

describe("pod IPs", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes({ allocatesPodCidrs: true });
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const setPodCidr = async (podCIDR: string) => {
    await run.test.patch("v1/nodes//hollow-0", { spec: { podCIDR, podCIDRs: [podCIDR] } });
    await run.pass(0);
  };
  const stateOf = async (name: string) => {
    const { status } = await run.pod(name);
    const [container] = status?.containerStatuses ?? [];
    return [status?.phase, container?.state?.waiting?.reason, status?.podIP];
  };
  const warnings = async () => {
    const names = await run.test.names("v1/events/ns");
    const all = await Promise.all(names.map((name) => run.test.get(`v1/events/ns/${name}`)));
    return all
      .filter(({ object }) => object.type === "Warning")
      .map(({ object }) => `${object.reason} ${object.message}`);
  };

  it("come from the podCIDR of the node, which pods wait for", async () => {
    await run.createPod("host", { spec: { hostNetwork: true } });
    await run.createPod("waits", {});
    assert.deepEqual(await stateOf("waits"), ["Pending", "ContainerCreating", undefined]);
    assert.deepEqual(await stateOf("host"), ["Running", undefined, "127.0.0.1"]);
    assert.deepEqual(await warnings(), [
      "NetworkNotReady network is not ready: container runtime network not ready: " +
        "NetworkReady=false reason:NetworkPluginNotReady message:the node has no podCIDR",
    ]);
    await setPodCidr("10.7.0.0/24");
    assert.deepEqual(await stateOf("waits"), ["Running", undefined, "10.7.0.2"]);
  });

  it("are reused, and waited for, when the range is exhausted", async () => {
    await setPodCidr("10.7.0.0/30");
    await run.createPod("first", {});
    await run.createPod("second", {});
    assert.deepEqual(await stateOf("first"), ["Running", undefined, "10.7.0.2"]);
    assert.deepEqual(await stateOf("second"), ["Pending", "ContainerCreating", undefined]);
    assert.deepEqual(await warnings(), [
      "FailedCreatePodSandBox Failed to create pod sandbox: no addresses are left in 10.7.0.0/30",
    ]);
    await run.test.remove("v1/pods/ns/first");
    await run.pass(11_000);
    assert.deepEqual(await stateOf("second"), ["Running", undefined, "10.7.0.2"]);
  });
});
