/** When deleted claims, volumes and VolumeAttributesClasses are released. */
import assert from "node:assert/strict";
import { systemClock } from "#base";
import { type ControllerTest, startController } from "../testing.ts";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { runPersistentVolumeClaimProtection } from "./pvc-protection-controller.ts";
import { runPersistentVolumeProtection } from "./pv-protection-controller.ts";
import { runVolumeAttributesClassProtection } from "./vac-protection-controller.ts";

const claims = "v1/persistentvolumeclaims/ns";
const pods = "v1/pods/ns";
const volumes = "v1/persistentvolumes";
const classes = "storage.k8s.io/v1/volumeattributesclasses";

const finalizers = ["kubernetes.io/pvc-protection"];
const claimSpec = {
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
};
const makeClaim = (test: TestRegistry, name: string, more: object = {}) =>
  test.post(claims, { metadata: { name, finalizers, ...more }, spec: claimSpec });
const podOf = (name: string, volume: object, more: object = {}) => ({
  metadata: { name },
  spec: {
    nodeName: "n",
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "d", ...volume }],
    ...more,
  },
});
const onClaim = (claimName: string) => ({ persistentVolumeClaim: { claimName } });
const ephemeral = { ephemeral: { volumeClaimTemplate: { spec: claimSpec } } };
const now = { gracePeriodSeconds: 0 };

/** Waits until the controller has processed all earlier changes: it releases a new unused claim. */
async function settled({ test, until }: ControllerTest): Promise<void> {
  await makeClaim(test, "probe");
  await test.remove(`${claims}/probe`);
  await until(async () => !(await test.names(claims)).includes("probe"));
}

describe("persistentvolumeclaim-protection-controller", () => {
  let run: ControllerTest;
  let test: TestRegistry;
  beforeEach(async () => {
    run = await startController(runPersistentVolumeClaimProtection);
    ({ test } = run);
  });
  afterEach(() => run.stop());
  const left = (...names: readonly string[]) =>
    run.until(async () => String(await test.names(claims)) === String(names));

  it("releases a deleted claim that no pod uses, and keeps one in use", async () => {
    await makeClaim(test, "gone");
    await makeClaim(test, "kept");
    await test.remove(`${claims}/gone`);
    await left("kept");
  });

  it("adds the finalizer to an existing claim", async () => {
    await test.post(claims, { metadata: { name: "old" }, spec: claimSpec });
    await run.until(async () => {
      const { object } = await test.get(`${claims}/old`);
      return object.metadata.finalizers?.join() === finalizers.join();
    });
  });

  it("protects a claim until the last pod that uses it is deleted", async () => {
    await makeClaim(test, "used");
    for (const name of ["one", "two"]) await test.post(pods, podOf(name, onClaim("used")));
    await test.remove(`${claims}/used`);
    await settled(run);
    await test.remove(`${pods}/one`, now);
    await settled(run);
    await left("used");
    await test.remove(`${pods}/two`, now);
    await left();
  });

  it("does not wait for pods on no node, or of other claims and namespaces", async () => {
    await test.post("v1/namespaces", { metadata: { name: "other" } });
    await makeClaim(test, "free");
    await test.post(pods, podOf("unbound", onClaim("free"), { nodeName: "" }));
    await test.post(pods, podOf("another", onClaim("another")));
    await test.post("v1/pods/other", podOf("away", onClaim("free")));
    await test.remove(`${claims}/free`);
    await left();
  });

  it("keeps a claim of a terminated pod that still exists", async () => {
    await makeClaim(test, "used");
    await test.post(pods, podOf("done", onClaim("used")));
    await test.remove(`${claims}/used`);
    await test.patch(`${pods}/done/status`, { status: { phase: "Succeeded" } });
    await settled(run);
    await left("used");
  });

  it("keeps the claim of an ephemeral volume until its pod has terminated", async () => {
    const held = {
      ...podOf("p", ephemeral),
      metadata: { name: "p", finalizers: ["example.com/x"] },
    };
    const { uid } = (await test.post(pods, held)).item.object.metadata;
    const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true };
    await makeClaim(test, "p-d", { ownerReferences: [owner] });
    await test.post(pods, podOf("q", ephemeral));
    await makeClaim(test, "q-d");
    for (const name of ["p-d", "q-d"]) await test.remove(`${claims}/${name}`);
    await left("p-d");
    await settled(run);
    await test.remove(`${pods}/p`, now);
    await left();
  });

  it("retries failed lists and updates", async () => {
    run.failNext("list", "pods", 2);
    run.failNext("update", "persistentvolumeclaims", 2);
    await makeClaim(test, "gone");
    await test.remove(`${claims}/gone`);
    await left();
    assert.ok(run.calls("list", "pods") >= 3);
    assert.ok(run.calls("update", "persistentvolumeclaims") >= 3);
  });
});

