import { Quantity } from "#meta";
import { type AllocatedDevice, toleratesTaint } from "#kinds";
import { consumedCapacity, hasCapacity } from "./capacity.ts";
import type { Constraint } from "./constraints.ts";
import { type AvailableCounters, ConsumedCounters } from "./counters.ts";
import { hasEnoughDevices } from "./device-matching.ts";
import type { Candidate } from "./pools.ts";
import { AllocationFault, maxDevices, type PreparedRequest } from "./requests.ts";
import type { Chosen } from "./results.ts";
import { addAmount, type AllocatedState, type AllocatorFeatures, type Amounts } from "./state.ts";

/** A claim with its prepared requests and constraints. */
export interface SearchedClaim {
  /** Alternatives of each request, one of which is selected. */
  readonly requests: readonly (readonly PreparedRequest[])[];
  readonly constraints: readonly Constraint[];
}

export interface SearchOptions {
  readonly features: AllocatorFeatures;
  readonly allocated: AllocatedState;
  readonly candidates: readonly Candidate[];
  readonly counters: AvailableCounters;
  readonly claims: readonly SearchedClaim[];
  readonly newShareId: () => string;
}

/** Solution for one claim: the selected alternative of each request, and the devices. */
export interface Solution {
  readonly requests: readonly PreparedRequest[];
  readonly chosen: readonly Chosen[];
}

/**
 * `exceeded`: too many devices for the claim; backtracking over devices of earlier requests does not help.
 * `hopeless`: no solution exists.
 */
type Outcome = "done" | "none" | "exceeded" | "hopeless";

/** Solution so far of one claim. */
interface Draft {
  readonly requests: PreparedRequest[];
  readonly chosen: (Chosen & { readonly consumed: ReadonlyMap<string, Quantity> | undefined })[];
}

/** Number of steps between two yields. */
const stepsPerYield = 64;
/** Step at which a search is checked for a lack of devices, which backtracking detects slowly. */
const matchingStep = 256;

/** One backtracking search over requests, devices and candidates in order. */
export class Search {
  private readonly drafts: readonly Draft[];
  /** Indexes of the claims to which this search has allocated a device, by device. */
  private readonly holders = new Map<string, Set<number>>();
  /** Capacity that this search has consumed, by device. */
  private readonly consumed = new Map<string, Amounts>();
  private readonly counters: ConsumedCounters;
  private steps = 0;

  constructor(private readonly options: SearchOptions) {
    this.drafts = options.claims.map(() => ({ requests: [], chosen: [] }));
    this.counters = new ConsumedCounters(options.counters);
  }

  /** Searches for the first solution; undefined = none. */
  *run(): Generator<void, readonly Solution[] | undefined> {
    const outcome = yield* this.request(0, 0);
    return outcome === "done" ? this.drafts : undefined;
  }

  /** Satisfies request `at` of a claim, and then all following requests and claims. */
  private *request(claim: number, at: number): Generator<void, Outcome> {
    const { claims } = this.options;
    const requests = claims[claim]?.requests;
    if (requests === undefined) return "done";
    const alternatives = requests[at];
    if (alternatives === undefined) {
      const outcome = yield* this.request(claim + 1, 0);
      return outcome === "exceeded" ? "none" : outcome;
    }
    let isExceeded = true;
    for (const request of alternatives) {
      this.drafts[claim]!.requests[at] = request;
      const outcome = yield* this.device(claim, request, { at, index: 0, from: 0 });
      if (outcome === "exceeded") continue;
      if (outcome !== "none") return outcome;
      isExceeded = false;
    }
    return isExceeded ? "exceeded" : "none";
  }

  /**
   * Selects device `index` of a request and all following ones. Devices of a request are selected in
   * ascending order, since permutations are equivalent.
   */
  private *device(
    claim: number,
    request: PreparedRequest,
    step: { readonly at: number; readonly index: number; readonly from: number },
  ): Generator<void, Outcome> {
    const { at, index, from } = step;
    if (++this.steps % stepsPerYield === 0) yield;
    if (this.steps === matchingStep && !(yield* this.hasEnoughDevices())) return "hopeless";
    if (request.all?.length === 0) return "none";
    if (index >= request.count) return yield* this.request(claim, at + 1);
    const { chosen } = this.drafts[claim]!;
    if (chosen.length + request.count - index > maxDevices) return "exceeded";
    const { candidates } = this.options;
    const start = request.all === undefined ? from : request.all[index]!;
    const end = request.all === undefined ? candidates.length : start + 1;
    for (let position = start; position < end; position++) {
      if (!this.isEligible(claim, request, position)) continue;
      const candidate = candidates[position]!;
      if (!this.add(claim, request, candidate)) continue;
      const next = this.isShared(candidate) ? position : position + 1;
      const outcome = yield* this.device(claim, request, { at, index: index + 1, from: next });
      if (outcome === "done") return outcome;
      this.remove(claim, request);
      if (outcome !== "none") return outcome;
    }
    return "none";
  }

  /** Whether the device is available for the request and matches it. */
  private isEligible(claim: number, request: PreparedRequest, position: number): boolean {
    const candidate = this.options.candidates[position]!;
    const { pool, slice } = candidate;
    if (pool.invalidReason !== undefined) {
      const name = slice.spec.pool.name;
      throw new AllocationFault(`pool ${name} is invalid: ${pool.invalidReason}`);
    }
    return !this.isInUse(claim, request, candidate) && request.matches(position);
  }

