import { kubernetes, Quantity } from "#meta";
import { type Amounts, plus } from "./amounts.ts";
import { allocatedPodTotal, type ResourceField } from "./pod-resources.ts";

/** Quota usage of pods. */

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

export function podUsage(pod: any, now: number): Amounts {
  const counted: Amounts = { "count/pods": "1" };
  if (isOver(pod, now)) return counted;
  const overhead: Amounts = pod.spec.overhead ?? {};
  const requests = plus(effective(pod, "requests"), overhead);
  const limits = effective(pod, "limits");
  // Overhead counts only towards limits that exist.
  const known = Object.keys(limits).filter((name) => Object.hasOwn(overhead, name));
  const extra = Object.fromEntries(known.map((name) => [name, overhead[name]!]));
  return { ...counted, ...computeUsage(requests, plus(limits, extra)) };
}

/** Pod-level resources replace the sums of the containers. */
function effective(pod: any, field: ResourceField): Amounts {
  return { ...allocatedPodTotal(pod, field), ...pod.spec.resources?.[field] };
}

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
  const plain = name.replace(/^(requests|limits)\./, "");
  if (compute.includes(plain)) return true;
  if (name === "pods" || name === "count/pods") return true;
  if (name.startsWith("hugepages-") || name.startsWith("requests.hugepages-")) return true;
  return name.startsWith("requests.") && isExtended(name.slice("requests.".length));
}

/** Whether the pod has terminated, or its grace period has passed: it uses no compute resources. */
function isOver({ metadata, status }: any, now: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return false;
  return now > Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

/** The requests and limits that a quota of these names requires and the pod lacks; undefined = none. */
export function missingResources({ spec }: any, names: readonly string[]): string | undefined {
  if (spec.resources?.requests || spec.resources?.limits) return undefined;
  const required = names.filter((name) => requiredResources.has(name)).sort();
  const all: readonly any[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const missing = required.flatMap((name) => {
    const unset = all.filter(({ resources = {} }) => {
      const usage = computeUsage(resources.requests ?? {}, resources.limits ?? {});
      return !Object.hasOwn(usage, name);
    });
    const containers = [...new Set(unset.map((container) => container.name as string))].sort();
    return containers.length > 0 ? [`${name} for: ${containers.join(",")}`] : [];
  });
  return missing.length > 0 ? `must specify ${missing.join("; ")}` : undefined;
}

/** True for a pod without requests and limits of CPU and memory: QoS class BestEffort. */
export function isBestEffort({ spec }: any): boolean {
  const all: readonly any[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const isSet = (amounts: Amounts | undefined) =>
    ["cpu", "memory"].some((name) => {
      const amount = amounts && Object.hasOwn(amounts, name) ? amounts[name] : undefined;
      return amount !== undefined && Quantity.parse(amount).sign > 0;
    });
  const each = [spec, ...all].map(({ resources }) => resources ?? {});
  return !each.some(({ requests, limits }) => isSet(requests) || isSet(limits));
}
