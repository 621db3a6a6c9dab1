/** Devices of simulated nodes: slices, prepared claims and health. */
import assert from "node:assert/strict";
import { testRegistry } from "../../registry/testing.ts";
import { type NodesTest, startNodes } from "../testing.ts";

const driver = "devices.simulated.keelson.dev";
const claims = "resource.k8s.io/v1/resourceclaims/ns";
const slices = "resource.k8s.io/v1/resourceslices";
const claimed = { resourceClaims: [{ name: "own", resourceClaimName: "c" }] };

/** A registry with the fields of alpha and beta features. */
const namespaces = ["ns", "default", "kube-node-lease"];
const gated = () => testRegistry({ namespaces, gates: () => true });

describe("simulated devices", () => {
  let nodes: NodesTest;
  afterEach(() => nodes.stop());

  async function annotate(values: Readonly<Record<string, string | null>>): Promise<void> {
    const annotations = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`simulated.keelson.dev/${name}`, value]),
    );
    await nodes.test.patch("v1/nodes//hollow-0", { metadata: { annotations } });
    await nodes.pass(1_000);
  }

  const sliceNames = () => nodes.test.names(slices);
  const slice = async (at = 0): Promise<any> =>
    (await nodes.test.get(`${slices}//hollow-0-${driver}-${at}`)).object;

  async function makeClaim(): Promise<void> {
    const requests = [{ name: "r", exactly: { deviceClassName: "gpu" } }];
    await nodes.test.post(claims, { metadata: { name: "c" }, spec: { devices: { requests } } });
  }

  async function allocate(uid: string): Promise<void> {
    const results = [{ request: "r", driver, pool: "hollow-0", device: "gpu-0" }];
    const reservedFor = [{ resource: "pods", name: "p", uid }];
    const status = { allocation: { devices: { results } }, reservedFor };
    await nodes.test.patch(`${claims}/c/status`, { status });
    await nodes.pass(1_000);
  }

  it("publishes the devices of a node in slices of 64, and deletes them", async () => {
    nodes = await startNodes();
    await nodes.pass(1_000);
    assert.deepEqual(await sliceNames(), []);
    await annotate({ devices: "gpu=2,nic=1" });
    const { spec, metadata } = await slice();
    assert.equal(spec.nodeName, "hollow-0");
    assert.deepEqual(spec.pool, { name: "hollow-0", generation: 1, resourceSliceCount: 1 });
    assert.deepEqual(
      spec.devices.map(({ name, attributes }: any) => [name, attributes.type.string]),
      [
        ["gpu-0", "gpu"],
        ["gpu-1", "gpu"],
        ["nic-0", "nic"],
      ],
    );
    assert.equal(metadata.ownerReferences[0].kind, "Node");
    await annotate({ devices: "gpu=65" });
    assert.deepEqual((await slice(1)).spec.pool, {
      name: "hollow-0",
      generation: 2,
      resourceSliceCount: 2,
    });
    assert.equal((await slice(0)).spec.devices.length, 64);
    await annotate({ devices: '[{"name": "own", "capacity": {"memory": {"value": "4Gi"}}}]' });
    assert.equal((await slice(0)).spec.devices[0].capacity.memory.value, "4Gi");
    assert.equal((await sliceNames()).length, 1);
    await annotate({ devices: "nonsense" });
    assert.match(nodes.reports.join(), /Ignoring annotation .*"nonsense" is not like gpu=2/);
    await annotate({ devices: null });
    assert.deepEqual(await sliceNames(), []);
  });

  it("deletes the slices of a deleted Node", async () => {
    nodes = await startNodes();
    await annotate({ devices: "gpu=1" });
    assert.equal((await sliceNames()).length, 1);
    await nodes.test.remove("v1/nodes//hollow-0");
    await nodes.pass(1_000);
    assert.deepEqual(await sliceNames(), []);
  });

  it("starts containers once the claims of a pod are reserved for it", async () => {
    nodes = await startNodes({}, await gated());
    await annotate({ devices: "gpu=1" });
    await makeClaim();
    const { metadata } = await nodes.createPod("p", { spec: claimed });
    await nodes.pass(2_000);
    const [waiting] = (await nodes.pod("p")).status!.containerStatuses!;
    assert.equal(waiting!.state!.waiting!.reason, "ContainerCreating");
    await allocate(metadata.uid);
    assert.equal((await nodes.pod("p")).status!.phase, "Running");
    const { devices } = (await nodes.test.get(`${claims}/c`)).object.status;
    assert.deepEqual(
      devices.map(({ device, conditions }: any) => [device, conditions[0].type]),
      [["gpu-0", "Ready"]],
    );
    // Running containers continue without the claim.
    await nodes.test.patch(`${claims}/c/status`, { status: { reservedFor: null } });
    await nodes.pass(2_000);
    assert.equal((await nodes.pod("p")).status!.phase, "Running");
  });

  it("reports the health of devices under its feature gate", async () => {
    nodes = await startNodes({ reportsDeviceHealth: true }, await gated());
    await annotate({ devices: "gpu=1" });
    await makeClaim();
    const container = { name: "app", image: "nginx", resources: { claims: [{ name: "own" }] } };
    const { metadata } = await nodes.createPod("p", {
      spec: { ...claimed, containers: [container] },
    });
    await allocate(metadata.uid);
    const health = async () =>
      (await nodes.pod("p")).status!.containerStatuses![0]!.allocatedResourcesStatus;
    const of = (value: string) => [
      { name: "claim:own", resources: [{ resourceID: `${driver}/hollow-0/gpu-0`, health: value }] },
    ];
    assert.deepEqual(await health(), of("Healthy"));
    await annotate({ "device-health": "gpu-0=Unhealthy" });
    assert.deepEqual(await health(), of("Unhealthy"));
  });
});
