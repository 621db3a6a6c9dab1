/** Quota usage of pods. */
import { kubernetes, Quantity } from "#meta";
import { type Amounts, plus } from "./amounts.ts";
import { allocatedPodTotal, type ResourceField } from "./pod-resources.ts";

/** Resources that every container must set once a quota limits them. */
const requiredResources: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "requests.cpu",
  "requests.memory",
  "limits.cpu",
  "limits.memory",
]);

const compute = ["cpu", "memory", "ephemeral-storage"];

/** Usage of a pod; `now` in milliseconds since 1970. */
export function podUsage(pod: any, now: number): Amounts {
  const objectCount: Amounts = { "count/pods": "1" };
  if (isTerminated(pod, now)) return objectCount;
  const overhead: Amounts = pod.spec.overhead ?? {};
  const requests = plus(effectiveResources(pod, "requests"), overhead);
  const limits = effectiveResources(pod, "limits");
  // Overhead counts only towards limits that exist.
  const limited = Object.keys(limits).filter((name) => Object.hasOwn(overhead, name));
  const countedOverhead = Object.fromEntries(limited.map((name) => [name, overhead[name]!]));
  return { ...objectCount, ...computeUsage(requests, plus(limits, countedOverhead)) };
}

/** Resources of a pod without overhead; pod-level resources replace the sums of the containers. */
function effectiveResources(pod: any, field: ResourceField): Amounts {
  return { ...allocatedPodTotal(pod, field), ...pod.spec.resources?.[field] };
}

/** Usage of compute resources, by the names of quotas. */
function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage: Record<string, string> = { pods: "1" };
  for (const [name, amount] of Object.entries(requests)) {
    if (compute.includes(name) || name.startsWith("hugepages-")) usage[name] = amount;
    if (compute.includes(name) || name.startsWith("hugepages-") || isExtended(name)) {
      usage[`requests.${name}`] = amount;
    }
  }
  for (const name of compute) {
    if (Object.hasOwn(limits, name)) usage[`limits.${name}`] = limits[name]!;
  }
  return usage;
}

/** `example.com/gpu`: a resource with a domain other than Kubernetes' own. */
function isExtended(name: string): boolean {
  if (!name.includes("/") || name.startsWith("requests.")) return false;
  return !name.includes(`${kubernetes.label}/`);
}

/** Whether pods count for a quota of this resource name. */
export function isPodResource(name: string): boolean {
  const resource = name.replace(/^(requests|limits)\./, "");
  if (compute.includes(resource)) return true;
  if (name === "pods" || name === "count/pods") return true;
  if (name.startsWith("hugepages-") || name.startsWith("requests.hugepages-")) return true;
  return name.startsWith("requests.") && isExtended(name.slice("requests.".length));
}

/** Whether the pod has terminated, or its grace period has passed: it uses no compute resources. */
function isTerminated({ metadata, status }: any, now: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return false;
  return now > Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

/** The requests and limits that a quota of these names requires and the pod lacks; undefined = none. */
export function missingResources({ spec }: any, names: readonly string[]): string | undefined {
  if (spec.resources?.requests || spec.resources?.limits) return undefined;
  const required = names.filter((name) => requiredResources.has(name)).sort();
  const containers: readonly any[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const missing = required.flatMap((name) => {
    const unset = containers.filter(({ resources = {} }) => {
      const usage = computeUsage(resources.requests ?? {}, resources.limits ?? {});
      return !Object.hasOwn(usage, name);
    });
    const names = [...new Set(unset.map((container) => container.name as string))].sort();
    return names.length > 0 ? [`${name} for: ${names.join(",")}`] : [];
  });
  return missing.length > 0 ? `must specify ${missing.join("; ")}` : undefined;
}

/** Whether a pod has QoS class BestEffort: no requests and limits of CPU and memory. */
export function isBestEffort({ spec }: any): boolean {
  const containers: readonly any[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const isSet = (amounts: Amounts | undefined) =>
    ["cpu", "memory"].some((name) => {
      const amount = amounts && Object.hasOwn(amounts, name) ? amounts[name] : undefined;
      return amount !== undefined && Quantity.parse(amount).sign > 0;
    });
  const allResources = [spec, ...containers].map(({ resources }) => resources ?? {});
  return !allResources.some(({ requests, limits }) => isSet(requests) || isSet(limits));
}
