/** Evictions of pods whose devices are tainted. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { eventsOf, passInSteps } from "../node/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runDeviceTaintEvictionController } from "./device-taint-eviction-controller.ts";

const driver = "d.example.com";
const pods = "v1/pods/ns";
const claims = "resource.k8s.io/v1/resourceclaims/ns";
const rules = "resource.k8s.io/v1alpha3/devicetaintrules";

async function publish(test: TestRegistry, devices: readonly object[]): Promise<void> {
  await test.post("resource.k8s.io/v1/resourceslices", {
    metadata: { name: "s" },
    spec: {
      driver,
      nodeName: "n",
      pool: { name: "p", generation: 1, resourceSliceCount: 1 },
      devices,
    },
  });
}

/** A pod on a node that uses the device `d0` through a claim. */
async function makePod(test: TestRegistry, name: string, tolerations: readonly object[] = []) {
  const resourceClaims = [{ name: "own", resourceClaimName: name }];
  const containers = [{ name: "c", image: "i" }];
  const metadata = { name, finalizers: ["example.com/hold"] };
  const spec = { containers, resourceClaims, nodeName: "n" };
  const pod: any = (await test.post(pods, { metadata, spec })).item.object;
  const requests = [{ name: "r", exactly: { deviceClassName: "gpu" } }];
  await test.post(claims, { metadata: { name }, spec: { devices: { requests } } });
  const results = [{ request: "r", driver, pool: "p", device: "d0", tolerations }];
  const reservedFor = [{ resource: "pods", name, uid: pod.metadata.uid }];
  const status = { allocation: { devices: { results } }, reservedFor };
  await test.patch(`${claims}/${name}/status`, { status });
}

const rule = (effect: string, deviceSelector: object = { driver, pool: "p", device: "d0" }) => ({
  metadata: { name: "broken" },
  spec: { deviceSelector, taint: { key: "broken", value: "yes", effect } },
});

describe("device-taint-eviction-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry({ gates: () => true });
    run = await startController(
      (context) => runDeviceTaintEvictionController(context, { gates: () => true }),
      { test, clock: test.clock },
    );
  });
  afterEach(() => run.stop());

  const podOf = async (name: string): Promise<any> => (await test.get(`${pods}/${name}`)).object;
  const isEvicted = async (name: string) =>
    (await podOf(name)).metadata.deletionTimestamp !== undefined;

  it("evicts pods whose device a DeviceTaintRule taints, with condition and Event", async () => {
    await publish(test, [{ name: "d0" }, { name: "d1" }]);
    await makePod(test, "p");
    await test.post(rules, rule("NoSchedule"));
    await passInSteps(test, 3_000);
    assert.equal(await isEvicted("p"), false);
    await test.remove(`${rules}//broken`);
    await test.post(rules, rule("NoExecute"));
    await run.until(() => isEvicted("p"));
    const { conditions } = (await podOf("p")).status;
    const { status, reason, message } = conditions.find(
      ({ type }: any) => type === "DisruptionTarget",
    );
    assert.deepEqual(
      [status, reason, message],
      [
        "True",
        "DeletionByDeviceTaintManager",
        "Device Taint manager: deleting due to NoExecute taint",
      ],
    );
    const events = await run.until(async () => {
      const found = await eventsOf(test, "ns", "p");
      return found.length > 0 ? found : undefined;
    });
    assert.deepEqual(events, ["Normal DeviceTaintManagerEviction: Marking for deletion"]);
  });

  it("waits while the claim tolerates the taint, and cancels when the taint is removed", async () => {
    await publish(test, [{ name: "d0" }]);
    const toleration = { key: "broken", operator: "Exists", effect: "NoExecute" };
    await makePod(test, "short", [{ ...toleration, tolerationSeconds: 10 }]);
    await makePod(test, "long", [{ ...toleration, tolerationSeconds: 25 }]);
    await makePod(test, "forever", [toleration]);
    await test.post(rules, rule("NoExecute"));
    await passInSteps(test, 5_000);
    assert.equal(await isEvicted("short"), false);
    await passInSteps(test, 6_000);
    await run.until(() => isEvicted("short"));
    await test.remove(`${rules}//broken`);
    await passInSteps(test, 30_000);
    assert.equal(await isEvicted("long"), false);
    assert.equal(await isEvicted("forever"), false);
  });

  it("follows taints of drivers, and DeviceTaintRules that select by CEL", async () => {
    await publish(test, [{ name: "d0", attributes: { model: { string: "a" } } }]);
    await makePod(test, "p");
    const by = (model: string) => ({
      selectors: [{ cel: { expression: `device.attributes["${driver}"].model == "${model}"` } }],
    });
    await test.post(rules, rule("NoExecute", by("b")));
    await passInSteps(test, 3_000);
    assert.equal(await isEvicted("p"), false);
    await test.patch("resource.k8s.io/v1/resourceslices//s", {
      spec: { devices: [{ name: "d0", taints: [{ key: "own", effect: "NoExecute" }] }] },
    });
    await run.until(() => isEvicted("p"));
  });
});
