import { setBounded } from "#base";
import type { Container, Pod } from "#kinds";
import { Quantity } from "#meta";
import { allocatedPodTotal, type Amounts, plus } from "#quota";

/** Resource amounts in the scheduler's units: millicores, bytes, counts. */
export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources, huge pages and attachable volumes by name. */
  scalars: ReadonlyMap<string, number>;
}

/** Shared by all pods and nodes without scalar resources. */
const noScalars: ReadonlyMap<string, number> = new Map();

/** Default requests of containers without any, for scores only. */
const defaultRequests: Amounts = { cpu: "100m", memory: "200Mi" };

const maxCached = 4_096;
const parsed = new Map<string, Quantity>();

function quantityOf(text: string): Quantity {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const quantity = Quantity.parse(text);
  setBounded(parsed, [text, quantity], maxCached);
  return quantity;
}

export function noResources(): Resources {
  return { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalars: noScalars };
}

/** Whether a resource is scalar: extended, huge pages or attachable volumes. */
export function isScalarResource(name: string): boolean {
  return (
    name.includes("/") || name.startsWith("hugepages-") || name.startsWith("attachable-volumes-")
  );
}

export function resourcesOf(amounts: Amounts): Resources {
  const result = noResources();
  for (const [name, text] of Object.entries(amounts)) {
    const quantity = quantityOf(text);
    if (name === "cpu") result.milliCpu = Number(quantity.milliValue());
    else if (name === "memory") result.memory = Number(quantity.value());
    else if (name === "ephemeral-storage") result.ephemeralStorage = Number(quantity.value());
    else if (isScalarResource(name)) {
      result.scalars = withCount(result.scalars, name, Number(quantity.value()));
    }
  }
  return result;
}

export function countOf(amounts: Amounts | undefined, name: string): number {
  const text = amounts?.[name];
  return text === undefined ? 0 : Number(quantityOf(text).value());
}

/** Adds `sign` times `other` to `sum`. */
export function addResources(sum: Resources, other: Resources, sign: 1 | -1): void {
  sum.milliCpu += sign * other.milliCpu;
  sum.memory += sign * other.memory;
  sum.ephemeralStorage += sign * other.ephemeralStorage;
  for (const [name, amount] of other.scalars) {
    sum.scalars = withCount(sum.scalars, name, (sum.scalars.get(name) ?? 0) + sign * amount);
  }
}

/** Copies a small map with another count of `name`. */
function withCount(
  counts: ReadonlyMap<string, number>,
  name: string,
  count: number,
): ReadonlyMap<string, number> {
  return new Map(counts).set(name, count);
}

export interface PodResources {
  readonly requests: Resources;
  /** Requests with defaults (100m, 200Mi) for containers without any; for scores. */
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
}

/**
 * Effective resource requests of a pod: containers, sidecars and init containers (during a resize the
 * allocated amounts), overridden by pod-level requests, plus overhead.
 */
export function podResources(pod: Pod): PodResources {
  const requests = resourcesOf(podRequests(pod));
  if (requests.milliCpu > 0 && requests.memory > 0 && hasNoMissingRequests(pod)) {
    return { requests, nonZeroMilliCpu: requests.milliCpu, nonZeroMemory: requests.memory };
  }
  const nonZero = resourcesOf(podRequests(withDefaults(pod)));
  return { requests, nonZeroMilliCpu: nonZero.milliCpu, nonZeroMemory: nonZero.memory };
}

function podRequests(pod: Pod): Amounts {
  const { spec = {} } = pod;
  let total = allocatedPodTotal(pod, "requests");
  const ofPod = Object.entries(spec.resources?.requests ?? {}).filter(
    ([name]) => name === "cpu" || name === "memory" || name.startsWith("hugepages-"),
  );
  if (ofPod.length > 0) total = { ...total, ...Object.fromEntries(ofPod) };
  return spec.overhead === undefined ? total : plus(total, spec.overhead);
}

function hasNoMissingRequests({ spec = {} }: Pod): boolean {
  const isComplete = ({ resources }: Container) =>
    resources?.requests?.["cpu"] !== undefined && resources.requests["memory"] !== undefined;
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].every(isComplete);
}

function withDefaults(pod: Pod): Pod {
  const { spec = {} } = pod;
  const filled = (container: Container): Container => {
    const requests = { ...defaultRequests, ...container.resources?.requests };
    return { ...container, resources: { ...container.resources, requests } };
  };
  const containers = (spec.containers ?? []).map(filled);
  const initContainers = (spec.initContainers ?? []).map(filled);
  return { ...pod, spec: { ...spec, containers, initContainers } };
}
