/**
 * A rejected pod is requeued by every change that makes it feasible: no queueing hint of any
 * default plugin misses one.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type ApiObject, type Handle, objectKey } from "#client";
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  deviceClasses,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  type ResourceClaim,
  resourceClaims,
  resourceSlices,
  storageClasses,
  volumeAttachments,
} from "#kinds";
import { kubernetes } from "#meta";
import { ClusterModel } from "../testing.ts";

const zone = "topology.kubernetes.io/zone";
const driver = "csi.example.com";
const namespace = "ns";
const maxPending = 10;
const kinds = {
  csiNodes: csiNodes(kubernetes),
  csiDrivers: csiDrivers(kubernetes),
  capacities: csiStorageCapacities(kubernetes),
  classes: storageClasses(kubernetes),
  attachments: volumeAttachments(kubernetes),
  claims: resourceClaims(kubernetes),
  slices: resourceSlices(kubernetes),
  deviceClasses: deviceClasses(kubernetes),
};
const bindCompleted = { "pv.kubernetes.io/bind-completed": "yes" };

function inZone(value: string) {
  const matchExpressions = [{ key: zone, operator: "In", values: [value] }];
  return { nodeSelectorTerms: [{ matchExpressions }] };
}

function onNode(name: string) {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [name] }];
  return { nodeSelectorTerms: [{ matchFields }] };
}

class RandomChanges {
  private made = 0;

  constructor(
    private readonly cluster: ClusterModel,
    private readonly random: Random,
  ) {}

  /** Changes one object. Returns what was done. */
  next(): string {
    const changes = [
      ...Array.from({ length: 4 }, () => () => this.node()),
      ...Array.from({ length: 6 }, () => () => this.newPod()),
      ...Array.from({ length: 4 }, () => () => this.boundPod()),
      () => this.pendingPod(),
      () => this.volume(),
      () => this.volumeClaim(),
      () => this.storageClass(),
      () => this.csiNode(),
      () => this.capacity(),
      () => this.attachment(),
      () => this.resourceClaim(),
      () => this.devices(),
      () => this.deviceClass(),
    ];
    return this.random.pick(changes)();
  }

  private chance(percent: number): boolean {
    return this.random.below(100) < percent;
  }

  private put<T extends ApiObject>(kind: Handle<T>, name: string, rest: object): string {
    const metadata = {
      uid: `${kind.plural}-${name}`,
      ...(kind.namespaced ? { namespace } : {}),
      ...("metadata" in rest ? (rest.metadata as object) : {}),
      name,
    };
    this.cluster.set(kind, { ...rest, metadata } as unknown as T);
    return `${kind.plural} ${name} ${JSON.stringify(rest)}`;
  }

  private drop(kind: Handle, name: string): string {
    this.cluster.delete(kind, kind.namespaced ? `${namespace}/${name}` : name);
    return `delete ${kind.plural} ${name}`;
  }

  private node(): string {
    const { random } = this;
    const name = `n${random.below(4)}`;
    const known = this.cluster.all(nodes).find(({ metadata }) => metadata.name === name);
    const isEmpty = this.cluster.all(pods).every(({ spec }) => spec?.nodeName !== name);
    if (known !== undefined && isEmpty && this.chance(20)) return this.drop(nodes, name);
    const amounts = { cpu: String(1 + random.below(3)), memory: "8Gi", pods: "8" };
    const gpus = this.chance(50) ? { "example.com/gpu": "1" } : {};
    const labels = {
      host: name,
      ...(this.chance(80) ? { [zone]: random.pick(["a", "b"]) } : {}),
      ...(this.chance(60) ? { disk: random.pick(["ssd", "hdd"]) } : {}),
    };
    const fresh = {
      metadata: { labels },
      spec: {
        unschedulable: this.chance(15),
        taints: this.chance(25) ? [{ key: "team", effect: "NoSchedule" }] : [],
      },
      status: { allocatable: { ...amounts, ...gpus } },
    };
    if (known === undefined) return this.put(nodes, name, fresh);
    const part = random.pick(["metadata", "spec", "status"] as const);
    return this.put(nodes, name, { ...known, [part]: fresh[part] });
  }

  private newPod(): string {
    const { random } = this;
    const waiting = this.cluster.all(pods).filter(({ spec }) => !spec?.nodeName);
    if (waiting.length >= maxPending) return this.drop(pods, random.pick(waiting).metadata.name);
    const app = random.pick(["a", "b"]);
    const number = this.chance(70) ? 1 : 2;
    const needs = Array.from({ length: number }, () => random.pick(podNeeds)(random, app));
    const spec = Object.assign({}, ...needs);
    const { requests = {}, ports = [], ...rest } = spec;
    const containers = [
      { name: "c", resources: { requests: { cpu: "100m", ...requests } }, ports },
    ];
    const tolerations = this.chance(30) ? [{ key: "team", operator: "Exists" }] : [];
    const cordoned = { key: "node.kubernetes.io/unschedulable", operator: "Exists" };
    if (this.chance(15)) tolerations.push(cordoned);
    const name = `p${this.made++}`;
    const schedulerName = "default-scheduler";
    return this.put(pods, name, {
      metadata: { labels: { app } },
      spec: { containers, tolerations, schedulerName, ...rest },
    });
  }

  private podWhere(isWanted: (pod: Pod) => boolean): Pod | undefined {
    const found = this.cluster.all(pods).filter(isWanted);
    return found.length === 0 ? undefined : this.random.pick(found);
  }

  private boundPod(): string {
    const pod = this.podWhere(({ spec }) => !!spec?.nodeName);
    if (pod === undefined) return this.newPod();
    const { metadata, spec } = pod;
    if (this.chance(60)) return this.drop(pods, metadata.name);
    if (this.chance(50)) {
      const labels = { app: this.random.pick(["a", "b"]) };
      return this.put(pods, metadata.name, { ...pod, metadata: { ...metadata, labels } });
    }
    const resources = { requests: { cpu: "10m" } };
    const containers = spec?.containers?.map((each) => ({ ...each, resources }));
    return this.put(pods, metadata.name, { ...pod, spec: { ...spec, containers } });
  }

  private pendingPod(): string {
    const pod = this.podWhere(({ spec }) => !spec?.nodeName);
    if (pod === undefined) return this.newPod();
    const { metadata, spec } = pod;
    const changes: readonly object[] = [
      { spec: { ...spec, tolerations: [...(spec?.tolerations ?? []), { operator: "Exists" }] } },
      { spec: { ...spec, schedulingGates: [] } },
      { metadata: { ...metadata, labels: { app: this.random.pick(["a", "b"]) } } },
    ];
    if (this.chance(20)) return this.drop(pods, metadata.name);
    return this.put(pods, metadata.name, { ...pod, ...this.random.pick(changes) });
  }

  private volume(): string {
    const { random } = this;
    const name = `v${random.below(4)}`;
    const known = this.cluster.all(persistentVolumes).find((each) => each.metadata.name === name);
    const labels = this.chance(50) ? { [zone]: random.pick(["a", "b"]) } : {};
    if (known !== undefined) {
      if (this.chance(20)) return this.drop(persistentVolumes, name);
      const metadata = { ...known.metadata, labels };
      return this.put(persistentVolumes, name, { ...known, metadata });
    }
    const nodeAffinity = { required: inZone(random.pick(["a", "b"])) };
    return this.put(persistentVolumes, name, {
      metadata: { labels },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "static",
        csi: { driver, volumeHandle: name },
        ...(this.chance(60) ? { nodeAffinity } : {}),
      },
      status: { phase: "Available" },
    });
  }

  private volumeClaim(): string {
    const { random } = this;
    const name = `c${random.below(4)}`;
    const known = this.cluster
      .all(persistentVolumeClaims)
      .find(({ metadata }) => metadata.name === name);
    if (known !== undefined && this.chance(30)) return this.drop(persistentVolumeClaims, name);
    const bound = this.chance(50) ? { volumeName: `v${random.below(4)}` } : {};
    const isBound = bound.volumeName !== undefined;
    return this.put(persistentVolumeClaims, name, {
      metadata: isBound ? { annotations: bindCompleted } : {},
      spec: {
        accessModes: [
          known?.spec?.accessModes?.[0] ?? random.pick(["ReadWriteOnce", "ReadWriteOncePod"]),
        ],
        storageClassName: random.pick(["now", "static", "made"]),
        resources: { requests: { storage: "1Gi" } },
        ...bound,
      },
      status: { phase: isBound ? "Bound" : "Pending" },
    });
  }

  private storageClass(): string {
    const { random } = this;
    const name = random.pick(["now", "static", "made"]);
    if (this.chance(20)) return this.drop(kinds.classes, name);
    const matchLabelExpressions = [{ key: zone, values: [random.pick(["a", "b"])] }];
    const known = this.cluster.all(kinds.classes).find(({ metadata }) => metadata.name === name);
    return this.put(kinds.classes, name, {
      ...known,
      provisioner: name === "static" ? "kubernetes.io/no-provisioner" : driver,
      volumeBindingMode: name === "now" ? "Immediate" : "WaitForFirstConsumer",
      ...(this.chance(50) ? { allowedTopologies: [{ matchLabelExpressions }] } : {}),
    });
  }

  private csiNode(): string {
    const name = `n${this.random.below(4)}`;
    if (this.chance(20)) return this.drop(kinds.csiNodes, name);
    const allocatable = this.chance(80) ? { count: 1 + this.random.below(2) } : {};
    return this.put(kinds.csiNodes, name, {
      spec: { drivers: [{ name: driver, nodeID: name, allocatable }] },
    });
  }

  private capacity(): string {
    if (this.chance(25)) {
      return this.put(kinds.csiDrivers, driver, { spec: { storageCapacity: this.chance(80) } });
    }
    const name = `s${this.random.below(2)}`;
    const matchLabels = { [zone]: this.random.pick(["a", "b"]) };
    return this.put(kinds.capacities, name, {
      storageClassName: "made",
      nodeTopology: { matchLabels },
      capacity: this.random.pick(["0", "512Mi", "2Gi"]),
    });
  }

  private attachment(): string {
    const name = `at${this.random.below(3)}`;
    const isThere = this.cluster.all(kinds.attachments).some((each) => each.metadata.name === name);
    if (isThere) return this.drop(kinds.attachments, name);
    const source = { persistentVolumeName: `v${this.random.below(4)}` };
    return this.put(kinds.attachments, name, {
      spec: { attacher: driver, nodeName: `n${this.random.below(4)}`, source },
      status: { attached: true },
    });
  }

  private resourceClaim(): string {
    const { random } = this;
    const name = `r${random.below(3)}`;
    const known = this.cluster.all(kinds.claims).find(({ metadata }) => metadata.name === name);
    if (known?.status?.allocation !== undefined) return this.put(kinds.claims, name, freed(known));
    if (known !== undefined && this.chance(30)) return this.drop(kinds.claims, name);
    const requests = [
      { name: "req", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 } },
    ];
    const node = random.pick(["n0", "n1"]);
    const results = [{ request: "req", driver, pool: node, device: `d${random.below(2)}` }];
    const allocation = { devices: { results }, nodeSelector: onNode(node) };
    return this.put(kinds.claims, name, {
      spec: { devices: { requests } },
      status: known !== undefined && this.chance(70) ? { allocation } : {},
    });
  }

  private devices(): string {
    const node = this.random.pick(["n0", "n1"]);
    const count = this.random.below(3);
    const list = Array.from({ length: count }, (_each, at) => ({ name: `d${at}` }));
    return this.put(kinds.slices, node, {
      spec: {
        driver,
        nodeName: node,
        pool: { name: node, generation: 1, resourceSliceCount: 1 },
        devices: list,
      },
    });
  }

  private deviceClass(): string {
    if (this.chance(30)) return this.drop(kinds.deviceClasses, "gpu");
    const expression = `device.driver == "${this.chance(80) ? driver : "none"}"`;
    return this.put(kinds.deviceClasses, "gpu", { spec: { selectors: [{ cel: { expression } }] } });
  }
}

