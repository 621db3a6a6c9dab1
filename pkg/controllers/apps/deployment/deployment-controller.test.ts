import assert from "node:assert/strict";
import type { ControllerContext } from "../../controller-context.ts";
import {
  type ControllerTest,
  crashAfterEveryWrite,
  type CrashScenario,
  startController,
} from "../../testing.ts";
import { listAt, livePods, makePodsReady, podTemplate, setPodStatus } from "../../pods/testing.ts";
import { podTemplateHash } from "../../pods/template-hash.ts";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { runReplicaSetController } from "../replicaset/replica-set-controller.ts";
import { runDeploymentController } from "./deployment-controller.ts";

const labels = { app: "web" };
const path = "apps/v1/deployments/ns";
const setsPath = "apps/v1/replicasets/ns";
const runDeployments = (context: ControllerContext) =>
  runDeploymentController(context, { deploymentWorkers: 5 });
const runSets = (context: ControllerContext) =>
  runReplicaSetController(context, { replicaSetWorkers: 5 });
const runBoth = async (context: ControllerContext) => {
  await Promise.all([runDeployments(context), runSets(context)]);
};

let test: TestRegistry;
let run: Pick<ControllerTest, "until">;

async function make(replicas: number, spec: object = {}, name = "web"): Promise<void> {
  const selector = { matchLabels: labels };
  const template = podTemplate(labels, "v1");
  await test.post(path, { metadata: { name }, spec: { replicas, selector, template, ...spec } });
}

const deployment = async () => (await test.get(`${path}/web`)).object;
const change = (spec: object) => test.patch(`${path}/web`, { spec });
const setImage = (image: string) =>
  change({ template: { spec: { containers: [{ name: "c", image }] } } });
const imageOf = (set: any) => set.spec.template.spec.containers[0].image;
const condition = async (type: string) =>
  (await deployment()).status.conditions?.find((each: any) => each.type === type);
const annotation = (object: any, name: string) =>
  object.metadata.annotations?.[`deployment.kubernetes.io/${name}`];

