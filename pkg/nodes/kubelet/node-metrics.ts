/** Usage in the kubelet's formats: Summary API, and Prometheus text. */
import { type Pod, statusesOf } from "#kinds";
import type { Domain } from "#meta";
import { timeText } from "../identifiers.ts";
import { isMeasured, nodeItself, podUsage } from "../usage/container-usage.ts";

export interface Measurement {
  readonly node: string;
  readonly pods: readonly Pod[];
  readonly domain: Domain;
  /** Time of the measurement: wall clock in ms. */
  readonly now: number;
  readonly startedAt: number;
  /** Memory capacity of the node in bytes. */
  readonly memory: number;
  readonly disk: number;
}

/** Simulated bytes of each container's file system and logs. */
const containerDisk = 4096;

function cpuStats(time: string, cores: number, coreSeconds: number) {
  const usageCoreNanoSeconds = Math.round(coreSeconds * 1e9);
  return { time, usageNanoCores: Math.round(cores * 1e9), usageCoreNanoSeconds };
}

function memoryStats(time: string, bytes: number) {
  return {
    time,
    usageBytes: bytes,
    workingSetBytes: bytes,
    rssBytes: bytes,
    pageFaults: 0,
    majorPageFaults: 0,
  };
}

function measured({ pods, domain, now }: Measurement) {
  return pods.filter(isMeasured).map((pod) => {
    const starts = new Map(
      statusesOf(pod).map(({ name, state }) => [name, state?.running?.startedAt]),
    );
    const all = podUsage(pod, { domain, now });
    const containers = all.filter(({ name }) => starts.get(name) !== undefined);
    const sum = (field: "cpu" | "cpuSeconds" | "memory") =>
      containers.reduce((total, each) => total + each[field], 0);
    return {
      pod,
      containers: containers.map((each) => ({ ...each, startTime: starts.get(each.name)! })),
      total: { cpu: sum("cpu"), cpuSeconds: sum("cpuSeconds"), memory: sum("memory") },
    };
  });
}

/** Usage of the node: its pods and system overhead. */
function nodeTotal(pods: ReturnType<typeof measured>, { now, startedAt }: Measurement) {
  const sum = (field: "cpu" | "cpuSeconds" | "memory") =>
    pods.reduce((total, each) => total + each.total[field], 0);
  return {
    cpu: nodeItself.cpu + sum("cpu"),
    cpuSeconds: (nodeItself.cpu * (now - startedAt)) / 1000 + sum("cpuSeconds"),
    memory: nodeItself.memory + sum("memory"),
  };
}

/** The Summary of `stats/v1alpha1`. */
export function statsSummary(measurement: Measurement): object {
  const { node, now, startedAt, memory, disk } = measurement;
  const time = timeText(now);
  const pods = measured(measurement);
  const total = nodeTotal(pods, measurement);
  const files = (usedBytes: number) => ({
    time,
    availableBytes: Math.max(0, disk - usedBytes),
    capacityBytes: disk,
    usedBytes,
    inodesFree: 1_000_000,
    inodes: 1_000_000,
    inodesUsed: 0,
  });
  const used = files(
    2 * containerDisk * pods.reduce((sum, { containers }) => sum + containers.length, 0),
  );
  return {
    node: {
      nodeName: node,
      startTime: timeText(startedAt),
      cpu: cpuStats(time, total.cpu, total.cpuSeconds),
      memory: {
        ...memoryStats(time, total.memory),
        availableBytes: Math.max(0, memory - total.memory),
      },
      network: { time, name: "", interfaces: [] },
      fs: used,
      runtime: { imageFs: used, containerFs: used },
      rlimit: { time, maxpid: 32_768, curproc: pods.length },
    },
    pods: pods.map(({ pod, containers, total: own }) => ({
      podRef: {
        name: pod.metadata.name,
        namespace: pod.metadata.namespace ?? "",
        uid: pod.metadata.uid,
      },
      startTime: pod.status?.startTime ?? time,
      containers: containers.map(({ name, startTime, cpu, cpuSeconds, memory: bytes }) => ({
        name,
        startTime,
        cpu: cpuStats(time, cpu, cpuSeconds),
        memory: memoryStats(time, bytes),
        rootfs: files(containerDisk),
        logs: files(containerDisk),
      })),
      cpu: cpuStats(time, own.cpu, own.cpuSeconds),
      memory: memoryStats(time, own.memory),
      "ephemeral-storage": files(2 * containerDisk * containers.length),
      process_stats: { process_count: containers.length },
    })),
  };
}

type Samples = readonly (readonly [labels: string, value: number])[];

