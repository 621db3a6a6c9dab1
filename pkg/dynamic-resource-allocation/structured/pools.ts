/** Device pools accessible from a node. */
import type { ApiObject } from "#client";
import type { Device, NodeReach, NodeSelector, ResourceSlice } from "#kinds";
import { deviceIdOf } from "./state.ts";

/** Whether a node matches a node selector. */
export type NodeMatcher = (selector: NodeSelector, node: ApiObject) => boolean;

/** A pool of devices, as far as it is accessible from a node. */
export interface Pool {
  /** `driver/pool` */
  readonly name: string;
  readonly slices: readonly ResourceSlice[];
  /** Whether slices of the newest generation are missing. */
  readonly isIncomplete: boolean;
  /** Reason why the pool is invalid; undefined = valid. */
  readonly invalidReason: string | undefined;
  /** Accessible devices in search order. */
  readonly candidates: readonly Candidate[];
}

/** An accessible device with its slice and pool. */
export interface Candidate {
  readonly id: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  readonly pool: Pool;
}

interface PoolSlices {
  readonly name: string;
  readonly generation: bigint;
  readonly slices: ResourceSlice[];
}

/** Groups the slices accessible from the node into pools, each with its newest generation only. */
export function gatherPools(
  slices: readonly ResourceSlice[],
  node: ApiObject,
  options: { readonly perDevice: boolean; readonly matches: NodeMatcher },
): readonly Pool[] {
  const pools = new Map<string, PoolSlices>();
  for (const slice of slices) {
    if (isAccessible(slice, node, options)) addSlice(pools, slice);
  }
  return [...pools.values()].map(poolOf);
}

/** Cached pools of a single slice; slices are immutable. */
const singleSlicePools = new WeakMap<ResourceSlice, Pool>();

function poolOf({ name, slices }: PoolSlices): Pool {
  const [first] = slices;
  const known = slices.length === 1 ? singleSlicePools.get(first!) : undefined;
  if (known !== undefined) return known;
  const candidates: Candidate[] = [];
  const pool = {
    name,
    slices,
    isIncomplete: BigInt(slices.length) !== BigInt(first!.spec.pool.resourceSliceCount),
    invalidReason: invalidReason(slices),
    candidates,
  };
  for (const slice of slices) {
    const { driver, pool: published, devices } = slice.spec;
    for (const device of devices ?? []) {
      const id = deviceIdOf({ driver, pool: published.name, device: device.name });
      candidates.push({ id, device, slice, pool });
    }
  }
  if (slices.length === 1) singleSlicePools.set(first!, pool);
  return pool;
}

/** Whether the device is accessible from the node, by its own node selection or that of the slice. */
export function isDeviceAccessible(
  { device, slice }: Pick<Candidate, "device" | "slice">,
  node: ApiObject,
  matches: NodeMatcher,
): boolean {
  return slice.spec.perDeviceNodeSelection !== true || includesNode(device, node, matches);
}

/** Whether a device of the slice is accessible from the node. */
function isAccessible(
  { spec }: ResourceSlice,
  node: ApiObject,
  { perDevice, matches }: { readonly perDevice: boolean; readonly matches: NodeMatcher },
): boolean {
  if (!perDevice && spec.perDeviceNodeSelection !== undefined) return false;
  if (spec.perDeviceNodeSelection !== true) return includesNode(spec, node, matches);
  return (spec.devices ?? []).some((device) => includesNode(device, node, matches));
}

function includesNode(reach: NodeReach, node: ApiObject, matches: NodeMatcher): boolean {
  const { nodeName, allNodes, nodeSelector } = reach;
  if (nodeName) return nodeName === node.metadata.name;
  if (allNodes === true) return true;
  return nodeSelector !== undefined && matches(nodeSelector, node);
}

function addSlice(pools: Map<string, PoolSlices>, slice: ResourceSlice): void {
  const { driver, pool } = slice.spec;
  const name = `${driver}/${pool.name}`;
  const generation = BigInt(pool.generation);
  const known = pools.get(name);
  if (known === undefined || generation > known.generation) {
    pools.set(name, { name, generation, slices: [slice] });
  } else if (generation === known.generation) known.slices.push(slice);
}

function invalidReason(slices: readonly ResourceSlice[]): string | undefined {
  const names = new Set<string>();
  for (const { spec } of slices) {
    for (const { name } of spec.devices ?? []) {
      if (names.has(name)) return `duplicate device name ${name}`;
      names.add(name);
    }
  }
  return undefined;
}

/** Devices of the pools in search order. */
export function candidatesOf(pools: readonly Pool[]): readonly Candidate[] {
  return pools.length === 1 ? pools[0]!.candidates : pools.flatMap(({ candidates }) => candidates);
}
