/** Workloads of Kubernetes' scheduler_perf, with its objects and numbers. */

export const initNamespace = "sched-0";
export const measuredNamespace = "sched-1";
const hostname = "kubernetes.io/hostname";
const zone = "topology.kubernetes.io/zone";

export interface Counts {
  /** Pods on the nodes before the measurement. */
  readonly init: number;
  readonly measured: number;
}

export interface PodTemplate {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: object;
  /** Whether each pod uses its own ResourceClaim for one device. */
  readonly hasClaim?: boolean;
}

export interface Workload {
  readonly name: string;
  /** Zones of the nodes, assigned in turn. */
  readonly zones: readonly string[];
  readonly init: PodTemplate;
  readonly measured: PodTemplate;
  readonly counts: (nodes: number) => Counts;
  /** Devices of each node, in one ResourceSlice. */
  readonly devicesPerNode?: number;
  /** Whether measured pods delete those of `init`. */
  readonly preempts?: boolean;
}

function podSpec(cpu: string, more: object = {}): object {
  const amounts = { cpu, memory: "500Mi" };
  const container = {
    name: "pause",
    image: "registry.k8s.io/pause:3.10.1",
    ports: [{ containerPort: 80 }],
    resources: { limits: amounts, requests: amounts },
  };
  return { containers: [container], ...more };
}

function required(color: string, topologyKey: string) {
  const namespaces = [measuredNamespace, initNamespace];
  const term = { labelSelector: { matchLabels: { color } }, topologyKey, namespaces };
  return { requiredDuringSchedulingIgnoredDuringExecution: [term] };
}

const plain: PodTemplate = { spec: podSpec("100m") };
const repelling: PodTemplate = {
  labels: { color: "green" },
  spec: podSpec("100m", { affinity: { podAntiAffinity: required("green", hostname) } }),
};
const attracting: PodTemplate = {
  labels: { color: "blue" },
  spec: podSpec("100m", { affinity: { podAffinity: required("blue", zone) } }),
};
const spreading: PodTemplate = {
  labels: { color: "blue" },
  spec: podSpec("100m", {
    topologySpreadConstraints: [
      {
        maxSkew: 5,
        topologyKey: zone,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { color: "blue" } },
      },
    ],
  }),
};

const claiming: PodTemplate = {
  spec: {
    containers: [
      {
        name: "pause",
        image: "registry.k8s.io/pause:3.10.1",
        resources: { claims: [{ name: "resource" }] },
      },
    ],
  },
  hasClaim: true,
};

/** Counts for 500 and 5,000 nodes; smaller clusters have a share of those for 500. */
function counts(small: Counts, large: Counts): (nodes: number) => Counts {
  return (nodes) => {
    if (nodes >= 5_000) return large;
    const share = Math.min(nodes / 500, 1);
    return {
      init: Math.floor(small.init * share),
      measured: Math.max(Math.floor(small.measured * share), 1),
    };
  };
}

export const workloads: readonly Workload[] = [
  {
    name: "SchedulingBasic",
    zones: [],
    init: plain,
    measured: plain,
    counts: counts({ init: 500, measured: 1_000 }, { init: 1_000, measured: 1_000 }),
  },
  {
    name: "SchedulingPodAntiAffinity",
    zones: [],
    init: repelling,
    measured: repelling,
    counts: counts({ init: 100, measured: 400 }, { init: 1_000, measured: 1_000 }),
  },
  {
    name: "SchedulingPodAffinity",
    zones: ["zone1"],
    init: attracting,
    measured: attracting,
    counts: counts({ init: 500, measured: 1_000 }, { init: 5_000, measured: 1_000 }),
  },
  {
    name: "TopologySpreading",
    zones: ["moon-1", "moon-2", "moon-3"],
    init: plain,
    measured: spreading,
    counts: counts({ init: 1_000, measured: 1_000 }, { init: 5_000, measured: 2_000 }),
  },
  {
    name: "PreemptionBasic",
    zones: [],
    init: { spec: podSpec("900m", { terminationGracePeriodSeconds: 0 }) },
    measured: { spec: podSpec("3000m", { priority: 10 }) },
    counts: counts({ init: 2_000, measured: 500 }, { init: 20_000, measured: 1_000 }),
    preempts: true,
  },
  {
    // As many devices as pods: the cluster is full in the end. scheduler_perf has no larger one.
    name: "SchedulingWithResourceClaimTemplate",
    zones: [],
    init: claiming,
    measured: claiming,
    counts: counts({ init: 2_500, measured: 2_500 }, { init: 25_000, measured: 2_500 }),
    devicesPerNode: 10,
  },
];

const driver = "test-driver.cdi.k8s.io";
const deviceClassName = "test-class";

export const deviceClass = {
  metadata: { name: deviceClassName },
  spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
};

export function sliceOf(nodeName: string, devices: number): object {
  const pool = { name: nodeName, generation: 0, resourceSliceCount: 1 };
  const device = (at: number) => ({
    name: `instance-${at}`,
    attributes: {
      model: { string: "A100" },
      family: { string: "GPU" },
      driverVersion: { version: "1.2.3" },
      "dra.example.com/numa": { int: at },
    },
    capacity: { memory: { value: "1Gi" } },
  });
  const list = Array.from({ length: devices }, (_each, at) => device(at));
  return { metadata: { name: nodeName }, spec: { driver, nodeName, pool, devices: list } };
}

/** The claim that Kubernetes' controller makes from the template of a pod. */
export function claimNamed(name: string): object {
  const requests = [{ name: "req-0", exactly: { deviceClassName } }];
  return { metadata: { name }, spec: { devices: { requests } } };
}

/** Status of a claim whose device is the one with this number on the node. */
export function allocationOn(nodeName: string, device: number): object {
  const result = { request: "req-0", driver, pool: nodeName, device: `instance-${device}` };
  const matchFields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  const nodeSelector = { nodeSelectorTerms: [{ matchFields }] };
  return { allocation: { devices: { results: [result] }, nodeSelector } };
}

export function nodeNamed(name: string, zoneName: string | undefined): object {
  const capacity = { pods: "110", cpu: "4", memory: "32Gi" };
  const labels = { [hostname]: name, ...(zoneName === undefined ? {} : { [zone]: zoneName }) };
  const conditions = [{ type: "Ready", status: "True" }];
  return { metadata: { name, labels }, spec: {}, status: { capacity, conditions } };
}
