/** Zone hints of Services with topology-aware routing (`topology-mode: Auto`). */
import type { Endpoint, EndpointSlice } from "#kinds";
import type { PlannedSlice } from "./slice-plan.ts";
import {
  allocateZones,
  isOverloaded,
  type ZoneAllocation,
  type ZoneRatios,
} from "./zone-capacities.ts";

/** An Event about the hints of a Service. */
export interface HintsEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface HintsResult {
  /** Otherwise unchanged slices whose hints changed. */
  readonly changed: readonly PlannedSlice[];
  readonly events: readonly HintsEvent[];
}

export interface HintsInput {
  readonly serviceKey: string;
  readonly addressType: string;
  readonly planned: readonly PlannedSlice[];
  readonly unchanged: readonly EndpointSlice[];
  readonly plan: (slice: EndpointSlice) => PlannedSlice;
}

type Allocations = ReadonlyMap<string, ZoneAllocation>;

/** Zone hints by Service and address type, from the CPU shares of the zones. */
export class TopologyHints {
  private ratios: ZoneRatios | undefined;
  private readonly given = new Map<string, Map<string, ReadonlyMap<string, number>>>();
  private readonly populated = new Set<string>();

  /** Sets new zone shares; returns the keys of Services whose hints now overload a zone. */
  setRatios(ratios: ZoneRatios | undefined): readonly string[] {
    this.ratios = ratios;
    return [...this.given].flatMap(([key, byType]) =>
      [...byType.values()].some((zones) => isOverloaded(zones, ratios)) ? [key] : [],
    );
  }

  /** Drops the hints of a Service for an address type; returns whether there were any. */
  remove(serviceKey: string, addressType: string): boolean {
    const byType = this.given.get(serviceKey);
    byType?.delete(addressType);
    if (byType?.size === 0) this.given.delete(serviceKey);
    return this.populated.delete(serviceKey);
  }

  forget(serviceKey: string): void {
    this.given.delete(serviceKey);
    this.populated.delete(serviceKey);
  }

  /** Sets hints so that each zone gets its share; if impossible, removes them with an Event. */
  add(input: HintsInput): HintsResult {
    const { planned, unchanged, serviceKey, addressType } = input;
    const endpoints = [...planned, ...unchanged].flatMap((slice) => slice.endpoints);
    const ready = endpoints.filter(isReadyEndpoint);
    const allocations = allocateZones(this.ratios, ready.length);
    if (typeof allocations === "string") return this.disable(input, allocations);
    const counts = new Map<string, number>();
    const changed = unchanged.filter((slice) => !takeHints(slice, allocations, counts));
    const plannedChanges = changed.map(input.plan);
    const open = [...planned, ...plannedChanges];
    const hinted = open.flatMap((slice) => slice.endpoints).filter(isReadyEndpoint);
    if (hinted.some(({ zone = "" }) => zone === "")) {
      return this.disable(input, "One or more endpoints do not have a zone specified");
    }
    for (const { zone = "" } of hinted) add(counts, zone, 1);
    redistribute(open, surplusAndNeed(allocations, counts), counts);
    const isNew = !this.populated.has(serviceKey);
    const byType = this.given.get(serviceKey) ?? new Map<string, ReadonlyMap<string, number>>();
    this.given.set(serviceKey, byType.set(addressType, counts));
    this.populated.add(serviceKey);
    const message = `Topology Aware Hints has been enabled, addressType: ${addressType}`;
    const event = { type: "Normal", reason: "TopologyAwareHintsEnabled", message } as const;
    return { changed: plannedChanges, events: isNew ? [event] : [] };
  }

  private disable(input: HintsInput, reason: string): HintsResult {
    const { serviceKey, addressType } = input;
    this.remove(serviceKey, addressType);
    return { changed: removeHints(input), events: [disabledEvent(reason, addressType)] };
  }
}