function family(
  [name, type, stability, help]: readonly [string, "counter" | "gauge", string, string],
  samples: Samples,
  now?: number,
): string {
  if (samples.length === 0) return "";
  const lines = samples.map(([labels, value]) => {
    return `${name}${labels === "" ? "" : `{${labels}}`} ${value}${now === undefined ? "" : ` ${now}`}\n`;
  });
  const level = stability === "" ? "" : `[${stability}] `;
  return `# HELP ${name} ${level}${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

/** `/metrics/resource`, with the metric names of kubelet 1.34. */
export function resourceMetrics(measurement: Measurement): string {
  const { now } = measurement;
  const pods = measured(measurement);
  const total = nodeTotal(pods, measurement);
  const ofPods = pods.map(({ pod: { metadata }, containers, total: own }) => {
    const labels = `namespace="${metadata.namespace ?? ""}",pod="${metadata.name}"`;
    const named = containers.map((each) => ({
      ...each,
      labels: `container="${each.name}",${labels}`,
    }));
    return { labels, total: own, containers: named };
  });
  const containers = ofPods.flatMap((each) => each.containers);
  const memoryHelp = (what: string) => `Current working set of the ${what} in bytes`;
  const cpuHelp = (what: string) => `Cumulative cpu time consumed by the ${what} in core-seconds`;
  const errorHelp = "1 if there was an error while getting container metrics, 0 otherwise";
  return [
    family(
      ["container_cpu_usage_seconds_total", "counter", "STABLE", cpuHelp("container")],
      containers.map(({ labels, cpuSeconds }) => [labels, cpuSeconds]),
      now,
    ),
    family(
      ["container_memory_working_set_bytes", "gauge", "STABLE", memoryHelp("container")],
      containers.map(({ labels, memory }) => [labels, memory]),
      now,
    ),
    family(
      [
        "container_start_time_seconds",
        "gauge",
        "STABLE",
        "Start time of the container since unix epoch in seconds",
      ],
      containers.map(({ labels, startTime }) => [labels, Date.parse(startTime) / 1000]),
    ),
    family(
      ["node_cpu_usage_seconds_total", "counter", "STABLE", cpuHelp("node")],
      [["", total.cpuSeconds]],
      now,
    ),
    family(
      ["node_memory_working_set_bytes", "gauge", "STABLE", memoryHelp("node")],
      [["", total.memory]],
      now,
    ),
    family(
      ["pod_cpu_usage_seconds_total", "counter", "STABLE", cpuHelp("pod")],
      ofPods.map(({ labels, total: own }) => [labels, own.cpuSeconds]),
      now,
    ),
    family(
      ["pod_memory_working_set_bytes", "gauge", "STABLE", memoryHelp("pod")],
      ofPods.map(({ labels, total: own }) => [labels, own.memory]),
      now,
    ),
    family(["resource_scrape_error", "gauge", "STABLE", errorHelp], [["", 0]]),
    family(["scrape_error", "gauge", "ALPHA", `(Deprecated since 1.29.0) ${errorHelp}`], [["", 0]]),
  ].join("");
}

/** `/metrics/cadvisor`: the container metrics that common dashboards use. */
export function cadvisorMetrics(measurement: Measurement): string {
  const { now, memory } = measurement;
  const containers = measured(measurement).flatMap(({ pod: { metadata, spec }, containers: all }) =>
    all.map((each) => {
      const { image = "" } = spec?.containers?.find(({ name }) => name === each.name) ?? {};
      const { namespace = "", name: pod, uid } = metadata;
      const labels =
        `container="${each.name}",id="/simulated/pod${uid}/${each.name}",image=${JSON.stringify(image)},` +
        `name="${each.name}",namespace="${namespace}",pod="${pod}"`;
      return { ...each, labels };
    }),
  );
  return [
    family(
      [
        "container_cpu_usage_seconds_total",
        "counter",
        "",
        "Cumulative cpu time consumed in seconds.",
      ],
      containers.map(({ labels, cpuSeconds }) => [`${labels},cpu="total"`, cpuSeconds]),
      now,
    ),
    family(
      ["container_memory_working_set_bytes", "gauge", "", "Current working set in bytes."],
      containers.map(({ labels, memory: bytes }) => [labels, bytes]),
      now,
    ),
    family(
      [
        "container_start_time_seconds",
        "gauge",
        "",
        "Start time of the container since unix epoch in seconds.",
      ],
      containers.map(({ labels, startTime }) => [labels, Date.parse(startTime) / 1000]),
      now,
    ),
    family(
      ["machine_memory_bytes", "gauge", "", "Amount of memory installed on the machine."],
      [["", memory]],
    ),
  ].join("");
}

/** The metrics of the kubelet itself that the simulation knows. */
export function kubeletMetrics(node: string, pods: readonly Pod[]): string {
  const states = pods.flatMap(statusesOf).map(({ state }) => Object.keys(state ?? {})[0]);
  const count = (wanted: string) => states.filter((state) => state === wanted).length;
  const running = pods.filter(({ status }) => status?.phase === "Running").length;
  const containers = [
    ["exited", count("terminated")],
    ["running", count("running")],
  ] as const;
  return [
    family(
      ["kubelet_node_name", "gauge", "ALPHA", "The node's name. The count is always 1."],
      [[`node=${JSON.stringify(node)}`, 1]],
    ),
    family(
      ["kubelet_running_containers", "gauge", "ALPHA", "Number of containers currently running"],
      containers.map(([state, number]) => [`container_state="${state}"`, number]),
    ),
    family(
      ["kubelet_running_pods", "gauge", "ALPHA", "Number of pods that have a running pod sandbox"],
      [["", running]],
    ),
  ].join("");
}
