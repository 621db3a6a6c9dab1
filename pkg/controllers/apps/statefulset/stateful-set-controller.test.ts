import assert from "node:assert/strict";
import type { ControllerContext } from "../../controller-context.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { listAt, livePods, makePodsReady, podTemplate, setPodStatus } from "../../pods/testing.ts";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { runStatefulSetController } from "./stateful-set-controller.ts";

const labels = { app: "db" };
const path = "apps/v1/statefulsets/ns";
const claimsPath = "v1/persistentvolumeclaims/ns";
const runSets = (context: ControllerContext) =>
  runStatefulSetController(context, { statefulSetWorkers: 5 });
const runWithGate = (context: ControllerContext) =>
  runStatefulSetController(context, {
    statefulSetWorkers: 5,
    gates: (name) => name === "MaxUnavailableStatefulSet",
  });
const claimTemplate = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

let test: TestRegistry;
let run: Pick<ControllerTest, "until">;

async function make(replicas: number, more: object = {}): Promise<void> {
  const selector = { matchLabels: labels };
  const template = podTemplate(labels, "v1");
  const spec = { replicas, selector, template, serviceName: "svc", ...more };
  await test.post(path, { metadata: { name: "db" }, spec });
}

const set = async () => (await test.get(`${path}/db`)).object;
const change = (spec: object) => test.patch(`${path}/db`, { spec });
const setImage = (image: string) =>
  change({ template: { spec: { containers: [{ name: "c", image }] } } });
const pod = async (name: string) => (await test.get(`v1/pods/ns/${name}`)).object;
const claim = async (name: string) => (await test.get(`${claimsPath}/${name}`)).object;