/** `image:size` of the ReplicaSets that have or want pods, in order of image. */
async function sizes(): Promise<string> {
  const sets = await listAt(test, setsPath);
  return sets
    .filter(({ spec, status }) => spec.replicas + status.replicas > 0)
    .map((set) => `${imageOf(set)}:${set.spec.replicas}`)
    .sort()
    .join(" ");
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

/** `replicas updated ready available unavailable`, once the generation is observed. */
async function counts(): Promise<string> {
  const { metadata, status } = await deployment();
  const fields = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
  const numbers = [...fields, "unavailableReplicas"].map((field) => status[field] ?? 0);
  return metadata.generation === status.observedGeneration ? numbers.join(" ") : "not observed";
}

async function rollOutAll(image: string, replicas: number): Promise<void> {
  await run.until(async () => {
    await makePodsReady(test);
    const sets = await listAt(test, setsPath);
    const set = sets.find((each) => imageOf(each) === image);
    return set?.status.availableReplicas === replicas && (await sizes()) === `${image}:${replicas}`;
  });
  await comesTo(counts, [replicas, replicas, replicas, replicas, 0].join(" "));
}

const eventsOf = async (reason: string) => {
  const events = await listAt(test, "v1/events/ns");
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
};

describe("deployment-controller", () => {
  let started: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    started = await startController(runBoth, { test, clock: test.clock });
    run = started;
  });
  afterEach(() => started.stop());

  it("creates a ReplicaSet with the hash of the pod template", async () => {
    await make(2);
    await comesTo(counts, "2 2 0 0 2");
    const { metadata, spec } = await deployment();
    const hash = podTemplateHash(spec.template);
    const set = (await test.get(`${setsPath}/web-${hash}`)).object;
    const hashed = { ...labels, "pod-template-hash": hash };
    assert.deepEqual(set.metadata.labels, hashed);
    assert.deepEqual(set.spec.selector.matchLabels, hashed);
    assert.deepEqual(set.spec.template.metadata.labels, hashed);
    assert.equal(set.metadata.ownerReferences[0].uid, metadata.uid);
    assert.equal(annotation(set, "revision"), "1");
    assert.equal(annotation(set, "desired-replicas"), "2");
    assert.equal(annotation(set, "max-replicas"), "3");
    await comesTo(async () => annotation(await deployment(), "revision"), "1");
    await comesTo(
      () => eventsOf("ScalingReplicaSet"),
      [`Scaled up replica set web-${hash} from 0 to 2`],
    );
    const [{ metadata: pod }] = await livePods(test);
    assert.equal(pod.labels["pod-template-hash"], hash);
  });

  it("continues from the revision of an adopted ReplicaSet, as int64", async () => {
    const revision = { "deployment.kubernetes.io/revision": "3546343826724305832" };
    const template = podTemplate({ ...labels, of: "old" });
    const spec = { replicas: 1, selector: { matchLabels: { ...labels, of: "old" } }, template };
    await test.post(setsPath, { metadata: { name: "old", labels, annotations: revision }, spec });
    await make(1);
    await comesTo(async () => annotation(await deployment(), "revision"), "3546343826724305833");
  });

  it("sets the conditions Progressing and Available", async () => {
    await make(2);
    await comesTo(async () => (await condition("Progressing"))?.reason, "ReplicaSetUpdated");
    assert.equal((await condition("Available")).reason, "MinimumReplicasUnavailable");
    await rollOutAll("v1", 2);
    await comesTo(async () => (await condition("Progressing")).reason, "NewReplicaSetAvailable");
    const { message } = await condition("Progressing");
    assert.match(message, /^ReplicaSet "web-\w+" has successfully progressed\.$/);
    assert.equal((await condition("Available")).status, "True");
  });

  it("rolls out within maxSurge and maxUnavailable", async () => {
    await make(4, { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } });
    await rollOutAll("v1", 4);
    await setImage("v2");
    await comesTo(sizes, "v1:3 v2:2");
    for (const next of ["v1:2 v2:3", "v1:1 v2:4", "v2:4"]) {
      // The ReplicaSet controller creates pods shortly after the scaling.
      const waiting = await run.until(async () =>
        (await livePods(test)).find(({ spec, status }) => {
          return spec.containers[0].image === "v2" && status.conditions?.[0]?.status !== "True";
        }),
      );
      await setPodStatus(test, waiting.metadata.name);
      await comesTo(sizes, next);
    }
    await rollOutAll("v2", 4);
  });

  it("removes unhealthy old pods first", async () => {
    await make(4, { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 2 } } });
    await rollOutAll("v1", 4);
    const [first, second] = (await livePods(test)).map(({ metadata }) => metadata.name);
    for (const name of [first, second]) await setPodStatus(test, name, { ready: false });
    await comesTo(counts, "4 4 2 2 2");
    await setImage("v2");
    await comesTo(sizes, "v1:2 v2:2");
    await run.until(async () => {
      const left = (await livePods(test)).map(({ metadata }) => metadata.name);
      return !left.includes(first) && !left.includes(second);
    });
  });

  it("creates no new pod before the last old one is deleted, with Recreate", async () => {
    await make(2, { strategy: { type: "Recreate" } });
    await rollOutAll("v1", 2);
    const [pod] = await livePods(test);
    const finalizers = ["example.com/wait"];
    await test.patch(`v1/pods/ns/${pod.metadata.name}`, { metadata: { finalizers } });
    await setImage("v2");
    await run.until(async () => (await livePods(test)).length === 0);
    await comesTo(counts, "0 0 0 0 0");
    assert.equal(await sizes(), "");
    await test.patch(`v1/pods/ns/${pod.metadata.name}`, { metadata: { finalizers: null } });
    await rollOutAll("v2", 2);
  });

  it("scales the ReplicaSets of a rollout proportionally", async () => {
    await make(10, { strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } });
    await rollOutAll("v1", 10);
    await setImage("v2");
    await comesTo(sizes, "v1:8 v2:5");
    await change({ replicas: 15 });
    await comesTo(sizes, "v1:11 v2:7");
    const [set] = await listAt(test, setsPath);
    assert.equal(annotation(set, "desired-replicas"), "15");
    await change({ replicas: 7 });
    await comesTo(sizes, "v1:5 v2:5");
    // The old ReplicaSet is scaled from 11 to 6 to 5 and never up again, regardless of its stale
    // status.
    const messages = await eventsOf("ScalingReplicaSet");
    assert.ok(!messages.some((each) => each.includes("from 6 to 8")), messages.join("; "));
  });

  it("scales but does not roll out while paused", async () => {
    await make(1);
    await rollOutAll("v1", 1);
    await change({ paused: true });
    await comesTo(async () => (await condition("Progressing")).reason, "DeploymentPaused");
    await setImage("v2");
    await change({ replicas: 2 });
    await comesTo(sizes, "v1:2");
    await change({ paused: false });
    await rollOutAll("v2", 2);
    await comesTo(async () => (await condition("Progressing")).reason, "NewReplicaSetAvailable");
  });

  it("renumbers an old revision that is used again, and keeps its history", async () => {
    await make(1);
    for (const image of ["v1", "v2", "v1", "v2"]) {
      await setImage(image);
      await rollOutAll(image, 1);
    }
    const sets = await listAt(test, setsPath);
    const revisions = sets.map((set) => [
      imageOf(set),
      annotation(set, "revision"),
      annotation(set, "revision-history"),
    ]);
    assert.deepEqual(revisions.sort(), [
      ["v1", "3", "1"],
      ["v2", "4", "2"],
    ]);
    assert.equal(annotation(await deployment(), "revision"), "4");
  });

  it("rolls back to the revision in the annotation", async () => {
    const ask = (revision: string) =>
      test.patch(`${path}/web`, {
        metadata: { annotations: { "deprecated.deployment.rollback.to": revision } },
      });
    await make(1);
    await rollOutAll("v1", 1);
    await setImage("v2");
    await rollOutAll("v2", 1);
    await ask("0");
    await rollOutAll("v1", 1);
    assert.equal(
      (await deployment()).metadata.annotations["deprecated.deployment.rollback.to"],
      undefined,
    );
    await ask("9");
    await comesTo(
      () => eventsOf("DeploymentRollbackRevisionNotFound"),
      ["Unable to find the revision to rollback to."],
    );
    await ask("3");
    await comesTo(
      () => eventsOf("DeploymentRollbackTemplateUnchanged"),
      ['The rollback revision contains the same template as current deployment "web"'],
    );
    await comesTo(
      () => eventsOf("DeploymentRollback"),
      ['Rolled back deployment "web" to revision 1'],
    );
  });

  it("keeps old ReplicaSets up to revisionHistoryLimit", async () => {
    await make(1, { revisionHistoryLimit: 1 });
    for (const image of ["v1", "v2", "v3", "v4"]) {
      await setImage(image);
      await rollOutAll(image, 1);
    }
    await comesTo(async () => (await listAt(test, setsPath)).map(imageOf).sort(), ["v3", "v4"]);
  });

  it("reports an exceeded progress deadline, and later progress", async () => {
    await make(1, { progressDeadlineSeconds: 60 });
    await comesTo(counts, "1 1 0 0 1");
    test.clock.advance(30_000);
    await comesTo(counts, "1 1 0 0 1");
    assert.equal((await condition("Progressing")).status, "True");
    await run.until(async () => {
      test.clock.advance(5_000);
      return (await condition("Progressing")).status === "False";
    });
    const { reason, message } = await condition("Progressing");
    assert.equal(reason, "ProgressDeadlineExceeded");
    assert.match(message, /^ReplicaSet "web-\w+" has timed out progressing\.$/);
    await rollOutAll("v1", 1);
    await comesTo(async () => (await condition("Progressing")).reason, "NewReplicaSetAvailable");
  });

  it("uses another ReplicaSet name on a hash collision", async () => {
    await make(0);
    await comesTo(counts, "0 0 0 0 0");
    const taken = podTemplateHash((await deployment()).spec.template);
    const other = (image: string) => ({ app: image });
    // The controller must not recreate its own ReplicaSet before the name is in use.
    started.failNext("create", "replicasets", Infinity);
    await test.remove(`${setsPath}/web-${taken}`);
    await test.post(setsPath, {
      metadata: { name: `web-${taken}` },
      spec: { selector: { matchLabels: other("o") }, template: podTemplate(other("o")) },
    });
    started.failNext("create", "replicasets", 0);
    await run.until(async () => {
      test.clock.advance(10);
      return (await deployment()).status.collisionCount === 1;
    });
    const next = podTemplateHash((await deployment()).spec.template, 1);
    await run.until(async () => {
      test.clock.advance(10);
      return (await test.names(setsPath)).includes(`web-${next}`);
    });
  });

  it("sets ReplicaFailure if pods cannot be created", async () => {
    started.failNext("create", "pods", Infinity);
    await make(1);
    await comesTo(async () => (await condition("ReplicaFailure"))?.reason, "FailedCreate");
    started.failNext("create", "pods", 0);
    await run.until(async () => {
      test.clock.advance(100);
      return (await condition("ReplicaFailure")) === undefined;
    });
  });

  it("reports that its ReplicaSet cannot be created", async () => {
    started.failNext("create", "replicasets", Infinity);
    await make(1);
    await comesTo(async () => (await condition("Progressing"))?.reason, "ReplicaSetCreateError");
    started.failNext("create", "replicasets", 0);
    await run.until(async () => {
      test.clock.advance(100);
      return (await condition("Progressing")).reason === "ReplicaSetUpdated";
    });
    const message = await run.until(async () => (await eventsOf("ReplicaSetCreateError"))[0]);
    assert.match(message, /^Failed to create new replica set "web-\w+": /);
  });

  it("takes over a ReplicaSet of its template that another Deployment made and orphaned", async () => {
    await make(2, {}, "first");
    await run.until(async () => (await listAt(test, setsPath))[0]?.status?.replicas === 2);
    await makePodsReady(test);
    const [{ metadata: orphan }] = await listAt(test, setsPath);
    await test.remove(`${path}/first`, { propagationPolicy: "Orphan" });
    await test.patch(`${setsPath}/${orphan.name}`, { metadata: { ownerReferences: null } });
    const first = (await test.get(`${path}/first`)).object;
    assert.ok(first.metadata.deletionTimestamp);
    await test.patch(`${path}/first`, { metadata: { finalizers: null } });
    await make(2, {
      template: {
        ...podTemplate(labels, "v1"),
        metadata: { labels, annotations: {}, creationTimestamp: null },
      },
    });
    await comesTo(counts, "2 2 2 2 0");
    const message = `ReplicaSet "${orphan.name}" has successfully progressed.`;
    assert.equal((await condition("Progressing")).message, message);
    assert.deepEqual(await test.names(setsPath), [orphan.name]);
  });

  it("adopts a ReplicaSet of its template, and releases one without its labels", async () => {
    await make(1);
    await rollOutAll("v1", 1);
    const [set] = await listAt(test, setsPath);
    await test.remove(`${path}/web`, { propagationPolicy: "Orphan" });
    await test.patch(`${path}/web`, { metadata: { finalizers: null } });
    await test.patch(`${setsPath}/${set.metadata.name}`, { metadata: { ownerReferences: null } });
    await make(1);
    await comesTo(counts, "1 1 1 1 0");
    const adopted = (await test.get(`${setsPath}/${set.metadata.name}`)).object;
    const { uid } = (await deployment()).metadata;
    assert.equal(adopted.metadata.ownerReferences[0].uid, uid);
    await test.patch(`${setsPath}/${set.metadata.name}`, { metadata: { labels: { app: "x" } } });
    await run.until(async () => {
      const { metadata } = (await test.get(`${setsPath}/${set.metadata.name}`)).object;
      return metadata.ownerReferences === undefined;
    });
  });

  it("creates one ReplicaSet although its informer is stale", async () => {
    await make(1, {}, "first");
    await run.until(async () => (await listAt(test, setsPath)).length === 1);
    started.holdInformer("replicasets");
    await test.post(path, {
      metadata: { name: "web" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "b" } },
        template: podTemplate({ app: "b" }),
      },
    });
    await run.until(async () => (await listAt(test, setsPath)).length === 2);
    await change({ replicas: 2 });
    await run.until(async () => started.calls("create", "replicasets") > 2);
    assert.equal((await deployment()).status.collisionCount, undefined);
    started.releaseInformer("replicasets");
    await run.until(async () => {
      test.clock.advance(10);
      return (await counts()) === "2 2 0 0 2";
    });
    assert.equal((await listAt(test, setsPath)).length, 2);
  });
});

describe("deployment-controller: crashes", () => {
  const rollout: CrashScenario = {
    controllers: [runDeployments, runSets],
    stride: 2,
    play: async (crashing) => {
      ({ test } = crashing);
      run = crashing;
      await make(2);
      await rollOutAll("v1", 2);
      await setImage("v2");
      await rollOutAll("v2", 2);
      await change({ replicas: 3 });
      await rollOutAll("v2", 3);
    },
    endState: async (at) => {
      const { metadata, status } = (await at.get(`${path}/web`)).object;
      const sets = await listAt(at, setsPath);
      const { conditions, ...numbers } = status;
      return {
        numbers,
        conditions: conditions.map((each: any) => `${each.type} ${each.status} ${each.reason}`),
        revision: annotation({ metadata }, "revision"),
        sets: sets.map((set) => [imageOf(set), set.spec.replicas, annotation(set, "revision")]),
        pods: (await livePods(at)).map(({ spec }) => spec.containers[0].image),
      };
    },
  };

  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite(rollout);
    assert.ok(crashes >= 20, String(crashes));
  });
});