function freed({ metadata, spec }: ResourceClaim): object {
  return { metadata, spec, status: {} };
}

type Need = (random: Random, app: string) => object;

function near(kind: "podAffinity" | "podAntiAffinity"): Need {
  return (random) => {
    const labelSelector = { matchLabels: { app: random.pick(["a", "b"]) } };
    const term = { labelSelector, topologyKey: random.pick([zone, "host"]) };
    return { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
  };
}

const podNeeds: readonly Need[] = [
  (random) => ({ requests: { cpu: String(1 + random.below(2)) } }),
  () => ({ requests: { "example.com/gpu": "1" } }),
  (random) => ({ ports: [{ containerPort: 80, hostPort: 80 + random.below(2) }] }),
  (random) => ({ nodeSelector: { disk: random.pick(["ssd", "hdd"]) } }),
  near("podAffinity"),
  near("podAntiAffinity"),
  (_random, app) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: zone,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app } },
      },
    ],
  }),
  (random) => {
    const persistentVolumeClaim = { claimName: `c${random.below(4)}` };
    return { volumes: [{ name: "v", persistentVolumeClaim }] };
  },
  () => ({ volumes: [{ name: "v", gcePersistentDisk: { pdName: "disk" } }] }),
  (random) => ({ resourceClaims: [{ name: "r", resourceClaimName: `r${random.below(3)}` }] }),
  () => ({ schedulingGates: [{ name: "gate" }] }),
];