export function disabledEvent(why: string, addressType: string): HintsEvent {
  const message = `${why}, addressType: ${addressType}`;
  return { type: "Warning", reason: "TopologyAwareHintsDisabled", message };
}

/** Removes the hints of all endpoints; returns the otherwise unchanged slices that had any. */
export function removeHints({
  planned,
  unchanged,
  plan,
}: Pick<HintsInput, "planned" | "unchanged" | "plan">): readonly PlannedSlice[] {
  const hinted = unchanged.filter(({ endpoints }) => endpoints.some(({ hints }) => hints));
  const changed = hinted.map(plan);
  for (const slice of [...planned, ...changed]) {
    slice.endpoints = slice.endpoints.map(({ hints: _hints, ...rest }) => rest);
  }
  return changed;
}

function isReadyEndpoint({ conditions }: Endpoint): boolean {
  return conditions?.ready === true;
}

function add(counts: Map<string, number>, zone: string, count: number): void {
  counts.set(zone, (counts.get(zone) ?? 0) + count);
}

/** Counts the hints of an unchanged slice; returns whether the slice may keep them. */
function takeHints(
  { endpoints }: EndpointSlice,
  allocations: Allocations,
  counts: Map<string, number>,
): boolean {
  const own = new Map<string, number>();
  for (const endpoint of endpoints.filter(isReadyEndpoint)) {
    const zones = endpoint.hints?.forZones ?? [];
    if (zones.length === 0 || zones.some(({ name }) => !allocations.has(name))) return false;
    for (const { name } of zones) add(own, name, 1);
  }
  for (const [zone, count] of own) {
    if (count + (counts.get(zone) ?? 0) > (allocations.get(zone)?.maximum ?? 0)) return false;
  }
  for (const [zone, count] of own) add(counts, zone, count);
  return true;
}

interface Balance {
  /** Number of endpoints that each zone gives to others. */
  readonly giving: Map<string, number>;
  readonly receiving: Map<string, number>;
}

function surplusAndNeed(allocations: Allocations, counts: ReadonlyMap<string, number>): Balance {
  const surplus = new Map<string, number>();
  const need = new Map<string, number>();
  for (const [zone, { desired }] of allocations) {
    const difference = (counts.get(zone) ?? 0) - desired;
    if (difference > 0) surplus.set(zone, difference);
    else if (difference < 0) need.set(zone, -difference);
  }
  const balance: Balance = { giving: new Map(), receiving: new Map() };
  for (;;) {
    const [giver, give] = largest(surplus);
    const [receiver, receive] = largest(need);
    if (give < 0.5 || receive < 0.5 || (give < 1 && receive < 1)) return balance;
    add(balance.giving, giver, 1);
    add(balance.receiving, receiver, 1);
    surplus.set(giver, give - 1);
    need.set(receiver, receive - 1);
  }
}

function largest(zones: ReadonlyMap<string, number>): readonly [zone: string, amount: number] {
  let best: readonly [string, number] = ["", 0];
  for (const each of zones) if (each[1] > best[1]) best = each;
  return best;
}

/** Sets the hint of each ready endpoint to its own zone, or to a zone that needs more. */
function redistribute(
  slices: readonly PlannedSlice[],
  { giving, receiving }: Balance,
  counts: Map<string, number>,
): void {
  const hintOf = (zone: string): string => {
    const left = giving.get(zone) ?? 0;
    const [receiver] = [...receiving].find(([, count]) => count > 0) ?? [];
    if (left === 0 || receiver === undefined) return zone;
    giving.set(zone, left - 1);
    add(receiving, receiver, -1);
    add(counts, zone, -1);
    add(counts, receiver, 1);
    return receiver;
  };
  for (const slice of slices) {
    slice.endpoints = slice.endpoints.map((endpoint) => {
      const { hints: _hints, ...rest } = endpoint;
      if (!isReadyEndpoint(endpoint)) return rest;
      return { ...rest, hints: { forZones: [{ name: hintOf(endpoint.zone ?? "") }] } };
    });
  }
}