describe("persistentvolumeclaim-protection-controller after a restart", () => {
  it("completes the interrupted work of another process", async () => {
    const test = await testRegistry();
    await makeClaim(test, "a");
    await makeClaim(test, "b");
    await test.post(pods, podOf("user", onClaim("b")));
    for (const name of ["a", "b"]) await test.remove(`${claims}/${name}`);
    const run = await startController(runPersistentVolumeClaimProtection, { test });
    await run.until(async () => String(await test.names(claims)) === "b");
    await run.stop();
    await test.remove(`${pods}/user`, now);
    const next = await startController(runPersistentVolumeClaimProtection, { test });
    await next.until(async () => (await test.names(claims)).length === 0);
    await next.stop();
  });

  it("keeps a claim whose pod its informer does not show yet", async () => {
    // The informer's list of pods is empty and its watch delivers no events, like a stale cache.
    const test = await testRegistry();
    await makeClaim(test, "used");
    await test.post(pods, podOf("user", onClaim("used")));
    await test.remove(`${claims}/used`);
    const run = await startController(
      (context) => {
        const real = context.informers.of.bind(context.informers);
        const blind = Object.assign(Object.create(context.informers), {
          of: (resource: { readonly plural: string }, selection: object) =>
            real(
              resource as never,
              resource.plural === "pods" ? { labelSelector: "no=such" } : selection,
            ),
        });
        return runPersistentVolumeClaimProtection({ ...context, informers: blind });
      },
      { test, clock: systemClock },
    );
    await run.until(() => Promise.resolve(run.calls("list", "pods") >= 1));
    assert.deepEqual(await test.names(claims), ["used"]);
    await test.remove(`${pods}/user`, now);
    await run.until(async () => (await test.names(claims)).length === 0);
    await run.stop();
  });
});

describe("persistentvolume-protection-controller", () => {
  it("releases a deleted volume once it is not bound", async () => {
    const run = await startController(runPersistentVolumeProtection);
    const { test } = run;
    const spec = {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/data" },
    };
    for (const name of ["bound", "free"]) await test.post(volumes, { metadata: { name }, spec });
    const isProtected = async (name: string) => {
      const { object } = await test.get(`${volumes}//${name}`);
      return object.metadata.finalizers?.join() === "kubernetes.io/pv-protection";
    };
    await run.until(async () => (await isProtected("bound")) && (await isProtected("free")));
    await test.patch(`${volumes}//bound/status`, { status: { phase: "Bound" } });
    run.failNext("update", "persistentvolumes", 2);
    for (const name of ["bound", "free"]) await test.remove(`${volumes}//${name}`);
    await run.until(async () => String(await test.names(volumes)) === "bound");
    await test.patch(`${volumes}//bound/status`, { status: { phase: "Released" } });
    await run.until(async () => (await test.names(volumes)).length === 0);
    await run.stop();
  });
});

describe("volumeattributesclass-protection-controller", () => {
  it("releases a deleted class once no claim and no volume uses it", async () => {
    const test = await testRegistry({ gates: () => true });
    const run = await startController(runVolumeAttributesClassProtection, { test });
    const names = ["by-claim", "by-volume", "free"];
    for (const name of names) {
      const metadata = { name, finalizers: ["kubernetes.io/vac-protection"] };
      await test.post(classes, { metadata, driverName: "d", parameters: { a: "b" } });
    }
    const spec = { ...claimSpec, volumeAttributesClassName: "by-claim" };
    await test.post(claims, { metadata: { name: "c" }, spec });
    const csi = { driver: "d", volumeHandle: "h" };
    await test.post(volumes, {
      metadata: { name: "v" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        csi,
        volumeAttributesClassName: "by-volume",
      },
    });
    const left = (...expected: readonly string[]) =>
      run.until(async () => String(await test.names(classes)) === String(expected));
    for (const name of names) await test.remove(`${classes}//${name}`);
    await left("by-claim", "by-volume");
    await test.remove(`${claims}/c`);
    await left("by-volume");
    await test.remove(`${volumes}//v`);
    await left();
    await run.stop();
  });
});
