/** Invariants of scheduling pods with volumes, and with two concurrent schedulers. */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type ControllerTest, startController } from "../controllers/testing.ts";
import { collected, type TestRegistry, testRegistry } from "../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "./index.ts";

const podsPath = "v1/pods/ns";
const zoneLabel = "topology.kubernetes.io/zone";
const driver = "csi.example.com";
const maxAttached = 2;

const start = (test: TestRegistry) =>
  startController((context) => runScheduler(context, defaultSchedulerSettings), { test });

async function listed(test: TestRegistry, path: string): Promise<any[]> {
  return (await collected((await test.list(path)).items)).map(({ object }) => object);
}

async function makeNode(test: TestRegistry, name: string, zone: string): Promise<void> {
  const allocatable = { cpu: "4", memory: "8Gi", pods: "20" };
  const metadata = { name, labels: { [zoneLabel]: zone } };
  await test.post("v1/nodes", { metadata, status: { allocatable, capacity: allocatable } });
  await test.post("storage.k8s.io/v1/csinodes", {
    metadata: { name },
    spec: { drivers: [{ name: driver, nodeID: name, allocatable: { count: maxAttached } }] },
  });
}

/** A volume with a bound claim of its name: kept in its zone by node affinity or by its label. */
async function makeVolume(test: TestRegistry, random: Random, name: string): Promise<void> {
  const zone = random.pick(["x", "y"]);
  const values = [zone];
  const matchExpressions = [{ key: zoneLabel, operator: "In", values }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  const kept = random.below(2) === 0;
  const accessModes = [random.pick(["ReadWriteOnce", "ReadWriteOncePod"])];
  const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
  const common = { accessModes, storageClassName: "" };
  await test.post("v1/persistentvolumes", {
    metadata: { name, labels: kept ? {} : { [zoneLabel]: zone } },
    spec: {
      ...common,
      capacity: { storage: "1Gi" },
      csi: { driver, volumeHandle: name },
      claimRef: { namespace: "ns", name },
      ...(kept ? { nodeAffinity: { required } } : {}),
    },
  });
  const resources = { requests: { storage: "1Gi" } };
  await test.post("v1/persistentvolumeclaims/ns", {
    metadata: { name, annotations },
    spec: { ...common, resources, volumeName: name },
  });
}

async function makePod(test: TestRegistry, name: string, claim: string): Promise<void> {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: claim } }];
  await test.post(podsPath, {
    metadata: { name },
    spec: {
      containers: [{ name: "c", image: "i" }],
      schedulerName: "default-scheduler",
      ...(claim === "" ? {} : { volumes }),
    },
  });
}

const claimOf = (pod: any): string =>
  pod.spec.volumes?.find((volume: any) => volume.persistentVolumeClaim)?.persistentVolumeClaim
    .claimName ?? "";

/** Reason why the pod cannot run on the node with the other pods of the cluster; "" = none. */
function conflict(pod: any, node: any, others: readonly any[], volumes: readonly any[]): string {
  const name = claimOf(pod);
  const volume = volumes.find(({ metadata }) => metadata.name === name);
  if (volume === undefined) return "";
  const zone = node.metadata.labels[zoneLabel];
  const wanted =
    volume.metadata.labels?.[zoneLabel] ??
    volume.spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0];
  if (zone !== wanted) return "zone";
  const users = others.filter((other) => other.spec.nodeName && claimOf(other) === name);
  if (volume.spec.accessModes[0] === "ReadWriteOncePod" && users.length > 0) return "user";
  const here = others.filter(({ spec }) => spec.nodeName === node.metadata.name).map(claimOf);
  const attached = new Set([name, ...here.filter((each) => each !== "")]);
  return attached.size > maxAttached ? "limit" : "";
}

/** Asserts that all bound pods may be where they are; names the pending ones that fit somewhere. */
async function verdict(test: TestRegistry): Promise<string> {
  const [nodes, pods] = [await listed(test, "v1/nodes"), await listed(test, podsPath)];
  const volumes = await listed(test, "v1/persistentvolumes");
  const conflictOn = (pod: any, node: any) => {
    const others = pods.filter((each) => each !== pod);
    return conflict(pod, node, others, volumes);
  };
  for (const pod of pods.filter(({ spec }) => spec.nodeName)) {
    const node = nodes.find(({ metadata }) => metadata.name === pod.spec.nodeName);
    assert.equal(conflictOn(pod, node), "", pod.metadata.name);
  }
  const pending = pods.filter(({ spec }) => !spec.nodeName);
  const feasible = pending.filter((pod) => nodes.some((node) => conflictOn(pod, node) === ""));
  return feasible.map(({ metadata }) => metadata.name).join(" ");
}

describe("scheduler with volumes", () => {
  let test: TestRegistry;
  let runs: ControllerTest[];
  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns"] });
    runs = [];
  });
  afterEach(() => Promise.all(runs.map((run) => run.stop())));

  async function settles(): Promise<void> {
    let left = "";
    await runs[0]!
      .until(async () => (left = await verdict(test)) === "")
      .catch(() => assert.equal(left, "", "these pods fit but are pending"));
  }

  for (const seed of [1, 2, 3]) {
    it(`keeps zones, attach limits and single users of volumes, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      for (const [name, zone] of ["x", "x", "y", "y"].entries()) {
        await makeNode(test, `n${name}`, zone);
      }
      for (let at = 0; at < 8; at++) await makeVolume(test, random, `v${at}`);
      runs.push(await start(test));
      for (let at = 0; at < 16; at++) await makePod(test, `p${at}`, `v${random.below(8)}`);
      await settles();
      const bound = (await listed(test, podsPath)).filter(({ spec }) => spec.nodeName);
      assert(bound.length > 0);
      for (const { metadata } of bound.filter((_pod, at) => at % 2 === 0)) {
        await test.remove(`${podsPath}/${metadata.name}`, { gracePeriodSeconds: 0 });
      }
      await settles();
    });
  }

  it("never moves bound pods while two schedulers run concurrently", async () => {
    for (const name of ["a", "b", "c"]) await makeNode(test, name, "x");
    runs.push(await start(test), await start(test));
    const homes = new Map<string, string>();
    const boundPods = async () => {
      const bound = (await listed(test, podsPath)).filter(({ spec }) => spec.nodeName);
      for (const { metadata, spec } of bound) {
        assert.equal(homes.get(metadata.name) ?? spec.nodeName, spec.nodeName);
        homes.set(metadata.name, spec.nodeName);
      }
      return bound.length;
    };
    for (let at = 0; at < 20; at++) {
      await makePod(test, `p${at}`, "");
      await boundPods();
    }
    await runs[0]!.until(async () => (await boundPods()) === 20);
    const isScheduled = ({ status }: any) =>
      status.conditions.some((each: any) => each.type === "PodScheduled" && each.status === "True");
    await runs[0]!.until(async () => (await listed(test, podsPath)).every(isScheduled));
    await runs.shift()!.stop();
    await makePod(test, "last", "");
    await runs[0]!.until(async () => (await boundPods()) === 21);
  });
});
