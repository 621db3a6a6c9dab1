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
}

export interface Workload {
  readonly name: string;
  /** Zones that the nodes are in, in turn. */
  readonly zones: readonly string[];
  readonly init: PodTemplate;
  readonly measured: PodTemplate;
  readonly counts: (nodes: number) => Counts;
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
];

export function nodeNamed(name: string, zoneName: string | undefined): object {
  const capacity = { pods: "110", cpu: "4", memory: "32Gi" };
  const labels = { [hostname]: name, ...(zoneName === undefined ? {} : { [zone]: zoneName }) };
  const conditions = [{ type: "Ready", status: "True" }];
  return { metadata: { name, labels }, spec: {}, status: { capacity, conditions } };
}
