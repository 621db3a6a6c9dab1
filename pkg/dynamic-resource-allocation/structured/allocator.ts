import { type ApiObject, objectKey } from "#client";
import type { DeviceSelectors } from "../device-selectors.ts";
import type { AllocationResult, DeviceClass, ResourceClaim, ResourceSlice } from "#kinds";
import { AvailableCounters } from "./counters.ts";
import { constraintOf } from "./constraints.ts";
import { candidatesOf, gatherPools, type NodeMatcher } from "./pools.ts";
import { AllocationFault, maxDevices, prepareRequest, type PreparedRequest } from "./requests.ts";
import { allocationOf } from "./results.ts";
import { Search, type SearchedClaim } from "./search.ts";
import type { AllocatedState, AllocatorFeatures } from "./state.ts";

export interface AllocatorOptions {
  readonly features: AllocatorFeatures;
  readonly allocated: AllocatedState;
  readonly selectors: DeviceSelectors;
  readonly classOf: (name: string) => DeviceClass | undefined;
  /** Slices that may be accessible from the node; those of other nodes may be omitted. */
  readonly slicesFor: (node: string) => readonly ResourceSlice[];
  readonly nodeMatches: NodeMatcher;
  /** Generates a share ID. */
  readonly newShareId: () => string;
}

/**
 * Structured allocator: selects devices for claims by exhaustive backtracking in the order of requests and
 * devices, and returns the first solution. Inputs must not change during the search.
 */
export class Allocator {
  private readonly counters: AvailableCounters;

  constructor(private readonly options: AllocatorOptions) {
    this.counters = new AvailableCounters(options.allocated);
  }

  /**
   * Allocates devices to the claims on the node; undefined = impossible. Yields every few steps, so that the
   * caller can pause or abort a long search.
   * @throws AllocationFault for an invalid or unsupported claim or class
   */
  *allocate(
    node: ApiObject,
    claims: readonly ResourceClaim[],
  ): Generator<void, readonly AllocationResult[] | undefined> {
    const { features, allocated, slicesFor, nodeMatches, newShareId } = this.options;
    const pools = gatherPools(slicesFor(node.metadata.name), node, {
      perDevice: features.partitionableDevices,
      matches: nodeMatches,
    });
    const candidates = candidatesOf(pools);
    const context = { ...this.options, node, pools, candidates };
    const searched = claims.map((claim): SearchedClaim => {
      const { requests, constraints = [] } = claim.spec.devices ?? {};
      const prepared = (requests ?? []).map((request) => prepareRequest(context, claim, request));
      checkCount(claim, prepared);
      return {
        requests: prepared,
        constraints: constraints.map((each, index) => {
          const constraint = constraintOf(each);
          if (constraint !== undefined) return constraint;
          const reason = "empty constraint (unsupported constraint type?)";
          throw new AllocationFault(`claim ${objectKey(claim)}, constraint #${index}: ${reason}`);
        }),
      };
    });
    const search = new Search({
      features,
      allocated,
      candidates,
      newShareId,
      counters: this.counters,
      claims: searched,
    });
    const found = yield* search.run();
    return found?.map(({ requests, chosen }, index) =>
      allocationOf(claims[index]!, requests, chosen),
    );
  }
}

/** @throws AllocationFault if even the smallest alternatives need more devices than a claim may have */
function checkCount(claim: ResourceClaim, requests: readonly (readonly PreparedRequest[])[]): void {
  const counts = requests.map((alternatives) =>
    Math.min(...alternatives.map(({ count }) => count)),
  );
  const count = counts.reduce((sum, each) => sum + each, 0);
  if (count <= maxDevices) return;
  const reason = `number of requested devices ${count} exceeds the claim limit of ${maxDevices}`;
  throw new AllocationFault(`claim ${objectKey(claim)}: ${reason}`);
}
