/** Entries of deleted API servers in StorageVersions. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runStorageVersionGarbageCollector } from "./storage-version-garbage-collector.ts";

const versions = "internal.apiserver.k8s.io/v1alpha1/storageversions/";
const leases = "coordination.k8s.io/v1/leases/kube-system";

describe("storageversion-garbage-collector-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest | undefined;
  beforeEach(async () => {
    test = await testRegistry();
    await test.post("v1/namespaces/", { metadata: { name: "kube-system" } });
    for (const name of ["a", "b"]) await makeLease(name);
  });
  afterEach(async () => run?.stop());

  const makeLease = (name: string) => {
    const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" };
    return test.post(leases, { metadata: { name, labels } });
  };

  /** A StorageVersion with an encoding version by API server. */
  async function makeVersion(name: string, by: Readonly<Record<string, string>>): Promise<void> {
    await test.post(versions, { metadata: { name }, spec: {} });
    const storageVersions = Object.entries(by).map(([apiServerID, encodingVersion]) => ({
      apiServerID,
      encodingVersion,
      decodableVersions: [encodingVersion],
      servedVersions: [encodingVersion],
    }));
    const encodings = new Set(Object.values(by));
    const common = encodings.size === 1 ? { commonEncodingVersion: [...encodings][0] } : {};
    await test.patch(`${versions}/${name}/status`, { status: { storageVersions, ...common } });
  }

  const start = async (): Promise<ControllerTest> =>
    (run = await startController(runStorageVersionGarbageCollector, { test }));

  const serversOf = async (name: string): Promise<string> => {
    const { status } = (await test.get(`${versions}/${name}`)).object;
    return status.storageVersions.map((each: any) => each.apiServerID).join();
  };

  it("removes servers without an identity Lease, and sets the common version of the others", async () => {
    await makeVersion("apps.deployments", { a: "apps/v1", gone: "apps/v1beta1", b: "apps/v1" });
    await makeVersion("batch.jobs", { gone: "batch/v1" });
    const controller = await start();
    await controller.until(async () => (await test.names(versions)).join() === "apps.deployments");
    await controller.until(async () => (await serversOf("apps.deployments")) === "a,b");
    const { status } = (await test.get(`${versions}/apps.deployments`)).object;
    assert.equal(status.commonEncodingVersion, "apps/v1");
    assert.deepEqual(
      [status.conditions[0].type, status.conditions[0].status, status.conditions[0].reason],
      ["AllEncodingVersionsEqual", "True", "CommonEncodingVersionSet"],
    );
  });

  it("removes a server when its Lease is deleted", async () => {
    await makeVersion("apps.deployments", { a: "apps/v1", b: "apps/v1beta1" });
    const controller = await start();
    await test.remove(`${leases}/b`);
    await controller.until(async () => (await serversOf("apps.deployments")) === "a");
  });

  it("keeps servers whose Lease a live read finds", async () => {
    const controller = await start();
    await makeLease("late");
    await makeVersion("apps.deployments", { late: "apps/v1" });
    await makeVersion("batch.jobs", { gone: "batch/v1" });
    await controller.until(async () => (await test.names(versions)).join() === "apps.deployments");
    assert.equal(await serversOf("apps.deployments"), "late");
  });
});
