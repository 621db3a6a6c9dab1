import type { Clock } from "#base";
import { AllocationFault, type Allocator } from "#dynamic-resource-allocation";
import type { AllocationResult, Node, ResourceClaim } from "#kinds";

/** Longest time in milliseconds that a search runs before others have their turn. */
const sliceMs = 8;

/** Outcome of a search; `paused` = it goes on. */
export type SearchOutcome =
  | { readonly kind: "found"; readonly allocations: readonly AllocationResult[] }
  | { readonly kind: "none" | "paused" | "timeout" }
  | { readonly kind: "fault"; readonly error: AllocationFault };

export interface SearchLimits {
  readonly clock: Clock;
  /** Longest time of a search in milliseconds; 0 = no bound. */
  readonly timeoutMs: number;
}

/** The search for devices on one node, in slices of time. */
export class NodeSearch {
  private readonly steps: ReturnType<Allocator["allocate"]>;
  private spentMs = 0;
  private known: SearchOutcome | undefined;

  constructor(
    allocator: Allocator,
    node: Node,
    claims: readonly ResourceClaim[],
    private readonly limits: SearchLimits,
  ) {
    this.steps = allocator.allocate(node, claims);
  }

  /** Goes on for one slice of time; answers at once what is known. */
  advance(): SearchOutcome {
    if (this.known !== undefined) return this.known;
    const outcome = this.outcome();
    if (outcome.kind !== "paused") this.known = outcome;
    return outcome;
  }

  private outcome(): SearchOutcome {
    const { clock, timeoutMs } = this.limits;
    const began = clock.monotonic();
    try {
      for (;;) {
        const { done, value } = this.steps.next();
        if (done === true) {
          return value === undefined ? { kind: "none" } : { kind: "found", allocations: value };
        }
        const elapsed = clock.monotonic() - began;
        if (timeoutMs > 0 && this.spentMs + elapsed >= timeoutMs) return { kind: "timeout" };
        if (elapsed < sliceMs) continue;
        this.spentMs += elapsed;
        return { kind: "paused" };
      }
    } catch (error) {
      if (error instanceof AllocationFault) return { kind: "fault", error };
      throw error;
    }
  }
}
