/** ResourceClaims of pods: made from templates, reserved, freed. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { eventsOf, passInSteps } from "../node/testing.ts";
import { listAt } from "../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../testing.ts";
import { runResourceClaimController } from "./resource-claim-controller.ts";

const options = { resourceClaimWorkers: 5 };
const pods = "v1/pods/ns";
const claims = "resource.k8s.io/v1/resourceclaims/ns";
const protection = "resource.kubernetes.io/delete-protection";
const spec = {
  devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.example.com" } }] },
};
const allocation = {
  devices: { results: [{ request: "gpu", driver: "d.example.com", pool: "p", device: "d" }] },
};

const makeTemplate = (test: TestRegistry, name: string) =>
  test.post("resource.k8s.io/v1/resourceclaimtemplates/ns", {
    metadata: { name },
    spec: { metadata: { labels: { from: name }, annotations: { note: "n" } }, spec },
  });

async function makePod(
  test: TestRegistry,
  name: string,
  resourceClaims: readonly object[],
  nodeName = "",
): Promise<any> {
  const containers = [{ name: "c", image: "i" }];
  const metadata = { name, finalizers: ["example.com/hold"] };
  const pod = { metadata, spec: { containers, resourceClaims, nodeName } };
  return (await test.post(pods, pod)).item.object;
}

const podOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${pods}/${name}`)).object;
const claimOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${claims}/${name}`)).object;

/** Allocates a claim and reserves it for pods, as the scheduler does. */
async function allocate(
  test: TestRegistry,
  name: string,
  users: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[],
): Promise<void> {
  await test.patch(`${claims}/${name}`, { metadata: { finalizers: [protection] } });
  const reservedFor = users.map(({ metadata }) => ({
    resource: "pods",
    name: metadata.name,
    uid: metadata.uid,
  }));
  await test.patch(`${claims}/${name}/status`, { status: { allocation, reservedFor } });
}

const fromTemplate = [{ name: "gpu", resourceClaimTemplateName: "t" }];

describe("resourceclaim-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController((context) => runResourceClaimController(context, options), {
      test,
      clock: test.clock,
    });
  });
  afterEach(() => run.stop());
  const pass = () => passInSteps(test, 2_000);

  it("creates a claim from its template and names it in the status of the pod", async () => {
    await makeTemplate(test, "t");
    const pod = await makePod(test, "web", [
      ...fromTemplate,
      { name: "more", resourceClaimTemplateName: "t" },
      { name: "own", resourceClaimName: "shared" },
    ]);
    await pass();
    const made = await listAt(test, claims);
    assert.deepEqual(made.map(({ metadata }) => metadata.name.replace(/.{5}$/, "")).sort(), [
      "web-gpu-",
      "web-more-",
    ]);
    const { metadata } = made.find(({ metadata: { name } }) => name.startsWith("web-gpu"));
    assert.deepEqual(metadata.annotations, {
      note: "n",
      "resource.kubernetes.io/pod-claim-name": "gpu",
    });
    assert.deepEqual(metadata.labels, { from: "t" });
    assert.equal(metadata.ownerReferences[0].uid, pod.metadata.uid);
    const { status } = await podOf(test, "web");
    assert.deepEqual(
      status.resourceClaimStatuses.map(({ resourceClaimName }: any) => resourceClaimName).sort(),
      made.map((each) => each.metadata.name).sort(),
    );
  });

  it("records an Event for a missing template, and waits for it", async () => {
    await makePod(test, "web", fromTemplate);
    await pass();
    assert.deepEqual(await eventsOf(test, "ns", "web"), [
      'Warning FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "t": ' +
        'resourceclaimtemplate.resource.k8s.io "t" not found',
    ]);
    await makeTemplate(test, "t");
    await run.until(async () => {
      await pass();
      return (await test.names(claims)).length === 1;
    });
  });

  it("creates one claim although its informer is stale and the status write fails", async () => {
    await makeTemplate(test, "t");
    await pass();
    run.holdInformer("resourceclaims");
    run.failNext("patch", "pods", 2);
    await makePod(test, "web", fromTemplate);
    await run.until(async () => {
      await pass();
      return (await podOf(test, "web")).status.resourceClaimStatuses;
    });
    assert.equal((await test.names(claims)).length, 1);
    run.releaseInformer("resourceclaims");
  });

  it("removes terminated pods from reservedFor, and deallocates the claim with the last one", async () => {
    await test.post(claims, { metadata: { name: "shared" }, spec });
    const use = [{ name: "own", resourceClaimName: "shared" }];
    const users = [await makePod(test, "a", use, "n"), await makePod(test, "b", use, "n")];
    await allocate(test, "shared", users);
    await test.patch(`${pods}/a/status`, { status: { phase: "Succeeded" } });
    await pass();
    const { status, metadata } = await claimOf(test, "shared");
    assert.deepEqual(
      status.reservedFor.map(({ name }: any) => name),
      ["b"],
    );
    assert.ok(status.allocation !== undefined);
    assert.deepEqual(metadata.finalizers, [protection]);
    await test.patch(`${pods}/b/status`, { status: { phase: "Failed" } });
    await pass();
    const free = await claimOf(test, "shared");
    assert.equal(free.status?.allocation, undefined);
    assert.equal(free.status?.reservedFor, undefined);
    assert.equal(free.metadata.finalizers, undefined);
  });

  it("keeps the finalizer of a claim that a scheduler is about to allocate", async () => {
    await test.post(claims, { metadata: { name: "next", finalizers: [protection] }, spec });
    await pass();
    assert.deepEqual((await claimOf(test, "next")).metadata.finalizers, [protection]);
  });

  it("deletes a generated claim when its pod terminates", async () => {
    await makeTemplate(test, "t");
    await makePod(test, "web", fromTemplate);
    await pass();
    assert.equal((await test.names(claims)).length, 1);
    await test.patch(`${pods}/web/status`, { status: { phase: "Succeeded" } });
    await pass();
    assert.deepEqual(await test.names(claims), []);
  });

  it("reserves an allocated claim for a pod that was bound without a scheduler", async () => {
    await test.post(claims, { metadata: { name: "shared" }, spec });
    await allocate(test, "shared", []);
    const pod = await makePod(test, "a", [{ name: "own", resourceClaimName: "shared" }], "n");
    await pass();
    const { status } = await claimOf(test, "shared");
    assert.deepEqual(status.reservedFor, [{ resource: "pods", name: "a", uid: pod.metadata.uid }]);
  });

  it("reaches the same state after a crash at any write", async () => {
    const crashes = await crashAfterEveryWrite({
      controllers: [(context) => runResourceClaimController(context, options)],
      play: async ({ test, until }) => {
        await makeTemplate(test, "t");
        const pod = await makePod(test, "web", fromTemplate);
        await until(async () => (await podOf(test, "web")).status.resourceClaimStatuses);
        const [name = ""] = await test.names(claims);
        await allocate(test, name, [pod]);
        await test.patch(`${pods}/web/status`, { status: { phase: "Succeeded" } });
        await until(async () => (await test.names(claims)).length === 0);
      },
      endState: async (test) => ({
        claims: (await test.names(claims)).length,
        names: (await podOf(test, "web")).status.resourceClaimStatuses.length,
      }),
    });
    assert.ok(crashes >= 4);
  });
});
