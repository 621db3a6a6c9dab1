/** Claims of generic ephemeral volumes. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runEphemeralVolumeController } from "./ephemeral-volume-controller.ts";

const pods = "v1/pods/ns";
const claims = "v1/persistentvolumeclaims/ns";

describe("ephemeral-volume-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    const options = { ephemeralVolumeWorkers: 2 };
    run = await startController((context) => runEphemeralVolumeController(context, options), {
      test,
    });
  });
  afterEach(() => run.stop());

  const claimSpec = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
  };
  const makePod = (name: string) => {
    const metadata = { labels: { of: name }, annotations: { note: "n" } };
    const ephemeral = { volumeClaimTemplate: { metadata, spec: claimSpec } };
    const volumes = [
      { name: "scratch", ephemeral },
      { name: "plain", emptyDir: {} },
    ];
    const containers = [{ name: "c", image: "i" }];
    return test.post(pods, { metadata: { name }, spec: { containers, volumes } });
  };
  const claim = (name: string): Promise<any> =>
    test.get(`${claims}/${name}`).then(
      ({ object }) => object,
      () => undefined,
    );

  it("creates the claim from its template, owned by the pod", async () => {
    const { item } = await makePod("web");
    const { metadata, spec } = await run.until(() => claim("web-scratch"));
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: "v1",
        kind: "Pod",
        name: "web",
        uid: item.object.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.deepEqual(metadata.labels, { of: "web" });
    assert.deepEqual(metadata.annotations, { note: "n" });
    assert.equal(spec.resources.requests.storage, "1Gi");
    assert.deepEqual(await test.names(claims), ["web-scratch"]);
  });

  it("recreates a claim that was deleted while its pod exists", async () => {
    await makePod("web");
    const { metadata } = await run.until(() => claim("web-scratch"));
    await test.remove(`${claims}/web-scratch`);
    await run.until(async () => {
      const found = await claim("web-scratch");
      return found !== undefined && found.metadata.uid !== metadata.uid;
    });
  });

  it("rejects a claim of another owner, with an Event on the pod", async () => {
    await test.post(claims, { metadata: { name: "web-scratch" }, spec: claimSpec });
    await makePod("web");
    const message =
      "ephemeral volume scratch: PVC ns/web-scratch was not created for pod ns/web " +
      "(pod is not owner)";
    await run.until(async () => {
      const { chunks } = await test.list("v1/events/ns");
      for await (const chunk of chunks) {
        for (const { object } of chunk) {
          if (object.reason === "FailedBinding" && object.message === message) return true;
        }
      }
      return false;
    });
    assert.equal((await claim("web-scratch")).metadata.ownerReferences, undefined);
  });

  it("tries again after a failed create", async () => {
    run.failNext("create", "persistentvolumeclaims", 2);
    await makePod("web");
    await run.until(() => claim("web-scratch"));
    assert.equal(run.calls("create", "persistentvolumeclaims"), 3);
  });
});
