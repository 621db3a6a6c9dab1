/** EndpointSlices that mirror Endpoints. */
import { formatIp, ipFamily, parseIp } from "#base";
import type {
  AddressFamily,
  Endpoint,
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSlice,
} from "#kinds";
import { inPortOrder, portsKey } from "../services/port-order.ts";
import { repackSubsets } from "../services/repack-subsets.ts";
import { endpointKey, isSameEndpoint, type PlannedSlice } from "../slices/slice-plan.ts";
import { hasSameEntries, type SliceChanges, withoutLabels } from "../slices/slice-writer.ts";
import type { MirrorCounts } from "./mirroring-metrics.ts";

export interface MirrorOptions {
  /** Maximum number of mirrored addresses per subset. */
  readonly maxPerSubset: number;
  readonly serviceNameLabel: string;
  readonly managedByLabel: string;
  /** Value of the label managed-by. */
  readonly manager: string;
  /** Annotations that slices should have. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Mirrored extends SliceChanges {
  readonly counts: MirrorCounts;
  readonly invalid: number;
  /** Number of endpoints in all slices. */
  readonly endpoints: number;
}

interface Group {
  readonly family: AddressFamily;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

/** Changes that make the slices mirror the Endpoints: one slice per IP family and set of ports. */
export function mirrorEndpoints(
  endpoints: Endpoints,
  existing: readonly EndpointSlice[],
  options: MirrorOptions,
): Mirrored {
  const { groups, invalid, skipped } = groupEndpoints(endpoints, options.maxPerSubset);
  const counts: MirrorCounts = { added: 0, updated: 0, removed: 0, skipped };
  const byGroup = new Map<string, EndpointSlice[]>();
  for (const slice of existing) {
    const key = groupKey(slice.addressType, slice.ports);
    byGroup.set(key, [...(byGroup.get(key) ?? []), slice]);
  }
  const create: PlannedSlice[] = [];
  const update: PlannedSlice[] = [];
  const deleted: EndpointSlice[] = [];
  const labels = {
    ...endpoints.metadata.labels,
    [options.serviceNameLabel]: endpoints.metadata.name,
    [options.managedByLabel]: options.manager,
  };
  let total = 0;
  for (const [key, group] of groups) {
    if (group.endpoints.size === 0) continue;
    total += group.endpoints.size;
    const [stored, ...more] = byGroup.get(key) ?? [];
    byGroup.delete(key);
    deleted.push(...more);
    if (stored !== undefined && isUpToDate(endpoints, stored, { group, options, counts })) continue;
    if (stored === undefined) counts.added += group.endpoints.size;
    const wanted = [...group.endpoints.values()].slice(0, options.maxPerSubset);
    const { family: addressType, ports } = group;
    const common = { addressType, ports, labels, endpoints: wanted };
    if (stored === undefined) create.push(common);
    else update.push({ ...common, stored });
  }
  for (const slices of byGroup.values()) deleted.push(...slices);
  for (const { endpoints: gone } of deleted) counts.removed += gone.length;
  return { create, update, delete: deleted, counts, invalid, endpoints: total };
}

function groupEndpoints({ subsets = [] }: Endpoints, maxPerSubset: number) {
  const groups = new Map<string, Group>();
  let invalid = 0;
  let skipped = 0;
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of repackSubsets(subsets)) {
    const slicePorts = inPortOrder(ports.map(slicePort));
    let added = 0;
    const all = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ];
    for (const { address, ready } of all) {
      if (added >= maxPerSubset) break;
      const endpoint = endpointOf(address, ready);
      if (endpoint === undefined) {
        invalid++;
        continue;
      }
      const family = ipFamily(address.ip);
      const key = groupKey(family, slicePorts);
      const group = groups.get(key) ?? { family, ports: slicePorts, endpoints: new Map() };
      groups.set(key, group);
      group.endpoints.set(endpointKey(endpoint), endpoint);
      added++;
    }
    skipped += all.length - added;
  }
  return { groups, invalid, skipped };
}

function groupKey(family: string, ports: readonly EndpointPort[] | undefined): string {
  return `${family} ${portsKey(ports)}`;
}

function slicePort({ name = "", port, protocol, appProtocol }: EndpointPort): EndpointPort {
  return {
    name,
    ...(port === undefined ? {} : { port }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function endpointOf(
  { ip, hostname = "", nodeName, targetRef }: EndpointAddress,
  ready: boolean,
): Endpoint | undefined {
  const parsed = parseIp(ip);
  if (parsed === undefined) return undefined;
  return {
    addresses: [formatIp(parsed)],
    conditions: { ready },
    ...(hostname === "" ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

/** Whether a slice is up to date with its group; adds the differences to `counts`. */
function isUpToDate(
  { metadata }: Endpoints,
  stored: EndpointSlice,
  {
    group,
    options,
    counts,
  }: { readonly group: Group; readonly options: MirrorOptions; readonly counts: MirrorCounts },
): boolean {
  const { serviceNameLabel, managedByLabel, annotations } = options;
  let matches = 0;
  let updated = 0;
  for (const endpoint of stored.endpoints) {
    const wanted = group.endpoints.get(endpointKey(endpoint));
    if (wanted === undefined) continue;
    matches++;
    if (!isSameEndpoint(wanted, endpoint)) updated++;
  }
  const removed = stored.endpoints.length - matches;
  const added = group.endpoints.size - matches;
  counts.added += added;
  counts.updated += updated;
  counts.removed += removed;
  const reserved = [serviceNameLabel, managedByLabel];
  const owners = stored.metadata.ownerReferences ?? [];
  return (
    added + updated + removed === 0 &&
    hasSameEntries(
      withoutLabels(stored.metadata.labels, reserved),
      withoutLabels(metadata.labels, reserved),
    ) &&
    hasSameEntries(stored.metadata.annotations ?? {}, annotations) &&
    owners.every(({ kind, name, uid }) => {
      const isOfEndpoints = kind === "Endpoints" && name === metadata.name;
      return !isOfEndpoints || uid === metadata.uid;
    })
  );
}
