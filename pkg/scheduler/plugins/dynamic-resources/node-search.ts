import type { Clock } from "#base";
import { AllocationFault, type Allocator } from "#dynamic-resource-allocation";
import type { AllocationResult, Node, ResourceClaim } from "#kinds";

/** Time slice of a search in ms before it yields to the event loop. */
const sliceMs = 8;
/** Time limit of all searches of a cycle, as multiple of the timeout of one. */
const timeoutsPerAttempt = 3;

/** Outcome of a search; `paused` = unfinished. */
export type SearchOutcome =
  | { readonly kind: "found"; readonly allocations: readonly AllocationResult[] }
  | { readonly kind: "none" | "paused" | "timeout" }
  | { readonly kind: "fault"; readonly error: AllocationFault };

export interface SearchesOptions {
  readonly allocator: Allocator;
  readonly claims: readonly ResourceClaim[];
  readonly clock: Clock;
  /** Timeout of the search on one node in ms; 0 = none. */
  readonly timeoutMs: number;
}

/** Device searches of one scheduling cycle, by node. */
export class NodeSearches {
  private readonly searches = new Map<string, NodeSearch>();
  /** Total time of all searches in ms. */
  private spentMs = 0;

  constructor(private readonly options: SearchesOptions) {}

  /** Continues the search on the node for one time slice; returns a known outcome immediately. */
  advance(node: Node): SearchOutcome {
    const { allocator, claims, clock, timeoutMs } = this.options;
    const { name } = node.metadata;
    let search = this.searches.get(name);
    if (search === undefined) {
      search = { steps: allocator.allocate(node, claims), spentMs: 0, known: undefined };
      this.searches.set(name, search);
    }
    if (search.known !== undefined) return search.known;
    const began = clock.monotonic();
    const outcome = run(search.steps, () => clock.monotonic() - began);
    const elapsed = clock.monotonic() - began;
    this.spentMs += elapsed;
    search.spentMs += elapsed;
    if (outcome.kind === "paused") {
      const isLate = search.spentMs >= timeoutMs || this.spentMs >= timeoutMs * timeoutsPerAttempt;
      if (timeoutMs === 0 || !isLate) return outcome;
      search.known = { kind: "timeout" };
    } else search.known = outcome;
    return search.known;
  }

  /** Allocations found on the node. */
  foundOn(node: string): readonly AllocationResult[] | undefined {
    const known = this.searches.get(node)?.known;
    return known?.kind === "found" ? known.allocations : undefined;
  }
}

interface NodeSearch {
  readonly steps: ReturnType<Allocator["allocate"]>;
  spentMs: number;
  known: SearchOutcome | undefined;
}

function run(steps: NodeSearch["steps"], elapsedMs: () => number): SearchOutcome {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) {
        return value === undefined ? { kind: "none" } : { kind: "found", allocations: value };
      }
      if (elapsedMs() >= sliceMs) return { kind: "paused" };
    }
  } catch (error) {
    if (error instanceof AllocationFault) return { kind: "fault", error };
    throw error;
  }
}
