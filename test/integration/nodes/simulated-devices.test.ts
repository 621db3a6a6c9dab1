/** Dynamic resource allocation with scheduler, controllers and a simulated node. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { Cluster } from "./cluster.ts";

const core = "/api/v1";
const resource = "/apis/resource.k8s.io/v1";
const pods = `${core}/namespaces/default/pods`;
const claims = `${resource}/namespaces/default/resourceclaims`;
const driver = "devices.simulated.keelson.dev";
const expression = `device.attributes["${driver}"].type == "gpu"`;

function pod(name: string): object {
  const containers = [{ name: "app", image: "nginx", resources: { claims: [{ name: "gpu" }] } }];
  const resourceClaims = [{ name: "gpu", resourceClaimTemplateName: "gpu" }];
  const spec = { containers, resourceClaims, terminationGracePeriodSeconds: 0 };
  return { metadata: { name }, spec };
}

const isRunning = ({ status }: any) => status?.phase === "Running";
const refusal = ({ status }: any) =>
  status?.conditions?.find(({ type }: any) => type === "PodScheduled")?.message;

describe("simulated devices", () => {
  let server: RunningServer;
  let cluster: Cluster;

  before(async () => {
    server = await startServer({ nodes: { count: 1 }, scheduler: true });
    cluster = new Cluster(server);
    await cluster.until(`${core}/nodes/hollow-0`, ({ metadata }) => metadata?.name);
    await cluster.patch(`${core}/nodes/hollow-0`, {
      metadata: { annotations: { "simulated.keelson.dev/devices": "gpu=1,nic=1" } },
    });
    await cluster.until(`${resource}/resourceslices`, ({ items }) => items.length === 1);
    await cluster.create(`${resource}/deviceclasses`, {
      metadata: { name: "gpu" },
      spec: { selectors: [{ cel: { expression } }] },
    });
    const requests = [{ name: "one", exactly: { deviceClassName: "gpu" } }];
    await cluster.create(`${resource}/namespaces/default/resourceclaimtemplates`, {
      metadata: { name: "gpu" },
      spec: { spec: { devices: { requests } } },
    });
  });
  after(() => server.close());

  it("runs a pod with a device, keeps another pending, and releases the device with the pod", async () => {
    await cluster.create(pods, pod("first"));
    await cluster.until(`${pods}/first`, isRunning);
    const { items } = await cluster.get(claims);
    assert.deepEqual(items[0].status.allocation.devices.results, [
      { request: "one", driver, pool: "hollow-0", device: "gpu-0" },
    ]);
    assert.equal(items[0].status.devices[0].conditions[0].type, "Ready");
    await cluster.create(pods, pod("second"));
    const waiting = await cluster.until(`${pods}/second`, refusal);
    assert.equal(
      refusal(waiting),
      "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: " +
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
    await cluster.delete(`${pods}/first`);
    await cluster.until(`${pods}/second`, isRunning);
    await cluster.until(claims, ({ items: left }) => left.length === 1);
  });
});
