/** Claims of pods from scheduling to binding, through a scheduler. */
import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../../../controllers/testing.ts";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "../../index.ts";

const pods = "v1/pods/ns";
const claims = "resource.k8s.io/v1/resourceclaims/ns";
const driver = "gpu.example.com";

async function makeNode(test: TestRegistry, name: string, devices: readonly string[]) {
  const allocatable = { cpu: "8", memory: "8Gi", pods: "110" };
  await test.post("v1/nodes", {
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: { allocatable, capacity: allocatable },
  });
  await test.post("resource.k8s.io/v1/resourceslices", {
    metadata: { name: `${name}-slice` },
    spec: {
      driver,
      nodeName: name,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((device) => ({
        name: device,
        attributes: { model: { string: device.split("-")[0] } },
      })),
    },
  });
}

function makeClass(test: TestRegistry, name = "gpu") {
  const expression = `device.driver == "${driver}"`;
  return test.post("resource.k8s.io/v1/deviceclasses", {
    metadata: { name },
    spec: { selectors: [{ cel: { expression } }] },
  });
}

function makeClaim(test: TestRegistry, name: string, more: any = {}) {
  const requests = [{ name: "r", exactly: { deviceClassName: "gpu", ...more } }];
  return test.post(claims, { metadata: { name }, spec: { devices: { requests } } });
}

function makePod(test: TestRegistry, name: string, claim: string, more: any = {}) {
  return test.post(pods, {
    metadata: { name },
    spec: {
      schedulerName: "default-scheduler",
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "own", resourceClaimName: claim }],
      ...more,
    },
  });
}

describe("DynamicResources", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns"] });
    run = await startController((context) => runScheduler(context, defaultSchedulerSettings), {
      test,
    });
  });
  afterEach(() => run.stop());

  const podOf = async (name: string): Promise<any> => (await test.get(`${pods}/${name}`)).object;
  const claimOf = async (name: string): Promise<any> =>
    (await test.get(`${claims}/${name}`)).object;
  const nodeOf = (name: string) =>
    run.until(async () => (await podOf(name)).spec.nodeName as string | undefined);
  const refusal = (name: string) =>
    run.until(async () => {
      const { conditions = [] } = (await podOf(name)).status;
      return conditions.find(({ type }: any) => type === "PodScheduled")?.message;
    });

  it("allocates a device and reserves the claim before it binds the pod", async () => {
    await makeClass(test);
    await makeNode(test, "a", []);
    await makeNode(test, "b", ["d0", "d1"]);
    await makeClaim(test, "c");
    await makePod(test, "p", "c");
    assert.equal(await nodeOf("p"), "b");
    const { metadata, status } = await claimOf("c");
    const { uid } = (await podOf("p")).metadata;
    assert.deepEqual(metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);
    assert.deepEqual(status, {
      allocation: {
        devices: { results: [{ request: "r", driver, pool: "b", device: "d0" }] },
        nodeSelector: {
          nodeSelectorTerms: [
            { matchFields: [{ key: "metadata.name", operator: "In", values: ["b"] }] },
          ],
        },
      },
      reservedFor: [{ resource: "pods", name: "p", uid }],
    });
    // Another pod shares the claim on the same node.
    await makePod(test, "q", "c");
    assert.equal(await nodeOf("q"), "b");
    assert.equal((await claimOf("c")).status.reservedFor.length, 2);
  });

  it("reports why a pod waits, and binds it when a device is released", async () => {
    await makeClass(test);
    await makeNode(test, "a", ["d0"]);
    for (const name of ["c", "d"]) await makeClaim(test, name);
    await makePod(test, "p", "c");
    await nodeOf("p");
    await makePod(test, "q", "d");
    assert.equal(
      await refusal("q"),
      "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: " +
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
    await test.patch(`${claims}/c/status`, { status: { allocation: null, reservedFor: null } });
    assert.equal(await nodeOf("q"), "a");
  });

  it("waits for classes and slices", async () => {
    await makeClaim(test, "c");
    await makeNode(test, "a", []);
    await makePod(test, "p", "c");
    assert.equal(
      await refusal("p"),
      "0/1 nodes are available: request r: device class gpu does not exist. no new claims to " +
        "deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for " +
        "scheduling.",
    );
    await makeClass(test);
    await makeNode(test, "b", ["d0"]);
    assert.equal(await nodeOf("p"), "b");
  });

  it("gates a pod until its claim exists", async () => {
    await makeClass(test);
    await makeNode(test, "a", ["d0"]);
    await makePod(test, "p", "late");
    await makeClaim(test, "other");
    await makePod(test, "q", "other");
    await nodeOf("q");
    assert.equal((await podOf("p")).status.conditions, undefined);
    await makeNode(test, "b", ["d1"]);
    await makeClaim(test, "late");
    assert.equal(await nodeOf("p"), "b");
  });

  it("deallocates an unused claim of a node that the pod cannot run on", async () => {
    await makeClass(test);
    await makeNode(test, "a", ["d0"]);
    await makeNode(test, "b", ["d0"]);
    await makeClaim(test, "c");
    const fields = [{ key: "metadata.name", operator: "In", values: ["a"] }];
    const nodeSelector = { nodeSelectorTerms: [{ matchFields: fields }] };
    const results = [{ request: "r", driver, pool: "a", device: "d0" }];
    await test.patch(`${claims}/c/status`, {
      status: { allocation: { devices: { results }, nodeSelector } },
    });
    await makePod(test, "p", "c", { nodeSelector: { "kubernetes.io/hostname": "b" } });
    assert.equal(await nodeOf("p"), "b");
    assert.equal((await claimOf("c")).status.allocation.devices.results[0].pool, "b");
  });

  it("never allocates a device to two claims, even across a restart", async () => {
    await makeClass(test);
    await makeNode(test, "a", ["d0", "d1", "d2"]);
    await makeNode(test, "b", ["d0", "d1", "d2"]);
    for (let at = 0; at < 8; at++) {
      await makeClaim(test, `c${at}`);
      await makePod(test, `p${at}`, `c${at}`);
      if (at !== 3) continue;
      await run.stop();
      run = await startController((context) => runScheduler(context, defaultSchedulerSettings), {
        test,
      });
    }
    const allocated = async () => {
      const all = await Promise.all(Array.from({ length: 8 }, (_, at) => claimOf(`c${at}`)));
      return all.flatMap(({ status }) => status?.allocation?.devices.results ?? []);
    };
    await run.until(async () => (await allocated()).length === 6);
    const devices = (await allocated()).map(({ pool, device }) => `${pool}/${device}`);
    assert.equal(new Set(devices).size, 6);
  });
});
