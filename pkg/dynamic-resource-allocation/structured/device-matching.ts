import type { Candidate } from "./pools.ts";
import { AllocationFault, type PreparedRequest } from "./requests.ts";

/** State of devices at the start of the search. */
interface DeviceState {
  readonly isFree: (candidate: Candidate) => boolean;
  readonly isShared: (candidate: Candidate) => boolean;
}

/**
 * Necessary condition: whether distinct devices exist for all needed ones, by maximum bipartite matching in
 * polynomial time. Ignores requests with alternatives or admin access. False = no solution exists.
 */
export function* hasEnoughDevices(
  requests: readonly (readonly PreparedRequest[])[],
  candidates: readonly Candidate[],
  { isFree, isShared }: DeviceState,
): Generator<void, boolean> {
  const slots: (readonly number[])[] = [];
  for (const alternatives of requests) {
    const [request] = alternatives;
    if (request === undefined || alternatives.length > 1 || request.isAdmin) continue;
    const matching: number[] = [];
    for (const [position, candidate] of candidates.entries()) {
      if (position % 64 === 0) yield;
      try {
        if (!isFree(candidate) || !request.matches(position)) continue;
      } catch (error) {
        // The search reports the error if it reaches this device.
        if (error instanceof AllocationFault) return true;
        throw error;
      }
      if (isShared(candidate)) return true;
      matching.push(position);
    }
    if (matching.length < request.count) return false;
    for (let index = 0; index < request.count; index++) slots.push(matching);
  }
  return yield* canMatchAll(slots);
}

/** Whether all slots can be matched to distinct positions (Kuhn's algorithm). */
function* canMatchAll(slots: readonly (readonly number[])[]): Generator<void, boolean> {
  /** Slot by position. */
  const slotAt = new Map<number, number>();
  for (const slot of slots.keys()) {
    yield;
    if (!assign(slots, slotAt, slot, new Set())) return false;
  }
  return true;
}

/** Assigns a position to the slot, moving other slots to other positions if necessary. */
function assign(
  slots: readonly (readonly number[])[],
  slotAt: Map<number, number>,
  slot: number,
  tried: Set<number>,
): boolean {
  for (const position of slots[slot]!) {
    if (tried.has(position)) continue;
    tried.add(position);
    const occupant = slotAt.get(position);
    if (occupant !== undefined && !assign(slots, slotAt, occupant, tried)) continue;
    slotAt.set(position, slot);
    return true;
  }
  return false;
}