/** `name:image` of the pods that do not terminate. */
async function pods(): Promise<string> {
  const found = await livePods(test);
  return found
    .map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0].image}`)
    .join(" ");
}

/** `replicas ready available current updated`, once the generation is observed. */
async function counts(): Promise<string> {
  const { metadata, status } = await set();
  const { replicas, readyReplicas, availableReplicas, currentReplicas, updatedReplicas } = status;
  const numbers = [replicas, readyReplicas, availableReplicas, currentReplicas, updatedReplicas];
  if (metadata.generation !== status.observedGeneration) return "not observed";
  return numbers.map((each) => each ?? 0).join(" ");
}

async function comesTo(what: () => Promise<unknown>, wanted: unknown): Promise<void> {
  let found: unknown;
  await run
    .until(async () => {
      found = await what();
      return JSON.stringify(found) === JSON.stringify(wanted);
    })
    .catch((error: unknown) => assert.deepEqual(found, wanted, String(error)));
}

/** Makes pods ready as they come, until they are these. */
async function readyUntil(wanted: string): Promise<void> {
  await run.until(async () => {
    await makePodsReady(test);
    return (await pods()) === wanted;
  });
  await makePodsReady(test);
}

const eventsOf = async (reason: string) => {
  const events = await listAt(test, "v1/events/ns");
  return events
    .filter((event) => event.reason === reason)
    .map(({ message }) => message)
    .sort();
};

describe("statefulset-controller", () => {
  let started: ControllerTest;
  const start = async (controller = runSets) => {
    test = await testRegistry();
    started = await startController(controller, { test, clock: test.clock });
    run = started;
  };
  beforeEach(() => start());
  afterEach(() => started.stop());

  it("creates pods in order, each with its identity", async () => {
    await make(2);
    await comesTo(counts, "1 0 0 1 1");
    assert.equal(await pods(), "db-0:v1");
    await setPodStatus(test, "db-0");
    await comesTo(counts, "2 1 1 2 2");
    await setPodStatus(test, "db-1");
    await comesTo(counts, "2 2 2 2 2");
    const { metadata, spec } = await pod("db-1");
    const { currentRevision, updateRevision } = (await set()).status;
    assert.equal(currentRevision, updateRevision);
    assert.deepEqual(metadata.labels, {
      ...labels,
      "apps.kubernetes.io/pod-index": "1",
      "controller-revision-hash": currentRevision,
      "statefulset.kubernetes.io/pod-name": "db-1",
    });
    assert.deepEqual([spec.hostname, spec.subdomain], ["db-1", "svc"]);
    await comesTo(
      () => eventsOf("SuccessfulCreate"),
      [
        "create Pod db-0 in StatefulSet db successful",
        "create Pod db-1 in StatefulSet db successful",
      ],
    );
  });

  it("creates and deletes all pods at once, with Parallel", async () => {
    await make(4, { podManagementPolicy: "Parallel", ordinals: { start: 3 } });
    await comesTo(pods, "db-3:v1 db-4:v1 db-5:v1 db-6:v1");
    await change({ replicas: 1 });
    await comesTo(pods, "db-3:v1");
  });

  it("scales down from the highest ordinal, and waits for pods that are not ready", async () => {
    await make(4);
    await readyUntil("db-0:v1 db-1:v1 db-2:v1 db-3:v1");
    await comesTo(counts, "4 4 4 4 4");
    await setPodStatus(test, "db-0", { ready: false });
    await comesTo(counts, "4 3 3 4 4");
    await change({ replicas: 1 });
    await comesTo(counts, "4 3 3 4 4");
    await setPodStatus(test, "db-0");
    await comesTo(pods, "db-0:v1");
    await comesTo(
      () => eventsOf("SuccessfulDelete"),
      [
        "delete Pod db-1 in StatefulSet db successful",
        "delete Pod db-2 in StatefulSet db successful",
        "delete Pod db-3 in StatefulSet db successful",
      ],
    );
  });

  it("recreates a terminated pod under the same name", async () => {
    await make(1);
    await run.until(async () => (await pods()) !== "");
    const before = (await pod("db-0")).metadata.uid;
    await setPodStatus(test, "db-0", { ready: false, phase: "Failed" });
    await run.until(async () => {
      test.clock.advance(10);
      const found = await pod("db-0").catch(() => undefined);
      return found !== undefined && found.metadata.uid !== before;
    });
  });

  it("counts a pod as available after minReadySeconds", async () => {
    await make(2, { minReadySeconds: 30 });
    await run.until(async () => (await pods()) !== "");
    await setPodStatus(test, "db-0");
    await comesTo(counts, "1 1 0 1 1");
    test.clock.advance(29_000);
    await comesTo(pods, "db-0:v1");
    test.clock.advance(1_000);
    await comesTo(pods, "db-0:v1 db-1:v1");
  });

  it("updates from the highest ordinal to the partition, one pod at a time", async () => {
    await make(3, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } });
    await readyUntil("db-0:v1 db-1:v1 db-2:v1");
    await comesTo(counts, "3 3 3 3 3");
    await setImage("v2");
    await comesTo(pods, "db-0:v1 db-1:v1 db-2:v2");
    await comesTo(counts, "3 2 2 2 1");
    await setPodStatus(test, "db-2");
    await comesTo(pods, "db-0:v1 db-1:v2 db-2:v2");
    await setPodStatus(test, "db-1");
    await comesTo(counts, "3 3 3 1 2");
    await change({ updateStrategy: { rollingUpdate: { partition: 0 } } });
    await readyUntil("db-0:v2 db-1:v2 db-2:v2");
    await comesTo(counts, "3 3 3 3 3");
    const { status } = await set();
    assert.equal(status.currentRevision, status.updateRevision);
  });

  it("creates pods below the partition from the old revision", async () => {
    await make(2, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } });
    await readyUntil("db-0:v1 db-1:v1");
    await comesTo(counts, "2 2 2 2 2");
    await setImage("v2");
    await comesTo(counts, "2 2 2 2 0");
    await test.remove("v1/pods/ns/db-0", { gracePeriodSeconds: 0 });
    await comesTo(pods, "db-0:v1 db-1:v1");
  });

  it("replaces pods only when they are deleted, with OnDelete", async () => {
    await make(2, { updateStrategy: { type: "OnDelete" } });
    await readyUntil("db-0:v1 db-1:v1");
    await setImage("v2");
    await comesTo(counts, "2 2 2 2 0");
    await test.remove("v1/pods/ns/db-0", { gracePeriodSeconds: 0 });
    await comesTo(pods, "db-0:v2 db-1:v1");
  });

  it("updates several pods at once with MaxUnavailableStatefulSet and maxUnavailable", async () => {
    await started.stop();
    await start(runWithGate);
    await make(4, {
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    });
    await readyUntil("db-0:v1 db-1:v1 db-2:v1 db-3:v1");
    await comesTo(counts, "4 4 4 4 4");
    await setImage("v2");
    await comesTo(pods, "db-0:v1 db-1:v1 db-2:v1 db-3:v2");
    await readyUntil("db-0:v2 db-1:v2 db-2:v2 db-3:v2");
  });

  it("rolls back to an earlier revision, and truncates history to its limit", async () => {
    await make(1, { revisionHistoryLimit: 1 });
    await readyUntil("db-0:v1");
    const first = (await set()).status.currentRevision;
    for (const image of ["v2", "v3", "v2"]) {
      await setImage(image);
      await readyUntil(`db-0:${image}`);
      await run.until(async () => {
        const { status } = await set();
        return status.currentRevision === status.updateRevision && status.readyReplicas === 1;
      });
    }
    const revisions = await listAt(test, "apps/v1/controllerrevisions/ns");
    const shown = revisions.map(({ data, revision }) => [
      data.spec.template.spec.containers[0].image,
      Number(revision),
    ]);
    assert.deepEqual(shown.sort(), [
      ["v2", 4],
      ["v3", 3],
    ]);
    assert.notEqual((await set()).status.currentRevision, first);
    const [{ metadata, data }] = revisions;
    assert.equal(data.spec.template.$patch, "replace");
    const hash = metadata.labels["controller.kubernetes.io/hash"];
    assert.equal(metadata.name, `db-${hash}`);
  });

  it("creates claims once, and mounts them", async () => {
    await make(1, { volumeClaimTemplates: [claimTemplate] });
    await run.until(async () => (await pods()) !== "");
    const { metadata } = await claim("data-db-0");
    assert.deepEqual([metadata.labels, metadata.ownerReferences], [labels, undefined]);
    const [volume] = (await pod("db-0")).spec.volumes;
    assert.equal(volume.persistentVolumeClaim.claimName, "data-db-0");
    await test.remove("v1/pods/ns/db-0", { gracePeriodSeconds: 0 });
    await run.until(async () => (await pods()) !== "");
    assert.equal((await claim("data-db-0")).metadata.uid, metadata.uid);
    await comesTo(
      async () => (await eventsOf("SuccessfulCreate")).filter((each) => each.includes("Claim")),
      ["create Claim data-db-0 Pod db-0 in StatefulSet db success"],
    );
  });

  it("sets owners of claims by the retention policy, also after it changes", async () => {
    const policy = (whenDeleted: string, whenScaled: string) => ({
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
    });
    await make(2, { volumeClaimTemplates: [claimTemplate], ...policy("Delete", "Delete") });
    await readyUntil("db-0:v1 db-1:v1");
    const owner = async (name: string) =>
      (await claim(name)).metadata.ownerReferences?.map(({ kind }: any) => kind) ?? [];
    await comesTo(() => owner("data-db-1"), ["StatefulSet"]);
    await comesTo(counts, "2 2 2 2 2");
    // The kubelet has not finished yet.
    await test.patch("v1/pods/ns/db-1", { metadata: { finalizers: ["example.com/wait"] } });
    await change({ replicas: 1 });
    await comesTo(() => owner("data-db-1"), ["Pod"]);
    await comesTo(pods, "db-0:v1");
    await change(policy("Retain", "Retain"));
    await comesTo(() => owner("data-db-0"), []);
  });

  it("adopts a pod with matching name and labels, and restores its identity", async () => {
    const template = podTemplate(labels, "v1");
    await test.post("v1/pods/ns", { ...template, metadata: { name: "db-0", labels } });
    await test.post("v1/pods/ns", { ...template, metadata: { name: "other", labels } });
    await make(1, { updateStrategy: { type: "OnDelete" } });
    await setPodStatus(test, "db-0");
    await run.until(async () => {
      const { metadata } = await pod("db-0");
      return metadata.labels["statefulset.kubernetes.io/pod-name"] === "db-0";
    });
    assert.equal((await pod("db-0")).metadata.ownerReferences[0].kind, "StatefulSet");
    assert.equal((await pod("other")).metadata.ownerReferences, undefined);
  });

  it("deletes no pod because of a stale revision in its informer", async () => {
    await make(2);
    await readyUntil("db-0:v1 db-1:v1");
    await comesTo(counts, "2 2 2 2 2");
    started.holdInformer("pods");
    await setImage("v2");
    await comesTo(pods, "db-0:v1");
    for (const round of ["1", "2"]) {
      await test.patch(`${path}/db`, { metadata: { annotations: { round } } });
    }
    await run.until(async () => started.calls("delete", "pods") > 1);
    started.releaseInformer("pods");
    await readyUntil("db-0:v2 db-1:v2");
    await comesTo(
      () => eventsOf("SuccessfulDelete"),
      [
        "delete Pod db-0 in StatefulSet db successful",
        "delete Pod db-1 in StatefulSet db successful",
      ],
    );
  });
});

describe("statefulset-controller: crashes", () => {
  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runSets],
      play: async (crashing) => {
        ({ test } = crashing);
        run = crashing;
        await make(2, {
          volumeClaimTemplates: [claimTemplate],
          persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        });
        await readyUntil("db-0:v1 db-1:v1");
        await comesTo(counts, "2 2 2 2 2");
        await setImage("v2");
        await readyUntil("db-0:v2 db-1:v2");
        await comesTo(counts, "2 2 2 2 2");
        await change({ replicas: 1 });
        await comesTo(counts, "1 1 1 1 1");
      },
      endState: async (at) => ({
        status: (await at.get(`${path}/db`)).object.status,
        pods: (await livePods(at)).map(({ metadata }) => metadata.name),
        claims: await at.names(claimsPath),
        revisions: await at.names("apps/v1/controllerrevisions/ns"),
      }),
    });
    assert.ok(crashes >= 10, String(crashes));
  });
});
