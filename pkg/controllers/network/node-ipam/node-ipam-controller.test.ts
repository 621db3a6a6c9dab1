import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { pass } from "../../batch/job/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { listAt } from "../../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { runNodeIpamController } from "./node-ipam-controller.ts";
import { parseNodeIpam } from "./node-ipam-settings.ts";

const flags = { serviceRange: "", maskSize: 0, maskSizeIpv4: 0, maskSizeIpv6: 0 };
const runWith = (clusterCidr: string) => (context: ControllerContext) =>
  runNodeIpamController(context, { nodeIpam: parseNodeIpam({ clusterCidr, ...flags }) });

const makeNode = (test: TestRegistry, name: string, podCIDRs?: readonly string[]) => {
  const cidrs = podCIDRs === undefined ? {} : { podCIDR: podCIDRs[0], podCIDRs };
  return test.post("v1/nodes", { metadata: { name }, spec: cidrs });
};

const networksAt = async (test: TestRegistry): Promise<string[]> =>
  (await listAt(test, "v1/nodes")).map(({ metadata, spec = {} }) =>
    [metadata.name, ...(spec.podCIDRs ?? [])].join(" "),
  );

describe("node-ipam-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;

  async function start(clusterCidr: string): Promise<void> {
    run = await startController(runWith(clusterCidr), { test, clock: test.clock });
  }

  async function comesTo(...wanted: readonly string[]): Promise<void> {
    let found: string[] = [];
    for (let steps = 0; steps < 60; steps++) {
      found = await networksAt(test);
      if (found.join() === wanted.join()) return;
      await pass(test, 200);
    }
    assert.deepEqual(found, wanted, run.reports.join());
  }

  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns", "default"] });
  });
  afterEach(() => run.stop());

  it("allocates a unique pod CIDR to each node", async () => {
    await makeNode(test, "a", ["10.244.0.0/24"]);
    await makeNode(test, "b");
    await start("10.244.0.0/22");
    await comesTo("a 10.244.0.0/24", "b 10.244.1.0/24");
    await makeNode(test, "c");
    await makeNode(test, "d");
    await comesTo("a 10.244.0.0/24", "b 10.244.1.0/24", "c 10.244.2.0/24", "d 10.244.3.0/24");
    await makeNode(test, "e");
    await pass(test, 5_000);
    const [event] = await listAt(test, "v1/events/default");
    assert.equal(event.message, "Node e status is now: CIDRNotAvailable");
    await test.remove("v1/nodes//b");
    await run.until(async () => {
      await pass(test, 1_000);
      return (await networksAt(test)).includes("e 10.244.1.0/24");
    });
  });

  it("allocates two pod CIDRs in a dual-stack cluster", async () => {
    await start("10.244.0.0/16,fd00::/56");
    await makeNode(test, "a");
    await makeNode(test, "b");
    await comesTo("a 10.244.0.0/24 fd00::/64", "b 10.244.1.0/24 fd00:0:0:1::/64");
  });

  it("releases a CIDR if the write fails, and allocates no second one to a stale node", async () => {
    await start("10.244.0.0/23");
    await pass(test, 100);
    run.failNext("patch", "nodes", 1);
    await makeNode(test, "a");
    await comesTo("a 10.244.1.0/24");
    run.holdInformer("nodes");
    await test.patch("v1/nodes//a", { metadata: { labels: { a: "b" } } });
    await pass(test, 5_000);
    run.releaseInformer("nodes");
    await makeNode(test, "b");
    await comesTo("a 10.244.1.0/24", "b 10.244.0.0/24");
  });

  it("reaches the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runWith("10.244.0.0/22")],
      play: async ({ test: at, until }) => {
        for (const name of ["a", "b", "c"]) await makeNode(at, name);
        await until(async () => (await networksAt(at)).every((each) => each.includes(" ")));
      },
      endState: async (at) => {
        const networks = (await networksAt(at)).map((each) => each.split(" ")[1]);
        return new Set(networks).size;
      },
    });
    assert.equal(crashes, 3);
  });
});
