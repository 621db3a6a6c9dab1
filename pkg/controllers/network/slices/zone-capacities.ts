/** CPU shares of zones, for topology hints. */
import type { Node } from "#kinds";
import { type Domain, Quantity, resolve } from "#meta";

export type ZoneRatios = ReadonlyMap<string, number>;

/** Maximum overload of an endpoint by hints, relative to its share. */
const overload = 0.2;

/** Desired number of endpoints of a zone. */
export interface ZoneAllocation {
  readonly desired: number;
  readonly maximum: number;
}

/**
 * Share of each zone in the allocatable CPU of ready nodes, without control plane nodes; undefined with
 * fewer than two zones, or if a node lacks its zone or CPU.
 */
export function zoneRatios(nodes: Iterable<Node>, domain: Domain): ZoneRatios | undefined {
  const zoneLabel = resolve("topology.{label}/zone", domain);
  const excluded = ["control-plane", "master"].map((role) =>
    resolve(`node-role.{label}/${role}`, domain),
  );
  const cpus = new Map<string, bigint>();
  let total = 0n;
  for (const node of nodes) {
    const { labels = {} } = node.metadata;
    if (excluded.some((label) => Object.hasOwn(labels, label)) || !isReadyNode(node)) continue;
    const zone = labels[zoneLabel] ?? "";
    const cpu = Quantity.parse(node.status?.allocatable?.["cpu"] ?? "0").milliValue();
    if (zone === "" || cpu === 0n) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0n) + cpu);
    total += cpu;
  }
  if (cpus.size < 2) return undefined;
  const zones = [...cpus].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(zones.map(([zone, cpu]) => [zone, Number(cpu) / Number(total)]));
}

export function isReadyNode({ status }: Node): boolean {
  return (
    status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false
  );
}

/** Minimum number of endpoints of a zone that does not overload them. */
function minimumOf(ratio: number, endpoints: number): number {
  return Math.ceil((ratio * endpoints) / (1 + overload));
}

/** Allocations by zone; a string = reason why there are none. */
export function allocateZones(
  ratios: ZoneRatios | undefined,
  endpoints: number,
): ReadonlyMap<string, ZoneAllocation> | string {
  if (ratios === undefined) {
    return "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
  }
  const counts = `(${endpoints} endpoints, ${ratios.size} zones)`;
  if (ratios.size > endpoints) return `Insufficient number of endpoints ${counts}`;
  const minimums = [...ratios].map(([zone, ratio]) => {
    const minimum = minimumOf(ratio, endpoints);
    return { zone, minimum, desired: Math.max(ratio * endpoints, minimum) };
  });
  const least = minimums.reduce((sum, { minimum }) => sum + minimum, 0);
  if (least > endpoints) {
    return (
      "Unable to allocate minimum required endpoints to each zone without exceeding overload " +
      `threshold ${counts}`
    );
  }
  return new Map(
    minimums.map(({ zone, minimum, desired }) => {
      return [zone, { desired, maximum: minimum + endpoints - least }];
    }),
  );
}

/** Whether some zone has too few endpoints for its share. */
export function isOverloaded(
  endpointsByZone: ReadonlyMap<string, number>,
  ratios: ZoneRatios | undefined,
): boolean {
  if (endpointsByZone.size === 0) return false;
  if (ratios === undefined) return true;
  const total = [...endpointsByZone.values()].reduce((sum, count) => sum + count, 0);
  return [...ratios].some(([zone, ratio]) => {
    const count = endpointsByZone.get(zone);
    return count === undefined || count < minimumOf(ratio, total);
  });
}