/** Binds a pod that fits, or deletes it if others must bind its claims first. */
function take(cluster: ClusterModel, pod: Pod, node: string): void {
  const { spec } = pod;
  const hasClaims = spec?.resourceClaims !== undefined || spec?.volumes?.[0]?.persistentVolumeClaim;
  const isBound = (name: string) =>
    cluster.all(persistentVolumeClaims).find(({ metadata }) => metadata.name === name)?.spec
      ?.volumeName !== undefined;
  const claimName = spec?.volumes?.[0]?.persistentVolumeClaim?.claimName;
  const isSettled = claimName !== undefined && isBound(claimName) && !spec?.resourceClaims;
  if (hasClaims && !isSettled) cluster.delete(pods, objectKey(pod));
  else cluster.set(pods, { ...pod, spec: { ...spec, nodeName: node } });
}

describe("queueing hints", () => {
  /** Plugins that have rejected a pod which a change then made feasible. */
  const proven = new Set<string>();

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`requeue every pod that a change makes feasible, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const cluster = new ClusterModel(random);
      const changes = new RandomChanges(cluster, random);
      const rejectedBy = new Map<string, ReadonlySet<string>>();
      for (let step = 0; step < 1_000; step++) {
        const change = changes.next();
        for await (const { pod, attempt } of cluster.attempts()) {
          const { uid } = pod.metadata;
          const [node] = attempt.nodes;
          if (node === undefined) rejectedBy.set(uid, attempt.rejecting);
          else {
            for (const plugin of rejectedBy.get(uid) ?? []) proven.add(plugin);
            rejectedBy.delete(uid);
            take(cluster, pod, node);
          }
        }
        for (const pod of cluster.all(pods)) {
          const isPending = !pod.spec?.nodeName && !pod.spec?.schedulingGates?.length;
          if (!isPending) continue;
          const { nodes: fitting } = await cluster.attempt(pod);
          const plugins = [...(rejectedBy.get(pod.metadata.uid) ?? [])].join();
          const text = `step ${step}: ${change}\n${JSON.stringify(pod.spec)}\nrejected by ${plugins}`;
          assert.deepEqual(fitting, [], text);
        }
      }
    });
  }

  it("were exercised for every plugin that filters", () => {
    assert.deepEqual([...proven].sort(), [
      "DynamicResources",
      "InterPodAffinity",
      "NodeAffinity",
      "NodePorts",
      "NodeResourcesFit",
      "NodeUnschedulable",
      "NodeVolumeLimits",
      "PodTopologySpread",
      "TaintToleration",
      "VolumeBinding",
      "VolumeRestrictions",
      "VolumeZone",
    ]);
  });
});
