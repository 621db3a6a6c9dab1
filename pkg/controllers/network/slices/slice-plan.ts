/** Packs the endpoints of a Service into EndpointSlices. */

/** An EndpointSlice to create or update. */
export interface PlannedSlice {
  /** The stored slice; absent = to be created. */
  readonly stored?: EndpointSlice;
  readonly addressType: AddressFamily;
  readonly ports: readonly EndpointPort[];
  readonly labels: Readonly<Record<string, string>>;
  endpoints: Endpoint[];
}

export interface SlicePlan {
  readonly create: PlannedSlice[];
  readonly update: PlannedSlice[];
  readonly delete: EndpointSlice[];
  readonly added: number;
  readonly removed: number;
}

export interface PackingOptions {
  readonly addressType: AddressFamily;
  readonly ports: readonly EndpointPort[];
  /** Labels that every slice should have. */
  readonly labels: Readonly<Record<string, string>>;
  readonly maxEndpoints: number;
  /** Whether the labels of a slice differ from the desired ones. */
  readonly hasOtherLabels: (slice: EndpointSlice) => boolean;
}

/**
 * Packs endpoints into the slices of one set of ports with a minimum of writes: endpoints stay in their
 * slice; new ones go into slices that are updated anyway, the fullest first; the remaining ones into the
 * unchanged slice that they fill best, or into new slices. `desired` is keyed by `endpointKey`.
 */
export function packEndpoints(
  existing: readonly EndpointSlice[],
  desired: ReadonlyMap<string, Endpoint>,
  options: PackingOptions,
): SlicePlan {
  const left = new Map(desired);
  const { addressType, ports, labels, maxEndpoints } = options;
  const planned = (stored: EndpointSlice, endpoints: readonly Endpoint[]): PlannedSlice => ({
    stored,
    addressType,
    ports: stored.ports ?? [],
    labels,
    endpoints: [...endpoints],
  });
  const plan = { create: [] as PlannedSlice[], update: [] as PlannedSlice[] };
  const deleted: EndpointSlice[] = [];
  const unchanged = new Set<EndpointSlice>();
  let removed = 0;
  for (const slice of existing) {
    const kept = keepDesired(slice, left);
    removed += slice.endpoints.length - kept.endpoints.length;
    const isOther = kept.hasChanged || kept.endpoints.length !== slice.endpoints.length;
    if (isOther && kept.endpoints.length === 0) deleted.push(slice);
    else if (isOther) plan.update.push(planned(slice, kept.endpoints));
    else if (options.hasOtherLabels(slice)) plan.update.push(planned(slice, slice.endpoints));
    else unchanged.add(slice);
  }
  const added = left.size;
  const fill = ({ endpoints }: PlannedSlice) => {
    for (const [key, endpoint] of left) {
      if (endpoints.length >= maxEndpoints) return;
      endpoints.push(endpoint);
      left.delete(key);
    }
  };
  plan.update.sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const slice of plan.update) fill(slice);
  while (left.size > 0) {
    const fitting = left.size < maxEndpoints ? bestFit(unchanged, left.size, maxEndpoints) : null;
    const slice: PlannedSlice = fitting
      ? planned(fitting, fitting.endpoints)
      : { addressType, ports, labels, endpoints: [] };
    fill(slice);
    if (fitting) unchanged.delete(fitting);
    (fitting ? plan.update : plan.create).push(slice);
  }
  return { ...plan, delete: deleted, added, removed };
}

/** Endpoints of the slice that are still desired, which it removes from `left`. */
function keepDesired(slice: EndpointSlice, left: Map<string, Endpoint>) {
  const endpoints: Endpoint[] = [];
  let hasChanged = false;
  for (const endpoint of slice.endpoints) {
    const key = endpointKey(endpoint);
    const wanted = left.get(key);
    if (wanted === undefined) continue;
    endpoints.push(wanted);
    hasChanged ||= !isSameEndpoint(wanted, endpoint);
    left.delete(key);
  }
  return { endpoints, hasChanged };
}

/** The slice in which `count` more endpoints leave the least free space. */
function bestFit(
  slices: Iterable<EndpointSlice>,
  count: number,
  maxEndpoints: number,
): EndpointSlice | undefined {
  let best: EndpointSlice | undefined;
  let leastFree = maxEndpoints;
  for (const slice of slices) {
    const free = maxEndpoints - count - slice.endpoints.length;
    if (free < 0 || free >= leastFree) continue;
    leastFree = free;
    best = slice;
  }
  return best;
}

/** Identity of an endpoint: addresses, hostname and target uid. */
export function endpointKey({ addresses, hostname = "", targetRef }: Endpoint): string {
  const { namespace = "", name = "" } = targetRef ?? {};
  return JSON.stringify([[...addresses].sort(), hostname, namespace, name]);
}

/** Whether two endpoints with the same key have equal attributes, ignoring hints. */
export function isSameEndpoint(left: Endpoint, right: Endpoint): boolean {
  const textOf = ({ nodeName, zone, conditions = {}, targetRef }: Endpoint) => {
    const { apiVersion, kind, namespace, name, uid, fieldPath } = targetRef ?? {};
    const { ready, serving, terminating } = conditions;
    const reference = targetRef && [apiVersion, kind, namespace, name, uid, fieldPath];
    return JSON.stringify([nodeName, zone, ready, serving, terminating, reference]);
  };
  return textOf(left) === textOf(right);
}
import type { AddressFamily, Endpoint, EndpointPort, EndpointSlice } from "#kinds";