  private isInUse(claim: number, { isAdmin }: PreparedRequest, candidate: Candidate): boolean {
    const holders = this.holders.get(candidate.id);
    if (isAdmin) return holders?.has(claim) === true;
    return this.options.allocated.has(candidate.id) || (holders?.size ?? 0) > 0;
  }

  private isShared({ device }: Candidate): boolean {
    return this.options.features.consumableCapacity && device.allowMultipleAllocations === true;
  }

  /** Adds the device unless taints, capacity, counters or constraints forbid it. */
  private add(claim: number, request: PreparedRequest, candidate: Candidate): boolean {
    const { features, claims, allocated, newShareId } = this.options;
    const { device, slice, id } = candidate;
    const { taints = [], consumesCounters = [] } = device;
    if (features.deviceTaints && !taints.every((taint) => tolerates(request, taint))) return false;
    const usesCounters = consumesCounters.length > 0;
    if (usesCounters && !features.partitionableDevices) return false;
    const isShared = this.isShared(candidate);
    const inUse = [allocated.consumedOf(id), this.consumed.get(id)];
    if (features.consumableCapacity && !hasCapacity(device, request.demand, inUse)) return false;
    if (!this.constrain(claims[claim]!.constraints, request, candidate)) return false;
    if (usesCounters && !this.counters.add(device, slice)) {
      for (const each of claims[claim]!.constraints) each.remove(request.name, candidate);
      return false;
    }
    const consumed = isShared ? consumedCapacity(device, request.demand) : undefined;
    if (isShared) this.consume(id, consumed!, 1);
    else this.holdersOf(id).add(claim);
    const includesTolerations = features.deviceTaints;
    const result = resultOf(request, candidate, { consumed, newShareId, includesTolerations });
    this.drafts[claim]!.chosen.push({ request, candidate, result, consumed });
    return true;
  }

  /** Adds the device to all constraints, or to none of them if it violates one. */
  private constrain(
    constraints: readonly Constraint[],
    request: PreparedRequest,
    candidate: Candidate,
  ): boolean {
    for (const [index, constraint] of constraints.entries()) {
      if (constraint.add(request.name, candidate)) continue;
      if (request.all !== undefined) {
        const reason = `cannot add device ${candidate.id} because a claim constraint would not be`;
        throw request.fault(`: ${reason} satisfied`);
      }
      for (const added of constraints.slice(0, index)) added.remove(request.name, candidate);
      return false;
    }
    return true;
  }

  /** Removes the last device of the claim. */
  private remove(claim: number, request: PreparedRequest): void {
    const { candidate, consumed } = this.drafts[claim]!.chosen.pop()!;
    const { id, device, slice } = candidate;
    for (const each of this.options.claims[claim]!.constraints)
      each.remove(request.name, candidate);
    if ((device.consumesCounters ?? []).length > 0) this.counters.remove(device, slice);
    if (consumed === undefined) this.holdersOf(id).delete(claim);
    else this.consume(id, consumed, -1);
  }

  private holdersOf(id: string): Set<number> {
    let holders = this.holders.get(id);
    if (holders === undefined) this.holders.set(id, (holders = new Set()));
    return holders;
  }

  private consume(id: string, amounts: ReadonlyMap<string, Quantity>, by: 1 | -1): void {
    let all = this.consumed.get(id);
    if (all === undefined) this.consumed.set(id, (all = new Map()));
    for (const [name, amount] of amounts) {
      addAmount(all, name, by > 0 ? amount : amount.negate());
    }
  }

  /** Whether there are enough devices, ignoring constraints, counters and capacity. */
  private *hasEnoughDevices(): Generator<void, boolean> {
    const { claims, candidates, allocated } = this.options;
    const isFree = (candidate: Candidate) => !allocated.has(candidate.id);
    const isShared = (candidate: Candidate) => this.isShared(candidate);
    const requests = claims.flatMap(({ requests }) => requests);
    return yield* hasEnoughDevices(requests, candidates, { isFree, isShared });
  }
}

function tolerates(
  { demand }: PreparedRequest,
  taint: Parameters<typeof toleratesTaint>[1],
): boolean {
  return (demand.tolerations ?? []).some((toleration) => toleratesTaint(toleration, taint));
}

function resultOf(
  { fullName, isAdmin, demand }: PreparedRequest,
  { device, slice }: Candidate,
  more: {
    readonly consumed: ReadonlyMap<string, Quantity> | undefined;
    readonly newShareId: () => string;
    /** Whether results contain tolerations, for device taint eviction. */
    readonly includesTolerations: boolean;
  },
): AllocatedDevice {
  const { driver, pool } = slice.spec;
  const { consumed, newShareId, includesTolerations } = more;
  const tolerations = includesTolerations ? (demand.tolerations ?? []) : [];
  const texts = [...(consumed ?? [])].map(([name, amount]) => [name, amount.toString()]);
  return {
    request: fullName,
    driver,
    pool: pool.name,
    device: device.name,
    ...(isAdmin ? { adminAccess: true } : {}),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(consumed === undefined ? {} : { shareID: newShareId() }),
    ...(texts.length === 0 ? {} : { consumedCapacity: Object.fromEntries(texts) }),
  };
}
