import { setBounded } from "#base";
import type { Container, Pod } from "#kinds";
import { Quantity } from "#meta";
import { allocatedPodTotal, type Amounts, plus } from "#quota";

/** Amounts in the units in which the scheduler counts: thousandths of a CPU, bytes, pieces. */
export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources, huge pages and attachable volumes by name. */
  scalars: ReadonlyMap<string, number>;
}

/** Most pods and nodes have none: they share this map. */
const noScalars: ReadonlyMap<string, number> = new Map();

/** Requests of containers that state none, for scores only. */
const defaultRequests: Amounts = { cpu: "100m", memory: "200Mi" };

const mostRemembered = 4_096;
const parsed = new Map<string, Quantity>();

function quantityOf(text: string): Quantity {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const quantity = Quantity.parse(text);
  setBounded(parsed, [text, quantity], mostRemembered);
  return quantity;
}

export function noResources(): Resources {
  return { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalars: noScalars };
}

/** Whether the resource is neither CPU, memory nor ephemeral storage, but counted in pieces. */
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

/** Adds `other` times `sign`. */
export function addResources(sum: Resources, other: Resources, sign: 1 | -1): void {
  sum.milliCpu += sign * other.milliCpu;
  sum.memory += sign * other.memory;
  sum.ephemeralStorage += sign * other.ephemeralStorage;
  for (const [name, amount] of other.scalars) {
    sum.scalars = withCount(sum.scalars, name, (sum.scalars.get(name) ?? 0) + sign * amount);
  }
}

/** A copy of a small map in which `name` has another count. */
function withCount(
  counts: ReadonlyMap<string, number>,
  name: string,
  count: number,
): ReadonlyMap<string, number> {
  return new Map(counts).set(name, count);
}

export interface PodResources {
  readonly requests: Resources;
  /** Requests in which containers without a request count as 100m and 200Mi; for scores. */
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
}

/**
 * Resources that the pod needs on its node: containers, sidecars and init containers (in a resize,
 * what the node has allocated), replaced by pod-level requests, plus overhead.
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
