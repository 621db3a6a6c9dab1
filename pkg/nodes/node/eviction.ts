/** Node-pressure eviction: ranking of pods and messages, as in the kubelet. */
import { type Node, type Pod, priorityOf } from "#kinds";
import { type Domain, Quantity } from "#meta";
import { isCriticalPod } from "../admission/critical-pods.ts";
import { annotationOf } from "../annotations.ts";
import { isMeasured, podUsage } from "../usage/container-usage.ts";
import type { UnhealthyCondition } from "./node-status.ts";

/** A resource of which a node has less than its hard eviction threshold. */
export interface Starvation {
  readonly resource: "memory" | "ephemeral-storage";
  readonly trouble: UnhealthyCondition;
  readonly threshold: Quantity;
  readonly available: Quantity;
}

/** Resources below their threshold by the annotations `available-memory` and `available-disk` of a node. */
export function starvedResources(node: Node): readonly Starvation[] {
  const { memory, "ephemeral-storage": disk } = node.status?.capacity ?? {};
  const found: Starvation[] = [];
  const check = (name: string, starvation: Omit<Starvation, "available">) => {
    const available = quantityOf(annotationOf(node, name));
    if (available === undefined || available.compare(starvation.threshold) >= 0) return;
    found.push({ ...starvation, available });
  };
  if (memory !== undefined) {
    const threshold = Quantity.parse("100Mi");
    check("available-memory", { resource: "memory", trouble: "MemoryPressure", threshold });
  }
  if (disk !== undefined) {
    const tenth = Quantity.parse(String(Quantity.parse(disk).value() / 10n));
    const resource = "ephemeral-storage";
    check("available-disk", { resource, trouble: "DiskPressure", threshold: tenth });
  }
  return found;
}

function quantityOf(text: string | undefined): Quantity | undefined {
  if (text === undefined) return undefined;
  try {
    return Quantity.parse(text);
  } catch {
    return undefined;
  }
}

interface Ranked {
  readonly pod: Pod;
  /** Usage in bytes above the request. */
  readonly excess: number;
}

/**
 * The pod to evict next: pods above their request first, then by priority, then by usage above the request.
 * Undefined = only critical pods remain.
 */
export function podToEvict(
  pods: readonly Pod[],
  starvation: Starvation,
  moment: { readonly domain: Domain; readonly now: number },
): { readonly pod: Pod; readonly message: string } | undefined {
  const ranked = pods
    .filter((pod) => isMeasured(pod) && !isCriticalPod(pod, moment.domain))
    .map((pod): Ranked => ({ pod, excess: excessOf(pod, starvation, moment) }))
    .sort(
      (left, right) =>
        Number(right.excess > 0) - Number(left.excess > 0) ||
        priorityOf(left.pod) - priorityOf(right.pod) ||
        right.excess - left.excess ||
        (left.pod.metadata.name < right.pod.metadata.name ? -1 : 1),
    );
  const pod = ranked[0]?.pod;
  return pod && { pod, message: messageFor(pod, starvation, moment) };
}

function excessOf(
  pod: Pod,
  { resource }: Starvation,
  moment: { readonly domain: Domain; readonly now: number },
): number {
  // Disk usage is not simulated: pods are ranked by their requests.
  const used = resource === "memory" ? podUsage(pod, moment) : [];
  const requested = (pod.spec?.containers ?? []).reduce(
    (sum, { resources }) => sum + Quantity.parse(resources?.requests?.[resource] ?? "0").toNumber(),
    0,
  );
  return used.reduce((sum, { memory }) => sum + memory, 0) - requested;
}

function messageFor(
  pod: Pod,
  { resource, threshold, available }: Starvation,
  moment: { readonly domain: Domain; readonly now: number },
): string {
  const head =
    `The node was low on resource: ${resource}. Threshold quantity: ${threshold.canonical()}, ` +
    `available: ${available.canonical()}. `;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const details = (resource === "memory" ? podUsage(pod, moment) : []).map(({ name, memory }) => {
    const container = [...containers, ...initContainers].find((each) => each.name === name);
    const request = container?.resources?.requests?.[resource] ?? "0";
    if (memory <= Quantity.parse(request).toNumber()) return "";
    const usage = Quantity.parse(`${Math.ceil(memory / 1024)}Ki`).toString();
    return (
      `Container ${name} was using ${usage}, request is ${request}, has larger consumption of ` +
      `${resource}. `
    );
  });
  return `${head}${details.join("")}`;
}
