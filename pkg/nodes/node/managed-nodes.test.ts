import assert from "node:assert/strict";
import type { Node } from "#kinds";
import type { ManagedNodes } from "../settings.ts";
import { type NodesTest, startNodes } from "../testing.ts";

const fake = { "kwok.x-k8s.io/node": "fake" };

const switches: readonly (readonly [string, Partial<ManagedNodes>, object, object])[] = [
  ["KWOK's annotation, by default", {}, { annotations: fake }, { annotations: { other: "fake" } }],
  [
    "annotations",
    { annotationSelector: "a=b" },
    { annotations: { a: "b" } },
    { annotations: fake },
  ],
  [
    "labels",
    { labelSelector: "type in (x,y)" },
    { labels: { type: "x" } },
    { labels: { type: "z" } },
  ],
];

describe("Nodes of clients", () => {
  let run: NodesTest;
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });
  const start = async (managed: Partial<ManagedNodes> = {}) => {
    const annotationSelector = "kwok.x-k8s.io/node=fake";
    run = await startNodes({
      managed: { all: false, annotationSelector, labelSelector: "", ...managed },
    });
  };
  const create = async (name: string, metadata: object, more: object = {}) => {
    await run.test.post("v1/nodes/", { metadata: { name, ...metadata }, ...more });
    await run.pass(0);
  };
  const node = async (name: string): Promise<Node> =>
    (await run.test.get(`v1/nodes//${name}`)).object;
  const isReady = ({ status }: Node) =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

  for (const [name, managed, chosen, other] of switches) {
    it(`are adopted by ${name}`, async () => {
      await start(managed);
      await create("chosen", chosen);
      await create("other", other);
      assert.deepEqual(
        [isReady(await node("chosen")), isReady(await node("other"))],
        [true, false],
      );
    });
  }

  it("are adopted all, by that switch", async () => {
    await start({ all: true });
    await create("any", {});
    assert.ok(isReady(await node("any")));
  });

  it("keep what the client set, run pods, and may come back", async () => {
    await start();
    const labels = { "kubernetes.io/arch": "arm64", type: "kwok" };
    const taints = [{ key: "kwok", value: "fake", effect: "NoSchedule" }];
    const status = { capacity: { cpu: "32", pods: "9" }, allocatable: { cpu: "31", pods: "9" } };
    for (let round = 0; round < 2; round++) {
      await create("k", { annotations: fake, labels }, { spec: { taints }, status });
      const found = await node("k");
      assert.equal(found.metadata.labels?.["kubernetes.io/arch"], "arm64");
      assert.equal(found.metadata.labels?.["kubernetes.io/hostname"], "k");
      assert.deepEqual(
        [found.status?.capacity?.["cpu"], found.status?.allocatable?.["cpu"]],
        ["32", "31"],
      );
      assert.ok(found.spec?.taints?.some(({ key }) => key === "kwok"));
      assert.equal(found.status?.addresses?.length, 2);
      await run.test.get("coordination.k8s.io/v1/leases/kube-node-lease/k");
      const { status: running } = await run.createPod(`p${round}`, { spec: { nodeName: "k" } });
      assert.equal(running?.phase, "Running");
      await run.test.remove("v1/nodes//k");
      await run.pass(30_000);
      assert.ok(!(await run.test.names("v1/nodes/")).includes("k"));
    }
  });
});
